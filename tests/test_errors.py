"""The error tree: what the command line returns, and what a library user reads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from weighbridge import errors


def every_error() -> list[type[errors.WeighbridgeError]]:
    found: list[type[errors.WeighbridgeError]] = [errors.WeighbridgeError]
    for kind in found:
        found.extend(kind.__subclasses__())
    return [kind for kind in found if kind.__module__ == errors.__name__]


def test_only_what_cannot_be_measured_exits_3_and_every_other_error_exits_2() -> None:
    codes = {kind.__name__: kind.exit_code for kind in every_error()}

    assert codes == {
        "WeighbridgeError": 2,
        "UsageError": 2,
        "InputError": 2,
        "WorkspaceError": 2,
        "MissingExtra": 2,
        "UnknownFormat": 2,
        "NothingToRead": 2,
        "CannotMeasure": 3,
    }


def test_the_answer_no_is_never_an_error() -> None:
    assert errors.EXIT_NO == 1
    assert errors.EXIT_NO not in {kind.exit_code for kind in every_error()}


def test_a_file_that_nobody_knows_can_be_caught_as_bad_input() -> None:
    with pytest.raises(errors.InputError):
        raise errors.UnknownFormat("readers.unknown_format", name="a.bin")


def test_the_tree_in_the_docstring_names_every_error() -> None:
    assert errors.__doc__ is not None
    for kind in every_error():
        assert f"{kind.__name__} " in errors.__doc__


def test_an_error_keeps_its_code_and_parameters_for_the_one_who_prints_it() -> None:
    error = errors.InputError("units.bytes_without_unit", text="80")

    assert (error.code, error.params) == ("units.bytes_without_unit", {"text": "80"})


def test_with_the_sentences_loaded_an_error_reads_as_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    import weighbridge.i18n

    assert errors.speaker is not None
    monkeypatch.setenv("WEIGHBRIDGE_LANG", "en")
    english = str(errors.InputError("units.bytes_without_unit", text="80"))
    monkeypatch.setenv("WEIGHBRIDGE_LANG", "zh")
    chinese = str(errors.InputError("units.bytes_without_unit", text="80"))

    assert english.startswith('"80" is not a size with a unit')
    assert chinese != english
    assert "80" in chinese
    assert weighbridge.i18n.has("units.bytes_without_unit")


def test_a_code_without_a_sentence_still_says_what_it_is_about() -> None:
    import weighbridge.i18n  # noqa: F401  (sets the speaker)

    assert "a.log" in str(errors.InputError("nobody.wrote_this", name="a.log"))


def test_without_the_sentences_loaded_an_error_names_its_code_and_values() -> None:
    program = (
        "from weighbridge.errors import InputError\n"
        "print(InputError('codec.not_json', name='a.json'))"
    )  # fmt: skip
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert answer.stdout.strip() == "codec.not_json(name='a.json')"
