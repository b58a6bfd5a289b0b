"""Transformer backbones, block by block: ViT, Swin, PVT, Twins, MiT. Attention is the eager one unless
fused."""

from __future__ import annotations

from weighbridge.weigh.vision.walk import Map, Walk

VIT = {  # width, depth, heads
    "tiny": (192, 12, 3),
    "small": (384, 12, 6),
    "base": (768, 12, 12),
    "large": (1024, 24, 16),
    "huge": (1280, 32, 16),
}
SWIN = {
    "tiny": (96, (2, 2, 6, 2), (3, 6, 12, 24), 7),
    "small": (96, (2, 2, 18, 2), (3, 6, 12, 24), 7),
    "base": (128, (2, 2, 18, 2), (4, 8, 16, 32), 7),
    "large": (192, (2, 2, 18, 2), (6, 12, 24, 48), 7),
}
PVT = {  # widths, depths, heads, feed-forward factors, linear patch embedding of version 1
    "t": ((64, 128, 320, 512), (2, 2, 2, 2), (1, 2, 5, 8), (8, 8, 4, 4)),
    "s": ((64, 128, 320, 512), (3, 4, 6, 3), (1, 2, 5, 8), (8, 8, 4, 4)),
    "m": ((64, 128, 320, 512), (3, 4, 18, 3), (1, 2, 5, 8), (8, 8, 4, 4)),
    "l": ((64, 128, 320, 512), (3, 8, 27, 3), (1, 2, 5, 8), (8, 8, 4, 4)),
    "v2-b0": ((32, 64, 160, 256), (2, 2, 2, 2), (1, 2, 5, 8), (8, 8, 4, 4)),
    "v2-b1": ((64, 128, 320, 512), (2, 2, 2, 2), (1, 2, 5, 8), (8, 8, 4, 4)),
    "v2-b2": ((64, 128, 320, 512), (3, 4, 6, 3), (1, 2, 5, 8), (8, 8, 4, 4)),
    "v2-b3": ((64, 128, 320, 512), (3, 4, 18, 3), (1, 2, 5, 8), (8, 8, 4, 4)),
    "v2-b4": ((64, 128, 320, 512), (3, 8, 27, 3), (1, 2, 5, 8), (8, 8, 4, 4)),
    "v2-b5": ((64, 128, 320, 512), (3, 6, 40, 3), (1, 2, 5, 8), (4, 4, 4, 4)),
}


def attention(
    walk: Walk,
    x: Map,
    heads: int,
    window: float,
    keys: Map | None = None,
    *,
    fused: bool = False,
    averaged: bool = False,
    bias: bool = True,
    positions: bool = False,
) -> Map:
    """Multi-head attention over windows of ``window`` positions (all of them: global), projection included.

    ``averaged``: nn.MultiheadAttention as MMCV calls it, which also hands back the weights averaged over
    heads:
    a second map of the weights' size stays.
    """
    wide = x.channels
    source = x if keys is None else keys
    query = walk.linear(x, wide, bias)
    key = walk.linear(source, wide, bias)
    value = walk.linear(source, wide, bias)
    seen = window if keys is None else keys.height * keys.width
    scores = Map(heads * seen, x.height, x.width, items=x.items, bytes_each=query.bytes_each)
    if fused:
        y = walk.matmul(query, key, walk.like(query), 2 * seen)
        walk.keep(value)
        return walk.linear(y, wide)
    scores = walk.matmul(query, key, scores, wide / heads)
    if positions:  # learned relative positions of rows and columns, added to the scores
        scores = walk.add(scores, Map(0, 1, 1, bytes_each=scores.bytes_each))
        scores = walk.add(scores, Map(0, 1, 1, bytes_each=scores.bytes_each))
    weights = walk.softmax(scores)
    if averaged:
        walk.emit("elementwise", weights, weights, kept=weights.size)
    weights = walk.half(weights)
    out = walk.matmul(weights, value, walk.like(query), seen)
    return walk.linear(out, wide)


