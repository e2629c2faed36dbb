"""The few directions of the latent that matter for the shape (active subspace, Sec. 4.3; Constantine 2015).

Two criteria are the leading eigenvectors of the mean of g g^T over the latent's prior, with g the gradient by the latent of
- `displacement`: G = ||delta_pred||_2, as in the paper;
- `kinetic`: v^T M^(1/2) delta_pred with random normal v, so that the mean is E[J^T M J], the latent's mean mass matrix.

The third looks where states are, not where the prior is. A door's states lie many standard deviations along a way in the latent,
and the gradients at the prior's samples say little of its far end:
- `coded`: states are decoded, encoded again and moved on, a few times over, from samples of the prior. Of the span of their
  codes, those directions are kept that hold most of the displacement, in the metric E[J^T M J].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Criterion = Literal["displacement", "kinetic", "coded"]
SWEEPS = 5
"""How often states are decoded and encoded again."""
STRIDE = 1.6
"""By how much each sweep takes a code farther from the rest state."""
UNREST = 0.3
"""Standard deviation of the noise that each sweep adds to a code."""
FARTHEST = 3.0
"""Standard deviations: no number of a code is taken farther from the prior's mean."""


@dataclass(frozen=True)
class ActiveSubspace:
    """An orthonormal basis of the directions in which the latent moves the object most."""

    basis: Tensor
    """(k, k_q) orthonormal columns, the most important first."""
    importance: Tensor
    """(k_q,) eigenvalues, each a share of the sum of all."""


def active_subspace(
    displacements: Callable[[Tensor], Tensor],
    mean: Tensor,
    masses: Tensor,
    size: int,
    criterion: Criterion,
    samples: int = 128,
    seed: int = 0,
) -> ActiveSubspace:
    """The active subspace of latents around the prior N(mean, 1).

    Args:
        displacements: from latents (s, k) to the displacements (s, n, 3) of sampled points from the scanned shape; row i of the
            result depends on row i of the latents alone.
        mean: (k,) the prior's mean.
        masses: (n,) of the points, any unit; the displacement criterion counts all points alike, as the paper does.
        size: k_q.
        criterion: what counts as moving much; `coded` has a function of its own.
        samples: latents drawn; `size` at least.
        seed: equal seeds give equal subspaces.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = _normal(mean, samples, generator) + mean
    _, singular, directions = torch.linalg.svd(
        _gradients(displacements, drawn, masses, criterion, generator), full_matrices=False
    )
    squares = singular.square()
    return ActiveSubspace(directions[:size].T.contiguous(), squares[:size] / squares.sum())


def coded_subspace(
    displacements: Callable[[Tensor], Tensor],
    recode: Callable[[Tensor], Tensor],
    mean: Tensor,
    rest: Tensor,
    masses: Tensor,
    size: int,
    samples: int = 32,
    seed: int = 0,
) -> ActiveSubspace:
    """The subspace of the criterion `coded`.

    Args:
        displacements: see `active_subspace`.
        recode: from latents (s, k) to the posterior's means (s, k) of the states that they decode to.
        mean: (k,) the prior's mean.
        rest: (k,) the code of the rest state.
        masses: (n,) of the points, any unit.
        size: k_q.
        samples: chains of states.
        seed: equal seeds give equal subspaces.
    """
    generator = torch.Generator().manual_seed(seed)
    latents = _normal(mean, samples, generator) + mean
    gradients, codes = [_gradients(displacements, latents, masses, "kinetic", generator)], []
    for _ in range(SWEEPS):
        codes.append(recode(latents) - rest)
        onward = rest + STRIDE * codes[-1] + UNREST * _normal(mean, samples, generator)
        latents = mean + (onward - mean).clamp(-FARTHEST, FARTHEST)
    gradients.append(_gradients(displacements, latents, masses, "kinetic", generator))
    states = torch.cat(codes)
    _, singular, mixed = torch.linalg.svd(torch.cat(gradients) @ states.T, full_matrices=False)
    squares = singular.square()
    basis = torch.linalg.qr(states.T @ mixed[:size].T)[0]
    return ActiveSubspace(basis.contiguous(), squares[:size] / squares.sum())


def _gradients(
    displacements: Callable[[Tensor], Tensor], latents: Tensor, masses: Tensor, criterion: Criterion, generator: torch.Generator
) -> Tensor:
    """(s, k) of the criterion's function at latents (s, k)."""
    at = latents.clone().requires_grad_(True)
    with torch.enable_grad():
        moved = displacements(at)
        if criterion == "displacement":
            surrogate = moved.flatten(1).norm(dim=1)
        else:
            directions = torch.randn(moved.shape, generator=generator).to(moved)
            surrogate = (directions * moved * masses.to(moved).sqrt().unsqueeze(-1)).sum((1, 2))
        (gradients,) = torch.autograd.grad(surrogate.sum(), at)
    return gradients


def _normal(mean: Tensor, samples: int, generator: torch.Generator) -> Tensor:
    """(samples, k) standard normal numbers."""
    return torch.randn(samples, len(mean), generator=generator).to(mean)
