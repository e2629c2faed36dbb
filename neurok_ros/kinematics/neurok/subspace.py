"""The few directions of the latent that matter for the shape (Sec. 4.3).

Two criteria are active subspaces (Constantine 2015), the leading eigenvectors of the mean of g g^T over latents near the
rest state's, with g the gradient of
- `displacement`: G = ||delta_pred||_2, as in the paper;
- `kinetic`: v^T M^(1/2) delta_pred with random normal v, so that the mean is E[J^T M J], the latent's mean mass matrix.

The paper takes the mean over the whole prior. Near the rest state is better: see `SPREAD`.

- `motions`: the principal motions of shapes drawn from the prior (proper orthogonal decomposition, Sirovich 1987), and the
  latents that go along with them. A gradient says what an infinitely small step does, whether or not it is one that the object
  ever takes; here every latent is decoded and encoded again first, which leaves of it what an encoder finds in a shape;
- `both`: the first principal motions, filled up with what the `kinetic` gradients add to them. Objects that are like those of
  training are reached better by motions, other people's by gradients, and both better by both (docs/training.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Criterion = Literal["displacement", "kinetic", "motions", "both"]
Gradient = Literal["displacement", "kinetic"]
SPREAD = 0.5
"""Standard deviation of the latents, where the prior's is one. Of the rest pose's error, eight coordinates leave 0.36 with 0.5,
0.39 with 1, and 0.43 with the prior itself (12 held-out objects in two poses, `displacement`, a model that was half trained)."""


MOTIONS_SHARE = 2 / 3
"""Of the directions where motions and gradients are joined."""
_LEAST_NEW = 1e-3
"""Of a direction's length: what others lack of it, if it counts as one more."""


@dataclass(frozen=True)
class ActiveSubspace:
    """An orthonormal basis of the directions in which the latent moves the object most."""

    basis: Tensor
    """(k, k_q) orthonormal columns, the most important first."""
    importance: Tensor
    """(k_q,) eigenvalues, each a share of the sum of all: of squared gradients, or of squared motions."""


def active_subspace(
    displacements: Callable[[Tensor], Tensor],
    rest: Tensor,
    masses: Tensor,
    size: int,
    criterion: Gradient,
    samples: int = 128,
    seed: int = 0,
) -> ActiveSubspace:
    """The active subspace of latents N(rest, `SPREAD`^2).

    Args:
        displacements: from latents (s, k) to the displacements (s, n, 3) of sampled points from the scanned shape; row i of the
            result depends on row i of the latents alone.
        rest: (k,) the latent of the rest state.
        masses: (n,) of the points, any unit; the displacement criterion counts all points alike, as the paper does.
        size: k_q.
        criterion: what counts as moving much.
        samples: latents drawn; `size` at least.
        seed: equal seeds give equal subspaces.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = rest + SPREAD * torch.randn(samples, len(rest), generator=generator).to(rest)
    drawn.requires_grad_(True)
    with torch.enable_grad():
        moved = displacements(drawn)
        if criterion == "displacement":
            surrogate = moved.flatten(1).norm(dim=1)
        else:
            directions = torch.randn(moved.shape, generator=generator).to(moved)
            surrogate = (directions * moved * masses.to(moved).sqrt().unsqueeze(-1)).sum((1, 2))
        (gradients,) = torch.autograd.grad(surrogate.sum(), drawn)
    _, singular, directions = torch.linalg.svd(gradients, full_matrices=False)
    squares = singular.square()
    return ActiveSubspace(directions[:size].T.contiguous(), squares[:size] / squares.sum())


def principal_motions(latents: Tensor, displacements: Tensor, masses: Tensor, size: int) -> ActiveSubspace:
    """The subspace of the latents that the principal motions of some states go along with.

    With the singular value decomposition displacements * M^(1/2) = U S V^T, the directions are those of latents^T U: what each
    principal motion's amplitude is correlated with.

    Args:
        latents: (s, k) of the states, relative to the rest state's.
        displacements: (s, n, 3) from rest of sampled points in these states.
        masses: (n,) of the points, any unit.
        size: k_q; at most s.
    """
    weighted = displacements * masses.to(displacements).sqrt().unsqueeze(-1)
    amplitudes, singular, _ = torch.linalg.svd(weighted.flatten(1), full_matrices=False)
    directions, _ = torch.linalg.qr(latents.T @ amplitudes[:, :size])
    squares = singular.square()
    return ActiveSubspace(directions, squares[:size] / squares.sum())


def joined(motions: ActiveSubspace, gradients: ActiveSubspace, size: int) -> ActiveSubspace:
    """The first `MOTIONS_SHARE` of principal motions, and what gradients, the most important first, add to them.

    Args:
        motions: of `size` directions.
        gradients: an active subspace of `size` directions.
        size: k_q.
    """
    kept = math.ceil(MOTIONS_SHARE * size)
    basis = motions.basis[:, :kept]
    for direction in (*gradients.basis.T, *motions.basis[:, kept:].T):
        new = direction - basis @ (basis.T @ direction)
        length = float(new.norm())
        if basis.shape[1] < size and length > _LEAST_NEW:
            basis = torch.cat([basis, (new / length).unsqueeze(1)], dim=1)
    basis, _ = torch.linalg.qr(basis)
    return ActiveSubspace(basis, motions.importance)
