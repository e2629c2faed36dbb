"""Judge a trained model, or the baselines alone, by one command.

`python -m training.evaluate --checkpoint weights.safetensors --out out/evaluation --write docs/results/kinematics.json`
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from neurok_ros.kinematics.neurok.checkpoint import load_model
from neurok_ros.kinematics.neurok.model import NeurokModel
from training.evaluation.inverse_kinematics import ITERATIONS
from training.evaluation.judge import FAILURES, judge, of_method
from training.evaluation.methods import ElasticModes, Method, RestPose, baselines
from training.evaluation.neurok import Neurok, NeurokStates
from training.evaluation.objects import EvaluationObject, held_out_objects
from training.evaluation.pictures import bars, found_poses, save, save_poses, strip
from training.evaluation.report import Facts, SetResult, figures, markdown
from training.evaluation.scanned import scanned_objects
from training.evaluation.signals import BAD, area_under_curve, object_signals
from training.evaluation.third_party import third_party_objects

_SHOWN = 24
"""Objects of a set in its picture."""
_TIMED = 10
"""Objects whose encoding is timed."""


def gather(counts: tuple[int, int, int, int], poses: int, console: Console) -> dict[str, SetResult]:
    """The four sets; without third-party packages, held-out instances are scanned instead."""
    others, missing = third_party_objects(counts[0], poses)
    instances, unseen = held_out_objects("held_out_instances", counts[1], poses)
    categories, unseen_kinds = held_out_objects("held_out_categories", counts[2], poses)
    with console.status("scanning") as status:
        scanned, failed = scanned_objects((others or instances)[: counts[3]], lambda name: status.update(name))
    return {
        "third_party": SetResult(others, [], missing),
        "held_out_instances": SetResult(instances, [], unseen),
        "held_out_categories": SetResult(categories, [], unseen_kinds),
        "scanned": SetResult(scanned, [], failed),
    }


def measure(sets: dict[str, SetResult], methods: list[Method], iterations: int, console: Console) -> None:
    """Let every method reach every pose, with a bar that shows how long it will take."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        total = sum(len(result.objects) for result in sets.values()) * len(methods)
        task = progress.add_task("evaluating", total=total)
        for name, result in sets.items():
            progress.update(task, description=name)
            begin = time.monotonic()
            result.outcomes = judge(result.objects, methods, iterations, lambda: progress.advance(task))
            console.print(f"{name}: {len(result.objects)} objects in {time.monotonic() - begin:.0f} s")


def signals(sets: dict[str, SetResult], method: Neurok) -> dict[str, float | None]:
    """AUROC of each signal for an object's mean vertex error above `BAD`; an object that failed counts as bad and is unlike any
    other."""
    found: dict[str, list[float]] = {}
    bad: list[bool] = []
    for result in sets.values():
        for given in result.objects:
            mine = [o for o in of_method(result.outcomes, method.name) if o.object == given.name and o.objective == "vertex"]
            bad.append(float(np.mean([o.errors.vertex_rmse for o in mine])) > BAD)
            of_object = _signals_or_infinite(method, given)
            of_object["mahalanobis_reached"] = float(np.mean([o.distance for o in mine])) if not mine[0].failure else float("inf")
            for name, value in of_object.items():
                found.setdefault(name, []).append(value)
    return {name: area_under_curve(values, bad) for name, values in found.items()}


def _signals_or_infinite(method: Neurok, given: EvaluationObject) -> dict[str, float]:
    try:
        space = method.fit(given)
        assert isinstance(space, NeurokStates)
        return object_signals(space)
    except FAILURES:
        return dict.fromkeys(("mahalanobis", "residual", "condition"), float("inf"))


