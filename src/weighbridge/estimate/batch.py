"""Weighs many (load, machine, parallelism) triples: in order, over a few processes, in bounded memory.

An answer is the verdict of one triple in plain numbers, not a whole Fit: what a sweep sorts by. ``weigh``
gives the Fit, with its guesses, of the few that are looked at. Knows no search and chooses nothing.

A script that asks for processes calls from under ``if __name__ == "__main__"``, as for every pool of them.
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, islice
from multiprocessing import get_context
from typing import Final

from weighbridge.errors import InputError, WeighbridgeError
from weighbridge.estimate.describe.layout import check_network, layout_of
from weighbridge.estimate.machine import card_bytes, card_named
from weighbridge.estimate.weigh import answers, missing_of
from weighbridge.facts.records import GpuFact
from weighbridge.schema.description import Description
from weighbridge.schema.finding import Finding, Parameter
from weighbridge.schema.load import Resource
from weighbridge.schema.run import Layout
from weighbridge.schema.vision import Said, VisionMemory, VisionTime
from weighbridge.units import Quantity
from weighbridge.weigh.fit import language_wait, vision_memory_fit, vision_wait
from weighbridge.weigh.memory import Interval, MemoryEstimate
from weighbridge.weigh.memory.fit import fits_in
from weighbridge.weigh.step import StepEstimate

# The load, the card (or its name), and the degrees; None: those of the description.
Triple = tuple[Description, GpuFact | str, Layout | None]

# Large enough that sending costs little, small enough that an interrupt is heard within a second.
_CHUNK: Final = 256
_IN_FLIGHT: Final = 3
_PROCESSES: Final = 2


@dataclass(frozen=True, slots=True)
class Weighed:
    """One triple's verdict. ``fits`` as in MemoryFit; ``seconds`` of one optimizer step.

    None is what could not be answered, and ``missing`` says why. Intervals in bytes and in seconds.
    """

    allocated: Interval | None = None
    reserved: Interval | None = None
    device: Interval | None = None
    fits: bool | None = None
    seconds: Interval | None = None
    waits_for: Resource | None = None
    missing: tuple[Finding, ...] = ()


def weigh_many(triples: Iterable[Triple], *, processes: int | None = None) -> Iterator[Weighed]:
    """One answer a triple, in the order of ``triples``, which are read only as far as is being worked on.

    ``processes``: 1 works here, None takes two where there are two cores and the triples fill two chunks.
    A triple that cannot be weighed costs its own answer only, which then says why in ``missing``.
    Closing the iterator, or an interrupt, ends the processes.
    """
    chunks = _chunks(triples)
    if processes is None:
        head = list(islice(chunks, 2))
        chunks = chain(head, chunks)
        processes = min(_PROCESSES, os.cpu_count() or 1) if len(head) > 1 else 1
    if processes <= 1:
        for chunk in chunks:
            yield from map(weighed, chunk)
        return
    yield from _over_processes(chunks, processes)


def _chunks(triples: Iterable[Triple]) -> Iterator[list[Triple]]:
    source = iter(triples)
    while chunk := list(islice(source, _CHUNK)):
        yield chunk


def _over_processes(chunks: Iterator[list[Triple]], processes: int) -> Iterator[Weighed]:
    # Spawned: forking a process that has threads (duckdb, a notebook) may stop for ever.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_leave_interrupts_to_parent)
    waiting: deque[tuple[list[Triple], Future[list[Weighed]] | None]] = deque()
    try:
        for chunk in chunks:
            waiting.append((chunk, _submitted(pool, chunk)))
            if len(waiting) >= processes * _IN_FLIGHT:
                yield from _taken(*waiting.popleft())
        while waiting:
            yield from _taken(*waiting.popleft())
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _submitted(pool: ProcessPoolExecutor, chunk: list[Triple]) -> Future[list[Weighed]] | None:
    try:
        return pool.submit(weighed_chunk, chunk)
    except BrokenProcessPool:
        return None


def _taken(chunk: list[Triple], future: Future[list[Weighed]] | None) -> list[Weighed]:
    """The answers of a chunk; worked out here when its process was killed."""
    if future is not None:
        try:
            return future.result()
        except BrokenProcessPool:
            pass
    return weighed_chunk(chunk)


def _leave_interrupts_to_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def weighed_chunk(chunk: Sequence[Triple]) -> list[Weighed]:
    return [weighed(triple) for triple in chunk]


def weighed(triple: Triple) -> Weighed:
    """The verdict of one triple. Never raises an Exception: what goes wrong is a finding."""
    try:
        return _weighed(*triple)
    except WeighbridgeError as error:
        params = {name: _told(value) for name, value in error.params.items()}
        return Weighed(missing=(Finding(code=error.code, severity="critical", params=params),))
    except Exception as error:  # noqa: BLE001 - one bad record must not cost the other 99,999 answers
        said: dict[str, Parameter] = {"kind": type(error).__name__, "said": str(error)}
        return Weighed(missing=(Finding(code="estimate.batch.failed", severity="critical", params=said),))


def _weighed(task: Description, gpu: GpuFact | str, layout: Layout | None) -> Weighed:
    fact = _card(gpu) if isinstance(gpu, str) else gpu
    if layout is not None:
        task = with_layout(task, layout)
    found = answers(task, fact)
    card = card_bytes(fact)
    missing = tuple(missing_of(fact, found))
    if isinstance(found.memory, VisionMemory):
        time = found.step if isinstance(found.step, VisionTime) else None
        return Weighed(
            _span(found.memory.allocated),
            _span(found.memory.reserved),
            _span(found.memory.device),
            fits=vision_memory_fit(found.memory, card).fits,
            seconds=None if time is None else _span(time.seconds),
            waits_for=None if time is None else vision_wait(time),
            missing=missing,
        )
    assert isinstance(found.memory, MemoryEstimate)
    step = found.step if isinstance(found.step, StepEstimate) else None
    crosses = found.joined is not None and task.gpus > found.joined.machine.domain
    return Weighed(
        found.memory.allocated,
        found.memory.reserved,
        found.memory.device,
        fits=fits_in(found.memory, card.value),
        seconds=None if step is None else Interval(step.seconds, step.low, step.high),
        waits_for=None if step is None else language_wait(step, crosses_nodes=crosses),
        missing=missing,
    )


def with_layout(task: Description, layout: Layout) -> Description:
    """The task spread so, over as many GPUs as the degrees multiply to; None keeps what the task says.

    Raises InputError for degrees that the network or the recipe cannot be divided by.
    """
    degrees = {
        key: getattr(layout, name) or getattr(task.layout, name) or 1 for key, name in _DEGREES.items()
    }
    if task.vision is not None:
        if any(degree > 1 for key, degree in degrees.items() if key != "dp"):
            raise InputError("estimate.batch.data_parallel_only", network=task.name)
        data = degrees["dp"]
        vision = replace(task.vision, data_parallel=data)
        return replace(task, gpus=data, vision=vision, layout=replace(task.layout, data_parallel=data))
    assert task.shape is not None
    recipe = task.recipe
    found, gpus = layout_of(degrees, recipe)
    if recipe.sharding is None and degrees["dp"] == degrees["cp"] == 1:
        recipe = replace(recipe, sharding="none")  # as describe does: one rank has nothing to shard
    check_network(task.shape, recipe, found)
    return replace(task, gpus=gpus, recipe=recipe, layout=found)


_DEGREES: Final = {
    "dp": "data_parallel",
    "tp": "tensor_parallel",
    "pp": "pipeline_parallel",
    "cp": "context_parallel",
    "ep": "expert_parallel",
}


@cache
def _card(name: str) -> GpuFact:
    return card_named(name)


def _span(said: Said) -> Interval:
    return Interval(said.value, said.low, said.high)


def _told(value: object) -> Parameter:
    if isinstance(value, Quantity | str | int | float) or value is None:
        return value
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
