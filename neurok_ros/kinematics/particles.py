"""The particles through which dynamics sees an object that a lattice covers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neurok_ros.geometry.lattice import VoxelLattice
from neurok_ros.parameterization import StrainSites


@dataclass(frozen=True)
class LatticeParticles:
    """The lattice's nodes, which carry the mass and the strain, then massless points such as those of the surface."""

    points: Tensor
    """(n, 3) metres, at rest."""
    volumes: Tensor
    """(n,) m^3 that each particle stands for; zero after the nodes. Times the density it is the mass."""
    sites: StrainSites
    """One at the centre of each cell, over the cell's eight nodes."""
    nodes: int
    """How many of the particles are nodes."""
    part: NDArray[np.int64]
    """(n,) the connected part of the mesh that each belongs to, as `connected_parts` numbers them."""


def strain_sites(lattice: VoxelLattice) -> StrainSites:
    """A site at each cell's centre, indexing the lattice's nodes.

    One site a cell leaves out how strain varies inside the cell: with k cells through the thickness, a plate's bending
    stiffness comes out as 1 - 1/k^2 of its true value (94 % at the lattice's usual four).
    """
    return StrainSites(
        torch.from_numpy(lattice.cells), torch.from_numpy(lattice.gradients.copy()), torch.from_numpy(lattice.volumes)
    )


def lattice_particles(lattice: VoxelLattice, massless: Tensor, part: NDArray[np.int64]) -> LatticeParticles:
    """The particles of an object.

    Args:
        lattice: its nodes come first.
        massless: (p, 3) metres, the points after them.
        part: (n + p,) the connected part of the mesh that each of both belongs to.
    """
    nodes = torch.from_numpy(lattice.nodes)
    volumes = torch.from_numpy(lattice.node_volumes)
    return LatticeParticles(
        points=torch.cat([nodes, massless.to(nodes)]),
        volumes=torch.cat([volumes, torch.zeros(len(massless)).to(volumes)]),
        sites=strain_sites(lattice),
        nodes=len(nodes),
        part=part,
    )
