"""The U-Net of latent diffusion (Stable Diffusion 1, 2 and XL): residual blocks and transformers on
latents."""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.estimate.describe.vision_networks.transformers import attention
from weighbridge.weigh.vision.walk import Map, Walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Diffusion:
    """``depths``: transformer blocks at each resolution, 0 for none; ``context``: width of the text's 77
    tokens."""

    widths: tuple[int, ...] = (320, 640, 1280, 1280)
    depths: tuple[int, ...] = (1, 1, 1, 0)
    middle: int = 1
    context: int = 1024
    head: int = 64
    added: int = 0
    linear_projection: bool = True


VERSIONS = {
    "1": Diffusion(context=768, head=40, linear_projection=False),
    "2": Diffusion(),
    "xl": Diffusion(widths=(320, 640, 1280), depths=(0, 2, 10), middle=10, context=2048, added=2816),
}


def diffusion_unet(walk: Walk, height: float, width: float, spec: Diffusion, *, fused: bool = True) -> None:
    """``height`` x ``width`` are the latents', an eighth of the image's."""
    base = spec.widths[0]
    time = Map(4 * base, 1, 1)
    walk.linear(Map(base, 1, 1, grad=False), 4 * base)
    walk.linear(walk.smooth(time), 4 * base)
    if spec.added:
        walk.linear(walk.smooth(walk.linear(Map(spec.added, 1, 1, grad=False), 4 * base)), 4 * base)
    x = walk.conv(Map(4, height, width, grad=False), base, 3, bias=True)
    skips = [x]
    last = len(spec.widths) - 1
    for stage, wide in enumerate(spec.widths):
        for _ in range(2):
            x = _mixed(walk, x, wide, spec, spec.depths[stage], fused)
            skips.append(x)
        if stage < last:
            x = walk.conv(x, wide, 3, 2, bias=True)
            skips.append(x)
    x = _residual(walk, x, spec.widths[-1], base)
    x = _transformer(walk, x, spec, spec.middle, fused)
    x = _residual(walk, x, spec.widths[-1], base)
    for stage in range(last, -1, -1):
        for _ in range(3):
            x = _mixed(walk, walk.cat(x, skips.pop()), spec.widths[stage], spec, spec.depths[stage], fused)
        if stage:
            up = walk.resize(x, x.height * 2, x.width * 2)
            x = walk.conv(up, x.channels, 3, bias=True)
    walk.conv(walk.smooth(walk.norm(x, "group")), 4, 3, bias=True)


def _mixed(walk: Walk, x: Map, wide: int, spec: Diffusion, depth: int, fused: bool) -> Map:
    with walk.checkpoint(x):
        x = _residual(walk, x, wide, spec.widths[0])
    return _transformer(walk, x, spec, depth, fused) if depth else x


def _residual(walk: Walk, x: Map, wide: int, base: int) -> Map:
    y = walk.conv(walk.smooth(walk.norm(x, "group")), wide, 3, bias=True)
    y = walk.add(y, walk.linear(walk.smooth(Map(4 * base, 1, 1)), wide))
    y = Map(wide, x.height, x.width, bytes_each=y.bytes_each)
    y = walk.conv(walk.smooth(walk.norm(y, "group")), wide, 3, bias=True)
    return walk.add(y, walk.conv(x, wide, 1, bias=True) if x.channels != wide else x)


def _transformer(walk: Walk, x: Map, spec: Diffusion, depth: int, fused: bool) -> Map:
    shortcut, heads = x, int(x.channels // spec.head)
    y = walk.linear(walk.norm(x, "group"), x.channels)
    for _ in range(depth):
        with walk.checkpoint(y):
            seen = y.height * y.width
            z = walk.norm(y, "layer")
            y = walk.add(attention(walk, z, heads, seen, fused=fused, bias=False), y)
            text = Map(spec.context, 1, 77, grad=False)
            y = walk.add(attention(walk, walk.norm(y, "layer"), heads, 77, text, fused=fused, bias=False), y)
            z = walk.linear(walk.norm(y, "layer"), 8 * y.channels)  # gated GELU: value and gate
            value = Map(4 * y.channels, y.height, y.width, bytes_each=z.bytes_each)
            gate = walk.smooth(Map(4 * y.channels, y.height, y.width, bytes_each=z.bytes_each))
            y = walk.add(walk.linear(walk.multiply(value, gate), y.channels), y)
    return walk.add(walk.linear(y, x.channels), shortcut)
