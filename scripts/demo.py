#!/usr/bin/env python3
"""The whole road over real ROS 2: `make demo`.

Starts the prediction node as a process of its own, plays a recorded scan to it, asks for the object, plans a push on it as a
planner would, sends a PredictDeformation goal, follows its feedback, and leaves a film, pictures, a GLB and the numbers in out/.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DEMO_SCAN = ROOT / "demo" / "plush_bear"
PLUSH = {"youngs_modulus": 2.0e4, "density": 100.0}
"""Pa and kg/m^3, what the bear of the recorded scan is made of; also a fair guess for a soft thing of one's own."""
PATIENCE = 120.0
"""Seconds."""

# A domain of its own, so that the demonstration neither hears nor disturbs a robot on the same network.
os.environ["ROS_DOMAIN_ID"] = str(random.randint(1, 100))
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import rclpy  # noqa: E402
from ament_index_python.packages import get_package_prefix  # noqa: E402
from rclpy.action import ActionClient  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.task import Future  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: E402
from sensor_msgs.msg import PointCloud2  # noqa: E402

from neurok_ros.action import PredictDeformation  # noqa: E402
from neurok_ros.errors import ErrorCode, NeurokError  # noqa: E402
from neurok_ros.msg import PhysicalProperties  # noqa: E402
from neurok_ros.nodes.client import mesh_from_message, motion_from_result, push_message, recorded_cloud  # noqa: E402
from neurok_ros.predict import print_summary, write_results  # noqa: E402
from neurok_ros.prediction.suggested_push import suggest_push  # noqa: E402
from neurok_ros.srv import ReconstructObject  # noqa: E402


