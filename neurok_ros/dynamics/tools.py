"""The moving tool: a rigid primitive, or two as the fingers of a gripper, on a prescribed path."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import torch
import trimesh
from numpy.typing import NDArray
from torch import Tensor

from neurok_ros.errors import ErrorCode, NeurokError

Floats = NDArray[np.float64]

SPEED_LIMIT = 10.0
"""m/s: no part of a tool may move faster; a gripper never does, and a typing error in a time easily asks for it."""


class ToolKind(Enum):
    """Primitives centred on the tool pose's origin, axes along its z; all but the capsule are in shape_msgs/SolidPrimitive."""

    BOX = "box"
    """dimensions: full edge lengths x, y, z."""
    SPHERE = "sphere"
    """dimensions: radius."""
    CYLINDER = "cylinder"
    """dimensions: height, radius."""
    CAPSULE = "capsule"
    """dimensions: height of the straight part between the round ends' centres, radius."""


DIMENSION_NAMES = {
    ToolKind.BOX: ("x", "y", "z"),
    ToolKind.SPHERE: ("radius",),
    ToolKind.CYLINDER: ("height", "radius"),
    ToolKind.CAPSULE: ("height", "radius"),
}


@dataclass(frozen=True)
class ToolShape:
    """A primitive and its dimensions in metres, in the order that shape_msgs/SolidPrimitive gives them; or two of them, the
    fingers of a gripper, side by side along the tool's y axis with its origin in the middle of the gap."""

    kind: ToolKind
    dimensions: tuple[float, ...]
    opening: float | None = None
    """Metres, the gap between two fingers; None: one primitive, centred on the origin."""

    @property
    def offset(self) -> float:
        """Metres from the tool's origin to the middle of each finger, along y; 0 for one primitive."""
        return 0.0 if self.opening is None else 0.5 * self.opening + self.half_extents[1]

    @property
    def half_extents(self) -> tuple[float, float, float]:
        """Metres: half of the bounding box of one primitive along the tool's axes."""
        if self.kind is ToolKind.BOX:
            x, y, z = self.dimensions
            return 0.5 * x, 0.5 * y, 0.5 * z
        if self.kind is ToolKind.SPHERE:
            (radius,) = self.dimensions
            return radius, radius, radius
        height, radius = self.dimensions
        return radius, radius, 0.5 * height + (radius if self.kind is ToolKind.CAPSULE else 0.0)

    @property
    def bounding_radius(self) -> float:
        """Metres: no point of the tool is farther from its origin."""
        x, y, z = self.half_extents
        if self.kind is ToolKind.BOX:
            return float(np.linalg.norm([x, self.offset + y, z]))
        if self.kind is ToolKind.CYLINDER:
            return float(np.hypot(self.offset + y, z))
        return float(np.hypot(self.offset, z - x)) + x


@dataclass(frozen=True)
class ToolPath:
    """Stamped poses of the tool; between them positions are linear in time and rotations spherical-linear."""

    times: Floats
    """(w,) seconds, strictly increasing, from 0 = the start of the rollout."""
    positions: Floats
    """(w, 3) metres, in the object's frame."""
    quaternions: Floats
    """(w, 4) x y z w, unit length."""

    def pose(self, time: float) -> tuple[Floats, Floats]:
        """Position (3,) in metres and quaternion (4,) x y z w at a time; the tool rests before and after the path."""
        after = int(np.searchsorted(self.times, time))
        if after == 0 or after == len(self.times):
            end = min(after, len(self.times) - 1)
            return self.positions[end], self.quaternions[end]
        before = after - 1
        fraction = (time - self.times[before]) / (self.times[after] - self.times[before])
        position = (1.0 - fraction) * self.positions[before] + fraction * self.positions[after]
        return position, slerp(self.quaternions[before], self.quaternions[after], float(fraction))

    def segment_speeds(self, reach: float) -> Floats:
        """(w - 1,) m/s: the fastest that a point within `reach` metres of the tool's origin moves in each segment."""
        linear = np.linalg.norm(np.diff(self.positions, axis=0), axis=1)
        cosines = np.abs(np.sum(self.quaternions[1:] * self.quaternions[:-1], axis=1)).clip(max=1.0)
        speeds: Floats = (linear + reach * 2.0 * np.arccos(cosines)) / np.diff(self.times)
        return speeds

    def speed_between(self, start: float, end: float, reach: float) -> float:
        """m/s: the fastest that a point within `reach` metres of the tool's origin moves from one time to another."""
        overlapping = (self.times[:-1] < end) & (self.times[1:] > start)
        return float(self.segment_speeds(reach)[overlapping].max(initial=0.0))


