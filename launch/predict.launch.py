"""Starts the prediction node, and RViz where asked for.

`ros2 launch neurok_ros predict.launch.py --show-args` lists the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity

CONFIG = Path(get_package_share_directory("neurok_ros"), "config")
BOOLEANS = ["true", "false", "True", "False"]
STOP_TIMEOUT = "15"
"""Seconds that the node has after SIGINT: it ends its goals (10 s at most), its threads and its process."""
RESPAWN_DELAY = 2.0
"""Seconds between the end of the node and its next start."""

ARGUMENTS = [
    DeclareLaunchArgument(
        "cloud_topic",
        default_value="points",
        description="Topic of the scans (sensor_msgs/PointCloud2); inside the namespace unless it starts with a slash.",
    ),
    DeclareLaunchArgument(
        "params_file",
        default_value=str(CONFIG / "neurok.yaml"),
        description="YAML file with the node's parameters, below /**: or the node's full name.",
    ),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node, its topics, services and action."),
    DeclareLaunchArgument(
        "use_sim_time",
        default_value="",
        choices=["", *BOOLEANS],
        description="Take the time from /clock; empty: as in params_file, which is false where it says nothing.",
    ),
    DeclareLaunchArgument(
        "device",
        default_value="",
        choices=["", "auto", "cpu", "cuda"],
        description="Where torch computes; empty: as in params_file.",
    ),
    DeclareLaunchArgument(
        "planning_frame",
        default_value="",
        description="Frame of pushes and predicted motions, and RViz's fixed frame; empty: as in params_file.",
    ),
    DeclareLaunchArgument(
        "rviz", default_value="false", choices=BOOLEANS, description="Start RViz with the configuration of this package."
    ),
    DeclareLaunchArgument(
        "log_level",
        default_value="info",
        choices=["debug", "info", "warn", "error", "fatal"],
        description="Least severe log messages of the node that are shown.",
    ),
    DeclareLaunchArgument(
        "respawn",
        default_value="true",
        choices=BOOLEANS,
        description=f"Start the node again {RESPAWN_DELAY:g} s after it has died.",
    ),
]


def generate_launch_description() -> LaunchDescription:
    """The description that `ros2 launch` asks for."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=start)])


def start(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """The node and RViz, from the values of the arguments.

    The node brings itself up (parameter `autostart`), because no launch action does that on every distribution and after
    each respawn: LifecycleNode has an autostart of its own only from Kilted on, and on none of them watches a process
    that was started again.
    """
    params_file = Path(LaunchConfiguration("params_file").perform(context))
    if not params_file.is_file():
        raise RuntimeError(f"params_file: there is no file {params_file}")
    cloud_topic, namespace = LaunchConfiguration("cloud_topic"), LaunchConfiguration("namespace")
    clock = _given(context, "use_sim_time", bool)
    frame = LaunchConfiguration("planning_frame").perform(context) or planning_frame(params_file)
    node = Node(
        package="neurok_ros",
        executable="prediction_node",
        name="neurok",
        namespace=namespace,
        parameters=[str(params_file), clock | _given(context, "device", str) | _given(context, "planning_frame", str)],
        remappings=[("points", cloud_topic)],
        ros_arguments=["--log-level", LaunchConfiguration("log_level")],
        output="screen",
        sigterm_timeout=STOP_TIMEOUT,
        respawn=LaunchConfiguration("respawn"),
        respawn_delay=RESPAWN_DELAY,
    )
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        name="rviz",
        namespace=namespace,
        arguments=["--display-config", str(CONFIG / "neurok.rviz"), *(["--fixed-frame", frame] if frame else [])],
        parameters=[clock],
        remappings=[("points", cloud_topic)],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    hint = LogInfo(
        msg="RViz cannot know the cloud's frame: choose it as Fixed Frame, or launch with planning_frame:=FRAME",
        condition=IfCondition("false" if frame else LaunchConfiguration("rviz")),
    )
    return [node, rviz, hint]


def planning_frame(params_file: Path) -> str:
    """The first planning frame that a parameter file sets; empty where it sets none."""
    sets = _parameter_sets(yaml.safe_load(params_file.read_text()))
    return next((frame for parameters in sets if (frame := str(parameters.get("planning_frame", "")))), "")


def _parameter_sets(tree: Any) -> Iterator[Mapping[str, Any]]:
    if not isinstance(tree, Mapping):
        return
    for key, below in tree.items():
        if key == "ros__parameters":
            yield below
        else:
            yield from _parameter_sets(below)


def _given(context: LaunchContext, name: str, kind: type) -> dict[str, ParameterValue]:
    """The parameter of that name where the argument of that name is not empty; a parameter file's value stands otherwise."""
    value = LaunchConfiguration(name)
    return {name: ParameterValue(value, value_type=kind)} if value.perform(context) else {}
