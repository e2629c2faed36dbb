"""Vertical mirror planes that an object seen from one side may have.

Most things that people put on tables are symmetric about one vertical plane or two perpendicular ones. A plane is
admissible if the mirrored points do not lie in space that the camera saw to be free. That alone allows a plane far
behind the object, so among the admissible ones that is taken which leaves the least space where the object could be:
what is neither seen free nor the mirror image of something seen free. All coordinates are in the object's frame: z up,
the support at z = 0, metres.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from neurok_ros.reconstruction.free_space import View
from neurok_ros.reconstruction.types import Floats

ANGLES = 12
OFFSETS = 13
GRID = 22
CONFLICT_DEPTH = 0.01
"""Metres into free space at which a mirrored point counts fully as a conflict."""
CONFLICT_WEIGHT = 60.0
"""Against the logarithm of the remaining volume."""
MAX_CONFLICT = 0.1
"""Mean conflict above which the object is not symmetric."""
PAIR_GAIN = 0.05
"""A second plane must lower the objective by this much."""


@dataclass(frozen=True)
class Mirror:
    """The plane cos(angle) x + sin(angle) y = offset."""

    angle: float
    offset: float

    def reflect(self, points: Floats) -> Floats:
        """Mirror images of points (n, 3)."""
        images: Floats = points - 2 * (points @ self.normal - self.offset)[:, None] * self.normal
        return images

    @property
    def normal(self) -> Floats:
        """(3,) unit normal."""
        return np.array([np.cos(self.angle), np.sin(self.angle), 0.0])


@dataclass(frozen=True)
class Symmetry:
    """One mirror plane, or two perpendicular ones."""

    mirrors: tuple[Mirror, ...]
    conflict: float
    """Mean over the points, 0 to 1, of how deep their mirror images lie in free space."""

    def images(self, points: Floats) -> list[Floats]:
        """The mirror images (n, 3) of points (n, 3): one for one plane, three for two."""
        singles = [mirror.reflect(points) for mirror in self.mirrors]
        return singles if len(singles) < 2 else [*singles, self.mirrors[1].reflect(singles[0])]


def free_depth(points: Floats, views: Sequence[View]) -> Floats:
    """(n,) metres by which points lie in space that any view saw free; negative: hidden from all."""
    depth: Floats = np.max([view.outside(points) for view in views], axis=0)
    return depth


def find_symmetry(points: Floats, views: Sequence[View], tolerance: float) -> Symmetry | None:
    """The mirror planes that explain points (n, 3) best, None if there are none without conflict.

    Args:
        points: on the object, z up, the support at z = 0.
        views: in the same frame.
        tolerance: metres of free space that noise explains.
    """
    sample = points[:: max(1, len(points) // 300)]
    cells = _hidden_cells(points, views)
    if len(cells) < 20:
        return None
    search = _Search(sample, cells, views, tolerance)
    span = np.ptp(points[:, :2], axis=0).max()
    centre = points[:, :2].mean(axis=0)
    singles = [
        np.array([angle, centre @ (np.cos(angle), np.sin(angle)) + shift])
        for angle in np.arange(2 * ANGLES) * np.pi / (2 * ANGLES)
        for shift in np.linspace(-0.75, 0.75, OFFSETS) * span
    ]
    costs = np.array([search.cost(each) for each in singles])
    best_single = search.refine([singles[index] for index in np.argsort(costs)[:4]])
    table = costs.reshape(2, ANGLES, OFFSETS)
    offsets = np.array(singles).reshape(2, ANGLES, OFFSETS, 2)
    pairs = []
    for turn in range(ANGLES):
        for one in np.argsort(table[0, turn])[:5]:
            for other in np.argsort(table[1, turn])[:5]:
                pairs.append(np.array([offsets[0, turn, one, 0], offsets[0, turn, one, 1], offsets[1, turn, other, 1]]))
    pair_costs = np.array([search.cost(each) for each in pairs])
    best_pair = search.refine([pairs[index] for index in np.argsort(pair_costs)[:4]])
    best = best_pair if search.cost(best_pair) < search.cost(best_single) - PAIR_GAIN else best_single
    symmetry = search.symmetry(best)
    return symmetry if symmetry.conflict <= MAX_CONFLICT else None


def _hidden_cells(points: Floats, views: Sequence[View]) -> Floats:
    """Middles (k, 3) of the cells of a coarse grid around the object that no view saw to be free."""
    lower, upper = points.min(axis=0), points.max(axis=0)
    reach = np.array([1.0, 1.0, 0.0]) * (upper - lower)[:2].max()
    axes = [np.linspace(low, high, GRID) for low, high in zip(lower - reach, upper + reach, strict=True)]
    axes[2] = np.linspace(0.0, upper[2], max(6, GRID // 2))
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return cells[free_depth(cells, views) <= 0]


@dataclass(frozen=True)
class _Search:
    points: Floats
    cells: Floats
    views: Sequence[View]
    tolerance: float

    def symmetry(self, parameters: Floats) -> Symmetry:
        angle, *offsets = (float(value) for value in parameters)
        mirrors = tuple(Mirror(angle + quarter * np.pi / 2, offset) for quarter, offset in enumerate(offsets))
        return Symmetry(mirrors, self._conflict(Symmetry(mirrors, 0.0)))

    def cost(self, parameters: Floats) -> float:
        symmetry = self.symmetry(parameters)
        softness = 2 * self.tolerance
        share = np.ones(len(self.cells))
        for image in symmetry.images(self.cells):
            share *= 1 / (1 + np.exp(np.clip(free_depth(image, self.views) / softness * 2, -30, 30)))
        return float(np.log(share.sum() + 1.0) + CONFLICT_WEIGHT * symmetry.conflict)

    def refine(self, starts: Sequence[Floats]) -> Floats:
        results = []
        for start in starts:
            steps = np.diag([np.pi / (2 * ANGLES) / 2, *[0.01] * (len(start) - 1)])
            simplex = np.vstack([start, start + steps])
            options = {"maxfev": 60, "xatol": 1e-3, "fatol": 1e-3, "initial_simplex": simplex}
            results.append(minimize(self.cost, start, method="Nelder-Mead", options=options))
        best: Floats = min(results, key=lambda result: float(result.fun)).x
        return best

    def _conflict(self, symmetry: Symmetry) -> float:
        depths = [free_depth(image, self.views) - self.tolerance for image in symmetry.images(self.points)]
        return float(np.mean(np.clip(np.max(depths, axis=0) / CONFLICT_DEPTH, 0, 1)))
