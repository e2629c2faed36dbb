"""The objects and pushes of the comparison: MuJoCo's motions in the coordinates that every model moves."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from neurok_ros.dynamics import ToolPath
from neurok_ros.parameterization import KinematicParameterization
from neurok_ros.prediction import predict
from neurok_ros.prediction.prepare import PreparedObject
from neurok_ros.prediction.types import Fixation, PredictionOptions
from neurok_ros.prediction.types import Push as ProductPush
from validation.case import Floats
from validation.latent_models import World
from validation.mujoco import comparison as exact
from validation.mujoco import soft
from validation.mujoco.articulated import FINE_STEP, FINGER, LID_HINGE, chain, door, laptop
from validation.mujoco.comparison import Push, Setting, through
from validation.mujoco.reference import FRAME_RATE, IMPACT, PUSHING

HELD_SHARE = 1e-3
"""Of the largest singular value: a combination of coordinates that moves what is held by less leaves it in place."""
_predicting = importlib.import_module("neurok_ros.prediction.predict")


@dataclass(frozen=True, eq=False)
class Motion:
    """One push of an object. t frames, n points."""

    path: ToolPath
    truth: Floats
    """(t, n, 3) metres, by MuJoCo."""
    coordinates: Tensor
    """(t, r) of the truth: exact, or the best by least squares."""
    lagrangian: Callable[[], Floats]
    """Points (t, n, 3) as this package predicts them."""


@dataclass(frozen=True, eq=False)
class Subject:
    """An object, pushed in several ways."""

    name: str
    size: float
    """Metres."""
    world: World
    points: Callable[[Tensor], Floats]
    """(n, 3) metres, of coordinates (r,)."""
    seen: list[Motion]
    """To fit and to learn from."""
    held_out: list[Motion]
    """Slower or faster than most, at other places and, the last, as no push that was seen."""


def mechanism(name: str, seen: list[Setting], held_out: list[Setting]) -> Subject:
    """An articulated object in its own coordinates."""
    subject = seen[0].subject
    first = seen[0].push
    assert first is not None
    points = subject.sampled(0.0, None)
    body = subject.sampled(0.0, _everywhere([*seen, *held_out])).body
    world = World(body, torch.eye(body.kinematics.dim, dtype=torch.float64), first.tool, seen[0].floor is not None)

    def motion(setting: Setting) -> Motion:
        theirs = exact.reference(setting)
        assert setting.push is not None
        truth = theirs.points(points.outline_points, points.outline_body)
        coordinates = torch.from_numpy(theirs.coordinates) - body.kinematics.rest
        return Motion(setting.push.path, truth, coordinates, lambda: exact.predicted(setting, setting.max_step).outline)

    def decoded(z: Tensor) -> Floats:
        return np.asarray(points.outline.positions(world.state(z)).numpy())

    return Subject(name, subject.size, world, decoded, [motion(s) for s in seen], [motion(s) for s in held_out])


def _everywhere(settings: list[Setting]) -> Push:
    """A push whose path comes to every place that one of these comes to, for the particles that can touch."""
    pushes = [setting.push for setting in settings if setting.push is not None]
    places = np.concatenate([push.path.positions for push in pushes])
    times = np.arange(len(places), dtype=np.float64)
    return replace(pushes[0], path=ToolPath(times, places, np.tile([0.0, 0.0, 0.0, 1.0], (len(places), 1))))


def doors() -> Subject:
    """A room door, pushed and let go."""

    def pushed(speed: float, at: float, side: float = 1.0) -> Setting:
        start, end, met = -0.06 * side, 0.16 * side, 0.22 / speed
        path = through((0.0, at, start, 1.2), (met, at, end, 1.2), (met + 0.3, at, start, 1.2))
        return Setting(door(), Push(FINGER, path, 0.008, 0.1))

    seen = [pushed(speed, at) for speed in (0.15, 0.3, 0.5, 0.8) for at in (0.45, 0.7)]
    return mechanism("door", seen, [pushed(0.4, 0.6), pushed(0.65, 0.5), pushed(1.0, 0.6), pushed(0.4, 0.6, -1.0)])


def lids() -> Subject:
    """A laptop's lid, taken past upright, falls shut on its base."""

    def pushed(duration: float, radius: float) -> Setting:
        angle = np.radians(120.0)
        along, out = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
        x, z = np.array([0.0, LID_HINGE]) + radius * along + (FINGER.dimensions[0] + 0.0005) * out
        path = through((0.0, x, 0.0, z), (duration, 0.0, 0.0, z), (duration + 0.3, x, 0.0, z))
        return Setting(laptop(angle), Push(FINGER, path, 0.01, 0.4, PUSHING), floor=IMPACT)

    seen = [pushed(duration, radius) for duration in (0.25, 0.4, 0.6, 0.9) for radius in (0.13, 0.17)]
    return mechanism("laptop lid", seen, [pushed(0.5, 0.15), pushed(0.75, 0.15), pushed(0.2, 0.15), pushed(0.5, 0.1)])


