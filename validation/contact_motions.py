"""Blocks on the ground that slide, tip, land, rest and are pushed."""

from __future__ import annotations

import numpy as np

from neurok_ros.dynamics import Conditions, ToolKind, ToolShape, simulate
from validation.case import Case, Floats, Motion
from validation.free_motions import DEFAULT_STEP, TIMES, predicted, solved
from validation.quasi_static import PushedBlock
from validation.systems import GRAVITY, rigid_box, sliding_box, straight_push, velocity

FLOOR = (0.0, 0.0, 1.0, 0.0)
RESTING_STEPS = 10_000


def shifted(rest: Floats, shifts: Floats) -> Floats:
    """(t, n, 3) metres: points (n, 3) carried along by shifts (t, 3)."""
    return rest[None] + shifts[:, None]


def stopping_block() -> Motion:
    """At 2 m/s on friction 0.3 it stops after 0.68 s and 0.68 m, and stays."""
    friction, speed = 0.3, 2.0
    body = rigid_box((0.1, 0.1, 0.05), friction=friction)
    moving = np.minimum(TIMES, speed / (friction * GRAVITY))
    shifts = np.zeros((len(TIMES), 3))
    shifts[:, 0] = speed * moving - 0.5 * friction * GRAVITY * moving**2
    start = velocity(speed, 0.0, 0.0, 0.0, 0.0, 0.0)
    motion = predicted(body, Conditions(support=FLOOR, initial_velocity=start))
    return Motion(TIMES, shifted(body.rest_positions.numpy(), shifts), motion, body.length)


def block_on_incline() -> Motion:
    """30 degrees, friction 0.4: down at g (sin a - 0.4 cos a)."""
    friction, angle = 0.4, np.pi / 6.0
    body = rigid_box((0.1, 0.1, 0.05), friction=friction)
    shifts = np.zeros((len(TIMES), 3))
    shifts[:, 0] = 0.5 * GRAVITY * (np.sin(angle) - friction * np.cos(angle)) * TIMES**2
    gravity = (GRAVITY * np.sin(angle), 0.0, -GRAVITY * np.cos(angle))
    motion = predicted(body, Conditions(gravity=gravity, support=FLOOR))
    return Motion(TIMES, shifted(body.rest_positions.numpy(), shifts), motion, body.length)


def landing_block() -> Motion:
    """Falls 0.3 m and stays where it lands, for 10,000 further steps."""
    body, height = sliding_box((0.1, 0.1, 0.1)), 0.3
    shifts = np.zeros((len(TIMES), 3))
    shifts[:, 2] = np.maximum(-0.5 * GRAVITY * TIMES**2, -height)
    later = TIMES[-1] + RESTING_STEPS * DEFAULT_STEP
    motion = predicted(body, Conditions(support=(0.0, 0.0, 1.0, height)), np.append(TIMES, later))
    drift = 1e3 * float(np.linalg.norm(motion[-1] - motion[len(TIMES) - 1], axis=1).max())
    truth = shifted(body.rest_positions.numpy(), shifts)
    return Motion(TIMES, truth, motion[: len(TIMES)], body.length, {"drift_over_10000_resting_steps_mm": drift})


