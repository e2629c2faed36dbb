"""Figures of the integrators themselves: orders of convergence, energy over long times, work against energy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, Frame, Material, SolverSettings, ToolPath, simulate
from neurok_ros.dynamics.explicit import rk4
from neurok_ros.dynamics.variational import BodyPotential, PhasePoint, variational
from neurok_ros.kinematics import RigidBody
from validation.case import Floats
from validation.free_motions import (
    TOP_MOMENTS,
    TOP_SPIN,
    chain,
    chain_modes,
    double_pendulum_rate,
    forced_oscillator_setup,
    pendulum_angles,
    solved,
    top_arms,
    top_states,
)
from validation.systems import GRAVITY, DoublePendulum, Pendulum, box_tool, rigid_box, soft_box, untouchable, velocity

DRIFT_STEPS = 100_000
DOUBLE_PENDULUM = ((0.3, 0.25), (1.0, 0.6))
"""Lengths in metres and masses in kg."""
FLOOR = (0.0, 0.0, 1.0, 0.0)
ORDER_TIME = 0.5
"""Seconds after which errors are compared."""
ORDER_STEPS = {"explicit": (20, 40, 80), "variational": (60, 120, 240), "default": (120, 240, 480)}
"""In that time, by integrator."""
DAMPING_TIME = 10.0
"""Seconds over which energies are compared between integrators."""


@dataclass(frozen=True, eq=False)
class System:
    """A body that nothing touches, and its start."""

    name: str
    body: Body
    velocity: Tensor
    """(dim,) 1/s."""
    gravity: tuple[float, float, float]
    """m/s^2."""
    step: float
    """Seconds, for the run over `DRIFT_STEPS`."""
    truth: Callable[[float], Floats]
    """Particle positions (n, 3) in metres at a time in seconds."""

    def conservative(self, step: float, count: int) -> Iterator[PhasePoint]:
        """By the variational integrator."""
        potential = BodyPotential(self.body, self.gravity)
        kinematics = self.body.kinematics
        return variational(kinematics, self.body.masses, potential, kinematics.rest, self.velocity, step, count)

    def explicit(self, step: float, count: int) -> tuple[Tensor, Tensor]:
        """By the Runge-Kutta method."""
        potential, kinematics = BodyPotential(self.body, self.gravity), self.body.kinematics
        rest = kinematics.rest
        return rk4(kinematics, self.body.masses, lambda x: potential.at(rest, x)[1], rest, self.velocity, step, count)

    def implicit(self, times: Floats, step: float) -> Iterator[Frame]:
        """By the default integrator, its equations solved to 1e-10."""
        conditions = Conditions(gravity=self.gravity, initial_velocity=self.velocity)
        return simulate(self.body, conditions, times.tolist(), step, SolverSettings(tolerance=1e-10))


def systems() -> list[System]:
    """Pendulum and double pendulum at large amplitude, spring-mass chain, Euler top."""
    down, nowhere = (0.0, 0.0, -9.81), (0.0, 0.0, 0.0)
    pendulum = untouchable(Pendulum([0.5], 2.5), [1.0])
    (lengths, masses), level = DOUBLE_PENDULUM, (0.5 * np.pi, 0.5 * np.pi)
    double = untouchable(DoublePendulum(lengths, level), masses)
    springs, stiffness = chain()
    frequencies, modes = chain_modes(springs, stiffness)
    amplitudes = np.array([0.02, 0.004, 0.0, 0.0, 0.0, 0.0]) / np.abs(modes).max(0)
    top = untouchable(RigidBody(top_arms(TOP_MOMENTS), torch.zeros(3)), [1.0 / 6.0] * 6)

    def at(body: Body, q: Floats) -> Floats:
        return np.asarray(body.kinematics.positions(torch.from_numpy(q)).numpy())

    def swung(time: float) -> Floats:
        return at(pendulum, pendulum_angles(np.array([time]), 0.5, 2.5))

    def swung_twice(time: float) -> Floats:
        rate = double_pendulum_rate(lengths, masses)
        return at(double, solved(rate, np.array([*level, 0.0, 0.0]), np.array([0.0, time]))[-1, :2])

    def vibrated(time: float) -> Floats:
        return at(springs, modes @ (np.sin(frequencies * time) * amplitudes))

    def turned(time: float) -> Floats:
        return at(top, top_states(np.array([0.0, time]))[-1])

    return [
        System("pendulum", pendulum, velocity(0.0), down, 1.0 / 240.0, swung),
        System("double pendulum", double, velocity(0.0, 0.0), down, 1.0 / 240.0, swung_twice),
        System(
            "spring-mass chain", springs, torch.from_numpy(modes @ (frequencies * amplitudes)), nowhere, 1.0 / 240.0, vibrated
        ),
        System("Euler top", top, velocity(0.0, 0.0, 0.0, *TOP_SPIN), nowhere, 1.0 / 240.0, turned),
    ]


@dataclass(frozen=True)
class Drift:
    """Energy of one unforced system over many steps, as per cent of its largest kinetic energy."""

    system: str
    steps: int
    step: float
    """Seconds."""
    largest_percent: float
    """The farthest that the energy ever was from its value at the start."""
    secular_percent: float
    """By how much the mean over the last tenth differs from that over the first."""


def drift(system: System, steps: int, report: Callable[[int], None] = lambda _: None) -> Drift:
    """Run a system without forcing; `report` hears the steps done, now and then."""
    energies, kinetic = np.empty(steps + 1), np.empty(steps + 1)
    for index, point in enumerate(system.conservative(system.step, steps)):
        energies[index], kinetic[index] = point.energy, point.kinetic_energy
        if index % 1000 == 0:
            report(index)
    scale, tenth = 0.01 * kinetic.max(), steps // 10
    largest = float(np.abs(energies - energies[0]).max() / scale)
    secular = float(abs(energies[-tenth:].mean() - energies[:tenth].mean()) / scale)
    return Drift(system.name, steps, system.step, largest, secular)


def orders(system: System) -> dict[str, list[float]]:
    """By integrator, the order between each step length and its half: the logarithm to base 2 of the ratio of their errors."""
    truth = system.truth(ORDER_TIME)

    def implicit(count: int) -> Tensor:
        (frame,) = system.implicit(np.array([ORDER_TIME]), ORDER_TIME / count)
        return frame.positions

    def conservative(count: int) -> Tensor:
        *_, point = system.conservative(ORDER_TIME / count, count)
        return point.positions

    def explicit(count: int) -> Tensor:
        return system.body.kinematics.positions(system.explicit(ORDER_TIME / count, count)[0][-1])

    found = {}
    for name, run in (("default", implicit), ("variational", conservative), ("explicit", explicit)):
        errors = np.array([np.linalg.norm(run(count).numpy() - truth) for count in ORDER_STEPS[name]])
        found[name] = np.log2(errors[:-1] / errors[1:]).tolist()
    return found


def energy_lost(system: System, step: float) -> dict[str, float]:
    """By integrator, the energy lost in `DAMPING_TIME` at a step in seconds, as per cent of the largest kinetic energy."""
    count = round(DAMPING_TIME / step)
    points = list(system.conservative(step, count))
    scale = 0.01 * max(point.kinetic_energy for point in points)
    first, *_, last = system.implicit(np.linspace(0.0, DAMPING_TIME, 2), step)
    implicit = _energy(first) - _energy(last)
    states, rates = system.explicit(step, count)
    explicit = _energy_of(system, states[0], rates[0]) - _energy_of(system, states[-1], rates[-1])
    conservative = points[0].energy - points[-1].energy
    return {"default": implicit / scale, "variational": conservative / scale, "explicit": explicit / scale}


def _energy(frame: Frame) -> float:
    return frame.kinetic_energy + frame.gravity_energy + frame.strain_energy + frame.spring_energy


def _energy_of(system: System, q: Tensor, rate: Tensor) -> float:
    kinematics = system.body.kinematics
    speeds = kinematics.jacobian(q) @ rate
    value, _, _ = BodyPotential(system.body, system.gravity).at(q, kinematics.positions(q))
    return 0.5 * float((system.body.masses[:, None] * speeds**2).sum()) + float(value)


@dataclass(frozen=True)
class WorkBalance:
    """Of a forced run by the default integrator."""

    run: str
    work: float
    """J, done from outside."""
    stored: float
    """J, gained by the body as kinetic and potential energy."""
    dissipated: float
    """J, by friction, as a formula has it."""

    @property
    def missing_percent(self) -> float:
        """Of the work, what is neither stored nor dissipated: numerical damping, if positive."""
        return 100.0 * (self.work - self.stored - self.dissipated) / abs(self.work)


def work_balances() -> list[WorkBalance]:
    """A spring that is pulled, a soft block that is pressed, and a block that is pushed over the ground."""
    return [_pulled_spring(), _pressed_block(), _pushed_block()]


def _pulled_spring() -> WorkBalance:
    body, conditions = forced_oscillator_setup()
    times = np.arange(481) / 240.0
    frames = list(simulate(body, conditions, times.tolist(), 1.0 / 240.0))
    (pull,) = conditions.forces
    power = np.array([float((pull.at(f.time) * f.velocities[pull.particle]).sum()) for f in frames])
    return WorkBalance("pulled spring", float(np.trapezoid(power, times)), _energy(frames[-1]) - _energy(frames[0]), 0.0)


def _pressed_block() -> WorkBalance:
    """A held soft block, without damping and friction, is indented by 3 cm: the tool's work becomes strain."""
    body = soft_box((0.1, 0.1, 0.1), (3, 3, 3), Material(5.0e4, 0.3, 0.0, 0.0))
    held = (body.rest_positions[:, 2] < 1e-9).nonzero().squeeze(1)
    path = _gentle_push(np.array([-0.08, 0.0, 0.075]), 0.03, 0.6)
    conditions = Conditions((0.0, 0.0, 0.0), tool=box_tool(0.06, 0.05, 0.05), path=path, anchors=held)
    frames = list(simulate(body, conditions, path.times.tolist(), 1.0 / 240.0))
    return WorkBalance("pressed soft block", _tool_work(frames, path), _energy(frames[-1]) - _energy(frames[0]), 0.0)


