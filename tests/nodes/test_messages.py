"""Messages to arrays and back, and what is said about messages that make no sense."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("neurok_ros.action", reason="the package is not built: make setup, source .venv/ros_env.sh")

from geometry_msgs.msg import Point, Pose, Quaternion
from shape_msgs.msg import SolidPrimitive

from neurok_ros.action import PredictDeformation
from neurok_ros.dynamics.tools import ToolKind, ToolShape
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.msg import GripperPush, PushWaypoint
from neurok_ros.msg import ObjectSelection as ObjectSelectionMessage
from neurok_ros.msg import PhysicalProperties as PhysicalPropertiesMessage
from neurok_ros.nodes import messages
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictedMotion

DEFAULTS = PhysicalProperties(density=300.0, youngs_modulus=2e5, poisson_ratio=0.25, damping=0.01, friction=0.4)


def push(*times: float) -> GripperPush:
    message = GripperPush(tool=SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.1, 0.2, 0.3]))
    for time in times:
        pose = Pose(position=Point(x=time), orientation=Quaternion(w=1.0))
        message.waypoints.append(PushWaypoint(time=time, pose=pose))
    return message


def goal(**fields: object) -> PredictDeformation.Goal:
    message = PredictDeformation.Goal(push=push(0.0, 1.0))
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def motion(frames: int = 4, vertices: int = 5) -> PredictedMotion:
    rng = np.random.default_rng(0)
    return PredictedMotion(
        times=np.arange(frames) / 10.0,
        vertices=rng.normal(size=(frames, vertices, 3)).astype(np.float32),
        tool_poses=np.tile([0.1, 0.2, 0.3, 0.0, 0.0, 0.0, 1.0], (frames, 1)),
        contact_force=rng.normal(size=(frames, 3)),
        penetration=rng.random(frames),
        displacement=rng.random(frames),
        parameterization="rigid",
        parameterization_reason="asked for",
        flags={"tipped": True},
        measures={"tilt_deg": 12.0},
    )


def test_properties_that_are_not_given_are_the_defaults() -> None:
    nan = math.nan
    missing = PhysicalPropertiesMessage(density=nan, youngs_modulus=0.0, poisson_ratio=nan, damping=nan, friction=nan)
    assert messages.properties_from_message(missing, DEFAULTS) == DEFAULTS
    ignored = PhysicalPropertiesMessage(density=-5.0, use_defaults=True)
    assert messages.properties_from_message(ignored, DEFAULTS) == DEFAULTS


def test_zero_friction_and_damping_are_values_and_zero_density_is_not() -> None:
    read = messages.properties_from_message(PhysicalPropertiesMessage(friction=0.0, damping=0.0, density=0.0), DEFAULTS)
    assert (read.friction, read.damping, read.density) == (0.0, 0.0, DEFAULTS.density)


@pytest.mark.parametrize(
    ("field", "value"),
    [("density", -1.0), ("youngs_modulus", math.inf), ("poisson_ratio", 0.5), ("friction", -0.1), ("damping", 1e9)],
)
def test_impossible_properties_are_named(field: str, value: float) -> None:
    with pytest.raises(NeurokError, match=f"properties.{field}") as error:
        messages.properties_from_message(PhysicalPropertiesMessage(**{field: value}), DEFAULTS)
    assert error.value.code is ErrorCode.INVALID_PROPERTIES


@pytest.mark.parametrize(
    "tool",
    [
        ToolShape(ToolKind.BOX, (0.1, 0.2, 0.3)),
        ToolShape(ToolKind.SPHERE, (0.02,)),
        ToolShape(ToolKind.CYLINDER, (0.3, 0.01)),
        ToolShape(ToolKind.CAPSULE, (0.3, 0.01)),
    ],
)
def test_tools_survive_the_message(tool: ToolShape) -> None:
    assert messages.tool_from_message(messages.tool_message(tool)) == tool


@pytest.mark.parametrize(
    ("kind", "dimensions", "named"),
    [
        (SolidPrimitive.CONE, [0.1, 0.1], "push.tool.type"),
        (0, [], "push.tool.type"),
        (SolidPrimitive.SPHERE, [], "push.tool.dimensions"),
        (SolidPrimitive.SPHERE, [0.1, 0.1], "push.tool.dimensions"),
        (SolidPrimitive.BOX, [0.1, 0.0, 0.1], "push.tool.dimensions"),
        (SolidPrimitive.BOX, [0.1, math.nan, 0.1], "push.tool.dimensions"),
    ],
)
def test_tools_that_cannot_be_are_named(kind: int, dimensions: list[float], named: str) -> None:
    with pytest.raises(NeurokError, match=named) as error:
        messages.tool_from_message(SolidPrimitive(type=kind, dimensions=dimensions))
    assert error.value.code is ErrorCode.INVALID_PUSH


@pytest.mark.parametrize("opening", [-0.01, math.inf])
def test_a_gripper_that_is_not_open_is_named(opening: float) -> None:
    message = push(0.0)
    message.opening = opening
    with pytest.raises(NeurokError, match=r"push\.opening") as error:
        messages.push_from_message(message, np.eye(4))
    assert error.value.code is ErrorCode.INVALID_PUSH


@pytest.mark.parametrize("opening", [0.0, math.nan])
def test_no_opening_is_one_tool(opening: float) -> None:
    message = push(0.0)
    message.opening = opening
    assert messages.push_from_message(message, np.eye(4)).tool.opening is None


def test_a_push_is_taken_to_the_objects_frame() -> None:
    """A quarter turn about z and a shift: x becomes y, the tool turns with it."""
    frame = np.array([[0.0, -1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 1.0, 3.0], [0.0, 0.0, 0.0, 1.0]])
    read = messages.push_from_message(push(0.0, 1.0), frame)
    assert np.allclose(read.path.positions, [[1.0, 2.0, 3.0], [1.0, 3.0, 3.0]])
    half = math.sqrt(0.5)
    assert np.allclose(np.abs(read.path.quaternions), [[0.0, 0.0, half, half]] * 2)
    assert read.tool == ToolShape(ToolKind.BOX, (0.1, 0.2, 0.3))


def test_the_tool_waits_at_its_first_waypoint() -> None:
    path = messages.push_from_message(push(0.5, 1.0), np.eye(4)).path
    assert np.allclose(path.times, [0.0, 0.5, 1.0])
    assert np.allclose(path.positions[:, 0], [0.5, 0.5, 1.0])


@pytest.mark.parametrize(("limit", "read"), [(0.0, math.inf), (math.nan, math.inf), (5.0, 5.0)])
def test_no_force_limit_is_an_infinite_one(limit: float, read: float) -> None:
    message = push(0.0)
    message.force_limit = limit
    assert messages.push_from_message(message, np.eye(4)).force_limit == read


@pytest.mark.parametrize("times", [(0.0, 0.0), (1.0, 0.5), (-1.0,), (0.0, math.nan), (0.0, math.inf)])
def test_times_that_do_not_increase_are_named(times: tuple[float, ...]) -> None:
    with pytest.raises(NeurokError, match=rf"push\.waypoints\[{len(times) - 1}\]\.time"):
        messages.push_from_message(push(*times), np.eye(4))


def test_other_mistakes_in_a_push_are_named() -> None:
    with pytest.raises(NeurokError, match=r"push\.waypoints: is empty"):
        messages.push_from_message(push(), np.eye(4))
    bad = push(0.0)
    bad.waypoints[0].pose.orientation = Quaternion(x=0.0, y=0.0, z=0.0, w=0.0)
    with pytest.raises(NeurokError, match=r"push\.waypoints\[0\]\.pose\.orientation"):
        messages.push_from_message(bad, np.eye(4))
    bad = push(0.0)
    bad.waypoints[0].pose.position.y = math.nan
    with pytest.raises(NeurokError, match=r"push\.waypoints\[0\]\.pose\.position"):
        messages.push_from_message(bad, np.eye(4))
    bad = push(0.0)
    bad.force_limit = -1.0
    with pytest.raises(NeurokError, match=r"push\.force_limit"):
        messages.push_from_message(bad, np.eye(4))


def test_zeros_in_a_goal_are_the_defaults() -> None:
    options = messages.options_from_goal(goal(), frame_rate=25.0)
    assert options.horizon == pytest.approx(1.5)  # the last waypoint is at 1 s
    assert options.frame_rate == 25.0
    assert options.parameterization == "auto"
    assert options.fixation is Fixation.FREE


def test_a_fixed_box_is_read_and_an_inverted_one_refused() -> None:
    box = [Point(), Point(x=1.0, y=1.0, z=1.0)]
    options = messages.options_from_goal(goal(fixation=PredictDeformation.Goal.BOX_FIXED, fixed_box=box), 30.0)
    assert options.fixed_box == ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    with pytest.raises(NeurokError, match="fixed_box"):
        messages.options_from_goal(goal(fixation=PredictDeformation.Goal.BOX_FIXED, fixed_box=box[::-1]), 30.0)


def test_what_is_not_selected_stays_unselected() -> None:
    message = ObjectSelectionMessage(label=7, use_point=True, point=Point(x=1.0))
    selection = messages.selection_from_message(message)
    assert selection.label is None
    assert selection.point == (1.0, 0.0, 0.0)
    message.point.x = math.nan
    with pytest.raises(NeurokError, match=r"selection\.point"):
        messages.selection_from_message(message)


def test_the_layout_of_a_motion_is_the_documented_one() -> None:
    answer = motion()
    message = messages.motion_message(answer, np.array([1, 3]))
    n = message.vertex_count
    assert n == 5
    assert list(message.frames) == [1, 3]
    for frame, vertex, axis in ((0, 0, 0), (1, 4, 2), (0, 3, 1)):
        assert message.vertices[3 * (n * frame + vertex) + axis] == answer.vertices[(1, 3)[frame], vertex, axis]
    assert message.contact_force[1].y == answer.contact_force[3, 1]
    assert message.tool_poses[0].orientation.w == 1.0


def test_frames_are_chosen_by_index() -> None:
    assert messages.chosen_frames([], 3).tolist() == [0, 1, 2]
    assert messages.chosen_frames([2, 0, 2], 3).tolist() == [0, 2]
    with pytest.raises(NeurokError, match="frames"):
        messages.chosen_frames([3], 3)


def test_quality_keeps_names_and_numbers() -> None:
    report = messages.quality_message(motion())
    assert [(flag.name, flag.raised) for flag in report.flags] == [("tipped", True)]
    assert [(measure.name, measure.value) for measure in report.measures] == [("tilt_deg", 12.0)]


def test_stamps_are_exact_to_a_microsecond() -> None:
    for seconds in (0.0, 1.25, 1796061658.401249, 7.9999999999):
        stamp = messages.stamp_message(seconds)
        assert stamp.sec + 1e-9 * stamp.nanosec == pytest.approx(seconds, abs=1e-6)
