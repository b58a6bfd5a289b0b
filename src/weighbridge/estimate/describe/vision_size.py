"""How image sizes are stated, and what a zoo's recipe makes of them: on average, and at most over a run."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImageSize:
    """What an image becomes after resizing and padding: on average, and at most over a run."""

    mean: tuple[float, float]
    most: tuple[float, float]


def image_size(text: str, divisor: int = 32) -> ImageSize | None:
    """Reads "(1333, 800)", "short side 640-800 (multi-scale), max 1333", "[(1333, 640), ...]", "512x1024",
    "224".

    A long side and a short side bound an image that keeps its ratio: the largest is both, the mean is
    COCO's 4:3
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
    """What the zoo's recipe makes of the stated size: crops named in the file, mosaics halved, YOLOX up to
    800."""
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
