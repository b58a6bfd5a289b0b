"""The sections that prove: findings with their places, the files read, what they say, what went wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from weighbridge.i18n import Language, speak
from weighbridge.report import words
from weighbridge.report.markup import Markup, element, join
from weighbridge.report.sections.material import Material
from weighbridge.report.sections.parts import TableCell, listing, note, section, table
from weighbridge.schema.finding import Evidence, Finding
from weighbridge.schema.run import Run, Scalar
from weighbridge.units import format_bytes

SHOWN_PROBLEMS: Final = 40
SHOWN_DETAILS: Final = 40
HASH_CHARACTERS: Final = 12


def evidence(material: Material, language: Language) -> Markup:
    """Every finding with file, lines and time."""
    diagnosis = material.diagnosis
    rows: list[list[TableCell]] = []
    for finding in (diagnosis.headline, *diagnosis.findings):
        rows.extend(_finding_rows(finding, material.run, language))
    columns = (
        "column.finding",
        "column.severity",
        "column.file",
        "column.lines",
        "column.windows",
        "column.moment",
    )
    drawn = table(speak("page.evidence", language), columns, rows, language, numbers=(3, 4))
    return section(material, language, "evidence", drawn)


def _finding_rows(finding: Finding, run: Run, language: Language) -> Iterator[list[TableCell]]:
    places = finding.evidence or (None,)
    remedies = words.remedy_words(finding, language)
    text = join([words.finding_words(finding, language), listing(remedies) if remedies else None])
    for number, place in enumerate(places):
        row = _place_cells(place, run, language)
        if number == 0:
            severity = speak(f"severity.{finding.severity}", language)
            row = [
                TableCell(text, head=True, rows=len(places)),
                TableCell(element("span", severity, class_=f"severity-{finding.severity}"), rows=len(places)),
                *row,
            ]
        yield row


def _place_cells(place: Evidence | None, run: Run, language: Language) -> list[TableCell]:
    if place is None:
        return [TableCell("")] * 4
    return [
        TableCell(place.source),
        TableCell(words.lines_words(place), number=True),
        TableCell(f"{place.rows:,}" if place.rows is not None else "", number=True),
        TableCell(words.span_words(place, run.clock, language)),
    ]


def provenance(material: Material, language: Language) -> Markup:
    """What the origin words mean, the files read, and what the log says about itself."""
    run = material.run
    return section(
        material,
        language,
        "provenance",
        note(speak("page.origins", language)),
        _sources_table(run, language),
        _facts_table(run, language),
        _details(run, language),
    )


def _sources_table(run: Run, language: Language) -> Markup:
    rows = []
    for source in run.sources:
        offset = source.clock_offset_seconds
        rows.append(
            [
                TableCell(source.name, head=True),
                TableCell(source.reader),
                TableCell(format_bytes(source.bytes) if source.bytes is not None else "", number=True),
                TableCell(element("code", (source.sha256 or "")[:HASH_CHARACTERS])),
                TableCell(speak("page.clock_shift", language, offset=offset) if offset else ""),
            ]
        )
    columns = ("column.file", "column.formats", "column.size", "column.hash", "column.note")
    return table(speak("page.sources", language), columns, rows, language, numbers=(2,))


def known_facts(run: Run) -> list[tuple[str, Scalar]]:
    """Codes and values of what the log says of hardware, software and plan; unknown ones are left out."""
    hardware, environment, planned, layout = run.hardware, run.environment, run.planned, run.layout
    memory, host = hardware.gpu_memory_bytes, hardware.host_memory_bytes
    framework = " ".join(part for part in (environment.framework, environment.framework_version) if part)
    facts: list[tuple[str, Scalar]] = [
        ("fact.gpu_name", hardware.gpu_name),
        ("fact.gpus", hardware.gpus),
        ("fact.gpu_memory", format_bytes(memory) if memory else None),
        ("fact.cpu_name", hardware.cpu_name),
        ("fact.cpu_cores", hardware.cpu_cores),
        ("fact.host_memory", format_bytes(host) if host else None),
        ("fact.framework", framework or None),
        ("fact.torch", environment.torch),
        ("fact.cuda", environment.cuda),
        ("fact.driver", environment.driver),
        ("fact.operating_system", environment.operating_system),
        ("fact.python", environment.python),
        ("fact.model", planned.model),
        ("fact.dataset", planned.dataset),
        ("fact.global_batch", planned.global_batch),
        ("fact.batch_per_device", planned.batch_per_device),
        ("fact.accumulation", layout.accumulation),
        ("fact.workers", planned.workers),
        ("fact.epochs", planned.epochs),
        ("fact.steps", planned.steps),
        ("fact.segments", run.segments),
    ]
    return [(code, value) for code, value in facts if value is not None]


def _plain(value: Scalar) -> str:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def _facts_table(run: Run, language: Language) -> Markup:
    rows = [
        [TableCell(speak(code, language), head=True), TableCell(_plain(value))]
        for code, value in known_facts(run)
    ]
    return table(
        speak("page.facts", language), ("column.figure", "column.value"), rows, language, kind="facts"
    )


def _details(run: Run, language: Language) -> Markup | None:
    if not run.details:
        return None
    rows = [
        [TableCell(element("code", key), head=True), TableCell(_plain(value))]
        for key, value in list(run.details.items())[:SHOWN_DETAILS]
    ]
    name = speak("page.details", language)
    drawn = table(name, ("column.figure", "column.value"), rows, language, kind="facts")
    return element("details", element("summary", name), drawn)


def problems(material: Material, language: Language) -> Markup:
    """What could not be read, where, and how often."""
    run = material.run
    if not run.problems:
        return section(material, language, "problems", note(speak("page.no_problems", language)))
    rows = []
    for problem in run.problems[:SHOWN_PROBLEMS]:
        params = {"name": words.source_name(run, problem.source), "line": problem.line, **problem.params}
        rows.append(
            [
                TableCell(words.sentence(problem.code, params, language), head=True),
                TableCell(words.source_name(run, problem.source)),
                TableCell(f"{problem.line:,}" if problem.line is not None else "", number=True),
                TableCell(f"{problem.count:,}", number=True),
            ]
        )
    left_out = sum(problem.count for problem in run.problems[SHOWN_PROBLEMS:])
    more = note(speak("terminal.more_problems", language, count=left_out)) if left_out else None
    columns = ("column.note", "column.file", "column.lines", "column.count")
    drawn = table(speak("page.problems", language), columns, rows, language, numbers=(2, 3))
    return section(material, language, "problems", drawn, more)
