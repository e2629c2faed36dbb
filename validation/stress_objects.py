"""Objects and pushes for the stress test: coarse enough to be quick, and each as a scan would give it."""

from __future__ import annotations

import numpy as np
import trimesh

from neurok_ros.dynamics import ToolKind, ToolPath, ToolShape
from neurok_ros.prediction.types import Push
from neurok_ros.reconstruction.types import ReconstructedMesh
from validation.case import Floats


def scanned(shape: trimesh.Trimesh) -> ReconstructedMesh:
    """A shape as reconstructed, wholly seen, on the plane through its lowest point, centred above the origin."""
    vertices = np.asarray(shape.vertices, np.float64)
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    vertices = vertices - np.array([middle[0], middle[1], vertices[:, 2].min()])
    seen = np.ones(len(vertices), np.bool_)
    faces = np.asarray(shape.faces, np.int32)
    return ReconstructedMesh(vertices, faces, seen, None, np.array([0.0, 0.0, 1.0, 0.0]), "none")


def box(x: float, y: float, z: float) -> ReconstructedMesh:
    """A box of these edges, metres, in 768 triangles."""
    shape = trimesh.creation.box((x, y, z))
    for _ in range(3):
        shape = shape.subdivide()
    return scanned(shape)


def cylinder(radius: float, height: float) -> ReconstructedMesh:
    """A standing cylinder."""
    return scanned(trimesh.creation.cylinder(radius, height, sections=16).subdivide())


def blob(height: float) -> ReconstructedMesh:
    """A bear-like figure of one piece: belly, head, ears, arms and legs as bulges of a ball, flattened where it stands."""
    shape = trimesh.creation.icosphere(3)
    directions = np.asarray(shape.vertices)
    bulges = np.array(
        [
            (0.0, 0.0, 1.0, 0.5),
            (0.0, 0.6, 0.9, 0.25),
            (0.0, -0.6, 0.9, 0.25),
            (0.2, 1.0, 0.2, 0.35),
            (0.2, -1.0, 0.2, 0.35),
            (0.3, 0.6, -0.9, 0.35),
            (0.3, -0.6, -0.9, 0.35),
        ]
    )
    radius = np.full(len(directions), 0.6)
    for x, y, z, size in bulges:
        toward = np.array([x, y, z]) / np.linalg.norm([x, y, z])
        radius += size * np.exp(-12.0 * (1.0 - directions @ toward))
    points = radius[:, None] * directions
    points[:, 2] = np.maximum(points[:, 2], points[:, 2].min() * 0.85)
    shape.vertices = points * (height / np.ptp(points[:, 2]))
    return scanned(shape)


def ball(size: float) -> ToolShape:
    """A fingertip for an object of this size, metres."""
    return ToolShape(ToolKind.SPHERE, (0.12 * size,))


def sideways(
    mesh: ReconstructedMesh,
    angle: float,
    tool: ToolShape | None = None,
    height: float = 0.6,
    depth: float = 0.3,
    speed: float = 0.2,
    force_limit: float = np.inf,
    start_depth: float | None = None,
) -> Push:
    """A push along the support.

    Args:
        mesh: what is pushed.
        angle: radians, of the direction of the push about the support's normal.
        tool: None: a fingertip in proportion.
        height: of the push, as part of the object's.
        depth: how far past the first touch, as part of the object's extent along the push.
        speed: m/s.
        force_limit: N.
        start_depth: metres inside at the start; None: it starts a tenth of the object's size away.
    """
    extents = np.ptp(mesh.vertices, axis=0)
    size = float(extents.max())
    tool = tool or ball(size)
    direction = np.array([np.cos(angle), np.sin(angle), 0.0])
    level = np.array([0.0, 0.0, max(height * extents[2], 1.05 * tool.half_extents[2] if height < 0.5 else 0.0)])
    along = _touch(mesh, direction, level, tool)
    gap = 0.1 * size if start_depth is None else -start_depth
    start, end = along - gap, along + depth * float(np.ptp(mesh.vertices @ direction))
    times = np.array([0.0, max(end - start, 1e-6) / speed])
    return Push(tool, still(times, np.stack([level + start * direction, level + end * direction])), force_limit)


def downwards(mesh: ReconstructedMesh, tool: ToolShape, depth: float, speed: float, force_limit: float = np.inf) -> Push:
    """A push from above by a part of the object's height."""
    height = float(np.ptp(mesh.vertices[:, 2]))
    touch = height + tool.half_extents[2]
    ends = np.array([[0.0, 0.0, touch + 0.05 * height], [0.0, 0.0, touch - depth * height]])
    return Push(tool, still(np.array([0.0, (ends[0, 2] - ends[1, 2]) / speed]), ends), force_limit)


def absent(mesh: ReconstructedMesh) -> Push:
    """A tool that stays far away."""
    size = float(np.ptp(mesh.vertices, axis=0).max())
    return Push(ball(size), still(np.array([0.0, 1.0]), np.tile([0.0, 0.0, 10.0 * size], (2, 1))))


def still(times: Floats, positions: Floats) -> ToolPath:
    """A path without turning."""
    return ToolPath(times, positions, np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1)))


def _touch(mesh: ReconstructedMesh, direction: Floats, level: Floats, tool: ToolShape) -> float:
    """Metres along the direction at which the tool, in a ball around it, comes to what is in its way."""
    offset = mesh.vertices - level
    along = offset @ direction
    aside = np.linalg.norm(offset - along[:, None] * direction, axis=1)
    reach = tool.bounding_radius if tool.kind is not ToolKind.SPHERE else tool.dimensions[0]
    near = aside < max(reach, 1.05 * aside.min())
    back = np.sqrt(np.maximum(reach**2 - aside[near] ** 2, 0.0))
    return float((along[near] - back).min())
