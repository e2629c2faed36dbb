"""A trained model as one safetensors file: the weights, and the config in the file's metadata."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.kinematics.neurok.config import FORMAT, ModelConfig
from neurok_ros.kinematics.neurok.model import NeurokModel


def save_model(model: NeurokModel, path: Path, training: dict[str, Any], dtype: torch.dtype = torch.float16) -> None:
    """Write a model so that a reader sees the old file or the new one, never a part.

    Args:
        model: what to write.
        path: the .safetensors file.
        training: what a reader of the file should know of how it came about, as JSON.
        dtype: of the numbers in the file.
    """
    metadata = {"format": str(FORMAT), "config": json.dumps(model.config.to_dict()), "training": json.dumps(training)}
    weights = {name: value.detach().to("cpu", dtype).contiguous() for name, value in model.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    save_file(weights, unfinished, metadata)
    unfinished.replace(path)


def load_model(path: Path, device: torch.device | str = "auto") -> NeurokModel:
    """The model of a file, in float32, ready to use.

    Args:
        path: what `save_model` wrote.
        device: `auto` takes CUDA where there is one.

    Raises:
        NeurokError: FILE_FAILED where the file is missing, damaged, of another format, or its weights do not fit its config.
    """
    if not path.is_file():
        raise _failed("there is no such file", path)
    try:
        with safe_open(path, "pt") as file:
            metadata: dict[str, str] = file.metadata() or {}
            weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118 (no mapping)
    except (SafetensorError, OSError) as error:
        raise _failed(f"is not a whole safetensors file ({error})", path) from error
    model = NeurokModel(_config(metadata, path))
    problem = _mismatch(model.state_dict(), weights)
    if problem:
        raise _failed(problem, path)
    model.load_state_dict(weights)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    return model.to(device).eval().requires_grad_(False)


def _config(metadata: dict[str, str], path: Path) -> ModelConfig:
    if metadata.get("format") != str(FORMAT):
        raise _failed(f"has format {metadata.get('format')}, this version reads {FORMAT}", path)
    try:
        return ModelConfig.from_dict(json.loads(metadata["config"]))
    except (KeyError, ValueError, AttributeError, TypeError, NeurokError) as error:
        raise _failed(f"has a config that cannot be read ({error})", path) from error


def _mismatch(wanted: dict[str, torch.Tensor], found: dict[str, torch.Tensor]) -> str:
    missing, unknown = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    if missing or unknown:
        return f"lacks {len(missing)} of the config's weights and has {len(unknown)} others ({(missing + unknown)[0]}, ...)"
    for name, value in wanted.items():
        if found[name].shape != value.shape:
            return f"has {name} of shape {tuple(found[name].shape)}, its config asks for {tuple(value.shape)}"
        if not found[name].isfinite().all():
            return f"has numbers in {name} that are not finite"
    return ""


def _failed(problem: str, path: Path) -> NeurokError:
    remedy = "Give a checkpoint written by training/train.py, or one of this version's own"
    return NeurokError(ErrorCode.FILE_FAILED, "checkpoint", f"{path}: {problem}", remedy)
