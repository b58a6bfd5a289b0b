"""Detectron2's ``metrics.json``: medians, resumes in one file, evaluations new and repeated, damage."""

from __future__ import annotations

import io
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from vision_pieces import ReadRun, fixture, fixture_runs, public_logs, read_all

from weighbridge.readers.detectron2 import Detectron2Metrics
from weighbridge.readers.text import read_head

READER = Detectron2Metrics()


def run_of(*records: dict[str, Any]) -> ReadRun:
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    (run,) = read_all(READER, data, "metrics.json")
    return run


def test_a_record_stands_for_the_iterations_since_the_one_before() -> None:
    run = fixture(READER, "newer_with_rank_data_time_and_evaluation_only_lines")
    assert run.column("step") == [20, 40, 60, 80, 100]
    assert run.column("steps") == [20] * 5
    assert run.column("step_seconds") == [0.25] * 5
    assert run.column("data_wait_seconds") == [0.004] * 5
    assert run.facts["step_statistic"] == "median"
    assert run.facts["details.has_rank_data_time"] is True


def test_lines_with_an_evaluation_alone_are_counted_and_are_no_rows() -> None:
    run = fixture(READER, "newer_with_rank_data_time_and_evaluation_only_lines")
    assert run.facts["details.eval_only_lines"] == 2
    assert [(event.kind, event.step, event.line) for event in run.events] == [
        ("evaluation", 80, 4), ("evaluation", 100, 6),
    ]  # fmt: skip


def test_metrics_that_old_versions_repeat_are_one_evaluation() -> None:
    run = fixture(READER, "older_repeats_the_last_metrics_in_every_line")
    assert [event.line for event in run.events] == [2, 4]
    assert run.facts["details.has_rank_data_time"] is False


def test_a_resume_goes_back_inside_the_run_and_the_first_iteration_begins_another() -> None:
    runs = fixture_runs(READER, "resumed_twice_then_begun_again")
    assert runs[0].column("step") == [20, 40, 60, 80, 100, 80, 100, 120, 60, 80]
    assert runs[1].column("step") == [20, 40, 60]
    assert runs[1].column("step_seconds") == [0.5] * 3


def test_a_file_that_begins_after_a_resume_counts_its_first_record_as_one_period() -> None:
    run = fixture(READER, "begins_in_the_middle_after_a_resume")
    assert run.column("step") == [220, 240, 260]
    assert run.column("steps") == [20, 20, 20]


def test_damage_is_told_and_unknown_times_are_no_rows() -> None:
    run = fixture(READER, "nan_infinity_and_broken_lines")
    assert run.column("step") == [20, 60, 100, 120]
    assert run.trouble == {"bad_json_line": 3}


def test_a_wait_on_a_line_of_its_own_belongs_to_the_time_after_it() -> None:
    run = fixture(READER, "time_and_wait_on_lines_of_their_own")
    assert run.column("data_wait_seconds") == [0.01, 0.02, 0.03]
    assert run.facts["details.eval_only_lines"] == 0


def test_the_planned_length_follows_from_the_remaining_time() -> None:
    # 0.25 s x 380 iterations remain after iteration 19.
    assert fixture(READER, "older_repeats_the_last_metrics_in_every_line").facts["planned.steps"] == 400
    assert run_of({"iteration": 19, "time": 0.3, "eta_seconds": 100.0}).facts["planned.steps"] is None


def test_a_record_without_time_is_no_row() -> None:
    run = run_of({"iteration": 0, "total_loss": 9.0, "lr": 0.1}, {"iteration": 19, "time": 0.3})
    assert run.column("step") == [20]
    assert run.column("steps") == [20]


@pytest.mark.parametrize(
    "key",
    ["bbox/AP", "coco_val/segm/AP50", "bbox/AP-person", "sem_seg/mIoU", "panoptic_seg/PQ_th", "box/AR@100"],
)
def test_the_usual_metrics_are_known(key: str) -> None:
    assert len(run_of({"iteration": 99, "time": 0.3, "data_time": 0.1, key: 30.0}).events) == 1


@pytest.mark.parametrize(
    "key", ["fast_rcnn/cls_accuracy", "rpn/num_pos_anchors", "stage1/roi_head/num_fg_samples", "APPLE"]
)
def test_training_figures_are_no_metrics(key: str) -> None:
    assert run_of({"iteration": 99, "time": 0.3, "data_time": 0.1, key: 30.0}).events == []


def test_other_json_logs_are_not_taken_for_this_one() -> None:
    for other in (
        '{"mode": "train", "epoch": 1, "iter": 50, "time": 0.3, "data_time": 0.1}\n',
        '{"iteration": "last"}\n',
        '{"iteration": 5, "reward": 1.0}\n',
    ):
        assert READER.sniff(read_head(io.BytesIO(other.encode()), "metrics.json")) == 0.0


def test_public_logs_give_the_figures_of_the_manifest(shared: Path) -> None:
    for facts, path in public_logs(shared, "detectron2_metrics_json"):
        with path.open("rb") as stream:
            assert READER.sniff(read_head(stream, path.name)) == 0.95
        runs = read_all(READER, path.read_bytes(), path.name)
        rows = [row for run in runs for row in run.rows]
        steps = [row["step_seconds"] for row in rows]
        waits = [row["data_wait_seconds"] for row in rows]
        assert len(rows) == facts["n_records_with_time"]
        assert (rows[0]["step"] - 1, rows[-1]["step"] - 1) == (
            facts["iteration_first"], facts["iteration_last"],
        )  # fmt: skip
        assert sum(run.facts["details.eval_only_lines"] for run in runs) == facts["eval_only_lines"]
        assert sum(problem.count for run in runs for problem in run.problems) == facts["n_bad_lines"]
        assert runs[0].facts["details.has_rank_data_time"] == facts["has_rank_data_time"]
        assert statistics.median(steps) == pytest.approx(facts["median_time_s"], rel=0.01)
        assert statistics.median(waits) == pytest.approx(facts["median_data_time_s"], rel=0.01)
        assert sum(waits) / sum(steps) == pytest.approx(facts["data_wait_share"], rel=0.01)
