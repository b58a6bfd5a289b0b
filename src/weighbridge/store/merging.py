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


def series_bounds(table: str, column: str, where: str) -> str:
    """First and last row that hold a value; NULL when none does."""
    return f"SELECT min(row), max(row) FROM {table} WHERE {column} IS NOT NULL AND {where}"


def series(table: str, column: str, where: str, *, low: int, high: int, pixels: int) -> str:
    """Equal spans of the rows ``low`` to ``high``: the fields of SeriesPoint in their order."""
    weight = WEIGHT if column in PER_STEP_SECONDS else "1"
    step = "arg_max(step, row)" if table == "steps" else "NULL"
    return f"""
        SELECT min(row), count(*), {step}, arg_max(at_seconds, row), min({column}),
            coalesce(sum({column} * {weight}) / nullif(sum({weight}), 0), avg({column})), max({column}),
            arg_min(line, row), arg_max(line, row)
        FROM {table} WHERE {column} IS NOT NULL AND {where}
        GROUP BY (row - {low}) * {pixels} // {high - low + 1} ORDER BY 1"""
