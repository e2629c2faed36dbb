"""Running cases, so that one that fails is told of and not dropped."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from validation.case import JUDGED_TIMES, Case, Motion

Percents = dict[str, float | None]
"""By judged time, as a string; None where the motion is shorter or the case failed."""


@dataclass(frozen=True)
class Outcome:
    """What became of a case."""

    case: Case
    motion: Motion | None
    """None if the case raised an exception."""
    failure: str
    """Why it counts as failed; empty if it does not."""
    seconds: float

    @property
    def percent_of_size(self) -> Percents:
        """RMSE as per cent of the object's size."""
        return self._percents(self.motion.size if self.motion is not None else 0.0)

    @property
    def percent_of_peak(self) -> Percents:
        """RMSE as per cent of the true motion's peak displacement."""
        return self._percents(self.motion.peak() if self.motion is not None else 0.0)

    @property
    def worst_percent_of_peak(self) -> float:
        """At the judged times; infinite for a case that failed."""
        errors = [error for error in self.percent_of_peak.values() if error is not None]
        return max(errors, default=np.inf) if not self.failure else np.inf

    def _percents(self, length: float) -> Percents:
        found = self.motion.percent(length) if self.motion is not None and not self.failure and length > 0.0 else {}
        return {f"{at:g}": round(found[at], 4) if at in found else None for at in JUDGED_TIMES}


def run_case(case: Case) -> Outcome:
    """A case that raises, gives up early or is not finite is an outcome too."""
    begin = time.monotonic()
    try:
        motion = case.run()
    except Exception as error:
        return Outcome(case, None, f"{type(error).__name__}: {error}", time.monotonic() - begin)
    return Outcome(case, motion, _failure(motion), time.monotonic() - begin)


def _failure(motion: Motion) -> str:
    if len(motion.predicted) < len(motion.truth):
        return f"gave up after {len(motion.predicted)} of {len(motion.truth)} frames"
    if not np.isfinite(motion.predicted).all():
        return "positions are not finite"
    if not np.isfinite(motion.truth).all() or motion.peak() <= 0.0:
        return "the reference does not move, or is not finite"
    return ""
