"""What Paddle logs say between the records: environment, checkpoints, ends of epochs, evaluations.

Turns single lines into facts and events of the assembler it is given; knows nothing of rows.
"""

from __future__ import annotations

import re
from typing import Final

from weighbridge.readers.assemble import Assembler
from weighbridge.readers.line_prefix import Stamps
from weighbridge.readers.paddle_lines import Record
from weighbridge.schema.columns import TRAIN
from weighbridge.schema.event import Event

_NUMBER = rb"\d{1,15}(?:\.\d{1,15})?"
_NOTE = re.compile(
    rb"(?P<saved>Save checkpoint:|[Ss]ave (?:best )?model (?:in|is to|to)|Already save (?:the best )?model"
    rb"|Model saved in)"
    rb"|Total sample number: ?(?P<samples>\d{1,9}), aver\w* FPS: ?(?P<fps><N>)"
    rb"|[Ee]poch:? ?\[?(?P<epoch>\d{1,9})\]? (?:training ends, total|done\b.{0,200}?epoch time:?)"
    rb" ?(?P<took><N>) ?s"
    rb"|END epoch:(?P<ended>\d{1,9})\s+(?P<mode>\w+)\s.{0,400}?batch_cost_sum: (?P<sum><N>) (?P<unit>s|min)"
    rb"|Epoch ID: (?P<closed>\d{1,9}), Epoch time: (?P<lasted><N>) s"
    rb"|\[(?P<clas>Train|Eval)\]\[Epoch (?P<averaged>\d{1,9})(?:/\d+)?\]\[Avg\]"
    rb"|(?P<begins>Start(?: to)? evaluat|Test on Epoch|Eval iter: 0\b)"
    rb"|(?P<over>\[EVAL\] (?:#Images|Finished)|cur metric,)"
    rb"|\|\s*(?P<bar>\d{1,9})/(?P=bar) "
    rb"\[(?:(?P<bar_hours>\d{1,4}):)?(?P<bar_minutes>\d\d):(?P<bar_seconds>\d\d)<"
    rb"|\b(?P<keras>\d{1,9})/(?P=keras) \[=+\] - (?P<keras_seconds>\d{1,9})s "
    rb"|Local start (?P<processes>\d{1,9}) processes|GPUs used: (?P<gpus>\d{1,9})\b"
    rb"|train with paddle (?P<paddle>\d[\w.]*)|PaddlePaddle: (?P<paddle2>\d[\w.]*)"
    rb"|^Python: (?P<python>\d[\w.]*)|GPU \d+: (?P<gpu>[^'\]\n(]{3,60}?)['\]\n(]"
    rb"|Runtime API Version: (?P<cuda>\d+\.\d+)|cuDNN Version: (?P<cudnn>\d+(?:\.\d+)*)"
    rb"|train dataloader has (?P<iterations>\d{1,9}) iters".replace(b"<N>", _NUMBER)
)
# Lines without any of these words are not searched.
_WORDS: Final = (
    b"ave", b"Total sample", b"poch", b"val", b"EVAL", b"metric,", b"it/s", b"s/it", b"] - ", b"<", b"GPU",
    b"addle", b"Python", b"Local start", b"Runtime API", b"cuDNN", b"dataloader",
)  # fmt: skip
_STARTS: Final = ("processes", "paddle", "paddle2")


