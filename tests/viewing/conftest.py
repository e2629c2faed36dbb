from __future__ import annotations

import pytest
from bent_box import Example, bend


@pytest.fixture(scope="session")
def example() -> Example:
    return bend()
