"""How each fact of a MANIFEST.csv is computed from the records that an import left, for ``score_logs``.

``CORE`` is the fixed vocabulary over all formats; ``FACTS`` holds each format's own words. Everything is
computed from the stored rows and the Run, never from the file, except where the fact is about the file
itself (number of lines).
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weighbridge.store import RunView

MIB = 2**20
ALL_ROWS = 10**7

READER_OF_FORMAT = {
    "mmengine_log_text": "mmengine_text",
    "mmcv_log_text": "mmengine_text",
    "mmcv_log_json": "mmengine_json",
    "detectron2_metrics_json": "detectron2_metrics",
    "paddle_train_log": "paddle_text",
    "timm_train_log": "timm_text",
    "torchvision_metriclogger": "metriclogger_text",
    "hf_trainer_state": "hf_trainer_state",
    "llamafactory_trainer_log": "llamafactory_jsonl",
    "ultralytics_results_csv": "ultralytics_csv",
    "deepspeed_wallclock": "deepspeed_text",
    "torchtitan_stdout": "torchtitan_text",
    "nvidia_smi_csv": "nvidia_smi_csv",
}
# Formats whose manifest counts evaluation lines with the rest: the lines have the same shape and the facts
# were extracted by one pattern.
COUNTED_TOGETHER = frozenset({"paddle_train_log"})
EXACT_WORDS = (
    "records",
    "runs",
    "restarts",
    "duplicate",
    "evaluations",
    "gpus",
    "n_",
    "max",
    "peak",
    "resets",
)
TOLERANCE = 0.01


@dataclass
class Imported:
    """What one file became."""

    path: Path
    format: str
    views: list[RunView]

    def rows(self, column: str, phase: str | None = "train") -> list[Any]:
        """Values of a column over all runs in order, None where a row does not hold it."""
        phases = ("train", "evaluation") if phase is None else (phase,)
        values: list[Any] = []
        for view in self.views:
            values += [value for name in phases for value in view.windows(phase=name, limit=ALL_ROWS)[column]]
        return values

    def known(self, column: str, phase: str | None = "train") -> list[Any]:
        return [value for value in self.rows(column, phase) if value is not None]

    def printed(self, column: str) -> list[Any]:
        """The column as the log prints it: the printed_* twin where the reader had to derive the value."""
        phase = None if self.format in COUNTED_TOGETHER else "train"
        pairs = zip(self.rows(f"printed_{column}", phase), self.rows(column, phase), strict=True)
        return [value if printed is None else printed for printed, value in pairs]

    def detail(self, key: str) -> Any:
        return next((view.run.details[key] for view in self.views if key in view.run.details), None)

    def run(self, *path: str) -> Any:
        """The first value of a field path over the runs."""
        for view in self.views:
            value: Any = view.run
            for name in path:
                value = getattr(value, name)
            if value is not None:
                return value
        return None

    def events(self, kind: str) -> list[Any]:
        return [event for view in self.views for event in view.events([kind], limit=ALL_ROWS)]

    def devices(self) -> list[Any]:
        return [device for view in self.views for device in view.devices()]

    def samples(self, column: str, device: int | None = None) -> list[float]:
        """Every value of a sample column (one pixel per row keeps them all)."""
        points = [
            point
            for view in self.views
            for point in view.sample_series(column, pixels=max(view.run.sample_rows, 1), device=device)
        ]
        return [point.mean for point in points]


def median(values: Sequence[float]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def share(waits: Sequence[float | None], steps: Sequence[float | None]) -> float | None:
    pairs = [(w, s) for w, s in zip(waits, steps, strict=True) if w is not None and s is not None]
    total = sum(step for _, step in pairs)
    return sum(wait for wait, _ in pairs) / total if total else None


def same(found: Any, expected: Any, key: str) -> bool:
    """Counts and maxima exact, other numbers within 1 % or half of the last printed digit."""
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(same(one, other, key) for one, other in zip(found, expected, strict=True))
        )
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            same(found.get(name), expected[name], key) for name in expected
        )
    if isinstance(expected, bool) or not isinstance(expected, int | float) or found is None:
        return bool(found == expected)
    if not isinstance(found, int | float):
        return False
    digits = len(json.dumps(expected).partition(".")[2]) if isinstance(expected, float) else 0
    if key.startswith(EXACT_WORDS) or key in ("records", "memory_peak_mib"):
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=0.5 * 10**-digits)
    return math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=0.500001 * 10**-digits)


def restarts(of: Imported) -> int:
    """Places where the step (without steps: the epoch) goes back, however the file was split into runs."""
    return max(sum(view.run.segments for view in of.views) - 1, len(of.events("restart")))


def times_back(values: Sequence[float]) -> int:
    return sum(after < before for before, after in itertools.pairwise(values))


def record_count(of: Imported) -> int:
    together = of.format in COUNTED_TOGETHER
    return sum(view.run.train_rows + (view.run.evaluation_rows if together else 0) for view in of.views)


def peak_mib(of: Imported) -> float | None:
    columns = ("allocated_bytes", "reserved_bytes", "device_bytes")
    peaks = [max(values) for column in columns if (values := of.known(column, None))]
    return peaks[0] / MIB if peaks else None


def startup_seconds(of: Imported) -> float | None:
    """From the first sign of the run to the beginning of training, where the source states both."""
    starts = [event.at_seconds for event in of.events("start") if event.at_seconds is not None]
    begins = [event.at_seconds for event in of.events("training_begins") if event.at_seconds is not None]
    return begins[0] - starts[0] if starts and begins else None


def evaluation_seconds(of: Imported) -> float:
    return sum(event.seconds or 0.0 for event in of.events("evaluation"))


CORE: dict[str, Callable[[Imported], Any]] = {
    "records": record_count,
    "step_seconds_median": lambda of: median(of.printed("step_seconds")),
    "data_wait_seconds_median": lambda of: median(of.printed("data_wait_seconds")),
    "data_wait_share": lambda of: share(of.printed("data_wait_seconds"), of.printed("step_seconds")),
    "memory_peak_mib": peak_mib,
    "runs": lambda of: len(of.views),
    "gpus": lambda of: len({(use.host, use.device) for use in of.devices()}) or of.run("hardware", "gpus"),
    "restarts": restarts,
    "duplicate_steps": lambda of: sum(view.run.duplicate_steps for view in of.views),
    "evaluations": lambda of: len(of.events("evaluation")),
    "evaluation_seconds": evaluation_seconds,
    "run_seconds": lambda of: of.run("stated_seconds"),
    "startup_seconds": startup_seconds,
    "gpu_busy_share": lambda of: mean(of.samples("gpu_busy_share")),
}  # fmt: skip


def milliseconds(of: Imported, column: str) -> float | None:
    value = median(of.known(column))
    return None if value is None else value * 1000


def openmmlab() -> dict[str, Callable[[Imported], Any]]:
    return {
        "n_train_records": record_count,
        "n_records": record_count,
        "n_val_progress_records": lambda of: sum(view.run.evaluation_rows for view in of.views),
        "iters_per_epoch": lambda of: of.run("planned", "steps_per_epoch"),
        "epochs_seen": lambda of: [min(of.known("epoch")), max(of.known("epoch"))],
        "median_time_s": CORE["step_seconds_median"],
        "median_data_time_s": CORE["data_wait_seconds_median"],
        "data_wait_share": CORE["data_wait_share"],
        "data_wait_share_all": CORE["data_wait_share"],
        "data_wait_share_excluding_first": lambda of: share(
            of.printed("data_wait_seconds")[1:], of.printed("step_seconds")[1:]
        ),
        "max_memory_MiB": peak_mib,
        "n_runs": lambda of: len(of.views),
        "gpu": lambda of: of.run("hardware", "gpu_name"),
        "val_median_time_s": lambda of: median(of.known("step_seconds", "evaluation")),
    }


def detectron2() -> dict[str, Callable[[Imported], Any]]:
    return openmmlab() | {
        "n_lines": lambda of: sum(1 for line in of.path.open("rb") if line.strip()),
        "n_bad_lines": lambda of: sum(p.count for view in of.views for p in view.run.problems),
        "n_records_with_time": lambda of: len(of.known("step_seconds")),
        "eval_only_lines": lambda of: of.detail("eval_only_lines"),
        "iteration_first": lambda of: of.known("step")[0] - 1,
        "iteration_last": lambda of: of.known("step")[-1] - 1,
        "iteration_resets": restarts,
        "memory_field": lambda of: bool(of.known("allocated_bytes")),
    }


def hugging_face() -> dict[str, Callable[[Imported], Any]]:
    return {
        "n_log_history": lambda of: of.detail("log_entries"),
        "n_train_logs": record_count,
        "n_eval_logs": CORE["evaluations"],
        "per_step_time_available": lambda of: bool(of.known("step_seconds")),
        "train_runtime_s": CORE["run_seconds"],
        "mean_step_time_s": lambda of: of.detail("mean_step_seconds"),
        "eval_runtime_total_s": evaluation_seconds,
        "eval_runtime_median_s": lambda of: median([event.seconds for event in of.events("evaluation")]),
        "max_steps": lambda of: of.run("planned", "steps"),
        "reported_steps_per_second": lambda of: of.detail("train_steps_per_second"),
        **{
            key: (lambda of, key=key: of.detail(key))
            for key in (
                "global_step", "epoch", "logging_steps", "save_steps", "train_batch_size", "total_flos",
                "num_input_tokens_seen", "has_nan", "python_json_only_tokens",
            )
        },
    }  # fmt: skip


def llama_factory() -> dict[str, Callable[[Imported], Any]]:
    return {
        "n_lines": lambda of: sum(1 for line in of.path.open("rb") if line.strip()),
        "n_train_records": record_count,
        "n_eval": CORE["evaluations"],
        "median_step_time_s": CORE["step_seconds_median"],
        "max_gap_step_time_s": lambda of: max(of.known("step_seconds")),
        "total_steps": lambda of: of.run("planned", "steps"),
        "last_step": lambda of: of.detail("last_step"),
        "elapsed_last": lambda of: of.detail("elapsed_last"),
        "step_resets": restarts,
        "elapsed_resets": lambda of: times_back(of.known("elapsed_seconds")),
        "duplicate_steps": CORE["duplicate_steps"],
        "lr_key": lambda of: of.detail("learning_rate_key"),
        "has_throughput": lambda of: of.detail("has_throughput"),
    }


def paddle_first(of: Imported) -> dict[str, float]:
    """The custom loop prints the batch time without the data time."""
    step, wait = of.rows("step_seconds")[0], of.rows("data_wait_seconds")[0]
    excludes = of.detail("batch_time_excludes_data_time")
    return {"batch_time": step - wait if excludes else step, "data_time": wait}


def paddle() -> dict[str, Callable[[Imported], Any]]:
    return {
        "n_records": record_count,
        "median_batch_cost_s": CORE["step_seconds_median"],
        "median_data_cost_s": CORE["data_wait_seconds_median"],
        "data_wait_share": CORE["data_wait_share"],
        "median_ips": lambda of: median(of.known("samples_per_second", None)),
        "epochs": lambda of: len(set(of.known("epoch", None))),
        "epoch_total_s": lambda of: [event.seconds for event in of.events("epoch")][:3],
        "first_record": paddle_first,
    }


def ultralytics() -> dict[str, Callable[[Imported], Any]]:
    def epochs(of: Imported) -> list[float]:
        return [event.seconds for event in of.events("epoch") if event.seconds is not None]

    return {
        "n_epochs": record_count,
        "header_padded": lambda of: of.detail("header_padded"),
        "epoch_starts_at": lambda of: of.known("epoch")[0],
        "has_time": lambda of: bool(of.known("elapsed_seconds")),
        "total_time_s": lambda of: max(of.known("elapsed_seconds")),
        "first_epoch_s": lambda of: epochs(of)[0],
        "median_epoch_s": lambda of: median(epochs(of)),
        "max_epoch_s": lambda of: max(epochs(of)),
        "time_resets": lambda of: times_back(of.known("elapsed_seconds")),
        "has_nan": lambda of: of.detail("has_nan"),
        "max_gpu_mem_G": lambda of: max(of.known("reserved_bytes")) / 1e9,
    }


def timed_milliseconds(of: Imported) -> float:
    """Median of forward + backward (all-reduce inside) + optimizer over the step lines."""
    names = ("forward_seconds", "backward_seconds", "communication_seconds", "optimizer_seconds")
    rows = zip(*(of.rows(name) for name in names), strict=True)
    return statistics.median(sum(row) * 1000 for row in rows if None not in row)


def communication_share(of: Imported) -> float | None:
    """As the manifest counts it: medians of each phase, backward with its all-reduce inside."""
    names = ("forward_seconds", "backward_seconds", "communication_seconds", "optimizer_seconds")
    medians = [median(of.known(name)) for name in names]
    if any(value is None for value in medians):
        return None
    return medians[2] / sum(medians)


def deepspeed() -> dict[str, Callable[[Imported], Any]]:
    def backward(of: Imported) -> float | None:
        pairs = zip(of.rows("backward_seconds"), of.rows("communication_seconds"), strict=True)
        return median([(inner + reduced) * 1000 for inner, reduced in pairs if None not in (inner, reduced)])

    return {
        "n_step_lines": lambda of: len(of.known("forward_seconds")),
        "median_fwd_ms": lambda of: milliseconds(of, "forward_seconds"),
        "median_bwd_ms": backward,
        "median_bwd_allreduce_ms": lambda of: milliseconds(of, "communication_seconds"),
        "median_step_ms": lambda of: milliseconds(of, "optimizer_seconds"),
        "allreduce_share_of_fwd_bwd_step": communication_share,
        "median_elapsed_ms": lambda of: milliseconds(of, "step_seconds"),
        "max_elapsed_ms": lambda of: max(of.known("step_seconds")) * 1000,
        # As the manifest counts it: the elapsed time less the median of the timed part.
        "unaccounted_ms_median": lambda of: milliseconds(of, "step_seconds") - timed_milliseconds(of),
        "unaccounted_ms_max": lambda of: max(of.known("step_seconds")) * 1000 - timed_milliseconds(of),
        "Max_MA_GB": lambda of: max(of.known("allocated_bytes", None)) / 2**30,
        "CPU_used_GB": lambda of: max(of.known("host_bytes", None)) / 2**30,
    }


def torchtitan() -> dict[str, Callable[[Imported], Any]]:
    def tail_rate(of: Imported) -> float | None:
        return median(of.known("step_seconds")[1:])

    return {
        "n_steps": record_count,
        "steps": lambda of: [min(of.known("step")), max(of.known("step"))],
        "max_memory_GiB": lambda of: max(of.known("reserved_bytes")) / 2**30,
        "derived_step_time_s": tail_rate,
    }


def device_mean(of: Imported, device: int) -> float | None:
    use = next((use for use in of.devices() if use.device == device), None)
    return None if use is None or use.gpu_busy_share is None else use.gpu_busy_share * 100


def spread(column: str, scale: float) -> Callable[[Imported], dict[str, float]]:
    def of_samples(of: Imported) -> dict[str, float]:
        values = [value * scale for value in of.samples(column)]
        zero = sum(value == 0 for value in values) / len(values)
        return {"mean": statistics.fmean(values), "max": max(values), "min": min(values), "share_zero": zero}

    return of_samples


def nvidia_smi() -> dict[str, Callable[[Imported], Any]]:
    return {
        "n_rows": lambda of: sum(view.run.sample_rows for view in of.views),
        "n_bad_rows": lambda of: sum(p.count for view in of.views for p in view.run.problems),
        "n_columns": lambda of: of.detail("columns"),
        "n_gpus": CORE["gpus"],
        "name": lambda of: of.run("hardware", "gpu_name"),
        "driver_version": lambda of: of.run("environment", "driver"),
        "mean_util_gpu0": lambda of: device_mean(of, 0),
        "mean_util_gpu1": lambda of: device_mean(of, 1),
        "interval_s": lambda of: median([use.interval_seconds for use in of.devices()]),
        "max_memory_used_MiB": lambda of: max(use.device_bytes_max for use in of.devices()) / MIB,
        "memory_used": spread("device_bytes", 1 / MIB),
        "memory.used": nvidia_cell("device_bytes", 1 / MIB, "MiB", 0),
        "memory.total": nvidia_cell("device_total_bytes", 1 / MIB, "MiB", 0),
        "gpu_utilization": spread("gpu_busy_share", 100),
        "utilization.gpu": nvidia_cell("gpu_busy_share", 100, "%", 0),
        "utilization.memory": spread("memory_busy_share", 100),
        "power.draw": nvidia_cell("power_watts", 1, "W", 2),
        "power.limit": nvidia_cell("power_limit_watts", 1, "W", 2),
        "temperature.gpu": nvidia_cell("temperature_celsius", 1, "", 0),
        "pcie.link.gen.current": nvidia_cell("pcie_generation", 1, "", 0),
        "pcie.link.width.current": nvidia_cell("pcie_width", 1, "", 0),
    }


class Cell(dict[str, Any]):
    """A sample column that compares with a manifest's statistics and with one printed cell alike."""

    def __init__(self, statistics_: dict[str, Any], printed: str) -> None:
        super().__init__(statistics_)
        self.printed = printed

    def __eq__(self, other: object) -> bool:
        return self.printed == other if isinstance(other, str) else super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]


