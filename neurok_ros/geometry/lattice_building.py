"""Fills a closed mesh with the cells of a lattice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from neurok_ros.geometry.lattice import CORNERS, NODES_APART, Ints, VoxelLattice, trilinear
from neurok_ros.geometry.lumped_mass import match_moments
from neurok_ros.geometry.solids import Faces, Floats, SolidMoments, inside_grid, solid_moments, solid_parts

_SUBDIVISION = 5
"""Samples along each edge of a cell."""
_CELLS_ACROSS = 4
"""Wanted across the thinnest extent: the strain at mid-cell then misses 1 / 4^2 of a plate's bending stiffness."""
_LEAST_CELLS = 27
"""Every unconnected part gets at least this many in the budget."""
_COARSE_SAMPLES = 100_000
"""Grid points in the bounding box that measure how many cells a cell size would fill."""
_SURFACE_SAMPLES = 10_000
"""Points on the surface that do the same where a wall is thinner than that grid."""
_STRAY = 0.1
"""How much of a part's volume its largest sampled piece may miss before the surface itself is sampled too."""
_MOST_SKIN_SAMPLES = 1_000_000


def build_lattice(vertices: Floats, faces: Faces, cell_budget: int = 500) -> VoxelLattice:
    """Cover the inside of a closed mesh with about `cell_budget` cells.

    Cells are as near to cubes as an extent allows that needs four cells across; they lie along the smallest
    oriented box around each part, so that a turned object gets the turned lattice.

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3) vertex indices; cavities are left empty, a mesh that is inside out is turned.
        cell_budget: how many cells, shared among the parts by volume; each part gets at least 27.

    Raises:
        NeurokError: RECONSTRUCTION_FAILED where the mesh is not closed.
    """
    vertices = np.asarray(vertices, np.float64)
    parts = [_Part.of(vertices, part) for part in solid_parts(vertices, faces)]
    volume = sum(part.moments.volume for part in parts)
    pieces = []
    for part in parts:
        budget = max(_LEAST_CELLS, round(cell_budget * part.moments.volume / volume))
        pieces.append(_fill(part, _cell_counts(part, budget)))
    return _join(parts, pieces)


@dataclass(frozen=True)
class _Part:
    """One connected solid in the frame of its smallest box: corner at the origin, edges along the axes."""

    vertices: Floats
    faces: Faces
    moments: SolidMoments
    axes: Floats
    origin: Floats
    extents: Floats

    @staticmethod
    def of(vertices: Floats, faces: Faces) -> _Part:
        used, local_faces = np.unique(faces, return_inverse=True)
        own = vertices[used]
        to_box, extents = trimesh.bounds.oriented_bounds(own)
        axes = np.asarray(to_box[:3, :3])
        origin = (own @ axes.T).min(axis=0) @ axes
        return _Part(
            vertices=(own - origin) @ axes.T,
            faces=local_faces.reshape(faces.shape),
            moments=solid_moments(vertices, faces),
            axes=axes,
            origin=origin,
            extents=np.asarray(extents),
        )

    def inside(self, counts: Ints) -> NDArray[np.bool_]:
        shape = (int(counts[0]), int(counts[1]), int(counts[2]))
        return inside_grid(self.vertices, self.faces, self.extents / counts, shape)

    def surface_points(self, count: int) -> Floats:
        mesh = trimesh.Trimesh(self.vertices, self.faces, process=False)
        points, _ = trimesh.sample.sample_surface(mesh, count, seed=0)
        return np.asarray(points)

    def to_world(self, points: Floats) -> Floats:
        return np.asarray(points @ self.axes + self.origin)


@dataclass(frozen=True)
class _Cells:
    """The cells of one part, in its box's frame and with node numbers of its own."""

    size: Floats
    place: Ints
    """(c, 3) position of each cell in the grid."""
    nodes: Ints
    """(n, 3) position of each node in the grid."""
    cells: Ints
    fractions: Floats
    node_volumes: Floats
    samples: Floats
    """(s, 3) material points."""
    sample_cell: Ints


