"""Smooth motions whose truth is a formula or an ordinary differential equation solved far more tightly than is asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk
from torch import Tensor

from neurok_ros.dynamics import AppliedForce, Body, Conditions, Material, PointSprings, Schedule, simulate
from neurok_ros.geometry.rotations import quaternion_matrix, quaternion_multiply
from neurok_ros.kinematics import RigidBody
from neurok_ros.parameterization import KinematicParameterization
from validation.case import Case, Floats, Motion
from validation.systems import GRAVITY, DoublePendulum, Linear, Pendulum, lattice, translation, untouchable

TIMES = np.arange(121) / 60.0
"""Seconds: two of them, at the frame rate of a prediction."""
DEFAULT_STEP = 1.0 / 60.0
PENDULUM_AMPLITUDE = 2.5
"""Radians from hanging, of 3.14: the period is 1.8 times that of small swings."""


def predicted(body: Body, conditions: Conditions, times: Floats = TIMES, max_step: float = DEFAULT_STEP) -> Floats:
    """(t, n, 3) metres: the default integrator's motion; fewer frames where it gives up."""
    frames = [frame for frame in simulate(body, conditions, times.tolist(), max_step) if not frame.diverged]
    return np.stack([frame.positions.numpy() for frame in frames])


def along(kinematics: KinematicParameterization, states: Floats) -> Floats:
    """(t, n, 3) metres: particle positions at states (t, s)."""
    return np.stack([kinematics.positions(torch.from_numpy(q)).numpy() for q in states])


