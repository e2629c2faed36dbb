"""Distances between two shapes of one object. Lengths are in units of the object at rest (`objects.EvaluationObject`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from neurok_ros.geometry.driving import connected_parts
from neurok_ros.geometry.solids import inside_grid

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VOXELS = 96
"""Along the longest side of the box around both shapes."""
_OFF_CENTER = 0.31
"""Cells: symmetric shapes have no surface on a boundary between cells."""


@dataclass(frozen=True)
class Errors:
    """What Table 1 measures, and what it lacks: how far each vertex is from where it should be."""

    chamfer_l1: float
    chamfer_l2: float
    iou: float
    vertex_rmse: float

    def to_dict(self) -> dict[str, float]:
        """By name."""
        return asdict(self)

    @staticmethod
    def mean(errors: list[Errors]) -> Errors:
        """Of at least one."""
        values = np.mean([list(e.to_dict().values()) for e in errors], axis=0)
        return Errors(*(float(v) for v in values))


def chamfer_l1(a: Floats, b: Floats) -> float:
    """Symmetric, unsquared: (mean_i min_j |a_i - b_j| + mean_j min_i |a_i - b_j|) / 2, of points (n, 3) and (m, 3)."""
    return chamfer(a, b)[0]


def chamfer_l2(a: Floats, b: Floats) -> float:
    """Symmetric, squared: (mean_i min_j |a_i - b_j|^2 + mean_j min_i |a_i - b_j|^2) / 2, of points (n, 3) and (m, 3)."""
    return chamfer(a, b)[1]


def chamfer(a: Floats, b: Floats) -> tuple[float, float]:
    """`chamfer_l1` and `chamfer_l2` from one search."""
    there, back = _nearest(a, b)
    return float(there.mean() + back.mean()) / 2, float((there**2).mean() + (back**2).mean()) / 2


def vertex_rmse(a: Floats, b: Floats) -> float:
    """sqrt(mean_i |a_i - b_i|^2), of corresponding points (n, 3)."""
    return float(np.sqrt(((a - b) ** 2).sum(axis=1).mean()))


def voxel_iou(a: Floats, b: Floats, faces: Ints, voxels: int = VOXELS) -> float:
    """Volume of the intersection over that of the union of two shapes of one mesh; one where both are empty.

    The cube around both shapes is cut into `voxels` cells along each side. A cell is full where its centre is inside a closed
    connected part (signed crossings of a ray, so that overlapping parts are united), or where the surface of an open part
    passes through it.

    Args:
        a: (n, 3) vertices of one shape.
        b: (n, 3) vertices of the other.
        faces: (m, 3) vertex indices, outward oriented.
        voxels: of them along each side of the cube.
    """
    low, high = np.minimum(a.min(axis=0), b.min(axis=0)), np.maximum(a.max(axis=0), b.max(axis=0))
    cell = float((high - low).max()) * 1.02 / voxels
    corner = (low + high) / 2 - cell * (voxels / 2 + _OFF_CENTER)
    closed, opened = split_closed(faces, len(a))
    full_a, full_b = (_full(shape - corner, closed, opened, cell, voxels) for shape in (a, b))
    union = np.count_nonzero(full_a | full_b)
    return np.count_nonzero(full_a & full_b) / union if union else 1.0


def split_closed(faces: Ints, vertices: int) -> tuple[Ints, Ints]:
    """The faces (c, 3) of the connected parts that are closed and evenly oriented, and those (o, 3) of the others."""
    part = connected_parts(faces, vertices)[faces[:, 0]]
    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    _, edge = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    balance = np.bincount(edge.reshape(-1), weights=np.where(edges[:, 0] < edges[:, 1], 1.0, -1.0))
    bad = np.unique(np.repeat(part, 3)[balance[edge.reshape(-1)] != 0])
    is_open = np.isin(part, bad)
    return faces[~is_open], faces[is_open]


def _nearest(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    return cKDTree(b).query(a)[0], cKDTree(a).query(b)[0]


def _full(vertices: Floats, closed: Ints, opened: Ints, cell: float, voxels: int) -> NDArray[np.bool_]:
    shape = (voxels, voxels, voxels)
    full = inside_grid(vertices, closed, np.full(3, cell), shape) if len(closed) else np.zeros(shape, bool)
    if len(opened):
        place = np.clip((_dense_points(vertices, opened, cell / 2) / cell).astype(np.int64), 0, voxels - 1)
        full[tuple(place.T)] = True
    return full


def _dense_points(vertices: Floats, faces: Ints, spacing: float) -> Floats:
    """Points (p, 3) on triangles, a grid in each that is at most `spacing` wide."""
    corners = vertices[faces]
    longest = np.linalg.norm(corners - corners[:, [1, 2, 0]], axis=2).max(axis=1)
    steps = np.maximum(np.ceil(longest / spacing).astype(np.int64), 1)
    points = []
    for count in np.unique(steps):
        i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
        inside = i + j <= count
        weights = np.stack([i[inside], j[inside], count - i[inside] - j[inside]], axis=1) / count
        points.append(np.einsum("pc,fcx->fpx", weights, corners[steps == count]).reshape(-1, 3))
    return np.concatenate(points)
