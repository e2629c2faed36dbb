"""A small network with random weights: what must hold for every network holds for it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import trimesh

from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.model import NeurokModel


@pytest.fixture(params=["handles", "points"])
def network(request: pytest.FixtureRequest) -> NeurokModel:
    """Its motions are not small."""
    torch.manual_seed(0)
    sizes = {
        "tokens": 4,
        "token_size": 8,
        "encoder_blocks": 1,
        "decoder_blocks": 1,
        "handles": 6,
        "encoder_points": 40,
        "deformation_points": 40,
    }
    model = NeurokModel(ModelConfig(decoder=request.param, width=32, **sizes))
    torch.nn.init.normal_(model.decoder.motion[1].weight, std=0.2)  # type: ignore[arg-type]
    return model.eval().requires_grad_(False)


@pytest.fixture
def two_boxes() -> tuple[np.ndarray, np.ndarray]:
    """Two unconnected boxes, 2 mm apart, 0.3 m long together, somewhere off the origin: vertices in metres, and faces."""
    left = trimesh.creation.box((0.1, 0.15, 0.2)).subdivide()
    right = left.copy().apply_translation((0.102, 0, 0))
    both = trimesh.util.concatenate([left, right]).apply_translation((1.0, -2.0, 0.5))
    return np.asarray(both.vertices, np.float64), np.asarray(both.faces, np.int64)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Two threads on a busy machine wait for each other."""
    torch.set_num_threads(1)
