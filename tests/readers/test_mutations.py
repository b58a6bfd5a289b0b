"""Every reader against damaged files: never an exception, never a silently different number.

Works on every fixture of every reader in the table. A damage that leaves the content whole (line ends, byte
order mark, colours, UTF-16) must change nothing; a cut must leave a prefix; bytes that break must cost at
most rows, which are then told as problems or missing, and must never invent any.
"""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from weighbridge.readers.base import Reader, Samples, Steps
from weighbridge.readers.table import READERS
from weighbridge.readers.text import read_head
from weighbridge.schema.columns import SAMPLE_COLUMN_NAMES, STEP_COLUMN_NAMES

FIXTURES = Path(__file__).parent / "fixtures"
CASES = [
    pytest.param(reader, path, id=f"{reader.name}:{path.name}")
    for reader in READERS
    for path in sorted((FIXTURES / reader.name).glob("*"))
    if path.is_file()
]
Row = tuple[object, ...]
FIGURES = (
    "phase", "rank", "epoch", "step", "step_seconds", "data_wait_seconds", "forward_seconds",
    "backward_seconds", "communication_seconds", "optimizer_seconds", "allocated_bytes", "reserved_bytes",
    "device", "gpu_busy_share", "device_bytes", "power_watts",
)  # fmt: skip


def rows(reader: Reader, data: bytes, name: str) -> list[Row]:
    """All rows as tuples of the figures that people look at; checks the shape of every piece on the way."""
    found: list[Row] = []
    for piece in reader.read(io.BytesIO(data), name):
        if isinstance(piece, Steps | Samples):
            known = STEP_COLUMN_NAMES if isinstance(piece, Steps) else SAMPLE_COLUMN_NAMES
            assert set(piece.columns) <= known
            assert all(len(values) == piece.rows for values in piece.columns.values())
            columns = [list(piece.columns.get(name, [None] * piece.rows)) for name in FIGURES]
            found += list(zip(*columns, strict=True))
    return found


def with_byte_order_mark(data: bytes) -> bytes:
    return b"\xef\xbb\xbf" + data


