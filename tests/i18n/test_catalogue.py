"""The catalogue: both languages under every code, saying the same, and no code without a sentence."""

from __future__ import annotations

import ast
import json
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from weighbridge import i18n
from weighbridge.units import FORMATTERS

PACKAGE = Path(i18n.__file__).resolve().parent.parent
FILES = sorted((PACKAGE / "i18n" / "messages").glob("*.json"))
# Formats besides units: plain text, and a code that is itself turned into a sentence.
OTHER_FORMATS = {"", "code"}
CHINESE = re.compile("[\u4e00-\u9fff]")
CODE = re.compile(r"[a-z_]+(?:\.[a-z0-9_]+)+")
HEAD = re.compile(r"[a-z_]+\.[a-z0-9_.]*")
# Dotted names of other vocabularies whose first word is a room of sentences too: paths of machine lines, and
# columns of nvidia-smi.
OTHER_VOCABULARIES = {"schema/machine_lines.py": "", "readers/nvidia_smi_csv.py": "memory."}
SENTENCES = sorted(i18n.catalogue().items())


def placeholders(sentence: str) -> set[tuple[str, str]]:
    """(name, format) of every placeholder."""
    return {(name, spec or "") for _, name, spec, _ in string.Formatter().parse(sentence) if name is not None}


def no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), f"written twice: {sorted({n for n in names if names.count(n) > 1})}"
    return dict(pairs)


def named_codes(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Texts that look like codes; the flag says that it is only the head of one that is put together."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            head = node.values[0]
            if isinstance(head, ast.Constant) and len(node.values) > 1 and HEAD.fullmatch(head.value):
                yield head.value, True
            for value in node.values:
                if isinstance(value, ast.Constant):
                    value.value = ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
            yield node.value, False


def is_of_another_vocabulary(file: str, text: str) -> bool:
    return file in OTHER_VOCABULARIES and text.startswith(OTHER_VOCABULARIES[file])


def sources() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_code_is_written_twice_in_a_file(file: Path) -> None:
    json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=no_duplicates)


def test_no_code_is_in_two_files() -> None:
    codes = [code for file in FILES for code in json.loads(file.read_text(encoding="utf-8"))]

    assert sorted(codes) == [code for code, _ in SENTENCES]


def test_a_code_has_a_sentence_in_both_languages_with_the_same_values() -> None:
    wrong = [
        code
        for code, texts in SENTENCES
        if set(texts) != set(i18n.LANGUAGES) or placeholders(texts["en"]) != placeholders(texts["zh"])
    ]

    assert wrong == []


def test_no_sentence_is_empty() -> None:
    assert [
        code for code, texts in SENTENCES if not all(text.strip() or text == " " for text in texts.values())
    ] == []


def test_every_placeholder_is_named_and_in_a_unit_that_can_be_printed() -> None:
    wrong = [
        (code, name, spec)
        for code, texts in SENTENCES
        for name, spec in placeholders(texts["en"]) | placeholders(texts["zh"])
        if not name.isidentifier() or spec not in FORMATTERS.keys() | OTHER_FORMATS
    ]

    assert wrong == []


def test_what_is_a_sentence_in_english_is_written_in_chinese_too() -> None:
    untranslated = [
        code
        for code, texts in SENTENCES
        if len(re.findall("[a-z]{2,}", re.sub("{[^}]*}", "", texts["en"]))) > 2
        and not CHINESE.search(texts["zh"])
    ]

    assert untranslated == []


def test_no_chinese_has_slipped_into_the_english() -> None:
    assert [code for code, texts in SENTENCES if CHINESE.search(texts["en"])] == []


def test_a_chinese_sentence_keeps_chinese_punctuation() -> None:
    wrong = [code for code, texts in SENTENCES if re.search("[\u4e00-\u9fff] ?[,;:?!](?![0-9])", texts["zh"])]

    assert wrong == []


def test_every_code_that_the_source_names_has_a_sentence() -> None:
    rooms = {code.partition(".")[0] for code, _ in SENTENCES}
    named = [
        (path.relative_to(PACKAGE).as_posix(), *found)
        for path, tree in sources()
        for found in named_codes(tree)
    ]
    missing = {
        (file, text)
        for file, text, is_head in named
        if text.partition(".")[0] in rooms
        and not is_of_another_vocabulary(file, text)
        and not (any(code.startswith(text) for code, _ in SENTENCES) if is_head else i18n.has(text))
    }

    assert sorted(missing) == []


def test_every_sentence_is_used_somewhere() -> None:
    """Not so: click's own words, found by their English, and labels of machine lines, found by their path."""
    named = [found for _, tree in sources() for found in named_codes(tree)]
    whole = {text for text, is_head in named if not is_head}
    heads = ("click.", "machine_", *(text for text, is_head in named if is_head))

    assert [code for code, _ in SENTENCES if code not in whole and not code.startswith(heads)] == []
