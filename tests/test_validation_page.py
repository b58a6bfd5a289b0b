"""The validation page as it is committed: not written anew here (minutes, and it needs ../shared)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from truth import page_targets, page_words, page_worst
from truth.figures import Figure

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ("en", "zh")
NUMBER = re.compile(r"[+\u2212]?\d+(?:\.\d+)?(?: %)?")


def text_of(language: str) -> str:
    return (ROOT / "docs" / language / "validation.md").read_text(encoding="utf-8")


def tables(language: str) -> list[list[list[str]]]:
    """Rows of cells, headings left out."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text_of(language), re.MULTILINE):
        rows = [line.strip("| \n").split(" | ") for line in block.splitlines()]
        found.append(rows[2:])
    return found


def numbers_of(words: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", words)]


def test_both_languages_hold_the_same_numbers_in_the_same_cells() -> None:
    english, chinese = (
        [[[NUMBER.findall(cell) for cell in row] for row in table] for table in tables(language)]
        for language in LANGUAGES
    )

    assert len(english) > 12
    assert english == chinese


def test_the_sentences_of_both_languages_hold_the_same_numbers() -> None:
    found = [
        sorted(NUMBER.findall("\n".join(re.findall(r"^(?!\|).*$", text_of(language), re.MULTILINE))))
        for language in LANGUAGES
    ]

    assert found[0] == found[1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_row_of_a_table_is_complete(language: str) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", text_of(language), re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1
        assert "| |" not in block


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_says_that_it_is_generated_and_by_what(language: str) -> None:
    command = re.search(r"`python (benchmarks/\S+) (\S+) --write-docs", text_of(language))

    assert command is not None
    assert (ROOT / command[1]).is_file()


def test_the_verdict_on_every_target_follows_from_the_figures_beside_it() -> None:
    rows = tables("en")[0]
    for name, must, aim, reached, *_, verdict in rows:
        figures = numbers_of(reached)
        more = must.startswith("\u2265")
        met = {
            word: all(
                (one >= limit if more else one <= limit)
                for one, limit in zip(figures, numbers_of(limits), strict=True)
            )
            for word, limits in (("aim reached", aim), ("reached", must))
        }
        expected = next((word for word, good in met.items() if good), "missed")
        assert verdict == (expected if figures else "no rows"), name
    assert len(rows) > 15


def test_the_words_of_the_page_stand_in_both_languages_with_the_same_places() -> None:
    texts = page_words.words_file()
    places = {key: [set(re.findall(r"\{\w+\}", entry[language])) for language in LANGUAGES]
              for key, entry in texts.items()}  # fmt: skip

    assert [key for key, (english, chinese) in places.items() if english != chinese] == []


def figures(*ratios: float) -> list[Figure]:
    return [
        Figure(f"r{n}", "family / GPU / source", "A", "allocated", "", 100.0 + n, (100.0 + n) * ratio)
        for n, ratio in enumerate(ratios)
    ]


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ((1.01, 1.02, 1.03), "aim"),
        ((1.05, 0.94, 1.06), "must"),
        ((1.01, 1.02, 1.60), "missed"),
        ((1.02, 1.02), "none"),
    ],
)
def test_a_target_needs_both_its_median_and_its_p90_and_three_rows(
    ratios: tuple[float, ...], verdict: str
) -> None:
    limits = ((0.08, 0.20), (0.04, 0.12))

    assert page_targets.errors("memory_a_allocated", figures(*ratios), limits).verdict == verdict


def test_a_known_reason_stands_beside_its_stratum_and_an_unknown_one_is_said_to_be_so() -> None:
    words = page_words.Words("en", page_words.words_file())
    known = {"part": "lm_memory", "stratum": "family / GPU", "en": "because", "zh": "-"}

    assert page_worst.worst(figures(1.1, 1.1, 1.2), [known], words)[2].endswith("| because |")
    assert page_worst.worst(figures(1.1, 1.1, 1.2), [], words)[2].endswith("| not examined |")
    assert "| +10.0 % |" in page_worst.worst(figures(1.1, 1.1, 1.2), [], words)[2]