@dataclass
class NodeProcess:
    """The installed prediction node, running."""

    process: subprocess.Popen[bytes]
    log: Path

    @staticmethod
    def start(log: Path, parameters: dict[str, str]) -> NodeProcess:
        """Start it with these parameters; what it prints goes to the log."""
        executable = Path(get_package_prefix("neurok_ros"), "lib", "neurok_ros", "prediction_node")
        arguments = [text for name, value in parameters.items() for text in ("-p", f"{name}:={value}")]
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(executable), "--ros-args", *arguments], stdout=output, stderr=subprocess.STDOUT
            )
        return NodeProcess(process, log)

    def stop(self) -> None:
        """End it as Ctrl-C would."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(15.0)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Planner(Node):  # type: ignore[misc]
    """A camera that replays one scan, and a planner that asks about it."""

    def __init__(self, cloud: PointCloud2, process: NodeProcess) -> None:
        super().__init__("demo_planner")
        self._process = process
        self._cloud = cloud
        self._points = self.create_publisher(PointCloud2, "points", 1)
        self.create_timer(1.0, self._play)
        self._reconstruct = self.create_client(ReconstructObject, "reconstruct")
        self._predict = ActionClient(self, PredictDeformation, "predict_deformation")

    def _play(self) -> None:
        self._cloud.header.stamp = self.get_clock().now().to_msg()
        self._points.publish(self._cloud)

    def wait_for_node(self) -> None:
        """Until the node offers its action and has heard a scan."""
        self._until(lambda: self._predict.server_is_ready() and self._reconstruct.service_is_ready(), "the node's action server")

    def object_in_scan(self) -> Any:
        """The ObjectMesh of the largest object in the scan."""
        give_up = time.monotonic() + PATIENCE
        while True:
            answer = self._result(self._reconstruct.call_async(ReconstructObject.Request()))
            if answer.success:
                return answer.object
            if answer.error_code not in (ErrorCode.NO_SCAN, ErrorCode.NODE_INACTIVE) or time.monotonic() > give_up:
                raise NeurokError(ErrorCode(answer.error_code), "reconstruct", answer.message, f"See {self._process.log}")
            time.sleep(0.2)

    def predicted(self, goal: PredictDeformation.Goal, on_feedback: Callable[[Any], None]) -> Any:
        """The result of a goal."""
        handle = self._result(self._predict.send_goal_async(goal, feedback_callback=lambda each: on_feedback(each.feedback)))
        if not handle.accepted:
            raise NeurokError(ErrorCode.NODE_INACTIVE, "goal", "was rejected", f"See {self._process.log}")
        return self._result(handle.get_result_async()).result

    def _result(self, future: Future) -> Any:
        self._until(future.done, "an answer")
        return future.result()

    def _until(self, condition: Callable[[], bool], what: str) -> None:
        give_up = time.monotonic() + PATIENCE
        while not condition():
            if self._process.process.poll() is not None:
                raise NeurokError(ErrorCode.INTERNAL, "node", "the prediction node has died", f"See {self._process.log}")
            if time.monotonic() > give_up:
                raise NeurokError(
                    ErrorCode.DEADLINE_EXCEEDED, "node", f"nothing heard of {what} in {PATIENCE:g} s", f"See {self._process.log}"
                )
            rclpy.spin_once(self, timeout_sec=0.1)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """The demonstration.

    Raises:
        NeurokError: whatever went wrong, on either side.
    """
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    scan = arguments.scan or DEMO_SCAN
    console.print(f"scan: [bold]{scan}[/]", highlight=False)
    cloud = recorded_cloud(scan, arguments.topic)
    # The recorded bear has legs: they are no objects of their own, so touching parts must not be cut apart.
    parameters = {"split_touching": "true" if arguments.scan else "false"}
    process = NodeProcess.start(out / "node.log", parameters)
    rclpy.init()
    try:
        planner = Planner(cloud, process)
        columns = (TextColumn("{task.description:<16}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
        with Progress(*columns, console=console) as progress:
            task = progress.add_task("starting node", total=1.0, note="")
            planner.wait_for_node()
            progress.update(task, description="reconstructing")
            started = time.perf_counter()
            found = planner.object_in_scan()
            stages_ms = {"reconstructing": 1e3 * (time.perf_counter() - started)}
            mesh = mesh_from_message(found)
            push = suggest_push(mesh, depth=arguments.depth, height=arguments.height, force_limit=arguments.force_limit)
            nan = float("nan")
            goal = PredictDeformation.Goal(
                object_id=found.object_id,
                push=push_message(push, mesh.frame),
                properties=PhysicalProperties(**PLUSH, poisson_ratio=nan, damping=nan, friction=nan),
                parameterization=arguments.parameterization,
            )
            result = planner.predicted(
                goal,
                lambda feedback: progress.update(
                    task,
                    description=feedback.stage,
                    completed=feedback.progress,
                    note=f"{feedback.predicted_time:.2f} s predicted",
                ),
            )
            progress.update(task, completed=1.0)
    finally:
        process.stop()
        rclpy.try_shutdown()
    if result.error_code != ErrorCode.NONE:
        console.print(f"[bold red]{ErrorCode(result.error_code).name}[/] {result.message}", highlight=False)
    motion = motion_from_result(result)
    with console.status("drawing"):
        write_results(out, mesh, push, motion, stages_ms | motion.timings_ms)
    print_summary(console, motion, out)


def main() -> int:
    """Command line; 0 if the prediction was made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scan", type=Path, help=".pcd, .ply, .mcap or a rosbag2 folder; default: the recorded plush bear")
    parser.add_argument("--topic", help="the PointCloud2 topic of a bag with several")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    parser.add_argument("--depth", type=float, default=0.35, help="how far the push goes, as a part of the object's extent")
    parser.add_argument("--height", type=float, default=0.75, help="where it touches, as a part of the object's height")
    parser.add_argument("--parameterization", default="auto", help="auto, rigid, modal or neurok")
    parser.add_argument("--force-limit", type=float, default=float("inf"), help="N")
    console = Console()
    try:
        run(parser.parse_args(), console)
    except NeurokError as error:
        console.print(f"[bold red]{error.code.name}[/] {error}", highlight=False)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
