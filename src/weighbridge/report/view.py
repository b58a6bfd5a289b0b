"""What a report asks of a Run's long tables: bounded questions only.

``store.RunView`` answers them; a test may answer them with a handful of numbers. A report never sees a
table whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from weighbridge.schema.event import Event
from weighbridge.schema.run import Run
from weighbridge.store.shapes import DeviceUse, SeriesPoint

__all__ = ["DeviceUse", "SeriesPoint", "View"]


class View(Protocol):
    """The part of ``store.RunView`` that reports use."""

    run: Run

    def series(self, column: str, *, pixels: int, phase: str = ...) -> Sequence[SeriesPoint]: ...

    def sample_series(
        self, column: str, *, pixels: int, device: int | None = None
    ) -> Sequence[SeriesPoint]: ...

    def devices(self) -> Sequence[DeviceUse]: ...

    def events(self, kinds: Collection[str] | None = None) -> Sequence[Event]: ...
