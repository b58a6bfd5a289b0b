"""A Task: a Load with its layout, how often it runs, by when, for whom, and how it will grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from weighbridge.schema.field_units import check_units
from weighbridge.schema.load import Load
from weighbridge.schema.run import Layout
from weighbridge.schema.share import Share
from weighbridge.units import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWindow:
    """When a task that does not run yet may begin (YYYY-MM-DD) and how likely it comes at all."""

    first_date: str | None = None
    last_date: str | None = None
    probability_share: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)
        if self.first_date and self.last_date and self.last_date < self.first_date:
            raise ValueError(f"the start window ends {self.last_date}, before it begins {self.first_date}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Factors over ``months``: how much more often, how much larger; the interval spans the scenarios."""

    months: int = 6
    frequency_factor: Quantity | None = None
    batch_factor: Quantity | None = None
    input_factor: Quantity | None = None
    context_factor: Quantity | None = None
    data_set_factor: Quantity | None = None

    def __post_init__(self) -> None:
        check_units(self)
        if self.months < 1:
            raise ValueError(f"growth over {self.months} months")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """``id`` is the ledger's class id. ``deadline_seconds`` counts from submission to the end of one run."""

    SCHEMA: ClassVar[str] = "weighbridge.task/1"

    id: str
    load: Load
    name: str | None = None
    who: str | None = None
    layout: Layout = field(default_factory=Layout)
    share: Share = field(default_factory=Share)
    runs_per_month: Quantity | None = None
    at_once: Quantity | None = None
    deadline_seconds: Quantity | None = None
    start: StartWindow | None = None
    growth: Growth | None = None

    def __post_init__(self) -> None:
        check_units(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Portfolio:
    """The tasks that one machine, or several, have to carry together."""

    SCHEMA: ClassVar[str] = "weighbridge.portfolio/1"

    name: str = field(metadata={"identity": False})
    tasks: tuple[Task, ...] = ()

    def __post_init__(self) -> None:
        ids = [task.id for task in self.tasks]
        if len(ids) != len(set(ids)):
            raise ValueError(f"two tasks have one id: {sorted({id for id in ids if ids.count(id) > 1})}")