class Notes:
    """Reads the lines between the records. ``started`` says that a banner of a start has gone by."""

    def __init__(self, out: Assembler, stamps: Stamps) -> None:
        self.out = out
        self.stamps = stamps
        self.started = False
        self.epoch: int | None = None
        self.evaluating = False
        self.began_at: float | None = None
        self.bar_seconds: float | None = None
        self.evaluation_line: int | None = None
        self.first: Record | None = None
        self.last: Record | None = None

    def seen(self, record: Record) -> None:
        """A record was read: it ends an evaluation or is part of one."""
        if record.phase != TRAIN:
            # A line that does not say what it is may be an evaluation's first one, cut.
            if self.first is None:
                self.first = record
            self.last = record
            return
        self.end_evaluation()
        self.first = self.last = None
        if record.epoch is not None:
            self.epoch = record.epoch

    def other(self, number: int, line: bytes) -> None:
        for word in _WORDS:
            if word in line:
                break
        else:
            return
        match = _NOTE.search(line)
        if match is None:
            return
        kind = match.lastgroup
        if kind == "saved":
            self._event("checkpoint", number, line)
        elif kind == "fps":
            fps = float(match["fps"])
            self.evaluating = False
            self._event("evaluation", number, line, int(match["samples"]) / fps if fps else None)
        elif kind == "took":
            self._event("epoch", number, line, float(match["took"]), int(match["epoch"]))
        elif kind == "lasted":
            self._event("epoch", number, line, float(match["lasted"]), int(match["closed"]))
        elif kind == "unit":
            seconds = float(match["sum"]) * (60.0 if match["unit"] == b"min" else 1.0)
            what = "epoch" if match["mode"] == b"train" else "evaluation"
            self._event(what, number, line, seconds, int(match["ended"]))
        elif kind == "averaged":
            self._averaged(number, line, match)
        elif kind == "begins":
            self.end_evaluation()
            self.evaluating, self.began_at, self.evaluation_line = True, self.stamps.at(line), number
        elif kind == "over":
            self._over(number, line)
        elif kind in ("bar_seconds", "keras_seconds"):
            self._bar(number, line, match)
        else:
            self._banner(match)

    def _event(
        self, kind: str, number: int, line: bytes, seconds: float | None = None, epoch: int | None = None
    ) -> None:
        self.out.events.append(
            Event(
                kind=kind,  # type: ignore[arg-type]
                epoch=self.epoch if epoch is None else epoch,
                seconds=seconds,
                at_seconds=self.stamps.at(line),
                line=number,
            )
        )

    def _averaged(self, number: int, line: bytes, match: re.Match[bytes]) -> None:
        """PaddleClas closes a pass with an [Avg] line."""
        if match["clas"] == b"Train":
            self._event("epoch", number, line, None, int(match["averaged"]))
            return
        at = self.stamps.at(line)
        first, last = self.first, self.last
        seconds: float | None = None
        if first is not None and first.at is not None and at is not None:
            seconds = at - first.at + first.step
        elif first is not None and last is not None and last.places:
            # The first batch alone, then the mean of the rest.
            seconds = first.step + last.step * (last.places - 1)
        self._event("evaluation", number, line, seconds, self.epoch)
        self.first = self.last = None

    def _bar(self, number: int, line: bytes, match: re.Match[bytes]) -> None:
        """A progress bar that reached its end, to the second."""
        if not self.evaluating and b"eval" not in line:
            return
        if match["keras_seconds"]:
            seconds = float(match["keras_seconds"])
        else:
            hours = int(match["bar_hours"] or 0)
            seconds = hours * 3600.0 + int(match["bar_minutes"]) * 60.0 + int(match["bar_seconds"])
        if not self.evaluating:
            self.evaluating, self.began_at = True, None
        self.bar_seconds = (self.bar_seconds or 0.0) + seconds
        self.evaluation_line = number

    def _over(self, number: int, line: bytes) -> None:
        if not self.evaluating:
            return
        at = self.stamps.at(line)
        if self.began_at is not None and at is not None and at >= self.began_at:
            self.bar_seconds = at - self.began_at
        self.evaluation_line = number
        self.end_evaluation(at)

    def end_evaluation(self, at: float | None = None) -> None:
        """The evaluation that was going on is over; without a length it is only known that there was one."""
        if not self.evaluating:
            return
        self.out.events.append(
            Event(
                kind="evaluation",
                epoch=self.epoch,
                seconds=self.bar_seconds,
                at_seconds=at,
                line=self.evaluation_line,
            )
        )
        self.evaluating, self.bar_seconds, self.began_at = False, None, None

    def _banner(self, match: re.Match[bytes]) -> None:
        banner = self.out.banner
        kind = str(match.lastgroup)
        value = match[kind]
        text = value.decode("utf-8", "replace").strip()
        self.started = self.started or kind in _STARTS
        match kind:
            case "processes" | "gpus":
                banner["hardware.gpus"] = int(value)
            case "paddle" | "paddle2":
                banner["environment.framework_version"] = text
            case "python":
                banner["environment.python"] = text
            case "gpu":
                banner["hardware.gpu_name"] = text
            case "cuda":
                banner["environment.cuda"] = text
            case "cudnn":
                banner["environment.cudnn"] = text.rstrip(".")
            case "iterations":
                banner["planned.steps_per_epoch"] = int(value)
