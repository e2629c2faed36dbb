"""Arrays to the messages of this package and back. What comes from outside is checked, and named as the user wrote it."""

from __future__ import annotations

import array
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Pose, Quaternion, Vector3
from numpy.typing import NDArray
from shape_msgs.msg import Mesh, MeshTriangle, SolidPrimitive
from std_msgs.msg import Header

from neurok_ros.action import PredictDeformation
from neurok_ros.dynamics.tools import ToolKind, ToolPath, ToolShape
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.msg import GripperPush, ObjectMesh, QualityFlag, QualityMeasure, QualityReport, StageTime
from neurok_ros.msg import ObjectSelection as ObjectSelectionMessage
from neurok_ros.msg import PhysicalProperties as PhysicalPropertiesMessage
from neurok_ros.msg import PredictedMotion as PredictedMotionMessage
from neurok_ros.nodes.ros_features import matrix_from_quaternion, quaternion_from_matrix
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictedMotion, PredictionOptions, Push
from neurok_ros.prediction.validation import check_options, check_properties
from neurok_ros.reconstruction.types import ObjectSelection, ReconstructedMesh

Floats = NDArray[np.float64]
Corner = tuple[float, float, float]

FARTHEST = 1.0e4
"""Metres: a coordinate beyond this is a mistake."""
LONGEST = 3600.0
"""Seconds: a time beyond this is a mistake."""
TAIL = 0.5
"""Seconds that a prediction goes on after the last waypoint where the goal sets no horizon."""
TOOL_KINDS = {
    SolidPrimitive.BOX: (ToolKind.BOX, 3),
    SolidPrimitive.SPHERE: (ToolKind.SPHERE, 1),
    SolidPrimitive.CYLINDER: (ToolKind.CYLINDER, 2),
    GripperPush.CAPSULE: (ToolKind.CAPSULE, 2),
}
"""The primitives a tool may be, and how many dimensions each has."""
FIXATIONS = {
    PredictDeformation.Goal.FREE: Fixation.FREE,
    PredictDeformation.Goal.BASE_FIXED: Fixation.BASE,
    PredictDeformation.Goal.BOX_FIXED: Fixation.BOX,
}
PROPERTIES = ("density", "youngs_modulus", "poisson_ratio", "damping", "friction")
ZERO_IS_A_VALUE = ("damping", "friction")


# --- from messages ----------------------------------------------------------------------------------------


def selection_from_message(message: ObjectSelectionMessage) -> ObjectSelection:
    """Which object of a scan.

    Raises:
        NeurokError: INVALID_OPTIONS.
    """
    return ObjectSelection(
        label=int(message.label) if message.use_label else None,
        point=_corner(message.point, "selection.point", ErrorCode.INVALID_OPTIONS) if message.use_point else None,
        region=_box(message.region, "selection.region") if message.use_region else None,
    )


def push_from_message(message: GripperPush, frame_pose: Floats) -> Push:
    """A planned push in the object's frame.

    Args:
        frame_pose: (4, 4) transform from the push's frame to the object's, metres.

    Raises:
        NeurokError: INVALID_PUSH with the field at fault, e.g. `push.waypoints[2].time`.
    """
    return Push(
        tool=tool_from_message(message.tool, message.opening),
        path=_path(message.waypoints, frame_pose),
        force_limit=_force_limit(message.force_limit),
    )


def tool_from_message(message: SolidPrimitive, opening: float = 0.0) -> ToolShape:
    """The tool's shape; two of it where the opening is not 0 (or NaN).

    Raises:
        NeurokError: INVALID_PUSH.
    """
    if message.type not in TOOL_KINDS:
        raise _bad_push("push.tool.type", f"is {message.type}", "Use BOX (1), SPHERE (2), CYLINDER (3) or CAPSULE (64)")
    kind, count = TOOL_KINDS[message.type]
    dimensions = tuple(float(value) for value in message.dimensions)
    if len(dimensions) != count:
        raise _bad_push("push.tool.dimensions", f"has {len(dimensions)} numbers", f"A {kind.value} has {count}")
    if not all(0.0 < value < FARTHEST for value in dimensions):
        raise _bad_push("push.tool.dimensions", f"is {list(dimensions)}", "Give positive lengths in metres")
    if math.isnan(opening) or opening == 0.0:
        return ToolShape(kind, dimensions)
    if not 0.0 < opening < FARTHEST:
        raise _bad_push("push.opening", f"is {opening:g} m", "Give the gap between two fingers in metres, or 0 for one tool")
    return ToolShape(kind, dimensions, opening)


