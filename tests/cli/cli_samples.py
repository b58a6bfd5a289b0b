"""The demo's logs by what they show."""

from __future__ import annotations

from pathlib import Path

from weighbridge import cli

DEMO_LOGS = Path(cli.__file__).parent / "demo_logs"
DATA_BOUND = DEMO_LOGS / "detection-on-shared-storage.log"
COMPUTE_BOUND = DEMO_LOGS / "classification-that-computes.log"
CANNOT_SAY = DEMO_LOGS / "fine-tuning-checkpoint.trainer_state.json"
