"""MetricLogger logs: means over the first twenty iterations are undone, and what was printed is kept."""

from __future__ import annotations

import statistics
from collections import deque
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vision_pieces import fixture, fixture_runs, public_logs, read_all, together

from weighbridge.readers.metriclogger_text import MetricLoggerText
from weighbridge.readers.text import Head
from weighbridge.units import GIB, MIB

READER = MetricLoggerText()


def record(header: str, index: int, total: int, time: float, data: float, more: str = "") -> bytes:
    return (
        f"{header}  [{index}/{total}]  eta: 0:00:10  lr: 0.1  loss: 1.0 (1.0)  time: {time:.4f}  "
        f"data: {data:.4f}{more}\n"
    ).encode()


def printed_as_torchvision_does(times: list[float], waits: list[float], every: int) -> bytes:
    """SmoothedValue with a window of 20, printed every ``every`` iterations and at the last one."""
    last_times: deque[float] = deque(maxlen=20)
    last_waits: deque[float] = deque(maxlen=20)
    lines = []
    for index, (time, wait) in enumerate(zip(times, waits, strict=True)):
        last_times.append(time)
        last_waits.append(wait)
        if index % every == 0 or index == len(times) - 1:
            means = [sum(values) / len(values) for values in (last_times, last_waits)]
            lines.append(record("Epoch: [0]", index, len(times), means[0], means[1]))
    return b"".join(lines)


def test_a_cold_first_batch_stays_in_its_own_row() -> None:
    run = fixture(READER, "cold_first_batch_in_every_epoch")
    # Written from epochs of six iterations: the first slow, all others 0.35 s of which 0.04 s waiting.
    assert run.column("step_seconds", "train")[:6] == pytest.approx([4.1] + [0.35] * 5, abs=0.001)
    assert run.column("data_wait_seconds", "train")[6:] == pytest.approx([1.3] + [0.04] * 5, abs=0.001)


def test_what_was_printed_is_always_kept() -> None:
    run = fixture(READER, "cold_first_batch_in_every_epoch")
    assert run.column("printed_step_seconds", "train")[:3] == [4.1, 2.225, 1.6]
    assert run.column("printed_data_wait_seconds", "train")[:3] == [1.2, 0.62, 0.4267]
    assert None not in run.column("printed_step_seconds")


def test_memory_is_in_mebibytes_of_the_allocator() -> None:
    run = fixture(READER, "cold_first_batch_in_every_epoch")
    assert run.column("allocated_bytes", "train")[0] == 2547 * MIB
    (giga,) = read_all(READER, record("Epoch: [0]", 0, 9, 1.0, 0.1, "  max mem: 15G"))
    assert giga.column("allocated_bytes") == [15 * GIB]


def test_the_test_header_is_evaluation_and_total_time_ends_a_loop() -> None:
    run = fixture(READER, "cold_first_batch_in_every_epoch")
    assert run.column("phase").count("evaluation") == 6
    assert run.column("step", "evaluation") == [None] * 6
    assert run.event_seconds("epoch") == pytest.approx([5.85, 3.45])
    assert run.event_seconds("evaluation") == pytest.approx([1.6, 1.6])
    assert run.facts["stated_seconds"] == 14.0


def test_a_total_time_that_does_not_belong_to_the_loop_before_is_taken_to_the_second() -> None:
    data = record("Epoch: [0]", 0, 100, 1.0, 0.1) + b"Epoch: [0] Total time: 1 day, 0:00:05 (0.1000 s / it)\n"
    (run,) = read_all(READER, data)
    assert run.event_seconds("epoch") == [86_405.0]


def test_the_start_says_how_many_gpus_and_the_batch() -> None:
    facts = fixture(READER, "cold_first_batch_in_every_epoch").facts
    assert facts["hardware.gpus"] == 2
    assert facts["planned.batch_per_device"] == 2
    assert facts["planned.global_batch"] == 4
    assert facts["planned.parameters"] == 44395383
    assert facts["planned.steps_per_epoch"] == 6


