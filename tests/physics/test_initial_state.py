"""A motion starts where a few particles are seen, and what they do not show is left at rest."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, simulate
from neurok_ros.dynamics.initial_state import initial_state
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.kinematics import RigidBody
from validation.free_motions import chain, chain_modes
from validation.systems import DoublePendulum, Linear, untouchable

POINTS = torch.tensor([[0.1, 0, 0], [-0.1, 0, 0], [0, 0.07, 0], [0, -0.07, 0], [0, 0, 0.04], [0, 0, -0.04]]).double()
MASSES = [1.0, 1.0, 2.0, 2.0, 1.5, 1.5]


def block() -> Body:
    return untouchable(RigidBody(POINTS, torch.zeros(3)), MASSES)


def moved(body: Body) -> tuple[Tensor, Tensor]:
    """A state far from rest and a velocity there."""
    step = torch.tensor([0.3, -0.2, 0.1, 1.2, -0.7, 1.9]).double()
    return body.kinematics.retract(body.kinematics.rest, step), torch.tensor([0.5, 0.0, -1.0, 0.3, 2.0, -0.4]).double()


@pytest.mark.parametrize("seen", [[0, 2, 4], [0, 1, 2, 3, 4, 5]])
def test_three_particles_determine_a_rigid_body(seen: list[int]) -> None:
    body = block()
    q, velocity = moved(body)
    particles = torch.tensor(seen)
    speeds = body.kinematics.jacobian(q) @ velocity
    found = initial_state(body, particles, body.kinematics.positions(q)[particles], speeds[particles])
    assert found.converged
    assert (found.rank, found.freedom) == (6, 6)
    assert np.allclose(body.kinematics.positions(found.q), body.kinematics.positions(q), atol=1e-9)
    assert np.allclose(found.velocity, velocity, atol=1e-7)
    assert max(found.position_residual, found.velocity_residual) < 1e-9


def test_two_particles_leave_the_turn_about_their_line_at_rest() -> None:
    body = block()
    found = initial_state(body, torch.tensor([0, 1]), velocities=torch.tensor([[0.0, 0.5, 0.0], [0.0, -0.5, 0.0]]).double())
    assert (found.rank, found.freedom) == (5, 6)
    assert np.allclose(found.velocity, [0.0, 0.0, 0.0, 0.0, 0.0, 5.0], atol=1e-9)


def test_a_jerked_particle_moves_the_rest_as_an_impulse_there_would() -> None:
    """Least kinetic energy is the answer of mechanics: x' = W p at the particle, W its mobility, p the impulse on it."""
    body, speed = block(), torch.tensor([[0.0, 0.0, 1.0]]).double()
    found = initial_state(body, torch.tensor([0]), velocities=speed)
    assert (found.rank, found.freedom) == (3, 6)
    mass, moment = float(body.mass), float((body.masses * (POINTS[:, 0] ** 2 + POINTS[:, 2] ** 2)).sum())
    impulse = 1.0 / (1.0 / mass + 0.1**2 / moment)
    assert np.allclose(found.velocity, [0, 0, impulse / mass, 0, -0.1 * impulse / moment, 0], atol=1e-9)


