"""Inverse kinematics finds the state that a pose was made from."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from hinges import Hinges

from neurok_ros.geometry.sampling import SurfaceSamples
from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.learned import encode_samples, reduce
from neurok_ros.kinematics.neurok.model import NeurokModel
from training.batches import BatchRecipe
from training.evaluation.inverse_kinematics import ITERATIONS, gauss_newton, known
from training.subspaces import CRITERIA, ControlledPoints, Controls, object_errors

SIZES = {
    "width": 32,
    "tokens": 4,
    "token_size": 8,
    "encoder_blocks": 1,
    "decoder_blocks": 1,
    "handles": 6,
    "encoder_points": 40,
    "deformation_points": 40,
}


def network() -> NeurokModel:
    torch.manual_seed(0)
    model = NeurokModel(ModelConfig(**SIZES))  # type: ignore[arg-type]
    torch.nn.init.normal_(model.decoder.motion[1].weight, std=0.2)  # type: ignore[arg-type]
    return model.eval().requires_grad_(False)


def test_the_state_of_a_pose_is_found() -> None:
    (pair,) = Hinges().sample(np.random.default_rng(0), 60)
    points = torch.from_numpy(pair.points0).double()
    samples = SurfaceSamples(points.numpy(), pair.normals0.astype(np.float64), np.ones(60), np.zeros(60, np.int64))
    encoded = encode_samples(samples, np.zeros(60, np.int64), network())
    weights = encoded.prepared.weights
    assert weights is not None
    basis = reduce(encoded, 3).basis
    reduced = ControlledPoints(
        Controls(encoded, basis, points), weights[0].double(), encoded.unit(points), encoded.radius, points
    )
    target = reduced.positions(torch.tensor([0.4, -0.3, 0.2]).double())
    before = (points - target).norm()
    assert before > 0.05
    found = gauss_newton(reduced, torch.zeros(3).double(), known(target), ITERATIONS)
    assert (reduced.positions(found) - target).norm() < 1e-6 * before


def test_the_rest_pose_is_reached_exactly() -> None:
    """A pose that is the rest pose is encoded as the rest state, whatever the network's weights are; points are float32."""
    drawn = BatchRecipe([(1.0, Hinges())], 1, 2, 80, (4, 8), True, 0.0, 0, 0)[0]
    still = torch.eye(3).expand_as(drawn.rotations)
    batch = dataclasses.replace(drawn, moved=drawn.points.unsqueeze(1).expand_as(drawn.moved), rotations=still)
    for figures in object_errors(network(), batch, 0, [1, 4]):
        reached = {f"{c} {k}": figures.pop(f"{c} {k}") for c in CRITERIA for k in (1, 4)}
        assert set(figures) == {"rest", "decoded"}
        assert max(reached.values()) < 1e-5
        assert figures["rest"] == 0.0
