"""Signed distance to a closed triangle mesh, for a few hundred points at a time."""

from __future__ import annotations

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PIECES = 8000
"""The surface is cut into triangles with edges shorter than the side of one of so many squares of the same area: their middles,
and points along sharp edges, find the triangles near a place."""
SHARP = 0.35
"""Radians between the normals of two triangles."""
CANDIDATES = 6
"""How many of them are looked at."""
MOST_HALVINGS = 20
WALKS = 4
"""How often a nearest point on an edge is looked for on the triangles beyond that edge, too."""
ON_EDGE = 1e-6
"""Barycentric coordinate below which the nearest point of a triangle is on its edge."""


class SurfaceDistance:
    """Distance to a surface, negative inside, its sign from the nearest feature's pseudo-normal (Baerentzen and Aanaes 2005).

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3) outward oriented, closed.
    """

    def __init__(self, vertices: Floats, faces: NDArray[np.integer]) -> None:
        mesh = trimesh.Trimesh(vertices, faces, process=False)
        mesh.merge_vertices()
        self._triangles = np.asarray(mesh.triangles, np.float64)
        length = float(np.sqrt(mesh.area / PIECES))
        corners, pieces, triangle = trimesh.remesh.subdivide_to_size(
            mesh.vertices, mesh.faces, length, max_iter=MOST_HALVINGS, return_index=True
        )
        edge_points, edge_triangle = _along_sharp_edges(mesh, 0.5 * length)
        self._tree = cKDTree(np.concatenate([corners[pieces].mean(axis=1), edge_points]))
        self._of_sample = np.concatenate([triangle, edge_triangle])
        self._normals = _pseudo_normals(mesh)
        self._beyond = _neighbours(mesh.faces)

    def __call__(self, points: Floats, within: float) -> tuple[Floats, Floats]:
        """Distances (k,) in metres of points (k, 3), and unit vectors (k, 3) along which they grow.

        Points farther than about `within` metres have infinite distances and zero vectors.
        """
        apart, near = self._tree.query(points, k=np.arange(1, CANDIDATES + 1), distance_upper_bound=within)
        reached = np.isfinite(apart[:, 0])
        distance, normal = np.full(len(points), np.inf), np.zeros((len(points), 3))
        if reached.any():
            near = np.where(np.isfinite(apart), near, near[:, :1])[reached]
            distance[reached], normal[reached] = self._to_triangles(points[reached], self._of_sample[near])
        return distance, normal

    def _to_triangles(self, points: Floats, candidates: Ints) -> tuple[Floats, Floats]:
        """To the nearest of some triangles (k, c) for each of points (k, 3)."""
        triangle, foot = self._nearest_of(points, candidates)
        unsure = np.arange(len(points))
        for _ in range(WALKS):
            on_edge = (trimesh.triangles.points_to_barycentric(self._triangles[triangle[unsure]], foot[unsure]) <= ON_EDGE).any(
                axis=1
            )
            unsure = unsure[on_edge]
            if not len(unsure):
                break
            other, other_foot = self._nearest_of(points[unsure], self._beyond[triangle[unsure]])
            before = np.linalg.norm(points[unsure] - foot[unsure], axis=1)
            nearer = np.linalg.norm(points[unsure] - other_foot, axis=1) < before - 1e-12
            unsure = unsure[nearer]
            triangle[unsure], foot[unsure] = other[nearer], other_foot[nearer]
        inside = trimesh.triangles.points_to_barycentric(self._triangles[triangle], foot) > ON_EDGE
        facing = self._normals[triangle, inside @ np.array([1, 2, 4])]
        away = points - foot
        length = np.linalg.norm(away, axis=1)
        sign = np.where(np.einsum("ki,ki->k", away, facing) < 0.0, -1.0, 1.0)
        direction = np.where(length[:, None] > 1e-9, sign[:, None] * away / length.clip(min=1e-300)[:, None], facing)
        return sign * length, direction

    def _nearest_of(self, points: Floats, candidates: Ints) -> tuple[Ints, Floats]:
        """The nearest (k,) of the triangles (k, c) to each of points (k, 3), and the nearest point (k, 3) of it."""
        closest = trimesh.triangles.closest_point(
            self._triangles[candidates.ravel()], np.repeat(points, candidates.shape[1], axis=0)
        ).reshape(*candidates.shape, 3)
        best = np.linalg.norm(points[:, None] - closest, axis=2).argmin(axis=1)
        rows = np.arange(len(points))
        return candidates[rows, best], closest[rows, best]


