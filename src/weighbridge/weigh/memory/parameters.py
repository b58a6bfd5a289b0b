"""Counts of a ModelShape's parameters, by the group that is sharded, quantised or adapted as one.

Formulae are the shapes of the published implementations written out; tests hold the totals against the
published ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.model import ModelShape


@dataclass(frozen=True, slots=True)
class Parameters:
    """``layer`` is the mean over layers without the routed experts, ``experts`` one layer's routed experts.

    ``linear`` is what of ``layer`` sits in matrices (the rest is norms and biases). ``head`` is 0 when tied.
    """

    embedding: float
    head: float
    layer: float
    linear: float
    experts: float
    final_norm: float
    layers: int

    @property
    def total(self) -> float:
        return self.embedding + self.head + self.final_norm + self.layers * (self.layer + self.experts)

    @property
    def all_experts(self) -> float:
        return self.layers * self.experts

    @property
    def dense(self) -> float:
        """Everything that expert parallelism does not spread."""
        return self.total - self.all_experts

    @property
    def outside_layers(self) -> float:
        return self.embedding + self.head + self.final_norm


def query_width(shape: ModelShape) -> int:
    return shape.heads * shape.head_dim


def key_width(shape: ModelShape) -> int:
    return shape.kv_heads * shape.head_dim


def mlp_matrices(shape: ModelShape) -> int:
    return 3 if shape.gated else 2


def expert_width(shape: ModelShape) -> int:
    return shape.expert_ffn_hidden or shape.ffn_hidden


def moe_share(shape: ModelShape) -> float:
    """Share of the layers that hold experts."""
    if shape.experts is None:
        return 0.0
    return (shape.layers if shape.moe_layers is None else shape.moe_layers) / shape.layers


def count(shape: ModelShape) -> Parameters:
    hidden, query, key = shape.hidden, query_width(shape), key_width(shape)
    norm_width = hidden * (2 if shape.norm_bias else 1)
    matrices = mlp_matrices(shape)
    moe = moe_share(shape)
    attention = hidden * (query + 2 * key) + query * hidden
    dense_mlp = matrices * hidden * shape.ffn_hidden
    routed_layer = 0.0
    if shape.experts is not None:
        routed_layer = shape.experts * matrices * hidden * expert_width(shape)
    router = hidden * (shape.experts or 0)
    shared = matrices * hidden * shape.shared_expert_ffn_hidden
    linear = attention + (1 - moe) * dense_mlp + moe * (router + shared)
    small = shape.norms_per_layer * norm_width + (2 * shape.head_dim if shape.qk_norm else 0)
    small += (query + 2 * key if shape.attention_input_bias else 0) + (
        hidden if shape.attention_output_bias else 0
    )
    if shape.mlp_bias:
        small += (matrices - 1) * shape.ffn_hidden + hidden
    vocabulary = shape.vocabulary * hidden
    return Parameters(
        embedding=vocabulary + shape.position_rows * hidden,
        head=(0 if shape.tied_embeddings else vocabulary) + (shape.vocabulary if shape.head_bias else 0),
        layer=linear + small,
        linear=linear,
        experts=moe * routed_layer,
        final_norm=norm_width,
        layers=shape.layers,
    )


# Output width over input width of the matrices a LoRA target names, by the names that are in use.
_TARGETS = {
    "q": ("q_proj", "query", "q"),
    "k": ("k_proj", "key", "k"),
    "v": ("v_proj", "value", "v"),
    "o": ("o_proj", "projection", "dense", "wo", "o", "output_proj"),
    "qkv": ("c_attn", "qkv", "query_key_value", "attn_qkv", "wqkv"),
    "mlp": ("mlp", "fc1", "fc2", "c_fc", "w1", "w2", "w3", "gate_proj", "up_proj", "down_proj"),
    "head": ("head", "lm_head", "output"),
}


def target_kinds(targets: tuple[str, ...]) -> frozenset[str]:
    """Which groups of matrices the names of LoRA targets mean; unknown names are passed over."""
    return frozenset(kind for kind, names in _TARGETS.items() if any(t.lower() in names for t in targets))


def adapted_outputs(shape: ModelShape, kinds: frozenset[str]) -> float:
    """Output widths of one layer's adapted matrices, added up."""
    hidden, query, key = shape.hidden, query_width(shape), key_width(shape)
    width = 0.0
    if "qkv" in kinds:
        width += query + 2 * key
    else:
        width += (query if "q" in kinds else 0) + (key if "k" in kinds else 0) + (key if "v" in kinds else 0)
    width += hidden if "o" in kinds else 0
    if "mlp" in kinds:
        width += (mlp_matrices(shape) - 1) * shape.ffn_hidden + hidden
    return width


def lora_parameters(shape: ModelShape, rank: int, kinds: frozenset[str]) -> float:
    """rank x (input width + output width) for each adapted matrix."""
    hidden, query, key = shape.hidden, query_width(shape), key_width(shape)
    per_layer = 0.0
    if "q" in kinds:
        per_layer += hidden + query
    if "k" in kinds:
        per_layer += hidden + key
    if "v" in kinds:
        per_layer += hidden + key
    if "o" in kinds:
        per_layer += query + hidden
    if "qkv" in kinds and not {"q", "k", "v"} & kinds:
        per_layer += hidden + query + 2 * key
    if "mlp" in kinds:
        width = shape.ffn_hidden * (1 - moe_share(shape)) + moe_share(shape) * shape.shared_expert_ffn_hidden
        per_layer += mlp_matrices(shape) * (hidden + width)
    head = hidden + shape.vocabulary if "head" in kinds else 0
    return rank * (shape.layers * per_layer + head)
