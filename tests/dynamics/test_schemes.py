"""The time discretisations on a spring: order, exactness and numerical damping, as their docstrings state them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from neurok_ros.dynamics.schemes import Discretisation, Scheme


def oscillate(scheme: Scheme, frequency: float, steps: list[float]) -> tuple[float, float]:
    """Position and velocity at the end, from position 1 at rest; the first step is START."""
    x, v = torch.ones(1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    x_before, v_before, before = x, v, steps[0]
    for count, step in enumerate(steps):
        d = Discretisation.of(Scheme.START if count == 0 else scheme, step, before)
        target = d.target(x, x_before, v, v_before)
        new = d.inertia() * target / (d.inertia() + frequency**2)
        new_velocity = d.scale * new + d.rate_offset(x, x_before, v)
        x, v, x_before, v_before, before = new, new_velocity, x, v, step
    return float(x), float(v)


@pytest.mark.parametrize(("scheme", "order"), [(Scheme.BDF1, 1.0), (Scheme.BDF2, 2.0)])
@pytest.mark.parametrize("pattern", [[1.0], [1.0, 0.6]])
def test_order_with_equal_and_unequal_steps(scheme: Scheme, order: float, pattern: list[float]) -> None:
    errors = []
    for count in (200, 400):
        steps = np.tile(pattern, count)
        x, _ = oscillate(scheme, 2.0 * np.pi, list(0.8 * steps / steps.sum()))
        errors.append(abs(x - np.cos(2.0 * np.pi * 0.8)))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.15)


@pytest.mark.parametrize(("scheme", "ratio"), [(Scheme.BDF1, 0.0523), (Scheme.BDF2, 0.000279)])
def test_damping_ratio_of_a_swing_of_sixty_steps(scheme: Scheme, ratio: float) -> None:
    periods = 5
    energy = []
    for extra in (60, 60 + 60 * periods):
        x, v = oscillate(scheme, 2.0 * np.pi, [1.0 / 60.0] * extra)
        energy.append(x**2 + (v / (2.0 * np.pi)) ** 2)
    measured = -0.5 * np.log(energy[1] / energy[0]) / (2.0 * np.pi * periods)
    assert measured == pytest.approx(ratio, rel=0.05)


def test_a_constant_force_is_followed_exactly_by_start_and_bdf2() -> None:
    x = v = torch.zeros(1, dtype=torch.float64)
    x_before, v_before, before, time = x, v, 0.1, 0.0
    for count, step in enumerate([0.1, 0.05, 0.07, 0.1]):
        d = Discretisation.of(Scheme.START if count == 0 else Scheme.BDF2, step, before)
        new = d.target(x, x_before, v, v_before) - 9.81 / d.inertia()
        x, v, x_before, v_before, before = new, d.scale * new + d.rate_offset(x, x_before, v), x, v, step
        time += step
        assert float(x) == pytest.approx(-0.5 * 9.81 * time**2)
        assert float(v) == pytest.approx(-9.81 * time)
