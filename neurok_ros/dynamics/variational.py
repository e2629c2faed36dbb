"""A conservative integrator of Eq. 3 (NeuROK): it keeps momenta exactly and energy without drift, over any number of steps.

The action of a step from q0 to q1 is taken along the chord of the particles' motion, with the trapezoidal mean of the potential,

    L_d(q0, q1) = h/2 |(x(q1) - x(q0)) / h|^2_M - h/2 (V(x(q0)) + V(x(q1)))

and the discrete Euler-Lagrange equations (Marsden and West 2001) of it, written with the momentum p = J^T M x', are

    J0^T (M (x(q1) - x(q0)) / h - h/2 f(x(q0))) = p0        solved for q1
    J1^T (M (x(q1) - x(q0)) / h + h/2 f(x(q1))) = p1

For particles held to the states of a parameterization this is RATTLE (Andersen 1983) without multipliers. It is symplectic
and of second order whatever the coordinates, as L_d knows particles only; moving or turning all of them changes neither
term of a free body's L_d, so that linear and angular momentum are kept to rounding. First derivatives of x(q) only.

Smooth forces only, no contact, no friction; and as forces are taken at the ends of a step, it must be shorter than 2 / w for
the highest angular frequency w. For all else there are the implicit steps of `simulate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from neurok_ros.dynamics.body import Body
from neurok_ros.dynamics.energies import NeoHookean, PairForces
from neurok_ros.dynamics.loads import PointSprings, Springs
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.parameterization import KinematicParameterization

TOLERANCE = 1e-13
"""Part of the body's size: a step is solved when another iteration would move the mass-weighted mean particle by less, ..."""
ROUNDING = 1e-9
"""... or by less than this and no less than half of the iteration before: rounding."""
MAX_ITERATIONS = 60
NULL_INERTIA = 1e-12
"""Of the mean inertia, added to each: directions of redundant coordinates, which move nothing, stay where they are."""


