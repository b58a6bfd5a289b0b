"""trainer_log.jsonl: step times from whole seconds, per writer and per start."""

from __future__ import annotations

import json
import statistics
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_pieces import Pieces, fixture, hold, public, read, sniff

from weighbridge.readers.llamafactory_jsonl import LlamaFactoryJsonl, elapsed_seconds, objects
from weighbridge.units import GIB

READER = LlamaFactoryJsonl()


def line(step: int, elapsed: float, total: int = 100, **more: object) -> bytes:
    record = {"current_steps": step, "total_steps": total, "loss": 1.0, "epoch": step / total, **more}
    record["elapsed_time"] = str(timedelta(seconds=int(elapsed)))
    return json.dumps({key: value for key, value in record.items() if value != "leave out"}).encode() + b"\n"


def test_a_step_takes_the_difference_to_the_row_before_over_their_steps() -> None:
    pieces = fixture(READER, "throughput_always_zero")
    assert pieces.column("step") == [10, 20, 30, 40, 50, 60]
    assert pieces.column("step_seconds") == [None, 2.5, 2.5, 2.5, 2.5, 2.5]
    assert pieces.column("steps") == [10] * 6
    assert pieces.detail("mean_step_seconds") == 2.5


def test_the_record_without_a_loss_is_the_end_and_no_step() -> None:
    pieces = fixture(READER, "throughput_always_zero")
    assert [(event.step, event.elapsed_seconds) for event in pieces.of("end")] == [(60, 182.0)]
    assert pieces.facts["stated_seconds"] == 182.0
    assert pieces.detail("records") == 7
    assert pieces.detail("train_records") == 6
    assert pieces.detail("elapsed_last") == "0:03:00"


def test_a_throughput_that_is_always_zero_says_nothing() -> None:
    pieces = fixture(READER, "throughput_always_zero")
    assert pieces.detail("has_throughput") is True
    assert pieces.detail("tokens_per_second_median") is None
    assert pieces.detail("learning_rate_key") == "learning_rate"


def test_elapsed_time_may_have_days() -> None:
    pieces = fixture(READER, "days_in_elapsed_time")
    assert pieces.column("elapsed_seconds") == [129600.0, 259200.0, 388800.0]
    assert pieces.median("step_seconds") == 12960.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:00:24", 24.0),
        ("5:39:46", 20386.0),
        ("1 day, 0:00:01", 86401.0),
        ("9 days, 21:49:18", 856158.0),
        ("soon", None),
        (None, None),
        (24.0, None),
    ],
)
def test_elapsed_time_is_read(text: object, seconds: float | None) -> None:
    assert elapsed_seconds(text) == seconds


def test_steps_shorter_than_the_clock_are_timed_over_several_rows() -> None:
    pieces = fixture(READER, "steps_shorter_than_a_second")
    # 0.4 s a step, printed in whole seconds: single differences are nought or one.
    assert len(pieces.rows) == 40
    assert 0.35 < pieces.median("step_seconds") < 0.5
    assert pieces.detail("mean_step_seconds") == pytest.approx(0.4, rel=0.03)
    timed = [row for row in pieces.rows if row["step_seconds"] is not None]
    total = sum(row["step_seconds"] * row["steps"] for row in timed)
    assert total == pytest.approx(timed[-1]["elapsed_seconds"] - pieces.rows[0]["elapsed_seconds"])


def test_two_writers_keep_their_own_step_times() -> None:
    pieces = fixture(READER, "two_writers_interleaved")
    # One takes 3 s a step, the other 4 s; a mixture would show anything from 0 to 30.
    assert set(pieces.known("step_seconds")) == {3.0, 4.0}
    assert pieces.known("step_seconds").count(3.0) == 9
    assert pieces.known("step_seconds").count(4.0) == 6
    assert pieces.detail("interleaved_starts") == 2


def test_two_writers_stay_in_the_order_of_the_file_for_whoever_counts() -> None:
    steps = fixture(READER, "two_writers_interleaved").column("step")
    assert steps == [10, 20, 30, 10, 40, 20, 30, 50, 60, 40, 70, 50, 80, 60, 90, 100, 70]
    assert len(steps) - len(set(steps)) == 7
    assert set(fixture(READER, "two_writers_interleaved").column("line")) == set(range(1, 18))


def test_a_resume_is_counted_from_its_own_start() -> None:
    pieces = fixture(READER, "resumed_from_checkpoint")
    assert pieces.column("step_seconds") == [None, *[3.0] * 5, None, *[3.0] * 5]
    assert pieces.detail("starts") == 2
    assert pieces.detail("interleaved_starts") == 0
    assert pieces.detail("runtime_may_count_last_resume_only") is True


def test_a_start_in_the_middle_does_not_claim_the_steps_before_it() -> None:
    pieces = fixture(READER, "resumed_from_checkpoint")
    assert pieces.column("steps")[0] == 10
    assert pieces.column("steps")[6] is None