def solved(rate: Callable[[float, Floats], Floats], start: Floats, times: Floats) -> Floats:
    """(t, k): the solution of y' = rate(t, y) to a relative 1e-12 (Dormand-Prince of order 8)."""
    found: Any = solve_ivp(rate, (0.0, times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-13)
    solution: Floats = found.y.T
    return solution


def pendulum_angles(times: Floats, length: float, amplitude: float) -> Floats:
    """(t,) radians of a mathematical pendulum released at rest: sin(a / 2) cd(w t | k^2), k the sine of half its amplitude."""
    modulus = np.sin(0.5 * amplitude)
    frequency = np.sqrt(GRAVITY / length)
    sn, *_ = ellipj(ellipk(modulus**2) - frequency * times, modulus**2)
    angles: Floats = 2.0 * np.arcsin(modulus * sn)
    return angles


def pendulum() -> Motion:
    """Half a metre long, released from 2.5 rad."""
    length = 0.5
    kinematics = Pendulum([length], PENDULUM_AMPLITUDE)
    truth = along(kinematics, pendulum_angles(TIMES, length, PENDULUM_AMPLITUDE)[:, None])
    motion = predicted(untouchable(kinematics, [1.0]), Conditions())
    return Motion(TIMES, truth, motion, length)


def double_pendulum_rate(lengths: tuple[float, float], masses: tuple[float, float]) -> Callable[[float, Floats], Floats]:
    """The textbook's equations for two point masses, angles from hanging; y = (angles, their rates)."""
    (l1, l2), (m1, m2) = lengths, masses

    def rate(_: float, y: Floats) -> Floats:
        a, b, va, vb = y
        c, s = np.cos(a - b), np.sin(a - b)
        mass = np.array([[(m1 + m2) * l1, m2 * l2 * c], [l1 * c, l2]])
        load = np.array([-m2 * l2 * vb**2 * s - (m1 + m2) * GRAVITY * np.sin(a), l1 * va**2 * s - GRAVITY * np.sin(b)])
        return np.concatenate([y[2:], np.linalg.solve(mass, load)])

    return rate


def double_pendulum() -> Motion:
    """Both rods start level: the lower one turns over."""
    lengths, masses, start = (0.3, 0.25), (1.0, 0.6), (0.5 * np.pi, 0.5 * np.pi)
    kinematics = DoublePendulum(lengths, start)
    truth = along(kinematics, solved(double_pendulum_rate(lengths, masses), np.array([*start, 0.0, 0.0]), TIMES)[:, :2])
    motion = predicted(untouchable(kinematics, masses), Conditions())
    return Motion(TIMES, truth, motion, sum(lengths))


def chain(links: int = 6) -> tuple[Body, Tensor]:
    """A bar of Poisson ratio zero whose layers move along it only: exactly equal masses on equal linear springs, one end held.

    Returns:
        The body, and its stiffness matrix (links, links) in N/m.
    """
    length, side, modulus, density = 0.6, 0.05, 5.0e3, 500.0
    grid = lattice((side, side, length), (1, 1, links), density)
    layer = torch.round(grid.points[:, 2] / (length / links)).long()
    basis = torch.zeros(len(layer), 3, links, dtype=torch.float64)
    free = layer > 0
    basis[free.nonzero().squeeze(1), 2, layer[free] - 1] = 1.0
    nothing = torch.zeros(0, dtype=torch.int64)
    body = Body(Linear(grid.points, basis), grid.masses, nothing, nothing.double(), Material(modulus, 0.0), grid.sites)
    spring = modulus * side**2 / (length / links)
    stiffness = 2.0 * torch.eye(links).double() - torch.diag(torch.ones(links - 1).double(), 1)
    stiffness -= torch.diag(torch.ones(links - 1).double(), -1)
    stiffness[-1, -1] = 1.0
    return body, spring * stiffness


def chain_modes(body: Body, stiffness: Tensor) -> tuple[Floats, Floats]:
    """Angular frequencies (k,) in rad/s and mass-normalised modes (k, k) of a chain, from its eigenvalue problem."""
    inertia = (body.masses[:, None, None] * body.kinematics.jacobian(body.kinematics.rest) ** 2).sum((0, 1)).sqrt()
    eigenvalues, vectors = torch.linalg.eigh(stiffness / inertia[:, None] / inertia[None])
    return eigenvalues.sqrt().numpy(), (vectors / inertia[:, None]).numpy()


def spring_chain() -> Motion:
    """The two lowest modes at once, from a start with velocity: 1.0 and 3.0 Hz."""
    body, stiffness = chain()
    frequencies, modes = chain_modes(body, stiffness)
    amplitudes = np.array([0.02, 0.004, 0.0, 0.0, 0.0, 0.0]) / np.abs(modes).max(0)
    states = (np.sin(TIMES[:, None] * frequencies) * amplitudes) @ modes.T
    start = torch.from_numpy(modes @ (frequencies * amplitudes))
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), initial_velocity=start)
    motion = predicted(body, conditions, max_step=1.0 / 120.0)
    return Motion(TIMES, along(body.kinematics, states), motion, body.length)


def top_arms(principal: tuple[float, float, float]) -> Tensor:
    """(6, 3) metres: six particles of one sixth kg each, on the axes, with these principal moments (kg m^2)."""
    squares = 0.5 * (sum(principal) - 2.0 * np.array(principal))
    reach = np.sqrt(3.0 * squares)
    return torch.from_numpy(np.concatenate([np.diag(reach), -np.diag(reach)]))


TOP_MOMENTS = (0.010, 0.016, 0.020)
"""kg m^2."""
TOP_SPIN = (0.2, 5.0, 0.3)
"""rad/s: about the middle axis, around which the top turns over again and again (Dzhanibekov)."""


def top_states(times: Floats) -> Floats:
    """(t, 7) states of the top as a `RigidBody` about its centre, by Euler's equations."""
    moments = np.array(TOP_MOMENTS)

    def rate(_: float, y: Floats) -> Floats:
        spin = y[4:]
        turning = quaternion_multiply(torch.from_numpy(y[:4]), torch.tensor([*spin, 0.0], dtype=torch.float64)).numpy()
        return np.concatenate([0.5 * turning, np.cross(moments * spin, spin) / moments])

    turns = solved(rate, np.array([0.0, 0.0, 0.0, 1.0, *TOP_SPIN]), times)[:, :4]
    return np.concatenate([np.zeros((len(times), 3)), turns], axis=1)


