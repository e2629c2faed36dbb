"""A question (an object, a push) and its answer (a motion), in numpy, metres, seconds, newtons."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from neurok_ros.dynamics.tools import ToolPath, ToolShape

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PhysicalProperties:
    """What the object is made of."""

    density: float = 200.0
    """kg/m^3, of the closed volume."""
    youngs_modulus: float = 1.0e5
    """Pa."""
    poisson_ratio: float = 0.3
    damping: float = 0.05
    """Stiffness-proportional (Rayleigh) damping time, seconds."""
    friction: float = 0.5
    """Coulomb coefficient, with the support and with the tool."""


class Fixation(Enum):
    """What holds the object."""

    FREE = "free"
    BASE = "base"
    """The layer that touches the support is held."""
    BOX = "box"
    """Everything inside a box is held."""


@dataclass(frozen=True)
class Push:
    """A planned push, in the frame of the object's mesh."""

    tool: ToolShape
    path: ToolPath
    force_limit: float = np.inf
    """N: the tool stops advancing while it presses harder than this."""


@dataclass(frozen=True)
class PredictionOptions:
    """How to predict."""

    horizon: float = 1.5
    """Seconds."""
    frame_rate: float = 30.0
    """Frames per second of the answer."""
    fixation: Fixation = Fixation.FREE
    fixed_box: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None
    """Metres: lower and upper corner, for Fixation.BOX."""
    parameterization: str = "auto"
    """`auto`, `rigid`, `modal` or `neurok`."""
    gravity: float = 9.81
    """m/s^2, against the support's normal."""
    support_outline: tuple[tuple[float, float, float], ...] | None = None
    """Metres: corners of the support's convex outline, in order; beyond it the object falls. None: the support has no edge."""

    @property
    def frame_count(self) -> int:
        """Frames of the whole answer, the start included."""
        return round(self.horizon * self.frame_rate) + 1


@dataclass(frozen=True)
class PredictedMotion:
    """The answer. f frames, n mesh vertices."""

    times: Floats
    """(f,) seconds from the start of the push."""
    vertices: NDArray[np.float32]
    """(f, n, 3) metres."""
    tool_poses: Floats
    """(f, 7) where the tool really was (it stops at its force limit): x y z metres, quaternion x y z w."""
    contact_force: Floats
    """(f, 3) N, on the tool by the object."""
    penetration: Floats
    """(f,) metres, the deepest point of the object inside the tool."""
    displacement: Floats
    """(f,) metres, the largest vertex displacement from rest."""
    parameterization: str
    parameterization_reason: str
    """Why this one was used, as a sentence for the user."""
    flags: dict[str, bool] = field(default_factory=dict)
    """True is a warning: diverged, not_converged, penetrating, force_limited, tipped, slid_off, ..."""
    measures: dict[str, float] = field(default_factory=dict)
    """The numbers behind the flags; the unit stands at the end of each name (`_m`, `_n`, `_deg`, `_j`)."""
    timings_ms: dict[str, float] = field(default_factory=dict)
