"""What an OpenMMLab log says before its first row: environment, hardware, plan.

Shared by the text and the JSON reader: both carry the same environment block and the same dumped
configuration. Takes only what is stated plainly; works nothing out and reads no training rows.
"""

from __future__ import annotations

import re
from typing import Final

from weighbridge.schema.run import Scalar

_MESSAGE = re.compile(r" - (?:DEBUG|INFO|WARNING|ERROR) - ")
_ENVIRONMENT_LINE = re.compile(r"\s*([A-Za-z][\w. ]*?(?: [\d,]+)?): (\S.*)")
_GPU_KEY = re.compile(r"GPU ([\d,]+)$")
_CODEBASE_KEY = re.compile(r"MM\w+$|Open\w*MM\w*$")
_RUNTIME = re.compile(r"- CUDA Runtime (\d[\d.]*)")
_CUDNN = re.compile(r"\bCUDNN_VERSION=([\d.]+)")
_CUDNN_OLD = re.compile(r"- CuDNN (\d[\d.]*)")
_WORKFLOW = re.compile(r"workflow: .*\bmax: (\d+) (epochs|iters)")
_GPU_IDS = re.compile(r"\s*gpu_ids ?= ?(?:range\((?:0, ?)?(\d+)\)|\[([\d, ]+)\])")
_PLAN = re.compile(r"\b(max_epochs|total_epochs|max_iters|total_iters) ?= ?(\d+)\b")
_ACCUMULATION = re.compile(r"\b(?:accumulative_counts|cumulative_iters) ?= ?(\d+)\b")
_DATASET = re.compile(r"dataset_type ?= ?['\"]([\w.]+)['\"]")

_ENVIRONMENT_KEYS: Final = {
    "sys.platform": "environment.operating_system",
    "PyTorch": "environment.torch",
    "CUDA available": "details.cuda_available",
    "MUSA available": "details.musa_available",
    "Distributed training": "details.distributed",
    "Distributed launcher": "details.launcher",
}
_PLAN_KEYS: Final = {
    "max_epochs": "planned.epochs",
    "total_epochs": "planned.epochs",
    "max_iters": "planned.steps",
    "total_iters": "planned.steps",
}

_BLOCK = re.compile(r"(train_dataloader|data|log_processor|model) ?= ?dict\(")
_TOKEN = re.compile(r"(\w+) ?= ?(?:(\d+)\b|['\"]([^'\"]*)['\"])|['\"][^'\"]*['\"]|[()\[\]{}]")
_BLOCK_KEYS: Final = {
    ("train_dataloader", "batch_size"): "planned.batch_per_device",
    ("train_dataloader", "num_workers"): "planned.workers",
    ("data", "samples_per_gpu"): "planned.batch_per_device",
    ("data", "imgs_per_gpu"): "planned.batch_per_device",
    ("data", "videos_per_gpu"): "planned.batch_per_device",
    ("data", "workers_per_gpu"): "planned.workers",
    ("log_processor", "window_size"): "details.mean_over_iterations",
    ("model", "type"): "planned.model",
}


class Header:
    """Feed it the lines before the first row; ``values`` are then facts by the keys of ``Facts``.

    ``planned.workers`` and ``planned.batch_per_device`` are per process, as the configuration states them.
    """

    def __init__(self) -> None:
        self.values: dict[str, Scalar] = {}
        self._block: str | None = None
        self._depth = 0

    def line(self, line: str) -> None:
        """Take one line, with or without the logger's prefix."""
        prefix = _MESSAGE.search(line)
        message = line[prefix.end() :] if prefix else line
        if prefix:
            self._block = None
        found = _ENVIRONMENT_LINE.match(message)
        if found and self._block is None:
            self._environment(found[1], found[2].rstrip())
        self._compiled(message)
        self._configuration(message)

    def text(self, text: str) -> None:
        """Take a block of lines at once (the JSON log stores environment and configuration as text)."""
        for line in text.split("\n"):
            self.line(line)

    def _set(self, key: str, value: Scalar) -> None:
        self.values[key] = value

    def _environment(self, key: str, value: str) -> None:
        if _GPU_KEY.match(key):
            self._gpu(key, value)
        elif key in _ENVIRONMENT_KEYS:
            self._set(_ENVIRONMENT_KEYS[key], {"True": True, "False": False}.get(value, value))
            if key == "CUDA available":
                self._cpu_only()
        elif key == "Python":
            self._set("environment.python", value.split()[0])
        elif key == "GPU number" and value.isdecimal():
            self._set("hardware.gpus", int(value))
            self._cpu_only()
        elif key in ("MMEngine", "MMCV"):
            # A log with both was run by MMEngine; MMCV then only brings operators.
            if key == "MMEngine" or self.values.get("environment.framework") != "mmengine":
                self._set("environment.framework", key.lower())
                self._set("environment.framework_version", value)
        elif _CODEBASE_KEY.match(key) and " " not in key:
            self._set("details.codebase", f"{key} {value}")

    def _gpu(self, key: str, value: str) -> None:
        """Devices that the process sees; a machine with two kinds prints two lines, the first is named."""
        names = self.values.get("details.gpu_names")
        self._set("details.gpu_names", value if names is None else f"{names}, {value}")
        self.values.setdefault("hardware.gpu_name", value)

    def _cpu_only(self) -> None:
        """The GPU number is the number of processes, also on a CPU: without a device there is no GPU."""
        musa = self.values.get("details.musa_available")
        if self.values.get("details.cuda_available") is False and not musa:
            self._set("hardware.gpus", 0)

    def _compiled(self, message: str) -> None:
        for pattern, key in ((_RUNTIME, "environment.cuda"), (_CUDNN_OLD, "environment.cudnn")):
            found = pattern.search(message)
            if found:
                self._set(key, found[1])
        found = _CUDNN.search(message)
        if found:
            self._set("environment.cudnn", found[1])

    def _configuration(self, message: str) -> None:
        found = _WORKFLOW.search(message)
        if found:
            self._set("planned.epochs" if found[2] == "epochs" else "planned.steps", int(found[1]))
        if "=" not in message:
            self._inside(message)
            return
        for name, number in _PLAN.findall(message):
            self._set(_PLAN_KEYS[name], int(number))
        found = _ACCUMULATION.search(message)
        if found and int(found[1]) > 1:
            self._set("layout.accumulation", int(found[1]))
        found = _DATASET.match(message)
        if found:
            self._set("planned.dataset", found[1])
        found = _GPU_IDS.match(message)
        if found:
            self._set("hardware.gpus", int(found[1]) if found[1] else len(found[2].split(",")))
        self._inside(message)

    def _inside(self, message: str) -> None:
        """Follow the brackets of the four blocks whose direct members are facts."""
        if self._block is None:
            found = _BLOCK.match(message)
            if found is None:
                return
            self._block, self._depth = found[1], 1
            message = message[found.end() :]
        for token in _TOKEN.finditer(message):
            if token[1]:
                key = _BLOCK_KEYS.get((self._block, token[1]))
                if key and self._depth == 1:
                    self._set(key, int(token[2]) if token[2] else token[3])
            elif token[0] in "([{":
                self._depth += 1
            elif token[0] in ")]}":
                self._depth -= 1
                if self._depth <= 0:
                    self._block = None
                    return
