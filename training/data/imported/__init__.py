"""What users bring: URDF and MJCF files, folders of meshes with shared topology, animated GLB files."""

from __future__ import annotations

from pathlib import Path

from training.data.imported.glb import read_glb
from training.data.imported.mesh_folder import parts_of, read_mesh_folder
from training.data.imported.mujoco_files import read_mechanism
from training.data.imported.one import OneObject
from training.data.simulated.sequences import SequenceObject
from training.pairs import PairSource

__all__ = ["imported_source", "read_glb", "read_mechanism", "read_mesh_folder"]


def imported_source(path: Path) -> PairSource:
    """The pairs of one object: a URDF or MJCF file, a GLB file, or a folder of meshes that share their topology.

    Raises:
        ValueError: the file is of another kind, or what it holds does not move.
    """
    name = f"imported/{path.stem}"
    if path.is_dir() or path.suffix == ".glb":
        sequence = read_mesh_folder(path) if path.is_dir() else read_glb(path)
        return OneObject(name, SequenceObject(sequence, parts_of(sequence.vertices[0], sequence.faces)))
    if path.suffix in (".urdf", ".xml", ".mjcf"):
        return OneObject(name, read_mechanism(path))
    raise ValueError(f"{path}: no importer for such a file; give a .urdf, .xml or .glb file, or a folder of meshes")
