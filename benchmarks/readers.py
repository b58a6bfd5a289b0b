"""Reading speed and memory of the readers on synthetic enlargements of real formats.

    python benchmarks/readers.py [--megabytes 1 200] [--formats mmengine_text ...] [--json]

Writes one file per format and size into a temporary folder, reads each in a process of its own and prints
MB/s (10^6 bytes), rows, and peak memory at every size. Peers in the same run, on the same file: a bare
``for line in stream`` loop, and that loop with one pattern per line, which is how such logs are usually
read. The aim is 100 MB/s on one core for mmengine_text, and memory that does not grow with the file.

To add a reader, add a line to FORMATS: its class, and a function that returns the n-th chunk of a log.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

MEGABYTE = 10**6
AIM_MEGABYTES_PER_SECOND = 100.0


@dataclass(frozen=True, slots=True)
class Format:
    """``reader`` is "module:class"; ``chunk(n)`` is the n-th part of an endless log, numbers going on."""

    reader: str
    chunk: Callable[[int], bytes]


def mmengine_epoch(epoch: int) -> bytes:
    """One epoch of detector training on 8 GPUs as MMDetection 3.x logs it: COCO, then validation."""
    clock = datetime(2026, 1, 5, 8, 0, 0, tzinfo=UTC) + epoch * timedelta(hours=1)
    lines = []

    def say(text: str, after_seconds: float) -> None:
        nonlocal clock
        clock += timedelta(seconds=after_seconds)
        lines.append(f"{clock:%m/%d %H:%M:%S} - mmengine - INFO - {text}\n")

    for step in range(50, 7330, 50):
        if step % 1000 == 0:
            say("Exp name: faster-rcnn_r50_fpn_20260105_080000", 0)
        seconds = 0.4 + (step * 7 + epoch) % 50 / 1000
        say(
            f"Epoch(train)  [{epoch + 1}][{step:4d}/7330]  lr: 2.0000e-02  eta: 1 day, 3:{step % 60:02d}:12  "
            f"time: {seconds:.4f}  data_time: {seconds / 9:.4f}  memory: {5900 + step % 90}  "
            f"grad_norm: 2.{step:04d}  loss: 0.6{step:04d}  loss_rpn_cls: 0.0{step:04d}  "
            f"loss_rpn_bbox: 0.0457  loss_cls: 0.2{step:04d}  acc: 93.{step:04d}  loss_bbox: 0.2514",
            seconds * 50,
        )
    say("Exp name: faster-rcnn_r50_fpn_20260105_080000", 12)
    say(f"Saving checkpoint at {epoch + 1} epochs", 0)
    for step in range(50, 625, 50):
        say(
            f"Epoch(val)  [{epoch + 1}][{step:3d}/625]    eta: 0:00:{59 - step // 12:02d}  time: 0.0912  "
            f"data_time: 0.0100  memory: {900 + step % 7}  ",
            4.5,
        )
    say("Evaluating bbox...", 3)
    lines += ["Loading and preparing results...\n", "DONE (t=1.02s)\n", "creating index...\n"]
    lines += [
        f" Average Precision  (AP) @[ IoU=0.50:0.{n:02d} | maxDets=100 ] = 0.3{n:02d}\n" for n in range(12)
    ]
    say(f"Epoch(val) [{epoch + 1}][625/625]    coco/bbox_mAP: 0.3610  data_time: 0.0101  time: 0.0913", 9)
    return "".join(lines).encode()


def mmcv_epoch(epoch: int) -> bytes:
    """One epoch of MMClassification 0.x on ImageNet."""
    clock = datetime(2021, 8, 17, 8, 0, 0, tzinfo=UTC) + epoch * timedelta(hours=1)
    lines = []
    for step in range(100, 5005, 100):
        clock += timedelta(seconds=17.25)
        lines.append(
            f"{clock:%Y-%m-%d %H:%M:%S},{step % 1000:03d} - mmcls - INFO - Epoch [{epoch + 1}][{step}/5005]\t"
            f"lr: 1.000e-01, eta: 2 days, 0:10:{step % 60:02d}, time: 0.17{step % 10}, "
            f"data_time: 0.00{step % 9}, memory: 3086, loss: 6.{step:04d}\n"
        )
    lines.append(f"{clock:%Y-%m-%d %H:%M:%S},001 - mmcls - INFO - Saving checkpoint at {epoch + 1} epochs\n")
    return "".join(lines).encode()


def mmengine_scalars(part: int) -> bytes:
    """200 records of vis_data/scalars.json and one validation."""
    lines = []
    for index in range(200):
        step = (part * 200 + index + 1) * 50
        record = {
            "lr": 0.02, "data_time": 0.0123 + index / 1e5, "loss": 0.61, "loss_rpn_cls": 0.02,
            "loss_cls": 0.2, "loss_bbox": 0.25, "acc": 93.1, "time": 0.41 + index / 1e4, "epoch": part + 1,
            "iter": step, "memory": 5938, "step": step,
        }  # fmt: skip
        lines.append(json.dumps(record) + "\n")
    record = {"coco/bbox_mAP": 0.36, "data_time": 0.0101, "time": 0.0913, "step": part + 1}
    return ("".join(lines) + json.dumps(record) + "\n").encode()


def detectron2_metrics(part: int) -> bytes:
    """250 records of metrics.json, the last one with an evaluation."""
    lines = []
    for index in range(250):
        iteration = (part * 250 + index + 1) * 20 - 1
        record = {
            "data_time": 0.0123 + index / 1e5, "eta_seconds": 9000.5, "fast_rcnn/cls_accuracy": 0.93,
            "fast_rcnn/false_negative": 0.4, "fast_rcnn/fg_cls_accuracy": 0.55, "iteration": iteration,
            "loss_box_reg": 0.53, "loss_cls": 0.39, "loss_rpn_cls": 0.03, "loss_rpn_loc": 0.0374, "lr": 0.02,
            "rank_data_time": 0.0121, "roi_head/num_bg_samples": 451.3, "roi_head/num_fg_samples": 60.6,
            "rpn/num_neg_anchors": 237.5, "rpn/num_pos_anchors": 18.5, "time": 0.25 + index / 1e4,
            "total_loss": 1.0,
        }  # fmt: skip
        if index == 249:
            record["bbox/AP"] = 30.0 + part
        lines.append(json.dumps(record, sort_keys=True) + "\n")
    return "".join(lines).encode()


FORMATS: dict[str, Format] = {
    "mmengine_text": Format("weighbridge.readers.mmengine_text:MmengineText", mmengine_epoch),
    "mmcv_text": Format("weighbridge.readers.mmengine_text:MmengineText", mmcv_epoch),
    "mmengine_json": Format("weighbridge.readers.mmengine_json:MmengineJson", mmengine_scalars),
    "detectron2_metrics": Format("weighbridge.readers.detectron2:Detectron2Metrics", detectron2_metrics),
}

_PEER_PATTERN = re.compile(
    rb"\btime: ([\d.]+).*?data_time: ([\d.]+)|\"data_time\": ([\d.]+).*?\"time\": ([\d.]+)"
)


def write_log(path: Path, chunk: Callable[[int], bytes], size_bytes: int) -> None:
    with path.open("wb") as file:
        number = 0
        while file.tell() < size_bytes:
            file.write(chunk(number))
            number += 1


def _with_reader(reader: str) -> Callable[[Path], int]:
    module, _, name = reader.partition(":")
    instance = getattr(importlib.import_module(module), name)()

    def read(path: Path) -> int:
        with path.open("rb") as stream:
            return sum(getattr(piece, "rows", 0) for piece in instance.read(stream, path.name))

    return read


def _read_lines(path: Path) -> int:
    with path.open("rb") as stream:
        return sum(1 for _ in stream)


def _read_lines_with_pattern(path: Path) -> int:
    rows: list[tuple[float, ...]] = []
    count = 0
    with path.open("rb") as stream:
        for line in stream:
            found = _PEER_PATTERN.search(line)
            if found:
                rows.append(tuple(float(group) for group in found.groups() if group))
                count += 1
                if len(rows) == 10_000:
                    rows.clear()
    return count


HOW: dict[str, Callable[[str], Callable[[Path], int]]] = {
    "reader": _with_reader,
    "for line": lambda reader: _read_lines,
    "for line + pattern": lambda reader: _read_lines_with_pattern,
}


def measure_here(how: str, path: Path, reader: str) -> dict[str, Any]:
    """Read once in this process; importing the reader is not counted."""
    read = HOW[how](reader)
    wall, cpu = time.perf_counter(), time.process_time()
    rows = read(path)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    megabytes = path.stat().st_size / MEGABYTE
    return {
        "rows": rows,
        "megabytes": megabytes,
        "megabytes_per_second": megabytes / wall,
        "megabytes_per_cpu_second": megabytes / cpu,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def measure(how: str, path: Path, reader: str, repeats: int) -> dict[str, Any]:
    """Read in a process of its own, the best of ``repeats``: other work on the machine only slows down."""
    command = [sys.executable, __file__, "--child", how, str(path), reader]
    results = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(repeats)
    ]
    return max(results, key=lambda result: result["megabytes_per_cpu_second"])


def measure_format(name: str, sizes: list[float], repeats: int, folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / f"{name}.log"
    for size in sizes:
        write_log(path, FORMATS[name].chunk, int(size * MEGABYTE))
        for how in HOW:
            if how == "reader" or size == max(sizes):
                result = measure(how, path, FORMATS[name].reader, repeats)
                yield {"format": name, "how": how, **result}
        path.unlink()


def print_row(result: dict[str, Any]) -> None:
    print(
        f"{result['format']:20} {result['how']:20} {result['megabytes']:9.1f} {result['rows']:10,d} "
        f"{result['megabytes_per_second']:9.1f} {result['megabytes_per_cpu_second']:9.1f} "
        f"{result['peak_memory_bytes'] / 2**20:9.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[1, 200], help="sizes of the files")
    parser.add_argument("--formats", nargs="+", choices=sorted(FORMATS), default=list(FORMATS))
    parser.add_argument("--repeats", type=int, default=3, help="read so often, report the best")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        how, path, reader = arguments.child
        print(json.dumps(measure_here(how, Path(path), reader)))
        return
    about = {
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "date": datetime.now(tz=UTC).date().isoformat(),
    }
    results = []
    if not arguments.json:
        print(f"# {about['machine']}, Python {about['python']}, {about['date']}")
        print(f"{'format':20} {'how':20} {'MB':>9} {'rows':>10} {'MB/s':>9} {'MB/cpu s':>9} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.formats:
            for result in measure_format(name, arguments.megabytes, arguments.repeats, Path(folder)):
                results.append(result)
                if not arguments.json:
                    print_row(result)
    if arguments.json:
        print(json.dumps({**about, "results": results}, indent=2))
        return
    for result in results:
        if result["format"] == "mmengine_text" and result["how"] == "reader":
            last = result["megabytes_per_cpu_second"]
    if "mmengine_text" in arguments.formats:
        print(f"mmengine_text: {last:.0f} MB per core second, aim {AIM_MEGABYTES_PER_SECOND:.0f}")


if __name__ == "__main__":
    main()
