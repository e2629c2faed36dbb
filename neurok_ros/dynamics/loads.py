"""What acts on chosen particles, over time: springs, applied forces, holds that move or let go."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from neurok_ros.dynamics.energies import PairForces, PointForces
from neurok_ros.dynamics.tools import Floats


@dataclass(frozen=True, eq=False)
class Schedule:
    """Values over time: linear between the stamps, constant before the first and after the last.

    Raises:
        ValueError: for stamps that do not increase strictly, or that do not belong to the values.
    """

    times: Floats
    """(w,) seconds from the start of the rollout, strictly increasing; at least one."""
    values: Tensor
    """(w, ...)"""

    def __post_init__(self) -> None:
        if len(self.times) == 0 or len(self.times) != len(self.values) or bool((np.diff(self.times) <= 0.0).any()):
            raise ValueError(f"times {self.times} must increase, one for each of {len(self.values)} values")

    def at(self, time: float) -> Tensor:
        """(...) the value at a time in seconds."""
        after = int(np.searchsorted(self.times, time))
        if after == 0 or after == len(self.times):
            return self.values[min(after, len(self.times) - 1)]
        share = (time - self.times[after - 1]) / (self.times[after] - self.times[after - 1])
        return torch.lerp(self.values[after - 1], self.values[after], float(share))


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """A force on particles, whatever they do."""

    particle: Tensor
    """(k,) int64."""
    force: Schedule
    """(3,) or (k, 3) N on each of them."""

    @classmethod
    def constant(cls, particle: Tensor, force: Tensor) -> AppliedForce:
        """The same force (3,) or (k, 3), newtons, for ever."""
        return cls(particle, Schedule(np.zeros(1), force[None]))

    def at(self, time: float) -> Tensor:
        """(k, 3) N."""
        return self.force.at(time).expand(len(self.particle), 3)


@dataclass(frozen=True, eq=False)
class Hold:
    """Particles held where they start, or led along a path from there, until they are let go.

    A velocity is prescribed by a displacement that grows linearly. The hold is a spring of `anchor_stiffness`.
    """

    particle: Tensor
    """(k,) int64."""
    until: float = np.inf
    """Seconds from the start of the rollout."""
    displacement: Schedule | None = None
    """(3,) or (k, 3) metres from where they start; None: none."""

    def at(self, time: float) -> Tensor:
        """(k, 3) metres from where they start."""
        if self.displacement is None:
            return torch.zeros(len(self.particle), 3, dtype=torch.float64, device=self.particle.device)
        return self.displacement.at(time).expand(len(self.particle), 3)


def spring_law(vector: Tensor, stiffness: Tensor, length: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Energy (k,) J, gradient (k, 3) N and Hessian (k, 3, 3) N/m of c/2 (|r| - L)^2 by r; the Hessian of a spring that is
    shorter than at rest is clamped to positive semi-definite.

    Args:
        vector: r, (k, 3) metres.
        stiffness: c, (k,) N/m.
        length: L, (k,) metres at rest.
    """
    distance = vector.norm(dim=1).clamp(min=1e-12)
    direction = vector / distance.unsqueeze(1)
    stretch = distance - length
    across = (stiffness * stretch / distance).clamp(min=0.0)
    hessian = ((stiffness - across).unsqueeze(1) * direction).unsqueeze(2) * direction.unsqueeze(1)
    hessian.diagonal(dim1=1, dim2=2).add_(across.unsqueeze(1))
    return 0.5 * stiffness * stretch**2, (stiffness * stretch).unsqueeze(1) * direction, hessian


@dataclass(frozen=True, eq=False)
class Springs:
    """Springs between particles."""

    first: Tensor
    """(k,) int64."""
    second: Tensor
    """(k,) int64."""
    stiffness: Tensor
    """(k,) N/m."""
    length: Tensor
    """(k,) metres, at which each is without force."""

    def forces(self, x: Tensor) -> tuple[float, PairForces]:
        """J, and its derivatives, for particle positions (n, 3)."""
        energy, gradient, hessian = spring_law(x[self.first] - x[self.second], self.stiffness, self.length)
        return float(energy.sum()), PairForces(self.first, self.second, gradient, hessian)


@dataclass(frozen=True, eq=False)
class PointSprings:
    """Springs from particles to fixed points in space."""

    particle: Tensor
    """(k,) int64."""
    point: Tensor
    """(k, 3) metres."""
    stiffness: Tensor
    """(k,) N/m."""
    length: Tensor
    """(k,) metres, at which each is without force."""

    def forces(self, x: Tensor) -> tuple[float, PointForces]:
        """J, and its derivatives, for particle positions (n, 3)."""
        energy, gradient, hessian = spring_law(x[self.particle] - self.point, self.stiffness, self.length)
        return float(energy.sum()), PointForces(self.particle, gradient, hessian)


@dataclass(frozen=True, eq=False)
class Loads:
    """All that acts on chosen particles, beside gravity and contact."""

    springs: tuple[Springs | PointSprings, ...] = ()
    forces: tuple[AppliedForce, ...] = ()
    holds: tuple[Hold, ...] = ()

    @cached_property
    def events(self) -> Floats:
        """Seconds, in order: where a schedule bends or a hold ends, so that a step should end there."""
        schedules = [f.force for f in self.forces] + [h.displacement for h in self.holds if h.displacement is not None]
        ends = np.array([h.until for h in self.holds])
        return np.unique(np.concatenate([*(s.times for s in schedules), ends[np.isfinite(ends)]]))

    def held(self, time: float) -> tuple[Hold, ...]:
        """The holds that still hold during the step that begins at a time, seconds."""
        return tuple(hold for hold in self.holds if hold.until > time + 1e-9)

    def forces_at(self, time: float) -> AppliedAt | None:
        """The applied forces at a time, seconds; None without any."""
        if not self.forces:
            return None
        return AppliedAt(torch.cat([f.particle for f in self.forces]), torch.cat([f.at(time) for f in self.forces]))


@dataclass(frozen=True)
class AppliedAt:
    """Applied forces at one time."""

    particle: Tensor
    """(k,) int64; a particle may occur twice."""
    force: Tensor
    """(k, 3) N."""
