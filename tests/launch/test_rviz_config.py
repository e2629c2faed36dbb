"""The shipped RViz configuration listens to what the node really offers, with a QoS that fits."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2: source .venv/ros_env.sh")

from ament_index_python.packages import get_package_prefix  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy  # noqa: E402

NAMESPACE = "/robot1"
PATIENCE = 60.0
"""Seconds in which the node must be up: it imports torch and starts a process that imports open3d, on a busy machine."""
MESSAGES = {
    "rviz_default_plugins/PointCloud2": "sensor_msgs/msg/PointCloud2",
    "rviz_default_plugins/Marker": "visualization_msgs/msg/Marker",
    "rviz_default_plugins/MarkerArray": "visualization_msgs/msg/MarkerArray",
}


@pytest.fixture
def displays(rviz_file: Path) -> dict[str, dict[str, Any]]:
    """The displays with a topic, by topic."""
    every = yaml.safe_load(rviz_file.read_text())["Visualization Manager"]["Displays"]
    return {display["Topic"]["Value"]: display for display in every if "Topic" in display}


@pytest.fixture
def active_node(domain: int, parameter_file: Path) -> Iterator[None]:
    program = Path(get_package_prefix("neurok_ros"), "lib", "neurok_ros", "prediction_node")
    arguments = ["--ros-args", "--params-file", str(parameter_file), "-r", f"__ns:={NAMESPACE}"]
    process = subprocess.Popen([str(program), *arguments], env=os.environ | {"ROS_DOMAIN_ID": str(domain)})
    yield
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 0


@pytest.fixture
def observer(domain: int) -> Iterator[Node]:
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    node = Node("observer", context=context)
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    expiry = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < expiry, f"waited in vain for {what}"
        time.sleep(0.1)


def test_every_topic_is_relative_so_that_it_follows_the_namespace(displays: dict[str, dict[str, Any]]) -> None:
    assert [topic for topic in displays if topic.startswith("/")] == []


def test_every_display_has_a_publisher_of_its_type_and_qos(
    active_node: None, observer: Node, displays: dict[str, dict[str, Any]]
) -> None:
    # Clouds come from elsewhere; best effort is what every publisher of them can serve.
    points = displays.pop("points")
    wait_until(lambda: observer.count_subscribers(f"{NAMESPACE}/points") == 1, "the node to listen to points")
    for topic in displays:
        wait_until(lambda topic=topic: observer.count_publishers(f"{NAMESPACE}/{topic}") == 1, f"a publisher on {topic}")
    assert (points["Class"], points["Topic"]["Reliability Policy"]) == ("rviz_default_plugins/PointCloud2", "Best Effort")
    for topic, display in displays.items():
        (publisher,) = observer.get_publishers_info_by_topic(f"{NAMESPACE}/{topic}")
        assert publisher.topic_type == MESSAGES[display["Class"]], topic
        latched = publisher.qos_profile.durability == DurabilityPolicy.TRANSIENT_LOCAL
        # Asking a latched topic for less would lose what was published before RViz came; asking for more gets nothing.
        assert display["Topic"]["Durability Policy"] == ("Transient Local" if latched else "Volatile"), topic
        assert publisher.qos_profile.reliability == ReliabilityPolicy.RELIABLE, topic
        assert display["Topic"]["Reliability Policy"] == "Reliable", topic
    assert set(displays) == {"segmented_cloud", "mesh_marker", "motion_markers"}