def euler_top() -> Motion:
    """A free body of one kilogram, spun about its middle axis."""
    kinematics = RigidBody(top_arms(TOP_MOMENTS), torch.zeros(3))
    truth = along(kinematics, top_states(TIMES))
    start = torch.tensor([0.0, 0.0, 0.0, *TOP_SPIN], dtype=torch.float64)
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), initial_velocity=start)
    motion = predicted(untouchable(kinematics, [1.0 / 6.0] * 6), conditions)
    return Motion(TIMES, truth, motion, float(np.ptp(truth[0], axis=0).max()))


def spinning_projectile() -> Motion:
    """Thrown up and along with 6 rad/s about its axis of largest moment, tilted by 0.4 rad against its path: that axis stays."""
    spin, velocity, tilt = 6.0, np.array([0.8, 0.3, 4.0]), 0.4
    tilted = torch.tensor([np.sin(0.5 * tilt), 0.0, 0.0, np.cos(0.5 * tilt)])
    kinematics = RigidBody(top_arms(TOP_MOMENTS) @ quaternion_matrix(tilted.double()).T, torch.zeros(3))
    axis = np.array([0.0, -np.sin(tilt), np.cos(tilt)])
    half = 0.5 * spin * TIMES[:, None]
    places = velocity * TIMES[:, None] - 0.5 * GRAVITY * TIMES[:, None] ** 2 * np.array([0.0, 0.0, 1.0])
    truth = along(kinematics, np.concatenate([places, np.sin(half) * axis, np.cos(half)], axis=1))
    start = torch.from_numpy(np.concatenate([velocity, spin * axis]))
    motion = predicted(untouchable(kinematics, [1.0 / 6.0] * 6), Conditions(initial_velocity=start))
    return Motion(TIMES, truth, motion, float(np.ptp(truth[0], axis=0).max()))


PULL, STIFFNESS, RISE = 10.0, 40.0, 0.7
"""N at the end of the force's rise; N/m; seconds."""


def forced_oscillator_setup() -> tuple[Body, Conditions]:
    """1 kg on a spring (1 Hz), pulled by a force that grows evenly and stays."""
    body = untouchable(translation(torch.zeros(1, 3, dtype=torch.float64)), [1.0])
    particle, axis = torch.zeros(1, dtype=torch.int64), torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)
    springs = PointSprings(particle, -axis, torch.tensor([STIFFNESS]).double(), torch.ones(1).double())
    pull = AppliedForce(particle, Schedule(np.array([0.0, RISE]), torch.cat([0.0 * axis, PULL * axis])))
    return body, Conditions(gravity=(0.0, 0.0, 0.0), springs=(springs,), forces=(pull,))


def forced_oscillator() -> Motion:
    """x = F / k (t - sin(w t) / w) / T under the ramp, and from its end on the difference of two such, T apart."""
    body, conditions = forced_oscillator_setup()
    frequency = np.sqrt(STIFFNESS / body.mass)

    def ramp(times: Floats) -> Floats:
        begun = np.maximum(times, 0.0)
        response: Floats = PULL / STIFFNESS * (begun - np.sin(frequency * begun) / frequency) / RISE
        return response

    states = np.zeros((len(TIMES), 3))
    states[:, 0] = ramp(TIMES) - ramp(TIMES - RISE)
    motion = predicted(body, conditions)
    return Motion(TIMES, along(body.kinematics, states), motion, 1.0)


CASES = [
    Case("pendulum", "closed form", "Released from 2.5 rad, against elliptic functions", pendulum),
    Case("double pendulum", "closed form", "From level, against the ODE at 1e-12", double_pendulum),
    Case(
        "spring-mass chain",
        "closed form",
        "Two modes of six masses, against normal modes; steps of at most 1/120 s",
        spring_chain,
    ),
    Case("forced oscillator", "closed form", "A spring pulled by a growing force", forced_oscillator),
    Case("Euler top", "closed form", "Spun about its middle axis, against Euler's equations at 1e-12", euler_top),
    Case("projectile with spin", "closed form", "Thrown body, against parabola and uniform rotation", spinning_projectile),
]
