"""What tells, before anything moves, whether the learned model knows an object."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from neurok_ros.kinematics.neurok.learned import EncodedObject
from neurok_ros.kinematics.neurok.model import transform
from neurok_ros.kinematics.neurok.subspace import ActiveSubspace

SIGMAS = 2.0
"""Standard deviations of the prior, how far along each coordinate the reach is measured."""


@dataclass(frozen=True)
class Familiarity:
    """Lengths are in units of the object, motions are root mean squares over its surface samples."""

    still: float
    """How far the network, asked for no deformation, moves the object."""
    importance: float
    """Share of the motion that the reduced coordinates explain."""
    reach: float
    """How far the object moves at -2 and +2 standard deviations along each coordinate."""


def familiarity(encoded: EncodedObject, subspace: ActiveSubspace) -> Familiarity:
    """Of an object's learned state space, in one decoding of 2 k_q + 1 states."""
    rest, along = decoded_along(encoded, subspace)
    return Familiarity(
        still=_rms(rest - encoded.surface.points[0]),
        importance=float(subspace.importance.sum()),
        reach=_rms(along - rest),
    )


@torch.no_grad()
def decoded_along(encoded: EncodedObject, subspace: ActiveSubspace) -> tuple[Tensor, Tensor]:
    """Where the network puts the samples in the rest state (s, 3), and `SIGMAS` to either side along each coordinate
    (2 k_q, s, 3), in its own units."""
    basis = subspace.basis
    steps = torch.cat([torch.zeros_like(basis[:, :1]), SIGMAS * basis, -SIGMAS * basis], dim=1).T
    latents = encoded.rest + steps.reshape(-1, *encoded.rest.shape)
    there = transform(encoded.model.maps(encoded.prepared, latents[None])[0], encoded.surface.points[0])
    return there[0], there[1:]


def _rms(motion: Tensor) -> float:
    return float(motion.square().sum(-1).mean().sqrt())
