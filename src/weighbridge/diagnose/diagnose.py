"""``diagnose(view) -> Diagnosis``: the whole answer for one Run."""

from __future__ import annotations

from weighbridge.diagnose.counterfactuals import counterfactuals
from weighbridge.diagnose.findings import findings, seconds, share
from weighbridge.diagnose.memory import memory_use
from weighbridge.diagnose.missing import missing
from weighbridge.diagnose.signals import Signals, read_signals
from weighbridge.diagnose.verdict import Decision, decide
from weighbridge.schema.diagnosis import Breakdown, Counterfactual, DataWait, Diagnosis, Part
from weighbridge.schema.finding import Finding, Parameter, Severity
from weighbridge.store import RunView
from weighbridge.units import Quantity
from weighbridge.weigh.identities import Identity

# A speed-up below this is within the noise between two runs of the same job.
WORTH_TELLING = 1.05


def diagnose(view: RunView) -> Diagnosis:
    """Weigh a Run on the machine it ran on and say what it waits for. Reads only."""
    signals = read_signals(view)
    memory = memory_use(view)
    decision = decide(signals)
    changes = counterfactuals(signals, on_gpu=signals.on_gpu)
    return Diagnosis(
        run=view.run.id,
        verdict=decision.verdict,
        headline=_headline(signals, decision),
        more_gpus=_more_gpus(changes),
        findings=findings(signals, decision, memory),
        step=_step_breakdown(signals),
        occupied=_occupied_breakdown(signals.occupied),
        data_wait=_data_wait(signals),
        step_seconds_median=(
            Quantity(value=signals.step_median_seconds, unit="seconds", origin="imported")
            if signals.step_median_seconds is not None
            else None
        ),
        memory=memory,
        counterfactuals=changes,
        answerable=view.run.answerable,
        missing=missing(signals, memory),
    )


def _headline(signals: Signals, decision: Decision) -> Finding:
    params: dict[str, Parameter] = {
        "step": seconds(signals.step.total if signals.step is not None else None),
        "share": share(_share_of(signals, decision)),
    }
    if decision.also:
        params["also"] = f"also.{decision.also[0]}"
    evidence = (signals.evidence,) if signals.evidence is not None else ()
    severity: Severity = "note" if decision.verdict in ("nothing_wrong", "compute") else "critical"
    return Finding(code=f"headline.{decision.reason}", severity=severity, params=params, evidence=evidence)


def _more_gpus(changes: tuple[Counterfactual, ...]) -> Finding:
    """Would twice the GPUs in this box help: no, at most so much, or not to be said from this log."""
    here = next((change for change in changes if change.brings == "in_this_box"), None)
    if here is None or here.speed_up.high is None or here.condition == "condition.loader_unknown":
        return Finding(code="more_gpus.unknown", severity="note")
    code = "more_gpus.no" if here.speed_up.high <= WORTH_TELLING else "more_gpus.at_most"
    params: dict[str, Parameter] = {
        "times": Quantity(value=here.speed_up.high, unit="times", origin="estimated"),
        **here.params,
    }
    return Finding(code=code, severity="warning" if code == "more_gpus.no" else "note", params=params)


def _share_of(signals: Signals, decision: Decision) -> float | None:
    """The share that the headline speaks of."""
    step, wait = signals.step, signals.wait
    match decision.reason:
        case "data":
            return wait.share if wait is not None else None
        case "communication":
            return step.share("communication") if step is not None else None
        case "evaluation":
            return signals.occupied.share("evaluation") if signals.occupied is not None else None
        case "checkpoint":
            return signals.occupied.share("checkpoints") if signals.occupied is not None else None
        case "compute" | "compute_undivided" | "nothing_wrong":
            return wait.share if wait is not None else None
        case "unattributed":
            return step.rest / step.total if step is not None and step.total else None
        case _:
            return None


def _step_breakdown(signals: Signals) -> Breakdown | None:
    step = signals.step
    if step is None:
        return None
    if not signals.undivided:
        return _breakdown(step, "unattributed")
    # The source parts a step into wait and the rest only: the rest is compute with everything unlogged.
    wait = step.parts.get("data_wait")
    parts = [] if wait is None else [_part("data_wait", wait, step.total)]
    copied = step.parts.get("host_to_device")
    if copied is not None:
        parts.append(_part("host_to_device", copied, step.total))
    name = "undivided" if wait is None else "compute_undivided"
    parts.append(_part(name, step.rest, step.total))
    return Breakdown(total=seconds(step.total), parts=tuple(parts))


def _occupied_breakdown(occupied: Identity | None) -> Breakdown | None:
    if occupied is None or not occupied.additive:
        return None
    # Without step times the rest holds the steps too; calling it gaps would be a lie.
    return _breakdown(occupied, "steps_and_gaps" if occupied.parts.get("steps") is None else "gaps")


def _breakdown(found: Identity, rest: str) -> Breakdown:
    parts = [_part(name, value, found.total) for name, value in found.parts.items() if value is not None]
    parts.append(_part(rest, found.rest, found.total))
    return Breakdown(total=seconds(found.total), parts=tuple(parts))


def _part(name: str, value: float, total: float) -> Part:
    return Part(name=name, seconds=seconds(value), share=value / total if total else None)


def _data_wait(signals: Signals) -> DataWait | None:
    wait = signals.wait
    if wait is None:
        return None
    return DataWait(
        share=wait.share,
        share_with_cold_windows=wait.share_with_cold,
        printed_share=signals.printed.share if signals.printed is not None else None,
        cold_windows=wait.cold,
        windows=wait.windows,
        windows_waiting=wait.waiting,
        rank=wait.rank,
        seconds=seconds(wait.wait_seconds_per_step),
        steady=wait.steady,
        bimodal=wait.bimodal,
    )
