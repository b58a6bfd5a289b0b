"""What a Run can support. A question that needs more is refused with what would add it."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final, Literal

Answerable = Literal[
    "run_time",
    "epoch_time",
    "step_time",
    "data_wait",
    "per_batch_production",
    "compute",
    "exposed_communication",
    "allocated_memory",
    "reserved_memory",
    "device_memory",
    "bytes_read",
    "gpu_busy",
    "evaluation_time",
]

ORDER: Final[tuple[Answerable, ...]] = (
    "run_time",
    "epoch_time",
    "step_time",
    "data_wait",
    "per_batch_production",
    "compute",
    "exposed_communication",
    "evaluation_time",
    "allocated_memory",
    "reserved_memory",
    "device_memory",
    "bytes_read",
    "gpu_busy",
)

_BY_STEP_COLUMN: Final[dict[str, Answerable]] = {
    "step_seconds": "step_time",
    "data_wait_seconds": "data_wait",
    "compute_seconds": "compute",
    "forward_seconds": "compute",
    "communication_seconds": "exposed_communication",
    "allocated_bytes": "allocated_memory",
    "reserved_bytes": "reserved_memory",
    "device_bytes": "device_memory",
}
_BY_SAMPLE_COLUMN: Final[dict[str, Answerable]] = {
    "gpu_busy_share": "gpu_busy",
    "device_bytes": "device_memory",
}


def answerable_from(
    step_columns: AbstractSet[str],
    sample_columns: AbstractSet[str],
    *,
    run_time: bool,
    epoch_time: bool,
    evaluation_time: bool,
) -> tuple[Answerable, ...]:
    """The set, in the order shown to people, from the columns that hold at least one value in train rows.

    Mean step time less data wait is a bound of compute, so a source with both can answer ``compute``.
    """
    found: set[Answerable] = {_BY_STEP_COLUMN[name] for name in step_columns if name in _BY_STEP_COLUMN}
    found |= {_BY_SAMPLE_COLUMN[name] for name in sample_columns if name in _BY_SAMPLE_COLUMN}
    if "data_wait" in found and "step_time" in found:
        found.add("compute")
    if run_time:
        found.add("run_time")
    if epoch_time:
        found.add("epoch_time")
    if evaluation_time:
        found.add("evaluation_time")
    return tuple(name for name in ORDER if name in found)
