"""One implicit step: the new state minimises inertia plus potential plus dissipation, all in full space.

With x(q) the particle positions, the step minimises

    c/2 |x(q) - target|^2_M + V(x(q)) + D(x(q))

over the tangent space by Newton's method, with J^T H(x) J as the Hessian (Gauss-Newton in the curvature of x(q), exact in
the energies; strain Hessians are clamped to positive semi-definite, site by site, only where the whole would not be
positive definite). Needs first derivatives of x(q) only. The strain part of the Hessian is the dearest; it is kept from
iteration to iteration and from step to step until convergence slows (`STALE_CONTRACTION`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from neurok_ros.dynamics.body import Body
from neurok_ros.dynamics.contact import STANDARD_GRAVITY, SWEEP_FRACTION, Obstacles, Passage, ToolPose
from neurok_ros.dynamics.energies import (
    Contacts,
    Friction,
    KelvinVoigt,
    NeoHookean,
    PairForces,
    PointForces,
    green_strain,
    positive_semidefinite,
)
from neurok_ros.dynamics.jointed import Jointed, effective_inertia
from neurok_ros.dynamics.loads import AppliedAt, PointSprings, Springs
from neurok_ros.dynamics.schemes import Discretisation
from neurok_ros.dynamics.self_contact import CandidatePairs
from neurok_ros.dynamics.state_space import StateForces, dissipation
from neurok_ros.geometry.rigid_motions import rigid_motions
from neurok_ros.parameterization import StrainSites

STALE_CONTRACTION = 0.1
"""An old strain Hessian is replaced when an iteration brings the Newton decrement down by less than this factor."""


TOLERANCE_STEP = 1.0 / 60.0
"""Seconds: in shorter steps the tolerance is less in proportion, so that velocities are as accurate, ..."""
TIGHTER_ITERATIONS = 8
"""... unless a solve has taken so many iterations."""


@dataclass(frozen=True)
class SolverSettings:
    """When a step counts as solved."""

    tolerance: float = 1e-6
    """Part of the body's length: converged when the next Newton step would move the mass-weighted mean particle by less, ..."""
    force_tolerance: float = 1e-3
    """... and the force at the stiffest contact would change by less than this part of the body's weight on Earth."""
    max_iterations: int = 40
    friction_passes: int = 3
    """How often normal forces are lagged anew within a step, at most."""
    friction_tolerance: float = 0.02
    """Relative change of the normal forces below which they are not lagged anew."""
    creep_speed: float = 1e-3
    """m/s, see Friction."""


@dataclass(frozen=True)
class History:
    """Everything that the next step needs of the past."""

    q: Tensor
    """(s,) state."""
    q_step: Tensor
    """(dim,) tangent step that led here, for the first guess."""
    x: Tensor
    """(n, 3) metres."""
    v: Tensor
    """(n, 3) m/s."""
    x_before: Tensor
    v_before: Tensor
    strain: Tensor
    """(s, 3, 3) Green strain at the sites."""
    strain_rate: Tensor
    """(s, 3, 3) 1/s."""
    strain_before: Tensor
    step: float
    """Seconds, the length of the last step."""
    contacts: Contacts | None
    """At the end of the last step."""
    q_before: Tensor
    q_rate: Tensor
    """(k,) velocities of the last k numbers of the state, k = `Body.damped_coordinates`."""


