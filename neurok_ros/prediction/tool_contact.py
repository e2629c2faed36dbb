"""Surface samples fine enough for a tool: contact is felt at samples only, and a finger must not slip in between them."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from neurok_ros.dynamics import contact_resolution
from neurok_ros.dynamics.tools import rotation_matrix
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.geometry.sampling import SurfaceSamples, sample_surface
from neurok_ros.geometry.solids import winding_number
from neurok_ros.prediction.parts import object_particles
from neurok_ros.prediction.prepare import PreparedObject
from neurok_ros.prediction.types import Push
from neurok_ros.reconstruction.types import ReconstructedMesh

WANTED_COARSENESS = 0.5
"""See `contact_resolution`."""
MOST_LOCAL_SAMPLES = 1200
REACH = 3.0
"""The surface is sampled finely within so many bounding radii of the tool's path."""


def refuse_tool_inside(mesh: ReconstructedMesh, push: Push) -> None:
    """Raise NeurokError(INVALID_PUSH) if the tool, or a finger of it, starts with its middle inside the object.

    Contact is felt at samples of the surface: a tool that is wholly within it would touch none of them.
    """
    position, quaternion = push.path.pose(0.0)
    across = rotation_matrix(quaternion)[:, 1]
    for side in (0.0,) if push.tool.opening is None else (-1.0, 1.0):
        middle = position + side * push.tool.offset * across
        if winding_number(mesh.vertices, mesh.faces, middle) > 0.5:
            x, y, z = middle
            problem = f"the tool starts inside the object, its middle at ({x:.3f}, {y:.3f}, {z:.3f}) m"
            raise NeurokError(ErrorCode.INVALID_PUSH, "push.waypoints[0]", problem, "Start it outside")


def fit_to_tool(prepared: PreparedObject, push: Push) -> tuple[PreparedObject, float]:
    """The object with surface samples near the tool's path as fine as the tool needs.

    Returns:
        The object, and how coarse its samples near the path still are (`contact_resolution`).
    """
    near = _faces_near_path(prepared, push)
    if not near.any():
        return prepared, 0.0
    here = near[prepared.surface.faces]
    if here.any():
        coarseness = contact_resolution(torch.from_numpy(prepared.surface.areas[here]), push.tool)
        if coarseness <= WANTED_COARSENESS:
            return prepared, coarseness
    local = _local_samples(prepared, near, WANTED_COARSENESS * min(push.tool.half_extents))
    surface = _joined(prepared.surface, ~here, local)
    particles = object_particles(prepared.mesh.vertices, prepared.mesh.faces, prepared.lattice, surface)
    coarseness = contact_resolution(torch.from_numpy(local.areas), push.tool)
    return replace(prepared, surface=surface, particles=particles), coarseness


def _faces_near_path(prepared: PreparedObject, push: Push) -> NDArray[np.bool_]:
    """(m,) whether the tool comes near each face of the resting object."""
    reach = push.tool.bounding_radius
    ends = push.path.positions
    stations = [np.linspace(a, b, int(np.linalg.norm(b - a) / reach) + 2) for a, b in pairwise(ends)]
    corners = prepared.mesh.vertices[prepared.mesh.faces]
    centers = corners.mean(axis=1)
    radii = np.linalg.norm(corners - centers[:, None], axis=2).max(axis=1)
    distance, _ = cKDTree(np.concatenate([ends, *stations])).query(centers)
    return np.asarray(distance - radii < REACH * reach)


def _local_samples(prepared: PreparedObject, near: NDArray[np.bool_], radius: float) -> SurfaceSamples:
    """Samples of the faces that are near, each for a disc of at most about this radius, metres."""
    chosen = np.flatnonzero(near)
    triangles = prepared.mesh.vertices[prepared.mesh.faces[chosen]]
    area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1).sum() / 2
    unevenness = 2.0
    count = int(np.clip(unevenness * area / (np.pi * radius**2), 50, MOST_LOCAL_SAMPLES))
    local = sample_surface(prepared.mesh.vertices, prepared.mesh.faces[chosen], count)
    return replace(local, faces=chosen[local.faces])


def _joined(everywhere: SurfaceSamples, keep: NDArray[np.bool_], local: SurfaceSamples) -> SurfaceSamples:
    return SurfaceSamples(
        points=np.concatenate([everywhere.points[keep], local.points]),
        normals=np.concatenate([everywhere.normals[keep], local.normals]),
        areas=np.concatenate([everywhere.areas[keep], local.areas]),
        faces=np.concatenate([everywhere.faces[keep], local.faces]),
    )
