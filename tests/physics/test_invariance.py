"""The same world described otherwise moves in the same way: other triangles, another frame, more coordinates, other units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
import trimesh
from meshes import box, mesh_of
from scipy.spatial.transform import Rotation
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, Material, SolverSettings, ToolKind, ToolPath, ToolShape, simulate
from neurok_ros.dynamics.tools import Floats
from neurok_ros.kinematics import RigidBody
from neurok_ros.prediction import predict, prepare
from neurok_ros.prediction.types import PhysicalProperties, PredictionOptions, Push
from validation.systems import GRAVITY, Linear, box_tool, full_space, lattice, rigid_box, soft_box, straight_push, velocity

FLOOR = (0.0, 0.0, 1.0, 0.0)
FOAM = Material(4.0e4, 0.3, 0.02, 0.5)
SIZE, CELLS = (0.12, 0.1, 0.08), (3, 3, 3)


BOX = (0.08, 0.06, 0.08)


def finer(shape: trimesh.Trimesh) -> trimesh.Trimesh:
    """Four triangles for one."""
    return shape.subdivide()


def graded(shape: trimesh.Trimesh) -> trimesh.Trimesh:
    """The same faces with triangles up to five times as long near some edges as near others."""
    half = 0.5 * np.array(BOX)
    middle = np.array([0.0, 0.0, half[2]])
    along = (shape.vertices - middle) / half
    along[:, :2] += 0.4 * (1.0 - along[:, :2] ** 2)
    return trimesh.Trimesh(along * half + middle, shape.faces, process=False)


PLATE, BALL = ToolShape(ToolKind.BOX, (0.03, 0.1, 0.04)), ToolShape(ToolKind.SPHERE, (0.015,))


@pytest.mark.parametrize(
    ("parameterization", "remeshed", "tool", "tolerance"),
    [
        ("rigid", finer, PLATE, 1e-3),  # a wide plate carries the face along, wherever samples are
        ("modal", graded, PLATE, 1e-3),
        ("rigid", finer, BALL, 0.2),  # a ball off the middle turns the block about the sample that it meets
        ("modal", graded, BALL, 0.2),
    ],
)
def test_other_triangles_of_the_same_solid_move_alike(
    parameterization: str, remeshed: Callable[[trimesh.Trimesh], trimesh.Trimesh], tool: ToolShape, tolerance: float
) -> None:
    """Mass comes from the solid, so that it is the same; contact is felt at random samples of the surface, which are not.

    A sample stands for a disc of up to half the ball's radius, so that the point where it pushes is uncertain by up to 7 mm of
    a lever arm of 10 mm, and the turn of the block with it.
    """
    shape = box(BOX)
    corners = np.array([[x, y, z] for x in (-0.04, 0.04) for y in (-0.03, 0.03) for z in (0.0, 0.08)])
    push = Push(tool, straight_push([-0.07, 0.01, 0.03], [-0.02, 0.01, 0.03], 0.5))
    properties = PhysicalProperties(density=80.0, youngs_modulus=3.0e4, friction=0.5)
    options = PredictionOptions(horizon=0.8, parameterization=parameterization)
    ends = []
    for mesh in (mesh_of(shape), mesh_of(remeshed(shape))):
        same = np.array([np.linalg.norm(mesh.vertices - corner, axis=1).argmin() for corner in corners])
        assert np.allclose(mesh.vertices[same], corners, atol=1e-9)
        ends.append(predict(prepare(mesh, properties, options), push, options).vertices[-1][same])
    moved = np.linalg.norm(ends[0] - corners, axis=1)
    assert moved.max() > 0.02
    assert np.linalg.norm(ends[1] - ends[0], axis=1).max() < tolerance * moved.max()


@pytest.mark.parametrize("soft", [False, True])
def test_a_turned_and_shifted_world_moves_the_turned_way(soft: bool) -> None:
    """Gravity, support, tool, path and body, all turned by 1.1 rad about an oblique axis and shifted.

    How deep contact gives way follows the body's extent along the frame's axes, which turning changes: some tenths of its
    0.4 mm, so 1 % of the motion.
    """
    turn, shift = Rotation.from_rotvec(1.1 * np.array([0.48, -0.6, 0.64])), np.array([0.4, -1.3, 0.8])
    matrix, offset = torch.from_numpy(turn.as_matrix()), torch.from_numpy(shift)
    grid = lattice(SIZE, CELLS)
    contact = grid.areas.nonzero().squeeze(1)
    path = straight_push([-0.1, 0.015, 0.03], [-0.01, 0.015, 0.03], 0.5)
    turned_path = ToolPath(
        path.times, turn.apply(path.positions) + shift, (turn * Rotation.from_quat(path.quaternions)).as_quat()
    )
    up = turn.apply([0.0, 0.0, 1.0])
    tool = box_tool(0.04, 0.03, 0.05)

    def body(points: Tensor, gradients: Tensor) -> Body:
        kinematics = full_space(points) if soft else RigidBody(points, points.mean(0))
        sites = replace(grid.sites, gradient=gradients) if soft else None
        return Body(kinematics, grid.masses, contact, grid.areas[contact], FOAM, sites)

    plain = body(grid.points, grid.sites.gradient)
    turned = body(grid.points @ matrix.T + offset, grid.sites.gradient @ matrix.T)
    (end,) = simulate(plain, Conditions(support=FLOOR, tool=tool, path=path), [0.7])
    conditions = Conditions(tuple(-GRAVITY * up), (*up, -float(up @ shift)), tool, turned_path)
    (turned_end,) = simulate(turned, conditions, [0.7])
    moved = float((end.positions - plain.rest_positions).norm(dim=1).max())
    assert moved > 0.03
    assert float((end.positions @ matrix.T + offset - turned_end.positions).norm(dim=1).max()) < 0.01 * moved


def test_coordinates_that_say_the_same_twice_change_nothing() -> None:
    """Every coordinate doubled: twice the k_q, a singular G; the shapes, and so the motion, are the same to the solver's 1e-6
    of the body's length, over 50 steps with friction."""
    grid = lattice(SIZE, CELLS, gauss=1)
    x = 2.0 * (grid.points - grid.points.mean(0)) / torch.tensor(SIZE)
    shapes = torch.stack([torch.ones(len(x)).double(), *x.unbind(1), *(x**2).unbind(1)], dim=1)
    basis = torch.einsum("nm,ij->nimj", shapes, torch.eye(3).double()).reshape(len(x), 3, -1)
    contact = grid.areas.nonzero().squeeze(1)
    path = straight_push([-0.1, 0.015, 0.03], [0.0, 0.015, 0.03], 0.5)
    conditions = Conditions(support=FLOOR, tool=box_tool(0.04, 0.04, 0.04), path=path)
    ends = []
    for used in (basis, torch.cat([basis, 0.3 * basis], dim=2)):
        body = Body(Linear(grid.points, used), grid.masses, contact, grid.areas[contact], FOAM, grid.sites)
        frames = list(simulate(body, conditions, [0.4, 0.8]))
        assert all(frame.converged for frame in frames)
        ends.append(frames[-1])
    assert float((ends[0].positions - grid.points).norm(dim=1).max()) > 0.04
    assert float((ends[0].positions - ends[1].positions).norm(dim=1).max()) < 5e-5
    assert np.allclose(ends[0].support_force, ends[1].support_force, atol=0.01 * float(grid.masses.sum()) * GRAVITY)


