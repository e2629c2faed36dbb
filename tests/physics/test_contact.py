"""Blocks on planes: free fall, rest, sliding, sticking, momentum, and the end of contact."""

from __future__ import annotations

import gc
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, ToolPath, simulate
from neurok_ros.dynamics.energies import REBOUND_SPEED
from validation.mujoco.free_box import FreeBox
from validation.systems import GRAVITY, Rigid, box_tool, rigid_box, sliding_box, straight_push

FLOOR = (0.0, 0.0, 1.0, 0.0)
STEP = 1.0 / 60.0


def velocity(*components: float) -> Tensor:
    return torch.tensor(components, dtype=torch.float64)


@pytest.mark.parametrize("times", [[0.1, 0.5, 1.0], [0.013, 0.1, 0.107, 0.9]])
def test_free_fall_is_exact_whatever_the_steps(times: list[float]) -> None:
    frames = simulate(sliding_box((0.1, 0.1, 0.1)), Conditions(initial_velocity=velocity(0.3, 0.0, 2.0)), times)
    for frame in frames:
        t = frame.time
        assert np.allclose(frame.q, [0.3 * t, 0.0, 2.0 * t - 0.5 * GRAVITY * t * t], atol=1e-9)
        assert np.allclose(frame.velocities, [0.3, 0.0, 2.0 - GRAVITY * t], atol=1e-8)


@pytest.mark.parametrize(("make", "steps"), [(sliding_box, 10_000), (rigid_box, 1_000)])
def test_a_resting_block_presses_with_its_weight_and_does_not_drift(make: Callable[..., Body], steps: int) -> None:
    body = make((0.1, 0.08, 0.12))
    frames = list(simulate(body, Conditions(support=FLOOR), [0.5, steps * STEP]))
    for frame in frames:
        assert frame.converged
        assert np.allclose(frame.support_force, [0.0, 0.0, body.mass * GRAVITY], rtol=1e-3, atol=1e-3 * body.mass * GRAVITY)
    drift = (frames[1].positions - frames[0].positions).norm(dim=1).max()
    assert float(drift) < 1e-6
    assert frames[1].support_penetration < 1e-4


@pytest.mark.parametrize(("speed", "friction"), [(1.0, 0.4), (0.5, 0.2)])
def test_a_sliding_block_stops_where_friction_has_used_up_its_energy_and_stays(speed: float, friction: float) -> None:
    body = sliding_box((0.1, 0.1, 0.1), friction=friction)
    duration = speed / (friction * GRAVITY)
    conditions = Conditions(support=FLOOR, initial_velocity=velocity(speed, 0.0, 0.0))
    stopped, later = list(simulate(body, conditions, [duration + 0.2, duration + 2.0]))
    assert float(stopped.q[0]) == pytest.approx(speed**2 / (2.0 * friction * GRAVITY), rel=0.015)
    assert float(later.q[0] - stopped.q[0]) == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize("ratio", [0.8, 0.95, 1.05, 1.3])
def test_a_block_on_an_incline_slides_only_beyond_the_friction_angle(ratio: float) -> None:
    friction = 0.5
    angle = np.arctan(ratio * friction)
    body = rigid_box((0.1, 0.1, 0.05), friction=friction)
    gravity = (GRAVITY * np.sin(angle), 0.0, -GRAVITY * np.cos(angle))
    (frame,) = simulate(body, Conditions(gravity=gravity, support=FLOOR), [1.0])
    slid = 0.5 * GRAVITY * (np.sin(angle) - friction * np.cos(angle))
    if ratio < 1.0:
        assert float(frame.q[0]) < 1e-3  # creeps at less than 1 mm/s
    else:
        assert float(frame.q[0]) == pytest.approx(slid, rel=0.02)


def table(edge: float) -> Tensor:
    """A table top that ends at x = edge."""
    return torch.tensor([[-1.0, -1.0, 0.0], [edge, -1.0, 0.0], [edge, 1.0, 0.0], [-1.0, 1.0, 0.0]], dtype=torch.float64)


@pytest.mark.parametrize("edge", [-0.03, 0.03])
def test_a_block_over_the_edge_falls_when_its_centre_is(edge: float) -> None:
    body = rigid_box((0.1, 0.1, 0.04))
    (frame,) = simulate(body, Conditions(support=FLOOR, support_outline=table(edge)), [0.6])
    assert frame.off_support == (edge < 0.0)
    if edge < 0.0:
        assert float(frame.q[2]) < -0.1
    else:
        assert float((frame.positions - body.rest_positions).abs().max()) < 1e-4