class ReducedOperators:
    """Matrices in generalized coordinates that outlive an iteration.

    Those that follow from the Jacobian alone are kept while the parameterization returns the same tensor again.
    """

    def __init__(self, body: Body, anchors: Tensor) -> None:
        self._body = body
        self._anchors = anchors
        self.hold_basis = rigid_motions(body.rest_positions[anchors]) if body.jointed and len(anchors) else None
        """(3 a, r) the motions of the anchored particles that a hold prevents; None: all."""
        self._jacobian: Tensor | None = None
        self.mass_matrix = torch.empty(0)
        """(dim, dim) kg: J^T M J."""
        self.anchor_matrix = torch.empty(0)
        """(dim, dim): the same over the anchored particles, each of weight one."""
        self._site: Tensor | None = None
        self.stiffness: Tensor | None = None
        """(dim, dim) N/m: strain Hessian of some iteration before."""
        self.stiffness_scale = 0.0
        """1/s: the discretisation's scale that its viscous part was made with."""

    def update(self, jacobian: Tensor) -> None:
        """Recompute for a Jacobian (n, 3, dim) unless it is the tensor of the last call."""
        if jacobian is self._jacobian:
            return
        self._jacobian = jacobian
        dim = jacobian.shape[2]
        flat = (jacobian * self._body.masses.sqrt().view(-1, 1, 1)).view(-1, dim)
        self.mass_matrix = flat.T @ flat
        held = self.what_is_held(jacobian[self._anchors].reshape(-1, dim))
        self.anchor_matrix = held.T @ held
        self._site = None

    @property
    def site(self) -> Tensor:
        """(s, 9, dim): derivative of the deformation gradients, found when it is first asked for."""
        sites, jacobian = self._body.strain, self._jacobian
        assert sites is not None
        assert jacobian is not None
        if self._site is None:
            dim = jacobian.shape[2]
            stencils = jacobian[sites.index].flatten(2)
            self._site = (sites.gradient.transpose(1, 2) @ stencils).view(-1, 3, 3, dim).transpose(1, 2).reshape(-1, 9, dim)
        return self._site

    def what_is_held(self, displacements: Tensor) -> Tensor:
        """The part that a hold prevents of displacements (3 a, k) of the anchored particles."""
        if self.hold_basis is None:
            return displacements
        held: Tensor = self.hold_basis @ (self.hold_basis.T @ displacements)
        return held


@dataclass(frozen=True)
class Evaluation:
    """The objective at one state."""

    q: Tensor
    x: Tensor
    value: float
    """J."""
    noise: float
    """J, how far rounding may have put `value` off."""
    particle_gradient: Tensor
    """(n, 3) N, without strain."""
    f: Tensor
    """(s, 9) deformation gradients."""
    stress: Tensor
    """(s, 9) J, Piola stress times volume, elastic and viscous; none where strain stores nothing."""
    contacts: Contacts | None
    tool_gaps: Tensor | None
    """(c,) metres, from the contact particles to the tool; None where it is out of reach."""
    points: list[PointForces]
    """Of springs to fixed points."""
    pairs: list[PairForces]
    """Of springs between particles, and of contact between the body's parts."""
    self_depth: float
    """Metres, how deep a part is in another; 0 where none touches."""
    state: list[StateForces]
    """Of the state itself."""


@dataclass(frozen=True)
class Solution:
    """The end of a step."""

    evaluation: Evaluation
    q_step: Tensor
    iterations: int
    residual: float
    """Metres: mass-weighted mean length of the Newton step that was left."""
    converged: bool
    friction: Friction | None
    """With the normal forces that were in force."""

    @property
    def finite(self) -> bool:
        """Whether every position is a number."""
        return bool(torch.isfinite(self.evaluation.x).all())