def tool_message(tool: ToolShape) -> SolidPrimitive:
    """The tool's shape, or that of one finger, as shape_msgs/SolidPrimitive."""
    (kind,) = (number for number, (each, _) in TOOL_KINDS.items() if each is tool.kind)
    return SolidPrimitive(type=kind, dimensions=list(tool.dimensions))


def properties_from_message(message: PhysicalPropertiesMessage, defaults: PhysicalProperties) -> PhysicalProperties:
    """What the object is made of; a NaN, and a 0 where no material has it, means the default.

    Raises:
        NeurokError: INVALID_PROPERTIES with the field at fault, e.g. `properties.density`.
    """
    if message.use_defaults:
        return defaults
    values = {}
    for name in PROPERTIES:
        value = float(getattr(message, name))
        missing = math.isnan(value) or (value == 0.0 and name not in ZERO_IS_A_VALUE)
        values[name] = getattr(defaults, name) if missing else value
    properties = PhysicalProperties(**values)
    check_properties(properties)
    return properties


def options_from_goal(goal: PredictDeformation.Goal, frame_rate: float) -> PredictionOptions:
    """How to predict. The goal's zeros stand for the last waypoint plus half a second, and for `frame_rate` (1/s).

    Raises:
        NeurokError: INVALID_OPTIONS with the field at fault.
    """
    if goal.fixation not in FIXATIONS:
        raise _bad_option("fixation", f"is {goal.fixation}", "Use FREE (0), BASE_FIXED (1) or BOX_FIXED (2)")
    fixation = FIXATIONS[goal.fixation]
    last_time = goal.push.waypoints[-1].time if goal.push.waypoints else 0.0
    options = PredictionOptions(
        horizon=goal.horizon or last_time + TAIL,
        frame_rate=goal.frame_rate or frame_rate,
        fixation=fixation,
        fixed_box=_box(goal.fixed_box, "fixed_box") if fixation is Fixation.BOX else None,
        parameterization=goal.parameterization or "auto",
    )
    check_options(options)
    return options


def _path(waypoints: Sequence[Any], frame_pose: Floats) -> ToolPath:
    if not waypoints:
        raise _bad_push("push.waypoints", "is empty", "Give at least one")
    times: list[float] = []
    positions: list[Floats] = []
    quaternions: list[Floats] = []
    for index, waypoint in enumerate(waypoints):
        where = f"push.waypoints[{index}]"
        if not 0.0 <= waypoint.time <= LONGEST:
            raise _bad_push(f"{where}.time", f"is {waypoint.time:g} s", f"Choose from 0 to {LONGEST:g} s")
        if times and waypoint.time <= times[-1]:
            raise _bad_push(f"{where}.time", f"{waypoint.time:g} s is not after {times[-1]:g} s", "Let times increase strictly")
        times.append(waypoint.time)
        position = np.array(_corner(waypoint.pose.position, f"{where}.pose.position", ErrorCode.INVALID_PUSH))
        rotation = matrix_from_quaternion(_unit_quaternion(waypoint.pose.orientation, f"{where}.pose.orientation"))
        positions.append(frame_pose[:3, :3] @ position + frame_pose[:3, 3])
        quaternions.append(quaternion_from_matrix(frame_pose[:3, :3] @ rotation))
    if times[0] > 0.0:  # until the first waypoint's time the tool waits there
        times.insert(0, 0.0)
        positions.insert(0, positions[0])
        quaternions.insert(0, quaternions[0])
    return ToolPath(np.array(times), np.array(positions), np.array(quaternions))


def _unit_quaternion(message: Quaternion, field: str) -> tuple[float, ...]:
    values = (message.x, message.y, message.z, message.w)
    length = math.hypot(*values)
    if not abs(length - 1.0) < 0.01:
        raise _bad_push(field, f"has length {length:g}", "Give a unit quaternion x y z w")
    return tuple(value / length for value in values)


def _force_limit(value: float) -> float:
    if math.isnan(value) or value == 0.0:
        return math.inf
    if value < 0.0:
        raise _bad_push("push.force_limit", f"is {value:g} N", "Give a positive force, or 0 for no limit")
    return value


def _corner(point: Point, field: str, code: ErrorCode) -> Corner:
    corner = (point.x, point.y, point.z)
    if not all(abs(value) < FARTHEST for value in corner):
        raise NeurokError(code, field, f"is {corner}", f"Give metres, finite and below {FARTHEST:g}")
    return corner


