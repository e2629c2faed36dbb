"""What training data is: the same material points of one object in two frames of its motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Waypoint:
    """Part of the way from frame 0 to frame 1: every joint has gone the same fraction of its way."""

    fraction: float
    points: Floats32
    """(n, 3)."""
    rotations: Floats32
    """(n, 3, 3) how the material around each point has turned from frame 0."""


@dataclass(frozen=True)
class Pair:
    """One object in frame 0 and in a frame 1, in units of its own size.

    Lengths are divided by the largest distance of a point from the points' mean in frame 0, and that mean is the origin
    (the same shift and scale for both frames): `points0` has mean zero and its largest radius is one.
    """

    points0: Floats32
    """(n, 3) points spread evenly over the surface; every first part of the rows is spread evenly too."""
    normals0: Floats32
    """(n, 3) unit length, outward."""
    points1: Floats32
    """(n, 3) the same material points in frame 1."""
    rotations: Floats32
    """(n, 3, 3) how the material around each point turns from frame 0 to 1: exact for a rigid part, the polar factor of the
    deformation gradient for one that deforms."""
    part: Ints
    """(n,) the connected component of the surface that each point is on."""
    waypoint: Waypoint | None = None
    """Where the way between the frames is known."""


class PairSource(Protocol):
    """An endless supply of objects in motion."""

    @property
    def name(self) -> str:
        """What logs and tables call it, such as `articulated/cabinet`."""

    @property
    def stretchable(self) -> bool:
        """Whether its objects stay possible when space is stretched."""

    @property
    def scanned(self) -> bool:
        """Whether they already look as scans do."""

    def sample(self, rng: np.random.Generator, points: int, targets: int = 1) -> list[Pair]:
        """`targets` pairs of one object that share frame 0 (the very same arrays), with `points` points each."""
