"""A Share: which part of a Machine a task gets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreShare:
    """The part of one Store's rates, above 0 and up to 1, that the task may count on."""

    store: str
    rate_share: float

    def __post_init__(self) -> None:
        if not 0 < self.rate_share <= 1:
            raise ValueError(f"a share of {self.rate_share} of the store {self.store!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Two of eight GPUs, or one of three nodes on a NAS.

    A Share is a decision, not a measurement: None means that nothing is withheld. ``group`` is the place in
    ``Machine.groups``; ``gpus``, ``cores`` and ``memory_bytes`` are per node; ``gpu_indexes`` says which GPUs
    where their place matters.
    """

    group: int = 0
    nodes: int | None = None
    gpus: int | None = None
    gpu_indexes: tuple[int, ...] = ()
    cores: int | None = None
    memory_bytes: int | None = None
    stores: tuple[StoreShare, ...] = ()

    def __post_init__(self) -> None:
        if self.gpu_indexes and self.gpus is not None and len(self.gpu_indexes) != self.gpus:
            raise ValueError(f"{self.gpus} GPUs, but {len(self.gpu_indexes)} indexes")
        if len(set(self.gpu_indexes)) != len(self.gpu_indexes):
            raise ValueError(f"a GPU is named twice: {self.gpu_indexes}")
        for name in ("nodes", "gpus", "cores", "memory_bytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"a Share of {value} {name}")
