"""Which sampled points a material point follows, so that a mesh moves as its samples do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Driving:
    """The samples that each of n points follows, and how much it follows each."""

    index: Ints
    """(n, k) samples; where a part has fewer than k, one is repeated with weight zero."""
    weight: Floats
    """(n, k) not negative, each row sums to one."""


def drive(points: Floats, part: Ints, samples: Floats, sample_part: Ints, nearest: int) -> Driving:
    """Let each point follow the `nearest` samples of its own connected part, the nearer the more.

    A weight is the inverse of the squared distance: a point that is a sample follows it alone, and weights change
    smoothly between samples.

    Args:
        points: (n, 3) metres.
        part: (n,) the connected part that each point belongs to; one without samples follows the samples of all parts.
        samples: (s, 3) metres.
        sample_part: (s,) the connected part that each sample lies on.
        nearest: K_drive, how many samples a point follows at most.
    """
    count = min(nearest, len(samples))
    index = np.zeros((len(points), count), np.int64)
    weight = np.zeros((len(points), count))
    for label in np.unique(part):
        mine = part == label
        candidates = np.flatnonzero(sample_part == label)
        if len(candidates) == 0:
            candidates = np.arange(len(samples))
        followed = min(count, len(candidates))
        distance, found = cKDTree(samples[candidates]).query(points[mine], k=np.arange(1, followed + 1))
        scale = np.ptp(samples, axis=0).max()
        closeness = 1.0 / (distance**2 + (1e-6 * scale) ** 2)
        index[mine] = np.pad(candidates[found], ((0, 0), (0, count - followed)), mode="edge")
        weight[mine, :followed] = closeness / closeness.sum(axis=1, keepdims=True)
    return Driving(index, weight)


def connected_parts(faces: NDArray[np.integer], vertices: int) -> Ints:
    """(vertices,) the connected component of the mesh that each vertex belongs to, by the edges of faces (m, 3)."""
    edges = faces[:, [0, 1, 1, 2]].reshape(-1, 2)
    graph = coo_array((np.ones(len(edges), np.int8), (edges[:, 0], edges[:, 1])), shape=(vertices, vertices))
    _, label = connected_components(graph, directed=False)
    return np.asarray(label, np.int64)


def nearest_part(points: Floats, vertices: Floats, vertex_part: Ints) -> Ints:
    """(n,) the part of the mesh vertex nearest to each point (n, 3), metres: also for points inside a solid."""
    _, nearest = cKDTree(vertices).query(points)
    return np.asarray(vertex_part[nearest], np.int64)
