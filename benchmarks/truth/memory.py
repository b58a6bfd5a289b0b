"""Memory of language models against the measured rows: figures by counter, verdicts of the OOM rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from truth.baseline import textbook
from truth.figures import Figure
from truth.rows import Described, Row, describe_all, read_rows
from truth.shapes import load_shapes
from weighbridge.facts.memory_constants import MemoryTables, load_memory_tables
from weighbridge.schema.model import ModelShape
from weighbridge.weigh.memory import MemoryEstimate, Missing, memory

FILE = "memory_lm.csv"
_UNITS = {"B": 1.0, "MIB": 2.0**20, "GIB": 2.0**30, "MB": 1e6, "GB": 1e9}
# A counter that the source does not name is taken for nvidia-smi, which people read most, and reported apart.
_COUNTERS = {"active": "allocated", "": "unnamed"}
# A card decides only outside this band around its size.
_BORDER = 0.1


@dataclass(slots=True)
class MemoryScore:
    figures: list[Figure] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    oom_rows: int = 0
    oom_answered: int = 0
    oom_called_fits: list[str] = field(default_factory=list)
    ok_judged: int = 0
    ok_called_cannot: list[str] = field(default_factory=list)


def score(folder: Path, tables: MemoryTables | None = None) -> MemoryScore:
    shapes = load_shapes(folder)
    rows = [row for row in read_rows(folder / FILE) if row["quality"] in ("A", "B")]
    return score_rows(rows, shapes, tables or load_memory_tables())


def score_rows(rows: list[Row], shapes: Mapping[str, ModelShape], tables: MemoryTables) -> MemoryScore:
    found = MemoryScore()
    for described in describe_all(rows, shapes):
        answer = estimate(described, tables)
        if described.row["status"].startswith("oom"):
            _judge_oom(found, described, answer)
            continue
        if isinstance(answer, Missing):
            found.refused[", ".join(answer.fields)] += 1
        else:
            _judge_ok(found, described, answer)
        found.figures.extend(figures_of(described, answer))
    return found


def estimate(described: Described, tables: MemoryTables) -> MemoryEstimate | Missing:
    if described.shape is None:
        return Missing(("model",))
    return memory(
        described.shape,
        described.recipe,
        described.layout,
        tables.constants,
        tables.defaults,
        card_bytes=described.card_bytes,
    )


def figures_of(described: Described, answer: MemoryEstimate | Missing) -> Iterator[Figure]:
    row = described.row
    measured = [(_COUNTERS.get(row["n_counter"], row["n_counter"]), float(row["mem_bytes"]))]
    # A second counter is scored where it is a peak on the same run, not a mean over steps.
    if row["mem2_value"] and "nvidia-smi" in row["mem2_kind"] and row["mem2_unit"].upper() in _UNITS:
        measured.append(("device", float(row["mem2_value"]) * _UNITS[row["mem2_unit"].upper()]))
    baseline = textbook(described.shape, described.recipe, described.layout) if described.shape else None
    for counter, value in measured:
        value /= _cards_summed(row)
        said = None
        if not isinstance(answer, Missing):
            said = getattr(answer, "device" if counter == "unnamed" else counter)
        yield Figure(
            row_id=row["row_id"],
            stratum=described.stratum,
            quality=row["quality"],
            counter=counter,
            holdout=row["holdout"],
            measured=value,
            predicted=said.value if said else None,
            low=said.low if said else 0.0,
            high=said.high if said else 0.0,
            missing=answer.fields if isinstance(answer, Missing) else (),
            baseline=baseline,
        )


def _cards_summed(row: Row) -> float:
    """Over how many cards the printed value is a total."""
    return (
        float(row["n_gpus"])
        if "total" in row["mem_scope"].lower() or "sum" in row["mem_scope"].lower()
        else 1
    )


def _judge_oom(found: MemoryScore, described: Described, answer: MemoryEstimate | Missing) -> None:
    found.oom_rows += 1
    if isinstance(answer, Missing) or described.card_bytes is None:
        return
    found.oom_answered += 1
    if answer.needed < described.card_bytes * (1 - _BORDER):
        found.oom_called_fits.append(described.row["row_id"])


def _judge_ok(found: MemoryScore, described: Described, answer: MemoryEstimate) -> None:
    if described.card_bytes is None:
        return
    found.ok_judged += 1
    if answer.needed > described.card_bytes * (1 + _BORDER):
        found.ok_called_cannot.append(described.row["row_id"])


def of_counter(figures: Sequence[Figure], quality: str, *counters: str) -> list[Figure]:
    return [figure for figure in figures if figure.quality == quality and figure.counter in counters]
