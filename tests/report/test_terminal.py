"""The terminal report: right at 80 and 120 columns, in both languages, without colour and through a pipe."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from samples import FakeView

from weighbridge.i18n import LANGUAGES, Language
from weighbridge.report.terminal import (
    diagnosis_lines,
    import_lines,
    render_diagnosis,
    render_import,
    render_runs,
    runs_lines,
)
from weighbridge.schema.diagnosis import Diagnosis
from weighbridge.schema.import_report import ImportedFile, ImportReport
from weighbridge.schema.run import Run

Make = Callable[[], tuple[Run, Diagnosis, FakeView]]
EVERY = pytest.mark.parametrize("make", samples.ALL.values(), ids=samples.ALL)
BOTH = pytest.mark.parametrize("language", LANGUAGES)


def shown(make: Make, language: Language, width: int = 80) -> str:
    run, diagnosis, _ = make()
    return "\n".join(line.plain for line in diagnosis_lines(diagnosis, run, language, width=width))


def report(**changes: object) -> ImportReport:
    files = (
        ImportedFile(name="train.log", state="imported", reader="mmengine_log_text", runs=("a",)),
        ImportedFile(
            name="notes.docx", state="failed", reason="readers.binary_file", params={"name": "notes.docx"}
        ),
    )
    run, _, _ = samples.data_bound()
    return ImportReport(files=files, runs=(run,), workspace="/srv/ws", skipped_files=3)


@EVERY
@BOTH
@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(make: Make, language: Language, width: int) -> None:
    run, diagnosis, _ = make()
    lines = diagnosis_lines(diagnosis, run, language, width=width)

    assert max(cell_len(line.plain) for line in lines) <= width


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="<>&[]\"'/\x1b\r\n\t\x07 a\u4e2d", min_size=1, max_size=60))
def test_a_hostile_name_neither_moves_the_cursor_nor_breaks_the_width(text: str) -> None:
    run, diagnosis, _ = samples.hostile(text)
    lines = diagnosis_lines(diagnosis, run, "en", width=80)

    assert max(cell_len(line.plain) for line in lines) <= 80
    assert not set("".join(line.plain for line in lines)) & set("\x1b\r\n\t\x07")


def test_the_verdict_comes_first_and_then_why() -> None:
    lines = shown(samples.data_bound, "en").splitlines()

    assert lines[0] == "faster-rcnn_raw \u00b7 mmengine_log_text \u00b7 560 records"
    assert lines[1].startswith("[Waiting for data] Training waits for data: 83 % of every step (1.41 s)")
    assert lines[3].startswith("Why: Data wait takes 83 % of the step time: 1.17 s of 1.41 s")
    assert "exp002_7424.out:212-1398" in lines[4] + lines[5]


def test_a_step_is_shown_as_its_parts() -> None:
    lines = shown(samples.compute_bound, "en").splitlines()
    start = lines.index("One step  512 ms")

    assert [line.split("  ")[1] for line in lines[start + 1 : start + 8]] == [
        "waiting for data",
        "copy to GPU",
        "forward",
        "backward",
        "exposed communication",
        "optimizer",
        "unattributed",
    ]
    assert lines[start + 4].split()[:5] == ["backward", "271", "ms", "53", "%"]
    assert lines[start + 7].endswith("3.2 %  \u2591")


def test_a_part_that_was_not_recorded_is_not_zero() -> None:
    line = next(
        line for line in shown(samples.compute_bound, "zh").splitlines() if "\u62f7\u5165\u663e\u5b58" in line
    )

    assert line.split() == ["\u62f7\u5165\u663e\u5b58", "\u672a\u6d4b"]


def test_twice_the_gpus_says_what_they_bring() -> None:
    text = shown(samples.data_bound, "en", 120)

    line = next(line for line in text.splitlines() if "twice the GPUs" in line)
    assert "same global batch; in this box" in line
    assert "\u00d71.00  bound  costs money" in line


def test_on_a_narrow_terminal_the_condition_stands_under_its_change() -> None:
    lines = shown(samples.data_bound, "en", 80).splitlines()
    row = next(index for index, line in enumerate(lines) if "remove the whole data wait" in line)

    assert lines[row].split("  ")[-1] == "free or bought"
    assert lines[row + 1].strip() == "the data path delivers a batch at least every 241 ms"


def test_what_the_log_cannot_say_names_the_file_to_add() -> None:
    text = shown(samples.cannot_say, "en")

    assert "[Cannot say] This log cannot say: it holds no step times." in text
    assert "nvidia-smi" in text
    assert "Not in this log: step time, data wait" in text


def rendered(draw: Callable[[Console], None], **options: object) -> str:
    stream = io.StringIO()
    draw(Console(file=stream, **options))  # type: ignore[arg-type]
    return stream.getvalue()


@EVERY
def test_through_a_pipe_there_is_no_colour_and_no_padding(make: Make) -> None:
    run, diagnosis, _ = make()
    text = rendered(lambda console: render_diagnosis(diagnosis, run, "zh", console), width=80)

    assert "\x1b" not in text
    assert all(line == line.rstrip() for line in text.splitlines())
    assert text.splitlines() == shown(make, "zh").splitlines()


def test_on_a_terminal_the_verdict_is_coloured_and_without_colour_the_words_are_the_same() -> None:
    run, diagnosis, _ = samples.data_bound()

    def draw(console: Console) -> None:
        render_diagnosis(diagnosis, run, "en", console)

    coloured = rendered(draw, width=80, force_terminal=True, color_system="standard", no_color=False)
    plain = rendered(draw, width=80, force_terminal=True, color_system="standard", no_color=True)

    assert "\x1b[1;33m[Waiting for data]" in coloured
    assert "[33m" not in plain


def test_a_terminal_without_unicode_gets_bars_of_ascii() -> None:
    run, diagnosis, _ = samples.data_bound()

    lines = diagnosis_lines(diagnosis, run, "en", blocks=False)

    assert not set("".join(line.plain for line in lines)) & set("\u2588\u2591\u258f")
    assert any("####" in line.plain for line in lines)


def test_square_brackets_in_a_name_are_no_markup() -> None:
    run, diagnosis, _ = samples.hostile("[red]x[/red]")

    assert "[red]x[/red]" in rendered(
        lambda console: render_diagnosis(diagnosis, run, "en", console), width=80
    )


@BOTH
@pytest.mark.parametrize("width", [60, 80, 120])
def test_runs_are_listed_with_whole_ids(language: Language, width: int) -> None:
    runs = [make()[0] for make in samples.ALL.values()]
    lines = [line.plain for line in runs_lines(runs, language, width=width)]

    assert max(map(cell_len, lines)) <= width
    assert all(any(line.startswith(run.id) for line in lines) for run in runs)


def test_no_run_is_said_in_words() -> None:
    assert rendered(lambda console: render_runs([], "en", console)) == "No runs here yet.\n"


def test_an_import_says_what_became_of_each_file() -> None:
    lines = [line.plain for line in import_lines(report(), "en", width=120)]

    assert lines[1].split() == ["train.log", "imported", "mmengine_log_text"]
    assert lines[2].startswith("notes.docx  failed")
    assert "3 files that are no known log were passed over." in lines
    assert lines[-1] == "Workspace: /srv/ws"


@BOTH
def test_an_import_fits_the_terminal(language: Language) -> None:
    text = rendered(lambda console: render_import(report(), language, console), width=80)

    assert max(map(cell_len, text.splitlines())) <= 80
