"""What the launch tests share: where the files are, and a domain of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def launch_file() -> Path:
    return ROOT / "launch" / "predict.launch.py"


@pytest.fixture(scope="session")
def parameter_file() -> Path:
    return ROOT / "config" / "neurok.yaml"


@pytest.fixture(scope="session")
def rviz_file() -> Path:
    return ROOT / "config" / "neurok.rviz"


@pytest.fixture(scope="session")
def domain() -> int:
    """A ROS domain that other test runs on this machine are unlikely to use; from 102 on, Linux hands out the ports."""
    return 1 + os.getpid() % 101
