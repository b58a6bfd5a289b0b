"""Memory of the fullest card: one stacked bar for each phase of a step, and where the card ends.

Parts come in the order in which they are laid down: what stays for the whole run first, then what comes and
goes. The caching allocator and the driver's own share stand in the last bar, as the device counter sees them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from weighbridge.i18n import Language, speak
from weighbridge.report.charts import draw
from weighbridge.report.charts.draw import Frame, LegendEntry
from weighbridge.report.charts.scale import Axis, bytes_axis
from weighbridge.report.markup import Markup, join
from weighbridge.schema.fit import MemoryFit
from weighbridge.units import format_bytes

ROW_HEIGHT: Final = 46.0
BAR_HEIGHT: Final = 20.0
# Each part has the colour of the phase it is most like, so that pages need no second palette.
COLOURS: Final = {
    "weights": "compute",
    "states": "optimizer",
    "gradients": "backward",
    "communication_buffers": "communication",
    "activations": "forward",
    "logits": "evaluation",
    "temporaries": "start_up",
    "cached": "band",
    "context": "gaps",
}


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar: its words, and (part, bytes) from left to right."""

    code: str
    parts: tuple[tuple[str, float], ...]

    @property
    def total(self) -> float:
        return sum(size for _, size in self.parts)


def stacks(memory: MemoryFit) -> tuple[Stack, ...]:
    """A bar for each phase, then the device counter: tensors at the peak, cached blocks, context."""
    found = [
        Stack(f"estimate.memory_phase.{phase.phase}", _ordered(phase.parts, phase.alive_bytes.value or 0.0))
        for phase in memory.phases
    ]
    allocated = memory.allocated_bytes.value or 0.0
    reserved = memory.reserved_bytes.value or allocated
    device = memory.device_bytes.value or reserved
    peak = next(stack for stack in found if stack.code.endswith(f".{memory.peak_phase}"))
    more = (("cached", max(reserved - allocated, 0.0)), ("context", max(device - reserved, 0.0)))
    return (*found, Stack("counter.device", (*peak.parts, *more)))


def _ordered(parts: tuple[object, ...], alive: float) -> tuple[tuple[str, float], ...]:
    sizes = {part.part: part.alive_bytes.value or 0.0 for part in parts}  # type: ignore[attr-defined]
    if not sizes:
        return (("activations", alive),)
    return tuple((name, sizes[name]) for name in COLOURS if sizes.get(name))


def geometry(memory: MemoryFit, width: float) -> tuple[Axis, Frame, tuple[Stack, ...]]:
    """The axis reaches to the card or to a larger need."""
    bars = stacks(memory)
    most = max([memory.card_bytes.value or 0.0, *(bar.total for bar in bars), 1.0])
    frame = Frame(8, 4, width - 24, 4 + ROW_HEIGHT * len(bars))
    return bytes_axis(most, 4 if width < 500 else 6), frame, bars


def memory_parts_svg(memory: MemoryFit, *, language: Language, identity: str, width: float = 760.0) -> Markup:
    axis, frame, bars = geometry(memory, width)
    body: list[Markup] = []
    for index, bar in enumerate(bars):
        top = frame.top + index * ROW_HEIGHT
        text = f"{speak(bar.code, language)}: {format_bytes(bar.total)}"
        body.append(draw.label(frame.left, top + 12, text))
        x = axis.position(0.0, frame.left, frame.right)
        for name, size in bar.parts:
            end = x + axis.position(size, frame.left, frame.right) - frame.left
            body.append(draw.rectangle(x, top + 18, end - x, BAR_HEIGHT, COLOURS[name]))
            x = end
    if memory.card_bytes.value is not None:
        x = axis.position(memory.card_bytes.value, frame.left, frame.right)
        body.append(draw.line(x, frame.top + 16, x, frame.bottom, "alarm", width=2))
    unit = speak("estimate.chart.axis", language, unit=axis.unit)
    body.append(draw.bottom_axis(axis, frame, unit))
    used = dict.fromkeys(name for bar in bars for name, size in bar.parts if size)
    entries = [LegendEntry(speak(f"estimate.part.{name}", language), COLOURS[name]) for name in used]
    entries.append(LegendEntry(speak("estimate.chart.card", language), "alarm", "line"))
    top = frame.bottom + 44
    body.append(draw.legend(entries, frame.left, top, width - 32, identity))
    _, height = draw.legend_rows(entries, width - 32)
    title = speak("estimate.chart.title", language)
    description = "; ".join(f"{speak(bar.code, language)} {format_bytes(bar.total)}" for bar in bars)
    return draw.drawing(
        join(body),
        width=width,
        height=top + height + 6,
        title=title,
        description=description,
        identity=identity,
        language=language,
    )
