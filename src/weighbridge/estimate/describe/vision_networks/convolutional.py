"""Convolutional backbones, block by block: ResNet and its kin, RegNet, HRNet, VGG, MobileNet, Darknet,
ConvNeXt."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.weigh.vision.walk import Map, Walk

RESNET_BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """How a residual network differs from ResNet-v1.5 (stride in the 3x3 convolution)."""

    depth: int = 50
    groups: int = 1
    group_width: int = 64
    strides: tuple[int, ...] = (1, 2, 2, 2)
    dilations: tuple[int, ...] = (1, 1, 1, 1)
    deep_stem: bool = False
    average_down: bool = False
    stride_first: bool = False
    deformable_from: int = 9
    frozen_stages: int = 0
    norm: str | None = None
    squeeze: bool = False
    context: int = 0
    scales: int = 1
    radix: int = 1
    stages: int = 4


def resnet(walk: Walk, x: Map, spec: Residual) -> list[Map]:
    """The outputs of the four stages."""
    with walk.freeze(spec.frozen_stages > 0):
        x = _stem(walk, x, spec)
    planes = 64
    out: list[Map] = []
    for stage, blocks in enumerate(RESNET_BLOCKS[spec.depth][: spec.stages]):
        with walk.freeze(spec.frozen_stages > stage + 1 or spec.frozen_stages == stage + 1):
            for block in range(blocks):
                stride = spec.strides[stage] if block == 0 else 1
                with walk.checkpoint(x):
                    x = _block(walk, x, planes, stride, block == 0, stage, spec)
        out.append(x)
        planes *= 2
    return out


def _stem(walk: Walk, x: Map, spec: Residual) -> Map:
    if spec.deep_stem:
        wide = 32
        for out, stride in ((wide, 2), (wide, 1), (2 * wide, 1)):
            x = walk.relu(walk.norm(walk.conv(x, out, 3, stride), spec.norm))
    else:
        x = walk.relu(walk.norm(walk.conv(x, 64, 7, 2), spec.norm))
    return walk.max_pool(x, 3, 2, 1)


def _block(walk: Walk, x: Map, planes: int, stride: int, first: bool, stage: int, spec: Residual) -> Map:
    dilation = spec.dilations[stage]
    out = planes * (1 if spec.depth < 50 else 4)
    shortcut = x
    if spec.depth < 50:
        y = walk.relu(walk.norm(walk.conv(x, planes, 3, stride, dilation=dilation), spec.norm))
        y = walk.norm(walk.conv(y, planes, 3, dilation=dilation), spec.norm)
    else:
        width = planes * spec.group_width * spec.groups // 64
        deformable = stage >= spec.deformable_from
        y = walk.relu(walk.norm(walk.conv(x, width, 1, stride if spec.stride_first else 1), spec.norm))
        inner = 1 if spec.stride_first else stride
        if spec.scales > 1:
            y = _split_scales(walk, y, width, inner, dilation, spec)
        elif spec.radix > 1:
            y = _split_attention(walk, y, width, inner, dilation, spec)
        else:
            if deformable:
                walk.conv(y, 27, 3, inner, bias=True)
            y = walk.conv(y, width, 3, inner, dilation=dilation, groups=spec.groups, deformable=deformable)
            y = walk.relu(walk.norm(y, spec.norm))
        y = walk.norm(walk.conv(y, out, 1), spec.norm)
        if spec.squeeze:
            y = squeeze(walk, y, out // 16)
        if spec.context and stage >= 1:
            y = global_context(walk, y, out // spec.context)
    if first and (stride != 1 or x.channels != out):
        if spec.average_down and stride != 1:
            shortcut = walk.average_pool(shortcut, -(-shortcut.height // 2), -(-shortcut.width // 2))
            shortcut = walk.conv(shortcut, out, 1)
        else:
            shortcut = walk.conv(shortcut, out, 1, stride)
        shortcut = walk.norm(shortcut, spec.norm)
    return walk.relu(walk.add(y, shortcut))


def squeeze(walk: Walk, x: Map, reduced: float) -> Map:
    """Squeeze and excitation: the multiplication keeps both factors."""
    gate = walk.average_pool(x, 1, 1)
    gate = walk.relu(walk.conv(gate, reduced, 1, bias=True))
    gate = walk.sigmoid(walk.conv(gate, x.channels, 1, bias=True))
    return walk.multiply(x, gate)


def global_context(walk: Walk, x: Map, reduced: float) -> Map:
    """GCNet's block: attention over positions, two 1x1 convolutions, addition."""
    mask = walk.softmax(walk.conv(x, 1, 1, bias=True))
    context = walk.matmul(x, mask, Map(x.channels, 1, 1, items=x.items), x.height * x.width)
    context = walk.relu(walk.norm(walk.conv(context, reduced, 1, bias=True), "layer"))
    return walk.add(x, walk.conv(context, x.channels, 1, bias=True))


