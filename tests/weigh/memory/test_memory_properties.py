"""What must hold for any model and recipe, whatever the constants."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from memory_builders import ONE, RECIPE

from weighbridge.facts.memory_constants import load_memory_tables
from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.run import Layout
from weighbridge.weigh.memory import MemoryEstimate, memory

TABLES = load_memory_tables()
RESIDENT = ("weights", "adapters", "optimizer_states", "gradients")


@st.composite
def shapes(draw: st.DrawFn) -> ModelShape:
    heads = draw(st.sampled_from([8, 16, 32]))
    experts = draw(st.sampled_from([None, 8]))
    return ModelShape(
        name="any",
        layers=draw(st.integers(2, 40)),
        hidden=heads * 128,
        ffn_hidden=heads * 128 * draw(st.integers(2, 5)),
        heads=heads,
        kv_heads=draw(st.sampled_from([1, 4, heads])),
        head_dim=128,
        vocabulary=draw(st.sampled_from([32000, 50257, 128256])),
        gated=draw(st.booleans()),
        tied_embeddings=draw(st.booleans()),
        experts=experts,
        experts_per_token=2 if experts else None,
        norm=draw(st.sampled_from(["rms", "layer"])),
        loss_in_fp32=draw(st.booleans()),
    )


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    training = draw(st.sampled_from(["full", "lora", "qlora"]))
    return replace(
        RECIPE,
        framework=draw(
            st.sampled_from(["hf_trainer", "torchtitan", "torchtune", "litgpt", "nemo", "deepspeed", None])
        ),
        training=training,
        base_quant=draw(st.sampled_from(["nf4", "int4", "int8"])) if training == "qlora" else "none",
        lora_rank=16,
        lora_targets=draw(st.sampled_from([("q_proj", "v_proj"), ("q_proj", "gate_proj", "down_proj")])),
        master=draw(st.sampled_from(["bf16", "fp32"])),
        autocast=draw(st.booleans()),
        checkpointing=draw(st.sampled_from(["none", "selective", "selective_layers", "full"])),
        sharding=draw(st.sampled_from(["none", "ddp", "zero1", "zero2", "zero3", "fsdp"])),
        fsdp_version=draw(st.sampled_from([1, 2])),
        compile=draw(st.booleans()),
        fused_kernels=draw(st.booleans()),
        accumulation=draw(st.sampled_from([1, 4])),
        micro_batch=draw(st.integers(1, 16)),
        sequence=draw(st.sampled_from([512, 2048, 8192])),
        sequence_kind=draw(st.sampled_from(["fixed", "variable"])),
    )


layouts = st.builds(
    lambda data, tensor, context: replace(
        ONE, data_parallel=data, tensor_parallel=tensor, context_parallel=context
    ),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 2, 4]),
    st.sampled_from([1, 2]),
)


def weigh(shape: ModelShape, recipe: Recipe, layout: Layout) -> MemoryEstimate:
    found = memory(shape, recipe, layout, TABLES.constants, TABLES.defaults)
    assert isinstance(found, MemoryEstimate), found
    return found


@settings(max_examples=150, deadline=None)
@given(shapes(), recipes(), layouts)
def test_memory_never_falls_with_a_larger_batch_or_longer_samples(
    shape: ModelShape, recipe: Recipe, layout: Layout
) -> None:
    assert recipe.micro_batch is not None
    assert recipe.sequence is not None
    small = weigh(shape, recipe, layout)
    for larger in (
        replace(recipe, micro_batch=recipe.micro_batch + 1),
        replace(recipe, sequence=recipe.sequence * 2),
    ):
        big = weigh(shape, larger, layout)
        assert big.allocated.value >= small.allocated.value
        assert big.reserved.value >= small.reserved.value
        assert big.device.value >= small.device.value


@settings(max_examples=150, deadline=None)
@given(shapes(), recipes(), layouts)
def test_the_peak_holds_every_part_that_is_alive_at_once(
    shape: ModelShape, recipe: Recipe, layout: Layout
) -> None:
    found = weigh(shape, recipe, layout)
    for phase in found.phases:
        assert all(size >= 0 for size in phase.parts.values())
        assert found.allocated.value >= phase.total
    assert found.allocated.value == max(phase.total for phase in found.phases)
    assert found.allocated.value <= found.reserved.value <= found.device.value
    for counter in (found.allocated, found.reserved, found.device):
        assert 0 <= counter.low <= counter.value <= counter.high


@settings(max_examples=150, deadline=None)
@given(shapes(), recipes(), st.sampled_from(["zero1", "zero2", "zero3", "fsdp"]))
def test_sharding_never_raises_weights_states_or_reduced_gradients(
    shape: ModelShape, recipe: Recipe, sharding: str
) -> None:
    recipe = replace(recipe, sharding=sharding, framework="torchtune")
    alone = weigh(shape, recipe, ONE).phases[-1].parts
    before = alone
    for ranks in (2, 4, 16):
        parts = weigh(shape, recipe, replace(ONE, data_parallel=ranks)).phases[-1].parts
        assert all(parts[name] <= before[name] * 1.0000001 for name in RESIDENT)
        before = parts


@settings(max_examples=100, deadline=None)
@given(shapes(), recipes(), layouts)
def test_checkpointing_never_raises_what_forward_keeps(
    shape: ModelShape, recipe: Recipe, layout: Layout
) -> None:
    def kept(checkpointing: str) -> float:
        found = weigh(shape, replace(recipe, checkpointing=checkpointing), layout)  # type: ignore[arg-type]
        return found.phases[0].parts["activations"]

    assert kept("full") <= kept("selective_layers") <= kept("none")
    assert kept("full") <= kept("selective")


@settings(max_examples=100, deadline=None)
@given(shapes(), recipes())
def test_tensor_parallel_never_raises_what_a_device_holds(shape: ModelShape, recipe: Recipe) -> None:
    whole = weigh(shape, recipe, ONE)
    half = weigh(shape, recipe, replace(ONE, tensor_parallel=2))
    assert half.allocated.value <= whole.allocated.value
