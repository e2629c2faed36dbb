"""A stiff body with joints that nobody has named: it turns about them, although its states could bend it too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, Frame, Jointed, Material, ToolKind, ToolPath, ToolShape, rigid_share, simulate
from neurok_ros.dynamics.jointed import effective_inertia
from neurok_ros.geometry.rigid_motions import rigid_motions
from neurok_ros.parameterization import KinematicParameterization
from validation.systems import GRAVITY, Lattice, Linear, Rigid, lattice, straight_push

PLATE = (0.6, 0.05, 0.3)
HINGE = 0.1
DENSITY = 500.0
NO_ELASTICITY = Material(0.0, 0.0, friction=0.0)


class BendingDoor:
    """A leaf at x > 0.1 that turns about z, and can be bent in several ways beside; the frame is free to move as a whole.

    State and step: the frame's shift along y (metres), then the angle (rad), then the amplitudes of the bends.
    """

    def __init__(self, points: Tensor, bends: int) -> None:
        self._points, self._leaf = points, points[:, 0] > HINGE + 1e-9
        arm = torch.where(self._leaf, points[:, 0] - HINGE, 0.0)
        waves = torch.arange(1, bends + 1, dtype=points.dtype) * (np.pi / 0.2)
        self._bends = torch.cos(arm[:, None] * waves) - 1.0
        self.dim = 2 + bends
        self.rest = points.new_zeros(self.dim)

    def positions(self, q: Tensor) -> Tensor:
        x, y, z = self._points.unbind(1)
        y = y + 0.05 * (self._bends @ q[2:])
        c, s, arm = torch.cos(q[1]), torch.sin(q[1]), x - HINGE
        turned = torch.stack([HINGE + c * arm - s * y, s * arm + c * y, z], dim=1)
        return torch.where(self._leaf[:, None], turned, self._points) + q[0] * q.new_tensor([0.0, 1.0, 0.0])

    def jacobian(self, q: Tensor) -> Tensor:
        return torch.func.jacfwd(self.positions)(q).contiguous()

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        return q + step


def plate() -> Lattice:
    return lattice(PLATE, (12, 2, 4), gauss=1)


def jointed_body(kinematics: KinematicParameterization, grid: Lattice, internal: int) -> Body:
    masses = DENSITY / 1000.0 * grid.masses
    contact = grid.areas.nonzero().squeeze(1)
    stiff = Jointed(DENSITY * 0.6**2 / 0.006, 0.25, internal, 30.0, 3.0)
    return Body(kinematics, masses, contact, grid.areas[contact], NO_ELASTICITY, grid.sites, jointed=stiff)


def pushed_and_left(body: Body, grid: Lattice) -> list[Frame]:
    """While it is pushed at x = 0.25, at the end of that, and two seconds after."""
    there = straight_push([0.25, -0.06, 0.15], [0.25, 0.02, 0.15], 1.0)
    path = ToolPath(np.array([0.0, 1.0, 1.2]), there.positions[[0, 1, 0]], np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)))
    anchors = (grid.points[:, 0] < 0.0).nonzero().squeeze(1)
    tool = ToolShape(ToolKind.SPHERE, (0.03,))
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), tool=tool, path=path, anchors=anchors)
    return list(simulate(body, conditions, [0.0, 0.5, 1.0, 3.0]))


@pytest.mark.parametrize("bends", [1, 3])
def test_a_pushed_door_turns_about_its_hinge_and_stays_where_it_was_pushed(bends: int) -> None:
    """The tool ends 0.05 m behind the face, 0.15 m from the hinge: a third of a radian, of which bending is less than a tenth."""
    grid = plate()
    _, half, pushed, left = pushed_and_left(jointed_body(BendingDoor(grid.points, bends), grid, 1 + bends), grid)
    for frame in (half, pushed, left):
        assert frame.converged
        assert float((0.05 * frame.q[2:]).abs().max()) < 0.1 * 0.2 * abs(float(frame.q[1]))
    assert float(pushed.q[1]) > 0.25
    assert float(left.q[1]) > 0.95 * float(pushed.q[1])


def test_without_resistance_the_push_bends_the_leaf_as_much_as_it_turns_it() -> None:
    """What the viscosity is for: inertia alone prefers to move only the material at the tool."""
    grid = plate()
    stiff = jointed_body(BendingDoor(grid.points, 3), grid, 4)
    _, _, pushed, _ = pushed_and_left(replace(stiff, jointed=None, strain=None), grid)
    assert float((0.05 * pushed.q[2:]).abs().max()) > 0.2 * 0.2 * abs(float(pushed.q[1]))


def test_joints_are_held_against_gravity_and_the_whole_falls() -> None:
    """A leaf of 2 kg whose own weight would turn it by half a radian in a tenth of a second."""
    grid = plate()
    body = jointed_body(BendingDoor(grid.points, 2), grid, 3)
    anchors = (grid.points[:, 0] < 0.0).nonzero().squeeze(1)
    conditions = Conditions(gravity=(0.0, -GRAVITY, 0.0), anchors=anchors)
    (held,) = simulate(body, conditions, [1.0])
    assert float(held.q.abs().max()) < 1e-9
    (free,) = simulate(body, replace(conditions, anchors=None), [0.5])
    assert float(free.q[0]) == pytest.approx(-0.5 * GRAVITY * 0.25, rel=1e-3)
    assert float(free.q[1:].abs().max()) < 1e-6
    (falling,) = simulate(replace(body, jointed=None, strain=None), conditions, [0.1])
    assert float(falling.q[1]) < -0.1


def test_a_body_that_stands_does_not_sag_about_its_joints() -> None:
    """The frame stands on the support at y = -0.025; the leaf hangs over it, and could turn and bend, or move as a whole."""
    grid = plate()
    body = jointed_body(BendingDoor(grid.points, 2), grid, 3)
    frame = grid.points[body.contact][:, 0] < 0.0
    body = replace(body, contact=body.contact[frame], contact_areas=body.contact_areas[frame])
    support = (0.0, 1.0, 0.0, 0.025)
    (standing,) = simulate(body, Conditions(gravity=(0.0, -GRAVITY, 0.0), support=support), [2.0])
    assert abs(float(standing.q[0])) < 1e-3
    assert float(standing.q[1:].abs().max()) < 5e-3


def test_a_hold_on_the_whole_prevents_moving_and_turning_and_nothing_else() -> None:
    points = torch.rand(20, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    basis = rigid_motions(points)
    assert basis.shape == (60, 6)
    turn = torch.linalg.cross(torch.tensor([0.2, -0.4, 1.0], dtype=torch.float64).expand(20, 3), points)
    whole = (turn + torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)).reshape(-1)
    assert torch.allclose(basis @ (basis.T @ whole), whole, atol=1e-12)
    stretch = (points - points.mean(0)).reshape(-1)
    assert float((basis.T @ stretch).norm()) < 1e-12
    assert rigid_motions(torch.tensor([[0.0, 0, 0], [1.0, 0, 0]], dtype=torch.float64)).shape == (6, 5)


def test_a_door_moves_rigidly_and_a_sponge_does_not() -> None:
    grid = plate()
    bends = [
        torch.stack([0.0 * grid.points[:, 0], torch.cos(n * 3.0 * grid.points[:, 0]), 0.0 * grid.points[:, 0]], 1) for n in (1, 2)
    ]
    door, sponge = BendingDoor(grid.points, 0), Linear(grid.points, torch.stack(bends, dim=2))
    assert rigid_share(door, grid.sites, 1) > 0.9  # but for the layer of cells that the hinge is in
    assert rigid_share(sponge, grid.sites, 2) < 0.4
    assert rigid_share(Rigid(grid.points), grid.sites, 6) == pytest.approx(1.0)


def test_slow_resistance_is_spared_and_fast_is_not() -> None:
    """Three motions that the viscosity would stop at 2, 30 and 300 a second, of other inertia, in coordinates that mix them."""
    mixing = torch.tensor([[1.0, 0.3, -0.2], [0.1, 0.8, 0.5], [0.0, -0.4, 1.2]], dtype=torch.float64)
    masses, rates = torch.tensor([2.0, 0.5, 7.0]).double(), torch.tensor([2.0, 30.0, 300.0]).double()
    inertia, given = (mixing.T @ torch.diag(d) @ mixing for d in (masses, masses * rates))
    jointed = Jointed(1.0, 0.25, 3, free_rate=30.0, free_ratio=3.0)
    slow = torch.linalg.solve(mixing, torch.tensor([1.0, 0.0, 0.0]).double())
    spared = jointed.spare_joints(given, inertia, slow)
    expected = mixing.T @ torch.diag(masses * rates**5 / (rates**4 + 30.0**4)) @ mixing
    torch.testing.assert_close(spared, expected, rtol=1e-6, atol=1e-6)
    stuck = torch.linalg.solve(mixing, torch.tensor([0.0, 0.0, 1.0]).double())
    driven = jointed.spare_joints(given, inertia, stuck)
    assert float(stuck @ driven @ stuck) == pytest.approx(1 / 82 * float(stuck @ given @ stuck), rel=1e-6)


def test_a_joint_that_others_follow_has_the_inertia_of_all_that_moves() -> None:
    """Two carts of 1 and 3 kg on a spring's coordinate: pulled apart, they move with the reduced mass 3/4 kg."""
    both = torch.tensor([[4.0, 3.0], [3.0, 3.0]], dtype=torch.float64)
    assert float(effective_inertia(both, 1)) == pytest.approx(0.75)
    assert torch.equal(effective_inertia(both, 0), both)


@pytest.mark.parametrize("bends", [1, 3])
def test_a_pushed_door_goes_on_when_the_push_is_over(bends: int) -> None:
    """Nothing brakes its hinge but what resists strain, to which it is a row of cells like any other. That would stop it in
    0.03 s, and has taken less than half of its speed after 0.3 s."""
    grid = plate()
    body = jointed_body(BendingDoor(grid.points, bends), grid, 1 + bends)
    path = straight_push([0.25, -0.06, 0.15], [0.25, 0.02, 0.15], 0.2)
    path = ToolPath(np.array([0.0, 0.2, 0.3]), path.positions[[0, 1, 0]], np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)))
    anchors = (grid.points[:, 0] < 0.0).nonzero().squeeze(1)
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), tool=ToolShape(ToolKind.SPHERE, (0.03,)), path=path, anchors=anchors)

    def speeds(of: Body) -> list[float]:
        angle = [float(frame.q[1]) for frame in simulate(of, conditions, [0.3, 0.32, 0.6, 0.62])]
        return [(angle[1] - angle[0]) / 0.02, (angle[3] - angle[2]) / 0.02]

    before, after = speeds(body)
    assert before > 0.3
    assert after > 0.5 * before
