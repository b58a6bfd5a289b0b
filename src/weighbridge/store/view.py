"""RunView: bounded questions to the long tables of one closed run."""

from __future__ import annotations

from collections.abc import Collection
from types import TracebackType
from typing import Any

from weighbridge.schema.columns import TRAIN
from weighbridge.schema.event import Event
from weighbridge.schema.run import Run
from weighbridge.store.shapes import DeviceUse, SeriesPoint


class RunView:
    """One closed run: its record and bounded queries. Opens DuckDB at the first query."""

    run: Run

    def windows(self, *, phase: str = TRAIN, limit: int = 20_000) -> dict[str, list[Any]]:
        """Every step column plus ``line_first``, in file order, in at most ``limit`` rows.

        Where there are more, neighbouring rows of one rank and segment are merged: steps are summed,
        per-step times averaged by steps, memory is the maximum, the rest is the last row's.
        """
        raise NotImplementedError

    def quantile(self, column: str, q: float, *, phase: str = TRAIN) -> float | None:
        raise NotImplementedError

    def maximum(self, column: str, *, phase: str | None = TRAIN) -> tuple[float, int, int | None] | None:
        """The largest value with the source and line of the first row that reaches it."""
        raise NotImplementedError

    def totals(self, *, phase: str = TRAIN) -> dict[str, float | None]:
        raise NotImplementedError

    def ranks(self) -> list[int]:
        raise NotImplementedError

    def events(self, kinds: Collection[str] | None = None, *, limit: int = 10_000) -> list[Event]:
        raise NotImplementedError

    def series(self, column: str, *, pixels: int, phase: str = TRAIN) -> list[SeriesPoint]:
        raise NotImplementedError

    def sample_series(self, column: str, *, pixels: int, device: int | None = None) -> list[SeriesPoint]:
        raise NotImplementedError

    def devices(self) -> list[DeviceUse]:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> RunView:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
