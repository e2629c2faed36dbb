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


def sample_surface(vertices: Floats, faces: NDArray[np.integer], count: int, seed: int = 0) -> SurfaceSamples:
    """Spread `count` points over a mesh: uniform random candidates, thinned to the farthest of each other.

    Two sides of a thin wall count as far apart, so that both get their points: the distance takes in the normals,
    scaled by the mean spacing.

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3) vertex indices.
        count: how many points.
        seed: equal seeds give equal samples.
    """
    triangles = vertices[faces]
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    doubled = np.linalg.norm(cross, axis=1)
    area = float(doubled.sum() / 2)
    mesh = trimesh.Trimesh(vertices, faces, process=False, validate=False)
    candidates, face = trimesh.sample.sample_surface(mesh, _CANDIDATES * count, face_weight=doubled / 2, seed=seed)
    normals = cross[face] / doubled[face, None]

    place = np.hstack([candidates, np.sqrt(area / count) * normals])
    kept = farthest_points(place, count)
    _, owner = cKDTree(place[kept]).query(place)
    areas = np.bincount(owner, minlength=len(kept)).astype(np.float64) * (area / len(candidates))
    return SurfaceSamples(np.asarray(candidates)[kept], normals[kept], areas, face[kept].astype(np.int64))
