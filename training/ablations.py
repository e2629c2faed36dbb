"""What each choice is worth.

`python -m training.ablations reduction --checkpoint weights.safetensors`: k_q, the criterion of the reduction, and none at all.
`python -m training.ablations variants --pairs 200000`: each YAML of `training/config/ablations`, trained anew for as many pairs.
`python -m training.ablations scaling --pairs 200000`: each of `training/config/scaling`, with its loss against compute.

All go on where they stopped, and leave a table, a picture and the figures as JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track

from neurok_ros.kinematics.neurok.checkpoint import load_model
from training.curves import read_table
from training.evaluate import CACHE
from training.evaluation.cache import Cache
from training.evaluation.inverse_kinematics import ITERATIONS
from training.evaluation.judge import Outcome, summary
from training.evaluation.methods import Method, RestPose
from training.evaluation.neurok import Neurok
from training.evaluation.objects import EvaluationObject, held_out_objects
from training.evaluation.third_party import fetch, third_party_objects
from training.subspaces import CRITERIA
from training.variants import CONFIG, JUDGED, load_variant, train_variant

app = typer.Typer(help=__doc__)
SIZES = (4, 8, 16, 24, 32)
"""Values of k_q."""
Out = Annotated[Path, typer.Option(help="Folder for the runs, table, picture and figures.")]
Pairs = Annotated[int, typer.Option(help="To train each variant on.")]
Base = Annotated[Path, typer.Option(help="The run that is varied.")]


@app.command()
def reduction(
    checkpoint: Annotated[Path, typer.Option(help="A trained model.")],
    out: Out = Path("out/ablations"),
    cache: Annotated[Path, typer.Option(help="Folder of what was judged before.")] = CACHE,
    third_party: Annotated[int, typer.Option(help="Objects of other people's packages, at most.")] = 16,
    instances: Annotated[int, typer.Option(help="New objects of trained kinds.")] = 16,
    categories: Annotated[int, typer.Option(help="Objects of kinds never trained on.")] = 6,
) -> None:
    """Inverse kinematics with other numbers of coordinates, both criteria, and the whole latent; one pose of each object."""
    torch.set_num_threads(1)
    model = load_model(checkpoint, "cpu")
    if third_party:
        fetch()
    sets = {
        "third_party": third_party_objects(third_party, 1)[0],
        "held_out_instances": held_out_objects("held_out_instances", instances, 1)[0],
        "held_out_categories": held_out_objects("held_out_categories", categories, 1)[0],
    }
    sizes = [size for size in SIZES if size <= model.config.latent_size]
    methods: dict[str, Method] = {"rest pose": RestPose()}
    methods.update({f"{c}, k_q = {k}": Neurok(model, k, c) for c in CRITERIA for k in sizes})
    methods["without reduction"] = Neurok(model, None)
    found = {label: _judged(sets, method, label, Cache(cache)) for label, method in methods.items()}
    names = [name for name, objects in sets.items() if objects]
    header = ["", *(f"{name}: vertex RMSE | Chamfer L1" for name in names)]
    rows = [
        [label, *(f"{values[name]['vertex_rmse']:.4f} | {values[name]['chamfer_l1']:.4f}" for name in names)]
        for label, values in found.items()
    ]
    _write(out, "reduction", found, header, rows)
    _draw_reduction(found, names, sizes, out / "reduction.png")


@app.command()
def variants(
    pairs: Pairs, out: Out = Path("out/ablations"), base: Base = CONFIG / "small.yaml", only: str = "", config: str = "ablations"
) -> None:
    """Train each variant (or `only` some, separated by commas) and compare them."""
    found = _train_all(config, pairs, out, base, only)
    _tabulate(config, found, out)
    _draw_variants(found, out / f"{config}.png")


@app.command()
def scaling(pairs: Pairs, out: Out = Path("out/ablations"), base: Base = CONFIG / "small.yaml") -> None:
    """Train each size and draw its loss against compute."""
    found = _train_all("scaling", pairs, out, base, "")
    _tabulate("scaling", found, out)
    _draw_scaling({name: out / "scaling" / name for name in found}, out / "scaling.png")


def _judged(sets: dict[str, list[EvaluationObject]], method: Method, label: str, cache: Cache) -> dict[str, Any]:
    outcomes: dict[str, list[Outcome]] = {name: [] for name in sets}
    for name, given in track([(name, given) for name, objects in sets.items() for given in objects], label):
        outcomes[name] += cache.judged(given, method, ITERATIONS)
    return {name: summary(of_set) for name, of_set in outcomes.items() if of_set}


def _train_all(config: str, pairs: int, out: Path, base: Path, only: str) -> dict[str, dict[str, Any]]:
    torch.set_num_threads(1)
    files = sorted((CONFIG / config).glob("*.yaml"))
    chosen = [file for file in files if not only or file.stem in only.split(",")]
    loaded = [load_variant(file, base, pairs) for file in chosen]
    found = {}
    for variant in loaded:
        Console().print(f"{config}/{variant.name}: {variant.about}")
        found[variant.name] = train_variant(variant, out / config / variant.name)
    return found


def _tabulate(name: str, found: dict[str, dict[str, Any]], out: Path) -> None:
    columns = [(split, kind) for split in JUDGED for kind in ("decoded", "reached")]
    header = ["", "what", "M parameters", "pairs", "thread-seconds", *(f"{s}: {k} / rest" for s, k in columns)]
    rows = [
        [
            variant,
            values["about"],
            f"{values['parameters']:.2f}",
            str(values["pairs"]),
            f"{values['cpu_seconds']:.0f}",
            *(f"{values[split][kind]:.3f}" for split, kind in columns),
        ]
        for variant, values in found.items()
    ]
    _write(out, name, found, header, rows)


def _write(out: Path, name: str, figures: dict[str, Any], header: list[str], rows: list[list[str]]) -> None:
    """Figures as JSON, and a table as Markdown, which is also printed."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")
    columns = " | ".join(header).count("|") + 1
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * columns}", *(f"| {' | '.join(row)} |" for row in rows)]
    (out / f"{name}.md").write_text("\n".join(lines) + "\n")
    typer.echo("\n".join(lines))


