"""Nothing that is not a finite, plausible shape is ever drawn or exported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.types import ReconstructedMesh

if TYPE_CHECKING:
    from neurok_ros.prediction.types import PredictedMotion

FARTHEST = 100.0
"""Metres: a vertex or tool farther than this from the rest mesh comes from a diverged prediction."""


def check_mesh(mesh: ReconstructedMesh) -> None:
    """Refuses a mesh that cannot be drawn.

    Raises:
        NeurokError: RECONSTRUCTION_FAILED, for an empty mesh, values that are not finite, or indices out of range.
    """
    remedy = "Reconstruct the object again"
    if mesh.vertices.ndim != 2 or mesh.vertices.shape[1] != 3 or len(mesh.vertices) == 0 or len(mesh.faces) == 0:
        raise NeurokError(ErrorCode.RECONSTRUCTION_FAILED, "mesh", "it has no vertices or no faces", remedy)
    if not np.isfinite(mesh.vertices).all():
        raise NeurokError(ErrorCode.RECONSTRUCTION_FAILED, "mesh.vertices", "some are not finite", remedy)
    if mesh.faces.min() < 0 or mesh.faces.max() >= len(mesh.vertices):
        raise NeurokError(ErrorCode.RECONSTRUCTION_FAILED, "mesh.faces", "some name vertices that do not exist", remedy)
    if not np.isfinite(mesh.support).all() or np.linalg.norm(mesh.support[:3]) < 0.5:
        raise NeurokError(ErrorCode.RECONSTRUCTION_FAILED, "mesh.support", "it is not a plane with a unit normal", remedy)


def drawable(mesh: ReconstructedMesh, motion: PredictedMotion) -> PredictedMotion:
    """The motion up to the first frame that is not finite or has flown away; the whole motion where all is well.

    Raises:
        NeurokError: RECONSTRUCTION_FAILED as `check_mesh`; DIVERGED where not even the first frame can be drawn;
            INTERNAL where mesh and motion have different numbers of vertices.
    """
    check_mesh(mesh)
    if motion.vertices.shape[1:] != mesh.vertices.shape:
        problem = f"frames of shape {motion.vertices.shape[1:]} for a mesh of shape {mesh.vertices.shape}"
        raise NeurokError(ErrorCode.INTERNAL, "motion.vertices", problem, "Give the mesh that the motion was predicted for")
    count = _leading_plausible_frames(mesh, motion)
    if count == 0:
        problem = "not even its first frame is finite and near the object"
        raise NeurokError(ErrorCode.DIVERGED, "motion", problem, "Predict again with a slower push or a softer material")
    if count == len(motion.times):
        return motion
    return replace(
        motion,
        times=motion.times[:count],
        vertices=motion.vertices[:count],
        tool_poses=motion.tool_poses[:count],
        contact_force=motion.contact_force[:count],
        penetration=motion.penetration[:count],
        displacement=motion.displacement[:count],
    )


def output_path(path: str | Path, endings: Sequence[str]) -> Path:
    """The path to write to, its folder made.

    Raises:
        NeurokError: FILE_FAILED, for an ending other than these or a folder that cannot be made.
    """
    path = Path(path)
    if path.suffix.lower() not in endings:
        problem = f"cannot write '{path.name}'"
        raise NeurokError(ErrorCode.FILE_FAILED, "path", problem, f"Name a file that ends in {' or '.join(endings)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = f"the folder '{path.parent}' cannot be made ({error.strerror})"
        raise NeurokError(ErrorCode.FILE_FAILED, "path", problem, "Choose a folder that you may write to") from error
    return path


def _leading_plausible_frames(mesh: ReconstructedMesh, motion: PredictedMotion) -> int:
    count = len(motion.times)
    centre = mesh.vertices.mean(axis=0)
    with np.errstate(invalid="ignore", over="ignore"):
        far = np.abs(motion.vertices.astype(np.float64) - centre).reshape(count, -1).max(axis=1)
        far = np.maximum(far, np.abs(motion.tool_poses[:, :3] - centre).max(axis=1))
    good: NDArray[np.bool_] = far < FARTHEST
    for values in (motion.times, motion.tool_poses, motion.contact_force, motion.displacement):
        good &= np.isfinite(values).reshape(count, -1).all(axis=1)
    good &= np.abs(np.linalg.norm(motion.tool_poses[:, 3:], axis=1) - 1.0) < 0.1
    return count if good.all() else int(np.argmin(good))