def test_a_block_slides_off_a_table_and_flies() -> None:
    """It leaves with the speed that friction has left it, up to two steps' friction, and falls freely."""
    body = sliding_box((0.1, 0.1, 0.1), friction=0.2)
    conditions = Conditions(support=FLOOR, support_outline=table(0.2), initial_velocity=velocity(2.0, 0.0, 0.0))
    frames = list(simulate(body, conditions, np.arange(1, 61) * STEP))
    left = next(f for f in frames if float(f.positions[:, 0].min()) > 0.2)
    assert float(left.velocities[0, 0]) == pytest.approx(
        np.sqrt(4.0 - 2.0 * 0.2 * GRAVITY * 0.25), abs=0.2 * GRAVITY * STEP
    )  # one step
    assert float(frames[-1].velocities[0, 0]) == pytest.approx(float(left.velocities[0, 0]), abs=0.2 * GRAVITY * STEP)
    assert float(frames[-1].velocities[0, 0]) == pytest.approx(float(frames[-9].velocities[0, 0]), abs=1e-4)
    fallen = frames[-1].time - left.time
    assert float(frames[-1].q[2]) == pytest.approx(-0.5 * GRAVITY * fallen**2, abs=GRAVITY * fallen * STEP)
    assert [f.off_support for f in frames] == [float(f.q[0]) > 0.2 for f in frames]


def test_the_corners_of_an_outline_may_be_in_either_order() -> None:
    body = rigid_box((0.1, 0.1, 0.04))
    ends = [
        next(iter(simulate(body, Conditions(support=FLOOR, support_outline=corners), [0.5]))).q[2]
        for corners in (table(-0.03), table(-0.03).flip(0))
    ]
    assert float(ends[0]) == pytest.approx(float(ends[1]))


def test_contact_forces_account_for_the_change_of_momentum() -> None:
    body = rigid_box((0.1, 0.1, 0.1))
    path = straight_push([-0.1, 0.01, 0.03], [0.1, 0.01, 0.03], 1.0)
    conditions = Conditions(support=FLOOR, tool=box_tool(0.04, 0.04, 0.04), path=path)
    frames = list(simulate(body, conditions, np.arange(0, 61) * STEP))
    weight = np.array([0.0, 0.0, -body.mass * GRAVITY])
    forces = np.array([f.support_force - f.tool_force + weight for f in frames])
    momenta = np.array([(body.masses[:, None] * f.velocities).sum(0).numpy() for f in frames])
    impulse = forces[1:].cumsum(0) * STEP
    largest = np.abs(momenta).max()
    assert largest > 0.5 * body.mass * 0.2  # it was pushed along
    assert np.abs(impulse - (momenta[1:] - momenta[0])).max() < 0.05 * largest


def test_motion_goes_on_at_its_own_pace_after_contact() -> None:
    """No damping is left behind by a landing, or by a tool that has gone."""
    body = sliding_box((0.1, 0.1, 0.1), friction=0.0)
    conditions = Conditions(support=(0.0, 0.0, 1.0, 0.05), initial_velocity=velocity(0.5, 0.0, 0.0))
    frames = list(simulate(body, conditions, np.arange(1, 1201) * STEP))
    assert float(frames[-1].q[0]) == pytest.approx(0.5 * 20.0, rel=1e-3)
    assert float(frames[-1].velocities[0, 0]) == pytest.approx(0.5, rel=1e-3)
    landed = [f.iterations for f in frames[100:]]
    assert max(landed) <= 3


def test_memory_does_not_grow_with_steps() -> None:
    path = straight_push([-0.1, 0.0, 0.05], [0.1, 0.0, 0.05], 20.0)
    conditions = Conditions(support=FLOOR, tool=box_tool(0.04, 0.04, 0.04), path=path)
    counts = []
    for frame in simulate(sliding_box((0.1, 0.1, 0.1)), conditions, [8.0, 16.0]):
        assert np.linalg.norm(frame.tool_force) > 0.0
        del frame
        gc.collect()
        counts.append(sum(type(o) is Tensor for o in gc.get_objects()))
    assert abs(counts[1] - counts[0]) < 10  # 480 steps lie between


def test_an_inelastic_landing_does_not_rebound() -> None:
    body = sliding_box((0.1, 0.1, 0.1))
    frames = list(simulate(body, Conditions(support=(0.0, 0.0, 1.0, 0.3)), np.arange(1, 91) * STEP))
    landing = next(k for k, f in enumerate(frames) if f.support_force[2] > 0.0)
    impact_speed = np.sqrt(2.0 * GRAVITY * 0.3)
    rebound = max(float(f.q[2]) + 0.3 for f in frames[landing:])
    assert rebound < 0.05 * 0.3
    assert max(f.support_penetration for f in frames) < 1e-3
    assert max(float(f.velocities[0, 2]) for f in frames[landing:]) < 0.1 * impact_speed


