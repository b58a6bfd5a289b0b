"""The training load brief: one printed page for the supplier, in one language.

``brief_from`` takes the figures out of a diagnosis into a record that has no room for names; ``brief_page``
prints records. What is unknown is printed as not measured, and what only the customer knows is left open.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from weighbridge.i18n import Language, speak
from weighbridge.report import words
from weighbridge.report.html import document, template
from weighbridge.report.markup import Markup, element, join
from weighbridge.report.view import View
from weighbridge.schema.brief import GROUPS, WORD, Brief, BriefItem
from weighbridge.schema.diagnosis import Diagnosis
from weighbridge.schema.run import Run
from weighbridge.units import Quantity

TASKS_ON_A_PAGE: Final = 3
COUNTERS: Final = ("allocated", "reserved", "device")
DEGREES: Final = (
    "data_parallel", "tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel",
    "zero_stage",
)  # fmt: skip


def brief_from(run: Run, diagnosis: Diagnosis, view: View) -> Brief:
    """The figures of one Run that a supplier needs, without anything that names people or places."""
    items = [
        *_memory(run, diagnosis),
        *_time(run, diagnosis, view),
        *_data(run),
        *_layout(run),
        *_environment(run),
        BriefItem(code="growth_runs", group="growth", fill_in=True),
        BriefItem(code="growth_size", group="growth", fill_in=True),
    ]
    return Brief(items=tuple(items), logs=len(run.sources))


def _unknown(unit: str) -> Quantity:
    return Quantity(value=None, unit=unit, origin="imported", missing="not_read")


def _anonymous(quantity: Quantity | None, unit: str) -> Quantity:
    """The figure without free text; an absent one as not measured, whatever the reason."""
    if quantity is None:
        return _unknown(unit)
    if quantity.missing is not None:
        return replace(_unknown(quantity.unit), origin=quantity.origin)
    return replace(quantity, source=None, confidence=None, date=None)


def _count(value: float | None, unit: str = "count") -> Quantity:
    return _unknown(unit) if value is None else Quantity(value=float(value), unit=unit, origin="imported")


def _word(text: str | None) -> str | None:
    """The text where it has the closed shape; anything else is left out rather than mended."""
    text = " ".join(text.split()) if text else None
    return text if text and WORD.fullmatch(text) else None


def _log_of(run: Run, source: str | None) -> int | None:
    names = [item.name for item in run.sources]
    if source in names:
        return names.index(source)
    return 0 if len(names) == 1 else None


def _memory(run: Run, diagnosis: Diagnosis) -> Iterator[BriefItem]:
    uses = {use.counter: use for use in diagnosis.memory}
    for counter in COUNTERS:
        use = next((use for name, use in uses.items() if name == counter), None)
        yield BriefItem(
            code=f"memory_{counter}",
            group="memory",
            quantity=_anonymous(use.peak if use is not None else None, "bytes"),
            log=_log_of(run, use.evidence.source if use is not None and use.evidence is not None else None),
        )
    card = next((use.card for use in diagnosis.memory if use.card.value is not None), None)
    yield BriefItem(code="gpu_name", group="memory", word=_word(run.hardware.gpu_name))
    yield BriefItem(code="card_memory", group="memory", quantity=_anonymous(card, "bytes"))


def _time(run: Run, diagnosis: Diagnosis, view: View) -> Iterator[BriefItem]:
    step = diagnosis.step_seconds_median or (diagnosis.step.total if diagnosis.step is not None else None)
    wait = diagnosis.data_wait
    share = Quantity(value=wait.share, unit="share", origin=wait.seconds.origin) if wait is not None else None
    evidence = diagnosis.headline.evidence
    log = _log_of(run, evidence[0].source if evidence else None)
    run_seconds = recorded_seconds(run, diagnosis)
    figures = [
        ("step_seconds", step, "seconds"),
        ("epoch_seconds", epoch_seconds(run, diagnosis, view), "seconds"),
        ("data_wait_share", share, "share"),
        ("evaluation_share", _evaluation_share(diagnosis), "share"),
        ("run_seconds", run_seconds, "seconds"),
        ("unbroken_seconds", unbroken_seconds(run, run_seconds, view), "seconds"),
        ("full_run_seconds", full_run_seconds(run, diagnosis), "seconds"),
    ]
    for code, quantity, unit in figures:
        yield BriefItem(code=code, group="time", quantity=_anonymous(quantity, unit), log=log)


def _evaluation_share(diagnosis: Diagnosis) -> Quantity | None:
    parts = diagnosis.occupied.parts if diagnosis.occupied is not None else ()
    for part in parts:
        if part.name == "evaluation" and part.share is not None:
            return Quantity(value=part.share, unit="share", origin=part.seconds.origin)
    return None


def recorded_seconds(run: Run, diagnosis: Diagnosis) -> Quantity | None:
    """How long the recorded run took: occupied time, else first to last clock, else what the log states."""
    if diagnosis.occupied is not None and diagnosis.occupied.total.value is not None:
        return diagnosis.occupied.total
    if run.started_at_seconds is not None and run.ended_at_seconds is not None:
        return _count(run.ended_at_seconds - run.started_at_seconds, "seconds")
    return _count(run.stated_seconds, "seconds") if run.stated_seconds is not None else None


def epoch_seconds(run: Run, diagnosis: Diagnosis, view: View) -> Quantity | None:
    """The median of the epochs that the log times, else steps per epoch times the mean step."""
    timed = [event.seconds for event in view.events(["epoch"]) if event.seconds is not None]
    if timed:
        return _count(statistics.median(timed), "seconds")
    return _product(run.planned.steps_per_epoch, diagnosis)


def full_run_seconds(run: Run, diagnosis: Diagnosis) -> Quantity | None:
    """Planned steps times the mean step; evaluation and checkpoints come on top."""
    return _product(run.planned.steps, diagnosis)


def _product(steps: int | None, diagnosis: Diagnosis) -> Quantity | None:
    mean = diagnosis.step.total.value if diagnosis.step is not None else None
    if steps is None or mean is None:
        return None
    return Quantity(value=steps * mean, unit="seconds", origin="estimated")


def unbroken_seconds(run: Run, run_seconds: Quantity | None, view: View) -> Quantity | None:
    """The longest time between two starts; a log does not say when a broken run stopped, so at most that.

    Without a restart it is the whole run. Where the restarts carry no clock only the upper end is known.
    """
    if run_seconds is None or run.segments <= 1:
        return run_seconds
    restarts = [event.at_seconds for event in view.events(["restart"]) if event.at_seconds is not None]
    first, last = run.started_at_seconds, run.ended_at_seconds
    if first is None or last is None or len(restarts) < run.segments - 1:
        return replace(run_seconds, value=None, low=None, high=run_seconds.value, origin="estimated")
    moments = sorted([first, *restarts, last])
    longest = max(late - early for early, late in itertools.pairwise(moments))
    return Quantity(value=longest, unit="seconds", origin="estimated", operator="<=")


def _data(run: Run) -> Iterator[BriefItem]:
    """What no log of today's readers holds is printed as not measured, so that someone measures it."""
    batch, per_epoch = run.planned.global_batch, run.planned.steps_per_epoch
    if batch is not None and per_epoch is not None:
        samples = Quantity(value=float(batch * per_epoch), unit="count", origin="estimated")
        yield BriefItem(code="samples_per_epoch", group="data", quantity=samples)
    for code, unit in (
        ("data_bytes", "decimal_bytes"),
        ("data_files", "count"),
        ("file_bytes", "decimal_bytes"),
        ("bytes_read_per_second", "bytes_per_second"),
        ("checkpoint_bytes", "decimal_bytes"),
    ):
        yield BriefItem(code=code, group="data", quantity=_unknown(unit))


