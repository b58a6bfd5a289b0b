"""What the page shows of one run, asked from its tables once and drawn in both languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from weighbridge.report.view import DeviceUse, SeriesPoint, View
from weighbridge.schema.diagnosis import Diagnosis
from weighbridge.schema.event import Event
from weighbridge.schema.run import Run

Size = Literal["wide", "narrow"]
SIZES: Final[tuple[Size, ...]] = ("wide", "narrow")
# Pixels of a drawing on a screen and on a phone, and how many points a series may have there.
WIDTH: Final[dict[Size, float]] = {"wide": 900.0, "narrow": 346.0}
POINTS: Final[dict[Size, int]] = {"wide": 480, "narrow": 220}
STRIP_POINTS: Final[dict[Size, int]] = {"wide": 240, "narrow": 120}
STRIPS_SHOWN: Final = 8
EVENT_KINDS: Final = ("evaluation", "checkpoint", "restart", "out_of_memory")
MEMORY_COLUMNS: Final = (
    ("device", "device_bytes"),
    ("reserved", "reserved_bytes"),
    ("allocated", "allocated_bytes"),
)

BySize = dict[Size, Sequence[SeriesPoint]]


@dataclass(frozen=True, slots=True)
class Material:
    """One run's record, answer and bounded series. ``number`` tells runs of one page apart, from 1."""

    number: int
    run: Run
    diagnosis: Diagnosis
    step: BySize
    wait: BySize
    memory_counter: str | None
    memory: BySize
    events: Sequence[Event]
    devices: Sequence[DeviceUse]
    busy: dict[int, BySize]


def gather(number: int, run: Run, diagnosis: Diagnosis, view: View) -> Material:
    """Ask the view for everything that the page draws."""
    counter, memory = _memory(view)
    devices = busiest_last(view.devices())[:STRIPS_SHOWN] if run.sample_rows else []
    indexes = dict.fromkeys(use.device for use in devices if use.device is not None)
    return Material(
        number=number,
        run=run,
        diagnosis=diagnosis,
        step=_series(view, "step_seconds"),
        wait=_series(view, "data_wait_seconds"),
        memory_counter=counter,
        memory=memory,
        events=view.events(EVENT_KINDS),
        devices=devices,
        busy={
            device: {
                size: view.sample_series("gpu_busy_share", pixels=STRIP_POINTS[size], device=device)
                for size in SIZES
            }
            for device in indexes
        },
    )


def busiest_last(uses: Sequence[DeviceUse]) -> list[DeviceUse]:
    """Devices in the order of their index; where not all can be shown, the idlest are the ones to see."""
    if len(uses) > STRIPS_SHOWN:
        uses = sorted(uses, key=lambda use: use.gpu_busy_share if use.gpu_busy_share is not None else 2.0)
        uses = uses[:STRIPS_SHOWN]
    return sorted(uses, key=lambda use: (use.host or "", use.device if use.device is not None else -1))


def _series(view: View, column: str) -> BySize:
    return {size: view.series(column, pixels=POINTS[size]) for size in SIZES}


def _memory(view: View) -> tuple[str | None, BySize]:
    """The counter nearest to what the card must hold, of those that the steps carry."""
    for counter, column in MEMORY_COLUMNS:
        found = _series(view, column)
        if found["wide"]:
            return counter, found
    return None, {size: [] for size in SIZES}
