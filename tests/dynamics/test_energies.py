"""Derivatives against finite differences, invariances, and definiteness."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from neurok_ros.dynamics.energies import (
    REBOUND_SPEED,
    Contacts,
    Friction,
    KelvinVoigt,
    NeoHookean,
    contact_law,
    determinant_derivatives,
    green_strain,
    positive_semidefinite,
)
from validation.systems import lattice, quaternion_matrix

ELASTIC = NeoHookean(4.0e4, 6.0e4)
VISCOUS = KelvinVoigt(2.0e3, 3.0e3)


def random_gradients(count: int, size: float) -> Tensor:
    noise = torch.randn(count, 9, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    return torch.eye(3, dtype=torch.float64).reshape(1, 9) + size * noise


def random_rotation(seed: int) -> Tensor:
    quaternion = torch.randn(4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return quaternion_matrix(quaternion / quaternion.norm())


def test_determinant_derivatives_are_those_of_the_determinant() -> None:
    f = random_gradients(20, 0.7).requires_grad_()
    determinant, cofactor, hessian = determinant_derivatives(f)
    assert torch.allclose(determinant, torch.linalg.det(f.view(-1, 3, 3)))
    (gradient,) = torch.autograd.grad(determinant.sum(), f)
    assert torch.allclose(cofactor, gradient)
    exact = torch.func.hessian(lambda m: torch.linalg.det(m.view(3, 3)))(f[0].detach())
    assert torch.allclose(hessian[0], exact, atol=1e-12)


@pytest.mark.parametrize("size", [0.05, 0.7])  # 0.7: many of them inverted
def test_elastic_stress_and_hessian_are_derivatives_of_the_energy(size: float) -> None:
    f = random_gradients(20, size).requires_grad_()
    value, stress = ELASTIC.value_and_stress(f)
    (gradient,) = torch.autograd.grad(value.sum(), f)
    assert torch.allclose(stress, gradient, rtol=1e-9, atol=1e-6)
    jacobian = torch.autograd.functional.jacobian(lambda g: ELASTIC.value_and_stress(g)[1].sum(0), f.detach())
    assert torch.allclose(ELASTIC.hessian(f.detach()), jacobian.permute(1, 0, 2), rtol=1e-9, atol=1e-5)


def test_viscous_stress_and_hessian_are_derivatives_of_the_dissipation() -> None:
    offset = -60.0 * green_strain(random_gradients(20, 0.05))
    f = random_gradients(20, 0.05).requires_grad_()
    value, stress = VISCOUS.value_and_stress(f, 60.0, offset)
    (gradient,) = torch.autograd.grad(value.sum(), f)
    assert torch.allclose(stress, gradient, rtol=1e-9, atol=1e-9)
    at_rest = torch.eye(3, dtype=torch.float64).reshape(1, 9)
    still = -60.0 * green_strain(at_rest)
    exact = torch.func.hessian(lambda g: VISCOUS.value_and_stress(g[None], 60.0, still)[0][0])(at_rest[0])
    assert torch.allclose(VISCOUS.hessian(at_rest, 60.0)[0], exact, rtol=1e-9, atol=1e-6)


def test_rotation_stores_and_dissipates_nothing() -> None:
    f = torch.stack([random_rotation(seed).reshape(9) for seed in range(10)])
    value, stress = ELASTIC.value_and_stress(f)
    assert float(value.abs().max()) < 1e-9 * ELASTIC.shear_modulus
    assert float(stress.abs().max()) < 1e-9 * ELASTIC.shear_modulus
    before = torch.eye(3, dtype=torch.float64).reshape(1, 9).expand(10, 9)
    dissipated, viscous_stress = VISCOUS.value_and_stress(f, 60.0, -60.0 * green_strain(before))
    assert float(dissipated.abs().max()) < 1e-9
    assert float(viscous_stress.abs().max()) < 1e-6


def test_small_strains_see_linear_elasticity() -> None:
    strain = torch.tensor([[1.0, 0.3, 0.0], [0.3, -0.4, 0.2], [0.0, 0.2, 0.1]], dtype=torch.float64)
    size = 1e-5
    f = (torch.eye(3, dtype=torch.float64) + size * strain).reshape(1, 9)
    _, stress = ELASTIC.value_and_stress(f)
    linear = 2.0 * ELASTIC.shear_modulus * strain + ELASTIC.lame_lambda * strain.trace() * torch.eye(3, dtype=torch.float64)
    assert torch.allclose(stress.view(3, 3) / size, linear, rtol=1e-3, atol=1e-3 * ELASTIC.shear_modulus)


def test_stretching_a_sponge_costs_energy_and_a_hinge_turn_does_not() -> None:
    grid = lattice((0.1, 0.1, 0.1), (2, 2, 2))
    turned = grid.points @ random_rotation(5).T
    squeezed = grid.points * torch.tensor([1.0, 1.0, 0.8], dtype=torch.float64)
    energies = []
    for points in (turned, squeezed):
        density, _ = ELASTIC.value_and_stress(grid.sites.deformation_gradients(points).reshape(-1, 9))
        energies.append(float(density @ grid.sites.volume))
    assert abs(energies[0]) < 1e-9 * energies[1]


def test_clamped_blocks_are_positive_semidefinite_and_unchanged_where_they_were() -> None:
    blocks = ELASTIC.hessian(random_gradients(50, 0.5))
    clamped = positive_semidefinite(blocks)
    before, after = torch.linalg.eigvalsh(blocks), torch.linalg.eigvalsh(clamped)
    assert float(before.min()) < -1e3
    assert float(after.min()) > -1e-9 * float(after.max())
    definite = before.min(dim=1).values >= 0.0
    assert torch.allclose(blocks[definite], clamped[definite], rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("speed", [0.0, 0.3, -0.3])
def test_contact_law_is_consistent_hardens_and_never_pulls(speed: float) -> None:
    """Where the depth at the end of a step of 1 ms grows, so does its rate, by 1000/s."""
    scale, before = 1e3, 1e-3 - speed / 1e3
    depth = torch.linspace(1e-6, 3e-3, 50, dtype=torch.float64).requires_grad_()
    rate = scale * (depth - before)
    energy, force, stiffness = contact_law(depth, torch.full((50,), 1e4, dtype=torch.float64), 5e-4, rate, scale)
    (slope,) = torch.autograd.grad(energy.sum(), depth, retain_graph=True)
    (along,) = torch.autograd.grad(force.sum(), depth)
    whole, *_ = contact_law(depth.detach(), torch.full((50,), 1e4).double(), 5e-4, scale * (depth.detach() - before), scale)
    steps = 0.5 * (force[1:] + force[:-1]).detach() * depth.detach().diff()
    assert torch.allclose(force, slope)
    assert torch.allclose(stiffness, along)
    assert torch.allclose(whole.diff(), steps, rtol=0.2, atol=0.02 * float(steps.max()))
    assert float(force.detach().min()) >= 0.0
    assert float(force[-1].detach()) > 10.0 * 1e4 * 3e-3
    assert float(force[depth < before - REBOUND_SPEED / scale].sum()) == 0.0


def friction(force: float, velocity: Tensor) -> Friction:
    count = len(velocity)
    ones = torch.ones(count, dtype=torch.float64)
    normal = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64).repeat(count, 1)
    contacts = Contacts(torch.arange(count), normal, 1e-5 * ones, force * ones, 1e4 * ones, 0.0, count)
    return Friction(contacts, torch.zeros_like(velocity), 0.5, 1e-3)


def test_friction_opposes_slip_with_the_coulomb_force_and_ignores_the_normal_direction() -> None:
    velocity = torch.tensor([[0.1, 0.0, 3.0], [0.0, -2.0, 0.0], [0.0, 0.0, 1.0]], dtype=torch.float64)
    _, forces = friction(10.0, velocity).value_and_derivatives(velocity, 60.0, with_hessian=True)
    assert torch.allclose(-forces.gradient[0], torch.tensor([-5.0, 0.0, 0.0], dtype=torch.float64))
    assert torch.allclose(-forces.gradient[1], torch.tensor([0.0, 5.0, 0.0], dtype=torch.float64))
    assert float(forces.gradient[2].norm()) < 1e-9
    assert float(torch.linalg.eigvalsh(forces.hessian).min()) > -1e-9


@pytest.mark.parametrize("speed", [2e-4, 9e-4, 1.1e-3, 0.1])
def test_friction_derivatives_are_those_of_its_potential(speed: float) -> None:
    scale = 60.0
    velocity = torch.tensor([[speed, 0.5 * speed, 0.3]], dtype=torch.float64)
    law = friction(10.0, velocity)

    def potential(x: Tensor) -> Tensor:
        return law.value_and_derivatives(scale * x[None], scale, with_hessian=False)[0]

    x = velocity[0] / scale
    _, forces = law.value_and_derivatives(velocity, scale, with_hessian=True)
    assert torch.allclose(forces.gradient[0], torch.func.grad(potential)(x), rtol=1e-9, atol=1e-9)
    assert torch.allclose(forces.hessian[0], torch.func.hessian(potential)(x), rtol=1e-7, atol=1e-4)