@dataclass
class StepProblem:
    """The objective of one step."""

    body: Body
    obstacles: Obstacles
    discretisation: Discretisation
    history: History
    gravity: Tensor
    """(3,) m/s^2."""
    anchors: Tensor
    """(a,) int64, held particles."""
    anchor_targets: Tensor
    """(a, 3) metres, where they are held."""
    anchor_stiffness: float
    """N/m, of each."""
    carriers: Tensor
    """(r,) int64, the particles that the weight of a jointed body rests on; none: it falls."""
    springs: tuple[Springs | PointSprings, ...]
    applied: AppliedAt | None
    """Forces at the end of the step."""
    candidates: CandidatePairs | None
    """Particles of different parts that might meet."""
    tool_before: ToolPose | None
    tool_after: ToolPose | None
    operators: ReducedOperators
    settings: SolverSettings
    friction: Friction | None = None
    _offsets: tuple[Tensor, Tensor, Tensor] = field(init=False)

    def __post_init__(self) -> None:
        past, scheme, material = self.history, self.discretisation, self.body.material
        inertia = scheme.inertia()
        target = scheme.target(past.x, past.x_before, past.v, past.v_before) + self.gravity / inertia
        velocity = scheme.rate_offset(past.x, past.x_before, past.v)
        strain = scheme.rate_offset(past.strain, past.strain_before, past.strain_rate)
        self._offsets = target, velocity, strain
        self._inertia = inertia
        self._weights = (inertia * self.body.masses).unsqueeze(1)
        self._elastic = NeoHookean(material.shear_modulus, material.lame_lambda)
        self._balance = past.q.new_zeros(0)
        self._viscous = self._viscosity()
        self._passage = self._passage_from(past.x)
        self._gaps_before = self.candidates.gaps(past.x) if self.candidates is not None else None
        self._damping = past.q_rate.new_zeros(0, 0)

    @property
    def stores_strain(self) -> bool:
        """Whether strain has an energy or a viscosity of its own."""
        return self.body.strain is not None and self.body.jointed is None

    def _viscosity(self) -> KelvinVoigt | None:
        material = self.body.material
        if not self.stores_strain or material.damping == 0.0:
            return None
        return KelvinVoigt(material.shear_modulus * material.damping, material.lame_lambda * material.damping)

    def velocities(self, x: Tensor) -> Tensor:
        """(n, 3) m/s at the end of the step, for new positions (n, 3)."""
        return self.discretisation.scale * x + self._offsets[1]

    def strain_rates(self, strain: Tensor) -> Tensor:
        """(s, 3, 3) 1/s at the end of the step, for new Green strains (s, 3, 3)."""
        return self.discretisation.scale * strain + self._offsets[2]

    def coordinate_rates(self, q: Tensor) -> Tensor:
        """(k,) velocities at the end of the step of the last k numbers of a new state (s,), see `History`."""
        past, size = self.history, len(self.history.q_rate)
        start = len(q) - size
        return self.discretisation.scale * q[start:] + self.discretisation.rate_offset(
            past.q[start:], past.q_before[start:], past.q_rate
        )

    def evaluate(self, q: Tensor) -> Evaluation:
        """The objective and its gradient by particle positions, at a state (s,)."""
        x = self.body.kinematics.positions(q)
        away = x - self._offsets[0]
        gradient = self._weights * away
        value = 0.5 * float(torch.dot(gradient.view(-1), away.reshape(-1)))
        magnitude = value
        if len(self.anchors):
            away_from_hold = (x[self.anchors] - self.anchor_targets).reshape(-1, 1)
            held = self.operators.what_is_held(away_from_hold).view(-1, 3)
            value += 0.5 * self.anchor_stiffness * float((held * held).sum())
            gradient.index_add_(0, self.anchors, held, alpha=self.anchor_stiffness)
        contacts, tool_gaps = self._contacts(x)
        if contacts is not None:
            value += contacts.energy
            gradient.index_add_(0, contacts.particle, -contacts.force.unsqueeze(1) * contacts.normal)
        if self.friction is not None:
            dissipated, forces = self._friction_forces(self.friction, x, with_hessian=False)
            value += float(dissipated)
            gradient.index_add_(0, forces.particle, forces.gradient)
        if self.applied is not None:
            particle, force = self.applied.particle, self.applied.force
            work = float((force * (x[particle] - self.history.x[particle])).sum())
            value, magnitude = value - work, magnitude + abs(work)
            gradient.index_add_(0, particle, force, alpha=-1.0)
        points, pairs, state = list[PointForces](), list[PairForces](), self._state_forces(q)
        for spring in self.springs:
            stored, pull = spring.forces(x)
            value += stored
            if isinstance(pull, PairForces):
                pairs.append(pull)
                pull.add_to(gradient)
            else:
                points.append(pull)
                gradient.index_add_(0, pull.particle, pull.gradient)
        touching = None
        if self.candidates is not None and self._gaps_before is not None:
            touching = self.candidates.contacts(x, self._gaps_before, self.discretisation.step)
        if touching is not None:
            value += touching.energy
            pairs.append(touching.forces)
            touching.forces.add_to(gradient)
        value += sum(part.value for part in state)
        f, stress = x.new_zeros(0, 9), x.new_zeros(0, 9)
        if self.body.strain is not None:
            f = self.body.strain.deformation_gradients(x).view(-1, 9)
        if self.stores_strain and self.body.strain is not None:
            density, stress = self._elastic.value_and_stress(f)
            volume = self.body.strain.volume
            value += float(torch.dot(density, volume))
            stress = stress * volume.unsqueeze(1)
            if self._viscous is not None:
                density, viscous_stress = self._viscous.value_and_stress(f, self.discretisation.scale, self._offsets[2])
                value += float(torch.dot(density, volume))
                stress = stress + viscous_stress * volume.unsqueeze(1)
            magnitude += self.body.material.youngs_modulus * float(volume.sum())
        self_depth = touching.depth if touching is not None else 0.0
        return Evaluation(
            q,
            x,
            value,
            1e-14 * (abs(value) + magnitude),
            gradient,
            f,
            stress,
            contacts,
            tool_gaps,
            points,
            pairs,
            self_depth,
            state,
        )

    def _contacts(self, x: Tensor) -> tuple[Contacts | None, Tensor | None]:
        return self.obstacles.contacts(x[self.obstacles.particle], self.tool_after, self._passage)

    def _passage_from(self, x: Tensor) -> Passage:
        points, obstacles = x[self.obstacles.particle], self.obstacles
        tool_gaps = obstacles.tool_gaps(points, self.tool_before) if self.tool_before is not None else None
        return Passage(obstacles.support_gaps(points), None if tool_gaps is None else tool_gaps[0], self.discretisation.step)

    def _state_forces(self, q: Tensor) -> list[StateForces]:
        forces = [energy.at(q[len(q) - energy.size :]) for energy in self.body.state_energies]
        if len(self._damping):
            forces.append(dissipation(self._damping, self.coordinate_rates(q), self.discretisation.scale))
        if len(self._balance):
            start = len(q) - len(self._balance)
            work = float(self._balance @ (q[start:] - self.history.q[start:]))
            forces.append(StateForces(-work, -self._balance, q.new_zeros(len(self._balance), len(self._balance))))
        return forces

    def _friction_forces(self, friction: Friction, x: Tensor, with_hessian: bool) -> tuple[Tensor, PointForces]:
        particle = friction.contacts.particle
        scale = self.discretisation.scale
        velocity = scale * x[particle] + self._offsets[1][particle]
        return friction.value_and_derivatives(velocity, scale, with_hessian)

    def gradient(self, at: Evaluation, jacobian: Tensor) -> Tensor:
        """(dim,) derivative of the objective by a tangent step."""
        dim = self.body.kinematics.dim
        gradient = at.particle_gradient.view(-1) @ jacobian.view(-1, dim)
        if len(at.stress):
            gradient = gradient + at.stress.view(-1) @ self.operators.site.view(-1, dim)
        for part in at.state:
            gradient[dim - len(part.gradient) :] += part.gradient
        return gradient

    def hessian(self, at: Evaluation, jacobian: Tensor) -> Tensor:
        """(dim, dim) second derivative of the objective by a tangent step, without strain and the curvature of x(q)."""
        operators, dim = self.operators, self.body.kinematics.dim
        hessian = self._inertia * operators.mass_matrix
        if len(self.anchors):
            hessian = hessian + self.anchor_stiffness * operators.anchor_matrix
        points = list(at.points)
        if at.contacts is not None:
            points.append(at.contacts.derivatives())
        if self.friction is not None:
            points.append(self._friction_forces(self.friction, at.x, with_hessian=True)[1])
        if points:
            touched = jacobian[torch.cat([p.particle for p in points])]
            blocks = torch.cat([p.hessian for p in points])
            hessian = torch.addmm(hessian, touched.view(-1, dim).T, (blocks @ touched).view(-1, dim))
        for pair in at.pairs:
            apart = jacobian[pair.first] - jacobian[pair.second]
            hessian = torch.addmm(hessian, apart.view(-1, dim).T, (pair.hessian @ apart).view(-1, dim))
        for part in at.state:
            start = dim - len(part.gradient)
            hessian[start:, start:] += part.hessian
        return hessian

    def longest_safe(self, at: Evaluation, jacobian: Tensor, step: Tensor) -> float:
        """The part of a tangent step (dim,), at most 1, that takes no particle past the tool (see SWEEP_FRACTION)."""
        if at.tool_gaps is None or self.obstacles.tool is None:
            return 1.0
        moves = (jacobian[self.obstacles.particle] @ step).norm(dim=1)
        deepest = SWEEP_FRACTION * min(self.obstacles.tool.half_extents)
        allowed = (at.tool_gaps + deepest).clamp(min=0.2 * deepest)
        return min(1.0, float((allowed / moves.clamp(min=1e-300)).min()))

    def decrement_tolerance(self, iteration: int) -> float:
        """J: a Newton decrement (gradient times step) below this is convergence, see SolverSettings."""
        settings, mass = self.settings, self.body.mass
        tighter = min(1.0, self.discretisation.step / TOLERANCE_STEP) if iteration < TIGHTER_ITERATIONS else 1.0
        part = settings.tolerance * tighter
        accurate = mass * self._inertia * (part * self.body.length) ** 2
        if len(self.obstacles.stiffness):
            stiffest = float(self.obstacles.stiffness.max())
            accurate = min(accurate, (settings.force_tolerance * mass * STANDARD_GRAVITY) ** 2 / stiffest)
        return accurate

    def strain_hessian(self, at: Evaluation, clamp_sites: bool) -> Tensor:
        """(dim, dim) second derivative of the elastic and viscous terms by a tangent step."""
        assert self.body.strain is not None
        blocks = self._elastic.hessian(at.f)
        if clamp_sites:
            blocks = positive_semidefinite(blocks)
        blocks = blocks * self.body.strain.volume.view(-1, 1, 1)
        if self._viscous is not None:
            blocks = blocks + self._viscous.hessian(at.f, self.discretisation.scale) * self.body.strain.volume.view(-1, 1, 1)
        site, dim = self.operators.site, self.body.kinematics.dim
        return site.view(-1, dim).T @ (blocks @ site).view(-1, dim)

    def lag_balance(self, jacobian: Tensor) -> None:
        """Hold joints where they are against the body's weight and what carries it, at the start of the step.

        The pose is in balance if the weight W and a wrench f on the carriers do no work, J_p^T W + H_p^T f = 0, with H the motion
        of the carriers as one. The joints are held by -(J_i^T W + H_i^T f).

        Args:
            jacobian: (n, 3, dim) at the start.
        """
        jointed, dim = self.body.jointed, self.body.kinematics.dim
        if jointed is None or not len(self.carriers):
            return
        pose = dim - jointed.internal
        weight = (self.body.masses.unsqueeze(1) * self.gravity).reshape(-1) @ jacobian.reshape(-1, dim)
        held = rigid_motions(self.history.x[self.carriers]).T @ jacobian[self.carriers].reshape(-1, dim)
        wrench = -(torch.linalg.pinv(held[:, :pose].T) @ weight[:pose])
        self._balance = -(weight + wrench @ held)[pose:]

    def lag_damping(self) -> None:
        """Take what resists the coordinates from the operators, as they are at the start of the step."""
        size = len(self.history.q_rate)
        start = self.body.kinematics.dim - size
        self._damping = self.history.q_rate.new_zeros(size, size)
        if self.body.state_damping is not None:
            own = self.body.kinematics.dim - self.body.state_damping.size
            self._damping[own - start :, own - start :] = self.body.state_damping.matrix(self.operators.mass_matrix[own:, own:])
        if self.body.jointed is not None and self.body.strain is not None:
            own = self.body.kinematics.dim - self.body.jointed.internal
            self._damping[own - start :, own - start :] += self._resistance(self.body.jointed, self.body.strain)

    def _resistance(self, jointed: Jointed, sites: StrainSites) -> Tensor:
        """(k, k) viscous coefficients of the last k coordinates, see `Jointed`."""
        past, start = self.history, self.body.kinematics.dim - jointed.internal
        volume = jointed.volume_that_resists(sites, past.v, past.strain_rate)
        f = sites.deformation_gradients(past.x)
        changes = self.operators.site.view(*f.shape, -1)[..., start:]
        rates = torch.einsum("sji,sjkd->sikd", f, changes)
        rates = 0.5 * (rates + rates.transpose(1, 2))
        coefficients = jointed.viscosity * torch.einsum("s,sijd,sije->de", volume, rates, rates)
        inertia = self.operators.mass_matrix
        if len(self.anchors):
            inertia = inertia + self.anchor_stiffness / self._inertia * self.operators.anchor_matrix
        return jointed.spare_joints(coefficients, effective_inertia(inertia, start), past.q_rate[-jointed.internal :])

    def lag_friction(self, contacts: Contacts | None, x: Tensor) -> None:
        """Take normal forces and tangent planes from these contacts for the friction of the next solve."""
        self.friction = None
        if contacts is None or self.body.material.friction <= 0.0:
            return
        surface = torch.zeros_like(contacts.normal)
        if self.tool_after is not None and self.tool_before is not None:
            touching = x[contacts.particle[contacts.support_count :]]
            surface[contacts.support_count :] = self.tool_after.velocity_at(touching, self.tool_before, self.discretisation.step)
        self.friction = Friction(contacts, surface, self.body.material.friction, self.settings.creep_speed)