def as_windows_lines(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def coloured(data: bytes) -> bytes:
    return b"".join(b"\x1b[32m" + line + b"\x1b[0m\n" for line in data.removesuffix(b"\n").split(b"\n"))


def as_utf_16(data: bytes) -> bytes:
    return data.decode("utf-8").encode("utf-16")


@pytest.mark.parametrize(("reader", "path"), CASES)
@pytest.mark.parametrize("damage", [with_byte_order_mark, as_windows_lines, coloured, as_utf_16])
def test_what_leaves_the_content_whole_changes_nothing(
    reader: Reader, path: Path, damage: Callable[[bytes], bytes]
) -> None:
    data = path.read_bytes()
    if b"\r" in data or b"\x1b" in data or not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            pytest.skip("the fixture is broken in this way already")
        if damage is as_windows_lines and b"\r" in data.replace(b"\r\n", b""):
            pytest.skip("lone carriage returns are this fixture's own subject")
    if damage is coloured and data[:1] in (b"{", b"["):
        pytest.skip("nobody colours JSON")
    if data and not data.endswith(b"\n"):
        data += b"\n" if damage is not coloured else b""
    plain, damaged = rows(reader, data, path.name), rows(reader, damage(data), path.name)
    if damage is coloured and not data.endswith(b"\n"):
        pytest.skip("colouring would end the cut line")
    assert damaged == plain


@pytest.mark.parametrize(("reader", "path"), CASES)
def test_a_cut_file_gives_the_first_rows_and_no_other(reader: Reader, path: Path) -> None:
    data = path.read_bytes()
    whole = rows(reader, data, path.name)
    chance = random.Random(path.name)
    for place in sorted(chance.sample(range(len(data) + 1), min(40, len(data) + 1))):
        cut = rows(reader, data[:place], path.name)
        assert len(cut) <= len(whole)
        strange = Counter(cut) - Counter(whole)
        # The row at the cut may hold fewer figures than it would have; it never holds others.
        assert all(any(_fewer(row, full) for full in whole) for row in strange)
        assert sum(strange.values()) <= 1 + _open_rows(reader)


def _fewer(row: Row, full: Row) -> bool:
    return all(one is None or one == other for one, other in zip(row, full, strict=True))


def _open_rows(reader: Reader) -> int:
    """DeepSpeed joins several lines of a step into one row, so a cut may leave the last step half joined."""
    return 1 if reader.name == "deepspeed_text" else 0


@pytest.mark.parametrize(("reader", "path"), CASES)
def test_broken_bytes_never_raise_and_never_hang(reader: Reader, path: Path) -> None:
    data = path.read_bytes()
    chance = random.Random(path.name)
    for _ in range(60):
        mutant = bytearray(data)
        for _ in range(chance.randint(1, 8)):
            _mutate(mutant, chance)
        rows(reader, bytes(mutant), path.name)
        reader.sniff(read_head(io.BytesIO(bytes(mutant)), path.name))


def _mutate(data: bytearray, chance: random.Random) -> None:
    place = chance.randrange(len(data) + 1)
    match chance.randrange(6):
        case 0:
            del data[place : place + chance.randint(1, 200)]
        case 1:
            data[place:place] = bytes(chance.randrange(256) for _ in range(chance.randint(1, 20)))
        case 2:
            data[place:place] = "训练开始".encode("gbk")
        case 3:
            data[place:place] = chance.choice([b"\r", b"\n", b"\x00", b"NaN", b"-inf", b"1e999", b"9" * 400])
        case 4:
            data[place:place] = data[:place][-chance.randint(1, 400) :]
        case _ if place < len(data):
            data[place] = chance.randrange(256)


@pytest.mark.parametrize(("reader", "path"), CASES)
def test_prose_in_another_encoding_between_the_lines_changes_no_figure(reader: Reader, path: Path) -> None:
    data = path.read_bytes()
    if reader.name in ("hf_trainer_state", "ultralytics_csv", "nvidia_smi_csv"):
        pytest.skip("no prose stands between the lines of this format")
    prose = "这里是同事写的备注\n".encode("gbk")
    lines = data.splitlines(keepends=True)
    if not all(line.endswith(b"\n") for line in lines) or b"\r" in data:
        pytest.skip("the cut line is this fixture's own subject")
    mixed = b"".join(line + prose for line in lines)
    assert Counter(rows(reader, mixed, path.name)) == Counter(rows(reader, data, path.name))


@pytest.mark.parametrize(("reader", "path"), CASES)
def test_a_doubled_file_never_changes_the_figures_of_a_row(reader: Reader, path: Path) -> None:
    data = path.read_bytes()
    if reader.name == "hf_trainer_state" or not data.endswith(b"\n"):
        pytest.skip("two documents in one file are no such file")
    single = rows(reader, data, path.name)
    double = rows(reader, data + data, path.name)
    assert double[: len(single)] == single
    assert len(double) == 2 * len(single)


@pytest.mark.parametrize(("reader", "path"), CASES)
def test_every_fixture_is_claimed_by_its_own_reader_alone(reader: Reader, path: Path) -> None:
    with path.open("rb") as stream:
        head = read_head(stream, path.name)
    if not head.data.strip():
        pytest.skip("empty")
    scores = {other.name: other.sniff(head) for other in READERS}
    best = max(scores.values())
    assert scores[reader.name] == best
    assert list(scores.values()).count(best) == 1


WITH_RANKS = ("metriclogger_text", "paddle_text", "timm_text", "torchtitan_text")


@pytest.mark.parametrize(("reader", "path"), [case for case in CASES if case.values[0].name in WITH_RANKS])
def test_two_ranks_shuffled_into_one_file_come_apart_again(reader: Reader, path: Path) -> None:
    data = path.read_bytes()
    if b"rank" in data.lower() or "rank" in path.name or b"\r" in data or not data.endswith(b"\n"):
        pytest.skip("ranks, progress bars or the cut line are this fixture's own subject")
    lines = data.splitlines(keepends=True)
    chance = random.Random(path.name)
    # Ranks of one job keep step: each line comes twice, in either order.
    mixed = b"".join(b"[rank%d]:%b" % (rank, line) for line in lines for rank in chance.sample((0, 1), 2))
    rank_at = FIGURES.index("rank")

    def figures(found: list[Row], rank: int | None) -> list[Row]:
        kept = [row for row in found if rank is None or row[rank_at] == rank]
        return [(*row[:rank_at], *row[rank_at + 1 :]) for row in kept]

    single, both = rows(reader, data, path.name), rows(reader, mixed, path.name)
    for rank in (0, 1):
        assert figures(both, rank) == figures(single, None)
