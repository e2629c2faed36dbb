"""A reconstructed object as a file: a GLB that any 3D viewer opens, with what a viewer ignores in its extras."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.types import ReconstructedMesh

_GUESSED_COLOR = (235, 150, 90)
_PLAIN_COLOR = (170, 175, 185)


def save_object(mesh: ReconstructedMesh, path: Path, object_id: str) -> Path:
    """Write an object to a .glb file and return its absolute path.

    Positions are stored as float32 metres in the object's frame; colours show the scan, the guessed part tinted.

    Raises:
        NeurokError: FILE_FAILED, if the path is not a writable .glb file.
    """
    path = path.expanduser().absolute()
    if path.suffix.lower() != ".glb":
        raise NeurokError(ErrorCode.FILE_FAILED, "path", f"'{path}' does not end in .glb", "Name a .glb file")
    colors = np.tile(np.array(_PLAIN_COLOR, np.uint8), (len(mesh.vertices), 1)) if mesh.colors is None else mesh.colors.copy()
    colors[~mesh.observed] = _GUESSED_COLOR
    shape = trimesh.Trimesh(mesh.vertices, mesh.faces, vertex_colors=colors, process=False)
    shape.vertex_attributes["_observed"] = mesh.observed.astype(np.float32)
    if mesh.colors is not None:
        shape.vertex_attributes["_scanned_color"] = mesh.colors.astype(np.float32)
    shape.metadata = {
        "object_id": object_id,
        "support": mesh.support.tolist(),
        "completion": mesh.completion,
        "frame": mesh.frame,
        "stamp": mesh.stamp,
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(trimesh.exchange.gltf.export_glb(trimesh.Scene(shape), include_normals=True))
    except OSError as error:
        raise NeurokError(
            ErrorCode.FILE_FAILED, "path", f"cannot write '{path}': {error.strerror}", "Name a writable file"
        ) from error
    return path


def load_object(path: Path) -> tuple[str, ReconstructedMesh]:
    """Read an object that `save_object` wrote.

    Returns:
        The object's id, and its mesh.

    Raises:
        NeurokError: FILE_FAILED, if there is no such file or it holds something else.
    """
    path = path.expanduser().absolute()
    try:
        scene = trimesh.load_scene(path, file_type="glb", process=False)
        (shape,) = scene.geometry.values()
        extras = shape.metadata
        scanned = shape.vertex_attributes.get("_scanned_color")
        mesh = ReconstructedMesh(
            vertices=np.asarray(shape.vertices, np.float64),
            faces=np.asarray(shape.faces, np.int32),
            observed=np.asarray(shape.vertex_attributes["_observed"]).reshape(-1) > 0.5,
            colors=None if scanned is None else np.asarray(scanned).reshape(-1, 3).astype(np.uint8),
            support=np.asarray(extras["support"], np.float64).reshape(4),
            completion=str(extras["completion"]),
            frame=str(extras["frame"]),
            stamp=float(extras["stamp"]),
        )
        object_id = str(extras["object_id"])
    except OSError as error:
        raise NeurokError(
            ErrorCode.FILE_FAILED, "path", f"cannot read '{path}': {error.strerror}", "Name an existing .glb file"
        ) from error
    except Exception as error:  # whatever a parser raises on a file of another kind
        problem = f"'{path}' is not an object saved by this package ({type(error).__name__}: {error})"
        raise NeurokError(ErrorCode.FILE_FAILED, "path", problem, "Load a file that save_object wrote") from error
    if not (shape.is_watertight and np.isfinite(mesh.vertices).all() and np.isfinite(mesh.support).all()):
        raise NeurokError(
            ErrorCode.FILE_FAILED, "path", f"the mesh in '{path}' is not closed and finite", "Save the object again"
        )
    return object_id, mesh
