"""What a rollout tells of one time: positions, forces, energies, and how well the steps were solved."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from neurok_ros.dynamics.body import Body
from neurok_ros.dynamics.contact import beyond_edges
from neurok_ros.dynamics.energies import NeoHookean
from neurok_ros.dynamics.integrator import History, Solution, StepProblem
from neurok_ros.dynamics.loads import PointSprings, Springs
from neurok_ros.dynamics.state_space import StatePrior
from neurok_ros.dynamics.tools import Floats


@dataclass(frozen=True)
class Frame:
    """The body at one time."""

    time: float
    """Seconds from the start."""
    q: Tensor
    """(s,) state."""
    positions: Tensor
    """(n, 3) metres."""
    velocities: Tensor
    """(n, 3) m/s."""
    tool_pose: Floats | None
    """(7,) where the tool really is: metres, then quaternion x y z w."""
    tool_force: Floats
    """(3,) N, on the tool by the body: the mean over the time since the last frame, so that no impact is missed; 0 at first."""
    tool_torque: Floats
    """(3,) N m, on the tool by the body, about the tool's origin; a mean too."""
    tool_work: float
    """J, done by the tool on the body since the start."""
    support_force: Floats
    """(3,) N, on the body by the support; a mean too."""
    contact_points: Tensor
    """(k, 3) metres, particles that touch the tool."""
    penetration: float
    """Metres, the deepest particle inside the tool, beyond its depth at the start."""
    support_penetration: float
    """Metres, the same for the support."""
    self_penetration: float
    """Metres, the same for the body's parts in each other."""
    kinetic_energy: float
    """J."""
    gravity_energy: float
    """J, zero at the frame's origin."""
    strain_energy: float
    """J."""
    spring_energy: float
    """J, of the springs between particles and to points."""
    state_energy: float
    """J, of the state's prior and limits."""
    beyond_limits: float
    """How far the state is beyond its limits, in their own unit (see `CoordinateLimits`, `DistanceLimit`); 0 within them."""
    iterations: int
    """Newton iterations since the last frame."""
    residual: float
    """Metres, the largest Newton step left since the last frame."""
    converged: bool
    """Every step since the last frame was solved to the tolerance."""
    force_limited: bool
    """The tool was held back by its force limit since the last frame."""
    off_support: bool
    """The centre of mass is beyond the support's outline, or below it."""
    diverged: bool
    """No finite solution could be found: this is the last good state and the last frame."""


@dataclass(frozen=True)
class Surroundings:
    """What a body is in, beside the tool."""

    gravity: Tensor
    """(3,) m/s^2."""
    support: Tensor | None
    """(4,) plane n . x + d = 0."""
    edges: Tensor | None
    """(p, 6) of the support, see `edges_of`; None: it has none."""
    springs: tuple[Springs | PointSprings, ...]


@dataclass
class Tally:
    """What has happened since the last frame."""

    seconds: float = 0.0
    tool_impulse: Floats = field(default_factory=lambda: np.zeros(3))
    """(3,) N s, on the tool."""
    tool_twist: Floats = field(default_factory=lambda: np.zeros(3))
    """(3,) N m s, on the tool about its origin."""
    support_impulse: Floats = field(default_factory=lambda: np.zeros(3))
    """(3,) N s, on the body."""
    iterations: int = 0
    residual: float = 0.0
    converged: bool = True
    force_limited: bool = False

    def add(self, problem: StepProblem, solution: Solution, limited: bool) -> None:
        """A step, and whether the tool was held back in it."""
        step, x = problem.discretisation.step, solution.evaluation.x
        on_support, on_tool = contact_forces(problem, solution)
        self.seconds += step
        self.support_impulse -= step * _sum(on_support.force)
        if problem.tool_after is not None and len(on_tool.particle):
            arms = x[on_tool.particle] - problem.tool_after.position
            self.tool_impulse += step * _sum(on_tool.force)
            self.tool_twist += step * _sum(torch.linalg.cross(arms, on_tool.force))
        self.iterations += solution.iterations
        self.residual = max(self.residual, solution.residual)
        self.converged &= solution.converged
        self.force_limited |= limited


