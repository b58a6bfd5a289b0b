"""Paddle logs of all families: what the figures mean over several lines, and what stands between them."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vision_pieces import fixture, fixture_runs, public_logs, read_all, together

from weighbridge.readers.paddle_text import HELD_ROWS, PaddleText
from weighbridge.readers.text import Head
from weighbridge.units import MIB

READER = PaddleText()


def loop(place: int, batch: float, data: float, epoch: int = 1, places: int = 500) -> bytes:
    return (
        f"Epoch {epoch}[{place}/{places}]: loss:0.7, batch time:{batch:.4f}, data time:{data:.4f}\n".encode()
    )


def detection(epoch: int, place: int, batch: float, data: float) -> bytes:
    return (
        f"Epoch: [{epoch}] [{place:3d}/791] learning_rate: 0.000010 loss: 4.37 eta: 0:54:58 "
        f"batch_cost: {batch:.4f} data_cost: {data:.4f} ips: {8 / batch:.4f} images/s\n"
    ).encode()


def test_a_log_in_chinese_markdown_is_read_and_its_explanation_is_not() -> None:
    run = fixture(READER, "detection_quoted_in_chinese_markdown_over_new_year")
    assert len(run.rows) == 8
    assert run.column("step_seconds")[:3] == [4.0, 2.0, 2.2]
    assert run.column("data_wait_seconds")[:3] == [3.5, 1.5, 1.75]
    assert run.column("steps")[:6] == [1, 20, 20, 20, 20, 15]
    assert run.column("step")[:6] == [1, 21, 41, 61, 81, 96]


def test_a_line_quoted_below_the_log_is_no_restart() -> None:
    run = fixture(READER, "detection_quoted_in_chinese_markdown_over_new_year")
    assert run.rows[-1]["line"] == 20
    assert run.column("step")[-1] is None
    assert run.column("at_seconds")[-1] is None
    assert run.trouble == {"quoted_line": 1}


def test_a_clock_without_a_year_gets_over_new_year() -> None:
    run = fixture(READER, "detection_quoted_in_chinese_markdown_over_new_year")
    clock = run.column("at_seconds")
    assert clock[6] - clock[0] == 4 * 60 + 20
    assert run.facts["clock"] == "local"
    assert run.facts["details.clock_without_year"] is True


def test_an_evaluation_lasts_samples_by_rate_and_a_checkpoint_is_an_event() -> None:
    run = fixture(READER, "detection_quoted_in_chinese_markdown_over_new_year")
    assert run.event_seconds("evaluation") == [8.0]
    assert run.event_seconds("checkpoint") == [None]


def test_rate_times_time_is_the_batch_of_one_card() -> None:
    facts = fixture(READER, "detection_quoted_in_chinese_markdown_over_new_year").facts
    assert facts["planned.batch_per_device"] == 8
    assert facts["planned.steps_per_epoch"] == 95
    assert "planned.global_batch" not in facts


def test_memory_in_mb_is_in_mebibytes_of_two_counters() -> None:
    run = fixture(READER, "detection_memory_in_mb")
    assert run.column("reserved_bytes") == [5120 * MIB, 6144 * MIB, 6144 * MIB]
    assert run.column("allocated_bytes") == [4820 * MIB, 5844 * MIB, 5844 * MIB]


def test_clas_has_a_unit_on_one_cost_only_and_marks_its_evaluation() -> None:
    run = fixture(READER, "clas_unit_on_one_cost_only")
    assert run.column("phase") == ["train"] * 3 + ["evaluation"] * 3 + ["train"]
    assert run.column("data_wait_seconds")[:3] == [1.6, 0.1, 0.09]
    assert run.column("step", "train") == [1, 11, 21, 31]
    assert run.column("step", "evaluation") == [None] * 3
    assert run.facts["environment.framework_version"] == "2.4.1"


def test_an_evaluation_of_clas_lasts_from_its_first_line_to_its_average() -> None:
    run = fixture(READER, "clas_unit_on_one_cost_only")
    # First line at 03:07:40 after 2.5 s, average at 03:07:45.
    assert run.event_seconds("evaluation") == [7.5]


def test_without_stamps_an_evaluation_is_its_first_batch_and_the_mean_of_the_rest() -> None:
    lines = [
        f"[Eval][Epoch 0][Iter: {place}/60]CELoss: 0.1, batch_cost: {cost}s, reader_cost: 0.0001\n"
        for place, cost in ((0, 2.5), (20, 0.025), (40, 0.024))
    ]
    (run,) = read_all(READER, "".join([*lines, "[Eval][Epoch 0][Avg]CELoss: 0.1\n"]).encode())
    assert run.event_seconds("evaluation") == [pytest.approx(2.5 + 59 * 0.024)]


def test_an_unmarked_line_beside_only_evaluation_lines_is_evaluation() -> None:
    lines = (
        "  CELoss: 0.58, loss: 0.58, batch_cost: 3.0s, reader_cost: 1.0, ips: 21.3 images/sec\n"
        "  ppcls INFO: [Eval][Epoch 0][Iter: 20/157]CELoss: 0.1, batch_cost: 0.02s, reader_cost: 0.0001\n"
    )
    (run,) = read_all(READER, lines.encode())
    assert run.column("phase") == ["evaluation", "evaluation"]


def test_an_unmarked_line_beside_training_is_training() -> None:
    (run,) = read_all(READER, b"loss: 0.5, batch_cost: 3.0, reader_cost: 1.0\n" + detection(0, 20, 1.0, 0.5))
    assert run.column("phase") == ["train", "train"]


def test_ocr_divides_by_the_interval_even_in_a_short_last_window() -> None:
    run = fixture(READER, "ocr_reader_first_and_short_last_window")
    # Five of ten steps: 0.2 s printed, 4 of 8 samples per step, so 0.4 s.
    assert run.column("step_seconds") == pytest.approx([0.5, 0.4, 0.4, 0.42, 0.4])
    assert run.column("data_wait_seconds") == pytest.approx([0.2, 0.1, 0.1, 0.12, 0.1])
    assert run.printed("step_seconds") == [0.5, 0.4, 0.2, 0.21, 0.4]
    assert run.column("steps") == [10, 10, 5, 5, 10]


def test_ocr_says_its_epochs_and_evaluates_under_a_bar() -> None:
    run = fixture(READER, "ocr_reader_first_and_short_last_window")
    assert run.facts["planned.epochs"] == 500
    assert run.facts["planned.steps_per_epoch"] == 25
    assert run.facts["planned.batch_per_device"] == 8
    assert run.event_seconds("evaluation") == [12.0]


def test_segmentation_counts_the_whole_run_and_its_bars_are_no_rows() -> None:
    run = fixture(READER, "segmentation_counts_the_whole_run_and_draws_bars")
    assert run.column("step") == [10, 20, 30, 40]
    assert run.column("steps") == [10, 10, 10, 10]
    assert run.facts["planned.steps"] == 1000
    assert run.event_seconds("evaluation") == [3.0]


def test_segmentation_lists_its_environment() -> None:
    facts = fixture(READER, "segmentation_counts_the_whole_run_and_draws_bars").facts
    assert facts["hardware.gpus"] == 1
    assert facts["hardware.gpu_name"] == "Tesla V100-SXM2-16GB"
    assert facts["environment.framework_version"] == "2.1.2"


def test_video_prints_the_last_batch_alone_and_the_sum_at_the_end() -> None:
    run = fixture(READER, "video_last_batch_and_end_of_epoch")
    assert run.facts["step_statistic"] == "last"
    assert run.column("step_seconds", "train") == [2.5, 0.5, 0.6, 0.7]
    assert run.column("steps", "train") == [1, 10, 10, 1]
    assert run.event_seconds("epoch") == [15.25]
    assert run.event_seconds("evaluation") == [7.5]


def test_a_sum_in_minutes_is_seconds() -> None:
    line = (
        b"END epoch:3   train loss_avg: 5.2 avg_batch_cost: 0.5 sec, avg_reader_cost: 0.1 sec, "
        b"batch_cost_sum: 2.50000 min, avg_ips: 8.0 instance/sec.\n"
    )
    (run,) = read_all(READER, detection(0, 0, 1.0, 0.5) + line)
    assert run.event_seconds("epoch") == [150.0]
    assert len(run.rows) == 1


def test_gan_writes_sec() -> None:
    run = fixture(READER, "gan_unit_sec")
    assert run.column("step_seconds") == [0.4, 0.35, 0.35]
    assert run.column("step") == [50, 100, 134 + 16]
    assert run.column("steps") == [50, 50, 50]


def test_paddlex_prints_a_step_time_and_no_data_wait() -> None:
    run = fixture(READER, "paddlex_without_data_time")
    assert run.column("step_seconds") == [3.31, 3.32, 3.33]
    assert run.column("data_wait_seconds") == [None] * 3
    assert run.facts["planned.epochs"] == 3


def test_a_loop_that_waits_longer_than_its_batch_excludes_the_wait() -> None:
    run = fixture(READER, "loop_excludes_data_time_and_counts_samples")
    assert run.column("step_seconds") == pytest.approx([2.0, 0.3003, 0.3103] * 2)
    assert run.printed("step_seconds") == [0.4, 0.3, 0.31] * 2
    assert run.facts["details.batch_time_excludes_data_time"] is True


def test_positions_that_are_multiples_of_the_first_count_samples() -> None:
    run = fixture(READER, "loop_excludes_data_time_and_counts_samples")
    assert run.column("step") == [1, 11, 21, 33, 43, 53]
    assert run.column("steps") == [1, 10, 10, 1, 10, 10]
    assert run.facts["planned.batch_per_device"] == 16
    assert run.facts["planned.steps_per_epoch"] == 32


def test_a_loop_says_how_long_its_epochs_and_its_tests_last() -> None:
    run = fixture(READER, "loop_excludes_data_time_and_counts_samples")
    assert run.event_seconds("epoch") == [12.51, 12.52]
    assert run.event_seconds("evaluation") == [3.0, 3.0]


def test_a_loop_that_never_waits_longer_than_its_batch_includes_the_wait() -> None:
    run = fixture(READER, "loop_counts_iterations")
    assert run.column("step_seconds") == [0.5, 0.4, 0.4]
    assert run.column("step") == [10, 20, 30]
    assert "details.batch_time_excludes_data_time" not in run.facts


def test_one_line_alone_does_not_say_what_its_position_counts() -> None:
    (run,) = read_all(READER, loop(16, 0.4, 0.1))
    assert run.column("step") == [None]
    assert run.column("step_seconds") == [0.4]


def test_the_evidence_may_come_late_in_a_log() -> None:
    rows = [loop(place, 0.3, 0.1, places=10_000) for place in range(1, 1000)]
    (run,) = read_all(READER, b"".join([*rows, loop(1000, 0.3, 0.9, places=10_000)]))
    assert run.column("step_seconds") == pytest.approx([0.4] * 999 + [1.2])


def test_a_known_family_with_more_wait_than_step_loses_the_wait_and_says_so() -> None:
    (run,) = read_all(READER, detection(0, 0, 1.0, 0.5) + detection(0, 20, 1.0, 1.5))
    assert run.column("step_seconds") == [1.0, 1.0]
    assert run.column("data_wait_seconds") == [0.5, None]
    assert run.printed("data_wait_seconds") == [0.5, 1.5]
    assert run.trouble == {"data_above_step": 1}


def test_the_first_step_again_is_another_run() -> None:
    first, second = fixture_runs(READER, "two_runs_in_one_file")
    assert first.column("step_seconds") == [1.0, 1.0, 1.0]
    assert second.column("step_seconds") == [1.2, 1.2]


def test_a_step_that_goes_back_later_than_the_clock_is_a_restart_inside_the_run() -> None:
    run = fixture(READER, "resumed_in_the_middle")
    assert run.column("step") == [1, 21, 41, 61, 41, 61]
    assert run.problems == []


def test_a_file_pasted_twice_is_told() -> None:
    path = Path(__file__).parent / "fixtures" / "paddle_text" / "detection_memory_in_mb.log"
    (run,) = read_all(READER, path.read_bytes() * 2)
    assert run.column("step") == [1, 21, 41, None, None, None]
    assert run.trouble == {"quoted_line": 3}


def test_half_a_number_at_the_cut_end_is_not_believed() -> None:
    run = fixture(READER, "last_line_cut_in_the_batch_cost")
    assert run.column("step_seconds") == [1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "step", "data"),
    [
        ("reader_cost: 0.12 s, batch_cost: 0.34 s", 0.34, 0.12),
        ("batch_cost: 0.34 sec,reader_cost: 0.12 sec,", 0.34, 0.12),
        ("batch_cost=0.34, reader_cost=0.12,", 0.34, 0.12),
        ("avg_reader_cost: 0.12 sec, avg_batch_cost: 0.34 sec,", 0.34, 0.12),
        ("batch_cost: 340 ms, data_cost: 120 ms,", 0.34, 0.12),
        ("batch_cost: 0.34s, reader_cost: 1.2e-01,", 0.34, 0.12),
        ("batch time: 0.34, data time: 0.12,", 0.34, 0.12),
        ("batch_cost: 0.34 s.", 0.34, None),
    ],
)
def test_units_names_and_orders_of_all_families_are_read(text: str, step: float, data: float | None) -> None:
    (run,) = read_all(READER, f"epoch: 1, iter: 10/1000, loss: 0.5, lr: 0.01, {text}\n".encode())
    assert run.column("step_seconds") == [pytest.approx(step)]
    assert run.column("data_wait_seconds") == [data if data is None else pytest.approx(data)]


@pytest.mark.parametrize(
    ("position", "step"),
    [
        ("global step 120, epoch: 1, batch: 20,", 120),
        ("[3/1200], [5/63], global_step: 131,", 131),
        ("[Epoch 0, iter: 40] acc: 0.5,", None),
        ("epoch: 2, batch_id: 40,", None),
        ("iter: 20, lr: 0.000027,", 20),
        ("Iter: 100/10000 lr: 2.000e-04", 100),
    ],
)
def test_positions_of_all_families_are_read(position: str, step: int | None) -> None:
    lines = f"{position} loss: 0.5, avg_reader_cost: 0.1 sec, avg_batch_cost: 0.3 sec, ips: 9.0 x/s\n"
    (run,) = read_all(READER, lines.encode())
    assert run.column("step") == [step]
    assert run.column("phase") == ["train"]


def test_clas_of_2020_writes_its_position_between_commas() -> None:
    stamp = "2021-03-19 21:46:%02d,213 - INFO - "
    lines = (
        stamp % 3
        + "epoch:0  , train step:0   , loss: 4.6, lr: 0.003750, batch_cost: 0.6 s, reader_cost: 0.4 s\n",
        stamp % 6
        + "epoch:0  , train step:10  , loss: 4.5, lr: 0.003748, batch_cost: 0.3 s, reader_cost: 0.1 s\n",
        stamp % 9
        + "END epoch:0   train loss: 3.9, batch_cost: 0.3 s, reader_cost: 0.1 s, batch_cost_sum: 6.48 s\n",
        stamp % 10
        + "epoch:1  , valid step:0   , loss: 3.3, lr: 0.0, batch_cost: 0.2 s, reader_cost: 0.1 s\n",
    )
    (run,) = read_all(READER, "".join(lines).encode())
    assert run.column("phase") == ["train", "train", "evaluation"]
    assert run.column("steps") == [1, 10, 1]
    assert run.event_seconds("epoch") == [6.48]


def test_science_counts_its_iterations_from_one() -> None:
    lines = [
        f"[{phase}][Epoch  1/30][Iter {at}/{of}] loss: 3.5, batch_cost: {cost}s, reader_cost: 0.01s, ips: 9\n"
        for phase, at, of, cost in (("Train", " 1", 20, 0.4), ("Train", "20", 20, 0.2), ("Eval", "1", 8, 0.1))
    ]
    (run,) = read_all(READER, "".join(lines).encode())
    assert run.column("step") == [1, 20, None]
    assert run.column("steps") == [1, 19, 1]
    assert run.facts["planned.epochs"] == 30


def test_an_epoch_summary_is_no_row_and_its_time_an_event() -> None:
    lines = (
        b"Epoch [1/2], Iter [01/14], reader_cost: 1.2 s, batch_cost: 1.3 s, ips: 9.9 x/s, eta: 0:00:36\n"
        b"Epoch [1/2], Iter [02/14], reader_cost: 0.6 s, batch_cost: 0.7 s, ips: 9.9 x/s, eta: 0:00:18\n"
        b"Epoch ID: 1, Epoch time: 1.96801 s, reader_cost: 1.25314 s, batch_cost: 1.92850 s, avg ips: 9.9\n"
    )
    (run,) = read_all(READER, lines)
    assert run.column("step") == [1, 2]
    assert run.event_seconds("epoch") == [1.96801]


def test_tokens_are_not_samples() -> None:
    line = b"global step 7, epoch: 0, loss: 8.0, avg_batch_cost: 0.3 sec, ips: 9 tokens/s\n"
    (run,) = read_all(READER, line)
    assert run.column("samples_per_second") == [None]


def test_a_record_broken_over_two_lines_keeps_its_times() -> None:
    lines = (
        b"ppocr INFO: epoch: [270/300], global_step: 300, lr: 0.000058, norm_edit_dis: 1.0\n"
        b"00000, avg_reader_cost: 0.06 s, avg_batch_cost: 8.5 s, avg_samples: 70.4, ips: 8.2 samples/s, "
        b"eta: 0:39:29, max_mem_reserved: 12193 MB, max_mem_allocated: 11824 MB   \n"
    )
    (run,) = read_all(READER, lines)
    assert run.column("step_seconds") == [8.5]
    assert run.column("phase") == ["train"]
    assert run.column("reserved_bytes") == [12193 * MIB]


def test_other_samples_without_other_steps_do_not_change_the_time() -> None:
    lines = [
        f"epoch: [1/9], global_step: {step}, lr: 0.1, avg_batch_cost: 0.5 s, avg_samples: {samples}\n"
        for step, samples in ((10, 8.0), (20, 8.0), (30, 16.0))
    ]
    (run,) = read_all(READER, "".join(lines).encode())
    assert run.column("step_seconds") == [0.5, 0.5, 0.5]


def test_the_rank_is_in_the_prefix_or_in_the_name_of_the_file() -> None:
    (run,) = read_all(READER, b"[rank1]: " + detection(0, 0, 1.0, 0.5))
    assert run.column("rank") == [1]
    (run,) = read_all(READER, detection(0, 0, 1.0, 0.5), "log/workerlog.3")
    assert run.column("rank") == [3]


def test_ranks_interleaved_keep_their_own_steps() -> None:
    lines = [b"[rank%d]: " % rank + detection(0, place, 1.0, 0.5) for place in (0, 20, 40) for rank in (0, 1)]
    (run,) = read_all(READER, b"".join(lines))
    assert run.column("steps") == [1, 1, 20, 20, 20, 20]


@pytest.mark.parametrize(
    "data", [b"", b"Epoch: [0]  [0/6]  eta: 1  time: 4.1  data: 1.1\n", b"batch_cost: explained in prose\n"]
)
def test_other_texts_are_left_to_other_readers(data: bytes) -> None:
    assert READER.sniff(Head(name="log", data=data, whole=True, binary=False)) == 0.0


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.001, 100.0), st.floats(0.0, 1.0)), min_size=1, max_size=3 * HELD_ROWS),
    st.integers(1, 50),
)
def test_what_is_printed_is_read_back_whatever_is_held(steps: list[tuple[float, float]], every: int) -> None:
    lines, expected = [], []
    for index, (time, share) in enumerate(steps):
        step = round(max(time, 0.0001), 4)
        wait = round(step * share, 4)
        epoch, place = divmod(index * every, 791)
        lines.append(detection(epoch, place, step, min(wait, step)))
        expected.append((step, min(wait, step), index * every + 1, every if index else 1))
    (run,) = read_all(READER, b"".join(lines))
    found = [
        (row["step_seconds"], row["data_wait_seconds"], row["step"], row.get("steps")) for row in run.rows
    ]
    assert found == expected


def test_the_public_logs_come_out_as_their_manifest_says(shared: Path) -> None:
    for facts, path in public_logs(shared, "paddle_train_log"):
        run = together(read_all(READER, path.read_bytes(), path.name))
        steps, waits = run.printed("step_seconds"), run.printed("data_wait_seconds")
        assert len(run.rows) == facts["core"]["records"]
        if "data_wait_share" in facts["core"]:
            assert sum(waits) / sum(steps) == pytest.approx(facts["core"]["data_wait_share"], rel=0.01)
            assert statistics.median(steps) == pytest.approx(facts["median_batch_cost_s"], rel=0.01)
        if "first_record" in facts:
            assert steps[0] == facts["first_record"]["batch_time"]
            assert waits[0] == facts["first_record"]["data_time"]
            assert run.event_seconds("epoch")[:3] == facts["epoch_total_s"]
            assert len(set(run.column("epoch"))) == facts["epochs"]
