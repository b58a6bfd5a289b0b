"""Public language models by name: the shipped table, and how names are compared.

``meta-llama/Llama-3.1-8B-Instruct`` and ``llama-3.1-8b`` mean one network; ``Mistral-7B-v0.3`` and ``v0.1``
do not. A name that nothing fits has nearest names, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import InputError
from weighbridge.facts.tree import read_tree
from weighbridge.schema.model import ModelShape

FILE: Final = Path(__file__).parent / "data" / "models.yaml"
# What a name may carry without meaning another network: what was trained into it, and its file format.
_SAME_NETWORK: Final = (
    r"(?<=[-_ 0-9a-z])[-_ ](hf|base|instruct|chat|it|pt|[0-9]+k|sft|dpo|bf16|fp16|awq|gptq|gguf|bnb|4bit)"
    r"(?=$|[-_ ])"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFact:
    """``parameters`` is the published total, None where none is known to the last digit."""

    shape: ModelShape
    source: str
    read_on: str
    parameters: int | None = None
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.shape.name


@cache
def load_models(path: Path = FILE) -> tuple[ModelFact, ...]:
    """Raises InputError that names the file, the line and the field when an entry does not fit."""
    tree, lines = read_tree(path)
    return tuple(
        _model(entry, str(tree["read_on"]), path, line)
        for entry, line in zip(tree["models"], lines["models"], strict=True)
    )


def _model(entry: dict[str, Any], read_on: str, path: Path, line: int) -> ModelFact:
    entry = dict(entry)
    beside = {name: entry.pop(name, None) for name in ("parameters", "aliases", "source")}
    try:
        shape = ModelShape(**entry)
    except TypeError as error:
        raise InputError(
            "facts.bad_field", file=str(path), line=line, id=entry.get("name"), reason=str(error)
        ) from error
    return ModelFact(
        shape=shape,
        source=beside["source"],
        read_on=read_on,
        parameters=beside["parameters"],
        aliases=tuple(beside["aliases"] or ()),
    )


def find_model(name: str) -> ModelFact | None:
    """The network that ``name`` means; None when nothing fits or what fits differs in size."""
    for reading in (exact_key, loose_key, looser_key):
        fits = [fact for fact in load_models() if reading(name) in _keys(fact, reading)]
        if fits:
            shapes = {_without_name(fact.shape) for fact in fits}
            return fits[0] if len(shapes) == 1 else None
    return None


def nearest_models(name: str, most: int = 4) -> tuple[str, ...]:
    """Names of the table that are written most like ``name``."""
    asked = loose_key(name)
    scored = [
        (SequenceMatcher(None, asked, loose_key(fact.name)).ratio(), fact.name) for fact in load_models()
    ]
    return tuple(found for score, found in sorted(scored, reverse=True)[:most] if score > 0.4)


def exact_key(name: str) -> str:
    """Owner, case and separators aside."""
    plain = re.sub(r"(?<=\d)[.p](?=\d)", "p", name.lower().strip().rsplit("/", 1)[-1])
    return re.sub(r"[^a-z0-9]", "", plain.removeprefix("meta-"))


def loose_key(name: str) -> str:
    """Tuning and file format aside as well."""
    plain = name.strip().lower()
    while (shorter := re.sub(_SAME_NETWORK, "", plain)) != plain:
        plain = shorter
    return exact_key(plain)


def looser_key(name: str) -> str:
    """Release numbers such as v0.1 aside as well: an answer only where all releases are one network."""
    return loose_key(re.sub(r"[-_ ]v\d+(\.\d+)*(?=$|[-_ ])", "", name.strip().lower()))


def _keys(fact: ModelFact, reading: Any) -> set[str]:
    return {reading(written) for written in (fact.name, *fact.aliases)}


def _without_name(shape: ModelShape) -> tuple[Any, ...]:
    return tuple(getattr(shape, name) for name in ModelShape.__dataclass_fields__ if name != "name")
