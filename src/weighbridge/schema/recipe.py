"""How a language model is trained: what memory and speed depend on beside the network and the layout.

Every field is None while unknown, never a guess: ``weigh`` fills a documented default of the framework, says
so, or refuses and names the field. Degrees of parallelism live in ``schema.run.Layout``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Precision = Literal["fp32", "bf16", "fp16", "fp8", "fp4"]
Training = Literal["full", "lora", "qlora", "other"]
BaseQuant = Literal["none", "nf4", "int4", "int8", "fp8"]
Checkpointing = Literal["none", "selective", "selective_layers", "full"]
Sharding = Literal["none", "ddp", "zero1", "zero2", "zero3", "fsdp", "hsdp", "megatron", "device_map"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How one step is computed. ``sequence``: tokens per sample, ``micro_batch``: samples per pass.

    ``master`` is the dtype of the weights that the optimizer changes, ``compute`` that of the products;
    ``autocast`` says whether fp32 is chosen per operator (norms, loss) rather than a pure 16-bit pass.
    ``optimizer`` names the algorithm (adamw, adamw8bit, sgd, adafactor, muon, lion, ...),
    ``optimizer_implementation`` its kernel (foreach, fused, loop). ``loss`` names how logits and loss are
    computed (a key of the loss constants, such as eager, fused, linear_fused, chunked).
    ``checkpoint_every``: with selective_layers, one layer in this many is recomputed.
    ``fsdp_version``: 1 is FullyShardedDataParallel (flat parameters), 2 is fully_shard (one by one).
    ``empties_cache``: the run returns cached blocks every few steps. ``fp32_norms``: k-bit preparation raised
    norms, and with them the residual stream, to fp32.
    ``flat_adapters``: adapters share FSDP1's flat parameters with the frozen base, which then gets gradients.
    ``shard_degree``: ranks that share one copy under hsdp. ``output_scales``: products
    are scaled by a trained vector (DoRA, adapter v2).
    ``parameter_offload``: sharded weights and gradients rest on the host.
    ``trained_parameters``: what an adapter trains in all, where it is stated.
    """

    framework: str | None = None
    framework_version: str | None = None
    training: Training | None = None
    master: Precision | None = None
    compute: Precision | None = None
    autocast: bool | None = None
    base_quant: BaseQuant | None = None
    double_quant: bool | None = None
    optimizer: str | None = None
    optimizer_implementation: Literal["foreach", "fused", "loop"] | None = None
    optimizer_in_backward: bool = False
    paged_optimizer: bool = False
    optimizer_offload: bool = False
    parameter_offload: bool = False
    checkpointing: Checkpointing | None = None
    checkpoint_every: int = 2
    activation_offload: bool = False
    attention: Literal["flash", "sdpa", "eager"] | None = None
    fused_kernels: bool | None = None
    compile: bool | None = None
    loss: str | None = None
    fp32_norms: bool | None = None
    empties_cache: bool = False
    lora_rank: int | None = None
    lora_targets: tuple[str, ...] | None = None
    lora_dropout: bool | None = None
    output_scales: bool = False
    trained_parameters: float | None = None
    trains_embeddings: bool = False
    sharding: Sharding | None = None
    fsdp_version: int | None = None
    flat_adapters: bool | None = None
    shard_degree: int | None = None
    sequence_parallel: bool | None = None
    pipeline_schedule: Literal["gpipe", "1f1b", "interleaved"] | None = None
    virtual_stages: int | None = None
    micro_batch: int | None = None
    accumulation: int | None = None
    sequence: int | None = None
    sequence_kind: Literal["fixed", "variable"] | None = None
