"""Eq. 3 on the group of rigid motions: its velocity term is Euler's, and the Runge-Kutta steps stay on the group."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from neurok_ros.dynamics.explicit import acceleration, rk4
from neurok_ros.dynamics.variational import BodyPotential
from neurok_ros.kinematics import RigidBody
from validation.free_motions import TOP_MOMENTS, TOP_SPIN, top_arms, top_states
from validation.systems import GRAVITY, untouchable, velocity


@pytest.mark.parametrize("turn", [(0.0, 0.0, 0.0), (0.9, -1.4, 0.6)])
def test_a_rigid_body_accelerates_as_newton_and_euler_say(turn: tuple[float, float, float]) -> None:
    """v' = g and I w' = (I w) x w, with I in the world's axes, to rounding."""
    arms = top_arms(TOP_MOMENTS)
    kinematics = RigidBody(arms, torch.zeros(3))
    body = untouchable(kinematics, [1.0 / 6.0] * 6)
    q = kinematics.retract(kinematics.rest, velocity(0.2, 0.1, -0.3, *turn))
    spin = np.array([1.0, -2.0, 3.0])
    potential = BodyPotential(body)
    found = acceleration(kinematics, body.masses, lambda x: potential.at(q, x)[1], q, velocity(0.4, 0.0, 1.0, *spin))
    turned = (kinematics.positions(q) - q[:3]).numpy()
    inertia = sum(arm @ arm * np.eye(3) - np.outer(arm, arm) for arm in turned) / 6.0
    expected = np.linalg.solve(inertia, np.cross(inertia @ spin, spin))
    assert np.allclose(found[:3], [0.0, 0.0, -GRAVITY], atol=1e-9)
    assert np.allclose(found[3:], expected, atol=1e-9)
    assert np.abs(expected).max() > 0.5


def test_runge_kutta_follows_the_top_and_keeps_its_quaternion_one_long() -> None:
    kinematics = RigidBody(top_arms(TOP_MOMENTS), torch.zeros(3))
    masses = torch.full((6,), 1.0 / 6.0, dtype=torch.float64)
    start = velocity(0.0, 0.0, 0.0, *TOP_SPIN)
    states, _ = rk4(kinematics, masses, torch.zeros_like, kinematics.rest, start, 0.01, 15)
    truth = top_states(np.array([0.0, 0.15]))[-1]
    assert np.allclose(states[:, 3:].norm(dim=1), 1.0, atol=1e-12)
    assert np.allclose(states[-1], truth, atol=2e-7)  # one step errs by (w h)^5 / 120 = 3e-9
