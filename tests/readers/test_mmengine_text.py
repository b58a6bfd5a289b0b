"""MMEngine and MMCV text logs: lines of every version, runs and restarts, evaluations, the fast way."""

from __future__ import annotations

import io
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vision_pieces import ReadRun, fixture, fixture_runs, public_logs, read_all, together

from weighbridge.readers import mmengine_text, openmmlab_windows, text
from weighbridge.readers.mmengine_text import MmengineText
from weighbridge.readers.openmmlab_table import read_table
from weighbridge.readers.text import Block, read_head

READER = MmengineText()
MIB = 2**20


def run_of(data: bytes, name: str = "train.log") -> ReadRun:
    (run,) = read_all(READER, data, name)
    return run


def row(
    epoch: int, iteration: int, total: int = 500, *, at: str = "10:00:00", seconds: str = "0.4000"
) -> str:
    return (
        f"05/17 {at} - mmengine - INFO - Epoch(train)  [{epoch}][{iteration:3d}/{total}]  lr: 1.0000e-02  "
        f"eta: 0:10:00  time: {seconds}  data_time: 0.1000  memory: 4000  loss: 1.0000\n"
    )


# Epochs, validation, banner


def test_rows_carry_step_time_wait_and_memory_of_their_window() -> None:
    run = fixture(READER, "mmengine_epochs_with_validation")
    assert run.column("step", "train") == [20, 40, 60, 80, 100, 130, 150, 170, 190, 210]
    assert run.column("steps", "train") == [20] * 10
    assert run.column("epoch", "train") == [1] * 5 + [2] * 5
    assert run.column("step_seconds", "train")[0] == 0.51
    assert run.column("data_wait_seconds", "train")[:2] == [0.12, 0.14]
    assert run.column("allocated_bytes", "train")[-1] == 5102 * MIB
    assert run.column("line", "train")[0] == 54


def test_validation_rows_are_evaluation_and_have_no_step() -> None:
    run = fixture(READER, "mmengine_epochs_with_validation")
    assert run.column("step_seconds", "evaluation") == [0.2] * 4
    assert run.column("steps", "evaluation") == [20] * 4
    assert run.column("step", "evaluation") == [None] * 4


def test_an_evaluation_lasts_from_its_first_batch_to_the_line_with_the_metrics() -> None:
    events = [e for e in fixture(READER, "mmengine_epochs_with_validation").events if e.kind == "evaluation"]
    # Line 61 ends 20 iterations of 0.2 s at 14:01:08, the metrics stand at 14:01:17.
    assert [event.seconds for event in events] == pytest.approx([13.0, 13.0])
    assert [(event.epoch, event.step, event.line) for event in events] == [(1, 100, 67), (2, 210, 81)]


def test_saving_lasts_until_the_pass_after_it_begins() -> None:
    run = fixture(READER, "mmengine_epochs_with_validation")
    assert run.event_seconds("checkpoint") == pytest.approx([2.0, 2.0])


def test_start_up_lies_between_the_banner_and_the_first_window() -> None:
    events = {event.kind: event for event in fixture(READER, "mmengine_epochs_with_validation").events}
    # Banner at 14:00:00, first row at 14:00:16 after 20 iterations of 0.51 s.
    assert events["training_begins"].seconds == pytest.approx(5.8)
    assert events["training_begins"].at_seconds == pytest.approx(events["start"].at_seconds + 5.8)


def test_the_banner_says_what_runs_on_what() -> None:
    facts = fixture(READER, "mmengine_epochs_with_validation").facts
    assert facts["hardware.gpu_name"] == "NVIDIA A30"
    assert facts["hardware.gpus"] == 4
    assert facts["environment.torch"] == "2.1.2+cu118"
    assert facts["environment.cuda"] == "11.8"
    assert facts["environment.cudnn"] == "8.7.0"
    assert facts["environment.python"] == "3.9.19"
    assert (facts["environment.framework"], facts["environment.framework_version"]) == ("mmengine", "0.10.4")


def test_the_configuration_says_batch_workers_and_plan_but_only_of_training() -> None:
    facts = fixture(READER, "mmengine_epochs_with_validation").facts
    assert facts["planned.batch_per_device"] == 6
    assert facts["planned.workers"] == 5
    assert facts["planned.epochs"] == 3
    assert facts["planned.steps_per_epoch"] == 110
    assert facts["planned.model"] == "RetinaNet"
    assert facts["planned.dataset"] == "BalloonDataset"
    assert facts["layout.accumulation"] == 2
    assert facts["details.mean_over_iterations"] == 20
    assert facts["name"] == "balloon_r18_20240709_135958"


