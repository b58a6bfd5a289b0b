"""Take a GPU's name apart: model, memory, form, edition, generation.

Drivers, frameworks, schedulers, lspci, vendors and people write one card in many ways: "A100 80G SXM",
"NVIDIA A100-SXM4-80GB", "GA100 [A100 SXM4 80GB]". A name is cut into tokens and every token gets a meaning;
what has none is part of the model, so that an unknown suffix never passes for the plain card. Knows no
catalogue.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# Makers, brands and filler: they say nothing that the model does not.
_NOISE: Final = frozenset({
    "NVIDIA", "CORPORATION", "CORP", "TESLA", "GEFORCE", "AMD", "ATI", "INSTINCT", "RADEON", "ADVANCED",
    "MICRO", "DEVICES", "INC", "HUAWEI", "HISILICON", "ASCEND", "INTEL", "HABANA", "LABS", "CAMBRICON",
    "HYGON", "DCU", "HCU", "MTHREADS", "MTT", "MOORE", "THREADS", "KUNLUN", "KUNLUNXIN", "XPU",
    "ILUVATAR", "COREX", "METAX",
    "GPU", "GPUS", "NPU", "GRAPHICS", "CARD", "ACCELERATOR", "GENERATION", "EDITION", "LOVELACE",
    "DESIGN", "WITH", "THE", "TENSOR", "CORE", "FE", "FOUNDERS", "VF", "DEVICE", "CUDA", "AC", "LC",
})  # fmt: skip
_MEMORY_TYPE: Final = re.compile(r"HBM\dE?|HBM|GDDR\dX?")
_MEMORY: Final = re.compile(r"(\d{1,3})(G|GB|GIB)")
_REPORTED: Final = re.compile(r"(\d{4,6})(MB|MIB)")
_POWER: Final = re.compile(r"\d{2,4}W")
_SXM: Final = re.compile(r"SXM(\d?)")
_ARCHITECTURES: Final = (
    "KEPLER", "MAXWELL", "PASCAL", "VOLTA", "TURING", "AMPERE", "ADA", "HOPPER", "BLACKWELL",
)  # fmt: skip
_SERIES: Final = frozenset({"RTX", "GTX", "RX"})
_EDITIONS: Final = {"WORKSTATION": "WORKSTATION", "WS": "WORKSTATION", "SERVER": "SERVER", "SE": "SERVER"}
# Longer than any name with its surroundings; what is longer is a line of something else.
_LONGEST: Final = 200
# A slice has not the card's memory. MIG: "A100-SXM4-40GB MIG 1g.5gb"; vGPU: "GRID A100-40C", "A40-48Q".
_SLICE: Final = re.compile(r"\bMIG\b|\bGRID\b|\bVGPU\b|-\d{1,2}[ABCQ]\b", re.IGNORECASE)
# Glued words, cut apart before tokens are read. Left: as written; right: with a blank.
_CUTS: Final = (
    (re.compile(r"\((?:R|TM|C)\)"), " "),
    (re.compile(r"(?<=\d)(TI|SUPER)\b"), r" \1"),
    (re.compile(r"\b(\d{4})(D)\b"), r"\1 \2"),
    (re.compile(r"\b(ASCEND|QUADRO|TESLA|TITAN|RTX|GTX|GEFORCE|NVIDIA)(?=[A-Z]?\d|X|V\b)"), r"\1 "),
    (re.compile(r"(?<=\d)(SXM\d?|PCIE)\b"), r" \1"),
    (re.compile(r"\bPCI[- ]?EXPRESS\b|\bPCI-E\b"), "PCIE"),
    (re.compile(r"\bMAX[- ]?Q\b"), "MAXQ"),
    (re.compile(r"\b(\d{1,3}) (GB|GIB|G)\b"), r"\1\2"),
    (re.compile(r"\b(\d{4,6}) (MB|MIB)\b"), r"\1\2"),
    (re.compile(r"\b(TITAN|GAUDI)[- ]?(?=[A-Z0-9]{1,3}\b)"), r"\1"),
    (re.compile(r"\bRADEON PRO\b"), "RADEON"),
    (re.compile(r"\bPG(\d{3})-(\d{3})\b"), r"PG\1X\2"),
    (re.compile(r"\b(HL)-(\d{3}[A-Z]?)\b"), r"\1\2"),
)


@dataclass(frozen=True, slots=True)
class GpuName:
    """What a name says; None is what it leaves open. ``model`` holds every token that has to agree."""

    model: frozenset[str]
    series: str | None = None
    memory_gigabytes: int | None = None
    memory_type: str | None = None
    reported_memory_mebibytes: int | None = None
    form: str | None = None
    form_generation: str | None = None
    edition: str | None = None
    architecture: str | None = None
    before_ampere: bool = False


def parse_names(text: str) -> tuple[GpuName, ...]:
    """The readings of a name: several for "MI250X/MI250", none for a slice of a card or for no name."""
    if len(text) > _LONGEST:
        return ()
    text = _bare(text)
    if _SLICE.search(text):
        return ()
    readings = (_parse(part) for part in text.split("/"))
    return tuple(reading for reading in readings if reading.model)


def _bare(text: str) -> str:
    """The name without index, identifier, count, and the chip that lspci puts before the brackets."""
    text = re.sub(r"\(UUID:.*|\(rev .*", "", text.strip())
    text = re.sub(r"^GPU ?\d+ ?:", "", text)
    text = re.sub(r"^\s*\d+ ?[xX*\u00d7] ?(?=[A-Za-z])|[*\u00d7] ?\d+\s*$", "", text)
    text = re.sub(r"\(([^()\d]*)\)", _remark, text)
    bracketed = re.findall(r"\[([^\]]*\d[^\]]*)\]", text)
    return bracketed[-1] if bracketed else text


def _remark(match: re.Match[str]) -> str:
    """What a table's author adds, as in "V100 (size not stated)", is no name; a generation is."""
    return match[0] if match[1].strip().upper() in _ARCHITECTURES else " "


