"""Public models by name: the counted total is the published one, and names mean what people mean."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from weighbridge.facts.models import ModelFact, find_model, load_models, nearest_models
from weighbridge.weigh.memory import count

KNOWN = [fact for fact in load_models() if fact.parameters is not None]


@pytest.mark.parametrize("fact", KNOWN, ids=lambda fact: fact.name)
def test_the_counted_parameters_are_the_published_total(fact: ModelFact) -> None:
    assert count(fact.shape).total == fact.parameters


def test_most_of_the_table_has_a_published_total() -> None:
    assert len(KNOWN) >= 90
    assert all(fact.source for fact in load_models())


def test_every_model_of_the_measured_tables_is_known(shared: Path) -> None:
    with (shared / "truth" / "models.csv").open(encoding="utf-8", newline="") as file:
        names = [row["model"] for row in csv.DictReader(file)]
    assert [name for name in names if find_model(name) is None] == []


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Llama-3.1-8B", "Llama-3.1-8B"),
        ("meta-llama/Llama-3.1-8B-Instruct", "Llama-3.1-8B"),
        ("meta-llama/Meta-Llama-3-8B", "Llama-3-8B"),
        ("qwen2.5-7b", "Qwen2.5-7B"),
        ("QWEN2.5_7B", "Qwen2.5-7B"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B-v0.3"),
        ("phi-3-mini", "Phi-3-mini-4k-instruct"),
        ("google/gemma-2-9b-it", "Gemma-2-9b"),
    ],
)
def test_a_name_is_found_as_people_write_it(written: str, name: str) -> None:
    found = find_model(written)
    assert found is not None
    assert found.name == name


def test_a_name_that_means_networks_of_two_sizes_is_left_open() -> None:
    # v0.3 has 32768 rows of vocabulary, v0.1 has 32000.
    assert find_model("mistral-7b") is None
    assert "Mistral-7B-v0.1" in nearest_models("mistral-7b")


def test_a_name_that_nothing_is_like_has_no_nearest() -> None:
    assert find_model("zzzz") is None
    assert nearest_models("zzzz") == ()
