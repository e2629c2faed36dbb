"""A scan cut into the objects that stand on a support.

1. Keep what is in the crop box and in range.
2. Find the support plane (`support.py`).
3. Keep what is above it and within its seen part; thin out to one point per voxel.
4. Cluster by distance; drop speckle; cut clusters at grooves (`concavity.py`), so that stacked and touching objects
   come apart where they differ in shape. Two boxes pushed flush against each other stay one object: nothing in their
   shape tells them from one box.
5. Give back to each object every original point near it, down to the noise of the support plane.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.clusters import connected_clusters, voxel_representatives
from neurok_ros.reconstruction.concavity import split_at_grooves
from neurok_ros.reconstruction.support import MAX_OBJECT_HEIGHT, Support, find_support
from neurok_ros.reconstruction.types import Floats, ObjectSelection, Scan, SegmentationOptions, SegmentedObject

FOOT_DEVIATIONS = 3.0
"""Points next to an object belong to it from this many standard deviations of the support's noise upwards."""
WALL_WIDTH = 0.7
"""Metres: something flat and wider than this is a wall behind the support, not an object."""
NOISE_RANGE = 1.2
"""Metres: beyond this the noise of depth cameras, which grows with the square of the range, exceeds the plane tolerance."""
SPECKLE_SHARE = 0.1
"""A cluster with less than this share of the least number of points is noise, not an object seen badly."""


def segment(scan: Scan, options: SegmentationOptions) -> list[SegmentedObject]:
    """The objects of a scan, that with most points first; an empty list where the support carries nothing but speckle.

    Raises:
        NeurokError: TOO_FEW_POINTS with the counts where cropping leaves fewer than `options.min_points` of the cloud, or
            where what stands on the support has fewer; NO_OBJECT_FOUND where there is no support plane.
    """
    kept = _in_view(scan, options)
    if len(kept) < options.min_points:
        raise NeurokError(
            ErrorCode.TOO_FEW_POINTS,
            "cloud",
            f"{len(kept)} of {len(scan.points)} points lie in the crop box and within {options.max_range} m of the camera, "
            f"at least {options.min_points} are needed",
            "Move the camera, widen the crop box, or raise max_range",
        )
    points = scan.points[kept]
    support = find_support(points, scan.viewpoints[kept], options)
    if support is None:
        raise NeurokError(
            ErrorCode.NO_OBJECT_FOUND,
            "cloud",
            f"no support plane among {len(kept)} points",
            "Let the camera see the surface that the object stands on",
        )
    heights = support.heights(points)
    ranges = np.linalg.norm(points - scan.viewpoints[kept], axis=1)
    tolerance = options.plane_tolerance * np.maximum(1.0, ranges / NOISE_RANGE) ** 2
    above = (heights > tolerance) & (heights < MAX_OBJECT_HEIGHT) & support.over(points)
    thin, _ = voxel_representatives(points[above], options.voxel) if above.any() else (np.empty(0, np.int64), None)
    rows = kept[above][thin]
    parts = _parts(scan.points[rows], scan.viewpoints[rows], support, options)
    foot = _foot_height(heights, options)
    candidates = kept[(heights > foot) & (heights < MAX_OBJECT_HEIGHT)]
    owners = _owners(scan.points[candidates], [scan.points[rows[part]] for part in parts], options.voxel)
    return [_object(scan, candidates[owners == number], kept, rows, support, options) for number in range(len(parts))]


def select(objects: list[SegmentedObject], scan: Scan, selection: ObjectSelection) -> SegmentedObject:
    """The one object that `selection` names, out of those that `segment` found in this scan.

    Raises:
        NeurokError: NO_OBJECT_FOUND where there is none, or none where it was asked for.
    """
    if not objects:
        raise _nothing("selection", f"nothing stands on the support among {len(scan.points)} points", "Move the camera")
    if selection.label is not None:
        return _by_label(objects, scan, selection.label)
    if selection.point is not None:
        distances = [np.linalg.norm(each.points - np.asarray(selection.point), axis=1).min() for each in objects]
        return objects[int(np.argmin(distances))]
    if selection.region is not None:
        lower, upper = np.asarray(selection.region)
        counts = [int(((each.points >= lower) & (each.points <= upper)).all(axis=1).sum()) for each in objects]
        if max(counts) == 0:
            problem = f"none of the {len(objects)} objects has a point in the box from {lower.tolist()} to {upper.tolist()}"
            raise _nothing("selection.region", problem, "Give the box in the planning frame, lower corner first")
        return objects[int(np.argmax(counts))]
    return max(objects, key=lambda each: len(each.source))


def _nothing(name: str, problem: str, remedy: str) -> NeurokError:
    return NeurokError(ErrorCode.NO_OBJECT_FOUND, name, problem, remedy)


def _by_label(objects: list[SegmentedObject], scan: Scan, label: int) -> SegmentedObject:
    if scan.labels is None:
        raise _nothing("selection.label", "the cloud has no field named label", "Select by point or region")
    labels = scan.labels
    counts = [int((labels[each.source] == label).sum()) for each in objects]
    total = int((labels == label).sum())
    if total == 0:
        raise _nothing("selection.label", f"no point has label {label}", f"Choose among {np.unique(labels).tolist()[:20]}")
    if max(counts) == 0:
        problem = f"label {label} is on {total} points of the cloud and on none of the {len(objects)} objects found"
        raise NeurokError(ErrorCode.TOO_FEW_POINTS, "selection.label", problem, "Let the camera see more of it")
    return objects[int(np.argmax(counts))]


