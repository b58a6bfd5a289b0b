"""Runs, diagnoses and a view, as a real import would give them, for the tests of what is shown."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from weighbridge.report.view import DeviceUse, SeriesPoint
from weighbridge.schema.diagnosis import Breakdown, Counterfactual, DataWait, Diagnosis, MemoryUse, Part
from weighbridge.schema.event import Event
from weighbridge.schema.finding import Evidence, Finding
from weighbridge.schema.run import Environment, Hardware, Layout, Planned, Problem, Run, Source
from weighbridge.units import GIB, MIB, Quantity

START = 1_709_800_000.0


def point(
    index: int,
    mean: float,
    low: float | None = None,
    high: float | None = None,
    *,
    rows: int = 1,
    step: int | None = None,
    at: float | None = None,
    line: int | None = None,
) -> SeriesPoint:
    """A pixel of a series; low and high are the mean unless given."""
    return SeriesPoint(
        first_row=index * rows,
        rows=rows,
        step_last=step,
        at_last_seconds=at,
        low=mean if low is None else low,
        mean=mean,
        high=mean if high is None else high,
        line_first=line,
        line_last=line,
    )


def imported(value: float | None, unit: str = "seconds") -> Quantity:
    return Quantity(value=value, unit=unit, origin="imported")


def between(low: float | None, high: float | None) -> Quantity:
    same = low is not None and low == high
    return Quantity(value=low if same else None, unit="times", origin="estimated", low=low, high=high)


def thinned(points: list[SeriesPoint], pixels: int) -> list[SeriesPoint]:
    """At most so many points; the real view merges, this one skips."""
    return points[:: -(-len(points) // pixels)] if points else []


@dataclass
class FakeView:
    """Answers bounded questions from what it was given."""

    run: Run
    step_series: dict[str, list[SeriesPoint]] = field(default_factory=dict)
    samples: dict[int, list[SeriesPoint]] = field(default_factory=dict)
    uses: list[DeviceUse] = field(default_factory=list)
    happened: list[Event] = field(default_factory=list)

    def series(self, column: str, *, pixels: int, phase: str = "train") -> Sequence[SeriesPoint]:
        return thinned(self.step_series.get(column, []), pixels) if phase == "train" else []

    def sample_series(self, column: str, *, pixels: int, device: int | None = None) -> Sequence[SeriesPoint]:
        return thinned(self.samples.get(device or 0, []), pixels) if column == "gpu_busy_share" else []

    def devices(self) -> Sequence[DeviceUse]:
        return self.uses

    def events(self, kinds: Collection[str] | None = None) -> Sequence[Event]:
        return [event for event in self.happened if kinds is None or event.kind in kinds]


def data_bound() -> tuple[Run, Diagnosis, FakeView]:
    """mmdet on RAW frames from a share: 83 % data wait, one big card mostly empty."""
    log = "exp002_7424.out"
    run = Run(
        id="exp002-7424-3ec111dc",
        name="faster-rcnn_raw",
        sources=(Source(name=log, reader="mmengine_log_text", bytes=253_448, sha256="3e" * 32, lines=1400),),
        clock="local",
        started_at_seconds=START,
        ended_at_seconds=START + 41_000,
        environment=Environment(framework="mmengine", framework_version="0.10.7", torch="2.5.1", cuda="12.4"),
        hardware=Hardware(gpu_name="NVIDIA L40", gpus=1),
        layout=Layout(data_parallel=1),
        planned=Planned(epochs=23, steps=80_615, steps_per_epoch=3505, batch_per_device=4, workers=4),
        train_rows=560,
        evaluation_rows=617,
        event_rows=4,
        answerable=(
            "run_time",
            "epoch_time",
            "step_time",
            "data_wait",
            "compute",
            "evaluation_time",
            "allocated_memory",
        ),
        problems=(Problem(code="readers.line_too_long", line=1400, params={"limit": 4 << 20}),),
    )
    evidence = Evidence(
        source=log,
        line_first=212,
        line_last=1398,
        rows=560,
        at_first_seconds=START + 60,
        at_last_seconds=START + 40_900,
    )
    diagnosis = Diagnosis(
        run=run.id,
        verdict="data",
        headline=Finding(
            code="headline.data",
            severity="critical",
            evidence=(evidence,),
            params={"step": imported(1.41), "share": imported(0.829, "share")},
        ),
        findings=(
            Finding(
                code="diagnose.data_wait",
                severity="critical",
                evidence=(evidence,),
                params={
                    "share": imported(0.829, "share"),
                    "wait": imported(1.169),
                    "step": imported(1.41),
                    "waiting": 560,
                    "windows": 560,
                },
            ),
            Finding(
                code="diagnose.loader_paces",
                severity="warning",
                evidence=(evidence,),
                params={"waiting": 560, "windows": 560, "batch": imported(1.41)},
            ),
            Finding(
                code="diagnose.memory_half_unused",
                severity="note",
                evidence=(Evidence(source=log, line_first=498, line_last=498, rows=1),),
                params={
                    "peak": imported(8872 * MIB, "bytes"),
                    "card": imported(48 * GIB, "bytes"),
                    "share": imported(0.18, "share"),
                    "counter": "counter.allocated",
                },
            ),
        ),
        step=Breakdown(
            total=imported(1.41),
            parts=(
                Part(name="data_wait", seconds=imported(1.169), share=0.829),
                Part(name="compute_undivided", seconds=imported(0.241), share=0.171),
            ),
        ),
        occupied=Breakdown(
            total=imported(41_000.0),
            parts=(
                Part(name="start_up", seconds=imported(300.0), share=300 / 41_000),
                Part(name="steps", seconds=imported(37_900.0), share=37_900 / 41_000),
                Part(name="evaluation", seconds=imported(2_600.0), share=2_600 / 41_000),
                Part(name="gaps", seconds=imported(200.0), share=200 / 41_000),
            ),
        ),
        data_wait=DataWait(
            share=0.829,
            share_with_cold_windows=0.834,
            printed_share=None,
            cold_windows=1,
            windows=560,
            windows_waiting=560,
            rank=None,
            seconds=imported(1.169),
            steady=True,
            bimodal=False,
        ),
        step_seconds_median=imported(1.4076),
        memory=(
            MemoryUse(
                counter="allocated",
                peak=imported(8872 * MIB, "bytes"),
                card=Quantity(value=48 * GIB, unit="bytes", origin="catalogue"),
                share=8872 / 49_152,
                evidence=Evidence(source=log, line_first=498, line_last=498, rows=1),
            ),
        ),
        counterfactuals=(
            Counterfactual(
                code="counterfactual.no_data_wait",
                speed_up=between(1.0, 5.85),
                tier="bound",
                scope="step",
                condition="condition.every_batch_in_time",
                params={"production": imported(0.241)},
            ),
            Counterfactual(
                code="counterfactual.twice_the_gpus",
                speed_up=between(1.0, 1.0),
                tier="bound",
                scope="step",
                scaling="strong",
                brings="in_this_box",
                condition="condition.loader_paces",
                params={"batch": imported(1.41)},
                costs_money=True,
            ),
            Counterfactual(
                code="counterfactual.twice_the_gpus",
                speed_up=between(1.0, 2.0),
                tier="bound",
                scope="step",
                scaling="strong",
                brings="in_a_second_box",
                condition="condition.own_copy_of_data",
                params={"batch": imported(1.41)},
                costs_money=True,
            ),
        ),
        answerable=run.answerable,
        missing=(
            Finding(code="missing.gpu_busy", severity="note"),
            Finding(code="missing.reason_of_wait", severity="note"),
        ),
    )
    return run, diagnosis, FakeView(run, _raw_series(), happened=_raw_events())


def _raw_series() -> dict[str, list[SeriesPoint]]:
    random.seed(4)
    series: dict[str, list[SeriesPoint]] = {
        "step_seconds": [],
        "data_wait_seconds": [],
        "allocated_bytes": [],
    }
    for index in range(560):
        wait = max(
            0.02, random.gauss(1.17, 0.22) + (4.6 if index == 0 else 0) - (0.5 if 300 < index < 320 else 0)
        )
        place = {"step": 50 * (index + 1), "at": START + 73 * index, "line": 212 + 2 * index}
        step = wait + 0.241
        series["step_seconds"].append(point(index, step, step * 0.86, step * 1.13, **place))  # type: ignore[arg-type]
        series["data_wait_seconds"].append(point(index, wait, **place))  # type: ignore[arg-type]
        used = (8872 if index > 140 else 8420 if index > 20 else 7990) * MIB
        series["allocated_bytes"].append(point(index, float(used), **place))  # type: ignore[arg-type]
    return series


def _raw_events() -> list[Event]:
    events = [
        Event(kind="epoch", step=3505 * number, epoch=number, seconds=4_950.0) for number in range(1, 8)
    ]
    events += [Event(kind="evaluation", step=3505 * number, seconds=370.0) for number in range(1, 8)]
    events += [Event(kind="checkpoint", step=3505 * number) for number in range(1, 8)]
    return events


def compute_bound() -> tuple[Run, Diagnosis, FakeView]:
    """Detection on four cards: the data keeps up, GPU samples joined, one restart."""
    log, gpu = "train.log", "gpu.csv"
    run = Run(
        id="train-9a0b11c2",
        name="ppyoloe_l",
        sources=(
            Source(
                name=log, reader="detectron2_metrics_json", bytes=1_840_331, sha256="9a" * 32, lines=9_200
            ),
            Source(
                name=gpu,
                reader="nvidia_smi_csv",
                bytes=4_401_002,
                sha256="0b" * 32,
                clock_offset_seconds=-28_800.0,
            ),
        ),
        clock="utc",
        started_at_seconds=START,
        ended_at_seconds=START + 190_000,
        hardware=Hardware(gpu_name="NVIDIA A100-SXM4-80GB", gpus=4, gpu_memory_bytes=80 * GIB),
        layout=Layout(data_parallel=4, micro_batch=8, accumulation=1),
        planned=Planned(steps=90_000, global_batch=32, batch_per_device=8, workers=8),
        train_rows=9_200,
        sample_rows=760_000,
        segments=2,
        answerable=(
            "run_time",
            "step_time",
            "data_wait",
            "compute",
            "exposed_communication",
            "allocated_memory",
            "device_memory",
            "gpu_busy",
        ),
    )
    evidence = Evidence(source=log, line_first=2, line_last=9_200, rows=9_199)
    diagnosis = Diagnosis(
        run=run.id,
        verdict="compute",
        headline=Finding(
            code="headline.compute",
            severity="note",
            evidence=(evidence,),
            params={"step": imported(0.512), "share": imported(0.009, "share")},
        ),
        findings=(
            Finding(
                code="diagnose.data_wait_small",
                severity="note",
                evidence=(evidence,),
                params={"share": imported(0.009, "share"), "wait": imported(0.0046), "step": imported(0.512)},
            ),
            Finding(code="diagnose.restarts", severity="note", params={"restarts": 1, "duplicates": 40}),
        ),
        step=Breakdown(
            total=imported(0.512),
            parts=(
                Part(name="data_wait", seconds=imported(0.0046), share=0.009),
                Part(name="host_to_device", seconds=imported(None)),
                Part(name="forward", seconds=imported(0.146), share=0.285),
                Part(name="backward", seconds=imported(0.271), share=0.529),
                Part(name="communication", seconds=imported(0.043), share=0.084),
                Part(name="optimizer", seconds=imported(0.031), share=0.061),
                Part(name="unattributed", seconds=imported(0.0164), share=0.032),
            ),
        ),
        occupied=None,
        data_wait=DataWait(
            share=0.009,
            share_with_cold_windows=0.009,
            printed_share=None,
            cold_windows=0,
            windows=9_199,
            windows_waiting=11,
            rank=0,
            seconds=imported(0.0046),
            steady=False,
            bimodal=False,
        ),
        step_seconds_median=imported(0.509),
        memory=(
            MemoryUse(
                counter="allocated",
                peak=imported(58.4 * GIB, "bytes"),
                card=imported(80 * GIB, "bytes"),
                share=0.73,
            ),
            MemoryUse(
                counter="device",
                peak=imported(74.9 * GIB, "bytes"),
                card=imported(80 * GIB, "bytes"),
                share=0.936,
            ),
        ),
        counterfactuals=(
            Counterfactual(
                code="counterfactual.twice_the_gpus",
                speed_up=between(1.0, 1.98),
                tier="bound",
                scope="step",
                scaling="strong",
                brings="in_this_box",
                condition="condition.loader_capacity_unknown",
                costs_money=True,
            ),
        ),
        answerable=run.answerable,
        missing=(Finding(code="missing.reason_of_wait", severity="note"),),
    )
    return run, diagnosis, _busy_view(run)


def _busy_view(run: Run) -> FakeView:
    random.seed(7)
    steps = []
    for index in range(600):
        step = 150 * (index + 1) if index < 300 else 150 * (index - 4)
        steps.append(
            point(
                index,
                random.gauss(0.512, 0.004),
                0.49,
                0.56 if index % 97 else 3.9,
                rows=15,
                step=step,
                at=START + 316 * index,
                line=15 * index + 2,
            )
        )
    samples, uses = {}, []
    for device in range(4):
        samples[device] = [
            point(
                index,
                min(1.0, max(0.0, random.gauss(0.95 - 0.03 * device, 0.03))),
                0.4,
                1.0,
                rows=300,
                at=START + 316 * index,
            )
            for index in range(600)
        ]
        uses.append(
            DeviceUse(
                host="node-17",
                device=device,
                device_name="NVIDIA A100-SXM4-80GB",
                rows=190_000,
                at_first_seconds=START,
                at_last_seconds=START + 190_000,
                interval_seconds=1.0,
                gpu_busy_share=0.95 - 0.03 * device,
                idle_share=0.01,
                device_bytes_max=74.9 * GIB,
                device_total_bytes=80.0 * GIB,
                power_watts_mean=341.0,
                power_watts_max=403.0,
                temperature_celsius_max=71.0,
            )
        )
    happened = [
        Event(kind="restart", at_seconds=START + 316 * 300, line=4_502),
        Event(kind="evaluation", at_seconds=START + 60_000),
    ]
    return FakeView(run, {"step_seconds": steps}, samples, uses, happened)


def cannot_say() -> tuple[Run, Diagnosis, FakeView]:
    """A results.csv with nothing but epoch times."""
    run = Run(
        id="results-77aa00ff",
        sources=(Source(name="results.csv", reader="ultralytics_results_csv", bytes=12_074, lines=101),),
        planned=Planned(epochs=100),
        train_rows=100,
        answerable=("run_time", "epoch_time"),
        stated_seconds=5083.62,
    )
    diagnosis = Diagnosis(
        run=run.id,
        verdict="cannot_say",
        headline=Finding(
            code="headline.no_step_time",
            severity="critical",
            evidence=(Evidence(source="results.csv", line_first=2, line_last=101, rows=100),),
        ),
        findings=(),
        step=None,
        occupied=None,
        data_wait=None,
        step_seconds_median=None,
        memory=(),
        counterfactuals=(),
        answerable=run.answerable,
        missing=(
            Finding(code="missing.step_time", severity="warning"),
            Finding(code="missing.gpu_busy", severity="note"),
            Finding(code="missing.memory", severity="note"),
        ),
    )
    events = [Event(kind="epoch", epoch=number, seconds=52.5) for number in range(1, 101)]
    return run, diagnosis, FakeView(run, happened=events)


ALL = {"data": data_bound, "compute": compute_bound, "cannot_say": cannot_say}


def hostile(text: str) -> tuple[Run, Diagnosis, FakeView]:
    """The data-bound sample with ``text`` wherever a log or a file name could put it."""
    run, diagnosis, view = data_bound()
    evidence = Evidence(source=text, line_first=1, line_last=2, rows=2)
    run = replace(
        run,
        id=text,
        name=text,
        sources=(Source(name=text, reader=text, bytes=1, sha256=text),),
        environment=Environment(
            framework=text, torch=text, cuda=text, driver=text, operating_system=text, python=text
        ),
        hardware=Hardware(gpu_name=text, cpu_name=text, gpus=1),
        planned=Planned(model=text, dataset=text, steps=10),
        problems=(Problem(code=text, line=3, params={"reason": text}),),
        details={text: text},
        sample_rows=1,
    )
    diagnosis = replace(
        diagnosis,
        run=text,
        headline=Finding(code=text, severity="critical", evidence=(evidence,), remedies=(text,)),
        findings=(
            Finding(
                code="diagnose.idle_gpu",
                severity="warning",
                evidence=(evidence,),
                params={"device": text, "name": text, "share": imported(1.0, "share"), "rows": 3},
            ),
            replace(diagnosis.findings[0], evidence=(evidence,), remedies=(text,)),
        ),
        step=Breakdown(total=imported(1.0), parts=(Part(name=text, seconds=imported(1.0), share=1.0),)),
        counterfactuals=(replace(diagnosis.counterfactuals[0], code=text, condition=text),),
        memory=(replace(diagnosis.memory[0], evidence=evidence),),
        missing=(Finding(code=text, severity="note", remedies=(text,)),),
    )
    _, _, busy = compute_bound()
    uses = [replace(use, host=text, device_name=text) for use in busy.uses]
    return run, diagnosis, FakeView(run, view.step_series, busy.samples, uses, view.happened)
