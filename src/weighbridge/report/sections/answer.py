"""The sections that answer: the verdict, what a change would give, what could not be seen."""

from __future__ import annotations

from weighbridge.i18n import Language, speak
from weighbridge.report import words
from weighbridge.report.markup import Child, Markup, element, join
from weighbridge.report.sections.material import Material
from weighbridge.report.sections.parts import (
    TableCell,
    figure,
    figure_of,
    identity,
    listing,
    note,
    section,
    table,
)
from weighbridge.schema.diagnosis import Counterfactual, Diagnosis, MemoryUse
from weighbridge.schema.finding import Finding


def verdict(material: Material, language: Language) -> Markup:
    """What a signer reads in ten seconds: the word, the sentence, what it means, five figures."""
    diagnosis = material.diagnosis
    heading = identity(material, language, "verdict")
    word = speak(f"verdict.{diagnosis.verdict}", language)
    return element(
        "section",
        element("h2", speak("page.verdict", language), id=heading, class_="quiet"),
        element("p", word, class_="word"),
        element("p", words.finding_words(diagnosis.headline, language), class_="headline"),
        _buyers_answer(diagnosis, language),
        element("p", speak(f"verdict.{diagnosis.verdict}.meaning", language), class_="meaning"),
        element("dl", *_tiles(material, language), class_="tiles"),
        class_=f"verdict {diagnosis.verdict}",
        aria_labelledby=heading,
    )


def _buyers_answer(diagnosis: Diagnosis, language: Language) -> Markup | None:
    """Would more GPUs help: the sentence for the person who signs."""
    if diagnosis.more_gpus is None:
        return None
    return element("p", words.finding_words(diagnosis.more_gpus, language), class_="headline buyer")


def _tile(name: str, value: Child, detail: str = "") -> Markup:
    below = element("dd", detail, class_="detail") if detail else None
    return element("div", element("dt", name), element("dd", value, class_="big"), below)


def _tiles(material: Material, language: Language) -> list[Markup]:
    diagnosis = material.diagnosis
    step = diagnosis.step.total if diagnosis.step is not None else diagnosis.step_seconds_median
    tiles = [_tile(speak("tile.step", language), figure_of(step, language))]
    tiles.append(_wait_tile(diagnosis, language))
    use = tightest(diagnosis)
    if use is not None:
        tiles.append(_memory_tile(use, language))
    tiles.extend(_change_tile(change, language) for change in telling_changes(diagnosis))
    return tiles


def _wait_tile(diagnosis: Diagnosis, language: Language) -> Markup:
    wait = diagnosis.data_wait
    detail = ""
    if wait is not None and wait.cold_windows:
        detail = speak(
            "page.after_cold", language, count=wait.cold_windows, share=wait.share_with_cold_windows
        )
    share = words.share_words(wait.share if wait is not None else None, language)
    origin = words.origin_word(wait.seconds, language) if wait is not None else ""
    return _tile(speak("tile.wait", language), figure(share, origin), detail)


def tightest(diagnosis: Diagnosis) -> MemoryUse | None:
    """The counter nearest to what the card must hold: the driver's before the framework's."""
    order = ("allocated", "reserved", "device")
    return max(diagnosis.memory, key=lambda use: order.index(use.counter), default=None)


def _memory_tile(use: MemoryUse, language: Language) -> Markup:
    counter = speak(f"counter.{use.counter}", language)
    card = words.quantity_words(use.card, language, interval=False)
    detail = speak("page.of_card", language, card=card, share=words.share_words(use.share, language))
    name = speak("tile.memory", language, counter=counter)
    return _tile(name, figure_of(use.peak, language), detail if use.card.value is not None else "")


def telling_changes(diagnosis: Diagnosis) -> list[Counterfactual]:
    """The change that brings most without added GPUs, then added GPUs in the same box."""

    def most(change: Counterfactual) -> float:
        speed_up = change.speed_up
        return max(
            figure for figure in (speed_up.high, speed_up.value, speed_up.low, 0.0) if figure is not None
        )

    others = [change for change in diagnosis.counterfactuals if change.brings is None]
    here = [change for change in diagnosis.counterfactuals if change.brings == "in_this_box"]
    best = max(others, key=most, default=None)
    return [*([best] if best is not None else []), *here[:1]]


def _change_tile(change: Counterfactual, language: Language) -> Markup:
    name = words.change_words(change, language)
    if change.brings is not None:
        name = speak(
            "tile.change_in", language, change=name, place=speak(f"brings.{change.brings}", language)
        )
    value = element("span", words.speed_up_words(change.speed_up, language), class_="value")
    return _tile(speak("tile.change", language, change=name), value, speak(f"tier.{change.tier}", language))


def changes(material: Material, language: Language) -> Markup:
    """The table of counterfactuals."""
    rows = [_change_row(change, language) for change in material.diagnosis.counterfactuals]
    if not rows:
        return section(material, language, "changes", note(speak("page.no_changes", language)))
    columns = ("column.change", "column.speed_up", "column.condition", "column.tier", "column.cost")
    drawn = table(speak("page.changes", language), columns, rows, language, numbers=(1,))
    return section(material, language, "changes", drawn, note(speak("page.changes_note", language)))


def _change_row(change: Counterfactual, language: Language) -> list[TableCell]:
    assumed = words.clauses(words.assumption_words(change, language), language)
    speed_up = words.speed_up_words(change.speed_up, language)
    origin = words.origin_word(change.speed_up, language)
    tier = join([speak(f"tier.{change.tier}", language), " ", element("small", origin, class_="origin")])
    return [
        TableCell(words.change_words(change, language), head=True),
        TableCell(element("strong", speed_up, class_="value"), number=True),
        TableCell(assumed),
        TableCell(tier),
        TableCell(words.cost_word(change, language)),
    ]


def missing(material: Material, language: Language) -> Markup:
    """What the log cannot say, and which file would add it."""
    diagnosis = material.diagnosis
    names = words.unanswerable(diagnosis, language)
    lead = speak("page.unanswerable", language, names=names) if names else ""
    items = [_missing_item(finding, language) for finding in diagnosis.missing]
    if not items and not lead:
        return section(material, language, "missing", note(speak("page.answers_all", language)))
    return section(
        material, language, "missing", listing(items) if items else None, note(lead) if lead else None
    )


def _missing_item(finding: Finding, language: Language) -> Markup:
    remedies = words.remedy_words(finding, language)
    return join([words.finding_words(finding, language), listing(remedies) if remedies else None])