def test_a_cpu_run_has_no_memory_and_no_gpu() -> None:
    run = fixture(READER, "mmengine_iterations_on_cpu_without_memory")
    assert run.column("allocated_bytes", "train") == [None] * 8
    assert run.facts["hardware.gpus"] == 0
    assert run.facts["planned.steps"] == 1000
    assert run.column("step", "train") == [10, 20, 30, 40, 50, 60, 70, 80]
    assert run.event_seconds("evaluation") == pytest.approx([49.0])


# Old versions


def test_a_log_that_begins_in_the_middle_counts_one_step_a_line_not_thousands() -> None:
    run = fixture(READER, "mmcv_begins_in_the_middle_of_an_epoch_and_is_cut_in_a_number")
    assert run.column("steps") == [1, 1, 1, 1]
    assert run.column("step") == [12117, 12118, 12119, 12120]


def test_the_cut_last_line_gives_what_is_whole_in_it() -> None:
    run = fixture(READER, "mmcv_begins_in_the_middle_of_an_epoch_and_is_cut_in_a_number")
    assert (run.rows[-1]["step_seconds"], run.rows[-1]["allocated_bytes"]) == (1.5, 2500 * MIB)


@pytest.mark.parametrize(
    ("last", "time", "wait"),
    [("data_time: 0.1000  mem", 0.4, 0.1), ("data_time: 0.10", 0.4, None), ("time: 0.4000 ", 0.4, None)],
)
def test_a_line_may_be_cut_anywhere(last: str, time: float, wait: float | None) -> None:
    whole = row(1, 50)
    run = run_of(whole[: whole.index(last) + len(last)].encode())
    assert (run.rows[0]["step_seconds"], run.rows[0].get("data_wait_seconds")) == (time, wait)


def test_a_line_cut_in_its_time_is_no_row_and_is_told() -> None:
    run = run_of(row(1, 50)[: row(1, 50).index("0.4000") + 3].encode())
    assert run.rows == []
    assert run.trouble == {"half_record": 1}


def test_the_cold_first_window_stays_in_the_rows() -> None:
    run = fixture(READER, "mmcv_cold_first_window_with_eta_in_days")
    assert run.column("step_seconds") == [5.0] + [0.2] * 6
    assert run.column("data_wait_seconds") == [4.5] + [0.008] * 6
    assert run.facts["planned.epochs"] == 90
    assert run.rows[1]["at_seconds"] - run.rows[0]["at_seconds"] == 20.0


def test_metrics_printed_as_a_training_line_are_an_evaluation_not_a_row() -> None:
    run = fixture(READER, "metrics_as_a_training_line_without_time_and_nan_losses")
    assert run.column("step") == [50, 100, 170, 220]
    # From the checkpoint's line at 32 s past to the metrics at 1 min 12 s past.
    assert run.event_seconds("evaluation")[0] == pytest.approx(40.0)


def test_progress_bars_before_a_line_do_not_hide_it() -> None:
    run = fixture(READER, "mmcv_iterations_with_progress_bar_and_evaluation_inside_the_next_wait")
    assert run.event_seconds("evaluation") == pytest.approx([12.0])
    assert run.column("step") == [50, 100, 150, 200, 250]


def test_a_wait_that_holds_an_evaluation_is_counted_for_the_judge() -> None:
    run = fixture(READER, "mmcv_iterations_with_progress_bar_and_evaluation_inside_the_next_wait")
    # 50 iterations of 0.25 s wait follow an evaluation of 12 s.
    assert run.facts["details.waits_with_evaluation_inside"] == 1
    assert run.column("data_wait_seconds")[2] == 0.25


def test_the_old_banner_is_read_too() -> None:
    facts = fixture(READER, "mmcv_iterations_with_progress_bar_and_evaluation_inside_the_next_wait").facts
    assert facts["hardware.gpus"] == 2
    assert facts["details.gpu_names"] == "GeForce RTX 2080 Ti, TITAN V"
    assert (facts["environment.framework"], facts["environment.framework_version"]) == ("mmcv", "1.3.3")
    assert (facts["planned.batch_per_device"], facts["planned.workers"]) == (4, 3)
    assert facts["details.codebase"] == "MMSegmentation 0.14.0+abc1234"