def test_an_evaluation_is_no_step_time() -> None:
    pieces = fixture(READER, "evaluation_between_steps")
    assert pieces.column("step_seconds") == [None, 4.0, 4.0, 4.0, 4.0, 4.0]
    assert [(event.step, event.seconds) for event in pieces.of("evaluation")] == [(10, 33.0), (20, 33.0)]


def test_an_evaluation_between_two_rows_leaves_the_time_of_their_steps_unknown() -> None:
    data = line(10, 20) + line(15, 95, loss=None, eval_loss=0.5) + line(20, 105) + line(30, 125)
    pieces = read(READER, data)
    assert pieces.column("step_seconds") == [None, None, 2.0]
    assert [event.seconds for event in pieces.of("evaluation")] == [None]


def test_nulls_of_early_versions_are_no_figures() -> None:
    pieces = fixture(READER, "nulls_of_early_versions")
    assert pieces.column("step") == [10, 20, 30]
    assert pieces.column("step_seconds") == [None, 7.0, 7.0]
    assert len(pieces.of("evaluation")) == 1


def test_recorded_memory_is_in_bytes_of_the_framework() -> None:
    pieces = fixture(READER, "vram_recorded")
    assert pieces.column("allocated_bytes") == [10.5 * GIB] * 3
    assert pieces.column("reserved_bytes") == [12.25 * GIB] * 3


def test_a_cut_last_line_is_left_out_and_told() -> None:
    pieces = fixture(READER, "cut_last_line")
    assert pieces.column("step") == [10, 20]
    assert pieces.trouble == {"cut": 1}


def test_a_whole_object_without_a_line_end_counts() -> None:
    pieces = read(READER, line(10, 20) + line(20, 40).rstrip(b"\n"))
    assert pieces.column("step") == [10, 20]
    assert pieces.trouble == {}


def test_objects_that_two_writers_glued_together_are_both_read() -> None:
    glued = line(10, 20).rstrip(b"\n") + line(20, 40)
    assert read(READER, glued).column("step") == [10, 20]
    half = line(10, 20)[:30] + line(20, 40)
    assert [record and record["current_steps"] for record in objects(half)] == [None, 20]


def test_progress_of_a_prediction_is_no_training_and_no_end() -> None:
    progress = b'{"current_steps": 5, "total_steps": 80, "percentage": 6.2, "elapsed_time": "0:00:09"}\n'
    pieces = read(READER, line(10, 20) + progress)
    assert pieces.column("step") == [10]
    assert pieces.events == []


@settings(max_examples=60)
@given(
    paces=st.lists(st.integers(2, 50), min_size=2, max_size=2, unique=True),
    records=st.integers(3, 30),
    data=st.data(),
)
def test_interleaved_writers_never_give_a_step_time_that_neither_had(
    paces: list[int], records: int, data: st.DataObject
) -> None:
    order = data.draw(st.permutations([0] * records + [1] * records))
    written = [0, 0]
    log = b""
    for writer in order:
        written[writer] += 10
        log += line(written[writer], written[writer] * paces[writer], total=10 * records)
    pieces = read(READER, log)
    times = pieces.known("step_seconds")
    assert sorted(times) == sorted([float(paces[0])] * (records - 1) + [float(paces[1])] * (records - 1))
    assert pieces.detail("starts") == 2


def test_only_its_own_words_are_claimed() -> None:
    assert sniff(READER, line(10, 20)) > 0.9
    assert sniff(READER, b'{"iter": 10, "loss": 1.0}\n') == 0.0


def test_public_logs_give_the_manifest_s_figures(shared: Path) -> None:
    seen = 0
    for name, facts, pieces in public(shared, READER, "llamafactory_trainer_log"):
        assert hold(name, facts, figures(pieces)) == set(facts)
        seen += 1
    assert seen


def figures(pieces: Pieces) -> dict[str, object]:
    steps, elapsed = pieces.column("step"), pieces.known("elapsed_seconds")
    back = [sum(b < a for a, b in pairwise(values)) for values in (steps, elapsed)]
    found = {
        "n_lines": pieces.detail("records"),
        "n_train_records": len(pieces.rows),
        "records": len(pieces.rows),
        "total_steps": pieces.facts["planned.steps"],
        "last_step": pieces.detail("last_step"),
        "median_step_time_s": statistics.median(pieces.known("step_seconds")),
        "step_seconds_median": statistics.median(pieces.known("step_seconds")),
        "max_gap_step_time_s": max(pieces.known("step_seconds")),
        "elapsed_last": pieces.detail("elapsed_last"),
        "step_resets": back[0],
        "restarts": back[0],
        "elapsed_resets": back[1],
        "duplicate_steps": len(steps) - len(set(steps)),
        "lr_key": pieces.detail("learning_rate_key"),
        "has_throughput": pieces.detail("has_throughput"),
        "n_eval": len(pieces.of("evaluation")),
        "evaluations": len(pieces.of("evaluation")),
    }
    return {key: lambda value=value: value for key, value in found.items()}
