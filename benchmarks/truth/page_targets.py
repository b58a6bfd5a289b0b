"""The figures that the issue sets, what was reached, and the verdict on each: first table of the page."""

from __future__ import annotations

from dataclasses import dataclass

from truth.figures import Figure, Macro
from truth.page_figures import Pair, Parts, of, pair

# What the issue names: (median, p90) at most, in shares.
_MEMORY_A = ((0.08, 0.20), (0.04, 0.12))
_MEMORY_B = ((0.15, 0.35), (0.08, 0.20))
_OUTER = ((0.12, 0.25), (0.06, 0.15))
_TIME = ((0.12, 0.30), (0.08, 0.20))
_B_ANSWERED = (0.75, 0.90)


@dataclass(frozen=True, slots=True)
class Target:
    """``kind``: share, points or count; ``at_least`` where more is better. One figure, or median and p90."""

    name: str
    must: tuple[float, ...]
    aim: tuple[float, ...]
    reached: tuple[float | None, ...]
    answered: int
    asked: int | None = None
    strata: int | None = None
    left: Pair | None = None
    peer: Pair | None = None
    kind: str = "share"
    at_least: bool = False

    def written(self, values: tuple[float | None, ...], *, unit: bool = False) -> str:
        if any(value is None for value in values):
            return "\u2013"
        numbers = [self._number(value or 0.0, reached=unit) for value in values]
        return ("\u2265 " if self.at_least and not unit else "") + " / ".join(numbers)

    def _number(self, value: float, *, reached: bool) -> str:
        if self.kind == "count":
            return f"{value:.0f}"
        number = value * 100 if self.kind == "share" else value
        return (f"{number:.1f}" if reached else f"{number:g}") + (" %" if self.kind == "share" else "")

    @property
    def verdict(self) -> str:
        """On the figures as printed."""
        if any(value is None for value in self.reached):
            return "none"
        for name, limits in (("aim", self.aim), ("must", self.must)):
            if all(self._meets(value or 0.0, most) for value, most in zip(self.reached, limits, strict=True)):
                return name
        return "missed"

    def _meets(self, value: float, limit: float) -> bool:
        printed = round(value, 1 if self.kind == "points" else 3)
        return printed >= limit if self.at_least else printed <= limit


def targets(parts: Parts) -> list[Target]:
    oom = parts.document["oom"]
    cannot = len(oom["ok_called_cannot"]) / max(oom["ok_judged"], 1)
    memory, vision = parts.memory, parts.vision_memory
    b_counters = ("allocated", "reserved", "device", "unnamed")
    left = parts.left
    return [
        errors("memory_a_allocated", of(memory, "A", "allocated"), _MEMORY_A, left.get("A allocated")),
        errors("memory_b", of(memory, "B"), _MEMORY_B, left.get("B " + "+".join(b_counters))),
        _share_answered("memory_b_answered", of(memory, "B")),
        errors("outer", of(memory, "A", "reserved", "device"), _OUTER, left.get("A reserved+device")),
        errors("reserved", of(memory, "A", "reserved"), _OUTER, left.get("A reserved")),
        errors("device", of(memory, "A", "device"), _OUTER, left.get("A device")),
        errors("vision_memory_a", of(vision, "A", "allocated"), _MEMORY_A),
        errors("vision_memory_b", of(vision, "B"), _MEMORY_B),
        _share_answered("vision_memory_b_answered", of(vision, "B")),
        Target("oom", (0,), (0,), (len(oom["called_fits"]),), oom["answered"], oom["rows"], kind="count"),
        Target("cannot", (0.01,), (0.0,), (cannot,), oom["ok_judged"]),
        errors("time", of(parts.time, "AB"), _TIME, left.get("time AB")),
        errors("vision_time_a", of(parts.vision_time, "A"), _TIME, left.get("vision time A")),
        errors("vision_time_b", of(parts.vision_time, "B"), _TIME, left.get("vision time B")),
        *_after(parts),
    ]


def errors(
    name: str,
    figures: list[Figure],
    limits: tuple[tuple[float, float], tuple[float, float]],
    left: Pair | None = None,
) -> Target:
    ours, theirs = pair(figures)
    must, aim = limits
    return Target(
        name,
        must,
        aim,
        (ours.median, ours.p90),
        ours.answered,
        ours.asked,
        ours.strata,
        left,
        (theirs.median, theirs.p90),
    )


def _share_answered(name: str, figures: list[Figure]) -> Target:
    """Over rows: a row with two counters is asked once."""
    asked = {figure.row_id for figure in figures}
    answered = {figure.row_id for figure in figures if figure.predicted is not None}
    reached = len(answered) / len(asked) if asked else None
    must, aim = _B_ANSWERED
    return Target(name, (must,), (aim,), (reached,), len(answered), len(asked), at_least=True)


def _after(parts: Parts) -> list[Target]:
    """Calibration, scaling and the building blocks, which have a median only."""
    step = parts.document["step_time"]
    near, double = step["calibrated"], step["doubling"]
    found = [Target("calibrated", (0.06,), (0.04,), near["nearest_median_p90"][:1], 0, strata=near["strata"])]
    vision = parts.document.get("vision", {}).get("time A calibrated, row of the family")
    if vision:
        ours = Macro(**vision[0])
        found.append(
            Target(
                "vision_calibrated", (0.06,), (0.04,), (ours.median,), ours.answered, ours.asked, ours.strata
            )
        )
    for name, key in (("doubling", "median_points"), ("doubling_macro", "macro_median_points")):
        found.append(Target(name, (5.0,), (3.0,), (double[key],), double["pairs"], kind="points"))
    for name in ("gemm", "collectives"):
        found.append(Target(name, (0.10,), (0.06,), (step[name]["median"],), step[name]["curves"]))
    return found
