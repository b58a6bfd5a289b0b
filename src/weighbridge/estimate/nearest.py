"""Published measurements near to a task, with our error on each. None are shipped yet."""

from __future__ import annotations

from weighbridge.facts.records import GpuFact
from weighbridge.schema.description import Description
from weighbridge.schema.estimate import Neighbour


def neighbours(task: Description, fact: GpuFact) -> tuple[Neighbour, ...]:
    del task, fact
    return ()