def draw_pictures(sets: dict[str, SetResult], methods: list[str], shown: Method, strips: int, out: Path) -> list[str]:
    """Write the pictures of a report; their names."""
    names = ["errors.png"]
    bars({name: result.of(methods) for name, result in sets.items()}, out / names[0])
    for name, result in sets.items():
        if result.objects:
            names.append(f"poses_{name}.png")
            moving = [method for method in methods if method != RestPose.name]
            save_poses(found_poses(result.objects[:_SHOWN], result.outcomes, moving), moving, 110, out / names[-1])
    candidates = [o for name in ("held_out_instances", "held_out_categories", "third_party") for o in sets[name].objects]
    tiles = []
    for given in candidates[:: max(1, len(candidates) // max(1, strips))][:strips]:
        try:
            tiles += strip(given, shown.fit(given))
        except FAILURES:
            continue
    if tiles:
        names.append("strips.png")
        save(tiles, 4, 64, out / names[-1])
    return names


def main(
    checkpoint: Annotated[str, typer.Option(help="A trained model, or none for the baselines alone.")],
    out: Annotated[Path, typer.Option(help="Folder for report.md, its pictures and kinematics.json.")] = Path("out/evaluation"),
    write: Annotated[Path | None, typer.Option(help="Where else to write the figures, as JSON.")] = None,
    third_party: Annotated[int, typer.Option(help="Objects of other people's packages, at most.")] = 99,
    instances: Annotated[int, typer.Option(help="New objects of trained kinds.")] = 80,
    categories: Annotated[int, typer.Option(help="Objects of kinds never trained on.")] = 12,
    scanned: Annotated[int, typer.Option(help="Objects that are scanned and reconstructed first.")] = 99,
    poses: Annotated[int, typer.Option(help="Target poses of each object.")] = 2,
    size: Annotated[int, typer.Option(help="k_q, generalized coordinates.")] = 8,
    iterations: Annotated[int, typer.Option(help="Of inverse kinematics, for every method.")] = ITERATIONS,
    strips: Annotated[int, typer.Option(help="Held-out objects whose coordinates are drawn.")] = 20,
    without_reduction: Annotated[bool, typer.Option(help="Also judge the whole latent, an ablation of the paper.")] = True,
) -> None:
    """Inverse kinematics on fixed sets of objects: figures, tables and pictures."""
    torch.set_num_threads(1)
    commit = _commit()
    console = Console()
    model = None if checkpoint == "none" else load_model(Path(checkpoint), "cpu")
    learned, ablations = _learned(model, size, without_reduction)
    others = baselines(size)
    methods: list[Method] = [*([learned] if learned else []), *ablations, *others]
    names = [method.name for method in methods]

    sets = gather((third_party, instances, categories, scanned), poses, console)
    measure(sets, methods, iterations, console)
    everything = [given for result in sets.values() for given in result.objects]
    encode_ms, prepare_ms = _costs(learned, everything[:_TIMED])
    facts = Facts(
        command=shlex.join(["python", "-m", "training.evaluate", *sys.argv[1:]]),
        commit=commit,
        iterations=iterations,
        size=size,
        poses=poses,
        encode_ms_cpu=encode_ms,
        prepare_ms_cpu=prepare_ms,
        checkpoint_mb=Path(checkpoint).stat().st_size / 1e6 if learned else None,
        signals=signals(sets, learned) if learned else {},
    )
    pictures = draw_pictures(sets, names, learned or ElasticModes(size), strips, out)
    found = figures(sets, learned.name if learned else "", [a.name for a in ablations], [b.name for b in others], facts)
    text = json.dumps(found, indent=2) + "\n"
    for path in (out / "kinematics.json", *([write] if write else [])):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (out / "report.md").write_text(markdown(sets, names, [m.name for m in methods if m.oracle], facts, pictures))
    console.print(f"{out / 'report.md'}")


def _learned(model: NeurokModel | None, size: int, without_reduction: bool) -> tuple[Neurok | None, list[Method]]:
    if model is None:
        return None, []
    others: list[Method] = [Neurok(model, size, "displacement")]
    if without_reduction:
        others.append(Neurok(model, None))
    return Neurok(model, size), others


def _costs(method: Neurok | None, objects: list[EvaluationObject]) -> tuple[float, float] | tuple[None, None]:
    """Milliseconds to encode, and to encode and reduce: medians over the objects that can be encoded."""
    if method is None:
        return None, None
    found = []
    for given in objects:
        try:
            found.append(method.cost_ms(given))
        except FAILURES:
            continue
    if not found:
        return None, None
    encode, prepare = np.median(found, axis=0)
    return float(encode), float(prepare)


def _commit() -> str:
    """Of the working tree, with a mark where it has changes."""
    root = Path(__file__).parents[1]
    found = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=40"], cwd=root, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


if __name__ == "__main__":
    typer.run(main)
