"""The constants of the memory formulae, as one record that ``facts`` fills and ``weigh`` reads.

Every field is described, with unit, number of figures behind it, spread, source and date, under the same name
in ``facts/data/memory_constants.yaml``. Bytes "per hidden" are per token, layer and element of
the hidden size.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Relative error of a prediction, from residuals: half-width of the 90 % interval, either way."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConstants:
    """Numbers with a physical meaning each; see the file for what stands behind them."""

    nf4_bytes_per_weight: float
    nf4_double_quant_bytes_per_weight: float
    int4_bytes_per_weight: float
    int8_bytes_per_weight: float
    adam8bit_bytes_per_state: float
    norm_rms_eager_bytes_per_hidden: float
    norm_rms_fused_bytes_per_hidden: float
    norm_rms_compiled_bytes_per_hidden: float
    norm_layer_bytes_per_hidden: float
    trained_input_bytes_per_hidden: float
    recompute_gradient_bytes_per_hidden: float
    adapter_input_bytes_per_hidden: float
    dropout_bytes_per_input: float
    fp4_bytes_per_value: float
    zero_bucket_bytes: float
    final_norm_bytes_per_hidden: float
    selective_hidden_bytes: float
    selective_kv_bytes: float
    selective_ffn_bytes: float
    routed_copy_bytes_per_hidden: float
    routed_exchange_bytes_per_hidden: float
    busiest_expert_rank: float
    eager_attention_bytes_per_score: float
    fsdp1_units_alive: float
    fsdp2_units_alive: float
    loss_bytes_per_logit: Mapping[str, float]
    fragmentation_share: Mapping[str, float]
    loss_cached_share: Mapping[str, float]
    unreused_share: Mapping[str, float]
    context_bytes: Mapping[str, float]
    nccl_bytes: float
    spread: Mapping[str, Spread]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameworkDefault:
    """What a framework does when the user says nothing. ``until`` and ``since`` bound its version or date."""

    framework: str
    field: str
    value: str | int | float | bool
    source: str
    when: Mapping[str, str | bool] | None = None
    component: str | None = None
    since: str | None = None
    until: str | None = None
