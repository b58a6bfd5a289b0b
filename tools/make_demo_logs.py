"""Write the three small logs that ``weighbridge demo`` reads, in the words of real frameworks.

The numbers are made up for the demo (seeded, so that the files never change); the form is the frameworks'.
"""

from __future__ import annotations

import datetime
import json
import random
from pathlib import Path

TARGET = Path(__file__).resolve().parent.parent / "src" / "weighbridge" / "cli" / "demo_logs"


def detection_on_shared_storage() -> str:
    """An mmengine text log: two epochs on frames read from shared storage; the loader cannot keep up."""
    chance = random.Random(20261201)
    clock = datetime.datetime(2026, 11, 2, 9, 0, 4)
    stamp = "%m/%d %H:%M:%S - mmengine - INFO - "
    rows = [
        clock.strftime(stamp),
        "-" * 60,
        "System environment:",
        "    sys.platform: linux",
        "    Python: 3.10.14 (main, May  6 2024, 19:42:50) [GCC 11.2.0]",
        "    CUDA available: True",
        "    numpy_random_seed: 1042",
        "    GPU 0: NVIDIA L40S",
        "    CUDA_HOME: /usr/local/cuda",
        "    PyTorch: 2.4.0+cu121",
        "    TorchVision: 0.19.0+cu121",
        "    MMEngine: 0.10.7",
        "",
        "Runtime environment:",
        "    Distributed launcher: none",
        "    Distributed training: False",
        "    GPU number: 1",
        "-" * 60,
        "",
    ]
    per_epoch = 2000
    clock += datetime.timedelta(seconds=41)
    for epoch in (1, 2):
        for iteration in range(50, per_epoch + 1, 50):
            slow = 1.9 if (epoch, iteration) == (1, 50) else 1.0
            compute = chance.gauss(0.232, 0.006)
            wait = max(chance.gauss(0.94, 0.11), 0.3) * slow
            clock += datetime.timedelta(seconds=50 * (compute + wait))
            left = int((2 * per_epoch - (epoch - 1) * per_epoch - iteration) * (compute + wait))
            rows.append(
                f"{clock.strftime(stamp)}Epoch(train)   [{epoch}][{iteration:>4}/{per_epoch}]  "
                f"lr: 1.0000e-02  eta: {datetime.timedelta(seconds=left)}  time: {compute + wait:.4f}  "
                f"data_time: {wait:.4f}  memory: {8611 if iteration > 50 else 8609}  "
                f"grad_norm: {chance.uniform(2, 4):.4f}  loss: {chance.uniform(0.4, 0.9):.4f}"
            )
        clock += datetime.timedelta(seconds=3)
        rows.append(f"{clock.strftime(stamp)}Saving checkpoint at {epoch} epochs")
        for iteration in range(50, 401, 50):
            wait, compute = max(chance.gauss(0.27, 0.03), 0.1), chance.gauss(0.024, 0.001)
            clock += datetime.timedelta(seconds=50 * (compute + wait))
            rows.append(
                f"{clock.strftime(stamp)}Epoch(val)   [{epoch}][{iteration:>3}/400]    "
                f"eta: {datetime.timedelta(seconds=int((400 - iteration) * (compute + wait)))}  "
                f"time: {compute + wait:.4f}  data_time: {wait:.4f}  memory: 702  "
            )
        clock += datetime.timedelta(seconds=14)
        rows.append(
            f"{clock.strftime(stamp)}Epoch(val) [{epoch}][400/400]    coco/bbox_mAP: 0.{240 + 31 * epoch}0  "
            f"data_time: 0.2700  time: 0.2940"
        )
    return "\n".join(rows) + "\n"


def classification_that_computes() -> str:
    """A timm training log: the first batch is slow, then the GPU is the limit."""
    chance = random.Random(7)
    rows = [
        "Training with a single process on 1 device (cuda:0).",
        "Scheduled epochs: 300. LR stepped per epoch.",
    ]
    for epoch in (0, 1):
        time_sum = data_sum = 0.0
        done = 0
        for batch in range(0, 1251, 50):
            fresh = batch + 1 - done
            first = epoch == 0 and batch == 0
            steps = [chance.gauss(0.412, 0.004) for _ in range(fresh)]
            waits = [abs(chance.gauss(0.007, 0.002)) for _ in range(fresh)]
            if first:
                steps[0], waits[0] = 9.81, 4.27
            time_sum, data_sum, done = time_sum + sum(steps), data_sum + sum(waits), batch + 1
            average, waited = time_sum / done, data_sum / done
            rows.append(
                f"Train: {epoch} [{batch:>4}/1251 ({100 * batch / 1250:>3.0f}%)]  "
                f"Loss: {chance.uniform(6.2, 6.9):>#.3g} ({chance.uniform(6.5, 6.9):>#.3g})  "
                f"Time: {steps[-1]:.3f}s, {256 / steps[-1]:>7.2f}/s  "
                f"({average:.3f}s, {256 / average:>7.2f}/s)  "
                f"LR: 1.000e-03  Data: {waits[-1]:.3f} ({waited:.3f})"
            )
    return "\n".join(rows) + "\n"


def fine_tuning_without_times() -> str:
    """The trainer_state.json of an intermediate checkpoint: losses, but no time at all."""
    chance = random.Random(3)
    history = [
        {
            "epoch": round(step / 1200, 4),
            "grad_norm": round(chance.uniform(0.8, 2.4), 6),
            "learning_rate": round(2e-5 * (1 - step / 3600), 12),
            "loss": round(1.9 - 0.0003 * step + chance.uniform(-0.05, 0.05), 4),
            "step": step,
        }
        for step in range(20, 1001, 20)
    ]
    state = {
        "best_metric": None,
        "best_model_checkpoint": None,
        "epoch": 0.8333,
        "eval_steps": 500,
        "global_step": 1000,
        "is_hyper_param_search": False,
        "is_local_process_zero": True,
        "is_world_process_zero": True,
        "log_history": history,
        "logging_steps": 20,
        "max_steps": 3600,
        "num_input_tokens_seen": 0,
        "num_train_epochs": 3,
        "save_steps": 500,
        "total_flos": 1.2e17,
        "train_batch_size": 4,
        "trial_name": None,
        "trial_params": None,
    }
    return json.dumps(state, indent=2) + "\n"


def main() -> None:
    TARGET.mkdir(exist_ok=True)
    for name, content in (
        ("detection-on-shared-storage.log", detection_on_shared_storage()),
        ("classification-that-computes.log", classification_that_computes()),
        ("fine-tuning-checkpoint.trainer_state.json", fine_tuning_without_times()),
    ):
        (TARGET / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
