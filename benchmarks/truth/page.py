"""Writes docs/en/validation.md and docs/zh/validation.md: one structure, words from page_words.json.

Only ``score_truth.py --write-docs`` calls this. It holds no figure of its own: what a table says comes from
page_figures, what a stratum's reason is from reasons.yaml.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from truth import page_figures
from truth.figures import Figure
from truth.page_figures import Pair, Parts, interval, of, pair, source_of
from truth.page_targets import Target, targets
from truth.page_words import HERE, Words, both, share, signed, table, words_file
from truth.page_worst import WORST, worst

LANGUAGES = ("en", "zh")
# Part, how its keys in Parts.left begin, where its left-out figures come from.
_LEFT = (("memory", ("A ", "B "), "run"), ("time", ("time ",), "given"), ("vision", ("vision ",), "given"))


def write(parts: Parts, folder: Path, command: str, docs: Path) -> list[Path]:
    texts = words_file()
    reasons = yaml.safe_load((HERE / "reasons.yaml").read_text(encoding="utf-8"))
    stood_on = page_figures.stood_on(folder)
    written = []
    for language in LANGUAGES:
        page = render(parts, Words(language, texts), reasons, stood_on, command)
        path = docs / language / "validation.md"
        path.write_text(page, encoding="utf-8")
        written.append(path)
    return written


def render(
    parts: Parts, words: Words, reasons: list[dict[str, str]], stood_on: dict[str, str], command: str
) -> str:
    run = {
        f"{name}_left": words(how if any(key.startswith(start) for key in parts.left) else "not_run")
        for name, start, how in _LEFT
    }
    rest = parts.document["step_time"]["without_largest_source"]
    lines = [f"# {words('title')}", "", words("generated", command=command)]
    lines += _section(words, "targets", _targets(targets(parts), words))
    lines += _section(words, "method", [])
    lines += _section(words, "seen", [], **run)
    lines += _section(words, "memory_lm", _groups(_lm_memory(parts), words))
    lines += _section(words, "memory_vision", _groups(_vision_memory(parts), words), text=False)
    lines += _section(words, "oom", _oom(parts.document["oom"], words))
    lines += _section(words, "time", _groups(_time(parts), words), text=False)
    lines += _section(words, "after", _after(parts, words))
    lines += _section(words, "sources_lm", _sources(parts.time, words), rest=both(rest))
    lines += _section(words, "sources_vision", _sources(parts.vision_time, words), text=False)
    lines += _section(words, "intervals", _intervals(parts, words))
    lines += _section(words, "blocks", _blocks(parts.document["step_time"], words), text=False)
    lines += _section(words, "worst", [], number=WORST)
    for part, figures in _parts(parts):
        mine = [reason for reason in reasons if reason["part"] == part]
        lines += ["", f"### {words(f'p.{part}')}", "", *worst(figures, mine, words)]
    lines += _section(words, "refused", _refused(parts, words))
    lines += _section(words, "stood_on", _stood_on(stood_on, words))
    return "\n".join(lines) + "\n"


def _section(words: Words, key: str, table: list[str], *, text: bool = True, **values: object) -> list[str]:
    lines = ["", f"## {words(key)}"]
    if text:
        lines += ["", words(f"{key}.text", **values)]
    return [*lines, "", *table] if table else lines


def _targets(found: Sequence[Target], words: Words) -> list[str]:
    names = ("figure", "must", "aim", "reached", "left", "peer", "answered", "strata", "verdict")
    rows = [
        (
            words(f"f.{one.name}"),
            one.written(one.must),
            one.written(one.aim),
            one.written(one.reached, unit=True),
            both(one.left),
            both(one.peer),
            f"{one.answered} / {one.asked}" if one.asked else str(one.answered or "\u2013"),
            str(one.strata) if one.strata else "\u2013",
            words(f"v.{one.verdict}"),
        )
        for one in found
    ]
    return table([words(f"h.{name}") for name in names], rows)


# Words of the first column, figures, left-out pair.
Group = tuple[tuple[str, ...], list[Figure], Pair | None]


def _lm_memory(parts: Parts) -> list[Group]:
    left = parts.left
    every = ("allocated", "reserved", "device", "unnamed")
    plan = [("A", (name,), (name,)) for name in every[:3]] + [("A", ("outer",), ("reserved", "device"))]
    plan += [("B", (name,), (name,)) for name in every] + [("B", (), every)]
    found: list[Group] = []
    for quality, names, counters in plan:
        label = tuple(f"g.{name}" for name in names) or ("g.every",)
        key = f"{quality} {'+'.join(counters)}"
        found.append(((quality, *label), of(parts.memory, quality, *counters), left.get(key)))
    return found + _held(parts.memory)


def _held(figures: Sequence[Figure], *label: str) -> list[Group]:
    """Interpolation and extrapolation apart; a folder of public rows has neither."""
    return [
        ((*label, quality, f"g.{kind}"), [f for f in of(figures, quality) if f.holdout == kind], None)
        for kind in sorted({figure.holdout for figure in figures} - {""})
        for quality in ("A", "B")
    ]


def _vision_memory(parts: Parts) -> list[Group]:
    found: list[Group] = []
    for quality in ("A", "B"):
        for counter in sorted({figure.counter for figure in of(parts.vision_memory, quality)}):
            found.append(((quality, f"g.{counter}"), of(parts.vision_memory, quality, counter), None))
    return found + _held(parts.vision_memory)


def _time(parts: Parts) -> list[Group]:
    found: list[Group] = []
    for name, figures, prefix in (("lm", parts.time, ""), ("vision", parts.vision_time, "vision ")):
        for quality in ("A", "B", "AB"):
            label = (f"g.{name}", " + ".join(quality))
            found.append((label, of(figures, quality), parts.left.get(f"{prefix}time {quality}")))
        found += _held(figures, f"g.{name}")
    return found


def _groups(groups: Sequence[Group], words: Words) -> list[str]:
    names = ("figure", "answered", "strata", "median", "p90", "signed", "inside", "half", "left", "peer")
    rows = []
    for label, figures, left in groups:
        ours, theirs = pair(figures)
        rows.append(
            (
                " ".join(words(name) if name.startswith("g.") else name for name in label),
                f"{ours.answered} / {ours.asked}",
                str(ours.strata),
                share(ours.median),
                share(ours.p90),
                signed(ours.signed),
                share(ours.inside),
                share(ours.half_width),
                both(left),
                both((theirs.median, theirs.p90)),
            )
        )
    return table([words(f"h.{name}") for name in names], rows)


def _oom(oom: dict[str, Any], words: Words) -> list[str]:
    rows = [
        (words("g.oom_rows"), f"{oom['answered']} / {oom['rows']}"),
        (words("g.oom_fits"), str(len(oom["called_fits"]))),
        (words("g.ok_rows"), str(oom["ok_judged"])),
        (words("g.ok_cannot"), str(len(oom["ok_called_cannot"]))),
    ]
    return table([words("h.what"), words("h.rows")], rows)


def _after(parts: Parts, words: Words) -> list[str]:
    step = parts.document["step_time"]
    vision = parts.document.get("vision", {})
    rows = [
        (words(f"g.{name}"), "A + B", both(step["calibrated"][f"{name}_median_p90"]))
        for name in ("nearest", "any")
    ]
    for quality in ("A", "B"):
        for name, key in (("vision_any", "any other row"), ("vision_family", "row of the family")):
            ours = vision.get(f"time {quality} calibrated, {key}", [None])[0]
            if ours:
                rows.append((words(f"g.{name}"), quality, both((ours["median"], ours["p90"]))))
    pairs = step["doubling"]
    rows.append((words("g.pairs"), "A + B", str(pairs["pairs"])))
    if pairs["pairs"]:
        rows += [
            (words("g.pairs_median"), "A + B", f"{pairs['median_points']:.1f} / {pairs['p90_points']:.1f}"),
            (words("g.pairs_macro"), "A + B", f"{pairs['macro_median_points']:.1f}"),
        ]
    return table([words("h.figure"), "A / B", words("h.value")], rows)


def _sources(figures: Sequence[Figure], words: Words) -> list[str]:
    names = ("source", "answered", "strata", "median", "p90", "row_median", "signed", "inside", "peer")
    groups: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures:
        groups[source_of(figure)].append(figure)
    rows = []
    for name, group in sorted(groups.items(), key=lambda item: item[0].lower()):
        ours, theirs = pair(group)
        rows.append(
            (
                name,
                f"{ours.answered} / {ours.asked}",
                str(ours.strata),
                *(share(value) for value in (ours.median, ours.p90, ours.row_median)),
                signed(ours.signed),
                share(ours.inside),
                share(theirs.median),
            )
        )
    return table([words(f"h.{name}") for name in names], rows)


def _intervals(parts: Parts, words: Words) -> list[str]:
    groups: list[tuple[str, list[Figure]]] = [
        (
            f"{words('p.lm_memory')}{words('comma')}{quality} {words(f'g.{counter}')}",
            of(parts.memory, quality, counter),
        )
        for quality in ("A", "B")
        for counter in ("allocated", "reserved", "device", "unnamed")
    ]
    groups += [
        (f"{words('p.lm_memory')}{words('comma')}{quality} {words('g.every')}", of(parts.memory, quality))
        for quality in "AB"
    ]
    groups += [(words(f"p.lm_time.{tier}"), parts.tiers[tier]) for tier in sorted(parts.tiers)]
    for part, figures in (("vision_memory", parts.vision_memory), ("vision_time", parts.vision_time)):
        groups += [
            (f"{words(f'p.{part}')}{words('comma')}{quality}", of(figures, quality)) for quality in "AB"
        ]
    rows = []
    for name, figures in groups:
        found = interval(figures)
        if found is None:
            continue
        inside, by_stratum, half, high, ratio = found
        good = 0.85 <= round(inside, 3) <= 0.95 and round(ratio, 2) <= 1.5
        verdict = words("v.must" if good else "v.missed")
        said = sum(figure.predicted is not None for figure in figures)
        shares = (share(value) for value in (inside, by_stratum, half, high))
        rows.append((name, str(said), *shares, f"{ratio:.2f}", verdict))
    names = ("part", "rows", "inside", "inside_strata", "half", "p90", "ratio", "verdict")
    return table([words(f"h.{name}") for name in names], rows)


def _blocks(step: dict[str, Any], words: Words) -> list[str]:
    rows = [
        (words(f"g.{name}"), str(step[name]["curves"]), share(step[name]["median"]), share(step[name]["p90"]))
        for name in ("gemm", "collectives")
    ]
    return table([words(f"h.{name}") for name in ("what", "curves", "median", "p90")], rows)


def _parts(parts: Parts) -> list[tuple[str, list[Figure]]]:
    return [
        ("lm_memory", parts.memory),
        ("vision_memory", parts.vision_memory),
        ("lm_time", parts.time),
        ("vision_time", parts.vision_time),
    ]


def _refused(parts: Parts, words: Words) -> list[str]:
    rows = [
        (words(f"p.{part}"), words.missing(missing), str(rows))
        for part, missing, rows in page_figures.refused(parts)
    ]
    return table([words(f"h.{name}") for name in ("part", "missing", "rows")], rows)


def _stood_on(values: dict[str, str], words: Words) -> list[str]:
    rows = [(words(f"r.{key}") if f"r.{key}" in words.texts else f"`{key}`", values[key]) for key in values]
    return table([words("h.what"), words("h.value")], rows)
