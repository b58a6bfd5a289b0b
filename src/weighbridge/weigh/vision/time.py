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


def vision_step_time(
    network: Network, recipe: VisionRecipe, card: VisionCard, constants: VisionConstants
) -> VisionTime | Unanswered:
    if recipe.images is None:
        return Unanswered(("images",))
    half = recipe.precision in ("amp_fp16", "amp_bf16", "bf16")
    width = 2.0 if half else 4.0
    peak = rate(card, recipe)
    if peak is None:
        return Unanswered(("dense rate of the card at this precision",))
    images = float(recipe.images)
    parts = {"matrix": 0.0, "normalisation": 0.0, "elementwise": 0.0, "launches": 0.0}
    launches = 0.0
    bandwidth = card.bytes_per_second * constants["memory_efficiency"]
    autocast = recipe.precision in ("amp_fp16", "amp_bf16")
    wide = autocast and any(operator.kind == "layer_norm" for operator in network.operators)
    for operator in network.operators:
        if recipe.fused_norms and operator.kind in ("activation", "elementwise"):
            continue  # done inside the normalisation's kernel
        passes = (3.0 if operator.backward else 1.0) + (1.0 if operator.recomputed else 0.0)
        launches += operator.count * (constants["launches_per_operator"] if operator.backward else 1.0)
        if operator.kind in _MATRIX:
            parts["matrix"] += _matrix(
                operator, images, width, passes, peak, bandwidth, recipe, card, constants
            )
        else:
            # Autocast leaves the residual stream between LayerNorms in fp32.
            stream = 4.0 if wide and operator.kind in ("elementwise", "copy") else width
            moved = _moved(operator, stream, autocast, constants) * images / bandwidth
            name = "normalisation" if operator.kind.endswith("norm") else "elementwise"
            parts[name] += moved
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


def _matrix(
    operator: Operator,
    images: float,
    width: float,
    passes: float,
    peak: float,
    bandwidth: float,
    recipe: VisionRecipe,
    card: VisionCard,
    constants: VisionConstants,
) -> float:
    tensor = recipe.precision not in (None, "fp32")
    kind: str = operator.kind
    if kind == "depthwise_conv" and recipe.channels_last:
        kind = "depthwise_conv_last"
    if kind == "conv" and not tensor and operator.workspace_fixed_bytes:
        kind = "winograd"  # fewer multiplications than MACs: the share of the dense rate may pass 1
    efficiency = constants.of(f"efficiency.{'tensor' if tensor else 'fp32'}", kind)
    if tensor and operator.narrowest and not kind.startswith("depthwise"):
        # Tiles are 64 or more channels wide: fewer leave part of every tile empty.
        efficiency *= min(1.0, operator.narrowest / constants["tile_channels"]) ** constants["tile_power"]
    layout = 1.0
    if tensor and kind in ("conv", "group_conv") and not recipe.channels_last:
        # Tensor cores want the channels last: maps are turned on the way in and out.
        layout = constants["transposed_layout_passes"]
    elements = (operator.inputs + operator.outputs) * layout
    moved = (elements * images + operator.weights) * width / (bandwidth * constants.of("matrix_memory", kind))
    work = 2.0 * operator.macs * images / (peak * efficiency)
    return passes * max(work, moved)


def _moved(operator: Operator, width: float, autocast: bool, constants: VisionConstants) -> float:
    kind = operator.kind
    each = 4.0 if autocast and kind in ("layer_norm", "softmax", "group_norm") else width
    forward, backward = _PASSES.get(kind, (0.0, 0.0))
    if forward:
        passes = forward + (backward if operator.backward else 0.0)
        return operator.outputs * each * passes * constants.of("norm_passes", kind)
    both = operator.inputs + operator.outputs
    return both * each * (constants.of("elementwise_passes", kind) if operator.backward else 1.0)
