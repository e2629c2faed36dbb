from __future__ import annotations

from pathlib import Path

import pytest

SCANS = Path(__file__).resolve().parents[2].parent / "shared" / "scans"


@pytest.fixture(scope="session")
def scans() -> Path:
    """The folder of real scans beside the repository."""
    if not SCANS.is_dir():
        pytest.skip(f"no real scans at {SCANS}")
    return SCANS
