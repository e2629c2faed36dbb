"""Parts of one body do not pass through each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
import trimesh
from torch import Tensor

from neurok_ros.dynamics import AppliedForce, Body, Conditions, CoordinateDamping, Frame, Material, Parts, simulate
from neurok_ros.geometry.sampling import sample_surface
from neurok_ros.geometry.surface_distance import SurfaceDistance
from validation.systems import Linear, box_tool, straight_push

STEP = 1.0 / 60.0
WEIGHTLESS = (0.0, 0.0, 0.0)
DEPTH = 5e-4
"""Metres: the bound of `DEPTH_LIMIT` for a body 0.1 m long or more."""


def real(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


class Hinged:
    """One angle that turns some particles about a line along y; the others stand still."""

    dim = 1

    def __init__(self, points: Tensor, moving: Tensor, pivot: Tensor) -> None:
        self._points, self._moving, self._pivot = points, moving[:, None], pivot
        self.rest = points.new_zeros(1)

    def positions(self, q: Tensor) -> Tensor:
        arms = self._points - self._pivot
        c, s = torch.cos(q[0]), torch.sin(q[0])
        turned = torch.stack([c * arms[:, 0] - s * arms[:, 2], arms[:, 1], s * arms[:, 0] + c * arms[:, 2]], dim=1)
        return torch.where(self._moving, self._pivot + turned, self._points)

    def jacobian(self, q: Tensor) -> Tensor:
        arms = self.positions(q) - self._pivot
        rate = torch.stack([-arms[:, 2], 0 * arms[:, 1], arms[:, 0]], dim=1)
        return torch.where(self._moving, rate, 0.0)[:, :, None]

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        return q + step


def walls(inner: tuple[float, float, float], thickness: float) -> list[trimesh.Trimesh]:
    """A case open towards +x around a cavity of this size, centred on the origin: four sides and a back."""
    x, y, z = inner
    t = thickness
    plates = [((t, y + 2 * t, z + 2 * t), (-(x + t) / 2, 0, 0))]
    plates += [((x, t, z), (0, side * (y + t) / 2, 0)) for side in (-1, 1)]
    plates += [((x, y + 2 * t, t), (0, 0, side * (z + t) / 2)) for side in (-1, 1)]
    return [trimesh.creation.box(size, trimesh.transformations.translation_matrix(at)) for size, at in plates]


@dataclass(frozen=True)
class Sampled:
    """Two solids, the second of which moves."""

    points: Tensor
    areas: Tensor
    moves: Tensor
    parts: Parts


def sampled(still: list[trimesh.Trimesh], moving: trimesh.Trimesh, count: int = 200) -> Sampled:
    """Contact particles and surfaces; the still solids are one."""
    fixed = trimesh.boolean.union(still) if len(still) > 1 else still[0]
    meshes = [(np.asarray(m.vertices, np.float64), np.asarray(m.faces)) for m in (fixed, moving)]
    samples = [sample_surface(vertices, faces, count) for vertices, faces in meshes]
    moves = torch.arange(2 * count) >= count
    parts = Parts(moves.long(), {number: SurfaceDistance(*mesh) for number, mesh in enumerate(meshes)})
    points, areas = (torch.from_numpy(np.concatenate([getattr(s, name) for s in samples])) for name in ("points", "areas"))
    return Sampled(points, areas, moves, parts)


def drawer(gap: float = 0.1, clearance: float = 0.002, mass: float = 1.0) -> Body:
    """A solid drawer that slides along x in a case, its back `gap` metres from the case's, q the way it has gone."""
    inside = (0.3, 0.2, 0.1)
    size = (inside[0], inside[1] - 2 * clearance, inside[2] - 2 * clearance)
    front = trimesh.creation.box(size, trimesh.transformations.translation_matrix((gap, 0, 0)))
    solids = sampled(walls(inside, 0.02), front)
    points, moves = solids.points, solids.moves
    basis = torch.zeros(len(points), 3, 1, dtype=torch.float64)
    basis[moves, 0] = 1.0
    masses = torch.where(moves, mass / int(moves.sum()), 0.001).double()
    contact = torch.arange(len(points))
    return Body(Linear(points, basis), masses, contact, solids.areas, Material(friction=0.3), parts=solids.parts)


def free_of(body: Body) -> Body:
    return replace(body, parts=None)


def rollout(body: Body, conditions: Conditions, seconds: float) -> list[Frame]:
    frames = list(simulate(body, conditions, np.arange(1, round(seconds * 60) + 1) / 60.0))
    assert not frames[-1].diverged
    return frames


@pytest.mark.parametrize("speed", [0.2, 3.0])
def test_a_drawer_stops_at_the_back_of_its_cabinet(speed: float) -> None:
    body = drawer()
    conditions = Conditions(gravity=WEIGHTLESS, initial_velocity=real(-speed))
    frames = rollout(body, conditions, 1.0)
    assert min(float(f.q) for f in frames) == pytest.approx(-0.1, abs=DEPTH)
    assert abs(float(frames[-1].velocities[-1, 0])) < 0.05 * speed  # no rebound
    assert max(f.self_penetration for f in frames) < DEPTH
    assert float(rollout(free_of(body), conditions, 1.0)[-1].q) == pytest.approx(-speed, rel=1e-6)


def test_a_drawer_runs_freely_until_it_meets_something() -> None:
    """Nothing catches on the way, whatever the walls' samples: 2 mm of play, and walls that touch it."""
    for clearance in (0.002, 0.0, -0.001):  # the last overlaps, as scanned parts do
        body = drawer(clearance=clearance)
        frames = rollout(body, Conditions(gravity=WEIGHTLESS, initial_velocity=real(-0.2)), 0.4)
        assert float(frames[-1].q) == pytest.approx(-0.08, abs=1e-5)


