"""Peak GPU memory by counter against the card."""

from __future__ import annotations

from typing import Literal

from weighbridge.facts import gpu_memory
from weighbridge.schema.diagnosis import MemoryUse
from weighbridge.schema.finding import Evidence
from weighbridge.schema.run import Run
from weighbridge.store import RunView
from weighbridge.units import Quantity

Counter = Literal["allocated", "reserved", "device"]
_COUNTERS: tuple[tuple[Counter, str], ...] = (
    ("allocated", "allocated_bytes"),
    ("reserved", "reserved_bytes"),
    ("device", "device_bytes"),
)


def card_memory(view: RunView) -> Quantity:
    """Memory of one card: as the source printed it, else from the catalogue by name, else unknown."""
    run = view.run
    if run.hardware.gpu_memory_bytes:
        return Quantity(value=float(run.hardware.gpu_memory_bytes), unit="bytes", origin="imported")
    totals = (
        [use.device_total_bytes for use in view.devices() if use.device_total_bytes]
        if run.sample_rows
        else []
    )
    if totals:
        return Quantity(value=min(totals), unit="bytes", origin="imported")
    known = gpu_memory(run.hardware.gpu_name) if run.hardware.gpu_name else None
    return known or Quantity(value=None, unit="bytes", origin="catalogue", missing="not_printed")


def memory_use(view: RunView) -> tuple[MemoryUse, ...]:
    """One line per counter that the source prints; counters of one run differ by up to a factor of two."""
    card = card_memory(view)
    found = []
    for counter, column in _COUNTERS:
        peak = view.maximum(column, phase=None)
        if peak is not None:
            value, source, line = peak
            found.append(_use(counter, value, card, _place(view.run, source, line)))
    devices = (
        [use.device_bytes_max for use in view.devices() if use.device_bytes_max]
        if view.run.sample_rows
        else []
    )
    if devices and all(use.counter != "device" for use in found):
        found.append(_use("device", max(devices), card, None))
    return tuple(found)


def _use(counter: Counter, value: float, card: Quantity, place: Evidence | None) -> MemoryUse:
    share = value / card.value if card.value else None
    peak = Quantity(value=value, unit="bytes", origin="imported")
    return MemoryUse(counter=counter, peak=peak, card=card, share=share, evidence=place)


def _place(run: Run, source: int, line: int | None) -> Evidence | None:
    if source >= len(run.sources):
        return None
    return Evidence(source=run.sources[source].name, line_first=line, line_last=line, rows=1)
