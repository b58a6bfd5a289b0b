"""Operators of one layer and of the head on one device: shapes of the products, scores, elements.

FLOPs follow from the shapes; nothing here knows how fast anything is. Tensor parallelism divides the width of
the products, context parallelism the tokens, expert parallelism the experts (each device then sees the tokens
of its peers, so that its routed tokens stay the same in number).
"""

from __future__ import annotations

from dataclasses import dataclass

from weighbridge.schema.model import ModelShape
from weighbridge.weigh.memory.degrees import Degrees
from weighbridge.weigh.memory.parameters import expert_width, key_width, mlp_matrices, moe_share, query_width


@dataclass(frozen=True, slots=True)
class Product:
    """``count`` products of m x k by k x n in ``groups`` pieces each (experts); ``m`` are tokens."""

    name: str
    m: float
    n: float
    k: float
    groups: float = 1.0
    count: float = 1.0

    @property
    def flops(self) -> float:
        return 2.0 * self.m * self.n * self.k * self.groups * self.count


@dataclass(frozen=True, slots=True)
class LayerWork:
    """One mean layer. ``score_flops``: forward, causal half counted; ``scores``: how many are made."""

    products: tuple[Product, ...]
    score_flops: float
    scores: float
    hidden_elements: float
    middle_elements: float
    routed_elements: float


def layer_work(shape: ModelShape, tokens: float, sequence: float, degrees: Degrees) -> LayerWork:
    """``tokens`` of one micro-batch on this device, after context parallelism."""
    split = degrees.tensor
    hidden, query, key = shape.hidden, query_width(shape) / split, key_width(shape) / split
    matrices = mlp_matrices(shape)
    moe = moe_share(shape)
    products = [
        Product("qkv", tokens, query + 2 * max(key, shape.head_dim), hidden),
        Product("attention_output", tokens, hidden, query),
    ]
    middle = 0.0
    if moe < 1:
        width = shape.ffn_hidden / split
        products += [
            Product("mlp_in", tokens, width * (matrices - 1), hidden, count=1 - moe),
            Product("mlp_out", tokens, hidden, width, count=1 - moe),
        ]
        middle += (1 - moe) * tokens * width * (matrices - 1)
    routed = 0.0
    if moe > 0:
        routed = tokens * (shape.experts_per_token or 1)
        width = expert_width(shape) / split
        groups = max(1.0, (shape.experts or 1) / degrees.expert)
        each = routed / groups
        products += [
            Product("expert_in", each, width * (matrices - 1), hidden, groups, moe),
            Product("expert_out", each, hidden, width, groups, moe),
        ]
        middle += moe * routed * width * (matrices - 1)
        if shape.shared_expert_ffn_hidden:
            wide = shape.shared_expert_ffn_hidden / split
            products += [
                Product("shared_in", tokens, wide * (matrices - 1), hidden, count=moe),
                Product("shared_out", tokens, hidden, wide, count=moe),
            ]
            middle += moe * tokens * wide * (matrices - 1)
    seen = sequence / 2 if shape.causal else sequence
    return LayerWork(
        products=tuple(products),
        score_flops=4.0 * tokens * seen * query,
        scores=tokens * sequence * shape.heads / split,
        hidden_elements=tokens * hidden,
        middle_elements=middle,
        routed_elements=routed * hidden * moe,
    )


def head_product(shape: ModelShape, tokens: float, degrees: Degrees) -> Product:
    return Product("head", tokens, shape.vocabulary / degrees.tensor, shape.hidden)


def flops_per_token(shape: ModelShape, sequence: float, head_share: float = 1.0) -> float:
    """Forward FLOPs of one token in the whole network, causal half counted."""
    work = layer_work(shape, 1.0, sequence, Degrees(data=1, tensor=1, pipeline=1, context=1, expert=1))
    layer = sum(product.flops for product in work.products) + work.score_flops
    return shape.layers * layer + head_share * 2.0 * shape.hidden * shape.vocabulary
