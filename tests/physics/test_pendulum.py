"""A pendulum at large amplitude: its period is an elliptic integral, its energy is constant."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import ellipk
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, Material, SolverSettings, simulate
from neurok_ros.dynamics.explicit import rk4
from validation.systems import GRAVITY, Pendulum

AMPLITUDE = 2.0
"""Radians: far outside the range where the period is 2 pi sqrt(l / g)."""


def pendulum(distances: list[float], masses: list[float]) -> tuple[Body, float]:
    """A pendulum body and its period (s), 4 sqrt(I / (m g d)) K(sin^2(amplitude / 2))."""
    nothing = torch.zeros(0, dtype=torch.int64)
    kinematics = Pendulum(distances, AMPLITUDE)
    body = Body(kinematics, torch.tensor(masses, dtype=torch.float64), nothing, nothing.double(), Material())
    inertia = sum(m * d * d for m, d in zip(masses, distances, strict=True))
    moment = sum(m * d for m, d in zip(masses, distances, strict=True))
    return body, 4.0 * np.sqrt(inertia / (GRAVITY * moment)) * ellipk(np.sin(AMPLITUDE / 2.0) ** 2)


BODIES = [([1.0], [1.0]), ([0.2, 0.5, 0.9], [1.0, 2.0, 0.5])]


@pytest.mark.parametrize(("distances", "masses"), BODIES)
def test_implicit_steps_approach_the_elliptic_period_at_second_order(distances: list[float], masses: list[float]) -> None:
    body, period = pendulum(distances, masses)
    errors = []
    for steps in (400, 800, 1600):
        times = np.linspace(0.0, period / 4.0, 2)[1:]
        frames = list(simulate(body, Conditions(), times, period / 4.0 / steps, SolverSettings(tolerance=1e-10)))
        assert frames[-1].converged
        errors.append(abs(float(frames[-1].q[0])))
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert errors[-1] < 1e-4  # after a quarter of the period it hangs straight down
    assert np.all(orders > 1.8), (errors, orders)


@pytest.mark.parametrize(("distances", "masses"), BODIES)
def test_explicit_reference_follows_the_elliptic_period_at_fourth_order(distances: list[float], masses: list[float]) -> None:
    body, period = pendulum(distances, masses)

    def weight(x: Tensor) -> Tensor:
        return body.masses[:, None] * x.new_tensor([0.0, 0.0, -GRAVITY]).expand(len(x), 3)

    errors = []
    for steps in (25, 50):
        rest = body.kinematics.rest
        states, _ = rk4(body.kinematics, body.masses, weight, rest, torch.zeros_like(rest), period / 4.0 / steps, steps)
        errors.append(abs(float(states[-1, 0])))
    assert errors[-1] < 1e-6
    assert 3.5 < np.log2(errors[0] / errors[1]) < 5.5


def test_the_default_step_agrees_with_the_explicit_reference() -> None:
    body, _ = pendulum(*BODIES[1])

    def weight(x: Tensor) -> Tensor:
        return body.masses[:, None] * x.new_tensor([0.0, 0.0, -GRAVITY]).expand(len(x), 3)

    rest = body.kinematics.rest
    states, _ = rk4(body.kinematics, body.masses, weight, rest, torch.zeros_like(rest), 1.0 / 240.0, 240)
    frames = list(simulate(body, Conditions(), np.arange(1, 61) / 60.0))
    difference = max(abs(float(f.q[0] - states[4 * (k + 1), 0])) for k, f in enumerate(frames))
    assert difference < 0.02 * AMPLITUDE  # second order at 1/60 s, over most of a swing


def test_energy_decays_slowly_and_never_grows() -> None:
    body, _ = pendulum([1.0], [1.0])
    frames = list(simulate(body, Conditions(), np.arange(0, 5 * 60) / 60.0))
    energy = np.array([f.kinetic_energy + f.gravity_energy for f in frames])
    scale = 2.0 * GRAVITY
    assert energy.max() - energy[0] < 1e-3 * scale
    assert energy[0] - energy[-1] < 0.03 * scale  # numerical damping of BDF2 over 1.6 periods at 1/60 s