def _box(corners: Sequence[Point], field: str) -> tuple[Corner, Corner]:
    lower, upper = (_corner(each, f"{field}[{index}]", ErrorCode.INVALID_OPTIONS) for index, each in enumerate(corners))
    if not all(a < b for a, b in zip(lower, upper, strict=True)):
        raise _bad_option(field, f"lower corner {lower} is not below upper corner {upper}", "Give the lower corner first")
    return lower, upper


def _bad_push(field: str, problem: str, remedy: str) -> NeurokError:
    return NeurokError(ErrorCode.INVALID_PUSH, field, problem, remedy)


def _bad_option(field: str, problem: str, remedy: str) -> NeurokError:
    return NeurokError(ErrorCode.INVALID_OPTIONS, field, problem, remedy)


# --- to messages ------------------------------------------------------------------------------------------


def stamp_message(seconds: float) -> Time:
    """A time since the epoch in seconds as builtin_interfaces/Time."""
    whole = math.floor(seconds)
    return Time(sec=whole, nanosec=min(999_999_999, round((seconds - whole) * 1e9)))


def header_message(mesh: ReconstructedMesh) -> Header:
    """Frame and stamp of the scan that a mesh was made from."""
    return Header(frame_id=mesh.frame, stamp=stamp_message(mesh.stamp))


def mesh_message(vertices: NDArray[Any], faces: NDArray[np.int32]) -> Mesh:
    """Vertices (n, 3) in metres and faces (m, 3) as shape_msgs/Mesh."""
    triangles = [MeshTriangle(vertex_indices=face) for face in faces.astype(np.uint32)]
    return Mesh(triangles=triangles, vertices=points_message(vertices))


def points_message(points: NDArray[Any]) -> list[Point]:
    """(n, 3) metres as n geometry_msgs/Point."""
    return [Point(x=x, y=y, z=z) for x, y, z in points.astype(np.float64).tolist()]


def object_message(object_id: str, mesh: ReconstructedMesh) -> ObjectMesh:
    """A reconstructed object."""
    return ObjectMesh(
        header=header_message(mesh),
        object_id=object_id,
        mesh=mesh_message(mesh.vertices, mesh.faces),
        observed=mesh.observed.tolist(),
        colors=array.array("B", b"" if mesh.colors is None else np.ascontiguousarray(mesh.colors).tobytes()),
        completion=mesh.completion,
        support=mesh.support.astype(np.float64),
    )


def chosen_frames(wanted: Sequence[int], available: int) -> NDArray[np.int64]:
    """Indices of the frames to return, all of them where none are asked for.

    Raises:
        NeurokError: INVALID_OPTIONS where one does not exist.
    """
    if not len(wanted):
        return np.arange(available)
    frames = np.unique(np.asarray(wanted, dtype=np.int64))
    if frames[-1] >= available:
        raise _bad_option("frames", f"asks for frame {frames[-1]} of {available}", "Count from 0, and see horizon and frame_rate")
    return frames


def motion_message(motion: PredictedMotion, frames: NDArray[np.int64]) -> PredictedMotionMessage:
    """The motion at the chosen frames."""
    vertices = np.ascontiguousarray(motion.vertices[frames], dtype=np.float32)
    return PredictedMotionMessage(
        times=_doubles(motion.times[frames]),
        frames=array.array("I", frames.astype(np.uint32).tobytes()),
        vertex_count=vertices.shape[1],
        vertices=array.array("f", vertices.tobytes()),
        tool_poses=[pose_message(pose) for pose in motion.tool_poses[frames]],
        contact_force=[Vector3(x=x, y=y, z=z) for x, y, z in motion.contact_force[frames].tolist()],
        penetration=_doubles(motion.penetration[frames]),
        displacement=_doubles(motion.displacement[frames]),
    )


def pose_message(pose: Floats) -> Pose:
    """x y z in metres and a quaternion x y z w as geometry_msgs/Pose."""
    x, y, z, qx, qy, qz, qw = (float(value) for value in pose)
    return Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def quality_message(motion: PredictedMotion) -> QualityReport:
    """What the prediction knows of its own quality."""
    return QualityReport(
        parameterization=motion.parameterization,
        parameterization_reason=motion.parameterization_reason,
        flags=[QualityFlag(name=name, raised=bool(raised)) for name, raised in motion.flags.items()],
        measures=[QualityMeasure(name=name, value=float(value)) for name, value in motion.measures.items()],
    )


def stage_messages(timings_ms: Mapping[str, float]) -> list[StageTime]:
    """Wall-clock milliseconds per stage."""
    return [StageTime(stage=stage, milliseconds=float(value)) for stage, value in timings_ms.items()]


def _doubles(values: Floats) -> array.array[float]:
    return array.array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())
