"""Small maths that every room shares: numpy, scipy, trimesh and torch, no more."""

from neurok_ros.geometry.lattice import Interpolation, VoxelLattice
from neurok_ros.geometry.lattice_building import build_lattice
from neurok_ros.geometry.lumped_mass import inertia_tensor, match_moments
from neurok_ros.geometry.sampling import SurfaceSamples, farthest_points, sample_surface
from neurok_ros.geometry.solids import SolidMoments, solid_moments, solid_parts

__all__ = [
    "Interpolation",
    "SolidMoments",
    "SurfaceSamples",
    "VoxelLattice",
    "build_lattice",
    "farthest_points",
    "inertia_tensor",
    "match_moments",
    "sample_surface",
    "solid_moments",
    "solid_parts",
]
