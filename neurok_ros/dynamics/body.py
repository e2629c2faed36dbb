"""What moves: a kinematic state parameterization with masses, a surface that can touch, and a material."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from neurok_ros.dynamics.jointed import Jointed
from neurok_ros.dynamics.self_contact import Parts
from neurok_ros.dynamics.state_space import StateDamping, StateEnergy
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.parameterization import KinematicParameterization, StrainSites

POINT_LIKE_LENGTH = 0.1
"""Metres: the length scale of a body whose particles all coincide."""


@dataclass(frozen=True)
class Material:
    """What a body is made of: isotropic elasticity, Kelvin-Voigt damping, Coulomb friction."""

    youngs_modulus: float = 1.0e5
    """Pa."""
    poisson_ratio: float = 0.3
    """Dimensionless, in (-1, 0.5)."""
    damping: float = 0.0
    """Seconds: viscous stress is this time times the elastic stress of the strain rate (stiffness-proportional damping)."""
    friction: float = 0.5
    """Coulomb coefficient, with the support and with the tool."""

    @property
    def shear_modulus(self) -> float:
        """First Lame parameter mu, Pa."""
        return self.youngs_modulus / (2.0 * (1.0 + self.poisson_ratio))

    @property
    def lame_lambda(self) -> float:
        """Second Lame parameter lambda, Pa."""
        return self.youngs_modulus * self.poisson_ratio / ((1.0 + self.poisson_ratio) * (1.0 - 2.0 * self.poisson_ratio))


@dataclass(frozen=True, eq=False)
class Body:
    """An object as the dynamics sees it."""

    kinematics: KinematicParameterization
    """Followed at n particles."""
    masses: Tensor
    """(n,) kg; zero for particles that only touch."""
    contact: Tensor
    """(c,) int64: the particles that can touch the support and the tool; denser than the tool is thin, see
    `contact_resolution`."""
    contact_areas: Tensor
    """(c,) m^2: the surface that each of them stands for."""
    material: Material
    strain: StrainSites | None = None
    """Where strain is measured; None: the states cannot strain (a rigid body)."""
    state_energies: tuple[StateEnergy, ...] = ()
    """Potentials of the state: a prior, the stops of joints, the edge of what was learned."""
    state_damping: StateDamping | None = None
    """Viscous friction of the state's motion, beside the material's."""
    jointed: Jointed | None = None
    """None: the body is elastic, or rigid, all over."""
    parts: Parts | None = None
    """Of the contact particles: parts do not pass through each other. None: they do."""

    def __post_init__(self) -> None:
        """Raise NeurokError(INVALID_PROPERTIES) where there is no mass that inertia could come from."""
        if not 0.0 < float(self.masses.sum()) < float("inf"):
            problem = f"the particles weigh {float(self.masses.sum()):g} kg together"
            raise NeurokError(ErrorCode.INVALID_PROPERTIES, "properties.density", problem, "Give some of them mass")

    @property
    def damped_coordinates(self) -> int:
        """How many of the last coordinates meet viscous friction of their own."""
        damped = 0 if self.state_damping is None else self.state_damping.size
        return damped if self.jointed is None else max(damped, self.jointed.internal)

    @cached_property
    def rest_positions(self) -> Tensor:
        """(n, 3) metres."""
        with torch.no_grad():
            return self.kinematics.positions(self.kinematics.rest)

    @cached_property
    def mass(self) -> float:
        """Total, kg."""
        return float(self.masses.sum())

    @cached_property
    def length(self) -> float:
        """Largest extent at rest, metres; `POINT_LIKE_LENGTH` if all particles coincide."""
        extent = float((self.rest_positions.amax(0) - self.rest_positions.amin(0)).max())
        return extent if extent > 0.0 else POINT_LIKE_LENGTH
