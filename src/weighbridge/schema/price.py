"""A Price: never without currency, date and tax state, where these are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weighbridge.units import Origin

Tax = Literal["included", "excluded"]
Per = Literal["unit", "hour", "month", "year", "gigabyte"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """``amount`` in ``currency`` (ISO 4217) for what ``per`` says; None is unknown and never free of charge.

    ``tax`` None: the source does not say. ``date`` is that of the price, as YYYY-MM-DD.
    """

    amount: float | None
    currency: str
    per: Per = "unit"
    tax: Tax | None = None
    tax_share: float | None = None
    origin: Origin = "quoted"
    source: str | None = None
    date: str | None = None

    def __post_init__(self) -> None:
        if len(self.currency) != 3 or not self.currency.isupper():
            raise ValueError(f"currency {self.currency!r} is not an ISO 4217 code")
