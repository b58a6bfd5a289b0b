"""The shapes of Paddle training lines: where the step time stands, and what the position before it counts.

One line in, one Record or None out; keeps nothing between lines. What a figure means over several lines
(running means, positions counted in samples, batch time without data time) is ``paddle_text``'s business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from weighbridge.readers.running_mean import half_unit
from weighbridge.schema.columns import EVALUATION, TRAIN
from weighbridge.units import GIB, MIB


@dataclass(frozen=True, slots=True)
class Shape:
    """How a family of repositories writes its position.

    ``zero`` says that the first iteration is 0; ``whole_run`` that iterations are counted over the run and
    not over the epoch; ``first_epoch`` is the family's first epoch; ``known`` that the family's source was
    read: its batch time includes the wait for data, and (``card_rate``) ips x batch time is one card's batch.
    ``last`` says that the figures are of the last batch alone, not means of the steps since the line before.
    """

    name: str
    pattern: re.Pattern[bytes]
    first_epoch: int
    zero: bool
    whole_run: bool
    known: bool = True
    card_rate: bool = True
    last: bool = False

    @property
    def groups(self) -> tuple[int, ...]:
        """Numbers of the pattern's groups epoch, epochs, at, of; 0 where it has none."""
        return tuple(self.pattern.groupindex.get(name, 0) for name in _FIELDS)


_FIELDS: Final = ("epoch", "epochs", "at", "of")


def _pattern(text: bytes) -> re.Pattern[bytes]:
    """<epoch> is a number of that name."""
    return re.compile(re.sub(rb"(?<!\?P)<(\w+)>", rb"(?P<\1>\\d{1,9})", text))


SHAPES: Final = (
    Shape(
        "clas",
        _pattern(rb"\[(?:(?P<train>Train)|Eval)\]\[Epoch <epoch>(?:/<epochs>)?\]\[Iter: ?<at>/<of>\]"),
        first_epoch=1, zero=True, whole_run=False,
    ),
    Shape(
        "science",
        _pattern(
            rb"\[(?:(?P<train>Train)|Eval)\]\[Epoch\s+<epoch>(?:/<epochs>)?\]\[Iter\s+<at>/<of>\]"
        ),
        first_epoch=1, zero=False, whole_run=False, card_rate=False,
    ),
    Shape(
        "detection", _pattern(rb"Epoch: \[<epoch>\] \[\s*<at>/<of>\]"),
        first_epoch=0, zero=True, whole_run=False,
    ),
    Shape(
        "ocr", _pattern(rb"epoch: \[<epoch>/<epochs>\], (?:global_step|iter): <at>\b"),
        first_epoch=1, zero=False, whole_run=True,
    ),
    Shape(
        "segmentation", _pattern(rb"epoch ?[:=] ?<epoch>, iter ?[:=] ?<at>/<of>\b"),
        first_epoch=1, zero=False, whole_run=True,
    ),
    Shape(
        "gan", _pattern(rb"Epoch: <epoch>/<epochs>, iter: <at>/<of>\b"),
        first_epoch=1, zero=False, whole_run=False,
    ),
    Shape(
        "clas_2020", _pattern(rb"epoch:<epoch>\s*,?\s+(?:(?P<train>train)|val|valid|test|eval) step:<at>\b"),
        first_epoch=0, zero=True, whole_run=False,
    ),
    Shape(
        "video",
        _pattern(
            rb"epoch:\[\s*<epoch>\s*/\s*<epochs>\s*\]\s+(?:(?P<train>train)|val|valid|test|eval)\w*\s+step:\s*<at>\b"
        ),
        first_epoch=1, zero=True, whole_run=False, last=True,
    ),
    Shape(
        "paddlex", _pattern(rb"Epoch=<epoch>/<epochs>, Step=<at>/<of>\b"),
        first_epoch=1, zero=False, whole_run=False,
    ),
    Shape(
        "global_step",
        _pattern(rb"(?:\[<epoch>/<epochs>\], \[\d+/\d+\], )?\bglob\w*[_ ]step:? <at>\b"),
        first_epoch=1, zero=False, whole_run=True, known=False, card_rate=False,
    ),
    Shape(
        "loop", _pattern(rb"[Ee]poch:?\s*\[?<epoch>(?:/<epochs>)?\]?[\s,]*\[\s*<at>/<of>\]"),
        first_epoch=1, zero=False, whole_run=False, known=False, card_rate=False,
    ),
    Shape(
        "loop_of_words",
        _pattern(
            rb"[Ee]poch\W{1,3}<epoch>(?:/<epochs>)?\W{1,5}(?:[Bb]atch_id|[Bb]atch|[Ii]ter|[Ss]tep)\W{1,3}"
            rb"<at>(?:/<of>)?\b"
        ),
        first_epoch=0, zero=False, whole_run=False, known=False, card_rate=False,
    ),
    Shape(
        "gan_by_iteration", _pattern(rb"\bIter: <at>/<of>\b"),
        first_epoch=1, zero=False, whole_run=True,
    ),
    Shape(
        "iteration", _pattern(rb"\b(?:[Ii]ter|[Ii]teration|[Ss]tep)\W{1,3}<at>(?:/<of>)?\b"),
        first_epoch=0, zero=False, whole_run=True, known=False, card_rate=False,
    ),
)  # fmt: skip
# A line cut at its beginning, or somebody's own format: figures without a position.
NOWHERE: Final = Shape(
    "nowhere", _pattern(rb"$^"), 0, zero=False, whole_run=False, known=False, card_rate=False
)
_GROUPS: Final = {shape.name: shape.groups for shape in SHAPES}