def _layout(run: Run) -> Iterator[BriefItem]:
    layout, planned = run.layout, run.planned
    yield BriefItem(code="gpus", group="layout", quantity=_count(run.hardware.gpus))
    known = [(name, getattr(layout, name)) for name in DEGREES if getattr(layout, name) is not None]
    for name, degree in known or [("parallel", None)]:
        yield BriefItem(code=name, group="layout", quantity=_count(degree))
    batch = planned.batch_per_device if planned.batch_per_device is not None else layout.micro_batch
    yield BriefItem(code="batch_per_device", group="layout", quantity=_count(batch))
    for code, value in (
        ("accumulation", layout.accumulation),
        ("global_batch", planned.global_batch),
        ("sequence_length", planned.sequence_length),
        ("parameters", planned.parameters),
        ("workers", planned.workers),
    ):
        # A length or a parameter count is a question for some tasks only: no empty row for the others.
        if value is not None or code in ("global_batch", "workers"):
            yield BriefItem(code=code, group="layout", quantity=_count(value))


def _environment(run: Run) -> Iterator[BriefItem]:
    environment = run.environment
    framework = " ".join(part for part in (environment.framework, environment.framework_version) if part)
    yield BriefItem(code="framework", group="environment", word=_word(framework))
    yield BriefItem(code="torch", group="environment", word=_word(environment.torch))
    yield BriefItem(code="cuda", group="environment", word=_word(environment.cuda))
    yield BriefItem(code="driver", group="environment", word=_word(environment.driver))


