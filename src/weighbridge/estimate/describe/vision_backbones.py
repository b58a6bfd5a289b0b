"""The backbone that a detector's or segmenter's name asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from weighbridge.estimate.describe.vision_networks import convolutional as conv
from weighbridge.estimate.describe.vision_networks import transformers as trans
from weighbridge.weigh.vision.walk import Map, Walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the describer needs beside the name. ``average``: a typical step (time) and not the largest
    (memory)."""

    height: float
    width: float
    framework: str | None = None
    autocast: bool = False
    checkpointing: bool = False
    classes: int | None = None
    average: bool = False


_RESNET = re.compile(r"(?<![a-z0-9])(?:resnet-?|r-?)(18|34|50|101|152)(b|v1[bcd])?(?![0-9])")
RESNEXT = re.compile(r"(?<![a-z0-9])(?:x|resnext)-?(50|101|152)(?:-(32x4d|64x4d|32x8d))?")
_REGNET = re.compile(r"regnetx?-?([0-9.]+(?:gf|mf))")

_Build = Callable[[Walk, Map, "re.Match[str]", str], list[Map]]


def _swin(walk: Walk, x: Map, match: re.Match[str], key: str) -> list[Map]:
    return trans.swin(
        walk, x, _long(match[1]), 12 if "w12" in key or "window12" in key or "384" in key else None
    )


_TRANSFORMERS: tuple[tuple[str, _Build], ...] = (
    (
        r"hr(?:netv2p-w)?(18|30|32|40|48)(s?)(?![0-9])",
        lambda w, x, m, _: conv.hrnet(w, x, int(m[1]), m[2] == "s"),
    ),
    (r"swin(?:v1)?-(tiny|small|base|large|t|s|b|l)(?![a-z])", _swin),
    (
        r"convnext-(tiny|small|base|large|xlarge|t|s|b|l)(?![a-z])",
        lambda w, x, m, _: conv.convnext(w, x, _long(m[1])),
    ),
    (
        r"pvt(v2)?-(b[0-5]|t|s|m|l)(?![a-z])",
        lambda w, x, m, _: trans.pvt(w, x, ("v2-" if m[1] else "") + m[2]),
    ),
    (r"(pcpvt|svt)-(s|b|l)(?![a-z])", lambda w, x, m, _: trans.twins(w, x, f"{m[1]}-{m[2]}")),
    (r"mit-(b[0-5])", lambda w, x, m, _: trans.mit(w, x, m[1])),
)


def backbone(walk: Walk, x: Map, key: str, asked: Asked, **fixed: object) -> list[Map] | None:
    dcn = _deformable_from(key)
    for pattern, build in _TRANSFORMERS:
        if match := re.search(pattern, key):
            return build(walk, x, match, key)
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
    elif found := RESNEXT.search(key):
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