_VALUE = rb"\s*[:=]\s*(\d{1,15}(?:\.\d{0,25})?(?:e[-+]?\d\d?)?)"
_SECONDS = re.compile(_VALUE + rb"\s*(ms|secs?|s|)(?=[^\w.]|\.\D)")
_PLAIN = re.compile(_VALUE + rb"(?=[^\w.]|\.\D)")
_BYTES = re.compile(_VALUE + rb"(?:\s*([MG])i?B)?(?=[^\w.])")
_TOKENS = re.compile(rb"\s*tok")
# Looked for as plain bytes: several times faster than one pattern for all of them.
_STEP_NAMES: Final = (b"batch_cost", b"batch time", b"batch_time", b"batch cost", b"time_each_step")
_DATA_NAMES: Final = (
    b"reader_cost", b"data_cost", b"data time", b"data_time", b"reader cost", b"data cost",
    b"reader_time", b"reader time",
)  # fmt: skip
_TRAINING_WORDS: Final = (b" lr", b"]lr", b"learning_rate", b" eta", b"ETA ", b"[TRAIN]", b"[Train]")
_EVALUATION = re.compile(
    rb"\[(?:eval|val|valid|test)\w*\]|\b(?:eval|val|valid|test)\b(?:uation|idation)?[ :]", re.IGNORECASE
)
_BAR = re.compile(rb"/\d+ \[[=>.]+\] - |/step - batch_cost")


@dataclass(slots=True)
class Record:
    """One line's figures as printed, in seconds; ``phase`` is None where the line does not say.

    ``order`` compares two lines of one run: the later one is greater.
    """

    line: int
    shape: Shape
    phase: str | None
    epoch: int | None
    epochs: int | None
    place: int | None
    places: int | None
    order: tuple[int, int]
    step: float
    data: float | None
    half_unit: float
    rate: float | None
    samples: float | None
    reserved: float | None
    allocated: float | None
    at: float | None = None
    rank: int | None = None
    quoted: bool = False
    cut: bool = False


def parse(number: int, line: bytes, guess: Shape | None) -> Record | None:
    """The record on a line, or None. ``guess`` is the shape of the line before: it is tried first.

    A step time alone is a record only with a position: prose explains single fields. A progress bar's
    redrawn figures are no records.
    """
    step = _figure(line, _STEP_NAMES, _SECONDS)
    if step is None or b"END epoch" in line or b"Epoch time" in line:
        return None
    if b"[" in line and _BAR.search(line):
        return None
    data = _figure(line, _DATA_NAMES, _SECONDS)
    shape, match = _find(line, guess)
    if data is None and match is None:
        return None
    epoch, epochs, at, of = _fields(shape, match)
    step_scale, data_scale = (1e-3 if one and one[2] == b"ms" else 1.0 for one in (step, data))
    memory = b"max" in line
    return Record(
        line=number,
        shape=shape,
        phase=_phase(line, match),
        epoch=int(epoch) if epoch else None,
        epochs=int(epochs) if epochs else None,
        place=int(at) if at else None,
        places=int(of) if of else None,
        order=(int(epoch) if epoch and not shape.whole_run else 0, int(at) if at else -1),
        step=float(step[1]) * step_scale,
        data=float(data[1]) * data_scale if data else None,
        half_unit=max(half_unit(step[1]) * step_scale, half_unit(data[1]) * data_scale if data else 0.0),
        rate=_rate(line),
        samples=_number(_figure(line, (b"samples",), _PLAIN)),
        reserved=_bytes(_figure(line, (b"max_mem_reserved",), _BYTES)) if memory else None,
        allocated=_bytes(_figure(line, (b"max_mem_allocated", b"max mem"), _BYTES)) if memory else None,
    )


def _figure(line: bytes, names: tuple[bytes, ...], value: re.Pattern[bytes]) -> re.Match[bytes] | None:
    """The first of ``names`` on the line that a value follows."""
    for name in names:
        at = line.find(name)
        while at >= 0:
            if match := value.match(line, at + len(name)):
                return match
            at = line.find(name, at + 1)
    return None


def _fields(shape: Shape, match: re.Match[bytes] | None) -> tuple[bytes | None, ...]:
    if match is None:
        return (None,) * len(_FIELDS)
    return tuple(match[group] if group else None for group in _GROUPS[shape.name])


def _find(line: bytes, guess: Shape | None) -> tuple[Shape, re.Match[bytes] | None]:
    if guess is not None and (match := guess.pattern.search(line)):
        return guess, match
    for shape in SHAPES:
        if match := shape.pattern.search(line):
            return shape, match
    return NOWHERE, None


def _phase(line: bytes, match: re.Match[bytes] | None) -> str | None:
    if match is not None and "train" in match.re.groupindex:
        return TRAIN if match["train"] else EVALUATION
    for training in _TRAINING_WORDS:
        if training in line:
            return TRAIN
    if _EVALUATION.search(line):
        return EVALUATION
    return TRAIN if match else None


def _rate(line: bytes) -> float | None:
    """Samples per second; language models print tokens per second under the same name."""
    match = _figure(line, (b"ips",), _PLAIN)
    return None if match is None or _TOKENS.match(line, match.end()) else float(match[1])


def _number(match: re.Match[bytes] | None) -> float | None:
    return float(match[1]) if match else None


def _bytes(match: re.Match[bytes] | None) -> float | None:
    """Paddle divides by 1024**2 and prints MB (or by 1024**3 and prints GB)."""
    return float(match[1]) * (GIB if match[2] == b"G" else MIB) if match else None