def test_after_twenty_iterations_a_row_is_the_mean_of_the_last_twenty() -> None:
    run = fixture(READER, "window_of_twenty_every_tenth_line")
    # The first iteration takes 5 s: it is in the printed mean of line two and nowhere else once undone.
    assert run.column("printed_step_seconds")[1] == 0.6818
    assert run.column("step_seconds") == pytest.approx([5.0] + [0.25] * 6, abs=0.001)
    assert run.column("steps") == [1] + [10] * 6
    assert run.column("samples_per_second") == [128.5] * 7


def test_accumulated_gradients_make_an_iteration_a_part_of_a_step() -> None:
    run = fixture(READER, "gradients_accumulated")
    # Iterations of 0.5 s, four to a step; the first line is a quarter of a step and stands for none.
    assert run.column("step_seconds") == [None, 2.0, 2.0]
    assert run.column("steps") == [None, 5, 5]
    assert run.column("micro_steps") == [4, 4, 4]
    assert run.facts["planned.steps_per_epoch"] == 10
    assert run.facts["planned.global_batch"] == 2048
    assert run.facts["hardware.gpus"] == 8


def test_an_evaluation_before_training_does_not_swallow_the_banner() -> None:
    banner = b"accumulate grad iterations: 2\n"
    lines = [record("Test:", 0, 9, 0.3, 0.1), *(record("Epoch: [0]", index, 8, 1.0, 0.5) for index in (0, 4))]
    (run,) = read_all(READER, banner + b"".join(lines))
    assert run.column("step_seconds") == [0.3, None, 2.0]
    assert run.facts["layout.accumulation"] == 2


def test_a_pair_is_a_median_and_the_mean_since_the_epoch_began() -> None:
    run = fixture(READER, "median_and_mean_in_pairs")
    assert run.column("printed_step_seconds") == [8.0, 0.3, 0.3]
    assert run.column("step_seconds") == pytest.approx([8.0, 0.3, 0.3], abs=0.001)
    assert run.column("data_wait_seconds") == pytest.approx([6.0, 0.02, 0.02], abs=0.001)
    assert run.facts["planned.epochs"] == 10


def test_training_without_epochs_counts_the_whole_run() -> None:
    run = fixture(READER, "training_without_epochs_with_glog_stamps")
    assert run.column("step") == [1, 11, 21, 31]
    assert run.column("step_seconds") == pytest.approx([3.0, 0.5, 0.5, 0.5], abs=0.001)
    assert run.facts["planned.steps"] == 125_000
    assert run.facts["clock"] == "local"
    assert run.column("at_seconds")[3] - run.column("at_seconds")[0] == 3.0


def test_a_cpu_run_has_no_memory_and_no_gpus() -> None:
    run = fixture(READER, "cpu_run_without_memory")
    assert run.column("allocated_bytes") == [None] * 4
    assert "hardware.gpus" not in run.facts


def test_two_starts_in_one_file_are_two_runs() -> None:
    first, second = fixture_runs(READER, "two_starts_in_one_file")
    assert first.column("step") == [1, 2, 3, 4, 5, 6]
    assert second.column("step") == [1, 2, 3]


def test_a_line_cut_behind_its_time_is_not_believed() -> None:
    run = fixture(READER, "last_line_cut_in_the_data_time")
    assert len(run.rows) == 4
    assert run.trouble == {"cut_line": 1}


def test_more_data_wait_than_step_leaves_what_was_printed() -> None:
    data = record("Epoch: [0]", 0, 9, 1.0, 0.5) + record("Epoch: [0]", 1, 9, 0.9, 0.8)
    (run,) = read_all(READER, data)
    # Undone, the second iteration would have waited 1.1 s of 0.8 s.
    assert run.column("step_seconds") == [1.0, 0.9]
    assert run.column("data_wait_seconds") == [0.5, 0.8]


@pytest.mark.parametrize(
    ("header", "phase"),
    [
        ("Train Epoch: [3]", "train"),
        ("Epoch: [3/100]", "train"),
        ("Training", "train"),
        ("Test:", "evaluation"),
        ("Val:", "evaluation"),
        ("Evaluation:", "evaluation"),
        ("Generate VQA test result:", "evaluation"),
        ("Caption generation:", "evaluation"),
        ("", "train"),
    ],
)
def test_the_header_says_whether_it_trains(header: str, phase: str) -> None:
    (run,) = read_all(READER, record(header, 0, 9, 1.0, 0.5))
    assert run.column("phase") == [phase]


