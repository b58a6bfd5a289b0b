"""Lines as they really are: whole, numbered, cleaned, and never more of them in memory than needed."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weighbridge.readers import text
from weighbridge.readers.text import MAXIMUM_LINE_BYTES, Lines, blocks, read_head


def lines_of(data: bytes) -> list[tuple[int, bytes]]:
    return list(Lines(io.BytesIO(data)))


def test_lines_come_with_their_newline_and_their_number() -> None:
    assert lines_of(b"one\ntwo\n\nfour\n") == [(1, b"one\n"), (2, b"two\n"), (3, b"\n"), (4, b"four\n")]


def test_the_cut_last_line_comes_without_a_newline() -> None:
    assert lines_of(b"time: 1.25\ntime: 1.2") == [(1, b"time: 1.25\n"), (2, b"time: 1.2")]


def test_windows_line_ends_are_taken_off() -> None:
    assert lines_of(b"one\r\ntwo\r\r\n") == [(1, b"one\n"), (2, b"two\n")]


def test_a_carriage_return_splits_a_line_and_keeps_its_number() -> None:
    assert lines_of(b"10%\r20%\rdone\nnext\n") == [
        (1, b"10%\n"),
        (1, b"20%\n"),
        (1, b"done\n"),
        (2, b"next\n"),
    ]


def test_only_what_follows_the_last_return_of_a_cut_line_is_cut() -> None:
    assert lines_of(b"10%\r20") == [(1, b"10%\n"), (1, b"20")]


def test_colours_and_the_byte_order_mark_are_taken_off() -> None:
    assert lines_of(b"\xef\xbb\xbf\x1b[4m\x1b[37mINFO\x1b[0m ok\n") == [(1, b"INFO ok\n")]


def test_windows_powershell_redirection_is_read() -> None:
    assert lines_of("loss 1.0\n第二行\n".encode("utf-16")) == [
        (1, b"loss 1.0\n"),
        (2, "第二行\n".encode()),
    ]


def test_bytes_that_are_no_text_pass_through() -> None:
    assert lines_of(b"\xd1\xb5\xc1\xb7 1\n\xff\n") == [(1, b"\xd1\xb5\xc1\xb7 1\n"), (2, b"\xff\n")]


def test_a_line_longer_than_any_log_is_left_out_and_told() -> None:
    lines = Lines(io.BytesIO(b"one\n" + b"x" * (MAXIMUM_LINE_BYTES + 2_000_000) + b"\nthree\n"))
    assert list(lines) == [(1, b"one\n"), (3, b"three\n")]
    assert [(p.code, p.line) for p in lines.problems] == [("readers.line_too_long", 2)]


def test_a_progress_bar_without_any_newline_goes_on_piece_by_piece() -> None:
    bar = b"".join(b"\r[>>>] %07d/9999999, elapsed" % n for n in range(200_000))
    assert len(bar) > MAXIMUM_LINE_BYTES
    lines = Lines(io.BytesIO(bar + b"\nafter\n"))
    read = list(lines)
    assert lines.problems == []
    assert len(read) == 200_001
    assert read[-1] == (2, b"after\n")
    assert {number for number, _ in read[:-1]} == {1}


def test_blocks_hold_whole_lines_and_know_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK_BYTES", 10)
    found = [(b.first_line, b.last_line, b.data) for b in blocks(io.BytesIO(b"aaaa\nbbbb\ncccc\ndd"), [])]
    assert found == [(1, 2, b"aaaa\nbbbb\n"), (3, 3, b"cccc\n"), (4, 4, b"dd")]


plain = st.binary(max_size=20).map(lambda data: data.translate(None, b"\0\n\r\x1b"))


@given(st.lists(plain), st.integers(1, 40))
def test_the_size_of_a_block_changes_nothing(parts: list[bytes], size: int) -> None:
    data = b"x" + b"\n".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK_BYTES", size)
        small = lines_of(data)
    assert small == lines_of(data)
    assert b"".join(line for _, line in small) == data


def test_the_head_says_whether_it_is_the_whole_file() -> None:
    head = read_head(io.BytesIO(b"a\r\nb"), "log")
    assert (head.data, head.whole, head.binary) == (b"a\nb", True, False)
    long = read_head(io.BytesIO(b"line\n" * 300_000), "log")
    assert not long.whole
    assert long.data.endswith(b"line\n")


def test_a_picture_is_binary_and_a_log_with_stretches_of_zeros_is_not() -> None:
    assert read_head(io.BytesIO(b"\xff\xd8\xff\xe0\0\x10JFIF" + bytes(range(256)) * 9), "a.jpg").binary
    head = read_head(io.BytesIO(b"\0" * 100_000 + b"step 1\n"), "log")
    assert (head.binary, head.data) == (False, b"step 1\n")