def mlp(walk: Walk, x: Map, factor: float, depthwise: bool = False) -> Map:
    y = walk.linear(x, x.channels * factor)
    if depthwise:
        y = walk.conv(y, y.channels, 3, groups=y.channels, bias=True)
    return walk.linear(walk.smooth(y), x.channels)


def vit(
    walk: Walk, x: Map, size: str, patch: int = 16, tokens: int = 1, window: int = 0, fused: bool = False,
    depth: int | None = None, averaged: bool = False, positions_added: bool = False,
) -> list[Map]:  # fmt: skip
    """Outputs after each quarter of the depth. ``window``: ViTDet's windows, a quarter of the blocks
    global."""
    wide, blocks, heads = VIT[size]
    x = walk.conv(x, wide, patch, patch, 0, bias=True)
    positions = x.height * x.width + tokens
    walk.weigh_parameters(wide * (positions + tokens), 2)
    x = walk.add(Map(wide, 1, positions, bytes_each=x.bytes_each), Map(0, 1, 1))
    x.bytes_each = 4.0
    out: list[Map] = []
    blocks = depth or blocks
    for block in range(blocks):
        with walk.checkpoint(x):
            seen = window * window if window and (block + 1) % (blocks // 4) else positions
            x = walk.add(attention(walk, walk.norm(x, "layer"), heads, seen, fused=fused, averaged=averaged,
                                   positions=positions_added), x)  # fmt: skip
            x = walk.add(mlp(walk, walk.norm(x, "layer"), 4), x)
        if (block + 1) % max(blocks // 4, 1) == 0:
            out.append(x)
    return out


def swin(walk: Walk, x: Map, size: str, window: int | None = None) -> list[Map]:
    wide, depths, heads, side = SWIN[size]
    side = window or side
    x = walk.norm(walk.conv(x, wide, 4, 4, 0, bias=True), "layer")
    out: list[Map] = []
    for stage, count in enumerate(depths):
        if stage:
            halved = Map(4 * x.channels, x.height // 2, x.width // 2, bytes_each=x.bytes_each)
            x = walk.linear(walk.norm(walk.copy(halved), "layer"), 2 * x.channels, bias=False)
        for block in range(count):
            with walk.checkpoint(x):
                y = walk.norm(x, "layer")
                high, broad = -(-y.height // side) * side, -(-y.width // side) * side
                y = walk.copy(Map(y.channels, high, broad, bytes_each=y.bytes_each))  # padded, in windows
                if block % 2:
                    y = walk.copy(y)
                walk.weigh_parameters((2 * side - 1) ** 2 * heads[stage])
                y = attention(walk, y, heads[stage], side * side)
                x = walk.add(walk.copy(walk.resize(y, x.height, x.width)), x)
                x = walk.add(mlp(walk, walk.norm(x, "layer"), 4), x)
        out.append(walk.norm(x, "layer"))
    return out


def pvt(walk: Walk, x: Map, size: str, averaged: bool = True) -> list[Map]:
    """Keys and values from a map reduced 8, 4, 2, 1 times a side; version 2 has depthwise convolutions
    between."""
    widths, depths, heads, factors = PVT[size]
    second = size.startswith("v2")
    out: list[Map] = []
    for stage, count in enumerate(depths):
        kernel, stride = (7, 4) if stage == 0 else (3, 2)
        if not second:
            kernel = stride = 4 if stage == 0 else 2
        x = walk.conv(x, widths[stage], kernel, stride, None if second else 0, bias=True)
        x = walk.norm(x, "layer")
        reduce = (8, 4, 2, 1)[stage]
        for _ in range(count):
            with walk.checkpoint(x):
                y = walk.norm(x, "layer")
                keys = y
                if reduce > 1:
                    keys = walk.norm(walk.conv(y, y.channels, reduce, reduce, 0, bias=True), "layer")
                x = walk.add(attention(walk, y, heads[stage], 0, keys, averaged=averaged), x)
                x = walk.add(mlp(walk, walk.norm(x, "layer"), factors[stage], depthwise=second), x)
        out.append(x)
    return out


MIT = {
    "b0": ((32, 64, 160, 256), (2, 2, 2, 2)),
    "b1": ((64, 128, 320, 512), (2, 2, 2, 2)),
    "b2": ((64, 128, 320, 512), (3, 4, 6, 3)),
    "b3": ((64, 128, 320, 512), (3, 4, 18, 3)),
    "b4": ((64, 128, 320, 512), (3, 8, 27, 3)),
    "b5": ((64, 128, 320, 512), (3, 6, 40, 3)),
}


def mit(walk: Walk, x: Map, size: str) -> list[Map]:
    """SegFormer's encoder: PVT's reduced attention, depthwise convolution in the feed-forward part."""
    widths, depths = MIT[size]
    out: list[Map] = []
    for stage, count in enumerate(depths):
        x = walk.conv(x, widths[stage], 7 if stage == 0 else 3, 4 if stage == 0 else 2, bias=True)
        x = walk.norm(x, "layer")
        reduce = (8, 4, 2, 1)[stage]
        for _ in range(count):
            y = walk.norm(x, "layer")
            keys = y
            if reduce > 1:
                keys = walk.norm(walk.conv(y, y.channels, reduce, reduce, 0, bias=True), "layer")
            x = walk.add(attention(walk, y, (1, 2, 5, 8)[stage], 0, keys), x)
            x = walk.add(mlp(walk, walk.norm(x, "layer"), 4, depthwise=True), x)
        out.append(walk.norm(x, "layer"))
    return out


TWINS = {
    "pcpvt-s": ((64, 128, 320, 512), (3, 4, 6, 3), (1, 2, 5, 8), (8, 8, 4, 4), False),
    "pcpvt-b": ((64, 128, 320, 512), (3, 4, 18, 3), (1, 2, 5, 8), (8, 8, 4, 4), False),
    "pcpvt-l": ((64, 128, 320, 512), (3, 8, 27, 3), (1, 2, 5, 8), (8, 8, 4, 4), False),
    "svt-s": ((64, 128, 256, 512), (2, 2, 10, 4), (2, 4, 8, 16), (4, 4, 4, 4), True),
    "svt-b": ((96, 192, 384, 768), (2, 2, 18, 2), (3, 6, 12, 24), (4, 4, 4, 4), True),
    "svt-l": ((128, 256, 512, 1024), (2, 2, 18, 2), (4, 8, 16, 32), (4, 4, 4, 4), True),
}


def twins(walk: Walk, x: Map, size: str) -> list[Map]:
    """PCPVT is PVT with a convolution for positions; SVT alternates 7x7 windows with reduced global
    attention."""
    widths, depths, heads, factors, local = TWINS[size]
    out: list[Map] = []
    for stage, count in enumerate(depths):
        step = 4 if stage == 0 else 2
        x = walk.norm(walk.conv(x, widths[stage], step, step, 0, bias=True), "layer")
        reduce = (8, 4, 2, 1)[stage]
        for block in range(count):
            y = walk.norm(x, "layer")
            if local and block % 2 == 0:
                y = walk.copy(y)
                y = attention(walk, y, heads[stage], 49)
                y = walk.copy(y)
            else:
                keys = y
                if reduce > 1:
                    keys = walk.norm(walk.conv(y, y.channels, reduce, reduce, 0, bias=True), "layer")
                y = attention(walk, y, heads[stage], 0, keys)
            x = walk.add(y, x)
            x = walk.add(mlp(walk, walk.norm(x, "layer"), factors[stage]), x)
            if block == 0:
                x = walk.add(walk.conv(x, x.channels, 3, groups=x.channels, bias=True), x)
        out.append(x)
    return out