def brief_page(items: Sequence[Brief], language: Language) -> str:
    """The page, TASKS_ON_A_PAGE tasks beside one another. Raises ValueError without a brief."""
    if not items:
        raise ValueError("a brief needs at least one task")
    logs = list(itertools.accumulate((brief.logs for brief in items), initial=0))
    numbered = list(zip(range(len(items)), logs, items, strict=False))
    pages = [
        _page(numbered[start : start + TASKS_ON_A_PAGE], language)
        for start in range(0, len(numbered), TASKS_ON_A_PAGE)
    ]
    title = speak("brief.title", language)
    return document([(language, title, join(pages))], language=language, style=template("brief-page.css"))


def letter(index: int) -> str:
    """0 is A, 25 is Z, 26 is AA."""
    text = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _page(tasks: Sequence[tuple[int, int, Brief]], language: Language) -> Markup:
    single = len(tasks) == 1
    heads = [speak("column.item", language)]
    heads += [_task_head(number, first_log, brief, language) for number, first_log, brief in tasks]
    heads += [speak("column.remark", language)] if single else []
    rows = [_fill_in_row(speak("brief.task_name", language), len(tasks), single)]
    for group in GROUPS:
        title = speak(f"brief.group.{group}", language)
        cells = element("th", title, colspan=str(len(heads)), scope="rowgroup", class_="group")
        rows.append(element("tr", cells))
        rows.extend(_rows(group, tasks, language))
    return element(
        "article",
        element("h1", speak("brief.title", language)),
        element("p", speak("brief.subtitle", language)),
        element(
            "table",
            element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
            element("tbody", *rows),
            class_="single" if single else None,
        ),
        element("p", speak("brief.origins", language), class_="note"),
        element("p", speak("brief.not_contract", language), class_="note"),
    )


def _task_head(number: int, first_log: int, brief: Brief, language: Language) -> str:
    """The task's letter with the letters of its logs."""
    logs = "\u2013".join(dict.fromkeys((letter(first_log), letter(first_log + max(brief.logs, 1) - 1))))
    log = speak("brief.log", language, letter=logs)
    return speak("brief.task_head", language, letter=letter(number), log=log)


def _rows(group: str, tasks: Sequence[tuple[int, int, Brief]], language: Language) -> Iterator[Markup]:
    """A row for each item that any of the tasks has, in the order of the first that has it."""
    codes = dict.fromkeys(item.code for _, _, brief in tasks for item in brief.items if item.group == group)
    single = len(tasks) == 1
    for code in codes:
        name = speak(f"brief.item.{code}", language)
        found = [next((item for item in brief.items if item.code == code), None) for _, _, brief in tasks]
        if any(item is not None and item.fill_in for item in found):
            yield _fill_in_row(name, len(tasks), single)
            continue
        cells = [
            element("td", _value(item, first_log if single and brief.logs > 1 else None, language))
            for item, (_, first_log, brief) in zip(found, tasks, strict=True)
        ]
        remark = element("td", class_="remark") if single else None
        yield element("tr", element("th", name, scope="row"), *cells, remark)


def _fill_in_row(name: str, tasks: int, single: bool) -> Markup:
    blank = [element("td", class_="blank") for _ in range(tasks + (1 if single else 0))]
    return element("tr", element("th", name, scope="row"), *blank)


def _value(item: BriefItem | None, first_log: int | None, language: Language) -> Markup:
    """The figure or word, with its origin in small; its log only where that is in question and fits."""
    if item is None or (item.quantity is None and item.word is None):
        return element("span", speak("value.unknown", language), class_="unknown")
    if item.word is not None:
        return _with_origin(item.word, speak("origin.imported", language))
    quantity = item.quantity
    text = words.quantity_words(quantity, language)
    origin = words.origin_word(quantity, language) if quantity is not None else ""
    if not origin:
        return element("span", text, class_="unknown")
    if item.log is not None and first_log is not None:
        origin += f" \u00b7 {speak('brief.log', language, letter=letter(first_log + item.log))}"
    return _with_origin(text, origin)


def _with_origin(text: str, origin: str) -> Markup:
    return join([element("span", text, class_="value"), " ", element("small", origin, class_="origin")])
