"""Fields of a Hugging Face config.json under all the names that model families give them.

Reads one file and its numbers; what a family does with them is in ``hf_config``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import InputError
from weighbridge.schema.finding import Finding

# Largest config.json that anybody publishes is some 100 KB (label names); more is another file.
_MOST_BYTES: Final = 16 << 20
_MOST: Final = 10**9

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model", "n_embed", "dim"),
    "heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num"),
    "head_dim": ("head_dim", "d_kv", "kv_channels", "attention_head_dim"),
    "ffn_hidden": ("intermediate_size", "ffn_dim", "d_ff", "n_inner", "ffn_hidden_size", "hidden_dim"),
    "vocabulary": ("vocab_size", "padded_vocab_size"),
    "positions": ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx"),
    "experts": ("num_local_experts", "num_experts", "n_routed_experts"),
    "experts_per_token": ("num_experts_per_tok", "num_experts_per_token", "moe_topk"),
    "expert_ffn_hidden": ("moe_intermediate_size",),
}


def note(code: str, **params: Any) -> Finding:
    return Finding(code=code, severity="note", params=params)


def read_config(path: Path) -> dict[str, Any]:
    """The file as a mapping. Raises InputError that names the file and what is wrong with it."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError("estimate.too_large", file=str(path))
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError("facts.not_utf8", file=str(path), byte=error.start) from error
    except OSError as error:
        raise InputError("facts.cannot_read", file=str(path), reason=error.strerror) from error
    try:
        tree = json.loads(text)
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError("estimate.not_json", file=str(path), line=line, reason=str(error)) from error
    if not isinstance(tree, dict):
        raise InputError("estimate.not_a_config", file=str(path))
    return tree


class Fields:
    """Typed look-ups in a config; every complaint names the file and the field as the file writes it."""

    def __init__(self, tree: Mapping[str, Any], file: str) -> None:
        self.tree = tree
        self.file = file
        self.missing: list[str] = []

    def raw(self, name: str) -> Any:
        return self.tree.get(name)

    def flag(self, name: str, default: bool) -> bool:
        value = self.tree.get(name, default)
        return value if isinstance(value, bool) else default

    def text(self, *names: str) -> str:
        for name in names:
            if isinstance(self.tree.get(name), str):
                return str(self.tree[name])
        return ""

    def whole(self, name: str, *, least: int = 1) -> int | None:
        """A whole number under exactly this name; None when it is absent or null."""
        value = self.tree.get(name)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST:
            raise InputError("estimate.bad_field", file=self.file, field=name, value=value, least=least)
        return value

    def find(self, kind: str, *, least: int = 1) -> int | None:
        """The number of this kind under any of its names."""
        for name in NAMES[kind]:
            value = self.whole(name, least=least)
            if value is not None:
                return value
        return None

    def need(self, kind: str) -> int:
        """As ``find``; 1, and noted as missing, when there is none."""
        value = self.find(kind)
        if value is None:
            self.missing.append(NAMES[kind][0])
        return value or 1

    def check(self) -> None:
        if self.missing:
            raise InputError("estimate.missing_fields", file=self.file, fields=self.missing)
