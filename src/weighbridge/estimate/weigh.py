"""Holds a Description against GPUs of one model: calls the kernels with the tables and returns a Fit.

The Python entry point (``weighbridge.weigh``) and every verb go through here. Searching for the largest batch
or another card is in ``search`` and ``cards``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import weighbridge
from weighbridge.codec.hash import stable_hash
from weighbridge.errors import InputError
from weighbridge.estimate.describe.describe import describe
from weighbridge.estimate.describe.image_task import network_of
from weighbridge.estimate.machine import card_bytes, card_named, machine_of
from weighbridge.facts.memory_constants import load_memory_tables
from weighbridge.facts.records import GpuFact
from weighbridge.facts.step_constants import load_step_tables
from weighbridge.facts.step_machine import Joined, step_machine
from weighbridge.facts.vision_constants import load_vision_constants, vision_card_of
from weighbridge.schema.description import Description
from weighbridge.schema.finding import Finding, Parameter
from weighbridge.schema.fit import Fit, MemoryFit, Provenance
from weighbridge.schema.memory_constants import FrameworkDefault
from weighbridge.schema.prediction import Versions
from weighbridge.schema.recipe import Recipe
from weighbridge.schema.share import Share
from weighbridge.schema.vision import Network, Unanswered, VisionMemory, VisionTime
from weighbridge.units import Quantity
from weighbridge.weigh.fit import language_fit, vision_fit, vision_memory_fit
from weighbridge.weigh.memory import MemoryEstimate, Missing, memory, memory_fit
from weighbridge.weigh.step import StepEstimate, step_time
from weighbridge.weigh.vision import vision_memory, vision_step_time

_WHERE: Final = "weighbridge: what most do"
# What is taken when neither the user nor a framework says: kept last, so that a framework's own goes first.
_LAST: Final = (
    FrameworkDefault(framework="any", field="master", value="fp32", when={"training": "full"}, source=_WHERE),
    FrameworkDefault(framework="any", field="master", value="bf16", source=_WHERE),
    FrameworkDefault(framework="any", field="compute", value="bf16", source=_WHERE),
    FrameworkDefault(framework="any", field="optimizer", value="adamw", source=_WHERE),
    FrameworkDefault(framework="any", field="checkpointing", value="none", source=_WHERE),
    FrameworkDefault(framework="any", field="attention", value="sdpa", source=_WHERE),
    FrameworkDefault(
        framework="any", field="base_quant", value="nf4", when={"training": "qlora"}, source=_WHERE
    ),
)
_FIRST: Final = FrameworkDefault(framework="any", field="training", value="full", source=_WHERE)
# Fields of a Recipe by the options that state them.
OPTION_OF: Final = {
    "micro_batch": "batch",
    "images": "batch",
    "master": "precision",
    "compute": "precision",
    "autocast": "precision",
    "lora_rank": "rank",
    "lora_targets": "lora_targets",
    "optimizer_implementation": "optimizer",
    "data_parallel": "dp",
}
# Defaults of these move the answer; the rest are listed as notes.
_WEIGHTY: Final = frozenset(
    {"training", "master", "compute", "optimizer", "checkpointing", "sharding", "attention", "precision"}
)


@dataclass(frozen=True, slots=True)
class Answers:
    """What the kernels said, before it is put into a Fit."""

    memory: MemoryEstimate | VisionMemory | Missing | Unanswered
    step: StepEstimate | VisionTime | Missing | Unanswered | None
    joined: Joined | None


# The fact is kept beside its hash, so that its id stays its own.
_MACHINE_HASHES: dict[tuple[int, int, int | None], tuple[GpuFact, str]] = {}
MACHINE_HASHES_KEPT = 4096


def weigh(task: Description | str, gpu: GpuFact | str, **options: Any) -> Fit:
    """Memory and step time of ``task`` on GPUs of one model.

    ``task`` is a Description, a model's name, a path to a config.json or to a description file; ``options``
    are those of ``estimate.describe.options`` (batch, sequence, precision, gpus, tp, ...). Raises InputError
    with one sentence for what cannot be read or cannot be, and names what must be said.
    """
    fact = card_named(gpu) if isinstance(gpu, str) else gpu
    if isinstance(task, str):
        task = describe(task, options)
    elif options:
        raise InputError("estimate.options_beside_description", names=sorted(options))
    return fit_of(task, fact, answers(task, fact))


def answers(task: Description, fact: GpuFact) -> Answers:
    """Memory and, where the card's rates are known, step time. Raises InputError for what must be said."""
    found = memory_answer(task, card_bytes(fact))
    needed = found.fields if isinstance(found, Missing | Unanswered) else ()
    if needed:
        names = list(dict.fromkeys(OPTION_OF.get(name, name) for name in needed))
        raise InputError("estimate.missing_options", names=names)
    if task.kind == "vision":
        return Answers(found, _vision_step(task, fact), None)
    joined = step_machine(fact, domain=task.gpus_per_node)
    return Answers(found, _language_step(task, fact, joined), joined)


