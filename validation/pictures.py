"""A picture of each case: where its points went, truly and as predicted, and how far apart that is."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from PIL import Image

from validation.case import Floats, Motion
from validation.outcomes import Outcome

TRUE_COLOR, PREDICTED_COLOR, FAILED_COLOR = "#9aa0a6", "#1a6fdf", "#c62828"
SHOWN_POINTS = 250
SHOWN_TIMES = 5
AXIS_NAMES = "xyz"
SHEET_COLORS = 48
"""Few, as the sheet is kept with the documentation."""


def picture(outcome: Outcome, path: Path) -> None:
    """One PNG: the motion on the left, its error over time on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained")
    figure.suptitle(f"{outcome.case.name} (against {outcome.case.reference})")
    draw_motion(left, outcome)
    draw_error(right, outcome)
    figure.savefig(path, dpi=100)
    plt.close(figure)


def contact_sheet(outcomes: list[Outcome], path: Path, columns: int = 5) -> None:
    """All motions in one PNG, each with its largest error at the judged times."""
    rows = -(-len(outcomes) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.3 * columns, 2.3 * rows), layout="constrained", squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for axis, outcome in zip(axes.flat, outcomes, strict=False):
        draw_motion(axis, outcome, names=False)
        axis.set_title(f"{outcome.case.name}\n{_summary(outcome)}", fontsize=7)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=90)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(SHEET_COLORS).save(path, optimize=True)


def draw_motion(axis: Axes, outcome: Outcome, names: bool = True) -> None:
    """Some points at some times, seen along the direction in which the motion is least wide."""
    motion = outcome.motion
    if motion is None or not len(motion.predicted) or not np.isfinite(motion.predicted).all():
        axis.text(0.5, 0.5, "failed", color=FAILED_COLOR, ha="center", transform=axis.transAxes)
        return
    across, up = _view(motion)
    chosen = np.unique(np.linspace(0, motion.truth.shape[1] - 1, SHOWN_POINTS).astype(int))
    count = min(len(motion.truth), len(motion.predicted))
    for share, frame in zip(np.linspace(0.25, 1.0, SHOWN_TIMES), np.linspace(0, count - 1, SHOWN_TIMES).astype(int), strict=True):
        true, found = (side[frame, chosen][:, (across, up)].T for side in (motion.truth, motion.predicted))
        axis.plot(*true, "o", color=TRUE_COLOR, markersize=5.0, alpha=share, markeredgewidth=0)
        axis.plot(*found, "o", color=PREDICTED_COLOR, markersize=2.2, alpha=share, markeredgewidth=0)
    _trail(axis, motion, across, up)
    axis.set_aspect("equal", adjustable="datalim")
    if names:
        axis.set_xlabel(f"{AXIS_NAMES[across]}, m")
        axis.set_ylabel(f"{AXIS_NAMES[up]}, m")
        axis.set_title("grey: true; blue: predicted", fontsize=9)


def draw_error(axis: Axes, outcome: Outcome) -> None:
    """RMSE over time as per cent of the peak displacement, or why there is none."""
    if outcome.motion is None or outcome.failure:
        axis.text(0.5, 0.5, outcome.failure, color=FAILED_COLOR, ha="center", va="center", wrap=True, transform=axis.transAxes)
        return
    motion = outcome.motion
    axis.plot(motion.times, 100.0 * motion.rmse() / motion.peak(), color=PREDICTED_COLOR)
    axis.set_xlabel("time, s")
    axis.set_ylabel("RMSE, % of peak displacement")
    axis.set_ylim(bottom=0.0)
    axis.grid(alpha=0.3)
    axis.set_title(f"peak {1e3 * motion.peak():.3g} mm, size {1e3 * motion.size:.3g} mm", fontsize=9)


def _trail(axis: Axes, motion: Motion, across: int, up: int) -> None:
    """The path of the point that moves farthest."""
    farthest = int(np.linalg.norm(motion.truth - motion.truth[0], axis=2).max(0).argmax())
    axis.plot(*motion.truth[:, farthest][:, (across, up)].T, color=TRUE_COLOR, linewidth=1.2)
    axis.plot(*motion.predicted[:, farthest][:, (across, up)].T, "--", color=PREDICTED_COLOR, linewidth=0.8)


def _view(motion: Motion) -> tuple[int, int]:
    """The two axes to draw: all but the one along which points move least, the vertical one upwards."""
    moved: Floats = np.ptp(motion.truth, axis=0).max(0) + 1e-6 * np.ptp(motion.truth, axis=(0, 1))
    across, up = sorted({0, 1, 2} - {int(moved.argmin())})
    return across, up


def _summary(outcome: Outcome) -> str:
    if outcome.failure:
        return "failed"
    return f"{outcome.worst_percent_of_peak:.2g} % of peak"
