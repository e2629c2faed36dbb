"""A lattice of hexahedra that covers the inside of a closed mesh, and follows its connectivity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from neurok_ros.geometry.solids import Floats, SolidMoments

Ints = NDArray[np.int64]

CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
"""(8, 3) the order of a cell's nodes, in units of its edges."""

NODES_APART = 1e-6
"""Of the cell size: how far nodes that meet at one place stand apart, so that a position tells which one is meant."""


@dataclass(frozen=True)
class Interpolation:
    """Values at points as weighted sums of values at nodes."""

    index: Ints
    """(p, 8) nodes."""
    weight: Floats
    """(p, 8) dimensionless; each row sums to one."""

    def __call__(self, values: Floats) -> Floats:
        """Node values (n, ...) at the points, (p, ...)."""
        return np.asarray(np.einsum("pa,pa...->p...", self.weight, values[self.index]))


@dataclass(frozen=True)
class VoxelLattice:
    """Box cells along the smallest oriented box around each unconnected part of a solid.

    Cells hold their nodes in the order of CORNERS. Where a cell holds two pieces of material that are not connected inside it,
    it is there twice, with nodes of its own: parts and legs that are close together do not stick together (virtual node
    algorithm, Molino et al. 2004). Such nodes stand a millionth of a cell apart.
    """

    nodes: Floats
    """(n, 3) metres."""
    cells: Ints
    """(c, 8) node indices."""
    volumes: Floats
    """(c,) m^3 of material in each cell; they sum to the mesh's volume, for each part."""
    fractions: Floats
    """(c,) how much of each cell is material, by sub-sampling, 0 to 1."""
    gradients: Floats
    """(c, 8, 3) 1/m, gradients of the trilinear shape functions at the cell's centre."""
    cell_part: Ints
    """(c,) the unconnected part that each cell belongs to."""
    node_part: Ints
    """(n,) the same for nodes."""
    node_volumes: Floats
    """(n,) m^3 that each node stands for, with the volume, centre and inertia of the mesh, for each part."""
    moments: tuple[SolidMoments, ...]
    """For each part."""
    axes: Floats
    """(parts, 3, 3) rows are the cells' edge directions, unit length."""
    sizes: Floats
    """(parts, 3) metres, the cells' edge lengths."""
    corners: Floats
    """(c, 3) metres, each cell's first corner."""
    anchors: Floats
    """(s, 3) metres, points of the material: sub-samples, and the vertices of the mesh."""
    anchor_cell: Ints
    """(s,) the cell that each anchor is in."""

    @property
    def volume(self) -> float:
        """m^3."""
        return float(sum(part.volume for part in self.moments))

    @property
    def center(self) -> Floats:
        """(3,) metres, the centre of volume."""
        return np.asarray(self.node_volumes @ self.nodes / self.node_volumes.sum())

    def masses(self, density: float) -> Floats:
        """(n,) kg at the nodes, for a density in kg/m^3."""
        return density * self.node_volumes

    def interpolate(self, points: Floats) -> Interpolation:
        """Trilinear weights of points (p, 3) in or near the solid.

        A point belongs to the cell of the nearest anchor, and so to that anchor's part; a point outside every cell is
        extrapolated, and linear fields stay exact. A point that is a node gets that node alone.
        """
        _, nearest = self._anchor_tree.query(points)
        cell = self.anchor_cell[nearest]
        part = self.cell_part[cell]
        local = np.einsum("pij,pj->pi", self.axes[part], points - self.corners[cell]) / self.sizes[part]
        index, weight = self.cells[cell].copy(), trilinear(local)
        distance, node = self._node_tree.query(points)
        hit = distance < 0.1 * NODES_APART * self.sizes.min()
        index[hit], weight[hit] = node[hit, None], np.eye(8)[0]
        return Interpolation(index, weight)

    @cached_property
    def _anchor_tree(self) -> cKDTree:
        return cKDTree(self.anchors)

    @cached_property
    def _node_tree(self) -> cKDTree:
        return cKDTree(self.nodes)


def trilinear(local: Floats) -> Floats:
    """(p, 8) shape functions of a cell, in the order of CORNERS, at coordinates (p, 3) in units of its edges."""
    sides = np.where(CORNERS == 1, local[:, None], 1 - local[:, None])
    return np.asarray(sides.prod(axis=2))
