"""GPU samples as CSV: ``nvidia-smi --query-gpu=... --format=csv[,nounits] -l 1``, and home-made loggers.

Any cell that is no number ([N/A], [Not Supported], [Unknown Error], [Requested functionality has been
deprecated], ...) is unknown, never 0. nvidia-smi prints local time without a zone; Unix seconds are taken as
they are. Memory without a unit is MiB, as nvidia-smi counts, unless the total shows that it cannot be.

Where no column names the device, rows are numbered by uuid, bus id or serial in the order they first appear;
where these are missing too, by their place in the round: nvidia-smi prints one row per GPU a few milliseconds
apart and then waits.

A file without a header is read only as far as units tell what a figure is: the first percentage after a time
stamp and watts. Bare numbers without a header are not guessed at.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from typing import BinaryIO, Final

from weighbridge.readers.base import Facts, Piece, Samples
from weighbridge.readers.batch import Batch
from weighbridge.readers.nvidia_smi_columns import MEMORY_UNITS, Header, likeness, read_header
from weighbridge.readers.stamp import STAMP, stamp_seconds
from weighbridge.readers.tally import Median, Troubles
from weighbridge.readers.text import Head, Lines
from weighbridge.schema.answerable import Answerable
from weighbridge.schema.columns import Cell
from weighbridge.schema.run import Scalar
from weighbridge.units import GIB, MIB

# field -> column of the samples table, for plain numbers in the unit of the table.
PLAIN: Final = {
    "power": "power_watts",
    "power_limit": "power_limit_watts",
    "temperature": "temperature_celsius",
    "pcie_generation": "pcie_generation",
    "pcie_generation_max": "pcie_generation_max",
    "pcie_width": "pcie_width",
    "pcie_width_max": "pcie_width_max",
    "ecc_uncorrected": "ecc_uncorrected",
}
SHARES: Final = {"gpu_busy": "gpu_busy_share", "memory_busy": "memory_busy_share"}
MEMORY: Final = {"memory_used": "device_bytes", "memory_total": "device_total_bytes"}
WORDS: Final = {"name": "device_name", "host": "host"}
CLOCKS: Final = {"sm_clock": "sm_clock_hertz", "memory_clock": "memory_clock_hertz"}
COLUMNS: Final = (
    "at_seconds",
    "host",
    "device",
    "device_name",
    *SHARES.values(),
    *MEMORY.values(),
    *CLOCKS.values(),
    *PLAIN.values(),
    "throttle_reasons",
    "line",
)
WHOLE: Final = frozenset(
    ("pcie_generation", "pcie_generation_max", "pcie_width", "pcie_width_max", "ecc_uncorrected")
)
# Rows looked at before the first is handed on: for the round of devices and for units that are not printed.
LOOKED_AT: Final = 256
HEADER_WITHIN_LINES: Final = 200
FAR_LONGER: Final = 4
LARGEST_ROUND: Final = 64
# Below this a header is that of some other table, whatever the user says.
SMALLEST_LIKENESS: Final = 0.3
KNOWN_FIRST_CELLS: Final = 1000
# A larger number is damage, and would not fit into the record.
LARGEST_INTEGER: Final = 1 << 53
LARGEST_NUMBER: Final = 1e18
# No GPU has this many MiB, none has this few.
MOST_MIB: Final = 400_000
FEWEST_MIB: Final = 1024
# Nobody samples faster, and nvidia-smi prints the GPUs of one round not much slower.
SHORTEST_INTERVAL_SECONDS: Final = 0.1
LONGEST_WITHIN_SECONDS: Final = 0.3
# Kept in the source's own words from the first row. Never serials, bus ids, host names.
FIRST_ROW: Final = (
    "driver_version",
    "name",
    "count",
    "pstate",
    "utilization.gpu",
    "utilization.memory",
    "memory.total",
    "memory.used",
    "memory.reserved",
    "power.draw",
    "power.limit",
    "enforced.power.limit",
    "temperature.gpu",
    "temperature.memory",
    "clocks.current.sm",
    "clocks.max.sm",
    "pcie.link.gen.current",
    "pcie.link.gen.max",
    "pcie.link.width.current",
    "pcie.link.width.max",
    "clocks_event_reasons.active",
    "clocks_throttle_reasons.active",
    "ecc.mode.current",
    "mig.mode.current",
    "persistence_mode",
    "compute_mode",
    "compute_cap",
    "vbios_version",
)

_NUMBER = re.compile(r"\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z%]*)\s*$")
_TIME_OF_DAY = re.compile(r"\s*(\d\d?):(\d\d):(\d\d(?:\.\d+)?)\s*$")
_WHOLE_CELL = re.compile(r"(?:\d (?:%|MiB|W|MHz)|\])\s*$")
_LAST_DIGITS = re.compile(r"(\d+)\D*$")
_HEADERLESS = re.compile(
    rb"^\s*\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}\s*,.*\d (?:%|MiB|W|MHz)\s*(?:,|$)", re.MULTILINE
)
# Unix time in seconds, milliseconds, microseconds or nanoseconds lies in these decades; smaller is no clock.
_LARGEST_CLOCK: Final = 1e19
_UNIX_SCALES: Final = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (1e8, 1.0))


@dataclass(slots=True)
class _Row:
    line: int
    cells: list[str]
    at: float | None
    clock: float | None
    zoned: bool


@dataclass(slots=True)
class _Rounds:
    """Devices by their place in the round, where no column names them."""

    # A longer gap between two rows ends a round; None while nothing tells rounds from rows.
    pause_seconds: float | None = None
    place: int = 0
    last: float | None = None

    def learn(self, clocks: Sequence[float]) -> None:
        """Find the pause: rounds are mostly of one length, and what they hold comes far closer together.

        Rows that come at a logger's even pace are of one device.
        """
        # A clock that goes back is another start of the logger: a pause too.
        gaps = [abs(later - earlier) for earlier, later in pairwise(clocks)]
        pause = _pause(sorted(gaps))
        if pause is not None:
            ends = [place for place, gap in enumerate(gaps, 1) if gap > pause]
            lengths = [end - begin for begin, end in pairwise([0, *ends])]
            usual = max(set(lengths), key=lengths.count)
            alike = lengths.count(usual) * 2 >= len(lengths)
            if 1 < usual <= LARGEST_ROUND and alike and len(clocks) - ends[-1] <= usual:
                self.pause_seconds = pause
                return
        if gaps and sorted(gaps)[len(gaps) // 2] >= SHORTEST_INTERVAL_SECONDS:
            self.pause_seconds = 0.0

    def next(self, clock: float | None) -> int | None:
        if self.pause_seconds is None or clock is None:
            return None
        paused = self.last is None or abs(clock - self.last) > self.pause_seconds
        self.place = 0 if paused or not self.pause_seconds else self.place + 1
        self.last = clock
        return self.place


def _pause(gaps: Sequence[float]) -> float | None:
    """The middle of the widest jump in sorted gaps, if it parts rows of a round from pauses."""
    widest, pause = 0.0, None
    for shorter, longer in pairwise(gaps):
        ratio = longer / max(shorter, 1e-6)
        if shorter <= LONGEST_WITHIN_SECONDS and longer > FAR_LONGER * shorter and ratio > widest:
            widest, pause = ratio, (shorter + longer) / 2
    return pause


@dataclass(slots=True)
class _Table:
    """Rows under one header. What is learned of units and devices stays when the header is repeated."""

    header: Header
    learned: bool = False
    share_divisor: dict[str, float | None] = field(default_factory=dict)
    memory_scale: float | None = MIB
    rounds: _Rounds = field(default_factory=_Rounds)
    named: dict[str, int] = field(default_factory=dict)
    conversions: list[tuple[str, int, Callable[[str], Cell]]] = field(default_factory=list)

    def cell(self, row: _Row, name: str) -> str | None:
        place = self.header.places.get(name)
        return row.cells[place].strip() if place is not None and place < len(row.cells) else None

    def learn(self, rows: Sequence[_Row]) -> None:
        self.learned = True
        for name in SHARES:
            self.share_divisor[name] = self._share_divisor(rows, name)
        self.memory_scale = self._memory_scale(rows)
        self.conversions = list(self._conversions())
        if not any(name in self.header.places for name in ("index", "uuid", "bus", "serial")):
            self.rounds.learn([row.clock for row in rows if row.clock is not None])

    def _values(self, rows: Sequence[_Row], name: str) -> list[tuple[float, str]]:
        found = (_parse(self.cell(row, name) or "") for row in rows)
        return [parsed for parsed in found if parsed]

    def _share_divisor(self, rows: Sequence[_Row], name: str) -> float | None:
        """100 for per cent, 1 for the loggers that write 0..1, None where 0 and 1 are all that is seen."""
        values = self._values(rows, name)
        per_cent = self.header.units.get(name) is not None or any(unit for _, unit in values)
        if per_cent or self.header.by_nvidia_smi or any(value > 1 for value, _ in values):
            return 100.0
        return 1.0 if any(0 < value < 1 for value, _ in values) else None

    def _memory_scale(self, rows: Sequence[_Row]) -> float | None:
        """Bytes per unit where neither header nor cell names one; None where it could be several."""
        total = max((value for value, _ in self._values(rows, "memory_total")), default=0.0)
        used = [value for value, _ in self._values(rows, "memory_used")]
        largest = max(total, *used) if used else total
        if self.header.by_nvidia_smi:
            return MIB
        if largest > MOST_MIB:
            return 1.0
        if 0 < total < FEWEST_MIB:
            return GIB
        unclear = not total and largest < FEWEST_MIB and any(value % 1 for value in used)
        return None if unclear else MIB

    def device(self, row: _Row) -> int | None:
        index = self.cell(row, "index")
        if index is not None:
            digits = _LAST_DIGITS.search(index)
            return int(digits[1]) if digits and len(digits[1]) < 6 else None
        for name in ("uuid", "bus", "serial"):
            known = self.cell(row, name)
            if known and not known.startswith("["):
                return self.named.setdefault(known, len(self.named))
        return self.rounds.next(row.clock)

    def _conversions(self) -> Iterator[tuple[str, int, Callable[[str], Cell]]]:
        """Column, place in the row and conversion of each field that the table has."""
        for name, place in self.header.places.items():
            if name in PLAIN:
                yield PLAIN[name], place, _whole if name in WHOLE else _plain
            elif name in SHARES:
                yield SHARES[name], place, partial(_share, divisor=self.share_divisor[name])
            elif name in CLOCKS:
                yield CLOCKS[name], place, _hertz
            elif name in MEMORY:
                unit = self.header.units.get(name)
                scale = MEMORY_UNITS.get(unit) if unit else self.memory_scale
                yield MEMORY[name], place, partial(_bytes, scale=scale)
            elif name in WORDS:
                yield WORDS[name], place, _words
            elif name == "throttle_reasons":
                yield name, place, _reasons

    def sample(self, row: _Row) -> dict[str, Cell]:
        cells: dict[str, Cell] = {"at_seconds": row.at, "line": row.line, "device": self.device(row)}
        for column, place, convert in self.conversions:
            cells[column] = convert(row.cells[place])
        return cells


@lru_cache(maxsize=1 << 14)
def _parse(text: str) -> tuple[float, str] | None:
    """Number and unit of "92 %", "81559 MiB", "59"; None for anything else."""
    number, _, unit = text.strip().partition(" ")
    try:
        value = float(number)
    except ValueError:
        match = _NUMBER.match(text)
        if match is None:
            return None
        value, unit = float(match[1]), match[2]
    if unit and unit != "%" and not unit.isalpha():
        return None
    return (value, unit) if abs(value) < LARGEST_NUMBER else None


def _plain(text: str) -> float | None:
    parsed = _parse(text)
    return parsed[0] if parsed else None


def _whole(text: str) -> int | None:
    parsed = _parse(text)
    return int(parsed[0]) if parsed and abs(parsed[0]) < LARGEST_INTEGER else None


def _share(text: str, divisor: float | None) -> float | None:
    """A share of 0..1; a bare 1 is unknown while it may be one per cent or all."""
    parsed = _parse(text)
    if parsed is None or (divisor is None and parsed[0] == 1):
        return None
    return parsed[0] / (divisor or 100.0)


def _hertz(text: str) -> float | None:
    parsed = _parse(text)
    return parsed[0] * 1e6 if parsed else None


def _bytes(text: str, scale: int | float | None) -> float | None:
    parsed = _parse(text)
    if parsed is None:
        return None
    value, unit = parsed
    factor = MEMORY_UNITS.get(unit.lower()) if unit else scale
    return value * factor if factor is not None else None


def _reasons(text: str) -> str | None:
    mask = text.strip()
    return mask if mask[:2] in ("0x", "0X") else None


@dataclass(slots=True)
class _File:
    """One pass over the file."""

    table: _Table | None = None
    headerless: bool = False
    rows: Batch = field(default_factory=lambda: Batch(COLUMNS))
    looked_at: list[_Row] = field(default_factory=list)
    troubles: Troubles = field(default_factory=Troubles)
    facts: dict[str, Scalar] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    devices: set[tuple[Cell, Cell]] = field(default_factory=set)
    last_clock: dict[tuple[Cell, Cell], float] = field(default_factory=dict)
    intervals: Median = field(default_factory=Median)
    no_headers: set[str] = field(default_factory=set)
    lines: int = 0
    bad: int = 0
    count: int | None = None

    def take(self, number: int, line: bytes) -> Iterator[Samples]:
        text = line.decode("utf-8", "replace")
        if not text.strip():
            return
        if self.table is None:
            self._find_header(number, line, text)
            if not self.headerless:
                return
        elif not self.headerless and self._is_header(text):
            yield from self._change_header(text)
            return
        if self._row(number, text, terminated=line.endswith(b"\n")):
            yield from self.hand_on()

    def _find_header(self, number: int, line: bytes, text: str) -> None:
        self.lines += 1
        header = read_header(text) if self.lines <= HEADER_WITHIN_LINES else None
        if header is not None and likeness(header) >= SMALLEST_LIKENESS:
            self.table = _Table(header)
            self.facts["details.header"] = ", ".join(header.names)
            self.facts["details.columns"] = len(header.names)
        elif _HEADERLESS.match(line):
            header = _header_from_units(text)
            self.table = _Table(header)
            self.headerless = True
            self.facts["details.columns"] = len(header.names)
            self.troubles.add("readers.nvidia_smi_csv.no_header", number)

    def _is_header(self, text: str) -> bool:
        """A header again: loops that call nvidia-smi anew print it before every sample."""
        first = text.partition(self.table.header.delimiter if self.table else ",")[0].strip(' "')
        if first[:1].isdigit() or first in self.no_headers:
            return False
        if read_header(text) is not None:
            return True
        if len(self.no_headers) < KNOWN_FIRST_CELLS:
            self.no_headers.add(first)
        return False

    def _change_header(self, text: str) -> Iterator[Samples]:
        header, table = read_header(text), self.table
        if header is not None and table is not None and header.names != table.header.names:
            yield from self.hand_on()
            self.table = _Table(header, named=table.named)

    def _row(self, number: int, text: str, *, terminated: bool) -> bool:
        """Take a row up; True when what was taken up may be handed on."""
        if self.table is None:
            return False
        header = self.table.header
        stripped = text.rstrip("\r\n")
        if '"' in stripped:
            cells = next(csv.reader([stripped], delimiter=header.delimiter), [])
        else:
            cells = stripped.split(header.delimiter)
        wanted = len(header.names)
        while len(cells) > wanted and not cells[-1].strip():
            cells.pop()
        if len(cells) != wanted:
            code = "bad_row" if terminated else "cut"
            self.troubles.add(f"readers.nvidia_smi_csv.{code}", number)
            self.bad += 1
            return False
        if not terminated and not _WHOLE_CELL.search(cells[-1]):
            # Without a unit, a bracket or a line end after it, the last cell may miss characters.
            self.troubles.add("readers.nvidia_smi_csv.cut", number)
            cells[-1] = ""
        place = header.places.get("time")
        at, clock, zoned = read_clock(cells[place]) if place is not None else (None, None, False)
        row = _Row(number, cells, at, clock, zoned)
        if "details.units_in_values" not in self.facts:
            self._first(row, self.table)
        self.looked_at.append(row)
        return self.table.learned or len(self.looked_at) >= LOOKED_AT

    def _first(self, row: _Row, table: _Table) -> None:
        plain = [name.partition("[")[0].strip() for name in table.header.names]
        for name in FIRST_ROW:
            if name in plain:
                self.facts[f"details.first_row.{name}"] = row.cells[plain.index(name)].strip()
        parsed = [_parse(cell) for cell in row.cells]
        self.facts["details.units_in_values"] = any(found and found[1] for found in parsed)
        self.facts["environment.driver"] = _words(table.cell(row, "driver") or "")

    def hand_on(self) -> Iterator[Samples]:
        table = self.table
        if table is None:
            return
        if not table.learned:
            table.learn(self.looked_at)
            if table.memory_scale is None:
                self.troubles.add("readers.nvidia_smi_csv.memory_unit_unknown", None)
        for row in self.looked_at:
            sample = table.sample(row)
            self._see(row, sample)
            self.rows.add(sample)
        self.looked_at.clear()
        yield from self.rows.samples()

    def _see(self, row: _Row, sample: dict[str, Cell]) -> None:
        facts = self.facts
        if row.at is not None:
            facts["clock"] = "utc" if row.zoned else "local"
        key = (sample.get("host"), sample.get("device"))
        self.devices.add(key)
        if row.clock is not None:
            before = self.last_clock.get(key)
            if before is not None and row.clock > before:
                self.intervals.add(row.clock - before)
            self.last_clock[key] = row.clock
        name, total = sample.get("device_name"), sample.get("device_total_bytes")
        if isinstance(name, str):
            self.names.setdefault(name)
            facts.setdefault("hardware.gpu_name", name)
        if isinstance(total, float):
            facts.setdefault("hardware.gpu_memory_bytes", round(total))
        counted = self.table.cell(row, "count") if self.table is not None else None
        if counted and counted.isdigit():
            self.count = max(self.count or 0, int(counted))

    def closing_facts(self) -> dict[str, Scalar]:
        table = self.table
        seen = len(self.devices)
        # One row a round from a logger that names no device may be one GPU of several.
        told = table is not None and (
            seen > 1
            or table.header.by_nvidia_smi
            or any(name in table.header.places for name in ("index", "uuid"))
        )
        return {
            "clock": "none",
            **self.facts,
            "hardware.gpus": max(seen, self.count or 0) if told and seen else None,
            "details.gpu_names": ", ".join(self.names) if len(self.names) > 1 else None,
            "details.rows": self.rows.total,
            "details.bad_rows": self.bad,
            "details.sample_interval_seconds": self.intervals.value,
        }


@lru_cache(maxsize=16)
def _minute(text: str) -> float | None:
    """Unix seconds of "2024/11/23 12:23:", read as UTC."""
    match = STAMP.fullmatch(text.encode("ascii", "replace") + b"00")
    return stamp_seconds(match) if match else None


def read_clock(text: str) -> tuple[float | None, float | None, bool]:
    """Unix seconds if it is a clock, a number to compare rows by, and whether it is real Unix time."""
    # nvidia-smi's own form: everything before the seconds is the same for a minute.
    if len(text) > 18 and text[-7:-6] == ":" and (minute := _minute(text[:-6].strip())) is not None:
        with suppress(ValueError):
            return minute + float(text[-6:]), minute + float(text[-6:]), False
    match = STAMP.search(text.encode("ascii", "replace"))
    if match is not None:
        at = stamp_seconds(match)
        return at, at, bool(match[6])
    if of_day := _TIME_OF_DAY.match(text):
        hours, minutes, seconds = of_day.groups()
        return None, int(hours) * 3600 + int(minutes) * 60 + float(seconds), False
    try:
        number = float(text)
    except ValueError:
        return None, None, False
    for smallest, scale in _UNIX_SCALES:
        if smallest <= number < _LARGEST_CLOCK:
            return number / scale, number / scale, True
    return (None, number, False) if abs(number) < _UNIX_SCALES[-1][0] else (None, None, False)


def _header_from_units(text: str) -> Header:
    """Places of what the units of a headerless row tell: stamp, index, name, first percentage, watts."""
    cells = [cell.strip() for cell in text.strip().split(",")]
    places = {"time": 0}
    if len(cells) > 1 and re.fullmatch(r"\d{1,2}", cells[1]):
        places["index"] = 1
    for place, cell in enumerate(cells):
        if re.match(r"(?:NVIDIA|Tesla|GeForce|Quadro|GRID|A100|H100) ?", cell):
            places.setdefault("name", place)
        elif cell.startswith("GPU-"):
            places.setdefault("uuid", place)
        elif cell.endswith(" %"):
            places.setdefault("gpu_busy", place)
        elif cell.endswith(" W"):
            places.setdefault("power", place)
    return Header(tuple("" for _ in cells), ",", places, dict.fromkeys(places))


def _words(text: str) -> str | None:
    """A name as printed; None for what nvidia-smi prints in brackets when it has nothing to say."""
    name = text.strip()
    return None if not name or name.startswith("[") or name == "N/A" else name


class NvidiaSmiCsv:
    """See the module."""

    name = "nvidia_smi_csv"
    title = "nvidia-smi CSV"
    looks_for = "readers.nvidia_smi_csv.looks_for"
    counts = "readers.nvidia_smi_csv.counts"
    answers: tuple[Answerable, ...] = ("gpu_busy", "device_memory")
    example = "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]"

    def sniff(self, head: Head) -> float:
        if head.binary:
            return 0.0
        for line in head.data[: 1 << 16].splitlines()[:HEADER_WITHIN_LINES]:
            header = read_header(line.decode("utf-8", "replace")) if line.strip() else None
            if header is not None and (sure := likeness(header)) >= SMALLEST_LIKENESS:
                return sure
        return 0.7 if _HEADERLESS.search(head.data[: 1 << 16]) else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        lines = Lines(stream)
        file = _File()
        for number, line in lines:
            yield from file.take(number, line)
        yield from file.hand_on()
        yield from file.rows.samples(rest=True)
        yield Facts(file.closing_facts())
        yield from lines.problems
        yield from file.troubles.problems()
