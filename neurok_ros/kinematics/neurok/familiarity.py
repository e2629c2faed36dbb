"""What tells, before anything moves, whether the learned model knows an object."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from neurok_ros.kinematics.neurok.learned import NeurokKinematics
from neurok_ros.kinematics.neurok.model import transform

SIGMAS = 2.0
"""Standard deviations of the prior, how far along each coordinate the reach is measured."""


@dataclass(frozen=True)
class Familiarity:
    """Lengths are in units of the object, motions are root mean squares over its surface samples."""

    still: float
    """How far the network, asked for no deformation, moves the object."""
    mahalanobis: float
    """Distance of the encoded rest state from the prior N(mean, 1), a number of the latent: |z_rest - mean| / sqrt(k)."""
    importance: float
    """Share of the motion that the reduced coordinates explain."""
    reach: float
    """How far the object moves at -2 and +2 standard deviations along each coordinate."""


@torch.no_grad()
def familiarity(kinematics: NeurokKinematics) -> Familiarity:
    """Of an object's learned state space, in one decoding of 2 k_q + 1 states."""
    encoded, basis = kinematics.encoded, kinematics.subspace.basis
    start = encoded.surface.points[0]
    steps = torch.cat([torch.zeros_like(basis[:, :1]), SIGMAS * basis, -SIGMAS * basis], dim=1).T
    latents = encoded.rest + steps.reshape(-1, *encoded.rest.shape)
    there = transform(encoded.model.maps(encoded.prepared, latents[None])[0], start)
    rest, along = there[0], there[1:]
    return Familiarity(
        still=_rms(rest - start),
        mahalanobis=float((encoded.rest - encoded.shape.mean[0]).square().mean().sqrt()),
        importance=float(kinematics.subspace.importance.sum()),
        reach=_rms(along - rest),
    )


def _rms(motion: torch.Tensor) -> float:
    return float(motion.square().sum(-1).mean().sqrt())
