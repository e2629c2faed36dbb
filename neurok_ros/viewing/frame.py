"""The frame that everything is drawn in: z up from the support, x towards the scanned side, origin below the object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from neurok_ros.reconstruction.types import Floats, ReconstructedMesh


@dataclass(frozen=True)
class SupportFrame:
    """A rigid change of coordinates from the scan's frame to the support's."""

    rotation: Floats
    """(3, 3) its rows are the support frame's axes, in the scan's frame."""
    origin: Floats
    """(3,) metres, in the scan's frame."""

    def points(self, points: NDArray[Any]) -> Floats:
        """(..., 3) metres in the scan's frame, to the support frame."""
        return np.asarray((np.asarray(points, dtype=np.float64) - self.origin) @ self.rotation.T)

    def directions(self, vectors: NDArray[Any]) -> Floats:
        """(..., 3) vectors of any unit in the scan's frame, to the support frame."""
        return np.asarray(np.asarray(vectors, dtype=np.float64) @ self.rotation.T)

    def poses(self, poses: Floats) -> Floats:
        """(p, 7) x y z metres, quaternion x y z w in the scan's frame, to (p, 4, 4) matrices in the support frame."""
        matrices = np.tile(np.eye(4), (len(poses), 1, 1))
        matrices[:, :3, :3] = self.rotation @ Rotation.from_quat(poses[:, 3:]).as_matrix()
        matrices[:, :3, 3] = self.points(poses[:, :3])
        return matrices


def support_frame(mesh: ReconstructedMesh) -> SupportFrame:
    """The support frame of a mesh that `guard.check_mesh` accepts."""
    length = np.linalg.norm(mesh.support[:3])
    up = mesh.support[:3] / length
    centre = (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0)) / 2
    origin = centre - up * (up @ centre + mesh.support[3] / length)
    towards = _scanned_side(mesh, up)
    return SupportFrame(np.stack([towards, np.cross(up, towards), up]), origin)


def vertex_normals(vertices: NDArray[Any], faces: NDArray[Any]) -> Floats:
    """(n, 3) unit normals, the area-weighted mean of the faces around each vertex; +z where there is none."""
    per_face = _area_vectors(vertices, faces)
    flat = np.asarray(faces).ravel()
    sums = np.stack([np.bincount(flat, np.repeat(per_face[:, axis], 3), len(vertices)) for axis in range(3)], axis=1)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.where(lengths > 1e-15, sums / np.maximum(lengths, 1e-15), [0.0, 0.0, 1.0])


def _scanned_side(mesh: ReconstructedMesh, up: Floats) -> Floats:
    """The horizontal unit vector that most of the observed surface looks along; any where nothing decides."""
    seen = mesh.observed[mesh.faces].all(axis=1)
    looking = _area_vectors(mesh.vertices, mesh.faces)[seen].sum(axis=0)
    looking = looking - up * (up @ looking)
    area = float(np.linalg.norm(_area_vectors(mesh.vertices, mesh.faces), axis=1).sum())
    if np.linalg.norm(looking) < 0.01 * area:
        looking = np.eye(3)[np.argmin(np.abs(up))]
        looking = looking - up * (up @ looking)
    return np.asarray(looking / np.linalg.norm(looking))


def _area_vectors(vertices: NDArray[Any], faces: NDArray[Any]) -> Floats:
    corners = np.asarray(vertices, dtype=np.float64)[faces]
    return np.asarray(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2)
