"""Decode heads of semantic segmentation, as in MMSegmentation, and their loss at full resolution."""

from __future__ import annotations

from collections.abc import Sequence

from weighbridge.weigh.vision.walk import Map, Walk


def block(walk: Walk, x: Map, out: float, kernel: int = 3, dilation: int = 1) -> Map:
    return walk.relu(walk.norm(walk.conv(x, out, kernel, dilation=dilation)))


def classify(walk: Walk, x: Map, classes: int, height: float, width: float, copies: float = 1.0) -> Map:
    """Dropout, 1x1 convolution, bilinear to the label's size, cross entropy; log-softmax stays in fp32."""
    y = walk.copy(x)
    y = walk.conv(y, classes, 1, bias=True)
    y = walk.full(y)
    y = walk.resize(y, height, width)
    logits = walk.softmax(y)
    # Alive while a loss is computed or turned back, beside what is kept: the resized logits, the gradient
    # of the loss
    # and of the logits, and the copy that topk makes of the logits for the accuracy.
    walk.losses(logits.size * 4)
    return logits


def fcn(walk: Walk, x: Map, wide: int, convolutions: int, concat: bool) -> Map:
    y = x
    for _ in range(convolutions):
        y = block(walk, y, wide)
    return block(walk, walk.cat(x, y), wide) if concat and convolutions else y


def pyramid_pool(walk: Walk, x: Map, wide: int) -> list[Map]:
    out = [x]
    for size in (1, 2, 3, 6):
        y = block(walk, walk.average_pool(x, size, size), wide, 1)
        out.append(walk.resize(y, x.height, x.width))
    return out


def psp(walk: Walk, x: Map, wide: int = 512) -> Map:
    return block(walk, walk.cat(*pyramid_pool(walk, x, wide)), wide)


def aspp(
    walk: Walk, x: Map, wide: int = 512, dilations: Sequence[int] = (1, 12, 24, 36), separable: bool = False
) -> Map:
    pooled = walk.resize(block(walk, walk.average_pool(x, 1, 1), wide, 1), x.height, x.width)
    out = [pooled]
    for dilation in dilations:
        if dilation > 1 and separable:
            y = walk.relu(walk.norm(walk.conv(x, x.channels, 3, dilation=dilation, groups=x.channels)))
            out.append(block(walk, y, wide, 1))
        else:
            out.append(block(walk, x, wide, 1 if dilation == 1 else 3, dilation))
    return block(walk, walk.cat(*out), wide)


def separable(walk: Walk, x: Map, out: int) -> Map:
    y = walk.relu(walk.norm(walk.conv(x, x.channels, 3, groups=x.channels)))
    return block(walk, y, out, 1)


def deeplab_plus(
    walk: Walk,
    low: Map,
    x: Map,
    wide: int = 512,
    low_wide: int = 48,
    dilations: Sequence[int] = (1, 12, 24, 36),
) -> Map:
    y = aspp(walk, x, wide, dilations, separable=True)
    if low_wide:
        low = block(walk, low, low_wide, 1)
        y = walk.cat(walk.resize(y, low.height, low.width), low)
    return separable(walk, separable(walk, y, wide), wide)


def upernet(walk: Walk, maps: Sequence[Map], wide: int = 512) -> Map:
    laterals = [block(walk, x, wide, 1) for x in maps[:-1]]
    laterals.append(psp(walk, maps[-1], wide))
    for index in range(len(laterals) - 1, 0, -1):
        below = laterals[index - 1]
        laterals[index - 1] = walk.add(below, walk.resize(laterals[index], below.height, below.width))
    out = [block(walk, x, wide) for x in laterals[:-1]] + [laterals[-1]]
    first = out[0]
    joined = walk.cat(*(walk.resize(x, first.height, first.width) for x in out))
    return block(walk, joined, wide)


def fpn_head(walk: Walk, maps: Sequence[Map], wide: int = 128) -> Map:
    """Panoptic FPN's: every level convolved up to stride 4, then added."""
    total: Map | None = None
    for level, x in enumerate(maps):
        y = x
        for _ in range(max(level, 1)):
            y = block(walk, y, wide)
            if level:
                y = walk.resize(y, y.height * 2, y.width * 2)
        total = y if total is None else walk.add(total, walk.resize(y, total.height, total.width))
    assert total is not None
    return total


def with_context(walk: Walk, x: Map, wide: int, middle: str) -> Map:
    """Two 3x3 convolutions around a block that mixes all positions, joined with the input."""
    y = block(walk, x, wide)
    y = MIDDLES[middle](walk, y)
    y = block(walk, y, wide)
    return block(walk, walk.cat(x, y), wide)


def _non_local(walk: Walk, x: Map) -> Map:
    inner = x.channels / 2
    query, key, value = (walk.conv(x, inner, 1, bias=True) for _ in range(3))
    seen = x.height * x.width
    scores = walk.matmul(query, key, Map(seen, x.height, x.width, bytes_each=query.bytes_each), inner)
    weights = walk.half(walk.softmax(scores))
    y = walk.matmul(weights, value, walk.like(query), seen)
    return walk.add(walk.norm(walk.conv(y, x.channels, 1)), x)


def _criss_cross(walk: Walk, x: Map) -> Map:
    for _ in range(2):
        query, key = (walk.conv(x, x.channels / 8, 1, bias=True) for _ in range(2))
        value = walk.conv(x, x.channels, 1, bias=True)
        seen = x.height + x.width
        scores = walk.matmul(
            query, key, Map(seen, x.height, x.width, bytes_each=query.bytes_each), query.channels
        )
        y = walk.matmul(walk.half(walk.softmax(scores)), value, walk.like(value), seen)
        x = walk.add(walk.scale(y), x)
    return x


