"""The built-in readers, in one visible table. A new format is one new file and one line here."""

from __future__ import annotations

from typing import Final

from weighbridge.readers.base import Reader
from weighbridge.readers.deepspeed_text import DeepspeedText
from weighbridge.readers.detectron2 import Detectron2Metrics
from weighbridge.readers.hf_trainer_state import HfTrainerState
from weighbridge.readers.llamafactory_jsonl import LlamaFactoryJsonl
from weighbridge.readers.metriclogger_text import MetricLoggerText
from weighbridge.readers.mmengine_json import MmengineJson
from weighbridge.readers.mmengine_text import MmengineText
from weighbridge.readers.nvidia_smi_csv import NvidiaSmiCsv
from weighbridge.readers.paddle_text import PaddleText
from weighbridge.readers.timm_text import TimmText
from weighbridge.readers.torchtitan_text import TorchtitanText
from weighbridge.readers.ultralytics_csv import UltralyticsCsv

READERS: Final[tuple[Reader, ...]] = (
    MmengineText(),
    MmengineJson(),
    Detectron2Metrics(),
    PaddleText(),
    TimmText(),
    MetricLoggerText(),
    UltralyticsCsv(),
    HfTrainerState(),
    LlamaFactoryJsonl(),
    DeepspeedText(),
    TorchtitanText(),
    NvidiaSmiCsv(),
)