def test_a_test_without_training_is_evaluation_only() -> None:
    run = fixture(READER, "test_without_training")
    assert run.column("phase") == ["evaluation"] * 2
    assert run.event_seconds("evaluation") == pytest.approx([16.0])


# Runs, restarts, several writers


def test_a_banner_and_the_first_window_again_begin_another_run() -> None:
    runs = fixture_runs(READER, "two_runs_in_one_file")
    assert [run.column("step_seconds") for run in runs] == [[0.3] * 4, [0.6] * 4]
    assert [run.facts["hardware.gpu_name"] for run in runs] == ["NVIDIA A30", "NVIDIA L4"]
    assert [run.facts["name"] for run in runs] == ["run0_20250110_080000", "run1_20250111_080000"]


def test_the_first_window_again_begins_another_run_without_a_banner_too() -> None:
    data = "".join(row(1, i, at=f"10:{i // 10:02d}:00") for i in (50, 100, 150))
    assert [run.column("step") for run in read_all(READER, (data * 2).encode())] == [[50, 100, 150]] * 2


def test_a_resume_goes_back_inside_the_run() -> None:
    run = fixture(READER, "resume_goes_back_and_out_of_memory")
    assert run.column("step") == [50, 100, 160, 210, 270, 270, 320, 270, 320]
    assert run.column("steps") == [50] * 9


def test_memory_that_ran_out_is_one_event_however_often_it_is_printed() -> None:
    run = fixture(READER, "resume_goes_back_and_out_of_memory")
    assert [event.line for event in run.events if event.kind == "out_of_memory"] == [42]


def test_two_ranks_that_print_the_same_lines_are_one_run() -> None:
    run = fixture(READER, "two_ranks_print_every_line_twice")
    assert run.column("step") == [10, 10, 20, 20, 30, 30, 40, 40, 60]
    assert run.column("steps") == [10] * 8 + [20]


def test_a_lagging_rank_begins_no_run() -> None:
    data = [row(1, 50, at="10:00:20"), row(1, 100, at="10:00:40"), row(1, 50, at="10:00:41")]
    assert len(read_all(READER, "".join(data).encode())) == 1


def test_lines_of_two_writers_give_their_whole_records_and_no_mixture() -> None:
    run = fixture(READER, "lines_of_two_writers_run_together")
    assert run.column("step") == [10, 20, 30, 50, 60, 70, 80, 90, 110]
    memory = [None if value is None else value / MIB for value in run.column("allocated_bytes")]
    assert memory == [2010, 2020, 2030, 2050, None, 2070, 2080, 2090, 2110]
    assert run.column("data_wait_seconds")[4] is None
    assert run.trouble == {"half_record": 1}
    assert run.events == []


# The clock


def test_a_year_comes_from_the_experiment_name_and_new_year_does_not_go_back() -> None:
    clock = fixture(READER, "new_year_without_a_year_in_the_stamps").column("at_seconds")
    assert clock[0] == 1704067125.0  # 2023-12-31 23:58:45
    assert [after - before for before, after in pairwise(clock)] == [45.0] * 5


def test_a_year_comes_from_the_file_name() -> None:
    run = run_of(row(1, 50).encode(), "20240517_095900.log")
    assert run.rows[0]["at_seconds"] == 1715940000.0  # 2024-05-17 10:00:00
    assert run.facts["details.clock_without_year"] is None


def test_without_any_year_it_is_1972_and_said_so() -> None:
    run = run_of(row(1, 50).encode())
    assert run.rows[0]["at_seconds"] == 74944800.0  # 1972-05-17 10:00:00
    assert run.facts["details.clock_without_year"] is True


def test_the_29th_of_february_exists_without_a_year() -> None:
    assert run_of(row(1, 50).replace("05/17", "02/29").encode()).rows[0]["at_seconds"] is not None


def test_a_stamp_that_does_not_exist_is_no_time() -> None:
    lines = row(1, 50) + row(1, 100).replace("05/17", "05/39") + row(1, 150).replace("10:00:00", "10:71:00")
    assert [at is None for at in run_of(lines.encode()).column("at_seconds")] == [False, True, True]


# The fast way and the slow way


