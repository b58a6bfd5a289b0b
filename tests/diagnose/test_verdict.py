"""One verdict per kind of run, each beside its near miss and its guard."""

from __future__ import annotations

import pytest

from weighbridge.diagnose import diagnose
from weighbridge.schema.diagnosis import Diagnosis
from weighbridge.schema.event import Event
from weighbridge.schema.run import Hardware


def codes(diagnosis: Diagnosis) -> set[str]:
    return {finding.code for finding in diagnosis.findings}


def waiting(step: float, wait: float, rows: int = 20) -> dict[str, list[float]]:
    return {"step_seconds": [step] * rows, "data_wait_seconds": [wait] * rows}


def test_a_loader_that_keeps_every_window_waiting_is_a_data_verdict(build) -> None:
    diagnosis = diagnose(build(waiting(1.41, 1.17)))
    assert diagnosis.verdict == "data"
    assert diagnosis.data_wait.share == pytest.approx(1.17 / 1.41)
    assert "diagnose.loader_paces" in codes(diagnosis)


@pytest.mark.parametrize(("wait", "verdict"), [(0.149, "compute"), (0.151, "data")])
def test_fifteen_per_cent_of_waiting_decides(build, wait: float, verdict: str) -> None:
    assert diagnose(build(waiting(1.0, wait))).verdict == verdict


def test_a_cold_first_window_is_no_data_verdict(build) -> None:
    rows = waiting(0.17, 0.005, rows=7)
    rows["step_seconds"][0], rows["data_wait_seconds"][0] = 6.43, 5.76
    diagnosis = diagnose(build(rows))
    assert diagnosis.verdict == "compute"
    assert diagnosis.data_wait.share == pytest.approx(0.005 / 0.17)
    assert diagnosis.data_wait.share_with_cold_windows > 0.75
    assert "diagnose.cold_windows_wait" in codes(diagnosis)


def test_step_times_without_phases_cannot_say(build) -> None:
    diagnosis = diagnose(build({"step_seconds": [0.5] * 30}))
    assert diagnosis.verdict == "cannot_say"
    assert diagnosis.headline.code == "headline.no_phases"
    assert "missing.data_wait" in {finding.code for finding in diagnosis.missing}


def test_no_step_times_cannot_say(build) -> None:
    diagnosis = diagnose(build({"step": [10, 20, 30]}))
    assert (diagnosis.verdict, diagnosis.headline.code) == ("cannot_say", "headline.no_step_time")
    assert diagnosis.counterfactuals == ()


def test_only_evaluation_rows_cannot_say(build) -> None:
    view = build({"phase": ["evaluation"] * 8, "step_seconds": [0.02] * 8, "data_wait_seconds": [0.01] * 8})
    assert diagnose(view).headline.code == "headline.only_evaluation"


def test_two_windows_of_one_step_each_cannot_say(build) -> None:
    rows = {"step_seconds": [1.0, 1.0], "data_wait_seconds": [0.9, 0.9], "steps": [1, 1]}
    assert diagnose(build(rows)).headline.code == "headline.few_steps"


def test_exposed_communication_is_a_communication_verdict(build) -> None:
    rows = {
        "step_seconds": [1.0] * 10,
        "data_wait_seconds": [0.01] * 10,
        "compute_seconds": [0.6] * 10,
        "communication_seconds": [0.35] * 10,
        "optimizer_seconds": [0.03] * 10,
    }
    diagnosis = diagnose(build(rows))
    assert diagnosis.verdict == "communication"
    hidden = next(row for row in diagnosis.counterfactuals if "communication" in row.code)
    assert hidden.speed_up.high == pytest.approx(1 / (1 - 0.35 / 0.99))


def test_a_gap_that_no_phase_explains_must_be_explained_first(build) -> None:
    elapsed = [3.4, 3.4, 6.9, 3.4, 5.3, 3.4, 3.4, 3.4]
    rows = {
        "step_seconds": elapsed,
        "compute_seconds": [1.95] * 8,
        "communication_seconds": [1.17] * 8,
        "optimizer_seconds": [0.15] * 8,
    }
    diagnosis = diagnose(build(rows))
    assert (diagnosis.verdict, diagnosis.headline.code) == ("cannot_say", "headline.unattributed")
    gap = next(finding for finding in diagnosis.findings if finding.code == "diagnose.unattributed")
    assert gap.params["largest"].value == pytest.approx(6.9 - 3.27)


