"""The sections with drawings: where the time goes, the timeline, memory, how busy the GPUs were."""

from __future__ import annotations

from weighbridge.i18n import Language, speak
from weighbridge.report import words
from weighbridge.report.charts import Strip, breakdown_svg, busy_svg, line_svg, memory_svg, timeline_svg
from weighbridge.report.charts.breakdown import shares
from weighbridge.report.charts.scale import bytes_axis
from weighbridge.report.charts.timeline import axis_along, series_axis
from weighbridge.report.markup import Markup, element, join
from weighbridge.report.sections.material import WIDTH, Material, Size
from weighbridge.report.sections.parts import (
    TableCell,
    drawings,
    figure_of,
    identity,
    note,
    section,
    table,
)
from weighbridge.schema.diagnosis import Breakdown, MemoryUse
from weighbridge.store.shapes import DeviceUse
from weighbridge.units import format_value


def breakdown(material: Material, language: Language) -> Markup:
    """Both identities as bars, with their figures and origins in a table."""
    diagnosis = material.diagnosis
    children = []
    for name, record in (("step", diagnosis.step), ("occupied", diagnosis.occupied)):
        if record is not None:
            children.append(_bar(material, language, name, record))
            children.append(_parts_table(language, name, record))
    if diagnosis.step is None:
        children.insert(0, note(speak("page.no_breakdown", language)))
    return section(material, language, "breakdown", *children)


def _total(name: str, record: Breakdown, language: Language) -> str:
    return speak(f"page.{name}_bar", language, total=words.quantity_words(record.total, language))


def _bar(material: Material, language: Language, name: str, record: Breakdown) -> Markup:
    title = _total(name, record, language)

    def draw(size: Size) -> Markup:
        return breakdown_svg(
            record, title=title, language=language, width=WIDTH[size],
            identity=identity(material, language, f"{name}-bar-{size}"),
        )  # fmt: skip

    origin = element("small", words.origin_word(record.total, language), class_="origin")
    return drawings(draw, join([title, " ", origin]))


def _parts_table(language: Language, name: str, record: Breakdown) -> Markup:
    rows = []
    for part, share in zip(record.parts, shares(record), strict=True):
        rows.append(
            [
                TableCell(words.phase_word(part.name, language), head=True),
                TableCell(words.quantity_words(part.seconds, language), number=True),
                TableCell("" if share is None else words.share_words(share, language), number=True),
                TableCell(words.origin_word(part.seconds, language)),
            ]
        )
    columns = ("column.part", "column.time", "column.share", "column.origin")
    drawn = table(_total(name, record, language), columns, rows, language, numbers=(1, 2))
    return element("details", element("summary", speak("page.figures", language)), drawn)


def timeline(material: Material, language: Language) -> Markup:
    """Step time over the run."""
    if not material.step["wide"]:
        return section(material, language, "timeline", note(speak("page.no_timeline", language)))

    def draw(size: Size) -> Markup:
        return timeline_svg(
            material.step[size],
            material.wait[size],
            material.events,
            language=language,
            width=WIDTH[size],
            height=240.0 if size == "wide" else 200.0,
            identity=identity(material, language, f"timeline-{size}"),
        )

    return section(material, language, "timeline", drawings(draw))


def memory(material: Material, language: Language) -> Markup:
    """Peak of each counter against the card, and the course of the tightest one over the run."""
    uses = material.diagnosis.memory
    if not uses:
        return section(material, language, "memory", note(speak("page.no_memory", language)))

    def draw(size: Size) -> Markup:
        name = identity(material, language, f"memory-{size}")
        return memory_svg(uses, language=language, identity=name, width=WIDTH[size])

    course = _memory_course(material, language) if len(material.memory["wide"]) > 1 else None
    columns = ("column.counter", "column.peak", "column.card", "column.share", "column.file", "column.lines")
    rows = [_memory_row(use, language) for use in uses]
    drawn = table(speak("page.memory", language), columns, rows, language, numbers=(1, 2, 3, 5))
    why = note(speak("page.memory_note", language))
    return section(material, language, "memory", drawings(draw), drawn, course, why)


