"""How long a step may be, so that the motion is as accurate as is asked.

BDF2 is late: a velocity that changes at a rate x''' is wrong by h^2 x''' / 3, and as the error keeps its sign along an
oscillation, displacements are wrong by that times the time that it lasts. A step is held to be as wrong as

    h^2 / 3 |x'''| HORIZON / (SMOOTH_TOLERANCE * scale),

with the root mean square over the mass, and the lesser x''' of the last two, so that a single kink does not count. The scale
is what has moved so far, or `LEAST_MOTION` of the body's length. An impact is judged by how far a step off in its time puts the
body: by the closing speed before it, and while it lasts by the change of velocity, times the step, over `IMPACT_TOLERANCE`.
Each change of a step's length costs a velocity error of its own (the lateness changes), so that lengths change by factors of
two, and grow only where there is room (`GROWN`).
"""

from __future__ import annotations

import torch
from torch import Tensor

from neurok_ros.dynamics.body import Body

FINEST = 16
"""Steps at a start and at an impact are never shorter than the longest over this, ..."""
FINEST_SMOOTH = 8
"""... and others than the longest over this: what rings faster is soon damped."""
HORIZON = 1.0
"""Seconds for which a wrong velocity is reckoned with."""
SMOOTH_TOLERANCE = 0.01
"""Of the scale."""
IMPACT_TOLERANCE = 0.002
"""Of the body's length."""
LEAST_MOTION = 0.05
"""Of the body's length."""
REJECTED = 4.0
"""A step that is so many times as wrong as it may be is taken again in halves."""
GROWN = 0.4
"""A step is doubled if it would be no more than so many times as wrong as it may be."""


class StepControl:
    """Chooses step lengths: the longest one, or a half, a quarter, ... of it.

    Args:
        body: what moves.
        start: (n, 3) metres, where it starts.
        velocity: (n, 3) m/s.
        longest: seconds.
    """

    def __init__(self, body: Body, start: Tensor, longest: float) -> None:
        self._weights = (body.masses / max(body.mass, 1e-300)).unsqueeze(1)
        self._start, self._longest, self._finest = start, longest, longest / FINEST
        self._scale, self._impact = LEAST_MOTION * body.length, IMPACT_TOLERANCE * body.length
        self._acceleration = torch.zeros_like(start)
        self._step = 0.0
        self._jerk = 0.0
        self.wanted = self._finest
        """Seconds, of the next step."""

    def restart(self) -> None:
        """Forces have changed at once: begin with the finest step."""
        self.wanted, self._step, self._jerk = self._finest, 0.0, 0.0

    def too_long(self, step: float, closing_speed: float) -> bool:
        """Whether to take a step in halves, in which a particle meets an obstacle at a speed in m/s (0: none does)."""
        splits = step > 1.5 * self._finest
        return splits and (step > 1.5 * self.wanted or step * closing_speed > self._impact)

    def error(self, step: float, before: Tensor, after: Tensor) -> float:
        """Of a step in which velocities (n, 3) became others, over what is tolerated."""
        jerk = min(self._jerk, self._jerk_of(step, before, after))
        return step**2 / 3.0 * jerk * HORIZON / (SMOOTH_TOLERANCE * self._scale)

    def rejects(self, step: float, before: Tensor, after: Tensor) -> bool:
        """Whether a step is to be taken again in halves."""
        return step > 1.5 * self._longest / FINEST_SMOOTH and self.error(step, before, after) > REJECTED

    def accept(self, step: float, before: Tensor, after: Tensor, x: Tensor, in_shock: bool) -> float:
        """Go on from a step that ends at positions x (n, 3); m/s, by how much the last two differ in a particle's velocity."""
        acceleration = (after - before) / step
        jolt = (acceleration - self._acceleration) * step
        if in_shock:
            error, order, finest = step * self._mean(jolt) / self._impact, 1, self._finest
        else:
            error, order, finest = self.error(step, before, after), 2, self._longest / FINEST_SMOOTH
        self._choose(step, error, order, finest)
        self._jerk, self._acceleration, self._step = self._jerk_of(step, before, after), acceleration, step
        self._scale = max(self._scale, self._mean(x - self._start))
        return float(jolt.norm(dim=1).max())

    def _choose(self, step: float, error: float, order: int, finest: float) -> None:
        coarser = 2.0 * self.wanted
        exists = coarser < 1.5 * self._longest
        suffices = error * 2.0**order < GROWN or coarser < 1.5 * finest
        if error > 1.0 and self.wanted > 1.5 * finest:
            self.wanted *= 0.5
        elif exists and suffices and step > 0.6 * self.wanted:
            self.wanted = coarser

    def _jerk_of(self, step: float, before: Tensor, after: Tensor) -> float:
        """m/s^3, root mean square; 0 in the first step, which has none to compare with."""
        if self._step == 0.0:
            return 0.0
        return self._mean((after - before) / step - self._acceleration) / (0.5 * (step + self._step))

    def _mean(self, vectors: Tensor) -> float:
        return float((self._weights * vectors**2).sum().sqrt())
