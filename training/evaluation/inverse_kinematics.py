"""Table 1's protocol: which state of the object is nearest to a target pose, and how near is it.

Every method gets the same damped Gauss-Newton iterations (Levenberg 1944, Marquardt 1963), in double precision, on the same
material points of the surface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from training.evaluation.methods import Motion, StateSpace
from training.evaluation.metrics import Errors, chamfer, vertex_rmse, voxel_iou
from training.evaluation.objects import EvaluationObject, Floats, MaterialPoints

Objective = Literal["vertex", "chamfer"]
OBJECTIVES: tuple[Objective, ...] = ("vertex", "chamfer")
"""`vertex`: it is known which point is which, mean |x_i - y_i|^2 is minimized, from the method's own first guess (which for
NeuROK is the encoder's). `chamfer`: it is not known, the squared Chamfer distance is minimized, from rest."""
ITERATIONS = 20
TRIALS = 6
"""Steps tried in an iteration, each shorter than the last, until one makes things better."""
_DAMPING = 1e-2
"""At first, as a share of each coordinate's curvature."""
_FLAT = 1e-9
"""Share of the largest curvature that a coordinate which moves nothing gets."""
_LEAST_GAIN = 1e-6
"""An iteration that gains less than this share of what is left ends the search."""

Pull = tuple[float, Tensor, Tensor]
"""What is minimized, as a function of points (n, 3): its value; its curvature by each point (n,), halved; its slope by each
point (n, 3), halved."""


def gauss_newton(motion: Motion, start: Tensor, pull: Callable[[Tensor], Pull], iterations: int) -> Tensor:
    """The state (dim,) that a number of damped Gauss-Newton iterations reach.

    Each solves (J^T w J + damping diag(J^T w J)) step = -J^T slope, and takes the step if the value falls; otherwise the damping
    grows tenfold, at most `TRIALS` times. No coordinate's unit matters.

    Args:
        motion: how points follow the state.
        start: (dim,).
        pull: what is minimized, see `Pull`; it may choose anew, each time, to what the points are pulled.
        iterations: at most; fewer where nothing is gained any more.
    """
    q, damping = start, _DAMPING
    value, weights, slope = pull(motion.positions(q))
    for _ in range(iterations):
        before = value
        jacobian = motion.jacobian(q)
        normal = torch.einsum("nxi,n,nxj->ij", jacobian, weights, jacobian)
        down = -torch.einsum("nxi,nx->i", jacobian, slope)
        curvature = normal.diagonal().clone()
        curvature += _FLAT * curvature.max() + 1e-30
        for _ in range(TRIALS):
            trial = q + torch.linalg.solve(normal + torch.diag(damping * curvature), down)
            found = pull(motion.positions(trial))
            if found[0] < value:
                q, (value, weights, slope), damping = trial, found, damping / 10
                break
            damping *= 10
        if before - value <= _LEAST_GAIN * before:
            break
    return q


def known(target: Tensor) -> Callable[[Tensor], Pull]:
    """The mean squared distance of points (n, 3) from their own targets (n, 3)."""
    weights = torch.full((len(target),), 1 / len(target), dtype=target.dtype)

    def pull(points: Tensor) -> Pull:
        apart = points - target
        return float(apart.square().sum(-1).mean()), weights, apart / len(target)

    return pull


def unknown(target: Tensor) -> Callable[[Tensor], Pull]:
    """The squared Chamfer distance (`metrics.chamfer_l2`) of points (n, 3) from points (m, 3), the nearest of each found anew
    each time and then held."""
    there, tree = target.numpy(), cKDTree(target.numpy())

    def pull(points: Tensor) -> Pull:
        here = points.numpy()
        to, nearest = tree.query(here)
        back, mine = cKDTree(here).query(there)
        count = np.bincount(mine, minlength=len(here))
        pulled = np.stack([np.bincount(mine, weights=axis, minlength=len(here)) for axis in there.T], axis=1)
        weights = (1 / len(here) + count / len(there)) / 2
        slope = ((here - there[nearest]) / len(here) + (count[:, None] * here - pulled) / len(there)) / 2
        value = ((to**2).mean() + (back**2).mean()) / 2
        return float(value), torch.from_numpy(weights), torch.from_numpy(slope)

    return pull


@torch.no_grad()
def solve(given: EvaluationObject, space: StateSpace, target: Floats, objective: Objective, iterations: int) -> Tensor:
    """(dim,) the state found for a target (n, 3)."""
    start = space.start(target) if objective == "vertex" else space.rest
    if space.dim == 0:
        return start
    wanted = torch.from_numpy(given.fitting.at(target))
    pull = known(wanted) if objective == "vertex" else unknown(wanted)
    return gauss_newton(space.follow(given.fitting), start, pull, iterations)


def decode(given: EvaluationObject, space: StateSpace, q: Tensor) -> Floats:
    """(n, 3) the vertices in a state."""
    with torch.no_grad():
        return space.follow(MaterialPoints.vertices(len(given.vertices))).positions(q).numpy()


def errors(given: EvaluationObject, found: Floats, target: Floats) -> Errors:
    """Of a decoded shape (n, 3); distances between the same `SURFACE_POINTS` material points of both shapes."""
    a, b = given.surface.at(found), given.surface.at(target)
    return Errors(*chamfer(a, b), voxel_iou(found, target, given.faces), vertex_rmse(a, b))


def is_usable(vertices: Floats) -> bool:
    """Whether a decoded shape is finite and within a hundred of its sizes."""
    return bool(np.isfinite(vertices).all() and np.abs(vertices).max() < 100)
