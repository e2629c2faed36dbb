"""Where an object could be, as a signed field, and the points of that field's surface.

Outside is: what the camera saw to be free, the mirror images of that, below the support, and outside the convex hull
of all observed and mirrored points and their feet. Coordinates: z up, the support at z = 0, metres.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import ndimage
from scipy.spatial import ConvexHull, QhullError

from neurok_ros.reconstruction.free_space import View
from neurok_ros.reconstruction.symmetry import Symmetry, free_depth
from neurok_ros.reconstruction.types import Floats

MAX_CELLS = 250_000
LEAST_CELL = 0.001
MIN_THICKNESS = 0.004
"""Metres of material that is always assumed behind an observed surface."""
HULL_POINTS = 400


def possible_surface(points: Floats, views: Sequence[View], symmetry: Symmetry | None) -> tuple[Floats, Floats, float]:
    """Points on the boundary of the space where the object could be.

    Args:
        points: (n, 3) observed.
        views: the same points' views.
        symmetry: mirror planes that the object has.

    Returns:
        (k, 3) points, (k, 3) unit normals that point outwards, and the size of the field's cells in metres.
    """
    known = points if symmetry is None else np.concatenate([points, *symmetry.images(points)])
    bound = np.concatenate([known, known * (1.0, 1.0, 0.0)])
    lower, upper = bound.min(axis=0), bound.max(axis=0)
    cell = max(LEAST_CELL, float(np.prod(upper - lower + 6 * LEAST_CELL) / MAX_CELLS) ** (1 / 3))
    axes = [np.arange(low - 3 * cell, high + 3.5 * cell, cell) for low, high in zip(lower, upper, strict=True)]
    shape = tuple(len(axis) for axis in axes)
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    field = _field(cells, bound, views, symmetry, cell).reshape(shape)
    surface, normals = _crossings(ndimage.gaussian_filter(np.clip(field, -2 * cell, 2 * cell), 0.6), cell)
    return surface + [axis[0] for axis in axes], normals, cell


def _field(cells: Floats, bound: Floats, views: Sequence[View], symmetry: Symmetry | None, cell: float) -> Floats:
    """(m,) metres outside the possible space, negative inside; correct near zero only."""
    band = 3 * cell
    field = _hull_distance(cells, bound)
    seen = np.full(len(cells), np.inf)
    near = np.flatnonzero(field < band)
    seen[near] = free_depth(cells[near], views)
    field = np.maximum(field, seen)
    skin = skin_distance(cells, views)
    if symmetry is not None:
        near = np.flatnonzero(field < band)
        images = symmetry.images(cells[near])
        mirrored = np.max([free_depth(image, views) for image in images], axis=0)
        mirrored_skin = np.min([skin_distance(image, views) for image in images], axis=0)
        field[near] = np.maximum(field[near], mirrored)
        skin[near] = np.minimum(skin[near], np.maximum(mirrored_skin, seen[near]))
    solid: Floats = np.maximum(np.minimum(field, skin), -cells[:, 2])
    return solid


def skin_distance(points: Floats, views: Sequence[View]) -> Floats:
    """(n,) metres outside the material that is assumed behind every seen surface, negative within."""
    skin: Floats = np.min([view.outside_skin(points, MIN_THICKNESS) for view in views], axis=0)
    return skin


def _hull_distance(cells: Floats, bound: Floats) -> Floats:
    """(m,) metres outside the convex hull of points (n, 3); a little thickened where they lie in a plane."""
    thick = np.concatenate([bound, *(bound + offset for offset in 0.5 * MIN_THICKNESS * np.eye(3))])
    try:
        corners = thick[ConvexHull(thick).vertices]
        hull = ConvexHull(corners[:: max(1, len(corners) // HULL_POINTS)])
    except QhullError:
        return np.full(len(cells), -np.inf)
    planes = np.unique(hull.equations.round(6), axis=0)
    chunks = np.array_split(cells, max(1, len(cells) // 10_000))
    distances: Floats = np.concatenate([(chunk @ planes[:, :3].T + planes[:, 3]).max(axis=1) for chunk in chunks])
    return distances


def _crossings(field: Floats, cell: float) -> tuple[Floats, Floats]:
    """Points where the field changes sign along the grid's edges, and unit normals there; origin at cell (0, 0, 0)."""
    gradient = np.stack([np.gradient(field, axis=axis) for axis in range(3)], axis=-1)
    points, normals = [], []
    for axis in range(3):
        first = np.moveaxis(field, axis, 0)[:-1]
        second = np.moveaxis(field, axis, 0)[1:]
        where = np.argwhere((first < 0) != (second < 0))
        a, b = first[tuple(where.T)], second[tuple(where.T)]
        share = (a / (a - b))[:, None]
        start = np.insert(where[:, 1:], axis, where[:, 0], axis=1)
        end = start.copy()
        end[:, axis] += 1
        points.append((start + share * (end - start)) * cell)
        normals.append((1 - share) * gradient[tuple(start.T)] + share * gradient[tuple(end.T)])
    merged = np.concatenate(normals)
    return np.concatenate(points), merged / np.maximum(np.linalg.norm(merged, axis=1, keepdims=True), 1e-12)
