"""Which numbers tell, without knowing the truth, that the learned model does not know an object."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.stats import rankdata

from neurok_ros.kinematics.neurok.model import transform
from training.evaluation.neurok import NeurokStates
from training.evaluation.objects import Floats

BAD = 0.1
"""Vertex error, in units of the object, above which a prediction is of no use."""


def object_signals(space: NeurokStates) -> dict[str, float]:
    """What can be known of an encoded object before it moves. (The evaluation adds `mahalanobis_reached`: the mean distance |q|
    from rest of the states that reach its target poses, in the prior's standard deviations.)

    - `mahalanobis`: distance of the encoded rest state from the prior N(mu_cond, 1), |z_rest - mu_cond|;
    - `residual`: how far the network, asked for no deformation, moves the samples, root mean square;
    - `condition`: condition number of G = J^T J at rest, J of the fitting points by the reduced state.
    """
    encoded = space.encoded
    start = encoded.unit(torch.from_numpy(encoded.samples.points)).to(encoded.rest)
    with torch.no_grad():
        decoded = transform(encoded.model.maps(encoded.prepared, encoded.rest[None, None])[0, 0], start)
    jacobian = space.follow(space.given.fitting).jacobian(space.rest).flatten(0, 1)
    return {
        "mahalanobis": float((encoded.rest - encoded.shape.mean[0]).norm()),
        "residual": float((decoded - start).square().sum(-1).mean().sqrt()),
        "condition": float(torch.linalg.cond(jacobian.T @ jacobian)),
    }


def area_under_curve(signal: Sequence[float], bad: Sequence[bool]) -> float | None:
    """AUROC of telling bad from good by a large signal: the chance that a bad one's is larger than a good one's, a tie
    counting half (Mann-Whitney); None where all are alike."""
    values: Floats = np.asarray(signal, np.float64)
    is_bad = np.asarray(bad, bool)
    many, few = int(is_bad.sum()), int((~is_bad).sum())
    if many == 0 or few == 0:
        return None
    ranks = rankdata(np.nan_to_num(values, nan=np.inf))
    return float((ranks[is_bad].sum() - many * (many + 1) / 2) / (many * few))
