"""Priors, limits and damping of the state: derivatives, and motions known in closed form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from neurok_ros.dynamics import (
    Body,
    Conditions,
    CoordinateDamping,
    CoordinateLimits,
    DistanceLimit,
    KineticDamping,
    Material,
    StatePrior,
    simulate,
)
from neurok_ros.dynamics.state_space import StateEnergy, dissipation
from validation.systems import GRAVITY, Linear, Pendulum, Rigid, quaternion_matrix, skew

STEP = 1.0 / 60.0
WEIGHTLESS = (0.0, 0.0, 0.0)
NOTHING = torch.zeros(0, dtype=torch.int64)


def real(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def hinge(angle: float = 0.0, mass: float = 2.0, arm: float = 0.4) -> Body:
    """A weightless rod with a mass at its end: inertia mass arm^2."""
    return Body(Pendulum([arm], angle), real(mass), NOTHING, NOTHING.double(), Material())


WHITENING = torch.tensor([[2.0, 0.3, 0.0], [0.0, 1.0, -0.4], [0.0, 0.0, 0.7]], dtype=torch.float64)
ENERGIES: list[StateEnergy] = [
    StatePrior(3.0, real(0.1, 0.0, -0.2)),
    CoordinateLimits(real(-0.5, -1.0, -torch.inf), real(0.5, torch.inf, 1.0), real(3.0, 2.0, 1.0)),
    DistanceLimit(real(0.2, 0.0, 0.0), 1.1, 5.0),
    DistanceLimit(real(0.2, 0.0, 0.0), 1.1, 5.0, WHITENING),
]


@pytest.mark.parametrize("energy", ENERGIES, ids=lambda e: type(e).__name__)
def test_derivatives_are_those_of_the_energy(energy: StateEnergy) -> None:
    """By central differences; half a thousandth of the size at differences of 1e-5."""
    generator = torch.Generator().manual_seed(0)
    pushed_back = 0
    for _ in range(20):
        q = 1.5 * torch.randn(3, generator=generator, dtype=torch.float64)
        forces = energy.at(q)
        steps = 1e-5 * torch.eye(3, dtype=torch.float64)
        gradient = real(*((energy.at(q + s).value - energy.at(q - s).value) / 2e-5 for s in steps))
        hessian = torch.stack([(energy.at(q + s).gradient - energy.at(q - s).gradient) / 2e-5 for s in steps])
        assert torch.allclose(forces.gradient, gradient, atol=1e-6)
        assert torch.allclose(forces.hessian, hessian, atol=1e-5)
        assert float(torch.linalg.eigvalsh(forces.hessian).min()) > -1e-12
        pushed_back += forces.value > 0.0
    assert pushed_back > 5


def test_dissipation_is_a_potential_of_its_force() -> None:
    matrix = WHITENING.T @ WHITENING
    rate = real(0.3, -0.2, 0.5)
    still = dissipation(matrix, rate, 60.0)
    assert torch.allclose(still.gradient, matrix @ rate)
    ahead = dissipation(matrix, rate + 60.0 * real(1e-6, 0.0, 0.0), 60.0)
    assert (ahead.value - still.value) / 1e-6 == pytest.approx(float(still.gradient[0]), rel=1e-3)


def test_a_prior_makes_a_hinge_swing_with_its_own_period() -> None:
    """I q'' = -w q: T = 2 pi sqrt(I / w)."""
    body = replace(hinge(0.0), state_energies=(StatePrior(8.0, real(0.0)),))
    period = 2.0 * np.pi * np.sqrt(2.0 * 0.4**2 / 8.0)
    conditions = Conditions(gravity=WEIGHTLESS, initial_velocity=real(1.0))
    quarter, half = simulate(body, conditions, [period / 4.0, period / 2.0], period / 400.0)
    assert float(quarter.q) == pytest.approx(period / (2.0 * np.pi), rel=1e-3)
    assert float(half.q) == pytest.approx(0.0, abs=1e-3 * period)
    assert quarter.state_energy == pytest.approx(0.5 * 0.32, rel=2e-3)  # all of the kinetic energy


@pytest.mark.parametrize("damping", [CoordinateDamping(real(0.64)), KineticDamping(2.0, 1)], ids=["joint", "kinetic"])
def test_a_damped_hinge_slows_down_exponentially(damping: CoordinateDamping | KineticDamping) -> None:
    """Inertia 0.32 kg m^2 and 0.64 N m s/rad: q' = exp(-2 t), q = (1 - exp(-2 t)) / 2. Second order, 60 steps a second."""
    body = replace(hinge(), state_damping=damping)
    (frame,) = simulate(body, Conditions(gravity=WEIGHTLESS, initial_velocity=real(1.0)), [1.0])
    assert float(frame.q) == pytest.approx(0.5 * (1.0 - np.exp(-2.0)), rel=2e-3)
    assert frame.kinetic_energy == pytest.approx(0.5 * 0.32 * np.exp(-4.0), rel=5e-3)