MILLIMETRES = 1e3
"""In one metre. With kilogram and second kept, an acceleration grows by it, and a pressure (kg / (mm s^2)) shrinks by it."""


def in_millimetres(body: Body) -> Body:
    """The same soft body: lengths in mm, masses in kg."""
    assert body.strain is not None
    sites = replace(body.strain, gradient=body.strain.gradient / MILLIMETRES, volume=body.strain.volume * MILLIMETRES**3)
    material = replace(body.material, youngs_modulus=body.material.youngs_modulus / MILLIMETRES)
    points = body.rest_positions * MILLIMETRES
    return Body(full_space(points), body.masses, body.contact, body.contact_areas * MILLIMETRES**2, material, sites)


def test_a_soft_body_swings_alike_in_millimetres() -> None:
    """Without contact no length of the package's own comes in: the same to what the solver leaves, 1e-9 of the length a step."""
    body = soft_box((0.05, 0.05, 0.15), (2, 2, 5), Material(3.0e4, 0.3, 0.01))
    held = (body.rest_positions[:, 2] > 0.149).nonzero().squeeze(1)
    tilted = (3.0, 1.0, -9.0)
    tight = SolverSettings(tolerance=1e-9)
    (end,) = simulate(body, Conditions(tilted, anchors=held), [0.5], settings=tight)
    scaled = Conditions(tuple(MILLIMETRES * g for g in tilted), anchors=held)
    (scaled_end,) = simulate(in_millimetres(body), scaled, [0.5], settings=tight)
    moved = float((end.positions - body.rest_positions).norm(dim=1).max())
    assert moved > 0.004
    assert float((end.positions - scaled_end.positions / MILLIMETRES).norm(dim=1).max()) < 1e-5 * moved
    assert scaled_end.strain_energy == pytest.approx(end.strain_energy * MILLIMETRES**2, rel=1e-3)  # kg mm^2 / s^2


