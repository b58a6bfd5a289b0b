"""A vision network by name, as people write it: a zoo's config file, "R50-FPN", "ResNet-50", a timm name.

``describe_vision`` answers with the network's operators at one image size, or None where the name is not understood.
``ImageSize`` reads how sizes are stated (short side with a cap, a list of scales, height x width).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from weighbridge.estimate.describe.vision_networks import convolutional as conv
from weighbridge.estimate.describe.vision_networks import detectors as det
from weighbridge.estimate.describe.vision_networks import segmenters as seg
from weighbridge.estimate.describe.vision_networks import transformers as trans
from weighbridge.estimate.describe.vision_networks.diffusion import VERSIONS, diffusion_unet
from weighbridge.estimate.describe.vision_networks.table import from_table
from weighbridge.schema.vision import Network
from weighbridge.weigh.vision.walk import Map, Walk

CLASSES = {
    "cityscapes": 19, "ade20k": 150, "voc12aug": 21, "pascal-context-59": 59, "pascal-context": 60,
    "coco-stuff164k": 171, "coco-stuff10k": 171, "loveda": 7, "potsdam": 6, "vaihingen": 6, "isaid": 16,
    "drive": 2, "stare": 2, "chase-db1": 2, "hrf": 2, "mapillay": 65, "mapillary": 65,
}  # fmt: skip


# Classes that a detector's dataset has; COCO's 80 where the name has none of them.
DETECTION_CLASSES = {
    "lvisv0.5": 1230, "lvis": 1203, "openimages-challenge": 500, "openimages": 601, "objects365": 365, "v3det": 13204,
    "cityscapes": 8, "nuim": 10, "voc": 20, "crowdhuman": 1, "youtubevis": 40, "wider": 1,
}  # fmt: skip
_OLD_GROUP_NORM = ("mmdet", "mmdet-0", "mmdet3d", "maskrcnn-benchmark")


@dataclass(frozen=True, slots=True)
class ImageSize:
    """What an image becomes after resizing and padding: on average, and at most over a run."""

    mean: tuple[float, float]
    most: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the describer needs beside the name. ``average``: a typical step (time) and not the largest (memory)."""

    height: float
    width: float
    framework: str | None = None
    autocast: bool = False
    checkpointing: bool = False
    classes: int | None = None
    average: bool = False


def image_size(text: str, divisor: int = 32) -> ImageSize | None:
    """Reads "(1333, 800)", "short side 640-800 (multi-scale), max 1333", "[(1333, 640), ...]", "512x1024", "224".

    A long side and a short side bound an image that keeps its ratio: the largest is both, the mean is COCO's 4:3
    in a batch padded to its widest. Sizes of one number and of height x width are fixed.
    """
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    if not numbers:
        return None
    if "latents" in text:  # of images of that side
        return ImageSize((numbers[0], numbers[0]), (numbers[0], numbers[0]))
    if "short side" in text:
        longest = numbers[-1] if "max" in text else 0
        shorts = numbers[:-1] if longest else numbers
        longest = longest or round(max(shorts) * 1000 / 600)
        return _ratio(max(shorts), sum(shorts) / len(shorts), longest, divisor)
    if text.startswith("[") or (text.startswith("(") and min(numbers) != max(numbers)) or "1333" in text:
        pairs = list(zip(numbers[0::2], numbers[1::2], strict=False))
        shorts = [min(pair) for pair in pairs]
        return _ratio(max(shorts), sum(shorts) / len(shorts), max(max(pair) for pair in pairs), divisor)
    height, width = (numbers[0], numbers[1]) if len(numbers) > 1 else (numbers[0], numbers[0])
    return ImageSize((height, width), (height, width))


