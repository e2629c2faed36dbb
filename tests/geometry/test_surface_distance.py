"""Signed distance to meshes against closed forms and against each other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import trimesh

from neurok_ros.dynamics import ToolKind, ToolShape, signed_distance
from neurok_ros.geometry.surface_distance import SurfaceDistance


@pytest.mark.parametrize("divisions", [0, 3])
def test_distance_and_direction_to_a_box_are_exact(divisions: int) -> None:
    mesh = trimesh.creation.box((0.2, 0.1, 0.06))
    for _ in range(divisions):
        mesh = mesh.subdivide()
    points = np.random.default_rng(0).uniform(-0.15, 0.15, (3000, 3))
    distance, normal = SurfaceDistance(np.asarray(mesh.vertices), np.asarray(mesh.faces))(points, np.inf)
    exact, direction = signed_distance(ToolShape(ToolKind.BOX, (0.2, 0.1, 0.06)), torch.from_numpy(points))
    error = np.abs(distance - exact.numpy())
    assert error.max() < 5e-4  # triangles are found by points 3 mm apart; the nearest may be missed where others are as near
    assert np.mean(error > 1e-9) < 0.02
    outside = (exact.numpy() > 0.0) & (error < 1e-9)
    assert np.abs(normal - direction.numpy())[outside].max() < 1e-6


def test_the_sign_is_right_around_sharp_and_hollow_edges() -> None:
    """A box with a box cut out of a corner: outside in the notch, inside around it."""
    cut = trimesh.creation.box((0.1, 0.1, 0.1), trimesh.transformations.translation_matrix((0.05, 0.05, 0.05)))
    mesh = trimesh.boolean.difference([trimesh.creation.box((0.1, 0.1, 0.1)), cut])
    points = np.random.default_rng(1).uniform(-0.06, 0.06, (4000, 3))
    distance, _ = SurfaceDistance(np.asarray(mesh.vertices), np.asarray(mesh.faces))(points, np.inf)
    inside = (np.abs(points).max(axis=1) < 0.05) & ~(points > 0.0).all(axis=1)
    assert np.array_equal(distance < 0.0, inside)


def test_what_is_out_of_reach_is_not_looked_at() -> None:
    mesh = trimesh.creation.icosphere(3, 0.1)
    distance, normal = SurfaceDistance(np.asarray(mesh.vertices), np.asarray(mesh.faces))(
        np.array([[0.12, 0, 0], [0.5, 0, 0]]), 0.05
    )
    assert distance[0] == pytest.approx(0.02, abs=5e-4)
    assert np.isinf(distance[1])
    assert not normal[1].any()