def memory_answer(task: Description, card: Quantity) -> MemoryEstimate | VisionMemory | Missing | Unanswered:
    if task.kind == "vision":
        assert task.vision is not None
        return vision_memory(vision_network(task), task.vision, load_vision_constants())
    assert task.shape is not None
    return memory(
        task.shape,
        task.recipe,
        task.layout,
        load_memory_tables().constants,
        defaults_for(_copies(task)),
        card_bytes=card.value,
    )


def memory_of(task: Description, card: Quantity) -> MemoryFit | None:
    """Memory held against a card of that size; None when something needed is unsaid."""
    found = memory_answer(task, card)
    if isinstance(found, MemoryEstimate):
        return memory_fit(found, card)
    return vision_memory_fit(found, card) if isinstance(found, VisionMemory) else None


def vision_network(task: Description) -> Network:
    """The network at the task's image size. Raises InputError when it cannot be laid out at that size."""
    assert task.vision is not None
    assert task.network is not None
    assert task.image is not None
    half = task.vision.precision in ("amp_bf16", "amp_fp16", "bf16")
    network = network_of(
        task.network,
        task.image,
        task.vision.framework,
        half=half,
        checkpointing=task.layout.checkpointing == "full",
    )
    if network is None:
        height, width = task.image
        raise InputError("estimate.layout_size", name=task.network, height=height, width=width)
    return network


@cache
def defaults_for(copies: bool, step: bool = False) -> tuple[FrameworkDefault, ...]:
    """Framework defaults between ours; ``copies``: the job has several data-parallel ranks."""
    tables = load_memory_tables().defaults
    if step:
        tables = (*load_step_tables().defaults, *tables)
    sharding = FrameworkDefault(
        framework="any", field="sharding", value="ddp" if copies else "none", source=_WHERE
    )
    return (_FIRST, *tables, sharding, *_LAST)


def _copies(task: Description) -> bool:
    return (task.layout.data_parallel or 1) > 1


def _language_step(task: Description, fact: GpuFact, joined: Joined) -> StepEstimate | Missing | None:
    if not joined.machine.memory_bytes_per_second or "fp32" not in joined.machine.rates:
        return None
    assert task.shape is not None
    constants, defaults = load_step_tables().constants, defaults_for(_copies(task), step=True)
    return step_time(task.shape, task.recipe, task.layout, joined.machine, constants, defaults)


def _vision_step(task: Description, fact: GpuFact) -> VisionTime | Unanswered | None:
    card = vision_card_of(fact)
    if card is None:
        return None
    assert task.vision is not None
    return vision_step_time(vision_network(task), task.vision, card, load_vision_constants())


def _machine_hash(fact: GpuFact, gpus: int, gpus_per_node: int | None) -> str:
    """The machine's hash, worked out once: a table over the catalogue asks for the same ones again."""
    key = (id(fact), gpus, gpus_per_node)
    known = _MACHINE_HASHES.get(key)
    if known is None or known[0] is not fact:
        if len(_MACHINE_HASHES) >= MACHINE_HASHES_KEPT:
            _MACHINE_HASHES.clear()
        known = fact, stable_hash(machine_of(fact, gpus, gpus_per_node))
        _MACHINE_HASHES[key] = known
    return known[1]


def fit_of(task: Description, fact: GpuFact, found: Answers) -> Fit:
    """The Fit of what the kernels said, with every guess that a figure rests on."""
    card = card_bytes(fact)
    provenance = Provenance(
        load_hash=stable_hash(task),
        machine_hash=_machine_hash(fact, task.gpus, task.gpus_per_node),
        layout=task.layout,
        share=Share(gpus=min(task.gpus, task.gpus_per_node or 8)),
        versions=Versions(model=weighbridge.__version__, facts=fact.read_on),
    )
    guesses = guesses_of(task, fact, found)
    missing = missing_of(fact, found)
    if isinstance(found.memory, VisionMemory):
        time = found.step if isinstance(found.step, VisionTime) else None
        return vision_fit(
            vision_memory_fit(found.memory, card), time, provenance, guesses=guesses, missing=missing
        )
    assert isinstance(found.memory, MemoryEstimate)
    step = found.step if isinstance(found.step, StepEstimate) else None
    domain = found.joined.machine.domain if found.joined else 8
    return language_fit(
        memory_fit(found.memory, card),
        step,
        provenance,
        crosses_nodes=task.gpus > domain,
        guesses=guesses,
        missing=missing,
    )


