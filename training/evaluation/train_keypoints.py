"""Train the keypoints that the evaluation compares with: `python -m training.evaluation.train_keypoints`.

Ten minutes on one thread of a CPU. The same objects and poses as for NeuROK, but no correspondence: source and target are
known by different points of their surfaces.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.progress import track
from safetensors.torch import save_file
from torch import Tensor

from training.batches import Batch, BatchRecipe
from training.data import sources
from training.evaluation.keypoints import KEYPOINTS, WEIGHTS, KeypointNetwork

_OBJECTS, _TARGETS, _POINTS = 8, 4, 256
_SPREAD_WEIGHT = 0.1
"""Of the keypoints' Chamfer distance to as many evenly spread points, which falls to zero over the first half."""
_EVERY = 200


def squared_chamfer(a: Tensor, b: Tensor) -> Tensor:
    """(k,) of points (k, n, 3) and (k, m, 3), see `training.evaluation.metrics`."""
    with torch.no_grad(), torch.autocast("cpu", enabled=False):
        apart = torch.cdist(a, b)
        there, back = (apart.argmin(dim).unsqueeze(-1).expand(-1, -1, 3) for dim in (2, 1))
    nearest_b, nearest_a = b.gather(1, there), a.gather(1, back)
    return ((a - nearest_b).square().sum(-1).mean(1) + (b - nearest_a).square().sum(-1).mean(1)) / 2


def losses(network: KeypointNetwork, batch: Batch) -> dict[str, Tensor]:
    """Chamfer distances: after the deformation, at rest, and of the keypoints to evenly spread points."""
    targets = batch.moved.shape[1]
    source = batch.points[:, :_POINTS].repeat_interleave(targets, dim=0)
    target = batch.moved[:, :, _POINTS:].flatten(0, 1)
    start, end = network.keypoints(source), network.keypoints(target)
    shares = network.influences(source, source, start)
    deformed = source + (shares.unsqueeze(-1) * (end - start).unsqueeze(1)).sum(2)
    return {
        "chamfer": squared_chamfer(deformed, target).mean(),
        "rest": squared_chamfer(source, target).mean(),
        "spread": (squared_chamfer(start, source[:, :KEYPOINTS]) + squared_chamfer(end, target[:, :KEYPOINTS])).mean(),
    }


def train(network: KeypointNetwork, recipe: BatchRecipe, steps: int) -> list[dict[str, float]]:
    """Adam with a cosine schedule and bfloat16 products; the means of the losses every `_EVERY` steps."""
    optimizer = torch.optim.AdamW(network.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    curve: list[dict[str, float]] = []
    sums: dict[str, float] = {}
    begin = time.process_time()
    for step in track(range(1, steps + 1), "training"):
        with torch.autocast("cpu", torch.bfloat16):
            found = losses(network, recipe[step])
        spread = _SPREAD_WEIGHT * max(0.0, 1 - 2 * step / steps)
        optimizer.zero_grad()
        (found["chamfer"] + spread * found["spread"]).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        sums = {name: sums.get(name, 0.0) + float(value.detach()) for name, value in found.items()}
        if step % _EVERY == 0:
            means = {name: value / _EVERY for name, value in sums.items()}
            curve.append({"step": step, "cpu_seconds": round(time.process_time() - begin, 1), **means})
            sums = {}
    return curve


def main(
    steps: Annotated[int, typer.Option(help="Of 8 objects in 4 poses each.")] = 3000,
    out: Annotated[Path, typer.Option(help="Weights; the curve comes beside them as CSV.")] = WEIGHTS,
) -> None:
    """Train and write the weights, and the curve of the losses."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    network = KeypointNetwork()
    recipe = BatchRecipe(
        sources=sources("train"),
        objects=_OBJECTS,
        targets=_TARGETS,
        points=2 * _POINTS,
        latent=(1, 1),
        augment=True,
        scan_share=0.0,
        seed=1,
        rank=0,
    )
    curve = train(network, recipe, steps)
    out.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.half().contiguous() for name, value in network.state_dict().items()}, out)
    with out.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(curve[0]))
        writer.writeheader()
        writer.writerows({name: f"{value:.6g}" for name, value in row.items()} for row in curve)


if __name__ == "__main__":
    typer.run(main)
