"""Variants of a training run, each a YAML file beside the run that it varies, trained for the same number of pairs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import yaml

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.kinematics.neurok.checkpoint import load_model
from neurok_ros.kinematics.neurok.model import NeurokModel
from training.batches import Sources, held_out
from training.data import Split, sources
from training.data.pool import Pool
from training.evaluation.objects import KnownSource
from training.pairs import Pair
from training.settings import Settings, load_settings
from training.subspaces import CRITERIA, object_errors
from training.train import Run

JUDGED: tuple[Split, ...] = ("held_out_instances", "held_out_categories")
CONFIG = Path(__file__).with_name("config")
SIZE = 8
"""k_q of inverse kinematics."""
_JUDGED_SOURCES = 24
"""Of a split, an object and two poses of each: inverse kinematics costs more than decoding."""
_EVALUATIONS = 8


@dataclass(frozen=True)
class Variant:
    """One run of an ablation."""

    name: str
    about: str
    settings: Settings
    objects: int | None
    """How many objects of each source there are to learn from; None for as many as the run asks for."""


class FewObjects:
    """A source that has but a few objects, each in endless poses.

    Args:
        source: where they come from.
        count: how many.
    """

    def __init__(self, source: KnownSource, count: int) -> None:
        self.name, self.stretchable, self.scanned = source.name, source.stretchable, source.scanned
        self._pool: Pool[Any] = Pool(source.fixed_object, range(count))

    def sample(self, rng: np.random.Generator, points: int, targets: int = 1) -> list[Pair]:
        """Poses of one of them."""
        pairs: list[Pair] = self._pool.draw(rng).pairs(rng, points, targets)
        return pairs


def load_variant(path: Path, base: Path, pairs: int) -> Variant:
    """A variant of the run that `base` describes, cut to a number of pairs.

    Args:
        path: YAML with `about`, and any of `objects`, `model` and `training`, which change what `base` says.
        base: YAML as `training.settings.load_settings` reads it.
        pairs: in all.

    Raises:
        NeurokError: INVALID_OPTIONS for a name that is unknown.
    """
    found: dict[str, Any] = yaml.safe_load(path.read_text())
    run = load_settings(base)
    for name in found:
        if name not in ("about", "objects", "model", "training"):
            problem = f"{path} names {name}, which is unknown"
            raise NeurokError(ErrorCode.INVALID_OPTIONS, "variant", problem, "The names are about, objects, model, training")
    try:
        model, training = replace(run.model, **found.get("model", {})), replace(run.training, **found.get("training", {}))
    except TypeError as error:
        raise NeurokError(
            ErrorCode.INVALID_OPTIONS, "variant", f"{path}: {error}", "Name options of the model and training"
        ) from error
    steps = max(1, round(pairs / (training.objects * training.targets)))
    cut = min(training.kl_warmup_steps, steps // 3)
    training = replace(training, steps=steps, evaluate_every=max(1, steps // _EVALUATIONS), kl_warmup_steps=max(1, cut))
    return Variant(path.stem, found["about"], Settings(model, training), found.get("objects"))


def train_variant(variant: Variant, folder: Path) -> dict[str, Any]:
    """Train a variant, from where it stopped, and judge it; what is finished is only read.

    Returns:
        `parameters` (millions), `pairs`, `cpu_seconds`, and for each held-out split `decoded` and `reached`: the errors of
        encoding and decoding, and of inverse kinematics with `SIZE` coordinates (the better criterion), as shares of the rest
        pose's.
    """
    done = folder / "result.json"
    if done.exists() and json.loads(done.read_text())["settings"] == _as_dict(variant):
        return dict(json.loads(done.read_text()))
    run = Run(variant.settings, folder, lambda split: _sources(split, variant.objects))
    run.train()
    model = load_model(folder / "weights.safetensors", "cpu")
    result: dict[str, Any] = {
        "about": variant.about,
        "parameters": round(sum(p.numel() for p in model.parameters()) / 1e6, 3),
        "pairs": run.state.pairs,
        "cpu_seconds": round(run.state.cpu_seconds, 1),
        **{split: reduced_errors(model, split) for split in JUDGED},
        "settings": _as_dict(variant),
    }
    done.write_text(json.dumps(result, indent=1) + "\n")
    return result


def reduced_errors(model: NeurokModel, split: Split) -> dict[str, float]:
    """Root mean square errors on some objects of a split, as shares of the rest pose's; see `train_variant`."""
    found = sources(split)
    config = model.config
    chosen = found[:: max(1, len(found) // _JUDGED_SOURCES)]
    points = max(512, 2 * config.encoder_points)
    sets = held_out(split, chosen, len(chosen), 2, points, (config.tokens, config.token_size), True)
    rows = [row for held in sets for row in object_errors(model, held.batch, 0, [SIZE])]
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    reached = min(means[f"{criterion} {SIZE}"] for criterion in CRITERIA)
    return {"decoded": means["decoded"] / means["rest"], "reached": reached / means["rest"]}


def _sources(split: Split, objects: int | None) -> Sources:
    found = sources(split)
    if not objects or split != "train":
        return found
    return [
        (share, FewObjects(source, objects) if isinstance(source, get_args(KnownSource)) else source) for share, source in found
    ]


def _as_dict(variant: Variant) -> dict[str, Any]:
    return {"model": asdict(variant.settings.model), "training": asdict(variant.settings.training), "objects": variant.objects}
