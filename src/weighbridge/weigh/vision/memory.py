"""Peak memory of one training step of a vision network, by part and by phase.

Phases: the end of the forward pass with its losses; the backward pass, operator by operator, where kept
maps go
and gradients come; the optimizer step. The peak is the largest. What a cuDNN algorithm asks for beside its
maps and
what the caching allocator holds back are constants with a source. Pure arithmetic.
"""

from __future__ import annotations

from dataclasses import replace

from weighbridge.schema.vision import (
    Network,
    Said,
    Unanswered,
    VisionConstants,
    VisionMemory,
    VisionRecipe,
)

_STATE_BYTES = {"sgd": 4.0, "adam": 8.0, "adamw8bit": 2.06, "adamw4bit": 1.06, "none": 0.0}
_PRODUCTS = ("conv", "group_conv", "depthwise_conv", "deformable_conv", "linear", "attention_matmul", "pool")
# Counters that no allocator of ours explains: Caffe2's tracker sums the blobs, reused or not.
_NOT_COMPARABLE = ("caffe2", "detectron-caffe2")

# MMDetection before 1.0 reduced flattened gradients after the backward pass (mmcv's own data parallel).
_NO_BUCKETS = ("mmdet-0", "maskrcnn-benchmark")


def vision_memory(
    network: Network,
    recipe: VisionRecipe,
    constants: VisionConstants,
    *,
    card_bytes: float | None = None,
) -> VisionMemory | Unanswered:
    """Bytes per device by counter, or what must be stated first.

    ``card_bytes`` bounds what a search over cuDNN's algorithms may ask for; None: no search is counted.
    """
    if recipe.framework in _NOT_COMPARABLE:
        return Unanswered(("counter not comparable",))
    if recipe.images is None:
        return Unanswered(("images",))
    assumed = tuple(
        name
        for name, value in (("precision", recipe.precision), ("optimizer", recipe.optimizer))
        if value is None
    )
    parts = state_parts(network, recipe)
    fixed = sum(parts.values())
    # A network in 16 bits throughout was walked in fp32: every map is half as wide.
    images = float(recipe.images) * (0.5 if recipe.precision == "bf16" else 1.0)
    if recipe.compiled:
        network = _without(network, _PRODUCTS)
    elif recipe.fused_norms and network.family == "diffusion":
        network = _without(network, None)
    kept = network.kept_bytes * images + network.input_bytes * images
    losses = network.loss_bytes * images
    backward, inner = _backward_peak(network, images, (card_bytes or 0.0) - fixed)
    phases = {
        "forward": fixed + kept + losses + network.fixed_bytes,
        "backward": fixed + backward + network.input_bytes * images,
        "step": fixed,
    }
    phase = max(phases, key=lambda name: phases[name])
    allocated = phases[phase]
    parts["activations"] = min(kept, allocated - fixed)
    parts["losses and gradients of maps"] = allocated - fixed - parts["activations"]
    if inner:
        parts["recomputed block"] = 0.0
    reserved = allocated + constants.of("cached_share", recipe.framework) * (allocated - fixed)
    device = reserved + constants["context_bytes"]
    if (recipe.data_parallel or 1) > 1:
        device += constants["nccl_bytes"]
    wider = 1.0 + constants["assumed_widening"] * (len(assumed) + len(network.unsure))
    return VisionMemory(
        allocated=_said(allocated, "allocated", recipe, constants, wider),
        reserved=_said(reserved, "reserved", recipe, constants, wider),
        device=_said(device, "device", recipe, constants, wider),
        phase=phase,
        parts=parts,
        phases=phases,
        assumed=(*assumed, *network.unsure),
    )


def _without(network: Network, kinds: tuple[str, ...] | None) -> Network:
    """Keep the maps of these kinds alone, or of all but activations.

    Inductor's partitioner computes norms and activations again from the products next to them; GroupNorm
    with SiLU
    in one kernel keeps its input and not what lies between.
    """
    return replace(
        network,
        operators=tuple(
            operator
            if (operator.kind in kinds if kinds else operator.kind != "activation")
            else replace(operator, kept_bytes=0.0)
            for operator in network.operators
        ),
    )


def state_parts(network: Network, recipe: VisionRecipe) -> dict[str, float]:
    """Weights, gradients, optimizer states and DDP's buckets (copies: gradient_as_bucket_view is off by
    default)."""
    pure = recipe.precision == "bf16"
    width = 2.0 if pure else 4.0
    if recipe.sharded_states:
        # Megatron's distributed optimizer: 16-bit weights and fp32 gradients everywhere, fp32 master and
        # both moments
        # on one rank each.
        return {
            "weights": network.parameters * 2.0,
            "gradients": network.trainable * 4.0,
            "optimizer": network.trainable * 12.0 / (recipe.data_parallel or 1),
        }
    parts = {
        "weights": network.parameters * width,
        "gradients": network.trainable * width,
        "optimizer": network.trainable * _STATE_BYTES[recipe.optimizer or "sgd"] * (0.5 if pure else 1.0),
    }
    if (recipe.data_parallel or 1) > 1 and recipe.framework not in _NO_BUCKETS:
        parts["gradient buckets"] = network.trainable * width
    if recipe.precision in ("amp_fp16", "amp_bf16") and not recipe.compiled:
        # autocast's copies stay for the backward pass; a compiled graph casts again
        parts["16-bit weights"] = network.parameters * 2.0
    return parts


def _backward_peak(network: Network, images: float, room: float) -> tuple[float, float]:
    """Largest sum of maps still kept, gradients under way and workspace; the recomputed block of where it
    is."""
    alive, best, inner = 0.0, 0.0, 0.0
    for operator in network.operators:
        alive += operator.kept_bytes * images
        workspace = operator.workspace_bytes * images + operator.workspace_fixed_bytes
        searched = operator.searched_bytes * images + operator.searched_fixed_bytes
        if searched > workspace and alive + searched < room:
            workspace = searched  # what does not fit is not tried
        now = alive + workspace
        if operator.backward:
            now += (operator.inner_bytes + operator.gradient_bytes) * images
        if now > best:
            best, inner = now, operator.inner_bytes
    return best, inner


def _said(value: float, counter: str, recipe: VisionRecipe, constants: VisionConstants, wider: float) -> Said:
    low, high = constants.spread.get(
        f"{counter}.{recipe.framework}", constants.spread.get(f"{counter}.default", (0.3, 0.5))
    )
    return Said(value, value * max(1 - low * wider, 0.05), value * (1 + high * wider))
