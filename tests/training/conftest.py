"""The tests of training import `training`, which is not installed, from the root of the repository."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Two threads on a busy machine wait for each other."""
    torch.set_num_threads(1)
