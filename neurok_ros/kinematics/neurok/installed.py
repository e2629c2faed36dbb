"""The trained model that comes with the package."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from neurok_ros.kinematics.neurok.checkpoint import load_model
from neurok_ros.kinematics.neurok.model import NeurokModel

WEIGHTS = Path(__file__).parent / "weights" / "neurok.safetensors"


def is_installed() -> bool:
    """Whether the package came with a trained model."""
    return WEIGHTS.is_file()


@cache
def installed_model() -> NeurokModel:
    """The model, loaded once in a process, on CUDA where there is one.

    Raises:
        NeurokError: FILE_FAILED where the file is missing or of no use.
    """
    return load_model(WEIGHTS)
