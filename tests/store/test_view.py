"""Bounded questions: merged windows keep their sums, series and totals by hand-made figures."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.conftest import Store
from weighbridge.errors import WorkspaceError
from weighbridge.schema.columns import Cell
from weighbridge.schema.run import Run
from weighbridge.store import DeviceUse, RunView, SeriesPoint, Workspace

Row = tuple[int | None, int, int | None, float | None, float | None]
ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, 0, 1]),
        st.integers(0, 2),
        st.one_of(st.none(), st.integers(0, 50)),
        st.one_of(st.none(), st.floats(0, 100)),
        st.one_of(st.none(), st.floats(0, 10)),
    ),
    min_size=1,
    max_size=60,
)


def merged(rows: list[Row], limit: int) -> dict[str, list[Cell]]:
    names = ("rank", "segment", "steps", "step_seconds", "data_wait_seconds")
    columns: dict[str, list[Cell]] = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    with Workspace.temporary() as workspace:
        with workspace.writer() as writer:
            writer.steps({**columns, "line": list(range(1, len(rows) + 1))}, len(rows))
            writer.close(Run(id="r"))
        with workspace.open("r") as view:
            return view.windows(limit=limit)


def seconds(steps: list[Cell], times: list[Cell]) -> float:
    pairs = zip(steps, times, strict=True)
    return math.fsum(
        float(time) * (1 if step is None else float(step)) for step, time in pairs if time is not None
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS, limit=st.integers(1, 30))
def test_merging_keeps_steps_and_seconds_of_every_part(rows: list[Row], limit: int) -> None:
    windows = merged(rows, limit)
    patterns = {(row[3] is None, row[4] is None) for row in rows}
    assert len(windows["step"]) <= max(limit, len(patterns))
    steps = [row[2] for row in rows]
    assert sum(1 if step is None else step for step in windows["steps"]) == sum(
        1 if step is None else step for step in steps
    )
    for place, name in ((3, "step_seconds"), (4, "data_wait_seconds")):
        before = seconds(steps, [row[place] for row in rows])
        assert seconds(windows["steps"], windows[name]) == pytest.approx(before, rel=1e-9, abs=1e-9)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=ROWS, limit=st.integers(24, 30))
def test_merging_never_mixes_ranks_or_segments(rows: list[Row], limit: int) -> None:
    # 3 ranks x 3 segments x 4 patterns of unknown times can be more than the limit: those are left out here.
    kinds = Counter((row[0], row[1], row[3] is None, row[4] is None) for row in rows)
    if len(kinds) > limit:
        return
    windows = merged(rows, limit)
    weights: Counter[tuple[Cell, Cell]] = Counter()
    for rank, segment, steps in zip(windows["rank"], windows["segment"], windows["steps"], strict=True):
        weights[rank, segment] += 1 if steps is None else steps
    expected: Counter[tuple[Cell, Cell]] = Counter()
    for rank, segment, steps, *_ in rows:
        expected[rank, segment] += 1 if steps is None else steps
    assert +weights == +expected


def test_windows_come_as_they_were_when_there_are_few(view_of: Callable[..., RunView]) -> None:
    view = view_of(step=[5, 6, 7], line=[10, 11, None], phase=["train", "evaluation", "train"])
    assert view.windows()["step"] == [5, 7]
    assert view.windows()["line_first"] == [10, None]
    assert view.windows(phase="evaluation")["step"] == [6]


def test_a_merged_window_sums_steps_averages_times_and_keeps_the_last_place(
    view_of: Callable[..., RunView],
) -> None:
    view = view_of(
        step=[10, 20, 40, 50],
        steps=[10, 10, 20, 10],
        step_seconds=[1.0, 2.0, 3.0, 4.0],
        samples_per_second=[8.0, 4.0, 2.0, 1.0],
        allocated_bytes=[5.0, 9.0, 7.0, None],
        at_seconds=[100.0, 200.0, 300.0, None],
        epoch=[0.1, 0.2, 0.3, 0.4],
        line=[1, 2, 3, 4],
        rank=[0, 0, 0, 0],
        segment=[0, 0, 0, 0],
    )
    windows = view.windows(limit=2)
    assert windows["steps"] == [20, 30]
    assert windows["step_seconds"] == pytest.approx([1.5, (20 * 3 + 10 * 4) / 30])
    # A rate keeps its samples: 10 x 1 s x 8 + 10 x 2 s x 4 in 30 s, 20 x 3 s x 2 + 10 x 4 s x 1 in 100 s.
    assert windows["samples_per_second"] == pytest.approx([160 / 30, 160 / 100])
    assert windows["allocated_bytes"] == [9.0, 7.0]
    assert windows["at_seconds"] == [200.0, 300.0]
    assert windows["step"] == [20, 50]
    assert windows["epoch"] == [0.2, 0.4]
    assert (windows["line_first"], windows["line"]) == ([1, 3], [2, 4])


def test_rows_that_do_not_know_a_time_do_not_thin_it_out(view_of: Callable[..., RunView]) -> None:
    windows = view_of(step_seconds=[2.0, None] * 50, data_wait_seconds=[1.0, 1.0] * 50).windows(limit=10)
    assert set(windows["step_seconds"]) == {2.0, None}
    assert set(windows["data_wait_seconds"]) == {1.0}
    known = zip(windows["steps"], windows["step_seconds"], strict=True)
    assert sum(steps for steps, time in known if time is not None) == 50


def test_interleaved_ranks_are_merged_each_for_itself(view_of: Callable[..., RunView]) -> None:
    ranks = [0, 1] * 50
    view = view_of(rank=ranks, step_seconds=[1.0 if rank == 0 else 2.0 for rank in ranks])
    windows = view.windows(limit=10)
    assert set(zip(windows["rank"], windows["step_seconds"], strict=True)) == {(0, 1.0), (1, 2.0)}
    assert sum(windows["steps"]) == 100
    assert 4 < len(windows["rank"]) <= 10


def test_more_restarts_than_the_limit_do_not_break_the_bound(view_of: Callable[..., RunView]) -> None:
    view = view_of(rank=[0] * 90, segment=list(range(90)), step_seconds=[1.0] * 90)
    windows = view.windows(limit=9)
    assert len(windows["rank"]) <= 9
    assert set(windows["segment"]) == {None}
    assert sum(windows["steps"]) == 90


def test_merging_uses_most_of_the_limit(view_of: Callable[..., RunView]) -> None:
    windows = view_of(step=list(range(10_000)), rank=[0] * 10_000).windows(limit=1000)
    assert 500 <= len(windows["step"]) <= 1000
    assert windows["step"] == sorted(windows["step"])


def test_totals_count_a_part_only_where_the_step_is_known(view_of: Callable[..., RunView]) -> None:
    view = view_of(
        steps=[10, None, 2, 5, 100],
        step_seconds=[1.0, 3.0, None, 2.0, 9.0],
        data_wait_seconds=[0.5, None, 7.0, 0.25, 9.0],
        phase=["train"] * 4 + ["evaluation"],
    )
    totals = view.totals()
    assert totals["rows"] == 4
    assert totals["steps"] == 18
    assert totals["step_seconds"] == 10 + 3 + 10
    assert totals["data_wait_seconds"] == 5 + 1.25
    assert totals["forward_seconds"] is None
    assert view.totals(phase="evaluation")["step_seconds"] == 900


def test_quantiles_are_exact_over_the_known_rows(view_of: Callable[..., RunView]) -> None:
    view = view_of(
        step_seconds=[4.0, None, 1.0, 3.0, 2.0, 99.0], phase=["train"] * 5 + ["evaluation"], steps=[9] * 6
    )
    assert [view.quantile("step_seconds", q) for q in (0, 0.5, 0.75, 1)] == [1.0, 2.5, 3.25, 4.0]
    assert view.quantile("step_seconds", 0.5, phase="evaluation") == 99.0
    assert view.quantile("data_wait_seconds", 0.5) is None


def test_the_maximum_names_the_first_place_that_reaches_it(view_of: Callable[..., RunView]) -> None:
    view = view_of(
        allocated_bytes=[5.0, 8.0, None, 8.0, 9.0],
        source=[0, 1, 1, 0, 1],
        line=[3, 7, 8, 1, None],
        phase=["train"] * 4 + ["evaluation"],
    )
    assert view.maximum("allocated_bytes") == (8.0, 1, 7)
    assert view.maximum("allocated_bytes", phase=None) == (9.0, 1, None)
    assert view.maximum("reserved_bytes") is None


def test_ranks_are_listed_once(view_of: Callable[..., RunView]) -> None:
    assert view_of(rank=[3, 0, None, 3, 1]).ranks() == [0, 1, 3]


def test_a_series_gives_low_mean_and_high_per_pixel_in_row_order(view_of: Callable[..., RunView]) -> None:
    view = view_of(
        step_seconds=[1.0, 3.0, None, 5.0, 2.0, 6.0],
        steps=[3, 1, 1, None, 1, 1],
        step=[1, 2, 3, 4, 5, 6],
        at_seconds=[10.0, 20.0, 30.0, 40.0, 50.0, None],
        line=[11, 12, 13, 14, 15, 16],
    )
    first, second = view.series("step_seconds", pixels=2)
    assert first == SeriesPoint(
        first_row=0,
        rows=2,
        step_last=2,
        at_last_seconds=20.0,
        low=1.0,
        mean=1.5,
        high=3.0,
        line_first=11,
        line_last=12,
    )
    assert (second.first_row, second.rows, second.low, second.high) == (3, 3, 2.0, 6.0)
    assert second.mean == pytest.approx(13 / 3)
    assert (second.step_last, second.at_last_seconds, second.line_last) == (6, 50.0, 16)


def test_a_series_has_one_point_per_row_when_there_is_room_and_never_more_than_pixels(
    view_of: Callable[..., RunView],
) -> None:
    view = view_of(allocated_bytes=[float(row) for row in range(100)])
    assert [point.mean for point in view.series("allocated_bytes", pixels=100)] == list(
        map(float, range(100))
    )
    few = view.series("allocated_bytes", pixels=7)
    assert len(few) == 7
    assert sum(point.rows for point in few) == 100
    assert (few[0].low, few[-1].high) == (0.0, 99.0)


def test_a_sample_series_can_be_of_one_device(view_of: Callable[..., RunView]) -> None:
    view = view_of(samples={"device": [0, 1, 0, 1], "gpu_busy_share": [0.0, 1.0, 0.5, 1.0]})
    (one,) = view.sample_series("gpu_busy_share", pixels=1, device=0)
    assert (one.rows, one.low, one.mean, one.high) == (2, 0.0, 0.25, 0.5)
    (both,) = view.sample_series("gpu_busy_share", pixels=1)
    assert both.rows == 4


def test_devices_are_summed_up_one_by_one(view_of: Callable[..., RunView]) -> None:
    view = view_of(
        samples={
            "host": ["n1"] * 5,
            "device": [1, 0, 0, 0, 0],
            "device_name": ["T4", "T4", "T4", "T4", "T4"],
            "at_seconds": [100.0, 100.0, 101.0, 102.0, 112.0],
            "gpu_busy_share": [None, 0.0, 0.0, 1.0, None],
            "device_bytes": [1.0, 5.0, 9.0, 7.0, 7.0],
            "device_total_bytes": [16.0] * 5,
            "power_watts": [None, 30.0, 50.0, 70.0, None],
            "temperature_celsius": [None, 40.0, 45.0, 44.0, None],
        }
    )
    zero, one = view.devices()
    assert zero == DeviceUse(
        host="n1",
        device=0,
        device_name="T4",
        rows=4,
        at_first_seconds=100.0,
        at_last_seconds=112.0,
        interval_seconds=1.0,
        gpu_busy_share=pytest.approx(1 / 3),
        idle_share=pytest.approx(2 / 3),
        device_bytes_max=9.0,
        device_total_bytes=16.0,
        power_watts_mean=50.0,
        power_watts_max=70.0,
        temperature_celsius_max=45.0,
    )
    assert (one.device, one.rows) == (1, 1)
    assert (one.interval_seconds, one.gpu_busy_share, one.idle_share) == (None, None, None)


def test_a_clock_of_whole_seconds_does_not_make_the_interval_zero(view_of: Callable[..., RunView]) -> None:
    clocks = [second for second in range(5) for _ in range(4)]
    (device,) = view_of(samples={"at_seconds": clocks, "device": [0] * 20}).devices()
    assert device.interval_seconds == pytest.approx(4 / 19)


@pytest.mark.parametrize("column", ["phase", "absent", "step_seconds; DROP VIEW steps"])
def test_only_numeric_columns_can_be_asked_for(view_of: Callable[..., RunView], column: str) -> None:
    view = view_of(step=[1])
    for ask in (lambda: view.quantile(column, 0.5), lambda: view.series(column, pixels=9)):
        with pytest.raises(ValueError, match="no numeric column"):
            ask()


def test_a_view_leaves_no_temporary_files(
    view_of: Callable[..., RunView], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    view = view_of(step=[1])
    view.ranks()
    assert list(tmp_path.glob("weighbridge-query-*"))
    view.close()
    assert not list(tmp_path.glob("weighbridge-query-*"))


def test_a_table_that_was_cut_or_removed_is_said_with_its_folder(workspace: Workspace, store: Store) -> None:
    for run_id in ("cut", "gone"):
        store(run_id, step=[1])
        (file,) = (workspace.root / "runs" / run_id).rglob("*.parquet")
        if run_id == "cut":
            file.write_bytes(file.read_bytes()[:50])
        else:
            file.unlink()
            file.parent.rmdir()
        with workspace.open(run_id) as view, pytest.raises(WorkspaceError) as caught:
            view.windows()
        assert caught.value.code in ("store.cannot_query", "store.damaged_run")
        assert run_id in str(caught.value.params["path"])


def test_a_run_whose_files_lack_a_newer_column_reads_it_as_unknown(
    view_of: Callable[..., RunView], monkeypatch: pytest.MonkeyPatch
) -> None:
    older = tuple(column for column in _step_columns() if column.name != "host_bytes")
    monkeypatch.setattr("weighbridge.store.writer.STEP_COLUMNS", older)
    windows = view_of(step=[1, 2]).windows()
    assert (windows["step"], windows["host_bytes"]) == ([1, 2], [None, None])


def _step_columns() -> tuple:
    from weighbridge.schema.columns import STEP_COLUMNS

    return STEP_COLUMNS
