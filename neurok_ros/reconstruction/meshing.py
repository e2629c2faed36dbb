"""A segmented object as a closed mesh. Imported in the worker process only, because of Open3D.

One view shows less than half of an object. The rest is made as follows; `ReconstructedMesh.observed` tells which is which.

* The bottom is closed by the support plane: the surface of what the object could be (`carving.py`) ends there.
* `symmetry`: a vertical mirror plane, or two perpendicular ones, found from the points (`symmetry.py`). Observed points
  are mirrored, and what the camera saw to be free is mirrored as well. Where neither reaches, the boundary of the space
  that remains closes the body.
* `hull`: no mirror; the boundary of the hidden space within the convex hull of the observed points and their feet on the
  support. Taken where no mirror plane is free of contradictions.
* `none`: the observed points and their feet on the support alone, closed by Poisson.

All of these points, with normals, go through screened Poisson reconstruction, which also averages the noise away. Where
that gives no closed surface, as with cards and pens a few millimetres thick, the points' convex hull is taken (`hull`).

Why symmetry first (docs/results/perception.json, `synthetic`; one view, 1 mm noise): its volume is within 4 % for a box, a
cylinder and a sphere. The hull is as good for the first two, whose whole top is seen, but lacks 25 % of the sphere, and
it cannot continue a box behind another one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction import surface
from neurok_ros.reconstruction.carving import MIN_THICKNESS, possible_surface, skin_distance
from neurok_ros.reconstruction.free_space import point_spacing, views_of
from neurok_ros.reconstruction.symmetry import Symmetry, find_symmetry, free_depth
from neurok_ros.reconstruction.types import Floats, MeshOptions, ReconstructedMesh, SegmentedObject

COMPLETIONS = ("symmetry", "hull", "none")
LEAST_POINTS = 30
FOOT = 0.015
"""Metres: an object whose lowest points are nearer to the support than this is taken to reach down to it."""
NORMAL_SPACINGS = 4.0
"""Radius of the neighbourhood that a normal is estimated from, over the spacing of the points."""
NOISE_SPACINGS = 0.25
"""Noise of the points over their spacing: this far into free space a mirrored point is no contradiction."""
OBSERVED_SPACINGS = 2.5
"""A vertex was observed if an original point is nearer than this many spacings."""


@dataclass(frozen=True)
class _Frame:
    """The object's frame: z up from the support, origin on it below the object's middle."""

    rotation: Floats
    origin: Floats

    def to(self, points: Floats) -> Floats:
        moved: Floats = (points - self.origin) @ self.rotation.T
        return moved

    def back(self, points: Floats) -> Floats:
        restored: Floats = points @ self.rotation + self.origin
        return restored


def reconstruct(obj: SegmentedObject, options: MeshOptions) -> ReconstructedMesh:
    """Close an object seen from one or more sides.

    Args:
        obj: the object's points, metres, in any frame.
        options: see MeshOptions.

    Returns:
        A mesh in the same frame: one piece, every edge with two faces, outward oriented, within the vertex budget, above
        the support.

    Raises:
        NeurokError: TOO_FEW_POINTS with the count, RECONSTRUCTION_FAILED, INVALID_OPTIONS.
    """
    _check(options)
    timer = _Timer()
    timer.start("cleaning")
    rows = _clean(obj)
    frame = _frame(obj, rows)
    points, viewpoints = frame.to(obj.points[rows]), frame.to(obj.viewpoints[rows])
    points[:, 2] = np.maximum(points[:, 2], 0.0)
    if points[:, 2].max() < MIN_THICKNESS:
        points[:, 2] = MIN_THICKNESS
    timer.start("completing")
    surroundings = None if obj.surroundings is None else frame.to(obj.surroundings)
    shape = _complete(points, viewpoints, surroundings, options.completion)
    timer.start("meshing")
    closed = surface.poisson(shape.points, shape.normals, point_spacing(points), options.poisson_depth)
    completion = shape.completion if closed is not None else "hull"
    closed = surface.convex_hull(shape.points, options.vertex_budget) if closed is None else closed
    timer.start("decimating")
    closed.vertices[:, 2] = np.maximum(closed.vertices[:, 2], 0.0)
    mesh = surface.within_budget(closed, options.vertex_budget)
    vertices = np.asarray(mesh.vertices) * 1.0
    vertices[:, 2] = np.maximum(vertices[:, 2], 0.0)
    timer.start("colouring")
    distance, nearest = cKDTree(points).query(vertices)
    observed = distance < OBSERVED_SPACINGS * point_spacing(points)
    return ReconstructedMesh(
        vertices=frame.back(vertices),
        faces=np.asarray(mesh.faces, dtype=np.int32),
        observed=observed,
        colors=None if obj.colors is None else _colors(obj.colors[rows], nearest, observed),
        support=obj.support,
        completion=completion,
        timings_ms=timer.stop(),
    )


def _colors(scanned: NDArray[np.uint8], nearest: NDArray[np.int64], observed: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """(n, 3) what the camera saw nearest to each observed vertex; the middle of all it saw for a guessed one, since a mirrored
    face or label would be taken for a seen one."""
    guessed = np.median(scanned, axis=0).astype(np.uint8)
    return np.where(observed[:, None], scanned[nearest], guessed)


class _Timer:
    """Milliseconds per step."""

    def __init__(self) -> None:
        self._times: dict[str, float] = {}
        self._step = ""
        self._since = 0.0

    def start(self, step: str) -> None:
        self.stop()
        self._step, self._since = step, time.perf_counter()

    def stop(self) -> dict[str, float]:
        if self._step:
            self._times[self._step] = 1e3 * (time.perf_counter() - self._since)
        self._step = ""
        return self._times


@dataclass(frozen=True)
class _OrientedPoints:
    points: Floats
    normals: Floats
    completion: str


def _check(options: MeshOptions) -> None:
    if options.completion not in COMPLETIONS:
        problem = f"{options.completion!r} is unknown"
        raise NeurokError(ErrorCode.INVALID_OPTIONS, "completion", problem, f"Use one of {COMPLETIONS}")
    if options.vertex_budget < 50:
        raise NeurokError(ErrorCode.INVALID_OPTIONS, "vertex_budget", f"is {options.vertex_budget}", "Allow at least 50 vertices")
    if not surface.MIN_DEPTH <= options.poisson_depth <= surface.MAX_DEPTH:
        problem, remedy = f"is {options.poisson_depth}", f"Choose between {surface.MIN_DEPTH} and {surface.MAX_DEPTH}"
        raise NeurokError(ErrorCode.INVALID_OPTIONS, "poisson_depth", problem, remedy)


def _clean(obj: SegmentedObject) -> NDArray[np.int64]:
    """Indices of the points that are finite, distinct and not alone."""
    finite = np.flatnonzero(np.isfinite(obj.points).all(axis=1) & np.isfinite(obj.viewpoints).all(axis=1))
    _, first = np.unique(np.round(obj.points[finite], 5), axis=0, return_index=True)
    rows = finite[np.sort(first)]
    if len(rows) >= LEAST_POINTS:
        rows = rows[surface.without_outliers(obj.points[rows], point_spacing(obj.points[rows]))]
    if len(rows) < LEAST_POINTS:
        raise NeurokError(
            ErrorCode.TOO_FEW_POINTS,
            "object",
            f"{len(rows)} usable points of {len(obj.points)}, at least {LEAST_POINTS} are needed",
            "Move the camera so that it sees more of the object",
        )
    return rows


def _frame(obj: SegmentedObject, rows: NDArray[np.int64]) -> _Frame:
    up, middle = obj.support[:3], obj.points[rows].mean(axis=0)
    side = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    side /= np.linalg.norm(side)
    return _Frame(np.stack([side, np.cross(up, side), up]), middle - (middle @ up + obj.support[3]) * up)


def _complete(points: Floats, viewpoints: Floats, surroundings: Floats | None, completion: str) -> _OrientedPoints:
    spacing = point_spacing(points)
    normals = surface.normals_towards(points, viewpoints, NORMAL_SPACINGS * spacing)
    if completion == "none":
        down = np.tile([0.0, 0.0, -1.0], (len(points), 1))
        return _OrientedPoints(np.concatenate([points, points * (1, 1, 0)]), np.concatenate([normals, down]), completion)
    with_foot, foot_viewpoints = _with_foot(points, viewpoints, spacing)
    views = views_of(with_foot, foot_viewpoints, surroundings)
    symmetry = find_symmetry(with_foot, views, NOISE_SPACINGS * spacing) if completion == "symmetry" else None
    known, known_normals = points, normals
    if symmetry is not None:
        mirrored, mirrored_normals = _mirrored(points, normals, symmetry)
        fits = (free_depth(mirrored, views) < spacing) & (cKDTree(points).query(mirrored)[0] > spacing)
        fits &= skin_distance(mirrored, views) > -0.5 * spacing
        known = np.concatenate([points, mirrored[fits]])
        known_normals = np.concatenate([normals, mirrored_normals[fits]])
    boundary, boundary_normals, cell = possible_surface(with_foot, views, symmetry)
    alone = ~_explained(boundary, boundary_normals, known, known_normals, 1.5 * max(spacing, cell))
    return _OrientedPoints(
        np.concatenate([known, boundary[alone]]),
        np.concatenate([known_normals, boundary_normals[alone]]),
        "symmetry" if symmetry is not None else "hull",
    )


def _explained(points: Floats, normals: Floats, known: Floats, known_normals: Floats, distance: float) -> NDArray[np.bool_]:
    """(n,) whether a known point nearer than `distance` (m) faces the same way: the other side of a thin wall does not."""
    distances, nearest = cKDTree(known).query(points, k=min(8, len(known)), distance_upper_bound=distance)
    facing = np.einsum("ni,nki->nk", normals, np.append(known_normals, np.zeros((1, 3)), axis=0)[nearest])
    explained: NDArray[np.bool_] = (np.isfinite(distances) & (facing > 0.7)).any(axis=1)
    return explained


def _with_foot(points: Floats, viewpoints: Floats, spacing: float) -> tuple[Floats, Floats]:
    """Points (n, 3) and their viewpoints, the lowest ones continued down to the support, whose noise swallowed them."""
    low = np.flatnonzero(points[:, 2] < FOOT)
    levels = np.arange(0.0, FOOT, spacing)
    column = np.repeat(points[low], len(levels), axis=0)
    column[:, 2] = np.tile(levels, len(low))
    below = column[:, 2] < np.repeat(points[low, 2], len(levels))
    added_viewpoints = np.repeat(viewpoints[low], len(levels), axis=0)[below]
    return np.concatenate([points, column[below]]), np.concatenate([viewpoints, added_viewpoints])


def _mirrored(points: Floats, normals: Floats, symmetry: Symmetry) -> tuple[Floats, Floats]:
    images = symmetry.images(points)
    tips = symmetry.images(points + normals)
    return np.concatenate(images), np.concatenate([tip - image for tip, image in zip(tips, images, strict=True)])