class Potential(Protocol):
    """A potential energy of a state and its particles."""

    def at(self, q: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Energy () in J, forces (n, 3) in N on the particles and generalized forces (dim,): together minus its gradient.

        Args:
            q: (s,) state.
            x: (n, 3) metres, its particles.
        """


class BodyPotential:
    """Gravity, elastic strain, springs and the potentials of the state: all that a body and its loads store, undamped.

    Args:
        body: with masses, and where it has them strain sites and potentials of the state.
        gravity: (3,) m/s^2.
        springs: between particles and to points.
    """

    def __init__(
        self,
        body: Body,
        gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
        springs: tuple[Springs | PointSprings, ...] = (),
    ) -> None:
        self._weight = body.masses.unsqueeze(1) * body.masses.new_tensor(gravity)
        self._elastic = NeoHookean(body.material.shear_modulus, body.material.lame_lambda)
        self._sites, self._springs, self._state_energies = body.strain, springs, body.state_energies
        self._no_force = body.masses.new_zeros(body.kinematics.dim)

    def at(self, q: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """See `Potential`; gravity's energy is zero at the frame's origin."""
        value, force, generalized = -(self._weight * x).sum(), self._weight, self._no_force
        if self._sites is not None:
            density, stress = self._elastic.value_and_stress(self._sites.deformation_gradients(x).view(-1, 9))
            weighted = (stress * self._sites.volume.unsqueeze(1)).view(-1, 3, 3)
            pulls = (self._sites.gradient @ weighted.transpose(1, 2)).view(-1, 3)
            value = value + density @ self._sites.volume
            force = force.index_add(0, self._sites.index.view(-1), pulls, alpha=-1.0)
        for spring in self._springs:
            stored, pull = spring.forces(x)
            gradient = torch.zeros_like(x)
            if isinstance(pull, PairForces):
                pull.add_to(gradient)
            else:
                gradient.index_add_(0, pull.particle, pull.gradient)
            value, force = value + stored, force - gradient
        for energy in self._state_energies:
            part = energy.at(q[len(q) - energy.size :])
            value = value + part.value
            generalized = generalized.clone()
            generalized[len(generalized) - energy.size :] -= part.gradient
        return value, force, generalized


@dataclass(frozen=True)
class PhasePoint:
    """A state and its momentum at one time."""

    time: float
    """Seconds from the start."""
    q: Tensor
    """(s,) state."""
    momentum: Tensor
    """(dim,) J^T M x'."""
    rate: Tensor
    """(dim,) 1/s, generalized velocity."""
    positions: Tensor
    """(n, 3) metres."""
    velocities: Tensor
    """(n, 3) m/s."""
    kinetic_energy: float
    """J."""
    potential_energy: float
    """J."""

    @property
    def energy(self) -> float:
        """J."""
        return self.kinetic_energy + self.potential_energy


@torch.no_grad()
def variational(
    kinematics: KinematicParameterization,
    masses: Tensor,
    potential: Potential,
    q: Tensor,
    velocity: Tensor,
    step: float,
    count: int,
    external: Callable[[float], Tensor] | None = None,
) -> Iterator[PhasePoint]:
    """The motion from a state, one phase point a step, the start first (count + 1 in all).

    Args:
        kinematics: followed at n particles; any, redundant coordinates and states on a group too.
        masses: (n,) kg.
        potential: of the particles.
        q: (s,) state at the start.
        velocity: (dim,) 1/s, generalized velocity at the start.
        step: seconds.
        count: how many steps.
        external: further forces (n, 3) in N at a time in seconds (discrete Lagrange-d'Alembert principle).

    Raises:
        NeurokError: DIVERGED where a step has no solution nearby: it is too long.
    """
    stepper = _Stepper(kinematics, masses, step)
    before = now = stepper.linearised(q)
    momentum = now.weighted.T @ (now.jacobian @ velocity)
    size = float((now.x.amax(0) - now.x.amin(0)).max()) or float(now.x.abs().max()) or 1.0
    for index in range(count + 1):
        value, force, generalized = potential.at(now.q, now.x)
        if external is not None:
            force = force + external(index * step)
        impulse = 0.5 * step * (force.reshape(-1) @ now.jacobian + generalized)
        if index > 0:
            momentum = ((now.x - before.x).view(-1) / step) @ now.weighted + impulse
        rate = now.rate(momentum)
        velocities = (now.jacobian @ rate).view(-1, 3)
        yield PhasePoint(index * step, now.q, momentum, rate, now.x, velocities, 0.5 * float(momentum @ rate), float(value))
        if index < count:
            before, now = now, stepper.linearised(stepper.solved(now, momentum + impulse, size, index))


@dataclass(frozen=True)
class _Linearised:
    q: Tensor
    x: Tensor
    jacobian: Tensor
    """(3 n, dim)."""
    weighted: Tensor
    """(3 n, dim) kg, M J."""
    factor: Tensor
    """(dim, dim), lower Cholesky factor of J^T M J."""

    def rate(self, momentum: Tensor) -> Tensor:
        solved: Tensor = torch.cholesky_solve(momentum.unsqueeze(1), self.factor).squeeze(1)
        return solved


class _Stepper:
    def __init__(self, kinematics: KinematicParameterization, masses: Tensor, step: float) -> None:
        self._kinematics, self._step = kinematics, step
        self._weights = masses.repeat_interleave(3).unsqueeze(1)
        self._per_kilogram = 1.0 / float(masses.sum())
        self._seen: Tensor | None = None
        self._kept: tuple[Tensor, Tensor, Tensor] | None = None

    def linearised(self, q: Tensor) -> _Linearised:
        jacobian = self._kinematics.jacobian(q)
        if self._kept is None or jacobian is not self._seen:
            flat = jacobian.reshape(-1, self._kinematics.dim)
            weighted = self._weights * flat
            inertia = flat.T @ weighted
            inertia.diagonal().add_(NULL_INERTIA * inertia.diagonal().mean())
            self._seen, self._kept = jacobian, (flat, weighted, torch.linalg.cholesky(inertia))
        return _Linearised(q, self._kinematics.positions(q), *self._kept)

    def solved(self, now: _Linearised, momentum: Tensor, size: float, index: int) -> Tensor:
        """The state whose chord has this momentum, by simplified Newton iterations with the inertia at the step's start."""
        tangent = self._step * now.rate(momentum)
        last = float("inf")
        for _ in range(MAX_ITERATIONS):
            q = self._kinematics.retract(now.q, tangent)
            chord = (self._kinematics.positions(q) - now.x).view(-1)
            missing = self._step * momentum - chord @ now.weighted
            correction = now.rate(missing)
            left = abs(float(missing @ correction) * self._per_kilogram) ** 0.5 / size
            if left < TOLERANCE or (left < ROUNDING and left > 0.5 * last):
                return q
            tangent, last = tangent + correction, left
        raise NeurokError(
            ErrorCode.DIVERGED,
            "step",
            f"step {index + 1} of {self._step:g} s has no solution ({left:.1e} of the body's size is left)",
            "Take shorter steps",
        )
