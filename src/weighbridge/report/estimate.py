"""An Estimate, a FitTable and the catalogue as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.i18n import Language, speak
from weighbridge.report import words
from weighbridge.report.cells import Cell, Column, bar, paragraph, table
from weighbridge.report.charts.memory_parts import stacks
from weighbridge.schema.description import Description
from weighbridge.schema.estimate import Advice, CardFit, Estimate, FitTable
from weighbridge.schema.finding import Finding
from weighbridge.schema.fit import Fit, MemoryFit
from weighbridge.units import Quantity, format_bytes, format_seconds, format_share, format_times, format_value

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from weighbridge.facts.records import GpuFact

STYLE: Final = {
    "fits": "bold green",
    "may_not_fit": "bold yellow",
    "fits_with_change": "yellow",
    "cannot": "bold red",
    "unknown": "",
}
BAR_WIDTH: Final = 24
WIDE: Final = 110


def render_estimate(answer: Estimate, language: Language, console: Console) -> None:
    blocks = console.encoding.lower().startswith("utf")
    _print(estimate_lines(answer, language, width=console.width, blocks=blocks), console)


def render_fit_table(found: FitTable, language: Language, console: Console) -> None:
    _print(fit_table_lines(found, language, width=console.width), console)


def render_cards(cards: Sequence[GpuFact], language: Language, console: Console) -> None:
    _print(cards_lines(cards, language, width=console.width), console)


def render_card(card: GpuFact, language: Language, console: Console) -> None:
    _print(card_lines(card, language, width=console.width), console)


def _print(lines: Sequence[Text], console: Console) -> None:
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def estimate_lines(
    answer: Estimate, language: Language, *, width: int = 80, blocks: bool = True
) -> list[Text]:
    from rich.text import Text

    fit, memory = answer.fit, answer.fit.memory
    assert memory is not None
    sections = [
        _headline(answer, memory, language, width),
        _memory(memory, language, width, blocks),
        _counters(memory, language, width, blocks),
        _step(fit, language, width, blocks),
        _rates(answer, language, width),
        _scaling(answer, language, width),
        _advice(answer, language, width),
        _neighbours(answer, language, width),
        _guesses(fit, language, width),
        _findings("estimate.heading.notes", answer.description.notes, language, width),
        [line for finding in fit.missing for line in _finding(finding, language, width)],
    ]
    lines: list[Text] = []
    for section in sections:
        if section:
            lines += [*([Text("")] if lines else []), *section]
    return lines


def _heading(text: str) -> Text:
    from rich.text import Text

    return Text(text, style="bold")


def verdict_of(fits: bool | None) -> str:
    return {True: "fits", None: "may_not_fit", False: "cannot"}[fits]


def _headline(answer: Estimate, memory: MemoryFit, language: Language, width: int) -> list[Text]:
    verdict = verdict_of(memory.fits)
    device, card = memory.device_bytes, memory.card_bytes
    low = memory.allocated_bytes.low if verdict == "cannot" else device.low
    sentence = speak(
        f"estimate.headline.{verdict}",
        language,
        name=answer.description.name,
        gpus=answer.gpus,
        gpu=answer.gpu,
        device=device.value,
        low=low,
        high=device.high,
        card=card.value,
    )
    told = speak(
        "estimate.line.task",
        language,
        parameters=answer.counted_parameters,
        recipe=task_words(answer.description),
    )
    return [*paragraph(sentence, width, style=STYLE[verdict]), *paragraph(told, width, style="dim")]


def task_words(task: Description) -> str:
    """What was said of the training, in the words of the options."""
    said: list[str] = []
    if task.vision is not None:
        image = "x".join(str(side) for side in task.image or ())
        pairs: list[tuple[str, object]] = [
            ("batch", task.vision.images),
            ("image-size", image),
            ("precision", task.vision.precision),
            ("optimizer", task.vision.optimizer),
            ("framework", task.vision.framework),
        ]
    else:
        recipe, layout = task.recipe, task.layout
        pairs = [
            ("batch", recipe.micro_batch),
            ("sequence", recipe.sequence),
            ("accumulation", recipe.accumulation),
            ("training", recipe.training),
            ("rank", recipe.lora_rank),
            ("weights", recipe.master),
            ("compute", recipe.compute),
            ("optimizer", recipe.optimizer),
            ("checkpointing", recipe.checkpointing),
            ("sharding", None if task.gpus == 1 else recipe.sharding),
            ("framework", recipe.framework),
            ("tp", _more(layout.tensor_parallel)),
            ("pp", _more(layout.pipeline_parallel)),
            ("cp", _more(layout.context_parallel)),
            ("ep", _more(layout.expert_parallel)),
        ]
    said += [f"{name} {value}" for name, value in pairs if value is not None]
    return ", ".join(said)


def _more(degree: int | None) -> int | None:
    return degree if degree is not None and degree > 1 else None


def _memory(memory: MemoryFit, language: Language, width: int, blocks: bool) -> list[Text]:
    bars = stacks(memory)
    phase = f"estimate.memory_phase.{memory.peak_phase}"
    whole = max(memory.card_bytes.value or 0.0, bars[-1].total)
    rows = [
        (
            Cell(speak(f"estimate.part.{name}", language)),
            Cell(format_bytes(size)),
            Cell(format_share(size / whole)),
            Cell(bar(size / whole, BAR_WIDTH, blocks=blocks), "cyan"),
        )
        for name, size in bars[-1].parts
        if size
    ]
    columns = (Column(), Column("right"), Column("right"), Column(width=BAR_WIDTH))
    lines = [_heading(speak("estimate.heading.memory", language, phase=phase)), *table(rows, columns, width)]
    rows = [
        (
            Cell(speak(stack.code, language)),
            Cell(format_bytes(stack.total)),
            Cell(format_share(stack.total / whole)),
            Cell(bar(stack.total / whole, BAR_WIDTH, blocks=blocks), "cyan"),
        )
        for stack in bars[:-1]
    ]
    return [*lines, _heading(speak("estimate.heading.phases", language)), *table(rows, columns, width)]


def _counters(memory: MemoryFit, language: Language, width: int, blocks: bool) -> list[Text]:
    card = memory.card_bytes.value
    rows = []
    for counter in ("allocated", "reserved", "device"):
        peak: Quantity = getattr(memory, f"{counter}_bytes")
        share = (peak.value or 0.0) / card if card else 0.0
        over = card is not None and (peak.high or 0.0) > card
        rows.append(
            (
                Cell(speak(f"counter.{counter}", language)),
                Cell(words.quantity_words(peak, language)),
                Cell(format_share(share) if card else ""),
                Cell(bar(share, BAR_WIDTH, blocks=blocks), "red" if over else "cyan"),
            )
        )
    columns = (Column(), Column(), Column("right"), Column(width=BAR_WIDTH))
    return [_heading(speak("estimate.heading.counters", language)), *table(rows, columns, width)]


def step_heading(fit: Fit, language: Language) -> str:
    """What does not fit does not step: its time is told as what it would be."""
    refused = fit.memory is not None and fit.memory.fits is False
    return speak("estimate.heading.step_if_it_fitted" if refused else "estimate.heading.step", language)


def _step(fit: Fit, language: Language, width: int, blocks: bool) -> list[Text]:
    step = fit.step
    if step is None:
        return []
    heading = step_heading(fit, language)
    rows = [
        (
            Cell(words.phase_word(part.name, language)),
            Cell(words.quantity_words(part.seconds, language, interval=False)),
            Cell(words.share_words(part.share, language)),
            Cell(bar(part.share or 0.0, BAR_WIDTH, blocks=blocks), "cyan"),
        )
        for part in step.parts
    ]
    columns = (Column(), Column("right"), Column("right"), Column(width=BAR_WIDTH))
    total = _heading(f"{heading}  {words.quantity_words(step.total, language)}")
    return [total, *table(rows, columns, width)]


def _rates(answer: Estimate, language: Language, width: int) -> list[Text]:
    fit, rate = answer.fit, answer.per_second
    lines: list[str] = []
    if rate is not None and rate.value is not None:
        unit = "images" if answer.description.kind == "vision" else "tokens"
        told = {"rate": rate.value, "low": rate.low, "high": rate.high}
        lines.append(speak(f"estimate.line.rate_{unit}", language, **told))
    if fit.model_flops_share is not None and fit.hardware_flops_share is not None:
        shares = {"mfu": fit.model_flops_share.value, "hfu": fit.hardware_flops_share.value}
        lines.append(speak("estimate.line.mfu", language, **shares))
    if fit.waits_for is not None:
        lines.append(speak("estimate.line.waits", language, resource=f"estimate.resource.{fit.waits_for}"))
    return [line for text in lines for line in paragraph(text, width, indent=2)]


def _scaling(answer: Estimate, language: Language, width: int) -> list[Text]:
    if len(answer.scaling) < 2:
        return []
    unit = "images" if answer.description.kind == "vision" else "tokens"
    names = ("gpus", "step", f"{unit}_rate", "efficiency")
    rows = [[Cell(speak(f"estimate.column.{name}", language), "dim") for name in names]]
    for point in answer.scaling:
        rows.append(
            [
                Cell(f"{point.gpus:,}", "bold"),
                Cell(words.quantity_words(point.step_seconds, language, interval=False)),
                Cell(words.quantity_words(point.rate_per_second, language)),
                Cell(words.share_words(point.efficiency_share.value, language)),
            ]
        )
    columns = (Column("right"), Column("right"), Column("right"), Column("right"))
    return [_heading(speak("estimate.heading.scaling", language)), *table(rows, columns, width)]


def _advice(answer: Estimate, language: Language, width: int) -> list[Text]:
    advice = answer.advice
    texts = [
        speak(
            "estimate.line.largest_batch",
            language,
            batch=advice.largest_batch,
            perhaps=advice.perhaps_batch,
        )
    ]
    unit = "pixels" if answer.description.kind == "vision" else "tokens"
    code = f"estimate.line.longest_{unit}" if advice.longest else "estimate.line.no_longest"
    texts.append(speak(code, language, longest=advice.longest))
    memory = answer.fit.memory
    if memory is not None and memory.fits is not True:
        if advice.change is not None:
            texts.append(speak("estimate.line.change", language, steps=change_words(advice, language)))
        else:
            texts.append(speak("estimate.line.no_change", language))
        code = "estimate.line.smallest_card" if advice.smallest_card else "estimate.line.no_card"
        texts.append(speak(code, language, gpu=advice.smallest_card))
    lines = [line for text in texts for line in paragraph(text, width, indent=2)]
    return [_heading(speak("estimate.heading.advice", language)), *lines]


def change_words(advice: Advice, language: Language) -> str:
    """The steps of the cheapest change, one after another."""
    if advice.change is None:
        return ""
    return words.clauses([words.finding_words(step, language) for step in advice.change.steps], language)


def _neighbours(answer: Estimate, language: Language, width: int) -> list[Text]:
    texts = [
        speak(
            "estimate.line.neighbour",
            language,
            what=near.what,
            gpu=near.gpu,
            counter=near.counter,
            measured=words.quantity_words(near.measured, language),
            error=near.error_share,
            source=near.source,
        )
        for near in answer.neighbours
    ]
    lines = [line for text in texts for line in paragraph(text, width, first="- ", indent=2)]
    return [_heading(speak("estimate.heading.neighbours", language)), *lines] if lines else []


def _guesses(fit: Fit, language: Language, width: int) -> list[Text]:
    """Defaults that move the answer one by one, the rest in one line."""
    weighty = [finding for finding in fit.guesses if finding.severity != "note"]
    minor = [finding for finding in fit.guesses if finding.severity == "note"]
    lines = [line for finding in weighty for line in _finding(finding, language, width)]
    if minor:
        names = ", ".join(f"{f.params.get('field')} {f.params.get('value')}" for f in minor)
        lines += paragraph(speak("estimate.line.minor", language, names=names), width, first="- ", indent=2)
    return [_heading(speak("estimate.heading.guesses", language)), *lines] if lines else []


def _findings(code: str, findings: Sequence[Finding], language: Language, width: int) -> list[Text]:
    lines = [line for finding in findings for line in _finding(finding, language, width)]
    return [_heading(speak(code, language)), *lines] if lines else []


def _finding(finding: Finding, language: Language, width: int) -> list[Text]:
    mark = "- " if finding.severity == "note" else "! "
    return paragraph(words.finding_words(finding, language), width, first=mark, indent=2)


def fit_table_lines(found: FitTable, language: Language, *, width: int = 80) -> list[Text]:
    from rich.text import Text

    task = found.description
    names = ["gpu", "memory", "verdict", "batch", "longest", "step", "rate", "why"]
    rows = [[Cell(speak(f"estimate.column.{name}", language), "dim") for name in names]]
    rows += [_card_row(row, language) for row in found.cards]
    columns = [
        Column(keep=width >= WIDE),
        Column("right", keep=True),
        Column(keep=True),
        Column("right", keep=True),
        Column("right", keep=True),
        Column("right", keep=True),
        Column("right", keep=True),
        Column(),
    ]
    if width < WIDE:
        # The longest input and the step time give way; the JSON document has them.
        keep = [0, 1, 2, 3, 6, 7]
        rows = [[row[place] for place in keep] for row in rows]
        columns = [columns[place] for place in keep]
    lines = paragraph(f"{task.name}: {task_words(task)}", width, style="bold")
    lines += table(rows, columns, width, indent=0)
    code = "estimate.line.reference" if found.reference else "estimate.line.none_fits"
    lines += paragraph(speak(code, language, gpu=found.reference), width, style="dim")
    for heading, findings in (
        ("estimate.heading.traps", found.traps),
        ("estimate.heading.guesses", tuple(f for f in found.guesses if f.severity != "note")),
        ("estimate.heading.notes", task.notes),
    ):
        section = _findings(heading, findings, language, width)
        lines += [Text(""), *section] if section else []
    return lines


def _card_row(row: CardFit, language: Language) -> list[Cell]:
    advice = row.advice
    why = words.finding_words(row.why, language)
    if (
        row.verdict in ("may_not_fit", "fits_with_change")
        and advice is not None
        and advice.change is not None
    ):
        why = change_words(advice, language)
    step = row.step_seconds.value if row.step_seconds is not None else None
    return [
        Cell(row.gpu, "bold"),
        Cell(words.quantity_words(row.memory_bytes, language, interval=False)),
        Cell(speak(f"estimate.verdict.{row.verdict}", language), STYLE[row.verdict]),
        Cell(f"{advice.largest_batch:,}" if advice is not None else ""),
        Cell(f"{advice.longest:,}" if advice is not None and advice.longest else ""),
        Cell("" if step is None else format_seconds(step)),
        Cell("" if row.relative_rate is None else format_times(row.relative_rate)),
        Cell(why),
    ]


def cards_lines(cards: Sequence[GpuFact], language: Language, *, width: int = 80) -> list[Text]:
    names = ("gpu", "memory", "bf16", "bandwidth", "link", "confidence", "source")
    rows = [[Cell(speak(f"estimate.column.{name}", language), "dim") for name in names]]
    for card in cards:
        rates = card.dense_teraflops
        half = rates.bf16 or rates.fp16
        link = card.link.per_direction_gigabytes_per_second if card.link else None
        bandwidth = card.memory_bandwidth_gigabytes_per_second
        rows.append(
            [
                Cell(card.id, "bold"),
                Cell(f"{card.memory_gigabytes:g} GB"),
                Cell(format_value(half * 1e12, "flops_per_second") if half else ""),
                Cell(format_value(bandwidth * 1e9, "bytes_per_second") if bandwidth else ""),
                Cell(format_value(link * 1e9, "bytes_per_second") if link else ""),
                Cell(card.confidence),
                Cell(", ".join(card.sources)),
            ]
        )
    right = Column("right", keep=True)
    columns = [Column(keep=width >= WIDE), right, right, right, right, Column(keep=True), Column()]
    if width < WIDE:
        # The link gives way; the card's own page has it.
        rows, columns = [[*row[:4], *row[5:]] for row in rows], [*columns[:4], *columns[5:]]
    lines = table(rows, columns, width, indent=0)
    return [*lines, *paragraph(speak("estimate.machines.note", language), width, style="dim")]


def card_lines(card: GpuFact, language: Language, *, width: int = 80) -> list[Text]:
    """Every figure of one card with its mark and source."""
    from weighbridge.facts import gpu_from_fact

    title = speak(
        "estimate.machines.title",
        language,
        name=card.id,
        vendor=card.vendor,
        architecture=card.architecture,
        form=card.form,
    )
    gpu = gpu_from_fact(card)
    rows = [
        [
            Cell(speak(f"estimate.column.{name}", language), "dim")
            for name in ("field", "value", "confidence", "source")
        ]
    ]
    for record in (gpu, gpu.dense):
        for name in record.__dataclass_fields__:
            value = getattr(record, name)
            if isinstance(value, Quantity) and value.value is not None:
                rows.append(
                    [
                        Cell(name),
                        Cell(words.quantity_words(value, language, interval=False)),
                        Cell(value.confidence or ""),
                        Cell(f"{value.source or ''} {value.date or ''}".strip()),
                    ]
                )
    lines = [
        *paragraph(title, width, style="bold"),
        *table(rows, (Column(), Column("right"), Column(), Column()), width),
    ]
    if card.aliases:
        lines += paragraph(speak("estimate.machines.also", language, names=card.aliases), width, indent=2)
    for name, reason in card.unsure.items():
        told = speak("estimate.machines.unsure", language, field=name, reason=reason)
        lines += paragraph(told, width, style="yellow", indent=2)
    return [*lines, *paragraph(speak("estimate.machines.note", language), width, style="dim")]
