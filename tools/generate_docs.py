"""Write the generated regions of docs/ and the READMEs: formats, command line, the screen of the README.

A region stands between ``<!-- generated: NAME -->`` and ``<!-- end -->``; the rest of a page is written by
hand and left alone. Everything in a region comes from the code or from running it, so it cannot drift:
``tests/test_docs.py`` fails while a page differs from what this would write.

    python tools/generate_docs.py           write the pages
    python tools/generate_docs.py --check   name the pages that are out of date and exit 1
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path
from typing import get_args

from weighbridge.cli.demo import LOGS
from weighbridge.cli.main import VERBS
from weighbridge.errors import EXIT_CANNOT_SAY, EXIT_OK
from weighbridge.i18n import LANGUAGES, Language, speak
from weighbridge.readers.table import READERS
from weighbridge.schema.diagnosis import Verdict

ROOT = Path(__file__).resolve().parent.parent
README: dict[Language, Path] = {"en": ROOT / "README.md", "zh": ROOT / "README.zh.md"}
REGION = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
WIDTH = 96
# Verdict, one step, occupied time, memory, what a change would give; findings follow.
SCREEN_PARAGRAPHS = 5


def weighbridge(language: Language, *arguments: str) -> str:
    """What the command prints, as on a terminal of WIDTH columns without colours."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("WEIGHBRIDGE_")}
    surroundings |= {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    program = "from weighbridge.cli.main import main; main()"
    command = [sys.executable, "-c", program, "--lang", language, *arguments]
    with tempfile.TemporaryDirectory() as folder:
        answer = subprocess.run(
            command, cwd=folder, env=surroundings, capture_output=True, encoding="utf-8", check=False
        )
    if answer.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{answer.stderr}")
    return "\n".join(line.rstrip() for line in answer.stdout.strip("\n").splitlines())


def formats(language: Language) -> str:
    """One section per reader, in the order of the table."""
    words = {name: texts[language] for name, texts in labels().items()}
    sections = []
    for reader in READERS:
        answers = words["comma"].join(speak(f"answerable.{name}", language) for name in reader.answers)
        rows = (
            (words["name"], f"`{reader.name}`"),
            (words["looks_for"], speak(reader.looks_for, language)),
            (words["counts"], speak(reader.counts, language)),
            (words["answers"], answers),
        )
        lines = [f"- {label}{words['between']}{value}" for label, value in rows]
        example = f"```\n{reader.example.rstrip()}\n```"
        sections.append("\n".join([f"## {reader.title}", "", *lines, "", example]))
    return "\n\n".join(sections)


def labels() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((ROOT / "docs" / "labels.json").read_text(encoding="utf-8"))
    return found


def verdicts(language: Language) -> str:
    """The verdicts in the words of the report, and the exit code of each."""
    words = {name: texts[language] for name, texts in labels().items()}
    headings = [words[name] for name in ("verdict", "shown_as", "means", "exit_code")]
    rows = [headings, ["---"] * len(headings)]
    for verdict in get_args(Verdict):
        code = EXIT_CANNOT_SAY if verdict == "cannot_say" else EXIT_OK
        title, meaning = (speak(f"verdict.{verdict}{part}", language) for part in ("", ".meaning"))
        rows.append([f"`{verdict}`", title, meaning, str(code)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows).replace(
        "| --- | --- | --- | --- |", "|---|---|---|---|"
    )


def commands(language: Language) -> str:
    """The help of every verb, as the command prints it."""
    sections = [f"```\n{weighbridge(language, '--help')}\n```"]
    for verb, _ in VERBS:
        sections.append(f"## {verb}\n\n```\n{weighbridge(language, verb, '--help')}\n```")
    return "\n\n".join(sections)


def screen(language: Language) -> str:
    """The first of the demo's answers, as far as the table of changes."""
    with resources.as_file(resources.files("weighbridge.cli") / "demo_logs") as folder:
        answer = weighbridge(language, "diagnose", str(folder / LOGS[0]))
    shown = "\n\n".join(answer.split("\n\n")[:SCREEN_PARAGRAPHS])
    return f"```\n$ weighbridge diagnose {LOGS[0]}\n{shown}\n...\n```"


def regions(page: Path, language: Language) -> str:
    """The page with every region written anew."""
    writers = {"formats": formats, "commands": commands, "verdicts": verdicts, "screen": screen}
    return REGION.sub(
        lambda found: f"{found[1]}\n{writers[found[2]](language)}\n\n{found[3]}",
        page.read_text(encoding="utf-8"),
    )


def pages() -> list[tuple[Path, Language]]:
    found: list[tuple[Path, Language]] = []
    for language in LANGUAGES:
        found += [
            (page, language) for page in (README[language], *sorted((ROOT / "docs" / language).glob("*.md")))
        ]
    return found


def main(check: bool) -> int:
    stale = 0
    for page, language in pages():
        text = regions(page, language)
        if text == page.read_text(encoding="utf-8"):
            continue
        stale += 1
        print(f"{page.relative_to(ROOT)}: {'out of date (make docs)' if check else 'written'}")
        if not check:
            page.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
