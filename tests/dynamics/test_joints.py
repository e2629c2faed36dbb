"""A sponge returns, a door stays where it is pushed: also where door and frame are meshed in one piece."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, Material, ToolKind, ToolPath, ToolShape, elastic_sites, simulate
from neurok_ros.parameterization import KinematicParameterization
from validation.systems import Lattice, Linear, Rigid, full_space, lattice, skew, straight_push

PLATE = (0.6, 0.05, 0.3)


class Turning:
    """Angles by which sets of particles turn about axes along z; the particles are those of one body."""

    def __init__(self, points: Tensor, parts: list[Tensor], pivots: list[Tensor]) -> None:
        self._points, self._parts, self._pivots = points, parts, pivots
        self.dim = len(parts)
        self.rest = points.new_zeros(self.dim)

    def positions(self, q: Tensor) -> Tensor:
        x = self._points
        for number, (part, pivot) in enumerate(zip(self._parts, self._pivots, strict=True)):
            arms = self._points - pivot
            c, s = torch.cos(q[number]), torch.sin(q[number])
            turned = torch.stack([c * arms[:, 0] - s * arms[:, 1], s * arms[:, 0] + c * arms[:, 1], arms[:, 2]], dim=1)
            x = torch.where(part[:, None], pivot + turned, x)
        return x

    def jacobian(self, q: Tensor) -> Tensor:
        return torch.func.jacfwd(self.positions)(q)

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        return q + step


def shapes(points: Tensor, *fields: Callable[[Tensor], Tensor]) -> Linear:
    """One coordinate for each displacement field."""
    return Linear(points, torch.stack([field(points) for field in fields], dim=2))


def bend(x: Tensor) -> Tensor:
    """A bar along x bent in y: sections stay plane."""
    return torch.stack([-x[:, 0] * x[:, 1], 0.5 * x[:, 0] ** 2, torch.zeros_like(x[:, 0])], dim=1)


def door(grid: Lattice, y: float = -0.025) -> Turning:
    """Everything at x > 0.1 turns about a line at x = 0.1, at one face of the plate."""
    return Turning(grid.points, [grid.points[:, 0] > 0.1001], [torch.tensor([0.1, y, 0.0], dtype=torch.float64)])


def centers(grid: Lattice) -> Tensor:
    return grid.points[grid.sites.index].mean(1)


@pytest.mark.parametrize("gauss", [1, 2])
@pytest.mark.parametrize("cells", [(12, 1, 6), (12, 3, 6), (24, 2, 4), (24, 6, 2)])
@pytest.mark.parametrize("y", [-0.025, 0.0])
def test_sites_across_a_fused_hinge_are_not_elastic_and_all_others_are(gauss: int, cells: tuple[int, int, int], y: float) -> None:
    grid = lattice(PLATE, cells, gauss=gauss)
    elastic = elastic_sites(door(grid, y), grid.sites)
    x = centers(grid)[:, 0]
    assert torch.equal(elastic, (x < 0.1) | (x > 0.1 + PLATE[0] / cells[0]))


def test_a_slide_is_found_too() -> None:
    """A drawer fused to its cabinet on five sides."""
    grid = lattice((0.4, 0.4, 0.4), (8, 8, 8), gauss=1)
    x = grid.points
    drawer = (x[:, 0] > -0.11) & (x[:, 1].abs() < 0.11) & ((x[:, 2] - 0.2).abs() < 0.11)
    out = torch.zeros_like(x)
    out[drawer, 0] = 1.0
    elastic = elastic_sites(Linear(x, out[:, :, None]), grid.sites)
    inside = drawer[grid.sites.index]
    bridge = inside.any(1) & ~inside.all(1)
    assert torch.equal(elastic, ~bridge)


@pytest.mark.parametrize("cells", [(12, 2, 2), (12, 3, 3), (20, 4, 4), (6, 1, 1)])
def test_a_bending_sponge_is_elastic_all_over(cells: tuple[int, int, int]) -> None:
    """Also where a middle layer of cells, on the neutral line, is not strained at all."""
    grid = lattice((0.6, 0.1, 0.1), cells, gauss=1)
    assert bool(elastic_sites(shapes(grid.points, bend), grid.sites).all())


def test_a_space_that_could_break_the_body_anywhere_has_no_joints() -> None:
    for size, cells in (((0.3, 0.03, 0.03), (8, 1, 1)), ((0.1, 0.1, 0.1), (3, 3, 3))):
        grid = lattice(size, cells, gauss=1)
        assert bool(elastic_sites(full_space(grid.points), grid.sites).all())


def test_a_thick_soft_layer_between_stiff_parts_is_material() -> None:
    """A rubber foot, eight cells high, under a rigid block: it is sheared."""
    grid = lattice((0.1, 0.1, 0.4), (2, 2, 16), gauss=1)

    def shear(x: Tensor) -> Tensor:
        height = ((x[:, 2] - 0.1) / 0.2).clamp(0.0, 1.0)
        return torch.stack([height, 0 * height, 0 * height], dim=1)

    assert bool(elastic_sites(shapes(grid.points, shear), grid.sites).all())


def test_a_foam_door_keeps_its_foam() -> None:
    """The panel bends by itself, and the coordinates mix its bending with the hinge's turn."""
    grid = lattice(PLATE, (24, 2, 4), gauss=1)
    panel = grid.points[:, 0] > 0.1001

    def turn(x: Tensor) -> Tensor:
        arm = (x - torch.tensor([0.1, -0.025, 0.0], dtype=torch.float64)) * panel[:, None]
        return torch.stack([-arm[:, 1], arm[:, 0], 0 * arm[:, 2]], dim=1)

    def panel_bends(x: Tensor) -> Tensor:
        return bend((x - torch.tensor([0.1, -0.025, 0.0], dtype=torch.float64)) * panel[:, None])

    mixed = (lambda x: turn(x) + 3.0 * panel_bends(x), lambda x: turn(x) - 2.0 * panel_bends(x))
    elastic = elastic_sites(shapes(grid.points, *mixed), grid.sites)
    x = centers(grid)[:, 0]
    bridge = (x > 0.1) & (x < 0.125)
    assert torch.equal(elastic, ~bridge)


