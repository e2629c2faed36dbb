"""Grouping points by distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from neurok_ros.reconstruction.types import Floats


def connected_clusters(points: Floats, distance: float) -> list[NDArray[np.int64]]:
    """Indices of the points (n, 3) of each cluster, largest first: points nearer than `distance` (m) belong together."""
    if len(points) == 0:
        return []
    return components(len(points), cKDTree(points).query_pairs(distance, output_type="ndarray"))


def components(count: int, edges: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Indices of the nodes of each connected component of a graph with `count` nodes and edges (m, 2), largest first."""
    graph = coo_array((np.ones(len(edges), dtype=bool), (edges[:, 0], edges[:, 1])), shape=(count, count))
    _, owner = connected_components(graph, directed=False)
    sizes = np.bincount(owner)
    groups = np.split(np.argsort(owner, kind="stable"), np.cumsum(sizes)[:-1])
    return sorted(groups, key=len, reverse=True)


def voxel_representatives(points: Floats, voxel: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Thin out points (n, 3) to one per cube of side `voxel` (m).

    Returns:
        (k,) index of the point nearest to the middle of each occupied cube, and (n,) for every point the number of its cube.
    """
    cells = np.floor(points / voxel).astype(np.int64)
    cells -= cells.min(axis=0)
    extent = cells.max(axis=0) + 1
    keys = (cells[:, 0] * extent[1] + cells[:, 1]) * extent[2] + cells[:, 2]
    _, owner = np.unique(keys, return_inverse=True)
    off_centre = np.linalg.norm(points / voxel - np.floor(points / voxel) - 0.5, axis=1)
    order = np.lexsort((off_centre, owner))
    first = np.ones(len(points), dtype=bool)
    first[1:] = np.diff(owner[order]) > 0
    return order[first], owner
