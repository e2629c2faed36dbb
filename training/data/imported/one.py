"""A source of a single object."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from training.pairs import Pair


class _HasPairs(Protocol):
    def pairs(self, rng: np.random.Generator, points: int, targets: int) -> list[Pair]:
        """`targets` pairs that share frame 0."""


class OneObject:
    """Pairs of one object, as `training.pairs.PairSource` wants them."""

    stretchable = False
    scanned = False

    def __init__(self, name: str, made: _HasPairs) -> None:
        self.name = name
        self.made = made

    def sample(self, rng: np.random.Generator, points: int, targets: int = 1) -> list[Pair]:
        """See `training.pairs.PairSource`."""
        return self.made.pairs(rng, points, targets)