def frame_of(
    body: Body,
    time: float,
    state: History,
    around: Surroundings,
    tool_pose: tuple[Floats, Floats] | None,
    last: Solution | None,
    tally: Tally,
    work: float,
    diverged: bool,
) -> Frame:
    """The frame at the end of a step.

    Args:
        body: what moves.
        time: seconds.
        state: positions and velocities.
        around: what the body is in.
        tool_pose: position (3,) in metres and quaternion (4,) x y z w.
        last: the step that led here; None before the first, where no contact is known.
        tally: what has happened since the last frame.
        work: J, done by the tool since the start.
        diverged: whether the rollout ends here.
    """
    touching = state.x.new_zeros(0, 3)
    penetration = support_penetration = self_penetration = 0.0
    if last is not None:
        self_penetration = last.evaluation.self_depth
        contacts = last.evaluation.contacts
        if contacts is not None:
            count = contacts.support_count
            touching = state.x[contacts.particle[count:]]
            support_penetration = float(contacts.depth[:count].max()) if count else 0.0
            penetration = float(contacts.depth[count:].max()) if len(touching) else 0.0
    elapsed = max(tally.seconds, 1e-300)
    return Frame(
        time=time,
        q=state.q,
        positions=state.x,
        velocities=state.v,
        tool_pose=np.concatenate(tool_pose) if tool_pose is not None else None,
        tool_force=tally.tool_impulse / elapsed,
        tool_torque=tally.tool_twist / elapsed,
        tool_work=work,
        support_force=tally.support_impulse / elapsed,
        contact_points=touching,
        penetration=penetration,
        support_penetration=support_penetration,
        self_penetration=self_penetration,
        kinetic_energy=0.5 * float((body.masses.unsqueeze(1) * state.v**2).sum()),
        gravity_energy=-float(body.masses @ (state.x @ around.gravity)),
        strain_energy=_strain_energy(body, state.x),
        spring_energy=sum(spring.forces(state.x)[0] for spring in around.springs),
        state_energy=sum(energy.at(state.q[len(state.q) - energy.size :]).value for energy in body.state_energies),
        beyond_limits=_beyond_limits(body, state.q),
        iterations=tally.iterations,
        residual=tally.residual,
        converged=tally.converged,
        force_limited=tally.force_limited,
        off_support=_off_support(body, state.x, around),
        diverged=diverged,
    )


@dataclass(frozen=True)
class ContactForces:
    """Forces of a body's particles on one obstacle; a particle may occur twice (normal force and friction)."""

    particle: Tensor
    """(k,) int64."""
    force: Tensor
    """(k, 3) N, on the obstacle."""


def contact_forces(problem: StepProblem, solution: Solution) -> tuple[ContactForces, ContactForces]:
    """On the support and on the tool, at the end of a step."""
    x = solution.evaluation.x
    pieces = []
    contacts, friction = solution.evaluation.contacts, solution.friction
    if contacts is not None:
        pieces.append((contacts.derivatives(), contacts.support_count))
    if friction is not None:
        velocity = problem.velocities(x)[friction.contacts.particle]
        forces = friction.value_and_derivatives(velocity, problem.discretisation.scale, with_hessian=False)[1]
        pieces.append((forces, friction.contacts.support_count))
    if not pieces:
        nothing = ContactForces(problem.body.contact.new_zeros(0), x.new_zeros(0, 3))
        return nothing, nothing
    support = [(p.particle[:count], p.gradient[:count]) for p, count in pieces]
    tool = [(p.particle[count:], p.gradient[count:]) for p, count in pieces]
    return _joined(support), _joined(tool)


def _joined(parts: list[tuple[Tensor, Tensor]]) -> ContactForces:
    return ContactForces(torch.cat([particle for particle, _ in parts]), torch.cat([force for _, force in parts]))


def tool_force(problem: StepProblem, solution: Solution) -> float:
    """N, magnitude of the force on the tool at the end of a step."""
    return float(contact_forces(problem, solution)[1].force.sum(0).norm())


def tool_work(problem: StepProblem, solution: Solution) -> float:
    """J, done on the body by the tool in a step, with the forces at its end."""
    touching = solution.evaluation.contacts
    if problem.tool_before is None or problem.tool_after is None or touching is None:
        return 0.0
    if touching.support_count == len(touching.particle):
        return 0.0
    on_tool = contact_forces(problem, solution)[1]
    if not len(on_tool.particle):
        return 0.0
    points, step = solution.evaluation.x[on_tool.particle], problem.discretisation.step
    return -step * float((on_tool.force * problem.tool_after.velocity_at(points, problem.tool_before, step)).sum())


def _off_support(body: Body, x: Tensor, around: Surroundings) -> bool:
    if around.support is None:
        return False
    center = (body.masses @ x / max(body.mass, 1e-300)).unsqueeze(0)
    if float(center[0] @ around.support[:3] + around.support[3]) < 0.0:
        return True
    return around.edges is not None and float(beyond_edges(around.edges, center)) > 0.0


def _strain_energy(body: Body, x: Tensor) -> float:
    if body.strain is None:
        return 0.0
    elastic = NeoHookean(body.material.shear_modulus, body.material.lame_lambda)
    density, _ = elastic.value_and_stress(body.strain.deformation_gradients(x).view(-1, 9))
    return float(torch.dot(density, body.strain.volume))


def _beyond_limits(body: Body, q: Tensor) -> float:
    limits = [energy for energy in body.state_energies if not isinstance(energy, StatePrior)]
    return max((limit.beyond(q[len(q) - limit.size :]) for limit in limits), default=0.0)


def _sum(vectors: Tensor) -> Floats:
    total: Floats = vectors.sum(0).cpu().numpy()
    return total
