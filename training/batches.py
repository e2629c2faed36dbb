"""From pairs to tensors: each batch is a function of seed, step and process alone, so that a run can be taken up anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from scipy.spatial.transform import Rotation
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from neurok_ros.kinematics.neurok.surface import Surface
from training.augment import scanned, stretched
from training.pairs import Pair, PairSource, Waypoint

Sources = Sequence[tuple[float, PairSource]]

_JUDGING_SEED = 982451653
"""Of the held-out sets; training draws with small seeds."""
SCAN_POINTS = 2
"""Points on the whole surface for each that a scan keeps."""
TILT = 0.1
"""Radians, standard deviation about each horizontal axis: objects stand upright, but not exactly."""


@dataclass(frozen=True)
class Batch:
    """b objects with t deformations of each, followed at n points."""

    points: Tensor
    """(b, n, 3)."""
    normals: Tensor
    """(b, n, 3)."""
    part: Tensor
    """(b, n) int64: the connected part of each point, labels from 0 to n - 1."""
    moved: Tensor
    """(b, t, n, 3)."""
    rotations: Tensor
    """(b, t, n, 3, 3)."""
    noise: Tensor
    """(b, t, K, F_token) standard normal, for the sample of the posterior."""
    fraction: Tensor
    """(b, t) of the way to each deformation; one where the way is not known."""
    between: Tensor
    """(b, t, n, 3) there."""
    between_rotations: Tensor
    """(b, t, n, 3, 3) there."""

    @property
    def surface(self) -> Surface:
        """The points as the network sees them."""
        return Surface.of(self.points, self.normals, self.part)

    def to(self, device: torch.device) -> Batch:
        """The same on another device."""
        return Batch(**{f.name: getattr(self, f.name).to(device, non_blocking=True) for f in fields(self)})


def object_arrays(pairs: list[Pair]) -> dict[str, np.ndarray]:
    """One object's pairs as the fields of a batch of one, without noise."""
    ways = [pair.waypoint or Waypoint(1.0, pair.points1, pair.rotations) for pair in pairs]
    return {
        "points": pairs[0].points0,
        "normals": pairs[0].normals0,
        "part": np.unique(pairs[0].part, return_inverse=True)[1].reshape(-1),
        "moved": np.stack([pair.points1 for pair in pairs]),
        "rotations": np.stack([pair.rotations for pair in pairs]),
        "fraction": np.array([way.fraction for way in ways]),
        "between": np.stack([way.points for way in ways]),
        "between_rotations": np.stack([way.rotations for way in ways]),
    }


def any_view(rng: np.random.Generator) -> np.ndarray:
    """An orthogonal matrix (3, 3): any turn about the vertical z, a tilt of about `TILT`, and every other time a mirror image."""
    turn = Rotation.from_rotvec([*rng.normal(0, TILT, 2), 0.0]) * Rotation.from_rotvec([0.0, 0.0, rng.uniform(0, 2 * np.pi)])
    mirror = np.array([1.0, rng.choice([-1.0, 1.0]), 1.0])
    return np.asarray(turn.as_matrix() * mirror)


@dataclass(frozen=True)
class BatchRecipe(Dataset[Batch]):
    """The batch of each step."""

    sources: Sources
    objects: int
    targets: int
    points: int
    latent: tuple[int, int]
    """K, F_token."""
    augment: bool
    """Whether each object is seen from any side (`any_view`)."""
    scan_share: float
    """Of the objects, those seen as scans (`training.augment.scanned`)."""
    seed: int
    rank: int

    def __getitem__(self, step: int) -> Batch:
        """The batch of a step, the same whenever it is asked for."""
        rng = np.random.default_rng([self.seed, step, self.rank])
        shares = np.array([share for share, _ in self.sources])
        chosen = rng.choice(len(shares), self.objects, p=shares / shares.sum())
        made = [object_arrays(self._pairs(self.sources[i][1], rng)) for i in chosen]
        fields = {name: np.stack([one[name] for one in made]) for name in made[0]}
        views = np.stack([any_view(rng) if self.augment else np.eye(3) for _ in chosen])
        back = views.swapaxes(-1, -2)
        for name in ("points", "normals"):
            fields[name] = fields[name] @ back
        for name in ("moved", "between"):
            fields[name] = fields[name] @ back[:, None]
        for name in ("rotations", "between_rotations"):
            fields[name] = views[:, None, None] @ fields[name] @ back[:, None, None]
        fields["noise"] = rng.standard_normal((self.objects, self.targets, *self.latent), np.float32)
        part = torch.from_numpy(fields.pop("part").astype(np.int64))
        return Batch(part=part, **{name: torch.from_numpy(values.astype(np.float32)) for name, values in fields.items()})

    def _pairs(self, source: PairSource, rng: np.random.Generator) -> list[Pair]:
        """One object's, shown as a mesh file or as a scan would show it."""
        if rng.random() < self.scan_share and not source.scanned:
            return scanned(source.sample(rng, SCAN_POINTS * self.points, self.targets), self.points, rng)
        pairs = source.sample(rng, self.points, self.targets)
        return stretched(pairs, rng) if self.augment and source.stretchable else pairs

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


def held_out(
    split: str,
    sources: Sources,
    objects: int,
    targets: int,
    points: int,
    latent: tuple[int, int],
    augment: bool,
) -> list[HeldOut]:
    """About `objects` objects of a split, as many of each source, the same on every machine and in every run."""
    count = max(1, round(objects / max(1, len(sources))))
    sets = []
    for i, (_, source) in enumerate(sources):
        recipe = BatchRecipe([(1.0, source)], count, targets, points, latent, augment, 0.0, _JUDGING_SEED, i)
        sets.append(HeldOut(split, source.name, recipe[0]))
    return sets
