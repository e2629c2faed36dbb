"""Quaternion helpers against scipy's rotations and their exact derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from neurok_ros.geometry.rotations import nearest_rotation, quaternion_exp, quaternion_matrix, quaternion_multiply, skew


def vectors(count: int = 20, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).uniform(-3, 3, (count, 3)))


def test_exponential_is_scipys_rotation() -> None:
    for scale in (1.0, 0.2, 0.05, 1e-4, 1e-9):
        found = quaternion_exp(scale * vectors()).numpy()
        np.testing.assert_allclose(found, Rotation.from_rotvec(scale * vectors().numpy()).as_quat(), atol=1e-15)


def test_product_and_matrix_are_scipys() -> None:
    a, b = quaternion_exp(vectors(seed=1)), quaternion_exp(vectors(seed=2))
    both = Rotation.from_quat(a.numpy()) * Rotation.from_quat(b.numpy())
    np.testing.assert_allclose(quaternion_matrix(quaternion_multiply(a, b)).numpy(), both.as_matrix(), atol=1e-14)


def test_cross_product_matrix() -> None:
    a, b = vectors(seed=1), vectors(seed=2)
    torch.testing.assert_close(torch.einsum("nij,nj->ni", skew(a), b), torch.linalg.cross(a, b))


def test_first_and_second_derivative_at_zero() -> None:
    """exp(v) = (v / 2, 1 - |v|^2 / 8) up to third order."""
    zero = torch.zeros(3, dtype=torch.float64)
    first = torch.func.jacfwd(quaternion_exp)(zero)
    torch.testing.assert_close(first, torch.eye(4, 3, dtype=torch.float64) / 2)
    second = torch.func.jacrev(torch.func.jacfwd(quaternion_exp))(zero)
    expected = torch.zeros(4, 3, 3, dtype=torch.float64)
    expected[3] = -torch.eye(3, dtype=torch.float64) / 4
    torch.testing.assert_close(second, expected)


@pytest.mark.parametrize("angle", [0.1999, 0.2, 0.2001, 2.0])
def test_derivatives_on_both_sides_of_the_series(angle: float) -> None:
    """Finite differences; the series takes over at an angle of 0.2."""
    v = (torch.tensor([0.6, 0.0, -0.8], dtype=torch.float64) * angle).requires_grad_()
    assert torch.autograd.gradcheck(quaternion_exp, v)
    assert torch.autograd.gradgradcheck(quaternion_exp, v)


def test_nearest_rotation_undoes_a_stretch() -> None:
    """R S with S symmetric and positive has the rotation R."""
    rotation = quaternion_matrix(quaternion_exp(vectors(seed=3)))
    half = torch.eye(3).double() + 0.2 * torch.from_numpy(np.random.default_rng(4).uniform(-1, 1, (20, 3, 3)))
    stretch = half @ half.transpose(-1, -2)
    torch.testing.assert_close(nearest_rotation(rotation @ stretch), rotation, rtol=0, atol=1e-12)
