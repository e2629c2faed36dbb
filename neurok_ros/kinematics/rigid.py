"""A rigid body: the pose of a frame at its centre, and a twist as the step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neurok_ros.geometry.rotations import quaternion_exp, quaternion_matrix, quaternion_multiply, quaternion_normalize, skew


class RigidBody:
    """Material points that keep their distances.

    State (7,): translation of the centre from its scanned place (metres), then the quaternion x y z w that turns the
    scanned body into this one. Step (6,): translation (metres), then rotation vector (radians), both in the world's axes;
    the rotation is about the moving centre.

    Args:
        points: (n, 3) metres, the material points at rest.
        center: (3,) metres, the body's centre at rest.
    """

    dim = 6

    def __init__(self, points: Tensor, center: Tensor) -> None:
        self.center = center.to(points)
        self.arms = points - self.center
        self.rest = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]).to(points)

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        return self.arms @ quaternion_matrix(q[3:]).T + (self.center + q[:3])

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, 6): a point moves by translation + rotation x arm."""
        turned = self.arms @ quaternion_matrix(q[3:]).T
        translation = torch.eye(3).to(turned).expand(len(turned), 3, 3)
        return torch.cat([translation, -skew(turned)], dim=-1)

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """(7,) the pose after the step; its quaternion has unit length."""
        turned = quaternion_multiply(quaternion_exp(step[3:]), q[3:])
        return torch.cat([q[:3] + step[:3], quaternion_normalize(turned)])


@dataclass(frozen=True)
class RigidBodyKinematics:
    """The poses of a rigid object about a centre, best its centre of mass."""

    center: Tensor
    """(3,) metres."""
    name: str = "rigid"
    limit: None = None

    def at(self, points: Tensor, part: NDArray[np.int64] | None = None) -> RigidBody:
        """The rigid body followed at these points (n, 3), metres, of whatever part."""
        return RigidBody(points, self.center)
