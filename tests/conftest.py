"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A slow machine is no failed property: no test here depends on how long it takes.
settings.register_profile(
    "weighbridge", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("weighbridge")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real logs and measured tables, where it is laid beside the checkout (CI has it)."""
    folder = Path(os.environ.get("WEIGHBRIDGE_SHARED", ROOT.parent / "shared"))
    if not (folder / "logs" / "MANIFEST.csv").is_file():
        pytest.skip(f"no shared material at {folder}: set WEIGHBRIDGE_SHARED to run this test")
    return folder
