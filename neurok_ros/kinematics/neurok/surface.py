"""What the network is shown of a shape: points with normals, and which connected part each belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

PART_NUMBERS = 6
"""A part is described to its points by where its middle is (3) and how far it spreads along each axis (3)."""


@dataclass(frozen=True)
class Surface:
    """n points of each of b shapes, in units of the object: mean of the points at the origin, largest radius one."""

    points: Tensor
    """(b, n, 3), evenly spread, in every first part too."""
    normals: Tensor
    """(b, n, 3) unit length, outward."""
    parts: Tensor
    """(b, n, 6) the middle of each point's connected part, then its standard deviation along each axis."""

    @staticmethod
    def of(points: Tensor, normals: Tensor, part: Tensor) -> Surface:
        """Describe to each point the part it belongs to.

        Args:
            points: (b, n, 3).
            normals: (b, n, 3).
            part: (b, n) int64, labels from 0 to n - 1. A scan, whose parts have grown together, has one part.
        """
        label = part.unsqueeze(-1).expand_as(points)
        zeros = torch.zeros_like(points)
        size = zeros.scatter_add(1, label, torch.ones_like(points)).clamp(min=1.0)
        middle = (zeros.scatter_add(1, label, points) / size).gather(1, label)
        variance = (zeros.scatter_add(1, label, (points - middle).square()) / size).gather(1, label)
        return Surface(points, normals, torch.cat([middle, variance.sqrt()], dim=-1))

    def first(self, count: int) -> Surface:
        """The first `count` points."""
        return Surface(self.points[:, :count], self.normals[:, :count], self.parts[:, :count])

    def after(self, count: int) -> Surface:
        """All but the first `count` points."""
        return Surface(self.points[:, count:], self.normals[:, count:], self.parts[:, count:])

    def joined(self, other: Surface) -> Surface:
        """These points, then the other's."""
        pairs = ((self.points, other.points), (self.normals, other.normals), (self.parts, other.parts))
        return Surface(*(torch.cat(pair, dim=1) for pair in pairs))
