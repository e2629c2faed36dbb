"""Makes the example importable by the tests of this folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from bent_box import Example, bend


@pytest.fixture(scope="session")
def example() -> Example:
    return bend()
