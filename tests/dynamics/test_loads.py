"""Springs, forces and holds: derivatives, and motions known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from neurok_ros.dynamics import AppliedForce, Body, Conditions, Hold, Material, PointSprings, Schedule, Springs, simulate
from neurok_ros.dynamics.loads import spring_law
from validation.systems import GRAVITY, full_space, rigid_box, sliding_box

STEP = 1.0 / 60.0
WEIGHTLESS = (0.0, 0.0, 0.0)


def real(*numbers: float) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def free_particles(points: list[list[float]], masses: list[float]) -> Body:
    nothing = torch.zeros(0, dtype=torch.int64)
    return Body(full_space(torch.tensor(points, dtype=torch.float64)), real(*masses), nothing, nothing.double(), Material())


def test_spring_derivatives_are_those_of_its_energy_and_the_hessian_is_never_indefinite() -> None:
    vectors = torch.randn(20, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    stiffness, length = torch.full((20,), 40.0).double(), torch.full((20,), 0.5).double()

    def energy(vector: Tensor) -> Tensor:
        return spring_law(vector[None], stiffness[:1], length[:1])[0][0]

    _, gradient, hessian = spring_law(vectors, stiffness, length)
    assert torch.allclose(gradient, torch.vmap(torch.func.grad(energy))(vectors))
    longer = vectors.norm(dim=1) > 0.5
    assert bool(longer.any())
    assert torch.allclose(hessian[longer], torch.vmap(torch.func.hessian(energy))(vectors[longer]))
    squeezed = spring_law(0.1 * vectors, stiffness, length)[2]
    assert float(torch.linalg.eigvalsh(squeezed).min()) > -1e-12


def test_two_masses_on_a_spring_swing_with_their_reduced_mass() -> None:
    """T = 2 pi sqrt(m1 m2 / ((m1 + m2) k)); the centre of mass stays."""
    body = free_particles([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0]], [1.0, 2.0])
    springs = Springs(torch.tensor([0]), torch.tensor([1]), real(50.0), real(0.2))
    period = 2.0 * np.pi * np.sqrt(2.0 / 3.0 / 50.0)
    conditions = Conditions(gravity=WEIGHTLESS, springs=(springs,))
    half, whole = simulate(body, conditions, [0.5 * period, period], period / 200.0)
    assert float(half.positions[1, 0] - half.positions[0, 0]) == pytest.approx(0.1, abs=2e-4)  # 0.2 less the start's 0.1
    assert float(whole.positions[1, 0] - whole.positions[0, 0]) == pytest.approx(0.3, abs=2e-4)
    assert float((body.masses[:, None] * whole.positions).sum()) == pytest.approx(0.6, abs=1e-6)
    assert whole.spring_energy == pytest.approx(0.5 * 50.0 * 0.1**2, rel=5e-3)


def test_a_body_hangs_from_a_spring_where_its_weight_is_carried() -> None:
    """Started where k (|x - p| - L) = m g, it stays; a rigid body, hung at its middle."""
    body = rigid_box((0.1, 0.1, 0.1))
    top = int((body.rest_positions - real(0.0, 0.0, 0.1)).norm(dim=1).argmin())
    stretch = body.mass * GRAVITY / 500.0
    spring = PointSprings(torch.tensor([top]), real(0.0, 0.0, 0.4)[None], real(500.0), real(0.3 - stretch))
    (frame,) = simulate(body, Conditions(springs=(spring,)), [1.0])
    assert float((frame.positions - body.rest_positions).abs().max()) < 1e-6
    assert frame.spring_energy == pytest.approx(0.5 * 500.0 * stretch**2)


def test_a_constant_force_accelerates_and_a_ramp_adds_its_impulse() -> None:
    body = sliding_box((0.1, 0.1, 0.1))
    push = real(0.6, 0.0, 0.0)
    force = AppliedForce.constant(torch.tensor([0, 5]), push)
    (frame,) = simulate(body, Conditions(gravity=WEIGHTLESS, forces=(force,)), [0.7])
    assert float(frame.q[0]) == pytest.approx(0.5 * 1.2 / body.mass * 0.7**2, rel=1e-6)
    ramp = AppliedForce(torch.tensor([0, 5]), Schedule(np.array([0.1, 0.2, 0.3]), torch.stack([0 * push, push, 0 * push])))
    (pulsed,) = simulate(body, Conditions(gravity=WEIGHTLESS, forces=(ramp,)), [0.7])
    assert float(pulsed.velocities[0, 0]) == pytest.approx(0.5 * 0.2 * 1.2 / body.mass, rel=0.01)  # second order, 12 steps


def test_a_couple_turns_a_free_body_without_moving_its_centre() -> None:
    body = rigid_box((0.1, 0.1, 0.1))
    ends = [int((body.rest_positions - real(x, 0.0, 0.05)).norm(dim=1).argmin()) for x in (-0.05, 0.05)]
    couple = AppliedForce.constant(torch.tensor(ends), torch.stack([real(0.0, -0.01, 0.0), real(0.0, 0.01, 0.0)]))
    (frame,) = simulate(body, Conditions(gravity=WEIGHTLESS, forces=(couple,)), [0.2])
    arms = body.rest_positions - body.rest_positions.mean(0)
    inertia = float((body.masses * (arms[:, 0] ** 2 + arms[:, 1] ** 2)).sum())
    angle = 2.0 * float(torch.atan2(frame.q[5], frame.q[6]))
    assert angle == pytest.approx(0.5 * 0.01 * 0.1 / inertia * 0.2**2, rel=0.01)
    assert float((frame.q[:3] - body.kinematics.rest[:3]).norm()) < 1e-9


@pytest.mark.parametrize("until", [0.3, 0.305])  # on a step's end, and between two
def test_what_is_let_go_falls_from_then_on(until: float) -> None:
    body = rigid_box((0.1, 0.1, 0.1))
    top = (body.rest_positions[:, 2] > 0.0999).nonzero().squeeze(1)
    held, dropped = simulate(body, Conditions(holds=(Hold(top, until=until),)), [0.29, 0.8])
    assert float((held.positions - body.rest_positions).abs().max()) < 1e-5
    fallen = float((dropped.positions - body.rest_positions)[:, 2].mean())
    assert fallen == pytest.approx(-0.5 * GRAVITY * (0.8 - until) ** 2, rel=2e-3)


def test_a_led_hold_takes_the_body_along_its_path() -> None:
    """A velocity prescribed for half a second, then none."""
    body = rigid_box((0.1, 0.1, 0.1))
    top = (body.rest_positions[:, 2] > 0.0999).nonzero().squeeze(1)
    path = Schedule(np.array([0.0, 0.5]), torch.stack([real(0.0, 0.0, 0.0), real(0.1, 0.0, 0.05)]))
    moving, arrived = simulate(body, Conditions(holds=(Hold(top, displacement=path),)), [0.25, 1.0])
    assert np.allclose(moving.velocities.mean(0), [0.2, 0.0, 0.1], atol=5e-3)
    assert np.allclose(arrived.positions - body.rest_positions, [0.1, 0.0, 0.05], atol=1e-4)


@pytest.mark.parametrize(("times", "count"), [([0.0, 0.0], 2), ([1.0, 0.5], 2), ([0.0, 1.0], 3), ([], 0)])
def test_a_schedule_that_does_not_go_forward_is_refused(times: list[float], count: int) -> None:
    with pytest.raises(ValueError, match="increase"):
        Schedule(np.array(times), torch.zeros(count, 3))
