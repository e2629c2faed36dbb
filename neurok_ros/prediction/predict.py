"""The use case: the motion of a prepared object under a push."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch

from neurok_ros.dynamics import (
    Body,
    Conditions,
    DistanceLimit,
    Frame,
    Jointed,
    KineticDamping,
    Material,
    Parts,
    checked_push,
    simulate,
)
from neurok_ros.dynamics.contact import STANDARD_GRAVITY
from neurok_ros.dynamics.joints import YIELD_RATIO
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.geometry.driving import connected_parts
from neurok_ros.parameterization import KinematicParameterization
from neurok_ros.prediction.prepare import PreparedObject
from neurok_ros.prediction.quality import held_displacement, quality_flags, quality_measures
from neurok_ros.prediction.tool_contact import fit_to_tool, refuse_tool_inside
from neurok_ros.prediction.types import Fixation, Floats, PredictedMotion, PredictionOptions, Push
from neurok_ros.prediction.validation import check_options
from neurok_ros.reconstruction.types import ReconstructedMesh

Progress = Callable[[str, float, float], None]
"""Called with the stage, its progress from 0 to 1, and the seconds predicted so far."""

BASE_LAYER = 0.08
"""Fixation.BASE holds everything nearer to the support than this part of the object's height."""
LIMIT_STIFFNESS = 10.0
"""Of the work that lifts an object by its own size, per squared standard deviation beyond what was learned."""
JOINT_DAMPING = 2.0
"""1/s: a pushed door slows down to a third in half a second."""
BENDING_TIME = 0.006
"""Seconds: how soon a stiff object with joints stops bending where it should not. With ten times as much a laptop's lid turned
about its middle rather than its hinge."""
JOINT_RATE = 30.0
"""1/s: motions that this would stop more slowly are those of joints, ..."""
JOINT_RATIO = 3.0
"""... and those that it would stop less than three times as fast as the present one (`Jointed`). Joints that the states know well
stop at 1 to 6 per second, bending at 40 and more; a door of a cabinet that they know badly was pushed at 300."""
PARTS_SLACK = 0.02
"""Of the object's size: how exactly learned motion knows where the parts are; so deep may they be in each other."""
WORLD_RADIUS = 1.0e3
"""Metres: a motion that leaves this ball has diverged, whatever the solver says."""


def predict(
    prepared: PreparedObject,
    push: Push,
    options: PredictionOptions,
    on_progress: Progress = lambda stage, progress, predicted_time: None,
    should_stop: Callable[[], bool] = lambda: False,
    device: str = "auto",
) -> PredictedMotion:
    """Roll out a push on an object.

    Args:
        prepared: the object.
        push: in the frame of the object's mesh.
        options: horizon, frames, fixation; its parameterization was chosen by `prepare`.
        on_progress: told how far it is, after each frame.
        should_stop: asked before each integration step.
        device: `cpu`, `cuda` or `auto`. The steps of rigid and modal parameterizations are many small operations, which a CPU
            does sooner than a GPU can start them, so `auto` is the CPU for both.

    Returns:
        The motion. If it diverges, the frames up to the failure, with `flags["diverged"]`.

    Raises:
        NeurokError: INVALID_PUSH, INVALID_OPTIONS, CANCELED (should_stop returned true), DIVERGED (no frame but the first could
            be found). Where a GPU's memory runs out the CPU does the work; where that runs out too, the error is torch's.
    """
    check_options(options)
    started = time.perf_counter()
    path = checked_push(push.tool, push.path)
    refuse_tool_inside(prepared.mesh, replace(push, path=path))
    with _single_thread():
        try:
            motion = _predict_on(_device(device), prepared, push, options, on_progress, should_stop)
        except torch.OutOfMemoryError:
            motion = _predict_on(torch.device("cpu"), prepared, push, options, on_progress, should_stop)
            motion = replace(motion, parameterization_reason=f"{motion.parameterization_reason}; on the CPU, GPU memory ran out")
    motion.timings_ms["simulating"] = 1e3 * (time.perf_counter() - started)
    return motion


def fixed_region(mesh: ReconstructedMesh, options: PredictionOptions, points: Floats) -> np.ndarray:
    """Indices (a,) of the points (n, 3), metres, that the options hold in place.

    Raises:
        NeurokError: INVALID_OPTIONS, if a box is given that holds nothing.
    """
    if options.fixation is Fixation.FREE:
        return np.empty(0, np.int64)
    if options.fixation is Fixation.BASE:
        heights = points @ mesh.support[:3]
        return np.flatnonzero(heights - heights.min() <= BASE_LAYER * np.ptp(heights))
    assert options.fixed_box is not None
    lower, upper = (np.asarray(corner) for corner in options.fixed_box)
    held = np.flatnonzero(((points >= lower) & (points <= upper)).all(axis=1))
    if not len(held):
        problem = f"no part of the object lies between {tuple(lower)} and {tuple(upper)}"
        raise NeurokError(
            ErrorCode.INVALID_OPTIONS, "fixed_box", problem, "Give a box, in the planning frame, around a part of it"
        )
    return held


