"""From what a user hands over to a Description: a named network, a config.json, or a small YAML file.

A path that exists is a file; anything else is a name: a public language model, then a vision network. Options
said beside it win over those in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from weighbridge.errors import InputError
from weighbridge.estimate.describe.hf_config import Described, from_config_file
from weighbridge.estimate.describe.hf_fields import note
from weighbridge.estimate.describe.layout import check_network, layout_of
from weighbridge.estimate.describe.options import OPTIONS, read_options, recipe_of, refuse_key
from weighbridge.schema.description import Description
from weighbridge.schema.finding import Finding
from weighbridge.schema.model import ModelShape

_FILE_ENDINGS: Final = (".json", ".yaml", ".yml")
_MOST: Final = 10**9


def describe(text: str, options: Mapping[str, Any] | None = None) -> Description:
    """Raises InputError or UsageError with one sentence: an unknown name with its nearest, a bad field, a
    layout that cannot be."""
    path = Path(text)
    given: dict[str, Any] = {}
    where = None
    found: Described | str = text
    if path.is_dir():
        path = path / "config.json"
        if not path.is_file():
            raise InputError("estimate.no_such_file", file=str(path))
    if path.is_file():
        if path.suffix.lower() in (".yaml", ".yml"):
            found, given = _from_yaml(path)
            where = str(path)
        else:
            found = from_config_file(path)
    elif text.lower().endswith(_FILE_ENDINGS):
        raise InputError("estimate.no_such_file", file=text)
    said = read_options(given, file=where) | read_options(options or {})
    return assemble(found, said, source=str(path) if path.is_file() else None)


def assemble(found: Described | str, said: Mapping[str, Any], *, source: str | None = None) -> Description:
    """A Description of a network by shape or name, with what was said of its training."""
    if isinstance(found, str):
        from weighbridge.facts.models import find_model

        named = find_model(found)
        if named is None:
            return _vision(found, said, source)
        shape, quant = named.shape, None
        notes: tuple[Finding, ...] = ()
        parameters, source = named.parameters, source or named.source
        sequence = None
    else:
        shape, notes, quant, sequence = found.shape, found.notes, found.quant, found.sequence
        parameters = None
    if "image_size" in said:
        raise InputError("estimate.image_for_language", name=shape.name)
    recipe = recipe_of(said)
    if recipe.sequence is None and sequence is not None:
        recipe = replace(recipe, sequence=sequence)
    if quant is not None and recipe.training in ("lora", "qlora") and recipe.base_quant in (None, "nf4"):
        recipe = replace(recipe, base_quant=quant)
    elif quant is not None and recipe.training != "qlora":
        notes = (*notes, note("estimate.note.quant_raised"))
    layout, gpus = layout_of(said, recipe)
    if recipe.sharding is None and layout.data_parallel == 1 and layout.context_parallel == 1:
        recipe = replace(recipe, sharding="none")  # one rank has nothing to shard
    check_network(shape, recipe, layout)
    return Description(
        name=shape.name,
        kind="language",
        gpus=gpus,
        gpus_per_node=said.get("gpus_per_node"),
        shape=shape,
        recipe=recipe,
        layout=layout,
        parameters=parameters,
        source=source,
        notes=notes,
    )


def _from_yaml(path: Path) -> tuple[Described | str, dict[str, Any]]:
    """``model`` (a name, or a config beside the file) or ``shape``, and options."""
    from weighbridge.facts.tree import read_tree

    try:
        tree, _ = read_tree(path)
    except InputError as error:
        if error.code == "facts.not_a_mapping":
            raise InputError("estimate.not_a_description", file=str(path)) from error
        raise
    model, shape = tree.pop("model", None), tree.pop("shape", None)
    for key in tree:
        if str(key).replace("-", "_") not in OPTIONS and key not in ("micro_batch", "seq", "lora_rank"):
            refuse_key(str(key), ["model", "shape", *OPTIONS], str(path))
    if (model is None) == (shape is None):
        raise InputError("estimate.model_or_shape", file=str(path))
    if shape is not None:
        return Described(_shape(shape, path)), tree
    beside = path.parent / str(model)
    if beside.is_file() and beside.suffix.lower() == ".json":
        return from_config_file(beside), tree
    return str(model), tree


def _shape(tree: Any, path: Path) -> ModelShape:
    """Sizes written out: the fields of a ModelShape, checked one by one."""
    if not isinstance(tree, dict):
        raise InputError("estimate.not_a_description", file=str(path))
    tree = {"name": path.stem, **tree}
    known = {item.name: item for item in fields(ModelShape)}
    for key, value in tree.items():
        if key not in known:
            refuse_key(f"shape.{key}", [f"shape.{name}" for name in known], str(path))
        kind = str(known[key].type)
        least = 0 if kind == "int" and known[key].default == 0 else 1
        whole = isinstance(value, int) and not isinstance(value, bool)
        if kind.startswith("int") and (not whole or not least <= value <= _MOST):
            raise InputError(
                "estimate.bad_field", file=str(path), field=f"shape.{key}", value=value, least=least
            )
        if kind == "bool" and not isinstance(value, bool):
            raise InputError("estimate.option_flag", name=f"shape.{key}", value=value)
    tree.setdefault("kv_heads", tree.get("heads"))
    if "head_dim" not in tree and tree.get("heads") and tree.get("hidden"):
        if tree["hidden"] % tree["heads"]:
            raise InputError("estimate.head_dim", file=str(path), hidden=tree["hidden"], heads=tree["heads"])
        tree["head_dim"] = tree["hidden"] // tree["heads"]
    needed = ("layers", "hidden", "ffn_hidden", "heads", "vocabulary")
    missing = [f"shape.{name}" for name in needed if tree.get(name) is None]
    if missing:
        raise InputError("estimate.missing_fields", file=str(path), fields=missing)
    if tree.get("norm", "rms") not in ("rms", "layer"):
        raise InputError(
            "estimate.option_choice",
            name="shape.norm",
            value=tree["norm"],
            near="rms",
            choices=("rms", "layer"),
        )
    if tree["heads"] % tree["kv_heads"]:
        raise InputError("estimate.kv_heads", file=str(path), heads=tree["heads"], kv_heads=tree["kv_heads"])
    if tree.get("experts") and not tree.get("experts_per_token"):
        raise InputError("estimate.missing_fields", file=str(path), fields=["shape.experts_per_token"])
    if (tree.get("experts_per_token") or 0) > (tree.get("experts") or 0):
        raise InputError(
            "estimate.too_few_experts",
            file=str(path),
            chosen=tree["experts_per_token"],
            experts=tree.get("experts") or 0,
        )
    return ModelShape(**tree)


def _vision(name: str, said: Mapping[str, Any], source: str | None) -> Description:
    from weighbridge.estimate.describe.image_task import describe_image_task

    return describe_image_task(name, said, source)
