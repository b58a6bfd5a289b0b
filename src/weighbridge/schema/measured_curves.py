"""Measured building blocks as curves: matrix products by shape, collectives by message size."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GemmPoint:
    """One measured product; ``layout`` names which operands are transposed (NN, TN, NT), "" when unknown."""

    m: float
    n: float
    k: float
    seconds: float
    layout: str = ""
    groups: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmCurve:
    """Products of one card and dtype, timed by one tool."""

    gpu: str
    dtype: str
    points: tuple[GemmPoint, ...]
    source: str
    licence: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveCurve:
    """Bus bandwidth in bytes per second over payload in bytes, of one system, kind and number of ranks."""

    system: str
    gpu: str
    kind: str
    ranks: int
    domain: int
    points: tuple[tuple[float, float], ...]
    source: str
    licence: str
    date: str