def _pushed_block() -> WorkBalance:
    """A rigid block is pushed along the ground by 20 cm: the tool's work becomes friction's heat, m g times distance."""
    friction = 0.4
    body = rigid_box((0.1, 0.1, 0.06), friction=friction)
    path = _gentle_push(np.array([-0.07, 0.0, 0.02]), 0.2, 1.0)
    conditions = Conditions(support=FLOOR, tool=box_tool(0.04, 0.04, 0.03), path=path)
    frames = list(simulate(body, conditions, path.times.tolist(), 1.0 / 240.0))
    slid = float((frames[-1].positions - frames[0].positions)[:, 0].mean())
    heat = friction * body.mass * GRAVITY * slid
    return WorkBalance("pushed block", _tool_work(frames, path), _energy(frames[-1]) - _energy(frames[0]), heat)


def _gentle_push(start: Floats, travel: float, duration: float) -> ToolPath:
    """Along x from rest to rest, as half a cosine: an impact would take energy that no formula tells."""
    times = np.arange(round(duration * 240.0) + 1) / 240.0
    positions = np.tile(start, (len(times), 1))
    positions[:, 0] += 0.5 * travel * (1.0 - np.cos(np.pi * times / duration))
    return ToolPath(times, positions, np.tile([0.0, 0.0, 0.0, 1.0], (len(times), 1)))


def _tool_work(frames: list[Frame], path: ToolPath) -> float:
    """J: the force at the end of each step, as the implicit step has it, times the tool's motion in it."""
    forces = np.stack([frame.tool_force for frame in frames[1:]])
    return -float((forces * np.diff(path.positions, axis=0)).sum())
