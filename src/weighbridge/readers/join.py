"""Put files on one clock: which run a sample file belongs to, and what to add to its time stamps.

Training logs mostly print local time without a zone, loggers of GPU figures print Unix time or local time.
Two clocks of one place differ by a whole number of quarter hours (time zones); a log without a year differs
by whole years. The offset is the candidate under which the two files overlap; when several do, the one under
which GPU activity begins where training begins. Nothing is joined on a guess that the files do not support.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import compress

from weighbridge.readers.base import Facts, Piece, Samples

QUARTER_HOUR_SECONDS = 900
LARGEST_ZONE_SECONDS = 14 * 3600
# Part of the shorter file that must lie inside the longer one.
SMALLEST_OVERLAP = 0.5
BUSY_SHARE = 0.05
# Words that drivers and frameworks put before a GPU's name or leave out.
MAKER_WORDS = frozenset({"nvidia", "geforce", "tesla", "quadro", "amd", "instinct"})


@dataclass(frozen=True, slots=True)
class Span:
    """When a file begins and ends on its own clock, and when its GPUs (or its training) become active."""

    first: float
    last: float
    active_from: float | None
    clock: str
    year_known: bool = True
    gpu_name: str | None = None

    def overlap(self, other: Span, offset: float) -> float:
        """Share of the shorter span covered when ``other`` is shifted by ``offset`` seconds."""
        shared = min(self.last, other.last + offset) - max(self.first, other.first + offset)
        shorter = max(min(self.last - self.first, other.last - other.first), 1.0)
        return max(shared, 0.0) / shorter


def sample_span(pieces: Iterable[Piece]) -> Span | None:
    """Read a sample file once for its span; None when it prints no clock."""
    first = last = active = None
    clock, gpu_name = "none", None
    for piece in pieces:
        if isinstance(piece, Facts):
            clock = str(piece.values.get("clock") or clock)
            gpu_name = piece.values.get("hardware.gpu_name") or gpu_name
        if not isinstance(piece, Samples):
            continue
        busy = piece.columns.get("gpu_busy_share") or [None] * piece.rows
        for at, share in zip(piece.columns.get("at_seconds") or (), busy, strict=True):
            if not isinstance(at, int | float):
                continue
            first = at if first is None else min(first, at)
            last = at if last is None else max(last, at)
            if active is None and isinstance(share, int | float) and share > BUSY_SHARE:
                active = at
    if first is None or last is None:
        return None
    return Span(first, last, active, clock, gpu_name=str(gpu_name) if gpu_name else None)


def find_offset(run: Span, samples: Span) -> float | None:
    """Seconds to add to the samples' clock so that they lie on the run's clock; None when nothing fits."""
    fitting = [
        offset for offset in _candidates(run, samples) if run.overlap(samples, offset) >= SMALLEST_OVERLAP
    ]
    if not fitting:
        return None
    if 0.0 in fitting and run.clock == samples.clock:
        return 0.0
    begins = samples.active_from if samples.active_from is not None else samples.first
    return min(
        fitting,
        key=lambda offset: (-round(run.overlap(samples, offset), 1), abs(begins + offset - run.first)),
    )


def _whole_years(run_first: float, samples_first: float) -> Iterator[float]:
    """Shifts that keep month, day and hour: the log's date in the samples' year and the years beside it."""
    begins = datetime.fromtimestamp(run_first, UTC)
    year = datetime.fromtimestamp(samples_first, UTC).year
    for candidate in (year - 1, year, year + 1):
        # 29 February has no twin in most years, and a date outside 1..9999 none at all.
        with contextlib.suppress(ValueError):
            yield run_first - begins.replace(year=candidate).timestamp()


def same_gpu(one: str | None, other: str | None) -> bool:
    """Whether two names may be of one GPU; what is not named contradicts nothing."""
    if not one or not other:
        return True
    first, second = (_bare_name(name) for name in (one, other))
    return first in second or second in first


def _bare_name(name: str) -> str:
    words = re.findall(r"[a-z0-9]+", name.lower())
    return "".join(word for word in words if word not in MAKER_WORDS)


def _candidates(run: Span, samples: Span) -> Iterator[float]:
    yield 0.0
    if not run.year_known:
        yield from _whole_years(run.first, samples.first)
    if run.clock != samples.clock:
        for quarter in range(-LARGEST_ZONE_SECONDS, LARGEST_ZONE_SECONDS + 1, QUARTER_HOUR_SECONDS):
            if quarter:
                yield float(quarter)


def within(piece: Samples, begin: float, end: float) -> Samples:
    """The rows of ``piece`` taken between ``begin`` and ``end`` (its own clock); rows without a clock go."""
    clocks = piece.columns.get("at_seconds") or [None] * piece.rows
    keep = [isinstance(at, int | float) and begin <= at <= end for at in clocks]
    columns = {name: list(compress(values, keep)) for name, values in piece.columns.items()}
    return Samples(columns, sum(keep))
