"""Points follow the nearest samples of their own part."""

from __future__ import annotations

import numpy as np

from neurok_ros.geometry.driving import connected_parts, drive, nearest_part

RNG = np.random.default_rng(0)


def test_a_sample_follows_itself_and_weights_sum_to_one() -> None:
    samples = RNG.uniform(-1, 1, (50, 3))
    part = np.zeros(50, np.int64)
    driving = drive(samples, part, samples, part, 4)
    np.testing.assert_array_equal(driving.index[:, 0], np.arange(50))
    np.testing.assert_allclose(driving.weight[:, 0], 1.0, atol=1e-8)
    np.testing.assert_allclose(driving.weight.sum(axis=1), 1.0, atol=1e-14)


def test_legs_that_nearly_touch_do_not_drive_each_other() -> None:
    height = np.linspace(0, 1, 30)
    left = np.column_stack([np.full(30, -1e-3), np.zeros(30), height])
    samples = np.vstack([left, left + np.array([2e-3, 0, 0])])
    sample_part = np.repeat([0, 1], 30)
    points = samples + np.array([0, 0, 0.01])
    driving = drive(points, sample_part, samples, sample_part, 5)
    assert (sample_part[driving.index] == sample_part[:, None]).all()


def test_a_part_of_fewer_samples_than_asked_for_follows_those_it_has() -> None:
    samples = RNG.uniform(-1, 1, (6, 3))
    sample_part = np.array([0, 0, 0, 0, 1, 1])
    driving = drive(RNG.uniform(-1, 1, (8, 3)), np.ones(8, np.int64), samples, sample_part, 4)
    followed = driving.weight > 0
    assert (followed.sum(axis=1) == 2).all()
    assert (sample_part[driving.index[followed]] == 1).all()


def test_a_part_without_samples_follows_all() -> None:
    driving = drive(np.zeros((1, 3)), np.array([7]), RNG.uniform(-1, 1, (6, 3)), np.zeros(6, np.int64), 3)
    np.testing.assert_allclose(driving.weight.sum(), 1.0)


def test_parts_of_a_mesh_and_of_points_inside() -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 0, 0], [6, 0, 0], [5, 1, 0]], float)
    part = connected_parts(np.array([[0, 1, 2], [3, 4, 5]]), 6)
    np.testing.assert_array_equal(part, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(nearest_part(np.array([[0.3, 0.3, 0.1], [5.2, 0.2, 0.0]]), vertices, part), [0, 1])