def test_a_push_against_the_stop_is_carried_by_it() -> None:
    body = drawer(gap=0.01)
    front = int((body.rest_positions - real(0.16, 0.0, 0.0)).norm(dim=1).argmin())
    force = AppliedForce.constant(torch.tensor([front]), real(-20.0, 0.0, 0.0))
    body = replace(body, state_damping=CoordinateDamping(real(1.0)))
    frames = rollout(body, Conditions(gravity=WEIGHTLESS, forces=(force,)), 2.0)
    assert float(frames[-1].q) == pytest.approx(-0.01, abs=DEPTH)
    assert abs(float(frames[-1].q - frames[-31].q)) < 1e-6
    assert all(f.converged for f in frames)


def test_a_tool_cannot_push_a_drawer_through_its_cabinet() -> None:
    """5 cm too far, with at most 30 N: it is held back at the stop."""
    body = drawer(gap=0.02)
    path = straight_push([0.2, 0.0, 0.0], [0.12, 0.0, 0.0], 1.0)
    conditions = Conditions(gravity=WEIGHTLESS, tool=box_tool(0.04, 0.04, 0.04), path=path, force_limit=30.0)
    frames = rollout(body, conditions, 1.5)
    assert float(frames[-1].q) == pytest.approx(-0.02, abs=2 * DEPTH)
    assert frames[-1].force_limited
    assert max(np.linalg.norm(f.tool_force) for f in frames) < 1.05 * 30.0


def lid(gap: float, friction: float = 0.3) -> Body:
    """A lid, 10 x 10 x 1 cm, over an open box of the same footprint; hinged at the back, `gap` metres above the rim."""
    tray = [trimesh.creation.box((0.1, 0.1, 0.01), trimesh.transformations.translation_matrix((0, 0, -0.045)))]
    tray += [
        trimesh.creation.box((0.01, 0.1, 0.05), trimesh.transformations.translation_matrix((0.045 * s, 0, -0.025)))
        for s in (-1, 1)
    ]
    tray += [
        trimesh.creation.box((0.1, 0.01, 0.05), trimesh.transformations.translation_matrix((0, 0.045 * s, -0.025)))
        for s in (-1, 1)
    ]
    cover = trimesh.creation.box((0.1, 0.1, 0.01), trimesh.transformations.translation_matrix((0, 0, 0.005 + gap)))
    solids = sampled(tray, cover)
    points, moves = solids.points, solids.moves
    masses = torch.where(moves, 0.2 / int(moves.sum()), 0.001).double()
    kinematics = Hinged(points, moves, real(-0.05, 0.0, gap))
    contact = torch.arange(len(points))
    return Body(kinematics, masses, contact, solids.areas, Material(friction=friction), parts=solids.parts)


def test_a_lid_falls_shut_and_stays_on_its_rim() -> None:
    """From 2 cm above, by its weight: its front meets the rim's when it has turned by 2 cm / 10 cm."""
    body = lid(gap=0.02)
    frames = rollout(body, Conditions(), 1.0)
    assert float(frames[-1].q) == pytest.approx(-np.arcsin(0.02 / 0.1), abs=0.02)  # the rim is 1 cm wide, samples 7 mm apart
    assert max(f.self_penetration for f in frames) < DEPTH
    assert abs(float(frames[-1].q - frames[-21].q)) < 1e-5


def test_a_shut_lid_lies_still_and_opens_freely() -> None:
    body = lid(gap=0.0)
    still = rollout(body, Conditions(), 0.5)
    assert abs(float(still[-1].q)) < DEPTH / 0.05
    opening = Conditions(gravity=WEIGHTLESS, initial_velocity=real(2.0))
    opened, free = (rollout(b, opening, 0.5)[-1] for b in (body, free_of(body)))
    assert float(opened.q) == pytest.approx(float(free.q), abs=1e-5)
    assert float(opened.q) == pytest.approx(1.0, rel=2e-3)  # second order in time


def test_contact_between_parts_does_not_move_the_whole() -> None:
    """Two blocks that are free along a line run into each other: the momentum stays."""
    blocks = [trimesh.creation.box((0.1, 0.1, 0.1), trimesh.transformations.translation_matrix((x, 0, 0))) for x in (0.0, 0.15)]
    solids = sampled([blocks[0]], blocks[1])
    second = solids.moves
    basis = torch.zeros(400, 3, 2, dtype=torch.float64)
    basis[~second, 0, 0] = basis[second, 0, 1] = 1.0
    masses = torch.where(second, 0.5, 1.0).double() / 200
    body = Body(Linear(solids.points, basis), masses, torch.arange(400), solids.areas, Material(), parts=solids.parts)
    frames = rollout(body, Conditions(gravity=WEIGHTLESS, initial_velocity=real(0.6, 0.0)), 0.6)
    momentum = [float((masses * f.velocities[:, 0]).sum()) for f in frames]
    assert momentum[-1] == pytest.approx(0.6, rel=1e-4)
    assert float(frames[-1].velocities[-1, 0]) == pytest.approx(0.4, rel=0.02)  # inelastic: both go on together
    assert float(frames[-1].velocities[0, 0]) == pytest.approx(0.4, rel=0.02)


@pytest.mark.parametrize("parts", [torch.zeros(400, dtype=torch.int64), torch.arange(400)], ids=["one part", "specks"])
def test_parts_without_a_surface_of_others_meet_nothing(parts: Tensor) -> None:
    body = drawer()
    assert body.parts is not None
    body = replace(body, parts=replace(body.parts, part=parts))
    frames = rollout(body, Conditions(gravity=WEIGHTLESS, initial_velocity=real(-1.0)), 0.1)
    assert float(frames[-1].q) == pytest.approx(-0.1, rel=1e-6)
