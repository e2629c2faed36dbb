"""Clocks that jump, publishers that do not match, cameras that fall silent."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticStatus
from harness import Client, NodeProcess, wait_until
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from scene import cloud, goal, world_arguments
from sensor_msgs.msg import PointCloud2

from neurok_ros.action import PredictDeformation

Result = PredictDeformation.Result


@pytest.fixture(scope="module")
def node() -> Iterator[NodeProcess]:
    """A node on simulated time that asks for reliable clouds."""
    process = NodeProcess(
        *world_arguments(), "-p", "use_sim_time:=true", "-p", "cloud_timeout_s:=2.0", "-p", "cloud_reliability:=reliable"
    )
    yield process
    assert process.stop() == 0, process.log()


def tick(client: Client, publisher: object, seconds: int) -> None:
    """Simulated time is `seconds` now, said several times: one message may be lost while publisher and node find each other."""
    message = Clock()
    message.clock.sec = seconds
    for _ in range(5):
        publisher.publish(message)  # type: ignore[attr-defined]
        time.sleep(0.1)


def test_when_time_jumps_back_the_cached_cloud_is_dropped(client: Client) -> None:
    clock = client.node.create_publisher(Clock, "/clock", 1)
    wait_until(lambda: clock.get_subscription_count() > 0, "the node to listen to the clock")
    tick(client, clock, 100)
    client.show(cloud(stamp=100.0))
    assert client.ask(goal())[0] == GoalStatus.STATUS_SUCCEEDED
    tick(client, clock, 10)
    wait_until(lambda: client.value("clouds", "time jumps back") == "1", "the jump in diagnostics")
    assert client.ask(goal())[1].error_code == Result.NO_SCAN
    client.show(cloud(stamp=10.0))
    assert client.ask(goal())[0] == GoalStatus.STATUS_SUCCEEDED


def test_simulated_time_that_runs_fast_kills_no_goal(client: Client) -> None:
    """A goal that outlives result_timeout on the simulated clock still ends, and the node takes the next one."""
    clock = client.node.create_publisher(Clock, "/clock", 1)
    client.show(cloud(stamp=11.0))
    handle = client.send(goal())
    tick(client, clock, 1_000_000)
    status, _ = client.result(handle)
    assert status in (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_UNKNOWN)
    tick(client, clock, 2_000_000)
    assert client.ask(goal())[0] == GoalStatus.STATUS_SUCCEEDED


def test_a_camera_that_falls_silent_is_a_warning(client: Client) -> None:
    client.show(cloud())
    wait_until(lambda: client.status("clouds").level == DiagnosticStatus.OK, "a good status")
    wait_until(lambda: client.status("clouds").level == DiagnosticStatus.WARN, "a warning")
    assert "no cloud on /points for 2 s" in client.status("clouds").message


def test_a_publisher_with_incompatible_qos_is_named(client: Client) -> None:
    publisher = client.node.create_publisher(
        PointCloud2, "points", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    )
    wait_until(lambda: "RELIABILITY" in client.status("clouds").message, "the policy in diagnostics")
    assert "cloud_reliability" in client.status("clouds").message
    client.node.destroy_publisher(publisher)
