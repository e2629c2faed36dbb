"""The conservative integrator: order, energy over long times, momenta, redundant coordinates, forces that do work."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
import torch
from torch import Tensor

from neurok_ros.dynamics import Body, CoordinateLimits, PointSprings, Springs, StatePrior
from neurok_ros.dynamics.variational import BodyPotential, PhasePoint, variational
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.kinematics import RigidBody
from validation.free_motions import TOP_MOMENTS, TOP_SPIN, along, chain, top_arms
from validation.integrators import System, drift, systems
from validation.systems import DoublePendulum, Linear, Pendulum, translation, untouchable, velocity

NOWHERE = (0.0, 0.0, 0.0)


def last(points: Iterator[PhasePoint]) -> PhasePoint:
    *_, end = points
    return end


def motion(
    body: Body, speed: Tensor, step: float, count: int, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
) -> Iterator[PhasePoint]:
    return variational(body.kinematics, body.masses, BodyPotential(body, gravity), body.kinematics.rest, speed, step, count)


@pytest.mark.parametrize("system", systems(), ids=lambda s: s.name)
def test_steps_half_as_long_are_four_times_as_good(system: System) -> None:
    errors = []
    for count in (60, 120):
        end = last(system.conservative(0.5 / count, count))
        errors.append(float(np.abs(end.positions.numpy() - system.truth(0.5)).max()))
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)
    assert errors[1] < 0.01 * system.body.length


@pytest.mark.parametrize("system", systems(), ids=lambda s: s.name)
def test_energy_neither_drifts_nor_wanders(system: System) -> None:
    """Over 1000 steps here; over 100,000 in the report of the suite, with the same bound."""
    found = drift(system, 1000)
    assert found.largest_percent < 1.0
    assert found.secular_percent < 0.05  # what is left when the swings of a period are averaged


def test_a_free_body_keeps_both_momenta_to_rounding() -> None:
    """Four particles in space on springs that stretch by half: no symmetry but the space's own."""
    x = torch.tensor([[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1], [-0.1, -0.05, 0]]).double()
    body = untouchable(Linear(x, torch.eye(12).double().view(4, 3, 12)), [1.0, 2.0, 0.5, 1.5])
    pairs = torch.combinations(torch.arange(4))
    springs = Springs(pairs[:, 0], pairs[:, 1], torch.full((6,), 300.0).double(), torch.full((6,), 0.1).double())
    speed = torch.randn(12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    potential = BodyPotential(body, NOWHERE, (springs,))

    def momenta(p: PhasePoint) -> Tensor:
        moment = body.masses[:, None] * p.velocities
        return torch.cat([moment.sum(0), torch.linalg.cross(p.positions, moment).sum(0)])

    points = list(variational(body.kinematics, body.masses, potential, body.kinematics.rest, speed, 1.0 / 500.0, 1000))
    stored = [p.potential_energy for p in points]
    assert max(stored) > 1.5 * np.mean(stored)  # they do stretch
    for p in points[::100]:
        assert np.allclose(momenta(p), momenta(points[0]), rtol=1e-9, atol=1e-9)


def test_a_free_top_keeps_its_angular_momentum_in_space() -> None:
    arms = top_arms(TOP_MOMENTS)
    body = untouchable(RigidBody(arms, torch.zeros(3)), [1.0 / 6.0] * 6)
    first, *_, end = motion(body, velocity(0.3, 0.0, 0.1, *TOP_SPIN), 1.0 / 60.0, 60, NOWHERE)

    def spin(p: PhasePoint) -> Tensor:
        return torch.linalg.cross(p.positions - p.positions.mean(0), body.masses[:, None] * p.velocities).sum(0)

    assert float((end.positions - first.positions).norm(dim=1).max()) > 0.2
    assert np.allclose(spin(end), spin(first), rtol=1e-9)


def test_redundant_coordinates_do_not_change_the_motion() -> None:
    plain, _ = chain()
    basis = plain.kinematics.jacobian(plain.kinematics.rest)
    twice = Body(
        Linear(plain.rest_positions, torch.cat([basis, basis], dim=2)),
        plain.masses,
        plain.contact,
        plain.contact_areas,
        plain.material,
        plain.strain,
    )
    speed = torch.linspace(0.0, 0.2, 6).double()
    ends = [last(motion(b, v, 1.0 / 240.0, 240, NOWHERE)) for b, v in ((plain, speed), (twice, torch.cat([0.5 * speed] * 2)))]
    assert float((ends[0].positions - plain.rest_positions).abs().max()) > 0.01
    assert np.allclose(ends[0].positions, ends[1].positions, atol=1e-9)


def test_external_forces_do_the_work_that_the_energy_grows_by() -> None:
    """A harmonic oscillator under F sin(w t): trapezoidal work equals the change of energy to second order."""
    body = untouchable(translation(torch.zeros(1, 3).double()), [1.0])
    spring = PointSprings(
        torch.tensor([0]), torch.tensor([[-1.0, 0, 0]]).double(), torch.tensor([40.0]).double(), torch.ones(1).double()
    )
    potential = BodyPotential(body, NOWHERE, (spring,))

    def pull(time: float) -> Tensor:
        return torch.tensor([[3.0 * np.sin(5.0 * time), 0.0, 0.0]], dtype=torch.float64)

    misses = []
    for step in (1.0 / 120.0, 1.0 / 240.0):
        count = round(2.0 / step)
        points = list(
            variational(body.kinematics, body.masses, potential, body.kinematics.rest, velocity(0.0, 0.0, 0.0), step, count, pull)
        )
        power = np.array([float((pull(p.time) * p.velocities).sum()) for p in points])
        work = step * (power.sum() - 0.5 * (power[0] + power[-1]))
        gain = points[-1].energy - points[0].energy
        misses.append(abs(work - gain) / np.abs(np.cumsum(power) * step).max())
    assert misses[1] < 2e-3
    assert np.log2(misses[0] / misses[1]) > 1.5


def test_potentials_of_the_state_are_felt() -> None:
    """A pendulum without gravity in a quadratic well of its angle: w^2 = c / (m l^2); and it turns back at a stop."""
    kinematics = Pendulum([0.5], 0.3)
    free = untouchable(kinematics, [1.0])
    inside = Body(
        kinematics, free.masses, free.contact, free.contact_areas, free.material, None, (StatePrior(4.0, velocity(0.0)),)
    )
    period = 2.0 * np.pi / np.sqrt(4.0 / 0.25)
    count = 200
    half = last(motion(inside, velocity(0.0), 0.5 * period / count, count, NOWHERE))
    assert float(half.q[0]) == pytest.approx(-0.3, abs=1e-4)
    stop = CoordinateLimits(velocity(-1.0), velocity(0.5), velocity(100.0))
    bounded = Body(kinematics, free.masses, free.contact, free.contact_areas, free.material, None, (stop,))
    angles = [float(p.q[0]) for p in motion(bounded, velocity(1.0), 1.0 / 480.0, 480, NOWHERE)]
    assert max(angles) == pytest.approx(0.5 + 0.05, abs=2e-3)  # 1/2 I w^2 = c/2 d^2: d = w sqrt(0.25 / 100) = 0.05 rad
    assert angles[-1] < 0.3


def test_a_step_without_a_solution_is_refused_not_invented() -> None:
    body = untouchable(Pendulum([0.5], 2.5), [1.0])
    with pytest.raises(NeurokError, match="shorter") as caught:
        list(islice(motion(body, velocity(30.0), 0.2, 10), 11))
    assert caught.value.code is ErrorCode.DIVERGED


def test_particles_follow_the_states() -> None:
    kinematics = DoublePendulum((0.3, 0.25), (1.2, 0.4))
    points = list(motion(untouchable(kinematics, [1.0, 0.6]), velocity(0.0, 0.0), 1.0 / 240.0, 5))
    states = np.array([p.q.numpy() for p in points])
    assert np.array_equal(along(kinematics, states), np.array([p.positions.numpy() for p in points]))
