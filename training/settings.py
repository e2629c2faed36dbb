"""What one training run is made of; read from a YAML file, kept beside its results."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.kinematics.neurok.config import ModelConfig


@dataclass(frozen=True)
class TrainingSettings:
    """How the model is trained.

    The loss of a pair, after Eq. 1: mean over the query points of |x - x_pred|^2, plus rotation_weight times that of
    |R - R_pred|_F^2, each divided by what the rest pose gets and a small constant, plus kl_weight times the KL divergence
    summed over the F_token numbers of a token and averaged over the K tokens. The division, which Eq. 1 lacks, makes a small
    drawer count as much as a large door: a pair that is wholly missed costs about one. Lengths are in units of the object's
    radius.

    The same is asked, without noise, part of the straight way in the latent from the rest state to the posterior's mean, where
    every joint should have gone that part of its way. Otherwise the decoder is deaf to small steps, which the noise would drown:
    its Jacobian at rest is nothing, and no door could start to move.
    """

    steps: int = 400_000
    objects: int = 8
    """In a step, per process."""
    targets: int = 6
    """Deformations of each object, encoded once."""
    query_points: int = 256
    """Points that the loss looks at, other than those encoded."""
    learning_rate: float = 1e-3
    warmup_steps: int = 300
    """Over which the learning rate rises from zero."""
    decay_share: float = 0.2
    """The last part of the steps, over which the learning rate falls to zero."""
    weight_decay: float = 0.01
    gradient_norm: float = 1.0
    """Longer gradients are shortened to this."""
    kl_weight: float = 0.01
    """lambda."""
    kl_warmup_steps: int = 1500
    """Over which lambda rises from zero."""
    rotation_weight: float = 0.15
    way_weight: float = 1.0
    """Of the errors part of the way."""
    augment: bool = True
    """Whether objects are seen from any side: turned about the vertical, tilted a little, mirrored."""
    scan_share: float = 0.25
    """Of the objects, those shown as scans: partly seen, noisy, rounded, with all parts grown together; not of those that
    come from real reconstructions already."""
    ema_decay: float = 0.999
    seed: int = 0
    workers: int = 0
    """Processes that make the data; 0 makes it in the training process."""
    save_every_seconds: float = 60.0
    log_every: int = 50
    evaluate_every: int = 1000
    held_out_objects: int = 96
    """Of each held-out split."""


@dataclass(frozen=True)
class Settings:
    """A run: the model's sizes and how it is trained."""

    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingSettings = field(default_factory=TrainingSettings)


def load_settings(path: Path) -> Settings:
    """Read the sections `model` and `training` of a YAML file; what is not named keeps its default.

    Raises:
        NeurokError: INVALID_OPTIONS for a name that is unknown, FILE_FAILED where the file cannot be read.
    """
    try:
        found = yaml.safe_load(path.read_text()) or {}
    except (OSError, yaml.YAMLError) as error:
        raise NeurokError(ErrorCode.FILE_FAILED, "config", f"{path}: {error}", "Give a YAML file") from error
    _check_names("config", found, Settings)
    _check_names("config.training", found.get("training", {}), TrainingSettings)
    _check_names("config.model", found.get("model", {}), ModelConfig)
    return Settings(ModelConfig(**found.get("model", {})), TrainingSettings(**found.get("training", {})))


def _check_names(place: str, values: dict[str, Any], kind: type) -> None:
    known = [f.name for f in fields(kind)]
    for name in values:
        if name not in known:
            raise NeurokError(ErrorCode.INVALID_OPTIONS, f"{place}.{name}", "is unknown", f"The names are {', '.join(known)}")
