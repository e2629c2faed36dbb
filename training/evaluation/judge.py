"""Every method on every object and pose of a set. Nothing is left out of a mean: what failed counts as the rest pose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from neurok_ros.errors import NeurokError
from training.evaluation.inverse_kinematics import OBJECTIVES, Objective, decode, errors, is_usable, solve
from training.evaluation.methods import Method, StateSpace
from training.evaluation.metrics import Errors
from training.evaluation.objects import EvaluationObject, Floats

FAILURES = (NeurokError, RuntimeError, ValueError, ArithmeticError, IndexError)
"""What a method may raise without ending the evaluation of the others."""


@dataclass(frozen=True)
class Outcome:
    """One pose of one object by one method."""

    method: str
    object: str
    pose: int
    objective: Objective
    dim: int
    """Numbers in a state; zero where the method failed."""
    errors: Errors
    failure: str
    """Why the rest pose counts instead; empty where all went well."""
    found: Floats | None
    """(n, 3) the vertices; kept for the pictures only: of the first pose, with correspondence known."""
    distance: float
    """Of the state from the rest state; zero where the method failed."""


def on_object(given: EvaluationObject, method: Method, iterations: int) -> Iterator[Outcome]:
    """Fit a method to an object and let it reach every pose."""
    space: StateSpace | None = None
    failure = ""
    try:
        space = method.fit(given)
    except FAILURES as error:
        failure = f"{type(error).__name__}: {error}"
    for pose, target in enumerate(given.targets):
        for objective in OBJECTIVES:
            found, distance, reason = given.vertices, 0.0, failure
            if space is not None:
                found, distance, reason = _reach(given, space, target, objective, iterations)
            dim = space.dim if space is not None and not reason else 0
            kept = found if pose == 0 and objective == "vertex" else None
            yield Outcome(method.name, given.name, pose, objective, dim, errors(given, found, target), reason, kept, distance)


def _reach(
    given: EvaluationObject, space: StateSpace, target: Floats, objective: Objective, iterations: int
) -> tuple[Floats, float, str]:
    """The shape found, how far its state is from rest, and why it is the rest pose, where it is because something failed."""
    try:
        state = solve(given, space, target, objective, iterations)
        found = decode(given, space, state)
    except FAILURES as error:
        return given.vertices, 0.0, f"{type(error).__name__}: {error}"
    if not is_usable(found):
        return given.vertices, 0.0, "the shape is not finite"
    return found, float((state - space.rest).norm()), ""


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Means over all poses of the objects of a set, of one method: the errors where correspondence is known, and under
    `chamfer_objective` where it is not."""
    means: dict[str, Any] = {**_mean(outcomes, "vertex"), "objects": len({o.object for o in outcomes})}
    means["chamfer_objective"] = _mean(outcomes, "chamfer")
    means["coordinates"] = float(np.mean([o.dim for o in outcomes])) if outcomes else 0.0
    means["failed"] = sorted({o.object for o in outcomes if o.failure})
    return means


def by_category(outcomes: Sequence[Outcome]) -> dict[str, dict[str, Any]]:
    """`summary` for each category: all of an object's name before its last slash."""
    names = sorted({o.object.rpartition("/")[0] for o in outcomes})
    return {name: summary([o for o in outcomes if o.object.rpartition("/")[0] == name]) for name in names}


def of_method(outcomes: Sequence[Outcome], method: str) -> list[Outcome]:
    """Those of one method."""
    return [o for o in outcomes if o.method == method]


def _mean(outcomes: Sequence[Outcome], objective: Objective) -> dict[str, float | None]:
    found = [o.errors for o in outcomes if o.objective == objective]
    if not found:
        return dict.fromkeys(("chamfer_l1", "chamfer_l2", "iou", "vertex_rmse"))
    return dict(Errors.mean(found).to_dict())
