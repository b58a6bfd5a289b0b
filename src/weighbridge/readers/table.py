"""The built-in readers, in one visible table. A new format is one new file and one line here."""

from __future__ import annotations

from typing import Final

from weighbridge.readers.base import Reader
from weighbridge.readers.hf_trainer_state import HfTrainerState
from weighbridge.readers.llamafactory_jsonl import LlamaFactoryJsonl

READERS: Final[tuple[Reader, ...]] = (
    HfTrainerState(),
    LlamaFactoryJsonl(),
)
