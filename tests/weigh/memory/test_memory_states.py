"""Weights, gradients and states against arithmetic done here; Mistral-7B has 7,241,732,096 parameters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from memory_builders import LLAMA3, MIXTRAL, ONE, Weigh

from weighbridge.schema.run import Layout

GIB = 2**30
MISTRAL_PARAMETERS = 7_241_732_096
LLAMA3_PARAMETERS = 8_030_261_248


def data(ranks: int) -> Layout:
    return replace(ONE, data_parallel=ranks)


def test_full_fine_tuning_in_bf16_peaks_at_five_copies_in_the_optimizer_step(weigh: Weigh) -> None:
    # weights, gradients, two states and the temporary of a foreach step, 2 bytes each: 10 bytes a parameter.
    found = weigh()
    assert found.peak_phase == "optimizer"
    assert found.allocated.value == MISTRAL_PARAMETERS * 10
    assert found.allocated.value / GIB == pytest.approx(67.46, rel=0.001)  # as measured


def test_a_batch_twice_as_large_does_not_move_a_peak_that_is_in_the_optimizer_step(weigh: Weigh) -> None:
    assert weigh(micro_batch=8).allocated.value == weigh(micro_batch=4).allocated.value


def test_a_fused_step_needs_no_temporary(weigh: Weigh) -> None:
    parts = {phase.name: phase for phase in weigh(optimizer_implementation="fused").phases}
    assert parts["optimizer"].total == MISTRAL_PARAMETERS * 8


def test_fp32_masters_of_llama_3_come_to_sixteen_bytes_a_parameter(weigh: Weigh) -> None:
    # fp32 weights 4, gradients 4, two states 8; fused, so no temporary.
    found = weigh(LLAMA3, master="fp32", optimizer_implementation="fused", autocast=True)
    optimizer = next(phase for phase in found.phases if phase.name == "optimizer")
    assert optimizer.total == LLAMA3_PARAMETERS * 16


@pytest.mark.parametrize(("ranks", "gib"), [(2, 67.46), (4, 33.74)])
def test_accelerate_raises_flat_parameters_to_fp32_under_autocast(
    weigh: Weigh, ranks: int, gib: float
) -> None:
    # 5 copies x 4 bytes, over the ranks.
    found = weigh(layout=data(ranks), sharding="fsdp", fsdp_version=1, autocast=True)
    assert found.allocated.value == MISTRAL_PARAMETERS * 20 / ranks
    assert found.allocated.value / GIB == pytest.approx(gib, rel=0.001)


def test_without_autocast_sharded_weights_stay_in_bf16(weigh: Weigh) -> None:
    found = weigh(layout=data(2), sharding="fsdp", fsdp_version=1, micro_batch=2)
    assert found.allocated.value == MISTRAL_PARAMETERS * 10 / 2


def test_eight_bit_states_weigh_a_quarter_of_fp32_ones(weigh: Weigh) -> None:
    # 8 bits and a 4-byte scale per 256, twice.
    found = weigh(optimizer="adamw8bit")
    assert found.phases[-1].parts["optimizer_states"] == pytest.approx(MISTRAL_PARAMETERS * 2.0312)


@pytest.mark.parametrize(
    ("optimizer", "copies"), [("sgd", 0), ("sgd_momentum", 1), ("lion", 1), ("muon", 1), ("adamw", 2)]
)
def test_states_are_copies_of_the_master_weights(weigh: Weigh, optimizer: str, copies: int) -> None:
    parts = weigh(optimizer=optimizer).phases[-1].parts
    assert parts["optimizer_states"] == MISTRAL_PARAMETERS * 2 * copies


def test_zero_stages_shard_states_then_gradients_then_weights(weigh: Weigh) -> None:
    # DeepSpeed: 16-bit weights and gradients, and 12 bytes of fp32 master and states, over 4 ranks by stage.
    def parts(sharding: str) -> list[float]:
        alive = weigh(layout=data(4), sharding=sharding).phases[-1].parts
        return [alive[name] / MISTRAL_PARAMETERS for name in ("optimizer_states", "gradients", "weights")]

    assert parts("zero1") == [3.0, 2.0, 2.0]
    assert parts("zero2") == [3.0, 0.5, 2.0]
    assert parts("zero3") == [3.0, 0.5, 0.5]


def test_deepspeed_raises_its_gradients_to_fp32_for_the_step(weigh: Weigh) -> None:
    parts = weigh(layout=data(4), sharding="zero2").phases[-1].parts
    assert parts["step_temporaries"] == MISTRAL_PARAMETERS * 4 / 4


def test_nf4_with_double_quantisation_weighs_0_516_bytes_a_weight(weigh: Weigh) -> None:
    # Embedding, head and norms stay in bf16: 2 x 32000 x 4096 + 65 x 4096 parameters.
    found = weigh(
        training="qlora", base_quant="nf4", double_quant=True, lora_targets=("q_proj",), lora_rank=8
    )
    plain = 2 * 32000 * 4096 + 65 * 4096
    quantised = MISTRAL_PARAMETERS - plain
    assert found.parts["weights"] == pytest.approx(quantised * 0.51587 + plain * 2, rel=1e-6)


def test_adapters_of_rank_16_on_attention_have_the_parameters_counted_by_hand(weigh: Weigh) -> None:
    # q and o: 16 x (4096 + 4096); k and v: 16 x (4096 + 1024); 32 layers; in bf16, since autocast is off.
    found = weigh(training="lora", lora_rank=16, lora_targets=("q_proj", "k_proj", "v_proj", "o_proj"))
    count = 32 * 16 * (2 * 8192 + 2 * 5120)
    assert found.parts["adapters"] == count * 2
    assert found.parts["optimizer_states"] == count * 4


def test_megatron_keeps_an_fp32_master_copy_in_the_sharded_optimizer(weigh: Weigh) -> None:
    # bf16 weights 2; fp32 gradients 4; master, two states 12 over the data ranks.
    alive = weigh(LLAMA3, layout=data(8), sharding="megatron", framework="nemo").phases[-1].parts
    assert alive["weights"] == LLAMA3_PARAMETERS * 2
    assert alive["gradients"] == LLAMA3_PARAMETERS * 4
    assert alive["optimizer_states"] == LLAMA3_PARAMETERS * 12 / 8


def test_gradients_stay_whole_while_fsdp1_accumulates(weigh: Weigh) -> None:
    found = weigh(layout=data(8), sharding="fsdp", fsdp_version=1, accumulation=2)
    assert found.phases[0].parts["gradients"] == MISTRAL_PARAMETERS * 2
    assert found.phases[-1].parts["gradients"] == MISTRAL_PARAMETERS * 2 / 8


def test_frozen_experts_of_mixtral_are_quantised_with_the_rest(weigh: Weigh) -> None:
    # Of 46,702,792,704 parameters embedding, head and norms (2 x 32000 x 4096 + 65 x 4096) stay in bf16.
    found = weigh(MIXTRAL, training="qlora", base_quant="nf4", double_quant=True)
    plain = 2 * 32000 * 4096 + 65 * 4096
    assert found.parts["weights"] == pytest.approx((46_702_792_704 - plain) * 0.51587 + plain * 2, rel=1e-6)


def test_a_paged_optimizer_keeps_nothing_in_the_allocator(weigh: Weigh) -> None:
    found = weigh(optimizer="adamw8bit", paged_optimizer=True)
    assert found.phases[-1].parts["optimizer_states"] == 0


def test_an_optimizer_in_the_backward_pass_never_holds_all_gradients(weigh: Weigh) -> None:
    found = weigh(optimizer_in_backward=True)
    assert all(phase.parts["gradients"] < MISTRAL_PARAMETERS * 2 / 10 for phase in found.phases)


def test_hybrid_sharding_divides_by_the_ranks_that_share_a_copy(weigh: Weigh) -> None:
    parts = weigh(layout=data(16), sharding="hsdp", shard_degree=8, fsdp_version=2).phases[-1].parts
    assert parts["weights"] == MISTRAL_PARAMETERS * 2 / 8


def test_offloaded_parameters_leave_the_running_layers_on_the_device(weigh: Weigh) -> None:
    found = weigh(layout=data(4), sharding="fsdp", fsdp_version=2, parameter_offload=True)
    parts = found.phases[1].parts
    assert parts["weights"] == parts["optimizer_states"] == 0
    # Head 32000 x 4096 and two layers of 218,112,000 parameters, 2 bytes each.
    assert parts["gathered_parameters"] == 2 * (32000 * 4096 + 2 * 218_112_000)
    assert found.phases[-1].total == 0


def test_dora_trains_a_magnitude_for_every_output_it_adapts(weigh: Weigh) -> None:
    plain = weigh(training="lora", lora_rank=8, lora_targets=("q_proj", "v_proj"))
    dora = weigh(training="lora", lora_rank=8, lora_targets=("q_proj", "v_proj"), output_scales=True)
    # 4096 + 1024 outputs in 32 layers, 2 bytes each.
    assert dora.phases[-1].parts["adapters"] - plain.phases[-1].parts["adapters"] == 32 * (4096 + 1024) * 2
    assert dora.allocated.value > plain.allocated.value


def test_adamw_offloaded_to_the_host_leaves_weights_and_gradients(weigh: Weigh) -> None:
    assert weigh(optimizer_offload=True).phases[-1].total == MISTRAL_PARAMETERS * 4


def test_a_step_that_goes_matrix_by_matrix_needs_no_whole_copy(weigh: Weigh) -> None:
    found = weigh(optimizer="lion").phases[-1].parts
    assert found["step_temporaries"] == 218_112_000 * 2
