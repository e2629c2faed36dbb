"""Potentials and damping of the state itself, for what the decoded shape cannot tell: how far a learned state may go, and how
hard a joint turns.

Each acts on the last k numbers of a state, which are the last k of a step too and on which `retract` is a sum: the angles of a
mechanism, the reduced latent behind a pose. What is stated per coordinate depends on what the coordinates mean; the distance
and the kinetic damping do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class StateForces:
    """An energy's derivatives by the last k coordinates."""

    value: float
    """J."""
    gradient: Tensor
    """(k,)"""
    hessian: Tensor
    """(k, k), positive semi-definite."""


@dataclass(frozen=True, eq=False)
class StatePrior:
    """V = w/2 |q - q_rest|^2: a pull towards a state, for coordinates that are of one kind (the paper's, of the latent)."""

    weight: float
    """J, for coordinates without a unit."""
    rest: Tensor
    """(k,)"""

    @property
    def size(self) -> int:
        """k."""
        return len(self.rest)

    def at(self, q: Tensor) -> StateForces:
        """Of coordinates (k,)."""
        away = q - self.rest
        hessian = self.weight * torch.eye(len(q), dtype=q.dtype, device=q.device)
        return StateForces(0.5 * self.weight * float(away @ away), self.weight * away, hessian)


@dataclass(frozen=True, eq=False)
class CoordinateLimits:
    """Stops of a joint: V = c/2 (q - upper)^2 beyond the upper bound, the same below the lower, nothing in between."""

    lower: Tensor
    """(k,) rad or m; -inf: none."""
    upper: Tensor
    """(k,) rad or m; inf: none."""
    stiffness: Tensor
    """(k,) N m/rad or N/m, positive."""

    @property
    def size(self) -> int:
        """k."""
        return len(self.lower)

    def beyond(self, q: Tensor) -> float:
        """rad or m, how far the coordinate that is farthest out is beyond its bounds; 0 within them."""
        return float(self._excess(q).abs().max())

    def at(self, q: Tensor) -> StateForces:
        """Of coordinates (k,)."""
        excess = self._excess(q)
        force = self.stiffness * excess
        return StateForces(0.5 * float(force @ excess), force, torch.diag(self.stiffness * (excess != 0.0)))

    def _excess(self, q: Tensor) -> Tensor:
        return (q - self.upper).clamp(min=0.0) + (q - self.lower).clamp(max=0.0)


@dataclass(frozen=True, eq=False)
class DistanceLimit:
    """The edge of what a state space has been learned for: V = w/2 (d - d_max)^2 where d > d_max, d = |L (q - center)|.

    With L the inverse of a square root of the coordinates' covariance, d is the Mahalanobis distance. For a reduced latent
    z = z_rest + A q under a prior N(m, 1), A orthonormal: L = 1, center = A^T (m - z_rest), and the part of m - z_rest outside
    of A adds to d^2, so that d_max^2 is the wanted bound less that part's square.
    """

    center: Tensor
    """(k,)"""
    radius: float
    """d_max, dimensionless."""
    weight: float
    """J."""
    whitening: Tensor | None = None
    """L, (k, k); None: the identity."""

    @property
    def size(self) -> int:
        """k."""
        return len(self.center)

    def beyond(self, q: Tensor) -> float:
        """Dimensionless, how far coordinates (k,) are beyond the radius; 0 within it."""
        return max(0.0, self.distance(q) - self.radius)

    def distance(self, q: Tensor) -> float:
        """Dimensionless, from the center to coordinates (k,)."""
        return float(self._white(q - self.center).norm())

    def at(self, q: Tensor) -> StateForces:
        """Of coordinates (k,)."""
        white = self._white(q - self.center)
        distance = float(white.norm())
        excess = distance - self.radius
        if excess <= 0.0:
            return StateForces(0.0, torch.zeros_like(q), q.new_zeros(len(q), len(q)))
        direction = white / distance
        outward = torch.outer(direction, direction)
        around = torch.eye(len(q), dtype=q.dtype, device=q.device) - outward
        force, hessian = self.weight * excess * direction, self.weight * (outward + excess / distance * around)
        if self.whitening is not None:
            force, hessian = self.whitening.T @ force, self.whitening.T @ hessian @ self.whitening
        return StateForces(0.5 * self.weight * excess**2, force, hessian)

    def _white(self, q: Tensor) -> Tensor:
        return q if self.whitening is None else self.whitening @ q


StateEnergy = StatePrior | CoordinateLimits | DistanceLimit


@dataclass(frozen=True, eq=False)
class CoordinateDamping:
    """Viscous friction of joints: a torque of -c q' on each coordinate."""

    coefficients: Tensor
    """(k,) N m s/rad or N s/m, not negative."""

    @property
    def size(self) -> int:
        """k."""
        return len(self.coefficients)

    def matrix(self, inertia: Tensor) -> Tensor:
        """(k, k) viscous coefficients; the inertia (k, k) of the coordinates does not matter."""
        return torch.diag(self.coefficients)


@dataclass(frozen=True)
class KineticDamping:
    """Viscous friction in proportion to inertia: -a G q' on the internal motion, whatever numbers it is described by.

    Alone on a joint, velocity decays as exp(-a t); a hinge of inertia I has the coefficient a I. G is taken at the start of
    each step.
    """

    rate: float
    """a, 1/s, not negative."""
    size: int
    """k, how many coordinates are internal: those before them, a free object's pose, are not damped."""

    def matrix(self, inertia: Tensor) -> Tensor:
        """(k, k) viscous coefficients, for the inertia (k, k) of the coordinates."""
        return self.rate * inertia


StateDamping = CoordinateDamping | KineticDamping


def dissipation(matrix: Tensor, rate: Tensor, scale: float) -> StateForces:
    """The incremental potential 1/(2 b) r^T C r of viscous coordinates, whose gradient is C r.

    Args:
        matrix: C, (k, k).
        rate: r, (k,) velocities of the coordinates at the end of a step.
        scale: b, 1/s, derivative of the rate by the coordinates, from the time discretisation.
    """
    force = matrix @ rate
    return StateForces(0.5 / scale * float(force @ rate), force, scale * matrix)