def flat(data: bytes, **patches: Any) -> list[Any]:
    """Everything a reading gives, rows one by one so that the size of batches does not matter."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in patches.items():
            module = text if name == "BLOCK_BYTES" else mmengine_text
            module = openmmlab_windows if name == "BATCH_ROWS" else module
            patch.setattr(module, name, value)
        return [
            (run.rows, run.events, run.facts, run.problems) for run in read_all(READER, data, "train.log")
        ]


numbers = st.sampled_from(["0.4000", "12.5", "0.001", "nan", "1e-05", "0.123456789", "7", "1.", "00.5"])
stamps = st.builds(
    lambda style, second: style.format(h=10 + second // 3600, m=second // 60 % 60, s=second % 60),
    st.sampled_from(["05/17 {h}:{m:02d}:{s:02d}", "2023/06/05 {h}:{m:02d}:{s:02d}",
                     "2021-08-17 {h}:{m:02d}:{s:02d},073", "13/40 {h}:{m:02d}:{s:02d}"]),
    st.integers(0, 7000),
)  # fmt: skip
scopes = st.builds(
    lambda word, epoch, step: word.format(e=epoch, i=step),
    st.sampled_from(["Epoch(train)  [{e}][{i:3d}/500]", "Epoch(val) [{e}][ {i}/79]", "Epoch [{e}][{i}/500]",
                     "Iter(train) [{i:4d}/9000]", "Iter [{i}/9000]", "Epoch(test) [{i}/79]",
                     "Epoch(val) [{e}][{i}]"]),
    st.integers(1, 3),
    st.sampled_from([10, 20, 50, 79, 100, 150]),
)  # fmt: skip
measured = st.builds(
    lambda form, time, wait, memory: form.format(t=time, d=wait, m=memory),
    st.sampled_from([
        "  lr: 1.0e-02  eta: 1 day, 2:03:04  time: {t}  data_time: {d}  memory: {m}  loss: 1.0",
        "\tlr: 0.02000, eta: 2:03:04, time: {t}, data_time: {d}, memory: {m}, loss: nan",
        "  eta: 0:00:10  time: {t}  data_time: {d}  ",
        "    eta: 0:00:10  time: {t}  data_time: {d}  memory: {m}",
        "\tlr: 0.02, bbox_mAP: 0.5000",
        "    coco/bbox_mAP: 0.5000  data_time: {d}  time: {t}",
        "  lr: 1.0e-02  eta: 0:00:10  time: {t}  data_time: {d}  memory: {m}  loss: [1.0, 2.0]",
    ]),
    numbers, numbers, st.sampled_from(["4000", "99", "12345678901234567890"]),
)  # fmt: skip
records = st.builds(
    lambda stamp, name, scope, rest: f"{stamp} - {name}INFO - {scope}{rest}",
    stamps,
    st.sampled_from(["mmengine - ", "mmdet - ", ""]),
    scopes,
    measured,
)
usual = st.builds(
    lambda stamp, scope, rest: f"{stamp} - mmengine - INFO - {scope}{rest}",
    stamps,
    scopes,
    st.sampled_from([
        "  lr: 1.0e-02  eta: 1 day, 2:03:04  time: 0.4000  data_time: 0.1000  memory: 4000  loss: 1.0",
        "\tlr: 0.02000, eta: 2:03:04, time: 12.345, data_time: 9.876, memory: 30, loss: nan",
    ]),
)  # fmt: skip
others = st.sampled_from([
    "", "05/17 10:00:05 - mmengine - INFO - Saving checkpoint at 1 epochs", "System environment:",
    "05/17 10:00:05 - mmengine - INFO - resumed epoch: 1, iter: 500", "    GPU 0: NVIDIA L4",
    "05/17 10:00:05 - mmengine - INFO - Exp name: a_20230517_100000", "RuntimeError: CUDA out of memory.",
    "train_dataloader = dict(batch_size=4,", " Average Precision  (AP) @[ IoU=0.50 ] = 0.3",
    "Epoch", "[", "\r50%\r",
])  # fmt: skip
ends = st.sampled_from(["\n"] * 10 + ["", "\r\n"])


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.one_of(usual, usual, usual, records, others), ends), max_size=30))
def test_the_fast_way_and_the_slow_way_give_the_same(lines: list[tuple[str, str]]) -> None:
    data = "".join(line + end for line, end in lines).encode()
    fast = flat(data)
    assert flat(data, read_table=lambda block: None) == fast
    small = {"BLOCK_BYTES": 97, "BATCH_ROWS": 3}
    assert flat(data, **small, read_table=lambda block: None) == flat(data, **small)


@pytest.mark.parametrize(
    "line",
    [
        row(1, 50),
        "2021-08-17 17:00:17,073 - mmcls - INFO - Epoch [1][100/5005]\tlr: 1.000e-01, eta: 37 days, 5:46:17, "
        "time: 6.430, data_time: 5.762, memory: 3086, loss: 6.8864\n",
        "2019-07-21 16:20:05,759 - INFO - Epoch [1][5231/30000]\tlr: 0.02000, eta: 8:18:01, time: 2.013, "
        "data_time: 1.655, memory: 2677, loss: 0.2121\n",
        "2024/02/03 10:00:00 - mmengine - INFO - Iter(train) [   50/80000]  base_lr: 1.0e-02 lr: 1.0e-02  "
        "eta: 1:00:00  time: 0.3000  data_time: 0.0040  decode.loss_ce: 1.0\n",
        "03/04 10:00:00 - mmengine - INFO - Epoch(val)   [1][  50/4016]    eta: 0:08:31  time: 0.1291  "
        "data_time: 0.1090  memory: 5939  \n",
    ],
)
def test_the_usual_lines_take_the_fast_way(line: str) -> None:
    table = read_table(Block((line * 3).encode(), 1, 3))
    assert table is not None
    assert table.lines == [1, 2, 3]


def test_memory_stays_bounded_by_handing_rows_out_in_batches() -> None:
    data = "".join(row(e, i, 1000) for e in range(1, 500) for i in range(10, 1000, 10)).encode()
    pieces = list(READER.read(io.BytesIO(data), "train.log"))
    batches = [piece.rows for piece in pieces if hasattr(piece, "rows")]
    assert sum(batches) == 499 * 99
    assert max(batches) < 3 * openmmlab_windows.BATCH_ROWS


# Recognition and the public logs


def test_other_logs_are_not_taken_for_this_one() -> None:
    for other in (
        b"Epoch: [0]  [ 50/100]  eta: 0:01:00  lr: 0.02  loss: 1.0  time: 0.5  data: 0.01  max mem: 2000\n",
        b"Train: 0 [  50/1251 (  4%)]  Loss: 6.9  Time: 0.3s, 400/s  LR: 1e-3  Data: 0.01\n",
        b"2021-08-17 17:00:17 | INFO | epoch: 1/300, iter: 10/100, iter_time: 0.5s, data_time: 0.1s\n",
        b'{"mode": "train", "epoch": 1, "iter": 50, "time": 0.4, "data_time": 0.1}\n',
    ):
        assert READER.sniff(read_head(io.BytesIO(other), "log")) == 0.0


@pytest.mark.parametrize("log_format", ["mmengine_log_text", "mmcv_log_text"])
def test_public_logs_give_the_figures_of_the_manifest(shared: Path, log_format: str) -> None:
    for facts, path in public_logs(shared, log_format):
        with path.open("rb") as stream:
            assert READER.sniff(read_head(stream, path.name)) == 0.95
        run = together(read_all(READER, path.read_bytes(), path.name))
        train = together([ReadRun(rows=[r for r in run.rows if r["phase"] == "train"])])
        core = facts["core"]
        assert len(train.rows) == core["records"]
        assert max(run.column("allocated_bytes")) == core["memory_peak_mib"] * MIB
        steps, waits = train.column("step_seconds"), train.column("data_wait_seconds")
        assert median(steps) == pytest.approx(core["step_seconds_median"], rel=0.01)
        assert median(waits) == pytest.approx(core["data_wait_seconds_median"], rel=0.01)
        share = facts.get("data_wait_share", facts.get("data_wait_share_all"))
        assert sum(waits) / sum(steps) == pytest.approx(share, rel=0.01)


def test_public_mmengine_logs_give_runs_validation_and_hardware(shared: Path) -> None:
    for facts, path in public_logs(shared, "mmengine_log_text"):
        (run,) = read_all(READER, path.read_bytes(), path.name)
        assert len(run.column("line", "evaluation")) == facts["n_val_progress_records"]
        assert median(run.column("step_seconds", "evaluation")) == pytest.approx(
            facts["val_median_time_s"], rel=0.01
        )
        assert run.facts["planned.steps_per_epoch"] == facts["iters_per_epoch"]
        assert run.facts["hardware.gpu_name"] == facts["gpu"]
        epochs = run.column("epoch", "train")
        assert [min(epochs), max(epochs)] == facts["epochs_seen"]


def median(values: list[float]) -> float:
    return statistics.median(values)
