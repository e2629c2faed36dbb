"""NeuROK as one of the compared methods: the one place that knows the learned model's interface."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from neurok_ros.geometry.driving import connected_parts
from neurok_ros.kinematics.neurok.learned import EncodedObject, NeurokKinematics, encode_object, reduce
from neurok_ros.kinematics.neurok.model import NeurokModel
from neurok_ros.kinematics.neurok.subspace import ActiveSubspace, Criterion
from training.evaluation.methods import Motion, StateSpace, kabsch
from training.evaluation.objects import EvaluationObject, Floats, Ints, MaterialPoints

_NEIGHBOURS = 12
"""Samples around one, from whose motion its rotation is taken."""


@dataclass(frozen=True)
class Neurok:
    """The trained model."""

    model: NeurokModel
    size: int | None
    """k_q; None for the whole latent, without reduction."""
    criterion: Criterion = "both"
    oracle: bool = False

    @property
    def name(self) -> str:
        """Says what was left out."""
        if self.size is None:
            return "NeuROK without reduction"
        return "NeuROK" if self.criterion == "both" else f"NeuROK ({self.criterion})"

    def fit(self, given: EvaluationObject) -> StateSpace:
        """The reduced latent of the encoded mesh, or the latent itself."""
        encoded = encode_object(given.vertices, given.faces, self.model)
        if self.size is None:
            basis = torch.eye(self.model.config.latent_size).to(encoded.rest)
            subspace = ActiveSubspace(basis, torch.ones(len(basis)).to(basis) / len(basis))
        else:
            subspace = reduce(encoded, self.size, self.criterion)
        return NeurokStates(given, encoded, subspace)

    def cost_ms(self, given: EvaluationObject) -> tuple[float, float]:
        """Processor milliseconds, of one thread, to encode a mesh, and to encode and reduce it."""
        begin = time.process_time()
        encode_object(given.vertices, given.faces, self.model)
        encoded = time.process_time()
        self.fit(given)
        return 1e3 * (encoded - begin), 1e3 * (time.process_time() - encoded)


@dataclass(frozen=True)
class NeurokStates:
    """See `Neurok`."""

    given: EvaluationObject
    encoded: EncodedObject
    subspace: ActiveSubspace

    @property
    def dim(self) -> int:
        """k_q."""
        return self.subspace.basis.shape[1]

    @property
    def rest(self) -> Tensor:
        """Zero: the learned motion is taken relative to the rest state."""
        return torch.zeros(self.dim, dtype=torch.float64)

    @cached_property
    def _kinematics(self) -> NeurokKinematics:
        return NeurokKinematics(self.encoded, self.subspace, self.given.vertices, self._vertex_part, free=False)

    @cached_property
    def _vertex_part(self) -> Ints:
        return connected_parts(self.given.faces, len(self.given.vertices))

    @cached_property
    def _samples(self) -> MaterialPoints:
        return MaterialPoints.on(self.encoded.samples, self.given.vertices, self.given.faces)

    def follow(self, points: MaterialPoints) -> Motion:
        """As the prediction follows them."""
        places = torch.from_numpy(points.at(self.given.vertices))
        return self._kinematics.at(places, self._vertex_part[points.corners[:, 0]])

    def start(self, target: Floats) -> Tensor:
        """The posterior's mean for the samples' motion, projected."""
        return self.subspace.basis.T.double().cpu() @ (self.posterior_mean(target) - self.encoded.rest.cpu()).flatten().double()

    def posterior_mean(self, target: Floats) -> Tensor:
        """(K, F_token) of the motion of the vertices to (n, 3)."""
        moved = self._samples.at(target)
        rotations = local_rotations(self.encoded.samples.points, moved, self.encoded.sample_part)
        return self.encoded.posterior_mean(torch.from_numpy(moved), torch.from_numpy(rotations)).cpu()


def local_rotations(rest: Floats, moved: Floats, part: np.ndarray) -> Floats:
    """(s, 3, 3) how the material turned around each point, from the nearest points of its own part, as a user's mesh gives it.

    Args:
        rest: (s, 3).
        moved: (s, 3).
        part: (s,) connected part of each.
    """
    rotations = np.tile(np.eye(3), (len(rest), 1, 1))
    for label in np.unique(part):
        mine = np.flatnonzero(part == label)
        if len(mine) >= 3:
            _, near = cKDTree(rest[mine]).query(rest[mine], k=min(_NEIGHBOURS, len(mine)))
            rotations[mine] = kabsch(rest[mine][near], moved[mine][near])[0]
    return rotations
