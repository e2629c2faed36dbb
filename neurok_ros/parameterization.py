"""The heart of the house: what kinematics gives and dynamics takes, and neither knows more of the other.

A kinematic state parameterization (NeuROK, Sec. 3.1) is a pair (Z, F): states q, and a map F from a state to the
positions of an object's particles. A pendulum written by hand and a trained network are both one of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class KinematicParameterization(Protocol):
    """The states an object can be in, and where its particles are in each.

    A state `q` is a vector of `rest.shape[0]` numbers. A step is a vector of `dim` numbers, the generalized
    displacement in the tangent space at q; on a vector space both have the same length and `retract` is a sum,
    on SE(3) a state is a pose (7) and a step a twist (6). All tensors are float64 on one device; SI units.
    """

    dim: int
    rest: Tensor
    """(s,) the scanned state."""

    def positions(self, q: Tensor) -> Tensor:
        """Particle positions (n, 3) in metres, differentiable in q. Batch with `torch.func.vmap`."""

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, dim): derivative of `positions(retract(q, step))` by the step at step = 0."""

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """The state (s,) reached from q by a step (dim,)."""


@dataclass(frozen=True)
class StateLimit:
    """How far a learned state space is to be trusted: where |q - center| <= radius, q the last k numbers of a state."""

    center: Tensor
    """(k,)"""
    radius: float


class ObjectKinematics(Protocol):
    """The state space of one scanned object, before anybody has chosen which of its points to follow."""

    @property
    def name(self) -> str:
        """What a user reads: `rigid`, `modal`, `neurok`."""

    @property
    def limit(self) -> StateLimit | None:
        """Beyond which states nothing is known; None where all states are alike."""

    def at(self, points: Tensor, part: NDArray[np.int64] | None = None) -> KinematicParameterization:
        """The same state space, followed at some material points.

        Args:
            points: (n, 3) metres, at rest.
            part: (n,) the connected part of the mesh that each belongs to, as `connected_parts` numbers them, where the motion
                depends on it; None for that of the mesh's nearest vertex, which is a guess where parts are close together.
        """


@dataclass(frozen=True)
class StrainSites:
    """Where the material's strain is measured, from decoded particle positions alone.

    The deformation gradient at site s is F_s = sum_a x[index[s, a]] (outer) gradient[s, a].
    """

    index: Tensor
    """(s, a) int64, particles of the site's stencil."""
    gradient: Tensor
    """(s, a, 3) 1/m, gradients of the stencil's shape functions at rest; sum over a is zero."""
    volume: Tensor
    """(s,) m^3, the rest volume that the site stands for."""

    def deformation_gradients(self, positions: Tensor) -> Tensor:
        """(s, 3, 3) dimensionless, from particle positions (n, 3) in metres."""
        return torch.einsum("sai,saj->sij", positions[self.index], self.gradient)

    def select(self, chosen: Tensor) -> StrainSites:
        """Only the sites that are chosen, (s,) bool."""
        return StrainSites(self.index[chosen], self.gradient[chosen], self.volume[chosen])

    def to(self, device: torch.device) -> StrainSites:
        """The same sites on another device."""
        return StrainSites(self.index.to(device), self.gradient.to(device), self.volume.to(device))