class Stretched(Pendulum):
    """The same rod, its angle named by another number: angle = q + q^3."""

    def positions(self, q: Tensor) -> Tensor:
        return super().positions(q + q**3)

    def jacobian(self, q: Tensor) -> Tensor:
        return super().jacobian(q + q**3) * (1.0 + 3.0 * q**2)


def test_kinetic_damping_does_not_depend_on_the_numbers_that_name_a_shape() -> None:
    plain = replace(hinge(), state_damping=KineticDamping(3.0, 1))
    stretched = replace(plain, kinematics=Stretched([0.4], 0.0))
    ends = [
        next(iter(simulate(body, Conditions(gravity=(4.0, 0.0, 0.0), initial_velocity=real(1.0)), [1.0], 1.0 / 240.0)))
        for body in (plain, stretched)
    ]
    assert float(ends[0].positions[0, 0]) > 0.2
    assert float((ends[0].positions - ends[1].positions).norm()) < 0.015 * 0.4  # G of each step's start: first order


def test_a_falling_rod_comes_to_rest_at_its_stop() -> None:
    """Stopped at 0.5 rad from hanging; the stop gives way by torque / stiffness."""
    stop = CoordinateLimits(real(0.5), real(np.pi), real(2000.0))
    body = replace(hinge(1.5), state_energies=(stop,), state_damping=CoordinateDamping(real(3.0)))
    frames = list(simulate(body, Conditions(), np.arange(1, 241) * STEP))
    torque = 2.0 * GRAVITY * 0.4 * np.sin(0.5)
    assert float(frames[-1].q) == pytest.approx(0.5 - torque / 2000.0, abs=1e-4)
    assert frames[-1].beyond_limits == pytest.approx(torque / 2000.0, rel=0.01)
    assert frames[0].beyond_limits == 0.0
    assert max(f.beyond_limits for f in frames) < 0.1  # 0.32 kg m^2 at 5 rad/s: sqrt(I / c) q' = 0.06


class PosedPair:
    """A rigid pose before two internal coordinates that slide one particle: how a learned state space looks."""

    dim = 8

    def __init__(self) -> None:
        self._points = torch.tensor([[-0.1, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], dtype=torch.float64)
        basis = torch.zeros(4, 3, 2, dtype=torch.float64)
        basis[3, 0, 0] = basis[3, 1, 1] = 0.05
        self._inner = Linear(self._points, basis)
        self._body = Rigid(self._points)
        self.rest = torch.cat([self._body.rest, self._inner.rest])

    def positions(self, q: Tensor) -> Tensor:
        return q[:3] + self._local(q) @ quaternion_matrix(q[3:7]).T

    def _local(self, q: Tensor) -> Tensor:
        return self._inner.positions(q[7:]) - self._points.mean(0)

    def jacobian(self, q: Tensor) -> Tensor:
        turn = quaternion_matrix(q[3:7])
        arms = self._local(q) @ turn.T
        eye = torch.eye(3, dtype=torch.float64).repeat(4, 1, 1)
        return torch.cat([eye, -skew(arms), turn @ self._inner.jacobian(q[7:])], dim=2)

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        return torch.cat([self._body.retract(q[:7], step[:6]), q[7:] + step[6:]])


def test_a_free_body_with_internal_coordinates_keeps_its_momenta_whatever_acts_on_them() -> None:
    """Damping and a limit of the internal state are forces between the body's parts: the whole flies and turns on."""
    energies = (DistanceLimit(real(0.0, 0.0), 0.5, 0.4), StatePrior(0.01, real(0.0, 0.0)))
    body = Body(PosedPair(), real(1.0, 1.0, 1.0, 0.5), NOTHING, NOTHING.double(), Material(), state_energies=energies)
    body = replace(body, state_damping=KineticDamping(1.0, 2))
    start = real(0.3, 0.0, 0.0, 0.0, 0.4, 1.0, 4.0, 0.0)
    momenta = []
    frames = list(simulate(body, Conditions(gravity=WEIGHTLESS, initial_velocity=start), np.arange(0, 61) * STEP, 1.0 / 240.0))
    for frame in frames:
        moment = body.masses[:, None] * frame.velocities
        momenta.append(torch.cat([moment.sum(0), torch.linalg.cross(frame.positions, moment).sum(0)]))
    assert max(f.beyond_limits for f in frames) > 0.01
    energy = [f.kinetic_energy + f.state_energy for f in frames]
    assert energy[-1] < energy[0] - 1e-3
    assert float((momenta[-1] - momenta[0])[:3].norm()) < 1e-4  # the solver's tolerance, 240 times
    assert float((momenta[-1] - momenta[0])[3:].norm()) < 0.01 * float(momenta[0][3:].norm())
