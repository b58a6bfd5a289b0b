"""Score the readers on a folder of logs with a MANIFEST.csv of the facts a right reader must get.

    python benchmarks/score_logs.py DIR [--json] [--format NAME ...]

Checks every key of the column ``core`` (a key that this scorer does not know fails loudly) and, per format,
the facts it understands in ``facts``; counts what it left unchecked. Counts, runs, restarts and maxima must
be exact, medians and shares within 1 %. Entries of formats that no reader knows are counted, not scored.
Exits 1 below 100 % of the checks made, or when a file of a known format gave no run.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from log_facts import CORE, FACTS, READER_OF_FORMAT, Imported, same
from weighbridge.readers.importer import expand, import_files
from weighbridge.readers.table import READERS
from weighbridge.store import Workspace


@dataclass
class Score:
    """What came out for one entry of the manifest."""

    format: str
    file: str
    right: int = 0
    wrong: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    reader: str | None = None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--format", action="append", help="score only these formats of the manifest")
    arguments = parser.parse_args()
    with (arguments.folder / "MANIFEST.csv").open(encoding="utf-8", newline="") as file:
        entries = list(csv.DictReader(file))
    if arguments.format:
        entries = [entry for entry in entries if entry["format"] in arguments.format]
    scored, unread = [], Counter[str]()
    for entry in entries:
        if entry["format"] in READER_OF_FORMAT:
            scored.append(score(arguments.folder, entry))
        else:
            unread[entry["format"]] += 1
    return report(scored, unread, as_json=arguments.json)


def score(folder: Path, entry: dict[str, str]) -> Score:
    """Import one file by itself, without a hint, and check what came out."""
    result = Score(entry["format"], entry["file"])
    inputs, _ = expand([folder / entry["file"]])
    with Workspace.temporary() as workspace:
        imported = import_files(inputs, workspace, READERS, keep_sources=False)
        if not imported.runs:
            reasons = ", ".join(file.reason or "?" for file in imported.files) or "no reader took it"
            result.wrong.append(f"nothing was read: {reasons}")
            return result
        result.reader = imported.runs[0].sources[0].reader
        if result.reader != READER_OF_FORMAT[entry["format"]]:
            result.wrong.append(f"taken for {result.reader}")
        views = [workspace.open(run.id) for run in imported.runs]
        try:
            check(result, Imported(folder / entry["file"], entry["format"], views), entry)
        finally:
            for view in views:
                view.close()
    return result


def check(result: Score, imported: Imported, entry: dict[str, str]) -> None:
    for key, expected in json.loads(entry["core"] or "{}").items():
        if key not in CORE:
            raise SystemExit(f"{entry['file']}: the scorer does not know the core key {key!r}")
        compare(result, f"core.{key}", CORE[key](imported), expected, key)
    known = FACTS.get(entry["format"], {})
    for key, expected in json.loads(entry["facts"] or "{}").items():
        if key in known:
            compare(result, key, known[key](imported), expected, key)
        else:
            result.unchecked.append(key)


def compare(result: Score, label: str, found: Any, expected: Any, key: str) -> None:
    if same(found, expected, key):
        result.right += 1
    else:
        result.wrong.append(f"{label}: expected {expected!r}, found {found!r}")


def report(scored: list[Score], unread: Counter[str], *, as_json: bool) -> int:
    right = sum(score.right for score in scored)
    wrong = sum(len(score.wrong) for score in scored)
    unchecked = sum(len(score.unchecked) for score in scored)
    share = right / (right + wrong) if right + wrong else 0.0
    totals = {
        "entries": len(scored), "checks": right + wrong, "right": right, "share": share,
        "unchecked": unchecked,
        "entries_without_reader": sum(unread.values()), "formats_without_reader": len(unread),
    }  # fmt: skip
    if as_json:
        rows = [vars(score) for score in scored]
        print(json.dumps({"schema": "weighbridge.score_logs/1", "totals": totals, "entries": rows}, indent=2))
        return 0 if wrong == 0 and scored else 1
    for item in scored:
        mark = "ok " if not item.wrong else "BAD"
        print(
            f"{mark} {item.file:<52} {item.reader or '-':<20} "
            f"right {item.right:>3}  left {len(item.unchecked):>2}"
        )
        for line in item.wrong:
            print(f"      {line}")
        if item.unchecked:
            print(f"      not checked: {', '.join(item.unchecked)}")
    print(
        f"{len(scored)} entries, {right} of {right + wrong} checks right ({share:.1%}), {unchecked} facts "
        f"left unchecked; {sum(unread.values())} entries in {len(unread)} formats have no reader yet"
    )
    return 0 if wrong == 0 and scored else 1


if __name__ == "__main__":
    sys.exit(main())
