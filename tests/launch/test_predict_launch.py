"""predict.launch.py brought up by the real launch and launch_ros, with the real node over real DDS."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

launch_pytest = pytest.importorskip("launch_pytest", reason="launch_pytest comes with a ROS installation, not with PyPI")
rclpy = pytest.importorskip("rclpy", reason="needs ROS 2: source .venv/ros_env.sh")

from launch.actions import (  # noqa: E402
    IncludeLaunchDescription,
    RegisterEventHandler,
    SetEnvironmentVariable,
)
from launch.event_handlers import OnProcessExit, OnProcessIO, OnProcessStart  # noqa: E402
from launch.launch_description_sources import PythonLaunchDescriptionSource  # noqa: E402
from lifecycle_msgs.msg import State  # noqa: E402
from lifecycle_msgs.srv import GetState  # noqa: E402
from rcl_interfaces.msg import ParameterType  # noqa: E402
from rcl_interfaces.srv import GetParameters  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402

from launch import LaunchDescription, LaunchService  # noqa: E402

PATIENCE = 60.0
"""Seconds in which the node must be up: it imports torch and starts a process that imports open3d, on a busy machine."""

PARAMETERS = """/**:
  ros__parameters:
    min_points: 321
    use_sim_time: true
    planning_frame: table
    device: cpu
"""
RVIZ = """#!/bin/sh
echo "$@" > "$RVIZ_ARGUMENTS"
"""


class Processes:
    """What launch reports of the processes it started."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.started: list[tuple[str, int]] = []
        self.exit_codes: list[tuple[str, int]] = []
        self.output = b""

    def handlers(self) -> list[RegisterEventHandler]:
        return [
            RegisterEventHandler(OnProcessStart(on_start=self._on_start)),
            RegisterEventHandler(OnProcessExit(on_exit=self._on_exit)),
            RegisterEventHandler(OnProcessIO(on_stdout=self._on_output, on_stderr=self._on_output)),
        ]

    def nodes(self) -> list[int]:
        return [pid for name, pid in self.started if name.startswith("prediction_node")]

    def node_exit_codes(self) -> list[int]:
        return [code for name, code in self.exit_codes if name.startswith("prediction_node")]

    def wait_for(self, condition: Callable[[], Any]) -> None:
        with self._changed:
            assert self._changed.wait_for(condition, PATIENCE), self.output.decode(errors="replace")

    def _on_start(self, event: Any, _context: Any) -> None:
        with self._changed:
            self.started.append((event.process_name, event.pid))
            self._changed.notify_all()

    def _on_exit(self, event: Any, _context: Any) -> None:
        with self._changed:
            self.exit_codes.append((event.process_name, event.returncode))
            self._changed.notify_all()

    def _on_output(self, event: Any) -> None:
        with self._changed:
            self.output += event.text


class Observer:
    """A node that looks at another one from outside."""

    def __init__(self, domain: int, name: str) -> None:
        self.name = name
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._executor = SingleThreadedExecutor(context=self._context)
        self.node = Node("observer", context=self._context)
        self._executor.add_node(self.node)

    def close(self) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)

    def call(self, kind: Any, service: str, request: Any) -> Any:
        client = self.node.create_client(kind, f"{self.name}/{service}")
        try:
            assert client.wait_for_service(PATIENCE), f"no service {self.name}/{service}"
            future = client.call_async(request)
            self._executor.spin_until_future_complete(future, timeout_sec=2.0)
            return future.result() if future.done() else None
        finally:
            self.node.destroy_client(client)

    def wait_until_active(self) -> None:
        expiry = time.monotonic() + PATIENCE
        answer = None
        while time.monotonic() < expiry:
            # None: asked a process that was killed, whose service was still remembered.
            answer = self.call(GetState, "get_state", GetState.Request())
            if answer is not None and answer.current_state.id == State.PRIMARY_STATE_ACTIVE:
                return
            time.sleep(0.1)
        pytest.fail(f"not active but {answer}")

    def parameters(self, names: list[str]) -> list[Any]:
        values = self.call(GetParameters, "get_parameters", GetParameters.Request(names=names)).values
        fields = {
            ParameterType.PARAMETER_BOOL: "bool_value",
            ParameterType.PARAMETER_INTEGER: "integer_value",
            ParameterType.PARAMETER_STRING: "string_value",
        }
        return [getattr(value, fields[value.type]) for value in values]


def include(launch_file: Path, domain: int, arguments: dict[str, str]) -> list[Any]:
    source = PythonLaunchDescriptionSource(str(launch_file))
    return [
        SetEnvironmentVariable("ROS_DOMAIN_ID", str(domain)),
        IncludeLaunchDescription(source, launch_arguments=list(arguments.items())),
    ]


def children_of(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    direct = [child for child, parent in parents.items() if parent == pid]
    return direct + [each for child in direct for each in children_of(child)]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest.fixture
def parameter_file_with_values(tmp_path: Path) -> Path:
    path = tmp_path / "parameters.yaml"
    path.write_text(PARAMETERS)
    return path


@pytest.fixture
def rviz_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package rviz2 found before any other, whose program only writes down how it was called."""
    marker = tmp_path / "prefix" / "share" / "ament_index" / "resource_index" / "packages" / "rviz2"
    program = tmp_path / "prefix" / "lib" / "rviz2" / "rviz2"
    for path, text in ((marker, ""), (program, RVIZ)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'prefix'}{os.pathsep}{os.environ['AMENT_PREFIX_PATH']}")
    monkeypatch.setenv("RVIZ_ARGUMENTS", str(tmp_path / "rviz_arguments"))
    return tmp_path / "rviz_arguments"


@launch_pytest.fixture
def in_a_namespace(
    launch_file: Path, domain: int, processes: Processes, parameter_file_with_values: Path, rviz_arguments: Path
) -> LaunchDescription:
    arguments = {
        "namespace": "robot1/arm",
        "cloud_topic": "/camera/points",
        "params_file": str(parameter_file_with_values),
        "use_sim_time": "False",
        "planning_frame": "base_link",
        "rviz": "true",
    }
    return LaunchDescription([*processes.handlers(), *include(launch_file, domain, arguments)])


@launch_pytest.fixture
def by_parameter_file(
    launch_file: Path, domain: int, processes: Processes, parameter_file_with_values: Path
) -> LaunchDescription:
    arguments = {"params_file": str(parameter_file_with_values)}
    return LaunchDescription([*processes.handlers(), *include(launch_file, domain, arguments)])


@pytest.mark.launch(fixture=in_a_namespace)
def test_active_in_its_namespace_with_its_parameters_and_topics(
    domain: int, processes: Processes, rviz_arguments: Path, rviz_file: Path
) -> Iterator[None]:
    observer = Observer(domain, "/robot1/arm/neurok")
    try:
        observer.wait_until_active()
        # The file's value; the arguments' values before the file's, the boolean as a boolean; the file's again.
        names = ["min_points", "use_sim_time", "planning_frame", "device"]
        assert observer.parameters(names) == [321, False, "base_link", "cpu"]
        subscribed = dict(observer.node.get_subscriber_names_and_types_by_node("neurok", "/robot1/arm"))
        assert subscribed["/camera/points"] == ["sensor_msgs/msg/PointCloud2"]
        services = dict(observer.node.get_service_names_and_types_by_node("neurok", "/robot1/arm"))
        assert services["/robot1/arm/predict_deformation/_action/send_goal"] == ["neurok_ros/action/PredictDeformation_SendGoal"]
    finally:
        observer.close()
    processes.wait_for(lambda: any(name.startswith("rviz2") for name, _ in processes.exit_codes))
    words = rviz_arguments.read_text().split()
    assert words[words.index("--fixed-frame") + 1] == "base_link"
    config = Path(words[words.index("--display-config") + 1])
    assert config.read_text() == rviz_file.read_text()
    assert {"__ns:=/robot1/arm", "points:=/camera/points"} <= set(words)
    yield
    # Launch has sent SIGINT by now.
    assert processes.node_exit_codes() == [0], processes.output.decode(errors="replace")


@pytest.mark.launch(fixture=by_parameter_file)
def test_a_killed_node_comes_back_and_leaves_no_process(domain: int, processes: Processes) -> Iterator[None]:
    observer = Observer(domain, "/neurok")
    try:
        observer.wait_until_active()
        (first,) = processes.nodes()
        helpers = children_of(first)
        assert helpers, "no reconstruction process to look at"
        os.kill(first, signal.SIGKILL)
        processes.wait_for(lambda: len(processes.nodes()) == 2)
        observer.wait_until_active()
        # Started again with the same file; the arguments that were left empty do not override it.
        names = ["min_points", "use_sim_time", "planning_frame", "device"]
        assert observer.parameters(names) == [321, True, "table", "cpu"]
        assert [pid for pid in helpers if alive(pid)] == []
    finally:
        observer.close()
    second_helpers = children_of(processes.nodes()[1])
    yield
    assert processes.node_exit_codes() == [-signal.SIGKILL, 0], processes.output.decode(errors="replace")
    assert [pid for pid in second_helpers if alive(pid)] == []


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("use_sim_time", "maybe"),
        ("rviz", "yes"),
        ("respawn", "2"),
        ("device", "tpu"),
        ("log_level", "loud"),
        ("params_file", "/no/file"),
    ],
)
def test_a_wrong_argument_ends_the_launch_before_anything_starts(
    launch_file: Path, domain: int, argument: str, value: str
) -> None:
    processes = Processes()
    service = LaunchService(noninteractive=True)
    service.include_launch_description(
        LaunchDescription([*processes.handlers(), *include(launch_file, domain, {argument: value})])
    )
    assert service.run() == 1
    assert processes.started == []
