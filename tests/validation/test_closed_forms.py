"""The suite's references hold by themselves, and the default integrator follows them within the suite's target."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import ellipk

from validation.case import Case
from validation.closed_forms import CASES
from validation.free_motions import (
    TIMES,
    TOP_MOMENTS,
    chain,
    chain_modes,
    double_pendulum_rate,
    pendulum_angles,
    solved,
    top_arms,
    top_states,
)
from validation.outcomes import run_case
from validation.quasi_static import PushedBlock
from validation.report import TARGET_PERCENT_OF_PEAK
from validation.systems import GRAVITY, lattice

RESTS_FOR_MINUTES = "landing block"
"""The report lets it rest for 10,000 steps; here `tests/physics/test_contact.py` does."""


@pytest.mark.parametrize("case", [c for c in CASES if c.name != RESTS_FOR_MINUTES], ids=lambda c: c.name)
def test_the_default_integrator_stays_within_the_target(case: Case) -> None:
    outcome = run_case(case)
    assert not outcome.failure
    assert outcome.worst_percent_of_peak < TARGET_PERCENT_OF_PEAK


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_pendulum_formula_starts_at_its_amplitude_and_repeats() -> None:
    period = 4.0 * np.sqrt(0.5 / GRAVITY) * ellipk(np.sin(1.25) ** 2)
    angles = pendulum_angles(period * np.array([0.0, 0.25, 0.5, 1.0]), 0.5, 2.5)
    assert np.allclose(angles, [2.5, 0.0, -2.5, 2.5], atol=1e-6)  # arcsin is steep at the ends


def test_the_double_pendulum_reference_keeps_its_energy() -> None:
    (l1, l2), (m1, m2) = lengths, masses = (0.3, 0.25), (1.0, 0.6)
    a, b, va, vb = solved(double_pendulum_rate(lengths, masses), np.array([1.5, 1.5, 0.0, 0.0]), TIMES).T
    kinetic = 0.5 * (m1 + m2) * l1**2 * va**2 + 0.5 * m2 * l2**2 * vb**2 + m2 * l1 * l2 * va * vb * np.cos(a - b)
    energy = kinetic - GRAVITY * ((m1 + m2) * l1 * np.cos(a) + m2 * l2 * np.cos(b))
    assert np.ptp(energy) < 1e-9 * kinetic.max()


def test_the_chain_is_one_of_equal_masses_on_equal_springs() -> None:
    """Closed form of its frequencies, 2 sqrt(k/m) sin((2 j - 1) pi / (4 n + 2)), for n masses; the last one of this chain is
    half as heavy, which is the other closed form: 2 sqrt(k/m) sin((2 j - 1) pi / (4 n))."""
    body, stiffness = chain(6)
    frequencies, _ = chain_modes(body, stiffness)
    spring = float(stiffness[-1, -1])
    mass = float(body.masses.sum()) / 6.0
    expected = 2.0 * np.sqrt(spring / mass) * np.sin((2.0 * np.arange(1, 7) - 1.0) * np.pi / 24.0)
    assert np.allclose(frequencies, expected, rtol=1e-9)


def test_the_top_has_the_moments_it_is_given_and_keeps_its_momentum() -> None:
    arms = top_arms(TOP_MOMENTS)
    inertia = sum(float(arm @ arm) * torch.eye(3).double() - torch.outer(arm, arm) for arm in arms) / 6.0
    assert np.allclose(inertia, np.diag(TOP_MOMENTS), atol=1e-12)
    states = top_states(TIMES)
    assert np.allclose(np.linalg.norm(states[:, 3:], axis=1), 1.0, atol=1e-10)


def test_a_push_through_the_middle_does_not_turn_and_costs_the_friction() -> None:
    feet = lattice((0.12, 0.12, 0.04), (6, 6, 1)).points[:, :2].numpy()[::2]
    block = PushedBlock(feet, np.array([-0.06, 0.0]), 0.0, 0.5, 0.4)
    turn, force = block.turning(0.0, np.array([0.05, 0.0]))
    assert turn == pytest.approx(0.0, abs=1e-5)
    assert np.allclose(force, [0.4 * 0.5 * GRAVITY, 0.0], atol=1e-4)


def test_pushed_block_takes_the_turn_at_which_the_moment_about_the_pusher_vanishes() -> None:
    """The pusher's contact point bears no moment: so neither does friction about it."""
    feet = lattice((0.12, 0.12, 0.04), (6, 6, 1)).points[:, :2].numpy()[::2]
    point, push = np.array([-0.06, 0.02]), np.array([0.05, 0.0])
    block = PushedBlock(feet, point, 0.0, 0.5, 0.4)
    turn, force = block.turning(0.0, push)
    arms = feet - point
    slip = push + turn * np.stack([-arms[:, 1], arms[:, 0]], axis=1)
    friction = -0.4 * 0.5 * GRAVITY / len(feet) * slip / np.linalg.norm(slip, axis=1)[:, None]
    moment = (arms[:, 0] * friction[:, 1] - arms[:, 1] * friction[:, 0]).sum()
    assert abs(moment) < 1e-3 * 0.06 * 0.4 * 0.5 * GRAVITY
    assert np.allclose(friction.sum(0) + force, 0.0, atol=1e-9)
    assert block.ellipsoid_turning(0.0, push) == pytest.approx(turn, rel=0.25)  # an approximation to within some 20 %
