"""Skinning eigenmodes: smooth deformations of an object as polynomial motions, blended by eigenfunctions of its Laplacian.

Weights as in Benchekroun et al., Fast Complementary Dynamics via Skinning Eigenmodes, 2023; blended as in Modi et al.,
Simplicits, 2024, but with quadratic motions (Mueller et al., Meshless Deformations Based on Shape Matching, 2005) in
place of affine ones. Affine motions neither let the section of a bent beam contract nor bend it right at a clamp: the tip
of a square cantilever of slenderness 15, Poisson ratio 0.3, then gives way by 61 % of Euler-Bernoulli's value with 96
coordinates and 65 % with 144; with quadratic motions by 96 % with 102 coordinates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import coo_array, csc_array, diags_array
from scipy.sparse.linalg import eigsh
from torch import Tensor

from neurok_ros.geometry.lattice import CORNERS, VoxelLattice

Floats = NDArray[np.float64]

_DEPENDENT = 0.05
"""A column of which the others already give all but this part of its mass norm is dropped."""
_SPLIT = 1e-2
"""Eigenvalues nearer than this (relative) are one multiple eigenvalue, kept or left out as a whole."""
_LEAST_SHARE = 0.02
"""An eigenfunction that lives on less than this share of its part's mass (inverse participation ratio) is a burr of the
reconstructed surface that swings by itself; it is left out, and the burr follows what it grows on."""
_SPARE = 6
"""How many such are looked past."""
_DENSE_BELOW = 100
"""Nodes under which all eigenvectors are computed at once."""


class LinearSubspace:
    """Positions that are linear in the state: x = X + B q.

    State and step (3 r,) metres: r scalar fields over the object, each times a displacement vector, in the order x, y, z of
    the first field, then of the second.

    Args:
        points: (n, 3) metres, the material points at rest.
        fields: (n, r) dimensionless, the scalar fields at these points.
    """

    def __init__(self, points: Tensor, fields: Tensor) -> None:
        self.points = points
        self.fields = fields.to(points)
        self.dim = 3 * fields.shape[1]
        self.rest = torch.zeros(self.dim).to(points)

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        return self.points + self.fields @ q.reshape(-1, 3)

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, dim), the same at every state."""
        return self._jacobian

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """The sum."""
        return q + step

    @cached_property
    def _jacobian(self) -> Tensor:
        blocks = torch.einsum("nr,ij->nirj", self.fields, torch.eye(3).to(self.fields))
        return blocks.reshape(len(self.points), 3, self.dim)


@dataclass(frozen=True)
class SkinningModes:
    """x(X, q) = X + sum_j w_j(X) A_j p(X - c), with p all monomials up to second degree, in mass-orthonormal coordinates.

    With m the node masses divided by their sum, B^T m B = 1 over the lattice's nodes: q is in metres, its first three numbers
    move the centre of mass, and the kinetic energy is half the object's mass times |q'|^2. The first weight is one, so
    every affine motion of the whole object can be reached, and with it every rotation. An unconnected part has weights of its
    own that vanish on the other parts, so that each can move by itself.
    """

    lattice: VoxelLattice
    weights: Floats
    """(n, m) the weight functions at the lattice's nodes, each zero outside its part, of unit mass norm."""
    weight_part: NDArray[np.int64]
    """(m,) the part that each weight function lives on."""
    eigenvalues: Floats
    """(m,) 1/m^2, of the Laplacian."""
    transform: Floats
    """(10 m, r) from the columns w_j p(X - c) to the orthonormal fields."""
    name: str = "modal"
    limit: None = None

    @property
    def dim(self) -> int:
        """How many generalized coordinates there are."""
        return 3 * int(self.transform.shape[1])

    def at(self, points: Tensor, part: NDArray[np.int64] | None = None) -> LinearSubspace:
        """The subspace followed at these points (n, 3), metres, in or near the object; nodes of the lattice are found exactly.

        Others are of the part of the lattice's nearest anchor, whatever `part` says.
        """
        fields = self.fields(points.detach().cpu().numpy())
        return LinearSubspace(points, torch.from_numpy(fields))

    def fields(self, points: Floats) -> Floats:
        """(n, r) the mass-orthonormal scalar fields at points (n, 3), metres."""
        weights = self.lattice.interpolate(points)(self.weights)
        return np.asarray(_columns(self.lattice, self.weight_part, points, weights) @ self.transform)


def skinning_modes(lattice: VoxelLattice, modes: int = 4) -> SkinningModes:
    """The skinning eigenmodes of an object.

    Each unconnected part has a constant weight; the others are the eigenfunctions of the lowest eigenvalues over all parts, so
    that the softest, longest directions come first. A multiple eigenvalue that `modes` would cut through is left out, because
    half of its eigenspace would depend on the frame.

    Args:
        lattice: the cells that cover the object.
        modes: how many weight functions at most; at least one for each part. There are up to 30 coordinates for each.
    """
    parts = len(lattice.moments)
    found = [_part_eigenfunctions(lattice, part, modes + 1 + _SPARE) for part in range(parts)]
    values = np.concatenate([v for v, _ in found])
    part_of = np.repeat(np.arange(parts), [len(v) for v, _ in found])
    first = np.concatenate([np.arange(len(v)) == 0 for v, _ in found])
    order = np.lexsort((part_of, values, ~first))
    keep = order[: _whole_eigenspaces(values[order], max(modes, parts), parts)]

    weights = np.zeros((len(lattice.nodes), len(values)))
    start = 0
    for part, (v, functions) in enumerate(found):
        weights[lattice.node_part == part, start : start + len(v)] = functions
        start += len(v)
    weights, weight_part = weights[:, keep], part_of[keep]
    columns = _columns(lattice, weight_part, lattice.nodes, weights)
    mass = lattice.node_volumes / lattice.volume
    return SkinningModes(lattice, weights, weight_part, values[keep], _orthonormalize(columns, mass))


