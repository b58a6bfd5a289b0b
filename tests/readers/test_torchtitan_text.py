"""torchtitan: a step's time from tokens per second, whoever shares them."""

from __future__ import annotations

from pathlib import Path

import pytest
from language_pieces import Pieces, data_of, fixture, hold, public, read, sniff

from weighbridge.readers.torchtitan_text import TorchtitanText
from weighbridge.units import GIB

READER = TorchtitanText()
# Every fixture steps at one second, unless its name says otherwise: 2 x 4096 tokens at 8192 a second.


def test_a_step_takes_its_tokens_over_the_rate() -> None:
    pieces = fixture(READER, "first_step_slow")
    assert pieces.column("step_seconds") == [pytest.approx(59.8, rel=0.001), 1.0, 1.0, 1.0, 1.0]
    assert pieces.column("rank") == [0] * 5
    assert pieces.column("reserved_bytes")[:2] == [38.0 * GIB, 40.5 * GIB]


def test_what_the_trainer_says_of_itself_is_kept() -> None:
    facts = fixture(READER, "first_step_slow").facts
    assert facts["hardware.gpu_name"] == "NVIDIA H100 80GB HBM3"
    assert facts["hardware.gpu_memory_bytes"] == round(79.10 * GIB)
    assert facts["hardware.gpus"] == 8
    assert facts["planned.steps"] == 1000
    assert facts["planned.global_batch"] == 16
    assert facts["planned.sequence_length"] == 4096
    assert facts["planned.parameters"] == 8_030_261_248
    assert facts["layout.checkpointing"] == "full"
    assert facts["layout.data_parallel"] == 8


def test_medians_leave_the_first_step_out() -> None:
    pieces = fixture(READER, "first_step_slow")
    assert pieces.detail("tokens_per_second_per_device_median_after_first") == 8192
    assert pieces.detail("model_flops_share_median_after_first") == pytest.approx(0.3036)
    assert pieces.detail("memory_share_maximum") == pytest.approx(0.512)


def test_the_end_is_an_event() -> None:
    assert [event.kind for event in fixture(READER, "first_step_slow").events] == ["end"]


def test_colours_change_nothing() -> None:
    assert fixture(READER, "coloured").column("step_seconds")[1:] == [1.0] * 4


def test_without_tokens_per_step_the_stamps_tell_the_time_and_the_reader_says_so() -> None:
    pieces = fixture(READER, "older_wps_without_tokens")
    assert pieces.column("steps") == [1, 9, 10, 10, 10]
    assert pieces.column("step_seconds") == [None, pytest.approx(5 / 9), 0.5, 0.5, 0.5]
    assert pieces.trouble == {"pace_from_stamps": 1}
    assert pieces.facts["layout.tensor_parallel"] == 2


def test_ranks_without_a_prefix_that_overtake_each_other_are_no_restart() -> None:
    pieces = fixture(READER, "ranks_without_prefix_overtake")
    assert pieces.column("step") == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 5]
    assert pieces.column("steps") == [1] * 15
    assert pieces.column("step_seconds")[3:] == [1.0] * 12


def test_ranks_with_a_prefix_have_their_own_rows() -> None:
    pieces = fixture(READER, "two_ranks_interleaved")
    for rank in (0, 1):
        rows = [row for row in pieces.rows if row["rank"] == rank]
        assert [row["step"] for row in rows] == [1, 2, 3, 4, 5]
        assert [row["reserved_bytes"] for row in rows] == [(40 + rank) * GIB] * 5


def test_validation_and_checkpoint_are_events_and_no_steps() -> None:
    pieces = fixture(READER, "log_every_ten_validation_and_checkpoint")
    assert pieces.column("step") == [1, 10, 20, 30, 40]
    assert pieces.column("steps") == [1, 9, 10, 10, 10]
    assert pieces.column("step_seconds")[1:] == [1.0] * 4
    (saved,) = pieces.of("checkpoint")
    assert (saved.step, saved.seconds) == (10, 2.5)
    (evaluation,) = pieces.of("evaluation")
    # Logged at 39 s, validated at 50 s, 2.5 s of it spent saving.
    assert (evaluation.step, evaluation.seconds) == (10, pytest.approx(8.5))


