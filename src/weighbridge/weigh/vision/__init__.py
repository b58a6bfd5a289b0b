"""Vision networks: memory by part and phase, and step time, from a list of operators with their shapes.

``Walk`` turns a network into a ``Network`` (what every operator computes, moves and keeps for the backward
pass);
``vision_memory`` and ``vision_step_time`` weigh that. Which layers a named network has is
``estimate.describe``'s.
"""

from weighbridge.schema.vision import (
    Network,
    Operator,
    Unanswered,
    VisionCard,
    VisionConstants,
    VisionMemory,
    VisionRecipe,
    VisionTime,
)
from weighbridge.weigh.vision.memory import vision_memory
from weighbridge.weigh.vision.time import vision_step_time
from weighbridge.weigh.vision.walk import Map, Walk

__all__ = [
    "Map",
    "Network",
    "Operator",
    "Unanswered",
    "VisionCard",
    "VisionConstants",
    "VisionMemory",
    "VisionRecipe",
    "VisionTime",
    "Walk",
    "vision_memory",
    "vision_step_time",
]
