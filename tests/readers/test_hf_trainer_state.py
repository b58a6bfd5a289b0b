"""trainer_state.json: steps without times, one runtime at the end, and what that runtime counts."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from language_pieces import data_of, fixture, hold, public, read, sniff

from weighbridge.readers.hf_trainer_state import HfTrainerState, LossSum

READER = HfTrainerState()


def document(entries: list[dict[str, object]], **state: object) -> bytes:
    return json.dumps({"global_step": 30, "log_history": entries, **state}).encode()


def test_a_row_stands_for_the_steps_since_the_entry_before() -> None:
    pieces = fixture(READER, "final_state")
    assert pieces.column("step") == [5, 10, 15, 20, 25, 30]
    assert pieces.column("steps") == [5] * 6
    assert pieces.column("epoch")[0] == 0.33
    assert pieces.column("line")[:2] == [11, 18]


def test_no_step_has_a_time_but_the_run_has() -> None:
    pieces = fixture(READER, "final_state")
    assert pieces.known("step_seconds") == []
    assert pieces.facts["stated_seconds"] == 141.0
    assert pieces.facts["clock"] == "none"


def test_the_mean_step_time_is_not_taken_from_the_rounded_rate() -> None:
    pieces = fixture(READER, "final_state")
    assert pieces.detail("mean_step_seconds") == 141.0 / 30
    assert pieces.detail("train_steps_per_second") == 0.213
    assert pieces.detail("runtime_may_count_last_resume_only") is False


def test_what_the_run_meant_to_do_is_kept() -> None:
    facts = fixture(READER, "final_state").facts
    assert facts["planned.steps"] == 30
    assert facts["planned.epochs"] == 2
    assert facts["planned.batch_per_device"] == 4
    # 1.702 samples a second x 141 s / 30 steps
    assert facts["details.global_batch_estimate"] == 8
    assert facts["details.save_steps"] == 10
    assert facts["details.checkpoints_by_save_steps"] == 3


def test_an_intermediate_state_has_no_time_at_all() -> None:
    pieces = fixture(READER, "intermediate_state_has_no_time")
    assert len(pieces.rows) == 4
    assert "stated_seconds" not in pieces.facts
    assert pieces.detail("mean_step_seconds") is None
    assert pieces.detail("save_steps") is None


def test_nan_and_infinity_are_read_and_told() -> None:
    pieces = fixture(READER, "nan_and_infinity_tokens")
    assert len(pieces.rows) == 6
    assert pieces.detail("has_nan") is True
    assert pieces.detail("python_json_only_tokens") is True
    # With a loss that is no number nobody can tell which steps the runtime counts.
    assert pieces.detail("runtime_may_count_last_resume_only") is True
    assert pieces.detail("train_loss") is None


def test_a_minified_document_reads_like_an_indented_one() -> None:
    minified, indented = fixture(READER, "minified_one_line"), fixture(READER, "final_state")
    assert minified.facts == indented.facts
    assert minified.column("step") == indented.column("step")
    assert minified.column("line") == [1] * 6


def test_the_runtime_of_a_resumed_training_is_divided_by_the_steps_of_its_last_start() -> None:
    pieces = fixture(READER, "resumed_runtime_counts_last_start")
    # Steps 11 to 30 of 30: their losses make up the train_loss.
    assert pieces.detail("steps_in_last_start") == 20
    assert pieces.detail("mean_step_seconds") == 94.0 / 20
    assert pieces.detail("runtime_per_global_step_seconds") == 94.0 / 30
    assert pieces.detail("runtime_may_count_last_resume_only") is True


@given(
    losses=st.lists(st.floats(0.5, 5.0), min_size=20, max_size=300),
    part=st.floats(0.2, 0.8),
)
def test_the_beginning_of_the_last_start_is_found_from_the_mean_loss(
    losses: list[float], part: float
) -> None:
    begun = int(len(losses) * part)
    sums = LossSum()
    for number, loss in enumerate(losses, 1):
        sums.add(number * 10, round(loss, 4))
    train_loss = sum(losses[begun:]) * 10 / (len(losses) * 10)
    found = sums.steps_of_last_start(train_loss, len(losses) * 10)
    assert found is not None
    assert abs(found - (len(losses) - begun) * 10) <= 1


def test_an_evaluation_is_an_event_with_its_length() -> None:
    pieces = fixture(READER, "evaluations_with_runtime")
    assert [(event.step, event.seconds) for event in pieces.of("evaluation")] == [
        (15, 12.5),
        (15, 2.25),
        (30, 12.5),
    ]
    assert pieces.detail("evaluation_seconds") == 27.25
    assert len(pieces.rows) == 6


def test_a_trainer_that_repeats_the_runtime_tells_step_times_without_the_evaluation() -> None:
    pieces = fixture(READER, "runtime_in_every_entry")
    assert pieces.column("step_seconds") == [None, 4.0, 4.0, 4.0, 4.0, 4.0]
    assert pieces.facts["stated_seconds"] == 133.0


def test_a_cut_document_keeps_what_is_whole_and_says_so() -> None:
    pieces = fixture(READER, "cut_in_the_middle")
    assert pieces.column("step") == [5, 10, 15, 20]
    assert pieces.trouble == {"cut": 1}


def test_a_broken_entry_costs_itself_only() -> None:
    data = data_of(READER, "final_state").replace(b'"loss": 1.0,', b'"loss": 1.0,,')
    pieces = read(READER, data)
    assert pieces.column("step") == [5, 10, 20, 25, 30]
    assert pieces.facts["stated_seconds"] == 141.0
    assert pieces.trouble == {"broken_entry": 1}
    assert pieces.problems[0].line == 25


def test_the_checkpoint_path_is_not_kept_but_its_name_is() -> None:
    pieces = read(READER, document([], best_model_checkpoint="/home/someone/out/checkpoint-20"))
    assert pieces.detail("best_model_checkpoint") == "checkpoint-20"


@pytest.mark.parametrize("absurd", ["1e999", "9" * 400, '"text"', "null", "[1]"])
def test_a_step_that_is_no_number_is_unknown(absurd: str) -> None:
    pieces = read(READER, b'{"global_step": 5, "log_history": [{"loss": 1.0, "step": %s}]}' % absurd.encode())
    assert pieces.column("step") == [None]


def test_only_a_document_with_its_two_words_is_claimed() -> None:
    assert sniff(READER, document([])) > 0.9
    assert sniff(READER, b'{"log_history": []}') < 0.9
    assert sniff(READER, b'{"current_steps": 1}') == 0.0
    assert sniff(READER, b"log_history and global_step in prose") == 0.0


@settings(max_examples=30)
@given(st.integers(1, 50))
def test_the_document_may_come_in_pieces_of_any_size(size: int) -> None:
    class Dribble(io.BytesIO):
        def read(self, wanted: int | None = -1) -> bytes:
            return super().read(size)

    data = data_of(READER, "evaluations_with_runtime")
    whole = list(READER.read(io.BytesIO(data), "x"))
    assert list(READER.read(Dribble(data), "x")) == whole


def test_public_states_give_the_manifest_s_figures(shared: Path) -> None:
    seen = 0
    for name, facts, pieces in public(shared, READER, "hf_trainer_state"):
        evaluations = [event.seconds for event in pieces.of("evaluation")]
        details = ("global_step", "epoch", "logging_steps", "save_steps", "train_batch_size", "total_flos")
        details += ("num_input_tokens_seen", "has_nan", "python_json_only_tokens")
        compared = hold(
            name,
            facts,
            {
                "n_log_history": lambda pieces=pieces: pieces.detail("log_entries"),
                "n_train_logs": lambda pieces=pieces: len(pieces.rows),
                "records": lambda pieces=pieces: len(pieces.rows),
                "n_eval_logs": lambda evaluations=evaluations: len(evaluations),
                "evaluations": lambda evaluations=evaluations: len(evaluations),
                "per_step_time_available": lambda pieces=pieces: bool(pieces.known("step_seconds")),
                "max_steps": lambda pieces=pieces: pieces.facts["planned.steps"],
                "train_runtime_s": lambda pieces=pieces: pieces.facts["stated_seconds"],
                "run_seconds": lambda pieces=pieces: pieces.facts["stated_seconds"],
                "mean_step_time_s": lambda pieces=pieces: pieces.detail("mean_step_seconds"),
                "reported_steps_per_second": lambda pieces=pieces: pieces.detail("train_steps_per_second"),
                "eval_runtime_total_s": lambda evaluations=evaluations: sum(evaluations),
                "eval_runtime_median_s": lambda evaluations=evaluations: sorted(evaluations)[
                    len(evaluations) // 2
                ],
                **{key: lambda key=key, pieces=pieces: pieces.detail(key) for key in details},
            },
        )
        assert compared == set(facts)
        seen += 1
    assert seen
