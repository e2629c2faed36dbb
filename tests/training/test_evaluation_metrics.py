"""Errors of shapes whose distance is known in closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import trimesh
from torch import Tensor

from training.evaluation.inverse_kinematics import Pull, known, unknown
from training.evaluation.metrics import chamfer_l1, chamfer_l2, split_closed, vertex_rmse, voxel_iou
from training.evaluation.signals import area_under_curve, verdict


def box(low: tuple[float, float, float], high: tuple[float, float, float]) -> trimesh.Trimesh:
    return trimesh.creation.box(bounds=[low, high])


def grid(shift: float, height: float = 0.0) -> np.ndarray:
    """Points of the integer plane."""
    x, y = np.meshgrid(np.arange(20.0), np.arange(20.0))
    return np.stack([x.ravel() + shift, y.ravel(), np.full(400, height)], axis=1)


def test_two_parallel_planes_are_as_far_apart_as_their_distance() -> None:
    assert chamfer_l1(grid(0), grid(0, 0.3)) == pytest.approx(0.3, abs=1e-12)
    assert chamfer_l2(grid(0), grid(0, 0.3)) == pytest.approx(0.09, abs=1e-12)
    assert vertex_rmse(grid(0), grid(0, 0.3)) == pytest.approx(0.3, abs=1e-12)


def test_concentric_spheres_are_as_far_apart_as_their_radii() -> None:
    ball = trimesh.creation.icosphere(subdivisions=4).vertices
    assert chamfer_l1(ball, 1.25 * ball) == pytest.approx(0.25, abs=1e-12)


def test_a_shape_that_slides_along_itself_is_near_by_chamfer_and_far_by_vertices() -> None:
    slid = grid(1.0)
    assert vertex_rmse(grid(0), slid) == pytest.approx(1.0)
    assert chamfer_l1(grid(0), slid) == pytest.approx(1 / 20)


def test_chamfer_counts_both_ways_and_not_the_order() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(200, 3)), rng.normal(size=(300, 3)) + 0.2
    near, far = np.zeros((1, 3)), np.array([[0.0, 0, 0], [0, 0, 4]])
    assert chamfer_l1(near, far) == pytest.approx(1.0)
    assert chamfer_l2(near, far) == pytest.approx(4.0)
    for distance in (chamfer_l1, chamfer_l2):
        assert distance(a, b) == pytest.approx(distance(b, a))
        assert distance(a, b) == pytest.approx(distance(a[rng.permutation(200)], b[rng.permutation(300)]))
        assert distance(a, a) == 0


def test_what_is_minimized_is_what_is_reported() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(80, 3)), rng.normal(size=(90, 3))
    assert unknown(torch.from_numpy(b))(torch.from_numpy(a))[0] == pytest.approx(chamfer_l2(a, b))
    assert known(torch.from_numpy(b[:80]))(torch.from_numpy(a))[0] == pytest.approx(vertex_rmse(a, b[:80]) ** 2)


@pytest.mark.parametrize("kind", [known, unknown])
def test_slopes_are_those_of_what_is_minimized(kind: Callable[[Tensor], Callable[[Tensor], Pull]]) -> None:
    """Half of each, by central differences; the nearest points do not change over so small a step."""
    rng = np.random.default_rng(2)
    a, pull = torch.from_numpy(rng.normal(size=(40, 3))), kind(torch.from_numpy(rng.normal(size=(40, 3))))
    _, weights, slope = pull(a)
    step, shift = 1e-5, torch.from_numpy(rng.normal(size=(40, 3)))
    ahead, here, behind = (pull(a + t * shift)[0] for t in (step, 0.0, -step))
    assert (ahead - behind) / (2 * step) == pytest.approx(2 * float((slope * shift).sum()), rel=1e-6)
    curvature = 2 * float((weights.unsqueeze(1) * shift**2).sum())
    assert (ahead - 2 * here + behind) / step**2 == pytest.approx(curvature, rel=1e-3)


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5, 2.0])
def test_the_overlap_of_shifted_boxes(shift: float) -> None:
    """1 - s over 1 + s, to a layer of cells on each of the two faces."""
    mesh = box((-0.5, -0.4, -0.3), (0.5, 0.4, 0.3))
    exact = max(0.0, 1 - shift) / (1 + min(shift, 1.0))
    assert voxel_iou(mesh.vertices, mesh.vertices + np.array([shift, 0, 0]), mesh.faces) == pytest.approx(exact, abs=0.02)


def test_the_overlap_of_shifted_balls() -> None:
    """Two unit balls at distance d share a lens of pi (4 + d) (2 - d)^2 / 12."""
    ball = trimesh.creation.icosphere(subdivisions=4)
    distance = 0.5
    lens = np.pi * (4 + distance) * (2 - distance) ** 2 / 12
    exact = lens / (2 * 4 * np.pi / 3 - lens)
    assert voxel_iou(ball.vertices, ball.vertices + np.array([0, 0, distance]), ball.faces) == pytest.approx(exact, abs=0.01)


def test_the_overlap_does_not_depend_on_who_comes_first_or_on_the_pose() -> None:
    mesh = box((-0.5, -0.4, -0.3), (0.5, 0.4, 0.3))
    turn = trimesh.transformations.random_rotation_matrix(np.array([0.2, 0.5, 0.7]))[:3, :3]
    a, b = mesh.vertices, mesh.vertices * 1.2
    there, back = voxel_iou(a, b, mesh.faces), voxel_iou(b, a, mesh.faces)
    assert there == back == pytest.approx(1.2**-3, abs=0.02)
    assert voxel_iou(a @ turn.T, b @ turn.T, mesh.faces) == pytest.approx(there, abs=0.02)


def test_overlapping_closed_parts_are_united() -> None:
    """Half of one box lies in another: three half boxes, not two halves with a hole between; its shape is a box of 1.5."""
    left, right = box((0, 0, 0), (1, 1, 1)), box((0.5, 0, 0), (1.5, 1, 1))
    both = trimesh.util.concatenate([left, right])
    apart = both.vertices.copy()
    apart[8:] += [0.5, 0, 0]
    assert voxel_iou(both.vertices, apart, both.faces) == pytest.approx(1.5 / 2, abs=0.02)


def test_a_hollow_body_is_full_only_in_its_wall() -> None:
    outer, inner = box((-1, -1, -1), (1, 1, 1)), box((-0.5, -0.5, -0.5), (0.5, 0.5, 0.5))
    vertices = np.vstack([outer.vertices, inner.vertices])
    faces = np.vstack([outer.faces, inner.faces[:, ::-1] + 8])
    shut = vertices.copy()
    shut[8:] *= 1e-3
    assert voxel_iou(vertices, shut, faces) == pytest.approx(7 / 8, abs=0.02)


def test_open_parts_count_as_the_cells_that_they_pass_through() -> None:
    sheet = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    closed, opened = split_closed(np.asarray(sheet.faces), 4)
    assert len(closed) == 0
    assert len(opened) == 2
    assert voxel_iou(sheet.vertices, sheet.vertices, sheet.faces) == 1
    assert voxel_iou(sheet.vertices, sheet.vertices + np.array([0, 0, 0.5]), sheet.faces) == 0
    assert voxel_iou(sheet.vertices, sheet.vertices + np.array([0.5, 0, 0]), sheet.faces) == pytest.approx(1 / 3, abs=0.02)


def test_one_open_part_does_not_open_the_others() -> None:
    cube = box((0, 0, 0), (1, 1, 1))
    lid = trimesh.Trimesh([[0, 0, 2], [1, 0, 2], [1, 1, 2]], [[0, 1, 2]])
    both = trimesh.util.concatenate([cube, lid])
    closed, opened = split_closed(np.asarray(both.faces), len(both.vertices))
    assert (len(closed), len(opened)) == (12, 1)


def test_how_well_a_signal_tells_bad_from_good() -> None:
    assert area_under_curve([1, 2, 3, 4], [False, False, True, True]) == 1
    assert area_under_curve([4, 3, 2, 1], [False, False, True, True]) == 0
    assert area_under_curve([1, 1, 1, 1], [False, True, False, True]) == 0.5
    assert area_under_curve([1, 3, 2, float("inf")], [False, False, True, True]) == 0.75
    assert area_under_curve([1, 2], [True, True]) is None


def test_a_threshold_that_parts_bad_from_good() -> None:
    bad = [False, False, False, True, True]
    large, small = verdict("still", [1, 2, 3, 4, 5], bad), verdict("reach", [5, 4, 3, 2, 1], bad)
    assert (large.auroc, large.threshold, large.found, large.flagged) == (1, 4, 1, 0)
    assert (small.auroc, small.threshold, small.found, small.flagged) == (1, 2, 1, 0)
    assert verdict("still", [1, 2], [True, True]).auroc is None
    assert verdict("reach", [float("nan"), 2], [True, False]).auroc == 1