def solve(problem: StepProblem) -> Solution:
    """The new state, with normal forces of friction lagged anew until they agree with the contacts."""
    past = problem.history
    jacobian = problem.body.kinematics.jacobian(past.q)
    problem.operators.update(jacobian)
    problem.lag_damping()
    problem.lag_balance(jacobian)
    ahead = past.q_step * (problem.discretisation.step / past.step) if past.step > 0.0 else past.q_step
    guess = problem.body.kinematics.retract(past.q, ahead)
    problem.lag_friction(past.contacts, past.x)
    solution = _minimise(problem, guess, ahead)
    iterations = solution.iterations
    for _ in range(problem.settings.friction_passes - 1):
        if not solution.finite or _lag_agrees(problem, solution):
            break
        problem.lag_friction(solution.evaluation.contacts, solution.evaluation.x)
        solution = _minimise(problem, solution.evaluation.q, solution.q_step)
        iterations += solution.iterations
    converged = solution.converged and solution.finite
    return Solution(solution.evaluation, solution.q_step, iterations, solution.residual, converged, problem.friction)


def _lag_agrees(problem: StepProblem, solution: Solution) -> bool:
    contacts = solution.evaluation.contacts
    if problem.body.material.friction <= 0.0:
        return True
    count = len(problem.body.masses)
    lagged, actual = torch.zeros(2, count, dtype=torch.float64, device=solution.evaluation.x.device)
    if problem.friction is not None:
        lagged.index_add_(0, problem.friction.contacts.particle, problem.friction.contacts.force)
    if contacts is not None:
        actual.index_add_(0, contacts.particle, contacts.force)
    change = float((lagged - actual).abs().sum())
    return change <= problem.settings.friction_tolerance * float(actual.sum())


