"""Where a finger pushes a part of an articulated object, planned from its geometry alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from neurok_ros.dynamics import ToolKind, ToolPath, ToolShape
from neurok_ros.prediction.types import Push
from training.evaluation.objects import Floats, MaterialPoints
from validation.mujoco.trained import Trained

RADIUS = 0.03
"""Of the object's size, of the finger; 8 to 25 mm."""
GAP = 0.5
"""Of the finger's radius: how far away it starts."""
PUSH_SECONDS, RETREAT_SECONDS = 0.5, 0.3
SAMPLES = 12_000


def finger_push(subject: Trained, coordinate: int, travel: float) -> Push:
    """A finger that pushes the part that a coordinate moves, along a straight line, then goes back.

    It pushes squarely where the part moves far, the surface around is flat and nothing else is in the way.

    Args:
        subject: the object.
        coordinate: that is to be moved.
        travel: by how much, signed, in the coordinate's unit.
    """
    vertices, faces = subject.vertices, subject.faces
    radius = float(np.clip(RADIUS * np.ptp(vertices, axis=0).max(), 0.008, 0.025))
    samples = MaterialPoints.random(vertices, faces, SAMPLES, 0)
    points = samples.at(vertices)
    link = subject.link[samples.corners[:, 0]]
    a, b, c = np.moveaxis(vertices[samples.corners], 1, 0)
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    velocity = _velocity(subject, points, link, coordinate) * np.sign(travel)
    lever = np.linalg.norm(velocity, axis=1)
    way = velocity / np.maximum(lever, 1e-12)[:, None]
    square = -(normals * way).sum(axis=1)
    tree = cKDTree(points)
    good = np.flatnonzero((lever > 0.5 * lever.max()) & (square > 0.9))
    start = points - (1.0 + GAP) * radius * way
    free = _clear(tree, start[good], radius) & _clear(tree, (points - 1.02 * radius * way)[good], radius)
    good = good[free]
    if not len(good):
        raise ValueError("no place to push")
    flat = np.array([_flatness(tree, normals, points[i], normals[i], radius) for i in good])
    best = good[np.argmax(flat + 0.3 * np.minimum(lever[good] / lever.max(), 0.85))]
    end = points[best] + (abs(travel) * lever[best] - radius) * way[best]
    times = np.cumsum([0.0, PUSH_SECONDS, RETREAT_SECONDS])
    places = np.stack([start[best], end, start[best]])
    path = ToolPath(times, places, np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)))
    return Push(ToolShape(ToolKind.SPHERE, (radius,)), path)


def _velocity(subject: Trained, points: Floats, link: NDArray[np.int64], coordinate: int) -> Floats:
    """(n, 3) by the coordinate."""
    step = 1e-4
    ahead = subject.values.copy()
    ahead[coordinate] += step
    here, there = subject.mechanism.poses(subject.values), subject.mechanism.poses(ahead)
    moved = (there @ np.linalg.inv(here))[link]
    return np.asarray((np.einsum("nij,nj->ni", moved[:, :3, :3], points) + moved[:, :3, 3] - points) / step)


def _clear(tree: cKDTree, centers: Floats, radius: float) -> NDArray[np.bool_]:
    """(n,) whether a ball there touches nothing."""
    return np.asarray(tree.query(centers)[0] >= 0.97 * radius)


def _flatness(tree: cKDTree, normals: Floats, point: Floats, normal: Floats, radius: float) -> float:
    """Share of the surface around a point that faces the same way."""
    near = tree.query_ball_point(point, 2.0 * radius)
    return float((normals[near] @ normal > 0.95).mean())
