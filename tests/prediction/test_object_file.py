from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.prediction.object_file import load_object, save_object
from neurok_ros.reconstruction.types import ReconstructedMesh


@pytest.mark.parametrize("colored", [True, False])
def test_an_object_comes_back_as_it_was_saved(block: ReconstructedMesh, tmp_path: Path, colored: bool) -> None:
    """Positions are stored as float32: 1e-8 m for an object of 0.1 m."""
    count = len(block.vertices)
    colors = np.random.default_rng(0).integers(0, 256, (count, 3)).astype(np.uint8)
    mesh = replace(block, observed=np.arange(count) % 3 > 0, colors=colors if colored else None)
    path = save_object(mesh, tmp_path / "deep" / "block.glb", "block_7")
    name, again = load_object(path)
    assert name == "block_7"
    assert np.abs(again.vertices - mesh.vertices).max() < 1e-8
    assert np.array_equal(again.faces, mesh.faces)
    assert np.array_equal(again.observed, mesh.observed)
    assert np.array_equal(again.support, mesh.support)
    assert (again.frame, again.stamp, again.completion) == (mesh.frame, mesh.stamp, mesh.completion)
    assert (again.colors is None) if not colored else np.array_equal(again.colors, colors)


def test_any_viewer_finds_a_closed_coloured_mesh(block: ReconstructedMesh, tmp_path: Path) -> None:
    path = save_object(block, tmp_path / "block.glb", "block")
    (shape,) = trimesh.load_scene(path).geometry.values()
    assert shape.is_volume
    assert shape.visual.kind == "vertex"


def damaged(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def foreign(path: Path) -> None:
    path.write_bytes(trimesh.exchange.gltf.export_glb(trimesh.Scene(trimesh.creation.box())))


def text(path: Path) -> None:
    path.write_text("a bear")


@pytest.mark.parametrize("spoil", [damaged, foreign, text, Path.unlink])
def test_a_file_of_another_kind_is_refused_by_name(block: ReconstructedMesh, tmp_path: Path, spoil: object) -> None:
    path = save_object(block, tmp_path / "block.glb", "block")
    spoil(path)  # type: ignore[operator]
    with pytest.raises(NeurokError, match=str(path)) as caught:
        load_object(path)
    assert caught.value.code is ErrorCode.FILE_FAILED


@pytest.mark.parametrize("name", ["block.stl", "/proc/no_such_folder/block.glb"])
def test_a_path_that_cannot_be_written_is_refused(block: ReconstructedMesh, name: str) -> None:
    with pytest.raises(NeurokError) as caught:
        save_object(block, Path(name), "block")
    assert caught.value.code is ErrorCode.FILE_FAILED
