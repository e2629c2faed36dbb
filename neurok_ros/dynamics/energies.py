"""Potentials and dissipation, each a pure function of particle positions with its derivatives.

Elastic and viscous terms are densities at strain sites, in the deformation gradient F as a vector of nine (row-major).
Contact, friction and anchors are sums over particles with one 3 x 3 Hessian block each.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def _second_determinant_tensor() -> Tensor:
    """(9, 81): d2(det F)/dF2 is this, contracted with F; from det F = eps_ikm eps_jln F_ij F_kl F_mn / 6."""
    eps = torch.zeros(3, 3, 3, dtype=torch.float64)
    eps[0, 1, 2] = eps[1, 2, 0] = eps[2, 0, 1] = 1.0
    eps[0, 2, 1] = eps[2, 1, 0] = eps[1, 0, 2] = -1.0
    return torch.einsum("ikm,jln->mnijkl", eps, eps).reshape(9, 81)


_DETERMINANT = _second_determinant_tensor()


def determinant_derivatives(f: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """det F (s,), its gradient (s, 9) (the cofactors) and its Hessian (s, 9, 9), for F (s, 9)."""
    hessian = (f @ _DETERMINANT.to(f.device)).view(-1, 9, 9)
    cofactor = 0.5 * (hessian @ f.unsqueeze(2)).squeeze(2)
    return (f * cofactor).sum(1) / 3.0, cofactor, hessian


@dataclass(frozen=True)
class NeoHookean:
    """Stable neo-Hookean elasticity (Smith, de Goes and Kim 2018, without the logarithm), finite under inversion.

    psi = mu/2 (|F|^2 - 3) + l/2 (det F - 1)^2 - mu (det F - 1), with l = lambda + mu, so that small strains see the Lame
    parameters mu and lambda of linear elasticity. Zero, with zero stress, for every rotation.
    """

    shear_modulus: float
    """Pa."""
    lame_lambda: float
    """Pa."""

    def value_and_stress(self, f: Tensor) -> tuple[Tensor, Tensor]:
        """(s,) J/m^3 and the first Piola stress (s, 9) Pa."""
        determinant, cofactor, _ = determinant_derivatives(f)
        growth = determinant - 1.0
        bulk = self.lame_lambda + self.shear_modulus
        value = 0.5 * self.shear_modulus * ((f * f).sum(1) - 3.0) + 0.5 * bulk * growth**2 - self.shear_modulus * growth
        return value, self.shear_modulus * f + (bulk * growth - self.shear_modulus).unsqueeze(1) * cofactor

    def hessian(self, f: Tensor) -> Tensor:
        """(s, 9, 9) Pa; indefinite where a site is compressed."""
        determinant, cofactor, second = determinant_derivatives(f)
        bulk = self.lame_lambda + self.shear_modulus
        pressure = bulk * (determinant - 1.0) - self.shear_modulus
        hessian = second * pressure.view(-1, 1, 1) + (bulk * cofactor).unsqueeze(2) * cofactor.unsqueeze(1)
        hessian.diagonal(dim1=1, dim2=2).add_(self.shear_modulus)
        return hessian


def green_strain(f: Tensor) -> Tensor:
    """(s, 3, 3) Green strain (F^T F - I) / 2, unchanged by rotation, for F (s, 9)."""
    matrix = f.view(-1, 3, 3)
    strain = 0.5 * matrix.transpose(1, 2) @ matrix
    strain.diagonal(dim1=1, dim2=2).sub_(0.5)
    return strain


@dataclass(frozen=True)
class KelvinVoigt:
    """Viscous stress in proportion to the rate of Green strain; none under rotation, however large the step.

    The incremental potential is d(F) = 1 / (2 b) (2 eta |r|^2 + zeta tr(r)^2) with the rate r = b E(F) + r0, where the
    integrator gives b (1/s) and r0 (1/s).
    """

    shear: float
    """eta, Pa s; a damping time times the first Lame parameter."""
    dilatation: float
    """zeta, Pa s; a damping time times the second Lame parameter."""

    def _viscous_stress(self, rate: Tensor) -> Tensor:
        stress = 2.0 * self.shear * rate
        trace = rate.diagonal(dim1=1, dim2=2).sum(1, keepdim=True)
        stress.diagonal(dim1=1, dim2=2).add_(self.dilatation * trace)
        return stress

    def value_and_stress(self, f: Tensor, scale: float, offset: Tensor) -> tuple[Tensor, Tensor]:
        """(s,) J/m^3 and the first Piola stress (s, 9) Pa, for F (s, 9), b = scale and r0 = offset (s, 3, 3)."""
        rate = scale * green_strain(f) + offset
        stress = self._viscous_stress(rate)
        return 0.5 / scale * (rate * stress).sum((1, 2)), (f.view(-1, 3, 3) @ stress).reshape(-1, 9)

    def hessian(self, f: Tensor, scale: float) -> Tensor:
        """(s, 9, 9) Pa: the Gauss-Newton part, positive semi-definite."""
        matrix = f.view(-1, 3, 3)
        left = matrix @ matrix.transpose(1, 2)
        swapped = torch.einsum("sil,skj->sijkl", matrix, matrix).reshape(-1, 9, 9)
        hessian = self.dilatation * f.unsqueeze(2) * f.unsqueeze(1) + self.shear * swapped
        blocks = hessian.view(-1, 3, 3, 3, 3)
        for axis in range(3):
            blocks[:, :, axis, :, axis] += self.shear * left
        return scale * hessian


def positive_semidefinite(blocks: Tensor) -> Tensor:
    """The nearest positive semi-definite blocks (s, d, d): negative eigenvalues become zero."""
    eigenvalues, vectors = torch.linalg.eigh(blocks)
    clamped: Tensor = (vectors * eigenvalues.clamp(min=0.0).unsqueeze(1)) @ vectors.transpose(1, 2)
    return clamped


@dataclass(frozen=True)
class PointForces:
    """An energy's derivatives at some particles."""

    particle: Tensor
    """(k,) int64; a particle may occur twice."""
    gradient: Tensor
    """(k, 3) N, minus the force on the particle."""
    hessian: Tensor
    """(k, 3, 3) N/m, positive semi-definite."""


