"""The moving tool: a rigid primitive on a prescribed path."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class ToolKind(Enum):
    """Primitives of shape_msgs/SolidPrimitive, centred on the tool pose's origin, axes along its z."""

    BOX = "box"
    """dimensions: full edge lengths x, y, z."""
    SPHERE = "sphere"
    """dimensions: radius."""
    CYLINDER = "cylinder"
    """dimensions: height, radius."""


@dataclass(frozen=True)
class ToolShape:
    """A primitive and its dimensions in metres, in the order that shape_msgs/SolidPrimitive gives them."""

    kind: ToolKind
    dimensions: tuple[float, ...]


@dataclass(frozen=True)
class ToolPath:
    """Stamped poses of the tool; between them positions are linear in time and rotations spherical-linear."""

    times: NDArray[np.float64]
    """(w,) seconds, strictly increasing, from 0 = the start of the rollout."""
    positions: NDArray[np.float64]
    """(w, 3) metres, in the object's frame."""
    quaternions: NDArray[np.float64]
    """(w, 4) x y z w, unit length."""
