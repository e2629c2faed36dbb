"""Which strain sites are inside a material, and which only bridge a joint.

Where a scan fuses a door to its frame, cells of the mesh span the gap, and opening the door strains them without any material
being strained. No energy belongs there. What the state space can do tells them apart: for each cell, take the motion at rest
that strains it most for the least strain of the whole. The cell bridges a joint if that motion

- leaves two sides of the object as they are (`UNSTRAINED`), each turning and moving as one,
- moves the two sides against each other at the cell by about what the cell is strained,
- and strains nothing but a thin layer of cells between the two sides (`THICKEST_LAYER`).

Bending a sponge strains it all over: no two sides move as one. A state space that is rich enough to break the object anywhere
(`MOST_DIRECTIONS`) describes a material, and so does one whose joints would make up most of the object (`LARGEST_SHARE`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from neurok_ros.parameterization import KinematicParameterization, StrainSites

UNSTRAINED = (0.25, 0.1, 0.04, 0.015)
"""Of the strain of the cell in question: strained less than this counts as not strained, and turned by less from the mean of
its side as turned with it. A learned motion strains everything a little and needs the first; near the axis of a hinge the cells
that bridge it are strained little too, and only the last finds its two sides apart. Whichever finds a joint decides."""
THICKEST_LAYER = 3
"""Cells, across: a layer of more is soft material between two stiff parts."""
SMALLEST_SIDE = 0.03
"""Of the volume: less is no side of a joint."""
LARGEST_SHARE = 0.5
"""Of the volume."""
MOST_DIRECTIONS = 64
"""Independent motions that strain, and a quarter of the number of cells."""
CONCENTRATION = 1.5
"""A cell whose own motion strains it less than so many times the mean of the object is inside the material."""
SHARED_PARTICLES = 3
"""Cells with so many particles in common are neighbours."""
YIELD_RATIO = 0.25
"""Of the mean velocity gradient: where a motion strains a stiff body faster than this, it turns about a joint there."""
RANDOM_MOTIONS = 32
NOT_STRAINING = 1e-8
"""Motions whose mean square strain is less than this part of the largest mean square velocity gradient are rigid."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@torch.no_grad()
def elastic_sites(kinematics: KinematicParameterization, sites: StrainSites) -> Tensor:
    """The sites that have elastic energy.

    Args:
        kinematics: followed at the sites' particles; its rest state is the one without strain.
        sites: all sites of the object; those over the same particles are one cell and share its fate.

    Returns:
        (s,) bool, false where a site bridges a joint. Use `sites.select(...)` with it.
    """
    stencil, cell = np.unique(np.sort(sites.index.cpu().numpy(), axis=1), axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    motions = _motions(kinematics, sites, cell, min(MOST_DIRECTIONS, len(stencil) // 4 + 1))
    if motions is None:
        return torch.ones(len(cell), dtype=torch.bool, device=sites.index.device)
    joint, neighbours = np.zeros(len(stencil), np.bool_), _neighbours(stencil)
    open_question = motions.concentration > CONCENTRATION
    for number in np.argsort(-motions.concentration):
        if open_question[number]:
            open_question &= ~motions.shares_motion_of(number)
            joint |= _bridging(motions, neighbours, number)
    if motions.volume[joint].sum() > LARGEST_SHARE * motions.volume.sum():
        joint[:] = False
    return torch.from_numpy(~joint[cell]).to(sites.index.device)


@torch.no_grad()
def rigid_share(kinematics: KinematicParameterization, sites: StrainSites, internal: int) -> float:
    """How much of an object moves rigidly when its state changes: near 1 for parts on joints, less for what bends all over.

    The share of the volume that is strained slower than `YIELD_RATIO` of the mean velocity gradient, from rest in
    `RANDOM_MOTIONS` directions of the state space; the more a direction moves, the more it counts.

    Args:
        kinematics: followed at the sites' particles.
        sites: all sites of the object.
        internal: the last so many coordinates are tried, each with a standard deviation of one.
    """
    jacobian = kinematics.jacobian(kinematics.rest)[..., kinematics.dim - internal :]
    generator = torch.Generator().manual_seed(0)
    directions = torch.randn(internal, RANDOM_MOTIONS, generator=generator, dtype=torch.float64).to(jacobian)
    velocities = jacobian @ directions
    rates = torch.einsum("said,saj->dsij", velocities[sites.index], sites.gradient)
    strain = 0.5 * (rates + rates.transpose(2, 3))
    share = sites.volume / sites.volume.sum()
    mean = rates.square().sum((2, 3)) @ share
    rigid = (strain.square().sum((2, 3)) < YIELD_RATIO**2 * mean.unsqueeze(1)).to(share) @ share
    moved = velocities.square().sum((0, 1))
    return float((rigid * moved).sum() / moved.sum().clamp(min=1e-300))


@dataclass(frozen=True)
class _Motions:
    """How each of c cells is strained, turned and moved by r motions at rest, which have unit strain over the whole."""

    strain: Floats
    """(c, 6 or more, r) the root mean square of a motion's components is the strain."""
    turn: Floats
    """(c, 3, r)"""
    velocity: Floats
    """(c, 3, r)"""
    center: Floats
    """(c, 3) metres."""
    length: Floats
    """(c,) metres, the shortest distance between particles of each."""
    volume: Floats
    """(c,) m^3."""
    own: Floats
    """(c, r) the motion that strains each cell most, scaled to strain it by one."""
    concentration: Floats
    """(c,) mean square strain of a cell over that of the object, in its own motion."""

    def strains_of(self, cell: int) -> Floats:
        """(c,) strain of every cell in one's own motion."""
        return np.asarray(np.linalg.norm(self.strain @ self.own[cell], axis=1))

    def shares_motion_of(self, cell: int) -> Mask:
        """(c,) the cells whose own motion is nearly the same."""
        largest = np.sqrt(self.concentration / self.concentration[cell])
        return np.asarray(self.strains_of(cell) >= 0.9 * largest)

    def move_apart(self, cell: int, first: Mask, second: Mask, tolerance: float) -> bool:
        """Whether two sides move as one each, and against each other at a cell, in its own motion."""
        at_cell = []
        for side in (first, second):
            share = self.volume[side] / self.volume[side].sum()
            turns = self.turn[side] @ self.own[cell]
            turn = share @ turns
            if np.sqrt(share @ ((turns - turn) ** 2).sum(1)) > tolerance:
                return False
            middle, velocity = share @ self.center[side], share @ (self.velocity[side] @ self.own[cell])
            at_cell.append(velocity + np.cross(turn, self.center[cell] - middle))
        return bool(np.linalg.norm(at_cell[1] - at_cell[0]) > 0.25 * self.length[cell])


def _motions(kinematics: KinematicParameterization, sites: StrainSites, cell: NDArray[np.int64], most: int) -> _Motions | None:
    """Of the cells that the sites belong to, (s,); None if none strains, or more than `most` do."""
    jacobian = kinematics.jacobian(kinematics.rest)
    stencils = jacobian[sites.index]
    rates = torch.einsum("said,saj->sijd", stencils, sites.gradient)
    spin = 0.5 * (rates - rates.transpose(1, 2))
    strain = (0.5 * (rates + rates.transpose(1, 2))).flatten(1, 2)
    weight = sites.volume.sqrt().view(-1, 1, 1)
    flat, gradients = (strain * weight).flatten(0, 1), (rates.flatten(1, 2) * weight).flatten(0, 1)
    eigenvalues, axes = torch.linalg.eigh(flat.T @ flat)
    straining = eigenvalues > NOT_STRAINING * torch.linalg.eigvalsh(gradients.T @ gradients).amax()
    if not 0 < int(straining.sum()) <= most:
        return None
    basis = (axes[:, straining] / eigenvalues[straining].sqrt()).cpu().numpy()
    turn = torch.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], dim=1).cpu().numpy()
    corners = kinematics.positions(kinematics.rest)[sites.index].cpu().numpy()
    site_volume = sites.volume.cpu().numpy()
    volume: Floats = np.bincount(cell, site_volume).astype(np.float64)
    share = coo_array((site_volume / volume[cell], (cell, np.arange(len(cell))))).tocsr()

    def mean(values: Floats) -> Floats:
        return np.asarray((share @ values.reshape(len(cell), -1)).reshape(-1, *values.shape[1:]))

    strained = strain.cpu().numpy() @ basis
    gram = mean(np.einsum("sid,sie->sde", strained, strained))
    squares, directions = np.linalg.eigh(gram)
    factor = np.sqrt(squares.clip(min=0.0))[:, :, None] * directions.transpose(0, 2, 1)
    largest = squares[:, -1].clip(min=1e-300)
    return _Motions(
        strain=factor,
        turn=mean(turn) @ basis,
        velocity=mean(stencils.mean(1).cpu().numpy()) @ basis,
        center=mean(corners.mean(axis=1)),
        length=mean(_shortest(corners)),
        volume=volume,
        own=directions[:, :, -1] / np.sqrt(largest)[:, None],
        concentration=largest * volume.sum(),
    )


def _shortest(corners: Floats) -> Floats:
    """(s,) metres between the nearest two of each stencil's particles (s, a, 3)."""
    apart = np.linalg.norm(corners[:, :, None] - corners[:, None], axis=3)
    diagonal = np.arange(corners.shape[1])
    apart[:, diagonal, diagonal] = np.inf
    return np.asarray(apart.min(axis=(1, 2)))


def _bridging(motions: _Motions, neighbours: csr_array, cell: int) -> Mask:
    """(c,) the cells that bridge a joint which a cell's own motion opens; none if there is no such joint."""
    strain = motions.strains_of(cell)
    for tolerance in UNSTRAINED:
        sides = _sides(motions, neighbours, strain <= tolerance)
        reach = [_steps_from(neighbours, side) for side in sides]
        found = np.zeros(len(strain), np.bool_)
        for second in range(len(sides)):
            for first in range(second):
                between = (strain > tolerance) & (reach[first] + reach[second] - 1 <= THICKEST_LAYER)
                if between[cell] and motions.move_apart(cell, sides[first], sides[second], tolerance):
                    found |= between
        if found.any():
            return found
    return np.zeros(len(strain), np.bool_)


def _sides(motions: _Motions, neighbours: csr_array, still: Mask) -> list[Mask]:
    """The connected pieces of what is not strained, without crumbs."""
    places = np.flatnonzero(still)
    if not len(places):
        return []
    count, label = connected_components(neighbours[places][:, places], directed=False)
    volumes = np.bincount(label, motions.volume[places], count)
    sides = []
    for piece in np.flatnonzero(volumes >= SMALLEST_SIDE * motions.volume.sum()):
        side = np.zeros(len(still), np.bool_)
        side[places[label == piece]] = True
        sides.append(side)
    return sides


def _steps_from(neighbours: csr_array, side: Mask) -> NDArray[np.int64]:
    """(c,) how many neighbours away from a side each cell is; a large number beyond the thickest layer."""
    steps = np.where(side, 0, 10 * THICKEST_LAYER)
    reached = side
    for step in range(1, THICKEST_LAYER + 1):
        grown = reached | (neighbours @ reached.astype(np.float64) > 0.0)
        steps[grown & ~reached] = step
        reached = grown
    return steps


def _neighbours(stencil: NDArray[np.int64]) -> csr_array:
    """(c, c) one where two cells with particles (c, a) share enough of them."""
    rows = np.repeat(np.arange(len(stencil)), stencil.shape[1])
    uses = coo_array((np.ones(stencil.size), (rows, stencil.ravel())), shape=(len(stencil), int(stencil.max()) + 1)).tocsr()
    shared = (uses @ uses.T).tocoo()
    near = shared.data >= SHARED_PARTICLES
    return coo_array((np.ones(int(near.sum())), (shared.row[near], shared.col[near])), shape=shared.shape).tocsr()
