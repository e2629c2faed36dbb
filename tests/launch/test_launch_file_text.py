"""What can be seen of the launch file without the launch package: its arguments, and what the docs say of them."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def calls(source: Path, name: str) -> list[ast.Call]:
    found = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call)]
    return [call for call in found if isinstance(call.func, ast.Name) and call.func.id == name]


def first_argument(call: ast.Call) -> str:
    assert isinstance(call.args[0], ast.Constant)
    return str(call.args[0].value)


@pytest.fixture
def declared(launch_file: Path) -> dict[str, dict[str, ast.expr]]:
    declarations = calls(launch_file, "DeclareLaunchArgument")
    return {first_argument(call): {str(each.arg): each.value for each in call.keywords} for call in declarations}


def test_the_promised_arguments_are_there_with_description_and_default(declared: dict[str, dict[str, ast.expr]]) -> None:
    promised = {"cloud_topic", "params_file", "namespace", "use_sim_time", "rviz", "device", "log_level", "respawn"}
    assert promised <= set(declared)
    for name, settings in declared.items():
        assert "default_value" in settings, name
        assert len(ast.unparse(settings["description"])) > 20, name


def test_no_argument_is_read_that_is_not_declared(launch_file: Path, declared: dict[str, dict[str, ast.expr]]) -> None:
    read = {first_argument(call) for call in calls(launch_file, "LaunchConfiguration") if isinstance(call.args[0], ast.Constant)}
    read |= {ast.literal_eval(call.args[1]) for call in calls(launch_file, "_given")}
    assert read == set(declared)


def test_device_may_be_what_the_parameter_may_be(declared: dict[str, dict[str, ast.expr]]) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: source .venv/ros_env.sh")
    from neurok_ros.nodes.parameters import NodeParameters

    (device,) = [each for each in fields(NodeParameters) if each.name == "device"]
    assert set(ast.literal_eval(declared["device"]["choices"])) == {"", *device.metadata["choices"]}


def test_the_docs_list_the_same_arguments(declared: dict[str, dict[str, ast.expr]]) -> None:
    table = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "launch.md").read_text(), flags=re.MULTILINE)
    assert table == list(declared)
