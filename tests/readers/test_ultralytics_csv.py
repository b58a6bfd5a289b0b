"""results.csv and results.txt: an epoch is a row, its length the difference of the time column."""

from __future__ import annotations

import itertools
import statistics
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vision_pieces import fixture, fixture_runs, public_logs, read_all, together

from weighbridge.readers.text import Head
from weighbridge.readers.ultralytics_csv import UltralyticsCsv
from weighbridge.units import GB

READER = UltralyticsCsv()
HEADER = b"epoch,time,train/box_loss,metrics/precision(B),val/box_loss,lr/pg0\n"


def sniff(data: bytes) -> float:
    return READER.sniff(Head(name="results.csv", data=data, whole=True, binary=False))


def test_an_epoch_lasts_from_the_row_before_to_its_own() -> None:
    run = fixture(READER, "time_since_the_start_epoch_from_one")
    assert run.column("epoch") == [1, 2, 3, 4]
    assert run.column("elapsed_seconds") == [40.5, 70.5, 101.0, 131.25]
    assert run.event_seconds("epoch") == [40.5, 30.0, 30.5, 30.25]
    assert run.facts["stated_seconds"] == 131.25


def test_nothing_is_said_about_steps() -> None:
    run = fixture(READER, "time_since_the_start_epoch_from_one")
    assert run.column("step_seconds") == [None] * 4
    assert run.column("steps") == [None] * 4


def test_a_resumed_run_counts_from_zero_again() -> None:
    run = fixture(READER, "resumed_time_starts_again")
    assert run.event_seconds("epoch") == [40.5, 30.0, 30.5, 42.0, 30.5]
    assert [event.line for event in run.events if event.kind == "restart"] == [5]
    assert run.facts["stated_seconds"] == 101.0 + 72.5


def test_a_second_run_appended_with_its_header_is_a_run_of_its_own() -> None:
    first, second = fixture_runs(READER, "two_runs_appended")
    assert first.event_seconds("epoch") == [40.5, 30.0]
    assert second.event_seconds("epoch") == [50.0, 40.0, 40.0]
    assert second.facts["stated_seconds"] == 130.0


def test_an_epoch_done_again_is_a_restart_inside_the_run() -> None:
    rows = b"".join(b"%d,%d,1,1,1,1\n" % row for row in ((1, 30), (2, 60), (3, 90), (3, 31), (4, 62)))
    (run,) = read_all(READER, HEADER + rows)
    assert [event.kind for event in run.events].count("restart") == 1
    assert run.event_seconds("epoch") == [30.0, 30.0, 30.0, 31.0, 31.0]


def test_a_padded_header_without_a_time_column_says_nothing_about_time() -> None:
    run = fixture(READER, "padded_header_epoch_from_zero_without_time")
    assert run.column("epoch") == [0, 1, 2]
    assert run.column("elapsed_seconds") == [None] * 3
    assert run.events == []
    assert "stated_seconds" not in run.facts
    assert run.facts["details.header_padded"] is True


def test_losses_that_are_nan_are_told_and_cost_no_row() -> None:
    run = fixture(READER, "losses_are_nan")
    assert len(run.rows) == 2
    assert run.facts["details.has_nan"] is True


def test_a_cut_row_keeps_its_whole_cells() -> None:
    run = fixture(READER, "last_row_cut")
    assert run.column("elapsed_seconds") == [30.5, 61.0, 91.75]
    assert run.trouble == {"cut_row": 1}


@pytest.mark.parametrize(("tail", "elapsed"), [(b"3,91", None), (b"3,91,", 91.0)])
def test_half_a_time_at_the_cut_end_is_not_believed(tail: bytes, elapsed: float | None) -> None:
    (run,) = read_all(READER, HEADER + b"1,30,1,1,1,1\n2,61,1,1,1,1\n" + tail)
    assert run.column("elapsed_seconds") == [30.0, 61.0, elapsed]


def test_a_row_longer_than_its_header_is_left_out_and_told() -> None:
    (run,) = read_all(READER, HEADER + b"1,30,1,1,1,1,7,8\nmean,30,1,1,1,1\n2,61,1,1,1,1\n")
    assert run.column("epoch") == [2]
    assert run.trouble == {"unreadable_row": 2}


def test_a_file_that_lost_its_first_epochs_does_not_know_how_long_its_first_row_took() -> None:
    (run,) = read_all(READER, HEADER + b"30,3000,1,1,1,1\n31,3100,1,1,1,1\n")
    assert run.event_seconds("epoch") == [None, 100.0]


def test_results_txt_has_the_reserved_memory_in_units_of_a_thousand_million_bytes() -> None:
    run = fixture(READER, "results_txt_without_header")
    assert run.column("reserved_bytes") == [3.97 * GB, 9.23 * GB, 9.2 * GB]
    assert run.column("epoch") == [0, 1, 2]
    assert run.facts["planned.epochs"] == 3


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"epoch,step,train/loss,val/loss\n0,1,2,3\n",
        b"step,loss\n1,2\n",
        b"      0/99     2.35G     1.52     2.31     1.18        10       640: 100%|####| 10/10\n",
        b"epoch,loss,accuracy\n0,1.0,0.5\n",
    ],
)
def test_other_tables_are_left_to_other_readers(data: bytes) -> None:
    assert sniff(data) == 0.0


@pytest.mark.parametrize(
    "header",
    [
        b"                  epoch,         train/box_loss,         metrics/mAP50(B)\n",
        b"epoch,time,train/loss,metrics/accuracy_top1,val/loss,lr/pg0\n",
        b"epoch,train/loss,test/loss\n",
    ],
)
def test_headers_of_all_versions_are_known(header: bytes) -> None:
    assert sniff(header + b"1,2,3\n") >= 0.5


@settings(deadline=None)
@given(st.lists(st.floats(1.0, 1000.0), min_size=1, max_size=30))
def test_epochs_add_up_to_the_last_time(seconds: list[float]) -> None:
    times = list(itertools.accumulate(seconds))
    rows = b"".join(f"{epoch},{time:.6g},1,1,1,1\n".encode() for epoch, time in enumerate(times, 1))
    (run,) = read_all(READER, HEADER + rows)
    epochs = [value for value in run.event_seconds("epoch") if value is not None]
    assert sum(epochs) == pytest.approx(run.column("elapsed_seconds")[-1])
    assert run.facts["stated_seconds"] == pytest.approx(times[-1], rel=1e-5)


def test_the_public_files_come_out_as_their_manifest_says(shared: Path) -> None:
    for facts, path in public_logs(shared, "ultralytics_results_csv"):
        run = together(read_all(READER, path.read_bytes(), path.name))
        assert len(run.rows) == facts["n_epochs"]
        if "max_gpu_mem_G" in facts:
            assert max(run.column("reserved_bytes")) / GB == facts["max_gpu_mem_G"]
            continue
        assert run.column("epoch")[0] == facts["epoch_starts_at"]
        assert (run.column("elapsed_seconds")[0] is not None) == facts["has_time"]
        if facts["has_time"]:
            seconds = [value for value in run.event_seconds("epoch") if value is not None]
            assert run.column("elapsed_seconds")[-1] == facts["total_time_s"]
            assert run.event_seconds("epoch")[0] == pytest.approx(facts["first_epoch_s"], rel=0.001)
            assert statistics.median(seconds) == pytest.approx(facts["median_epoch_s"], rel=0.01)
            assert max(seconds) == pytest.approx(facts["max_epoch_s"], rel=0.001)
            assert sum(event.kind == "restart" for event in run.events) == facts["time_resets"]
