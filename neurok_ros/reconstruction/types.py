"""What goes into and comes out of reconstruction: numpy arrays, metres, one frame."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scan:
    """A coloured point cloud seen from one or more viewpoints, every point finite."""

    points: Floats
    """(n, 3) metres, in `frame`."""
    viewpoints: Floats
    """(n, 3) metres: where the camera stood when it saw each point, in `frame`."""
    colors: NDArray[np.uint8] | None = None
    """(n, 3) red, green, blue."""
    labels: NDArray[np.uint32] | None = None
    """(n,) the segmentation that came with the cloud, if any."""
    frame: str = ""
    stamp: float = 0.0
    """Seconds."""


@dataclass(frozen=True)
class ObjectSelection:
    """Which of the objects on the support to take. The first of these that is given decides; otherwise the largest."""

    label: int | None = None
    """Value of the cloud's `label` field."""
    point: tuple[float, float, float] | None = None
    """Metres: the object nearest to this point."""
    region: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None
    """Metres: lower and upper corner of an axis-aligned box; the object with most points inside it."""


@dataclass(frozen=True)
class SegmentationOptions:
    """How the scene is cut into objects. Lengths in metres."""

    up: tuple[float, float, float] | None = None
    """Upward direction in the scan's frame, unit length; None: found from the support plane, towards the camera."""
    crop: tuple[tuple[float, float, float], tuple[float, float, float]] | None = None
    """Lower and upper corner of the part of the scene to look at."""
    max_range: float = 2.5
    """Points farther than this from the camera are dropped."""
    voxel: float = 0.003
    plane_tolerance: float = 0.010
    """Points this near to the support plane belong to it."""
    cluster_distance: float = 0.015
    min_points: int = 100
    """Fewer points than this (after voxel down-sampling) are no object."""
    split_touching: bool = True
    """Cut things that touch apart where their surfaces meet in a groove; false for an object with legs of its own."""


@dataclass(frozen=True)
class SegmentedObject:
    """One object standing on a support, cut out of a scan."""

    points: Floats
    """(n, 3) metres, in the scan's frame."""
    viewpoints: Floats
    """(n, 3) metres."""
    source: NDArray[np.int64]
    """(m,) indices into the scan's points of every original point of this object."""
    support: Floats
    """(4,) plane n . x + d = 0, n the unit normal that points up, away from the support, d in metres."""
    colors: NDArray[np.uint8] | None = None
    surroundings: Floats | None = None
    """(k, 3) metres: what else was seen in the object's direction, in front of it, beside it or through its holes."""


@dataclass(frozen=True)
class MeshOptions:
    """How an object's points become a mesh."""

    vertex_budget: int = 2000
    poisson_depth: int = 7
    completion: str = "symmetry"
    """How the unseen side is guessed: `symmetry`, `hull` or `none` (closed by Poisson alone)."""


@dataclass(frozen=True)
class ReconstructedMesh:
    """A closed, outward oriented triangle mesh in the scan's frame."""

    vertices: Floats
    """(n, 3) metres."""
    faces: NDArray[np.int32]
    """(m, 3) vertex indices, counter-clockwise seen from outside."""
    observed: NDArray[np.bool_]
    """(n,) true where the camera saw the surface, false where it was guessed."""
    colors: NDArray[np.uint8] | None
    """(n, 3) red, green, blue."""
    support: Floats
    """(4,) the support plane, as in SegmentedObject."""
    completion: str
    """How the unseen side was made."""
    frame: str = ""
    stamp: float = 0.0
    timings_ms: dict[str, float] = field(default_factory=dict)
    """Wall-clock milliseconds per step of the reconstruction."""
