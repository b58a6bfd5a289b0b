"""MMCV's ``.log.json`` and MMEngine's ``scalars.json``: what ``iter`` counts, runs, damage."""

from __future__ import annotations

import io
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from vision_pieces import ReadRun, fixture, fixture_runs, public_logs, read_all

from weighbridge.readers.json_lines import objects
from weighbridge.readers.mmengine_json import MmengineJson
from weighbridge.readers.text import read_head

READER = MmengineJson()
MIB = 2**20


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def train(epoch: int, iteration: int, **others: Any) -> dict[str, Any]:
    figures = {"lr": 0.1, "memory": 3000, "data_time": 0.02, "loss": 1.0, "time": 0.3}
    return {"mode": "train", "epoch": epoch, "iter": iteration, **figures, **others}


def run_of(data: bytes) -> ReadRun:
    (run,) = read_all(READER, data, "20210506_070000.log.json")
    return run


def test_iterations_that_begin_again_in_every_epoch_are_counted_on() -> None:
    run = fixture(READER, "mmcv_iterations_begin_again_in_every_epoch")
    assert run.column("step") == [50, 100, 150, 200, 250, 300, 350, 400, 450]
    assert run.column("steps") == [50] * 9
    assert run.column("epoch") == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert run.column("allocated_bytes")[-1] == 3303 * MIB


def test_iterations_that_run_on_are_the_step() -> None:
    run = fixture(READER, "mmcv_iterations_run_on_through_epochs")
    assert run.column("step") == [50, 100, 150, 200, 250, 300]
    assert run.column("steps") == [50] * 6


def test_a_file_that_begins_in_a_later_epoch_counts_from_there() -> None:
    run = fixture(READER, "mmcv_resumed_in_a_later_epoch")
    assert run.column("step") == [50, 100, 150, 200, 250, 350]
    assert run.column("steps") == [50] * 6


def test_mmengine_records_without_mode_are_told_apart_by_what_they_hold() -> None:
    run = fixture(READER, "mmengine_scalars_with_validation")
    assert run.column("step", "train") == [50, 100, 160, 210]
    assert run.column("steps", "train") == [50, 50, 60, 50]
    assert run.column("step_seconds", "evaluation") == [0.09]
    assert [(event.kind, event.epoch, event.step) for event in run.events] == [("evaluation", 1, 100)]
    assert max(value for value in run.column("allocated_bytes") if value) == 5950 * MIB


def test_evaluations_are_events_without_times() -> None:
    events = fixture(READER, "mmcv_iterations_begin_again_in_every_epoch").events
    assert [(event.epoch, event.step, event.seconds) for event in events] == [
        (1, 150, None), (2, 300, None), (3, 450, None),
    ]  # fmt: skip


def test_the_first_line_says_what_runs_on_what() -> None:
    facts = fixture(READER, "mmcv_iterations_begin_again_in_every_epoch").facts
    assert facts["hardware.gpu_name"] == "GeForce RTX 2080 Ti"
    assert facts["environment.torch"] == "1.7.1"
    assert facts["environment.framework_version"] == "1.3.3"
    assert facts["planned.epochs"] == 12
    assert facts["planned.batch_per_device"] == 2
    assert facts["planned.model"] == "MaskRCNN"
    assert facts["name"] == "mask_rcnn.py"
    assert facts["details.codebase"] == "mmdet 2.14.0"


def test_a_new_first_line_and_the_first_window_again_begin_another_run() -> None:
    runs = fixture_runs(READER, "two_runs_in_one_file")
    assert [run.column("step_seconds") for run in runs] == [[0.31] * 4, [0.5] * 2]
    assert [run.facts["name"] for run in runs] == ["mask_rcnn.py", "second.py"]


def test_a_resume_goes_back_inside_the_run() -> None:
    data = lines(*(train(e, i) for e, i in ((1, 50), (1, 100), (2, 50), (2, 100), (2, 50), (2, 100))))
    assert run_of(data).column("step") == [50, 100, 150, 200, 150, 200]


def test_whole_objects_of_broken_lines_are_kept_and_the_rest_is_told() -> None:
    run = fixture(READER, "half_lines_of_two_writers_nan_and_a_cut_end")
    assert run.column("step") == [10, 30, 40, 50, 60]
    assert run.column("step_seconds") == [0.31, 0.31, 0.31, 0.31, None]
    assert run.trouble == {"bad_json_line": 3}


def test_a_key_may_carry_its_phase() -> None:
    record = {"train/lr": 0.1, "train/time": 0.4, "train/data_time": 0.1, "epoch": 1, "iter": 10, "step": 10}
    (row,) = run_of(lines(record)).rows
    assert (row["step_seconds"], row["data_wait_seconds"]) == (0.4, 0.1)


def test_absurd_figures_are_unknown() -> None:
    run = run_of(lines(train(1, 50, time="0.3", memory=True), train(10**12, 100), train(1, 10**30)))
    assert [(row.get("step_seconds"), row.get("allocated_bytes")) for row in run.rows] == [
        (None, None), (0.3, 3000 * MIB),
    ]  # fmt: skip


@given(
    st.lists(
        st.dictionaries(st.text(max_size=5), st.integers() | st.none() | st.text(max_size=5)), max_size=4
    )
)
def test_objects_glued_into_one_line_come_out_one_by_one(records: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(record) for record in records)
    found = list(objects(text.encode()))
    assert found == records


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"\n", []),
        (b"[1]\n", [None]),
        (b"text\n", [None]),
        (b'{"a": NaN}{"b": 2', ["object", None]),
        (b'{"a": 1{"b": 2}\n', ["object", None]),
        (b'{"a": ' + b"[" * 100_000, [None]),
    ],
)
def test_what_is_no_object_is_told_once_a_line(line: bytes, expected: list[str | None]) -> None:
    assert ["object" if found is not None else None for found in objects(line)] == expected


def test_other_json_logs_are_not_taken_for_this_one() -> None:
    for other in (
        {"data_time": 0.1, "eta_seconds": 3.0, "iteration": 19, "time": 0.4, "lr": 0.1},
        {"current_steps": 1, "total_steps": 9, "loss": 1.0, "lr": 0.1, "elapsed_time": "0:00:01"},
        {"epoch": 1, "train_loss": 1.0, "iter_time": 3.0},
    ):
        assert READER.sniff(read_head(io.BytesIO(lines(other)), "log.json")) == 0.0


def test_public_logs_give_the_figures_of_the_manifest(shared: Path) -> None:
    for facts, path in public_logs(shared, "mmcv_log_json"):
        with path.open("rb") as stream:
            assert READER.sniff(read_head(stream, path.name)) == 0.95
        run = run_of(path.read_bytes())
        core = facts["core"]
        steps, waits = run.column("step_seconds", "train"), run.column("data_wait_seconds", "train")
        assert len(steps) == core["records"]
        assert max(run.column("allocated_bytes")) == core["memory_peak_mib"] * MIB
        assert statistics.median(steps) == pytest.approx(core["step_seconds_median"], rel=0.01)
        # The manifest gives four decimals.
        assert sum(waits) / sum(steps) == pytest.approx(core["data_wait_share"], rel=0.01)
