"""Detectors by the names of their zoos: backbone, pyramid and heads from the blocks."""

from __future__ import annotations

import re
from dataclasses import replace

from weighbridge.estimate.describe.vision_backbones import RESNEXT, Asked, backbone
from weighbridge.estimate.describe.vision_networks import convolutional as conv
from weighbridge.estimate.describe.vision_networks import detectors as det
from weighbridge.estimate.describe.vision_networks import segmenters as seg
from weighbridge.estimate.describe.vision_networks import transformers as trans
from weighbridge.schema.vision import Network
from weighbridge.weigh.vision.walk import Map, Walk

# Classes that a detector's dataset has; COCO's 80 where the name has none of them.
DETECTION_CLASSES = {
    "lvisv0.5": 1230, "lvis": 1203, "openimages-challenge": 500, "openimages": 601, "objects365": 365,
    "v3det": 13204,
    "cityscapes": 8, "nuim": 10, "voc": 20, "crowdhuman": 1, "youtubevis": 40, "wider": 1,
}  # fmt: skip
# Most boxes in one image where the data is not COCO's 93 (recalled): every run meets it, and overlaps are
# its size.
FULLEST_IMAGE = {"openimages": 739, "lvis": 294}
_OLD_GROUP_NORM = ("mmdet", "mmdet-0", "mmdet3d", "maskrcnn-benchmark")

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
    "dynamic-rcnn", "grid-rcnn", "libra", "panoptic-fpn", "keypoint-rcnn", "rpn", "point-rend", "htc",
    "hybrid-task",
    "dh-faster", "scnet", "guided", "ga-", "cascade r-cnn", "cascade-r-cnn", "crowddet", "detectors",
)  # fmt: skip


def detector_kind(key: str) -> str | None:
    for kind in (*_ANCHORS, *_ANCHOR_FREE, "ssd", "yolov3", "yolox", "rtmdet", "yolof", "cornernet",
    "centripetalnet",
                 "centernet", "reppoints", *_TWO_STAGE):  # fmt: skip
        if kind in key:
            return kind
    return None


# Parts that are known to matter and are not described: no answer is better than half of one.
_NOT_DESCRIBED = ("-rfp", "-sac", "detectors-", "fpg", "dh-faster", "solo", "double-head")
# Parts that are left out of a network which is otherwise described: the answer says so and its interval is
# wider.
_LEFT_OUT = {
    "dpool": "deformable pooling", "mdpool": "deformable pooling", "carafe": "upsampling",
    "attn": "attention",
    "libra": "balanced pyramid", "point-rend": "point head", "pointrend": "point head",
    "scnet": "semantic branch",
    "htc": "semantic branch", "hybrid-task": "semantic branch", "ga-": "guided anchors",
    "guided": "guided anchors",
    "crowddet": "refinement", "-ins": "mask head", "grid": "grid head", "cornernet": "corner pooling",
    "centripetalnet": "corner pooling", "knet": "kernel updates", "psanet": "point attention",
    "mae": "layer scale", "emanet": "attention", "dyhead": "dynamic head", "nasfpn": "searched pyramid",
    "pafpn": "second pyramid", "sabl": "side-aware head", "groie": "region extractor",
    "pisa": "sample weighting", "crpn": "cascade proposals",
}  # fmt: skip


def left_out(key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for word, part in _LEFT_OUT.items() if word in key))


def detector(key: str, asked: Asked) -> Network | None:
    kind = detector_kind(key)
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
    walk.fullest_image = next((n for name, n in FULLEST_IMAGE.items() if name in key), walk.fullest_image)
    x = walk.image(asked.height, asked.width)
    frozen = 0 if scratch else 1
    dilated = "dc5" in key
    fixed: dict[str, object] = {"frozen_stages": frozen}
    if detectron and not RESNEXT.search(key) and "deform" not in key:
        fixed["stride_first"] = True
    single = re.search(r"(?<![a-z0-9])c4(?![0-9])", key) is not None and "c3-c4" not in key
    if dilated:
        fixed.update(strides=(1, 2, 2, 1), dilations=(1, 1, 1, 2))
    if single:
        fixed["stages"] = 3
    maps = backbone(walk, x, key, asked, **fixed)
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
        det.rpn(walk, maps[-1:], 15, 1024)
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
            # fvcore's focal loss is written out: logits joined, target and its complement, sigmoid, cross
            # entropy,
            # 1 - p, its power, alpha and two products stay in full.
            head = replace(head, class_copies=11)
        det.dense_head(walk, levels, head)
        return walk.network("detector")
    levels = det.hr_fpn(walk, maps) if "hrnet" in key else det.fpn(walk, maps, extra=1, norm=neck_norm)
    two_stages = kind != "rpn" or "ga-faster" in key
    if not ("fast-rcnn" in key and "faster" not in key and "rpn" not in key):
        with walk.holding(levels if two_stages else []):
            det.rpn(walk, levels, tried=9 if _guided(key) else None)
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


def _guided(key: str) -> bool:
    """Guided anchoring predicts one anchor per position and tries nine."""
    return re.search(r"(?<![a-z])ga-|guided", key) is not None


def _dense(key: str, kind: str | None, group: bool) -> det.Dense:
    if kind in _ANCHORS:
        if _guided(key):
            return det.Dense(box=8, extras=1, tried=9)
        return det.Dense(anchors=1 if kind == "fsaf" else 9, extras=0)
    if kind == "reppoints":
        return det.Dense(stacked=3, norm="group", box=18, extras=18)
    norm = "group" if kind != "fovea" or group else "none"
    box = 68 if kind in ("gfl", "ld-") else 4
    return det.Dense(norm=norm, box=box, extras=0 if kind in ("fovea", "gfl", "ld-") else 1)


def _own_backbone(key: str, kind: str, asked: Asked) -> Network | None:
    walk = Walk(key, autocast=asked.autocast, checkpointing=asked.checkpointing)
    # MMDetection's SSD configs set cudnn_benchmark: their images have one size.
    walk.searches = kind == "ssd" and asked.framework == "mmdet"
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
        for out, stride in ((512, 2), (256, 2), (256, 2), (256, 2)):
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
        maps_or_none = backbone(walk, x, key, asked)
        if maps_or_none is None:
            return None
        y = maps_or_none[-1]
        for out in (256, 128, 64):
            y = walk.relu(walk.norm(walk.conv(y, out, 3)))
            y = walk.relu(walk.norm(walk.transposed(y, out, 4, 2, bias=False)))
        for out in (80, 2, 2):
            walk.conv(walk.relu(walk.conv(y, 64, 3, bias=True)), out, 1, bias=True)
    return walk.network("single-shot")


def vit_detector(key: str, asked: Asked) -> Network | None:
    """ViTDet: plain ViT with 14x14 windows and four global blocks, a pyramid from its last map, R-CNN
    heads."""
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
