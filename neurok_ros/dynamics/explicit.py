"""The equation of motion written out (NeuROK, Eq. 3): the reference that the implicit steps are compared with.

    G(q) q'' + C(q, q') + dV/dq = 0,   G = J^T M J,   C = J^T M d2x(q)[q', q']

For states in a vector space (`retract` is a sum) whose `positions` torch.func can differentiate twice. Smooth forces only:
no contact, no friction, and steps short against the fastest oscillation.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import jvp

from neurok_ros.parameterization import KinematicParameterization


def acceleration(
    kinematics: KinematicParameterization, masses: Tensor, force: Callable[[Tensor], Tensor], q: Tensor, velocity: Tensor
) -> Tensor:
    """Generalized acceleration (dim,) at a state and generalized velocity (dim,).

    Args:
        kinematics: followed at n particles.
        masses: (n,) kg.
        force: from particle positions (n, 3) in metres to forces (n, 3) in newtons, minus the gradient of V.
        q: (dim,) state.
        velocity: (dim,) 1/s.
    """

    def particle_velocity(at: Tensor) -> Tensor:
        tangent: Tensor = jvp(kinematics.positions, (at,), (velocity,))[1]
        return tangent

    curvature: Tensor = jvp(particle_velocity, (q,), (velocity,))[1]
    jacobian = kinematics.jacobian(q).reshape(-1, kinematics.dim)
    weighted = jacobian * masses.repeat_interleave(3).unsqueeze(1)
    rest = force(kinematics.positions(q)).reshape(-1) @ jacobian - curvature.reshape(-1) @ weighted
    solved: Tensor = torch.linalg.solve(weighted.T @ jacobian, rest)
    return solved


def rk4(
    kinematics: KinematicParameterization,
    masses: Tensor,
    force: Callable[[Tensor], Tensor],
    q: Tensor,
    velocity: Tensor,
    step: float,
    count: int,
) -> tuple[Tensor, Tensor]:
    """States and generalized velocities (count + 1, dim) by the classical fourth-order Runge-Kutta method.

    Args:
        kinematics: see `acceleration`.
        masses: see `acceleration`.
        force: see `acceleration`.
        q: (dim,) state at the start.
        velocity: (dim,) 1/s at the start.
        step: seconds.
        count: how many steps.
    """

    def rate(state: Tensor) -> Tensor:
        return torch.stack([state[1], acceleration(kinematics, masses, force, state[0], state[1])])

    states = [torch.stack([q, velocity])]
    for _ in range(count):
        y = states[-1]
        k1 = rate(y)
        k2 = rate(y + 0.5 * step * k1)
        k3 = rate(y + 0.5 * step * k2)
        k4 = rate(y + step * k3)
        states.append(y + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
    path = torch.stack(states)
    return path[:, 0], path[:, 1]
