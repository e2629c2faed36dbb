"""The comparison that the paper lacks: mechanics in a state space against what a state could do next without it.

The same objects in the same coordinates, MuJoCo's motions as the truth, pushes that no model has seen. The Lagrangian dynamics
is fitted to nothing; the first-order model has its c, and the network all its weights, from other pushes of the same object.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import torch
from rich.progress import Progress
from rich.table import Table

from validation.case import JUDGED_TIMES, Floats
from validation.comparison_subjects import SUBJECTS, Motion, Subject
from validation.latent_models import STEP, ConstantVelocity, FirstOrder, LatentModel, LearnedStep, best_of

LAGRANGIAN, CONSTANT, FIRST, LEARNED = "Lagrangian", "constant velocity", "first order", "learned step"
METHODS = (LAGRANGIAN, CONSTANT, FIRST, LEARNED)
COLORS = dict(zip(METHODS, ("#1a6fdf", "#9aa0a6", "#e69f00", "#c62828"), strict=True))
DAMPINGS = tuple(10.0**exponent for exponent in np.arange(-2.0, 3.1, 1.0))
"""c, relative to the potential's curvature or weight times size, in s."""
NOISES = (1e-3, 1e-2, 1e-1)
ADAM_STEPS = 1500
FAILED_PERCENT = 1000.0
"""Of the size: a motion that is off by more, or not finite, has failed and enters no mean."""


@dataclass(frozen=True)
class Score:
    """Of one method on one object."""

    subject: str
    method: str
    rmse_percent_of_size: dict[str, float | None]
    """By judged time, mean over the held-out pushes; None where motions are shorter, or all failed."""
    worst_percent_of_size: float | None
    """At any judged time of any held-out push that did not fail."""
    pushes: int
    failures: int


@dataclass(frozen=True, eq=False)
class ComparisonFigures:
    """Of all objects."""

    scores: list[Score]
    curves: dict[str, dict[str, Floats]]
    """By object and method: (pushes, t) RMSE as per cent of size."""
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By object: how many coordinates and pushes, and what was fitted."""
    seconds: float = 0.0

    def figures(self) -> dict[str, Any]:
        """For `docs/results/dynamics.json`."""
        return {"scores": [asdict(score) for score in self.scores], "settings": self.settings, "seconds": round(self.seconds, 1)}

    def table(self) -> Table:
        """For a terminal."""
        table = Table(title="RMSE as % of size, mean over held-out pushes")
        for name in ("object", "method", *(f"{at:g} s" for at in JUDGED_TIMES), "failed"):
            table.add_column(name, justify="left" if name in ("object", "method") else "right")
        for score in self.scores:
            numbers = ("-" if value is None else f"{value:.2f}" for value in score.rmse_percent_of_size.values())
            table.add_row(score.subject, score.method, *numbers, f"{score.failures} of {score.pushes}")
        return table


def comparison(progress: Progress) -> ComparisonFigures:
    """Measure every method on every object."""
    begin = time.monotonic()
    task = progress.add_task("comparison", total=len(SUBJECTS))
    found = ComparisonFigures([], {})
    for subject_of in SUBJECTS:
        subject = subject_of()
        progress.update(task, description=f"comparison, {subject.name}")
        errors, found.settings[subject.name] = compared(subject)
        found.curves[subject.name] = errors
        found.scores.extend(score(subject.name, method, errors[method]) for method in METHODS)
        progress.advance(task)
    progress.update(task, description="comparison")
    return ComparisonFigures(found.scores, found.curves, found.settings, time.monotonic() - begin)


def compared(subject: Subject) -> tuple[dict[str, Floats], dict[str, Any]]:
    """RMSE (pushes, t) of each method as per cent of size, over the held-out pushes; and what was fitted."""
    scale = _damping_scale(subject)
    first = [FirstOrder(relative * scale) for relative in DAMPINGS]
    motions, paths = [motion.coordinates for motion in subject.seen], [motion.path for motion in subject.seen]
    learned = [LearnedStep(motions, paths, noise, ADAM_STEPS) for noise in NOISES]

    def on_seen(model: LatentModel) -> float:
        errors = np.stack([latent_errors(subject, model, motion) for motion in subject.seen[::2]])
        return float(np.nan_to_num(errors, nan=1e9, posinf=1e9).clip(max=1e9).mean())

    chosen, step = best_of(first, on_seen), best_of(learned, on_seen)
    errors = {LAGRANGIAN: np.stack([_errors(subject, motion, motion.lagrangian()) for motion in subject.held_out])}
    for name, model in ((CONSTANT, ConstantVelocity()), (FIRST, chosen), (LEARNED, step)):
        errors[name] = np.stack([latent_errors(subject, model, motion) for motion in subject.held_out])
    assert isinstance(chosen, FirstOrder)
    settings = {
        "coordinates": int(subject.world.basis.shape[1]),
        "pushes_seen": len(subject.seen),
        "pushes_held_out": len(subject.held_out),
        "first_order_c": chosen.damping,
        "learned_noise": NOISES[learned.index(step)],  # type: ignore[arg-type]
    }
    return errors, settings


def latent_errors(subject: Subject, model: LatentModel, motion: Motion) -> Floats:
    """(t,) RMSE as per cent of size."""
    states = model.rollout(subject.world, motion.path, motion.coordinates[0], len(motion.truth))
    return _errors(subject, motion, np.stack([subject.points(z) for z in states]))


def _errors(subject: Subject, motion: Motion, points: Floats) -> Floats:
    """(t,); infinite from where a prediction gave up."""
    errors = np.full(len(motion.truth), np.inf)
    off = points - motion.truth[: len(points)]
    errors[: len(points)] = 100.0 * np.sqrt((off**2).sum(-1).mean(-1)) / subject.size
    return errors


def _damping_scale(subject: Subject) -> float:
    """J s per squared coordinate: what relaxes in a second against gravity over the object's size, or its elasticity."""
    world = subject.world
    start = subject.seen[0].coordinates[0]
    curvature = torch.linalg.eigvalsh(world.curvature(start)).abs().median()
    return max(float(curvature), 1e-3 * world.body.mass * 9.81 * subject.size)