def _cell_counts(part: _Part, budget: int) -> Ints:
    """(3,) cells along each edge of the box so that about `budget` of them hold material, found by bisection."""
    counts = np.maximum(np.round(part.extents * (_COARSE_SAMPLES / part.extents.prod()) ** (1 / 3)), 2 * _CELLS_ACROSS)
    material = (np.argwhere(part.inside(counts.astype(np.int64))) + 0.5) / counts
    material = np.vstack([material, part.surface_points(_SURFACE_SAMPLES) / part.extents])
    across = min(_CELLS_ACROSS, int(np.cbrt(budget + 0.5)))

    def counts_of(size: float) -> Ints:
        return np.maximum(np.round(part.extents / size), across).astype(np.int64)

    def filled(counts: Ints) -> int:
        place = np.clip((material * counts).astype(np.int64), 0, counts - 1)
        return int(np.count_nonzero(np.bincount(np.ravel_multi_index(tuple(place.T), tuple(counts)))))

    finest, coarsest = 0.5 * (part.moments.volume / budget) ** (1 / 3), float(part.extents.max())
    for _ in range(12):
        middle = np.sqrt(finest * coarsest)
        if filled(counts_of(middle)) > budget:
            finest = middle
        else:
            coarsest = middle
    return counts_of(coarsest)


def _fill(part: _Part, counts: Ints) -> _Cells:
    """Sample the solid, collect the samples that are connected inside a cell, and give each such piece a cell."""
    fine = _SUBDIVISION * counts
    material = _largest_piece(part.inside(fine).astype(np.float64))
    if material.sum() * (part.extents / fine).prod() < (1 - _STRAY) * part.moments.volume:
        material = _largest_piece(np.maximum(part.inside(fine), _skin(part, fine)))
    graph, place = _neighbours(material > 0)
    in_cell = place // _SUBDIVISION
    a, b = graph.coords
    crosses = np.any(in_cell[a] != in_cell[b], axis=1)
    joined = coo_array((np.ones(np.count_nonzero(~crosses)), (a[~crosses], b[~crosses])), shape=graph.shape)
    count, piece = connected_components(joined, directed=False)
    piece = piece.astype(np.int64)

    place_of = np.empty((count, 3), np.int64)
    place_of[piece] = in_cell
    cells = _shared_nodes(place_of, np.stack([piece[a[crosses]], piece[b[crosses]]], axis=1))
    nodes = np.empty((cells.max() + 1, 3), np.int64)
    nodes[cells] = place_of[:, None] + CORNERS

    weight = material[tuple(place.T)]
    local = (place % _SUBDIVISION + 0.5) / _SUBDIVISION
    node_volumes = np.bincount(cells[piece].ravel(), (weight[:, None] * trilinear(local)).ravel(), minlength=len(nodes))
    return _Cells(
        size=part.extents / counts,
        place=place_of,
        nodes=nodes,
        cells=cells,
        fractions=np.bincount(piece, weight) / _SUBDIVISION**3,
        node_volumes=node_volumes.astype(np.float64),
        samples=(place + 0.5) * (part.extents / fine),
        sample_cell=piece,
    )


def _neighbours(material: NDArray[np.bool_]) -> tuple[coo_array, Ints]:
    """The graph of filled grid points that touch along an axis, lower point first, and the points' places (s, 3)."""
    place = np.argwhere(material)
    number = np.full(material.shape, -1)
    number[tuple(place.T)] = np.arange(len(place))
    pairs = []
    for axis in range(3):
        ahead = np.moveaxis(number, axis, 0)
        both = (ahead[:-1] >= 0) & (ahead[1:] >= 0)
        pairs.append(np.stack([ahead[:-1][both], ahead[1:][both]]))
    a, b = np.hstack(pairs)
    return coo_array((np.ones(len(a)), (a, b)), shape=(len(place), len(place))), place


def _largest_piece(material: Floats) -> Floats:
    """The same grid, empty where its filled points are not connected to most of the others."""
    graph, place = _neighbours(material > 0)
    if len(place) == 0:
        return material
    _, label = connected_components(graph, directed=False)
    own = place[label == np.argmax(np.bincount(label))]
    largest = np.zeros_like(material)
    largest[tuple(own.T)] = material[tuple(own.T)]
    return largest


def _skin(part: _Part, fine: Ints) -> Floats:
    """Grid boxes that the surface runs through, counted as a quarter full: walls thinner than the grid stay connected."""
    spacing = part.extents / fine
    area = trimesh.triangles.area(part.vertices[part.faces]).sum()
    points = part.surface_points(min(int(20 * area / spacing.min() ** 2), _MOST_SKIN_SAMPLES))
    place = np.clip((points / spacing).astype(np.int64), 0, fine - 1)
    skin = np.zeros(tuple(fine))
    skin[tuple(place.T)] = 0.25
    return skin


