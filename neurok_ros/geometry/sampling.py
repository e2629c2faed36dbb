"""Points spread evenly over a surface, and the area that each stands for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]

_CANDIDATES = 12
"""Random points drawn for each one that is kept."""
_LEAST_CANDIDATES = 8
"""Expected of each connected part, however small."""


@dataclass(frozen=True)
class SurfaceSamples:
    """Points on a triangle mesh."""

    points: Floats
    """(p, 3) metres."""
    normals: Floats
    """(p, 3) unit length, outward where the mesh is oriented outward."""
    areas: Floats
    """(p,) m^2, the part of the surface that each point stands for; they sum to the mesh's area."""
    faces: NDArray[np.int64]
    """(p,) the triangle that each point lies on."""


def farthest_points(points: Floats, count: int) -> NDArray[np.int64]:
    """Indices (count,) of points (n, d), each the farthest from all before it; the first is the farthest from the mean."""
    chosen = np.empty(min(count, len(points)), np.int64)
    chosen[0] = np.argmax(((points - points.mean(axis=0)) ** 2).sum(axis=1))
    distance = np.full(len(points), np.inf)
    for i in range(1, len(chosen)):
        distance = np.minimum(distance, ((points - points[chosen[i - 1]]) ** 2).sum(axis=1))
        chosen[i] = np.argmax(distance)
    return chosen


def sample_surface(
    vertices: Floats, faces: NDArray[np.integer], count: int, seed: int = 0, part: NDArray[np.int64] | None = None
) -> SurfaceSamples:
    """Spread `count` points over a mesh: uniform random candidates, thinned to the farthest of each other.

    Two sides of a thin wall count as far apart, so that both get their points: the distance takes in the normals,
    scaled by the mean spacing. Where connected parts are given, those count as apart by what lies between their middles, too:
    a button on a panel gets its point.

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3) vertex indices.
        count: how many points.
        seed: equal seeds give equal samples.
        part: (m,) the connected part that each triangle belongs to, labels from 0 without gaps.
    """
    triangles = vertices[faces]
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    doubled = np.linalg.norm(cross, axis=1)
    area = float(doubled.sum() / 2)
    mesh = trimesh.Trimesh(vertices, faces, process=False, validate=False)
    boost = np.ones(len(faces)) if part is None else part_boost(part, doubled / 2, _CANDIDATES * count, _LEAST_CANDIDATES)
    candidates, face = trimesh.sample.sample_surface(mesh, _CANDIDATES * count, face_weight=boost * doubled / 2, seed=seed)
    normals = cross[face] / doubled[face, None]

    place = np.hstack([candidates, np.sqrt(area / count) * normals])
    if part is not None:
        place = np.hstack([place, part_middles(part, doubled / 2, triangles.mean(axis=1))[face]])
    kept = farthest_points(place, count)
    _, owner = cKDTree(place[kept]).query(place)
    shares = np.bincount(owner, weights=1 / boost[face], minlength=len(kept)).astype(np.float64)
    areas = shares * (area / shares.sum())
    return SurfaceSamples(np.asarray(candidates)[kept], normals[kept], areas, face[kept].astype(np.int64))


def part_boost(part: NDArray[np.int64], areas: Floats, candidates: int, least: int) -> Floats:
    """(m,) how much more densely than the rest to draw from each triangle, so that every part gets enough candidates.

    Args:
        part: (m,) labels from 0 without gaps.
        areas: (m,) of the triangles.
        candidates: how many are drawn in all.
        least: how many each part should get.
    """
    of_part = np.maximum(np.bincount(part, weights=areas), np.finfo(np.float64).tiny)
    boost: Floats = np.maximum(1.0, least / candidates * areas.sum() / of_part)[part]
    return boost


def part_middles(part: NDArray[np.int64], areas: Floats, centroids: Floats) -> Floats:
    """(m, 3) the centroid of the surface of the part that each triangle belongs to.

    Args:
        part: (m,) labels from 0 without gaps.
        areas: (m,) of the triangles.
        centroids: (m, 3) of the triangles.
    """
    of_part = np.maximum(np.bincount(part, weights=areas), np.finfo(np.float64).tiny)
    middles = [np.bincount(part, weights=areas * centroids[:, axis]) / of_part for axis in range(3)]
    return np.stack(middles, axis=1)[part]
