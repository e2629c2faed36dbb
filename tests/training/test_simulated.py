"""Simulated sequences: closed surfaces, pinned points that stay, files that come back the same, a command that goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from training.data import sources
from training.data.files import file_name
from training.data.simulate import make_one, missing
from training.data.simulated.engine import KINDS, simulate
from training.data.simulated.sequences import MeshSequence, SequenceObject, SequenceSource, face_frames, simulated_sources
from training.data.simulated.skins import grid_triangles, shell_faces, shell_vertices, tube_faces, tube_vertices


def _first_sound(kind: str) -> MeshSequence:
    for attempt in range(8):
        made = simulate(kind, (3, attempt), 0.6**attempt)
        if made is not None:
            return made
    raise AssertionError(f"eight motions of {kind} in a row went wrong")


@pytest.mark.parametrize("kind", ["cloth", "rope", "soft_cylinder"])
def test_surfaces_are_closed_and_move(kind: str) -> None:
    made = _first_sound(kind)
    mesh = trimesh.Trimesh(made.vertices[0], made.faces, process=False)
    assert mesh.is_watertight
    assert mesh.volume > 0
    size = np.ptp(made.vertices[0], axis=0).max()
    assert np.linalg.norm(made.vertices - made.vertices[0], axis=2).max() > 0.01 * size
    assert made.faces.max() < made.vertices.shape[1]


def test_a_string_keeps_its_length() -> None:
    made = _first_sound("rope")
    rings = (made.vertices.shape[1] - 2) // 8
    middles = made.vertices[:, :-2].reshape(len(made.vertices), rings, 8, 3).mean(axis=2)
    lengths = np.linalg.norm(np.diff(middles, axis=1), axis=2).sum(axis=1)
    np.testing.assert_allclose(lengths, lengths[0], rtol=0.03)  # constraints of the engine give a little


def test_soft_bodies_keep_their_volume_within_what_their_poisson_ratio_allows() -> None:
    made = _first_sound("soft_cylinder")
    volumes = [trimesh.Trimesh(frame, made.faces, process=False).volume for frame in made.vertices]
    assert 0.5 < min(volumes) / volumes[0] <= max(volumes) / volumes[0] < 1.6


def test_shells_and_tubes_have_the_volume_of_a_plate_and_a_rod() -> None:
    triangles = grid_triangles(3, 4)
    points = np.array([[i, j, 0.0] for i in range(3) for j in range(4)])
    shell = trimesh.Trimesh(shell_vertices(points, triangles, 0.1), shell_faces(triangles, 12), process=False)
    assert shell.is_watertight
    assert shell.volume == pytest.approx(6 * 0.1)
    line = np.column_stack([np.zeros(5), np.zeros(5), np.arange(5.0)])
    tube = trimesh.Trimesh(tube_vertices(line, 0.1), tube_faces(5), process=False)
    assert tube.is_watertight
    assert tube.volume == pytest.approx(4 * 0.01 * 4 * np.sin(np.pi / 4))  # a rod of eight sides


def test_files_come_back_the_same(tmp_path: Path) -> None:
    vertices = np.random.default_rng(0).uniform(-0.3, 0.5, (3, 20, 3))
    made = MeshSequence(vertices, np.array([[0, 1, 2], [3, 4, 5]]), fixed=True)
    made.save(tmp_path / "cloth_000001.npz")
    back = MeshSequence.load(tmp_path / "cloth_000001.npz")
    shift = back.vertices - vertices
    # Sixteen bits: half a step of (0.4 m / 32767), and a shift of the whole.
    assert np.ptp(shift, axis=(0, 1)).max() < 0.4 / 32767 * 1.01
    np.testing.assert_array_equal(back.faces, made.faces)
    assert back.fixed


def test_a_turned_mesh_gives_its_rotation_and_a_free_one_none() -> None:
    mesh = trimesh.creation.icosphere(subdivisions=2)
    turn = Rotation.from_euler("xyz", [0.3, 0.5, -0.2]).as_matrix()
    frames = np.stack([mesh.vertices, mesh.vertices @ turn.T + [0.1, 0, 0]])
    faces = np.asarray(mesh.faces, np.int64)
    gradient = face_frames(frames[1], faces) @ np.linalg.inv(face_frames(frames[0], faces))
    np.testing.assert_allclose(gradient, np.tile(turn, (len(faces), 1, 1)), atol=1e-9)
    for fixed, expected in ((True, None), (False, np.eye(3))):
        pair = SequenceObject(MeshSequence(frames, faces, fixed)).pairs(np.random.default_rng(1), 200, 1)[0]
        measured = pair.rotations[0].astype(float)
        wanted = expected if expected is not None else min((turn, turn.T), key=lambda r: np.abs(r - measured).max())
        np.testing.assert_allclose(pair.rotations, np.tile(wanted, (200, 1, 1)), atol=1e-5)
        assert pair.points0 == pytest.approx(pair.normals0, abs=0.25)  # facets of a ball


def test_the_command_goes_on_where_it_stopped_and_keeps_every_tenth_for_judging(tmp_path: Path) -> None:
    jobs = missing(tmp_path, 2 * len(KINDS))
    assert len(jobs) == 2 * len(KINDS)
    assert make_one(("rope", 1), tmp_path)
    assert ("rope", 1) not in missing(tmp_path, 2 * len(KINDS))
    assert len(missing(tmp_path, 2 * len(KINDS))) == len(jobs) - 1
    (tmp_path / file_name("rope", 9)).write_bytes((tmp_path / file_name("rope", 1)).read_bytes())
    assert [s.name for s in simulated_sources(tmp_path, held_out_instances=False)] == ["simulated/rope"]
    for split in ("train", "held_out_instances"):
        found = [s for _, s in sources(split, tmp_path) if isinstance(s, SequenceSource)]
        assert len(found) == 1
        pair = found[0].sample(np.random.default_rng(0), 128, 2)[1]
        assert np.linalg.norm(pair.points0, axis=1).max() == pytest.approx(1, abs=1e-6)