def _shared_nodes(place: Ints, touching: Ints) -> Ints:
    """(c, 8) node numbers: cells whose material meets across a face (pairs, lower cell first) share that face's nodes."""
    count = len(place)
    touching = np.unique(touching, axis=0)
    axis = np.argmax(place[touching[:, 1]] - place[touching[:, 0]], axis=1)
    far = np.stack([np.flatnonzero(CORNERS[:, i] == 1) for i in range(3)])
    near = np.stack([np.flatnonzero(CORNERS[:, i] == 0) for i in range(3)])
    a = (8 * touching[:, :1] + far[axis]).ravel()
    b = (8 * touching[:, 1:] + near[axis]).ravel()
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(8 * count, 8 * count))
    _, node = connected_components(graph, directed=False)
    return np.asarray(node, np.int64).reshape(count, 8)


def _join(parts: list[_Part], pieces: list[_Cells]) -> VoxelLattice:
    """Put the parts' cells into one lattice in the mesh's frame."""
    node_start = np.cumsum([0] + [len(piece.nodes) for piece in pieces])
    cell_start = np.cumsum([0] + [len(piece.cells) for piece in pieces])
    cells = np.vstack([piece.cells + start for piece, start in zip(pieces, node_start, strict=False)])
    anchors, anchor_cell, nodes, volumes, node_volumes = [], [], [], [], []
    for part, piece, start in zip(parts, pieces, cell_start, strict=False):
        at_nodes = part.to_world(piece.nodes * piece.size)
        nodes.append(at_nodes)
        volumes.append(piece.fractions * (part.moments.volume / piece.fractions.sum()))
        node_volumes.append(match_moments(at_nodes, piece.node_volumes, part.moments))
        _, nearest = cKDTree(piece.samples).query(part.vertices)
        anchors += [part.to_world(piece.samples), part.to_world(part.vertices)]
        anchor_cell += [piece.sample_cell + start, piece.sample_cell[nearest] + start]
    cell_part = np.repeat(np.arange(len(parts)), np.diff(cell_start))
    node_part = np.repeat(np.arange(len(parts)), np.diff(node_start))
    corners = np.vstack([part.to_world(piece.place * piece.size) for part, piece in zip(parts, pieces, strict=True)])
    joined = np.vstack(nodes)
    joined = _set_apart(joined, cells, np.vstack(anchors), np.concatenate(anchor_cell), min(p.size.min() for p in pieces))
    return VoxelLattice(
        nodes=joined,
        cells=cells,
        volumes=np.concatenate(volumes),
        fractions=np.concatenate([piece.fractions for piece in pieces]),
        gradients=_center_gradients(joined[cells]),
        cell_part=cell_part,
        node_part=node_part,
        node_volumes=np.concatenate(node_volumes),
        moments=tuple(part.moments for part in parts),
        axes=np.stack([part.axes for part in parts]),
        sizes=np.stack([piece.size for piece in pieces]),
        corners=corners,
        anchors=np.vstack(anchors),
        anchor_cell=np.concatenate(anchor_cell),
    )


def _set_apart(nodes: Floats, cells: Ints, anchors: Floats, anchor_cell: Ints, size: float) -> Floats:
    """Move nodes that meet at one place a millionth of a cell towards the material of their own cells."""
    meeting = np.unique(cKDTree(nodes).query_pairs(NODES_APART * size, output_type="ndarray"))
    if len(meeting) == 0:
        return nodes
    material = np.zeros((len(nodes), 3))
    count = np.zeros(len(nodes))
    for corner in range(8):
        node = cells[anchor_cell, corner]
        count += np.bincount(node, minlength=len(nodes))
        material += np.stack([np.bincount(node, anchors[:, i], minlength=len(nodes)) for i in range(3)], axis=1)
    towards = material[meeting] / count[meeting, None] - nodes[meeting]
    moved = nodes.copy()
    moved[meeting] += 2 * NODES_APART * size * towards / np.linalg.norm(towards, axis=1, keepdims=True)
    return np.asarray(moved)


def _center_gradients(corners: Floats) -> Floats:
    """(c, 8, 3) 1/m, gradients of the trilinear shape functions of cells (c, 8, 3) at their centres."""
    by_local = (2 * CORNERS - 1) / 4
    jacobian = np.einsum("cai,aj->cij", corners, by_local)
    return np.asarray(np.einsum("aj,cji->cai", by_local, np.linalg.inv(jacobian)))
