"""From pairs to tensors: each batch is a function of seed, step and process alone, so that a run can be taken up anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from training.pairs import Pair, PairSource

Sources = Sequence[tuple[float, PairSource]]


@dataclass(frozen=True)
class Batch:
    """b objects with t deformations of each, followed at n points."""

    points: Tensor
    """(b, n, 3)."""
    normals: Tensor
    """(b, n, 3)."""
    moved: Tensor
    """(b, t, n, 3)."""
    rotations: Tensor
    """(b, t, n, 3, 3)."""
    noise: Tensor
    """(b, t, K, F_token) standard normal, for the sample of the posterior."""

    def to(self, device: torch.device) -> Batch:
        """The same on another device."""
        return Batch(**{f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)})


def object_arrays(pairs: list[Pair]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points (n, 3), normals (n, 3), moved (t, n, 3) and rotations (t, n, 3, 3) of one object's pairs."""
    moved, rotations = np.stack([p.points1 for p in pairs]), np.stack([p.rotations for p in pairs])
    return pairs[0].points0, pairs[0].normals0, moved, rotations


@dataclass(frozen=True)
class BatchRecipe(Dataset[Batch]):
    """The batch of each step."""

    sources: Sources
    objects: int
    targets: int
    points: int
    latent: tuple[int, int]
    """K, F_token."""
    still_share: float
    seed: int
    rank: int

    def __getitem__(self, step: int) -> Batch:
        """The batch of a step, the same whenever it is asked for."""
        rng = np.random.default_rng([self.seed, step, self.rank])
        shares = np.array([share for share, _ in self.sources])
        chosen = rng.choice(len(shares), self.objects, p=shares / shares.sum())
        made = [object_arrays(self.sources[i][1].sample(rng, self.points, self.targets)) for i in chosen]
        points, normals, moved, rotations = (np.stack(arrays) for arrays in zip(*made, strict=True))
        still = rng.random((self.objects, self.targets)) < self.still_share
        moved[still] = np.broadcast_to(points[:, None], moved.shape)[still]
        rotations[still] = np.eye(3, dtype=rotations.dtype)
        noise = rng.standard_normal((self.objects, self.targets, *self.latent), np.float32)
        return Batch(*(torch.from_numpy(np.asarray(a, np.float32)) for a in (points, normals, moved, rotations, noise)))

    def from_step(self, first: int, end: int, workers: int) -> Iterator[Batch]:
        """The batches of steps `first` to `end`, made by so many processes beside this one."""
        loader = DataLoader(self, batch_size=None, sampler=range(first, end), num_workers=workers)
        return iter(loader)


@dataclass(frozen=True)
class HeldOut:
    """Fixed objects of one source, never trained on."""

    split: str
    source: str
    batch: Batch


def held_out(split: str, sources: Sources, objects: int, targets: int, points: int, latent: tuple[int, int]) -> list[HeldOut]:
    """About `objects` objects of a split, as many of each source, the same on every machine and in every run."""
    count = max(1, round(objects / max(1, len(sources))))
    recipes = [
        BatchRecipe([(1.0, source)], count, targets, points, latent, 0.0, 982451653, i) for i, (_, source) in enumerate(sources)
    ]
    return [HeldOut(split, source.name, recipe[0]) for recipe, (_, source) in zip(recipes, sources, strict=True)]
