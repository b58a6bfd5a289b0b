"""Diagnoses, runs and imports as text for a terminal.

Right at 80 columns and wider, without colour and through a pipe. Everything is laid out here, so that a
Chinese table keeps its columns; rich adds the colours and knows what the terminal can do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.i18n import Language, speak
from weighbridge.report import words
from weighbridge.report.cells import Cell, Column, bar, paragraph, table, table_rows
from weighbridge.report.charts.breakdown import shares
from weighbridge.report.charts.draw import HATCHED
from weighbridge.report.charts.memory import TIGHT_SHARE
from weighbridge.report.markup import one_line
from weighbridge.schema.diagnosis import Breakdown, Counterfactual, Diagnosis, MemoryUse
from weighbridge.schema.finding import Finding
from weighbridge.schema.import_report import ImportedFile, ImportReport
from weighbridge.schema.run import Run
from weighbridge.units import format_share

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

VERDICT_STYLE: Final = {
    "data": "bold yellow",
    "compute": "bold cyan",
    "communication": "bold magenta",
    "checkpoint_or_evaluation": "bold yellow",
    "nothing_wrong": "bold green",
    "cannot_say": "bold",
}
SEVERITY_STYLE: Final = {"critical": "bold red", "warning": "yellow", "note": ""}
STATE_STYLE: Final = {"failed": "red", "unknown": "yellow"}
# Narrower than this the condition of a change stands under it instead of beside it.
WIDE: Final = 100
BAR_WIDTH: Final = 24
LEAST_BAR_WIDTH: Final = 6
SHOWN_PROBLEMS: Final = 5


def render_diagnosis(diagnosis: Diagnosis, run: Run, language: Language, console: Console) -> None:
    """Print one diagnosis."""
    blocks = console.encoding.lower().startswith("utf")
    _print(diagnosis_lines(diagnosis, run, language, width=console.width, blocks=blocks), console)


def render_runs(runs: Sequence[Run], language: Language, console: Console) -> None:
    """Print a list of runs, or that there is none."""
    _print(runs_lines(runs, language, width=console.width), console)


def render_import(report: ImportReport, language: Language, console: Console) -> None:
    """Print what an import did with each file and which runs came of it."""
    _print(import_lines(report, language, width=console.width), console)


def _print(lines: Sequence[Text], console: Console) -> None:
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def diagnosis_lines(
    diagnosis: Diagnosis, run: Run, language: Language, *, width: int = 80, blocks: bool = True
) -> list[Text]:
    """The report as lines of at most ``width`` cells; ``blocks`` False draws bars with ASCII."""
    from rich.text import Text

    sections = [
        _headline(diagnosis, run, language, width),
        _identity(diagnosis.step, "terminal.step", language, width, blocks),
        _identity(diagnosis.occupied, "terminal.occupied", language, width, blocks),
        _memory(diagnosis.memory, language, width, blocks),
        _changes(diagnosis.counterfactuals, language, width),
        _evidence(diagnosis, language, width),
        _missing(diagnosis, language, width),
        _problems(run, language, width),
    ]
    lines: list[Text] = []
    for section in sections:
        if section and lines:
            lines.append(Text(""))
        lines.extend(section)
    return lines


def _heading(code: str, language: Language, after: str = "") -> Text:
    from rich.text import Text

    heading = Text(speak(code, language), style="bold")
    return heading.append(f"  {after}" if after else "")


def _headline(diagnosis: Diagnosis, run: Run, language: Language, width: int) -> list[Text]:
    title = speak(
        "terminal.run_line",
        language,
        title=words.run_title(run),
        formats=words.formats_of(run),
        windows=run.train_rows or run.sample_rows,
    )
    word = speak(f"verdict.{diagnosis.verdict}", language)
    sentence = f"[{word}] {words.finding_words(diagnosis.headline, language)}"
    lines = paragraph(title, width, style="dim")
    lines += paragraph(sentence, width, style=VERDICT_STYLE[diagnosis.verdict])
    why = speak("terminal.why", language)
    why += " " if why.isascii() else ""
    lines += paragraph(_because(diagnosis, language), width, first=why)
    if diagnosis.more_gpus is not None:
        lines += paragraph(words.finding_words(diagnosis.more_gpus, language), width, style="bold")
    for finding in (diagnosis.headline, *diagnosis.findings[:1]):
        for remedy in words.remedy_words(finding, language):
            lines += paragraph(remedy, width, first="> ")
    return lines


def _because(diagnosis: Diagnosis, language: Language) -> str:
    """The first finding with its place; without one, what the verdict means."""
    explains = diagnosis.headline.code in ("headline.unattributed", "headline.only_samples")
    if diagnosis.findings and (diagnosis.verdict != "cannot_say" or explains):
        return _with_place(diagnosis.findings[0], language)
    return speak(f"verdict.{diagnosis.verdict}.meaning", language)


def _with_place(finding: Finding, language: Language) -> str:
    places = ", ".join(dict.fromkeys(words.place_words(evidence) for evidence in finding.evidence))
    text = words.finding_words(finding, language)
    return f"{text} ({places})" if places else text


def _bar_width(width: int) -> int:
    return max(LEAST_BAR_WIDTH, min(BAR_WIDTH, width // 3 - 2))


def _identity(
    breakdown: Breakdown | None, code: str, language: Language, width: int, blocks: bool
) -> list[Text]:
    if breakdown is None:
        return []
    heading = _heading(code, language, words.quantity_words(breakdown.total, language))
    cells = _bar_width(width)
    rows = []
    for part, share in zip(breakdown.parts, shares(breakdown), strict=True):
        drawn = bar(share or 0.0, cells, unattributed=part.name in HATCHED, blocks=blocks)
        rows.append(
            (
                Cell(words.phase_word(part.name, language)),
                Cell(words.quantity_words(part.seconds, language, interval=False)),
                Cell("" if share is None else words.share_words(share, language)),
                Cell(drawn, "yellow" if part.name == "data_wait" else "cyan"),
            )
        )
    columns = (Column(), Column("right"), Column("right"), Column(width=cells))
    return [heading, *table(rows, columns, width)]


def _memory(uses: Sequence[MemoryUse], language: Language, width: int, blocks: bool) -> list[Text]:
    if not uses:
        return []
    cells = _bar_width(width)
    rows = []
    for use in uses:
        peak = words.quantity_words(use.peak, language)
        known = use.card.value is not None
        tight = use.share is not None and use.share >= TIGHT_SHARE
        code = "terminal.of_card" if known else "terminal.no_card"
        card = words.quantity_words(use.card, language, interval=False)
        rows.append(
            (
                Cell(speak(f"counter.{use.counter}", language)),
                Cell(speak(code, language, peak=peak, card=card)),
                Cell("" if use.share is None else format_share(use.share)),
                Cell(bar(use.share or 0.0, cells, blocks=blocks), "red" if tight else "cyan"),
            )
        )
    columns = (Column(), Column(), Column("right"), Column(width=cells))
    return [_heading("terminal.memory", language), *table(rows, columns, width)]


def _changes(changes: Sequence[Counterfactual], language: Language, width: int) -> list[Text]:
    if not changes:
        return []
    wide = width >= WIDE
    names = ["change", *(["condition"] if wide else []), "speed_up", "tier", "cost"]
    rows = [[Cell(speak(f"column.{name}", language), "dim") for name in names]]
    rows += [_change(change, language, wide) for change in changes]
    columns = [Column(), *([Column()] if wide else []), Column("right", keep=True), Column(), Column()]
    lines = [_heading("terminal.changes", language)]
    for number, row in enumerate(table_rows(rows, columns, width)):
        lines += row
        assumed = _assumed(changes[number - 1], language) if not wide and number > 0 else ""
        if assumed:
            lines += paragraph(assumed, width, style="dim", indent=4)
    return lines


def _change(change: Counterfactual, language: Language, wide: bool) -> list[Cell]:
    return [
        Cell(words.change_words(change, language)),
        *([Cell(_assumed(change, language))] if wide else []),
        Cell(words.speed_up_words(change.speed_up, language), "bold"),
        Cell(speak(f"tier.{change.tier}", language)),
        Cell(words.cost_word(change, language)),
    ]


def _assumed(change: Counterfactual, language: Language) -> str:
    return words.clauses(words.assumption_words(change, language), language)


def _evidence(diagnosis: Diagnosis, language: Language, width: int) -> list[Text]:
    """Every finding but the first, which is the reason at the top; the headline's place if there is none."""
    lines = []
    told = _because(diagnosis, language)
    for finding in diagnosis.findings:
        if _with_place(finding, language) != told:
            lines += _finding(finding, language, width)
    return [_heading("terminal.evidence", language), *lines] if lines else []


