"""One case of exact kinematics: the same mechanism and push in MuJoCo and here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from neurok_ros.dynamics import Body, Conditions, ToolPath, ToolShape, simulate
from neurok_ros.parameterization import KinematicParameterization
from validation.case import Motion
from validation.mujoco.reference import FRAME_RATE, IMPACT, STEPS_PER_FRAME, Contact, Recording, floor, record, tool_body, world

Floats = NDArray[np.float64]
FLOOR = (0.0, 0.0, 1.0, 0.0)
DEFAULT_STEP = 1.0 / 60.0
"""Seconds, of `simulate`."""


@dataclass(frozen=True)
class Push:
    """A tool on its path, and how the object feels it."""

    tool: ToolShape
    path: ToolPath
    spacing: float
    """Metres between the particles that can touch."""
    reach: float
    """Metres: so near to the path, at rest, what can touch."""
    contact: Contact = IMPACT
    """In MuJoCo."""

    def places(self) -> Floats:
        """(200, 3) metres on the tool's path."""
        times = np.linspace(0.0, self.path.times[-1], 200)
        return np.stack([self.path.pose(float(t))[0] for t in times])


def through(*waypoints: tuple[float, float, float, float]) -> ToolPath:
    """A path without turning through (seconds, x, y, z)."""
    rows = np.array(waypoints)
    return ToolPath(rows[:, 0], rows[:, 1:], np.tile([0.0, 0.0, 0.0, 1.0], (len(rows), 1)))


@dataclass(frozen=True, eq=False)
class Sampled:
    """A subject as the dynamics sees it."""

    body: Body
    outline: KinematicParameterization
    """Followed at the points by which motions are compared."""
    outline_points: Floats
    """(n, 3) metres, in the state where MuJoCo's bodies have their frames at the world's origin."""
    outline_body: NDArray[np.int64]
    """(n,) the number of the body that each belongs to."""


class Subject(Protocol):
    """What is moved, in both."""

    @property
    def size(self) -> float:
        """Metres, largest extent at rest."""

    @property
    def names(self) -> list[str]:
        """Of MuJoCo's bodies."""

    @property
    def start(self) -> Floats:
        """(nq,) MuJoCo's coordinates at rest."""

    def mjcf(self) -> str:
        """Its bodies."""

    def sampled(self, friction: float, push: Push | None) -> Sampled:
        """Its particles, with those near a push that can touch."""

    def figures(self, ours: Floats, theirs: Recording) -> dict[str, float]:
        """How far states (t, s) are off."""


@dataclass(frozen=True)
class Setting:
    """What is compared."""

    subject: Subject
    push: Push | None = None
    floor: Contact | None = None
    """MuJoCo's contacts with a support at z = 0, if there is one."""
    friction: float = 0.3
    seconds: float = 2.0
    max_step: float = DEFAULT_STEP


def compared(setting: Setting) -> Motion:
    """The motion here and in MuJoCo, and how far coordinates, forces and steps of the default length are off."""
    theirs = reference(setting)
    ours = predicted(setting, setting.max_step)
    points = setting.subject.sampled(0.0, None)
    truth = theirs.points(points.outline_points, points.outline_body)
    motion = Motion(theirs.times, truth, ours.outline, setting.subject.size)
    figures = {"kinematics_error_percent_of_size": 0.0}
    figures["dynamics_error_percent_of_size"] = 100.0 * mean_error(motion) / motion.size
    figures |= setting.subject.figures(ours.states, theirs)
    if setting.push is not None:
        figures |= force_figures(ours.tool_force, theirs.tool_force)
    if setting.push is not None or setting.floor is not None:
        figures["penetration_mm"] = 1e3 * ours.penetration
        figures["reference_penetration_mm"] = 1e3 * theirs.penetration
        halved = reference(setting, 2 * STEPS_PER_FRAME).points(points.outline_points, points.outline_body)
        figures["reference_half_step_percent_of_peak"] = (
            100.0 * float(Motion(theirs.times, halved, truth, 1.0).rmse().max()) / motion.peak()
        )
    if setting.max_step < DEFAULT_STEP:
        by_default = Motion(theirs.times, truth, predicted(setting, DEFAULT_STEP).outline, motion.size)
        figures["max_step_ms"] = 1e3 * setting.max_step
        figures["default_step_error_percent_of_peak"] = 100.0 * float(by_default.rmse().max()) / motion.peak()
    return Motion(motion.times, motion.truth, motion.predicted, motion.size, figures)