@pytest.mark.parametrize("step", [STEP, STEP / 16.0])
def test_a_light_block_that_is_hit_does_not_fly_from_the_tool(step: float) -> None:
    """Inelastic by choice: it goes on with the tool's speed, whatever the steps."""
    body = sliding_box((0.1, 0.1, 0.1), friction=0.0)
    path = straight_push([-0.1, 0.0, 0.05], [0.1, 0.0, 0.05], 0.4)
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), tool=box_tool(0.04, 0.04, 0.04), path=path)
    (frame,) = simulate(body, conditions, [0.3], step)
    assert float(frame.velocities[0, 0]) == pytest.approx(0.5, abs=1.1 * REBOUND_SPEED)


def test_a_rocking_box_keeps_the_spin_that_the_momentum_balance_leaves_it() -> None:
    """Housner 1963: an inelastic impact on the other edge leaves 1 - 3/2 sin^2 a of the spin, tan a = width / height."""
    size, tilt = (0.07, 0.1, 0.2), np.radians(12.0)
    body = FreeBox(size, tilt).sampled(1.0, None).body
    frames = list(simulate(body, Conditions(support=FLOOR), np.arange(0, 61) * STEP))
    energy = np.array([f.kinetic_energy + f.gravity_energy for f in frames]) - 0.5 * body.mass * GRAVITY * size[2]
    kept = 1.0 - 1.5 * np.sin(np.arctan2(size[0], size[2])) ** 2
    falling, risen = energy[5], energy[18]
    assert falling == pytest.approx(energy[0], rel=0.02)
    assert np.sqrt(risen / falling) == pytest.approx(kept, rel=0.04)


def test_a_tumbling_box_loses_no_angular_momentum_to_the_integrator() -> None:
    body = rigid_box((0.1, 0.06, 0.03))
    spin = velocity(0.0, 0.0, 0.0, 0.3, 6.0, 0.2)
    first, *_, last = simulate(body, Conditions(gravity=(0.0, 0.0, 0.0), initial_velocity=spin), np.arange(0, 61) * STEP)

    def angular_momentum(positions: Tensor, velocities: Tensor) -> Tensor:
        centre = (body.masses[:, None] * positions).sum(0) / body.mass
        return torch.linalg.cross(positions - centre, body.masses[:, None] * velocities).sum(0)

    before = angular_momentum(first.positions, first.velocities)
    after = angular_momentum(last.positions, last.velocities)
    assert float((after - before).norm() / before.norm()) < 0.02  # one turn a second, second order at 1/60 s


def test_motion_does_not_depend_on_the_order_of_particles() -> None:
    body = rigid_box((0.1, 0.08, 0.06))
    order = torch.randperm(len(body.masses), generator=torch.Generator().manual_seed(1))
    position = torch.empty_like(order)
    position[order] = torch.arange(len(order))
    kinematics = Rigid(body.rest_positions[order])
    shuffled = Body(kinematics, body.masses[order], position[body.contact], body.contact_areas, body.material)
    path = straight_push([-0.1, 0.02, 0.03], [0.05, 0.02, 0.03], 0.5)
    conditions = Conditions(support=FLOOR, tool=box_tool(0.04, 0.04, 0.04), path=path)
    ends = [list(simulate(b, conditions, [0.8]))[-1].positions for b in (body, shuffled)]
    assert float((ends[0][order] - ends[1]).abs().max()) < 1e-5


def test_motion_turns_with_the_scene() -> None:
    """The same push in a frame turned by 0.7 rad about an oblique axis moves the block to the turned place."""
    turn = Rotation.from_rotvec(0.7 * np.array([0.6, 0.0, 0.8]))
    matrix = torch.from_numpy(turn.as_matrix())
    body = rigid_box((0.1, 0.08, 0.06))
    turned_body = Body(Rigid(body.rest_positions @ matrix.T), body.masses, body.contact, body.contact_areas, body.material)
    path = straight_push([-0.1, 0.02, 0.03], [0.05, 0.02, 0.03], 0.5)
    turned_path = ToolPath(path.times, turn.apply(path.positions), np.tile(turn.as_quat(), (2, 1)))
    up = turn.apply([0.0, 0.0, 1.0])
    tool = box_tool(0.04, 0.04, 0.04)
    (end,) = simulate(body, Conditions(support=FLOOR, tool=tool, path=path), [0.8])
    gravity = tuple(-GRAVITY * up)
    turned_conditions = Conditions(gravity, (*up, 0.0), tool, turned_path)
    (turned_end,) = simulate(turned_body, turned_conditions, [0.8])
    moved = (end.positions - body.rest_positions).norm(dim=1).max()
    assert float(moved) > 0.05
    # yield depth and the like follow the axis-aligned extent, so contact is a little stiffer or softer: 1 % of the motion
    assert float((end.positions @ matrix.T - turned_end.positions).norm(dim=1).max()) < 0.01 * float(moved)