def slerp(start: Floats, end: Floats, fraction: float) -> Floats:
    """Spherical-linear interpolation of unit quaternions (4,) along the shorter arc."""
    cosine = float(start @ end)
    if cosine < 0.0:
        end, cosine = -end, -cosine
    angle = np.arccos(min(cosine, 1.0))
    if angle < 1e-6:
        blended = (1.0 - fraction) * start + fraction * end
    else:
        blended = (np.sin((1.0 - fraction) * angle) * start + np.sin(fraction * angle) * end) / np.sin(angle)
    unit: Floats = blended / np.linalg.norm(blended)
    return unit


def rotation_matrix(quaternion: Floats) -> Floats:
    """(3, 3) of a unit quaternion (4,) x y z w."""
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def checked_push(shape: ToolShape, path: ToolPath) -> ToolPath:
    """The path with its quaternions at unit length.

    Raises:
        NeurokError: INVALID_PUSH where no gripper could be meant: dimensions missing, zero, negative or not finite; no
            waypoint, or arrays that do not belong together; NaN or infinite numbers; times that start before zero or do not
            increase; a quaternion without direction; a segment faster than `SPEED_LIMIT`.
    """
    _check_shape(shape)
    count = len(path.times)
    if count == 0:
        raise _invalid("push.waypoints", "there is none", "Give at least one waypoint")
    if path.times.shape != (count,) or path.positions.shape != (count, 3) or path.quaternions.shape != (count, 4):
        shapes = f"times {path.times.shape}, positions {path.positions.shape}, quaternions {path.quaternions.shape}"
        raise _invalid("push.waypoints", f"shapes do not belong together ({shapes})", "Give (w,), (w, 3) and (w, 4)")
    for name, values in (("time", path.times), ("position", path.positions), ("orientation", path.quaternions)):
        bad = np.flatnonzero(~np.isfinite(values.reshape(count, -1)).all(1))
        if len(bad):
            raise _invalid(f"push.waypoints[{bad[0]}].{name}", "is not finite", "Give finite numbers")
    if path.times[0] < 0.0:
        raise _invalid("push.waypoints[0].time", f"is {path.times[0]:g} s", "Let times count from 0, the start of the prediction")
    late = np.flatnonzero(np.diff(path.times) <= 0.0)
    if len(late):
        k = int(late[0])
        problem = f"is {path.times[k + 1]:g} s, not after {path.times[k]:g} s of the waypoint before"
        raise _invalid(f"push.waypoints[{k + 1}].time", problem, "Let times increase strictly")
    norms = np.linalg.norm(path.quaternions, axis=1)
    null = np.flatnonzero(norms < 1e-6)
    if len(null):
        raise _invalid(f"push.waypoints[{null[0]}].orientation", "is a quaternion of length 0", "Use 0 0 0 1 for no rotation")
    checked = ToolPath(path.times, path.positions, path.quaternions / norms[:, None])
    speeds = checked.segment_speeds(shape.bounding_radius)
    fast = np.flatnonzero(speeds > SPEED_LIMIT)
    if len(fast):
        k = int(fast[0])
        problem = f"is reached at {speeds[k]:.3g} m/s, above the limit of {SPEED_LIMIT:g} m/s"
        raise _invalid(f"push.waypoints[{k + 1}]", problem, "Give the segment more time, or check units (m, s)")
    return checked


def _check_shape(shape: ToolShape) -> None:
    names = DIMENSION_NAMES[shape.kind]
    if len(shape.dimensions) != len(names):
        problem = f"{len(shape.dimensions)} given, a {shape.kind.value} has {len(names)} ({', '.join(names)})"
        raise _invalid("push.tool.dimensions", problem, "Give them in this order, in metres")
    for index, (name, value) in enumerate(zip(names, shape.dimensions, strict=True)):
        if not np.isfinite(value) or value <= 0.0:
            raise _invalid(f"push.tool.dimensions[{index}]", f"{name} is {value:g} m", "Give a positive length in metres")
    if shape.opening is not None and not (np.isfinite(shape.opening) and shape.opening > 0.0):
        remedy = "Give the positive gap between two fingers in metres, or none for a tool in one piece"
        raise _invalid("push.opening", f"is {shape.opening:g} m", remedy)