def _draw_reduction(found: dict[str, dict[str, Any]], names: list[str], sizes: list[int], path: Path) -> None:
    figure = Figure(figsize=(5 * len(names), 4), layout="constrained")
    for axis, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for criterion in CRITERIA:
            axis.plot(sizes, [found[f"{criterion}, k_q = {k}"][name]["vertex_rmse"] for k in sizes], "o-", label=criterion)
        for label, style in (("rest pose", ":"), ("without reduction", "--")):
            axis.axhline(found[label][name]["vertex_rmse"], color="gray", linestyle=style, label=label)
        axis.set(title=name, xlabel="k_q", ylabel="vertex RMSE, correspondence known", ylim=(0, None), xscale="log")
        axis.set_xticks(sizes, [str(k) for k in sizes])
        axis.legend()
    figure.savefig(path, dpi=100)


def _draw_variants(found: dict[str, dict[str, Any]], path: Path) -> None:
    figure = Figure(figsize=(12, 1.5 + 0.3 * len(found)), layout="constrained")
    places = range(len(found))
    for axis, split in zip(figure.subplots(1, 2, sharey=True), JUDGED, strict=True):
        for shift, kind in ((-0.2, "decoded"), (0.2, "reached")):
            axis.barh([p + shift for p in places], [values[split][kind] for values in found.values()], 0.4, label=kind)
        axis.set_yticks(list(places), [f"{name}: {values['about']}" for name, values in found.items()])
        axis.set(title=split, xlabel="vertex RMSE / that of the rest pose")
        axis.invert_yaxis()
        axis.spines[["top", "right"]].set_visible(False)
    axis.legend()
    figure.savefig(path, dpi=100)


def _draw_scaling(runs: dict[str, Path], path: Path) -> None:
    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, folder in runs.items():
        rows = read_table(folder / "training.csv")
        left.plot(
            [r["cpu_seconds"] for r in rows],
            [float(r["squared_error"]) / float(r["rest_squared_error"]) for r in rows],
            label=name,
        )
        rows = [r for r in read_table(folder / "held_out.csv") if r["source"] == "all"]
        for split, style in zip(JUDGED, ("o-", "s--"), strict=True):
            mine = [r for r in rows if r["split"] == split]
            errors = [float(r["rmse"]) / float(r["rest_rmse"]) for r in mine]
            right.plot([r["cpu_seconds"] for r in mine], errors, style, label=f"{name}, {split}")
    left.set(ylabel="training: squared error / that of the rest pose", xscale="log", yscale="log", xlabel="thread-seconds")
    right.set(ylabel="held out: vertex RMSE / that of the rest pose", xscale="log", yscale="log", xlabel="thread-seconds")
    for axis in (left, right):
        axis.legend(fontsize=8)
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    app()
