"""Score predictions on a folder of measured tables in the form of shared/truth.

    python benchmarks/score_truth.py DIR [--json] [--leave-one-out]
    python benchmarks/score_truth.py DIR --write-docs [--step-left LEFT.json] [--vision-left LEFT.txt]

Memory of language models so far. Prints macro figures (mean over strata of the stratum's median and 90th
percentile of |error|) for quality A and B, every counter, interpolation and extrapolation apart, coverage,
signed error, intervals, OOM verdicts, the worst strata, and the textbook formula on the same rows. The last
line holds the figures; exits 1 where one is below what the issue must reach.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from truth import memory, step_time, vision
from truth.figures import Figure, macro, strata

# Figure of the last line: (the most it may be) or, for shares answered, (the least).
MUST: dict[str, float] = {
    "A_allocated_median": 0.08,
    "A_allocated_p90": 0.20,
    "B_median": 0.15,
    "B_p90": 0.35,
    "A_outer_median": 0.12,
    "A_outer_p90": 0.25,
    "A_allocated_half_over_p90": 1.5,
    "B_half_over_p90": 1.5,
    "oom_called_fits": 0,
    "ok_called_cannot_share": 0.01,
}
LEAST: dict[str, float] = {"B_answered": 0.75, "A_inside": 0.85, "B_inside": 0.85}
GROUPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("A allocated", "A", ("allocated",)),
    ("A reserved", "A", ("reserved",)),
    ("A device", "A", ("device",)),
    ("A reserved and device", "A", ("reserved", "device")),
    ("B all counters", "B", ("allocated", "reserved", "device", "unnamed")),
    ("B allocated", "B", ("allocated",)),
    ("B reserved", "B", ("reserved",)),
    ("B device", "B", ("device",)),
    ("B counter not named", "B", ("unnamed",)),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument(
        "--leave-one-out", action="store_true", help="fit the constants again without each stratum (minutes)"
    )
    parser.add_argument(
        "--write-docs", action="store_true", help="leave one out, and write docs/*/validation.md (minutes)"
    )
    parser.add_argument("--step-left", type=Path, help="for the page: what truth.step_fit --leave-out wrote")
    parser.add_argument("--vision-left", type=Path, help="for the page: what vision_leave_out.py printed")
    arguments = parser.parse_args()
    found = memory.score(arguments.folder)
    document = summary(found)
    vision.add_to(document, arguments.folder)
    if arguments.leave_one_out or arguments.write_docs:
        from truth.leave_out import leave_one_out

        document["leave_one_out"] = leave_one_out(arguments.folder)
    document["step_time"] = step_time.score(arguments.folder)
    short = failures(document["figures"]) + step_time.failures(document["step_time"])
    document["figures"] |= step_time.figures_of(document["step_time"])
    document["below_must"] = short
    if arguments.write_docs:
        write_docs(arguments, document, found)
    if arguments.json:
        print(json.dumps({"schema": "weighbridge.score_truth/1", **document}))
    else:
        print("\n".join(step_time.show(document["step_time"])), end="\n\n")
        show(document, found)
    return 1 if short else 0


def write_docs(arguments: argparse.Namespace, document: dict[str, Any], found: memory.MemoryScore) -> None:
    from truth import page, page_figures

    left = {"--step-left": arguments.step_left, "--vision-left": arguments.vision_left}
    given = " ".join(f"{option} {path.name}" for option, path in left.items() if path)
    folder = os.path.relpath(arguments.folder, page_figures.ROOT)
    command = f"python benchmarks/score_truth.py {folder} --write-docs {given}".strip()
    parts = page_figures.gather(arguments.folder, document, found, *left.values())
    for path in page.write(parts, arguments.folder, command, page_figures.ROOT / "docs"):
        print(f"wrote {path}", file=sys.stderr)


def summary(found: memory.MemoryScore) -> dict[str, Any]:
    groups = {name: asdict(macro(_of(found, quality, counters))) for name, quality, counters in GROUPS}
    textbook = {
        name: asdict(macro(_of(found, quality, counters), _baseline_error))
        for name, quality, counters in GROUPS
    }
    for kind in sorted({figure.holdout for figure in found.figures} - {""}):
        for quality in ("A", "B"):
            chosen = [f for f in found.figures if f.holdout == kind and f.quality == quality]
            groups[f"{quality} {kind}"] = asdict(macro(chosen))
    ok = max(found.ok_judged, 1)
    b_rows = [figure for figure in found.figures if figure.quality == "B"]
    a_rows = macro([figure for figure in found.figures if figure.quality == "A"])
    figures = {
        "A_allocated_median": groups["A allocated"]["median"],
        "A_allocated_p90": groups["A allocated"]["p90"],
        "B_median": groups["B all counters"]["median"],
        "B_p90": groups["B all counters"]["p90"],
        "B_answered": _answered(b_rows),
        "A_outer_median": groups["A reserved and device"]["median"],
        "A_outer_p90": groups["A reserved and device"]["p90"],
        "A_allocated_half_over_p90": _half_over_p90(groups["A allocated"]),
        "B_half_over_p90": _half_over_p90(groups["B all counters"]),
        "oom_called_fits": len(found.oom_called_fits),
        "ok_called_cannot_share": len(found.ok_called_cannot) / ok,
        "A_inside": a_rows.inside,
        "B_inside": macro(b_rows).inside,
        "A_textbook_median": textbook["A allocated"]["median"],
        "A_textbook_p90": textbook["A allocated"]["p90"],
    }
    return {
        "figures": figures,
        "groups": groups,
        "textbook": textbook,
        "refused": dict(found.refused),
        "oom": {
            "rows": found.oom_rows,
            "answered": found.oom_answered,
            "called_fits": found.oom_called_fits,
            "ok_judged": found.ok_judged,
            "ok_called_cannot": found.ok_called_cannot,
        },
        "strata": {
            name: [asdict(stratum) for stratum in strata(_of(found, quality, counters))]
            for name, quality, counters in GROUPS
        },
    }


def _answered(figures: list[Figure]) -> float | None:
    """Share of rows, not of figures: a row with two counters is asked once."""
    asked = {figure.row_id for figure in figures}
    answered = {figure.row_id for figure in figures if figure.predicted is not None}
    return len(answered) / len(asked) if asked else None


def _of(found: memory.MemoryScore, quality: str, counters: tuple[str, ...]) -> list[Figure]:
    return memory.of_counter(found.figures, quality, *counters)


def _baseline_error(figure: Figure) -> float | None:
    return None if figure.baseline is None else figure.baseline / figure.measured - 1


def failures(figures: dict[str, float | None]) -> list[str]:
    """Figures that miss; one that the folder cannot give (no stratum large enough) does not count."""
    over = [name for name, most in MUST.items() if (value := figures[name]) is not None and value > most]
    return over + [
        name for name, least in LEAST.items() if (value := figures[name]) is not None and value < least
    ]


def show(document: dict[str, Any], found: memory.MemoryScore) -> None:
    print("memory of language models: macro over strata (family x GPU x source, >= 3 distinct figures)")
    print(f"{'':24}{'strata':>7}{'rows':>6}{'answered':>10}{'median':>8}{'p90':>8}{'rows med':>9}{'p90':>7}"
          f"{'signed':>8}{'inside':>8}{'half':>7}{'half/p90':>9}   textbook median / p90")  # fmt: skip
    for name, group in document["groups"].items():
        print(_line(name, group, document["textbook"].get(name)))
    for name in ("A allocated", "A reserved", "A device", "B all counters"):
        print(f"\nworst strata, {name}")
        for stratum in document["strata"][name][:8]:
            print(
                f"  {stratum['name'][:74]:75}{stratum['rows']:4} rows  median {_share(stratum['median'])}"
                f"  p90 {_share(stratum['p90'])}  signed {stratum['signed'] * 100:+.1f} %"
            )
    print("\nrefused, by what is missing")
    for missing, rows in found.refused.most_common():
        print(f"  {rows:4}  {missing}")
    oom = document["oom"]
    print(
        f"\nOOM rows {oom['rows']}, answered {oom['answered']}, called fits {len(oom['called_fits'])}; "
        f"ok rows judged {oom['ok_judged']}, called cannot fit {len(oom['ok_called_cannot'])}"
    )
    for name, figure in document.get("leave_one_out", {}).items():
        print(f"leave one stratum out, {name}: {figure}")
    print("below what must be reached: " + (", ".join(document["below_must"]) or "nothing"))
    print(" ".join(f"{name}={_figure(value)}" for name, value in document["figures"].items()))


def _half_over_p90(group: dict[str, Any]) -> float | None:
    """Median half-width of the intervals over the 90th percentile of |error|, over rows."""
    if group["half_width"] is None or not group["row_p90"]:
        return None
    return float(group["half_width"] / group["row_p90"])


def _line(name: str, group: dict[str, Any], textbook: dict[str, Any] | None) -> str:
    ratio = _half_over_p90(group)
    beside = "" if textbook is None else f"   {_share(textbook['median'])} / {_share(textbook['p90'])}"
    return (
        f"{name:24}{group['strata']:7}{group['rows']:6}{group['answered']:5}/{group['asked']:<4}"
        f"{_share(group['median']):>8}{_share(group['p90']):>8}{_share(group['row_median']):>9}"
        f"{_share(group['row_p90']):>7}{_share(group['signed']):>8}{_share(group['inside']):>8}"
        f"{_share(group['half_width']):>7}{'-' if ratio is None else format(ratio, '.2f'):>9}{beside}"
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f} %"


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    sys.exit(main())
