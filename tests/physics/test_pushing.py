"""A tool pushes: following, force, its limit, fast tools and thin plates, and another simulator's opinion."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, Material, ToolKind, ToolPath, ToolShape, contact_resolution, simulate
from neurok_ros.errors import ErrorCode, NeurokError
from validation.systems import GRAVITY, box_tool, rigid_box, sliding_box, soft_box, straight_push, translation

FLOOR = (0.0, 0.0, 1.0, 0.0)
FRICTION = 0.5


def low_push(speed: float, distance: float = 0.2) -> ToolPath:
    return straight_push([-0.08, 0.0, 0.03], [-0.08 + distance, 0.0, 0.03], distance / speed)


def test_a_free_block_follows_the_tool_and_resists_with_its_friction() -> None:
    body = rigid_box((0.1, 0.1, 0.1), friction=FRICTION)
    conditions = Conditions(support=FLOOR, tool=box_tool(0.04, 0.04, 0.04), path=low_push(0.2))
    frames = list(simulate(body, conditions, np.arange(1, 91) / 60.0))
    reached = -0.08 + 0.2 + 0.02 + 0.05 + 0.2**2 / (2.0 * FRICTION * GRAVITY)  # it slides on when the tool stops
    assert float(frames[-1].q[0]) == pytest.approx(reached, abs=0.002)
    steady = np.mean([-f.tool_force[0] for f in frames[20:55]])
    assert steady == pytest.approx(FRICTION * body.mass * GRAVITY, rel=0.05)
    assert max(f.penetration for f in frames) < 5e-4
    assert abs(float(frames[-1].positions[:, 1].mean())) < 1e-3
    assert not any(f.force_limited for f in frames)


def test_the_force_limit_holds_the_tool_back() -> None:
    body = rigid_box((0.1, 0.1, 0.1), density=2000.0, friction=FRICTION)
    sliding = FRICTION * body.mass * GRAVITY
    tool, path, times = box_tool(0.04, 0.04, 0.04), low_push(0.2), np.arange(1, 91) / 60.0
    weak = list(simulate(body, Conditions(support=FLOOR, tool=tool, path=path, force_limit=0.6 * sliding), times))
    strong = list(simulate(body, Conditions(support=FLOOR, tool=tool, path=path, force_limit=2.0 * sliding), times))
    for limit, frames in ((0.6 * sliding, weak), (2.0 * sliding, strong)):
        assert max(np.linalg.norm(f.tool_force) for f in frames) < 1.03 * limit
    assert weak[-1].force_limited
    assert float(weak[-1].q[0]) < 2e-3  # creeps at less than 1 mm/s
    assert weak[-1].tool_pose is not None
    assert weak[-1].tool_pose[0] == pytest.approx(-0.07, abs=2e-3)  # stands where it met the block
    assert np.linalg.norm(weak[-1].tool_force) > 0.8 * 0.6 * sliding  # and goes on pressing
    assert float(strong[-1].q[0]) == pytest.approx(0.19, abs=0.01)


@pytest.mark.parametrize("held", [False, True])
def test_a_fast_tool_takes_a_thin_plate_along(held: bool) -> None:
    """A 2 mm plate, a finger 2 cm thick at 5 m/s: 83 mm in a 60th of a second."""
    size, cells = (0.002, 0.2, 0.2), (1, 4, 4)
    body = soft_box(size, cells, Material(1.0e7, 0.3, 0.001, 0.3), 500.0) if held else rigid_box(size, 500.0, cells=cells)
    anchors = (body.rest_positions[:, 2] < 1e-6).nonzero().squeeze(1) if held else None
    path = straight_push([-0.1, 0.0, 0.1], [0.05, 0.0, 0.1], 0.03)
    tool = box_tool(0.02, 0.08, 0.08)
    frames = list(simulate(body, Conditions(support=FLOOR, tool=tool, path=path, anchors=anchors), [0.01, 0.02, 0.025, 0.03]))
    middle = (body.rest_positions - torch.tensor([0.0, 0.0, 0.1])).norm(dim=1).argmin()
    assert float(frames[-1].positions[middle, 0]) > 0.059  # in front of the finger
    assert max(f.penetration for f in frames) < 1e-3
    assert frames[-1].converged


def test_a_cylinder_on_edge_and_a_turning_box_push_too() -> None:
    body = rigid_box((0.1, 0.1, 0.1), friction=FRICTION)
    quarter = np.sqrt(0.5)
    rod = ToolPath(
        np.array([0.0, 1.0]), np.array([[-0.08, 0.0, 0.03], [0.02, 0.0, 0.03]]), np.tile([quarter, 0.0, 0.0, quarter], (2, 1))
    )
    (lying,) = simulate(body, Conditions(support=FLOOR, tool=ToolShape(ToolKind.CYLINDER, (0.3, 0.02)), path=rod), [1.2])
    assert float(lying.q[0]) == pytest.approx(0.02 + 0.02 + 0.05, abs=0.005)
    turn = ToolPath(
        np.array([0.0, 0.6]),
        np.array([[-0.1, 0.0, 0.03], [-0.1, 0.0, 0.03]]),
        np.array([[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -np.sin(0.4), np.cos(0.4)]]),
    )
    (swept,) = simulate(body, Conditions(support=FLOOR, tool=box_tool(0.02, 0.3, 0.04), path=turn), [1.0])
    assert float(swept.q[0]) > 0.005
    assert swept.penetration < 1e-3


def test_the_work_of_a_tool_that_lifts_is_the_weight_times_the_height() -> None:
    """A plate takes a block up by 10 cm, smoothly: at its ends what it has done is potential energy."""
    body = rigid_box((0.1, 0.1, 0.1), friction=FRICTION)
    times = np.linspace(0.0, 1.0, 31)
    height = 0.05 * (1.0 - np.cos(np.pi * times))
    path = ToolPath(times, np.stack([0 * times, 0 * times, height - 0.0105], axis=1), np.tile([0.0, 0.0, 0.0, 1.0], (31, 1)))
    start, lifted = simulate(body, Conditions(tool=box_tool(0.2, 0.2, 0.02), path=path), [0.0, 1.2])
    risen = lifted.gravity_energy - start.gravity_energy
    assert risen == pytest.approx(body.mass * GRAVITY * 0.1, rel=0.01)
    assert lifted.tool_work == pytest.approx(risen, rel=0.02)
    assert start.tool_work == 0.0


def test_the_work_of_a_tool_that_pushes_is_lost_to_friction() -> None:
    body = rigid_box((0.1, 0.1, 0.1), friction=FRICTION)
    conditions = Conditions(support=FLOOR, tool=box_tool(0.04, 0.04, 0.04), path=low_push(0.2))
    (frame,) = simulate(body, conditions, [1.5])
    assert frame.tool_work == pytest.approx(FRICTION * body.mass * GRAVITY * float(frame.q[0]), rel=0.05)


def test_a_gripper_takes_what_is_between_its_fingers_along_both_ways() -> None:
    """To and fro along the line of the fingers; the gap is 20 mm wider than the block."""
    body = rigid_box((0.1, 0.06, 0.1), friction=FRICTION)
    gripper = ToolShape(ToolKind.CAPSULE, (0.06, 0.01), opening=0.08)
    times, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.1, -0.1])
    path = ToolPath(times, np.stack([0 * y, y, 0 * y + 0.04], axis=1), np.tile([0.0, 0.0, 0.0, 1.0], (3, 1)))
    there, back = simulate(body, Conditions(support=FLOOR, tool=gripper, path=path), [1.0, 2.5])
    assert float(there.q[1]) == pytest.approx(0.1 - 0.01, abs=1e-3)
    assert float(back.q[1]) == pytest.approx(-0.1 + 0.01, abs=5e-3)  # slides on by v^2 / (2 mu g) = 4 mm
    assert there.tool_force[1] < -0.8 * FRICTION * body.mass * GRAVITY


def test_a_capsule_pushes_as_a_cylinder_does_at_its_side() -> None:
    body = rigid_box((0.1, 0.1, 0.1), friction=FRICTION)
    ends = []
    for kind, height in ((ToolKind.CYLINDER, 0.08), (ToolKind.CAPSULE, 0.04)):
        tool = ToolShape(kind, (height, 0.02))
        path = straight_push([-0.08, 0.0, 0.05], [0.12, 0.0, 0.05], 1.0)
        (frame,) = simulate(body, Conditions(support=FLOOR, tool=tool, path=path), [1.5])
        ends.append(float(frame.q[0]))
    assert ends[1] == pytest.approx(ends[0], abs=1e-4)
    assert ends[1] == pytest.approx(0.12 + 0.02 + 0.05, abs=6e-3)


def test_the_rollout_stops_between_two_steps() -> None:
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 5

    frames = list(simulate(sliding_box((0.1, 0.1, 0.1)), Conditions(), [1.0, 2.0], should_stop=stop))
    assert frames == []
    assert len(asked) == 6


def test_a_push_that_starts_inside_the_object_is_refused() -> None:
    path = straight_push([0.0, 0.0, 0.05], [0.1, 0.0, 0.05], 1.0)
    with pytest.raises(NeurokError, match="inside the object") as caught:
        simulate(rigid_box((0.1, 0.1, 0.1)), Conditions(tool=box_tool(0.3, 0.3, 0.3), path=path), [0.1])
    assert caught.value.code is ErrorCode.INVALID_PUSH


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_a_force_limit_that_is_no_force_is_refused(limit: float) -> None:
    conditions = Conditions(tool=box_tool(0.04, 0.04, 0.04), path=low_push(0.2), force_limit=limit)
    with pytest.raises(NeurokError, match="force_limit") as caught:
        simulate(rigid_box((0.1, 0.1, 0.1)), conditions, [0.1])
    assert caught.value.code is ErrorCode.INVALID_PUSH


def test_a_box_sunk_into_its_support_by_scan_noise_is_not_thrown_up() -> None:
    body = rigid_box((0.1, 0.1, 0.1))
    frames = list(simulate(body, Conditions(support=(0.0, 0.0, 1.0, -0.004)), np.arange(1, 31) / 60.0))
    assert max(float(f.q[2]) for f in frames) == pytest.approx(0.05, abs=1e-4)


def mujoco_push(body: Body, path: ToolPath, tool: tuple[float, float, float], duration: float) -> float:
    """Metres: how far MuJoCo moves a free box, pushed by a mocap box along the same path."""
    half = 0.5 * (body.rest_positions.amax(0) - body.rest_positions.amin(0)).numpy()
    xml = f"""
    <mujoco><option timestep="0.001" cone="elliptic" impratio="50"/>
      <default><geom solref="0.004 1" solimp="0.99 0.999 0.0001" friction="{body.material.friction} 0 0" condim="3"/></default>
      <worldbody><geom type="plane" size="2 2 0.1"/>
        <body pos="0 0 {half[2]}"><freejoint/><geom type="box" size="{half[0]} {half[1]} {half[2]}" mass="{body.mass}"/></body>
        <body name="tool" mocap="true" pos="-1 0 1">
          <geom type="box" size="{tool[0] / 2} {tool[1] / 2} {tool[2] / 2}" friction="0 0 0"/></body>
      </worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    data.mocap_pos[0] = path.pose(0.0)[0]
    while data.time < duration:
        data.mocap_pos[0] = path.pose(data.time)[0]
        mujoco.mj_step(model, data)
    return float(data.qpos[0])