def _minimise(problem: StepProblem, q: Tensor, q_step: Tensor) -> Solution:
    kinematics, settings = problem.body.kinematics, problem.settings
    per_metre = max(problem.body.mass, 1e-300) * problem.discretisation.inertia()
    at = problem.evaluate(q)
    residual = decrement = float("inf")
    for iteration in range(settings.max_iterations):
        jacobian = kinematics.jacobian(at.q)
        problem.operators.update(jacobian)
        gradient, hessian = problem.gradient(at, jacobian), problem.hessian(at, jacobian)
        last_decrement, reached = decrement, None
        for refresh in (False, True):
            factor = _factorised(problem, at, hessian, refresh)
            if factor is None:
                return Solution(at, q_step, iteration, residual, False, problem.friction)
            step = -torch.cholesky_solve(gradient.unsqueeze(1), factor).squeeze(1)
            decrement = -float(torch.dot(gradient, step))
            residual = (max(decrement, 0.0) / per_metre) ** 0.5
            if decrement < problem.decrement_tolerance(iteration):
                return Solution(at, q_step, iteration, residual, True, problem.friction)
            if refresh or not problem.stores_strain or decrement < STALE_CONTRACTION * last_decrement:
                reached = _line_search(problem, at, step, decrement, problem.longest_safe(at, jacobian, step))
            if reached is not None or not problem.stores_strain:
                break
        if reached is None:
            return Solution(at, q_step, iteration, residual, False, problem.friction)
        at, taken = reached
        q_step = q_step + taken * step
    return Solution(at, q_step, settings.max_iterations, residual, False, problem.friction)


