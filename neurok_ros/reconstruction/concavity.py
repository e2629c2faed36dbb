"""Cutting a cluster into the objects that touch in it: where surfaces meet in a groove, one object ends and the next begins.

The criterion of local convexity (Stein et al., "Object Partitioning using Local Convexity", CVPR 2014), on patches of
points: two neighbouring patches belong together if the angle between their outward normals opens towards the camera, and
if a third patch is in the same relation to both, so that one bad normal in a groove does not bridge it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.spatial import cKDTree

from neurok_ros.reconstruction.clusters import components, voxel_representatives
from neurok_ros.reconstruction.support import Support
from neurok_ros.reconstruction.types import Floats

PATCH_VOXELS = 4.0
"""Side of a patch, in voxels: a dozen points, enough for a normal and small enough to keep clear of a groove."""
BORDER_VOXELS = 2.0
"""Patches with points nearer than this, in voxels, share a border."""
GROOVE_ANGLE = np.deg2rad(22.0)
"""Two patches whose normals close by more than this meet in a groove."""
SHELF_ANGLE = np.deg2rad(25.0)
"""A surface inclined less than this can carry another object."""
FOOT_VOXELS = 2.0
FOOT_POINTS = 10
"""A part with this many points within so many voxels of the cluster's lowest height stands on the support itself."""


@dataclass(frozen=True)
class _Border:
    """Pairs of patches that touch."""

    pairs: NDArray[np.int64]
    """(m, 2) numbers of patches, smaller first."""
    groove: NDArray[np.bool_]
    """(m,) whether the surfaces meet in a groove."""
    shelf: NDArray[np.bool_]
    """(m,) whether the lower of the two could carry the upper."""


def split_at_grooves(
    points: Floats, viewpoints: Floats, support: Support, voxel: float, gap: float, lowest: float, min_points: int
) -> list[NDArray[np.int64]]:
    """Cut a cluster of points (n, 3) into objects.

    A groove alone is not enough: a handle and a cap meet their object in one as well. A part is an object of its own only
    if it stands on the support or on a surface that can carry it. A part that hangs in the air joins what is nearer to it
    than `gap` even without a border: the camera saw a rim edge-on. Parts with fewer than `min_points` join a neighbour.

    Args:
        points: thinned out to one per `voxel`.
        viewpoints: (n, 3), where the camera stood.
        support: the plane below, for what is up.
        voxel, gap: metres.
        lowest: metres above the support, where the cluster's points begin.
        min_points: of an object.

    Returns:
        Indices of the points of each part.
    """
    seeds, _ = voxel_representatives(points, PATCH_VOXELS * voxel)
    owner = cKDTree(points[seeds]).query(points)[1]
    sizes = np.bincount(owner, minlength=len(seeds))
    feet = np.bincount(owner[support.heights(points) < lowest + FOOT_VOXELS * voxel], minlength=len(seeds))
    centres, normals = _patches(points, viewpoints, owner, len(seeds))
    border = _border(centres, normals, _touching(points, owner, BORDER_VOXELS * voxel), support)
    part_of = _numbered(components(len(seeds), _supported(border.pairs[~border.groove], len(seeds))), len(seeds))
    part_of = _merge(part_of, sizes, feet, border, min_points)
    gaps = _touching(points, owner, gap)
    bordering = np.unique(np.sort(part_of[border.pairs], axis=1), axis=0)
    gaps = gaps[~_among(np.sort(part_of[gaps], axis=1), bordering, len(seeds))]
    apart, unsupported = np.ones(len(gaps), dtype=bool), np.zeros(len(gaps), dtype=bool)
    part_of = _merge(part_of, sizes, feet, _Border(gaps, apart, unsupported), min_points)
    label = part_of[owner]
    return [np.flatnonzero(label == each) for each in np.unique(label)]


def _numbered(parts: list[NDArray[np.int64]], count: int) -> NDArray[np.int64]:
    number = np.empty(count, dtype=np.int64)
    for index, part in enumerate(parts):
        number[part] = index
    return number


