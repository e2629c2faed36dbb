"""Simple objects as reconstruction would give them."""

from __future__ import annotations

import numpy as np
import trimesh

from neurok_ros.reconstruction.types import ReconstructedMesh


def mesh_of(shape: trimesh.Trimesh) -> ReconstructedMesh:
    """The shape, wholly seen, on the plane through its lowest point."""
    return ReconstructedMesh(
        vertices=np.asarray(shape.vertices, np.float64),
        faces=np.asarray(shape.faces, np.int32),
        observed=np.ones(len(shape.vertices), np.bool_),
        colors=None,
        support=np.array([0.0, 0.0, 1.0, -shape.vertices[:, 2].min()]),
        completion="none",
        frame="world",
        stamp=12.5,
    )


def box(extents: tuple[float, float, float]) -> trimesh.Trimesh:
    """A finely triangulated box on z = 0."""
    shape = trimesh.creation.box(extents)
    shape.apply_translation([0.0, 0.0, extents[2] / 2])
    for _ in range(3):
        shape = shape.subdivide()
    return shape
