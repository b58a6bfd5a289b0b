"""Activations, logits and phases against arithmetic done here."""

from __future__ import annotations

from dataclasses import replace

import pytest
from memory_builders import LLAMA3, MISTRAL, MIXTRAL, ONE, Weigh

TOKENS = 4 * 4096
# Mistral's frozen part and adapters of rank 16 on attention, in bf16, fp32 for adapters off.
LORA = {
    "training": "lora",
    "base_quant": "none",
    "lora_rank": 16,
    "lora_targets": ("q_proj", "k_proj", "v_proj", "o_proj"),
}


def test_full_checkpointing_keeps_one_input_a_layer(weigh: Weigh) -> None:
    # 32 layers x 16384 tokens x 4096 x 2 bytes = 4 GiB.
    assert weigh().phases[0].parts["activations"] == 32 * TOKENS * 4096 * 2 == 4 * 2**30


def test_fp32_norms_of_k_bit_preparation_double_the_stream(weigh: Weigh) -> None:
    parts = weigh(training="qlora", base_quant="nf4", fp32_norms=True).phases[0].parts
    assert parts["activations"] == 32 * TOKENS * 4096 * 4


def test_eager_loss_holds_three_fp32_copies_of_the_logits(weigh: Weigh) -> None:
    # 12 bytes a logit, and the last norm's 6 a hidden element.
    assert weigh(**LORA).phases[0].parts["logits"] == TOKENS * (12 * 32000 + 6 * 4096)


def test_transformers_before_4_49_holds_a_shifted_copy_as_well(weigh: Weigh) -> None:
    found = weigh(**LORA, framework_version="torch 2.4.1, transformers 4.48.1, trl 0.13")
    assert found.phases[0].parts["logits"] == TOKENS * (14 * 32000 + 6 * 4096)


def test_a_loss_fused_with_the_head_moves_the_peak_into_a_layer(weigh: Weigh) -> None:
    eager = weigh(LLAMA3, **LORA)
    fused = weigh(LLAMA3, **LORA, loss="linear_fused", fused_kernels=True)
    assert eager.peak_phase == "loss"
    assert fused.peak_phase == "backward_start"
    assert eager.allocated.value - fused.allocated.value > 10 * 2**30


def test_gradients_of_hooked_inputs_stay_under_fsdp1_with_frozen_units(weigh: Weigh) -> None:
    # Inputs of 32 layers and gradients of 31: 63 x 16384 tokens x 4096 x 2 bytes.
    found = weigh(layout=replace(ONE, data_parallel=4), sharding="fsdp", fsdp_version=1, **LORA)
    backward = next(phase for phase in found.phases if phase.name == "backward_end")
    assert backward.parts["activations"] == 63 * TOKENS * 4096 * 2


def test_nothing_is_retained_when_the_units_are_trained(weigh: Weigh) -> None:
    found = weigh(layout=replace(ONE, data_parallel=4), sharding="fsdp", fsdp_version=1)
    backward = next(phase for phase in found.phases if phase.name == "backward_end")
    assert backward.parts["activations"] == TOKENS * 4096 * 2


def test_selective_checkpointing_per_operator_keeps_every_second_product(weigh: Weigh) -> None:
    # Input, query, attention result, down product: 8 bytes x 4096; value 2 x 1024; first product 2 x 14336.
    parts = weigh(checkpointing="selective").phases[0].parts
    assert parts["activations"] == 32 * TOKENS * (8 * 4096 + 2 * 1024 + 2 * 14336)


def test_eager_attention_keeps_its_scores(weigh: Weigh) -> None:
    # 32 heads x 4096 x 5 bytes for every token and layer.
    flash = weigh(checkpointing="none").phases[0].parts["activations"]
    eager = weigh(checkpointing="none", attention="eager").phases[0].parts["activations"]
    assert eager - flash == pytest.approx(32 * TOKENS * 32 * 4096 * 5)


def test_a_pipeline_holds_as_many_micro_batches_as_stages(weigh: Weigh) -> None:
    one = weigh().phases[0].parts["activations"]
    four = weigh(layout=replace(ONE, pipeline_parallel=4), accumulation=16, pipeline_schedule="1f1b")
    # A quarter of the layers, four micro-batches in flight.
    assert four.phases[0].parts["activations"] == one


def test_gpipe_holds_every_micro_batch(weigh: Weigh) -> None:
    layout = replace(ONE, pipeline_parallel=4)
    one = weigh().phases[0].parts["activations"]
    assert weigh(layout=layout, accumulation=16, pipeline_schedule="gpipe").phases[0].parts[
        "activations"
    ] == pytest.approx(one * 4)


def test_context_parallel_ranks_share_the_tokens(weigh: Weigh) -> None:
    half = weigh(layout=replace(ONE, context_parallel=2)).phases[0].parts
    assert half["activations"] == 32 * TOKENS / 2 * 4096 * 2


def test_activation_offload_leaves_two_inputs_on_the_device(weigh: Weigh) -> None:
    parts = weigh(activation_offload=True).phases[0].parts
    assert parts["activations"] == 2 * TOKENS * 4096 * 2


def test_ddp_holds_gradients_twice(weigh: Weigh) -> None:
    parts = weigh(layout=replace(ONE, data_parallel=2), sharding="ddp").phases[2].parts
    assert parts["gradient_buckets"] == parts["gradients"]


def test_one_rank_shards_nothing(weigh: Weigh) -> None:
    assert weigh(sharding="fsdp", fsdp_version=1).allocated == weigh().allocated


def test_a_wider_network_has_a_larger_interior(weigh: Weigh) -> None:
    wide = replace(MISTRAL, ffn_hidden=2 * 14336)
    narrow = weigh(**LORA).phases[1].parts["recomputed"]
    # gate, up and activated kept, and three gradients: 6 x 2 bytes for every further element.
    assert weigh(wide, **LORA).phases[1].parts["recomputed"] - narrow == TOKENS * 12 * 14336


def test_expert_parallel_counts_the_busiest_rank_and_its_exchanges(weigh: Weigh) -> None:
    alone = weigh(MIXTRAL, checkpointing="none").phases[0].parts["activations"]
    spread = weigh(MIXTRAL, checkpointing="none", layout=replace(ONE, expert_parallel=4))
    # Two experts a token: half as much again of 8 x 14336 and 4 x 4096 each, and 16 x 4096 more at 1.5.
    extra = 2 * (0.5 * (8 * 14336 + 4 * 4096) + 1.5 * 16 * 4096)
    assert spread.phases[0].parts["activations"] - alone == pytest.approx(32 * TOKENS * extra)
