"""Table 1's protocol: which state of the object is nearest to a target pose, and how near is it.

Every method gets `ITERATIONS` iterations of L-BFGS (strong Wolfe line search, at most 5/4 evaluations an iteration), in double
precision, on the same material points of the surface.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from torch import Tensor

from training.evaluation.methods import StateSpace
from training.evaluation.metrics import Errors, chamfer, chamfer_loss, vertex_rmse, voxel_iou
from training.evaluation.objects import EvaluationObject, Floats, MaterialPoints

Objective = Literal["vertex", "chamfer"]
OBJECTIVES: tuple[Objective, ...] = ("vertex", "chamfer")
"""`vertex`: it is known which point is which, mean |x_i - y_i|^2 is minimized, from the method's own first guess (which for
NeuROK is the encoder's). `chamfer`: it is not known, `chamfer_loss` is minimized, from rest."""
ITERATIONS = 50


def solve(given: EvaluationObject, space: StateSpace, target: Floats, objective: Objective, iterations: int) -> Tensor:
    """(dim,) the state found for a target (n, 3)."""
    start = (space.start(target) if objective == "vertex" else space.rest).detach()
    if space.dim == 0:
        return start
    wanted = torch.from_numpy(given.fitting.at(target))
    positions = space.follow(given.fitting)
    q = start.clone().requires_grad_(True)
    optimizer = torch.optim.LBFGS(
        [q], max_iter=iterations, tolerance_grad=1e-9, tolerance_change=1e-12, history_size=20, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        moved = positions(q)
        value = (moved - wanted).square().sum(-1).mean() if objective == "vertex" else chamfer_loss(moved, wanted)
        value.backward()  # type: ignore[no-untyped-call]
        return value

    with torch.enable_grad():
        optimizer.step(loss)  # type: ignore[no-untyped-call]
    return q.detach()


def decode(given: EvaluationObject, space: StateSpace, q: Tensor) -> Floats:
    """(n, 3) the vertices in a state."""
    with torch.no_grad():
        return space.follow(MaterialPoints.vertices(len(given.vertices)))(q).numpy()


def errors(given: EvaluationObject, found: Floats, target: Floats) -> Errors:
    """Of a decoded shape (n, 3); distances between the same `SURFACE_POINTS` material points of both shapes."""
    a, b = given.surface.at(found), given.surface.at(target)
    return Errors(*chamfer(a, b), voxel_iou(found, target, given.faces), vertex_rmse(a, b))


def is_usable(vertices: Floats) -> bool:
    """Whether a decoded shape is finite and within a hundred of its sizes."""
    return bool(np.isfinite(vertices).all() and np.abs(vertices).max() < 100)
