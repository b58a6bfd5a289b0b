"""Figures scored against measurements, and the macro averages the issue asks for.

A stratum is family x GPU x source with at least three distinct measured figures; macro is the mean over
strata of the stratum's median (and of its 90th percentile) of |error|.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

LEAST_DISTINCT = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure and what was said of it; ``predicted`` None: refused for want of ``missing``."""

    row_id: str
    stratum: str
    quality: str
    counter: str
    holdout: str
    measured: float
    predicted: float | None
    low: float = 0.0
    high: float = 0.0
    missing: tuple[str, ...] = ()
    baseline: float | None = None

    @property
    def error(self) -> float:
        assert self.predicted is not None
        return self.predicted / self.measured - 1

    @property
    def inside(self) -> bool:
        return self.low <= self.measured <= self.high

    @property
    def half_width(self) -> float:
        assert self.predicted is not None
        return (self.high - self.low) / 2 / self.predicted


def quantile(values: Sequence[float], share: float) -> float:
    """By linear interpolation between order statistics."""
    ordered = sorted(values)
    at = (len(ordered) - 1) * share
    low = math.floor(at)
    high = math.ceil(at)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


@dataclass(frozen=True, slots=True)
class Stratum:
    name: str
    rows: int
    median: float
    p90: float
    signed: float


def strata(
    figures: Iterable[Figure], error: Callable[[Figure], float | None] = lambda figure: figure.error
) -> list[Stratum]:
    """The strata of answered figures, worst median first."""
    groups: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures:
        if figure.predicted is not None and error(figure) is not None:
            groups[figure.stratum].append(figure)
    found = []
    for name, group in groups.items():
        if len({figure.measured for figure in group}) < LEAST_DISTINCT:
            continue
        errors = [value for figure in group if (value := error(figure)) is not None]
        sizes = [abs(value) for value in errors]
        found.append(
            Stratum(
                name, len(group), statistics.median(sizes), quantile(sizes, 0.9), statistics.median(errors)
            )
        )
    return sorted(found, key=lambda stratum: -stratum.median)


@dataclass(frozen=True, slots=True)
class Macro:
    """Means over strata, in shares; None where no stratum is large enough."""

    strata: int
    rows: int
    answered: int
    asked: int
    median: float | None
    p90: float | None
    row_median: float | None
    row_p90: float | None
    signed: float | None
    inside: float | None
    half_width: float | None


def macro(
    figures: Sequence[Figure], error: Callable[[Figure], float | None] = lambda figure: figure.error
) -> Macro:
    answered = [figure for figure in figures if figure.predicted is not None and error(figure) is not None]
    large = strata(answered, error)
    sizes = [abs(error(figure) or 0.0) for figure in answered]
    signed = [error(figure) or 0.0 for figure in answered]
    return Macro(
        strata=len(large),
        rows=sum(stratum.rows for stratum in large),
        answered=len(answered),
        asked=len(figures),
        median=statistics.fmean(stratum.median for stratum in large) if large else None,
        p90=statistics.fmean(stratum.p90 for stratum in large) if large else None,
        row_median=statistics.median(sizes) if sizes else None,
        row_p90=quantile(sizes, 0.9) if sizes else None,
        signed=statistics.median(signed) if signed else None,
        inside=statistics.fmean(figure.inside for figure in answered) if answered else None,
        half_width=statistics.median(figure.half_width for figure in answered) if answered else None,
    )
