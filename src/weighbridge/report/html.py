"""One self-contained HTML file for diagnoses: both languages in it, no request to anything outside.

Everything is escaped by ``markup``; on top of that the page's own policy allows exactly this style sheet and
this script, by their hashes, and no connection at all. The language switch works without script; the script
only keeps the document's language and title in step, and remembers nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Final

from weighbridge import __version__
from weighbridge.i18n import LANGUAGES, Language, choose_language, speak
from weighbridge.report import words
from weighbridge.report.charts import chart_css
from weighbridge.report.markup import Markup, element, join
from weighbridge.report.sections import answer, figures, records
from weighbridge.report.sections.material import Material, gather
from weighbridge.report.sections.parts import TableCell, table
from weighbridge.report.view import View
from weighbridge.schema.diagnosis import Diagnosis
from weighbridge.schema.run import Run

LANGUAGE_TAGS: Final[dict[Language, str]] = {"zh": "zh-CN", "en": "en"}
SECTIONS: Final[tuple[Callable[[Material, Language], Markup], ...]] = (
    answer.verdict,
    figures.breakdown,
    figures.timeline,
    figures.memory,
    figures.busy,
    answer.changes,
    records.evidence,
    answer.missing,
    records.provenance,
    records.problems,
)


def diagnosis_page(
    diagnoses: Sequence[tuple[Run, Diagnosis, View]], *, language: Language | None = None
) -> str:
    """The page of one or several runs, opening in ``language`` (None: as ``choose_language`` says).

    Raises ValueError without a run.
    """
    if not diagnoses:
        raise ValueError("a page needs at least one diagnosis")
    materials = [gather(number, *item) for number, item in enumerate(diagnoses, 1)]
    return document(
        [(each, page_title(materials, each), body(materials, each)) for each in LANGUAGES],
        language=language or choose_language(None),
        style=template("diagnosis-page.css"),
    )


def template(name: str) -> str:
    """A file of ``report/templates``."""
    return (resources.files("weighbridge.report") / "templates" / name).read_text(encoding="utf-8")


def page_title(materials: Sequence[Material], language: Language) -> str:
    """What a browser's tab and the top of the page say."""
    if len(materials) == 1:
        return speak("page.title", language, title=words.run_title(materials[0].run))
    return speak("page.title_many", language, count=len(materials))


def body(materials: Sequence[Material], language: Language) -> Markup:
    """Everything in one language."""
    several = len(materials) > 1
    articles = [
        element(
            "article",
            element("h1", page_title([material], language), id=f"run-{material.number}-{language}"),
            *(section(material, language) for section in SECTIONS),
        )
        for material in materials
    ]
    return join(
        [
            element("h1", page_title(materials, language)) if several else None,
            _overview(materials, language) if several else None,
            *articles,
            element("footer", element("p", speak("page.footer", language, version=__version__))),
        ]
    )


def _overview(materials: Sequence[Material], language: Language) -> Markup:
    rows = []
    for material in materials:
        diagnosis = material.diagnosis
        link = f"#run-{material.number}-{language}"
        use = answer.tightest(diagnosis)
        share = diagnosis.data_wait.share if diagnosis.data_wait is not None else None
        step = diagnosis.step.total if diagnosis.step is not None else diagnosis.step_seconds_median
        rows.append(
            [
                TableCell(element("a", words.run_title(material.run), href=link), head=True),
                TableCell(speak(f"verdict.{diagnosis.verdict}", language)),
                TableCell(words.quantity_words(step, language), number=True),
                TableCell(words.share_words(share, language), number=True),
                TableCell(words.quantity_words(use.peak if use else None, language), number=True),
            ]
        )
    columns = ("column.run", "column.verdict", "tile.step", "tile.wait", "page.memory")
    return table(speak("page.runs", language), columns, rows, language, numbers=(2, 3, 4))


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy(style: str, script: str | None) -> str:
    """Allow this style sheet and this script and nothing else: no connection, image, font, frame or form."""
    rules = ["default-src 'none'", f"style-src {_hash(style)}"]
    rules += [f"script-src {_hash(script)}"] if script else []
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def document(bodies: Sequence[tuple[Language, str, Markup]], *, language: Language, style: str) -> str:
    """A whole file of (language, title, body), with a switch where there are several.

    The switch stands before the bodies, so that CSS alone can obey it.
    """
    style = f"{chart_css()}\n{style}"
    several = len(bodies) > 1
    script = template("diagnosis-page.js") if several else None
    title = next(title for each, title, _ in bodies if each == language)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(style)),
    )
    switch = [_switch(each, title, checked=each == language) for each, title, _ in bodies if several]
    contents = [
        element("div", markup, class_=f"language {each}", lang=LANGUAGE_TAGS[each])
        for each, _, markup in bodies
    ]
    ending = element("script", Markup(script)) if script else None
    page = element("body", element("main", *switch, *contents), ending)
    return "<!doctype html>\n" + element("html", head, page, lang=LANGUAGE_TAGS[language]) + "\n"


def _switch(language: Language, title: str, *, checked: bool) -> Markup:
    name = f"show-{language}"
    button = element(
        "input", type="radio", name="language", id=name, value=LANGUAGE_TAGS[language], checked=checked,
        autocomplete="off", data_title=title,
    )  # fmt: skip
    label = element("label", speak("page.language", language), for_=name, lang=LANGUAGE_TAGS[language])
    return join([button, label])
