"""Training data as the package's own input looks: scans see a part of the outside, with holes and noise, and meshing rounds it.

Turning, tilting and mirroring belong to the batches; scale to `Pair`, which has none left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from training.data.deformed.source import polar_rotation
from training.pairs import Floats32, Ints, Pair, Waypoint
from training.sampling import Floats

_CELL = 2.0
"""Of a picture in which points hide each other, in units of their mean spacing: full of points where there is a surface."""
_GRAZING = 0.1
"""Cosine of the angle to the normal below which a camera sees nothing of a surface."""


@dataclass(frozen=True)
class Scan:
    """What a model is shown of an object in frame 0."""

    points: Floats32
    """(m, 3) in the units and the frame of the pair it was made from: neither centred nor scaled anew."""
    normals: Floats32
    """(m, 3) unit length."""
    index: Ints
    """(m,) which of the pair's points each of them is."""


@dataclass(frozen=True)
class ScanSettings:
    """How often and how much scans fall short of the whole surface; lengths in units of the object's radius."""

    whole_share: float = 0.3
    """Scans with nothing missing, as from a mesh file."""
    outside_share: float = 0.3
    """Scans of all that can be seen from outside; the rest see it from one to three sides."""
    most_holes: int = 3
    hole_radius: float = 0.25
    noise: float = 0.01
    """Largest standard deviation along the normal."""
    rounding: float = 0.06
    """Largest radius over which a mesh has been smoothed."""
    least: int = 32
    """Points; a scan that would have fewer is not cut."""


