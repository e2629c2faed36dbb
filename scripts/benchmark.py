#!/usr/bin/env python3
"""What the state spaces cost on one thread: `python scripts/benchmark.py out/object.glb`, an object that `make demo` or
`python -m neurok_ros.predict` left. Processor time, so that other programs count little; still, believe the ratios."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Optional, TypeVar

import torch
import typer
from rich.console import Console

from neurok_ros.kinematics.neurok import COORDINATES, familiarity, load_model, neurok_kinematics
from neurok_ros.kinematics.neurok.installed import WEIGHTS
from neurok_ros.kinematics.neurok.learned import encode_object, reduce
from neurok_ros.prediction import PreparedObject, predict, prepare
from neurok_ros.prediction.object_file import load_object
from neurok_ros.prediction.suggested_push import suggest_push
from neurok_ros.prediction.types import PhysicalProperties, PredictionOptions

T = TypeVar("T")


def main(
    path: Annotated[Path, typer.Argument(help="a .glb file that save_object wrote")] = Path("out/object.glb"),
    checkpoint: Annotated[Optional[Path], typer.Option(help="weights; the installed ones if not given")] = None,  # noqa: UP045
    horizon: Annotated[float, typer.Option(help="seconds to predict")] = 1.8,
    repeats: Annotated[int, typer.Option(help="the best of so many counts")] = 3,
) -> None:
    """Encode an object, and push it in each state space."""
    torch.set_num_threads(1)
    console = Console(highlight=False)
    _, mesh = load_object(path)
    model = load_model(checkpoint or WEIGHTS, "cpu")
    encoding, encoded = _best_of(repeats, lambda: encode_object(mesh.vertices, mesh.faces, model))
    reducing, _ = _best_of(repeats, lambda: reduce(encoded, COORDINATES))
    console.print(f"encode {encoding:.0f} ms, reduce to {COORDINATES} coordinates {reducing:.0f} ms")

    soft = PhysicalProperties(density=100.0, youngs_modulus=2.0e4)
    options = PredictionOptions(horizon=horizon, parameterization="modal")
    push = suggest_push(mesh, 0.35, 0.75)
    modal = prepare(mesh, soft, options)
    learned = neurok_kinematics(mesh.vertices, mesh.faces, model, COORDINATES)
    console.print(str(familiarity(learned.encoded, learned.subspace)))
    rigid = prepare(mesh, soft, replace(options, parameterization="rigid"))
    spaces: dict[str, PreparedObject] = {"modal": modal, "rigid": rigid, "neurok": replace(modal, kinematics=learned)}
    costs: dict[str, float] = {}
    for name, prepared in spaces.items():
        costs[name], motion = _best_of(repeats, partial(predict, prepared, push, options))
        raised = [flag for flag, is_raised in motion.flags.items() if is_raised]
        console.print(
            f"{name}: {costs[name] / horizon:.0f} ms for a predicted second, {costs[name] / costs['modal']:.2f} times modal's;",
            f"displacement at most {1e3 * motion.displacement.max():.0f} mm, at the end {1e3 * motion.displacement[-1]:.0f} mm,",
            f"tool force at most {motion.measures['max_tool_force_n']:.1f} N, warnings: {', '.join(raised) or 'none'}",
        )


def _best_of(repeats: int, work: Callable[[], T]) -> tuple[float, T]:
    """Milliseconds of processor time, and what came out."""
    best = float("inf")
    for _ in range(repeats):
        started = time.process_time()
        result = work()
        best = min(best, 1e3 * (time.process_time() - started))
    return best, result


if __name__ == "__main__":
    typer.run(main)
