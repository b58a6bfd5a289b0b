"""timm logs: means since the epoch began are differenced, and nothing is lost of what was printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vision_pieces import fixture, fixture_runs, public_logs, read_all, together

from weighbridge.readers.text import Head
from weighbridge.readers.timm_text import TimmText

READER = TimmText()


def train_line(epoch: int, index: int, total: int, means: tuple[float, float], batch: int = 128) -> bytes:
    step, data = means
    return (
        f"Train: {epoch} [{index:>4d}/{total} ({100 * index / total:>3.0f}%)]  Loss:  6.911 (6.92)  "
        f"Time: {step:.3f}s, {batch / step:>7.2f}/s  ({step:.3f}s, {batch / step:>7.2f}/s)  "
        f"LR: 1.000e-06  Data: {data:.3f} ({data:.3f})\n"
    ).encode()


def test_a_row_is_the_mean_of_the_steps_since_the_row_before() -> None:
    run = fixture(READER, "averages_since_the_epoch_began_and_evaluation")
    # Written from 21 steps: the first takes 4.2 s (3.8 s of it waiting), all others 0.2 s (0.01 s).
    assert run.column("step_seconds", "train")[:3] == pytest.approx([4.2, 0.2, 0.2], rel=0.001)
    assert run.column("data_wait_seconds", "train")[:3] == pytest.approx([3.8, 0.01, 0.01], abs=0.002)
    assert run.column("steps", "train") == [1, 10, 10, 1, 10, 10]
    assert run.column("step", "train") == [1, 11, 21, 22, 32, 42]


def test_what_was_printed_stands_beside_what_was_derived() -> None:
    run = fixture(READER, "averages_since_the_epoch_began_and_evaluation")
    assert run.column("printed_step_seconds", "train")[:3] == [4.2, 0.564, 0.39]
    assert run.column("printed_data_wait_seconds", "train")[:3] == [3.8, 0.355, 0.19]
    assert run.facts["details.last_batch_step_seconds"] == 0.2


def test_the_banner_says_how_many_gpus_which_model_and_how_long() -> None:
    facts = fixture(READER, "averages_since_the_epoch_began_and_evaluation").facts
    assert facts["hardware.gpus"] == 4
    assert facts["planned.model"] == "vit_tiny_patch16_224"
    assert facts["planned.parameters"] == 5717416
    assert facts["planned.epochs"] == 2
    assert facts["planned.steps_per_epoch"] == 21


def test_rate_times_time_is_the_global_batch() -> None:
    assert (
        fixture(READER, "averages_since_the_epoch_began_and_evaluation").facts["planned.global_batch"] == 256
    )


def test_epochs_evaluations_and_checkpoints_are_events() -> None:
    run = fixture(READER, "averages_since_the_epoch_began_and_evaluation")
    assert run.event_seconds("epoch") == pytest.approx([4.2 + 20 * 0.2, 2.2 + 20 * 0.2], rel=0.001)
    assert run.event_seconds("evaluation") == pytest.approx([0.9, 0.9])
    assert run.event_seconds("checkpoint") == [None]
    assert run.column("step_seconds", "evaluation")[:3] == pytest.approx([0.5, 0.1, 0.1], abs=0.002)


def test_two_starts_in_one_paste_are_two_runs() -> None:
    first, second = fixture_runs(READER, "two_starts_in_one_paste")
    assert len(first.rows) == 5
    assert len(second.rows) == 3
    assert second.column("step_seconds")[0] == 14.0


def test_a_start_that_died_after_its_first_line_is_a_run_of_its_own() -> None:
    start = b"Training with a single process on 1 GPUs.\n"
    line = train_line(0, 0, 100, (2.0, 1.0))
    runs = read_all(READER, (start + line) * 2)
    assert [len(run.rows) for run in runs if run.rows] == [1, 1]


def test_the_same_line_from_two_nodes_without_a_prefix_is_one_run_of_two_streams() -> None:
    lines = [train_line(0, index, 100, means) for index, means in ((0, (2.0, 1.0)), (50, (0.6, 0.1)))]
    (run,) = read_all(READER, b"".join(line * 2 for line in lines))
    assert run.column("steps") == [1, 1, 50, 50]
    assert run.column("step_seconds")[2] == pytest.approx(run.column("step_seconds")[3])


def test_interleaved_ranks_are_differenced_each_for_itself() -> None:
    run = fixture(READER, "two_ranks_interleaved")
    assert run.column("rank") == [0, 1, 0, 1, 0, 1]
    assert run.column("data_wait_seconds") == pytest.approx([1.0, 3.0, 0.004, 0.2, 0.004, 0.2], abs=0.001)


def test_warnings_between_the_lines_do_no_harm_and_stamps_are_read() -> None:
    run = fixture(READER, "warnings_between_the_lines_and_stamps")
    assert len(run.rows) == 4
    assert run.column("at_seconds")[1] - run.column("at_seconds")[0] == 60.0
    assert run.facts["clock"] == "local"
    assert run.column("epoch") == [3.0] * 4


def test_half_a_number_at_the_cut_end_is_not_believed() -> None:
    run = fixture(READER, "last_line_cut_in_the_data_time")
    assert run.column("step_seconds")[-1] == pytest.approx(0.3, abs=0.001)
    assert run.column("data_wait_seconds")[-1] is None
    assert run.trouble == {"cut_line": 1}


def test_a_line_without_a_readable_time_is_told_not_guessed() -> None:
    line = train_line(0, 0, 100, (2.0, 1.0))
    (run,) = read_all(READER, line + line.replace(b"2.000s", b"2.00us").replace(b"[   0", b"[  50"))
    assert len(run.rows) == 1
    assert run.trouble == {"unreadable_line": 1}


def test_updates_of_later_versions_are_optimizer_steps() -> None:
    # From 0.9 the position counts updates and the percentage ends at 100 with the last of them.
    line = b"Train: 7 [ 249/250 (100%)]  Loss: 3.21 (3.30)  Time: 0.512s, 2000.00/s  (0.520s, 1969.23/s)  "
    (run,) = read_all(READER, line + b"LR: 1.000e-03  Data: 0.010 (0.011)\n")
    assert run.column("step") == [7 * 250 + 250]
    assert run.event_seconds("epoch") == pytest.approx([250 * 0.52], rel=0.001)


@pytest.mark.parametrize(
    "data", [b"", b"Epoch: [0][0/5005]\tTime 1.0 (1.0)\n", b"Train: [0/300][0/1251]\teta 1"]
)
def test_other_formats_are_left_to_other_readers(data: bytes) -> None:
    assert READER.sniff(Head(name="log", data=data, whole=True, binary=False)) == 0.0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0.5, 8.0), st.floats(0.0, 1.0)), min_size=1, max_size=6))
def test_every_step_of_a_short_epoch_is_read_back_within_rounding(steps: list[tuple[float, float]]) -> None:
    times = [time for time, _ in steps]
    waits = [time * share for time, share in steps]
    means = [(sum(times[:count]) / count, sum(waits[:count]) / count) for count in range(1, len(steps) + 1)]
    data = b"".join(train_line(0, index, 1000, pair) for index, pair in enumerate(means))
    (run,) = read_all(READER, data)
    for index, (row, time, wait) in enumerate(zip(run.rows, times, waits, strict=True)):
        # Means of n and n - 1 steps, each off by half a unit of the third decimal.
        error = (2 * index + 1) * 0.0005 + 1e-9
        assert row["step_seconds"] == pytest.approx(time, abs=error)
        assert row["data_wait_seconds"] == pytest.approx(wait, abs=error)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.05, 5.0), st.floats(0.0, 1.0)), min_size=2, max_size=120),
    st.sampled_from([1, 10, 50]),
    st.sampled_from([32, 100, 1024]),
)
def test_no_row_says_anything_that_no_step_did(
    steps: list[tuple[float, float]], every: int, batch: int
) -> None:
    times = [time for time, _ in steps]
    waits = [time * share for time, share in steps]
    lines = []
    for index in range(0, len(steps), every):
        count = index + 1
        lines.append(
            train_line(0, index, 10_000, (sum(times[:count]) / count, sum(waits[:count]) / count), batch)
        )
    (run,) = read_all(READER, b"".join(lines))
    previous = 0
    for row in run.rows:
        count = row["step"]
        assert row["steps"] == count - previous
        assert 0 <= row["data_wait_seconds"] <= row["step_seconds"]
        # At most 2 % of the printed mean from the true mean of the stretch that it stands for.
        slack = 0.021 * row["printed_step_seconds"] + 0.001
        assert min(times[:count]) - slack <= row["step_seconds"] <= max(times[:count]) + slack
        previous = count


def test_the_public_logs_come_out_as_their_manifest_says(shared: Path) -> None:
    for facts, path in public_logs(shared, "timm_train_log"):
        runs = read_all(READER, path.read_bytes(), path.name)
        whole = together(runs)
        last = [row for row in whole.rows if row["phase"] == "train"][-1]
        assert len(whole.column("step", "train")) == facts["core"]["records"]
        assert len(runs) == facts["core"].get("runs", 1)
        assert last["printed_step_seconds"] == pytest.approx(facts["last_avg_time_s"], rel=0.01)
        assert last["printed_data_wait_seconds"] == pytest.approx(facts["last_avg_data_s"], rel=0.01)
        assert runs[-1].facts["planned.global_batch"] == facts["batch_size_from_rate"]