def test_a_loop_without_header_loss_and_learning_rate_is_no_training() -> None:
    (run,) = read_all(READER, b"  [0/2503]  eta: 0:10:00    time: 0.5000  data: 0.1000  max mem: 100\n")
    assert run.column("phase") == ["evaluation"]


def test_a_time_of_day_in_front_is_no_part_of_the_header() -> None:
    lines = [
        b"[21:25:1%d.951899] " % index + record("Epoch: [0]", index, 9, 1.0, 0.5, "  max mem: 10 MB")
        for index in range(3)
    ]
    (run,) = read_all(READER, b"".join(lines))
    assert run.column("steps") == [1, 1, 1]
    assert run.column("at_seconds")[2] - run.column("at_seconds")[0] == 2.0
    assert run.column("allocated_bytes") == [10 * MIB] * 3


def test_other_times_on_the_line_are_not_taken_for_the_step() -> None:
    line = record("Epoch: [0]", 0, 9, 1.0, 0.5).replace(
        b"loss: 1.0", b"load_time: 9.0  r_time: 8.0  loss: 1.0"
    )
    (run,) = read_all(READER, line)
    assert run.column("step_seconds") == [1.0]


def test_detr_like_lines_are_known_and_plain_text_is_not() -> None:
    def head(data: bytes) -> Head:
        return Head(name="log", data=data, whole=True, binary=False)

    assert READER.sniff(head(record("Epoch: [0]", 0, 9, 1.0, 0.5))) > 0.9
    assert READER.sniff(head(b"eta: soon [1/2] time: long\n")) == 0.0


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.3, 8.0), st.floats(0.0, 1.0)), min_size=1, max_size=20),
)
def test_every_iteration_of_a_short_epoch_is_read_back_within_rounding(
    steps: list[tuple[float, float]],
) -> None:
    times = [time for time, _ in steps]
    waits = [time * share for time, share in steps]
    (run,) = read_all(READER, printed_as_torchvision_does(times, waits, every=1))
    for index, (row, time, wait) in enumerate(zip(run.rows, times, waits, strict=True)):
        # Means of n and n - 1 iterations, each off by half a unit of the fourth decimal.
        error = (2 * index + 1) * 0.00005 + 1e-9
        assert row["step_seconds"] == pytest.approx(time, abs=error)
        assert row["data_wait_seconds"] == pytest.approx(wait, abs=error)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.3, 8.0), st.floats(0.0, 1.0)), min_size=1, max_size=80),
    st.sampled_from([2, 5, 10, 20, 30]),
)
def test_no_row_says_anything_that_no_iteration_did(steps: list[tuple[float, float]], every: int) -> None:
    times = [time for time, _ in steps]
    waits = [time * share for time, share in steps]
    (run,) = read_all(READER, printed_as_torchvision_does(times, waits, every))
    assert sum(run.column("steps")) == len(steps)
    for row in run.rows:
        assert min(times) - 0.002 <= row["step_seconds"] <= max(times) + 0.002
        assert 0 <= row["data_wait_seconds"] <= row["step_seconds"]


def test_the_public_logs_come_out_as_their_manifest_says(shared: Path) -> None:
    for facts, path in public_logs(shared, "torchvision_metriclogger"):
        run = together(read_all(READER, path.read_bytes(), path.name))
        printed = run.printed("step_seconds")
        assert len(run.rows) == facts["core"]["records"]
        assert statistics.median(printed) == pytest.approx(facts["core"]["step_seconds_median"], rel=0.01)
        share = sum(run.printed("data_wait_seconds")) / sum(printed)
        assert share == pytest.approx(facts["core"]["data_wait_share"], rel=0.01)
        assert max(run.column("allocated_bytes")) / MIB == facts["max_mem_MB"]
        assert len(run.event_seconds("epoch")) == facts["epochs"]
