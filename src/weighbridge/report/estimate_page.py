"""An Estimate as one self-contained HTML file, both languages in it: the drawings, then the report's text.

The text is that of the terminal, so that page and terminal cannot say different things.
"""

from __future__ import annotations

from weighbridge import __version__
from weighbridge.i18n import LANGUAGES, Language, speak
from weighbridge.report.charts import breakdown_svg
from weighbridge.report.charts.memory_parts import memory_parts_svg
from weighbridge.report.estimate import estimate_lines, step_heading
from weighbridge.report.html import document, template
from weighbridge.report.markup import Markup, element, join
from weighbridge.schema.estimate import Estimate

_WIDTH = 100


def estimate_page(answer: Estimate, *, language: Language) -> str:
    """The page, opening in ``language``."""
    bodies = [(each, title(answer, each), body(answer, each)) for each in LANGUAGES]
    return document(bodies, language=language, style=template("diagnosis-page.css"))


def title(answer: Estimate, language: Language) -> str:
    return speak(
        "estimate.page.title", language, name=answer.description.name, gpus=answer.gpus, gpu=answer.gpu
    )


def body(answer: Estimate, language: Language) -> Markup:
    fit = answer.fit
    figures: list[Markup] = []
    if fit.memory is not None:
        figures.append(element("h2", speak("estimate.chart.title", language)))
        figures.append(
            element("figure", memory_parts_svg(fit.memory, language=language, identity=f"memory-{language}"))
        )
    if fit.step is not None:
        heading = step_heading(fit, language)
        figures.append(element("h2", heading))
        figures.append(
            element(
                "figure",
                breakdown_svg(fit.step, title=heading, language=language, identity=f"step-{language}"),
            )
        )
    text = "\n".join(line.plain.rstrip() for line in estimate_lines(answer, language, width=_WIDTH))
    return join(
        [
            element("article", element("h1", title(answer, language)), *figures, element("pre", text)),
            element("footer", element("p", speak("page.footer", language, version=__version__))),
        ]
    )