def _split_scales(walk: Walk, x: Map, width: int, stride: int, dilation: int, spec: Residual) -> Map:
    """Res2Net: the 3x3 convolution in ``scales`` steps over channel groups, each adding the one before."""
    part = width * 26 // 64 if spec.groups == 1 else width // spec.scales
    pieces: list[Map] = []
    for _ in range(spec.scales - 1):
        piece = walk.copy(walk.like(x, part))
        pieces.append(walk.relu(walk.norm(walk.conv(piece, part, 3, stride, dilation=dilation), spec.norm)))
    last = walk.like(pieces[0], part)
    return walk.cat(*pieces, last)


def _split_attention(walk: Walk, x: Map, width: int, stride: int, dilation: int, spec: Residual) -> Map:
    """ResNeSt: ``radix`` groups of the 3x3 convolution weighed against each other by attention."""
    y = walk.conv(x, width * spec.radix, 3, 1, dilation=dilation, groups=spec.radix * spec.groups)
    y = walk.relu(walk.norm(y, spec.norm))
    both = walk.add(walk.like(y, width), walk.like(y, width))
    gate = walk.average_pool(both, 1, 1)
    gate = walk.relu(walk.norm(walk.conv(gate, max(width * spec.radix // 4, 32), 1), spec.norm))
    gate = walk.softmax(walk.conv(gate, width * spec.radix, 1, bias=True))
    y = walk.multiply(y, gate)
    y = walk.copy(walk.like(y, width))
    return walk.average_pool(y, -(-y.height // stride), -(-y.width // stride)) if stride > 1 else y


REGNETX = {
    "400mf": (24, 24.48, 2.54, 22, 16),
    "800mf": (56, 35.73, 2.28, 16, 16),
    "1.6gf": (80, 34.01, 2.25, 18, 24),
    "3.2gf": (88, 26.31, 2.25, 25, 48),
    "4.0gf": (96, 38.65, 2.43, 23, 40),
    "4gf": (96, 38.65, 2.43, 23, 40),
    "6.4gf": (184, 60.83, 2.07, 17, 56),
    "8gf": (80, 49.56, 2.88, 23, 120),
    "8.0gf": (80, 49.56, 2.88, 23, 120),
    "12gf": (168, 73.36, 2.37, 19, 112),
}


def regnet_widths(size: str) -> list[tuple[int, int, int]]:
    """(width, blocks, group width) of every stage, by the design rule of the paper (w0, wa, wm, depth,
    group)."""
    start, slope, factor, depth, group = REGNETX[size]
    from math import log

    widths = []
    for index in range(depth):
        step = round(log((start + slope * index) / start) / log(factor))
        widths.append(round(start * factor**step / 8) * 8)
    stages: list[tuple[int, int, int]] = []
    for width in sorted(set(widths)):
        each = min(group, width)
        stages.append((round(width / each) * each, widths.count(width), each))
    return stages


def regnet(walk: Walk, x: Map, size: str, frozen_stages: int = 0, deformable_from: int = 9) -> list[Map]:
    with walk.freeze(frozen_stages > 0):
        x = walk.relu(walk.norm(walk.conv(x, 32, 3, 2)))
    out: list[Map] = []
    for stage, (width, blocks, group) in enumerate(regnet_widths(size)):
        with walk.freeze(frozen_stages >= stage + 1):
            for block in range(blocks):
                stride, shortcut = (2 if block == 0 else 1), x
                y = walk.relu(walk.norm(walk.conv(x, width, 1)))
                if stage >= deformable_from:
                    walk.conv(y, 27, 3, stride, bias=True)
                y = walk.conv(y, width, 3, stride, groups=width / group, deformable=stage >= deformable_from)
                y = walk.norm(walk.conv(walk.relu(walk.norm(y)), width, 1))
                if block == 0:
                    shortcut = walk.norm(walk.conv(x, width, 1, 2))
                x = walk.relu(walk.add(y, shortcut))
        out.append(x)
    return out


def hrnet(walk: Walk, x: Map, width: int, small: bool = False, frozen_stages: int = 0) -> list[Map]:
    """Four resolutions kept side by side; the small form has fewer modules and two blocks in a branch."""
    x = walk.relu(walk.norm(walk.conv(x, 64, 3, 2)))
    x = walk.relu(walk.norm(walk.conv(x, 64, 3, 2)))
    for block in range(2 if small else 4):
        shortcut = x
        y = walk.relu(walk.norm(walk.conv(x, 64, 1)))
        y = walk.norm(walk.conv(walk.relu(walk.norm(walk.conv(y, 64, 3))), 256, 1))
        if block == 0:
            shortcut = walk.norm(walk.conv(x, 256, 1))
        x = walk.relu(walk.add(y, shortcut))
    branches = [x]
    modules = (1, 1, 1) if small is True else (1, 4, 3)
    if small:
        modules = (1, 3, 2)
    for stage, count in enumerate(modules):
        channels = [width * 2**index for index in range(stage + 2)]
        grown = []
        for index, out in enumerate(channels):
            source = branches[min(index, len(branches) - 1)]
            if index >= len(branches):
                grown.append(walk.relu(walk.norm(walk.conv(source, out, 3, 2))))
            elif source.channels != out:
                grown.append(walk.relu(walk.norm(walk.conv(source, out, 3))))
            else:
                grown.append(source)
        branches = grown
        for _ in range(count):
            branches = _hr_module(walk, branches, 2 if small else 4)
    return branches


def _hr_module(walk: Walk, branches: list[Map], blocks: int) -> list[Map]:
    deep = []
    for x in branches:
        for _ in range(blocks):
            y = walk.relu(walk.norm(walk.conv(x, x.channels, 3)))
            y = walk.norm(walk.conv(y, x.channels, 3))
            x = walk.relu(walk.add(y, x))
        deep.append(x)
    fused = []
    for target, to in enumerate(deep):
        total: Map | None = None
        for source, x in enumerate(deep):
            if source > target:
                part = walk.norm(walk.conv(x, to.channels, 1))
                part = walk.resize(part, to.height, to.width)
            elif source == target:
                part = x
            else:
                part = x
                for step in range(target - source):
                    last = step == target - source - 1
                    part = walk.norm(walk.conv(part, to.channels if last else x.channels, 3, 2))
                    part = part if last else walk.relu(part)
            total = part if total is None else walk.add(total, part)
        assert total is not None
        fused.append(walk.relu(total))
    return fused


def vgg(walk: Walk, x: Map, depth: int = 16, norm: bool = False, pool_last: bool = True) -> list[Map]:
    counts = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}[depth]
    out: list[Map] = []
    for stage, count in enumerate(counts):
        for _ in range(count):
            x = walk.conv(x, min(64 * 2**stage, 512), 3, bias=True)
            x = walk.relu(walk.norm(x) if norm else x)
        out.append(x)
        if stage < 4 or pool_last:
            x = walk.max_pool(x, 2, 2, 0, ceil=True)
    return [*out, x]


MOBILENET2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def mobilenet2(
    walk: Walk,
    x: Map,
    strides: tuple[int, ...] = (1, 2, 2, 2, 1, 2, 1),
    dilations: tuple[int, ...] = (1,) * 7,
) -> list[Map]:
    """Every stage's output; ReLU6 keeps its input (hardtanh), in place or not."""
    x = walk.relu(walk.norm(walk.conv(x, 32, 3, 2)))
    out: list[Map] = []
    for (expand, width, count, _), stage_stride, dilation in zip(MOBILENET2, strides, dilations, strict=True):
        for block in range(count):
            stride = stage_stride if block == 0 else 1
            x = inverted(walk, x, width, expand * x.channels, 3, stride, dilation)
        out.append(x)
    return out


def inverted(
    walk: Walk,
    x: Map,
    out: float,
    wide: float,
    kernel: int,
    stride: int,
    dilation: int = 1,
    squeezed: float = 0,
    smooth: bool = False,
) -> Map:
    """Inverted residual: expand, depthwise, project."""
    act = walk.smooth if smooth else walk.relu
    y = x
    if wide != x.channels:
        y = act(walk.norm(walk.conv(y, wide, 1)))
    y = act(walk.norm(walk.conv(y, wide, kernel, stride, dilation=dilation, groups=wide)))
    if squeezed:
        y = squeeze(walk, y, squeezed)
    y = walk.norm(walk.conv(y, out, 1))
    return walk.add(y, x) if stride == 1 and x.channels == out else y


def darknet53(walk: Walk, x: Map) -> list[Map]:
    """Leaky ReLU in place keeps its output, as ReLU does."""
    x = walk.relu(walk.norm(walk.conv(x, 32, 3)))
    out: list[Map] = []
    for stage, count in enumerate((1, 2, 8, 8, 4)):
        wide = 64 * 2**stage
        x = walk.relu(walk.norm(walk.conv(x, wide, 3, 2)))
        for _ in range(count):
            y = walk.relu(walk.norm(walk.conv(x, wide // 2, 1)))
            x = walk.add(walk.relu(walk.norm(walk.conv(y, wide, 3))), x)
        out.append(x)
    return out


CONVNEXT = {
    "tiny": ((3, 3, 9, 3), 96),
    "small": ((3, 3, 27, 3), 96),
    "base": ((3, 3, 27, 3), 128),
    "large": ((3, 3, 27, 3), 192),
    "xlarge": ((3, 3, 27, 3), 256),
}


def convnext(walk: Walk, x: Map, size: str) -> list[Map]:
    blocks, wide = CONVNEXT[size]
    out: list[Map] = []
    for stage, count in enumerate(blocks):
        if stage == 0:
            x = walk.norm(walk.conv(x, wide, 4, 4, 0, bias=True), "layer")
        else:
            x = walk.conv(walk.norm(x, "layer"), wide * 2**stage, 2, 2, 0, bias=True)
        for _ in range(count):
            with walk.checkpoint(x):
                y = walk.conv(x, x.channels, 7, groups=x.channels, bias=True)
                y = walk.linear(walk.norm(y, "layer"), 4 * x.channels)
                y = walk.linear(walk.smooth(y), x.channels)
                x = walk.add(walk.scale(y), x)
        out.append(x)
    return out
