"""DeepSpeed's timers: one row per optimizer step, and nothing that the log does not say."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest
from language_pieces import Pieces, fixture, hold, public, read, sniff

from weighbridge.readers.deepspeed_text import DeepspeedText
from weighbridge.units import GIB, MIB

READER = DeepspeedText()
PHASES = b"fwd: 600.00 | bwd: 1200.00 | bwd_inner: 800.00 | bwd_allreduce: 390.00 | step: 150.00"
STEP_LINE = b"[Rank 0] time (ms) | " + PHASES + b"\n"


def stamped(clock: bytes, rest: bytes = STEP_LINE) -> bytes:
    return b"[2024-05-01 " + clock + b"] [INFO] [logging.py:96:log_dist] " + rest


def test_micro_step_lines_are_counted_and_never_summed_with_step_lines() -> None:
    pieces = fixture(READER, "old_names_micro_steps_not_summed")
    assert pieces.column("forward_seconds") == [0.2] * 4
    assert pieces.column("backward_seconds") == [0.36] * 4
    assert pieces.column("communication_seconds") == [0.138] * 4
    assert pieces.column("optimizer_seconds") == [pytest.approx(0.05005)] * 4
    assert pieces.column("micro_steps") == [2] * 4
    assert pieces.detail("micro_lines") == 8
    assert pieces.detail("step_lines") == 4


def test_the_iteration_line_joins_the_step_before_it() -> None:
    pieces = fixture(READER, "megatron_elapsed_has_more_than_phases")
    assert pieces.column("step") == [101, 102, 103, 104]
    assert pieces.column("step_seconds") == [1.0005, 1.01, 2.5, 1.005]
    assert pieces.column("forward_seconds") == [0.3, 0.302, 0.301, 0.299]
    assert pieces.column("steps") == [1] * 4


def test_what_elapsed_holds_beyond_the_timers_stays_unattributed() -> None:
    row = fixture(READER, "megatron_elapsed_has_more_than_phases").rows[2]
    names = ("forward_seconds", "backward_seconds", "communication_seconds", "optimizer_seconds")
    assert row["step_seconds"] - sum(row[name] for name in names) == pytest.approx(1.629)
    assert "data_wait_seconds" not in row


def test_throughput_memory_and_plan_are_read() -> None:
    pieces = fixture(READER, "megatron_elapsed_has_more_than_phases")
    # The iteration line's rate counts the whole step, CurrSamplesPerSec only what DeepSpeed times.
    assert pieces.column("samples_per_second")[0] == 63.968
    assert pieces.column("allocated_bytes") == [20.5 * GIB, 30.5 * GIB, 20.5 * GIB, 20.5 * GIB]
    assert pieces.facts["planned.global_batch"] == 64
    assert pieces.facts["planned.sequence_length"] == 4096
    assert pieces.facts["planned.steps"] == 200
    assert pieces.facts["layout.zero_stage"] == 1
    assert pieces.facts["layout.micro_batch"] == 8
    assert pieces.facts["hardware.gpus"] == 8
    assert pieces.facts["environment.framework_version"] == "0.14.2"


def test_lines_without_stamp_and_rank_give_phases_but_no_step_time() -> None:
    pieces = fixture(READER, "no_stamp_no_rank_prefix")
    assert len(pieces.rows) == 3
    assert pieces.known("step_seconds") == []
    assert pieces.column("rank") == [None] * 3
    assert pieces.column("communication_seconds") == [pytest.approx(5e-05)] * 3
    assert pieces.facts["clock"] == "none"


def test_without_iteration_lines_the_stamps_tell_the_time_of_a_step() -> None:
    pieces = fixture(READER, "progress_bar_glued_stamps_tell_the_time")
    assert pieces.column("step_seconds") == [
        None,
        *(pytest.approx(value, abs=2e-3) for value in (1.3, 1.3, 5.3, 1.3)),
    ]
    assert pieces.column("rank") == [0] * 5
    assert pieces.detail("step_seconds_from") == "time stamps"
    assert pieces.facts["clock"] == "local"


def test_stamps_out_of_order_are_no_step_time() -> None:
    data = (
        stamped(b"10:00:05,000")
        + stamped(b"10:00:07,000")
        + stamped(b"10:00:06,500")
        + stamped(b"10:00:08,500")
    )
    assert read(READER, data).column("step_seconds") == [None, 2.0, None, 2.0]


def test_an_iteration_line_that_overtakes_its_timers_is_joined_all_the_same() -> None:
    pieces = fixture(READER, "iteration_line_overtakes_timer_line")
    assert pieces.column("step") == [1, 2, 3, 4]
    assert pieces.column("step_seconds") == [2.0005, 2.0015, 2.0025, 2.0035]
    assert pieces.column("forward_seconds") == [0.6] * 4


def test_an_iteration_line_over_several_steps_does_not_replace_the_steps_own_time() -> None:
    pieces = fixture(READER, "elapsed_every_third_step")
    assert pieces.column("step_seconds") == [None, 2.0, 2.0, 2.0, 2.0, 2.0]
    assert pieces.column("step")[2:] == [3, 4, 5, 6]
    assert pieces.column("steps") == [1] * 6


def test_the_rounded_reserve_is_used_only_where_nothing_finer_is_printed() -> None:
    pieces = fixture(READER, "memory_usage_max_ca_rounded")
    assert pieces.column("allocated_bytes") == [10.25 * GIB, 11.75 * GIB, 9.5 * GIB]
    # CA 12.4 rounds to Max_CA 12; CA 12.6 does not round to 14; CA 13.0 is 13.
    assert pieces.column("reserved_bytes") == [12.4 * GIB, 14.0 * GIB, 13.0 * GIB]
    assert pieces.column("host_bytes") == [100.5 * GIB] * 3
    assert pieces.detail("host_memory_bytes_estimate") == pytest.approx(1005 * GIB)


def test_a_breakdown_line_before_the_step_line_is_no_step() -> None:
    pieces = fixture(READER, "mixture_of_experts_breakdown")
    assert pieces.column("forward_seconds") == [0.4] * 3
    assert pieces.column("optimizer_seconds") == [0.072] * 3


def test_the_pipeline_engine_prints_a_mean_over_several_steps() -> None:
    pieces = fixture(READER, "pipeline_engine")
    assert pieces.column("step") == [10, 20, 30]
    assert pieces.column("steps") == [None, 10, 10]
    assert pieces.column("step_seconds") == [3.2, 3.3, 3.4]
    assert pieces.known("forward_seconds") == []


def test_megatron_s_own_timers_under_the_same_heading_are_no_step() -> None:
    data = (
        b" time (ms) | forward: 170.24 | backward: 375.55 | allreduce: 0.10 | optimizer: 23.11 | loader: 2\n"
    )
    assert read(READER, data).rows == []


def test_memory_lines_alone_make_one_row_and_say_what_is_missing() -> None:
    memory = b"MA 0.5 GB         Max_MA 0.75 GB         CA 2.93 GB         Max_CA 3 GB \n"
    micro = b"time (ms) | fwd_microstep: 5.54 | bwd_microstep: 22.35 | step_microstep: 0.06\n"
    pieces = read(READER, memory + micro + memory)
    assert pieces.column("allocated_bytes") == [0.75 * GIB]
    assert pieces.column("step_seconds") == [None]
    assert pieces.detail("micro_lines") == 1
    assert pieces.trouble == {"no_step_lines": 1}


def test_megatron_memory_is_in_binary_megabytes() -> None:
    data = (
        b"[Rank 0] (after 1 iterations) memory (MB) | allocated: 100.5 | max allocated: 2048.5 "
        b"| reserved: 3000.0 | max reserved: 4096.0\n"
        b" iteration    2/  50 | elapsed time per iteration (ms): 75254.0 | learning rate: 1.2E-07 |\n"
    )
    (row,) = read(READER, data).rows
    assert row["allocated_bytes"] == 2048.5 * MIB
    assert row["reserved_bytes"] == 4096.0 * MIB
    assert row["step_seconds"] == 75.254


def test_a_figure_without_a_separator_behind_it_is_not_believed() -> None:
    cut = STEP_LINE.rstrip(b"\n")
    (row,) = read(READER, cut).rows
    assert row["communication_seconds"] == 0.39
    assert row["optimizer_seconds"] is None


def test_backward_is_derived_only_where_the_inner_time_is_not_printed() -> None:
    data = b"time (ms) | fwd: 600.00 | bwd: 1200.00 | bwd_allreduce: 390.00 | step: 150.00\n"
    assert read(READER, data).column("backward_seconds") == [pytest.approx(0.81)]


def test_evaluation_checkpoint_and_lack_of_memory_are_events() -> None:
    data = (
        b"[2024-05-01 10:00:00,000] Evaluating iter 1/20\n"
        b"[2024-05-01 10:00:30,000] Evaluating iter 20/20\n"
        b"[2024-05-01 10:00:31,500]  validation loss at iteration 500 | lm loss value=2.5\n"
        b"[2024-05-01 10:01:00,000] saving checkpoint at iteration     500 to out\n"
        b"[2024-05-01 10:01:01,000] [INFO] [Torch] Checkpoint global_step500 is about to be saved!\n"
        b"[2024-05-01 10:01:40,000]   successfully saved checkpoint at iteration     500 to out\n"
        b"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        b"RuntimeError: CUDA out of memory again\n"
    )
    events = read(READER, data + STEP_LINE).events
    assert [(event.kind, event.step, event.seconds) for event in events] == [
        ("evaluation", 500, 31.5),
        ("checkpoint", 500, 40.0),
        ("out_of_memory", None, None),
    ]


def test_its_own_words_are_claimed_and_megatron_alone_is_only_plausible() -> None:
    assert sniff(READER, STEP_LINE) > 0.9
    iteration = b" iteration 1/ 5 | elapsed time per iteration (ms): 76015.3 | learning rate: 1.2E-07 |\n"
    assert 0.5 <= sniff(READER, iteration) < 0.6
    assert sniff(READER, b"comm op: all_reduce | time (ms): 5.2 | msg size: 1 MB\n") == 0.0


def test_public_logs_give_the_manifest_s_figures(shared: Path) -> None:
    compared: set[str] = set()
    for name, facts, pieces in public(shared, READER, "deepspeed_wallclock"):
        compared |= hold(name, facts, figures(pieces))
        assert set(facts) <= set(figures(pieces))
    assert len(compared) >= 5


def figures(pieces: Pieces) -> dict[str, object]:
    def milliseconds(name: str) -> float:
        return pieces.median(name) * 1e3

    def timed() -> list[float]:
        names = ("forward_seconds", "backward_seconds", "communication_seconds", "optimizer_seconds")
        return [sum(row[name] for name in names) * 1e3 for row in pieces.rows]

    def per_step(name: str) -> list[float]:
        return [row[name] * 1e3 for row in pieces.rows if row[name] is not None]

    return {
        "n_step_lines": lambda: pieces.detail("step_lines"),
        "n_micro_lines": lambda: pieces.detail("micro_lines"),
        "median_fwd_ms": lambda: milliseconds("forward_seconds"),
        "median_bwd_ms": lambda: statistics.median(
            (row["backward_seconds"] + row["communication_seconds"]) * 1e3 for row in pieces.rows
        ),
        "median_bwd_allreduce_ms": lambda: milliseconds("communication_seconds"),
        "median_step_ms": lambda: milliseconds("optimizer_seconds"),
        "allreduce_share_of_fwd_bwd_step": lambda: sum(per_step("communication_seconds")) / sum(timed()),
        "allreduce_share_of_bwd": lambda: (
            pieces.detail("bwd_allreduce_microstep_total_seconds")
            / pieces.detail("bwd_microstep_total_seconds")
        ),
        "median_elapsed_ms": lambda: milliseconds("step_seconds"),
        "max_elapsed_ms": lambda: max(per_step("step_seconds")),
        # The manifest takes the elapsed time less the median of the timed part, not step by step.
        "unaccounted_ms_median": lambda: milliseconds("step_seconds") - statistics.median(timed()),
        "unaccounted_ms_max": lambda: max(per_step("step_seconds")) - statistics.median(timed()),
        "Max_MA_GB": lambda: max(pieces.known("allocated_bytes")) / GIB,
        "CPU_used_GB": lambda: max(pieces.known("host_bytes")) / GIB,
        "host_ram_total_GB_estimate": lambda: round(pieces.detail("host_memory_bytes_estimate") / GIB),
    }
