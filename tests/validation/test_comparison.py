"""The baselines do what their names say, and the score counts what failed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from neurok_ros.dynamics import Body, Material, ToolKind, ToolShape
from validation.comparison import METHODS, score
from validation.latent_models import STEP, ConstantVelocity, FirstOrder, LearnedStep, World
from validation.mujoco.comparison import through
from validation.stress_bodies import LinearStates

BALL = ToolShape(ToolKind.SPHERE, (0.02,))
AWAY = through((0.0, 9.0, 9.0, 9.0), (1.0, 9.0, 9.0, 9.0))


def bead(axis: int) -> World:
    """A particle of 2 kg at the origin on a wire along an axis."""
    field = torch.zeros(1, 3, 1, dtype=torch.float64)
    field[0, axis, 0] = 1.0
    states = LinearStates(torch.zeros(1, 3, dtype=torch.float64), field)
    one = torch.ones(1, dtype=torch.float64)
    return World(Body(states, 2.0 * one, torch.tensor([0]), 1e-4 * one, Material()), torch.eye(1).double(), BALL, support=False)


def test_constant_velocity_keeps_the_speed_that_the_tool_gave() -> None:
    """A ball at 0.3 m/s takes the bead with it for 0.06 m and withdraws: the bead goes on at 0.3 m/s, to a step's rounding."""
    path = through((0.0, -0.05, 0.0, 0.0), (0.3, 0.04, 0.0, 0.0), (0.5, -0.1, 0.0, 0.0))
    z = ConstantVelocity().rollout(bead(0), path, torch.zeros(1).double(), 61)[:, 0].numpy()
    assert z[5] == 0.0
    assert z[18] == pytest.approx(0.06, abs=2e-5)
    np.testing.assert_allclose(np.diff(z[18:]) / STEP, 0.3, atol=2e-3)


def test_first_order_sinks_at_weight_over_damping() -> None:
    z = FirstOrder(40.0).rollout(bead(2), AWAY, torch.zeros(1).double(), 31)[:, 0].numpy()
    np.testing.assert_allclose(z, -2.0 * 9.81 / 40.0 * STEP * np.arange(31), rtol=1e-12)


def test_a_state_below_the_support_is_put_on_it() -> None:
    world = World(bead(2).body, torch.eye(1).double(), None, support=True)
    z = world.put_out(torch.tensor([-0.3]).double(), *AWAY.pose(0.0))
    assert float(z[0]) == pytest.approx(0.0, abs=1e-5)


def test_the_learned_step_learns_an_oscillation() -> None:
    """From three amplitudes of a 1 Hz swing to a fourth between them: within a tenth of the amplitude after half a second."""
    swing = torch.cos(2.0 * torch.pi * STEP * torch.arange(61, dtype=torch.float64))[:, None]
    step = LearnedStep([a * swing for a in (0.5, 1.0, 1.5)], [AWAY] * 3, 1e-3, 400)
    found = step.rollout(bead(0), AWAY, 1.2 * swing[0], 31)
    assert float((found - 1.2 * swing[:31]).abs().max()) < 0.12


def test_a_failure_is_counted_and_enters_no_mean() -> None:
    errors = np.stack([np.full(121, 2.0), np.full(121, 4.0), np.full(121, 2.0)])
    errors[2, 90:] = np.inf
    found = score("door", METHODS[0], errors)
    assert (found.pushes, found.failures) == (3, 1)
    assert found.rmse_percent_of_size == {"0.1": 3.0, "0.5": 3.0, "1": 3.0, "2": 3.0}
    assert found.worst_percent_of_size == 4.0


def test_times_after_the_end_are_not_judged() -> None:
    assert score("block", METHODS[0], np.ones((2, 61))).rmse_percent_of_size == {"0.1": 1.0, "0.5": 1.0, "1": 1.0, "2": None}
