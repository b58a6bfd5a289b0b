"""From signals to one verdict. "Cannot say" is a good answer; a wrong verdict is the worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from weighbridge.diagnose.signals import Signals
from weighbridge.schema.diagnosis import Verdict

# From this share on a wait decides (gpuprof and the Kineto plug-in use 15 % and 5 %; 5 % is a hint only).
DECIDING_SHARE = 0.15
HINT_SHARE = 0.05
# Compute must fill this much of the step before the job is called compute-bound.
COMPUTE_SHARE = 0.85
# Without step phases the other half of the time is dark, so evaluation must be more than half to decide.
DARK_DECIDING_SHARE = 0.5
# Causes closer than this to each other are told together.
CLOSE_FACTOR = 1.2
# Fewer warm steps than this, in fewer windows than that, show no pace.
SMALLEST_STEPS = 20
SMALLEST_WINDOWS = 3
# Steps with an unexplained rest this large in this many windows make any other share a guess (S29).
GAP_SHARE = 0.1
GAP_WINDOWS_SHARE = 0.1

Reason = Literal[
    "data", "compute", "compute_undivided", "communication", "evaluation", "checkpoint", "nothing_wrong",
    "no_step_time", "only_evaluation", "only_samples", "few_steps", "no_phases", "unattributed", "cpu_only",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict, why, and the causes that stand close behind it."""

    verdict: Verdict
    reason: Reason
    also: tuple[Reason, ...] = ()


def decide(signals: Signals) -> Decision:
    """Pick the part that takes most of the time, if the log shows enough to say so."""
    dark = _too_dark(signals)
    if dark is not None:
        return dark
    candidates = sorted(_candidates(signals).items(), key=lambda item: -item[1])
    deciding = [(reason, share) for reason, share in candidates if share >= DECIDING_SHARE]
    if deciding:
        return _first_of(deciding, signals)
    if _compute_share(signals) >= COMPUTE_SHARE:
        return Decision("compute", "compute_undivided" if signals.undivided else "compute")
    return Decision("nothing_wrong", "nothing_wrong")


def _first_of(deciding: list[tuple[Reason, float]], signals: Signals) -> Decision:
    """The largest cause; data first when it is close, since its remedy is cheapest and changes the rest."""
    best = deciding[0][1]
    close = [reason for reason, share in deciding if share * CLOSE_FACTOR >= best]
    chosen: Reason = "data" if "data" in close else deciding[0][0]
    also = tuple(reason for reason, _ in deciding if reason != chosen)
    return Decision(_verdict_of(chosen), chosen, also)


def _verdict_of(reason: Reason) -> Verdict:
    if reason in ("evaluation", "checkpoint"):
        return "checkpoint_or_evaluation"
    return "data" if reason == "data" else "communication"


def _too_dark(signals: Signals) -> Decision | None:
    """Why the log cannot decide, if it cannot."""
    if not signals.windows:
        return _without_steps(signals)
    if signals.warm_windows < SMALLEST_WINDOWS and signals.warm_steps < SMALLEST_STEPS:
        return Decision("cannot_say", "few_steps")
    if signals.wait is None and signals.undivided:
        return _dark_evaluation(signals) or Decision("cannot_say", "no_phases")
    if _gap_must_be_explained(signals):
        return Decision("cannot_say", "unattributed")
    return None


def _without_steps(signals: Signals) -> Decision:
    run = signals.run
    if run.sample_rows and not run.train_rows:
        return Decision("cannot_say", "only_samples")
    if run.evaluation_rows and not run.train_rows:
        return Decision("cannot_say", "only_evaluation")
    return _dark_evaluation(signals) or Decision("cannot_say", "no_step_time")


def _dark_evaluation(signals: Signals) -> Decision | None:
    """Evaluation and checkpoints decide even without step phases when they take more than half of all."""
    shares = {name: _occupied_share(signals, name) or 0.0 for name in ("evaluation", "checkpoints")}
    if sum(shares.values()) < DARK_DECIDING_SHARE:
        return None
    larger: Reason = "evaluation" if shares["evaluation"] >= shares["checkpoints"] else "checkpoint"
    return Decision("checkpoint_or_evaluation", larger)


def _gap_must_be_explained(signals: Signals) -> bool:
    step, windows = signals.step, signals.gap_windows_share
    if step is None or windows is None or signals.undivided:
        return False
    # A logged wait beside the gap may still decide: it is a lower bound of its own part.
    if signals.wait is not None and signals.wait.share >= max(DECIDING_SHARE, step.rest / step.total):
        return False
    return windows >= GAP_WINDOWS_SHARE and step.rest / step.total >= GAP_SHARE


def _candidates(signals: Signals) -> dict[Reason, float]:
    """Shares of the occupied time where it is known, else of the step, by cause."""
    within = _occupied_share(signals, "steps")
    of_steps = min(within, 1.0) if within else 1.0
    found: dict[Reason, float] = {}
    if signals.wait is not None:
        # The step share decides whether data is a cause; its weight against evaluation is of all the time.
        found["data"] = (
            signals.wait.share
            if signals.wait.share < DECIDING_SHARE
            else max(signals.wait.share * of_steps, DECIDING_SHARE)
        )
    if signals.step is not None:
        found["communication"] = (signals.step.share("communication") or 0.0) * of_steps
    found["evaluation"] = _occupied_share(signals, "evaluation") or 0.0
    found["checkpoint"] = _occupied_share(signals, "checkpoints") or 0.0
    return found


def _occupied_share(signals: Signals, part: str) -> float | None:
    """None too where the parts exceed their total: a log pasted together says nothing of occupied time."""
    occupied = signals.occupied
    if occupied is None or not occupied.additive:
        return None
    return occupied.share(part)


def _compute_share(signals: Signals) -> float:
    """Compute in the step; where only the wait is timed, everything that is not wait."""
    if signals.step is None:
        return 0.0
    if signals.undivided:
        return 1.0 - (signals.wait.share if signals.wait else 0.0)
    return (signals.step.share("compute") or 0.0) + (signals.step.share("optimizer") or 0.0)