def scan_like(
    points: Floats32, normals: Floats32, count: int, rng: np.random.Generator, settings: ScanSettings | None = None
) -> Scan:
    """`count` points of an object as a scan of it would give them.

    Args:
        points: (n, 3) evenly spread, each first part too (`training.pairs.Pair.points0`); n well above `count`, so that enough
            of them are seen. Where fewer are left, some come twice.
        normals: (n, 3) unit length.
        count: points wanted.
        rng: decides what is seen.
        settings: the defaults where None.
    """
    limits = settings or ScanSettings()
    seen = _seen(points, normals, rng, limits)
    for _ in range(int(rng.integers(limits.most_holes + 1))):
        center = points[int(rng.integers(len(points)))]
        left = seen & (np.linalg.norm(points - center, axis=1) > rng.uniform(0.2, 1.0) * limits.hole_radius)
        seen = left if left.sum() >= limits.least else seen
    kept = np.resize(np.flatnonzero(seen), count)
    places, directions = _rounded(points, normals, kept, float(rng.uniform(0, limits.rounding) * (rng.random() < 0.5)))
    size = rng.uniform(0, limits.noise)
    places = places + directions * rng.normal(0, size, (count, 1))
    directions = directions + rng.normal(0, 3 * size, (count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return Scan(places.astype(np.float32), directions.astype(np.float32), kept)


def visible_from(points: Floats32, normals: Floats32, toward: Floats) -> np.ndarray:
    """(n,) which points a distant camera in the direction `toward` (3,) sees: they face it, and none is before them.

    Points hide each other in a picture of square cells twice as wide as their spacing.
    """
    spacing = np.median(cKDTree(points).query(points, k=2)[0][:, 1])
    cell = _CELL * float(spacing)
    toward = toward / np.linalg.norm(toward)
    right = np.cross(toward, np.eye(3)[np.argmin(np.abs(toward))])
    right /= np.linalg.norm(right)
    across = np.floor(np.stack([points @ right, points @ np.cross(toward, right)], axis=1) / cell).astype(np.int64)
    across -= across.min(axis=0)
    where = across[:, 0] * (across[:, 1].max() + 1) + across[:, 1]
    depth = points @ toward
    nearest = np.full(int(where.max()) + 1, -np.inf)
    np.maximum.at(nearest, where, depth)
    slope = normals @ toward
    reach = cell * np.sqrt(2) / np.maximum(np.abs(slope), 0.3)
    return np.asarray((slope > _GRAZING) & (depth > nearest[where] - reach))


def scanned(pairs: Sequence[Pair], count: int, rng: np.random.Generator) -> list[Pair]:
    """Pairs that share frame 0, as a scan of that frame shows them: `count` points, and all parts grown together to one.

    A point that the scan shows beside its place (noise, rounding) goes along with the material there. Framed anew.
    """
    scan = scan_like(pairs[0].points0, pairs[0].normals0, count, rng)
    aside = scan.points - pairs[0].points0[scan.index]
    center = scan.points.mean(axis=0)
    scale = 1 / np.linalg.norm(scan.points - center, axis=1).max()
    points0, part = (scan.points - center) * scale, np.zeros(count, np.int64)

    def there(points: Floats32, rotations: Floats32) -> tuple[Floats32, Floats32]:
        turned = rotations[scan.index]
        return (points[scan.index] + np.einsum("nij,nj->ni", turned, aside) - center) * scale, turned

    made = []
    for pair in pairs:
        way = pair.waypoint
        waypoint = Waypoint(way.fraction, *there(way.points, way.rotations)) if way else None
        made.append(Pair(points0, scan.normals, *there(pair.points1, pair.rotations), part, waypoint))
    return made


def stretched(pairs: Sequence[Pair], rng: np.random.Generator, most: float = 1.25) -> list[Pair]:
    """Pairs that share frame 0, with space stretched along three random axes in both frames alike, and framed anew.

    The local rotation becomes the polar factor of A R A^-1, taking the material's own strain as none. For bodies that deform; the
    proportions of articulated ones are random already, and a stretched hinge would no longer turn rigid parts.

    Args:
        pairs: as a source gives them.
        rng: draws axes and factors.
        most: the largest factor; the smallest is its inverse.
    """
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    factors = most ** rng.uniform(-1, 1, 3)
    stretch, back = (axes * factors) @ axes.T, (axes / factors) @ axes.T
    first = pairs[0].points0 @ stretch
    center, scale = first.mean(axis=0), 1 / np.linalg.norm(first - first.mean(axis=0), axis=1).max()
    normals = pairs[0].normals0 @ back
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    points0, normals0 = ((first - center) * scale).astype(np.float32), normals.astype(np.float32)
    made = []
    for pair in pairs:
        rotations = polar_rotation(stretch @ pair.rotations @ back).astype(np.float32)
        made.append(Pair(points0, normals0, ((pair.points1 @ stretch - center) * scale).astype(np.float32), rotations, pair.part))
    return made


def _seen(points: Floats32, normals: Floats32, rng: np.random.Generator, limits: ScanSettings) -> np.ndarray:
    """(n,) which points some camera has seen."""
    kind = rng.random()
    everything = np.ones(len(points), bool)
    if kind < limits.whole_share:
        return everything
    if kind < limits.whole_share + limits.outside_share:
        turns, heights = np.arange(10) * 2.4, np.linspace(-0.9, 0.9, 10)
        flat = np.sqrt(1 - heights**2)
        views = np.stack([flat * np.cos(turns), flat * np.sin(turns), heights], axis=1)
    else:
        turns = rng.uniform(0, 2 * np.pi) + rng.uniform(0.4, 1.8) * np.arange(int(rng.integers(1, 4)))
        views = np.stack([np.cos(turns), np.sin(turns), rng.uniform(0.2, 1.2, len(turns))], axis=1)
    seen = np.any([visible_from(points, normals, view) for view in views], axis=0)
    return np.asarray(seen if seen.sum() >= limits.least else everything)


def _rounded(points: Floats32, normals: Floats32, kept: np.ndarray, radius: float) -> tuple[Floats, Floats]:
    """Points `kept` moved to the Gaussian mean of those around them that face the same side, and their mean normals."""
    places, directions = points[kept].astype(np.float64), normals[kept].astype(np.float64)
    if radius == 0:
        return places, directions
    distance, near = cKDTree(points).query(points[kept], k=8)
    facing = np.einsum("mx,mkx->mk", directions, normals[near])
    weight = np.exp(-0.5 * (distance / radius) ** 2) * (facing > -0.2)
    weight /= weight.sum(axis=1, keepdims=True)
    mean = np.einsum("mk,mkx->mx", weight, normals[near])
    mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    return np.einsum("mk,mkx->mx", weight, points[near].astype(np.float64)), mean