def _memory_row(use: MemoryUse, language: Language) -> list[TableCell]:
    place = use.evidence
    return [
        TableCell(speak(f"memory.{use.counter}", language), head=True),
        TableCell(figure_of(use.peak, language), number=True),
        TableCell(figure_of(use.card, language), number=True),
        TableCell("" if use.share is None else words.share_words(use.share, language), number=True),
        TableCell(place.source if place is not None else ""),
        TableCell(words.lines_words(place) if place is not None else "", number=True),
    ]


def _memory_course(material: Material, language: Language) -> Markup:
    counter = material.memory_counter or "allocated"
    word = speak(f"memory.{counter}", language)
    card = next((use.card.value for use in material.diagnosis.memory if use.counter == counter), None)

    def draw(size: Size) -> Markup:
        points = material.memory[size]
        peak = max(point.high for point in points)
        y_axis = bytes_axis(max(peak, card or 0.0), 4)
        return line_svg(
            points,
            x_axis=series_axis(points, WIDTH[size]),
            y_axis=y_axis,
            x_title=speak(f"chart.along_{axis_along(points)}", language, unit=""),
            y_title=speak("chart.memory_axis", language, unit=y_axis.unit),
            title=speak("chart.memory_line_title", language, counter=word),
            description=speak("chart.memory_line_description", language, peak=peak),
            language=language,
            identity=identity(material, language, f"memory-course-{size}"),
            reference=card,
            reference_words=speak("chart.card", language, card=card) if card else "",
            width=WIDTH[size],
        )

    return drawings(draw, speak("chart.memory_line_title", language, counter=word))


def busy(material: Material, language: Language) -> Markup:
    """How busy each GPU was, as the driver sampled it; says so when there are no samples."""
    if not material.devices:
        return section(material, language, "busy", note(speak("page.no_busy", language)))
    strips = [(use, material.busy[use.device]) for use in material.devices if use.device in material.busy]
    strips = [(use, by_size) for use, by_size in strips if by_size["wide"]]

    def draw(size: Size) -> Markup:
        found = [Strip(device_name(use), use.gpu_busy_share, by_size[size]) for use, by_size in strips]
        name = identity(material, language, f"busy-{size}")
        return busy_svg(found, language=language, identity=name, width=WIDTH[size])

    shown = drawings(draw) if strips else None
    return section(material, language, "busy", shown, _devices_table(material, language))


def device_name(use: DeviceUse) -> str:
    """ "node-17 GPU 3", or without a host "GPU 3"."""
    index = "?" if use.device is None else str(use.device)
    return f"{use.host} GPU {index}" if use.host else f"GPU {index}"


def _devices_table(material: Material, language: Language) -> Markup:
    rows = [_device_row(use, language) for use in material.devices]
    names = ("device", "busy", "peak", "card", "power", "temperature")
    columns = [f"column.{name}" for name in names]
    return table(speak("page.busy", language), columns, rows, language, numbers=(1, 2, 3, 4, 5))


def _device_row(use: DeviceUse, language: Language) -> list[TableCell]:
    def figure(value: float | None, unit: str) -> TableCell:
        known = speak("value.unknown", language) if value is None else format_value(value, unit)
        return TableCell(known, number=True)

    model = element("small", use.device_name, class_="origin") if use.device_name else None
    return [
        TableCell(join([device_name(use), " ", model]), head=True),
        figure(use.gpu_busy_share, "share"),
        figure(use.device_bytes_max, "bytes"),
        figure(use.device_total_bytes, "bytes"),
        figure(use.power_watts_max, "watts"),
        figure(use.temperature_celsius_max, "celsius"),
    ]