def chains() -> Subject:
    """Four hanging links, pushed to the side and let go."""

    def pushed(speed: float, height: float, side: float = 1.0) -> Setting:
        met = 0.12 / speed
        path = through(
            (0.0, -0.055 * side, 0.0, height), (met, 0.065 * side, 0.0, height), (met + 0.1, -0.055 * side, 0.0, height)
        )
        return Setting(chain(0.0), Push(FINGER, path, 0.0025, 0.04), max_step=FINE_STEP)

    seen = [pushed(speed, height) for speed in (0.15, 0.3, 0.5, 0.8) for height in (-0.525, -0.37)]
    held_out = [pushed(0.4, -0.525), pushed(0.65, -0.37), pushed(1.0, -0.525), pushed(0.4, -0.525, -1.0)]
    return mechanism("chain", seen, held_out)


def blocks() -> Subject:
    """A foam block on its held lower face, bent at its top and let go, in its elastic modes."""

    def pushed(speed: float, depth: float, height: float, direction: tuple[float, float] = (1.0, 0.0)) -> ProductPush:
        start, end = -0.07, -0.065 + depth
        met = (end - start) / speed
        places = [(0.0, start), (met, end), (met + 0.1, end), (met + 0.2, -0.1)]
        x, y = direction
        return ProductPush(soft.FINGER, through(*((t, at * x, at * y, height) for t, at in places)))

    seen = [pushed(speed, depth, height) for speed, height in ((0.1, 0.13), (0.2, 0.12), (0.4, 0.14)) for depth in (0.015, 0.03)]
    held_out = [
        pushed(0.15, 0.02, 0.13),
        pushed(0.3, 0.025, 0.125),
        pushed(0.6, 0.03, 0.13),
        pushed(0.2, 0.025, 0.13, (0.0, 1.0)),
    ]
    solid = soft.block().solid()
    vertices, faces, node = solid.mesh()
    prepared = soft.prepared_object(vertices, faces, soft.FOAM)
    corners = (vertices.min(0) - 0.01, np.array([*(vertices.max(0)[:2] + 0.01), soft.HELD_HEIGHT]))
    region = (tuple(corners[0].tolist()), tuple(corners[1].tolist()))
    options = PredictionOptions(1.0, FRAME_RATE, Fixation.BOX, region, "modal")
    body = _predicting._body(prepared, torch.device("cpu"))
    held = torch.from_numpy(_predicting.fixed_region(prepared.mesh, options, prepared.lattice.nodes))
    world = World(body, _free_directions(body.kinematics, held), soft.FINGER, support=False)
    outline = prepared.kinematics.at(torch.from_numpy(vertices))
    fields = (outline.jacobian(outline.rest) @ world.basis).reshape(-1, world.basis.shape[1])

    def motion(push: ProductPush) -> Motion:
        truth = soft.reference(replace(soft.block(), push=push), solid)[0][:, node]
        moved = torch.from_numpy((truth - vertices).reshape(len(truth), -1))
        coordinates = torch.linalg.lstsq(fields, moved.T).solution.T
        return Motion(push.path, truth, coordinates, lambda: _predicted(prepared, push, options))

    def decoded(z: Tensor) -> Floats:
        return np.asarray(outline.positions(world.state(z)).numpy())

    size = float(np.ptp(vertices, axis=0).max())
    return Subject("soft block", size, world, decoded, [motion(p) for p in seen], [motion(p) for p in held_out])


def _predicted(prepared: PreparedObject, push: ProductPush, options: PredictionOptions) -> Floats:
    return predict(prepared, push, options, device="cpu").vertices.astype(np.float64)


def _free_directions(kinematics: KinematicParameterization, held: Tensor) -> Tensor:
    """(dim, r) orthonormal: what leaves held particles in place."""
    _, values, rows = torch.linalg.svd(kinematics.jacobian(kinematics.rest)[held].reshape(-1, kinematics.dim))
    free = torch.ones(kinematics.dim, dtype=torch.bool)
    free[: len(values)] = values < HELD_SHARE * values[0]
    basis: Tensor = rows[free].T.contiguous()
    return basis


SUBJECTS: tuple[Callable[[], Subject], ...] = (doors, lids, chains, blocks)
