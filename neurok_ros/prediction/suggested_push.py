"""A push for an object nobody has planned one for yet: for a demonstration, and to try out a scan."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neurok_ros.dynamics.tools import ToolKind, ToolPath, ToolShape
from neurok_ros.prediction.types import Floats, Push
from neurok_ros.reconstruction.types import ReconstructedMesh

APPROACH_SECONDS = 0.3
PUSH_SECONDS = 0.6
RETREAT_SECONDS = 0.4


def suggest_push(
    mesh: ReconstructedMesh,
    depth: float = 0.25,
    height: float = 0.7,
    force_limit: float = np.inf,
    direction: Floats | None = None,
) -> Push:
    """Push the object with a ball from the side, along its support, then retreat.

    Args:
        mesh: the object.
        depth: how far past the first touch the ball goes, as a part of the object's extent along the push.
        height: where it touches, as a part of the object's height above its support.
        force_limit: N.
        direction: (3,) the push's direction; made parallel to the support. None: against the side that was seen, whose shape
            is known; for an object seen from all sides its thinnest direction, in which it bends or tips most easily.
    """
    up = mesh.support[:3]
    relative = mesh.vertices - mesh.vertices.mean(axis=0)
    flat = relative - np.outer(relative @ up, up)
    if direction is None:
        direction = _away_from_seen_side(flat, mesh.observed)
    if direction is None:
        direction = _thinnest_direction(flat, up)
    direction = direction - (direction @ up) * up
    direction = direction / np.linalg.norm(direction)
    across = np.cross(up, direction)
    heights = mesh.vertices @ up + mesh.support[3]
    level = height * heights.max()
    radius = float(np.clip(0.12 * max(heights.max(), np.ptp(flat @ across)), 0.008, 0.04))

    band = np.abs(heights - level) <= radius
    band = band if band.any() else np.ones_like(band)
    along = mesh.vertices[band] @ direction
    middle = (mesh.vertices[band] @ across).max() / 2 + (mesh.vertices[band] @ across).min() / 2
    travel = depth * (along.max() - along.min())
    touch = along.min() - radius
    foot = middle * across + (level - mesh.support[3]) * up
    start, touching, pushed = (foot + s * direction for s in (touch - 0.05, touch, touch + travel))
    times = np.cumsum([0.0, APPROACH_SECONDS, PUSH_SECONDS, RETREAT_SECONDS])
    path = ToolPath(times, np.stack([start, touching, pushed, start]), np.tile([0.0, 0.0, 0.0, 1.0], (4, 1)))
    return Push(ToolShape(ToolKind.SPHERE, (radius,)), path, force_limit)


def _away_from_seen_side(flat: Floats, observed: NDArray[np.bool_]) -> Floats | None:
    """Unit vector (3,) from the middle of what was seen to the middle of all; None where they are nearer than 5 % of the size."""
    if not observed.any():
        return None
    offset = flat.mean(axis=0) - flat[observed].mean(axis=0)
    length = float(np.linalg.norm(offset))
    return offset / length if length > 0.05 * np.ptp(flat, axis=0).max() else None


def _thinnest_direction(flat: Floats, up: Floats) -> Floats:
    """Unit vector (3,) in the support plane along which the object extends least."""
    first = np.cross(up, [1.0, 0.0, 0.0] if abs(up[0]) < 0.9 else [0.0, 1.0, 0.0])
    first /= np.linalg.norm(first)
    second = np.cross(up, first)
    angles = np.linspace(0.0, np.pi, 36, endpoint=False)
    candidates = np.outer(np.cos(angles), first) + np.outer(np.sin(angles), second)
    return np.asarray(candidates[np.argmin(np.ptp(flat @ candidates.T, axis=0))])
