"""Walk through a network: every call is one operator, knows its output's shape and what autograd keeps of it.

Rules of what stays for the backward pass are PyTorch's (tools/autograd/derivatives.yaml): convolution,
linear and
deformable convolution keep their input, normalisation its input, ReLU and softmax their output, GELU, SiLU
and
pooling their input, multiplication both factors, addition and concatenation nothing. A map kept twice
counts once.
Under autocast convolution and linear take and give 16-bit maps, LayerNorm, GroupNorm and softmax fp32 ones,
and a
cast makes a new map. Shapes only: no figure here is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import ceil, log2

from weighbridge.schema.vision import Kind, Network, Operator

_WINOGRAD = 36 / 16
_LONGEST_TRANSFORM = 256
_COMPLEX_BYTES = 8.0


class Map:
    """``items`` maps (RoIs, windows) of channels x height x width per image; ``width`` bytes per element."""

    __slots__ = ("bytes_each", "channels", "grad", "halved", "height", "items", "kept", "width")

    def __init__(
        self,
        channels: float,
        height: float,
        width: float,
        *,
        items: float = 1.0,
        bytes_each: float = 4.0,
        grad: bool = True,
    ) -> None:
        self.channels, self.height, self.width, self.items = channels, height, width, items
        self.bytes_each, self.grad = bytes_each, grad
        self.kept = False
        self.halved: Map | None = None

    @property
    def elements(self) -> float:
        return self.items * self.channels * self.height * self.width

    @property
    def pixels(self) -> float:
        return self.items * self.height * self.width

    @property
    def size(self) -> float:
        return self.elements * self.bytes_each


def pooled(size: float, kernel: int, stride: int, padding: int, dilation: int = 1, ceil: bool = False) -> int:
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    return int(-(-span // stride) if ceil else span // stride) + 1


def fourier(x: Map, out: float, high: int, wide: int) -> tuple[float, float]:
    """Bytes per image and once of a convolution by Fourier transform: every map and every pair of channels as
    complex numbers on the next power of two; cuDNN offers it up to 256 a side."""
    side = [2.0 ** ceil(log2(size + kernel - 1)) for size, kernel in ((x.height, high), (x.width, wide))]
    if max(side) > _LONGEST_TRANSFORM:
        return 0.0, 0.0
    each = side[0] * side[1] * _COMPLEX_BYTES
    return each * (x.channels + out) * x.items, each * x.channels * out


class Walk:
    def __init__(
        self,
        name: str,
        *,
        autocast: bool = False,
        frozen_stages: int = 0,
        norm: str = "batch",
        checkpointing: bool = False,
        group_norm_maps: int = 1,
    ) -> None:
        """``norm`` is the default of ``norm()``: batch, frozen (detectron2's, no gradient of its own) or
        group.

        ``group_norm_maps``: 2 before PyTorch 1.5, whose GroupNorm was a batch norm and a multiplication
        that both
        kept their input.
        """
        self.name, self.autocast, self.frozen_stages = name, autocast, frozen_stages
        # torch.backends.cudnn.benchmark: every algorithm is tried once, with the memory that it asks for.
        self.searches = False
        self.default_norm, self.checkpointing = norm, checkpointing
        self.group_norm_maps = group_norm_maps
        self.operators: list[Operator] = []
        self.parameters = 0.0
        self.trainable = 0.0
        self.tensors = 0
        self.loss_bytes = 0.0
        self.frozen = False
        # Most boxes in one image of the data: COCO's training set (recalled from its annotations).
        self.fullest_image = 93
        # Gradients of maps with several readers wait until the last of them is done.
        self.held_bytes = 0.0
        self._inside = 0

    # -- bookkeeping ------------------------------------------------------------

    def image(self, height: float, width: float, channels: int = 3) -> Map:
        return Map(channels, height, width, grad=False)

    def network(self, family: str | None = None, unsure: tuple[str, ...] = ()) -> Network:
        return Network(
            self.name,
            self.parameters,
            self.trainable,
            tuple(self.operators),
            tensors=self.tensors,
            loss_bytes=self.loss_bytes,
            family=family,
            unsure=unsure,
        )

    def keep(self, x: Map) -> float:
        """Bytes that keeping this map adds: none when it is kept already."""
        if x.kept:
            return 0.0
        x.kept = True
        return x.size

    def weigh_parameters(self, count: float, tensors: int = 1) -> None:
        self.parameters += count
        self.tensors += tensors
        if not self.frozen:
            self.trainable += count

    def emit(
        self,
        kind: Kind,
        x: Map,
        y: Map,
        *,
        macs: float = 0.0,
        weights: float = 0.0,
        narrowest: float = 0,
        kept: float = 0.0,
        inputs: float | None = None,
        workspace: float = 0.0,
        workspace_fixed: float = 0.0,
        searched: tuple[float, float] = (0.0, 0.0),
    ) -> Map:
        self.operators.append(
            Operator(
                kind,
                macs=macs,
                inputs=x.elements if inputs is None else inputs,
                outputs=y.elements,
                weights=weights,
                narrowest=int(narrowest),
                kept_bytes=kept,
                gradient_bytes=self.held_bytes + (y.size if y.grad else 0.0) + (x.size if x.grad else 0.0),
                workspace_bytes=workspace,
                workspace_fixed_bytes=workspace_fixed,
                searched_bytes=searched[0],
                searched_fixed_bytes=searched[1],
                backward=y.grad,
                recomputed=self._inside > 0,
            )
        )
        return y

    def half(self, x: Map) -> Map:
        """The 16-bit copy that autocast hands to a convolution; made once per map."""
        if not self.autocast or x.bytes_each <= 2:
            return x
        if x.halved is None:
            y = Map(x.channels, x.height, x.width, items=x.items, bytes_each=2.0, grad=x.grad)
            self.emit("copy", x, y)
            x.halved = y
        return x.halved

    def full(self, x: Map) -> Map:
        if not self.autocast or x.bytes_each >= 4:
            return x
        y = Map(x.channels, x.height, x.width, items=x.items, bytes_each=4.0, grad=x.grad)
        return self.emit("copy", x, y)

    def like(self, x: Map, channels: float | None = None, **change: float) -> Map:
        return Map(
            x.channels if channels is None else channels,
            change.get("height", x.height),
            change.get("width", x.width),
            items=change.get("items", x.items),
            bytes_each=change.get("bytes_each", x.bytes_each),
            grad=x.grad or not self.frozen if channels is not None else x.grad,
        )

    @contextmanager
    def freeze(self, frozen: bool = True) -> Iterator[None]:
        before, self.frozen = self.frozen, self.frozen or frozen
        yield
        self.frozen = before

    @contextmanager
    def holding(self, maps: Sequence[Map]) -> Iterator[None]:
        """While these operators turn back, the gradients that later readers gave to ``maps`` are alive."""
        before = self.held_bytes
        self.held_bytes += sum(x.size for x in maps if x.grad)
        yield
        self.held_bytes = before

    @contextmanager
    def checkpoint(self, x: Map, active: bool = True) -> Iterator[None]:
        """Everything inside is computed again in the backward pass; only ``x`` stays."""
        if not (active and self.checkpointing) or self._inside:
            yield
            return
        first = len(self.operators)
        entry = self.keep(x) if x.grad else 0.0
        self._inside += 1
        yield
        self._inside -= 1
        inner = sum(operator.kept_bytes for operator in self.operators[first:])
        for index in range(first, len(self.operators)):
            self.operators[index] = _without_kept(self.operators[index], 0.0, 0.0)
        if len(self.operators) > first:
            self.operators[first] = _without_kept(self.operators[first], entry, 0.0)
            self.operators[-1] = _without_kept(self.operators[-1], self.operators[-1].kept_bytes, inner)

    # -- operators ------------------------------------------------------------

    def conv(
        self,
        x: Map,
        out: float,
        kernel: int | tuple[int, int],
        stride: int = 1,
        padding: int | tuple[int, int] | None = None,
        *,
        dilation: int = 1,
        groups: float = 1,
        bias: bool = False,
        deformable: bool = False,
    ) -> Map:
        high, wide = (kernel, kernel) if isinstance(kernel, int) else kernel
        pads = padding if isinstance(padding, tuple) else (padding, padding)
        pad_high = dilation * (high - 1) // 2 if pads[0] is None else pads[0]
        pad_wide = dilation * (wide - 1) // 2 if pads[1] is None else pads[1]
        x = self.half(x)
        weights = out * x.channels / groups * high * wide
        y = Map(
            out,
            pooled(x.height, high, stride, pad_high, dilation),
            pooled(x.width, wide, stride, pad_wide, dilation),
            items=x.items,
            bytes_each=x.bytes_each,
            grad=x.grad or not self.frozen,
        )
        self.weigh_parameters(weights + (out if bias else 0), 2 if bias else 1)
        each = min(x.channels, out) / groups
        kind: Kind = (
            "deformable_conv"
            if deformable
            else "conv"
            if groups == 1
            else "depthwise_conv"
            if each <= 1
            else "group_conv"
        )
        kept = self.keep(x) if not self.frozen else 0.0
        workspace, fixed = 0.0, 0.0
        searched = (0.0, 0.0)
        if self.searches and kind == "conv" and stride == 1 and dilation == 1 and high > 1:
            searched = fourier(x, out, high, wide)
        if kind == "conv" and high == wide == 3 and stride == 1 and dilation == 1 and x.bytes_each >= 4:
            # Winograd F(4x4, 3x3), not fused: 6x6 values stand for 4x4 of either map, 36 for 9 weights.
            workspace, fixed = _WINOGRAD * (x.size + y.size), 4.0 * weights * x.bytes_each
        elif kind == "deformable_conv":
            workspace = x.channels * high * wide * y.pixels * y.bytes_each  # the columns of im2col
        return self.emit(
            kind, x, y, macs=y.elements * weights / out, weights=weights, narrowest=each, kept=kept,
            workspace=workspace, workspace_fixed=fixed,
            searched=searched,
        )  # fmt: skip

    def transposed(self, x: Map, out: float, kernel: int, stride: int, bias: bool = True) -> Map:
        x = self.half(x)
        weights = out * x.channels * kernel * kernel
        y = Map(
            out,
            x.height * stride,
            x.width * stride,
            items=x.items,
            bytes_each=x.bytes_each,
            grad=x.grad or not self.frozen,
        )
        self.weigh_parameters(weights + (out if bias else 0), 2 if bias else 1)
        kept = self.keep(x) if not self.frozen else 0.0
        return self.emit("conv", x, y, macs=x.pixels * weights, weights=weights,
                         narrowest=min(out, x.channels), kept=kept)  # fmt: skip

    def norm(self, x: Map, kind: str | None = None) -> Map:
        """Batch norm keeps its input also in evaluation mode: autograd asks for it with the affine gradient.

        detectron2's FrozenBatchNorm2d multiplies by a constant: nothing stays, and there are no parameters.
        """
        kind = kind or self.default_norm
        if kind == "none":
            return x
        if kind == "frozen":
            y = self.like(x)
            return self.emit("elementwise", x, y)
        self.weigh_parameters(2 * x.channels, 2)
        if kind in ("layer", "group"):
            x = self.full(x) if kind in ("layer", "group") else x
        y = Map(x.channels, x.height, x.width, items=x.items, bytes_each=x.bytes_each,
                grad=x.grad or not self.frozen)  # fmt: skip
        kept = self.keep(x) if y.grad else 0.0
        if kind == "group" and y.grad:
            kept += (self.group_norm_maps - 1) * y.size
        name: Kind = {"layer": "layer_norm", "group": "group_norm"}.get(kind, "batch_norm")  # type: ignore[assignment]
        return self.emit(name, x, y, kept=kept)

    def relu(self, x: Map) -> Map:
        """In place or not, the output stays (it is the next layer's input) and the input is free."""
        y = self.like(x)
        return self.emit("activation", x, y, kept=self.keep(y) if y.grad else 0.0)

    def smooth(self, x: Map) -> Map:
        """GELU, SiLU, Mish, hard-swish, leaky ReLU out of place: the input stays, and the output for the
        next."""
        y = self.like(x)
        return self.emit("activation", x, y, kept=self.keep(x) if x.grad else 0.0)

    def swish(self, x: Map) -> Map:
        """x times sigmoid(x) as two operators: x and the sigmoid stay (MMCV's Swish)."""
        return self.multiply(x, self.sigmoid(x))

    def sigmoid(self, x: Map) -> Map:
        y = self.like(x)
        return self.emit("activation", x, y, kept=self.keep(y) if y.grad else 0.0)

    def add(self, x: Map, y: Map) -> Map:
        z = self.like(x, bytes_each=max(x.bytes_each, y.bytes_each))
        z.grad = x.grad or y.grad
        return self.emit("elementwise", x, z, inputs=x.elements + y.elements)

    def multiply(self, x: Map, y: Map) -> Map:
        z = self.like(x, bytes_each=max(x.bytes_each, y.bytes_each))
        z.grad = x.grad or y.grad
        kept = (self.keep(x) + self.keep(y)) if z.grad else 0.0
        return self.emit("elementwise", x, z, inputs=x.elements + y.elements, kept=kept)

    def scale(self, x: Map) -> Map:
        """By a learned number per channel (layer scale): keeps its input."""
        self.weigh_parameters(x.channels)
        y = self.like(x, x.channels)
        return self.emit("elementwise", x, y, kept=self.keep(x) if y.grad else 0.0)

    def cat(self, *maps: Map) -> Map:
        first = maps[0]
        y = Map(sum(m.channels for m in maps), first.height, first.width, items=first.items,
                bytes_each=max(m.bytes_each for m in maps), grad=any(m.grad for m in maps))  # fmt: skip
        return self.emit("copy", y, y)

    def max_pool(self, x: Map, kernel: int, stride: int, padding: int = 0, ceil: bool = False) -> Map:
        y = Map(x.channels, pooled(x.height, kernel, stride, padding, 1, ceil),
                pooled(x.width, kernel, stride, padding, 1, ceil), items=x.items,
                bytes_each=x.bytes_each, grad=x.grad)  # fmt: skip
        kept = (self.keep(x) + 8.0 * y.elements) if x.grad else 0.0
        return self.emit("pool", x, y, kept=kept)

    def average_pool(self, x: Map, height: float, width: float) -> Map:
        y = Map(x.channels, height, width, items=x.items, bytes_each=x.bytes_each, grad=x.grad)
        return self.emit("pool", x, y, kept=self.keep(x) if x.grad else 0.0)

    def resize(self, x: Map, height: float, width: float) -> Map:
        y = Map(x.channels, height, width, items=x.items, bytes_each=x.bytes_each, grad=x.grad)
        return self.emit("copy", x, y)

    def copy(self, x: Map) -> Map:
        y = self.like(x)
        return self.emit("copy", x, y)

    def linear(self, x: Map, out: float, bias: bool = True) -> Map:
        """Over the channels of every position."""
        x = self.half(x)
        weights = x.channels * out
        self.weigh_parameters(weights + (out if bias else 0), 2 if bias else 1)
        y = Map(out, x.height, x.width, items=x.items, bytes_each=x.bytes_each,
                grad=x.grad or not self.frozen)  # fmt: skip
        kept = self.keep(x) if not self.frozen else 0.0
        return self.emit("linear", x, y, macs=x.pixels * weights, weights=weights,
                         narrowest=min(out, x.channels), kept=kept)  # fmt: skip

    def matmul(self, x: Map, y: Map, out: Map, inner: float) -> Map:
        """Batched product of two maps, ``inner`` long: attention's two."""
        x, y = self.half(x), self.half(y)
        if self.autocast:
            out.bytes_each = 2.0
        kept = self.keep(x) + self.keep(y) if out.grad else 0.0
        return self.emit("attention_matmul", x, out, macs=out.elements * inner, narrowest=inner, kept=kept,
                         inputs=x.elements + y.elements)  # fmt: skip

    def softmax(self, x: Map) -> Map:
        x = self.full(x)
        y = self.like(x)
        return self.emit("softmax", x, y, kept=self.keep(y) if y.grad else 0.0)

    def transient(self, once_bytes: float) -> None:
        """Alive beside everything kept so far, then free, for one image at a time: targets of anchors."""
        self.operators.append(Operator("copy", workspace_fixed_bytes=once_bytes, backward=False))

    def losses(self, bytes_per_image: float) -> None:
        """Alive only while the losses are computed, when every activation is."""
        self.loss_bytes = max(self.loss_bytes, bytes_per_image)


def _without_kept(operator: Operator, kept: float, inner: float) -> Operator:
    return replace(operator, kept_bytes=kept, inner_bytes=inner)
