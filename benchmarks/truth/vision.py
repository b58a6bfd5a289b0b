"""Memory and step time of vision networks against the measured rows: figures, peers, leave-one-stratum-out.

Run beside ``score_truth``: ``python benchmarks/truth/vision.py DIR [--json] [--worst N]``.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from truth.figures import Figure, macro, strata
from truth.rows import Row, read_rows
from weighbridge.estimate.describe.vision import Asked, ImageSize, describe_vision, image_size, zoo_size
from weighbridge.facts.vision_constants import load_vision_constants, vision_card
from weighbridge.schema.vision import (
    Network,
    Unanswered,
    VisionConstants,
    VisionMemory,
    VisionRecipe,
    VisionTime,
)
from weighbridge.weigh.vision import vision_memory, vision_step_time

MEMORY_FILE, TIME_FILE = "memory_vision.csv", "throughput_vision.csv"
_FRAMEWORKS = (
    ("caffe2", "caffe2"),
    ("detectron2", "detectron2"),
    ("maskrcnn-benchmark", "maskrcnn-benchmark"),
    ("mmdetection", "mmdet"),
    ("mmdet3d", "mmdet3d"),
    ("mmdet", "mmdet"),
    ("mmseg", "mmseg"),
    ("mmtrack", "mmtrack"),
    ("timm benchmark", "timm"),
    ("timm fine-tune", "timm"),
    ("deeplearningexamples", "deeplearningexamples"),
    ("peft", "peft"),
    ("ngc", "mlperf"),
    ("mxnet", "mlperf"),
    ("nemo", "mlperf"),
)
# Names of cards in the tables that say less than the catalogue: the variant that those sources used.
_CARDS = {
    "V100": "V100-SXM2-32GB",
    "A100": "A100-SXM4-80GB",
    "A100-SXM-80GB": "A100-SXM4-80GB",
    "V100-SXM-16GB": "V100-SXM2-16GB",
    "V100-SXM-32GB": "V100-SXM2-32GB",
}


@dataclass(frozen=True, slots=True)
class Described:
    row: Row
    recipe: VisionRecipe
    size: ImageSize | None

    @property
    def stratum(self) -> str:
        return " / ".join((self.row["family"], self.row["gpu"].split(" (")[0], self.row["source_repo"]))


@dataclass(slots=True)
class VisionScore:
    memory: list[Figure] = field(default_factory=list)
    time: list[Figure] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)


def described(row: Row) -> Described:
    framework = framework_of(row)
    precision = row["precision"].lower()
    text = row["optimizer"].lower()
    optimizer = "sgd" if "sgd" in text else "adam" if "adam" in text else None
    if "8-bit" in text or "fp8" in text:
        optimizer = "adamw8bit"
    if "4-bit" in text:
        optimizer = "adamw4bit"
    recipe = VisionRecipe(
        framework=framework,
        images=int(row["batch_per_gpu"]) if row["batch_per_gpu"] else _batch_default(row, framework),
        precision=_precision(precision, framework, row),  # type: ignore[arg-type]
        optimizer=optimizer,  # type: ignore[arg-type]
        data_parallel=int(row["n_gpus"]) if row["n_gpus"] else None,
        # NVIDIA's MLPerf submissions: NHWC with batch norm, addition and ReLU in one kernel.
        channels_last=True if framework == "mlperf" else {"yes": True, "no": False}.get(row["channels_last"]),
        sharded_states=True if row["family"] == "stable-diffusion" else None,
        fused_norms=True if framework == "mlperf" else None,
        compiled={"yes": True, "no": False}.get(row["compile"]),
    )
    size = zoo_size(name_of(row), image_size(row["input_size"]), framework)
    return Described(row, recipe, size)


def framework_of(row: Row) -> str | None:
    text = row["framework"].lower()
    if "mlcommons" in row["source_repo"]:
        return "mlperf"
    if "mmdetection" in text and row["framework_version"].startswith("v0."):
        return "mmdet-0"
    return next((name for word, name in _FRAMEWORKS if word in text), None)


def _batch_default(row: Row, framework: str | None) -> int | None:
    """MMDetection's documented default is two images a GPU; where batches are chosen to fill a card there
    is none."""
    return 2 if framework in ("mmdet", "mmdet-0", "mmdet3d") else None


def _precision(text: str, framework: str | None, row: Row) -> str | None:
    if framework == "mlperf":
        # NeMo trains Stable Diffusion in bf16; the others use fp16, both under autocast.
        return "amp_bf16" if row["family"] == "stable-diffusion" else "amp_fp16"
    if "amp" in text and "bf16" in text:
        return "amp_bf16"
    if "amp" in text:
        return "amp_fp16"
    if "bfloat16" in text:
        return "bf16"
    if "tf32" in text:
        # NVIDIA's containers turn TF32 on where the card has it.
        return "fp32" if any(old in row["gpu"] for old in ("V100", "RTX-8000", "P100")) else "tf32"
    if "fp32" in text:
        return "fp32"
    return None


@cache
def network_of(
    name: str, height: float, width: float, framework: str | None, autocast: bool, average: bool
) -> Network | None:
    try:
        return describe_vision(
            name,
            Asked(height=height, width=width, framework=framework, autocast=autocast, average=average),
        )
    except (ZeroDivisionError, IndexError, KeyError, StopIteration) as error:
        print("describe failed", name, repr(error), file=sys.stderr)
        return None


def name_of(row: Row) -> str:
    """What a user would say: the config's name, else family and model."""
    if ".py" in row["config_name"] or row["source_repo"].startswith("open-mmlab"):
        return Path(row["config_name"]).name.removesuffix(".py") + (
            " " + row["family"] if "3d" in row["source_repo"] else ""
        )
    if "image-models" in row["source_repo"]:
        return "timm " + row["model"]
    config = (
        row["config_name"].replace("/", " ").removesuffix(".yaml") if ".yaml" in row["config_name"] else ""
    )
    return f"{row['family']} {row['model']} {config}".strip()