def _finding(finding: Finding, language: Language, width: int) -> list[Text]:
    """A sentence with its place, and what would mend it."""
    mark = "- " if finding.severity == "note" else "! "
    style = SEVERITY_STYLE[finding.severity]
    lines = paragraph(_with_place(finding, language), width, style=style, first=mark, indent=2)
    for remedy in words.remedy_words(finding, language):
        lines += paragraph(remedy, width, first="> ", indent=4)
    return lines


def _missing(diagnosis: Diagnosis, language: Language, width: int) -> list[Text]:
    lines = []
    names = words.unanswerable(diagnosis, language)
    if names:
        text = speak("page.unanswerable", language, names=names)
        lines += paragraph(text, width, indent=2)
    for finding in diagnosis.missing:
        lines += _finding(finding, language, width)
    return [_heading("terminal.missing", language), *lines] if lines else []


def _problems(run: Run, language: Language, width: int) -> list[Text]:
    if not run.problems:
        return []
    lines = [_heading("page.problems", language)]
    for problem in run.problems[:SHOWN_PROBLEMS]:
        text = words.problem_words(problem, run, language)
        lines += paragraph(text, width, first="- ", indent=2)
    left_out = sum(problem.count for problem in run.problems[SHOWN_PROBLEMS:])
    if left_out:
        lines += paragraph(speak("terminal.more_problems", language, count=left_out), width, indent=2)
    return lines


