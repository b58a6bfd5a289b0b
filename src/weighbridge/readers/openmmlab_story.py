"""What happens in an OpenMMLab log, line after line: runs, windows, evaluations, checkpoints, facts.

Takes what a reader has parsed and decides what depends on more than one line: whether training begins from
scratch or goes on, how long an evaluation took, whose the facts of a banner are. Parses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from weighbridge.readers.base import Events, Facts, Piece, RunStart
from weighbridge.readers.openmmlab_header import Header
from weighbridge.readers.openmmlab_windows import Group, Windows
from weighbridge.schema.event import Event
from weighbridge.schema.run import Scalar

# Events of a very long log leave in parts.
_MANY_EVENTS = 1024
# An evaluation counts as part of a wait when the wait is at least this part of it.
_INSIDE_SHARE = 0.5


@dataclass(slots=True)
class _Banner:
    """Lines before training: until its first row they may belong to another run than what came before."""

    line: int | None = None
    at_seconds: float | None = None
    resumed: bool = False
    # Facts and events of the run that may begin; None for the first banner of a source.
    header: Header | None = None
    first_event: int = 0


@dataclass(slots=True)
class _Pass:
    """The evaluation that may be under way: where training ended and what is known of its beginning."""

    training_ended: float | None = None
    checkpoint_at: float | None = None
    began: float | None = None
    has_rows: bool = False


class Story:
    """State of one source. ``extra`` are facts that every run of it shares."""

    def __init__(self) -> None:
        self.windows = Windows()
        self.header = Header()
        self.extra: dict[str, Scalar] = {}
        self._events: list[Event] = []
        # Names of the experiment with their lines, until it is clear to which run they belong.
        self._names: list[tuple[int, str]] = []
        self._banner: _Banner | None = _Banner()
        self._pass = _Pass()
        self._open_checkpoint: int | None = None
        self._out_of_memory = False
        self._evaluation_seconds: float | None = None
        self._waits_with_evaluation = 0

    @property
    def before_training(self) -> bool:
        return self._banner is not None

    def banner(self, line: int) -> None:
        """A line that only stands before training."""
        if self._banner is None:
            self._banner = _Banner(line=line, header=Header(), first_event=len(self._events))
        elif self._banner.line is None:
            self._banner.line = line

    def before(self, at_seconds: float | None) -> Header:
        """The header that takes a line before training; ``at_seconds`` is the line's stamp."""
        if self._banner is None:
            return self.header
        if self._banner.at_seconds is None:
            self._banner.at_seconds = at_seconds
        return self._banner.header or self.header

    def resumed(self) -> None:
        if self._banner is None:
            self._banner = _Banner(first_event=len(self._events))
        self._banner.resumed = True

    def named(self, line: int, name: str) -> None:
        """The name of the experiment stands in a line; lines may be told before the rows between them."""
        self._names.append((line, name))

    def _take_names(self, end: int | None = None) -> None:
        """The first name before line ``end`` (None: of all) is that of the current run."""
        mine = [(line, name) for line, name in self._names if end is None or line < end]
        if mine:
            self.header.values.setdefault("name", min(mine)[1])
        self._names = [named for named in self._names if named not in mine]

    def train(self, group: Group) -> Iterator[Piece]:
        """Training windows of one scope, their iterations going up."""
        if self._banner is not None or self.windows.goes_back(group):
            yield from self._decide_run(group)
        self._close_checkpoint(group, opens=group.scope != self.windows.scope)
        self._count_evaluation_inside(group)
        self.windows.train(group)
        self._pass = _Pass(training_ended=group.at_seconds[-1])
        self._out_of_memory = False

    def unlogged(self, steps: int) -> None:
        """Training went on for so many steps after the last row of its epoch."""
        seconds = self.windows.step_seconds
        if self._pass.training_ended is not None and seconds is not None and steps > 0:
            self._pass.training_ended += steps * seconds

    def validate(self, group: Group) -> None:
        """Windows of an evaluation."""
        opens = not self._pass.has_rows
        if opens:
            self._close_checkpoint(group, opens=True)
            self._pass.began = self._evaluation_began(group)
            self._pass.has_rows = True
        self.windows.evaluate(group, begins=opens)

    def _evaluation_began(self, group: Group) -> float | None:
        """When the first window began; no later than training ended, where nothing was saved between."""
        began = group.began_at_seconds
        if began is None:
            return None
        if self._pass.checkpoint_at is not None:
            return max(began, self._pass.checkpoint_at)
        return began if self._pass.training_ended is None else min(began, self._pass.training_ended)

    def evaluated(self, line: int, at_seconds: float | None, epoch: int | None) -> None:
        """The metrics are there: an evaluation has ended."""
        known = (self._pass.began, self._pass.checkpoint_at, self._pass.training_ended)
        began = next((at for at in known if at is not None), None)
        seconds = None
        if at_seconds is not None and began is not None and at_seconds >= began:
            seconds = at_seconds - began
        self._events.append(
            Event(
                kind="evaluation",
                at_seconds=at_seconds,
                seconds=seconds,
                epoch=epoch,
                step=self.windows.step,
                line=line,
            )
        )
        self._open_checkpoint = None
        self._evaluation_seconds = seconds
        self._pass = _Pass(training_ended=at_seconds)

    def checkpoint(self, line: int, at_seconds: float | None) -> None:
        """Saving begins."""
        self._open_checkpoint = len(self._events)
        self._pass.checkpoint_at = at_seconds
        self._events.append(
            Event(kind="checkpoint", at_seconds=at_seconds, step=self.windows.step, line=line)
        )

    def out_of_memory(self, line: int, at_seconds: float | None) -> None:
        """A traceback says so in several lines: one event until training goes on."""
        if not self._out_of_memory:
            self._events.append(
                Event(kind="out_of_memory", at_seconds=at_seconds, step=self.windows.step, line=line)
            )
        self._out_of_memory = True

    def flush(self) -> Iterator[Piece]:
        """What is due when a part of the source has been read."""
        self._take_names(self._banner.line if self._banner else None)
        yield from self.windows.flush()
        if len(self._events) > _MANY_EVENTS and self._banner is None and self._open_checkpoint is None:
            yield from self._hand_out_events()

    def finish_run(self, end: int | None = None) -> Iterator[Piece]:
        """Everything of the current run; ``end`` is the line where the next one begins."""
        self._take_names(end)
        yield from self.windows.flush(rest=True)
        yield from self._hand_out_events()
        values = self.header.values | self.extra
        if values:
            yield Facts(values)
        self._open_checkpoint = None
        self._waits_with_evaluation = 0

    def _hand_out_events(self) -> Iterator[Piece]:
        if self._events:
            yield Events(tuple(self._events))
        self._events = []

    def _decide_run(self, group: Group) -> Iterator[Piece]:
        """Whether training begins here from scratch, and whose the banner's facts and events are."""
        banner = self._banner or _Banner(first_event=len(self._events))
        windows = self.windows
        scratch = not banner.resumed and (
            windows.is_first_window(group) or (banner.line is not None and windows.may_be_first(group))
        )
        first = windows.step is None
        if scratch and not first and (banner.line is not None or not windows.runs_beside(group)):
            waiting = self._events[banner.first_event :]
            del self._events[banner.first_event :]
            begin = banner.line or group.lines[0]
            yield from self.finish_run(begin)
            yield RunStart(line=begin)
            self.header, self._events = banner.header or Header(), waiting
            windows.start_run()
            first = True
        elif banner.header is not None:
            self.header.values |= banner.header.values
        self._begin(group, banner, scratch=scratch and first)
        self._banner = None
        self._evaluation_seconds = None

    def _begin(self, group: Group, banner: _Banner, *, scratch: bool) -> None:
        """Start-up lies between the banner's first stamp and the beginning of the first window."""
        start, began = banner.at_seconds, group.began_at_seconds
        if banner.line is None or start is None or not (scratch or banner.resumed):
            return
        if scratch:
            self._events.append(Event(kind="start", at_seconds=start, line=banner.line))
        if began is not None and began >= start:
            event = Event(
                kind="training_begins", at_seconds=began, seconds=began - start, line=group.lines[0]
            )
            self._events.append(event)

    def _close_checkpoint(self, group: Group, *, opens: bool) -> None:
        """Saving took until the next window began, where that window opens an epoch or an evaluation."""
        index, self._open_checkpoint = self._open_checkpoint, None
        began = group.began_at_seconds
        if index is None or not opens or began is None:
            return
        event = self._events[index]
        if event.at_seconds is not None and began > event.at_seconds:
            self._events[index] = replace(event, at_seconds=began, seconds=began - event.at_seconds)

    def _count_evaluation_inside(self, group: Group) -> None:
        """MMCV's iteration-based runner counts a whole evaluation as wait for the batch after it."""
        seconds, self._evaluation_seconds = self._evaluation_seconds, None
        wait = group.data_wait_seconds[0]
        if group.scope is not None or not seconds or wait is None or self.windows.iteration is None:
            return
        steps = group.iterations[0] - self.windows.iteration
        if steps > 0 and wait * steps >= _INSIDE_SHARE * seconds:
            self._waits_with_evaluation += 1
            self.header.values["details.waits_with_evaluation_inside"] = self._waits_with_evaluation