def answer(d: Described, constants: VisionConstants) -> VisionMemory | Unanswered:
    if d.recipe.framework == "caffe2":
        return Unanswered(("counter not comparable",))
    network = network_for(d, most=True)
    if isinstance(network, str):
        return Unanswered((network,))
    card = vision_card(card_name(d.row))
    return vision_memory(network, d.recipe, constants, card_bytes=card.memory_bytes if card else None)


def time_answer(d: Described, constants: VisionConstants) -> VisionTime | Unanswered:
    network = network_for(d, most=False)
    if isinstance(network, str):
        return Unanswered((network,))
    card = vision_card(card_name(d.row))
    if card is None:
        return Unanswered(("card",))
    return vision_step_time(network, d.recipe, card, constants)


def card_name(row: Row) -> str:
    name = row["gpu"].split(" (")[0]
    return _CARDS.get(name, name)


def network_for(d: Described, *, most: bool) -> Network | str:
    if d.size is None:
        return "input size"
    height, width = d.size.most if most else d.size.mean
    half = d.recipe.precision in ("amp_fp16", "amp_bf16", "bf16")
    # The note "with_cp" says that the config names the option; the configs in those wheels set it False.
    found = network_of(name_of(d.row), height, width, d.recipe.framework, half, not most)
    return found if found is not None else "network"


def score(folder: Path, constants: VisionConstants | None = None) -> VisionScore:
    constants = constants or load_vision_constants()
    found = VisionScore()
    for row in read_rows(folder / MEMORY_FILE):
        if row["quality"] in ("A", "B") and row["mem_bytes"]:
            d = described(row)
            said = answer(d, constants)
            if isinstance(said, Unanswered):
                found.refused[", ".join(said.fields)] += 1
            found.memory.append(memory_figure(d, said))
    for row in read_rows(folder / TIME_FILE):
        if row["quality"] in ("A", "B"):
            d = described(row)
            if measured_seconds(d) is not None:
                found.time.append(time_figure(d, time_answer(d, constants)))
    return found


def memory_figure(d: Described, said: VisionMemory | Unanswered) -> Figure:
    counter = "reserved" if "reserved" in d.row["mem_kind"] else "allocated"
    chosen = None if isinstance(said, Unanswered) else getattr(said, counter)
    return Figure(
        row_id=d.row["row_id"],
        stratum=d.stratum,
        quality=d.row["quality"],
        counter=counter,
        holdout=d.row["holdout"],
        measured=float(d.row["mem_bytes"]),
        predicted=chosen.value if chosen else None,
        low=chosen.low if chosen else 0.0,
        high=chosen.high if chosen else 0.0,
        missing=said.fields if isinstance(said, Unanswered) else (),
        baseline=peer_memory(d),
    )


def measured_seconds(d: Described) -> float | None:
    """Of one step of one device."""
    if d.row["step_time_s"]:
        return float(d.row["step_time_s"])
    if d.row["images_per_s_gpu"] and d.recipe.images:
        return d.recipe.images / float(d.row["images_per_s_gpu"])
    return None


def time_figure(d: Described, said: VisionTime | Unanswered) -> Figure:
    seconds = measured_seconds(d)
    assert seconds is not None
    chosen = None if isinstance(said, Unanswered) else said.seconds
    return Figure(
        row_id=d.row["row_id"],
        stratum=d.stratum,
        quality=d.row["quality"],
        counter="seconds",
        holdout=d.row["holdout"],
        measured=seconds,
        predicted=chosen.value if chosen else None,
        low=chosen.low if chosen else 0.0,
        high=chosen.high if chosen else 0.0,
        missing=said.fields if isinstance(said, Unanswered) else (),
        baseline=peer_seconds(d),
    )


def peer_memory(d: Described) -> float | None:
    """The simple peer: 16 bytes a parameter (30 million where unknown) and 2,000 bytes a pixel and image."""
    if d.size is None or d.recipe.images is None:
        return None
    network = network_for(d, most=True)
    parameters = 3e7 if isinstance(network, str) else network.parameters
    return 16 * parameters + d.recipe.images * d.size.most[0] * d.size.most[1] * 1200.0