def test_devices_that_share_a_rank_s_tokens_divide_them() -> None:
    # 4096 tokens a second and device, two devices to 8192 tokens: one second.
    pieces = fixture(READER, "tensor_parallel_divides_tokens")
    assert pieces.column("step_seconds")[1:] == [1.0] * 4
    assert pieces.facts["hardware.gpus"] == 16


def test_where_the_degrees_are_not_printed_the_stamps_find_the_divisor() -> None:
    pieces = fixture(READER, "tensor_parallel_not_printed")
    assert pieces.column("step_seconds")[1:] == [1.0] * 4


def test_an_undecided_divisor_leaves_the_time_unknown_and_never_wrong() -> None:
    data = data_of(READER, "tensor_parallel_not_printed")
    whole = read(READER, data).column("step_seconds")
    for place in range(len(data)):
        cut = read(READER, data[:place]).column("step_seconds")
        assert all(value in (None, full) for value, full in zip(cut, whole, strict=False))


def test_accumulated_micro_batches_are_one_step_and_a_resume_begins_anew() -> None:
    pieces = fixture(READER, "accumulation_and_resume")
    assert pieces.column("step") == [1, 10, 20, 30, 30, 40, 50]
    # Resumed at step 21: the first line stands for ten steps, not for none.
    assert pieces.column("steps") == [1, 9, 10, 10, 10, 10, 10]
    assert pieces.column("step_seconds")[1:] == [4.0] * 6
    assert pieces.column("micro_steps") == [4] * 7


def test_the_newest_form_counts_tokens_per_rank() -> None:
    pieces = fixture(READER, "tokens_per_rank_form")
    # 8192 tokens x 2 accumulated / (2048 a second x 2 devices by context parallelism)
    assert pieces.column("step_seconds")[1:] == [4.0] * 4
    assert pieces.facts["hardware.gpus"] == 8
    assert pieces.facts["layout.expert_parallel"] == 4
    assert pieces.facts["planned.sequence_length"] == 8192


def test_the_first_versions_printed_the_data_time() -> None:
    pieces = fixture(READER, "iteration_and_data_times_of_early_2024")
    assert pieces.column("step_seconds") == [0.875] * 4
    assert pieces.column("data_wait_seconds") == [0.125] * 4


def test_a_cut_rate_is_not_believed() -> None:
    data = data_of(READER, "first_step_slow")
    place = data.rindex(b"8,192") + len(b"8,1")
    assert read(READER, data[:place]).column("step_seconds")[-1] is None


def test_its_own_lines_are_claimed() -> None:
    assert sniff(READER, data_of(READER, "first_step_slow")) > 0.9
    assert sniff(READER, data_of(READER, "iteration_and_data_times_of_early_2024")) > 0.5
    assert sniff(READER, b"step: 10 of 20 done, loss: unknown\n") == 0.0


def test_public_logs_give_the_manifest_s_figures(shared: Path) -> None:
    seen = 0
    for name, facts, pieces in public(shared, READER, "torchtitan_stdout"):
        assert hold(name, facts, figures(pieces)) == set(facts)
        seen += 1
    assert seen


def figures(pieces: Pieces) -> dict[str, object]:
    steps = pieces.known("step")
    after_first = sorted(pieces.column("step_seconds")[1:])
    return {
        "n_steps": lambda: len(pieces.rows),
        "steps": lambda: [min(steps), max(steps)],
        "median_tps_per_device_excl_first": lambda: pieces.detail(
            "tokens_per_second_per_device_median_after_first"
        ),
        "max_memory_GiB": lambda: max(pieces.known("reserved_bytes")) / GIB,
        "memory_pct": lambda: pieces.detail("memory_share_maximum") * 100,
        "median_mfu_pct_excl_first": lambda: pieces.detail("model_flops_share_median_after_first") * 100,
        "derived_step_time_s": lambda: after_first[len(after_first) // 2],
    }
