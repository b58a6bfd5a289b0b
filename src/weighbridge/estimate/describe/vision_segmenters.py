"""Segmenters by the names of their zoo: backbone, decode head, auxiliary head and losses from the blocks."""

from __future__ import annotations

import re

from weighbridge.estimate.describe.vision_backbones import Asked, backbone
from weighbridge.estimate.describe.vision_networks import convolutional as conv
from weighbridge.estimate.describe.vision_networks import detectors as det
from weighbridge.estimate.describe.vision_networks import segmenters as seg
from weighbridge.estimate.describe.vision_networks import transformers as trans
from weighbridge.schema.vision import Network
from weighbridge.weigh.vision.walk import Map, Walk

CLASSES = {
    "cityscapes": 19, "ade20k": 150, "voc12aug": 21, "pascal-context-59": 59, "pascal-context": 60,
    "coco-stuff164k": 171, "coco-stuff10k": 171, "loveda": 7, "potsdam": 6, "vaihingen": 6, "isaid": 16,
    "drive": 2, "stare": 2, "chase-db1": 2, "hrf": 2, "mapillay": 65, "mapillary": 65,
}  # fmt: skip

_SEG_HEADS = (
    "pspnet", "deeplabv3plus", "deeplabv3", "upernet", "uperhead", "fcn-d6", "fcn", "isanet", "ccnet",
    "gcnet", "danet", "dnl",
    "nonlocal", "ann-", "apcnet", "dmnet", "encnet", "psanet", "emanet", "eemanet", "ocrnet", "sem-fpn",
    "fpn-",
    "fpnhead", "pointrend", "segformer", "unet", "segmenter", "setr", "dpt", "fastfcn", "knet", "icnet",
)  # fmt: skip


def is_segmenter(key: str) -> bool:
    return any(dataset in key for dataset in CLASSES) and any(head in key for head in _SEG_HEADS)


def segmenter(key: str, asked: Asked) -> Network | None:
    classes = asked.classes or next(count for name, count in CLASSES.items() if name in key)
    walk = Walk(key, autocast=asked.autocast, checkpointing=asked.checkpointing)
    x = walk.image(asked.height, asked.width)
    height, width = asked.height, asked.width
    if "unet" in key:
        maps = seg.unet(walk, x)
        head = next(name for name in ("pspnet", "deeplabv3", "fcn") if name in key)
        y = {"pspnet": lambda: seg.psp(walk, maps[-1], 16), "deeplabv3": lambda: seg.aspp(walk, maps[-1], 16),
             "fcn": lambda: seg.fcn(walk, maps[-1], 64, 1, False)}[head]()  # fmt: skip
        seg.classify(walk, y, classes, height, width)
        seg.classify(walk, seg.fcn(walk, maps[-2], 64, 1, False), classes, height, width)
        return walk.network("segmenter")
    vit = re.search(r"(?:vit|deit)-(t|s|b|l|tiny|small|base|large|h)(?:\d\d)?(?![a-z])|mae-(base|large)", key)
    if vit:
        return _vit_segmenter(walk, x, key, vit[1] or vit[2], classes, asked)
    dilated = "d8" in key or "-d16" in key
    if "mobilenet-v2" in key:
        seven = conv.mobilenet2(walk, x, (1, 2, 2, 1, 1, 1, 1), (1, 1, 1, 2, 2, 4, 4))
        maps = [seven[1], seven[2], seven[4], seven[6]]
    else:
        fixed: dict[str, object] = {"deep_stem": re.search(r"r(18|50|101)b", key) is None}
        if dilated:
            eight = "d8" in key
            fixed.update(
                strides=(1, 2, 1, 1) if eight else (1, 2, 2, 1),
                dilations=(1, 1, 2, 4) if eight else (1, 1, 1, 2),
            )
        found = backbone(walk, x, key, asked, **fixed)
        if found is None:
            return None
        maps = found
    decoded = _decode(walk, key, maps, classes)
    if decoded is None:
        return None
    for y in decoded if isinstance(decoded, list) else [decoded]:
        seg.classify(walk, y, classes, height, width)
    if "knet" in key:
        for _ in range(3):  # every kernel update predicts masks again
            seg.classify(walk, walk.copy(maps[-1]), classes, height, width)
    auxiliary = not any(
        word in key for word in ("fpn", "pointrend", "segformer", "hr18", "hr48", "mobilenet-v2-d8-fcn-x")
    )
    if auxiliary:
        source = maps[-2]
        wide = 96 if "mobilenet" in key else 256
        seg.classify(walk, seg.fcn(walk, source, wide, 1, False), classes, height, width)
    return walk.network("segmenter")


