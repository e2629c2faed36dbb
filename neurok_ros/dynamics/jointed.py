"""Stiff bodies with joints that nobody has named."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from neurok_ros.parameterization import StrainSites

_MASSLESS = 1e-9
"""Of the mean inertia: what coordinates that move nothing get."""


@dataclass(frozen=True, eq=False)
class Jointed:
    """A stiff body with joints that nobody has named: its state space moves it about them, but bends its parts a little too.

    That bending stores no energy, or it would drive a door back that should stay where it was pushed. Instead

    - the body resists the rate of strain, and yields where a motion concentrates it, which is where the joints are: of the
      motions that a push allows, the one that keeps the parts rigid is the easiest (as in L1 regression, by weights
      1 / (1 + (rate / (yield_ratio mean))^2) from the step before, with the mean velocity gradient);
    - a motion that this would stop slowly is a joint's, but for what the states get wrong, and is let be: it goes on when the
      push is over (`spare_joints`);
    - a hold fixes where its particles are on the whole and how they are turned, not each of them;
    - what kept the joints from falling before the push, friction or springs, does so all the time: weight and the support that
      carries it move the whole alone, and a body that is held does not feel its weight.
    """

    viscosity: float
    """Pa s, of the rate of Green strain."""
    yield_ratio: float
    """Of the mean velocity gradient: strain that is faster meets less resistance."""
    internal: int
    """How many of the last coordinates are of joints; those before them are a free body's pose."""
    free_rate: float
    """1/s: motions that the viscosity would stop more slowly are hardly resisted, ..."""
    free_ratio: float
    """... and those that it would stop less than so many times as fast as it would stop the present one."""

    def volume_that_resists(self, sites: StrainSites, velocities: Tensor, strain_rates: Tensor) -> Tensor:
        """(s,) m^3 of each site, less where it yields.

        Args:
            sites: s of them.
            velocities: (n, 3) m/s of the particles.
            strain_rates: (s, 3, 3) 1/s.
        """
        gradients = sites.deformation_gradients(velocities).square().sum((1, 2))
        yielding = self.yield_ratio**2 * (sites.volume @ gradients) / sites.volume.sum()
        rates = strain_rates.square().sum((1, 2))
        return sites.volume * torch.where(yielding > 0.0, yielding / (yielding + rates), 1.0)

    def spare_joints(self, coefficients: Tensor, inertia: Tensor, velocity: Tensor) -> Tensor:
        """(k, k) viscous coefficients that leave be what the given ones would stop slowly.

        The motions that a resistance C stops each at its own rate are the eigenvectors of C v = r G v. A rate r becomes
        r^5 / (r^4 + r_0^4): the same where it is large, next to nothing where it is small. r_0 is `free_rate`, or `free_ratio`
        times the rate of the present motion, where that is larger: what a push drives is a joint, however badly the states
        know it.

        Args:
            coefficients: C, (k, k).
            inertia: G, (k, k).
            velocity: (k,) of the coordinates.
        """
        size = len(coefficients)
        mass = inertia + _MASSLESS * inertia.diagonal().mean() * torch.eye(size).to(inertia)
        energy = float(velocity @ mass @ velocity)
        present = float(velocity @ coefficients @ velocity) / energy if energy > 0.0 else 0.0
        free = max(self.free_rate, self.free_ratio * present)
        factor = torch.linalg.cholesky(mass)
        whitened = torch.linalg.solve_triangular(factor, coefficients, upper=False)
        whitened = torch.linalg.solve_triangular(factor, whitened.T.contiguous(), upper=False)
        rates, motions = torch.linalg.eigh(0.5 * (whitened + whitened.T))
        rates = rates.clamp(min=0.0)
        spared = rates.pow(5) / (rates.pow(4) + free**4)
        momenta = factor @ motions
        matrix: Tensor = (momenta * spared) @ momenta.T
        return matrix


def effective_inertia(inertia: Tensor, first: int) -> Tensor:
    """(k, k) of the coordinates from `first` on, where those before them follow as they like (Schur complement).

    Args:
        inertia: (dim, dim), positive definite.
        first: how many coordinates follow.
    """
    if first == 0:
        return inertia
    follows = torch.linalg.solve(inertia[:first, :first], inertia[:first, first:])
    effective: Tensor = inertia[first:, first:] - inertia[first:, :first] @ follows
    return effective
