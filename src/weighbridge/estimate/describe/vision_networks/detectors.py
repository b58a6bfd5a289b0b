"""Necks and heads of detectors, and what their losses hold: FPN, RPN, RoI heads, dense one-stage heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weighbridge.weigh.vision.walk import Map, Walk

FLOAT = 4.0
# Maps of boxes x anchors alive while overlaps are computed: corners of the intersection (2 x 2), its sides
# (2),
# clamped (2), area, union, ratio and the best of each.
OVERLAP_COPIES = 10


def assignment(walk: Walk, anchors: float) -> None:
    """Overlaps of every box with every anchor, one image at a time, while the maps of all images are
    alive."""
    walk.transient(anchors * walk.fullest_image * OVERLAP_COPIES * FLOAT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """Numbers of the heads; defaults are those of the papers, which Detectron, detectron2 and MMDetection
    share."""

    classes: int = 80
    rois: int = 512
    positive_share: float = 0.25
    cascade: int = 1
    masks: int = 0
    keypoint: bool = False
    norm: str = "none"
    convolutions: int = 0
    deformable_pool: bool = False


def fpn(
    walk: Walk,
    maps: Sequence[Map],
    width: int = 256,
    *,
    extra: int = 0,
    extra_pool: bool = True,
    norm: str = "none",
    relu_extra: bool = False,
    extra_on_input: bool = False,
) -> list[Map]:
    laterals = [walk.norm(walk.conv(x, width, 1, bias=norm == "none"), norm) for x in maps]
    for index in range(len(laterals) - 1, 0, -1):
        below = laterals[index - 1]
        laterals[index - 1] = walk.add(below, walk.resize(laterals[index], below.height, below.width))
    out = [walk.norm(walk.conv(x, width, 3, bias=norm == "none"), norm) for x in laterals]
    for _ in range(extra):
        last = maps[-1] if extra_on_input and len(out) == len(maps) else out[-1]
        if extra_pool:
            out.append(walk.max_pool(last, 1, 2))
        else:
            out.append(
                walk.conv(
                    walk.relu(last) if relu_extra and len(out) > len(maps) else last, width, 3, 2, bias=True
                )
            )
    return out


def hr_fpn(walk: Walk, maps: Sequence[Map], width: int = 256, levels: int = 5, stride: int = 1) -> list[Map]:
    """HRNet's: all branches at stride 4 side by side, reduced by a 1x1 convolution, pooled to every level."""
    first = maps[0]
    joined = walk.cat(first, *(walk.resize(x, first.height, first.width) for x in maps[1:]))
    y = walk.conv(joined, width, 1, bias=True)
    out = []
    for level in range(levels):
        step = 2**level
        pooled = y if level == 0 else walk.average_pool(y, -(-y.height // step), -(-y.width // step))
        out.append(walk.conv(pooled, width, 3, stride, bias=True))
    return out


def rpn(
    walk: Walk, maps: Sequence[Map], anchors: int = 3, width: int | None = None, *, tried: int | None = None
) -> None:
    """``tried``: boxes per position that targets are sought for, where those are more than are predicted."""
    for x in maps:
        y = walk.relu(walk.conv(x, width or x.channels, 3, bias=True))
        shared(
            walk, lambda y=y: (walk.conv(y, anchors, 1, bias=True), walk.conv(y, 4 * anchors, 1, bias=True))
        )
    once(walk, maps, width or int(maps[0].channels), anchors)
    boxes = sum(x.pixels for x in maps) * anchors
    # Per anchor: labels, weights, deltas and their copies over the batch (label 8, weights 4, targets 2 x
    # 16 bytes).
    walk.losses(boxes * 60.0)
    assignment(walk, boxes * (tried or anchors) / anchors)


def shared(walk: Walk, call: object) -> None:
    """Runs the layers of a head that levels share; ``once`` puts its parameters right afterwards."""
    call()  # type: ignore[operator]


def once(walk: Walk, maps: Sequence[Map], width: int, anchors: int) -> None:
    """A head shared by the levels has its parameters once."""
    each = width * maps[0].channels * 9 + width + width * 5 * anchors + 5 * anchors
    extra = len(maps) - 1
    walk.parameters -= extra * each
    walk.trainable -= extra * each
    walk.tensors -= extra * 6


def roi_heads(walk: Walk, heads: Heads, channels: int = 256, levels: Sequence[Map] = ()) -> None:
    """``levels``: the pyramid, whose gradients from the mask heads wait while the box heads turn back."""
    with walk.holding(levels if heads.masks or heads.keypoint else ()):
        for _ in range(heads.cascade):
            box_head(walk, heads, channels)
    positives = heads.rois * heads.positive_share
    if heads.masks:
        for _ in range(heads.masks):
            mask_head(walk, heads, channels, positives)
    if heads.keypoint:
        # On average few boxes are of persons with visible joints; the largest step has as many as fit.
        keypoint_head(walk, channels, positives if heads.positive_share >= 0.25 else positives / 4)


def box_head(walk: Walk, heads: Heads, channels: int) -> None:
    if heads.convolutions:
        x = Map(channels, 7, 7, items=heads.rois)
        for _ in range(heads.convolutions):
            x = walk.relu(walk.norm(walk.conv(x, 256, 3, bias=heads.norm == "none"), heads.norm))
        x = Map(256 * 49, 1, 1, items=heads.rois, bytes_each=x.bytes_each)
        x.kept = True
        x = walk.relu(walk.linear(x, 1024))
    else:
        x = Map(channels * 49, 1, 1, items=heads.rois)
        x = walk.relu(walk.linear(walk.relu(walk.linear(x, 1024)), 1024))
    walk.linear(x, heads.classes + 1)
    walk.linear(x, 4 if heads.cascade > 1 else 4 * heads.classes)


def mask_head(walk: Walk, heads: Heads, channels: int, positives: float, convolutions: int = 4) -> None:
    x = Map(channels, 14, 14, items=positives)
    for _ in range(convolutions):
        x = walk.relu(walk.norm(walk.conv(x, 256, 3, bias=heads.norm == "none"), heads.norm))
    x = walk.relu(walk.transposed(x, 256, 2, 2))
    walk.conv(x, heads.classes, 1, bias=True)


def mask_targets(walk: Walk, image: Map, positives: float) -> None:
    """MMDetection from 1.0 on cuts targets out of the image's bitmaps on the GPU: one whole mask per
    sampled RoI,
    in bytes and then in fp32, one image at a time."""
    walk.transient(positives * image.height * image.width * (1 + FLOAT))


def mask_score_head(walk: Walk, positives: float, classes: int) -> None:
    """Mask Scoring R-CNN: four convolutions over features and mask, three linear layers."""
    x = Map(257, 14, 14, items=positives)
    for index in range(4):
        x = walk.relu(walk.conv(x, 256, 3, 2 if index == 3 else 1, bias=True))
    x = Map(256 * 49, 1, 1, items=positives, bytes_each=x.bytes_each)
    for _ in range(2):
        x = walk.relu(walk.linear(x, 1024))
    walk.linear(x, classes)


def keypoint_head(walk: Walk, channels: int, positives: float) -> None:
    """Eight 3x3 convolutions of 512 at 14x14, a transposed one to 28, bilinear to 56, softmax over
    positions."""
    x = Map(channels, 14, 14, items=positives)
    for _ in range(8):
        x = walk.relu(walk.conv(x, 512, 3, bias=True))
    x = walk.transposed(x, 17, 4, 2)
    walk.softmax(walk.resize(x, 56, 56))


def c4_heads(walk: Walk, heads: Heads, backbone_block: object, channels: int = 1024) -> None:
    """Detectors without pyramid: the last residual stage runs on every RoI of the stride-16 map."""
    x = Map(channels, 14, 14, items=heads.rois)
    y = backbone_block(x)  # type: ignore[operator]
    pooled = walk.average_pool(y, 1, 1)
    walk.linear(pooled, heads.classes + 1)
    walk.linear(pooled, 4 * heads.classes)
    if heads.masks:
        z = Map(2048, y.height, y.width, items=heads.rois * heads.positive_share, bytes_each=y.bytes_each)
        z = walk.relu(walk.transposed(z, 256, 2, 2))
        walk.conv(z, heads.classes, 1, bias=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """A one-stage head: ``stacked`` convolutions in two branches on every level, then the predictions."""

    stacked: int = 4
    norm: str = "none"
    classes: int = 80
    anchors: int = 1
    box: int = 4
    extras: int = 1
    width: int = 256
    class_copies: float = 4.0
    tried: int | None = None


def dense_head(walk: Walk, maps: Sequence[Map], head: Dense) -> None:
    first: tuple[float, float, int] | None = None
    scores = 0.0
    for x in maps:
        for branch in (0, 1):
            y = x
            for _ in range(head.stacked):
                y = walk.relu(walk.norm(walk.conv(y, head.width, 3, bias=head.norm == "none"), head.norm))
            if branch == 0:
                score = walk.conv(y, head.classes * head.anchors, 3, bias=True)
                scores += score.elements
                # The loss works on a permuted fp32 copy: sigmoid or focal input, its weights, the loss
                # itself.
                loss = Map(score.channels, score.height, score.width)
                for _ in range(round(head.class_copies) - 1):
                    walk.emit("elementwise", loss, loss, kept=loss.size)
            else:
                walk.conv(y, head.box * head.anchors, 3, bias=True)
                if head.extras:
                    walk.conv(y, head.extras * head.anchors, 3, bias=True)
        if first is None:
            first = (walk.parameters, walk.trainable, walk.tensors)
    assert first is not None
    walk.parameters, walk.trainable, walk.tensors = first
    walk.losses(FLOAT * scores)
    assignment(walk, sum(x.pixels for x in maps) * (head.tried or head.anchors))


def ssd_head(walk: Walk, maps: Sequence[Map], anchors: Sequence[int], classes: int = 81) -> None:
    for x, count in zip(maps, anchors, strict=True):
        walk.softmax(walk.conv(x, count * classes, 3, bias=True))
        walk.conv(x, count * 4, 3, bias=True)


def yolo3(walk: Walk, maps: Sequence[Map], classes: int = 80, wides: Sequence[int] = (512, 256, 128)) -> None:
    """Neck and head of YOLOv3 over stride 32, 16, 8 (given in that order)."""
    carried: Map | None = None
    for x, wide in zip(maps, wides, strict=True):
        if carried is not None:
            up = walk.relu(walk.norm(walk.conv(carried, wide, 1)))
            x = walk.cat(walk.resize(up, x.height, x.width), x)
        for step in range(5):
            x = walk.relu(
                walk.norm(walk.conv(x, wide if step % 2 == 0 else 2 * wide, 1 if step % 2 == 0 else 3))
            )
        carried = x
        y = walk.relu(walk.norm(walk.conv(x, 2 * wide, 3)))
        walk.conv(y, 3 * (5 + classes), 1, bias=True)


def csp_layer(walk: Walk, x: Map, out: float, blocks: int, *, add: bool, wide: bool = False) -> Map:
    """Cross-stage partial layer of YOLOX and RTMDet (``wide``: a 5x5 depthwise convolution, channel
    attention)."""
    mid = out // 2
    left = walk.smooth(walk.norm(walk.conv(x, mid, 1)))
    right = walk.smooth(walk.norm(walk.conv(x, mid, 1)))
    for _ in range(blocks):
        y = walk.smooth(walk.norm(walk.conv(left, mid, 3 if wide else 1)))
        if wide:
            y = walk.smooth(walk.norm(walk.conv(y, mid, 5, groups=mid)))
            y = walk.smooth(walk.norm(walk.conv(y, mid, 1)))
        else:
            y = walk.smooth(walk.norm(walk.conv(y, mid, 3)))
        left = walk.add(y, left) if add else y
    y = walk.cat(left, right)
    if wide and add:
        gate = walk.sigmoid(walk.conv(walk.average_pool(y, 1, 1), y.channels, 1, bias=True))
        y = walk.multiply(y, gate)
    return walk.smooth(walk.norm(walk.conv(y, out, 1)))


def csp_detector(walk: Walk, x: Map, deep: float, wide: float, *, rtm: bool, masks: bool = False) -> None:
    """YOLOX (MMCV's Swish) and RTMDet (SiLU): CSP backbone, PAFPN, decoupled head."""
    if not rtm:
        walk.smooth = walk.swish  # type: ignore[method-assign]
    sizes = [round(c * wide) for c in (64, 128, 256, 512, 1024)]
    if rtm:
        for out, stride in ((sizes[0] // 2, 2), (sizes[0] // 2, 1), (sizes[0], 1)):
            x = walk.smooth(walk.norm(walk.conv(x, out, 3, stride)))
    else:
        x = Map(12, x.height // 2, x.width // 2, grad=False)
        x = walk.smooth(walk.norm(walk.conv(x, sizes[0], 3)))
    counts = (3, 6, 6, 3) if rtm else (3, 9, 9, 3)
    maps = []
    for stage, count in enumerate(counts):
        x = walk.smooth(walk.norm(walk.conv(x, sizes[stage + 1], 3, 2)))
        if stage == 3:
            y = walk.smooth(walk.norm(walk.conv(x, x.channels // 2, 1)))
            pools = [walk.max_pool(y, k, 1, k // 2) for k in (5, 9, 13)]
            x = walk.smooth(walk.norm(walk.conv(walk.cat(y, *pools), sizes[4], 1)))
        x = csp_layer(walk, x, sizes[stage + 1], max(round(count * deep), 1), add=stage < 3 or rtm, wide=rtm)
        maps.append(x)
    levels = maps[1:]
    blocks = max(round(3 * deep), 1)
    tops = [levels[-1]]
    for x in reversed(levels[:-1]):
        high = walk.smooth(walk.norm(walk.conv(tops[0], x.channels, 1)))
        joined = walk.cat(walk.resize(high, x.height, x.width), x)
        tops.insert(0, csp_layer(walk, joined, x.channels, blocks, add=False, wide=rtm))
    outs = [tops[0]]
    for x in tops[1:]:
        down = walk.smooth(walk.norm(walk.conv(outs[-1], outs[-1].channels, 3, 2)))
        outs.append(csp_layer(walk, walk.cat(down, x), x.channels, blocks, add=False, wide=rtm))
    width = sizes[2]
    for x in outs:
        if not rtm:
            x = walk.smooth(walk.norm(walk.conv(x, width, 1)))
        else:
            x = walk.smooth(walk.norm(walk.conv(x, width, 3)))
        for predicted in ((80,), (4, 1)) if not masks else ((80,), (4, 1), (169,)):
            y = x
            for _ in range(2):
                y = walk.smooth(walk.norm(walk.conv(y, width, 3)))
            for out in predicted:
                walk.conv(y, out, 1, bias=True)


def hourglass(walk: Walk, x: Map, channels: Sequence[int], blocks: Sequence[int]) -> Map:
    """One hourglass of CornerNet: down by strided residual blocks, up by nearest neighbour."""

    def stack(y: Map, out: int, count: int, stride: int = 1) -> Map:
        for index in range(count):
            step = stride if index == 0 else 1
            shortcut = y
            z = walk.relu(walk.norm(walk.conv(y, out, 3, step)))
            z = walk.norm(walk.conv(z, out, 3))
            if step != 1 or y.channels != out:
                shortcut = walk.norm(walk.conv(y, out, 1, step))
            y = walk.relu(walk.add(z, shortcut))
        return y

    up = stack(x, channels[0], blocks[0])
    low = stack(x, channels[1], blocks[0], 2)
    low = (
        hourglass(walk, low, channels[1:], blocks[1:])
        if len(channels) > 2
        else stack(low, channels[1], blocks[1])
    )
    low = stack(low, channels[0], blocks[0])
    return walk.add(up, walk.resize(low, up.height, up.width))
