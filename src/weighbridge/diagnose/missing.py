"""What a Run cannot answer, and which file or figure would answer it."""

from __future__ import annotations

from collections.abc import Iterator

from weighbridge.diagnose.signals import Signals
from weighbridge.diagnose.verdict import HINT_SHARE
from weighbridge.schema.diagnosis import MemoryUse
from weighbridge.schema.finding import Finding


def missing(signals: Signals, memory: tuple[MemoryUse, ...]) -> tuple[Finding, ...]:
    """One finding per open question, the most useful file first."""
    return tuple(_missing(signals, memory))


def _missing(signals: Signals, memory: tuple[MemoryUse, ...]) -> Iterator[Finding]:
    answers = set(signals.run.answerable)
    if "step_time" not in answers:
        yield Finding(code="missing.step_time", severity="warning")
    elif "data_wait" not in answers:
        yield Finding(code="missing.data_wait", severity="warning")
    if "gpu_busy" not in answers:
        yield Finding(code="missing.gpu_busy", severity="note")
    if signals.wait is not None and signals.wait.share >= HINT_SHARE:
        # A log says that the loader is late, never why: storage, cores and settings look alike.
        yield Finding(code="missing.reason_of_wait", severity="note")
    if "exposed_communication" not in answers and (signals.run.hardware.gpus or 2) > 1:
        yield Finding(code="missing.communication", severity="note")
    if not memory:
        yield Finding(code="missing.memory", severity="note")
    elif all(use.card.value is None for use in memory):
        yield Finding(code="missing.card", severity="note")
