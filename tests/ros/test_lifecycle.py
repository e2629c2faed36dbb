"""States, signals, parameters and names."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from action_msgs.msg import GoalStatus
from harness import Client, NodeProcess, wait_until
from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.qos import QoSProfile, ReliabilityPolicy
from scene import cloud, goal, render, world_arguments
from sensor_msgs.msg import PointCloud2

from neurok_ros.action import PredictDeformation
from neurok_ros.srv import ReconstructObject

Result = PredictDeformation.Result


@contextmanager
def running(*ros_args: str, namespace: str = "") -> Iterator[tuple[NodeProcess, Client]]:
    """A node with these arguments and its client."""
    process = NodeProcess(*world_arguments(), *ros_args)
    client = Client(process.domain, namespace)
    try:
        yield process, client
    finally:
        client.close()
        if process.alive:
            assert process.stop() == 0, process.log()


def test_a_life_from_unconfigured_to_finalized() -> None:
    with running("-p", "autostart:=false") as (process, client):
        client.wait_for_state("unconfigured")
        assert not client.change_state(Transition.TRANSITION_ACTIVATE), "an invalid transition is refused"
        assert client.state() == "unconfigured"

        assert client.change_state(Transition.TRANSITION_CONFIGURE)
        assert not client.send(goal()).accepted, "goals are rejected while inactive"
        answer = client.call(ReconstructObject, "reconstruct")
        assert answer.error_code == Result.NODE_INACTIVE

        assert client.change_state(Transition.TRANSITION_ACTIVATE)
        client.show(cloud())
        handle = client.send(goal(horizon=60.0, frame_rate=1.0))
        client.wait_for_stage("simulating")
        waiting = client.send(goal())
        assert client.change_state(Transition.TRANSITION_DEACTIVATE)
        for each in (handle, waiting):
            status, result = client.result(each)
            assert status == GoalStatus.STATUS_ABORTED
            assert result.error_code == Result.NODE_INACTIVE
        assert not client.send(goal()).accepted

        assert client.change_state(Transition.TRANSITION_ACTIVATE)
        assert client.ask(goal())[1].error_code == Result.NO_SCAN, "clouds from before are not kept"
        client.show(cloud())
        status, result = client.ask(goal())
        assert status == GoalStatus.STATUS_SUCCEEDED, result.message

        assert client.change_state(Transition.TRANSITION_DEACTIVATE)
        assert client.change_state(Transition.TRANSITION_CLEANUP)
        assert process.children() == [], "cleanup ends the reconstruction process"
        assert client.change_state(Transition.TRANSITION_CONFIGURE)
        assert client.change_state(Transition.TRANSITION_INACTIVE_SHUTDOWN)
        assert client.state() == "finalized"
        assert process.stop() == 0
        assert "Traceback" not in process.log()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_a_goal_aborts_it_with_a_code_and_ends_cleanly(number: int) -> None:
    with running() as (process, client):
        client.wait_for_state("active")
        client.show(cloud())
        handle = client.send(goal(horizon=60.0, frame_rate=1.0))
        future = handle.get_result_async()
        client.wait_for_stage("simulating")
        children = process.children()
        assert process.stop(number) == 0
        assert client.wait(future).result.error_code == Result.NODE_INACTIVE
        assert not [pid for pid in children if Path(f"/proc/{pid}").exists()], "no process is left behind"
        assert "Traceback" not in process.log()


def test_a_signal_that_comes_twice_is_one_request() -> None:
    """As when a launch and its process group are interrupted together."""
    with running() as (process, client):
        client.wait_for_state("active")
        process.process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        assert process.stop(signal.SIGINT) == 0


def test_a_parameter_file_counts_under_a_namespace(tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    density: 321.0\n    completion: hull\n    autostart: true\n    goal_queue_size: 0\n"
    )
    with running("-r", "__ns:=/robot_1", "--params-file", str(file), namespace="robot_1") as (_, client):
        client.wait_for_state("active")
        values = client.call(
            GetParameters, "neurok/get_parameters", GetParameters.Request(names=["density", "completion", "goal_queue_size"])
        ).values
        assert values[0].double_value == 321.0
        assert values[1].string_value == "hull"
        client.show(cloud())
        first = client.send(goal(horizon=60.0, frame_rate=1.0))
        assert first.accepted
        assert not client.send(goal()).accepted, "goal_queue_size is 0"
        client.cancel(first)
        assert client.result(first)[0] == GoalStatus.STATUS_CANCELED

        names = client.call(ListParameters, "neurok/list_parameters").result.names
        own = [name for name in names if name not in ("use_sim_time", "start_type_description_service") and "." not in name]
        described = client.call(
            DescribeParameters, "neurok/describe_parameters", DescribeParameters.Request(names=own)
        ).descriptors
        assert len(described) > 25
        assert all(each.description for each in described), "every parameter says what it is for"

        wrong = Parameter(name="completion", value=ParameterValue(type=ParameterType.PARAMETER_STRING, string_value="magic"))
        (answer,) = client.call(SetParameters, "neurok/set_parameters", SetParameters.Request(parameters=[wrong])).results
        assert not answer.successful
        assert "completion" in answer.reason
        topics = [name for name, _ in client.node.get_topic_names_and_types()]
        assert {"/robot_1/points", "/robot_1/object_mesh", "/robot_1/motion_markers"} <= set(topics)


def test_the_subscription_is_as_reliable_as_every_publisher_is() -> None:
    with running() as (_, client):
        client.wait_for_state("active")
        reliability = "reliability asked for"
        wait_until(lambda: client.value("clouds", reliability) == "reliable", "a reliable subscription")
        client.show(cloud())
        best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        publisher = client.node.create_publisher(PointCloud2, "points", best_effort)
        wait_until(lambda: client.value("clouds", reliability) == "best_effort", "a best-effort subscription")
        small = cloud(render()[::3, ::3])
        before = int(client.value("clouds", "received"))

        def received() -> bool:
            publisher.publish(small)
            time.sleep(0.2)
            return int(client.value("clouds", "received")) > before

        wait_until(received, "a cloud from the best-effort publisher")
        client.node.destroy_publisher(publisher)
        wait_until(lambda: client.value("clouds", reliability) == "reliable", "a reliable subscription again")
        client.show(cloud())


@pytest.mark.parametrize(
    ("argument", "named"),
    [("completion:=magic", "completion"), ("density:=-1.0", "density"), ("density:=heavy", "density"), ("up:=[0.0, 1.0]", "up")],
)
def test_a_wrong_parameter_ends_the_node_with_its_name(argument: str, named: str) -> None:
    process = NodeProcess("-p", argument)
    assert process.process.wait(30.0) == 1
    assert named in process.log()
    assert "Traceback" not in process.log()
