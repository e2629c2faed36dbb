"""The state of a run on disk: written whole or not at all, so that a run killed at any moment can be taken up."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch


@dataclass
class RunState:
    """All that a run needs to go on as if it had never stopped; the data follows from the step."""

    step: int
    """Steps done."""
    pairs: int
    """Pairs seen, by all processes."""
    wall_seconds: float
    cpu_seconds: float
    """Thread-seconds of the first process, those of its data included where it makes the data itself."""
    model: dict[str, Any]
    average: dict[str, Any]
    """The exponential moving average of the weights."""
    optimizer: dict[str, Any]
    recent: list[dict[str, torch.Tensor]] = field(default_factory=list)
    """The terms of the loss in the steps since the last line of the curve, which is their mean."""


def save_state(state: RunState, path: Path) -> None:
    """Write the state beside the old one and then put it in its place, which the file system does at once."""
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("wb") as file:
        torch.save(vars(state), file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    for left in path.parent.glob(f"{path.stem}.*.tmp"):
        left.unlink(missing_ok=True)


def load_state(path: Path) -> RunState | None:
    """The state of a run, or None where it has not been saved yet."""
    return RunState(**torch.load(path, map_location="cpu", weights_only=True)) if path.exists() else None
