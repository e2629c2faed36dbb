"""The small motions of points that move as one."""

from __future__ import annotations

import torch
from torch import Tensor

from neurok_ros.geometry.rotations import skew


def rigid_motions(points: Tensor) -> Tensor:
    """(3 n, r) orthonormal displacements of points (n, 3) that move or turn as one; r = 6, less for points in a line."""
    moves = torch.eye(3).to(points).expand(len(points), 3, 3)
    motions = torch.cat([moves, -skew(points - points.mean(0))], dim=2).reshape(-1, 6)
    basis, size, _ = torch.linalg.svd(motions, full_matrices=False)
    independent: Tensor = basis[:, size > 1e-9 * size[0]]
    return independent
