"""Solid bodies to build objects from: watertight, united without inner surfaces (the `manifold3d` library)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from manifold3d import CrossSection, Manifold, OpType
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Vector = Sequence[float] | Floats

_ROUND = 20
"""Segments of a full circle."""


def between(low: Vector, high: Vector) -> Manifold:
    """The box from one corner to the opposite one, in any order."""
    a, b = np.minimum(low, high), np.maximum(low, high)
    return Manifold.cube([float(x) for x in b - a]).translate([float(x) for x in a])


def box(center: Vector, size: Vector) -> Manifold:
    """A box around its centre."""
    half = np.asarray(size) / 2
    return between(np.asarray(center) - half, np.asarray(center) + half)


def rounded(center: Vector, size: Vector, radius: float) -> Manifold:
    """A box with round edges."""
    half = np.maximum(np.asarray(size) / 2 - radius, 1e-4)
    ball = Manifold.sphere(radius, 12)
    signs = [(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)]
    return Manifold.batch_hull([moved(ball, np.asarray(center) + half * s) for s in signs])


def tray(low: Vector, high: Vector, wall: float, axis: int = 2, positive: bool = True) -> Manifold:
    """A box with walls and no lid: open towards +axis, or -axis where `positive` is false."""
    a, b = np.minimum(low, high), np.maximum(low, high)
    inner_a, inner_b = a + wall, b - wall
    if positive:
        inner_b[axis] = b[axis] + wall
    else:
        inner_a[axis] = a[axis] - wall
    return between(a, b) - between(inner_a, inner_b)


def rod(start: Vector, end: Vector, radius: float, end_radius: float | None = None, segments: int = _ROUND) -> Manifold:
    """A round rod, or a cone, with flat ends."""
    along = np.asarray(end, float) - np.asarray(start, float)
    length = float(np.linalg.norm(along))
    shape = Manifold.cylinder(length, radius, radius if end_radius is None else end_radius, segments)
    return placed(shape, frame(start, along))


def ball(center: Vector, radius: float, scale: Vector = (1.0, 1.0, 1.0)) -> Manifold:
    """A ball, or an ellipsoid."""
    return moved(Manifold.sphere(radius, _ROUND).scale([float(x) for x in scale]), center)


def wire(points: Sequence[Vector], radius: float, segments: int = 12) -> Manifold:
    """A round wire along a polyline, with round joints and ends."""
    knots = [ball_at(point, radius, segments) for point in points]
    return unite([Manifold.batch_hull([a, b]) for a, b in pairwise(knots)])


def ball_at(center: Vector, radius: float, segments: int) -> Manifold:
    """A ball of few faces."""
    return moved(Manifold.sphere(radius, segments), center)


def turned(profile: Sequence[tuple[float, float]], segments: int = 24) -> Manifold:
    """A body of revolution about z from a closed profile of (radius, height)."""
    section = CrossSection([np.array(_counterclockwise(profile))])
    return Manifold.revolve(section, segments)


def vessel(outline: Sequence[tuple[float, float]], wall: float, segments: int = 24) -> Manifold:
    """A hollow body of revolution about z, open at the top: `outline` (radius, height) from the bottom to the rim."""
    outer = np.array(outline)
    inner = outer - np.array([wall, 0.0])
    inner[0, 1] += wall
    inner[:, 0] = np.maximum(inner[:, 0], 1e-4)
    rows = [(0.0, outer[0, 1]), *map(tuple, outer), *map(tuple, inner[::-1]), (0.0, inner[0, 1])]
    return turned([(float(r), float(z)) for r, z in rows], segments)


def plate(outline: Sequence[tuple[float, float]] | Floats, thickness: float, round_by: float = 0.0) -> Manifold:
    """A polygon (x, y), its corners rounded, extruded from z = -thickness/2 to thickness/2."""
    section = CrossSection([np.array(_counterclockwise(outline))])
    if round_by > 0:
        section = section.offset(-round_by).offset(round_by, circular_segments=_ROUND)
    return Manifold.extrude(section, thickness).translate([0, 0, -thickness / 2])


def ring(radius: float, wire_radius: float, segments: int = 24, degrees: float = 360.0) -> Manifold:
    """A torus about z, or the part of it from the x axis on."""
    circle = CrossSection.circle(wire_radius, 12).translate([radius, 0.0])
    return Manifold.revolve(circle, segments, degrees)


def cut(shape: Manifold, axis: int, places: Sequence[float] | Floats) -> list[Manifold]:
    """The shape between planes across an axis at rising places: one more than there are planes, empty where nothing is.

    Neighbours overlap by a hair, so that `unite` makes them one body again.
    """
    up = np.eye(3)[axis]
    bounds = shape.bounding_box()
    lap = 2e-4 * (bounds[axis + 3] - bounds[axis])
    slices, rest = [], shape
    for at in places:
        slices.append(rest.trim_by_plane((-up).tolist(), -float(at) - lap))
        rest = rest.trim_by_plane(up.tolist(), float(at) - lap)
    return [*slices, rest]


def unite(shapes: Sequence[Manifold]) -> Manifold:
    """One body of all; where they overlap nothing is left inside."""
    return Manifold.batch_boolean(list(shapes), OpType.Add)


def moved(shape: Manifold, by: Vector) -> Manifold:
    """The same shape, shifted."""
    return shape.translate([float(x) for x in by])


def placed(shape: Manifold, pose: Floats) -> Manifold:
    """The same shape under a pose (4, 4) or (3, 4)."""
    return shape.transform(np.asarray(pose[:3], float))


def frame(origin: Vector, z_axis: Vector, x_axis: Vector | None = None) -> Floats:
    """A pose (4, 4) whose z axis points along `z_axis`, and whose x axis is as near to `x_axis` as can be."""
    z = np.asarray(z_axis, float) / np.linalg.norm(z_axis)
    hint = np.eye(3)[np.argmin(np.abs(z))] if x_axis is None else np.asarray(x_axis, float)
    x = hint - (hint @ z) * z
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(z, x), z], axis=1)
    pose[:3, 3] = origin
    return pose


def arc(center: Vector, start: Vector, axis: Vector, degrees: float, steps: int = 10) -> list[Floats]:
    """Points (steps + 1) on a circle from `start`, turning about `axis` through `center`."""
    z = np.asarray(axis, float) / np.linalg.norm(axis)
    arm = np.asarray(start, float) - np.asarray(center, float)
    along = (arm @ z) * z
    across = arm - along
    angles = np.radians(np.linspace(0, degrees, steps + 1))
    return [np.asarray(center) + along + np.cos(a) * across + np.sin(a) * np.cross(z, across) for a in angles]


def _counterclockwise(outline: Sequence[tuple[float, float]] | Floats) -> Floats:
    points = np.asarray(outline, float)
    x, y = points.T
    return points if np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) > 0 else points[::-1].copy()
