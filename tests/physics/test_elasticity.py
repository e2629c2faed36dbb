"""Soft bodies against closed forms, and the whole range of real stiffness."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, Material, ToolKind, ToolShape, simulate
from validation.systems import GRAVITY, Linear, Rigid, box_tool, lattice, soft_box, straight_push

FLOOR = (0.0, 0.0, 1.0, 0.0)


def polynomial_box(size: tuple[float, float, float], cells: tuple[int, int, int], degree: int, material: Material) -> Body:
    """A box that moves by all polynomials of the coordinates up to a degree: a linear subspace with constant Jacobian."""
    grid = lattice(size, cells, gauss=1)
    x = 2.0 * (grid.points - grid.points.mean(0)) / torch.tensor(size)
    powers = [(i, j, k) for i in range(degree + 1) for j in range(degree + 1) for k in range(degree + 1) if i + j + k <= degree]
    shapes = torch.stack([x[:, 0] ** i * x[:, 1] ** j * x[:, 2] ** k for i, j, k in powers], dim=1)
    basis = torch.einsum("nm,ij->nimj", shapes, torch.eye(3, dtype=torch.float64)).reshape(len(x), 3, -1)
    contact = grid.areas.nonzero().squeeze(1)
    return Body(Linear(grid.points, basis), grid.masses, contact, grid.areas[contact], material, grid.sites)


@pytest.mark.parametrize("modulus", [5.0e4, 1.0e6])
def test_a_column_is_shortened_by_its_weight(modulus: float) -> None:
    """rho g L^2 / (2 E) for a column that is free to spread: no Poisson ratio, no friction."""
    density, height = 1000.0, 0.2
    body = soft_box((0.1, 0.1, height), (1, 1, 5), Material(modulus, 0.0, 0.2, 0.0), density)
    (frame,) = simulate(body, Conditions(support=FLOOR), [1.5])
    top = body.rest_positions[:, 2] > height - 1e-9
    shortening = -float((frame.positions - body.rest_positions)[top, 2].mean())
    # 5 linear elements are exact at their nodes; large strain (up to 2 %) and the contact's give make up the rest
    assert shortening == pytest.approx(density * GRAVITY * height**2 / (2.0 * modulus), rel=0.01)
    assert frame.support_force[2] == pytest.approx(body.mass * GRAVITY, rel=1e-3)


def test_a_hanging_bar_stretches_under_its_weight_and_holds_its_anchors() -> None:
    density, height, modulus = 1000.0, 0.2, 2.0e5
    body = soft_box((0.05, 0.05, height), (1, 1, 5), Material(modulus, 0.0, 0.2), density)
    held = (body.rest_positions[:, 2] > height - 1e-9).nonzero().squeeze(1)
    (frame,) = simulate(body, Conditions(anchors=held), [1.5])
    moved = frame.positions - body.rest_positions
    bottom = body.rest_positions[:, 2] < 1e-9
    assert float(moved[held].norm(dim=1).max()) < 1e-5
    assert -float(moved[bottom, 2].mean()) == pytest.approx(density * GRAVITY * height**2 / (2.0 * modulus), rel=0.01)


def test_a_bar_rings_at_its_longitudinal_frequency() -> None:
    """A quarter-wave bar, held at one end: T = 4 L sqrt(rho / E)."""
    density, height, modulus = 1000.0, 0.5, 1.0e6
    body = soft_box((0.05, 0.05, height), (1, 1, 8), Material(modulus, 0.0, 0.0), density)
    held = (body.rest_positions[:, 2] < 1e-9).nonzero().squeeze(1)
    start = torch.zeros_like(body.rest_positions)
    start[:, 2] = 0.1 * torch.sin(0.5 * torch.pi * body.rest_positions[:, 2] / height)
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), anchors=held, initial_velocity=start.view(-1))
    period = 4.0 * height * np.sqrt(density / modulus)
    times = np.linspace(0.0, 1.2 * period, 121)
    top = body.rest_positions[:, 2].argmax()
    heights = np.array([float(f.positions[top, 2]) - height for f in simulate(body, conditions, times, period / 100.0)])
    crossing = next(k for k in range(20, 121) if heights[k] < 0.0 <= heights[k - 1])
    half = times[crossing - 1] + (times[1]) * heights[crossing - 1] / (heights[crossing - 1] - heights[crossing])
    assert half == pytest.approx(period / 2.0, rel=0.015)  # 100 steps a period, lumped masses on 8 elements: +-1 %


@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_rotation_costs_neither_strain_nor_damping(damping: float) -> None:
    grid = lattice((0.1, 0.06, 0.03), (2, 2, 2))
    material = Material(1.0e6, 0.3, damping)
    body = Body(Rigid(grid.points), grid.masses, torch.arange(0), torch.zeros(0).double(), material, grid.sites)
    spin = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.0, 12.0], dtype=torch.float64)
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), initial_velocity=spin)
    first, last = simulate(body, conditions, [0.0, 1.0], 1.0 / 240.0)
    assert last.strain_energy < 1e-9 * 1.0e6 * float(grid.sites.volume.sum())
    assert last.kinetic_energy == pytest.approx(first.kinetic_energy, rel=5e-3)


def test_a_spinning_deformable_body_keeps_its_angular_momentum() -> None:
    body = polynomial_box((0.1, 0.06, 0.04), (3, 3, 3), 1, Material(1.0e6, 0.3, 0.01))
    x = body.rest_positions - body.rest_positions.mean(0)
    axis = torch.tensor([0.0, 0.5, 6.0], dtype=torch.float64)
    spin = torch.linalg.lstsq(
        body.kinematics.jacobian(body.kinematics.rest).reshape(-1, body.kinematics.dim),
        torch.linalg.cross(axis.expand_as(x), x).reshape(-1, 1),
    ).solution.squeeze(1)
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), initial_velocity=spin)
    momenta = []
    for frame in simulate(body, conditions, [0.0, 1.0], 1.0 / 120.0):
        centre = (body.masses[:, None] * frame.positions).sum(0) / body.mass
        moment = body.masses[:, None] * frame.velocities
        momenta.append(torch.linalg.cross(frame.positions - centre, moment).sum(0))
    assert float((momenta[1] - momenta[0]).norm() / momenta[0].norm()) < 0.02


@pytest.mark.parametrize("modulus", [1.0e3, 1.0e4, 1.0e6, 1.0e8, 1.0e10])
@pytest.mark.parametrize("damping", [0.0, 0.05])
def test_every_real_stiffness_stays_finite_at_the_default_step(modulus: float, damping: float) -> None:
    body = polynomial_box((0.2, 0.2, 0.2), (4, 4, 4), 2, Material(modulus, 0.3, damping, 0.5))
    path = straight_push([-0.17, 0.0, 0.1], [0.05, 0.0, 0.1], 1.0)
    conditions = Conditions(support=FLOOR, tool=ToolShape(ToolKind.SPHERE, (0.04,)), path=path)
    frames = list(simulate(body, conditions, np.arange(1, 73) / 60.0))
    assert not frames[-1].diverged
    for frame in frames:
        assert bool(torch.isfinite(frame.positions).all())
        assert frame.penetration < 1e-3
        assert frame.support_penetration < 1e-3
        assert float(frame.positions.abs().max()) < 1.0
    if modulus >= 1.0e6:  # nearly rigid: carried along by the tool, standing
        assert float(frames[59].positions[:, 0].mean()) == pytest.approx(0.05 + 0.04 + 0.1, abs=0.01)


def test_a_fixed_sponge_gives_way_and_comes_back() -> None:
    body = polynomial_box((0.2, 0.2, 0.2), (4, 4, 4), 3, Material(5.0e4, 0.3, 0.05, 0.3))
    held = (body.rest_positions[:, 2] < 1e-9).nonzero().squeeze(1)
    path = straight_push([-0.16, 0.0, 0.15], [-0.1, 0.0, 0.15], 0.3)
    there_and_back = type(path)(
        np.array([0.0, 0.3, 0.6]), np.vstack([path.positions, path.positions[:1]]), np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))
    )
    conditions = Conditions(support=FLOOR, tool=ToolShape(ToolKind.SPHERE, (0.04,)), path=there_and_back, anchors=held)
    _, pressed, _, back = simulate(body, conditions, [0.29, 0.3, 2.9, 3.0])
    assert float((pressed.positions - body.rest_positions).norm(dim=1).max()) > 0.02
    assert pressed.tool_force[0] < -1.0
    assert pressed.strain_energy > 0.01
    assert float((back.positions - body.rest_positions).norm(dim=1).max()) < 0.01  # sags by rho g L^2 / 2E = 0.8 mm
    assert np.allclose(back.tool_force, 0.0)


def test_a_soft_block_cannot_jump_through_the_tool_that_holds_it_down() -> None:
    """An undamped block pressed by 6 cm under a 4 cm plate that stops: its top stays under the plate."""
    body = polynomial_box((0.2, 0.2, 0.2), (4, 4, 4), 2, Material(1.0e4, 0.3, 0.0, 1.0))
    path = straight_push([0.0, 0.0, 0.25], [0.0, 0.0, 0.16], 0.6)
    conditions = Conditions(support=FLOOR, tool=ToolShape(ToolKind.CYLINDER, (0.04, 0.05)), path=path)
    top = (body.rest_positions - torch.tensor([0.0, 0.0, 0.2])).norm(dim=1).argmin()
    for frame in simulate(body, conditions, np.arange(1, 73) / 60.0):
        assert frame.tool_pose is not None
        assert float(frame.positions[top, 2]) < frame.tool_pose[2] - 0.02 + 0.001
        assert frame.converged


class Warped:
    """The same shapes as another parameterization's, reached with other numbers: x(q) = x'(q + 20 q^3)."""

    def __init__(self, inner: Linear) -> None:
        self._inner, self.dim, self.rest = inner, inner.dim, inner.rest

    def positions(self, q: Tensor) -> Tensor:
        return self._inner.positions(q + 20.0 * q**3)

    def jacobian(self, q: Tensor) -> Tensor:
        return self._inner.jacobian(q) * (1.0 + 60.0 * q**2)

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        return q + step


def test_motion_does_not_depend_on_the_numbers_that_name_a_shape() -> None:
    body = polynomial_box((0.12, 0.1, 0.08), (3, 3, 3), 1, Material(2.0e4, 0.3, 0.02))
    assert isinstance(body.kinematics, Linear)
    warped = replace(body, kinematics=Warped(body.kinematics))
    path = straight_push([-0.1, 0.01, 0.06], [0.0, 0.01, 0.06], 0.5)
    conditions = Conditions(support=FLOOR, tool=box_tool(0.04, 0.04, 0.04), path=path)
    plain_frames, warped_frames = (list(simulate(b, conditions, [0.2, 0.4, 0.7])) for b in (body, warped))
    assert float((plain_frames[-1].positions - body.rest_positions).norm(dim=1).max()) > 0.04
    for plain, other in zip(plain_frames, warped_frames, strict=True):
        assert other.converged
        assert float((plain.positions - other.positions).abs().max()) < 2e-5
        assert np.allclose(plain.tool_force, other.tool_force, atol=0.05)


def test_halving_the_step_changes_a_soft_push_little() -> None:
    body = polynomial_box((0.2, 0.2, 0.2), (4, 4, 4), 3, Material(5.0e4, 0.3, 0.05, 0.5))
    held = (body.rest_positions[:, 2] < 1e-9).nonzero().squeeze(1)
    path = straight_push([-0.16, 0.0, 0.15], [-0.1, 0.0, 0.15], 0.3)
    conditions = Conditions(support=FLOOR, tool=ToolShape(ToolKind.SPHERE, (0.05,)), path=path, anchors=held)
    coarse, fine = (next(iter(simulate(body, conditions, [0.3], step))) for step in (1.0 / 60.0, 1.0 / 240.0))
    moved = (fine.positions - body.rest_positions).norm(dim=1).max()
    assert float(moved) > 0.03
    assert float((coarse.positions - fine.positions).norm(dim=1).max()) < 0.03 * float(moved)
    assert coarse.tool_force[0] == pytest.approx(fine.tool_force[0], rel=0.05)


def test_tool_box_presses_a_soft_block_with_the_force_of_its_stiffness() -> None:
    """A plate over the whole top: F = E A d / L for small d."""
    modulus = 1.0e5
    body = soft_box((0.1, 0.1, 0.1), (2, 2, 2), Material(modulus, 0.0, 0.05, 0.0))
    path = straight_push([0.0, 0.0, 0.13], [0.0, 0.0, 0.118], 0.5)
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), support=FLOOR, tool=box_tool(0.3, 0.3, 0.04), path=path)
    _, frame = simulate(body, conditions, [1.9, 2.0])
    strain = 0.02
    # stable neo-Hookean with nu = 0 in uniaxial stress: -mu (1 - 1/l^2)-like hardening is of order 3 * strain / 2
    assert -frame.support_force[2] == pytest.approx(-frame.tool_force[2], rel=1e-3)
    assert frame.tool_force[2] == pytest.approx(modulus * 0.01 * strain, rel=2.0 * strain)
