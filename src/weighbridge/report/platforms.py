"""The server platforms as text for a terminal: all of them, or one with every figure, mark and source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from weighbridge.i18n import Language, speak
from weighbridge.report import words
from weighbridge.report.cells import Cell, Column, paragraph, table
from weighbridge.units import Quantity, format_decimal_bytes, format_value

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from weighbridge.facts import PlatformFact

WIDE: Final = 110


def render_platforms(platforms: Sequence[PlatformFact], language: Language, console: Console) -> None:
    _print(platforms_lines(platforms, language, width=console.width), console)


def render_platform(platform: PlatformFact, language: Language, console: Console) -> None:
    _print(platform_lines(platform, language, width=console.width), console)


def _print(lines: Sequence[Text], console: Console) -> None:
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def platforms_lines(platforms: Sequence[PlatformFact], language: Language, *, width: int = 80) -> list[Text]:
    """One row a platform; on a narrow screen the sources give way, the platform's own page has them."""
    names = ["name", "gpus", "height", "watts", "cooling", "confidence", "source"]
    columns = [
        Column(keep=True),
        Column(),
        *[Column("right", keep=True)] * 2,
        *[Column(keep=True)] * 2,
        Column(),
    ]
    rows = [[Cell(_column(name, language), "dim") for name in names]]
    rows += [_row(platform, language) for platform in platforms]
    if width < WIDE:
        rows, columns = [row[:-1] for row in rows], columns[:-1]
    return [*table(rows, columns, width, indent=0), *_foot(language, width)]


def _row(platform: PlatformFact, language: Language) -> list[Cell]:
    from weighbridge.facts.sourced import is_unsure

    mark = "C" if is_unsure(platform, "maximum_watts") else platform.confidence
    height = "" if platform.rack_units is None else format_value(platform.rack_units, "rack_units")
    return [
        Cell(platform.id, "bold"),
        Cell(gpu_words(platform, language)),
        Cell(height),
        Cell(f"{platform.maximum_watts:,.0f} W"),
        Cell(speak(f"facts.platform.cooling.{platform.cooling}", language)),
        Cell(mark),
        Cell(", ".join(platform.sources)),
    ]


def platform_lines(platform: PlatformFact, language: Language, *, width: int = 80) -> list[Text]:
    """Every figure of one platform with its mark and source, what it makes of heat, and what is unsure."""
    from weighbridge.facts import machine_from_platform
    from weighbridge.schema.machine_lines import lines

    names = ("figure", "value", "confidence", "source")
    rows = [[Cell(_column(name, language), "dim") for name in names]]
    for path, figure in lines(machine_from_platform(platform)).items():
        if path.startswith("gpu.") and path != "gpu.count":
            continue  # The card has a page of its own.
        rows.append(
            [
                Cell(_line(path, platform, language)),
                Cell(_value(path, figure, language)),
                Cell(figure.confidence or ""),
                Cell(f"{(figure.source or '').rpartition(': ')[2]} {figure.date or ''}".strip()),
            ]
        )
    title = f"{platform.id}: {gpu_words(platform, language)}"
    told = [*paragraph(title, width, style="bold")]
    told += table(rows, (Column(), Column("right"), Column(), Column()), width)
    told += paragraph(heat_words(platform, language), width, indent=2)
    if platform.processor is not None and len(platform.processor.models) > 1:
        models = _either(platform.processor.models, language)
        told += paragraph(speak("facts.platform.processors", language, models=models), width, indent=2)
    if platform.note:
        told += paragraph(platform.note, width, indent=2)
    for reason in dict.fromkeys(platform.unsure.values()):
        unsure = [field for field, why in platform.unsure.items() if why == reason]
        code = "facts.platform.unsure_all" if "*" in unsure else "facts.platform.unsure"
        sentence = speak(code, language, fields=unsure, reason=reason)
        told += paragraph(sentence, width, style="yellow", indent=2)
    return [*told, *_foot(language, width)]


def _value(path: str, figure: Quantity, language: Language) -> str:
    # Disks are sold in decimal units.
    if path.startswith("disk") and figure.unit == "bytes" and figure.value is not None:
        return format_decimal_bytes(figure.value)
    return words.quantity_words(figure, language)


def _line(path: str, platform: PlatformFact, language: Language) -> str:
    """The name of a machine line; of several parts of one kind, which is meant."""
    part, index, field = re.fullmatch(r"(\w+)(?:\[(\d+)\])?\.(.+)", path).groups()  # type: ignore[union-attr]
    name = speak(f"machine_line.{part}.{field}", language)
    number = int(index or 1) - 1
    if part == "nic" and number < len(platform.network_cards):
        return f"{name} ({platform.network_cards[number].model})"
    if part == "disk" and number < len(platform.drives):
        kind = platform.drives[number].kind
        return f"{name} ({kind or number + 1})"
    return name


def gpu_words(platform: PlatformFact, language: Language) -> str:
    """The cards it takes: "8 x A or B"."""
    cards = [*platform.gpu_models, *([platform.gpu_text] if platform.gpu_text else [])]
    models = _either(cards, language) or speak("facts.platform.some_gpu", language)
    code = "facts.platform.gpus" if platform.nodes == 1 else "facts.platform.racked"
    return speak(code, language, nodes=platform.nodes, gpus=platform.gpus, models=models)


def heat_words(platform: PlatformFact, language: Language) -> str:
    airflow = platform.airflow_cubic_feet_per_minute
    code = "facts.platform.heat" if airflow is None else "facts.platform.heat_air"
    return speak(
        code,
        language,
        watts=platform.maximum_watts,
        heat=platform.heat_btu_per_hour,
        airflow=airflow,
    )


def _either(names: Sequence[str], language: Language) -> str:
    return speak("facts.platform.or", language).join(names)


def _column(name: str, language: Language) -> str:
    return speak(f"facts.platform.column.{name}", language)


def _foot(language: Language, width: int) -> list[Text]:
    return paragraph(speak("facts.platform.draws", language), width, style="dim")
