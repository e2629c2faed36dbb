"""With exact kinematics the dynamics and MuJoCo agree within 2 % of the peak displacement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from validation.case import Motion
from validation.mujoco.articulated import door_setting, lid_swings
from validation.mujoco.comparison import compared
from validation.mujoco.free_box import slide

AGREED_PERCENT = 2.0
"""Of the peak displacement: what issue and design ask for."""


def worst_percent(motion: Motion) -> float:
    assert len(motion.predicted) == len(motion.times)
    return max(motion.percent(motion.peak()).values())


def test_a_door_pushed_and_let_go() -> None:
    motion = compared(door_setting(1.0))
    assert motion.peak() > 0.5
    assert worst_percent(motion) < AGREED_PERCENT
    assert motion.figures["reference_penetration_mm"] < 0.1  # of a handful of millimetres that contact could hide


def test_the_swing_of_a_lid_at_the_default_step() -> None:
    """Too fast for steps of 1/60 s, with which it was 9 % off: they shorten."""
    assert worst_percent(compared(replace(lid_swings(), seconds=1.0))) < AGREED_PERCENT


def test_a_box_slides_on_as_far_as_coulomb_and_mujoco_say() -> None:
    speed = 0.6
    setting = replace(slide(speed), seconds=0.7)
    motion = compared(setting)
    assert worst_percent(motion) < AGREED_PERCENT
    pushed, friction, gravity = 0.2, 0.4, 9.81
    stops = pushed + speed**2 / (2.0 * friction * gravity)
    reached = (motion.truth[-1] - motion.truth[0]).mean(0)[0]
    assert reached == pytest.approx(stops, rel=0.01)  # the reference itself against the closed form
