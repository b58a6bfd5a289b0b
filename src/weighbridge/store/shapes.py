"""What bounded queries over the long tables return."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPoint:
    """One pixel of a series: ``rows`` rows that hold a value, from row ``first_row`` of the table on.

    ``mean`` of a per-step time is weighted by the steps that each row stands for.
    """

    first_row: int
    rows: int
    step_last: int | None
    at_last_seconds: float | None
    low: float
    mean: float
    high: float
    line_first: int | None
    line_last: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceUse:
    """What the samples say of one device. ``interval_seconds`` is the median distance of two samples.

    ``idle_share`` is the share of samples, of those that hold a busy figure, in which it is exactly 0.
    """

    host: str | None
    device: int | None
    device_name: str | None
    rows: int
    at_first_seconds: float | None
    at_last_seconds: float | None
    interval_seconds: float | None
    gpu_busy_share: float | None
    idle_share: float | None
    device_bytes_max: float | None
    device_total_bytes: float | None
    power_watts_mean: float | None
    power_watts_max: float | None
    temperature_celsius_max: float | None