def _global_context(walk: Walk, x: Map) -> Map:
    mask = walk.softmax(walk.conv(x, 1, 1, bias=True))
    context = walk.matmul(x, mask, Map(x.channels, 1, 1), x.height * x.width)
    context = walk.relu(walk.norm(walk.conv(context, x.channels / 4, 1, bias=True), "layer"))
    return walk.add(x, walk.conv(context, x.channels, 1, bias=True))


def _interlaced(walk: Walk, x: Map) -> Map:
    for seen in (64.0, x.height * x.width / 64):
        y = walk.copy(x)
        query, key = block(walk, y, x.channels / 2, 1), block(walk, y, x.channels / 2, 1)
        value = walk.conv(y, x.channels / 2, 1)
        scores = walk.matmul(
            query, key, Map(seen, x.height, x.width, bytes_each=query.bytes_each), query.channels
        )
        y = walk.matmul(walk.half(walk.softmax(scores)), value, walk.like(value), seen)
        x = walk.copy(block(walk, y, x.channels, 1))
    return x


def _position_and_channel(walk: Walk, x: Map) -> Map:
    """DANet: position attention and channel attention side by side."""
    query, key = (walk.conv(x, 64, 1, bias=True) for _ in range(2))
    value = walk.conv(x, x.channels, 1, bias=True)
    seen = x.height * x.width
    scores = walk.matmul(query, key, Map(seen, x.height, x.width, bytes_each=query.bytes_each), 64)
    y = walk.matmul(walk.half(walk.softmax(scores)), value, walk.like(value), seen)
    return block(walk, walk.add(walk.scale(y), x), x.channels)


def danet(walk: Walk, x: Map, wide: int) -> list[Map]:
    """Position and channel attention side by side; both outputs and their sum are classified."""
    position = block(walk, _position_and_channel(walk, block(walk, x, wide)), wide)
    channel = block(walk, x, wide)
    channel = block(walk, walk.add(walk.scale(channel), channel), wide)
    return [walk.add(position, channel), position, channel]


def adaptive_context(walk: Walk, x: Map, wide: int = 512) -> Map:
    """APCNet and DMNet: at four scales a reduced map is mixed and added to a projection of itself."""
    out = [x]
    for _ in range(4):
        y = block(walk, x, wide, 1)
        z = walk.copy(y)
        out.append(walk.relu(walk.add(block(walk, y, wide, 1), z)))
    return block(walk, walk.cat(*out), wide)


def encoding(walk: Walk, x: Map, wide: int = 512, codes: int = 32) -> Map:
    """EncNet: differences of every position to every code word, kept for the distance and for the sum."""
    y = block(walk, x, wide)
    z = block(walk, y, wide, 1)
    differences = Map(wide * codes, z.height, z.width, bytes_each=4.0)
    for _ in range(2):
        walk.emit("elementwise", differences, differences, kept=differences.size)
    gate = walk.sigmoid(walk.linear(walk.average_pool(z, 1, 1), wide))
    return walk.relu(walk.multiply(y, gate))


def pyramid_upsampling(walk: Walk, maps: Sequence[Map], wide: int = 512) -> Map:
    """FastFCN's JPU: three stages at stride 8, four dilated separable convolutions over them together."""
    first = maps[-3]
    parts = [walk.resize(block(walk, x, wide), first.height, first.width) for x in maps[-3:]]
    joined = walk.cat(*parts)
    out = []
    for dilation in (1, 2, 4, 8):
        y = walk.conv(joined, joined.channels, 3, dilation=dilation, groups=joined.channels)
        out.append(block(walk, walk.relu(walk.norm(y)), wide, 1))
    return walk.cat(*out)


MIDDLES = {
    "nonlocal": _non_local,
    "dnl": _non_local,
    "dnlnet": _non_local,
    "ccnet": _criss_cross,
    "gcnet": _global_context,
    "isanet": _interlaced,
    "danet": _position_and_channel,
    "ann": _global_context,
    "emanet": _global_context,
}


def unet(walk: Walk, x: Map, base: int = 64, stages: int = 5) -> list[Map]:
    """Encoder and decoder of U-Net; MMSegmentation's checkpoints every pair of convolutions."""
    skips: list[Map] = []
    for stage in range(stages):
        if stage:
            x = walk.max_pool(x, 2, 2)
        with walk.checkpoint(x):
            x = block(walk, block(walk, x, base * 2**stage), base * 2**stage)
        skips.append(x)
    out = [x]
    for stage in range(stages - 2, -1, -1):
        wide = base * 2**stage
        with walk.checkpoint(x):
            up = block(walk, walk.resize(x, x.height * 2, x.width * 2), wide, 1)
        x = walk.cat(skips[stage], up)
        with walk.checkpoint(x):
            x = block(walk, block(walk, x, wide), wide)
        out.append(x)
    return out


def ocr(walk: Walk, x: Map, classes: int, wide: int = 512, keys: int = 256) -> Map:
    """Object-contextual representations: soft regions, attention of pixels to them."""
    y = block(walk, x, wide)
    regions = walk.softmax(Map(classes, x.height, x.width, bytes_each=y.bytes_each))
    context = walk.matmul(regions, y, Map(wide, 1, classes), x.height * x.width)
    query = block(walk, block(walk, y, keys, 1), keys, 1)
    key = block(walk, block(walk, context, keys, 1), keys, 1)
    scores = walk.matmul(query, key, Map(classes, x.height, x.width, bytes_each=query.bytes_each), keys)
    z = walk.matmul(walk.half(walk.softmax(scores)), key, walk.like(query), classes)
    return block(walk, walk.cat(block(walk, z, wide, 1), y), wide, 1)