def _in_view(scan: Scan, options: SegmentationOptions) -> NDArray[np.int64]:
    keep = np.isfinite(scan.points).all(axis=1)
    keep &= np.linalg.norm(scan.points - scan.viewpoints, axis=1) <= options.max_range
    if options.crop is not None:
        lower, upper = np.asarray(options.crop)
        keep &= ((scan.points >= lower) & (scan.points <= upper)).all(axis=1)
    return np.flatnonzero(keep)


def _parts(points: Floats, viewpoints: Floats, support: Support, options: SegmentationOptions) -> list[NDArray[np.int64]]:
    """Indices of the thinned out points above the support of each object, that with most points first."""
    highest_start = options.plane_tolerance + 2 * options.cluster_distance
    clusters = connected_clusters(points, options.cluster_distance)
    clusters = [each for each in clusters if support.heights(points[each]).min() < highest_start]
    clusters = [each for each in clusters if not _is_wall(points[each], options)]
    if clusters and SPECKLE_SHARE * options.min_points < len(clusters[0]) < options.min_points:
        raise NeurokError(
            ErrorCode.TOO_FEW_POINTS,
            "cloud",
            f"what stands on the support has {len(clusters[0])} points {options.voxel} m apart, {options.min_points} are needed",
            "Move the camera so that it sees more of the object, or lower voxel or min_points",
        )
    parts: list[NDArray[np.int64]] = []
    for cluster in clusters:
        if len(cluster) < options.min_points:
            break
        if not options.split_touching:
            parts.append(cluster)
            continue
        cut = split_at_grooves(
            points[cluster],
            viewpoints[cluster],
            support,
            voxel=options.voxel,
            gap=options.cluster_distance,
            lowest=options.plane_tolerance,
            min_points=options.min_points,
        )
        parts += [cluster[each] for each in cut if len(each) >= options.min_points]
    return sorted(parts, key=len, reverse=True)


def _is_wall(points: Floats, options: SegmentationOptions) -> bool:
    """Whether points (n, 3) are flat and wider than anything that stands on a support."""
    if len(points) < 3:
        return False
    deviations = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) / np.sqrt(len(points))
    wide = float(np.ptp(points, axis=0).max()) > WALL_WIDTH
    return wide and float(deviations[2]) < options.plane_tolerance


def _foot_height(heights: Floats, options: SegmentationOptions) -> float:
    near = np.abs(heights[np.abs(heights) < options.plane_tolerance])
    noise = 1.4826 * float(np.median(near))
    return min(FOOT_DEVIATIONS * noise, options.plane_tolerance)


def _owners(points: Floats, objects: list[Floats], voxel: float) -> NDArray[np.int64]:
    """(n,) which object each of the points (n, 3) is nearest to, -1 where none is within two voxels."""
    if not objects:
        return np.full(len(points), -1)
    numbers = np.repeat(np.arange(len(objects)), [len(each) for each in objects])
    distances, nearest = cKDTree(np.concatenate(objects)).query(points, distance_upper_bound=2 * voxel)
    return np.where(np.isfinite(distances), np.append(numbers, -1)[nearest], -1)


def _object(
    scan: Scan,
    source: NDArray[np.int64],
    kept: NDArray[np.int64],
    above: NDArray[np.int64],
    support: Support,
    options: SegmentationOptions,
) -> SegmentedObject:
    """The object with the points `source`, among everything `kept` and everything `above` the support (thinned out)."""
    thin = source[voxel_representatives(scan.points[source], options.voxel)[0]]
    others = scan.points[np.setdiff1d(above, source)]
    around = np.setdiff1d(_around(scan, kept, thin), source)
    return SegmentedObject(
        points=scan.points[thin],
        viewpoints=scan.viewpoints[thin],
        source=source,
        support=_own_support(scan.points[thin], others, support, options),
        colors=None if scan.colors is None else scan.colors[thin],
        surroundings=scan.points[around[voxel_representatives(scan.points[around], options.voxel)[0]]],
    )


def _around(scan: Scan, kept: NDArray[np.int64], thin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of the points `kept` that are seen in directions near to the object's."""
    camera = scan.viewpoints[thin].mean(axis=0)

    def direction(rows: NDArray[np.int64]) -> Floats:
        rays: Floats = scan.points[rows] - camera
        lengths: Floats = np.maximum(np.linalg.norm(rays, axis=1, keepdims=True), 1e-9)
        return rays / lengths

    own = direction(thin)
    axis: Floats = own.mean(axis=0) / np.linalg.norm(own.mean(axis=0))
    near: NDArray[np.bool_] = direction(kept) @ axis >= 2 * (own @ axis).min() - 1
    return kept[near]


def _own_support(points: Floats, others: Floats, support: Support, options: SegmentationOptions) -> Floats:
    """(4,) the support, raised to the foot of an object that stands on another one."""
    heights = support.heights(points)
    foot = float(np.percentile(heights, 1.0))
    if foot < options.plane_tolerance + options.cluster_distance or len(others) == 0:
        return support.plane
    gaps, _ = cKDTree(others).query(points[heights < foot + options.plane_tolerance])
    stacked = np.mean(gaps < options.cluster_distance) > 0.5
    return np.append(support.plane[:3], support.plane[3] - foot) if stacked else support.plane
