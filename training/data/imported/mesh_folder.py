"""Folders of meshes that share their topology: one file a frame."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from training.data.simulated.sequences import MeshSequence
from training.sampling import Floats, Ints

_SUFFIXES = (".ply", ".obj", ".stl", ".off", ".glb")


def read_mesh_folder(folder: Path) -> MeshSequence:
    """The meshes of a folder in the order of their names; the object is taken to be held in place.

    Raises:
        ValueError: fewer than two meshes, or meshes with other faces than the first.
    """
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in _SUFFIXES)
    if len(paths) < 2:
        raise ValueError(f"{folder}: {len(paths)} meshes; a motion needs two or more files ({', '.join(_SUFFIXES)})")
    frames, faces = [], None
    for path in paths:
        mesh = trimesh.load(path, force="mesh", process=False)
        if faces is None:
            faces = np.asarray(mesh.faces, np.int64)
        if mesh.faces.shape != faces.shape or not np.array_equal(mesh.faces, faces):
            raise ValueError(f"{path}: its faces are not those of {paths[0].name}; all frames must share vertices and faces")
        frames.append(np.asarray(mesh.vertices, np.float64))
    if len({len(frame) for frame in frames}) > 1 or faces is None:
        raise ValueError(f"{folder}: the meshes have different numbers of vertices; all frames must share them")
    return MeshSequence(np.stack(frames), faces, fixed=True)


def parts_of(vertices: Floats, faces: Ints) -> Ints:
    """(f,) the connected component of each face, vertices at one place counting as one."""
    size = np.ptp(vertices, axis=0).max()
    _, place = np.unique(np.round(vertices / size * 1e6).astype(np.int64), axis=0, return_inverse=True)
    corners = place.reshape(-1)[faces]
    count = int(place.max()) + 1
    rows, columns = corners[:, [0, 1]].ravel(), corners[:, [1, 2]].ravel()
    graph = coo_array((np.ones(len(rows)), (rows, columns)), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    _, part = np.unique(label[corners[:, 0]], return_inverse=True)
    return part.reshape(-1).astype(np.int64)