def _among(pairs: NDArray[np.int64], known: NDArray[np.int64], count: int) -> NDArray[np.bool_]:
    """Whether each of the pairs (m, 2) of numbers below `count` is one of the known ones (k, 2)."""
    return np.isin(pairs[:, 0] * count + pairs[:, 1], known[:, 0] * count + known[:, 1])


def _patches(points: Floats, viewpoints: Floats, owner: NDArray[np.int64], count: int) -> tuple[Floats, Floats]:
    """Centre and unit normal towards the camera, (count, 3) each, of every patch."""
    sizes = np.maximum(np.bincount(owner, minlength=count), 1)[:, None]

    def mean(values: Floats) -> Floats:
        total = np.zeros((count, *values.shape[1:]))
        np.add.at(total, owner, values)
        return total / sizes.reshape(-1, *[1] * (values.ndim - 1))

    centres = mean(points)
    tree = cKDTree(points)
    _, near = tree.query(centres, k=min(30, len(points)))
    local = points[near] - points[near].mean(axis=1, keepdims=True)
    normals = np.linalg.eigh(np.einsum("pki,pkj->pij", local, local))[1][:, :, 0]
    away = np.einsum("ij,ij->i", normals, mean(viewpoints) - centres) < 0
    normals[away] *= -1
    return centres, normals


def _touching(points: Floats, owner: NDArray[np.int64], distance: float) -> NDArray[np.int64]:
    """(m, 2) pairs of patches that have points nearer than `distance` (m), smaller number first."""
    near = cKDTree(points).query_pairs(distance, output_type="ndarray")
    pairs = np.sort(owner[near], axis=1)
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def _border(centres: Floats, normals: Floats, pairs: NDArray[np.int64], support: Support) -> _Border:
    first, second = pairs.T
    apart = centres[first] - centres[second]
    opening = np.einsum("ij,ij->i", apart, normals[first] - normals[second])
    cosine = np.einsum("ij,ij->i", normals[first], normals[second])
    heights = support.heights(centres)
    lower = np.where(heights[first] < heights[second], first, second)
    level = normals @ support.plane[:3] > np.cos(SHELF_ANGLE)
    return _Border(pairs, (opening < 0) & (cosine < np.cos(GROOVE_ANGLE)), level[lower])


def _supported(edges: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Those of the edges (m, 2) between `count` patches whose ends have a common neighbour."""
    one_way = coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(count, count)).tocsr()
    adjacent = one_way + one_way.T
    common = (adjacent @ adjacent).multiply(one_way).tocoo()
    return np.stack([common.row, common.col], axis=1).astype(np.int64)


def _merge(
    part_of: NDArray[np.int64], sizes: NDArray[np.int64], feet: NDArray[np.int64], border: _Border, min_points: int
) -> NDArray[np.int64]:
    """Join parts, smallest first, to the neighbour they share most border with, unless both are objects of their own."""
    part_of = part_of.copy()
    settled: set[int] = set()
    while True:
        weights = np.bincount(part_of, weights=sizes)
        stands = np.bincount(part_of, weights=feet) >= FOOT_POINTS
        open_parts = [int(part) for part in np.unique(part_of) if part not in settled]
        if not open_parts:
            return part_of
        part = min(open_parts, key=lambda each: weights[each])
        target = _target(part, part_of[border.pairs], border, bool(weights[part] < min_points), bool(stands[part]))
        if target is None:
            settled.add(part)
        else:
            part_of[part_of == part] = target
            settled.discard(target)


def _target(part: int, ends: NDArray[np.int64], border: _Border, small: bool, stands: bool) -> int | None:
    """The part that `part` has to join, if any."""
    touching = (ends == part).sum(axis=1) == 1
    if not touching.any():
        return None
    neighbours = np.where(ends[touching, 0] == part, ends[touching, 1], ends[touching, 0])
    shared = np.bincount(neighbours)
    grooves = np.bincount(neighbours, weights=border.groove[touching], minlength=len(shared))
    carried = np.bincount(neighbours, weights=(border.groove & border.shelf)[touching], minlength=len(shared))
    rests = stands | (carried > 0.5 * grooves)
    eligible = (shared > 0) & (small | ~rests)
    return int(np.argmax(shared * eligible)) if eligible.any() else None