def test_the_answer_does_not_depend_on_the_units_of_coordinates() -> None:
    basis = torch.randn(6, 3, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    scale = torch.tensor([1.0, 1e3, 1e-3, 10.0, 0.1], dtype=torch.float64)
    target = torch.tensor([[0.1, -0.2, 0.3]]).double()
    motions = []
    for used in (basis, basis * scale):
        body = untouchable(Linear(POINTS, used), MASSES)
        found = initial_state(body, torch.tensor([3]), POINTS[3] + target, target)
        assert found.rank == 3
        motions.append((body.kinematics.positions(found.q), used @ found.velocity))
    assert np.allclose(motions[0][0], motions[1][0], atol=1e-9)
    assert np.allclose(motions[0][1], motions[1][1], atol=1e-9)


def test_redundant_coordinates_are_told_from_unseen_ones() -> None:
    basis = torch.randn(6, 3, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    doubled = untouchable(Linear(POINTS, torch.cat([basis, basis], dim=2)), MASSES)
    q = torch.tensor([0.1, -0.3, 0.2, 0.05, 0.0, 0.0, 0.0, 0.0]).double()
    everyone = torch.arange(6)
    found = initial_state(doubled, everyone, doubled.kinematics.positions(q), doubled.kinematics.jacobian(q) @ q)
    assert (found.rank, found.freedom) == (4, 4)
    assert found.velocity_residual < 1e-9
    assert float(found.q.norm()) < float(q.norm())  # shared between the twins


def test_what_the_state_space_cannot_reach_is_told() -> None:
    pendulum = DoublePendulum((0.5, 0.4), (0.3, -0.2))
    body = untouchable(pendulum, [1.0, 1.0])
    away = torch.tensor([[0.0, 0.02, 0.0], [0.0, 0.02, 0.0]]).double()
    target = pendulum.positions(torch.tensor([0.8, 0.5]).double()) + away
    found = initial_state(body, torch.arange(2), target, torch.tensor([[0.0, 0.7, 0.0], [0.0, 0.7, 0.0]]).double())
    assert found.converged
    assert np.allclose(found.q, [0.8, 0.5], atol=1e-8)  # the planar part is reached, the part across is left over
    assert found.position_residual == pytest.approx(0.02, rel=1e-6)
    assert found.velocity_residual == pytest.approx(0.7, rel=1e-6)
    assert np.allclose(found.velocity, 0.0, atol=1e-9)


def test_a_motion_goes_on_from_there() -> None:
    """Half of a swing, its middle given as a start, ends where the whole swing does."""
    pendulum = DoublePendulum((0.5, 0.4), (1.2, 0.4))
    body = untouchable(pendulum, [1.0, 0.5])
    whole = list(simulate(body, Conditions(), [0.4, 0.8], 1.0 / 480.0))
    start = initial_state(body, torch.arange(2), whole[0].positions, whole[0].velocities)
    conditions = Conditions(initial_state=start.q, initial_velocity=start.velocity)
    begin, end = simulate(body, conditions, [0.0, 0.4], 1.0 / 480.0)
    assert np.allclose(begin.positions, whole[0].positions, atol=1e-9)
    assert np.allclose(begin.velocities, whole[0].velocities, atol=1e-3)  # BDF2's velocities leave the tangent space by O(h^2)
    assert np.allclose(end.positions, whole[1].positions, atol=2e-3)  # another first step: h^2 a / 2 differs


def test_a_released_body_starts_in_its_deformed_shape_and_swings_back() -> None:
    """A state of strain is a start like any other: a stretched bar of Poisson ratio zero oscillates about rest."""
    body, stiffness = chain()
    frequencies, modes = chain_modes(body, stiffness)
    q = torch.from_numpy(0.01 * modes[:, 0] / np.abs(modes[:, 0]).max())
    half = np.pi / frequencies[0]
    conditions = Conditions(gravity=(0.0, 0.0, 0.0), initial_state=q)
    _, end = simulate(body, conditions, [0.0, half], half / 100.0)
    assert np.allclose(end.q, -q, atol=2e-4)


@pytest.mark.parametrize(
    ("particles", "positions", "field"),
    [
        ([], None, "particles"),
        ([6], None, "particles"),
        ([-1], None, "particles"),
        ([0], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], "positions"),
        ([0], [[np.nan, 0.0, 0.0]], "positions"),
    ],
)
def test_an_impossible_request_names_its_field(particles: list[int], positions: list[list[float]] | None, field: str) -> None:
    wanted = None if positions is None else torch.tensor(positions).double()
    with pytest.raises(NeurokError, match=f"initial_state.{field}") as caught:
        initial_state(block(), torch.tensor(particles, dtype=torch.int64), wanted)
    assert caught.value.code is ErrorCode.INVALID_OPTIONS
