"""Rigid motions as unit dual quaternions: eight numbers, the real part x y z w, then the dual part x y z w.

The motion x -> R x + t is r + (t r / 2) epsilon, with r the unit quaternion of R and t the pure quaternion of the translation
(Kavan et al., Skinning with Dual Quaternions, 2007). A quaternion and its negative are the same motion.
"""

from __future__ import annotations

import torch
from torch import Tensor

from neurok_ros.geometry.rotations import quaternion_matrix, quaternion_multiply


def dual_quaternion(quaternion: Tensor, translation: Tensor) -> Tensor:
    """(..., 8) of the motion that turns by a unit quaternion (..., 4) x y z w and then moves by a translation (..., 3)."""
    pure = torch.cat([translation, torch.zeros_like(translation[..., :1])], dim=-1)
    return torch.cat([quaternion, 0.5 * quaternion_multiply(pure, quaternion)], dim=-1)


def dual_quaternion_normalize(raw: Tensor) -> Tensor:
    """The unit dual quaternion (..., 8) of eight numbers whose real part is not zero.

    Divides by the real part's length and takes away the dual part's share along the real part, so that what is left is a
    rigid motion.
    """
    real, dual = raw[..., :4], raw[..., 4:]
    length = torch.linalg.vector_norm(real, dim=-1, keepdim=True)
    real, dual = real / length, dual / length
    along: Tensor = (real * dual).sum(-1, keepdim=True)
    return torch.cat([real, dual - along * real], dim=-1)


def dual_quaternion_translation(motion: Tensor) -> Tensor:
    """(..., 3) the translation t of x -> R x + t, of unit dual quaternions (..., 8), in their unit of length."""
    return 2 * quaternion_multiply(motion[..., 4:], quaternion_conjugate(motion[..., :4]))[..., :3]


def dual_quaternion_map(motion: Tensor) -> Tensor:
    """(..., 3, 4) the affine map [R | t] of unit dual quaternions (..., 8)."""
    rotation = quaternion_matrix(motion[..., :4])
    return torch.cat([rotation, dual_quaternion_translation(motion).unsqueeze(-1)], dim=-1)


def dual_quaternion_multiply(left: Tensor, right: Tensor) -> Tensor:
    """(..., 8) the motion `right`, followed by `left`."""
    a, b = left[..., :4], left[..., 4:]
    c, d = right[..., :4], right[..., 4:]
    return torch.cat([quaternion_multiply(a, c), quaternion_multiply(a, d) + quaternion_multiply(b, c)], dim=-1)


def quaternion_conjugate(quaternion: Tensor) -> Tensor:
    """(..., 4) x y z w, the inverse rotation of a unit quaternion."""
    return torch.cat([-quaternion[..., :3], quaternion[..., 3:]], dim=-1)


def matrix_quaternion(matrix: Tensor) -> Tensor:
    """The unit quaternion (..., 4) x y z w, w not negative, of rotation matrices (..., 3, 3).

    Each row of q (outer) q is a multiple of q; the row with the largest diagonal entry is taken, which is never small
    (Shepperd 1978). Not differentiable where the choice changes.
    """
    m = matrix
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    xy, xz, yz = m[..., 1, 0] + m[..., 0, 1], m[..., 0, 2] + m[..., 2, 0], m[..., 2, 1] + m[..., 1, 2]
    xw, yw, zw = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    rows = [
        [1 + xx - yy - zz, xy, xz, xw],
        [xy, 1 - xx + yy - zz, yz, yw],
        [xz, yz, 1 - xx - yy + zz, zw],
        [xw, yw, zw, 1 + xx + yy + zz],
    ]
    outer = torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)
    largest = torch.diagonal(outer, dim1=-2, dim2=-1).argmax(-1)
    row = torch.take_along_dim(outer, largest[..., None, None], dim=-2).squeeze(-2)
    unit: Tensor = row / torch.linalg.vector_norm(row, dim=-1, keepdim=True)
    return torch.where(unit[..., 3:] < 0, -unit, unit)
