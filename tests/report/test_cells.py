"""Terminal cells: nothing is wider than it may be, and nothing gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from weighbridge.report.cells import Cell, Column, bar, paragraph, table, wrap

TEXT = st.text(alphabet="abc/_-,. \u4e2d\u6587\u663e\u5b58\uff0c\u3002\uff08\uff09\u201c\u201d", max_size=120)


@given(TEXT, st.integers(2, 60))
def test_no_line_is_wider_than_asked(text: str, width: int) -> None:
    assert all(cell_len(line) <= width for line in wrap(text, width))


@given(TEXT, st.integers(2, 60))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    assert "".join("".join(wrap(text, width)).split()) == "".join(text.split())


def test_latin_words_stay_whole() -> None:
    assert wrap("more GPUs would wait", 10) == ["more GPUs", "would wait"]


def test_chinese_breaks_between_characters() -> None:
    assert wrap("\u7b49\u5f85\u6570\u636e\u5360\u6bd4", 8) == ["\u7b49\u5f85\u6570\u636e", "\u5360\u6bd4"]


def test_a_closing_mark_never_begins_a_line_and_an_opening_one_never_ends_one() -> None:
    text = "\u663e\u5b58\u5927\u90e8\u5206\u95f2\u7f6e\uff0c\u53ea\u7528\u4e86\uff08\u4e94\u6210\uff09\u3002"

    for width in range(6, 30):
        lines = wrap(text, width)
        assert not [line for line in lines if line[0] in "\uff0c\u3002\uff09"]
        assert not [line for line in lines if line[-1] == "\uff08"]


def test_a_long_path_is_cut_after_a_separator() -> None:
    assert wrap("/data/share/imagenet/train.log", 22) == ["/data/share/imagenet/", "train.log"]


def lines_of(rows: list[list[str]], columns: list[Column], width: int) -> list[str]:
    return [line.plain for line in table([[Cell(text) for text in row] for row in rows], columns, width)]


def test_columns_line_up_with_chinese_in_them() -> None:
    lines = lines_of([["\u7b49\u5f85\u6570\u636e", "1"], ["x", "22"]], [Column(), Column("right")], 40)

    assert lines == ["  \u7b49\u5f85\u6570\u636e   1", "  x         22"]


def test_the_widest_column_gives_way_and_a_kept_one_never() -> None:
    rows = [["run-0123456789", "a sentence that is much too long for this place"]]

    lines = lines_of(rows, [Column(keep=True), Column()], 40)

    assert lines[0].startswith("  run-0123456789  a sentence")
    assert len(lines) > 1
    assert all(len(line) <= 40 for line in lines)


def test_a_paragraph_hangs_under_its_first_word() -> None:
    lines = [line.plain for line in paragraph("aaa bbb ccc", 9, first="- ", indent=2)]

    assert lines == ["  - aaa", "    bbb", "    ccc"]


@pytest.mark.parametrize(
    ("share", "drawn"),
    [
        (1.0, "\u2588" * 8),
        (0.5, "\u2588" * 4),
        (0.0, ""),
        (0.001, "\u258f"),
        (0.5625, "\u2588" * 4 + "\u258c"),
        (7.0, "\u2588" * 8),
    ],
)
def test_a_bar_is_as_long_as_its_share_and_never_vanishes(share: float, drawn: str) -> None:
    assert bar(share, 8) == drawn


def test_what_nobody_accounts_for_is_shaded() -> None:
    assert bar(0.5, 8, unattributed=True) == "\u2591" * 4
    assert bar(0.5, 8, unattributed=True, blocks=False) == "...."


def test_bars_without_block_characters_are_ascii() -> None:
    assert bar(0.6, 10, blocks=False) == "######"
