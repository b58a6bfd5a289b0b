"""Networks of timm by name, from a table of their operators (timm.tsv, made by ``tools/walk_timm.py``
without data).

The table holds shapes only, added up by class of operator for one image at the network's own size. Another
size
scales the operators with the pixels, attention with their square.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from weighbridge.schema.vision import Network, Operator

FILE: Final = Path(__file__).parent / "timm.tsv"


def from_table(
    name: str, height: float | None = None, width: float | None = None, *, autocast: bool = False
) -> Network | None:
    """None where the table has no such name; height and width None: the network's own.

    What stays for the backward pass follows from the kinds: inputs of convolutions, products and norms,
    outputs of
    softmax, and, between LayerNorms, the inputs of GELU. Maps that two of them share are counted twice,
    inputs of
    SiLU not at all: both within a tenth of what the walk counts.
    """
    line = _lines().get(name.lower())
    if line is None:
        return None
    _, high, wide, parameters, tensors, operators = line.split("\t")
    own = float(high) * float(wide)
    factor = (height or float(high)) * (width or float(wide)) / own
    return Network(
        name,
        float(parameters),
        float(parameters),
        tuple(
            _operator(text, factor, 2.0 if autocast else 4.0, "layer_norm" in operators)
            for text in operators.split()
        ),
        tensors=int(tensors),
        family="classifier",
    )


@cache
def _lines() -> dict[str, str]:
    found: dict[str, str] = {}
    with FILE.open(encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                for name in line.split("\t", 1)[0].split(","):
                    found[name] = line.rstrip("\n")
    return found


_KEPT = ("conv", "group_conv", "depthwise_conv", "linear", "attention_matmul", "batch_norm")


def _operator(text: str, factor: float, half: float, between_layer_norms: bool) -> Operator:
    kind, narrowest, count, *numbers = text.split(":")
    macs, inputs, outputs, weights = (float(number) for number in numbers)
    if kind in _KEPT or (kind == "activation" and between_layer_norms):
        kept = inputs * half
    else:
        kept = {"layer_norm": inputs, "group_norm": inputs, "softmax": outputs}.get(kind, 0.0) * 4.0
    scale = factor**2 if kind in ("attention_matmul", "softmax") else factor
    return Operator(
        kind,  # type: ignore[arg-type]
        count=int(count),
        macs=macs * scale,
        inputs=inputs * scale,
        outputs=outputs * scale,
        weights=weights,
        narrowest=int(narrowest),
        kept_bytes=kept * scale,
    )
