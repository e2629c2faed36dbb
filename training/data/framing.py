"""Two frames of an object in units of its own size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from training.pairs import Pair
from training.sampling import Floats, Ints


def framed(points0: Floats, normals0: Floats, moved: Sequence[tuple[Floats, Floats]], part: Ints) -> list[Pair]:
    """Pairs that share frame 0, shifted and scaled as `training.pairs.Pair` says.

    Args:
        points0: (n, 3) any unit.
        normals0: (n, 3) unit length.
        moved: for each pair the points in frame 1 (n, 3), and how the material turned (n, 3, 3).
        part: (n,) connected component of each point.
    """
    center = points0.mean(axis=0)
    scale = 1 / np.linalg.norm(points0 - center, axis=1).max()
    first = ((points0 - center) * scale).astype(np.float32)
    normals = normals0.astype(np.float32)
    return [
        Pair(first, normals, ((points1 - center) * scale).astype(np.float32), turned.astype(np.float32), part)
        for points1, turned in moved
    ]
