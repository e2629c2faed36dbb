"""An object made ready for pushes: what depends on its shape alone, done once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from neurok_ros.geometry import build_lattice, sample_surface
from neurok_ros.geometry.lattice import VoxelLattice
from neurok_ros.geometry.sampling import SurfaceSamples
from neurok_ros.kinematics import LatticeParticles, RigidBodyKinematics, lattice_particles, skinning_modes
from neurok_ros.parameterization import ObjectKinematics
from neurok_ros.prediction.types import PhysicalProperties, PredictionOptions
from neurok_ros.prediction.validation import check_options, check_properties
from neurok_ros.reconstruction.types import ReconstructedMesh

RIGID_MODULUS = 5.0e7
"""Pa: from here on (hard rubber, wood, metal) a hand-held push dents an object by less than a camera can see."""
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
    properties: PhysicalProperties
    reason: str
    """Why this parameterization, as a sentence for the user."""


def prepare(mesh: ReconstructedMesh, properties: PhysicalProperties, options: PredictionOptions) -> PreparedObject:
    """Find an object's state space.

    Raises:
        NeurokError: INVALID_PROPERTIES, INVALID_OPTIONS; RECONSTRUCTION_FAILED if the mesh is open or has no volume.
    """
    check_properties(properties)
    check_options(options)
    lattice = build_lattice(mesh.vertices, mesh.faces)
    surface = sample_surface(mesh.vertices, mesh.faces, CONTACT_SAMPLES)
    particles = lattice_particles(lattice, torch.from_numpy(surface.points))
    name, reason = _choose(properties, options)
    kinematics: ObjectKinematics = (
        RigidBodyKinematics(torch.from_numpy(np.asarray(lattice.center))) if name == "rigid" else skinning_modes(lattice)
    )
    return PreparedObject(mesh, lattice, surface, particles, kinematics, properties, reason)


def _choose(properties: PhysicalProperties, options: PredictionOptions) -> tuple[str, str]:
    modulus = f"Young's modulus {properties.youngs_modulus:.3g} Pa"
    if options.parameterization != "auto":
        return options.parameterization, "asked for in the goal"
    if properties.youngs_modulus >= RIGID_MODULUS:
        return "rigid", f"{modulus} is at least {RIGID_MODULUS:.3g} Pa: too stiff to deform visibly"
    return "modal", f"{modulus} is below {RIGID_MODULUS:.3g} Pa: the object deforms"
