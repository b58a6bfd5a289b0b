"""A batch answers as one by one, keeps the order, and an impossible triple costs only itself."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from weighbridge.errors import InputError
from weighbridge.estimate import batch
from weighbridge.estimate.batch import Triple, weigh_many, weighed, with_layout
from weighbridge.estimate.describe.describe import describe
from weighbridge.estimate.machine import card_named
from weighbridge.estimate.weigh import weigh
from weighbridge.i18n.speak import speak
from weighbridge.schema.description import Description
from weighbridge.schema.run import Layout

CARDS = ("H100-SXM5-80GB", "L40S", "T4")
LAYOUTS = (Layout(data_parallel=8), Layout(data_parallel=4, tensor_parallel=2), Layout(data_parallel=16))


def task(micro_batch: int = 1, **options: object) -> Description:
    said = {"batch": micro_batch, "sequence": 2048, "precision": "bf16-mixed", "sharding": "fsdp"}
    return describe("llama-3.2-1b", {**said, "gpus": 8, **options})


def triples(count: int) -> Iterator[Triple]:
    one = task()
    for index in range(count):
        recipe = replace(one.recipe, micro_batch=1 + index // 9)
        yield replace(one, recipe=recipe), CARDS[index % 3], LAYOUTS[index // 3 % 3]


def broken() -> Triple:
    """A record that no reader would let pass: it reaches the kernel and fails there."""
    one = task()
    return replace(one, recipe=replace(one.recipe, sequence="2048")), "L40S", None  # type: ignore[arg-type]


@pytest.mark.parametrize("card", CARDS)
@pytest.mark.parametrize("name", ["llama-3.2-1b", "resnet50"])
def test_a_verdict_is_that_of_weighing_it_alone(name: str, card: str) -> None:
    language = {"batch": 8, "sequence": 2048, "gpus": 16, "sharding": "fsdp"}
    one = describe(name, {"batch": 8, "image_size": "224", "gpus": 2} if name == "resnet50" else language)
    found, fit = weighed((one, card, None)), weigh(one, card)
    assert fit.memory is not None
    assert fit.step is not None
    assert found.device is not None
    assert found.seconds is not None
    device, total = fit.memory.device_bytes, fit.step.total
    assert (found.device.value, found.device.low, found.device.high) == (
        device.value,
        device.low,
        device.high,
    )
    assert (found.seconds.value, found.seconds.low, found.seconds.high) == (
        total.value,
        total.low,
        total.high,
    )
    assert (found.fits, found.waits_for, found.missing) == (fit.memory.fits, fit.waits_for, fit.missing)


def test_a_layout_is_weighed_as_if_it_had_been_described_so() -> None:
    described = task(gpus=8, tp=2)
    found = weighed((task(gpus=8), "L40S", Layout(data_parallel=4, tensor_parallel=2)))
    assert found == weighed((described, "L40S", None))
    assert with_layout(task(gpus=8), Layout(data_parallel=4, tensor_parallel=2)) == described


def test_what_a_layout_leaves_open_stays_as_described() -> None:
    changed = with_layout(task(gpus=8, tp=2), Layout(data_parallel=16))
    assert (changed.layout.tensor_parallel, changed.gpus) == (2, 32)


def test_two_processes_answer_as_one_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_CHUNK", 10)
    apart = list(weigh_many(triples(54), processes=2))
    assert apart == [weighed(triple) for triple in triples(54)]
    assert len(set(map(str, apart))) == 54


@pytest.mark.parametrize("processes", [1, 2])
def test_an_impossible_triple_costs_only_its_own_answer(processes: int) -> None:
    good = (task(), "L40S", None)
    odd = (task(), "L40S", Layout(tensor_parallel=3))
    nameless = (task(), "no such card", None)
    first, second, third, fourth, last = weigh_many(
        [good, odd, nameless, broken(), good], processes=processes
    )
    assert first == last == weighed(good)
    assert [found.missing[0].code for found in (second, third)] == [
        "estimate.heads_divide",
        "estimate.unknown_gpu",
    ]
    assert second.device is None
    assert second.missing[0].params == {"tp": 3, "heads": 32}
    assert fourth.missing[0].code == "estimate.batch.failed"


def test_why_one_failed_is_said_in_both_languages() -> None:
    finding = weighed(broken()).missing[0]
    for language in ("en", "zh"):
        assert "TypeError" in speak(finding.code, language, **finding.params)


def test_a_vision_network_takes_data_parallelism_only() -> None:
    one = describe("resnet50", {"batch": 8, "image_size": "224"})
    assert with_layout(one, Layout(data_parallel=4)) == describe(
        "resnet50", {"batch": 8, "image_size": "224", "gpus": 4}
    )
    with pytest.raises(InputError, match="resnet50"):
        with_layout(one, Layout(tensor_parallel=2))


@pytest.mark.parametrize(("processes", "most"), [(1, 10), (2, 70)])
def test_triples_are_read_only_as_far_as_they_are_worked_on(
    processes: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_CHUNK", 10)
    read = 0

    def counted() -> Iterator[Triple]:
        nonlocal read
        for triple in triples(10_000):
            read += 1
            yield triple

    answers = weigh_many(counted(), processes=processes)
    assert len(list(islice(answers, 3))) == 3
    answers.close()  # type: ignore[attr-defined]
    assert read <= most


def test_a_killed_process_costs_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "_CHUNK", 5)
    opened = []

    class Watched(batch.ProcessPoolExecutor):
        def __init__(self, *arguments: object, **options: object) -> None:
            super().__init__(*arguments, **options)  # type: ignore[arg-type]
            opened.append(self)

    monkeypatch.setattr(batch, "ProcessPoolExecutor", Watched)
    answers = weigh_many(triples(60), processes=2)
    found = [next(answers)]
    os.kill(next(iter(opened[0]._processes)), signal.SIGKILL)
    assert [*found, *answers] == [weighed(triple) for triple in triples(60)]


def test_an_empty_batch_has_no_answers() -> None:
    assert list(weigh_many([])) == []


def test_a_card_may_be_given_as_a_record() -> None:
    assert weighed((task(), card_named("L40S"), None)) == weighed((task(), "L40S", None))
