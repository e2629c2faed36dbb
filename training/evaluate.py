"""Judge a trained model, or the baselines alone, by one command.

`python -m training.evaluate --checkpoint weights.safetensors --out out/evaluation --write docs/results/kinematics.json`
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from neurok_ros.kinematics.neurok import COORDINATES
from neurok_ros.kinematics.neurok.checkpoint import load_model
from training.evaluation.cache import Cache
from training.evaluation.inverse_kinematics import ITERATIONS
from training.evaluation.judge import FAILURES, of_method
from training.evaluation.keypoints import WEIGHTS, trained_keypoints
from training.evaluation.methods import ElasticModes, Method, RestPose, baselines
from training.evaluation.neurok import Neurok, NeurokStates
from training.evaluation.objects import EvaluationObject, held_out_objects
from training.evaluation.pictures import bars, found_poses, save, save_poses, strip
from training.evaluation.report import Facts, SetResult, figures, markdown
from training.evaluation.scanned import scanned_objects
from training.evaluation.signals import BAD, NAMES, SMALL_IS_BAD, Verdict, object_signals, verdict
from training.evaluation.third_party import fetch, third_party_objects

CACHE = Path("out/evaluation/cache")
_SHOWN = 24
"""Objects of a set in its picture."""
_TIMED = 10
"""Objects whose encoding is timed."""


@dataclass(frozen=True)
class Counts:
    """How many objects of each set, at most."""

    third_party: int
    instances: int
    categories: int
    scanned: int


QUICK = Counts(16, 16, 6, 4)


def gather(counts: Counts, poses: int, cache: Cache, console: Console) -> dict[str, SetResult]:
    """The four sets; without third-party packages, held-out instances are scanned instead."""
    others, missing = third_party_objects(counts.third_party, poses)
    instances, unseen = held_out_objects("held_out_instances", counts.instances, poses)
    categories, unseen_kinds = held_out_objects("held_out_categories", counts.categories, poses)
    with console.status("scanning") as status:
        scanned, failed = scanned_objects((others or instances)[: counts.scanned], cache, lambda name: status.update(name))
    return {
        "third_party": SetResult(others, [], missing),
        "held_out_instances": SetResult(instances, [], unseen),
        "held_out_categories": SetResult(categories, [], unseen_kinds),
        "scanned": SetResult(scanned, [], failed),
    }


def measure(sets: dict[str, SetResult], methods: Sequence[Method], iterations: int, cache: Cache, console: Console) -> None:
    """Let every method reach every pose, with a bar that shows how long it will take."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        total = sum(len(result.objects) for result in sets.values()) * len(methods)
        task = progress.add_task("evaluating", total=total)
        for name, result in sets.items():
            progress.update(task, description=name)
            spent = dict.fromkeys((method.name for method in methods), 0.0)
            for given in result.objects:
                for method in methods:
                    begin = time.process_time()
                    result.outcomes += cache.judged(given, method, iterations)
                    spent[method.name] += time.process_time() - begin
                    progress.advance(task)
            costs = ", ".join(f"{method} {seconds:.0f} s" for method, seconds in spent.items())
            console.print(f"{name}: {len(result.objects)} objects (processor time: {costs})", highlight=False)


def signals(sets: dict[str, SetResult], method: Neurok) -> dict[str, Verdict]:
    """How well each signal tells the objects whose mean vertex error is above `BAD`; an object that failed counts as bad, and as
    unlike any other."""
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    bad: list[bool] = []
    for result in sets.values():
        for given in result.objects:
            mine = [o for o in of_method(result.outcomes, method.name) if o.object == given.name and o.objective == "vertex"]
            bad.append(float(np.mean([o.errors.vertex_rmse for o in mine])) > BAD)
            for name, value in _signals_or_infinite(method, given).items():
                found[name].append(value)
    return {name: verdict(name, values, bad) for name, values in found.items()}


def _signals_or_infinite(method: Neurok, given: EvaluationObject) -> dict[str, float]:
    try:
        space = method.fit(given)
    except FAILURES:
        return {name: -np.inf if name in SMALL_IS_BAD else np.inf for name in NAMES}
    assert isinstance(space, NeurokStates)
    return object_signals(space.encoded, space.subspace)