def guesses_of(task: Description, fact: GpuFact, found: Answers) -> list[Finding]:
    """One finding for every default that a figure rests on; a warning where it moves the answer."""
    guesses = _recipe_guesses(task, found) if task.kind == "language" else []
    if isinstance(found.memory, VisionMemory):
        guesses += [_guess(name, _VISION_VALUE.get(name), _WHERE) for name in found.memory.assumed]
    if task.kind == "language" and isinstance(found.step, StepEstimate):
        compute = task.recipe.compute or "bf16"
        if compute not in _rates(fact):
            params = {"gpu": fact.id, "dtype": compute}
            guesses.append(Finding(code="estimate.guess.no_dtype", severity="warning", params={**params}))
    if found.joined is not None and task.gpus > found.joined.machine.domain:
        machine = found.joined.machine
        rate = Quantity(value=machine.network_bytes_per_second, unit="bytes_per_second", origin="estimated")
        told: dict[str, Parameter] = {"domain": machine.domain, "rate": rate}
        guesses.append(Finding(code="estimate.guess.network", severity="warning", params={**told}))
    if fact.vendor.lower() != "nvidia":
        vendor = {"vendor": fact.vendor}
        guesses.append(Finding(code="estimate.guess.vendor", severity="warning", params={**vendor}))
    return guesses


def _recipe_guesses(task: Description, found: Answers) -> list[Finding]:
    from weighbridge.weigh.memory.defaults import fill

    table = defaults_for(_copies(task), step=True)
    filled, _ = fill(task.recipe, table)
    assumed = dict.fromkeys((*getattr(found.memory, "assumed", ()), *getattr(found.step, "assumed", ())))
    guesses = []
    if {"master", "compute"} <= set(assumed):
        assumed.pop("master")
        said = f"{filled.compute}-mixed" if filled.master == "fp32" else filled.compute
        assumed.pop("compute")
        guesses.append(_guess("precision", said, _WHERE))
    for name in assumed:
        if _matters(name, task, filled):
            value = getattr(filled, name, None)
            guesses.append(_guess(name, value, _source(table, name, value, task.recipe.framework)))
    if filled.training in ("lora", "qlora"):
        if task.recipe.lora_rank is None:
            guesses.append(_guess("lora_rank", 8, "peft LoraConfig.r 8"))
        if task.recipe.lora_targets is None:
            guesses.append(_guess("lora_targets", "q_proj, v_proj", "peft: query and value of a Llama"))
    return guesses


def _source(table: tuple[FrameworkDefault, ...], name: str, value: object, framework: str | None) -> str:
    for default in table:
        if default.field == name and default.value == value and default.framework in ("any", framework):
            return default.source
    return _WHERE


def _matters(name: str, task: Description, filled: Recipe) -> bool:
    """Whether the default changes anything of this task; one that does not is no guess."""
    adapted = filled.training in ("lora", "qlora")
    if name in ("flat_adapters", "lora_dropout"):
        return adapted
    if name == "double_quant":
        return filled.base_quant == "nf4"
    if name == "fsdp_version":
        return filled.sharding in ("fsdp", "hsdp")
    if name == "sequence_parallel":
        return (task.layout.tensor_parallel or 1) > 1
    if name in ("virtual_stages", "pipeline_schedule"):
        return (task.layout.pipeline_parallel or 1) > 1
    if name == "optimizer_implementation":
        return filled.optimizer == "adamw" and not adapted
    return True


_VISION_VALUE: Final = {"precision": "fp32", "optimizer": "sgd"}


def _guess(name: str, value: object, source: str) -> Finding:
    weighty = name in _WEIGHTY or name in ("lora_rank", "lora_targets")
    said = (
        value if isinstance(value, str | int | float) and not isinstance(value, bool) else str(value).lower()
    )
    return Finding(
        code="estimate.guess" if value is not None else "estimate.guess.part",
        severity="warning" if weighty else "note",
        params={"field": OPTION_OF.get(name, name), "value": said, "source": source},
    )


def _rates(fact: GpuFact) -> set[str]:
    rates = fact.dense_teraflops
    return {name for name in ("fp32", "bf16", "fp16", "fp8", "tf32") if getattr(rates, name)}


def missing_of(fact: GpuFact, found: Answers) -> list[Finding]:
    if found.step is None:
        return [Finding(code="estimate.missing.rates", severity="note", params={"gpu": fact.id})]
    if isinstance(found.step, Missing | Unanswered):
        names = ", ".join(OPTION_OF.get(name, name) for name in found.step.fields)
        return [Finding(code="estimate.missing.step", severity="note", params={"names": names})]
    return []


def samples_per_second(task: Description, found: Answers) -> float | None:
    """Samples (sequences or images) of the whole job a second."""
    if isinstance(found.step, StepEstimate):
        return found.step.tokens_per_step / (task.recipe.sequence or 1) / found.step.seconds
    if isinstance(found.step, VisionTime):
        return found.step.images_per_second * task.gpus
    return None


def with_batch(task: Description, batch: int, accumulation: int | None = None) -> Description:
    """The task with another batch per GPU and pass, and perhaps more passes per step."""
    if task.vision is not None:
        return replace(task, vision=replace(task.vision, images=batch))
    recipe = replace(task.recipe, micro_batch=batch)
    return replace(
        task, recipe=recipe if accumulation is None else replace(recipe, accumulation=accumulation)
    )


def batch_of(task: Description) -> int | None:
    return task.vision.images if task.vision is not None else task.recipe.micro_batch