def nvidia_cell(column: str, scale: float, unit: str, digits: int) -> Callable[[Imported], Any]:
    """One-row files give cells as printed ("81559 MiB", "[N/A]"); longer ones give statistics."""

    def of_samples(of: Imported) -> Any:
        values = [value * scale for value in of.samples(column)]
        if not values:
            return "[N/A]"
        return Cell(spread(column, scale)(of), f"{values[0]:.{digits}f} {unit}".strip())

    return of_samples


FACTS: dict[str, dict[str, Callable[[Imported], Any]]] = {
    "mmengine_log_text": openmmlab(),
    "mmcv_log_text": openmmlab(),
    "mmcv_log_json": openmmlab(),
    "detectron2_metrics_json": detectron2(),
    "hf_trainer_state": hugging_face(),
    "llamafactory_trainer_log": llama_factory(),
    "paddle_train_log": paddle(),
    "ultralytics_results_csv": ultralytics(),
    "deepspeed_wallclock": deepspeed(),
    "torchtitan_stdout": torchtitan(),
    "torchvision_metriclogger": openmmlab()
    | {"max_mem_MB": peak_mib, "epochs": lambda of: len(set(of.known("epoch")))},
    "timm_train_log": {
        "n_train_records": record_count,
        "n_runs": lambda of: len(of.views),
        "last_avg_time_s": lambda of: of.known("printed_step_seconds")[-1],
        "last_avg_data_s": lambda of: of.known("printed_data_wait_seconds")[-1],
        "data_wait_share_last_avg": lambda of: (
            of.known("printed_data_wait_seconds")[-1] / of.known("printed_step_seconds")[-1]
        ),
        "batch_size_from_rate": lambda of: (
            of.run("planned", "global_batch") or of.detail("global_batch_estimate")
        ),
    },
    "nvidia_smi_csv": nvidia_smi(),
}  # fmt: skip