def _parse(text: str) -> GpuName:
    text = text.upper().replace("_", " ")
    for pattern, replacement in _CUTS:
        text = pattern.sub(replacement, text)
    said: dict[str, str] = {}
    model = [token for token in re.findall(r"[A-Z0-9.]+", text) if not _attribute(token, said)]
    edition = said.get("edition")
    if "MAXQ" in model and edition == "WORKSTATION":
        edition = None  # "Max-Q Workstation Edition" is one edition, not two
    return GpuName(
        model=frozenset(model),
        series=said.get("series"),
        memory_gigabytes=_number(said.get("memory")),
        memory_type=said.get("memory_type"),
        reported_memory_mebibytes=_number(said.get("reported")),
        form=said.get("form"),
        form_generation=said.get("form_generation") or None,
        edition=edition,
        architecture=said.get("architecture"),
        before_ampere="quadro" in said,
    )


def _attribute(token: str, said: dict[str, str]) -> bool:
    """Note what ``token`` says apart from the model; False when it is part of the model."""
    if token in _NOISE or _POWER.fullmatch(token):
        return True
    if token == "QUADRO":
        said["quadro"] = token
    elif token in _SERIES:
        said["series"] = token
    elif token in _EDITIONS:
        said["edition"] = _EDITIONS[token]
    elif token in _ARCHITECTURES:
        said["architecture"] = token
    elif token in ("PCIE", "OAM"):
        said["form"] = token
    elif match := _SXM.fullmatch(token):
        said["form"], said["form_generation"] = "SXM", match[1]
    elif _MEMORY_TYPE.fullmatch(token):
        said["memory_type"] = token
    elif match := _MEMORY.fullmatch(token):
        said["memory"] = match[1]
    elif match := _REPORTED.fullmatch(token):
        said["reported"] = match[1]
    else:
        return False
    return True


def _number(text: str | None) -> int | None:
    return int(text) if text is not None else None
