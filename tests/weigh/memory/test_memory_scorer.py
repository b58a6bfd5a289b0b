"""The scorer of measured tables: its averages by hand, its reading of rows, and that the figures hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import score_truth
from truth.figures import Figure, macro, quantile, strata
from truth.memory import score
from truth.rows import layout_of, read_rows, recipe_of
from truth.shapes import key


def figure(stratum: str, measured: float, predicted: float | None, **more: object) -> Figure:
    base = Figure("row", stratum, "A", "allocated", "", measured, predicted)
    return replace(base, **more)  # type: ignore[arg-type]


def test_macro_is_the_mean_over_strata_of_their_medians() -> None:
    # a: errors 10, 20, 60 % (median 20); b: 0, 0, 40, 40 % (median 20); c has two distinct values only.
    figures = [
        *(figure("a", 100 + step, (100 + step) * ratio) for step, ratio in enumerate((1.1, 0.8, 1.6))),
        *(figure("b", 200 + step, (200 + step) * ratio) for step, ratio in enumerate((1.0, 1.0, 1.4, 0.6))),
        figure("c", 300, 600),
        figure("c", 300, 600),
        figure("c", 301, 602),
    ]
    found = macro(figures)
    assert found.strata == 2
    assert found.median == pytest.approx(0.2)
    # 90th percentiles by interpolation: a 0.2 + 0.8 x 0.4 = 0.52; b 0.4.
    assert found.p90 == pytest.approx((0.52 + 0.4) / 2)


def test_a_refused_row_counts_as_asked_but_not_as_answered() -> None:
    found = macro([figure("a", 1, None, missing=("sequence",)), figure("a", 2, 2)])
    assert (found.answered, found.asked) == (1, 2)
    assert found.median is None


def test_a_figure_is_inside_when_its_interval_holds_the_measurement() -> None:
    assert figure("a", 10, 11, low=9.9, high=12).inside
    assert not figure("a", 10, 11, low=10.1, high=12).inside
    assert figure("a", 10, 11, low=9.9, high=12.1).half_width == pytest.approx(0.1)


def test_strata_come_worst_first() -> None:
    figures = [figure("good", value, value) for value in (1, 2, 3)]
    figures += [figure("bad", value, value * 2) for value in (1, 2, 3)]
    assert [stratum.name for stratum in strata(figures)] == ["bad", "good"]


def test_quantiles_interpolate() -> None:
    assert quantile([4, 1, 3, 2], 0.5) == 2.5
    assert quantile([1, 2, 3, 4, 5], 0.9) == pytest.approx(4.6)
    assert quantile([7], 0.9) == 7


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Llama-2-7b-hf", "llama-2-7b"),
        ("phi-1_5", "phi-1.5"),
        ("mistralai/Mistral-7B-v0.1", "mistral-7b"),
        ("Mistral-7B (zephyr)", "Mistral-7B-v0.2"),
        ("Meta-Llama-3-8B-Instruct", "Llama-3-8B"),
        ("gemma-2-9b-it", "Gemma-2-9b"),
    ],
)
def test_spellings_of_a_model_are_one_model(one: str, other: str) -> None:
    assert key(one) == key(other)


def test_sizes_that_differ_by_a_point_are_two_models() -> None:
    assert key("opt-1.3b") != key("opt-13b")


def test_a_blank_in_a_row_stays_unknown(shared: Path) -> None:
    rows = read_rows(shared / "truth" / "memory_lm.csv")
    blank = dict.fromkeys(rows[0], "")
    recipe, layout = recipe_of(blank), layout_of(blank)
    for name in ("training", "master", "compute", "checkpointing", "optimizer", "micro_batch", "sequence"):
        assert getattr(recipe, name) is None, name
    assert layout.tensor_parallel is layout.pipeline_parallel is layout.data_parallel is None


def test_the_figures_of_the_public_tables_hold(shared: Path) -> None:
    found = score(shared / "truth")
    assert score_truth.failures(score_truth.summary(found)["figures"]) == []
    assert found.oom_called_fits == []
