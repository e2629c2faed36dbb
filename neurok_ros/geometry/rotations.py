"""Rotations as unit quaternions x y z w (the order of geometry_msgs), differentiable everywhere, zero rotation included."""

from __future__ import annotations

import torch
from torch import Tensor

_SERIES_BELOW = 1e-2
"""Squared half angle under which the power series is used; its first left-out term is then below 1e-19."""


def _cosine_and_sine_quotient(squared: Tensor) -> tuple[Tensor, Tensor]:
    """cos(a) and sin(a) / a as smooth functions of a^2: no root is taken where its derivative is infinite."""
    small = squared < _SERIES_BELOW
    angle = torch.where(small, torch.ones_like(squared), squared).sqrt()
    cosine_series = 1 - squared / 2 * (1 - squared / 12 * (1 - squared / 30 * (1 - squared / 56 * (1 - squared / 90))))
    sine_series = 1 - squared / 6 * (1 - squared / 20 * (1 - squared / 42 * (1 - squared / 72 * (1 - squared / 110))))
    return (
        torch.where(small, cosine_series, torch.cos(angle)),
        torch.where(small, sine_series, torch.sin(angle) / angle),
    )


def quaternion_exp(rotation: Tensor) -> Tensor:
    """The unit quaternion (..., 4) x y z w of a rotation vector (..., 3) in radians (axis times angle)."""
    cosine, quotient = _cosine_and_sine_quotient((rotation * rotation).sum(-1, keepdim=True) / 4)
    return torch.cat([rotation / 2 * quotient, cosine], dim=-1)


def quaternion_multiply(left: Tensor, right: Tensor) -> Tensor:
    """The Hamilton product (..., 4) x y z w: the rotation `right`, followed by `left`."""
    a, b = left[..., :3], right[..., :3]
    a_w, b_w = left[..., 3:], right[..., 3:]
    vector = a_w * b + b_w * a + torch.linalg.cross(a, b)
    return torch.cat([vector, a_w * b_w - (a * b).sum(-1, keepdim=True)], dim=-1)


def quaternion_normalize(quaternion: Tensor) -> Tensor:
    """The unit quaternion (..., 4) in the direction of a non-zero one."""
    length: Tensor = torch.linalg.vector_norm(quaternion, dim=-1, keepdim=True)
    return quaternion / length


def quaternion_matrix(quaternion: Tensor) -> Tensor:
    """The rotation matrix (..., 3, 3) of a unit quaternion (..., 4) x y z w."""
    x, y, z, w = quaternion.unbind(-1)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)


def skew(vector: Tensor) -> Tensor:
    """The matrix (..., 3, 3) that takes the cross product from the left: skew(a) b = a x b."""
    x, y, z = vector.unbind(-1)
    zero = torch.zeros_like(x)
    rows = [[zero, -z, y], [z, zero, -x], [-y, x, zero]]
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)


def nearest_rotation(matrices: Tensor) -> Tensor:
    """(..., 3, 3) the orthogonal factor of the polar decomposition of matrices (..., 3, 3) of positive determinant."""
    left, _, right = torch.linalg.svd(matrices)
    rotation: Tensor = left @ right
    return rotation
