"""The installed node as a process of its own, and a client that talks to it over DDS."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import rclpy
from ament_index_python.packages import get_package_prefix
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import ChangeState, GetState
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import PointCloud2

from neurok_ros.action import PredictDeformation

T = TypeVar("T")

RELIABLE = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
PATIENCE = 60.0
"""Seconds before a test gives up waiting; nothing is measured by it."""
CAMERA_PERIOD = 2.0
"""Seconds between two clouds; longer than the period of the diagnostics that tell of them."""


def wait_until(condition: Callable[[], T], what: str, timeout: float = PATIENCE) -> T:
    """What `condition` returns as soon as that is true."""
    give_up = time.monotonic() + timeout
    while time.monotonic() < give_up:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {timeout:g} s in vain for {what}")


class NodeProcess:
    """`prediction_node` with these ROS arguments in a DDS domain of its own."""

    def __init__(self, *ros_args: str) -> None:
        self.domain = random.randint(1, 100)
        environment = {**os.environ, "ROS_DOMAIN_ID": str(self.domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        environment.update(PYTHONUNBUFFERED="1", OMP_NUM_THREADS="1", RCUTILS_LOGGING_USE_STDOUT="1")
        self._log = tempfile.NamedTemporaryFile("w+", prefix="neurok_node_", suffix=".log")  # noqa: SIM115
        executable = Path(get_package_prefix("neurok_ros"), "lib", "neurok_ros", "prediction_node")
        self.process = subprocess.Popen(
            [str(executable), "--ros-args", *ros_args], env=environment, stdout=self._log, stderr=subprocess.STDOUT
        )

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def log(self) -> str:
        """Everything the process has printed."""
        return Path(self._log.name).read_text()

    def children(self) -> list[int]:
        """Process ids of all descendants."""
        found, stack = [], [self.process.pid]
        while stack:
            pid = stack.pop()
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                below = [int(each) for each in task.read_text().split()]
                found += below
                stack += below
        return found

    def stop(self, number: int = signal.SIGINT, timeout: float = 20.0) -> int:
        """Sends a signal and returns the exit status; the log is shown where it did not end by itself."""
        if self.alive:
            self.process.send_signal(number)
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"the node did not end within {timeout:g} s:\n{self.log()}") from None


class Client:
    """A planner, an operator and a camera in one: everything a test says to the node and hears from it."""

    def __init__(self, domain: int, namespace: str = "") -> None:
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self.node = rclpy.create_node("test_client", context=self._context, namespace=namespace)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._action = ActionClient(self.node, PredictDeformation, "predict_deformation")
        self._camera = self.node.create_publisher(PointCloud2, "points", RELIABLE)
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)
        self.feedback: list[Any] = []
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leaves the domain."""
        rclpy.shutdown(context=self._context)
        self._thread.join(5.0)

    # --- goals --------------------------------------------------------------------------------------------

    def send(self, goal: PredictDeformation.Goal) -> Any:
        """The handle of a goal that was sent, accepted or not."""
        assert self._action.wait_for_server(PATIENCE), "no action server"
        self.feedback = []
        return self.wait(self._action.send_goal_async(goal, feedback_callback=lambda each: self.feedback.append(each.feedback)))

    def result(self, handle: Any) -> tuple[int, Any]:
        """Status and result of an accepted goal."""
        assert handle.accepted, "the goal was rejected"
        response = self.wait(handle.get_result_async())
        return response.status, response.result

    def ask(self, goal: PredictDeformation.Goal) -> tuple[int, Any]:
        """Sends a goal and waits for its status and result."""
        return self.result(self.send(goal))

    def cancel(self, handle: Any) -> Any:
        """The response to a cancel request."""
        return self.wait(handle.cancel_goal_async())

    def wait_for_stage(self, stage: str) -> None:
        """Waits for feedback that names this stage."""
        wait_until(lambda: any(each.stage == stage for each in self.feedback), f"feedback from the stage {stage}")

    # --- clouds and diagnostics ---------------------------------------------------------------------------

    def show(self, cloud: PointCloud2) -> None:
        """Publishes a cloud like a camera, again and again, until the node says that it has received it.

        The node may subscribe anew at that moment, to suit the camera's reliability.
        """
        wait_until(lambda: self._camera.get_subscription_count() > 0, "a subscription to the clouds")
        before = int(self.value("clouds", "received"))
        give_up = time.monotonic() + PATIENCE
        while time.monotonic() < give_up:
            self._camera.publish(cloud)
            again = time.monotonic() + CAMERA_PERIOD
            while time.monotonic() < again:
                if int(self.value("clouds", "received")) > before:
                    return
                time.sleep(0.02)
        raise AssertionError("the node received no cloud")

    def status(self, which: str) -> DiagnosticStatus:
        """The newest diagnostic status of this name."""
        return wait_until(
            lambda: next((each for name, each in self.diagnostics.items() if name.endswith(f": {which}")), None),
            f"diagnostics of {which}",
        )

    def value(self, which: str, key: str) -> str:
        """A value of that status; "0" where it has none."""
        return next((pair.value for pair in self.status(which).values if pair.key == key), "0")

    # --- services -----------------------------------------------------------------------------------------

    def call(self, kind: Any, name: str, request: Any = None) -> Any:
        """The response of a service."""
        client = self.node.create_client(kind, name)
        assert client.wait_for_service(PATIENCE), f"no service {name}"
        response = self.wait(client.call_async(kind.Request() if request is None else request))
        self.node.destroy_client(client)
        return response

    def change_state(self, transition: int) -> bool:
        """Whether a lifecycle transition succeeded."""
        request = ChangeState.Request()
        request.transition.id = transition
        return bool(self.call(ChangeState, "neurok/change_state", request).success)

    def state(self) -> str:
        """The lifecycle state's label."""
        return str(self.call(GetState, "neurok/get_state").current_state.label)

    def wait_for_state(self, label: str) -> None:
        """Waits until the node is in this lifecycle state."""
        wait_until(lambda: self.state() == label, f"the state {label}")

    def hear(self, kind: Any, topic: str, qos: QoSProfile = LATCHED) -> list[Any]:
        """A list that grows with every message on this topic."""
        heard: list[Any] = []
        self.node.create_subscription(kind, topic, heard.append, qos)
        return heard

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        self.diagnostics = {**self.diagnostics, **{status.name: status for status in message.status}}

    def wait(self, future: Any) -> Any:
        """What a future holds once it is done."""
        wait_until(future.done, "an answer of the node")
        return future.result()

    def _spin(self) -> None:
        try:
            while self._context.ok():
                self._executor.spin_once(timeout_sec=0.5)
        except ExternalShutdownException:
            pass
