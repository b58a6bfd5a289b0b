"""Gathers what the validation page prints: every part as the same kind of figure, and what the run stood on.

It adds nothing to the scoring: rows, predictions and peers are those of memory, step_time and vision.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import platform
import re
import statistics
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truth import memory, step_time, vision
from truth.figures import Figure, Macro, macro, quantile
from truth.step_rows import read_step_rows
from weighbridge import __version__
from weighbridge.facts.step_constants import load_step_tables

ROOT = Path(__file__).resolve().parents[2]
FILES = (
    "memory_lm.csv", "throughput_lm.csv", "memory_vision.csv", "throughput_vision.csv", "gemm.csv",
    "collectives.csv",
)  # fmt: skip
# As vision_leave_out.py prints it.
LEFT_OUT = re.compile(r"^time (\w), left out: .*, ([\d.]+) / ([\d.]+)$", re.MULTILINE)
# Median and 90th percentile of |error|.
Pair = tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Parts:
    """All figures of one run. ``left``: errors of rows that the fit had not seen, where that was run."""

    document: dict[str, Any]
    memory: list[Figure]
    time: list[Figure]
    tiers: dict[str, list[Figure]]
    vision_memory: list[Figure]
    vision_time: list[Figure]
    left: dict[str, Pair]


def gather(
    folder: Path,
    document: dict[str, Any],
    found: memory.MemoryScore,
    step_left: Path | None,
    vision_left: Path | None,
) -> Parts:
    rows = read_step_rows(folder)
    figures, _ = step_time.score_steps(rows, load_step_tables().constants)
    answered = {figure.row.row["row_id"]: figure for figure in figures}
    time = [_step_figure(row.row, row.stratum, answered.get(row.row["row_id"])) for row in rows]
    tiers: dict[str, list[Figure]] = {}
    for one in figures:
        tiers.setdefault(one.estimate.tier, []).append(_step_figure(one.row.row, one.row.stratum, one))
    present = all((folder / name).is_file() for name in (vision.MEMORY_FILE, vision.TIME_FILE))
    seen = vision.score(folder) if present else vision.VisionScore()
    left = {
        name: (pair["median"], pair["p90"])
        for name, pair in document.get("leave_one_out", {}).items()
        if "median" in pair
    }
    if step_left is not None:
        left |= _step_left(figures, json.loads(step_left.read_text(encoding="utf-8")))
    if vision_left is not None:
        text = vision_left.read_text(encoding="utf-8")
        for quality, median, high in re.findall(
            r"^time (\w), left out: .*, ([\d.]+) / ([\d.]+)$", text, re.M
        ):
            left[f"vision time {quality}"] = (float(median), float(high))
    return Parts(document, found.figures, time, tiers, seen.memory, seen.time, left)


def _step_figure(row: Mapping[str, str], stratum: str, one: step_time.StepFigure | None) -> Figure:
    return Figure(
        row_id=row["row_id"],
        stratum=stratum,
        quality=row["quality"],
        counter="seconds",
        holdout=row["holdout"],
        measured=one.measured if one else 1.0,
        predicted=one.estimate.seconds if one else None,
        low=one.estimate.low if one else 0.0,
        high=one.estimate.high if one else 0.0,
        baseline=one.peer * one.measured if one else None,
    )


def _step_left(figures: Sequence[step_time.StepFigure], ratios: Mapping[str, float]) -> dict[str, Pair]:
    missing = sum(one.row.row["row_id"] not in ratios for one in figures)
    if missing:
        raise SystemExit(f"--step-left: {missing} answered rows are not in the file: run step_fit again")
    found: dict[str, Pair] = {}
    for quality in ("A", "B", "AB"):
        chosen = [one for one in figures if one.row.row["quality"] in quality]
        found[f"time {quality}"] = step_time.macro(
            {
                name: [ratios[one.row.row["row_id"]] - 1 for one in group]
                for name, group in step_time.strata(chosen).items()
            }
        )
    return found


def textbook(figure: Figure) -> float | None:
    """Error of the simple peer on the same row."""
    return None if figure.baseline is None else figure.baseline / figure.measured - 1


def of(figures: Sequence[Figure], quality: str, *counters: str) -> list[Figure]:
    return [f for f in figures if f.quality in quality and (not counters or f.counter in counters)]


def source_of(figure: Figure) -> str:
    return figure.stratum.split(" / ", 2)[2]


def pair(figures: Sequence[Figure]) -> tuple[Macro, Macro]:
    """Ours and the peer's."""
    return macro(figures), macro(figures, textbook)


def interval(figures: Sequence[Figure]) -> tuple[float, ...] | None:
    """Share inside over rows and over strata, median half-width, 90th percentile of |error|, their ratio."""
    said = [figure for figure in figures if figure.predicted is not None]
    if not said:
        return None
    ours = macro(said)
    assert ours.inside is not None
    assert ours.half_width is not None
    high = quantile([abs(figure.error) for figure in said], 0.9)
    groups: dict[str, list[bool]] = {}
    for figure in said:
        groups.setdefault(figure.stratum, []).append(figure.inside)
    by_stratum = statistics.fmean(statistics.fmean(group) for group in groups.values())
    return ours.inside, by_stratum, ours.half_width, high, ours.half_width / high


def refused(parts: Parts) -> list[tuple[str, str, int]]:
    """Part, what is missing, rows; most rows first in each part."""
    asked = parts.document["step_time"]["refused"]
    steps: Counter[str] = Counter()
    for name, rows in asked.items():
        steps[name.rsplit(" / ", 1)[1]] += rows
    counts = {
        "lm_memory": Counter(parts.document["refused"]),
        "lm_time": steps,
        "vision_memory": _missing(parts.vision_memory),
        "vision_time": _missing(parts.vision_time),
    }
    return [(part, missing, rows) for part, found in counts.items() for missing, rows in found.most_common()]


def _missing(figures: Sequence[Figure]) -> Counter[str]:
    return Counter(", ".join(figure.missing) for figure in figures if figure.predicted is None)


def stood_on(folder: Path) -> dict[str, str]:
    """Date, versions, machine, and which rows: what a second run has to match."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "version": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {_processor()}",
        **{
            name: f"{len(data.splitlines()) - 1} / {hashlib.sha256(data).hexdigest()[:12]}"
            for name in FILES
            if (folder / name).is_file() and (data := (folder / name).read_bytes())
        },
    }


def _commit() -> str:
    def git(*words: str) -> str:
        answer = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return answer.stdout.strip()

    changed = [f"src/weighbridge/{room}" for room in ("weigh", "facts", "schema", "estimate")]
    dirty = git("status", "--porcelain", "--untracked-files=no", "--", "benchmarks", *changed)
    return (git("rev-parse", "--short=10", "HEAD") or "-") + ("+" if dirty else "")


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    name = re.search(r"^model name\s*: (.+)$", text, re.M)
    return f"{name[1] if name else platform.processor() or '-'}, {text.count('processor') or '-'} CPU"
