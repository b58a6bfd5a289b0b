"""Public calculators of training memory, each asked in its own terms. Nothing of their code is here.

A peer is loaded from where ``--peer-path`` says it lies, called as its users call it, and told everything it
has a word for. What it has no word for (adapters, say) it cannot answer: ``Cannot`` says which word. Where
a description leaves something open, the peer is given the same documented default as ours.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import json
import logging
import os
import re
import sys
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weighbridge.schema.model import ModelShape
from weighbridge.schema.recipe import Recipe

GIB = 2.0**30
_SHARDS = {"zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3, "hsdp": 3, "megatron": 1}
# Bytes of optimizer state per trained parameter beside a master copy: states in fp32, states in 16 bits.
_STATES = {"adamw": (8, 4), "adamw8bit": (2, 2), "muon": (4, 2), "sgd": (0, 0)}


class Cannot(Exception):  # noqa: N818 - an answer, not a mistake
    """The peer has no word for this; the argument names it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One run: the network with its counted parameters, the filled recipe, degrees as plain numbers."""

    shape: ModelShape
    parameters: float
    recipe: Recipe
    data: int
    tensor: int
    pipeline: int
    context: int
    expert: int

    @property
    def batch(self) -> int:
        return self.recipe.micro_batch or 1

    @property
    def sequence(self) -> int:
        return self.recipe.sequence or 0

    @property
    def gpus(self) -> int:
        return self.data * self.tensor * self.pipeline * self.context

    @property
    def zero(self) -> int:
        return _SHARDS.get(self.recipe.sharding or "none", 0) if self.data > 1 else 0

    @property
    def mixed(self) -> bool:
        return self.recipe.master == "fp32" and self.recipe.compute != "fp32"

    def needs(self, *, full: bool = True, one_gpu: bool = False, context: bool = False) -> None:
        """Raises Cannot for what no word is there for."""
        if full and self.recipe.training != "full":
            raise Cannot("adapters" if self.recipe.training in ("lora", "qlora") else "other training")
        if self.context > 1 and not context:
            raise Cannot("context parallelism")
        if one_gpu and self.gpus > 1:
            raise Cannot("more than one GPU")


@dataclass(frozen=True, slots=True)
class Peer:
    """``marker`` is the file it is found by; ``root`` how many folders above it Python imports from."""

    name: str
    marker: str | None
    load: Callable[[Path], Callable[[Asked], float]]
    leaves_out: str


def find(marker: str, folders: Iterable[Path]) -> Path | None:
    """The first file whose path ends in ``marker``, below any of the folders."""
    last = Path(marker).name
    for folder in folders:
        for at, inner, files in os.walk(folder):
            inner[:] = sorted(
                name for name in inner if name not in (".git", "__pycache__", "nvidia", "torch")
            )
            if last in files and (Path(at) / last).as_posix().endswith("/" + marker):
                return Path(at) / last
    return None


def _package(name: str, file: Path) -> Any:
    """Module ``name`` of the checkout that ``file`` lies in, as its own users import it."""
    root = str(file.resolve().parents[name.count(".")])
    sys.path.insert(0, root)
    try:
        module = importlib.import_module(name)
    finally:
        sys.path.remove(root)
        sys.path.append(root)  # for what it imports later
    if Path(module.__file__ or "").resolve() != file.resolve():
        raise ImportError(f"{file} was found, but Python took {module.__file__}")
    return module


def _alone(name: str, file: Path) -> Any:
    """The file as a module, without the package around it."""
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def cookbook(file: Path) -> Callable[[Asked], float]:
    module = _alone("peer_cookbook", file)

    def ask(asked: Asked) -> float:
        asked.needs()
        shape, recipe = asked.shape, asked.recipe
        if recipe.optimizer not in ("adamw", "muon"):
            raise Cannot(f"optimizer {recipe.optimizer}")
        if asked.expert > 1 and shape.experts is None:
            raise Cannot("expert parallelism")
        width = (shape.expert_ffn_hidden if shape.experts else None) or shape.ffn_hidden
        said = {
            "hf_model_name_or_path": None,
            "num_gpus": asked.gpus,
            "tensor_parallel_size": asked.tensor,
            "pipeline_parallel_size": asked.pipeline,
            "partition_activations": asked.tensor > 1,
            "zero_stage": asked.zero,
            "checkpoint_activations": recipe.checkpointing == "full",
            "batch_size_per_gpu": asked.batch,
            "sequence_length": asked.sequence,
            "vocab_size": shape.vocabulary,
            "hidden_size": shape.hidden,
            "num_attention_heads": shape.heads,
            "num_layers": shape.layers,
            "ffn_expansion_factor": width / shape.hidden,
            "num_mlp_linears": 3 if shape.gated else 2,
            "kv_size_ratio": shape.kv_heads / shape.heads,
            "is_mixed_precision": recipe.compute != "fp32",
            "bytes_per_grad_ele": 4 if recipe.master == "fp32" else 2,
            "optimizer": recipe.optimizer,
            "num_experts": shape.experts or 0,
            "expert_parallelism": asked.expert,
        }
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            module.calc_mem(types.SimpleNamespace(**{**module.DEFAULTS, **said}))
        found = re.search(r"Required for Training: ([0-9.]+) GiB", printed.getvalue())
        assert found is not None
        return float(found[1]) * GIB

    return ask


def llm_analysis(file: Path) -> Callable[[Asked], float]:
    analysis, config = _package("llm_analysis.analysis", file), importlib.import_module("llm_analysis.config")
    logging.getLogger("__name__").setLevel(logging.CRITICAL)
    kept = analysis.ActivationRecomputation
    attention = getattr(kept, "ATTN_COMPUTE", None) or kept.SELECTIVE  # the name differs by release
    checkpointing = {"none": kept.NONE, "selective": attention, "full": kept.FULL}
    stages = (analysis.DSZeRO.NONE, analysis.DSZeRO.STAGE_1, analysis.DSZeRO.STAGE_2, analysis.DSZeRO.STAGE_3)

    def ask(asked: Asked) -> float:
        asked.needs()
        shape, recipe = asked.shape, asked.recipe
        if recipe.checkpointing not in checkpointing:
            raise Cannot(f"checkpointing {recipe.checkpointing}")
        if recipe.optimizer not in _STATES:
            raise Cannot(f"optimizer {recipe.optimizer}")
        bits = 32 if recipe.compute == "fp32" else 16
        pure = recipe.master != "fp32"
        states = _STATES[recipe.optimizer][pure]
        model = config.ModelConfig(
            name="asked",
            num_layers=shape.layers,
            n_head=shape.heads,
            hidden_dim=shape.hidden,
            vocab_size=shape.vocabulary,
            max_seq_len=asked.sequence,
            num_key_value_heads=shape.kv_heads,
            ffn_embed_dim=(shape.expert_ffn_hidden if shape.experts else None) or shape.ffn_hidden,
            moe_num_experts=shape.experts or 1,
            moe_top_k=shape.experts_per_token or 1,
            mlp_gated_linear_units=shape.gated,
        )
        # A card nothing is too large for: the question is how much, not whether.
        card = config.GPUConfig("asked", 1e6, 2000, 300, 1e-6, 300)
        spread = config.ParallelismConfig(
            tp_size=asked.tensor, pp_size=asked.pipeline, dp_size=asked.data, ep_size=asked.expert
        )
        found = analysis.LLMAnalysis(
            model, card, config.DtypeConfig("asked", bits, bits, bits), spread, flops_efficiency=0.5
        ).training(
            batch_size_per_gpu=asked.batch,
            gradient_accumulation_steps=1,
            seq_len=asked.sequence,
            activation_recomputation=checkpointing[recipe.checkpointing],
            ds_zero=stages[asked.zero],
            # Pure 16-bit training has gradients of 2 bytes and no master copy, which it always adds.
            master_weights_dtype_bytes=2 if pure else 4,
            other_op_bytes=states - 2 if pure else states,
            flash_attn=recipe.attention != "eager",
        )
        return float(found["estimated_peak_memory_per_gpu"])

    return ask


def calculon(file: Path) -> Callable[[Asked], float]:
    package = _package("calculon.llm.llm", file)
    system = importlib.import_module("calculon.system").System
    described = json.loads((file.parents[2] / "systems" / "a100_80g.json").read_text())
    # Sizes of card and networks do not enter what a layout needs; here nothing is too large for them.
    described["mem1"]["GiB"] = described["mem2"]["GiB"] = 10**6
    for network in described["networks"]:
        network |= {"size": 65536, "must_be_filled": False}

    def ask(asked: Asked) -> float:
        asked.needs()
        shape, recipe = asked.shape, asked.recipe
        if shape.experts:
            raise Cannot("experts")
        if asked.zero > 1:
            raise Cannot("sharded weights or gradients")
        if recipe.compute == "fp32" or not asked.mixed:
            raise Cannot("precision other than 16-bit mixed")
        kinds = {"none": "none", "selective": "attn_only", "full": "full"}
        if recipe.checkpointing not in kinds:
            raise Cannot(f"checkpointing {recipe.checkpointing}")
        passes = recipe.accumulation or asked.pipeline
        said = {
            "num_procs": asked.gpus,
            "tensor_par": asked.tensor,
            "pipeline_par": asked.pipeline,
            "data_par": asked.data,
            "tensor_par_net": 0,
            "pipeline_par_net": 1,
            "data_par_net": 1,
            "batch_size": asked.batch * asked.data * passes,
            "microbatch_size": asked.batch,
            "datatype": "float16",
            "fused_activation": recipe.fused_kernels is True,
            "attention_type": "multihead",
            "activation_recompute": kinds[recipe.checkpointing],
            "pipeline_interleaving": 1,
            "optimizer_sharding": asked.zero == 1,
            "tensor_par_comm_type": "rs_ag" if recipe.sequence_parallel else "ar",
            "tensor_par_overlap": "none",
            "seq_par_ag_redo": False,
            "data_par_overlap": False,
            "weight_offload": False,
            "activations_offload": False,
            "optimizer_offload": False,
            "training": True,
        }
        network = {
            "hidden": shape.hidden,
            "feedforward": shape.ffn_hidden,
            "seq_size": asked.sequence,
            "attn_heads": shape.heads,
            "attn_size": shape.head_dim,
            "num_blocks": shape.layers,
        }
        model = package.Llm(package.Llm.Application(network), logging.getLogger("peer"))
        machine = system(described, logging.getLogger("peer")) if _takes_log(system) else system(described)
        model.compile(machine, package.Llm.Execution.from_json(said))
        model.run(machine)
        return float(model.get_mem_tier1_cap_req())

    return ask


def _takes_log(kind: Any) -> bool:
    return kind.__init__.__code__.co_argcount > 2


def megatron(file: Path) -> Callable[[Asked], float]:
    helpers = types.ModuleType("peer_megatron.utils")
    helpers.print_rank_0 = lambda *_: None  # type: ignore[attr-defined]
    helpers.is_hybrid_model = lambda _: False  # type: ignore[attr-defined]
    package = types.ModuleType("peer_megatron")
    package.__path__ = []
    sys.modules |= {"peer_megatron": package, "peer_megatron.utils": helpers}
    module = _alone("peer_megatron.theoretical_memory_usage", file)

    class Arguments(types.SimpleNamespace):
        def __getattr__(self, name: str) -> None:
            return None

    def ask(asked: Asked) -> float:
        asked.needs()
        shape, recipe = asked.shape, asked.recipe
        if recipe.checkpointing in ("full", "selective_layers"):
            raise Cannot(f"checkpointing {recipe.checkpointing}")
        if asked.zero > 1:
            raise Cannot("sharded weights or gradients")
        if not asked.mixed or recipe.optimizer != "adamw":
            raise Cannot("states other than Adam's with an fp32 master copy")
        arguments = Arguments(
            hidden_size=shape.hidden,
            kv_channels=shape.head_dim,
            num_attention_heads=shape.heads,
            group_query_attention=shape.kv_heads != shape.heads,
            num_query_groups=shape.kv_heads,
            num_layers=shape.layers,
            ffn_hidden_size=shape.ffn_hidden,
            swiglu=shape.gated,
            normalization="RMSNorm" if shape.norm == "rms" else "LayerNorm",
            padded_vocab_size=shape.vocabulary,
            untie_embeddings_and_output_weights=not shape.tied_embeddings,
            num_experts=shape.experts,
            moe_layer_freq=1,
            moe_ffn_hidden_size=shape.expert_ffn_hidden or shape.ffn_hidden,
            moe_router_topk=shape.experts_per_token,
            pipeline_model_parallel_size=asked.pipeline,
            tensor_model_parallel_size=asked.tensor,
            expert_model_parallel_size=asked.expert,
            expert_tensor_parallel_size=asked.tensor,
            data_parallel_size=asked.data,
            world_size=asked.gpus,
            use_distributed_optimizer=asked.zero == 1,
            virtual_pipeline_model_parallel_size=recipe.virtual_stages if asked.pipeline > 1 else None,
            seq_length=asked.sequence,
            micro_batch_size=asked.batch,
            sequence_parallel=bool(recipe.sequence_parallel),
            recompute_granularity="selective" if recipe.checkpointing == "selective" else None,
        )
        with contextlib.redirect_stdout(io.StringIO()):
            return float(module.report_theoretical_memory(arguments, recipe.accumulation)[2]) * 2**20

    return ask