def draw_pictures(sets: dict[str, SetResult], methods: list[str], shown: Method, strips: int, out: Path) -> list[str]:
    """Write the pictures of a report; their names."""
    names = ["errors.png"]
    bars({name: result.of(methods) for name, result in sets.items()}, out / names[0])
    for name, result in sets.items():
        if result.objects:
            names.append(f"poses_{name}.png")
            moving = [method for method in methods if method != RestPose.name]
            save_poses(found_poses(result.objects[:_SHOWN], result.outcomes, moving), moving, 110, out / names[-1])
    held_out = [*sets["held_out_categories"].objects, *sets["held_out_instances"].objects]
    for name, candidates in (("held_out", held_out), ("third_party", sets["third_party"].objects)):
        tiles = []
        for given in candidates[:: max(1, len(candidates) // max(1, strips))][:strips]:
            try:
                tiles += strip(given, shown.fit(given))
            except FAILURES:
                continue
        if tiles:
            names.append(f"strips_{name}.png")
            save(tiles, 4, 72, out / names[-1])
    return names


def main(
    checkpoint: Annotated[str, typer.Option(help="A trained model, or none for the baselines alone.")],
    out: Annotated[Path, typer.Option(help="Folder for report.md, its pictures and kinematics.json.")] = Path("out/evaluation"),
    write: Annotated[Path | None, typer.Option(help="Where else to write the figures, as JSON.")] = None,
    cache: Annotated[Path, typer.Option(help="Folder of what was judged before; may be deleted.")] = CACHE,
    third_party: Annotated[int, typer.Option(help="Objects of other people's packages, at most.")] = 99,
    instances: Annotated[int, typer.Option(help="New objects of trained kinds.")] = 48,
    categories: Annotated[int, typer.Option(help="Objects of kinds never trained on.")] = 12,
    scanned: Annotated[int, typer.Option(help="Objects that are scanned and reconstructed first.")] = 99,
    poses: Annotated[int, typer.Option(help="Target poses of each object.")] = 2,
    size: Annotated[int, typer.Option(help="k_q, generalized coordinates.")] = COORDINATES,
    iterations: Annotated[int, typer.Option(help="Of inverse kinematics, for every method.")] = ITERATIONS,
    strips: Annotated[int, typer.Option(help="Objects whose coordinates are drawn, held-out ones and third-party ones.")] = 20,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer objects, one pose of each.")] = False,
) -> None:
    """Inverse kinematics on fixed sets of objects: figures, tables and pictures."""
    torch.set_num_threads(1)
    commit, console, kept = _commit(), Console(), Cache(cache)
    learned = None if checkpoint == "none" else Neurok(load_model(Path(checkpoint), "cpu"), size)
    others = [*baselines(size), *([trained_keypoints()] if WEIGHTS.exists() else [])]
    methods: list[Method] = [*([learned] if learned else []), *others]
    names = [method.name for method in methods]
    counts = QUICK if quick else Counts(third_party, instances, categories, scanned)
    poses = 1 if quick else poses
    if counts.third_party and (problem := fetch()):
        console.print(f"[yellow]{problem}")

    begin = time.monotonic()
    sets = gather(counts, poses, kept, console)
    console.print(f"objects made and scanned in {time.monotonic() - begin:.0f} s")
    measure(sets, methods, iterations, kept, console)
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
    found = figures(sets, learned.name if learned else "", others, facts)
    text = json.dumps(found, indent=2) + "\n"
    for path in (out / "kinematics.json", *([write] if write else [])):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    report = markdown(sets, names, [m.name for m in methods if m.oracle], facts, pictures)
    (out / "report.md").write_text(report)
    console.print(f"{out / 'report.md'} after {time.monotonic() - begin:.0f} s")


def _costs(method: Neurok | None, objects: list[EvaluationObject]) -> tuple[float, float] | tuple[None, None]:
    """Processor milliseconds to encode, and to encode and reduce: medians over the objects that can be encoded."""
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
