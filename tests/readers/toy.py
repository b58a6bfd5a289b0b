"""Two toy formats for the importer's tests: ``T <at> <step>`` training lines, ``S <at> <busy>`` samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from weighbridge.readers.base import Facts, Piece, RunStart, Samples, Steps
from weighbridge.readers.text import Head, Lines
from weighbridge.schema.answerable import Answerable


class ToyLog:
    name = "toy_log"
    title = "toy log"
    looks_for = "readers.empty_file"
    counts = "readers.empty_file"
    answers: tuple[Answerable, ...] = ("step_time",)
    example = "T 100.0 5"
    clock = "local"

    def sniff(self, head: Head) -> float:
        return 0.9 if head.data.startswith((b"T ", b"BOOM", b"NEW")) else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        yield Facts({"clock": self.clock})
        for number, line in Lines(stream):
            words = line.split()
            if words[:1] == [b"BOOM"]:
                raise RuntimeError("a reader's own mistake")
            if words[:1] == [b"NEW"]:
                yield RunStart(number)
                yield Facts({"clock": self.clock})
            if words[:1] == [b"T"]:
                row = {"phase": ["train"], "at_seconds": [float(words[1])], "step": [int(words[2])]}
                yield Steps({**row, "step_seconds": [1.0], "steps": [1], "line": [number]}, 1)


class ToySamples:
    name = "toy_samples"
    title = "toy samples"
    looks_for = "readers.empty_file"
    counts = "readers.empty_file"
    answers: tuple[Answerable, ...] = ("gpu_busy",)
    example = "S 100.0 0.9"

    def sniff(self, head: Head) -> float:
        return 0.9 if head.data.startswith(b"S ") else 0.0

    def read(self, stream: BinaryIO, name: str) -> Iterator[Piece]:
        yield Facts({"clock": "utc", "hardware.gpus": 1})
        for number, line in Lines(stream):
            words = line.split()
            row = {"at_seconds": [float(words[1])], "device": [0], "gpu_busy_share": [float(words[2])]}
            yield Samples({**row, "line": [number]}, 1)


READERS = (ToyLog(), ToySamples())
