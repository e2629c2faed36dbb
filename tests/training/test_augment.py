"""Scans see what faces them and nothing behind; smoothing rounds edges; a stretch acts on both frames alike."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from training.augment import ScanSettings, scan_like, stretched, visible_from
from training.data.articulated.categories import CATEGORIES
from training.data.articulated.shapes import between
from training.data.articulated.source import build_object
from training.data.deformed.bodies import body_surface
from training.data.deformed.source import soft_sources
from training.pairs import Pair

WHOLE = ScanSettings(whole_share=1, most_holes=0, noise=0, rounding=0)


def _ball(count: int = 1000) -> np.ndarray:
    turns, heights = np.arange(count) * 2.399963, np.linspace(-1, 1, count + 2)[1:-1]
    flat = np.sqrt(1 - heights**2)
    return np.stack([flat * np.cos(turns), flat * np.sin(turns), heights], axis=1).astype(np.float32)


def test_half_of_a_ball_faces_a_camera() -> None:
    ball = _ball()
    seen = visible_from(ball, ball, np.array([0.0, 0.0, 1.0]))
    assert seen[ball[:, 2] > 0.4].mean() > 0.98
    assert not seen[ball[:, 2] < 0].any()


def test_what_is_inside_is_hidden() -> None:
    shell, core = _ball(2000), 0.4 * _ball(300)
    points, normals = np.vstack([shell, core]), np.vstack([shell, core / 0.4])
    views = [np.array(v, float) for v in ([0, 0, 1], [1, 0, 0], [0.5, -1, 0.3])]
    assert np.mean([visible_from(points, normals, v)[2000:].mean() for v in views]) < 0.02


def test_a_scan_from_a_few_sides_shows_less_of_the_inside_than_there_is() -> None:
    pair = build_object(CATEGORIES["drawers"], (7,), 0).pairs(np.random.default_rng(0), 2000, 1)[0]
    mesh_like = scan_like(pair.points0, pair.normals0, 400, np.random.default_rng(1), WHOLE)
    np.testing.assert_array_equal(mesh_like.points, pair.points0[:400])
    outside = ScanSettings(whole_share=0, outside_share=1, most_holes=0, noise=0, rounding=0)
    scan = scan_like(pair.points0, pair.normals0, 2000, np.random.default_rng(1), outside)
    assert len(np.unique(scan.points, axis=0)) < 0.8 * 2000


@pytest.mark.parametrize("seed", range(8))
def test_any_scan_has_the_wanted_number_of_finite_points_near_the_surface(seed: int) -> None:
    pair = build_object(CATEGORIES["faucet"], (7,), 1).pairs(np.random.default_rng(0), 1024, 1)[0]
    scan = scan_like(pair.points0, pair.normals0, 256, np.random.default_rng(seed))
    assert scan.points.shape == scan.normals.shape == (256, 3)
    np.testing.assert_allclose(np.linalg.norm(scan.normals, axis=1), 1, atol=1e-5)
    away = np.linalg.norm(scan.points[:, None] - pair.points0, axis=2).min(axis=1)
    assert away.max() < 0.1


def test_smoothing_rounds_the_edges_of_a_box_and_leaves_its_faces() -> None:
    drawn = body_surface(between((0, 0, 0), (1, 1, 1))).draw(np.random.default_rng(0), 1500)
    points, normals = drawn.points.astype(np.float32), drawn.normals.astype(np.float32)
    only_round = ScanSettings(whole_share=1, most_holes=0, noise=0, rounding=0.12)
    moved = []
    for seed in range(6):
        scan = scan_like(points, normals, 1500, np.random.default_rng(seed), only_round)
        moved.append(np.abs(np.einsum("nx,nx->n", scan.points - points, normals)))
    inward = np.max(moved, axis=0)
    edge = np.sort(np.abs(points), axis=1)[:, 1] > 0.47
    assert inward[edge].mean() > 5 * inward[~edge & (np.sort(np.abs(points), axis=1)[:, 1] < 0.35)].mean()


def test_a_stretched_turn_about_a_stretched_axis_stays_that_turn_and_frames_stay_framed() -> None:
    pairs = soft_sources(held_out_instances=True)[0].sample(np.random.default_rng(0), 300, 2)
    made = stretched(pairs, np.random.default_rng(2))
    assert made[0].points0 is made[1].points0
    assert np.abs(made[0].points0.mean(axis=0)).max() < 1e-6
    assert np.linalg.norm(made[0].points0, axis=1).max() == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(np.linalg.det(made[0].rotations.astype(float)), 1, atol=1e-5)
    # The same affine map takes the old points to the new ones in both frames.
    ones = np.ones((300, 1))
    fit, *_ = np.linalg.lstsq(np.hstack([pairs[0].points0, ones]), made[0].points0, rcond=None)
    np.testing.assert_allclose(np.hstack([pairs[0].points1, ones]) @ fit, made[0].points1, atol=1e-5)


def test_a_stretch_leaves_a_pure_shift_without_rotation() -> None:
    ball = _ball(100)
    turn = np.tile(np.eye(3, dtype=np.float32), (100, 1, 1))
    pair = Pair(ball, ball, ball + np.float32(0.2), turn, np.zeros(100, np.int64))
    np.testing.assert_allclose(stretched([pair], np.random.default_rng(0))[0].rotations, turn, atol=1e-6)
    about = Rotation.from_rotvec([0, 0, 0.5]).as_matrix()
    turned = Pair(ball, ball, (ball @ about.T).astype(np.float32), np.tile(about.astype(np.float32), (100, 1, 1)), pair.part)
    same = stretched([turned], np.random.default_rng(0), most=1.0)[0]
    np.testing.assert_allclose(same.rotations, turned.rotations, atol=1e-6)
