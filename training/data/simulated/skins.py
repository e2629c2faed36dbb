"""Closed surfaces around what is simulated as points: sheets get two sides, ropes a tube."""

from __future__ import annotations

import numpy as np

from training.sampling import Floats, Ints

_AROUND = 8
"""Corners of a rope's section."""


def grid_triangles(rows: int, columns: int) -> Ints:
    """(f, 3) triangles of a grid of points, numbered row by row; diagonals alternate."""
    faces = []
    for i in range(rows - 1):
        for j in range(columns - 1):
            a, b = i * columns + j, i * columns + j + 1
            c, d = a + columns, b + columns
            faces += [(a, c, b), (b, c, d)] if (i + j) % 2 else [(a, c, d), (a, d, b)]
    return np.array(faces, np.int64)


def shell_faces(triangles: Ints, points: int) -> Ints:
    """(f, 3) faces of a closed shell: one side's vertices are the points, the other side's come after them."""
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    _, index, counts = np.unique(np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True)
    rim = edges[index[counts == 1]]
    a, b = rim.T
    sides = np.vstack([np.stack([b, a, a + points], axis=1), np.stack([b, a + points, b + points], axis=1)])
    return np.vstack([triangles, triangles[:, ::-1] + points, sides])


def shell_vertices(points: Floats, triangles: Ints, thickness: float) -> Floats:
    """(2 n, 3) both sides of a sheet through points (n, 3), half the thickness along the normals to each side."""
    a, b, c = np.moveaxis(points[triangles], 1, 0)
    normals = np.zeros_like(points)
    for corner in range(3):
        np.add.at(normals, triangles[:, corner], np.cross(b - a, c - a))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.vstack([points + thickness / 2 * normals, points - thickness / 2 * normals])


def tube_faces(points: int) -> Ints:
    """(f, 3) faces of a closed tube along a line of points; the two ends' middles are the last vertices."""
    faces = []
    for i in range(points - 1):
        for j in range(_AROUND):
            a, b = i * _AROUND + j, i * _AROUND + (j + 1) % _AROUND
            faces += [(a, b, b + _AROUND), (a, b + _AROUND, a + _AROUND)]
    first, last = points * _AROUND, points * _AROUND + 1
    start = (points - 1) * _AROUND
    for j in range(_AROUND):
        k = (j + 1) % _AROUND
        faces += [(first, k, j), (last, start + j, start + k)]
    return np.array(faces, np.int64)


def tube_vertices(line: Floats, radius: float) -> Floats:
    """(8 n + 2, 3) a tube around a line of points (n, 3), its section carried along without twist (parallel transport)."""
    tangents = np.gradient(line, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    side = np.eye(3)[np.argmin(np.abs(tangents[0]))]
    turns = 2 * np.pi * np.arange(_AROUND) / _AROUND
    rings = []
    for point, tangent in zip(line, tangents, strict=True):
        side = side - (side @ tangent) * tangent
        side /= np.linalg.norm(side)
        other = np.cross(tangent, side)
        rings.append(point + radius * (np.cos(turns)[:, None] * side + np.sin(turns)[:, None] * other))
    return np.vstack([*rings, line[:1], line[-1:]])
