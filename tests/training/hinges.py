"""A source of pairs that needs no data: two plates that share an edge and fold about it."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from training.batches import Sources
from training.data import Split
from training.pairs import Pair, Waypoint


class Hinges:
    """Plates of random width in the plane z = 0; the right one turns about the y axis by up to 90 degrees."""

    name = "test/hinge"
    stretchable = False
    scanned = False

    def sample(self, rng: np.random.Generator, points: int, targets: int = 1) -> list[Pair]:
        width = rng.uniform(0.5, 1.0)
        flat = np.column_stack([rng.uniform(-1, 1, points), rng.uniform(-width, width, points), np.zeros(points)])
        flat -= flat.mean(axis=0) * (1, 1, 0)
        flat /= np.linalg.norm(flat, axis=1).max()
        turning = flat[:, 0] > 0
        normals = np.tile([0.0, 0.0, 1.0], (points, 1))
        pairs = []
        for angle, fraction in zip(rng.uniform(0, np.pi / 2, targets), rng.random(targets), strict=True):
            there, on_the_way = _folded(flat, turning, angle), _folded(flat, turning, fraction * angle)
            first = flat.astype(np.float32), normals.astype(np.float32)
            pairs.append(Pair(*first, *there, np.zeros(points, np.int64), Waypoint(float(fraction), *on_the_way)))
        return pairs


def _folded(flat: np.ndarray, turning: np.ndarray, angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) and turns (n, 3, 3)."""
    turn = Rotation.from_rotvec([0.0, -angle, 0.0]).as_matrix()
    moved = np.where(turning[:, None], flat @ turn.T, flat)
    return moved.astype(np.float32), np.where(turning[:, None, None], turn, np.eye(3)).astype(np.float32)


def hinges(split: Split) -> Sources:
    """The same source in every split; its objects are endless."""
    return [(1.0, Hinges())]
