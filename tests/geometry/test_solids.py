"""What a mesh encloses: parts, cavities, inside and outside."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.geometry.solids import inside_grid, solid_moments, solid_parts


def volume(vertices: np.ndarray, faces: np.ndarray) -> float:
    return solid_moments(vertices, faces).volume


def two_boxes() -> trimesh.Trimesh:
    left, right = trimesh.creation.box((0.1, 0.1, 0.1)), trimesh.creation.box((0.2, 0.1, 0.1))
    return trimesh.util.concatenate([left, right.apply_translation([0.16, 0, 0])])


def test_unconnected_solids_are_told_apart() -> None:
    mesh = two_boxes()
    volumes = sorted(volume(mesh.vertices, part) for part in solid_parts(mesh.vertices, mesh.faces))
    np.testing.assert_allclose(volumes, [0.001, 0.002], rtol=1e-12)


def test_a_cavity_stays_with_its_solid() -> None:
    ball, hole = trimesh.creation.icosphere(3, 0.05), trimesh.creation.icosphere(3, 0.03)
    hole.invert()
    beside = trimesh.creation.box((0.02, 0.02, 0.02)).apply_translation([0.2, 0, 0])
    mesh = trimesh.util.concatenate([hole, beside, ball])
    parts = solid_parts(mesh.vertices, mesh.faces)
    assert len(parts) == 2
    np.testing.assert_allclose(max(volume(mesh.vertices, part) for part in parts), ball.volume + hole.volume, rtol=1e-12)
    assert hole.volume < 0


def test_a_mesh_that_is_inside_out_is_turned() -> None:
    mesh = two_boxes()
    parts = solid_parts(mesh.vertices, mesh.faces[:, ::-1])
    assert all(volume(mesh.vertices, part) > 0 for part in parts)


def test_one_part_that_is_inside_out_is_turned() -> None:
    mesh = two_boxes()
    faces = mesh.faces.copy()
    faces[:12] = faces[:12, ::-1]
    assert sorted(volume(mesh.vertices, part) for part in solid_parts(mesh.vertices, faces)) == pytest.approx([0.001, 0.002])


@pytest.mark.parametrize("kind", ["open", "flat", "not finite", "empty"])
def test_what_encloses_nothing_is_refused(kind: str) -> None:
    mesh = trimesh.creation.box((0.1, 0.1, 0.1))
    vertices, faces = np.array(mesh.vertices), np.array(mesh.faces)
    if kind == "open":
        faces = faces[1:]
    elif kind == "flat":
        vertices[:, 2] = 0
    elif kind == "not finite":
        vertices[0, 0] = np.nan
    else:
        faces = faces[:0]
    with pytest.raises(NeurokError, match="mesh: ") as caught:
        solid_parts(vertices, faces)
    assert caught.value.code == ErrorCode.RECONSTRUCTION_FAILED


def test_moments_do_not_suffer_far_from_the_origin() -> None:
    box = trimesh.creation.box((0.1, 0.2, 0.3)).apply_translation([1000.0, -500.0, 20.0])
    found = solid_moments(np.asarray(box.vertices), np.asarray(box.faces))
    np.testing.assert_allclose(found.center, [1000.0, -500.0, 20.0], atol=1e-9)
    expected = 0.006 / 12 * np.diag([0.13, 0.1, 0.05])
    np.testing.assert_allclose(found.inertia, expected, atol=1e-8 * expected.max())


def test_inside_of_a_sphere() -> None:
    """Only grid points within the facets' sagitta of the surface may be judged otherwise than by the radius."""
    sphere = trimesh.creation.icosphere(subdivisions=4, radius=0.5)
    inside = inside_grid(np.asarray(sphere.vertices) + 0.5, np.asarray(sphere.faces), np.full(3, 1 / 40), (40, 40, 40))
    radius = np.linalg.norm((np.indices((40, 40, 40)).reshape(3, -1).T + 0.5) / 40 - 0.5, axis=1)
    clear = np.abs(radius - 0.5) > 2e-3
    np.testing.assert_array_equal(inside.ravel()[clear], radius[clear] < 0.5)


@pytest.mark.parametrize("subdivisions", [0, 1, 2, 3])
def test_rays_through_edges_and_vertices_of_a_regular_mesh(subdivisions: int) -> None:
    """Grid lines that run exactly along diagonals and through vertices neither leak nor count twice."""
    box = trimesh.creation.box((1.0, 1.0, 1.0)).apply_translation([1.0, 1.0, 1.0])
    for _ in range(subdivisions):
        box = box.subdivide()
    inside = inside_grid(np.asarray(box.vertices), np.asarray(box.faces), np.full(3, 2 / 36), (36, 36, 36))
    expected = np.zeros((36, 36, 36), bool)
    expected[9:27, 9:27, 9:27] = True
    np.testing.assert_array_equal(inside, expected)


def test_overlapping_solids_are_united() -> None:
    a = trimesh.creation.box((1.0, 1.0, 1.0)).apply_translation([1.0, 1.0, 1.0])
    b = a.copy().apply_translation([0.5, 0.0, 0.0])
    mesh = trimesh.util.concatenate([a, b])
    inside = inside_grid(np.asarray(mesh.vertices), np.asarray(mesh.faces), np.full(3, 0.1), (25, 25, 25))
    np.testing.assert_allclose(inside.sum() * 1e-3, 1.5, rtol=1e-12)
