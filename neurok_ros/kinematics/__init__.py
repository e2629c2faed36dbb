"""Kinematic state parameterizations: the states an object can be in, and where its particles are in each."""

from neurok_ros.kinematics.modal import LinearSubspace, SkinningModes, skinning_modes
from neurok_ros.kinematics.particles import LatticeParticles, lattice_particles, strain_sites
from neurok_ros.kinematics.rigid import RigidBody, RigidBodyKinematics

__all__ = [
    "LatticeParticles",
    "LinearSubspace",
    "RigidBody",
    "RigidBodyKinematics",
    "SkinningModes",
    "lattice_particles",
    "skinning_modes",
    "strain_sites",
]