def zoo_size(name: str, stated: ImageSize | None, framework: str | None) -> ImageSize | None:
    """What the zoo's recipe makes of the stated size: crops named in the file, mosaics halved, YOLOX up to 800."""
    key = re.sub(r"[\s_]+", "-", name.lower())
    if framework == "mmseg" and (found := re.search(r"-(\d{2,4})x(\d{2,4})$", key)):
        crop = (float(found[1]), float(found[2]))
        return ImageSize(crop, crop)
    if found := re.search(r"(?<![a-z])ssd(300|512)(?!\d)", key):
        side = (float(found[1]), float(found[1]))
        return ImageSize(side, side)
    if "rtmdet" in key and stated is not None and stated.most[0] >= 1280:
        half = (stated.most[0] / 2, stated.most[1] / 2)  # mosaic at twice the size, then a random crop
        return ImageSize(half, half)
    if "yolox" in key and stated is not None and stated.most[0] == 640:
        return ImageSize(stated.mean, (800.0, 800.0))  # resized at random, 480 to 800
    if stated is None and framework == "mmdet":
        return _ratio(800, 800, 1333, 32)  # the default of its configs
    if "youtubevis" in key:
        return ImageSize((384.0, 640.0), (384.0, 640.0))  # 640 x 360 in those configs, padded
    if "nuim" in key:
        return _ratio(900, 900, 1600, 32)
    if framework == "detectron2" and "cityscapes" in key:
        return ImageSize((928, 1856), (1024, 2048))
    return stated


