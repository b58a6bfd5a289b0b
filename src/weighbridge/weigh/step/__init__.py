"""Seconds of one optimizer step of a language model: by phase, with tokens/s, MFU, HFU and an interval.

``step_time`` is the door; ``scaling_curve`` asks it over GPU counts. Vision networks: ``weigh.vision``.
"""

from weighbridge.weigh.step.records import Missing, StepEstimate
from weighbridge.weigh.step.scaling import scaling_curve
from weighbridge.weigh.step.step import step_time

__all__ = ["Missing", "StepEstimate", "scaling_curve", "step_time"]
