"""Dual quaternions move points as SciPy's rotations do."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from neurok_ros.geometry.dual_quaternions import (
    dual_quaternion,
    dual_quaternion_map,
    dual_quaternion_multiply,
    dual_quaternion_normalize,
    dual_quaternion_translation,
    matrix_quaternion,
)

TURNS = Rotation.random(20, random_state=0)
SHIFTS = np.random.default_rng(1).uniform(-1, 1, (20, 3))
MOTIONS = dual_quaternion(torch.from_numpy(TURNS.as_quat()), torch.from_numpy(SHIFTS))
POINTS = np.random.default_rng(2).uniform(-1, 1, (20, 3))


def moved(motions: torch.Tensor, points: np.ndarray) -> np.ndarray:
    maps = dual_quaternion_map(motions).numpy()
    return np.asarray(np.einsum("nij,nj->ni", maps[:, :, :3], points) + maps[:, :, 3])


def test_a_point_is_turned_then_shifted() -> None:
    np.testing.assert_allclose(moved(MOTIONS, POINTS), TURNS.apply(POINTS) + SHIFTS, atol=1e-14)
    np.testing.assert_allclose(dual_quaternion_translation(MOTIONS).numpy(), SHIFTS, atol=1e-14)


def test_the_product_is_one_motion_after_the_other() -> None:
    both = dual_quaternion_multiply(MOTIONS, MOTIONS.roll(1, 0))
    first = moved(MOTIONS.roll(1, 0), POINTS)
    np.testing.assert_allclose(moved(both, POINTS), TURNS.apply(first) + SHIFTS, atol=1e-14)


def test_eight_numbers_become_a_rigid_motion_and_a_rigid_motion_stays() -> None:
    raw = torch.from_numpy(np.random.default_rng(3).normal(size=(50, 8)))
    unit = dual_quaternion_normalize(raw)
    torch.testing.assert_close((unit[:, :4] * unit[:, :4]).sum(1), torch.ones(50).double(), rtol=0, atol=1e-14)
    torch.testing.assert_close((unit[:, :4] * unit[:, 4:]).sum(1), torch.zeros(50).double(), rtol=0, atol=1e-14)
    torch.testing.assert_close(dual_quaternion_normalize(3.0 * MOTIONS), MOTIONS, rtol=0, atol=1e-14)


def test_both_signs_are_the_same_motion() -> None:
    torch.testing.assert_close(dual_quaternion_map(-MOTIONS), dual_quaternion_map(MOTIONS), rtol=0, atol=1e-15)


@pytest.mark.parametrize("axis", [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, -1, 1]])
@pytest.mark.parametrize("angle", [0.0, 1e-6, 1.0, np.pi - 1e-6, np.pi, 4.0])
def test_the_quaternion_of_a_matrix_turns_as_the_matrix(axis: list[int], angle: float) -> None:
    turn = Rotation.from_rotvec(angle * np.array(axis) / np.linalg.norm(axis))
    quaternion = matrix_quaternion(torch.from_numpy(turn.as_matrix()))
    assert quaternion[3] >= 0
    np.testing.assert_allclose(Rotation.from_quat(quaternion.numpy()).as_matrix(), turn.as_matrix(), atol=1e-14)


def test_second_derivatives_of_the_map_are_those_of_differences() -> None:
    raw, way = torch.from_numpy(np.random.default_rng(4).normal(size=(2, 8)))

    def along(t: torch.Tensor) -> torch.Tensor:
        return dual_quaternion_map(dual_quaternion_normalize(raw + t * way))

    zero, one, h = torch.zeros(()).double(), torch.ones(()).double(), 1e-4
    second = torch.func.jvp(lambda t: torch.func.jvp(along, (t,), (one,))[1], (zero,), (one,))[1]
    differences = (along(zero + h) - 2 * along(zero) + along(zero - h)) / h**2
    torch.testing.assert_close(
        second, differences, rtol=1e-5, atol=1e-6, msg="rounding of 1e-16 / h^2, fourth derivative times h^2"
    )
