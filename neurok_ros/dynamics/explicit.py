"""The equation of motion written out (NeuROK, Eq. 3): the reference that the implicit steps are compared with.

    G(q) q'' + C(q, q') + dV/dq = 0,   G = J^T M J,   C = J^T M d2x(q)[q', q']

For any parameterization whose `positions` and `retract` torch.func can differentiate twice; on a group q' is the twist of
`retract`. Smooth forces only: no contact, no friction, and steps short against the fastest oscillation.
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
        q: (s,) state.
        velocity: (dim,) 1/s.
    """
    here, now = torch.zeros_like(velocity), q.new_tensor(0.0)

    def particle_velocity(time: Tensor) -> Tensor:
        ahead = kinematics.retract(q, time * velocity)
        tangent: Tensor = jvp(lambda step: kinematics.positions(kinematics.retract(ahead, step)), (here,), (velocity,))[1]
        return tangent

    curvature: Tensor = jvp(particle_velocity, (now,), (torch.ones_like(now),))[1]
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
    """States (count + 1, s) and generalized velocities (count + 1, dim) by the classical fourth-order Runge-Kutta method.

    On a group the stages are taken in the numbers of the state, and `retract` brings each step's end back onto it.

    Args:
        kinematics: see `acceleration`.
        masses: see `acceleration`.
        force: see `acceleration`.
        q: (s,) state at the start.
        velocity: (dim,) 1/s at the start.
        step: seconds.
        count: how many steps.
    """
    size, nowhere = len(q), torch.zeros_like(velocity)

    def rate(y: Tensor) -> Tensor:
        state, speed = y[:size], y[size:]
        moving: Tensor = jvp(lambda tangent: kinematics.retract(state, tangent), (nowhere,), (speed,))[1]
        return torch.cat([moving, acceleration(kinematics, masses, force, state, speed)])

    path = [torch.cat([q, velocity])]
    for _ in range(count):
        y = path[-1]
        k1 = rate(y)
        k2 = rate(y + 0.5 * step * k1)
        k3 = rate(y + 0.5 * step * k2)
        k4 = rate(y + step * k3)
        end = y + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        path.append(torch.cat([kinematics.retract(end[:size], nowhere), end[size:]]))
    states = torch.stack(path)
    return states[:, :size], states[:, size:]
