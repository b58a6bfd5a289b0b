"""The documentation is run: commands work as shown, generated pages are current, both languages agree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from weighbridge.cli.main import VERBS
from weighbridge.diagnose import verdict
from weighbridge.weigh import windows

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "README.zh.md",
    ROOT / "examples" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
WEIGHBRIDGE = (
    "weighbridge() { " + sys.executable + " -c 'from weighbridge.cli.main import main; main()' \"$@\"; }"
)


def sessions() -> list[tuple[Path, str]]:
    """Every console block that shows our own commands."""
    found = [(page, block) for page in PAGES for block in CONSOLE.findall(page.read_text(encoding="utf-8"))]
    return [(page, block) for page, block in found if "weighbridge" in block]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    ("page", "block"), sessions(), ids=lambda value: name_of(value) if isinstance(value, Path) else ""
)
def test_the_commands_that_a_page_shows_work_in_the_order_shown(
    page: Path, block: str, tmp_path: Path
) -> None:
    """One folder per block, with examples/ in it. Every line of output shown must come out; "..." is any."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    commands = re.findall(r"^\$ (.+)$", block, re.MULTILINE)
    script = "\n".join([WEIGHBRIDGE, "set -e -o pipefail", *commands])
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("WEIGHBRIDGE_")}
    surroundings |= {"LC_ALL": "C.UTF-8", "COLUMNS": "100", "NO_COLOR": "1"}
    answer = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=surroundings,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert answer.returncode == 0, f"{commands}\n{answer.stdout}\n{answer.stderr}"
    shown = [
        line.rstrip()
        for line in block.splitlines()
        if not line.startswith("$ ") and line.strip() not in ("", "...")
    ]
    printed = {line.rstrip() for line in answer.stdout.splitlines() + answer.stderr.splitlines()}
    assert [line for line in shown if line not in printed] == []


def test_there_are_commands_to_run_in_both_languages() -> None:
    pages = {name_of(page) for page, _ in sessions()}

    assert {"docs/en/diagnose.md", "docs/zh/diagnose.md"} <= pages


def test_generated_pages_say_what_the_code_says_now() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_docs.py"), "--check"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)

    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_verb_is_documented(language: str) -> None:
    page = (ROOT / "docs" / language / "command-line.md").read_text(encoding="utf-8")

    assert re.findall(r"^## (\S+)$", page, re.MULTILINE) == [verb for verb, _ in VERBS]


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_a_readme_names_only_verbs_that_exist_and_stays_short(readme: str) -> None:
    text = (ROOT / readme).read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^|[`$] ?)weighbridge ([a-z]+)", text, re.MULTILINE))

    assert {"init", "import", "diagnose", "brief", "runs"} <= named <= {verb for verb, _ in VERBS}
    assert len(text.splitlines()) < 200


def test_both_languages_have_the_same_pages_with_the_same_sections() -> None:
    shapes = {}
    for language in ("en", "zh"):
        for page in sorted((ROOT / "docs" / language).glob("*.md")):
            text = page.read_text(encoding="utf-8")
            marks = re.findall(r"^(#+ |```|\|)", text, re.MULTILINE)
            shapes.setdefault(page.name, {})[language] = marks
    different = [name for name, shape in shapes.items() if shape.get("en") != shape.get("zh")]

    assert different == []


def test_the_glossary_has_the_same_words_in_the_same_order_in_both_languages() -> None:
    rows = {}
    for language in ("en", "zh"):
        text = (ROOT / "docs" / language / "glossary.md").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line.startswith("| ")]
        rows[language] = [line.split(" | ")[0].removeprefix("| ") for line in lines]
    headings = {"word": "\u82f1\u6587", "counter": "\u82f1\u6587"}

    assert [headings.get(word, word) for word in rows["en"]] == rows["zh"]
    assert {"Workspace", "Run", "Load", "Machine", "Fit", "Finding", "Quantity"} <= set(rows["en"])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_that_are_there(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_thresholds_in_the_guide_are_those_in_the_code(language: str) -> None:
    page = (ROOT / "docs" / language / "diagnose.md").read_text(encoding="utf-8")
    for share in (verdict.DECIDING_SHARE, verdict.HINT_SHARE, verdict.COMPUTE_SHARE):
        assert f" {share * 100:.0f} %" in page
    for name in verdict.Verdict.__args__:
        assert f"| `{name}` |" in page

    assert f" {windows.COLD_FACTOR} " in page
    assert windows.COLD_LARGEST_PART == 0.1
    assert {"en": "a tenth of the windows", "zh": "\u5341\u5206\u4e4b\u4e00"}[language] in page