def tipping_block() -> Motion:
    """A tower that is set turning about its lower edge with half as much again as the energy that lifts it over the edge.

    I a'' = -m g r sin(b - a), the inverted pendulum about the edge, as long as the edge neither lifts nor slips.
    """
    width, height, friction = 0.1, 0.3, 1.0
    body = rigid_box((width, width, height), friction=friction, cells=(4, 4, 12))
    arms = body.rest_positions.numpy() - np.array([0.5 * width, 0.0, 0.0])
    masses = body.masses.numpy()
    inertia = float(masses @ (arms[:, 0] ** 2 + arms[:, 2] ** 2))
    reach, balance = 0.5 * np.hypot(width, height), np.arctan2(width, height)
    spin = np.sqrt(2.0 * 1.5 * body.mass * GRAVITY * (reach - 0.5 * height) / inertia)
    times = np.arange(0.0, 0.6, DEFAULT_STEP)

    def rate(_: float, y: Floats) -> Floats:
        return np.array([y[1], -body.mass * GRAVITY * reach * np.sin(balance - y[0]) / inertia])

    angles = solved(rate, np.array([0.0, spin]), times)[:, 0]
    kept = angles < np.pi / 3.0
    cosines, sines = np.cos(angles[kept])[:, None], np.sin(angles[kept])[:, None]
    truth = np.stack(
        [
            cosines * arms[:, 0] + sines * arms[:, 2],
            np.broadcast_to(arms[:, 1], (kept.sum(), len(arms))),
            cosines * arms[:, 2] - sines * arms[:, 0],
        ],
        axis=2,
    )
    start = velocity(spin * 0.5 * height, 0.0, spin * 0.5 * width, 0.0, spin, 0.0)
    motion = predicted(body, Conditions(support=FLOOR, initial_velocity=start), times[kept])
    return Motion(times[kept], truth + np.array([0.5 * width, 0.0, 0.0]), motion, body.length)


def pushed_block() -> Motion:
    """A square block pushed 10 cm at 5 cm/s by a sphere that takes it at a point off its middle: it turns as it goes."""
    side, height, friction, speed, cells = 0.12, 0.04, 0.7, 0.05, 6
    body = rigid_box((side, side, height), 500.0, friction, (cells, cells, 2))
    rest, radius = body.rest_positions.numpy(), 0.008
    point = np.array([-0.5 * side, side / cells])
    push = np.array([speed, 0.0])
    feet = rest[rest[:, 2] < 1e-9][:, :2]
    block = PushedBlock(feet, point, 0.5 * height, body.mass, friction)
    centres, angles = block.poses(TIMES, np.zeros(2), push)
    cosines, sines = np.cos(angles)[:, None], np.sin(angles)[:, None]
    turned = np.stack([cosines * rest[:, 0] - sines * rest[:, 1], sines * rest[:, 0] + cosines * rest[:, 1]], axis=2)
    truth = np.concatenate([turned + centres[:, None], np.broadcast_to(rest[:, 2:], (len(TIMES), len(rest), 1))], axis=2)
    place = np.array([point[0] - radius, point[1], 0.5 * height])
    path = straight_push(place, place + np.array([speed * TIMES[-1], 0.0, 0.0]), float(TIMES[-1]))
    conditions = Conditions(support=FLOOR, tool=ToolShape(ToolKind.SPHERE, (radius,)), path=path)
    frames = list(simulate(body, conditions, TIMES.tolist()))
    forces = np.array([-frame.tool_force[:2] for frame in frames[30:]])
    expected = np.array([block.turning(angle, push)[1] for angle in angles[30:]])
    figures = {
        "turned_deg": float(np.degrees(angles[-1])),
        "ellipsoid_turned_deg": float(np.degrees(block.ellipsoid_angle(float(TIMES[-1]), push))),
        "force_direction_deg": float(np.degrees(np.arctan2(np.abs(expected[:, 1]), expected[:, 0]).max())),
        "mean_force_error_percent": 100.0
        * float(np.linalg.norm(forces.mean(0) - expected.mean(0)) / np.linalg.norm(expected.mean(0))),
    }
    return Motion(
        TIMES, truth, np.stack([frame.positions.numpy() for frame in frames if not frame.diverged]), body.length, figures
    )


CASES = [
    Case("sliding block", "closed form", "Slides to a stop: v t - m g t^2 / 2", stopping_block),
    Case("block on an incline", "closed form", "Slides down beyond the friction angle", block_on_incline),
    Case("landing block", "closed form", "Falls, lands without rebound and rests", landing_block),
    Case("tipping block", "closed form", "Tips over its edge, against the inverted pendulum", tipping_block),
    Case("pushed block", "closed form", "Pushed off its middle, against the quasi-static limit surface", pushed_block),
]
