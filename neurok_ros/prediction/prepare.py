"""An object made ready for pushes: what depends on its shape alone, done once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from neurok_ros.geometry import build_lattice, sample_surface
from neurok_ros.geometry.lattice import VoxelLattice
from neurok_ros.geometry.sampling import SurfaceSamples
from neurok_ros.kinematics import LatticeParticles
from neurok_ros.parameterization import ObjectKinematics
from neurok_ros.prediction.parts import ObjectParts, object_particles, object_parts
from neurok_ros.prediction.state_space import choose_state_space
from neurok_ros.prediction.types import PhysicalProperties, PredictionOptions
from neurok_ros.prediction.validation import check_options, check_properties
from neurok_ros.reconstruction.types import ReconstructedMesh

CONTACT_SAMPLES = 400
"""Points of the surface that can touch the support and the tool."""


@dataclass(frozen=True, eq=False)
class PreparedObject:
    """An object whose state space is known."""

    mesh: ReconstructedMesh
    lattice: VoxelLattice
    surface: SurfaceSamples
    particles: LatticeParticles
    """The lattice's nodes, then the surface samples."""
    kinematics: ObjectKinematics
    modulus: float
    """Pa, Young's modulus of what strains; infinite for a rigid body, zero for rigid parts on joints."""
    material: Tensor
    """(s,) bool, the strain sites that are inside the material, and do not only bridge a joint."""
    properties: PhysicalProperties
    reason: str
    """Why this parameterization, as a sentence for the user."""
    parts: ObjectParts | None
    """Unconnected parts that can move against each other; None: there are none."""
    doubt: str
    """Why the learned parameterization, where it was asked for, does not fit; nothing where it does."""

    @property
    def size(self) -> float:
        """Metres, the largest extent."""
        return float(np.ptp(self.mesh.vertices, axis=0).max())

    @property
    def jointed(self) -> bool:
        """Whether it is made of rigid parts that move about joints which the learned model found."""
        return self.modulus == 0.0


def prepare(mesh: ReconstructedMesh, properties: PhysicalProperties, options: PredictionOptions) -> PreparedObject:
    """Find an object's state space.

    Raises:
        NeurokError: INVALID_PROPERTIES, INVALID_OPTIONS; RECONSTRUCTION_FAILED if the mesh is open or has no volume;
            FILE_FAILED if the learned model is damaged.
    """
    check_properties(properties)
    check_options(options)
    lattice = build_lattice(mesh.vertices, mesh.faces)
    surface = sample_surface(mesh.vertices, mesh.faces, CONTACT_SAMPLES)
    particles = object_particles(mesh.vertices, mesh.faces, lattice, surface)
    chosen = choose_state_space(mesh, lattice, particles, properties, options.parameterization)
    parts = None if chosen.kinematics.name == "rigid" else object_parts(mesh.vertices, mesh.faces, surface)
    return PreparedObject(
        mesh,
        lattice,
        surface,
        particles,
        chosen.kinematics,
        chosen.modulus,
        chosen.material,
        properties,
        chosen.reason,
        parts,
        chosen.doubt,
    )
