"""What was predicted, what was measured, and the constants that tie the two."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from weighbridge.schema.diagnosis import Tier
from weighbridge.schema.run import Layout
from weighbridge.units import Curve, Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Versions of the step model, of the facts, and of the calibration (None: none was used)."""

    model: str
    facts: str
    calibration: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One predicted figure, kept so that what later happened can be held against it.

    ``quantity`` names the figure ("reserved_bytes", "step_seconds"); ``task`` is None outside a portfolio.
    """

    SCHEMA: ClassVar[str] = "weighbridge.prediction/1"

    task: str | None
    load_hash: str
    layout: Layout
    machine_hash: str
    quantity: str
    value: Quantity
    tier: Tier
    versions: Versions
    made_at_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What a probe or a check measured: one figure or one curve, with the context in which it holds.

    ``quantity`` is a machine line's path where it is one. ``context`` keeps tool, version, message size and
    whatever else has to be equal before two measurements may be compared.
    """

    SCHEMA: ClassVar[str] = "weighbridge.measurement/1"

    quantity: str
    value: Quantity | None = None
    curve: Curve | None = None
    context: dict[str, str] = field(default_factory=dict)
    measured_at_seconds: float | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.curve is None):
            raise ValueError(f"a measurement of {self.quantity!r} is one figure or one curve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """One calibrated constant for one GPU family (and framework, where it depends on it).

    ``spread_share`` is the relative spread of the ``n`` measurements behind it; n = 0 is an assumption.
    """

    name: str
    gpu_family: str
    value: Quantity
    n: int
    spread_share: float | None = None
    framework: str | None = None

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(f"{self.name} rests on {self.n} measurements")


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A set of constants under one version; ``made_from`` lists the runs or sources behind it."""

    SCHEMA: ClassVar[str] = "weighbridge.calibration/1"

    version: str
    constants: tuple[Constant, ...]
    made_at_seconds: float | None = None
    made_from: tuple[str, ...] = ()
