"""Train NeuROK: `python -m training.train --config training/config/small.yaml --out runs/small`.

The same command takes up a run that was stopped or killed.
On several GPUs or machines: `torchrun --nproc_per_node 8 -m training.train ...`, or `accelerate launch -m training.train ...`.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import torch
import typer
import yaml
from accelerate import Accelerator
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from neurok_ros.errors import NeurokError
from neurok_ros.kinematics.neurok.checkpoint import save_model
from neurok_ros.kinematics.neurok.model import NeurokModel, kl_divergence, transform
from training.batches import Batch, BatchRecipe, HeldOut, Sources, held_out
from training.checkpoints import RunState, load_state, save_state
from training.curves import Row, Table, draw
from training.data import Split, sources
from training.settings import Settings, TrainingSettings, load_settings

SMALL_MOTION = 0.05
"""Radii, root mean square: motions much smaller than this count for less."""
SMALL_ROTATION = 0.05
"""Squared Frobenius norm of R - I, mean over the points: the same for rotations."""
HELD_OUT: tuple[Split, ...] = ("held_out_instances", "held_out_categories", "held_out_reconstructed")


def losses(model: torch.nn.Module, batch: Batch, encoded: int) -> dict[str, Tensor]:
    """The terms of the loss (see TrainingSettings), and the squared error of the rest pose beside them.

    Args:
        model: NeurokModel, wrapped or not.
        batch: what to learn from.
        encoded: how many of the points are for the encoders.
    """
    maps, ways, posterior, shape = model(batch.surface, batch.moved, batch.rotations, batch.noise, batch.fraction)
    start, end = batch.points[:, None, encoded:], batch.moved[:, :, encoded:]
    error, squared_error, rest_squared_error = _relative_errors(maps, start, end, batch.rotations[:, :, encoded:])
    way_error, _, _ = _relative_errors(ways, start, batch.between[:, :, encoded:], batch.between_rotations[:, :, encoded:])
    return {
        "relative_error": error[0].mean(),
        "rotation": error[1].mean(),
        "way_error": way_error[0].mean(),
        "way_rotation": way_error[1].mean(),
        "kl": kl_divergence(posterior, shape).sum(-1).mean(),
        "squared_error": squared_error.mean(),
        "rest_squared_error": rest_squared_error.mean(),
    }


def _relative_errors(maps: Tensor, start: Tensor, end: Tensor, turned: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor, Tensor]:
    """(b, t) squared errors of positions and rotations relative to the rest pose's; then that of positions, and the rest pose's.

    Args:
        maps: (b, t, n, 3, 4).
        start: (b, 1, n, 3).
        end: (b, t, n, 3) where the maps should take them.
        turned: (b, t, n, 3, 3) how they should turn.
    """
    squared_error = (transform(maps, start) - end).square().sum(-1).mean(-1)
    rest_squared_error = (start - end).square().sum(-1).mean(-1)
    rotation = (maps[..., :3] - turned).square().sum((-1, -2)).mean(-1)
    rest_rotation = (torch.eye(3, device=turned.device) - turned).square().sum((-1, -2)).mean(-1)
    relative = squared_error / (rest_squared_error + SMALL_MOTION**2), rotation / (rest_rotation + SMALL_ROTATION)
    return relative, squared_error, rest_squared_error


def learning_rate(step: int, settings: TrainingSettings) -> float:
    """Rises over the warm-up, is constant, falls to zero over the last part."""
    decay = max(1.0, settings.decay_share * settings.steps)
    return settings.learning_rate * min(1.0, (step + 1) / settings.warmup_steps, max(0.0, (settings.steps - step) / decay))


@torch.no_grad()
def update_average(average: NeurokModel, model: NeurokModel, step: int, decay: float) -> None:
    """Exponential moving average, faster in the beginning."""
    share = 1.0 - min(decay, (step + 1) / (step + 10))
    torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), share)


@torch.no_grad()
def vertex_errors(model: NeurokModel, sets: Iterable[HeldOut], device: torch.device) -> list[Row]:
    """Encode and decode held-out deformations (mean of the posterior), with the rest pose beside it.

    Returns:
        For each source, then for each split as a whole (`source` is `all`): `rmse` and `rest_rmse`, the root mean square over
        the points of a pair, averaged over the pairs, in units of the object's radius.
    """
    encoded = model.config.encoder_points
    rows: list[Row] = []
    of_split: dict[str, list[tuple[Tensor, Tensor]]] = {}
    for held in sets:
        batch = held.batch.to(device)
        maps, _, _, _ = model(batch.surface, batch.moved, batch.rotations, torch.zeros_like(batch.noise), batch.fraction)
        start, end = batch.points[:, None, encoded:], batch.moved[:, :, encoded:]
        error = (transform(maps, start) - end).square().sum(-1).mean(-1).sqrt().flatten()
        rest = (start - end).square().sum(-1).mean(-1).sqrt().flatten()
        rows.append(_error_row(held.split, held.source, error, rest))
        of_split.setdefault(held.split, []).append((error, rest))
    for split, pairs in of_split.items():
        error, rest = (torch.cat(part) for part in zip(*pairs, strict=True))
        rows.append(_error_row(split, "all", error, rest))
    return rows


def _error_row(split: str, source: str, error: Tensor, rest: Tensor) -> Row:
    return {
        "split": split,
        "source": source,
        "rmse": float(error.mean()),
        "rest_rmse": float(rest.mean()),
        "pairs_judged": len(error),
    }


class Run:
    """One training run in a folder: settings.yaml, last.pt (the state), weights.safetensors (the average), curves."""

    def __init__(self, settings: Settings, out: Path, find_sources: Callable[[Split], Sources]) -> None:
        self.settings, self.out = settings, out
        training, config = settings.training, settings.model
        self.accelerator = Accelerator(mixed_precision="bf16")
        self.console = Console(log_path=False, quiet=not self.accelerator.is_main_process)
        out.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(training.seed)
        model = NeurokModel(config)
        self.average = copy.deepcopy(model).requires_grad_(False).to(self.accelerator.device)
        optimizer = torch.optim.AdamW(
            model.parameters(), training.learning_rate, betas=(0.9, 0.98), weight_decay=training.weight_decay, fused=True
        )
        self.state = RunState(0, 0, 0.0, 0.0, {}, {}, {})
        saved = load_state(out / "last.pt")
        if saved:
            model.load_state_dict(saved.model)
            self.average.load_state_dict(saved.average)
            self.state = saved
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        if saved:
            self.optimizer.load_state_dict(saved.optimizer)
        latent = (config.tokens, config.token_size)
        self.recipe = BatchRecipe(
            find_sources("train"),
            training.objects,
            training.targets,
            config.encoder_points + training.query_points,
            latent,
            training.augment,
            training.scan_share,
            training.seed,
            self.accelerator.process_index,
        )
        self.first = self.accelerator.is_main_process
        if self.first:
            self.held_out = [held for split in HELD_OUT for held in self._held_out(split, find_sources(split))]
            (out / "settings.yaml").write_text(yaml.safe_dump({k: asdict(v) for k, v in vars(settings).items()}, sort_keys=False))
            self.curve = Table(out / "training.csv", self.state.step)
            self.held_out_curve = Table(out / "held_out.csv", self.state.step)

    def _held_out(self, split: Split, found: Sources) -> list[HeldOut]:
        training, recipe = self.settings.training, self.recipe
        return held_out(split, found, training.held_out_objects, 2, recipe.points, recipe.latent, training.augment)

    def train(self) -> None:
        """Go on until all steps are done."""
        training, state = self.settings.training, self.state
        parameters = sum(p.numel() for p in self.average.parameters())
        self.console.log(
            f"{parameters / 1e6:.2f} M parameters on {self.accelerator.device}, from step {state.step} of {training.steps}"
        )
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.console, disable=not (self.first and self.console.is_terminal)) as progress:
            task = progress.add_task("training", total=training.steps, completed=state.step)
            self._steps(lambda text: progress.update(task, completed=state.step, description=text))
        if self.first and state.step % training.evaluate_every:
            self._save()
            self._evaluate()

    def _steps(self, tell: Callable[[str], None]) -> None:
        training, state = self.settings.training, self.state
        clock = Clock()
        saved, logged, pairs_logged = clock.wall, clock.wall, state.pairs
        for batch in self.recipe.from_step(state.step, training.steps, training.workers):
            state.recent.append(self._step(batch.to(self.accelerator.device)))
            state.step += 1
            state.pairs += training.objects * training.targets * self.accelerator.num_processes
            wall, cpu = clock.lap()
            state.wall_seconds += wall
            state.cpu_seconds += cpu
            if state.step % training.log_every == 0:
                if self.first:
                    tell(self._log((state.pairs - pairs_logged) / (clock.wall - logged)))
                logged, pairs_logged = clock.wall, state.pairs
                state.recent.clear()
            if not self.first:
                continue
            if state.step % training.evaluate_every == 0:
                self._save()
                self._evaluate()
                saved = clock.wall
            elif clock.wall - saved > training.save_every_seconds:
                self._save()
                saved = clock.wall

    def _step(self, batch: Batch) -> dict[str, Tensor]:
        training, step = self.settings.training, self.state.step
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(step, training)
        with self.accelerator.autocast():
            terms = losses(self.model, batch, self.settings.model.encoder_points)
        kl_weight = training.kl_weight * min(1.0, step / training.kl_warmup_steps)
        rotations = terms["rotation"] + training.way_weight * terms["way_rotation"]
        positions = terms["relative_error"] + training.way_weight * terms["way_error"]
        loss = positions + training.rotation_weight * rotations + kl_weight * terms["kl"]
        self.accelerator.backward(loss)
        self.accelerator.clip_grad_norm_(self.model.parameters(), training.gradient_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        update_average(self.average, self.accelerator.unwrap_model(self.model), step, training.ema_decay)
        return {"loss": loss.detach(), **{name: term.detach() for name, term in terms.items()}}

    def _progress_columns(self) -> Row:
        state = self.state
        times = {"wall_seconds": round(state.wall_seconds, 1), "cpu_seconds": round(state.cpu_seconds, 1)}
        return {"step": state.step, "pairs": state.pairs, **times}

    def _log(self, speed: float) -> str:
        steps = self.state.recent
        means = {name: float(torch.stack([terms[name] for terms in steps]).mean()) for name in steps[0]}
        figures = {name: float(f"{value:.5g}") for name, value in means.items()}
        self.curve.add({**self._progress_columns(), **figures, "pairs_per_second": round(speed, 1)})
        text = (
            f"relative error {figures['relative_error']:.4f}, error {figures['squared_error']:.4f} "
            f"(rest {figures['rest_squared_error']:.4f}), "
            f"KL {figures['kl']:.3f} nats a token, {speed:.0f} pairs/s"
        )
        if not self.console.is_terminal and self.state.step % (10 * self.settings.training.log_every) == 0:
            self.console.log(f"step {self.state.step}: {text}")
        return text

    def _save(self) -> None:
        self.state.model = self.accelerator.unwrap_model(self.model).state_dict()
        self.state.average = self.average.state_dict()
        self.state.optimizer = self.optimizer.state_dict()
        save_state(self.state, self.out / "last.pt")

    def _evaluate(self) -> None:
        rows = vertex_errors(self.average, self.held_out, self.accelerator.device)
        for row in rows:
            figures = {name: float(f"{value:.5g}") if isinstance(value, float) else value for name, value in row.items()}
            self.held_out_curve.add({**self._progress_columns(), **figures})
        whole = [row for row in rows if row["source"] == "all"]
        for row in whole:
            self.console.log(f"step {self.state.step}: {row['split']} RMSE {row['rmse']:.4f}, rest pose {row['rest_rmse']:.4f}")
        history = {**self._progress_columns(), "held_out": whole, "settings": asdict(self.settings.training)}
        save_model(self.average, self.out / "weights.safetensors", history)
        draw(self.curve.rows, self.held_out_curve.rows, self.out / "curves.png")


class Clock:
    """Wall and processor seconds between laps."""

    def __init__(self) -> None:
        self.wall, self.cpu = time.monotonic(), time.process_time()

    def lap(self) -> tuple[float, float]:
        """Seconds since the last lap: wall, processor."""
        before = self.wall, self.cpu
        self.wall, self.cpu = time.monotonic(), time.process_time()
        return self.wall - before[0], self.cpu - before[1]


def main(
    out: Annotated[Path, typer.Option(help="Folder of the run; one that exists is taken up where it stopped.")],
    config: Annotated[Path, typer.Option(help="YAML file with the model's sizes and how it is trained.")] = Path(
        "training/config/small.yaml"
    ),
) -> None:
    """Train the learned kinematics."""
    try:
        Run(load_settings(config), out, sources).train()
    except NeurokError as error:
        Console(stderr=True).print(f"[red]{error}")
        raise typer.Exit(1) from error


if __name__ == "__main__":
    typer.run(main)
