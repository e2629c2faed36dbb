"""Which reduction of the latent reaches a target pose best.

`python -m training.subspaces --weights runs/small/weights.safetensors`

For held-out objects and poses, the reduced state is found by inverse kinematics (`training.evaluation.inverse_kinematics`, on
the positions of the surface samples, from the encoder's latent projected to the subspace), for each criterion and several k_q.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor

from neurok_ros.geometry.sampling import SurfaceSamples
from neurok_ros.kinematics.neurok.checkpoint import load_model
from neurok_ros.kinematics.neurok.learned import ControlledPoints, Controls, EncodedObject, encode_samples, reduce
from neurok_ros.kinematics.neurok.model import NeurokModel
from neurok_ros.kinematics.neurok.subspace import Criterion
from training.batches import Batch, held_out
from training.data import Split, sources
from training.evaluation.inverse_kinematics import ITERATIONS, gauss_newton, known

CRITERIA: tuple[Criterion, ...] = ("both", "motions", "displacement", "kinetic")


def object_errors(model: NeurokModel, batch: Batch, row: int, sizes: list[int]) -> list[dict[str, float]]:
    """RMSE of each pose of one object of a batch: at rest, encoded and decoded, and by inverse kinematics."""
    points, normals = batch.points[row].double().numpy(), batch.normals[row].double().numpy()
    count = len(points)
    samples = SurfaceSamples(points, normals, np.full(count, 1 / count), np.zeros(count, np.int64))
    encoded = encode_samples(samples, batch.part[row].numpy(), model)
    spaces = {c: reduce(encoded, max(sizes), c).basis for c in CRITERIA}
    figures = []
    for moved, rotations in zip(batch.moved[row].double(), batch.rotations[row].double(), strict=True):
        latent = encoded.posterior_mean(moved, rotations)
        found = {"rest": _rmse(torch.from_numpy(points), moved), "decoded": _rmse(_decoded(encoded, latent), moved)}
        for criterion, basis in spaces.items():
            for size in sizes:
                reduced = _points(encoded, basis[:, :size])
                start = basis[:, :size].double().T @ (latent - encoded.rest).flatten().double()
                state = gauss_newton(reduced, start, known(moved), ITERATIONS)
                found[f"{criterion} {size}"] = _rmse(reduced.positions(state), moved)
        figures.append(found)
    return figures


def _points(encoded: EncodedObject, basis: Tensor) -> ControlledPoints:
    start = torch.from_numpy(encoded.samples.points)
    weights = encoded.prepared.weights
    shares = torch.eye(len(start)).double() if weights is None else weights[0].double()
    return ControlledPoints(Controls(encoded, basis, start), shares, encoded.unit(start), encoded.radius, start)


def _decoded(encoded: EncodedObject, latent: Tensor) -> Tensor:
    change = (latent - encoded.rest).flatten()
    return _points(encoded, torch.eye(len(change)).to(change)).positions(change.double())


def _rmse(found: Tensor, wanted: Tensor) -> float:
    return float((found - wanted).square().sum(-1).mean().sqrt())


def main(
    weights: Annotated[Path, typer.Option(help="A trained model.")],
    objects: Annotated[int, typer.Option(help="Objects of each held-out split, at least one of each source.")] = 32,
    sizes: Annotated[str, typer.Option(help="Values of k_q.")] = "2,4,8,16",
) -> None:
    """Compare the criteria of the active subspace on held-out objects."""
    torch.set_num_threads(1)
    model = load_model(weights, "cpu")
    config = model.config
    table = Table("split", "rest", "decoded")
    values = [int(size) for size in sizes.split(",")]
    for name in (f"{c} {k}" for c in CRITERIA for k in values):
        table.add_column(name)
    splits: tuple[Split, ...] = ("held_out_instances", "held_out_categories")
    for split in splits:
        sets = held_out(split, sources(split), objects, 2, 2 * config.encoder_points, (config.tokens, config.token_size), True)
        todo = [(held.batch, row) for held in sets for row in range(len(held.batch.points))]
        rows = [r for batch, row in track(todo, split) for r in object_errors(model, batch, row, values)]
        table.add_row(split, *(f"{np.mean([r[name] for r in rows]):.4f}" for name in rows[0]))
    Console(width=200).print(table)


if __name__ == "__main__":
    typer.run(main)
