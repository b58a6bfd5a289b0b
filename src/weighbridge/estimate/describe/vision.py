"""A vision network by name, as people write it: a zoo's config file, "R50-FPN", "ResNet-50", a timm name.

``describe_vision`` answers with the network's operators at one image size, or None where the name is not
understood. Parts that the name asks for and the description leaves out are named in ``Network.unsure``.
"""

from __future__ import annotations

import re
from dataclasses import replace

from weighbridge.estimate.describe.vision_backbones import Asked
from weighbridge.estimate.describe.vision_detectors import detector, detector_kind, left_out, vit_detector
from weighbridge.estimate.describe.vision_networks.diffusion import VERSIONS, diffusion_unet
from weighbridge.estimate.describe.vision_networks.table import from_table
from weighbridge.estimate.describe.vision_segmenters import is_segmenter, segmenter
from weighbridge.estimate.describe.vision_size import ImageSize, image_size, zoo_size
from weighbridge.schema.vision import Network
from weighbridge.weigh.vision.walk import Walk

__all__ = ["Asked", "ImageSize", "describe_vision", "image_size", "zoo_size"]

_WRITTEN = (
    (r"^(?:resnet[ -])?se-?resnext-?101-32x4d", "seresnext101_32x4d"),
    (r"^(?:resnext )?resnext-?101-32x4d", "gluon_resnext101_32x4d"),
    (r"resnet-?(18|34|50|101|152)(?: v1\.5)?$", "resnet{}"),
    (r"efficientnet-?(b[0-8])$", "efficientnet_{}"),
    (r"vit-?b/16", "vit_base_patch16_224"),
    (r"vit-?l/16", "vit_large_patch16_224"),
    (r"vit-?h/14", "vit_huge_patch14_224"),
)


def describe_vision(name: str, asked: Asked) -> Network | None:
    """``name``: lower or upper case, with - or _; family and model may stand together ("faster-rcnn
    R50-FPN")."""
    key = re.sub(r"[\s_]+", "-", name.lower())
    # "Faster R-50-FPN" for Faster R-CNN with ResNet-50
    key = re.sub(r"(?<![a-z])(fast|faster|mask|cascade|cascade-mask)-(?=[rx]-?\d)", r"\1-rcnn-", key)
    if (listed := _classifier(name, asked)) is not None:
        return listed
    if "stable-diffusion" in key or "sdxl" in key:
        return _diffusion(key, asked)
    if "vitdet" in key or "mvitv2" in key:
        return vit_detector(key, asked)
    found: Network | None = None
    if is_segmenter(key):
        found = segmenter(key, asked)
    elif detector_kind(key):
        found = detector(key, asked)
    return replace(found, unsure=(*found.unsure, *left_out(key))) if found is not None else None


def _classifier(name: str, asked: Asked) -> Network | None:
    plain = name.lower().split()
    listed = from_table(plain[-1], asked.height, asked.width, autocast=asked.autocast) if plain else None
    if listed is not None:
        return listed
    if any(word in name.lower() for word in ("rcnn", "ssd", "fpn", "retina", "coco", "_", "unet")):
        return None
    for pattern, written in _WRITTEN:
        if found := re.search(pattern, name.lower()):
            return from_table(
                written.format(*found.groups()), asked.height, asked.width, autocast=asked.autocast
            )
    return None


def _diffusion(key: str, asked: Asked) -> Network:
    """Only the U-Net, which is what is trained; text and image encoders are frozen and often not even
    loaded."""
    version = "xl" if "xl" in key else "2" if "v2" in key or "-2" in key else "1"
    walk = Walk(key, autocast=asked.autocast, checkpointing=asked.checkpointing)
    diffusion_unet(walk, asked.height / 8, asked.width / 8, VERSIONS[version])
    return walk.network("diffusion", ("encoders",))
