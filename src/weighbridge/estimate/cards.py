"""A Description held against every card of the catalogue: what fits, what a change would do, what cannot.

Also the small-card trap as sentences: the largest batch, the longest input and the step rate that a small
card leaves, and whether more of them would lift the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from weighbridge.errors import InputError
from weighbridge.estimate.machine import card_bytes, card_named
from weighbridge.estimate.search import advice, fits
from weighbridge.estimate.weigh import (
    answers,
    batch_of,
    fit_of,
    samples_per_second,
    vision_network,
    with_batch,
)
from weighbridge.facts import GpuFact, load_gpus
from weighbridge.facts.load import SHIPPED, read_gpus
from weighbridge.schema.description import Description
from weighbridge.schema.diagnosis import Breakdown
from weighbridge.schema.estimate import Advice, CardFit, CardVerdict, Estimate, FitTable
from weighbridge.schema.finding import Finding, Parameter
from weighbridge.schema.fit import MemoryFit
from weighbridge.units import Quantity
from weighbridge.weigh.memory import count

# The next size of input that people try: 640 to 1024 pixels, 2k to 4k tokens.
_NEXT_INPUT: Final = {"vision": 1.6, "language": 2.0}
_MORE_CARDS: Final = 4
_MOST_TRAPS: Final = 3


def estimate(task: Description, gpu: str | GpuFact) -> Estimate:
    """The Fit on this card, with advice and the nearest published measurements."""
    from weighbridge.estimate.nearest import neighbours
    from weighbridge.estimate.scaling import scaling

    fact = card_named(gpu) if isinstance(gpu, str) else gpu
    found = answers(task, fact)
    fit = fit_of(task, fact, found)
    rate = samples_per_second(task, found)
    if rate is not None and task.kind == "language":
        rate *= task.recipe.sequence or 1
    assert fit.memory is not None
    smallest = None if fit.memory.fits else smallest_card(task)
    return Estimate(
        description=task,
        gpu=fact.id,
        gpus=task.gpus,
        counted_parameters=counted(task),
        fit=fit,
        advice=advice(task, card_bytes(fact), smallest_card=smallest),
        per_second=None if rate is None else _rate(rate, fit.step),
        neighbours=neighbours(task, fact),
        scaling=scaling(task, fact),
    )


def _rate(rate: float, step: Breakdown | None) -> Quantity:
    if step is None or not step.total.value or not step.total.high or not step.total.low:
        return Quantity(value=rate, unit="count", origin="estimated")
    total = step.total.value
    return Quantity(
        value=rate,
        low=rate * total / step.total.high,
        high=rate * total / step.total.low,
        unit="per_second",
        origin="estimated",
    )


def counted(task: Description) -> int:
    if task.shape is not None:
        return round(count(task.shape).total)
    return round(vision_network(task).parameters)


def catalogue(every: bool = False) -> tuple[GpuFact, ...]:
    """The cards of the main table, smallest memory first; ``every`` adds those that were only met in logs."""
    cards = load_gpus()
    if not every:
        named = {fact.id for fact in read_gpus(SHIPPED / "gpus.yaml")}
        shipped = named | {fact.id for fact in read_gpus(SHIPPED / "gpus_met_in_logs.yaml")}
        cards = tuple(fact for fact in cards if fact.id in named or fact.id not in shipped)
    return tuple(sorted(cards, key=lambda fact: (card_bytes(fact).value or 0.0, fact.id)))


def smallest_card(task: Description) -> str | None:
    """The smallest card that surely fits as asked; of one size the one whose facts are surest.

    Only cards of the vendor whose runs stand behind the constants.
    """
    found = None
    for fact in catalogue():
        if not measured_vendor(fact):
            continue
        size = card_bytes(fact).value or 0.0
        if found is not None and size > found[0] * 1.02:
            break
        if fits(task, card_bytes(fact)) is True and (found is None or fact.confidence < found[1]):
            found = (size, fact.confidence, fact.id)
    return None if found is None else found[2]


def measured_vendor(fact: GpuFact) -> bool:
    """Whether measured runs on this vendor's cards stand behind the kernel's constants."""
    return fact.vendor.lower() == "nvidia"


def fit_table(task: Description, gpus: Sequence[GpuFact] | None = None) -> FitTable:
    """Every card's row, smallest memory first. Raises InputError when something needed is unsaid."""
    cards = catalogue() if gpus is None else tuple(gpus)
    if not cards:
        raise InputError("estimate.no_cards")
    # One full answer first, so that what is unsaid is asked for once.
    first = answers(task, cards[-1])
    known = _Known()
    rows = [_row(task, fact, known) for fact in cards]
    measured = {fact.id for fact in cards if measured_vendor(fact)}
    fitting = [row for row in rows if row.verdict == "fits" and row.relative_rate]
    reference = next((row for row in fitting if row.gpu in measured), fitting[0] if fitting else None)
    base = reference.relative_rate if reference is not None else None
    rows = [
        replace(row, relative_rate=row.relative_rate / base if row.relative_rate and base else None)
        for row in rows
    ]
    return FitTable(
        description=task,
        reference=None if reference is None else reference.gpu,
        cards=tuple(rows),
        traps=tuple(traps(task, rows, reference)),
        guesses=tuple(
            finding
            for finding in fit_of(task, cards[-1], first).guesses
            if finding.code in ("estimate.guess", "estimate.guess.part")
        ),
    )