def reference(setting: Setting, steps_per_frame: int = STEPS_PER_FRAME) -> Recording:
    """MuJoCo's motion."""
    push, subject = setting.push, setting.subject
    obstacles = floor(setting.floor) if setting.floor else ""
    obstacles += tool_body(push.tool, push.contact) if push else ""
    xml = world(subject.mjcf(), obstacles, setting.friction, "implicitfast" if obstacles else "RK4", steps_per_frame)
    return record(xml, subject.names, setting.seconds, push.path if push else None, subject.start)


@dataclass(frozen=True)
class Predicted:
    """This package's motion, at the frames that it got to."""

    states: Floats
    """(t, s)."""
    outline: Floats
    """(t, n, 3) metres."""
    tool_force: Floats
    """(t, 3) N on the tool, mean over the steps since the last frame (over the last of several sub-steps of one)."""
    penetration: float
    """Metres, the deepest at the end of a step."""


def predicted(setting: Setting, max_step: float) -> Predicted:
    """This package's motion, with every step looked at."""
    torch.set_num_threads(1)
    push = setting.push
    ours = setting.subject.sampled(setting.friction, push)
    conditions = Conditions(
        support=FLOOR if setting.floor else None,
        tool=push.tool if push else None,
        path=push.path if push else None,
    )
    per_frame = round(1.0 / (FRAME_RATE * max_step))
    times = np.arange(round(setting.seconds * FRAME_RATE) * per_frame + 1) / (FRAME_RATE * per_frame)
    steps = [f for f in simulate(ours.body, conditions, times.tolist(), max_step) if not f.diverged]
    frames = steps[::per_frame]
    force = np.zeros((len(frames), 3))
    force[1:] = np.stack([f.tool_force for f in steps[1 : (len(frames) - 1) * per_frame + 1]]).reshape(-1, per_frame, 3).mean(1)
    return Predicted(
        torch.stack([f.q for f in frames]).numpy(),
        np.stack([ours.outline.positions(f.q).numpy() for f in frames]),
        force,
        max(max(f.penetration, f.support_penetration) for f in steps),
    )


def mean_error(motion: Motion) -> float:
    """Metres: root mean square over points and frames."""
    shared = len(motion.predicted)
    return float(np.sqrt(((motion.predicted - motion.truth[:shared]) ** 2).sum(-1).mean()))


def force_figures(ours: Floats, theirs: Floats) -> dict[str, float]:
    """How far the tool's force is off.

    Args:
        ours: (k, 3) N.
        theirs: (t, 3) N, means between frames; at least as many.

    Returns:
        `contact_force_error_percent`: root mean square of the difference over that of the truth; most of it is in which frame
        an impact falls. `contact_impulse_error_percent`: the same of the force summed over time so far, over its largest.
    """
    theirs = theirs[: len(ours)]
    impulse, true_impulse = ours.cumsum(0), theirs.cumsum(0)
    scale, largest = float(np.sqrt((theirs**2).sum(1).mean())), float(np.linalg.norm(true_impulse, axis=1).max())
    return {
        "contact_force_error_percent": 100.0 * float(np.sqrt(((ours - theirs) ** 2).sum(1).mean())) / scale,
        "contact_impulse_error_percent": 100.0 * float(np.sqrt(((impulse - true_impulse) ** 2).sum(1).mean())) / largest,
    }
