"""The public measured rows of vision: what the issue asks for holds, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from truth.figures import macro
from truth.vision import VisionScore, card_name, described, framework_of, score
from weighbridge.facts.vision_constants import load_vision_constants, vision_provenance

ROW = {
    "framework": "mmdet", "framework_version": "mmdet==3.3.0",
    "source_repo": "open-mmlab/mmdetection",
    "precision": "fp16 AMP",
    "optimizer": "SGD", "batch_per_gpu": "2", "n_gpus": "8", "channels_last": "",
    "compile": "", "input_size": "(1333, 800)", "family": "faster-rcnn", "model": "",
    "config_name": "a_r50.py",
    "gpu": "V100 (size not stated)",
}  # fmt: skip


@pytest.fixture(scope="module")
def found(shared: Path) -> VisionScore:
    return score(shared / "truth")


def test_memory_of_stated_rows_is_within_8_percent_and_20_at_the_90th(found: VisionScore):
    stated = macro([figure for figure in found.memory if figure.quality == "A"])
    assert stated.median is not None
    assert stated.p90 is not None
    assert stated.median <= 0.08
    assert stated.p90 <= 0.20


def test_step_time_beats_six_operations_a_mac_at_a_share_of_the_rate(found: VisionScore):
    stated = [figure for figure in found.time if figure.quality == "A"]
    ours = macro(stated)
    theirs = macro(
        stated, lambda figure: None if figure.baseline is None else figure.baseline / figure.measured - 1
    )
    assert ours.median is not None
    assert theirs.median is not None
    assert ours.median <= 0.15
    assert ours.median < theirs.median / 2


def test_caffe2_counters_are_refused_and_no_other_row_for_that_reason(found: VisionScore):
    refused = [figure for figure in found.memory if "counter not comparable" in figure.missing]
    assert refused
    assert all("facebookresearch/Detectron" in figure.stratum for figure in refused)


def test_a_row_is_read_as_its_framework_batch_and_precision():
    said = described(ROW)
    assert said.recipe.framework == "mmdet"
    assert said.recipe.precision == "amp_fp16"
    assert said.recipe.images == 2
    assert said.size is not None
    assert said.size.most == (800, 1344)
    assert card_name(ROW) == "V100-SXM2-32GB"


def test_mmdetection_before_1_is_a_framework_of_its_own():
    assert (
        framework_of(ROW | {"framework": "mmdetection", "framework_version": "v0.6 (2019-06)"}) == "mmdet-0"
    )


def test_every_constant_says_what_stands_behind_it():
    for name, item in vision_provenance().items():
        assert item["unit"], name
        assert item["source"], name
        assert "n" in item, name
        assert item["date"], name
    assert set(load_vision_constants().values) == set(vision_provenance())