def _factorised(problem: StepProblem, at: Evaluation, hessian: Tensor, refresh: bool) -> Tensor | None:
    """Lower Cholesky factor of the whole Hessian, None if it is not finite.

    Args:
        problem: the step.
        at: the iterate.
        hessian: (dim, dim), all but strain.
        refresh: make the strain Hessian anew, even if an old one would do.
    """
    if not problem.stores_strain:
        return _cholesky(hessian)
    operators, scale = problem.operators, problem.discretisation.scale
    if operators.stiffness is not None and operators.stiffness_scale == scale and not refresh:
        factor = _cholesky(hessian + operators.stiffness)
        if factor is not None:
            return factor
    operators.stiffness_scale = scale
    for clamp_sites in (False, True):
        operators.stiffness = problem.strain_hessian(at, clamp_sites)
        factor = _cholesky(hessian + operators.stiffness)
        if factor is not None:
            return factor
    return None


def _cholesky(hessian: Tensor) -> Tensor | None:
    """Lower factor, None where it does not exist; a trace of 1e-12 keeps directions that move nothing out of it."""
    hessian.diagonal().add_(1e-12 * float(hessian.diagonal().mean()))
    factor: Tensor
    factor, failed = torch.linalg.cholesky_ex(hessian)
    return factor if int(failed) == 0 and bool(torch.isfinite(factor.diagonal()).all()) else None


def _line_search(
    problem: StepProblem, at: Evaluation, step: Tensor, decrement: float, longest: float
) -> tuple[Evaluation, float] | None:
    """The first of 1, 1/2, 1/4, ... of the longest part of the step that lowers the objective enough (Armijo)."""
    taken = longest
    for _ in range(20):
        trial = problem.evaluate(problem.body.kinematics.retract(at.q, taken * step))
        if trial.value <= at.value - 1e-4 * taken * decrement + at.noise:
            return trial, taken
        taken *= 0.5
    return None


def strain_of(body: Body, x: Tensor) -> Tensor:
    """(s, 3, 3) Green strain at the body's sites, for positions (n, 3); (0, 3, 3) without sites."""
    if body.strain is None:
        return x.new_zeros(0, 3, 3)
    return green_strain(body.strain.deformation_gradients(x).view(-1, 9))
