"""A motion from a push: steps in time, contact along the tool's sweep, and a force limit on the tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from neurok_ros.dynamics.body import Body
from neurok_ros.dynamics.contact import (
    SWEEP_FRACTION,
    Obstacles,
    ToolPose,
    beyond_edges,
    contact_stiffness,
    edges_of,
    yield_depth,
)
from neurok_ros.dynamics.frame import Frame, Surroundings, Tally, frame_of, tool_force, tool_work
from neurok_ros.dynamics.integrator import History, ReducedOperators, Solution, SolverSettings, StepProblem, solve, strain_of
from neurok_ros.dynamics.loads import AppliedForce, Hold, Loads, PointSprings, Springs
from neurok_ros.dynamics.schemes import Discretisation, Scheme
from neurok_ros.dynamics.self_contact import CandidatePairs, SelfContact
from neurok_ros.dynamics.step_control import StepControl
from neurok_ros.dynamics.tools import ToolPath, ToolShape, checked_push
from neurok_ros.errors import ErrorCode, NeurokError

NEAR = 0.01
"""Metres: a particle this near to the tool, after what both will travel in a step, is looked at."""
START_DEPTH_LIMIT = 0.01
"""Metres: a push that starts deeper inside the object than this is refused."""
SHOCK_SPEED = 0.02
"""m/s: a particle that goes into an obstacle faster than this makes a shock. From there on steps are backward Euler, as BDF2
would extrapolate the approach into a rebound, until nothing touches or accelerations change a velocity by no more than this
between steps, ..."""
QUIET_STEPS = 2
"""... so many times in a row."""
FORCE_TOLERANCE = 0.02
"""Relative: by how much a tool may exceed its force limit."""
FORCE_MARGIN = 0.1
"""Relative: how near to its force limit a tool is held that could go on without it."""
FORCE_TRIALS = 12
STANDING = 0.01
"""Of the body's length: what is so near to the support, when a hold begins or ends, stands on it."""
HALVINGS = 4
"""A step that fails is tried again at 1/2, 1/4, ... of its length, so often."""
EVENT_SPACING = 0.05
"""Of the longest step: steps end at the stamps of forces and holds, but for those that come sooner than this after a step."""


@dataclass(frozen=True)
class Conditions:
    """What happens to a body."""

    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    """m/s^2."""
    support: tuple[float, float, float, float] | None = None
    """Plane n . x + d = 0, n the unit normal towards the body, d in metres."""
    tool: ToolShape | None = None
    path: ToolPath | None = None
    force_limit: float = np.inf
    """N: the tool advances on its path no farther than it can without pressing harder; it withdraws along its path, at most
    at the path's speed, to keep to it."""
    anchors: Tensor | None = None
    """(a,) int64: particles held at rest."""
    holds: tuple[Hold, ...] = ()
    """Particles held for a time, or led."""
    springs: tuple[Springs | PointSprings, ...] = ()
    forces: tuple[AppliedForce, ...] = ()
    """On particles, over time."""
    initial_velocity: Tensor | None = None
    """(dim,) 1/s, generalized velocity at the start."""
    initial_state: Tensor | None = None
    """(s,) where the motion starts, see `dynamics.initial_state`; None: at rest. Held particles are held where they start."""
    support_outline: Tensor | None = None
    """(p, 3) metres, corners of the support's convex outline in order; beyond it nothing is carried. None: it has no edge."""