def score(subject: str, method: str, errors: Floats) -> Score:
    """Failures counted, the rest averaged.

    Args:
        subject: the object's name.
        method: one of `METHODS`.
        errors: (pushes, t) per cent of size.
    """
    failed = ~(np.nan_to_num(errors, nan=np.inf) <= FAILED_PERCENT).all(axis=1)
    last = (errors.shape[1] - 1) * STEP
    judged = {at: errors[~failed, round(at / STEP)] for at in JUDGED_TIMES if at <= last + 1e-9}
    means = {f"{at:g}": round(float(judged[at].mean()), 4) if at in judged and len(judged[at]) else None for at in JUDGED_TIMES}
    worst = max((float(values.max()) for values in judged.values() if len(values)), default=None)
    return Score(subject, method, means, None if worst is None else round(worst, 4), len(errors), int(failed.sum()))


def picture_of_methods(found: ComparisonFigures, path: Path) -> None:
    """One panel an object: error over time, the mean as a line and the held-out pushes as a band."""
    figure, axes = plt.subplots(1, len(found.curves), figsize=(3.2 * len(found.curves), 3.2), layout="constrained", squeeze=False)
    for axis, (name, by_method) in zip(axes[0], found.curves.items(), strict=True):
        for method, errors in by_method.items():
            shown = np.nan_to_num(errors, nan=FAILED_PERCENT, posinf=FAILED_PERCENT).clip(1e-3, FAILED_PERCENT)
            times = np.arange(errors.shape[1]) * STEP
            axis.fill_between(times, shown.min(axis=0), shown.max(axis=0), color=COLORS[method], alpha=0.15, linewidth=0)
            axis.plot(times, shown.mean(axis=0), color=COLORS[method], label=method)
        axis.set_yscale("log")
        axis.set_ylim(1e-2, 300.0)
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("time, s")
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("RMSE, % of size")
    axes[0, 0].legend(fontsize=7, loc="upper left")
    figure.savefig(path, dpi=90)
    plt.close(figure)
