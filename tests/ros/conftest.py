"""Real processes over real DDS: the installed node on one side, a client in the test's process on the other."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

HAS_ROS = importlib.util.find_spec("neurok_ros.action") is not None
if HAS_ROS:
    from harness import Client, NodeProcess
    from scene import world_arguments

if TYPE_CHECKING:
    from harness import Client, NodeProcess


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without the built interfaces only the test that says so is left."""
    if HAS_ROS or collection_path.name in ("test_interfaces_are_built.py", "ros"):
        return None
    return True


@pytest.fixture(scope="module")
def node() -> Iterator[NodeProcess]:
    """A node that has brought itself up, shared by the tests of a module."""
    process = NodeProcess(*world_arguments())
    yield process
    assert process.alive, f"the node died:\n{process.log()}"
    assert process.stop() == 0, process.log()


@pytest.fixture(scope="module")
def client(node: NodeProcess) -> Iterator[Client]:
    """A client of that node, which is active."""
    connected = Client(node.domain)
    connected.wait_for_state("active")
    yield connected
    connected.close()