def peer_seconds(d: Described) -> float | None:
    """Six operations a MAC at 40 % of the dense rate."""
    network = network_for(d, most=False)
    card = vision_card(card_name(d.row))
    if isinstance(network, str) or card is None or d.recipe.images is None:
        return None
    half = d.recipe.precision in ("amp_fp16", "amp_bf16", "bf16")
    peak = card.half_flops if half else card.tf32_flops if d.recipe.precision == "tf32" else card.fp32_flops
    return None if not peak else 6 * network.macs * d.recipe.images / (0.4 * peak)


def calibrated(figures: Sequence[Figure], *, family: bool) -> list[Figure]:
    """Each row times the ratio of one other row of its card and source (``family``: and of its family)."""
    groups: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures:
        if figure.predicted:
            groups[figure.stratum if family else figure.stratum.split(" / ", 1)[1]].append(figure)
    out = []
    for group in groups.values():
        for index, figure in enumerate(group):
            other = group[(index * 7919 + 1) % len(group)]
            if other is figure or figure.predicted is None or other.predicted is None:
                continue
            ratio = other.measured / other.predicted
            out.append(Figure(**{**asdict(figure), "predicted": figure.predicted * ratio}))
    return out


def peer(figure: Figure) -> float | None:
    return None if figure.baseline is None else figure.baseline / figure.measured - 1


def summary(found: VisionScore) -> dict[str, Any]:
    groups: dict[str, Any] = {}
    for quality in ("A", "B"):
        chosen = [f for f in found.memory if f.quality == quality]
        groups[f"memory {quality}"] = (macro(chosen), macro(chosen, peer))
        comparable = [f for f in chosen if "counter not comparable" not in f.missing]
        groups[f"memory {quality} comparable counter"] = (macro(comparable), macro(comparable, peer))
        timed = [f for f in found.time if f.quality == quality]
        groups[f"time {quality}"] = (macro(timed), macro(timed, peer))
        for name, family in (("any other row", False), ("row of the family", True)):
            groups[f"time {quality} calibrated, {name}"] = (macro(calibrated(timed, family=family)), None)
    for source in sorted({f.stratum.split(" / ")[2] for f in (*found.memory, *found.time)}):
        for name, figures in (("memory", found.memory), ("time", found.time)):
            chosen = [f for f in figures if f.stratum.endswith(source)]
            if chosen:
                groups[f"{name} {source[:34]}"] = (macro(chosen), macro(chosen, peer))
    return groups


def add_to(document: dict[str, Any], folder: Path) -> None:
    """Vision's figures into the document of ``score_truth``; a folder without vision rows adds nothing."""
    if not (folder / MEMORY_FILE).is_file() or not (folder / TIME_FILE).is_file():
        return
    groups = summary(score(folder))
    document["vision"] = {
        name: [asdict(a), None if b is None else asdict(b)] for name, (a, b) in groups.items()
    }
    for name in ("memory A", "memory B", "time A", "time B"):
        ours = groups[name][0]
        key = "vision_" + name.replace(" ", "_")
        document["figures"] |= {
            f"{key}_median": ours.median,
            f"{key}_p90": ours.p90,
            f"{key}_answered": ours.answered / max(ours.asked, 1),
            f"{key}_inside": ours.inside,
        }


def show(found: VisionScore, worst: int = 8) -> None:
    print("vision: macro over strata (family x GPU x source, >= 3 distinct figures)")
    for name, (ours, theirs) in summary(found).items():
        beside = "" if theirs is None else f"   peer {_share(theirs.median)} / {_share(theirs.p90)}"
        print(
            f"{name:44}{ours.strata:4}{ours.answered:6}/{ours.asked:<5}median {_share(ours.median)} "
            f"p90 {_share(ours.p90)} rows {_share(ours.row_median)} / {_share(ours.row_p90)} "
            f"signed {_share(ours.signed)} inside {_share(ours.inside)} half {_share(ours.half_width)}"
            + beside
        )
    print("refused memory rows:", dict(found.refused.most_common()))
    for name, figures in (("memory", found.memory), ("time", found.time)):
        print(f"worst strata, {name}")
        for stratum in sorted(strata(figures), key=lambda s: -s.median)[:worst]:
            print(
                f"  {stratum.name[:80]:82}{stratum.rows:4} median {_share(stratum.median)} "
                f"p90 {_share(stratum.p90)} signed {_share(stratum.signed)}"
            )


def _share(value: float | None) -> str:
    return "     -" if value is None else f"{value * 100:5.1f}%"


def main(arguments: Sequence[str]) -> int:
    found = score(Path(arguments[0]))
    if "--json" in arguments:
        print(
            json.dumps(
                {n: [asdict(a), None if b is None else asdict(b)] for n, (a, b) in summary(found).items()}
            )
        )
    else:
        show(found, int(arguments[arguments.index("--worst") + 1]) if "--worst" in arguments else 8)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