def _invalid(field: str, problem: str, remedy: str) -> NeurokError:
    return NeurokError(ErrorCode.INVALID_PUSH, field, problem, remedy)


def signed_distance(shape: ToolShape, points: Tensor) -> tuple[Tensor, Tensor]:
    """Exact signed distance to a tool, and its gradient.

    Args:
        shape: the tool.
        points: (k, 3) metres, in the tool's frame.

    Returns:
        (k,) metres, negative inside; (k, 3) unit outward normals.
    """
    if shape.opening is None:
        return _primitive_distance(shape, points)
    side = torch.where(points[:, 1] < 0.0, -1.0, 1.0)
    folded = torch.stack([points[:, 0], side * points[:, 1] - shape.offset, points[:, 2]], dim=1)
    distance, normal = _primitive_distance(shape, folded)
    return distance, torch.stack([normal[:, 0], side * normal[:, 1], normal[:, 2]], dim=1)


def _primitive_distance(shape: ToolShape, points: Tensor) -> tuple[Tensor, Tensor]:
    """`signed_distance` of one primitive, centred on the origin."""
    if shape.kind is ToolKind.CAPSULE:
        height, limit = shape.dimensions
        along = points[:, 2].clamp(-0.5 * height, 0.5 * height)
        away = torch.cat([points[:, :2], (points[:, 2] - along).unsqueeze(1)], dim=1)
        length = away.norm(dim=1)
        return length - limit, _directions(away, length)
    if shape.kind is ToolKind.SPHERE:
        radius = points.norm(dim=1)
        return radius - shape.dimensions[0], _directions(points, radius)
    if shape.kind is ToolKind.BOX:
        return _box_distance(points, points.new_tensor(shape.half_extents))
    height, radius_limit = shape.dimensions
    radial = points[:, :2].norm(dim=1)
    profile = torch.stack([radial, points[:, 2]], dim=1)
    distance, slope = _box_distance(profile, points.new_tensor([radius_limit, 0.5 * height]))
    outward = _directions(points[:, :2], radial)
    return distance, torch.cat([outward * slope[:, :1], slope[:, 1:]], dim=1)


def tool_surface(shape: ToolShape) -> tuple[Floats, NDArray[np.int64]]:
    """Vertices (n, 3) in metres, in the tool's frame, and outward oriented triangles (m, 3) of a tool, to draw it."""
    if shape.kind is ToolKind.BOX:
        mesh = trimesh.creation.box(shape.dimensions)
    elif shape.kind is ToolKind.SPHERE:
        mesh = trimesh.creation.icosphere(3, shape.dimensions[0])
    elif shape.kind is ToolKind.CYLINDER:
        mesh = trimesh.creation.cylinder(shape.dimensions[1], shape.dimensions[0])
    else:
        mesh = trimesh.creation.capsule(*shape.dimensions)
        mesh.apply_translation(-mesh.bounds.mean(axis=0))
    vertices, faces = np.asarray(mesh.vertices, np.float64), np.asarray(mesh.faces, np.int64)
    if shape.opening is None:
        return vertices, faces
    aside = np.array([0.0, shape.offset, 0.0])
    return np.concatenate([vertices - aside, vertices + aside]), np.concatenate([faces, faces + len(vertices)])


def _box_distance(points: Tensor, half: Tensor) -> tuple[Tensor, Tensor]:
    """Signed distance (k,) and gradient (k, d) to a box of half extents (d,)."""
    excess = points.abs() - half
    beyond = excess.clamp(min=0.0)
    outside = beyond.norm(dim=1)
    deepest, face = excess.max(dim=1)
    inside = deepest <= 0.0
    direction = torch.where(inside[:, None], torch.nn.functional.one_hot(face, points.shape[1]), beyond)
    normal = direction * torch.where(points < 0.0, -1.0, 1.0)
    return torch.where(inside, deepest, outside), normal / torch.where(inside, 1.0, outside)[:, None]


def _directions(vectors: Tensor, lengths: Tensor) -> Tensor:
    """Unit vectors (k, d); the first axis where a vector has no length."""
    null = lengths < 1e-12
    axis = torch.zeros_like(vectors)
    axis[:, 0] = 1.0
    return torch.where(null[:, None], axis, vectors / torch.where(null, 1.0, lengths)[:, None])
