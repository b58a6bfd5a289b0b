"""The one question of this package: how many seconds does one optimizer step take, by phase.

Knows no file and no card catalogue: machine, constants and defaults are passed in (``facts.step_machine``,
``facts.step_constants``). Unknown fields are filled with a documented default, or the answer is ``Missing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

from weighbridge.schema.memory_constants import FrameworkDefault
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout
from weighbridge.schema.step_constants import StepConstants
from weighbridge.schema.step_machine import StepMachine
from weighbridge.weigh.memory.defaults import fill
from weighbridge.weigh.memory.degrees import Degrees, degrees_of
from weighbridge.weigh.memory.parameters import count
from weighbridge.weigh.step.bubble import bubble_share, schedule_of
from weighbridge.weigh.step.communication import Traffic, weigh_traffic
from weighbridge.weigh.step.compute import Passes, weigh_passes
from weighbridge.weigh.step.kernels import Kernels, choose, pick, runs
from weighbridge.weigh.step.optimizer import optimizer_seconds
from weighbridge.weigh.step.records import Missing, StepEstimate

NEEDED = ("training", "compute", "checkpointing", "sharding", "micro_batch", "sequence")


def step_time(
    shape: ModelShape,
    recipe: Recipe,
    layout: Layout,
    machine: StepMachine,
    constants: StepConstants,
    defaults: Sequence[FrameworkDefault] = (),
    *,
    padding_free: bool = False,
) -> StepEstimate | Missing:
    """Weigh one optimizer step of the whole job.

    With lengths that vary ``recipe.sequence`` is their mean; ``padding_free``: samples are not padded to the
    longest of their batch (packed, bucketed by length, or variable-length kernels).
    """
    recipe, assumed = fill(recipe, defaults)
    degrees = degrees_of(layout, recipe)
    missing = tuple(name for name in NEEDED if getattr(recipe, name) is None)
    if isinstance(degrees, tuple):
        return Missing((*missing, *degrees))
    if not runs(recipe, machine):
        missing = (*missing, f"rates.{recipe.compute}")
    if machine.memory_bytes_per_second <= 0:
        missing = (*missing, "memory_bytes_per_second")
    if missing:
        return Missing(missing)
    kernels = choose(recipe, shape.experts is not None, machine, constants)
    counted = count(shape)
    tokens = (recipe.micro_batch or 1) * (recipe.sequence or 1) / degrees.context
    tokens *= _lengthened(recipe, degrees, constants, padding_free)
    passes = weigh_passes(shape, recipe, degrees, kernels, machine, constants, tokens)
    traffic = weigh_traffic(shape, counted, recipe, degrees, machine, constants, tokens)
    optimizer = optimizer_seconds(counted, recipe, degrees, kernels, constants)
    overhead = constants.host_step_seconds[kernels.host]
    return _assemble(
        shape, recipe, degrees, machine, constants, kernels, passes, traffic, optimizer, overhead, assumed
    )


def _assemble(
    shape: ModelShape,
    recipe: Recipe,
    degrees: Degrees,
    machine: StepMachine,
    constants: StepConstants,
    kernels: Kernels,
    passes: Passes,
    traffic: Traffic,
    optimizer: float,
    overhead: float,
    assumed: tuple[str, ...],
) -> StepEstimate:
    micro = recipe.accumulation or 1
    layers = shape.layers / degrees.pipeline
    chunks = recipe.virtual_stages or (2 if recipe.pipeline_schedule == "interleaved" else 1)
    head = passes.head / degrees.pipeline
    device = layers * passes.layer + head
    host = layers * passes.host_layer + (passes.host_layer if degrees.pipeline == 1 else 0.0)
    # Kernels queue up: host and device overlap except where they are equally busy.
    started = (device**4 + host**4) ** 0.25 if host else device
    # Interleaved schedules send one chunk while the next computes.
    stage_hideable = traffic.stage * chunks if chunks > 1 else 0.0
    hideable = layers * traffic.layer_hideable + stage_hideable
    hidden_layers = min(hideable, 0.9 * device)
    exposed_layers = layers * traffic.layer + hideable - hidden_layers
    exposed_stage = 0.0 if chunks > 1 else traffic.stage
    gather_share = pick(
        constants.overlap_share, f"{traffic.replicas_overlap}_{machine.link_kind}", traffic.replicas_overlap
    )
    exposed_gather, hidden_gather = _hide(traffic.gather, gather_share * started, layers)
    contention = pick(constants.contention_share, "layers") * hidden_layers
    beside = pick(constants.contention_share, traffic.replicas_overlap)
    contention += beside * hidden_gather
    micro_seconds = started + contention + exposed_layers + exposed_stage + exposed_gather
    bubble = bubble_share(degrees.pipeline, micro, schedule_of(recipe), chunks) * micro * micro_seconds
    # The head sits on the last stage alone, and every other stage waits for it.
    if degrees.pipeline > 1:
        bubble += micro * (passes.head - head) * 0.5
    backward = 0.6 * started
    exposed_replicas, hidden_replicas = _hide(traffic.replicas, gather_share * backward, layers)
    forward = layers * sum(passes.forward.values()) + head / 3
    back = layers * sum(passes.backward.values()) + head * 2 / 3
    again = layers * sum(passes.recompute.values())
    phases = {
        "forward": micro * forward,
        "backward": micro * back,
        "recompute": micro * again,
        "launch": micro * (started - device),
        "communication": micro * (contention + exposed_layers + exposed_stage + exposed_gather)
        + exposed_replicas
        + beside * hidden_replicas,
        "bubble": bubble,
        "optimizer": optimizer,
        "overhead": overhead,
    }
    seconds = sum(phases.values())
    operators = {
        name: micro * layers * (passes.forward[name] + passes.backward[name] + passes.recompute[name])
        for name in passes.forward
    } | {"head": micro * head}
    devices = degrees.data * degrees.tensor * degrees.pipeline * degrees.context
    copies = degrees.data * degrees.tensor * degrees.context * micro
    model = copies * (shape.layers * passes.model_flops + passes.head_flops)
    tier = _tier(recipe, assumed)
    spread = constants.spread[tier]
    return StepEstimate(
        seconds=seconds,
        low=seconds * spread.low,
        high=seconds * spread.high,
        tier=tier,
        phases=phases,
        operators=operators,
        hidden_communication=micro * (hidden_layers + hidden_gather) + hidden_replicas,
        tokens_per_step=float(degrees.data * micro * (recipe.micro_batch or 1) * (recipe.sequence or 1)),
        devices=devices,
        model_flops=model,
        hardware_flops=model + copies * shape.layers * passes.recompute_flops,
        rate=machine.rates[kernels.dtype],
        dtype=kernels.dtype,
        assumed=assumed,
    )


def _lengthened(recipe: Recipe, degrees: Degrees, constants: StepConstants, padding_free: bool) -> float:
    """Computed over real tokens where lengths vary: padding to the longest, waiting for the longest batch.

    The greatest of n draws lies about sqrt(2 ln n) - 0.5 deviations above the mean (n from 2 to 100).
    """
    if recipe.sequence_kind != "variable":
        return 1.0
    batch, copies = recipe.micro_batch or 1, degrees.data
    padded = 1.0 if padding_free else 1.0 + constants.length_variation * _greatest(batch)
    return padded * (1.0 + constants.length_variation / sqrt(batch) * _greatest(copies))


def _greatest(draws: int) -> float:
    return 0.0 if draws < 2 else max(0.56, sqrt(2.0 * log(draws)) - 0.5)


def _hide(traffic: float, room: float, layers: float) -> tuple[float, float]:
    """Exposed and hidden seconds: what one layer needs first and last finds nothing to hide under."""
    edge = traffic / max(layers, 1.0)
    hidden = max(0.0, min(traffic - edge, room))
    return traffic - hidden, hidden


# A default of these moves the answer by more than the spread of the formulae.
_WEIGHTY = {"checkpointing", "compute", "attention", "sharding"}


def _tier(recipe: Recipe, assumed: tuple[str, ...]) -> str:
    if recipe.sequence_kind == "variable" or _WEIGHTY & set(assumed):
        return "loose"
    return "stated"