def runs_lines(runs: Sequence[Run], language: Language, *, width: int = 80) -> list[Text]:
    """One row for each run: id, name, format, records, what it can answer (beside it, or under it)."""
    if not runs:
        return paragraph(speak("terminal.no_runs", language), width)
    wide = width >= WIDE
    names = ["run", "name", "formats", "windows", *(["answers"] if wide else [])]
    rows = [[Cell(speak(f"column.{name}", language), "dim") for name in names]]
    rows += [_run(run, language, wide) for run in runs]
    columns = [
        Column(keep=True),
        Column(),
        Column(),
        Column("right", keep=True),
        *([Column()] if wide else []),
    ]
    lines = []
    for number, row in enumerate(table_rows(rows, columns, width, indent=0)):
        lines += row
        if not wide and number > 0:
            lines += paragraph(_answers(runs[number - 1], language), width, style="dim", indent=2)
    return lines


def _answers(run: Run, language: Language) -> str:
    names = [speak(f"answerable.{name}", language) for name in run.answerable]
    return speak("value.list_separator", language).join(names)


def _run(run: Run, language: Language, wide: bool) -> list[Cell]:
    return [
        Cell(one_line(run.id), "bold"),
        Cell(one_line(run.name or "")),
        Cell(words.formats_of(run)),
        Cell(f"{run.train_rows or run.sample_rows:,}"),
        *([Cell(_answers(run, language))] if wide else []),
    ]


def import_lines(report: ImportReport, language: Language, *, width: int = 80) -> list[Text]:
    """One row for each file, then the runs."""
    from rich.text import Text

    names = ("file", "state", "formats", "note")
    rows = [[Cell(speak(f"column.{name}", language), "dim") for name in names]]
    rows.extend(_imported_row(file, language) for file in report.files)
    lines = table(rows, (Column(), Column(), Column(), Column()), width, indent=0) if report.files else []
    if report.skipped_files:
        lines += paragraph(speak("terminal.skipped_files", language, count=report.skipped_files), width)
    if report.runs:
        lines += [Text(""), *runs_lines(report.runs, language, width=width)]
    if report.workspace:
        lines += paragraph(
            speak("terminal.workspace", language, path=one_line(report.workspace)), width, style="dim"
        )
    return lines


def _imported_row(file: ImportedFile, language: Language) -> list[Cell]:
    notes = [words.sentence(file.reason, file.params, language)] if file.reason else []
    lost = sum(problem.count for problem in file.problems)
    if lost:
        notes.append(speak("terminal.problems", language, count=lost))
    return [
        Cell(one_line(file.name)),
        Cell(speak(f"state.{file.state}", language), STATE_STYLE.get(file.state, "")),
        Cell(file.reader or ""),
        Cell("; ".join(notes)),
    ]
