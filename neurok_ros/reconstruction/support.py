"""The plane that the objects stand on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError, cKDTree

from neurok_ros.reconstruction.clusters import connected_clusters
from neurok_ros.reconstruction.types import Floats, SegmentationOptions

RANSAC_TRIALS = 300
RANSAC_SAMPLE = 8000
NEIGHBOURS = 150
"""Of the sample: a patch of 10 to 20 cm."""
CANDIDATES = 5
LEAST_SHARE = 0.03
"""A plane with fewer of the points than this is not considered."""
OTHER_PLANE = 0.15
"""A plane with more than this share of a support's points is not carried by it."""
MAX_TILT = np.deg2rad(20.0)
"""Between the given upward direction and the support's normal."""
MAX_OBJECT_HEIGHT = 0.6
"""Metres above the support; what is higher does not stand on it."""
HULL_MARGIN = 0.01
"""Metres by which an object may overhang what is seen of its support."""


@dataclass(frozen=True)
class Support:
    """A plane and the part of it that was seen."""

    plane: Floats
    """(4,) n . x + d = 0, unit n up, towards the camera; d in metres."""
    hull: Floats
    """(k, 3) half-planes a . u + b <= 0 in plane coordinates u = basis @ x that bound the seen part."""
    basis: Floats
    """(2, 3) orthonormal, perpendicular to n."""

    def heights(self, points: Floats) -> Floats:
        """(n,) metres above the plane of points (n, 3)."""
        above: Floats = points @ self.plane[:3] + self.plane[3]
        return above

    def over(self, points: Floats) -> NDArray[np.bool_]:
        """(n,) whether points (n, 3) lie above or below the seen part of the plane."""
        flat = points @ self.basis.T
        inside: NDArray[np.bool_] = (flat @ self.hull[:, :2].T + self.hull[:, 2] <= HULL_MARGIN).all(axis=1)
        return inside


def find_support(points: Floats, viewpoints: Floats, options: SegmentationOptions) -> Support | None:
    """The plane with most points among those that carry something; failing that, the plane with most points.

    Walls and the faces of boxes are planes as well. They are told apart by what touches them: a support carries
    clusters that begin at it and end below MAX_OBJECT_HEIGHT and that are not themselves large planes. Where the
    upward direction is known (`options.up`) only planes within MAX_TILT of it are considered.

    Args:
        points: (n, 3) metres, not thinned out, so that near planes count for more than far ones.
        viewpoints: (n, 3) metres.
        options: lengths in metres.

    Returns:
        None where no plane has a LEAST_SHARE of the points.
    """
    random = np.random.default_rng(0)
    rows = random.permutation(len(points))[:RANSAC_SAMPLE]
    sample, camera = points[rows], viewpoints.mean(axis=0)
    candidates = _candidate_planes(sample, camera, options, random)
    if not candidates:
        return None
    inlier_masks = [np.abs(sample @ plane[:3] + plane[3]) < options.plane_tolerance for plane in candidates]
    scores = []
    for plane, inliers in zip(candidates, inlier_masks, strict=True):
        support = _bounded(plane, sample[inliers])
        others = np.any([mask for mask in inlier_masks if mask.sum() > OTHER_PLANE * inliers.sum()], axis=0)
        carries = support is not None and _carries(support, sample[~others], options)
        scores.append(int(inliers.sum()) * (1.0 if carries else 0.01))
    best = int(np.argmax(scores))
    return _bounded(candidates[best], sample[inlier_masks[best]])


def _candidate_planes(sample: Floats, camera: Floats, options: SegmentationOptions, random: np.random.Generator) -> list[Floats]:
    planes: list[Floats] = []
    left = np.ones(len(sample), dtype=bool)
    for _ in range(CANDIDATES):
        plane = _ransac(sample[left], options, random)
        if plane is None:
            break
        inliers = left & (np.abs(sample @ plane[:3] + plane[3]) < options.plane_tolerance)
        if inliers.sum() < LEAST_SHARE * len(sample):
            break
        plane = _fit(sample[inliers])
        planes.append(plane if plane[:3] @ camera + plane[3] > 0 else -plane)
        left &= np.abs(sample @ plane[:3] + plane[3]) >= options.plane_tolerance
    return planes if options.up is None else [plane for plane in planes if plane[:3] @ np.asarray(options.up) > np.cos(MAX_TILT)]


def _ransac(points: Floats, options: SegmentationOptions, random: np.random.Generator) -> Floats | None:
    """The plane through three of the points (n, 3) that most others are near to."""
    if len(points) < 3:
        return None
    corners = points[_triples(points, random)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    usable = lengths > 1e-9
    if options.up is not None:
        usable &= np.abs(normals @ np.asarray(options.up)) > np.cos(MAX_TILT) * lengths
    if not usable.any():
        return None
    normals = normals[usable] / lengths[usable, None]
    offsets = -np.einsum("ij,ij->i", normals, corners[usable, 0])
    thin = points[:: max(1, len(points) // 2000)]
    counts = (np.abs(thin @ normals.T + offsets) < options.plane_tolerance).sum(axis=0)
    best = int(np.argmax(counts))
    return np.append(normals[best], offsets[best])


def _triples(points: Floats, random: np.random.Generator) -> NDArray[np.int64]:
    """(2 * RANSAC_TRIALS, 3) indices: triples from anywhere find large noisy planes, triples of neighbours find small ones."""
    anywhere = random.integers(len(points), size=(RANSAC_TRIALS, 3))
    first = random.integers(len(points), size=RANSAC_TRIALS)
    _, near = cKDTree(points).query(points[first], k=min(NEIGHBOURS, len(points)))
    picked = random.integers(near.shape[1], size=(RANSAC_TRIALS, 2))
    return np.concatenate([anywhere, np.column_stack([first, np.take_along_axis(near, picked, axis=1)])])


def _fit(points: Floats) -> Floats:
    """(4,) the least-squares plane of points (n, 3)."""
    centre = points.mean(axis=0)
    normal = np.linalg.svd(points - centre, full_matrices=False)[2][2]
    return np.append(normal, -normal @ centre)


def _bounded(plane: Floats, inliers: Floats) -> Support | None:
    basis = np.linalg.svd(plane[None, :3])[2][1:]
    try:
        return Support(plane, ConvexHull(inliers @ basis.T).equations, basis)
    except QhullError:
        return None


def _carries(support: Support, points: Floats, options: SegmentationOptions) -> bool:
    """Whether something stands on the support; the points are thinned out, so distances are generous."""
    heights = support.heights(points)
    near = (heights > 1.5 * options.plane_tolerance) & (heights < MAX_OBJECT_HEIGHT) & support.over(points)
    above, heights = points[near], heights[near]
    for cluster in connected_clusters(above, 2 * options.cluster_distance):
        touches = heights[cluster].min() < 3 * options.plane_tolerance + options.cluster_distance
        if len(cluster) >= 10 and touches:
            return True
    return False
