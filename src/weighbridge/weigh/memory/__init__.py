"""Memory of language-model training on one device: by part, by phase, and on three counters.

``memory`` is the door; the other modules each hold one group of formulae. Vision networks are weighed in
``weigh.vision``.
"""

from weighbridge.weigh.memory.fit import memory_fit
from weighbridge.weigh.memory.parameters import count
from weighbridge.weigh.memory.peak import memory
from weighbridge.weigh.memory.records import Interval, MemoryEstimate, Missing, Phase

__all__ = ["Interval", "MemoryEstimate", "Missing", "Phase", "count", "memory", "memory_fit"]
