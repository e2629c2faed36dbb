"""The node's parameters: what each is for, what it may be, and whether all of them together make sense."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.prediction.types import PhysicalProperties
from neurok_ros.reconstruction.types import MeshOptions, SegmentationOptions

Triple = tuple[float, float, float]


def _parameter(
    default: Any,
    description: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    size: int = 0,
) -> Any:
    return field(
        default=default,
        metadata={"description": description, "low": low, "high": high, "choices": choices, "size": size},
    )


AT_CONFIGURE = " Takes effect when the node is configured."


@dataclass(frozen=True)
class NodeParameters:
    """Every parameter of the node with its default. The descriptions are what `ros2 param describe` prints."""

    autostart: bool = _parameter(True, "Configure and activate by itself at start, without a lifecycle manager.")
    planning_frame: str = _parameter("", "Frame of meshes, pushes and motions; empty: the frame of the cloud.")
    static_transform: tuple[float, ...] = _parameter(
        (0.0,) * 7,
        "Pose x y z (m), quaternion x y z w of the cloud's frame in the planning frame, used in place of tf2; "
        "an all-zero quaternion: none." + AT_CONFIGURE,
        size=7,
    )
    transform_timeout_s: float = _parameter(0.5, "How long a goal waits for a transform, s.", 0.0, 60.0)
    up: tuple[float, ...] = _parameter(
        (0.0, 0.0, 0.0), "Upward direction in the planning frame; zero: the normal of the support plane.", size=3
    )

    cloud_reliability: str = _parameter(
        "auto",
        "Reliability asked of the cloud's publishers; auto: reliable as long as every publisher is." + AT_CONFIGURE,
        choices=("auto", "best_effort", "reliable"),
    )
    cloud_timeout_s: float = _parameter(5.0, "Diagnostics warn when no cloud came for this long, s.", 0.1, 3600.0)
    min_points: int = _parameter(100, "Fewer finite points than this are no scan, and no object.", 10, 1_000_000)
    crop_min: tuple[float, ...] = _parameter((0.0, 0.0, 0.0), "Lower corner of the part of the scene to look at, m.", size=3)
    crop_max: tuple[float, ...] = _parameter(
        (0.0, 0.0, 0.0), "Upper corner of that part, m, in the planning frame; equal corners: all of it.", size=3
    )
    max_range: float = _parameter(2.5, "Points farther than this from the camera are dropped, m.", 0.01, 1000.0)
    voxel: float = _parameter(0.003, "Edge of the voxels that clouds are thinned with, m.", 1.0e-4, 0.1)
    plane_tolerance: float = _parameter(0.010, "Points this near to the support plane belong to it, m.", 1.0e-4, 0.1)
    cluster_distance: float = _parameter(0.015, "Points nearer to each other than this are one object, m.", 1.0e-3, 0.5)
    split_touching: bool = _parameter(
        True, "Cut things that touch apart where their surfaces meet in a groove; false for an object with legs of its own."
    )

    vertex_budget: int = _parameter(2000, "Most vertices of an object's mesh.", 100, 20_000)
    poisson_depth: int = _parameter(7, "Depth of the octree that surfaces are reconstructed with.", 4, 10)
    completion: str = _parameter("symmetry", "How the side that no camera saw is guessed.", choices=("symmetry", "hull", "none"))
    reconstruction_timeout_s: float = _parameter(30.0, "Longest reconstruction of a mesh, s.", 1.0, 3600.0)
    reconstruction_memory_mb: int = _parameter(
        4096, "Most memory of the reconstruction process, MB." + AT_CONFIGURE, 512, 1_000_000
    )
    max_objects: int = _parameter(16, "Objects remembered; the one used longest ago is forgotten first.", 1, 1000)

    density: float = _parameter(200.0, "Density where a goal gives none, kg/m^3.", 1.0, 30_000.0)
    youngs_modulus: float = _parameter(1.0e5, "Young's modulus where a goal gives none, Pa.", 1.0e3, 1.0e12)
    poisson_ratio: float = _parameter(0.3, "Poisson ratio where a goal gives none.", 0.0, 0.49)
    damping: float = _parameter(0.05, "Stiffness-proportional damping time where a goal gives none, s.", 0.0, 10.0)
    friction: float = _parameter(0.5, "Coulomb friction coefficient where a goal gives none.", 0.0, 5.0)
    device: str = _parameter("auto", "Where torch computes.", choices=("auto", "cpu", "cuda"))
    frame_rate: float = _parameter(30.0, "Frames per second of an answer where a goal gives none, 1/s.", 1.0, 240.0)

    goal_queue_size: int = _parameter(
        1, "Goals that may wait while one is being answered; further ones are rejected." + AT_CONFIGURE, 0, 32
    )
    default_deadline_s: float = _parameter(60.0, "Wall-clock time for a goal that sets no deadline, s.", 0.1, 86_400.0)
    max_deadline_s: float = _parameter(
        300.0, "Longest deadline a goal may set, s. Results are kept a minute longer than this." + AT_CONFIGURE, 0.1, 86_400.0
    )
    max_result_mb: float = _parameter(32.0, "Largest motion sent as a result, MB.", 0.1, 1000.0)

    diagnostics_period_s: float = _parameter(1.0, "Seconds between two diagnostics, s." + AT_CONFIGURE, 0.05, 60.0)
    marker_rate_hz: float = _parameter(15.0, "Most motion markers per second, 1/s." + AT_CONFIGURE, 0.1, 60.0)
    marker_max_triangles: int = _parameter(5000, "Most triangles of a marker; larger meshes are shown coarser.", 12, 200_000)

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(each.name, getattr(self, each.name), each.metadata)
        if self.default_deadline_s > self.max_deadline_s:
            raise _invalid("default_deadline_s", f"{self.default_deadline_s} s is longer than max_deadline_s", "Lower it")
        if self.crop_min != self.crop_max and any(a >= b for a, b in zip(self.crop_min, self.crop_max, strict=True)):
            raise _invalid("crop_min", f"{self.crop_min} is not below crop_max {self.crop_max}", "Give lower and upper corner")
        norm = math.hypot(*self.static_transform[3:])
        if norm != 0.0 and abs(norm - 1.0) > 1e-3:
            raise _invalid("static_transform", f"its quaternion has length {norm:.4g}", "Make it 1, or 0 for no transform")

        if norm != 0.0 and not self.planning_frame:
            raise _invalid("planning_frame", "is empty, but static_transform is set", "Name the frame that it leads to")

    def static_pose(self) -> tuple[float, ...] | None:
        """x y z (metres), unit quaternion x y z w; None: no static transform."""
        norm = math.hypot(*self.static_transform[3:])
        return (*self.static_transform[:3], *(value / norm for value in self.static_transform[3:])) if norm else None

    def properties(self) -> PhysicalProperties:
        """The material of objects of which a goal says nothing."""
        return PhysicalProperties(self.density, self.youngs_modulus, self.poisson_ratio, self.damping, self.friction)

    def segmentation(self) -> SegmentationOptions:
        """How scenes are cut into objects."""
        length = math.hypot(*self.up)
        return SegmentationOptions(
            up=_triple(value / length for value in self.up) if length else None,
            crop=None if self.crop_min == self.crop_max else (_triple(self.crop_min), _triple(self.crop_max)),
            max_range=self.max_range,
            voxel=self.voxel,
            plane_tolerance=self.plane_tolerance,
            cluster_distance=self.cluster_distance,
            min_points=self.min_points,
            split_touching=self.split_touching,
        )

    def mesh(self) -> MeshOptions:
        """How objects are meshed."""
        return MeshOptions(self.vertex_budget, self.poisson_depth, self.completion)


def declare_parameters(node: Node) -> None:
    """Declares every parameter with its description, range and default; values from the command line or a file count.

    Warns of values for parameters that do not exist, which ROS itself ignores without a word.

    Raises:
        rclpy.exceptions.InvalidParameterTypeException, InvalidParameterValueException: a value of another type or out of range.
    """
    for each in fields(NodeParameters):
        default = list(each.default) if isinstance(each.default, tuple) else each.default
        node.declare_parameter(each.name, default, _descriptor(each.default, each.metadata))
    for sentence in unknown_parameters(getattr(node, "_parameter_overrides", {}), node.has_parameter):
        node.get_logger().warning(sentence)


def unknown_parameters(given: Iterable[str], known: Callable[[str], bool]) -> list[str]:
    """A sentence for each name that was given and that the node does not know, with the nearest name that it does.

    Args:
        given: names of the values that came from the command line or a file.
        known: whether the node has a parameter of a name.
    """
    names = [each.name for each in fields(NodeParameters)]
    sentences = []
    for name in given:
        if known(name) or name.startswith("qos_overrides."):
            continue
        near = get_close_matches(name, names, 1)
        sentences.append(f"parameter '{name}' is unknown and ignored" + (f"; did you mean '{near[0]}'?" if near else ""))
    return sentences


def read_parameters(node: Node, changes: Mapping[str, Any] | None = None) -> NodeParameters:
    """The parameters as they are now, with `changes` to them by name.

    Raises:
        NeurokError: INVALID_OPTIONS, naming the parameter.
    """
    values = {each.name: node.get_parameter(each.name).value for each in fields(NodeParameters)}
    values.update({name: value for name, value in (changes or {}).items() if name in values})
    return NodeParameters(**{name: _plain(value) for name, value in values.items()})


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | bool | int | float) else tuple(value)


def _triple(values: Any) -> Triple:
    x, y, z = values
    return (x, y, z)


def _invalid(name: str, problem: str, remedy: str) -> NeurokError:
    return NeurokError(ErrorCode.INVALID_OPTIONS, name, problem, remedy)


def _check(name: str, value: Any, metadata: Mapping[str, Any]) -> None:
    numbers = value if isinstance(value, tuple) else (value,)
    if any(isinstance(number, float) and not math.isfinite(number) for number in numbers):
        raise _invalid(name, f"is {value}", "Give finite numbers")
    if metadata["size"] and len(numbers) != metadata["size"]:
        raise _invalid(name, f"has {len(numbers)} numbers", f"Give {metadata['size']}")
    if metadata["choices"] and value not in metadata["choices"]:
        raise _invalid(name, f"is {value!r}", f"Choose one of {', '.join(metadata['choices'])}")
    if metadata["low"] is not None and not metadata["low"] <= value <= metadata["high"]:
        raise _invalid(name, f"is {value}", f"Choose from {metadata['low']} to {metadata['high']}")


def _descriptor(default: Any, metadata: Mapping[str, Any]) -> ParameterDescriptor:
    descriptor = ParameterDescriptor(description=metadata["description"])
    if metadata["choices"]:
        descriptor.additional_constraints = f"one of {', '.join(metadata['choices'])}"
    if metadata["low"] is not None and isinstance(default, float):
        descriptor.floating_point_range = [FloatingPointRange(from_value=metadata["low"], to_value=metadata["high"])]
    elif metadata["low"] is not None:
        descriptor.integer_range = [IntegerRange(from_value=int(metadata["low"]), to_value=int(metadata["high"]))]
    return descriptor
