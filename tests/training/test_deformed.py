"""Soft bodies: Jacobians are derivatives, bends and twists are those of the textbook, pairs hold no rigid motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from training.data.deformed import source as kinds
from training.data.deformed.bodies import BODIES, body_surface
from training.data.deformed.maps import Cage, Chain, Dent, Rod, SpaceMap, Taper
from training.data.deformed.source import KINDS, polar_rotation, soft_sources
from training.data.framing import without_rigid_motion

RNG = np.random.default_rng(5)
POINTS = RNG.uniform(-0.4, 0.4, (60, 3))


@pytest.mark.parametrize("kind", list(dict.fromkeys(k for each in KINDS.values() for k in each)))
def test_jacobians_are_derivatives(kind: Callable[[np.random.Generator, float], SpaceMap]) -> None:
    made = kind(np.random.default_rng(1), 0.8)
    step = 1e-6
    measured = np.stack([(made(POINTS + step * e)[0] - made(POINTS - step * e)[0]) / (2 * step) for e in np.eye(3)], axis=2)
    # A rod's curvature jumps between its pieces, where a difference straddles two of them: 1e-5 there, 1e-8 elsewhere.
    np.testing.assert_allclose(made(POINTS)[1], measured, atol=2e-5)


def test_an_even_bend_makes_an_arc_of_its_radius() -> None:
    axis = np.stack([np.zeros(9), np.zeros(9), np.linspace(-0.5, 0.5, 9)], axis=1)
    moved, jacobian = Rod(-0.5, 1.0, np.array([[0.0, 2.0, 0.0]]))(axis)
    center = moved[0] + jacobian[0] @ [0.5, 0.0, 0.0]
    np.testing.assert_allclose(np.linalg.norm(moved - center, axis=1), 0.5, atol=1e-12)
    turned = Rotation.from_matrix(jacobian[0].T @ jacobian[-1]).magnitude()
    assert turned == pytest.approx(2.0, abs=1e-12)
    np.testing.assert_allclose(np.linalg.det(jacobian), 1, atol=1e-12)


def test_a_rod_of_many_equal_pieces_is_the_rod_of_one() -> None:
    curvature = np.array([1.0, -0.5, 2.0])
    one, many = Rod(-0.5, 1.0, curvature[None]), Rod(-0.5, 0.1, np.tile(curvature, (10, 1)))
    np.testing.assert_allclose(one(POINTS)[0], many(POINTS)[0], atol=1e-12)


def test_a_twist_keeps_height_and_distance_from_the_axis() -> None:
    moved, _ = Rod(-0.5, 1.0, np.array([[0.0, 0.0, 1.5]]))(POINTS)
    np.testing.assert_allclose(moved[:, 2], POINTS[:, 2], atol=1e-12)
    np.testing.assert_allclose(np.hypot(*moved[:, :2].T), np.hypot(*POINTS[:, :2].T), atol=1e-12)


def test_a_plain_stretch_keeps_the_volume() -> None:
    np.testing.assert_allclose(np.linalg.det(Taper(0.0, 0.0, 1.7)(POINTS)[1]), 1, atol=1e-12)


def test_a_cage_moved_affinely_moves_everything_affinely() -> None:
    low, high = np.full(3, -0.5), np.full(3, 0.5)
    grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, n) for n in (3, 4, 3)], indexing="ij"), axis=-1)
    matrix = np.array([[0.1, 0.2, 0.0], [0.0, -0.1, 0.3], [0.05, 0.0, 0.0]])
    moved, jacobian = Cage(low, high, grid @ matrix.T)(POINTS)
    np.testing.assert_allclose(moved, POINTS + POINTS @ matrix.T, atol=1e-12)
    np.testing.assert_allclose(jacobian, np.tile(np.eye(3) + matrix, (len(POINTS), 1, 1)), atol=1e-12)


def test_a_dent_is_deepest_at_its_centre() -> None:
    push = np.array([0.0, 0.0, -0.1])
    moved, _ = Dent(np.zeros(3), push, 0.2)(np.array([[0.0, 0, 0], [0.2, 0, 0], [2.0, 0, 0]]))
    np.testing.assert_allclose(moved[:, 2], [-0.1, -0.1 * np.exp(-0.5), 0], atol=1e-12)


def test_polar_rotation_of_a_turned_stretch_is_the_turn() -> None:
    turns = Rotation.random(20, rng=np.random.default_rng(0)).as_matrix()
    np.testing.assert_allclose(polar_rotation(turns @ np.diag([0.5, 1.0, 2.0])), turns, atol=1e-12)


def test_a_turn_and_a_shift_are_taken_out() -> None:
    turn = Rotation.random(rng=np.random.default_rng(2)).as_matrix()
    back, rotations = without_rigid_motion(POINTS, POINTS @ turn.T + [1, 2, 3], np.tile(turn, (len(POINTS), 1, 1)))
    np.testing.assert_allclose(back, POINTS, atol=1e-12)
    np.testing.assert_allclose(rotations, np.tile(np.eye(3), (len(POINTS), 1, 1)), atol=1e-12)


@pytest.mark.parametrize("source", soft_sources(held_out_instances=True), ids=lambda s: s.name.split("/")[-1])
def test_rotations_follow_neighbouring_points(source: kinds.SoftSource) -> None:
    """Points around each point, fitted by a rotation, turn as stated: an independent measurement of the local rotation."""
    for pair in source.sample(np.random.default_rng(4), 1500, 2):
        assert np.linalg.norm(pair.points0, axis=1).max() == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(np.linalg.det(pair.rotations.astype(float)), 1, atol=1e-5)
        turned = np.einsum("nij,nj->ni", pair.rotations, pair.normals0)
        errors = []
        for i in range(0, 1500, 50):
            near = np.argsort(np.linalg.norm(pair.points0 - pair.points0[i], axis=1))[1:12]
            near = near[pair.normals0[near] @ pair.normals0[i] > 0.5]
            if len(near) < 5:
                continue
            a, b = pair.points0[near] - pair.points0[i], pair.points1[near] - pair.points1[i]
            errors.append(float(np.abs(b @ turned[i]).mean() / np.linalg.norm(a, axis=1).mean()))
        # Neighbours stay near the turned tangent plane; shear and curvature tilt it by a little, a wrong rotation by half.
        assert np.median(errors) < 0.3


def test_bodies_are_whole_closed_and_of_unit_length() -> None:
    for name, body in BODIES.items():
        for number in range(3):
            made = body(np.random.default_rng([number]))
            assert made.status().name == "NoError"
            assert len(made.decompose()) == 1, f"{name} {number} is in pieces"
            assert np.ptp(body_surface(made).vertices, axis=0).max() == pytest.approx(1)


def test_a_chain_applies_its_maps_in_order() -> None:
    first, second = Taper(0.1, 0.2, 1.1), Rod(-0.5, 1.0, np.array([[1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(Chain([first, second])(POINTS)[0], second(first(POINTS)[0])[0], atol=1e-12)
