"""A learned state space to compare with: keypoints that nobody labelled (after Jakab et al., KeypointDeformer, CVPR 2021).

A network finds K keypoints on a shape and how much each point of the shape follows each of them; the shape is deformed into
another by moving the source's keypoints to where the same network finds them on the target. It is trained on pairs of shapes
by their Chamfer distance, without correspondence. As in the paper: keypoints from a PointNet, pulled to evenly spread points of
the surface; influences that the network finds from the source shape. Otherwise: points follow keypoints directly, not by way of
a cage, because what moves by itself here is a part of an object and not its outline; and one model for all categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from training.evaluation.methods import Linear, Motion, StateSpace
from training.evaluation.objects import EvaluationObject, Floats, MaterialPoints

WEIGHTS = Path(__file__).with_name("keypoints.safetensors")
KEYPOINTS = 8
_WIDTH = 128
_SEEN = 512
"""Points by which a shape is known."""


class KeypointNetwork(nn.Module):
    """Shapes are points (b, n, 3) in units of the object."""

    def __init__(self) -> None:
        super().__init__()
        self.points = _layers(3, _WIDTH)
        self.whole = _layers(_WIDTH, _WIDTH)
        self.keypoint = _layers(2 * _WIDTH, KEYPOINTS)
        self.influence = _layers(2 * _WIDTH, KEYPOINTS + 1)
        self.closeness = nn.Parameter(torch.tensor(1.0))

    def look(self, shape: Tensor) -> Tensor:
        """(b, 1, width): the features of a shape."""
        whole: Tensor = self.whole(self.points(shape).amax(dim=1, keepdim=True))
        return whole

    def keypoints(self, shape: Tensor) -> Tensor:
        """(b, K, 3) weighted means of the shape's points."""
        logits = self.keypoint(self._known(shape, self.look(shape)))
        found: Tensor = (logits.float().softmax(dim=1).unsqueeze(-1) * shape.unsqueeze(2)).sum(dim=1)
        return found

    def influences(self, points: Tensor, seen: Tensor, keypoints: Tensor) -> Tensor:
        """(b, p, K) how much points (b, p, 3) of a shape follow its keypoints; what a row lacks to one stands still.

        Args:
            points: of the shape.
            seen: (b, n, 3) points by which the shape is known.
            keypoints: (b, K, 3).
        """
        apart = (points.unsqueeze(2) - keypoints.unsqueeze(1)).square().sum(-1)
        logits = self.influence(self._known(points, self.look(seen))).float()
        near = torch.cat([logits[..., :-1] - self.closeness.exp() * apart, logits[..., -1:]], dim=-1)
        return near.softmax(dim=-1)[..., :-1]

    def _known(self, points: Tensor, whole: Tensor) -> Tensor:
        own: Tensor = self.points(points)
        return torch.cat([own, whole.expand(-1, points.shape[1], -1)], dim=-1)


def _layers(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, _WIDTH), nn.GELU(), nn.Linear(_WIDTH, _WIDTH), nn.GELU(), nn.Linear(_WIDTH, outputs))


@dataclass(frozen=True)
class Keypoints:
    """The trained network; k_q is three times the number of keypoints."""

    network: KeypointNetwork
    name: str = "keypoints"
    oracle: bool = False

    def fit(self, given: EvaluationObject) -> StateSpace:
        """Find the keypoints of an object, and what follows them."""
        seen = MaterialPoints.random(given.vertices, given.faces, _SEEN, 0)
        points = torch.from_numpy(seen.at(given.vertices)).float()[None]
        with torch.no_grad():
            keypoints = self.network.keypoints(points)
            shares = self.network.influences(torch.from_numpy(given.vertices).float()[None], points, keypoints)[0]
        basis = np.einsum("nk,xy->nxky", shares.double().numpy(), np.eye(3)).reshape(*given.vertices.shape, -1)
        return KeypointStates(Linear(given.vertices, basis), self.network, seen)


@dataclass(frozen=True)
class KeypointStates:
    """Displacements of the keypoints, three numbers for each; see `Keypoints`."""

    linear: Linear
    network: KeypointNetwork
    seen: MaterialPoints

    @property
    def dim(self) -> int:
        """3 K."""
        return self.linear.dim

    @property
    def rest(self) -> Tensor:
        """Zero."""
        return self.linear.rest

    def follow(self, points: MaterialPoints) -> Motion:
        """Each point by its shares of the keypoints' displacements."""
        return self.linear.follow(points)

    def start(self, target: Floats) -> Tensor:
        """From the keypoints of the shape to those that the network finds on the target: the method as published."""
        both = np.stack([self.seen.at(self.linear.vertices), self.seen.at(target)])
        with torch.no_grad():
            found: Tensor = self.network.keypoints(torch.from_numpy(both).float())
        return (found[1] - found[0]).flatten().double()


def trained_keypoints(path: Path = WEIGHTS) -> Keypoints:
    """The network of a file that `training.evaluation.train_keypoints` wrote."""
    network = KeypointNetwork()
    network.load_state_dict({name: value.float() for name, value in load_file(path).items()})
    return Keypoints(network.eval().requires_grad_(False))
