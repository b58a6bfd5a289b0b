"""Time of one training step of a vision network: every operator by its roofline, then launches and gradients.

Not done: the input pipeline (the loader's part is diagnosed, not estimated).
"""

from __future__ import annotations

from weighbridge.schema.vision import (
    Network,
    Operator,
    Said,
    Unanswered,
    VisionCard,
    VisionConstants,
    VisionRecipe,
    VisionTime,
)

_MATRIX = ("conv", "group_conv", "deformable_conv", "depthwise_conv", "linear", "attention_matmul")
# Passes over memory, forward and backward, in units of (inputs, outputs): batch norm reads twice and writes
# once,
# then reads input and gradient twice and writes one gradient.
_PASSES = {
    "batch_norm": (3.0, 5.0),
    "layer_norm": (2.0, 3.5),
    "group_norm": (3.0, 5.0),
    "softmax": (2.0, 3.0),
    "activation": (2.0, 3.0),
}
_IN_FP32 = ("layer_norm", "softmax", "group_norm")


def vision_step_time(
    network: Network, recipe: VisionRecipe, card: VisionCard, constants: VisionConstants
) -> VisionTime | Unanswered:
    if recipe.images is None:
        return Unanswered(("images",))
    peak = rate(card, recipe)
    if peak is None:
        return Unanswered(("dense rate of the card at this precision",))
    images = float(recipe.images)
    roofline = _Roofline(network, recipe, card, constants, peak, images)
    parts = {"matrix": 0.0, "normalisation": 0.0, "elementwise": 0.0, "launches": 0.0}
    launches = 0.0
    each = constants["launches_per_operator"]
    for operator in network.operators:
        if recipe.fused_norms and operator.kind in ("activation", "elementwise"):
            continue  # done inside the normalisation's kernel
        launches += operator.count * (each if operator.backward else 1.0)
        if operator.kind in _MATRIX:
            parts["matrix"] += roofline.product(operator)
        else:
            parts["normalisation" if operator.kind.endswith("norm") else "elementwise"] += roofline.moved(
                operator
            )
    bandwidth = roofline.bandwidth
    state = network.parameters * constants["step_bytes_per_parameter"] / bandwidth
    parts["optimizer"] = state + network.tensors * constants["step_seconds_per_tensor"]
    busy = parts["matrix"] + parts["normalisation"] + parts["elementwise"]
    parts["launches"] = max(launches * constants.of("launch_seconds", recipe.framework) - busy, 0.0)
    ranks = recipe.data_parallel or 1
    if ranks > 1:
        parts["exposed gradients"] = 4.0 * network.trainable * constants["exposed_seconds_per_byte"]
    if ranks > constants["ranks_of_a_node"]:
        # A ring between nodes moves the gradients twice; two thirds of the step, the backward pass, can
        # hide it.
        between = 8.0 * network.trainable / constants.of("between_nodes_bytes_per_second", recipe.framework)
        parts["exposed gradients"] += max(between - busy * 2 / 3, 0.0)
    if network.family == "detector":
        # Targets, proposals and their sampling: small kernels and waits, image by image.
        parts["host"] = images * constants.of("host_seconds_per_image", recipe.framework)
    seconds = sum(parts.values())
    low, high = constants.spread.get(f"time.{recipe.framework}", constants.spread["time.default"])
    wider = 1.0 + constants["assumed_widening"] * len(network.unsure)
    return VisionTime(
        seconds=Said(seconds, seconds * max(1 - low * wider, 0.05), seconds * (1 + high * wider)),
        parts=parts,
        images_per_second=images / seconds,
        assumed=network.unsure,
    )


def rate(card: VisionCard, recipe: VisionRecipe) -> float | None:
    if recipe.precision in ("amp_fp16", "amp_bf16", "bf16"):
        return card.half_flops
    if recipe.precision == "tf32":
        return card.tf32_flops or card.fp32_flops
    return card.fp32_flops


class _Roofline:
    """The card's rates under one recipe, looked up once per kind of kernel."""

    def __init__(
        self,
        network: Network,
        recipe: VisionRecipe,
        card: VisionCard,
        constants: VisionConstants,
        peak: float,
        images: float,
    ) -> None:
        self.constants, self.images, self.peak = constants, images, peak
        self.bandwidth = card.bytes_per_second * constants["memory_efficiency"]
        self.tensor = recipe.precision not in (None, "fp32")
        self.last = bool(recipe.channels_last)
        self.autocast = recipe.precision in ("amp_fp16", "amp_bf16")
        self.width = 2.0 if self.autocast or recipe.precision == "bf16" else 4.0
        # Autocast leaves the residual stream between LayerNorms in fp32.
        wide = self.autocast and any(operator.kind == "layer_norm" for operator in network.operators)
        self.stream = 4.0 if wide else self.width
        self.tile, self.power = constants["tile_channels"], constants["tile_power"]
        self.turned = constants["transposed_layout_passes"]
        self._rates: dict[str, tuple[float, float]] = {}

    def product(self, operator: Operator) -> float:
        """Seconds of a convolution or product, forward and backward: the longer of arithmetic and memory."""
        kind: str = operator.kind
        if kind == "depthwise_conv" and self.last:
            kind = "depthwise_conv_last"
        elif kind == "conv" and not self.tensor and operator.workspace_fixed_bytes:
            kind = "winograd"  # fewer multiplications than MACs: the share of the dense rate may pass 1
        operations, bytes_per_second = self._rates.get(kind) or self._look_up(kind)
        narrow = operator.narrowest / self.tile if operator.narrowest else 1.0
        if self.tensor and narrow < 1.0 and not kind.startswith("depthwise"):
            # Tiles are many channels wide: fewer leave part of every tile empty.
            operations *= narrow**self.power
        elements = operator.inputs + operator.outputs
        if self.tensor and not self.last and kind in ("conv", "group_conv"):
            # Tensor cores want the channels last: maps are turned on the way in and out.
            elements *= self.turned
        moved = (elements * self.images + operator.weights) * self.width / bytes_per_second
        passes = (3.0 if operator.backward else 1.0) + (1.0 if operator.recomputed else 0.0)
        return passes * max(2.0 * operator.macs * self.images / operations, moved)

    def moved(self, operator: Operator) -> float:
        """Seconds of a kernel that memory bounds, forward and backward."""
        kind = operator.kind
        forward, backward = _PASSES.get(kind, (0.0, 0.0))
        if forward:
            width = 4.0 if self.autocast and kind in _IN_FP32 else self.width
            passes = forward + (backward if operator.backward else 0.0)
            elements = operator.outputs * passes * self.constants.of("norm_passes", kind)
        else:
            width = self.stream if kind in ("elementwise", "copy") else self.width
            passes = self.constants.of("elementwise_passes", kind) if operator.backward else 1.0
            elements = (operator.inputs + operator.outputs) * passes
        return elements * width * self.images / self.bandwidth

    def _look_up(self, kind: str) -> tuple[float, float]:
        efficiency = self.constants.of("efficiency.tensor" if self.tensor else "efficiency.fp32", kind)
        memory = self.constants.of("matrix_memory", kind)
        self._rates[kind] = (self.peak * efficiency, self.bandwidth * memory)
        return self._rates[kind]