def test_evaluation_that_takes_most_of_the_time_is_the_verdict(build) -> None:
    rows = waiting(0.1, 0.001) | {"at_seconds": [5.0 * (n + 1) for n in range(20)]}
    view = build(
        rows,
        events=[Event(kind="evaluation", seconds=150.0, at_seconds=250.0)],
        started_at_seconds=0.0,
        ended_at_seconds=250.0,
    )
    diagnosis = diagnose(view)
    assert diagnosis.verdict == "checkpoint_or_evaluation"
    half = next(row for row in diagnosis.counterfactuals if row.code == "counterfactual.half_the_evaluation")
    assert half.speed_up.high == pytest.approx(1 / (1 - 0.6 / 2))


def test_evaluation_without_step_phases_decides_only_above_half(build) -> None:
    steps = {"step": [100, 200]}
    evaluation = [Event(kind="evaluation", seconds=110.0)]
    little = diagnose(build(steps, events=evaluation, stated_seconds=1000.0))
    much = diagnose(build(steps, events=evaluation, stated_seconds=200.0))
    assert (little.verdict, much.verdict) == ("cannot_say", "checkpoint_or_evaluation")


def test_no_part_that_stands_out_is_nothing_wrong(build) -> None:
    rows = {
        "step_seconds": [1.0] * 10,
        "data_wait_seconds": [0.1] * 10,
        "compute_seconds": [0.75] * 10,
        "communication_seconds": [0.1] * 10,
        "optimizer_seconds": [0.03] * 10,
    }
    assert diagnose(build(rows)).verdict == "nothing_wrong"


def test_a_run_on_the_cpu_gets_no_advice_on_gpus(build) -> None:
    diagnosis = diagnose(build(waiting(1.0, 0.01), details={"cuda_available": False}))
    assert "diagnose.on_cpu" in codes(diagnosis)
    assert all(row.code != "counterfactual.twice_the_gpus" for row in diagnosis.counterfactuals)