def _decode(walk: Walk, key: str, maps: list[Map], classes: int) -> Map | list[Map] | None:
    last = maps[-1]
    narrow = re.search(r"r18b?-", key) is not None
    wide = 128 if narrow else 512
    if re.search(r"hr\d\d", key):
        joined = walk.cat(*(walk.resize(x, maps[0].height, maps[0].width) for x in maps))
        if "ocrnet" in key:
            seg.classify(
                walk,
                seg.block(walk, joined, joined.channels, 1),
                classes,
                maps[0].height * 4,
                maps[0].width * 4,
            )
            return seg.ocr(walk, joined, classes)
        return seg.block(walk, joined, joined.channels, 1)
    if "deeplabv3plus" in key:
        low = 12 if narrow else 48
        return seg.deeplab_plus(walk, maps[0], last, wide, low)
    if "deeplabv3" in key:
        return seg.aspp(walk, last, wide)
    if "uper" in key or ("knet" in key and "swin" in key):
        return seg.upernet(walk, maps)
    if "apcnet" in key or "dmnet" in key:
        return seg.adaptive_context(walk, last)
    if "danet" in key:
        return seg.danet(walk, last, wide)
    if "jpu" in key:
        last = seg.pyramid_upsampling(walk, maps)
        if "enc" in key:
            return seg.encoding(walk, last)
    if "encnet" in key:
        return seg.encoding(walk, last)
    if "psp" in key:
        return seg.psp(walk, last, wide)
    if "pointrend" in key:
        levels = det.fpn(walk, maps)
        return seg.fpn_head(walk, levels)
    if "segformer" in key:
        outs = [seg.block(walk, x, 256, 1) for x in maps]
        outs = [walk.resize(x, outs[0].height, outs[0].width) for x in outs]
        return seg.block(walk, walk.cat(*outs), 256, 1)
    if "ocrnet" in key:
        return seg.ocr(walk, last, classes)
    for middle in seg.MIDDLES:
        if middle in key:
            return seg.with_context(walk, last, wide, middle)
    if "psanet" in key or "ann-" in key:
        return seg.with_context(walk, last, wide, "gcnet")
    if "fcn" in key and "mobilenet" in key:
        return seg.fcn(walk, last, wide, 2, True)
    if "fpn" in key:
        levels = det.fpn(walk, maps)
        return seg.fpn_head(walk, levels)
    if "fcn" in key:
        return seg.fcn(walk, last, wide, 2, True)
    return None


def _vit_segmenter(walk: Walk, x: Map, key: str, size: str, classes: int, asked: Asked) -> Network | None:
    names = {"t": "tiny", "s": "small", "b": "base", "l": "large", "h": "huge"}
    maps = trans.vit(walk, x, names.get(size, size), averaged=True)
    high, wide = asked.height / 16, asked.width / 16
    grid = [Map(m.channels, high, wide, bytes_each=m.bytes_each) for m in maps]
    for y in grid:
        y.kept = False
    if "upernet" in key:
        necks = [
            walk.resize(y, high * scale, wide * scale) if "mln" in key else y
            for y, scale in zip(grid, (4, 2, 1, 0.5), strict=True)
        ]
        if "mln" in key:
            necks = [seg.block(walk, y, y.channels, 3) for y in necks]
        y = seg.upernet(walk, necks)
        seg.classify(walk, y, classes, asked.height, asked.width)
        seg.classify(walk, seg.fcn(walk, grid[3], 256, 1, False), classes, asked.height, asked.width)
    elif "segmenter" in key:
        y = trans.attention(walk, walk.norm(grid[-1], "layer"), 3, high * wide)
        seg.classify(walk, y, classes, asked.height, asked.width)
    else:
        for y in grid:
            z = walk.resize(seg.block(walk, seg.block(walk, y, 256), 256), high * 4, wide * 4)
            seg.classify(walk, z, classes, asked.height, asked.width)
    return walk.network("segmenter")
