"""RunView: bounded questions to the long tables of one closed run.

Answers have a stated greatest length however long the run was; memory stays bounded because DuckDB reads
the Parquet files in pieces. Judges nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

from weighbridge.errors import WorkspaceError
from weighbridge.schema.columns import SAMPLE_COLUMNS, STEP_COLUMNS, TRAIN, Column
from weighbridge.schema.event import Event
from weighbridge.schema.run import Run
from weighbridge.store.engine import ask, connect, literal, open_tables
from weighbridge.store.layout import EVENTS_FILE
from weighbridge.store.merging import (
    PER_STEP_SECONDS,
    WEIGHT,
    Buckets,
    count_merged,
    merged_windows,
    series,
    series_bounds,
)
from weighbridge.store.shapes import DeviceUse, SeriesPoint

if TYPE_CHECKING:
    import duckdb

# From the finest merge that keeps the promise to the coarsest that keeps memory bounded: a file with more
# restarts than the limit has its segments merged, one with more ranks its ranks too.
_KEYS: Final = (("rank", "segment"), ("rank",), ())


class RunView:
    """One closed run: its record and bounded queries. Opens DuckDB at the first query."""

    def __init__(self, run: Run, folder: Path, parts: Sequence[str]) -> None:
        self.run = run
        self._folder = folder
        self._parts = [folder / f"part={name}" for name in parts]
        self._opened: duckdb.DuckDBPyConnection | None = None
        self._temporary: Path | None = None

    @property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        if self._opened is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="weighbridge-query-"))
            self._opened = connect(self._temporary)
            try:
                open_tables(self._opened, self._parts)
            except OSError as error:
                raise self._damaged(error) from error
            self._check_rows()
        return self._opened

    def _check_rows(self) -> None:
        """A table that lost rows answers every question, wrongly: hold it against the record first."""
        stated = {
            "steps": self.run.train_rows + self.run.evaluation_rows,
            "samples": self.run.sample_rows,
        }
        for table, rows in stated.items():
            ((found,),) = self._ask(f"SELECT count(*) FROM {table}")
            if found != rows:
                raise WorkspaceError("store.rows_missing", path=str(self._folder), stated=rows, found=found)

    def _damaged(self, error: OSError) -> WorkspaceError:
        path = str(error.filename or self._folder)
        return WorkspaceError("store.damaged_run", path=path, reason=error.strerror or str(error))

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        return ask(self._connection, query, place=self._folder)

    def windows(self, *, phase: str = TRAIN, limit: int = 20_000) -> dict[str, list[Any]]:
        """Every step column plus ``line_first``, in file order, in at most ``limit`` rows.

        Where there are more, neighbouring rows of one rank and segment are merged: steps are summed (an
        unknown number counts as 1), per-step times averaged by steps, memory is the maximum, the rest is
        the last known value. The sum of time x steps of every column is the same as over all rows.
        """
        names = [column.name for column in STEP_COLUMNS]
        where = f"phase = {literal(phase)}"
        ((rows, low, high),) = self._ask(f"SELECT count(*), min(row), max(row) FROM steps WHERE {where}")
        if rows <= limit:
            query = f"SELECT {', '.join(names)}, line FROM steps WHERE {where} ORDER BY row"
        else:
            query = self._merge(where, low, high, limit)
        found = self._ask(query)
        columns = zip(*found, strict=True) if found else [()] * (len(names) + 1)
        return dict(zip([*names, "line_first"], map(list, columns), strict=True))

    def _merge(self, where: str, low: int, high: int, limit: int) -> str:
        """The finest merge that gives at most ``limit`` windows."""
        rows = high - low + 1
        for keys in _KEYS:
            ((groups,),) = self._ask(count_merged(where, Buckets(low, rows, keys)))
            if groups <= limit:
                break
        span = -(-rows // limit)
        while span < rows:
            ((merged,),) = self._ask(count_merged(where, Buckets(low, span, keys)))
            if merged <= limit:
                break
            # Half a step short of the proportional jump, so as not to merge more than needed.
            span = max(span + 1, int(span * (1 + merged / limit) / 2))
        return merged_windows(where, Buckets(low, span, keys))

    def quantile(self, column: str, q: float, *, phase: str = TRAIN) -> float | None:
        """The quantile ``q`` (0..1) over the rows that hold a value, every row counting once."""
        if not 0 <= q <= 1:
            raise ValueError(f"a quantile lies within 0..1, not at {q}")
        name = _numeric(STEP_COLUMNS, column)
        query = f"SELECT quantile_cont({name}, {q!r}) FROM steps WHERE phase = {literal(phase)}"
        value = self._ask(query)[0][0]
        return None if value is None else float(value)

    def maximum(self, column: str, *, phase: str | None = TRAIN) -> tuple[float, int, int | None] | None:
        """The largest value with the source and line of the first row that reaches it."""
        name = _numeric(STEP_COLUMNS, column)
        where = "true" if phase is None else f"phase = {literal(phase)}"
        found = self._ask(
            f"""SELECT {name}, coalesce(source, 0), line FROM steps
            WHERE {where} AND {name} = (SELECT max({name}) FROM steps WHERE {where}) ORDER BY row LIMIT 1"""
        )
        return (float(found[0][0]), found[0][1], found[0][2]) if found else None

    def totals(self, *, phase: str = TRAIN) -> dict[str, float | None]:
        """Seconds of each part over the whole phase, from the rows that know the part and the step.

        ``rows`` and ``steps`` count all rows of the phase. A part that only some rows know has a smaller
        base than ``step_seconds``.
        """
        sums = ", ".join(
            f"fsum({name} * {WEIGHT}) FILTER (step_seconds IS NOT NULL)" for name in PER_STEP_SECONDS
        )
        ((rows, steps, *seconds),) = self._ask(
            f"SELECT count(*), coalesce(sum({WEIGHT}), 0), {sums} FROM steps WHERE phase = {literal(phase)}"
        )
        return {"rows": rows, "steps": int(steps), **dict(zip(PER_STEP_SECONDS, seconds, strict=True))}

    def ranks(self) -> list[int]:
        return [
            row[0] for row in self._ask("SELECT DISTINCT rank FROM steps WHERE rank IS NOT NULL ORDER BY 1")
        ]

    def events(self, kinds: Collection[str] | None = None, *, limit: int = 10_000) -> list[Event]:
        """The first ``limit`` events of these kinds (of all kinds for None), in the order of the source."""
        import msgspec

        found: list[Event] = []
        try:
            for part in self._parts:
                path = part / EVENTS_FILE
                if not path.exists():
                    continue
                with path.open("rb") as lines:
                    for line in lines:
                        if len(found) >= limit:
                            return found
                        event = msgspec.json.decode(line, type=Event)
                        if kinds is None or event.kind in kinds:
                            found.append(event)
        except (OSError, msgspec.DecodeError) as error:
            raise WorkspaceError("store.damaged_run", path=str(path), reason=str(error)) from error
        return found

    def series(self, column: str, *, pixels: int, phase: str = TRAIN) -> list[SeriesPoint]:
        """At most ``pixels`` points in row order."""
        return self._points("steps", _numeric(STEP_COLUMNS, column), f"phase = {literal(phase)}", pixels)

    def sample_series(self, column: str, *, pixels: int, device: int | None = None) -> list[SeriesPoint]:
        """At most ``pixels`` points in row order, of one device or of all."""
        where = "true" if device is None else f"device = {int(device)}"
        return self._points("samples", _numeric(SAMPLE_COLUMNS, column), where, pixels)

    def _points(self, table: str, column: str, where: str, pixels: int) -> list[SeriesPoint]:
        ((low, high),) = self._ask(series_bounds(table, column, where))
        if low is None:
            return []
        found = self._ask(series(table, column, where, low=low, high=high, pixels=max(pixels, 1)))
        return [SeriesPoint(**dict(zip(_POINT_FIELDS, row, strict=True))) for row in found]

    def devices(self) -> list[DeviceUse]:
        """One entry per host and device, in that order."""
        return [DeviceUse(**dict(zip(_DEVICE_FIELDS, row, strict=True))) for row in self._ask(_DEVICES_QUERY)]

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def __enter__(self) -> RunView:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


_POINT_FIELDS: Final = tuple(SeriesPoint.__dataclass_fields__)
_DEVICE_FIELDS: Final = tuple(DeviceUse.__dataclass_fields__)
# Clocks of one second make every other distance 0 at two samples a second: then the mean distance is used.
_DEVICES_QUERY: Final = """
    WITH spaced AS (
        SELECT *, at_seconds - lag(at_seconds) OVER (PARTITION BY host, device ORDER BY row) AS gap
        FROM samples)
    SELECT host, device, arg_min(device_name, row), count(*), min(at_seconds), max(at_seconds),
        coalesce(nullif(median(gap), 0), (max(at_seconds) - min(at_seconds)) / nullif(count(gap), 0)),
        avg(gpu_busy_share),
        count(*) FILTER (gpu_busy_share = 0) / nullif(count(gpu_busy_share), 0),
        max(device_bytes), max(device_total_bytes),
        avg(power_watts), max(power_watts), max(temperature_celsius)
    FROM spaced GROUP BY host, device ORDER BY host, device"""


def _numeric(columns: Sequence[Column], name: str) -> str:
    """The name, checked, so that it may stand in a query."""
    if not any(column.name == name and column.type != "VARCHAR" for column in columns):
        raise ValueError(f"no numeric column {name!r}")
    return name
