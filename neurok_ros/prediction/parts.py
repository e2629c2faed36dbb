"""The unconnected parts of an object, which must not pass through each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from neurok_ros.dynamics import Parts
from neurok_ros.geometry.sampling import SurfaceSamples
from neurok_ros.geometry.solids import solid_parts
from neurok_ros.geometry.surface_distance import SurfaceDistance
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