def _along_sharp_edges(mesh: trimesh.Trimesh, spacing: float) -> tuple[Floats, Ints]:
    """Points (k, 3) along the sharp edges, at most `spacing` metres apart, and a triangle (k,) beside each."""
    sharp = mesh.face_adjacency_angles > SHARP
    ends = np.asarray(mesh.vertices)[mesh.face_adjacency_edges[sharp]]
    count = np.ceil(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / spacing).astype(np.int64)
    edge = np.repeat(np.arange(len(ends)), count)
    share = (np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count) + 0.5) / count[edge]
    points = ends[edge, 0] + share[:, None] * (ends[edge, 1] - ends[edge, 0])
    return points, np.asarray(mesh.face_adjacency[sharp][edge, 0], np.int64)


def _neighbours(faces: NDArray[np.integer]) -> Ints:
    """(m, 3) the triangles beyond each edge of each triangle; itself where there is none."""
    edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    _, label = np.unique(edges, axis=0, return_inverse=True)
    order = np.argsort(label.reshape(-1), kind="stable")
    sorted_label = label.reshape(-1)[order]
    beyond = np.repeat(np.arange(len(faces)), 3)
    pair = np.flatnonzero(sorted_label[1:] == sorted_label[:-1])
    beyond[order[pair]], beyond[order[pair + 1]] = order[pair + 1] // 3, order[pair] // 3
    return beyond.reshape(-1, 3)


def _pseudo_normals(mesh: trimesh.Trimesh) -> Floats:
    """(m, 8, 3) unit normals of each triangle's features, by which barycentric coordinates are positive there: bit i is set for
    coordinate i, so 1, 2, 4 are its corners, 3, 5, 6 its edges and 7 the triangle itself."""
    face = np.asarray(mesh.face_normals, np.float64)
    by_feature = np.repeat(face[:, None], 8, axis=1)
    for feature, (a, b) in {3: (0, 1), 5: (0, 2), 6: (1, 2)}.items():
        by_feature[:, feature] = 0.0
        _edge_sums(mesh.faces, face, a, b, by_feature[:, feature])
    angles = np.asarray(mesh.face_angles)
    corner = np.zeros((len(mesh.vertices), 3))
    np.add.at(corner, mesh.faces, angles[:, :, None] * face[:, None])
    for index in range(3):
        by_feature[:, 1 << index] = corner[mesh.faces[:, index]]
    lengths = np.linalg.norm(by_feature, axis=2, keepdims=True)
    return np.where(lengths > 1e-12, by_feature / lengths.clip(min=1e-300), face[:, None])


def _edge_sums(faces: NDArray[np.integer], normals: Floats, first: int, second: int, out: Floats) -> None:
    """Add to out (m, 3) the normals of all triangles that share the edge between two corners of each triangle."""
    edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    owner = np.repeat(np.arange(len(faces)), 3)
    _, label = np.unique(edges, axis=0, return_inverse=True)
    label = label.reshape(-1)
    sums = np.zeros((int(label.max()) + 1, 3))
    np.add.at(sums, label, normals[owner])
    position = {(0, 1): 0, (1, 2): 1, (0, 2): 2}[(first, second)]
    out += sums[label.reshape(-1, 3)[:, position]]
