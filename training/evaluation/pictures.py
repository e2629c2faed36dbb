"""What a figure cannot show: whether doors swing on their hinges and bodies stay rigid."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from PIL import Image, ImageDraw

from neurok_ros.geometry.driving import connected_parts
from training.contact_sheet import Shape, Tile, draw
from training.evaluation.inverse_kinematics import decode, is_usable
from training.evaluation.judge import Outcome
from training.evaluation.methods import StateSpace
from training.evaluation.objects import EvaluationObject, Floats

_HEADER = 32
"""Pixels above the columns of poses."""
COORDINATES = 4
"""How many of the first coordinates a strip shows."""
STEPS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Of a coordinate in a strip; one step is as long as moves some vertex by `_STEP`."""
_STEP = 0.15


def strip(given: EvaluationObject, space: StateSpace) -> list[Tile]:
    """An object's states along each of its first coordinates, one tile a coordinate, the rest state in the middle; the label
    says how long a step is, in units of the coordinate (for NeuROK: of the prior's standard deviation)."""
    tiles = []
    for i in range(min(COORDINATES, space.dim)):
        step = _step(given, space, i)
        shapes = [_shape(given, _state(given, space, i, step * value)) for value in STEPS]
        tiles.append(Tile(f"{given.name}  q{i + 1}, steps of {step:.2g}", shapes))
    return tiles


def found_poses(objects: Sequence[EvaluationObject], outcomes: Sequence[Outcome], methods: Sequence[str]) -> list[Tile]:
    """For each object the rest pose, the first target, and what each method reached (correspondence known); a failed one shows
    the rest pose."""
    tiles = []
    for given in objects:
        found = {o.method: o.found for o in outcomes if o.object == given.name and o.found is not None}
        shapes = [given.vertices, given.targets[0], *(found[name] for name in methods)]
        tiles.append(Tile(given.name, [_shape(given, vertices) for vertices in shapes]))
    return tiles


def save_poses(tiles: Sequence[Tile], methods: Sequence[str], size: int, path: Path) -> None:
    """Draw `found_poses` into a PNG, with the name of each column above it."""
    picture = draw(tiles, 1, size)
    headed = Image.new("RGB", (picture.width, picture.height + _HEADER), "white")
    headed.paste(picture, (0, _HEADER))
    pen = ImageDraw.Draw(headed)
    for i, name in enumerate(("rest", "target", *methods)):
        pen.multiline_text((i * size + 4, 2), "\n".join(textwrap.wrap(name, size // 6)), fill=(30, 30, 30))
    path.parent.mkdir(parents=True, exist_ok=True)
    headed.save(path, optimize=True)


def save(tiles: Sequence[Tile], columns: int, size: int, path: Path) -> None:
    """Draw tiles into a PNG."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(tiles, columns, size).save(path, optimize=True)


def bars(results: dict[str, dict[str, Any]], path: Path) -> None:
    """Errors of every method on every set, as a picture.

    Args:
        results: for each set the summaries by method.
        path: PNG to write.
    """
    shown = {name: methods for name, methods in results.items() if methods}
    names = list(dict.fromkeys(method for methods in shown.values() for method in methods))
    panels = (("vertex_rmse", "vertex RMSE"), ("chamfer_l1", "Chamfer L1"), ("iou", "IoU"))
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    width = 0.8 / max(1, len(names))
    for axes, (key, title) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        for i, method in enumerate(names):
            heights = [shown[each][method][key] if method in shown[each] else np.nan for each in shown]
            axes.bar(np.arange(len(shown)) + i * width, heights, width, label=method)
        axes.set_xticks(np.arange(len(shown)) + 0.4 - width / 2, [name.replace("_", "\n") for name in shown])
        axes.set_title(f"{title} (correspondence known)")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(names), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)


def _state(given: EvaluationObject, space: StateSpace, coordinate: int, value: float) -> Floats:
    q = space.rest.clone()
    q[coordinate] += value
    vertices = decode(given, space, q)
    return vertices if is_usable(vertices) else given.vertices


def _step(given: EvaluationObject, space: StateSpace, coordinate: int) -> float:
    small = 1e-3
    moved = np.linalg.norm(_state(given, space, coordinate, small) - given.vertices, axis=1).max()
    return float(_STEP * small / max(moved, 1e-9))


def _shape(given: EvaluationObject, vertices: Floats) -> Shape:
    part = connected_parts(given.faces, len(given.vertices))
    return Shape(vertices, given.faces, part[given.faces[:, 0]])
