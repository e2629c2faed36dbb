"""The tests of this folder need the package built; this one is skipped, visibly, where it is not."""

from __future__ import annotations

import pytest


def test_the_interfaces_are_built() -> None:
    action = pytest.importorskip("neurok_ros.action", reason="the package is not built: make setup, source .venv/ros_env.sh")
    assert action.PredictDeformation.Result.NODE_INACTIVE == 17
