"""Public calculators beside ours: what is not there is skipped aloud, what cannot be said is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import peers_memory
from truth.figures import Figure
from truth.peers import Asked, Cannot, Peer, find
from truth.peers_plain import PEERS, deepspeed_documented
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe

SHAPE = ModelShape(
    name="small",
    layers=2,
    hidden=64,
    ffn_hidden=256,
    heads=4,
    kv_heads=4,
    head_dim=16,
    vocabulary=1000,
    gated=False,
    tied_embeddings=True,
)


def asked(training: str = "full", **degrees: int) -> Asked:
    recipe = Recipe(training=training, sharding="zero2", micro_batch=1, sequence=8)  # type: ignore[arg-type]
    plain = {"data": 1, "tensor": 1, "pipeline": 1, "context": 1, "expert": 1, **degrees}
    return Asked(SHAPE, 1e6, recipe, **plain)


def figure(measured: float) -> Figure:
    return Figure("r", "s", "A", "allocated", "", measured, predicted=measured)


def test_a_peer_that_is_not_there_is_skipped_with_the_reason(tmp_path: Path) -> None:
    for peer in PEERS:
        if peer.marker is not None:
            found = peers_memory.result(peer, [tmp_path], {}, {})
            assert found["skipped"] == f"{peer.marker} is not below any --peer-path"


def test_a_peer_that_does_not_load_says_why(tmp_path: Path) -> None:
    (tmp_path / "calc_transformer_mem.py").write_text("import a_package_nobody_has\n")
    cookbook = next(peer for peer in PEERS if peer.marker == "calc_transformer_mem.py")
    assert "a_package_nobody_has" in peers_memory.result(cookbook, [tmp_path], {}, {})["skipped"]


def test_a_marker_is_found_by_the_end_of_its_path(tmp_path: Path) -> None:
    wrong, right = tmp_path / "a" / "other" / "ghost.py", tmp_path / "b" / "alloc" / "ghost.py"
    for file in (wrong, right):
        file.parent.mkdir(parents=True)
        file.touch()
    assert find("alloc/ghost.py", [tmp_path]) == right


def test_refusals_and_what_their_code_raises_cost_that_row_only() -> None:
    def ask(question: Asked) -> float:
        question.needs()
        return 1.0 / (question.data - 2)

    peer = Peer("fake", None, lambda _: ask, "nothing")
    questions: dict[str, Asked | Cannot] = {
        "answered": asked(data=4),
        "raises": asked(data=2),
        "adapters": asked("lora"),
        "unknown": Cannot("sizes of the model unknown"),
    }
    found = peers_memory.result(peer, [], questions, {name: [figure(1.0)] for name in questions})
    assert found["answered"] == 0.25
    assert set(found["refused"]) == {
        "raised ZeroDivisionError: float division by zero",
        "adapters",
        "sizes of the model unknown",
    }
    assert found["counters"]["all"]["theirs"]["row_median"] == pytest.approx(0.5)
    assert found["counters"]["all"]["ours_on_these"]["answered"] == 1


def test_zero_2_is_as_its_documentation_says() -> None:
    # Their example: 2851M parameters on 8 GPUs come to 15.93 GiB; 4 P + 16 P / 8 is 6 bytes each.
    ask = deepspeed_documented(Path())
    assert ask(asked(data=8)) == pytest.approx(6e6)
    assert round(2851e6 * 6 / 2**30, 2) == 15.93
    with pytest.raises(Cannot, match="adapters"):
        ask(asked("qlora", data=8))
