"""Walk timm's networks without data and write src/weighbridge/estimate/describe/vision_networks/timm.tsv.

    python tools/walk_timm.py OUT.tsv        (needs torch, torchvision and timm 0.6.13; not part of the
    product)

One forward pass per network on the meta device, at its own image size: every operator's kind, MACs, input,
output
and weight elements, added up by kind, narrowest channel count of a group and operations per element. Shapes
only.
Networks whose code asks for values (torch.unique) are built on the CPU and moved.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import timm
import torch
from torch.utils._python_dispatch import TorchDispatchMode

warnings.simplefilter("ignore")
_BATCH = 2
_MOVES_NOTHING = {
    "view", "_unsafe_view", "reshape", "permute", "transpose", "t", "expand", "slice", "select", "unsqueeze",
    "squeeze", "detach", "alias", "split", "split_with_sizes", "unbind", "as_strided", "chunk", "unfold",
    "_reshape_alias", "lift_fresh", "diagonal", "zeros", "ones", "arange", "full", "zeros_like", "ones_like",
    "scalar_tensor", "meshgrid", "linspace",
}  # fmt: skip
_NORMS = {
    "native_batch_norm": "batch_norm", "_native_batch_norm_legit": "batch_norm",
    "cudnn_batch_norm": "batch_norm", "_batch_norm_with_update": "batch_norm",
    "native_layer_norm": "layer_norm", "native_group_norm": "group_norm",
}  # fmt: skip
_REDUCES = ("mean", "sum", "var_mean", "std", "var", "amax")
_COPIES = (
    "copy", "clone", "_to_copy", "cat", "stack", "constant_pad_nd", "roll", "pixel_shuffle", "index",
    "im2col",
    "upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d",
)  # fmt: skip
_ACTIVATES = (
    "relu", "silu", "gelu", "hardtanh", "hardswish", "hardsigmoid", "sigmoid", "leaky_relu", "elu", "tanh",
    "clamp_min", "mish", "relu6", "threshold",
)  # fmt: skip
Key = tuple[str, int, int]


class Walk(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[Key, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0.0, 0.0])

    def add(self, kind: str, narrowest: int, intensity: float, *numbers: float) -> None:
        """``numbers``: MACs, inputs, outputs of the batch, then weights."""
        step = 0 if not intensity else (_power(intensity).bit_length() - 1) // 2
        row = self.rows[(kind, _power(narrowest) if narrowest else 0, step)]
        row[0] += 1
        for index, number in enumerate(numbers):
            row[index + 1] += number / (_BATCH if index < 3 else 1)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.split("::")[1].rstrip("_")
        if name in _MOVES_NOTHING or name.startswith(("empty", "new_")):
            return out
        first = out[0] if isinstance(out, tuple) else out
        if name == "convolution":
            x, weight, groups = args[0], args[1], args[8]
            macs = out.numel() * weight[0].numel()
            each = min(weight.shape[1], weight.shape[0] // groups)
            grouped = "depthwise_conv" if weight.shape[1] == 1 else "group_conv"
            kind = "conv" if groups == 1 else grouped
            self.add(
                kind, each, macs / (x.numel() + out.numel()), macs, x.numel(), out.numel(), weight.numel()
            )
        elif name in ("addmm", "mm", "bmm", "baddbmm"):
            a, b = args[1:3] if "add" in name else args[:2]
            macs = out.numel() * a.shape[-1]
            batched = "bmm" in name
            inputs = a.numel() + (b.numel() if batched else 0)
            narrowest = min(a.shape[-1], b.shape[-1], *((a.shape[-2],) if batched else ()))
            self.add("attention_matmul" if batched else "linear", narrowest, macs / (inputs + out.numel()),
                     macs, inputs, out.numel(), 0 if batched else b.numel())  # fmt: skip
        elif name in _NORMS:
            self.add(_NORMS[name], 0, 0, 0, args[0].numel(), args[0].numel(), 0)
        else:
            moved = _elements(first)
            inputs = moved if name in _COPIES else sum(_elements(argument) for argument in args)
            self.add(_other(name), 0, 0, 0, inputs, moved, 0)
        return out


def _other(name: str) -> str:
    if name == "_softmax":
        return "softmax"
    if "pool" in name:
        return "pool"
    if name in _REDUCES:
        return "reduce"
    if name in _COPIES:
        return "copy"
    return "activation" if name in _ACTIVATES else "elementwise"


def _elements(x: Any) -> int:
    if isinstance(x, torch.Tensor):
        return x.numel()
    return sum(_elements(y) for y in x) if isinstance(x, list | tuple) else 0


def _power(x: float) -> int:
    return 2 ** math.floor(math.log2(max(x, 1)))


def walk(name: str) -> str:
    """The table's line without the name."""
    try:
        with torch.device("meta"):
            network = timm.create_model(name, pretrained=False).train()
    except NotImplementedError:
        network = timm.create_model(name, pretrained=False).to("meta").train()
    size = network.default_cfg["input_size"]
    with torch.no_grad(), Walk() as walked:
        network(torch.empty((_BATCH, *size), device="meta"))
    parameters = [parameter.numel() for parameter in network.parameters()]
    operators = " ".join(
        f"{kind}:{narrowest}:{int(row[0])}:" + ":".join(str(round(number)) for number in row[1:])
        for (kind, narrowest, _), row in sorted(walked.rows.items())
    )
    return "\t".join(map(str, (size[1], size[2], sum(parameters), len(parameters), operators)))


def main(out: Path) -> None:
    spaced = torch.linspace
    torch.linspace = lambda *a, **k: spaced(*a, **{**k, "device": k.get("device", "cpu")})  # read as numbers
    found: dict[str, list[str]] = defaultdict(list)
    for name in timm.list_models():
        try:
            found[walk(name)].append(name)
        except (NotImplementedError, ImportError, TypeError, RuntimeError) as error:
            sys.stderr.write(f"left out {name}: {type(error).__name__} {str(error)[:100]}\n")
    head = (
        "# names\theight\twidth\tparameters\ttensors\t"
        "operators (kind:narrowest channels of a group:count:MACs:inputs:outputs:weights, per image)\n"
    )
    out.write_text(
        head + "".join(f"{','.join(names)}\t{line}\n" for line, names in found.items()), encoding="utf-8"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
