"""Soft bodies of cubes: tetrahedra for MuJoCo, and exactly their surface for this package."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


@dataclass(frozen=True, eq=False)
class Tetrahedra:
    """A solid of tetrahedra, its surface, and the mass of its nodes."""

    nodes: Floats
    """(n, 3) metres."""
    elements: Ints
    """(e, 4), of positive volume."""
    surface: Ints
    """(f, 3) triangles of nodes, seen from outside counter-clockwise."""

    def node_volumes(self) -> Floats:
        """(n,) m^3: a quarter of every tetrahedron around."""
        a, b, c, d = np.moveaxis(self.nodes[self.elements], 1, 0)
        volumes = np.einsum("ei,ei->e", np.cross(b - a, c - a), d - a) / 6.0
        return np.asarray(np.bincount(self.elements.ravel(), np.repeat(volumes / 4.0, 4), len(self.nodes)), np.float64)

    def mesh(self) -> tuple[Floats, Ints, Ints]:
        """Vertices (v, 3) and faces (f, 3) of the surface, and the nodes (v,) that the vertices are."""
        used, faces = np.unique(self.surface, return_inverse=True)
        return self.nodes[used], faces.reshape(-1, 3), used


def tetrahedra(occupied: NDArray[np.bool_], edges: tuple[float, float, float], fineness: int = 1) -> Tetrahedra:
    """Fill cells with tetrahedra, centred in x and y and standing on z = 0.

    Args:
        occupied: (x, y, z) cells that are full.
        edges: metres, of a cell.
        fineness: cells are cut so often along each axis.
    """
    fine = occupied
    for axis in range(3):
        fine = fine.repeat(fineness, axis)
    size = np.array(edges) / fineness
    cells = np.argwhere(fine)
    corners = cells[:, None] + _CORNERS
    places, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    elements = _kuhn(index.reshape(-1, 8))
    nodes = places * size
    nodes[:, :2] -= 0.5 * np.array(fine.shape[:2]) * size[:2]
    return Tetrahedra(nodes, elements, _boundary(elements))


def _kuhn(cells: Ints) -> Ints:
    """(6 c, 4) each cell cut into six tetrahedra along its diagonal, neighbours alike."""
    made = []
    for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)):
        steps = np.cumsum([np.zeros(3, int), *np.eye(3, dtype=int)[list(order)]], axis=0)
        corner = steps @ np.array([4, 2, 1])
        turned = np.linalg.det(np.eye(3)[list(order)]) < 0.0
        made.append(cells[:, corner[[0, 2, 1, 3]] if turned else corner])
    return np.concatenate(made)


def _boundary(elements: Ints) -> Ints:
    """(f, 3) faces of only one tetrahedron, outward."""
    faces = np.concatenate([elements[:, face] for face in ([0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3])])
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    return np.asarray(faces[first[count == 1]])
