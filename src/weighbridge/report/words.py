"""Words that several reports share: phases, places, times, what a counterfactual assumes.

Every function returns plain text: whoever puts it into a page escapes it there. A code that the catalogue
does not know yet is shown as it is; a report with one odd word is worth more than a traceback.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Final

from weighbridge.i18n import Language, has, say_quantity, speak
from weighbridge.report.markup import one_line, printable
from weighbridge.schema.answerable import ORDER
from weighbridge.schema.diagnosis import Counterfactual, Diagnosis
from weighbridge.schema.finding import Evidence, Finding
from weighbridge.schema.run import Clock, Problem, Run
from weighbridge.units import Quantity, format_share, format_times

# Below this a share would print as 0.0 %.
LEAST_SHARE: Final = 0.0005
_MINUTE = "%Y-%m-%d %H:%M:%S"


def sentence(code: str, params: Mapping[str, object], language: Language) -> str:
    """The sentence of a code that comes from another room."""
    if not has(code):
        return printable(code)
    return printable(speak(code, language, **params))


def finding_words(finding: Finding, language: Language) -> str:
    """The sentence of a finding."""
    return sentence(finding.code, finding.params, language)


def remedy_words(finding: Finding, language: Language) -> list[str]:
    """What would mend it, one sentence each."""
    return [sentence(code, finding.params, language) for code in finding.remedies]


def phase_word(name: str, language: Language) -> str:
    """The name of a phase of a step or of the occupied time."""
    code = f"phase.{name}"
    return speak(code, language) if has(code) else one_line(name.replace("_", " "))


def quantity_words(quantity: Quantity | None, language: Language, *, interval: bool = True) -> str:
    """A figure with unit and interval; None and unknown alike read as not measured."""
    if quantity is None:
        return speak("value.unknown", language)
    return say_quantity(quantity, language, interval=interval)


def origin_word(quantity: Quantity, language: Language) -> str:
    """Where a figure comes from; nothing for a figure that is not there."""
    if quantity.value is None and quantity.low is None and quantity.high is None:
        return ""
    return speak(f"origin.{quantity.origin}", language)


def share_words(share: float | None, language: Language) -> str:
    """A share in per cent, or not measured; a part that took time never reads as nothing."""
    if share is None:
        return speak("value.unknown", language)
    return "< 0.1 %" if 0 < share < LEAST_SHARE else format_share(share)


def lines_words(evidence: Evidence) -> str:
    """The line or lines, as a range; empty when the evidence is the file as a whole."""
    first, last = evidence.line_first, evidence.line_last
    if first is None:
        return ""
    return f"{first:,}" if last is None or last == first else f"{first:,}\u2013{last:,}"


def place_words(evidence: Evidence) -> str:
    """``file:12-90`` as compilers write it, for terminals."""
    place = one_line(evidence.source)
    if evidence.line_first is None:
        return place
    if evidence.line_last is None or evidence.line_last == evidence.line_first:
        return f"{place}:{evidence.line_first}"
    return f"{place}:{evidence.line_first}-{evidence.line_last}"


def _moment(at_seconds: float | None) -> datetime.datetime | None:
    if at_seconds is None:
        return None
    try:
        return datetime.datetime.fromtimestamp(at_seconds, datetime.UTC)
    except (ValueError, OverflowError, OSError):
        return None


def span_words(evidence: Evidence, clock: Clock, language: Language) -> str:
    """From when to when the evidence stands, on the run's clock; the date once where it is the same.

    A local clock without a zone is printed as the log printed it.
    """
    first, last = _moment(evidence.at_first_seconds), _moment(evidence.at_last_seconds)
    if clock == "none" or (first is None and last is None):
        return ""
    text = (first or last).strftime(_MINUTE)  # type: ignore[union-attr]
    if first is not None and last is not None and first != last:
        same_day = first.date() == last.date()
        text += f" \u2013 {last.strftime(_MINUTE[-8:] if same_day else _MINUTE)}"
    return speak(f"place.clock_{clock}", language, moment=text)


def change_words(change: Counterfactual, language: Language) -> str:
    """What is changed."""
    return sentence(change.code, change.params, language)


def assumption_words(change: Counterfactual, language: Language) -> list[str]:
    """What the change assumes: scaling, what added GPUs bring, what gets faster, the condition."""
    words = []
    if change.scaling is not None:
        words.append(speak(f"scaling.{change.scaling}", language))
    if change.brings is not None:
        words.append(speak(f"brings.{change.brings}", language))
    if change.scope != "step":
        words.append(speak(f"scope.{change.scope}", language))
    if change.condition is not None:
        words.append(sentence(change.condition, change.params, language))
    return words


def clauses(parts: Sequence[str], language: Language) -> str:
    """Parts of a sentence one after another."""
    return ("\uff1b" if language == "zh" else "; ").join(parts)


def cost_word(change: Counterfactual, language: Language) -> str:
    """Whether the change costs money, is free, or may be either."""
    word = {True: "money", False: "free", None: "either"}[change.costs_money]
    return speak(f"cost.{word}", language)


def speed_up_words(speed_up: Quantity, language: Language) -> str:
    """The factor with its interval; only the interval where no single figure is supported."""
    low, high, value = speed_up.low, speed_up.high, speed_up.value
    if value is not None and low is None and high is None and speed_up.operator == "<=":
        return speak("speed_up.up_to", language, value=format_times(value))
    if value is None and low is not None and high is not None:
        return f"{format_times(low)} \u2013 {format_times(high)}"
    if value is None and low is None and high is not None:
        return speak("speed_up.up_to", language, value=format_times(high))
    if value is None and low is not None and high is None:
        return speak("speed_up.at_least", language, value=format_times(low))
    if value is not None and low == value == high:
        return format_times(value)
    return quantity_words(speed_up, language)


def unanswerable(diagnosis: Diagnosis, language: Language) -> list[str]:
    """What this run cannot support, in the order shown to people."""
    return [speak(f"answerable.{name}", language) for name in ORDER if name not in diagnosis.answerable]


def formats_of(run: Run) -> str:
    """The readers that the run was read by, each once."""
    return ", ".join(dict.fromkeys(source.reader for source in run.sources))


def run_title(run: Run) -> str:
    """What people call the run: its name, else its first file, else its id."""
    if run.name:
        return one_line(run.name)
    return one_line(run.sources[0].name) if run.sources else one_line(run.id)


def source_name(run: Run, index: int) -> str:
    """The name of a source of the run; empty when the index points nowhere."""
    return one_line(run.sources[index].name) if 0 <= index < len(run.sources) else ""


def problem_words(problem: Problem, run: Run, language: Language) -> str:
    """What could not be read, where, and how often."""
    text = sentence(
        problem.code,
        {"name": source_name(run, problem.source), "line": problem.line, **problem.params},
        language,
    )
    place = source_name(run, problem.source) + (f":{problem.line}" if problem.line is not None else "")
    often = f" \u00d7{problem.count:,}" if problem.count > 1 else ""
    return f"{text} ({place}{often})" if place or often else text