def stopping_distance(length: float, settings: SolverSettings) -> float:
    """Metres that a block slides from 1 m/s, in a world whose unit is 1 / `length` metres."""
    body = rigid_box((0.1 * length, 0.1 * length, 0.05 * length), density=200.0 / length**3, friction=0.4)
    start = velocity(length, 0.0, 0.0, 0.0, 0.0, 0.0)
    conditions = Conditions((0.0, 0.0, -GRAVITY * length), FLOOR, initial_velocity=start)
    (end,) = simulate(body, conditions, [0.5], settings=settings)
    return float((end.positions - body.rest_positions)[:, 0].mean()) / length


def test_a_block_slides_as_far_in_millimetres() -> None:
    """Contact has lengths and speeds of its own, in SI units: read as millimetres, it is a thousand times as stiff, and every
    touch is a shock. The creep speed is scaled. What is left is backward Euler's first order: 2 % at 1/60 s."""
    plain = stopping_distance(1.0, SolverSettings())
    scaled = stopping_distance(MILLIMETRES, SolverSettings(creep_speed=1e-3 * MILLIMETRES))
    assert plain == pytest.approx(1.0 / (2.0 * 0.4 * GRAVITY), rel=0.015)
    assert scaled == pytest.approx(plain, rel=0.02)


def test_a_body_twice_as_dense_and_twice_as_stiff_moves_the_same() -> None:
    """Only ratios of mass and stiffness are motion; forces double."""
    path = straight_push([-0.1, 0.0, 0.05], [-0.04, 0.0, 0.05], 0.4)
    conditions = Conditions(support=FLOOR, tool=box_tool(0.04, 0.04, 0.04), path=path)
    ends = []
    for factor in (1.0, 2.0):
        body = soft_box(SIZE, CELLS, replace(FOAM, youngs_modulus=factor * FOAM.youngs_modulus), 200.0 * factor)
        ends.append(next(iter(simulate(body, conditions, [0.4]))))
    moved: Floats = (ends[0].positions - lattice(SIZE, CELLS).points).norm(dim=1).numpy()
    assert moved.max() > 0.01
    assert float((ends[0].positions - ends[1].positions).norm(dim=1).max()) < 1e-3 * moved.max()
    assert np.allclose(2.0 * ends[0].tool_force, ends[1].tool_force, rtol=0.01, atol=0.02)
