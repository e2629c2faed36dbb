"""Which numbers tell, without knowing the truth, that the learned model does not know an object.

All are found from the mesh and the model alone, before anything moves: prediction can ask for them at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import cKDTree
from scipy.stats import rankdata
from torch import Tensor

from neurok_ros.geometry.rotations import quaternion_exp, quaternion_matrix
from neurok_ros.kinematics.neurok.familiarity import SIGMAS, decoded_along, familiarity
from neurok_ros.kinematics.neurok.learned import EncodedObject
from neurok_ros.kinematics.neurok.model import transform
from neurok_ros.kinematics.neurok.subspace import ActiveSubspace
from training.evaluation.objects import Floats

BAD = 0.1
"""Vertex error, in units of the object, above which a prediction is of no use."""
SMALL_IS_BAD = ("importance", "reach")
"""Signals that warn by being small; the others warn by being large."""
NAMES = ("mahalanobis", "still", "moved_parts", "cycle", "condition", "importance", "reach", "strain")
_DRAWN = 16
_ANGLE, _SHIFT = 0.5, 0.15
"""Of made-up motions: radians, and units of the object."""
_NEIGHBOURS = 6


def object_signals(encoded: EncodedObject, subspace: ActiveSubspace) -> dict[str, float]:
    """What can be known of an encoded object before it moves. Lengths are in units of the object, motions are those of the
    surface samples.

    - `mahalanobis`: distance of the encoded rest state from the prior N(mu_cond, 1), |z_rest - mu_cond|;
    - `still`: how far the network, asked for no deformation, moves the samples, root mean square;
    - `moved_parts`: encode-decode residual of made-up motions, as a share of the motion: one connected part turned and shifted,
      or, where there is one part only, a half of it, bent off smoothly;
    - `cycle`: states drawn along the coordinates, decoded and encoded again: how far off they come back, as a share;
    - `condition`: condition number of G = J^T J at rest;
    - `importance`: share of the motion that the coordinates explain (of the active subspace's eigenvalues);
    - `reach`: how far the samples move at -2 and +2 standard deviations of the prior along each coordinate, root mean square;
    - `strain`: change of the distances between neighbouring samples of one part in those states, over the motion.
    """
    start = encoded.surface.points[0]
    rest, along = decoded_along(encoded, subspace)
    there = along - rest + start
    known = familiarity(encoded, subspace)
    return {
        "mahalanobis": float((encoded.rest - encoded.shape.mean[0]).norm()),
        "still": known.still,
        "moved_parts": _moved_parts(encoded),
        "cycle": _cycle(encoded, subspace),
        "condition": _condition(encoded, subspace),
        "importance": known.importance,
        "reach": known.reach,
        "strain": _strain(start, there, encoded.sample_part) / max(known.reach, 1e-9),
    }


@torch.no_grad()
def _decoded(encoded: EncodedObject, latents: Tensor) -> tuple[Tensor, Tensor]:
    """Where the samples are (t, s, 3) and how they are turned (t, s, 3, 3), of latents (t, K, F_token)."""
    maps = encoded.model.maps(encoded.prepared, latents[None])[0]
    return transform(maps, encoded.surface.points[0]), maps[..., :3]


def _encoded_again(encoded: EncodedObject, moved: Tensor, rotations: Tensor) -> Tensor:
    """(t, K, F_token) the posterior's mean of motions (t, s, 3) in the network's units, (t, s, 3, 3)."""
    center = torch.from_numpy(encoded.center).to(moved)
    return torch.stack([
        encoded.posterior_mean(m * encoded.radius + center, r) for m, r in zip(moved, rotations, strict=True)
    ])  # fmt: skip


def _cycle(encoded: EncodedObject, subspace: ActiveSubspace) -> float:
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(_DRAWN, subspace.basis.shape[1], generator=generator).to(encoded.rest) * SIGMAS
    latents = encoded.rest + (drawn @ subspace.basis.T).reshape(-1, *encoded.rest.shape)
    back = _encoded_again(encoded, *_decoded(encoded, latents))
    return float((back - latents).norm() / (latents - encoded.rest).norm())


def _moved_parts(encoded: EncodedObject) -> float:
    rng = np.random.default_rng(0)
    start = encoded.surface.points[0]
    motions = [_made_up_motion(start, encoded.sample_part, rng) for _ in range(_DRAWN)]
    moved, rotations = (torch.stack(parts) for parts in zip(*motions, strict=True))
    found, _ = _decoded(encoded, _encoded_again(encoded, moved, rotations))
    return _rms(found - moved) / max(_rms(moved - start), 1e-9)


def _made_up_motion(start: Tensor, part: np.ndarray, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Samples (s, 3) and how they are turned (s, 3, 3)."""
    labels = np.unique(part)
    if len(labels) > 1:
        share = torch.from_numpy(part == rng.choice(labels)).to(start)
    else:
        direction = torch.from_numpy(rng.normal(size=3)).to(start)
        share = torch.sigmoid(8 * (start @ direction) / direction.norm())
    chance = share.double().cpu().numpy()
    hinge = start[rng.choice(len(start), p=chance / chance.sum())]
    axis = torch.from_numpy(rng.normal(size=3)).to(start)
    turn = quaternion_matrix(quaternion_exp(share.unsqueeze(-1) * rng.uniform(-_ANGLE, _ANGLE) * axis / axis.norm()))
    shift = share.unsqueeze(-1) * torch.from_numpy(rng.normal(size=3) * _SHIFT).to(start)
    return (turn @ (start - hinge).unsqueeze(-1)).squeeze(-1) + hinge + shift, turn


def _condition(encoded: EncodedObject, subspace: ActiveSubspace) -> float:
    """By central differences; steps of a hundredth of a standard deviation are well above the rounding of single precision."""
    step = 0.01
    steps = step * subspace.basis.T.reshape(-1, *encoded.rest.shape)
    there, _ = _decoded(encoded, torch.cat([encoded.rest + steps, encoded.rest - steps]))
    ahead, behind = there.double().chunk(2)
    jacobian = ((ahead - behind) / (2 * step)).flatten(1)
    return float(torch.linalg.cond(jacobian @ jacobian.T))


def _strain(start: Tensor, there: Tensor, part: np.ndarray) -> float:
    """Root mean square change of the distance of each sample to its nearest ones of its part, over that distance."""
    points = start.double().numpy()
    _, near = cKDTree(points).query(points, k=min(_NEIGHBOURS + 1, len(points)))
    first, second = np.repeat(np.arange(len(points)), near.shape[1] - 1), near[:, 1:].ravel()
    same = part[first] == part[second]
    first, second = first[same], second[same]
    if len(first) == 0:
        return 0.0
    before = (start[first] - start[second]).norm(dim=-1)
    after = (there[:, first] - there[:, second]).norm(dim=-1)
    return float(((after - before) / before.clamp_min(1e-3)).square().mean().sqrt())


def _rms(vectors: Tensor) -> float:
    return float(vectors.square().sum(-1).mean().sqrt())


@dataclass(frozen=True)
class Verdict:
    """How well one signal tells bad objects from good ones."""

    auroc: float | None
    """The chance that it warns more of a bad object than of a good one; None where all are alike."""
    threshold: float | None
    """Where the share of bad objects found, less that of good ones flagged, is largest."""
    found: float | None
    """Share of the bad objects beyond the threshold."""
    flagged: float | None
    """Share of the good objects beyond it."""


def verdict(name: str, values: Sequence[float], bad: Sequence[bool]) -> Verdict:
    """Of one signal of some objects, see `SMALL_IS_BAD`; a value that is not finite warns most."""
    sign = -1.0 if name in SMALL_IS_BAD else 1.0
    warning: Floats = sign * np.asarray(values, np.float64)
    warning = np.where(np.isfinite(warning), warning, np.inf)
    is_bad = np.asarray(bad, bool)
    auroc = area_under_curve(list(warning), list(is_bad))
    if auroc is None:
        return Verdict(None, None, None, None)
    beyond = [(float((warning[is_bad] >= t).mean()), float((warning[~is_bad] >= t).mean()), t) for t in np.unique(warning)]
    found, flagged, threshold = max(beyond, key=lambda each: each[0] - each[1])
    return Verdict(auroc, sign * float(threshold), found, flagged)


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
