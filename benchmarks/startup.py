"""How long ``weighbridge --help`` takes: median and spread over many runs, in milliseconds.

    .venv/bin/python benchmarks/startup.py [RUNS]

Beside it stand the bare interpreter and ``import click``, which no Python command line gets under; the ratio
travels between machines, milliseconds do not. Asserts nothing: the budget is 150 ms on an idle core.
"""

from __future__ import annotations

import platform
import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "import click": ["-c", "import click"],
    "import weighbridge": ["-c", "import weighbridge"],
    "weighbridge --help": ["-c", "from weighbridge.cli.main import main; main(['--help'])"],
}


def milliseconds(arguments: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    return (time.perf_counter() - started) * 1000


def main(runs: int) -> None:
    print(f"Python {platform.python_version()}, {platform.machine()}, {runs} runs each, milliseconds")
    print(f"{'':20} {'lowest':>8} {'median':>8} {'highest':>8}")
    for name, arguments in COMMANDS.items():
        milliseconds(arguments)  # the first one writes bytecode
        times = [milliseconds(arguments) for _ in range(runs)]
        print(f"{name:20} {min(times):8.0f} {statistics.median(times):8.0f} {max(times):8.0f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