class _Known:
    """Advice by memory size: cards of one size differ in speed only."""

    def __init__(self) -> None:
        self.advice: dict[float, Advice] = {}

    def of(self, task: Description, card: Quantity) -> Advice:
        size = card.value or 0.0
        if size not in self.advice:
            self.advice[size] = advice(task, card)
        return self.advice[size]


def _row(task: Description, fact: GpuFact, known: _Known) -> CardFit:
    card = card_bytes(fact)
    found = answers(task, fact)
    fit = fit_of(task, fact, found)
    assert fit.memory is not None
    told = known.of(task, card)
    verdict = _verdict(fit.memory.fits, told)
    batch = batch_of(task) or 1
    carried = min(batch, max(told.largest_batch, told.change.batch if told.change else 0))
    rate = None
    if carried:
        smaller = with_batch(task, carried)
        rate = samples_per_second(smaller, answers(smaller, fact) if carried != batch else found)
    return CardFit(
        gpu=fact.id,
        memory_bytes=card,
        verdict=verdict,
        device_bytes=fit.memory.device_bytes,
        advice=told,
        step_seconds=None if fit.step is None or fit.memory.fits is False else fit.step.total,
        relative_rate=rate,
        confidence=fact.confidence,
        why=_why(verdict, fit.memory, told),
    )


def _verdict(found: bool | None, told: Advice) -> CardVerdict:
    if found is True:
        return "fits"
    if found is None:
        return "may_not_fit"
    return "fits_with_change" if told.change is not None else "cannot"


def _why(verdict: CardVerdict, memory: MemoryFit, told: Advice) -> Finding:
    """The figure that decides."""
    device, card = memory.device_bytes, memory.card_bytes
    if verdict == "fits":
        return _finding("estimate.why.fits", high=device.high, card=card.value)
    if verdict == "may_not_fit":
        return _finding("estimate.why.may_not_fit", low=device.low, high=device.high, card=card.value)
    peak = next(phase for phase in memory.phases if phase.phase == memory.peak_phase)
    largest = max(peak.parts, key=lambda part: part.alive_bytes.value or 0.0)
    return _finding(
        "estimate.why.cannot",
        low=memory.allocated_bytes.low,
        card=card.value,
        part=f"estimate.part.{largest.part}",
    )


def traps(task: Description, rows: Sequence[CardFit], reference: CardFit | None) -> list[Finding]:
    """For small cards of different sizes that do not fit as asked: what remains, and what more cards give."""
    if reference is None:
        return []
    batch = batch_of(task) or 1
    by_size: dict[int, CardFit] = {}
    for row in rows:
        size = row.memory_bytes.value or 0.0
        smaller = size < (reference.memory_bytes.value or 0.0) * 0.98
        if not smaller or row.advice is None or not 1 <= row.advice.largest_batch < batch:
            continue
        known = by_size.get(round(size / 2**30))
        if row.relative_rate and (known is None or row.confidence < known.confidence):
            by_size[round(size / 2**30)] = row
    smallest = sorted(by_size)[:_MOST_TRAPS]
    return [finding for size in smallest for finding in _trap(task, by_size[size], reference)]


def _trap(task: Description, row: CardFit, reference: CardFit) -> list[Finding]:
    assert row.advice is not None
    batch = batch_of(task) or 1
    unit = "pixels" if task.kind == "vision" else "tokens"
    limits: dict[str, Parameter] = {
        "gpu": row.gpu,
        "card": row.memory_bytes.value,
        "batch": row.advice.largest_batch,
        "asked": batch,
        "longest": row.advice.longest,
        "reference": reference.gpu,
        "times": row.relative_rate,
    }
    told = [_finding(f"estimate.trap.{unit}", **limits)]
    card = row.memory_bytes
    if task.gpus == 1 and fits(_copied(task, _MORE_CARDS), card) is not True:
        told.append(_finding("estimate.trap.more_cards", cards=_MORE_CARDS, gpu=row.gpu))
    asked = max(task.image) if task.image else task.recipe.sequence or 0
    wanted = round(asked * _NEXT_INPUT[task.kind] / 32) * 32
    largest = reference.advice.longest if reference.advice else 0
    if row.advice.longest < wanted <= largest:
        told.append(
            _finding("estimate.trap.input", gpu=row.gpu, now=asked, wanted=wanted, largest=reference.gpu)
        )
    return told


def _copied(task: Description, copies: int) -> Description:
    """The same work on several cards with plain data parallel, each holding the whole network."""
    layout = replace(task.layout, data_parallel=copies)
    if task.vision is not None:
        return replace(task, gpus=copies, layout=layout, vision=replace(task.vision, data_parallel=copies))
    return replace(task, gpus=copies, layout=layout, recipe=replace(task.recipe, sharding="ddp"))


def _finding(code: str, **params: Parameter) -> Finding:
    return Finding(code=code, severity="note", params=params)
