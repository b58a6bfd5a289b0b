"""SQL that makes many rows few: neighbouring step windows merged, and series per pixel.

Both work by buckets of row numbers, so they need no sorting and their memory grows with the answer only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from weighbridge.schema.columns import STEP_COLUMNS

WEIGHT: Final = "coalesce(steps, 1)"
PER_STEP_SECONDS: Final = tuple(
    column.name
    for column in STEP_COLUMNS
    if column.name.endswith("_seconds") and column.name not in ("at_seconds", "elapsed_seconds")
)
_MEMORY: Final = ("allocated_bytes", "reserved_bytes", "device_bytes", "host_bytes")
# Rows that know a time and rows that do not are kept apart: only then is time x steps the same before and
# after merging.
_KNOWN: Final = " + ".join(
    f"CASE WHEN {name} IS NULL THEN 0 ELSE {2**place} END" for place, name in enumerate(PER_STEP_SECONDS)
)


@dataclass(frozen=True, slots=True)
class Buckets:
    """Which rows become one: those within ``span`` row numbers, from ``low`` on, that agree in ``keys``."""

    low: int
    span: int
    keys: tuple[str, ...]

    @property
    def grouping(self) -> str:
        return ", ".join((f"(row - {self.low}) // {self.span}", *self.keys, _KNOWN))


def merged_windows(where: str, buckets: Buckets) -> str:
    """One row per bucket, in the order of their first rows: the step columns and ``line_first``."""
    columns = ", ".join(f"{_merge(column.name, buckets.keys)} AS {column.name}" for column in STEP_COLUMNS)
    return (
        f"SELECT {columns}, arg_min(line, row) AS line_first FROM steps WHERE {where}"
        f" GROUP BY {buckets.grouping} ORDER BY min(row)"
    )


def count_merged(where: str, buckets: Buckets) -> str:
    """How many rows ``merged_windows`` would give."""
    return f"SELECT count(*) FROM (SELECT 1 FROM steps WHERE {where} GROUP BY {buckets.grouping})"


def _merge(name: str, keys: tuple[str, ...]) -> str:
    if name == "steps":
        return f"CAST(sum({WEIGHT}) AS BIGINT)"
    if name in PER_STEP_SECONDS:
        return f"coalesce(sum({name} * {WEIGHT}) / nullif(sum({WEIGHT}), 0), avg({name}))"
    if name == "samples_per_second":
        # A rate is averaged over the time in which it held.
        seconds = f"{WEIGHT} * coalesce(step_seconds, 1)"
        known = f"sum({seconds}) FILTER (samples_per_second IS NOT NULL)"
        return f"coalesce(sum(samples_per_second * {seconds}) / nullif({known}, 0), avg(samples_per_second))"
    if name in _MEMORY:
        return f"max({name})"
    if name in ("rank", "segment") and name not in keys:
        return f"CASE WHEN count(DISTINCT {name}) = 1 THEN max({name}) END"
    return f"arg_max({name}, row)"


def series(table: str, column: str, where: str, *, pixels: int) -> str:
    """At most ``pixels`` buckets of the rows that hold a value: the fields of SeriesPoint in their order."""
    step, weight = ("step", "1") if table == "steps" else ("CAST(NULL AS BIGINT)", "1")
    if column in PER_STEP_SECONDS:
        weight = WEIGHT
    return f"""
        WITH points AS (
            SELECT row, {step} AS step, at_seconds, line, CAST({column} AS DOUBLE) AS value,
                {weight} AS weight
            FROM {table} WHERE {column} IS NOT NULL AND {where}),
        bounds AS (SELECT min(row) AS low, max(row) - min(row) + 1 AS span FROM points)
        SELECT min(row), count(*), arg_max(step, row), arg_max(at_seconds, row), min(value),
            coalesce(sum(value * weight) / nullif(sum(weight), 0), avg(value)), max(value),
            arg_min(line, row), arg_max(line, row)
        FROM points, bounds GROUP BY (row - low) * {pixels} // span ORDER BY 1"""