def _columns(lattice: VoxelLattice, weight_part: NDArray[np.int64], points: Floats, weights: Floats) -> Floats:
    """(n, 10 m) each weight times 1, x, y, z, xx, xy, xz, yy, yz, zz along its part's axes, from its centre, in cells."""
    center = np.stack([solid.center for solid in lattice.moments])[weight_part]
    axes, size = lattice.axes[weight_part], lattice.sizes[weight_part]
    arms = np.einsum("mij,nmj->nmi", axes, points[:, None] - center) / size
    i, j = np.triu_indices(3)
    monomials = np.concatenate([np.ones((*arms.shape[:2], 1)), arms, arms[:, :, i] * arms[:, :, j]], axis=2)
    return np.asarray((weights[:, :, None] * monomials).reshape(len(points), -1))


def _orthonormalize(columns: Floats, mass: Floats) -> Floats:
    """(k, r) combinations of columns (n, k) that are orthonormal in the mass (n,): Gram-Schmidt in order, done twice."""
    combined = np.zeros_like(columns)
    transform = np.zeros((columns.shape[1], columns.shape[1]))
    rank = 0
    for i, column in enumerate(columns.T):
        norm = np.sqrt(mass @ column**2)
        vector, combination = column / norm, np.eye(columns.shape[1])[i] / norm
        for _ in range(2):
            share = combined[:, :rank].T @ (mass * vector)
            vector = vector - combined[:, :rank] @ share
            combination = combination - transform[:, :rank] @ share
        left = np.sqrt(mass @ vector**2)
        if left > _DEPENDENT:
            combined[:, rank], transform[:, rank] = vector / left, combination / left
            rank += 1
    return transform[:, :rank]


def _part_eigenfunctions(lattice: VoxelLattice, part: int, count: int) -> tuple[Floats, Floats]:
    """The lowest eigenvalues (k,) 1/m^2 and eigenfunctions (n, k) of one part's Laplacian, against its lumped mass."""
    stiffness = _laplacian(lattice, part)
    volume = lattice.moments[part].volume
    mass = lattice.node_volumes[lattice.node_part == part] / volume
    if len(mass) <= max(_DENSE_BELOW, 2 * count):
        values, functions = eigh(stiffness.toarray() / volume, np.diag(mass))
    else:
        length = np.sqrt(np.trace(lattice.moments[part].second) / volume)
        start = np.random.default_rng(0).standard_normal(len(mass))
        values, functions = eigsh(
            stiffness / volume, count, diags_array(mass, format="csc"), sigma=-1e-2 / length**2, v0=start, which="LM"
        )
    order = np.argsort(values)[:count]
    functions = functions[:, order]
    functions[:, 0] = 1.0
    widespread = mass @ functions**4 < 1 / _LEAST_SHARE
    return np.maximum(values[order], 0.0)[widespread], functions[:, widespread]


def _laplacian(lattice: VoxelLattice, part: int) -> csc_array:
    """The finite element Laplacian of trilinear cells, each weighted with the material that is in it."""
    mine = lattice.cell_part == part
    number = np.cumsum(lattice.node_part == part) - 1
    cells = number[lattice.cells[mine]]
    size = lattice.sizes[part]
    element = sum(_element(axis) / size[axis] ** 2 for axis in range(3))
    entries = lattice.volumes[mine, None, None] * element
    rows = np.broadcast_to(cells[:, :, None], entries.shape)
    columns = np.broadcast_to(cells[:, None, :], entries.shape)
    count = int(number[-1]) + 1 if lattice.node_part[-1] == part else int(cells.max()) + 1
    return coo_array((entries.ravel(), (rows.ravel(), columns.ravel())), shape=(count, count)).tocsc()


def _element(axis: int) -> Floats:
    """(8, 8) the integral over the unit cube of products of the shape functions' derivatives along an axis."""
    difference = CORNERS[:, None] - CORNERS[None]
    slope = np.where(difference == 0, 1.0, -1.0)
    overlap = np.where(difference == 0, 1 / 3, 1 / 6)
    factors = [slope[:, :, i] if i == axis else overlap[:, :, i] for i in range(3)]
    return np.asarray(factors[0] * factors[1] * factors[2])


def _whole_eigenspaces(values: Floats, wanted: int, parts: int) -> int:
    """How many of the ordered values to keep so that no multiple eigenvalue is cut in two; constants always stay."""
    keep = min(wanted, len(values))
    if keep == len(values) or keep <= parts or values[keep] - values[keep - 1] > _SPLIT * values[keep]:
        return keep
    whole = [i for i in range(parts, keep) if values[i] - values[i - 1] > _SPLIT * values[i]]
    return whole[-1] if whole else keep
