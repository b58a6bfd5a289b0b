"""Findings: what a reader of the report should know beside the verdict, each with its numbers and place.

One function per finding; ``FINDINGS`` is the table. A function returns nothing when its condition is not met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from weighbridge.diagnose.counterfactuals import EPOCH_START_PART
from weighbridge.diagnose.signals import Signals
from weighbridge.diagnose.verdict import DECIDING_SHARE, GAP_SHARE, HINT_SHARE, SMALLEST_STEPS, Decision
from weighbridge.schema.diagnosis import MemoryUse
from weighbridge.schema.finding import Evidence, Finding, Parameter, Severity
from weighbridge.store import DeviceUse
from weighbridge.units import Quantity

# A card of half the memory would carry the job below this part (with a fifth of headroom left on it).
HALF_CARD_SHARE = 0.4
# Allocators fail from fragmentation near the top; TraceML warns at 92 %.
PRESSURE_SHARE = 0.92
# Clock time without steps beyond this part: the file is an excerpt, or the run stood still.
MOSTLY_GAPS_SHARE = 0.5
# A paid-for GPU without work: no kernel in this part of the samples (S35).
IDLE_PART = 0.9
# Start-up beyond this part of the logged time: on runs as short as this one it is what costs.
COLD_START_SHARE = 0.2
# Fewer steps or samples than these do not show how full a card gets.
ENOUGH_STEPS = 50
ENOUGH_SAMPLES = 30
# Joined GPU samples below this while steps run show that the GPU waits for something.
BUSY_SHARE = 0.9


def seconds(value: float | None) -> Quantity:
    return Quantity(value=value, unit="seconds", origin="imported")


def share(value: float | None) -> Quantity:
    return Quantity(value=value, unit="share", origin="imported")


def findings(signals: Signals, decision: Decision, memory: tuple[MemoryUse, ...]) -> tuple[Finding, ...]:
    """Every finding that applies, most severe first, in the order of the table within a severity."""
    found = [finding for make in FINDINGS for finding in make(signals, decision)]
    enough = signals.warm_steps >= ENOUGH_STEPS or signals.run.sample_rows >= ENOUGH_SAMPLES
    found += _memory(memory, enough=enough)
    order: dict[Severity, int] = {"critical": 0, "warning": 1, "note": 2}
    return tuple(sorted(found, key=lambda finding: order[finding.severity]))


def _finding(signals: Signals, code: str, severity: Severity, *remedies: str, **params: Parameter) -> Finding:
    evidence = (signals.evidence,) if signals.evidence is not None else ()
    return Finding(code=code, severity=severity, params=params, evidence=evidence, remedies=remedies)


def _data_wait(signals: Signals, decision: Decision) -> Iterator[Finding]:
    wait = signals.wait
    if wait is None:
        return
    params: dict[str, Parameter] = {
        "share": share(wait.share),
        "wait": seconds(wait.wait_seconds_per_step),
        "step": seconds(wait.step_seconds),
        "waiting": wait.waiting,
        "windows": wait.windows,
    }
    if wait.share >= DECIDING_SHARE:
        yield _finding(signals, "diagnose.data_wait", "critical", **params)
    elif wait.share >= HINT_SHARE:
        yield _finding(signals, "diagnose.data_wait_hint", "note", **params)
    else:
        yield _finding(signals, "diagnose.data_wait_small", "note", **params)
    if wait.rank is not None and wait.share >= HINT_SHARE:
        yield _finding(signals, "diagnose.slowest_rank", "note", rank=wait.rank, share=share(wait.share))


def _wait_manner(signals: Signals, decision: Decision) -> Iterator[Finding]:
    wait = signals.wait
    if wait is None or wait.share < DECIDING_SHARE:
        return
    starts = signals.epoch_start_share
    if starts is not None and starts >= EPOCH_START_PART:
        yield _finding(
            signals, "diagnose.wait_at_epoch_start", "warning", "remedy.persistent_workers",
            share=share(starts),
        )  # fmt: skip
    elif wait.steady:
        yield _finding(
            signals, "diagnose.loader_paces", "warning", batch=seconds(wait.step_seconds),
            waiting=wait.waiting, windows=wait.windows,
        )  # fmt: skip
    elif wait.bimodal:
        yield _finding(signals, "diagnose.wait_bimodal", "note", waiting=wait.waiting, windows=wait.windows)


def _cold(signals: Signals, decision: Decision) -> Iterator[Finding]:
    wait = signals.wait
    cold = signals.cold.count(True)
    if not cold:
        return
    if signals.cold_start_share >= COLD_START_SHARE:
        yield _finding(
            signals, "diagnose.start_up_dominates", "warning", share=share(signals.cold_start_share),
            warm=seconds(signals.warm_seconds), windows=signals.warm_windows,
        )  # fmt: skip
    if wait is not None and wait.cold and wait.share_with_cold - wait.share >= 0.02:
        yield _finding(
            signals, "diagnose.cold_windows_wait", "warning", cold=wait.cold,
            with_cold=share(wait.share_with_cold), without_cold=share(wait.share),
        )  # fmt: skip
    else:
        yield _finding(signals, "diagnose.cold_windows", "note", cold=cold)


def _printed(signals: Signals, decision: Decision) -> Iterator[Finding]:
    wait, printed = signals.wait, signals.printed
    if wait is not None and printed is not None and abs(printed.share - wait.share_with_cold) >= 0.01:
        yield _finding(
            signals, "diagnose.printed_share", "note", printed=share(printed.share),
            printed_step=seconds(printed.step_median_seconds), corrected=share(wait.share),
            step=seconds(signals.step_median_seconds),
        )  # fmt: skip


def _communication(signals: Signals, decision: Decision) -> Iterator[Finding]:
    timed = signals.timed_communication_share
    if timed is None or signals.step is None or timed < HINT_SHARE:
        return
    severity: Severity = "warning" if timed >= DECIDING_SHARE else "note"
    communication = signals.step.parts.get("communication")
    yield _finding(
        signals, "diagnose.communication", severity, share=share(timed), communication=seconds(communication)
    )


def _gap(signals: Signals, decision: Decision) -> Iterator[Finding]:
    step, windows = signals.step, signals.gap_windows_share
    if step is None or windows is None or signals.undivided or not step.total:
        return
    if step.rest / step.total >= GAP_SHARE and windows > 0:
        yield _finding(
            signals, "diagnose.unattributed", "critical" if decision.reason == "unattributed" else "warning",
            share=share(step.rest / step.total), windows=share(windows),
            largest=seconds(signals.gap_largest_seconds),
        )  # fmt: skip


def _outside(signals: Signals, decision: Decision) -> Iterator[Finding]:
    if signals.occupied is None:
        return
    if not signals.occupied.additive:
        yield _finding(
            signals, "diagnose.times_not_additive", "warning", occupied=seconds(signals.occupied.total),
            parts=seconds(signals.occupied.total + signals.occupied.overlap_seconds),
        )  # fmt: skip
        return
    for part, code in (("evaluation", "diagnose.evaluation"), ("checkpoints", "diagnose.checkpoints")):
        value = signals.occupied.share(part)
        if value is not None and value >= HINT_SHARE / 2:
            severity: Severity = "warning" if value >= DECIDING_SHARE else "note"
            yield _finding(
                signals, code, severity, share=share(min(value, 1.0)),
                total=seconds(signals.occupied.parts[part]), occupied=seconds(signals.occupied.total),
                times=signals.evaluations or None,
            )  # fmt: skip


def _mostly_gaps(signals: Signals, decision: Decision) -> Iterator[Finding]:
    occupied = signals.occupied
    if occupied is None or occupied.parts.get("steps") is None or signals.run.stated_seconds is not None:
        return
    if occupied.rest >= MOSTLY_GAPS_SHARE * occupied.total:
        yield _finding(
            signals, "diagnose.mostly_gaps", "note", share=share(occupied.rest / occupied.total),
            occupied=seconds(occupied.total),
        )  # fmt: skip


def _few(signals: Signals, decision: Decision) -> Iterator[Finding]:
    if signals.windows and signals.warm_steps < SMALLEST_STEPS:
        yield _finding(signals, "diagnose.few_steps", "warning", steps=signals.warm_steps)


def _restarts(signals: Signals, decision: Decision) -> Iterator[Finding]:
    run = signals.run
    if run.segments > 1 or run.duplicate_steps:
        yield _finding(
            signals, "diagnose.restarts", "note", restarts=run.segments - 1, duplicates=run.duplicate_steps
        )


def _devices(signals: Signals, decision: Decision) -> Iterator[Finding]:
    busy = []
    for use in signals.devices:
        if use.idle_share is not None and use.idle_share >= IDLE_PART:
            idle = _finding(
                signals, "diagnose.idle_gpu", "warning", "remedy.use_or_release", device=use.device,
                name=use.device_name, share=share(use.idle_share), rows=use.rows,
            )  # fmt: skip
            yield replace(idle, evidence=_sampled(signals, use))
        elif use.gpu_busy_share is not None:
            busy.append(use.gpu_busy_share)
    if busy and signals.run.sample_rows >= ENOUGH_SAMPLES:
        mean = sum(busy) / len(busy)
        code = "diagnose.gpu_busy" if mean >= BUSY_SHARE else "diagnose.gpu_waits"
        found = _finding(signals, code, "note", share=share(mean), idle=share(1 - mean), devices=len(busy))
        working = [use for use in signals.devices if use.gpu_busy_share is not None]
        yield replace(found, evidence=_sampled(signals, *working))


def _sampled(signals: Signals, *uses: DeviceUse) -> tuple[Evidence, ...]:
    """Where the samples of these devices stand: the source that is no training log, and when."""
    source = next((s for s in signals.run.sources if s.clock_offset_seconds is not None), None)
    if source is None and signals.run.sources and not signals.windows:
        source = signals.run.sources[0]
    if source is None:
        return ()
    firsts = [use.at_first_seconds for use in uses if use.at_first_seconds is not None]
    lasts = [use.at_last_seconds for use in uses if use.at_last_seconds is not None]
    return (
        Evidence(
            source=source.name,
            rows=sum(use.rows for use in uses),
            at_first_seconds=min(firsts, default=None),
            at_last_seconds=max(lasts, default=None),
        ),
    )


def _on_cpu(signals: Signals, decision: Decision) -> Iterator[Finding]:
    if not signals.on_gpu:
        yield _finding(signals, "diagnose.on_cpu", "warning")


def _statistic(signals: Signals, decision: Decision) -> Iterator[Finding]:
    if signals.windows and signals.run.step_statistic == "median":
        yield _finding(signals, "diagnose.windows_are_medians", "note")


def _mixed(signals: Signals, decision: Decision) -> Iterator[Finding]:
    if signals.rows_with_evaluation:
        yield _finding(signals, "diagnose.waits_with_evaluation", "note", rows=signals.rows_with_evaluation)


def _impossible(signals: Signals, decision: Decision) -> Iterator[Finding]:
    if signals.impossible_waits:
        yield _finding(
            signals, "diagnose.impossible_waits", "warning", rows=signals.impossible_waits,
            windows=len(signals.windows),
        )  # fmt: skip


def _unused(signals: Signals, decision: Decision) -> Iterator[Finding]:
    count = sum(problem.count for problem in signals.run.problems)
    if count:
        yield _finding(signals, "diagnose.lines_not_used", "note", count=count)


FINDINGS: tuple[Callable[[Signals, Decision], Iterator[Finding]], ...] = (
    _data_wait, _wait_manner, _cold, _printed, _communication, _gap, _outside, _mostly_gaps, _few, _restarts,
    _devices, _on_cpu, _statistic, _mixed, _impossible, _unused,
)  # fmt: skip


def _memory(memory: tuple[MemoryUse, ...], *, enough: bool) -> Iterator[Finding]:
    """The counter nearest to what the card must hold: device before reserved before allocated."""
    known = [use for use in memory if use.share is not None]
    if not known:
        return
    use = max(known, key=lambda use: ("allocated", "reserved", "device").index(use.counter))
    evidence: tuple[Evidence, ...] = (replace(use.evidence),) if use.evidence is not None else ()
    params: dict[str, Parameter] = {
        "peak": use.peak, "card": use.card, "share": share(use.share), "counter": f"counter.{use.counter}",
    }  # fmt: skip
    if use.share is not None and use.share >= PRESSURE_SHARE:
        yield Finding(code="diagnose.memory_pressure", severity="warning", params=params, evidence=evidence)
    elif use.share is not None and use.share <= HALF_CARD_SHARE and enough:
        code = "diagnose.memory_half_unused"
        if use.counter == "allocated":
            code = "diagnose.memory_half_unused_allocated"
        yield Finding(code=code, severity="note", params=params, evidence=evidence)
