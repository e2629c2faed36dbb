"""What a validation case is: the same motion, once as it should be and once as this package predicts it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Reference = Literal["closed form", "MuJoCo"]

JUDGED_TIMES = (0.1, 0.5, 1.0, 2.0)
"""Seconds at which errors are reported."""


@dataclass(frozen=True, eq=False)
class Motion:
    """The same t times and n material points, twice."""

    times: Floats
    """(t,) seconds, from 0."""
    truth: Floats
    """(t, n, 3) metres."""
    predicted: Floats
    """(t, n, 3) metres; as many frames as there are: a rollout that gave up has fewer and counts as failed."""
    size: float
    """Metres, largest extent at rest."""
    figures: dict[str, float] = field(default_factory=dict)
    """Further measures of this case by name, the unit at the end of the name."""

    def rmse(self) -> Floats:
        """(t,) metres: root mean square distance over the points at each time."""
        return np.asarray(np.sqrt(((self.predicted - self.truth) ** 2).sum(-1).mean(-1)))

    def peak(self) -> float:
        """Metres: the largest root mean square displacement from the start that the true motion reaches."""
        return float(np.sqrt(((self.truth - self.truth[0]) ** 2).sum(-1).mean(-1)).max())

    def percent(self, of: float) -> dict[float, float]:
        """The RMSE at each judged time that the motion lasts to, as per cent of a length in metres."""
        errors = self.rmse()
        inside = (time for time in JUDGED_TIMES if time <= self.times[-1] + 1e-9)
        return {time: 100.0 * float(np.interp(time, self.times, errors)) / of for time in inside}


@dataclass(frozen=True)
class Case:
    """A named comparison that can be run."""

    name: str
    reference: Reference
    description: str
    """One sentence: what moves, and what is compared with what."""
    run: Callable[[], Motion]