@dataclass(frozen=True)
class PairForces:
    """An energy's derivatives by the differences between particles, x_first - x_second."""

    first: Tensor
    """(k,) int64; a particle may occur twice."""
    second: Tensor
    """(k,) int64."""
    gradient: Tensor
    """(k, 3) N, minus the force on the first particle, and the force on the second."""
    hessian: Tensor
    """(k, 3, 3) N/m, positive semi-definite."""

    def add_to(self, gradient: Tensor) -> None:
        """Add to a gradient by particle positions (n, 3), N."""
        gradient.index_add_(0, self.first, self.gradient)
        gradient.index_add_(0, self.second, self.gradient, alpha=-1.0)


@dataclass(frozen=True)
class Contacts:
    """The particles that are inside the support or the tool, at one set of positions."""

    particle: Tensor
    """(k,) int64 indices of particles."""
    normal: Tensor
    """(k, 3) unit vectors out of the obstacle."""
    depth: Tensor
    """(k,) metres, positive."""
    force: Tensor
    """(k,) N, along the normal, on the particle."""
    stiffness: Tensor
    """(k,) N/m, derivative of the force by the depth."""
    energy: float
    """J."""
    support_count: int
    """The first so many are contacts with the support, the others with the tool."""

    def derivatives(self) -> PointForces:
        """Of the contact energy. The curvature of the obstacle, which is negative, is left out."""
        hessian = (self.stiffness.unsqueeze(1) * self.normal).unsqueeze(2) * self.normal.unsqueeze(1)
        return PointForces(self.particle, -self.force.unsqueeze(1) * self.normal, hessian)