@contextmanager
def _single_thread() -> Iterator[None]:
    """One torch thread while a motion is rolled out: its many small operations gain nothing from a second one, and on a busy
    machine they wait for it; one rollout took 56 s with two threads and 5 s with one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _device(name: str) -> torch.device:
    if name in ("auto", "cpu"):
        return torch.device("cpu")
    if name == "cuda" and torch.cuda.is_available():
        return torch.device("cuda")
    problem = "this machine has no CUDA device" if name == "cuda" else f"'{name}' is unknown"
    raise NeurokError(ErrorCode.INVALID_OPTIONS, "device", problem, "Use auto or cpu")


def _predict_on(
    device: torch.device,
    prepared: PreparedObject,
    push: Push,
    options: PredictionOptions,
    on_progress: Progress,
    should_stop: Callable[[], bool],
) -> PredictedMotion:
    prepared, coarseness = fit_to_tool(prepared, push)
    body = _body(prepared, device)
    vertex_part = connected_parts(prepared.mesh.faces, len(prepared.mesh.vertices))
    outline = prepared.kinematics.at(torch.from_numpy(prepared.mesh.vertices).to(device), vertex_part)
    times = np.arange(options.frame_count) / options.frame_rate
    frames: list[Frame] = []
    vertices: list[Floats] = []
    for frame in simulate(body, _conditions(prepared, push, options, device), times.tolist(), should_stop=should_stop):
        shape = _positions(outline, frame)
        if frame.diverged or not np.abs(shape).max(initial=0.0) < WORLD_RADIUS:
            break
        frames.append(frame)
        vertices.append(shape)
        on_progress("simulating", len(frames) / len(times), frame.time)
    if should_stop():
        raise NeurokError(ErrorCode.CANCELED, "goal", "the prediction was stopped", "Send the goal again")
    if len(frames) < 2:
        problem = "the motion could not be followed beyond its first frame"
        raise NeurokError(ErrorCode.DIVERGED, "push", problem, "Push more slowly, or use a softer or denser object")
    held = fixed_region(prepared.mesh, options, prepared.lattice.nodes)
    return _motion(prepared, frames, np.stack(vertices), coarseness, held, complete=len(frames) == len(times))


def _positions(outline: KinematicParameterization, frame: Frame) -> Floats:
    with torch.no_grad():
        return np.asarray(outline.positions(frame.q).cpu().numpy())


def _body(prepared: PreparedObject, device: torch.device) -> Body:
    particles = prepared.particles
    contact = torch.arange(particles.nodes, len(particles.points), device=device)
    masses = prepared.properties.density * particles.volumes.to(device)
    energies, damping = _learned_terms(prepared, float(masses.sum()), device)
    return Body(
        kinematics=prepared.kinematics.at(particles.points.to(device), particles.part),
        masses=masses,
        contact=contact,
        contact_areas=torch.from_numpy(prepared.surface.areas).to(device),
        material=_material(prepared),
        strain=particles.sites.select(prepared.material).to(device) if np.isfinite(prepared.modulus) else None,
        state_energies=energies,
        state_damping=damping,
        jointed=_jointed(prepared),
        parts=_parts(prepared),
    )


def _jointed(prepared: PreparedObject) -> Jointed | None:
    """With a viscosity that stops bending over the object's size within `BENDING_TIME`: rho L^2 / time."""
    limit = prepared.kinematics.limit
    if limit is None or not prepared.jointed:
        return None
    viscosity = prepared.properties.density * prepared.size**2 / BENDING_TIME
    return Jointed(viscosity, YIELD_RATIO, len(limit.center), JOINT_RATE, JOINT_RATIO)


def _parts(prepared: PreparedObject) -> Parts | None:
    if prepared.parts is None:
        return None
    learned = prepared.kinematics.limit is not None
    return prepared.parts.of(prepared.surface, PARTS_SLACK * prepared.size if learned else 0.0)


def _learned_terms(
    prepared: PreparedObject, mass: float, device: torch.device
) -> tuple[tuple[DistanceLimit, ...], KineticDamping | None]:
    """The edge of what was learned, and the friction of joints."""
    limit = prepared.kinematics.limit
    if limit is None:
        return (), None
    weight = LIMIT_STIFFNESS * mass * STANDARD_GRAVITY * prepared.size
    edge = DistanceLimit(limit.center.to(device), limit.radius, weight)
    return (edge,), KineticDamping(JOINT_DAMPING, len(limit.center))


def _material(prepared: PreparedObject) -> Material:
    properties = prepared.properties
    modulus = min(properties.youngs_modulus, prepared.modulus)
    return Material(modulus, properties.poisson_ratio, properties.damping, properties.friction)


def _conditions(prepared: PreparedObject, push: Push, options: PredictionOptions, device: torch.device) -> Conditions:
    nx, ny, nz, offset = (float(value) for value in prepared.mesh.support)
    anchors = fixed_region(prepared.mesh, options, prepared.lattice.nodes)
    outline = options.support_outline
    return Conditions(
        gravity=(-options.gravity * nx, -options.gravity * ny, -options.gravity * nz),
        support=(nx, ny, nz, offset),
        support_outline=None if outline is None else torch.tensor(outline, dtype=torch.float64, device=device),
        tool=push.tool,
        path=push.path,
        force_limit=push.force_limit,
        anchors=torch.from_numpy(anchors).to(device),
    )


def _motion(
    prepared: PreparedObject, frames: list[Frame], vertices: Floats, coarseness: float, held: np.ndarray, complete: bool
) -> PredictedMotion:
    displacement = np.linalg.norm(vertices - prepared.mesh.vertices, axis=2).max(axis=1)
    measures = quality_measures(prepared, frames, displacement)
    measures["contact_coarseness"] = coarseness
    measures["max_held_displacement_m"] = held_displacement(frames, held, on_the_whole=prepared.jointed)
    return PredictedMotion(
        times=np.array([frame.time for frame in frames]),
        vertices=vertices.astype(np.float32),
        tool_poses=np.stack([frame.tool_pose for frame in frames if frame.tool_pose is not None]),
        contact_force=np.stack([frame.tool_force for frame in frames]),
        penetration=np.array([frame.penetration for frame in frames]),
        displacement=displacement,
        parameterization=prepared.kinematics.name,
        parameterization_reason=prepared.reason,
        flags=quality_flags(measures, frames, complete, bool(prepared.doubt)),
        measures=measures,
    )