def test_a_joint_is_found_as_a_network_would_give_it() -> None:
    """Free to move as a whole, the joint smeared over two cells, and everything wobbling a little."""
    grid = lattice(PLATE, (24, 2, 6), gauss=1)
    points = grid.points
    share = ((points[:, 0] - 0.1) / 0.05).clamp(0.0, 1.0)[:, None]
    arm = points - torch.tensor([0.1, 0.0, 0.0], dtype=torch.float64)
    turn = share * torch.stack([-arm[:, 1], arm[:, 0], 0 * arm[:, 2]], dim=1)
    wobble = 0.005 * torch.sin(points @ torch.tensor([[7.0, 3.0, 2.0], [5.0, 9.0, 4.0], [6.0, 1.0, 8.0]], dtype=torch.float64))
    whole = torch.cat([torch.eye(3, dtype=torch.float64).repeat(len(points), 1, 1), -skew(points)], dim=2)
    basis = torch.cat([whole, (turn + wobble)[:, :, None], (0.5 * turn - wobble.flip(1))[:, :, None]], dim=2)
    elastic = elastic_sites(Linear(points, basis), grid.sites)
    x = centers(grid)[:, 0]
    assert torch.equal(elastic, (x < 0.1) | (x > 0.15))


def test_a_rigid_body_has_no_joints() -> None:
    grid = lattice(PLATE, (6, 1, 3), gauss=1)
    assert bool(elastic_sites(Rigid(grid.points), grid.sites).all())


def pushed_and_left(kinematics: KinematicParameterization, grid: Lattice, material: Material) -> tuple[Tensor, Tensor]:
    """Generalized coordinates while pushed at x = 0.25, and long after the tool has gone."""
    contact = grid.areas.nonzero().squeeze(1)
    sites = grid.sites.select(elastic_sites(kinematics, grid.sites))
    body = Body(kinematics, grid.masses, contact, grid.areas[contact], material, sites)
    there = straight_push([0.25, -0.06, 0.15], [0.25, 0.02, 0.15], 1.0)
    path = ToolPath(np.array([0.0, 1.0, 1.2]), there.positions[[0, 1, 0]], np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)))
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), tool=ToolShape(ToolKind.SPHERE, (0.03,)), path=path)
    pushed, left = simulate(body, conditions, [1.0, 3.0])
    assert pushed.converged
    return pushed.q, left.q


def test_a_pushed_door_stays_open_and_a_pushed_sponge_returns() -> None:
    grid = lattice(PLATE, (12, 2, 4), gauss=1)
    material = Material(1.0e5, 0.3, 0.1)
    pushed, left = pushed_and_left(door(grid, 0.0), grid, material)
    assert float(pushed) > 0.3
    assert float(left) >= float(pushed)
    pushed, left = pushed_and_left(shapes(grid.points, bend), grid, material)
    assert float(pushed) > 0.5
    assert abs(float(left)) < 0.02 * float(pushed)
