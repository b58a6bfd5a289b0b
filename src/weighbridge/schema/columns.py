"""The columns of the two long tables of a Run: step windows and samples.

A row of ``steps`` is a *window*: what the source logged as one record, standing for ``steps`` optimizer
steps. Every figure is per optimizer step and in SI units; unknown is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

SqlType = Literal["DOUBLE", "BIGINT", "VARCHAR"]
Cell = float | int | str | None
# A column batch: equally long lists by column name; a column that is absent is unknown for every row.
Columns = Mapping[str, Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: SqlType
    meaning: str


STEP_COLUMNS: Final[tuple[Column, ...]] = (
    Column("phase", "VARCHAR", "'train' or 'evaluation'; a window never mixes the two"),
    Column("segment", "BIGINT", "times the step number went back before this row (restarts), from 0"),
    Column("rank", "BIGINT", "which rank wrote the row; None when the source does not say"),
    Column("epoch", "DOUBLE", "epoch as the source counts it"),
    Column("step", "BIGINT", "optimizer step at the end of the window, counted over the whole run"),
    Column("steps", "BIGINT", "optimizer steps that the row stands for"),
    Column("micro_steps", "BIGINT", "micro-batches accumulated in one optimizer step"),
    Column("at_seconds", "DOUBLE", "clock at the end of the window, Unix seconds; Run.clock says which"),
    Column("elapsed_seconds", "DOUBLE", "seconds since the start as the source itself counts them"),
    Column("step_seconds", "DOUBLE", "one step, data wait included; Run says whether mean or median"),
    Column("data_wait_seconds", "DOUBLE", "of which waiting for the next batch"),
    Column("host_to_device_seconds", "DOUBLE", "of which copying the batch to the device"),
    Column("forward_seconds", "DOUBLE", "of which forward pass"),
    Column("backward_seconds", "DOUBLE", "of which backward pass without exposed communication"),
    Column("compute_seconds", "DOUBLE", "of which forward and backward where the source does not part them"),
    Column("communication_seconds", "DOUBLE", "of which communication not hidden under compute"),
    Column("optimizer_seconds", "DOUBLE", "of which optimizer step"),
    Column("printed_step_seconds", "DOUBLE", "as printed, where step_seconds was derived"),
    Column("printed_data_wait_seconds", "DOUBLE", "as printed, where data_wait_seconds was derived"),
    Column("samples_per_second", "DOUBLE", "throughput as the source prints it"),
    Column("allocated_bytes", "DOUBLE", "peak of the framework's allocator on one device"),
    Column("reserved_bytes", "DOUBLE", "peak reserved by the caching allocator on one device"),
    Column("device_bytes", "DOUBLE", "memory used on the device as the driver sees it"),
    Column("host_bytes", "DOUBLE", "host memory used"),
    Column("source", "BIGINT", "index into Run.sources"),
    Column("line", "BIGINT", "line in that source, from 1 (for JSON documents: the record's line)"),
)

SAMPLE_COLUMNS: Final[tuple[Column, ...]] = (
    Column("at_seconds", "DOUBLE", "clock, Unix seconds; Run.clock says which clock"),
    Column("host", "VARCHAR", "host as the source names it"),
    Column("device", "BIGINT", "GPU index on that host"),
    Column("device_name", "VARCHAR", "GPU name as the driver prints it"),
    Column("gpu_busy_share", "DOUBLE", "share of the interval in which a kernel ran, 0..1"),
    Column("memory_busy_share", "DOUBLE", "share of the interval in which device memory was accessed, 0..1"),
    Column("device_bytes", "DOUBLE", "memory used on the device as the driver sees it"),
    Column("device_total_bytes", "DOUBLE", "memory of the device as the driver sees it"),
    Column("power_watts", "DOUBLE", "board power"),
    Column("power_limit_watts", "DOUBLE", "enforced power limit"),
    Column("temperature_celsius", "DOUBLE", "core temperature"),
    Column("sm_clock_hertz", "DOUBLE", "SM clock"),
    Column("memory_clock_hertz", "DOUBLE", "memory clock"),
    Column("pcie_generation", "BIGINT", "current PCIe generation"),
    Column("pcie_generation_max", "BIGINT", "highest PCIe generation of device and slot"),
    Column("pcie_width", "BIGINT", "current PCIe lanes"),
    Column("pcie_width_max", "BIGINT", "most PCIe lanes of device and slot"),
    Column("throttle_reasons", "VARCHAR", "bit mask as hexadecimal text"),
    Column("ecc_uncorrected", "BIGINT", "uncorrected ECC errors, volatile"),
    Column("source", "BIGINT", "index into Run.sources"),
    Column("line", "BIGINT", "line in that source, from 1"),
)

STEP_COLUMN_NAMES: Final = frozenset(column.name for column in STEP_COLUMNS)
SAMPLE_COLUMN_NAMES: Final = frozenset(column.name for column in SAMPLE_COLUMNS)

TRAIN: Final = "train"
EVALUATION: Final = "evaluation"
