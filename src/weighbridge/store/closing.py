"""What the rows of a run say of the whole: counts, repeated steps, begin and end, what can be answered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from weighbridge.schema.answerable import answerable_from
from weighbridge.schema.columns import EVALUATION, SAMPLE_COLUMNS, STEP_COLUMNS, TRAIN, Column
from weighbridge.schema.event import Event
from weighbridge.schema.run import Run
from weighbridge.store.engine import ask, open_tables

if TYPE_CHECKING:
    import duckdb

# Repeated steps are counted over this many rows' worth of step numbers at a time, to bound memory.
_ROWS_AT_ONCE: Final = 500_000


@dataclass(slots=True)
class Span:
    """Least and greatest value seen of one clock."""

    low: float | None = None
    high: float | None = None

    def see(self, *values: float | None) -> None:
        for value in values:
            if value is not None:
                self.low = value if self.low is None else min(self.low, value)
                self.high = value if self.high is None else max(self.high, value)

    @property
    def is_open(self) -> bool:
        return self.low is not None and self.high is not None and self.high > self.low


class EventFacts:
    """What has to be known of the events, gathered as they pass."""

    def __init__(self) -> None:
        self.rows = 0
        self.at = Span()
        self.elapsed = Span()
        self.epochs_timed = False
        self.evaluations_timed = False
        self._epochs_at = Span()
        self._epochs_elapsed = Span()

    def see(self, events: Iterable[Event]) -> None:
        for event in events:
            self.rows += 1
            self.at.see(event.at_seconds)
            self.elapsed.see(event.elapsed_seconds)
            if event.kind == "epoch":
                self._epochs_at.see(event.at_seconds)
                self._epochs_elapsed.see(event.elapsed_seconds)
                by_clock = self._epochs_at.is_open or self._epochs_elapsed.is_open
                self.epochs_timed |= by_clock or event.seconds is not None
            elif event.kind == "evaluation":
                self.evaluations_timed |= event.seconds is not None


def complete(run: Run, events: EventFacts, connection: duckdb.DuckDBPyConnection, part: Path) -> Run:
    """The Run with everything filled in that its rows and events say."""
    open_tables(connection, [part])
    steps = _one(connection, _STEPS_QUERY, part)
    samples = _one(connection, _SAMPLES_QUERY, part)
    at, elapsed = events.at, events.elapsed
    at.see(steps["at_low"], steps["at_high"])
    elapsed.see(steps["elapsed_low"], steps["elapsed_high"])
    run_time = run.stated_seconds is not None or at.is_open or elapsed.is_open
    if at.low is None:
        at.see(samples["at_low"], samples["at_high"])
    return replace(
        run,
        started_at_seconds=at.low if run.started_at_seconds is None else run.started_at_seconds,
        ended_at_seconds=at.high if run.ended_at_seconds is None else run.ended_at_seconds,
        train_rows=steps["train_rows"],
        evaluation_rows=steps["evaluation_rows"],
        sample_rows=samples["rows"],
        event_rows=events.rows,
        segments=1 + (steps["last_segment"] or 0),
        duplicate_steps=_duplicate_steps(connection, steps, part),
        answerable=answerable_from(
            {column.name for column in STEP_COLUMNS if steps[f"known_{column.name}"]},
            {column.name for column in SAMPLE_COLUMNS if samples[f"known_{column.name}"]},
            run_time=run_time,
            epoch_time=events.epochs_timed or steps["epoch_low"] != steps["epoch_high"],
            evaluation_time=events.evaluations_timed or steps["evaluations_timed"] > 0,
        ),
    )


def _known(columns: Iterable[Column], where: str) -> str:
    """In how many rows each column holds a value."""
    return ", ".join(f"count({column.name}) FILTER ({where}) AS known_{column.name}" for column in columns)


_TRAINING: Final = f"phase = '{TRAIN}'"
_ON_A_CLOCK: Final = f"{_TRAINING} AND coalesce(at_seconds, elapsed_seconds) IS NOT NULL"
_STEPS_QUERY: Final = f"""
    SELECT count(*) FILTER ({_TRAINING}) AS train_rows,
        count(*) FILTER (phase = '{EVALUATION}') AS evaluation_rows,
        min(at_seconds) AS at_low, max(at_seconds) AS at_high,
        min(elapsed_seconds) AS elapsed_low, max(elapsed_seconds) AS elapsed_high,
        max(segment) FILTER ({_TRAINING}) AS last_segment,
        min(step) FILTER ({_TRAINING}) AS step_low, max(step) FILTER ({_TRAINING}) AS step_high,
        min(floor(epoch)) FILTER ({_ON_A_CLOCK}) AS epoch_low,
        max(floor(epoch)) FILTER ({_ON_A_CLOCK}) AS epoch_high,
        count(step_seconds) FILTER (phase = '{EVALUATION}') AS evaluations_timed,
        {_known(STEP_COLUMNS, _TRAINING)}
    FROM steps"""
_SAMPLES_QUERY: Final = f"""
    SELECT count(*) AS rows, min(at_seconds) AS at_low, max(at_seconds) AS at_high,
        {_known(SAMPLE_COLUMNS, "true")}
    FROM samples"""


def _one(connection: duckdb.DuckDBPyConnection, query: str, place: Path) -> dict[str, Any]:
    (row,) = ask(connection, query, place=place)
    return dict(zip((column[0] for column in connection.description or ()), row, strict=True))


def _duplicate_steps(connection: duckdb.DuckDBPyConnection, steps: dict[str, Any], place: Path) -> int:
    """Training rows whose step the same rank had already reported."""
    low, high = steps["step_low"], steps["step_high"]
    if low is None:
        return 0
    slices = max(1, steps["train_rows"] // _ROWS_AT_ONCE)
    width = (high - low) // slices + 1
    repeated = 0
    for start in range(low, high + 1, width):
        query = f"""
            SELECT coalesce(sum(rows - 1), 0) FROM (
                SELECT count(*) AS rows FROM steps
                WHERE {_TRAINING} AND step BETWEEN {start} AND {start + width - 1} GROUP BY rank, step)"""
        repeated += int(ask(connection, query, place=place)[0][0])
    return repeated
