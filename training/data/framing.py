"""Two frames of an object in units of its own size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from training.pairs import Pair, Waypoint
from training.sampling import Floats, Ints


def framed(
    points0: Floats,
    normals0: Floats,
    moved: Sequence[tuple[Floats, Floats]],
    part: Ints,
    between: Sequence[tuple[float, Floats, Floats]] | None = None,
) -> list[Pair]:
    """Pairs that share frame 0, shifted and scaled as `training.pairs.Pair` says.

    Args:
        points0: (n, 3) any unit.
        normals0: (n, 3) unit length.
        moved: for each pair the points in frame 1 (n, 3), and how the material turned (n, 3, 3).
        part: (n,) connected component of each point.
        between: for each pair a fraction of its way, and points (n, 3) and turns (n, 3, 3) there.
    """
    center = points0.mean(axis=0)
    scale = 1 / np.linalg.norm(points0 - center, axis=1).max()
    first = ((points0 - center) * scale).astype(np.float32)
    normals = normals0.astype(np.float32)
    waypoints: list[Waypoint | None] = [
        Waypoint(fraction, ((points - center) * scale).astype(np.float32), turned.astype(np.float32))
        for fraction, points, turned in between or ()
    ]
    return [
        Pair(first, normals, ((points1 - center) * scale).astype(np.float32), turned.astype(np.float32), part, waypoint)
        for (points1, turned), waypoint in zip(moved, waypoints or [None] * len(moved), strict=True)
    ]


def without_rigid_motion(points0: Floats, points1: Floats, rotations: Floats) -> tuple[Floats, Floats]:
    """Frame 1 turned and shifted to lie as near to frame 0 as it can (Kabsch 1976): a free body's own deformation.

    Args:
        points0: (n, 3).
        points1: (n, 3).
        rotations: (n, 3, 3) of the material from frame 0 to 1.
    """
    center0, center1 = points0.mean(axis=0), points1.mean(axis=0)
    left, _, right = np.linalg.svd((points1 - center1).T @ (points0 - center0))
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    back = (left @ flip @ right).T
    return (points1 - center1) @ back.T + center0, back @ rotations