REBOUND_SPEED = 5e-3
"""m/s: what comes out of a contact faster than this is not pushed any more."""


def contact_law(
    depth: Tensor, stiffness: Tensor, yield_depth: float, rate: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Incremental potential (k,) J, force (k,) N and stiffness (k,) N/m of a damped spring that hardens.

    force = k d (1 + (d / e)^2) max(0, 1 + d' / u): at loads far above k e the depth grows only with their cube root, it never
    pulls, and what it lets go leaves at no more than about u, `REBOUND_SPEED` (Hunt and Crossley 1975).

    Args:
        depth: (k,) metres, d.
        stiffness: (k,) N/m, k.
        yield_depth: metres, e.
        rate: (k,) m/s, d'.
        scale: 1/s, derivative of the rate by the depth, given by the integrator.
    """
    ratio = (depth / yield_depth) ** 2
    spring, hardened = stiffness * depth * (1.0 + ratio), stiffness * (1.0 + 3.0 * ratio)
    damped = (1.0 + rate / REBOUND_SPEED).clamp(min=0.0)
    slope = scale / REBOUND_SPEED
    start = 1.0 + rate / REBOUND_SPEED - slope * depth
    begin = (-start / slope).clamp(min=0.0).minimum(depth)

    def potential(d: Tensor) -> Tensor:
        squared = (d / yield_depth) ** 2
        value: Tensor = stiffness * d**2 * (start * (0.5 + 0.25 * squared) + slope * d * (1.0 / 3.0 + 0.2 * squared))
        return value

    return potential(depth) - potential(begin), spring * damped, hardened * damped + slope * spring * (damped > 0.0)


@dataclass(frozen=True)
class Friction:
    """Coulomb friction with normal forces and tangent planes lagged (Li et al. 2020), smooth around rest.

    Below the creep speed e the force is m N (2 y - y^2), y = |v_t| / e; above, m N. So a load of less than m N creeps at
    less than e, and no static load is held without creeping.
    """

    contacts: Contacts
    surface_velocity: Tensor
    """(k, 3) m/s of the obstacle at each contact."""
    coefficient: float
    creep_speed: float
    """m/s."""

    def value_and_derivatives(self, velocity: Tensor, scale: float, with_hessian: bool) -> tuple[Tensor, PointForces]:
        """Incremental potential in J and its derivatives by position.

        Args:
            velocity: (k, 3) m/s of the particles in contact.
            scale: 1/s, derivative of velocity by position, given by the integrator.
            with_hessian: false leaves zeros in its place.
        """
        normal, creep = self.contacts.normal, self.creep_speed
        relative = velocity - self.surface_velocity
        slip = relative - (relative * normal).sum(1, keepdim=True) * normal
        speed = slip.norm(dim=1).clamp(min=1e-12 * creep)
        ratio = speed / creep
        sticking = ratio < 1.0
        limit = self.coefficient * self.contacts.force
        value = limit * torch.where(sticking, creep * (ratio**2 - ratio**3 / 3.0 + 1.0 / 3.0), speed) / scale
        per_speed = limit * torch.where(sticking, (2.0 - ratio) / creep, 1.0 / speed)
        gradient = per_speed.unsqueeze(1) * slip
        if not with_hessian:
            return value.sum(), PointForces(self.contacts.particle, gradient, normal.new_zeros(0))
        hardening = limit * torch.where(sticking, 2.0 * (1.0 - ratio) / creep, 0.0)
        direction = slip / speed.unsqueeze(1)
        hessian = ((hardening - per_speed).unsqueeze(1) * direction).unsqueeze(2) * direction.unsqueeze(1)
        hessian -= (per_speed.unsqueeze(1) * normal).unsqueeze(2) * normal.unsqueeze(1)
        hessian.diagonal(dim1=1, dim2=2).add_(per_speed.unsqueeze(1))
        return value.sum(), PointForces(self.contacts.particle, gradient, scale * hessian)