def simulate(
    body: Body,
    conditions: Conditions,
    frame_times: Sequence[float],
    max_step: float = 1.0 / 60.0,
    settings: SolverSettings | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Iterator[Frame]:
    """Roll out a body's motion from its rest state, or the given initial state.

    Args:
        body: what moves.
        conditions: what happens to it.
        frame_times: seconds from the start, not negative, increasing; one frame is made for each.
        max_step: seconds; steps are shorter where accuracy wants it (see `step_control`), where a tool sweeps past and where a
            solve fails.
        settings: of the solver.
        should_stop: asked before each step; true ends the rollout without another frame.

    Returns:
        Frames as they are computed. If the motion diverges, the last one says so and holds the last good state.

    Raises:
        NeurokError: INVALID_PUSH for an impossible push (see `checked_push`), or one that starts inside the body.
    """
    rollout = _Rollout(body, conditions, max_step, settings or SolverSettings())
    return rollout.frames(frame_times, should_stop or (lambda: False))


def anchor_stiffness(body: Body, anchors: int, step: float) -> float:
    """N/m of each of some held particles: together 1000 times the body's inertia, and 100 times its elasticity."""
    elastic = 0.0 if body.strain is None else 100.0 * body.material.youngs_modulus * body.length
    return (1000.0 * body.mass / step**2 + elastic) / max(anchors, 1)


def _checked_force_limit(limit: float) -> float:
    if limit > 0.0:
        return limit
    raise NeurokError(ErrorCode.INVALID_PUSH, "push.force_limit", f"is {limit:g} N", "Give a positive force, or none")


@dataclass(frozen=True)
class _Trial:
    """A step solved with the tool's path clock advancing at `rate`; `excess` is its force over the limit, relative."""

    rate: float
    excess: float
    problem: StepProblem
    solution: Solution


class _Rollout:
    def __init__(self, body: Body, conditions: Conditions, max_step: float, settings: SolverSettings) -> None:
        self._body, self._settings, self._max_step = body, settings, max_step
        self._tool = conditions.tool if conditions.path is not None else None
        self._path = checked_push(self._tool, conditions.path) if self._tool and conditions.path is not None else None
        self._force_limit = _checked_force_limit(conditions.force_limit)
        self._q0 = body.kinematics.rest if conditions.initial_state is None else conditions.initial_state
        with torch.no_grad():
            self._x0 = body.kinematics.positions(self._q0)
        self._gravity = self._x0.new_tensor(conditions.gravity)
        permanent = (Hold(conditions.anchors),) if conditions.anchors is not None else ()
        self._loads = Loads(conditions.springs, conditions.forces, permanent + conditions.holds)
        self._obstacles = self._obstacles_of(conditions)
        self._support_slack = self._obstacles.support_slack
        outline = conditions.support_outline if conditions.support is not None else None
        self._edges = None if outline is None else edges_of(outline)
        self._carried = torch.zeros(len(body.contact), dtype=torch.bool, device=self._x0.device)
        self._self_contact = self._self_contact_of()
        self._history = self._initial_history(conditions.initial_velocity)
        self._time = 0.0
        self._clock = 0.0
        self._clock_rate = 1.0
        self._candidates: CandidatePairs | None = None
        self._scheme = Scheme.START
        self._in_shock = False
        self._quiet_steps = 0
        self._control = StepControl(body, self._x0, max_step)
        self._last: Solution | None = None
        self._tool_work = 0.0
        self._tally = Tally()
        self._hold()

    def _hold(self) -> None:
        """Hold what is held from now on, and let go of the rest."""
        self._holds = self._loads.held(self._time)
        nothing = self._body.contact.new_zeros(0)
        self._anchors = torch.cat([nothing, *(hold.particle for hold in self._holds)])
        self._anchor_stiffness = anchor_stiffness(self._body, len(self._anchors), self._max_step)
        self._operators = ReducedOperators(self._body, self._anchors)
        self._feels_weight = self._body.jointed is None or not len(self._anchors)
        self._carriers = self._standing() if self._body.jointed is not None else nothing

    def _standing(self) -> Tensor:
        """(r,) int64: the particles that stand on the support."""
        particle = self._obstacles.particle
        gaps = self._obstacles.support_gaps(self._history.x[particle])
        return particle[:0] if gaps is None else particle[gaps < STANDING * self._body.length]

    def frames(self, frame_times: Sequence[float], should_stop: Callable[[], bool]) -> Iterator[Frame]:
        for frame_time in frame_times:
            diverged = False
            while frame_time - self._time > 1e-9:
                if should_stop():
                    return
                if len(self._loads.held(self._time)) < len(self._holds):
                    self._hold()
                    self._scheme = Scheme.START
                    self._control.restart()
                remaining = self._next_stop(frame_time) - self._time
                step = remaining / np.ceil(remaining / min(self._step_limit(), self._control.wanted) - 1e-9)
                if not self._advance(float(step), HALVINGS):
                    diverged = True
                    break
            yield self._frame(diverged)
            self._tally = Tally()
            if diverged:
                return

    def _self_contact_of(self) -> SelfContact | None:
        body, stiffness = self._body, self._obstacles.stiffness
        if body.parts is None or bool((body.parts.part == body.parts.part[:1]).all()):
            return None
        rest, depth = body.rest_positions, yield_depth(body)
        return SelfContact(body.parts, body.contact, rest, stiffness, depth, body.length)

    def _next_stop(self, frame_time: float) -> float:
        """Seconds: the next event of the loads, or the frame."""
        soon = self._time + EVENT_SPACING * self._max_step
        coming = self._loads.events[self._loads.events > soon]
        return min(frame_time, float(coming[0])) if len(coming) else frame_time

    @torch.no_grad()
    def _obstacles_of(self, conditions: Conditions) -> Obstacles:
        body, gravity = self._body, float(self._gravity.norm())
        points = self._x0[body.contact]
        slack = points.new_zeros(len(points))
        support = points.new_tensor(conditions.support) if conditions.support is not None else None
        speed = float(np.sqrt(2.0 * gravity * body.length))
        if conditions.initial_velocity is not None:
            start = body.kinematics.jacobian(self._q0) @ conditions.initial_velocity
            speed = max(speed, float(start.norm(dim=1).max()))
        if self._path is not None and self._tool is not None:
            speed = max(speed, self._path.speed_between(-np.inf, np.inf, self._tool.bounding_radius))
        stiffness = contact_stiffness(body, speed, self._max_step)
        bare = Obstacles(body.contact, stiffness, yield_depth(body), support, slack, self._tool, slack)
        support_gaps = bare.support_gaps(points)
        support_slack = slack if support_gaps is None else (-support_gaps).clamp(min=0.0)
        tool_slack = slack
        tool_gaps = bare.tool_gaps(points, self._pose_at(0.0)) if self._path is not None else None
        if tool_gaps is not None and len(points):
            tool_slack = (-tool_gaps[0]).clamp(min=0.0)
            if float(tool_slack.max()) > START_DEPTH_LIMIT:
                raise NeurokError(
                    ErrorCode.INVALID_PUSH,
                    "push.waypoints[0]",
                    f"the tool starts {float(tool_slack.max()) * 1e3:.1f} mm inside the object",
                    f"Start it outside, at most {START_DEPTH_LIMIT * 1e3:g} mm inside",
                )
        return Obstacles(body.contact, stiffness, yield_depth(body), support, support_slack, self._tool, tool_slack)

    @torch.no_grad()
    def _initial_history(self, velocity: Tensor | None) -> History:
        body, q = self._body, self._q0
        step = torch.zeros(body.kinematics.dim, dtype=q.dtype, device=q.device)
        v = torch.zeros_like(self._x0)
        if velocity is not None:
            v = body.kinematics.jacobian(q) @ velocity
        strain = strain_of(body, self._x0)
        rate = torch.zeros_like(strain)
        if body.strain is not None:
            moved = body.strain.deformation_gradients(self._x0).transpose(1, 2) @ body.strain.deformation_gradients(v)
            rate = 0.5 * (moved + moved.transpose(1, 2))
        damped = body.damped_coordinates
        q_rate = step[len(step) - damped :] if velocity is None else velocity[len(step) - damped :]
        return History(q, step, self._x0, v, self._x0, v, strain, rate, strain, 0.0, None, q, q_rate)

    def _pose_at(self, clock: float) -> ToolPose:
        assert self._path is not None
        return ToolPose.of(*self._path.pose(clock), self._x0)

    @torch.no_grad()
    def _step_limit(self) -> float:
        """Seconds: the longest step in which tool and particles cannot pass each other."""
        if self._path is None or self._tool is None:
            return self._max_step
        near = self._near_tool(self._max_step)
        if not bool(near.any()):
            return self._max_step
        ahead = self._clock + self._max_step
        drift = self._history.v.new_tensor((self._path.pose(ahead)[0] - self._path.pose(self._clock)[0]) / self._max_step)
        approach = float((self._history.v[self._obstacles.particle][near] - drift).norm(dim=1).max())
        speed = max(approach, self._path.speed_between(self._clock, ahead, self._tool.bounding_radius), 1e-9)
        return min(self._max_step, SWEEP_FRACTION * min(self._tool.half_extents) / speed)

    def _near_tool(self, step: float) -> Tensor:
        """(c,) bool: the contact particles that the tool might meet within a step."""
        assert self._path is not None
        assert self._tool is not None
        past, reach = self._history, self._tool.bounding_radius
        origin = past.x.new_tensor(self._path.pose(self._clock)[0])
        travel = self._path.speed_between(self._clock, self._clock + step, reach) + float(self._gravity.norm()) * step
        particle = self._obstacles.particle
        distance = (past.x[particle] - origin).norm(dim=1) - reach
        near: Tensor = distance < (travel + past.v[particle].norm(dim=1)) * step + NEAR
        return near

    def _advance(self, step: float, halvings: int) -> bool:
        """Move on by a step; false if no finite state was found."""
        self._keep_on_support()
        self._candidates = self._candidate_pairs(step)
        closing_speed = self._closing_speed(step)
        if self._control.too_long(step, closing_speed):
            return self._advance(0.5 * step, halvings) and self._advance(0.5 * step, halvings)
        self._in_shock |= closing_speed > 0.0
        problem, solution, clock = self._held_to_force_limit(step, Scheme.BDF1 if self._in_shock else self._scheme)
        if not solution.converged and halvings > 0:
            return self._advance(0.5 * step, halvings - 1) and self._advance(0.5 * step, halvings - 1)
        if not solution.finite:
            return False
        if not self._in_shock and self._control.rejects(step, self._history.v, problem.velocities(solution.evaluation.x)):
            return self._advance(0.5 * step, halvings) and self._advance(0.5 * step, halvings)
        self._accept(problem, solution, clock)
        return True

    @torch.no_grad()
    def _keep_on_support(self) -> None:
        """Let the support carry, in the coming step, the particles that are above it: not those that come in from below."""
        if self._edges is None:
            return
        points, bare = self._history.x[self._obstacles.particle], replace(self._obstacles, support_slack=self._support_slack)
        gaps = bare.support_gaps(points)
        assert gaps is not None
        self._carried = (beyond_edges(self._edges, points) <= 0.0) & (self._carried | (gaps > -self._obstacles.yield_depth))
        self._obstacles = replace(self._obstacles, support_slack=self._support_slack.where(self._carried, torch.inf))

    @torch.no_grad()
    def _candidate_pairs(self, step: float) -> CandidatePairs | None:
        if self._self_contact is None:
            return None
        return self._self_contact.candidates(self._history.x, self._history.v, step)

    @torch.no_grad()
    def _closing_speed(self, step: float) -> float:
        """m/s: the fastest at which a particle comes into an obstacle in a step, if that makes a shock; 0: none does."""
        past, obstacles = self._history, self._obstacles
        now = past.x[obstacles.particle]
        ahead = now + step * past.v[obstacles.particle]
        pairs: list[tuple[Tensor, Tensor]] = []
        gaps = obstacles.support_gaps(now)
        gaps_ahead = obstacles.support_gaps(ahead)
        if gaps is not None and gaps_ahead is not None:
            pairs.append((gaps, gaps_ahead))
        if self._path is not None and bool(self._near_tool(step).any()):
            tool_gaps = obstacles.tool_gaps(now, self._pose_at(self._clock))
            tool_ahead = obstacles.tool_gaps(ahead, self._pose_at(self._clock + step))
            if tool_gaps is not None and tool_ahead is not None:
                pairs.append((tool_gaps[0], tool_ahead[0]))
        if self._candidates is not None:
            pairs.append((self._candidates.gaps(past.x), self._candidates.gaps(past.x + step * past.v)))
        closings = (torch.where(then < 0.0, gap - then, 0.0).max() for gap, then in pairs if len(gap))
        fastest = max((float(closing) / step for closing in closings), default=0.0)
        return fastest if fastest > SHOCK_SPEED else 0.0

    def _held_to_force_limit(self, step: float, scheme: Scheme) -> tuple[StepProblem, Solution, float]:
        """Solve a step, with the tool advanced as far as its force limit lets it."""
        if self._path is None:
            return *self._solve(step, scheme, None, None), 0.0
        if not np.isfinite(self._force_limit):
            clock = self._clock + step
            return *self._solve(step, scheme, self._clock, clock), clock
        trial = self._trial(step, scheme, self._clock_rate)
        if trial.excess > FORCE_TOLERANCE:
            trial = self._at_force_limit(step, scheme, None, trial)
        elif trial.excess < -FORCE_MARGIN and trial.rate < 1.0:
            under, trial = trial, self._trial(step, scheme, 1.0)
            if trial.excess > FORCE_TOLERANCE:
                trial = self._at_force_limit(step, scheme, under, trial)
        self._clock_rate = trial.rate
        return trial.problem, trial.solution, self._clock_after(trial.rate, step)

    def _at_force_limit(self, step: float, scheme: Scheme, under: _Trial | None, over: _Trial) -> _Trial:
        """The step with the tool advanced, or withdrawn, so that its force comes just below the limit (Illinois method)."""
        low_rate, low_excess = (under.rate, under.excess) if under is not None else (-1.0, -1.0)
        high_rate, high_excess = over.rate, over.excess
        trial, last_side = over, 0
        for _ in range(FORCE_TRIALS):
            trial = self._trial(step, scheme, (low_rate * high_excess - high_rate * low_excess) / (high_excess - low_excess))
            if -FORCE_MARGIN <= trial.excess <= FORCE_TOLERANCE:
                return trial
            if trial.excess < 0.0:
                low_rate, low_excess, under = trial.rate, trial.excess, trial
                high_excess *= 0.5 if last_side < 0 else 1.0
                last_side = -1
            else:
                high_rate, high_excess = trial.rate, trial.excess
                low_excess *= 0.5 if last_side > 0 else 1.0
                last_side = 1
        return under or trial

    def _trial(self, step: float, scheme: Scheme, rate: float) -> _Trial:
        problem, solution = self._solve(step, scheme, self._clock, self._clock_after(rate, step))
        return _Trial(rate, tool_force(problem, solution) / self._force_limit - 1.0, problem, solution)

    def _clock_after(self, rate: float, step: float) -> float:
        return max(self._clock + rate * step, 0.0)

    @torch.no_grad()
    def _solve(self, step: float, scheme: Scheme, clock: float | None, clock_after: float | None) -> tuple[StepProblem, Solution]:
        before = after = None
        if clock is not None and clock_after is not None and bool(self._near_tool(step).any()):
            before, after = self._pose_at(clock), self._pose_at(clock_after)
        problem = StepProblem(
            self._body,
            self._obstacles,
            Discretisation.of(scheme, step, self._history.step),
            self._history,
            self._gravity if self._feels_weight else torch.zeros_like(self._gravity),
            self._anchors,
            self._anchor_targets(self._time + step),
            self._anchor_stiffness,
            self._carriers,
            self._loads.springs,
            self._loads.forces_at(self._time + step),
            self._candidates,
            before,
            after,
            self._operators,
            self._settings,
        )
        return problem, solve(problem)

    def _anchor_targets(self, time: float) -> Tensor:
        if not self._holds:
            return self._x0[self._anchors]
        return self._x0[self._anchors] + torch.cat([hold.at(time) for hold in self._holds])

    @torch.no_grad()
    def _accept(self, problem: StepProblem, solution: Solution, clock: float) -> None:
        past, end = self._history, solution.evaluation
        strain = strain_of(self._body, end.x)
        self._history = History(
            q=end.q,
            q_step=solution.q_step,
            x=end.x,
            v=problem.velocities(end.x),
            x_before=past.x,
            v_before=past.v,
            strain=strain,
            strain_rate=problem.strain_rates(strain),
            strain_before=past.strain,
            step=problem.discretisation.step,
            contacts=end.contacts,
            q_before=past.q,
            q_rate=problem.coordinate_rates(end.q),
        )
        self._time += problem.discretisation.step
        limited = self._path is not None and clock - self._clock < (1.0 - 1e-9) * problem.discretisation.step
        self._clock = clock
        self._scheme = Scheme.BDF2
        jolt = self._control.accept(problem.discretisation.step, past.v, self._history.v, end.x, self._in_shock)
        touching = end.contacts is not None or end.self_depth > 0.0
        self._quiet_steps = self._quiet_steps + 1 if jolt < SHOCK_SPEED else 0
        self._in_shock &= touching and self._quiet_steps < QUIET_STEPS
        self._last = solution
        self._tool_work += tool_work(problem, solution)
        self._tally.add(problem, solution, limited)

    @torch.no_grad()
    def _frame(self, diverged: bool) -> Frame:
        pose = self._path.pose(self._clock) if self._path is not None else None
        around = Surroundings(self._gravity, self._obstacles.support, self._edges, self._loads.springs)
        return frame_of(self._body, self._time, self._history, around, pose, self._last, self._tally, self._tool_work, diverged)