def _ratio(short: float, mean_short: float, longest: float, divisor: int) -> ImageSize:
    def up(x: float) -> float:
        return float(-(-x // divisor) * divisor)

    # Two images of one orientation in a batch: 4:3 padded to the wider of both, about 1.42 to 1.
    return ImageSize((up(mean_short), up(min(mean_short * 1.42, longest))), (up(short), up(longest)))


def describe_vision(name: str, asked: Asked) -> Network | None:
    """``name``: lower or upper case, with - or _; family and model may stand together ("faster-rcnn R50-FPN")."""
    key = re.sub(r"[\s_]+", "-", name.lower())
    if (listed := _classifier(name, asked)) is not None:
        return listed
    if "stable-diffusion" in key or "sdxl" in key:
        return _diffusion(key, asked)
    if "vitdet" in key or "mvitv2" in key:
        return _vit_detector(key, asked)
    found: Network | None = None
    if _is_segmenter(key):
        found = _segmenter(key, asked)
    elif _detector_kind(key):
        found = _detector(key, asked)
    return replace(found, unsure=(*found.unsure, *_left_out(key))) if found is not None else None


# -- classifiers ---------------------------------------------------------------------------------------------------

_WRITTEN = (
    (r"^(?:resnet[ -])?se-?resnext-?101-32x4d", "seresnext101_32x4d"),
    (r"^(?:resnext )?resnext-?101-32x4d", "resnext101_32x8d"),
    (r"resnet-?(18|34|50|101|152)(?: v1\.5)?$", "resnet{}"),
    (r"efficientnet-?(b[0-8])$", "efficientnet_{}"),
    (r"vit-?b/16", "vit_base_patch16_224"),
    (r"vit-?l/16", "vit_large_patch16_224"),
    (r"vit-?h/14", "vit_huge_patch14_224"),
)


def _classifier(name: str, asked: Asked) -> Network | None:
    plain = name.lower().split()
    listed = from_table(plain[-1], asked.height, asked.width) if plain else None
    if listed is not None:
        return listed
    if any(word in name.lower() for word in ("rcnn", "ssd", "fpn", "retina", "coco", "_", "unet")):
        return None
    for pattern, written in _WRITTEN:
        if found := re.search(pattern, name.lower()):
            return from_table(written.format(*found.groups()), asked.height, asked.width)
    return None


def _diffusion(key: str, asked: Asked) -> Network:
    """Only the U-Net, which is what is trained; text and image encoders are frozen and often not even loaded."""
    version = "xl" if "xl" in key else "2" if "v2" in key or "-2" in key else "1"
    walk = Walk(key, autocast=asked.autocast, checkpointing=asked.checkpointing)
    diffusion_unet(walk, asked.height / 8, asked.width / 8, VERSIONS[version])
    return walk.network("diffusion", ("encoders",))


def _vit_detector(key: str, asked: Asked) -> Network | None:
    """ViTDet: plain ViT with 14x14 windows and four global blocks, a pyramid from its last map, R-CNN heads."""
    found = re.search(r"vitdet-(b|l|h)", key)
    if found is None:
        return None
    walk = Walk(key, autocast=asked.autocast, checkpointing=asked.checkpointing, norm="layer")
    size = {"b": "base", "l": "large", "h": "huge"}[found[1]]
    x = trans.vit(walk, walk.image(asked.height, asked.width), size, window=14, positions_added=True)[-1]
    x = Map(x.channels, asked.height / 16, asked.width / 16, bytes_each=x.bytes_each)
    levels = []
    for scale in (4, 2, 1, 0.5):
        y = x
        if scale >= 2:
            y = walk.transposed(y, y.channels / 2, 2, 2)
        if scale == 4:
            y = walk.transposed(walk.smooth(walk.norm(y, "layer")), y.channels / 2, 2, 2)
        if scale < 1:
            y = walk.max_pool(y, 2, 2)
        y = walk.norm(walk.conv(y, 256, 1), "layer")
        levels.append(walk.norm(walk.conv(y, 256, 3), "layer"))
    levels.append(walk.max_pool(levels[-1], 1, 2))
    det.rpn(walk, levels)
    cascade = 3 if "cascade" in key else 1
    heads = det.Heads(cascade=cascade, masks=1, convolutions=4, norm="layer")
    det.roi_heads(walk, heads, levels=levels)
    return walk.network("detector")


# -- backbones -----------------------------------------------------------------------------------------------------

_RESNET = re.compile(r"(?<![a-z0-9])(?:resnet-?|r-?)(18|34|50|101|152)(b|v1[bcd])?(?![0-9])")
_RESNEXT = re.compile(r"(?<![a-z0-9])(?:x|resnext)-?(50|101|152)(?:-(32x4d|64x4d|32x8d))?")
_REGNET = re.compile(r"regnetx?-?([0-9.]+(?:gf|mf))")


def _backbone(walk: Walk, x: Map, key: str, asked: Asked, **fixed: object) -> list[Map] | None:
    dcn = _deformable_from(key)
    for pattern, build in (
        (r"hr(?:netv2p-w)?(18|30|32|40|48)(s?)(?![0-9])", lambda m: conv.hrnet(walk, x, int(m[1]), m[2] == "s")),
        (r"swin(?:v1)?-(tiny|small|base|large|t|s|b|l)(?![a-z])", lambda m: trans.swin(
            walk, x, _long(m[1]), 12 if "w12" in key or "window12" in key or "384" in key else None)),
        (r"convnext-(tiny|small|base|large|xlarge|t|s|b|l)(?![a-z])", lambda m: conv.convnext(walk, x, _long(m[1]))),
        (r"pvt(v2)?-(b[0-5]|t|s|m|l)(?![a-z])", lambda m: trans.pvt(walk, x, ("v2-" if m[1] else "") + m[2])),
        (r"(pcpvt|svt)-(s|b|l)(?![a-z])", lambda m: trans.twins(walk, x, f"{m[1]}-{m[2]}")),
        (r"mit-(b[0-5])", lambda m: trans.mit(walk, x, m[1])),
    ):  # fmt: skip
        found = re.search(pattern, key)
        if found:
            return build(found)
    frozen = int(fixed.get("frozen_stages", 0))  # type: ignore[call-overload]
    if found := _REGNET.search(key):
        return conv.regnet(walk, x, found[1], frozen, dcn) if found[1] in conv.REGNETX else None
    spec: dict[str, object] = {"deformable_from": dcn, **fixed}
    if "caffe" in key:
        spec["stride_first"] = True
    if "gcb" in key:
        spec["context"] = 4 if "r4" in key.split("gcb")[1][:4] else 16
    if found := re.search(r"(?<![a-z0-9])s(50|101)(?![0-9])|resnest-?s?(50|101)", key):
        spec.update(depth=int(found[1] or found[2]), radix=2, deep_stem=True, average_down=True)
    elif found := re.search(r"res2net-?(50|101)", key):
        spec.update(depth=int(found[1]), scales=4, deep_stem=True, average_down=True)
    elif found := _RESNEXT.search(key):
        groups, width = (int(n) for n in (found[2] or "32x8d").rstrip("d").split("x"))
        spec.update(depth=int(found[1]), groups=groups, group_width=width)
    elif found := _RESNET.search(key):
        spec.update(depth=int(found[1]))
        if found[2] == "b":
            spec["deep_stem"] = False
    else:
        return None
    return conv.resnet(walk, x, conv.Residual(**spec))  # type: ignore[arg-type]


def _deformable_from(key: str) -> int:
    """First stage (0-based) whose 3x3 convolutions are deformable."""
    if not re.search(r"dconv|mdconv|dcn", key) or ("head" in key and "c3" not in key):
        return 9
    return 1


def _long(size: str) -> str:
    return {"t": "tiny", "s": "small", "b": "base", "l": "large"}.get(size, size)


# -- detectors -----------------------------------------------------------------------------------------------------

_ANCHOR_FREE = (
    "fcos",
    "atss",
    "gfl",
    "paa",
    "fovea",
    "tood",
    "ddod",
    "autoassign",
    "vfnet",
    "ld-",
    "lad",
    "condinst",
)
_ANCHORS = ("retinanet", "fsaf", "freeanchor", "free-anchor", "pisa-retina")
_TWO_STAGE = (
    "cascade-mask-rcnn", "cascade-rcnn", "mask-rcnn", "faster-rcnn", "fast-rcnn", "ms-rcnn", "mask-scoring",
    "dynamic-rcnn", "grid-rcnn", "libra", "panoptic-fpn", "keypoint-rcnn", "rpn", "point-rend", "htc", "hybrid-task",
    "dh-faster", "scnet", "guided", "ga-", "cascade r-cnn", "cascade-r-cnn", "crowddet", "detectors",
)  # fmt: skip


def _detector_kind(key: str) -> str | None:
    for kind in (*_ANCHORS, *_ANCHOR_FREE, "ssd", "yolov3", "yolox", "rtmdet", "yolof", "cornernet", "centripetalnet",
                 "centernet", "reppoints", *_TWO_STAGE):  # fmt: skip
        if kind in key:
            return kind
    return None


# Parts that are known to matter and are not described: no answer is better than half of one.
_NOT_DESCRIBED = ("-rfp", "-sac", "detectors-", "fpg", "dh-faster", "solo", "double-head")
# Parts that are left out of a network which is otherwise described: the answer says so and its interval is wider.
_LEFT_OUT = {
    "dpool": "deformable pooling", "mdpool": "deformable pooling", "carafe": "upsampling", "attn": "attention",
    "libra": "balanced pyramid", "point-rend": "point head", "pointrend": "point head", "scnet": "semantic branch",
    "htc": "semantic branch", "hybrid-task": "semantic branch", "ga-": "guided anchors", "guided": "guided anchors",
    "crowddet": "refinement", "-ins": "mask head", "grid": "grid head", "cornernet": "corner pooling",
    "centripetalnet": "corner pooling", "knet": "kernel updates", "psanet": "point attention", "mae": "layer scale",
    "emanet": "attention",
}  # fmt: skip


def _left_out(key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for word, part in _LEFT_OUT.items() if word in key))


def _detector(key: str, asked: Asked) -> Network | None:
    kind = _detector_kind(key)
    if any(word in key for word in _NOT_DESCRIBED):
        return None
    if kind in ("ssd", "yolov3", "yolox", "rtmdet", "cornernet", "centripetalnet", "centernet"):
        return _own_backbone(key, kind, asked)
    detectron = asked.framework in ("detectron2", "maskrcnn-benchmark")
    group = re.search(r"(?<![a-z])gn(?![a-z])", key) is not None
    everywhere = group and (("all" in key) or (kind in _TWO_STAGE))
    scratch = everywhere and ("scratch" in key or detectron)
    walk = Walk(
        key,
        autocast=asked.autocast,
        checkpointing=asked.checkpointing,
        norm="group" if everywhere else "frozen" if asked.framework == "detectron2" else "batch",
        group_norm_maps=2 if asked.framework in _OLD_GROUP_NORM else 1,
    )
    classes = asked.classes or next((n for name, n in DETECTION_CLASSES.items() if name in key), 80)
    asked = replace(asked, classes=classes)
    x = walk.image(asked.height, asked.width)
    trained_norm = "syncbn" in key and ("r16" in key or "backbone" in key)
    frozen = 0 if scratch else 1
    del trained_norm
    dilated = "dc5" in key
    fixed: dict[str, object] = {"frozen_stages": frozen}
    if detectron and not _RESNEXT.search(key) and "deform" not in key:
        fixed["stride_first"] = True
    single = re.search(r"(?<![a-z0-9])c4(?![0-9])", key) is not None and "c3-c4" not in key
    if dilated:
        fixed.update(strides=(1, 2, 2, 1), dilations=(1, 1, 1, 2))
    if single:
        fixed["stages"] = 3
    maps = _backbone(walk, x, key, asked, **fixed)
    if maps is None:
        return None
    if kind == "yolof":
        y = walk.norm(walk.conv(maps[-1], 512, 1, bias=True), "batch")
        for _ in range(4):
            z = walk.relu(walk.norm(walk.conv(y, 128, 1), "batch"))
            z = walk.relu(walk.norm(walk.conv(z, 128, 3), "batch"))
            y = walk.add(walk.relu(walk.norm(walk.conv(z, 512, 1), "batch")), y)
        det.dense_head(walk, [y], det.Dense(anchors=5, width=512, norm="batch", stacked=3))
        return walk.network("detector")
    if single:
        det.rpn(walk, maps[-1:], 15 if detectron else 15, 1024)
        if kind == "rpn" or "rpn-r" in key:
            return walk.network("detector")
        heads = _heads(key, asked, kind)
        stage = conv.Residual(**{**_single_stage(key), "norm": walk.default_norm})  # type: ignore[arg-type]
        det.c4_heads(walk, heads, lambda rois: _last_stage(walk, rois, stage))
        return walk.network("detector")
    if dilated:
        det.rpn(walk, maps[-1:], 15, 2048)
        det.roi_heads(walk, _heads(key, asked, kind), 2048)
        return walk.network("detector")
    neck_norm = "group" if everywhere else "batch" if "syncbn-all" in key or "neck" in key else "none"
    if kind in (*_ANCHORS, *_ANCHOR_FREE, "reppoints"):
        levels = (
            det.hr_fpn(walk, maps, stride=2)
            if "hrnet" in key
            else det.fpn(
                walk,
                maps[1:],
                extra=2,
                extra_pool=False,
                relu_extra=True,
                norm=neck_norm,
                extra_on_input=kind in _ANCHORS,
            )
        )
        head = _dense(key, kind, group)
        if detectron and kind in _ANCHORS:
            # fvcore's focal loss is written out: logits joined, target and its complement, sigmoid, cross entropy,
            # 1 - p, its power, alpha and two products stay in full.
            head = replace(head, class_copies=11)
        det.dense_head(walk, levels, head)
        return walk.network("detector")
    levels = det.hr_fpn(walk, maps) if "hrnet" in key else det.fpn(walk, maps, extra=1, norm=neck_norm)
    two_stages = kind != "rpn" or "ga-faster" in key
    if not ("fast-rcnn" in key and "faster" not in key and "rpn" not in key):
        with walk.holding(levels if two_stages else []):
            det.rpn(walk, levels)
    if two_stages:
        heads = _heads(key, asked, kind)
        det.roi_heads(walk, heads, levels=levels)
        positives = heads.rois * heads.positive_share
        if heads.masks and asked.framework == "mmdet":
            det.mask_targets(walk, x, positives)
        if kind in ("ms-rcnn", "mask-scoring"):
            det.mask_score_head(walk, positives, asked.classes or 80)
    if "panoptic" in key:
        y = seg.fpn_head(walk, levels[:4])
        seg.classify(walk, y, 54, asked.height, asked.width)
    return walk.network("detector")


def _single_stage(key: str) -> dict[str, object]:
    return {"depth": 50, "stride_first": True}


def _last_stage(walk: Walk, x: Map, spec: conv.Residual) -> Map:
    for block in range(3):
        x = conv._block(walk, x, 512, 2 if block == 0 else 1, block == 0, 3, spec)
    return x


def _heads(key: str, asked: Asked, kind: str | None) -> det.Heads:
    cascade = 3 if any(word in key for word in ("cascade", "htc", "hybrid-task", "scnet", "detectors")) else 1
    mask = any(
        word in key
        for word in ("mask", "panoptic", "htc", "hybrid-task", "scnet", "point-rend", "ms-rcnn", "instance")
    )
    group = re.search(r"(?<![a-z])gn(?![a-z])", key) is not None
    return det.Heads(
        classes=asked.classes or 80,
        cascade=cascade,
        masks=0 if not mask else 1 if asked.framework == "detectron2" else cascade,
        positive_share=0.25 if not asked.average else 0.12,
        keypoint="keypoint" in key,
        convolutions=4 if "4conv1fc" in key or group else 0,
        norm="group" if group else "batch" if "head" in key and "syncbn" in key else "none",
    )


def _dense(key: str, kind: str | None, group: bool) -> det.Dense:
    if kind in _ANCHORS:
        anchors = 1 if kind == "fsaf" else 9
        return det.Dense(anchors=anchors, extras=0)
    if kind == "reppoints":
        return det.Dense(stacked=3, norm="group", box=18, extras=18)
    norm = "group" if kind != "fovea" or group else "none"
    box = 68 if kind in ("gfl", "ld-") else 4
    return det.Dense(norm=norm, box=box, extras=0 if kind in ("fovea", "gfl", "ld-") else 1)


def _own_backbone(key: str, kind: str, asked: Asked) -> Network | None:
    walk = Walk(key, autocast=asked.autocast, checkpointing=asked.checkpointing)
    x = walk.image(asked.height, asked.width)
    if kind == "ssd" and "resnet-50" in key:
        # NVIDIA's: the third stage keeps its stride of 8, the fourth is dropped.
        maps = conv.resnet(walk, x, conv.Residual(stages=3, strides=(1, 2, 1), norm="batch"))
        levels = [maps[2]]
        for out, wide, stride, pad in (
            (512, 256, 2, 1),
            (512, 256, 2, 1),
            (256, 128, 2, 1),
            (256, 128, 1, 0),
            (256, 128, 1, 0),
        ):
            y = walk.relu(walk.norm(walk.conv(levels[-1], wide, 1)))
            levels.append(walk.relu(walk.norm(walk.conv(y, out, 3, stride, pad))))
        det.ssd_head(walk, levels, (4, 6, 6, 6, 4, 4))
        return walk.network("single-shot")
    if kind == "ssd":
        if "mobilenet" in key:
            maps = conv.mobilenet2(walk, x)
            levels = [maps[4], maps[6]]
            for out in (512, 256, 256, 128):
                levels.append(conv.inverted(walk, levels[-1], out, out // 2, 3, 2))
            det.ssd_head(walk, levels, (6,) * 6)
            return walk.network("single-shot")
        maps = conv.vgg(walk, x, 16, pool_last=False)
        y = walk.max_pool(maps[4], 3, 1, 1)
        y = walk.relu(walk.conv(y, 1024, 3, dilation=6, bias=True))
        y = walk.relu(walk.conv(y, 1024, 1, bias=True))
        levels = [maps[3], y]
        for out, stride in ((512, 2), (256, 2), (256, 2), (256, 2))[: 4 if asked.height > 400 else 4]:
            y = walk.relu(walk.conv(y, out // 2, 1, bias=True))
            y = walk.relu(walk.conv(y, out, 3, stride, bias=True))
            levels.append(y)
        det.ssd_head(walk, levels, (4, 6, 6, 6, 4, 4), (asked.classes or 80) + 1)
    elif kind == "yolov3":
        if "mobilenet" in key:
            maps = conv.mobilenet2(walk, x)
            det.yolo3(walk, [maps[6], maps[4], maps[2]], wides=(96, 96, 96))
        else:
            maps = conv.darknet53(walk, x)
            det.yolo3(walk, list(reversed(maps[2:])))
    elif kind in ("yolox", "rtmdet"):
        sizes = {
            "tiny": (0.33, 0.375),
            "s": (0.33, 0.5),
            "m": (0.67, 0.75),
            "l": (1.0, 1.0),
            "x": (1.33, 1.25),
        }
        if kind == "rtmdet":
            sizes["tiny"] = (0.167, 0.375)
        found = re.search(r"(?:yolox|rtmdet(?:-ins)?)-(tiny|s|m|l|x)(?![a-z])", key)
        if found is None:
            return None
        det.csp_detector(walk, x, *sizes[found[1]], rtm=kind == "rtmdet", masks="-ins" in key)
    elif kind in ("cornernet", "centripetalnet"):
        x = walk.relu(walk.norm(walk.conv(x, 128, 7, 2)))
        x = walk.relu(walk.norm(walk.conv(x, 256, 3, 2)))
        for _ in range(2):
            y = det.hourglass(walk, x, (256, 256, 384, 384, 384, 512), (2, 2, 2, 2, 2, 4))
            for out in (80, 80, 2, 2, 1, 1):
                walk.conv(walk.relu(walk.conv(y, 256, 3, bias=True)), out, 1, bias=True)
            x = walk.relu(walk.add(x, walk.norm(walk.conv(y, 256, 1))))
    else:
        maps_or_none = _backbone(walk, x, key, asked)
        if maps_or_none is None:
            return None
        y = maps_or_none[-1]
        for out in (256, 128, 64):
            y = walk.relu(walk.norm(walk.conv(y, out, 3)))
            y = walk.relu(walk.norm(walk.transposed(y, out, 4, 2, bias=False)))
        for out in (80, 2, 2):
            walk.conv(walk.relu(walk.conv(y, 64, 3, bias=True)), out, 1, bias=True)
    return walk.network("single-shot")


# -- segmenters ----------------------------------------------------------------------------------------------------

_SEG_HEADS = (
    "pspnet", "deeplabv3plus", "deeplabv3", "upernet", "uperhead", "fcn-d6", "fcn", "isanet", "ccnet", "gcnet", "danet", "dnl",
    "nonlocal", "ann-", "apcnet", "dmnet", "encnet", "psanet", "emanet", "eemanet", "ocrnet", "sem-fpn", "fpn-",
    "fpnhead", "pointrend", "segformer", "unet", "segmenter", "setr", "dpt", "fastfcn", "knet", "icnet",
)  # fmt: skip


def _is_segmenter(key: str) -> bool:
    return any(dataset in key for dataset in CLASSES) and any(head in key for head in _SEG_HEADS)


def _segmenter(key: str, asked: Asked) -> Network | None:
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
        found = _backbone(walk, x, key, asked, **fixed)
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
