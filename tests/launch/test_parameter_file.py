"""The shipped parameter file says what the node declares, and rcl reads it as such in any namespace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2: source .venv/ros_env.sh")

from rclpy.context import Context  # noqa: E402
from rclpy.node import Node  # noqa: E402

from neurok_ros.nodes.parameters import NodeParameters, declare_parameters, read_parameters  # noqa: E402


@pytest.fixture
def context(domain: int) -> Iterator[Context]:
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    yield context
    rclpy.shutdown(context=context)


def parameters_read_by_a_node(context: Context, params_file: Path, namespace: str) -> NodeParameters:
    node = Node("neurok", namespace=namespace, context=context, cli_args=["--ros-args", "--params-file", str(params_file)])
    try:
        declare_parameters(node)
        return read_parameters(node)
    finally:
        node.destroy_node()


def values_of(parameter_file: Path) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load(parameter_file.read_text())["/**"]["ros__parameters"]
    return values


def test_every_parameter_stands_in_the_file_with_its_default(parameter_file: Path) -> None:
    defaults = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(NodeParameters()).items()}
    assert values_of(parameter_file) == defaults


def test_every_parameter_of_the_file_has_a_comment(parameter_file: Path) -> None:
    lines = [line.strip() for line in parameter_file.read_text().splitlines()]
    names = values_of(parameter_file)
    for number, line in enumerate(lines):
        if line.split(":")[0] in names:
            above = lines[number - 1]
            assert above.startswith("# ") or (line.startswith("crop_max") and above.startswith("crop_min")), line


@pytest.mark.parametrize("namespace", ["", "/robot1/arm"])
def test_rcl_reads_the_file_with_the_declared_types(context: Context, parameter_file: Path, namespace: str) -> None:
    # Declared types are strict: an integer where a float is declared, or a text where a boolean is, raises here.
    assert parameters_read_by_a_node(context, parameter_file, namespace) == NodeParameters()


def test_a_changed_value_reaches_a_node_in_a_namespace(context: Context, parameter_file: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed.yaml"
    changed.write_text(parameter_file.read_text().replace("min_points: 100", "min_points: 321"))
    assert parameters_read_by_a_node(context, changed, "/robot1/arm").min_points == 321
