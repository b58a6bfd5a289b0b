"""How long one weigh takes without imports, and 10^5 (load, machine, parallelism) triples in a batch.

    .venv/bin/python benchmarks/weigh_speed.py [--triples N] [--processes N] [--profile]

Budgets: 0.5 ms for one weigh, 30 s for 10^5 triples on two cores. Wall time is what a user waits; seconds of
CPU are what the code costs where other programs share the cores, and are read against the budget then.
Asserts nothing.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import os
import platform
import pstats
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from weighbridge.estimate.batch import Triple, weigh_many, weighed
from weighbridge.estimate.describe.describe import describe
from weighbridge.estimate.machine import card_bytes, card_named
from weighbridge.estimate.weigh import answers, defaults_for, fit_of, memory_answer, weigh
from weighbridge.facts.memory_constants import load_memory_tables
from weighbridge.facts.step_constants import load_step_tables
from weighbridge.facts.step_machine import step_machine
from weighbridge.schema.description import Description
from weighbridge.schema.run import Layout
from weighbridge.weigh.memory import memory
from weighbridge.weigh.step import step_time

ONE_MILLISECONDS = 0.5
MANY_SECONDS = 30.0
LORA = {"batch": 4, "sequence": 1024, "rank": 16, "precision": "bf16-mixed", "checkpointing": "full"}
FULL = {"batch": 1, "sequence": 4096, "precision": "bf16-mixed", "sharding": "fsdp", "gpus": 8}
CARDS = ("H100-SXM5-80GB", "H200-SXM-141GB", "A100-SXM4-80GB", "L40S")
MODELS = ("llama-3.1-8b", "llama-3.2-1b", "qwen2.5-7b")
LAYOUTS = tuple(
    Layout(data_parallel=data, tensor_parallel=tensor, pipeline_parallel=pipeline)
    for data, tensor, pipeline in itertools.product((1, 2, 4, 8, 16), (1, 2, 4), (1, 2, 4))
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--triples", type=int, default=100_000)
    parser.add_argument("--processes", type=int, help="as weigh_many's: two where there are two cores")
    parser.add_argument("--profile", action="store_true", help="where one weigh and one triple spend it")
    arguments = parser.parse_args()
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load average {load}\n")
    one(arguments.profile)
    many(arguments.triples, arguments.processes, arguments.profile)


def one(profile: bool) -> None:
    print(f"{'one call, milliseconds':44} {'lowest':>8} {'median':>8} {'p90':>8} {'CPU':>8}")
    for name, options in (("llama-3.2-1b", LORA), ("llama-3.1-8b", FULL)):
        for what, call in calls(describe(name, options), name, options).items():
            print(f"{name + ' ' + what:44} " + " ".join(f"{value:8.3f}" for value in milliseconds(call)))
    print(f"{'budget of weigh':44} {'':8} {ONE_MILLISECONDS:8.3f}\n")
    if profile:
        task, fact = describe("llama-3.1-8b", FULL), card_named(CARDS[0])
        show(lambda: [weigh(task, fact) for _ in range(1000)], "1000 x weigh(description, card)")


def calls(task: Description, name: str, options: dict[str, object]) -> dict[str, Callable[[], object]]:
    """The kernel alone, the kernel with its tables, the Fit, the batch's verdict, and the user's call."""
    fact = card_named(CARDS[0])
    shape, size = task.shape, card_bytes(fact)
    assert shape is not None
    copies = (task.layout.data_parallel or 1) > 1
    tables, defaults = load_memory_tables().constants, defaults_for(copies)
    steps, step_defaults = load_step_tables().constants, defaults_for(copies, step=True)
    machine = step_machine(fact).machine
    found = answers(task, fact)

    def kernel() -> None:
        memory(shape, task.recipe, task.layout, tables, defaults, card_bytes=size.value)
        step_time(shape, task.recipe, task.layout, machine, steps, step_defaults)

    return {
        "memory": lambda: memory_answer(task, size),
        "memory + step": kernel,
        "answers (kernel, tables, machine)": lambda: answers(task, fact),
        "fit_of (hashes, guesses, records)": lambda: fit_of(task, fact, found),
        "weigh(description, card)": lambda: weigh(task, fact),
        "weigh('name', 'card', options)": lambda: weigh(name, CARDS[0], **options),
        "batch.weighed(triple)": lambda: weighed((task, fact, task.layout)),
    }


def milliseconds(call: Callable[[], object], runs: int = 500) -> tuple[float, float, float, float]:
    """Lowest, median and 90th percentile of wall time, and the mean of CPU time."""
    call()  # the first one loads tables
    walls = []
    used = time.process_time()
    for _ in range(runs):
        started = time.perf_counter()
        call()
        walls.append((time.perf_counter() - started) * 1000)
    used = (time.process_time() - used) * 1000 / runs
    return min(walls), statistics.median(walls), statistics.quantiles(walls, n=10)[-1], used


def triples(count: int) -> Iterator[Triple]:
    """Distinct ones: models x checkpointing x lengths x cards x layouts, at batch 1, 2, 3, ..."""
    tasks = [describe(name, FULL) for name in MODELS]
    variants = list(itertools.product(tasks, ("none", "full"), (1024, 2048, 4096, 8192)))

    def endless() -> Iterator[Triple]:
        for batch in itertools.count(1):
            for task, kept, length in variants:
                recipe = replace(task.recipe, micro_batch=batch, checkpointing=kept, sequence=length)
                loaded = replace(task, recipe=recipe)
                yield from ((loaded, card, layout) for card in CARDS for layout in LAYOUTS)

    return itertools.islice(endless(), count)


def many(count: int, processes: int | None, profile: bool) -> None:
    before, started = os.times(), time.perf_counter()
    verdicts = Counter(
        "no answer"
        if found.device is None
        else {True: "fits", False: "does not", None: "perhaps"}[found.fits]
        for found in weigh_many(triples(count), processes=processes)
    )
    wall, after = time.perf_counter() - started, os.times()
    here = after.user + after.system - before.user - before.system
    there = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{count} triples: {wall:.1f} s of wall time, {wall / count * 1000:.3f} ms each; {dict(verdicts)}")
    used = f"{here:.1f} s in this process, {there:.1f} s in the others"
    print(f"CPU: {used}, {(here + there) / 2:.1f} s a core on two")
    print(f"budget of 100000 on two cores: {MANY_SECONDS:.0f} s, here {MANY_SECONDS * count / 1e5:.1f} s")
    if profile:
        sample = list(triples(2000))
        show(lambda: [weighed(triple) for triple in sample], "2000 x batch.weighed(triple)")


def show(work: Callable[[], object], name: str) -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    work()
    profiler.disable()
    print(f"\nprofile of {name} (several times slower than without), own time first")
    pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(20)


if __name__ == "__main__":
    main()