def test_samples_alone_find_the_idle_gpu_but_no_cause(build) -> None:
    samples = {
        "at_seconds": [float(n // 2) for n in range(40)],
        "device": [0, 1] * 20,
        "device_name": ["RTX A6000"] * 40,
        "gpu_busy_share": [0.9, 0.0] * 20,
        "device_bytes": [25e9, 15e6] * 20,
        "device_total_bytes": [51.5e9] * 40,
    }
    diagnosis = diagnose(build(samples=samples))
    assert (diagnosis.verdict, diagnosis.headline.code) == ("cannot_say", "headline.only_samples")
    idle = [finding for finding in diagnosis.findings if finding.code == "diagnose.idle_gpu"]
    assert [finding.params["device"] for finding in idle] == [1]


def test_memory_is_held_against_the_card_named_in_the_log(build) -> None:
    rows = waiting(1.0, 0.5) | {"allocated_bytes": [8.9 * 2**30] * 20}
    diagnosis = diagnose(build(rows, hardware=Hardware(gpu_memory_bytes=48 * 2**30)))
    (use,) = diagnosis.memory
    assert use.share == pytest.approx(8.9 / 48)
    assert "diagnose.memory_half_unused_allocated" in codes(diagnosis)


def test_the_slowest_rank_speaks_not_rank_zero(build) -> None:
    rows = {
        "step_seconds": [1.0] * 40,
        "data_wait_seconds": [0.02, 0.4] * 20,
        "rank": [0, 1] * 20,
    }
    diagnosis = diagnose(build(rows))
    assert (diagnosis.verdict, diagnosis.data_wait.rank) == ("data", 1)


def test_printed_running_means_widen_the_interval(build) -> None:
    rows = waiting(1.0, 0.4) | {
        "printed_step_seconds": [1.0] * 20,
        "printed_data_wait_seconds": [0.5] * 20,
    }
    diagnosis = diagnose(build(rows, details={"prints_running_means": True}))
    removed = next(row for row in diagnosis.counterfactuals if row.code == "counterfactual.no_data_wait")
    assert removed.speed_up.high == pytest.approx(2.0)


@pytest.mark.parametrize("factor", [0.001, 1000.0])
def test_scaling_all_times_changes_no_verdict(build, factor: float) -> None:
    for step, wait in ((1.0, 0.5), (1.0, 0.01), (1.0, 0.14)):
        plain = diagnose(build(waiting(step, wait)))
        scaled = diagnose(build(waiting(step * factor, wait * factor)))
        assert plain.verdict == scaled.verdict


@pytest.mark.parametrize(
    ("wait", "code"), [(0.8, "more_gpus.no"), (0.02, "more_gpus.at_most"), (None, "more_gpus.unknown")]
)
def test_the_buyers_question_is_answered_in_one_sentence(build, wait: float | None, code: str) -> None:
    rows = waiting(1.0, wait) if wait is not None else {"step_seconds": [1.0] * 20}
    assert diagnose(build(rows)).more_gpus.code == code


def test_a_loader_without_workers_is_the_free_change_to_check_first(build) -> None:
    changes = {row.code: row for row in diagnose(build(waiting(1.0, 0.6))).counterfactuals}
    free = changes["counterfactual.loading_beside_compute"]
    # T = W + C = 1.0 becomes max(0.6, 0.4).
    assert (free.speed_up.high, free.costs_money) == (pytest.approx(1 / 0.6), False)


def test_a_start_up_that_dominates_a_short_log_is_told_and_counted_as_start_up(build) -> None:
    rows = waiting(0.17, 0.005, rows=7) | {"at_seconds": [643 + 17 * n for n in range(7)], "steps": [100] * 7}
    rows["step_seconds"][0], rows["data_wait_seconds"][0] = 6.43, 5.76
    diagnosis = diagnose(build(rows))
    assert "diagnose.start_up_dominates" in codes(diagnosis)
    parts = {part.name: part.seconds.value for part in diagnosis.occupied.parts}
    assert parts["start_up"] == pytest.approx(643 - 17)
    assert parts["steps"] == pytest.approx(7 * 17)


def test_communication_that_was_seen_does_not_shrink_with_more_gpus(build) -> None:
    rows = {
        "step_seconds": [1.0] * 30,
        "compute_seconds": [0.7] * 30,
        "communication_seconds": [0.3] * 30,
    }
    here = next(row for row in diagnose(build(rows)).counterfactuals if row.brings == "in_this_box")
    assert here.speed_up.high == pytest.approx(1 / (0.3 + 0.35))


def test_an_evaluation_logged_as_data_time_is_no_data_wait(build) -> None:
    rows = waiting(0.5, 0.01) | {"line": [2 * n for n in range(20)]}
    rows["step_seconds"][10], rows["data_wait_seconds"][10] = 9.0, 8.5
    evaluation = [Event(kind="evaluation", line=19, seconds=420.0)]
    view = build(rows, events=evaluation, details={"waits_with_evaluation_inside": 1})
    diagnosis = diagnose(view)
    assert diagnosis.verdict == "compute"
    assert diagnosis.data_wait.share == pytest.approx(0.02)
    assert "diagnose.waits_with_evaluation" in codes(diagnosis)


def test_a_wait_longer_than_its_step_decides_nothing(build) -> None:
    diagnosis = diagnose(build(waiting(0.1, 5.0)))
    assert (diagnosis.verdict, diagnosis.data_wait) == ("cannot_say", None)
    assert "diagnose.impossible_waits" in codes(diagnosis)


def test_parts_that_exceed_the_clock_are_told_and_not_judged(build) -> None:
    rows = waiting(1.0, 0.01) | {"at_seconds": [1000.0 + n for n in range(20)]}
    evaluation = [Event(kind="evaluation", seconds=90_000.0)]
    diagnosis = diagnose(build(rows, events=evaluation, started_at_seconds=0.0, ended_at_seconds=1020.0))
    assert (diagnosis.verdict, diagnosis.occupied) == ("compute", None)
    assert "diagnose.times_not_additive" in codes(diagnosis)
