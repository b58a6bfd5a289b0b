"""Put a CPU build of torch into the test environment, where pip already has one at hand.

torch is optional: tests that need it skip and say so. This never starts a download of several GB: without a
word from the user it takes only a wheel that pip's own configuration finds on this machine's disk, or one
whose version says that it is a CPU build. Always ends well, in one line; only a torch that the user asked for
by name and that cannot be had is an error.

    python tools/take_torch.py [REQUIREMENT | PATH | none]
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

HOW = 'to add one: make test TORCH="torch==2.13.0", or the path of a wheel (also read from WEIGHBRIDGE_TORCH)'
LOCK = Path(__file__).resolve().parent.parent / "requirements" / "torch.lock"


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)


def find_at_hand() -> str | None:
    """The address of the wheel that pip finds without an index, if it lies on this disk or is a CPU build."""
    flags = ("--dry-run", "--no-deps", "--no-index", "--only-binary=:all:", "--report=-")
    answer = pip("install", *flags, "torch")
    if answer.returncode != 0:
        return None
    chosen = json.loads(answer.stdout)["install"]
    url = str(chosen[0]["download_info"]["url"]) if chosen else ""
    return url if url.startswith("file:") or "cpu" in url.rpartition("/")[2] else None


def install(requirement: str, *flags: str) -> str | None:
    """Install torch and what it needs; the last line of pip's complaint when that fails."""
    for arguments in (("--require-hashes", "--requirement", str(LOCK)), (*flags, requirement)):
        answer = pip("install", *arguments)
        if answer.returncode != 0:
            return (answer.stderr.strip() or "pip gave no reason").splitlines()[-1]
    return None


def main(asked: str) -> int:
    if asked == "none":
        print("torch: left out, as asked; tests that need it skip")
        return 0
    if asked:
        reason = install(asked)
        print(f"torch: {asked} " + ("is there" if reason is None else f"cannot be installed: {reason}"))
        return 0 if reason is None else 1
    if importlib.util.find_spec("torch") is not None:
        print("torch: already there")
        return 0
    url = find_at_hand()
    reason = install(url, "--no-deps") if url else "pip finds no CPU build on this machine"
    print("torch: a CPU build was at hand" if reason is None else f"torch: {reason}; {HOW}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1].strip() if len(sys.argv) > 1 else ""))
