"""What a closed triangle mesh encloses: its unconnected parts, its volume moments, and which points of a grid are inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from neurok_ros.errors import ErrorCode, NeurokError

Floats = NDArray[np.float64]
Faces = NDArray[np.integer]

_RAY_OFFSET = np.array([0.7548776662e-4, 0.5698402910e-4])
"""Rays stand this far (of the grid's spacing) off the grid points, so that none meets a vertex of a regular mesh."""


@dataclass(frozen=True)
class SolidMoments:
    """The zeroth, first and second moment of a solid's volume."""

    volume: float
    """m^3."""
    center: Floats
    """(3,) metres, the centre of volume."""
    second: Floats
    """(3, 3) m^5, the integral of (x - center) (outer) (x - center)."""

    @property
    def inertia(self) -> Floats:
        """(3, 3) m^5: the inertia tensor about the centre for a density of one."""
        return np.asarray(np.trace(self.second) * np.eye(3) - self.second)


def solid_moments(vertices: Floats, faces: Faces) -> SolidMoments:
    """The moments of the volume that a closed, outward oriented mesh (n, 3), (m, 3) encloses, exact."""
    origin = vertices[faces].reshape(-1, 3).mean(axis=0)
    found = trimesh.triangles.mass_properties(vertices[faces] - origin)
    inertia = np.asarray(found.inertia)
    return SolidMoments(
        volume=float(found.volume),
        center=np.asarray(found.center_mass) + origin,
        second=np.trace(inertia) / 2 * np.eye(3) - inertia,
    )


def solid_parts(vertices: Floats, faces: Faces) -> list[Faces]:
    """Cut a closed mesh into the solids that no edge connects, each oriented outward; a cavity stays with its solid.

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3) vertex indices.

    Raises:
        NeurokError: RECONSTRUCTION_FAILED where the mesh is open, inconsistently oriented, not finite or has no volume.
    """
    if len(faces) == 0 or not np.isfinite(vertices[np.unique(faces)]).all():
        raise _unusable("it has no faces, or vertices that are not finite")
    pieces = _edge_connected(faces)
    volumes = np.array([_signed_volume(vertices, piece) for piece in pieces])
    if volumes.sum() < 0:
        pieces, volumes = [piece[:, ::-1] for piece in pieces], -volumes
    solids = [piece for piece, volume in zip(pieces, volumes, strict=True) if volume > 0]
    whole = list(solids)
    for piece, volume in zip(pieces, volumes, strict=True):
        if volume < 0:
            inside = [i for i, solid in enumerate(solids) if winding_number(vertices, solid, vertices[piece[0, 0]]) > 0.5]
            if inside:
                whole[inside[0]] = np.vstack([whole[inside[0]], piece])
            else:
                whole.append(piece[:, ::-1])
    size = np.ptp(vertices[np.unique(faces)], axis=0).max()
    if not whole or sum(_signed_volume(vertices, part) for part in whole) < 1e-9 * size**3:
        raise _unusable("it encloses no volume")
    return whole


def winding_number(vertices: Floats, faces: Faces, point: Floats) -> float:
    """How often an oriented closed mesh goes round a point (3,): 1 inside, 0 outside (solid angles, Van Oosterom 1983)."""
    a, b, c = np.moveaxis(vertices[faces] - point, 1, 0)
    la, lb, lc = (np.linalg.norm(side, axis=1) for side in (a, b, c))
    above = np.einsum("ij,ij->i", a, np.cross(b, c))
    below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
    return float(np.arctan2(above, below).sum() / (2 * np.pi))


def inside_grid(vertices: Floats, faces: Faces, spacing: Floats, shape: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Which centres of a grid of boxes lie inside a closed mesh.

    Counts, with their signs, the faces that a ray along each grid line in z has met: inside is where the mesh goes round at
    least once, so that overlapping solids are united. Two triangles at one edge use the same arithmetic for it: no ray
    slips through between them.

    Args:
        vertices: (n, 3) metres; the grid's corner is the origin.
        faces: (m, 3) vertex indices, outward oriented.
        spacing: (3,) metres, the boxes' edge lengths.
        shape: how many boxes in x, y, z.
    """
    scaled = vertices / spacing - 0.5
    scaled[:, :2] += _RAY_OFFSET
    corners = scaled[faces]
    first = np.maximum(np.ceil(corners[..., :2].min(axis=1)), 0).astype(np.int64)
    last = np.minimum(np.floor(corners[..., :2].max(axis=1)), np.array(shape[:2]) - 1).astype(np.int64)
    wide = np.maximum(last - first + 1, 0)
    face = np.repeat(np.arange(len(faces)), wide.prod(axis=1))
    place = np.arange(len(face)) - np.repeat(np.cumsum(wide.prod(axis=1)) - wide.prod(axis=1), wide.prod(axis=1))
    column = first[face] + np.stack([place // wide[face, 1], place % wide[face, 1]], axis=1)

    left = np.stack([_left_of_edge(scaled, faces[:, [i, (i + 1) % 3]], face, column) for i in range(3)])
    upward = np.asarray(left.all(axis=0))
    met = np.asarray(upward | ~left.any(axis=0))
    face, column = face[met], column[met]

    a, b, c = np.moveaxis(corners[face], 1, 0)
    normal = np.cross(b - a, c - a)
    rise = (normal[:, :2] * (column - a[:, :2])).sum(axis=1) / normal[:, 2]
    height = np.clip(a[:, 2] - rise, np.minimum(np.minimum(a, b), c)[:, 2], np.maximum(np.maximum(a, b), c)[:, 2])
    level = np.clip(np.ceil(height), 0, shape[2]).astype(np.int64)
    winding = np.zeros((shape[0], shape[1], shape[2] + 1), np.int32)
    np.add.at(winding, (column[:, 0], column[:, 1], level), np.where(upward[met], -1, 1))
    return np.asarray(np.cumsum(winding, axis=2)[:, :, :-1] > 0)


def _left_of_edge(scaled: Floats, edges: Faces, face: NDArray[np.int64], column: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Seen along z, whether each column lies left of its face's edge; computed from the lower vertex index to the higher."""
    forward = edges[:, 0] < edges[:, 1]
    a, b = scaled[edges.min(axis=1), :2], scaled[edges.max(axis=1), :2]
    along, to = (b - a)[face], column - a[face]
    return np.asarray((along[:, 0] * to[:, 1] - along[:, 1] * to[:, 0] >= 0) == forward[face])


def _edge_connected(faces: Faces) -> list[Faces]:
    """Split the faces where they share no edge; every edge must be run through as often in one direction as in the other."""
    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    _, edge = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    edge = edge.reshape(-1)
    balance = np.bincount(edge, weights=np.where(edges[:, 0] < edges[:, 1], 1.0, -1.0))
    if np.any(balance != 0):
        raise _unusable(f"{np.count_nonzero(balance)} of its {len(balance)} edges are open or oriented two ways")
    face = np.repeat(np.arange(len(faces)), 3)
    size = len(faces) + len(balance)
    graph = coo_array((np.ones(len(face)), (face, len(faces) + edge)), shape=(size, size))
    count, label = connected_components(graph, directed=False)
    return [faces[label[: len(faces)] == i] for i in range(count)]


def _signed_volume(vertices: Floats, faces: Faces) -> float:
    a, b, c = np.moveaxis(vertices[faces] - vertices[faces[0, 0]], 1, 0)
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def _unusable(problem: str) -> NeurokError:
    return NeurokError(ErrorCode.RECONSTRUCTION_FAILED, "mesh", problem, "Give a closed, consistently oriented triangle mesh.")
