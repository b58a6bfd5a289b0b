"""What a language model is: the numbers that weights, activations and arithmetic follow from.

One record for decoders, encoders and mixtures of experts. It says nothing of how the model is trained
(that is the Recipe) and holds no formula (``weigh.memory.parameters`` counts).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Norm = Literal["rms", "layer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """Sizes of a transformer. ``vocabulary`` counts the rows of the embedding as stored, padding included.

    ``experts`` None: dense. With experts, ``expert_ffn_hidden`` is the width of one routed expert (None:
    ``ffn_hidden``), ``moe_layers`` how many layers hold experts (None: all), and ``ffn_hidden`` the width
    of the layers without. ``norms_per_layer`` counts norm weight vectors of one layer.
    """

    name: str
    layers: int
    hidden: int
    ffn_hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    gated: bool = True
    tied_embeddings: bool = False
    position_rows: int = 0
    experts: int | None = None
    experts_per_token: int | None = None
    expert_ffn_hidden: int | None = None
    shared_expert_ffn_hidden: int = 0
    moe_layers: int | None = None
    norm: Norm = "rms"
    norms_per_layer: int = 2
    norm_bias: bool = False
    qk_norm: bool = False
    attention_input_bias: bool = False
    attention_output_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    # False: the published model code computes the loss in the dtype of the logits (GPT-BigCode, Qwen 1);
    # True: it raises them to fp32 first, as most do.
    loss_in_fp32: bool = True
    # False: every token sees every other (encoders).
    causal: bool = True
