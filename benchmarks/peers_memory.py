"""Public memory calculators on the rows that our memory score uses, beside ours on the same rows.

    python benchmarks/peers_memory.py DIR [--peer-path FOLDER ...] [--json]

DIR is a folder in the form of shared/truth; each --peer-path is a checkout or a site-packages folder that
holds peers (and what they import). A peer that is not found there is left out, with the reason. Figures are
macro: mean over strata (family x GPU x source) of the stratum's median and 90th percentile of |error|.
Peers name no counter, so each is compared with every one. Their code runs here: give folders you trust.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from truth.figures import Figure, Macro, macro
from truth.memory import FILE, estimate, figures_of
from truth.peers import Asked, Cannot, Peer, find
from truth.peers_plain import PEERS
from truth.rows import Described, describe_all, read_rows
from truth.shapes import load_shapes
from weighbridge.facts.memory_constants import load_memory_tables
from weighbridge.weigh.memory import count
from weighbridge.weigh.memory.defaults import fill

COUNTERS = {
    "A allocated": ("A", ("allocated",)),
    "A reserved": ("A", ("reserved",)),
    "A device": ("A", ("device",)),
    "B all counters": ("B", ("allocated", "reserved", "device", "unnamed")),
    "all": ("AB", ("allocated", "reserved", "device", "unnamed")),
}
Ask = Callable[[Asked], float]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peer-path", type=Path, action="append", default=[], help="may be given again")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    for folder in arguments.peer_path:
        if not folder.is_dir():
            parser.error(f"--peer-path {folder}: no such folder")
        sys.path.append(str(folder.resolve()))
    rows = [row for row in read_rows(arguments.folder / FILE) if row["quality"] in ("A", "B")]
    described = [
        one
        for one in describe_all(rows, load_shapes(arguments.folder))
        if not one.row["status"].startswith("oom")
    ]
    tables = load_memory_tables()
    ours = {one.row["row_id"]: list(figures_of(one, estimate(one, tables))) for one in described}
    asked = {one.row["row_id"]: asked_of(one) for one in described}
    found = [result(peer, arguments.peer_path, asked, ours) for peer in PEERS]
    everything = [figure for figures in ours.values() for figure in figures]
    document = {"peers": found, "ours": tabled(everything, everything)}
    if arguments.json:
        print(json.dumps({"schema": "weighbridge.peers_memory/1", **document}))
    else:
        show(document)
    return 0


def asked_of(described: Described) -> Asked | Cannot:
    """The row in the words that peers take, with our documented defaults where it is silent."""
    if described.shape is None:
        return Cannot("sizes of the model unknown")
    recipe, _ = fill(described.recipe, load_memory_tables().defaults)
    layout = described.layout
    if recipe.micro_batch is None or recipe.sequence is None:
        return Cannot("batch or sequence not stated")
    degrees = (layout.tensor_parallel, layout.pipeline_parallel, layout.context_parallel)
    if None in degrees or recipe.master is None or recipe.checkpointing is None:
        return Cannot("layout, precision or checkpointing not stated")
    return Asked(
        described.shape,
        count(described.shape).total,
        recipe,
        layout.data_parallel or 1,
        *(degree or 1 for degree in degrees),
        layout.expert_parallel or 1,
    )


def result(
    peer: Peer, folders: list[Path], asked: dict[str, Asked | Cannot], ours: dict[str, list[Figure]]
) -> dict[str, Any]:
    document: dict[str, Any] = {"name": peer.name, "leaves_out": peer.leaves_out, "skipped": None}
    file = find(peer.marker, folders) if peer.marker else Path()
    if file is None:
        return document | {"skipped": f"{peer.marker} is not below any --peer-path"}
    try:
        ask = peer.load(file)
    except (ImportError, AttributeError, OSError, KeyError) as error:
        return document | {"skipped": f"found, but it does not load: {type(error).__name__}: {error}"}
    refused: Counter[str] = Counter()
    theirs, same = [], []
    for row_id, question in asked.items():
        said, why = answered(ask, question)
        if why:
            refused[why] += 1
        theirs += [replace(figure, predicted=said) for figure in ours[row_id]]
        same += [figure for figure in ours[row_id] if said is not None]
    share = sum(figure.predicted is not None for figure in theirs) / max(len(theirs), 1)
    return document | {"answered": share, "refused": dict(refused.most_common()), **tabled(theirs, same)}


def answered(ask: Ask, question: Asked | Cannot) -> tuple[float | None, str]:
    if isinstance(question, Cannot):
        return None, str(question)
    try:
        return ask(question), ""
    except Cannot as cannot:
        return None, str(cannot)
    except Exception as error:  # noqa: BLE001 - whatever their code raises is their answer to that row
        return None, f"raised {type(error).__name__}: {str(error)[:60]}"


def tabled(theirs: list[Figure], ours: list[Figure]) -> dict[str, Any]:
    """Macro figures of a peer, and ours on the rows that the peer answered."""
    table = {}
    for name, (quality, counters) in COUNTERS.items():
        pair = []
        for figures in (theirs, ours):
            chosen = [one for one in figures if one.quality in quality and one.counter in counters]
            pair.append(macro(chosen))
        table[name] = {"theirs": _plain(pair[0]), "ours_on_these": _plain(pair[1])}
    return {"counters": table}


def _plain(found: Macro) -> dict[str, float | int | None]:
    names = ("median", "p90", "signed", "strata", "answered", "asked", "row_median")
    return {name: getattr(found, name) for name in names}


def show(document: dict[str, Any]) -> None:
    print("macro median / p90 of |error|; ours in brackets on the rows the peer answered, signed: the median")
    print("our constants were fitted on shared/truth: only a folder held back compares us as strangers")
    print("(score_truth.py --leave-one-out says what we lose); what peers were fitted on is not known\n")
    for peer in document["peers"]:
        if peer["skipped"]:
            print(f"{peer['name']}: SKIPPED, {peer['skipped']}\n")
            continue
        print(f"{peer['name']}: answers {peer['answered']:.0%} of the figures")
        for name, pair in peer["counters"].items():
            theirs, ours = pair["theirs"], pair["ours_on_these"]
            if theirs["answered"]:
                print(
                    f"  {name:15} {_two(theirs)}  [ours {_two(ours)}]  signed {_share(theirs['signed'])},"
                    f" {theirs['answered']} of {theirs['asked']} in {theirs['strata']} strata"
                )
        refused = ", ".join(f"{why} {number}" for why, number in list(peer["refused"].items())[:5])
        print(f"  cannot: {refused or 'nothing'}\n  leaves out: {peer['leaves_out']}\n")
    print("ours, on every row")
    for name, pair in document["ours"]["counters"].items():
        found = pair["theirs"]
        print(
            f"  {name:15} {_two(found)}  {found['answered']} of {found['asked']} in {found['strata']} strata"
        )


def _two(found: dict[str, Any]) -> str:
    return f"{_share(found['median'])} / {_share(found['p90'])}"


def _share(value: float | None) -> str:
    return "    -" if value is None else f"{value * 100:5.1f}%"


if __name__ == "__main__":
    sys.exit(main())