@pytest.mark.parametrize("speed", [0.1, 0.3])
def test_mujoco_agrees_on_where_a_pushed_box_ends(speed: float) -> None:
    body = rigid_box((0.1, 0.1, 0.1), friction=FRICTION)
    path, tool = low_push(speed), (0.04, 0.04, 0.04)
    (frame,) = simulate(body, Conditions(support=FLOOR, tool=box_tool(*tool), path=path), [0.2 / speed + 0.5])
    theirs = mujoco_push(body, path, tool, 0.2 / speed + 0.5)
    # after the tool stops a box of 0.3 m/s slides on for 9 mm of 200: contact and restitution differ by part of that
    assert float(frame.q[0]) == pytest.approx(theirs, rel=0.02)


def test_a_tower_pushed_at_its_top_falls_over_and_lies_still() -> None:
    body = rigid_box((0.06, 0.06, 0.3), friction=0.6, cells=(4, 4, 12))
    tool = ToolShape(ToolKind.SPHERE, (0.02,))
    path = straight_push([-0.06, 0.0, 0.25], [0.04, 0.0, 0.25], 0.5)
    assert contact_resolution(body.contact_areas, tool) < 0.7
    standing, lying, later = simulate(body, Conditions(support=FLOOR, tool=tool, path=path), [0.04, 1.2, 2.0])
    assert float(standing.q[2]) == pytest.approx(0.15, abs=1e-3)
    assert float(lying.q[2]) == pytest.approx(0.03, abs=1e-3)
    assert float(lying.q[0]) > 0.1
    assert float((later.positions - lying.positions).abs().max()) < 1e-4
    assert later.kinetic_energy < 1e-6


class BreaksBeyond:
    """A parameterization that stops being finite: positions are NaN once q exceeds a length."""

    dim = 3

    def __init__(self, points: Tensor, limit: float) -> None:
        self._inner, self._limit = translation(points), limit
        self.rest = self._inner.rest

    def positions(self, q: Tensor) -> Tensor:
        return self._inner.positions(torch.where(q.abs() > self._limit, torch.nan, q))

    def jacobian(self, q: Tensor) -> Tensor:
        return self._inner.jacobian(q)

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        return q + step


def test_a_rollout_that_cannot_go_on_ends_with_the_last_good_frame() -> None:
    box = sliding_box((0.1, 0.1, 0.1))
    body = Body(BreaksBeyond(box.rest_positions, 0.3), box.masses, box.contact, box.contact_areas, box.material)
    frames = list(simulate(body, Conditions(), np.arange(1, 61) / 60.0))
    assert 0 < len(frames) < 60
    assert frames[-1].diverged
    assert not any(f.diverged for f in frames[:-1])
    assert all(bool(torch.isfinite(f.positions).all()) for f in frames)
    assert float(frames[-1].q[2]) == pytest.approx(-0.3, abs=0.05)  # as far as it could fall
