"""Where a motion begins (NeuROK, Sec. 5.3): a state and a generalized velocity from what a few particles are seen to do.

    (q0, q0') minimises  |x - x(q0)|^2 + |v - J(q0) q0'|^2  over the chosen particles

by Gauss-Newton in the tangent space. What the particles do not determine is decided by least kinetic energy: of all steps and
velocities that fit equally well, the one with the smallest q'^T G q', G = J^T M J, is taken. That is what a body at rest does
when some of its particles are jerked; unlike the smallest q', it does not depend on the coordinates or their units.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from neurok_ros.dynamics.body import Body
from neurok_ros.errors import ErrorCode, NeurokError

RANK_TOLERANCE = 1e-6
"""Relative to the best observed direction: directions observed more weakly count as unobserved."""
MOVING_TOLERANCE = 1e-10
"""Inertia of directions in coordinates that have one each: directions of less move nothing (redundant coordinates)."""
STEP_TOLERANCE = 1e-10
"""Part of the body's length: the search for the state ends when a step moves the particles by less."""
MAX_ITERATIONS = 100
HALVINGS = 30


@dataclass(frozen=True)
class InitialState:
    """The state and velocity that fit best, and how well and how uniquely they do."""

    q: Tensor
    """(s,) state."""
    velocity: Tensor
    """(dim,) 1/s, generalized velocity."""
    rank: int
    """How many directions of motion the chosen particles determine."""
    freedom: int
    """How many there are: `dim`, less redundant coordinates. Where it exceeds `rank`, the rest was decided by least energy."""
    position_residual: float
    """Metres, root mean square over the chosen particles: what the state space cannot reach."""
    velocity_residual: float
    """m/s, root mean square."""
    converged: bool
    """The search for the state ended at a minimum."""


@torch.no_grad()
def initial_state(
    body: Body, particles: Tensor, positions: Tensor | None = None, velocities: Tensor | None = None, start: Tensor | None = None
) -> InitialState:
    """Fit the start of a motion to some of the body's particles.

    Args:
        body: followed at n particles.
        particles: (k,) int64, which of them are known.
        positions: (k, 3) metres, where they are; None: the state is `start`.
        velocities: (k, 3) m/s; None: at rest.
        start: (s,) where the search begins; the rest state if None.

    Raises:
        NeurokError: INVALID_OPTIONS for no particles, particles that do not exist, or arrays that are not finite or do not
            belong to them.
    """
    _check(body, particles, positions, velocities)
    q = body.kinematics.rest if start is None else start
    converged = True
    if positions is not None:
        q, converged = _fitted(body, particles, positions, q)
    operator = _Observation.at(body, particles, q)
    velocity = torch.zeros(body.kinematics.dim, dtype=q.dtype, device=q.device)
    if velocities is not None:
        velocity = operator.step_towards(velocities)
    position_residual = 0.0 if positions is None else _rms(positions - body.kinematics.positions(q)[particles])
    velocity_residual = 0.0 if velocities is None else _rms(velocities - operator.jacobian @ velocity)
    return InitialState(q, velocity, operator.rank, operator.freedom, position_residual, velocity_residual, converged)


@dataclass(frozen=True)
class _Observation:
    """The least-squares map from wanted displacements of the chosen particles to tangent steps, of least kinetic energy."""

    jacobian: Tensor
    """(k, 3, dim)."""
    pseudo_inverse: Tensor
    """(dim, 3 k)."""
    rank: int
    freedom: int

    @classmethod
    def at(cls, body: Body, particles: Tensor, q: Tensor) -> _Observation:
        jacobian = body.kinematics.jacobian(q)
        dim = jacobian.shape[2]
        flat = jacobian.reshape(-1, dim)
        mass_matrix = flat.T @ (body.masses.repeat_interleave(3).unsqueeze(1) * flat)
        unit = mass_matrix.diagonal().clamp(min=1e-300).rsqrt()
        inertia, axes = torch.linalg.eigh(unit.unsqueeze(1) * mass_matrix * unit)
        moving = inertia > MOVING_TOLERANCE
        unit_energy = unit.unsqueeze(1) * axes[:, moving] / inertia[moving].sqrt()
        chosen = jacobian[particles]
        left, singular, right = torch.linalg.svd(chosen.reshape(-1, dim) @ unit_energy, full_matrices=False)
        seen = singular > RANK_TOLERANCE * singular.max().clamp(min=1e-300) if len(singular) else singular > 0.0
        inverse = unit_energy @ (right[seen].T / singular[seen]) @ left[:, seen].T
        return cls(chosen, inverse, int(seen.sum()), int(moving.sum()))

    def step_towards(self, displacements: Tensor) -> Tensor:
        """(dim,) for wanted displacements or velocities (k, 3)."""
        return self.pseudo_inverse @ displacements.reshape(-1)


def _fitted(body: Body, particles: Tensor, positions: Tensor, q: Tensor) -> tuple[Tensor, bool]:
    kinematics = body.kinematics
    away = positions - kinematics.positions(q)[particles]
    for _ in range(MAX_ITERATIONS):
        operator = _Observation.at(body, particles, q)
        step = operator.step_towards(away)
        if _rms(operator.jacobian @ step) < STEP_TOLERANCE * body.length:
            return q, True
        for halving in range(HALVINGS):
            trial = kinematics.retract(q, 0.5**halving * step)
            trial_away = positions - kinematics.positions(trial)[particles]
            if _rms(trial_away) < _rms(away):
                break
        else:
            return q, True
        q, away = trial, trial_away
    return q, False


def _rms(vectors: Tensor) -> float:
    return float(vectors.square().sum(-1).mean().sqrt())


def _check(body: Body, particles: Tensor, positions: Tensor | None, velocities: Tensor | None) -> None:
    if len(particles) == 0:
        raise _invalid("particles", "there is none", "Choose at least one particle")
    count = len(body.masses)
    if int(particles.min()) < 0 or int(particles.max()) >= count:
        raise _invalid("particles", f"go from {int(particles.min())} to {int(particles.max())}", f"Choose from 0 to {count - 1}")
    for name, values in (("positions", positions), ("velocities", velocities)):
        if values is None:
            continue
        if values.shape != (len(particles), 3):
            raise _invalid(name, f"are of shape {tuple(values.shape)}", f"Give ({len(particles)}, 3)")
        if not bool(torch.isfinite(values).all()):
            raise _invalid(name, "are not all finite", "Give finite numbers")


def _invalid(field: str, problem: str, remedy: str) -> NeurokError:
    return NeurokError(ErrorCode.INVALID_OPTIONS, f"initial_state.{field}", problem, remedy)
