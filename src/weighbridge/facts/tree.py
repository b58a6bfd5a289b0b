"""YAML text to plain values, with the line of every entry, quickly and strictly.

PyYAML's own constructor keeps the last of two equal keys and forgets where things stood; here a repeated key
is refused and errors can name the line. Half its time as well. Only plain data: no tags, no merge keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from weighbridge.errors import InputError

# Fact files are three levels deep; the limit also stops anchors that contain themselves.
_DEEPEST: Final = 8


def read_tree(path: Path) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """The file's top mapping, and for each of its lists the line (from 1) on which every item begins.

    Raises InputError for a file that cannot be read, is not UTF-8, is not YAML, or is not a mapping.
    """
    import yaml

    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError("facts.cannot_read", file=str(path), reason=error.strerror) from error
    except UnicodeDecodeError as error:
        raise InputError("facts.not_utf8", file=str(path), byte=error.start) from error
    try:
        node: Any = yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else None
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise InputError("facts.not_yaml", file=str(path), line=line, reason=reason) from error
    if node is None or node.id != "mapping":
        raise InputError("facts.not_a_mapping", file=str(path))
    tree = _value(node, path, 0)
    lines = {
        key.value: [item.start_mark.line + 1 for item in value.value]
        for key, value in node.value
        if value.id == "sequence"
    }
    return tree, lines


def _value(node: Any, path: Path, depth: int) -> Any:
    if depth > _DEEPEST:
        raise InputError("facts.too_deep", file=str(path), line=node.start_mark.line + 1, most=_DEEPEST)
    if node.id == "mapping":
        return _mapping(node, path, depth)
    if node.id == "sequence":
        return [_value(item, path, depth + 1) for item in node.value]
    return _scalar(node, path)


def _mapping(node: Any, path: Path, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = str(key.value)
        if name in found:
            line = key.start_mark.line + 1
            raise InputError("facts.repeated_key", file=str(path), line=line, field=name)
        found[name] = _value(value, path, depth + 1)
    return found


def _scalar(node: Any, path: Path) -> Any:
    kind = node.tag.rpartition(":")[2]
    if kind in ("str", "timestamp"):
        return node.value
    if kind == "null":
        return None
    try:
        if kind == "int":
            return int(node.value.replace("_", ""))
        if kind == "float":
            return float(node.value.replace("_", ""))
        if kind == "bool":
            return {"true": True, "yes": True, "on": True}.get(node.value.lower(), False)
    except ValueError:
        pass
    line = node.start_mark.line + 1
    raise InputError("facts.odd_value", file=str(path), line=line, value=str(node.value)[:80])
