"""Separate the writers of one append-only progress log by the order that each of them must keep.

A writer's steps rise, and the time since its start never falls. A record therefore continues one of the
chains that it can follow, the nearest in steps first, and between equally near ones the chain whose own pace
foretells its time best; a record that follows none begins a chain: another start, or another writer.
Knows no format; what a chain carries beyond its position is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

# Ranks or jobs that append to one file at a time; more than this are told apart no longer.
OPEN_CHAINS: Final = 32
# Elapsed times are cut to whole seconds: foretold times that differ by less are equal.
RESOLUTION_SECONDS: Final = 1.0


@dataclass(slots=True, eq=False)
class Chain:
    """One writer from one start on. ``carried`` belongs to the caller."""

    total_steps: int | None
    first_step: int
    first_elapsed: float
    step: int
    elapsed: float
    carried: Any = None
    # Somebody else wrote, and then this writer went on.
    returned: bool = False

    def foretold(self, step: int, pace: float | None) -> float:
        """Seconds since the start at ``step`` by this chain's own pace, or by ``pace`` while it has none."""
        if self.step > self.first_step:
            pace = (self.elapsed - self.first_elapsed) / (self.step - self.first_step)
        elif pace is None:
            pace = self.elapsed / self.step if self.step else 0.0
        return self.elapsed + pace * (step - self.step)


@dataclass(slots=True)
class Chains:
    """The writers so far: ``open`` ends with the one that wrote last, ``starts`` counts all ever begun."""

    open: list[Chain] = field(default_factory=list)
    starts: int = 0
    _smallest_first_step: int | None = None
    _returned: int = 0

    @property
    def interleaved(self) -> int:
        """Writers that took turns. One that goes on after another is a resume; two that do write at once."""
        return self._returned if self._returned > 1 else 0

    def follow(self, total_steps: int | None, step: int, elapsed: float) -> Chain | None:
        """The chain that a training record at ``step`` continues, moved on to it; None when there is none."""
        chain = self._find(total_steps, step, elapsed, next_step=1)
        if chain is not None:
            self._touch(chain)
            chain.step, chain.elapsed = step, elapsed
        return chain

    def at(self, total_steps: int | None, step: int, elapsed: float) -> Chain | None:
        """The chain that stands at or before ``step``: an evaluation follows the training record it is of."""
        chain = self._find(total_steps, step, elapsed, next_step=0)
        if chain is not None:
            self._touch(chain)
        return chain

    def begin(self, total_steps: int | None, step: int, elapsed: float) -> Chain:
        chain = Chain(total_steps, step, elapsed, step, elapsed)
        if self._smallest_first_step is None or step < self._smallest_first_step:
            self._smallest_first_step = step
        self.open.append(chain)
        self.starts += 1
        if len(self.open) > OPEN_CHAINS:
            self.open.pop(0)
        return chain

    def _find(self, total_steps: int | None, step: int, elapsed: float, *, next_step: int) -> Chain | None:
        pace = self._pace()
        best: tuple[tuple[int, float], Chain] | None = None
        # The last writer first: between equals it is the one that goes on.
        for chain in reversed(self.open):
            if step < chain.step + next_step or elapsed < chain.elapsed or chain.total_steps != total_steps:
                continue
            # One that began where others do began at step 0, and has a pace from its first record on.
            fresh = chain.first_step == self._smallest_first_step
            astray = abs(chain.foretold(step, None if fresh else pace) - elapsed)
            key = (step - chain.step, max(astray - RESOLUTION_SECONDS, 0.0))
            if best is None or key < best[0]:
                best = (key, chain)
        return best[1] if best else None

    def _pace(self) -> float | None:
        """Seconds per step of the chain that was written last, if it has run long enough to have a pace."""
        for chain in reversed(self.open):
            if chain.step > chain.first_step:
                return (chain.elapsed - chain.first_elapsed) / (chain.step - chain.first_step)
        return None

    def _touch(self, chain: Chain) -> None:
        if self.open[-1] is not chain:
            self._returned += not chain.returned
            chain.returned = True
            self.open.remove(chain)
            self.open.append(chain)
