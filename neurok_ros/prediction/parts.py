"""The unconnected parts of an object: what belongs to which, and that they must not pass through each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from neurok_ros.dynamics import Parts
from neurok_ros.geometry.driving import connected_parts, nearest_part
from neurok_ros.geometry.lattice import VoxelLattice
from neurok_ros.geometry.sampling import SurfaceSamples
from neurok_ros.geometry.solids import solid_parts
from neurok_ros.geometry.surface_distance import SurfaceDistance
from neurok_ros.kinematics import LatticeParticles, lattice_particles
from neurok_ros.prediction.types import Floats

LEAST_SAMPLES = 8
"""A part with fewer surface samples is a crumb that nothing needs to collide with."""


@dataclass(frozen=True, eq=False)
class ObjectParts:
    """Which part each triangle of an object's mesh belongs to, and the surfaces of the parts."""

    face_part: NDArray[np.int64]
    """(m,)"""
    surfaces: dict[int, SurfaceDistance]

    def of(self, surface: SurfaceSamples, slack: float = 0.0) -> Parts:
        """For surface samples that can touch, and a depth in metres that counts as none."""
        return Parts(torch.from_numpy(self.face_part[surface.faces]), self.surfaces, slack)


def object_parts(vertices: Floats, faces: NDArray[np.integer], surface: SurfaceSamples) -> ObjectParts | None:
    """The parts of a closed mesh; None if it has one part alone.

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3) outward oriented.
        surface: samples of it.
    """
    parts = solid_parts(vertices, faces)
    if len(parts) < 2:
        return None
    vertex_part = np.zeros(len(vertices), np.int64)
    for number, part in enumerate(parts):
        vertex_part[part] = number
    face_part = vertex_part[faces[:, 0]]
    samples = np.bincount(face_part[surface.faces], minlength=len(parts))
    large = np.flatnonzero(samples >= LEAST_SAMPLES)
    return ObjectParts(face_part, {int(number): SurfaceDistance(vertices, parts[number]) for number in large})


def object_particles(
    vertices: Floats, faces: NDArray[np.integer], lattice: VoxelLattice, surface: SurfaceSamples
) -> LatticeParticles:
    """The nodes of an object's lattice and the samples of its surface, each with the connected part that it belongs to.

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3) outward oriented, closed.
        lattice: that covers this mesh.
        surface: samples of it.
    """
    vertex_part = connected_parts(faces, len(vertices))
    node_part = np.empty(len(lattice.nodes), np.int64)
    for number, solid in enumerate(solid_parts(vertices, faces)):
        mine, own = lattice.node_part == number, np.unique(solid)
        node_part[mine] = nearest_part(lattice.nodes[mine], vertices[own], vertex_part[own])
    part = np.concatenate([node_part, vertex_part[faces[surface.faces, 0]]])
    return lattice_particles(lattice, torch.from_numpy(surface.points), part)
