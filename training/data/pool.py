"""A rolling pool of objects: built when first needed, used a while, then replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T")


class Pool(Generic[T]):
    """Objects made from numbers: endlessly many, or a fixed few.

    The same number always gives the same object, whatever was drawn before; which numbers a stream draws depends on its
    generator alone, which object comes out also on how full the pool is.
    """

    def __init__(self, build: Callable[[int], T], instances: range | None, size: int = 16, uses: int = 32) -> None:
        """`instances`: the numbers of a fixed set, all kept once built; None for numbers without end, of which `size`
        objects are kept and each is replaced after `uses` draws."""
        self._build = build
        self._instances = instances
        self._uses = uses
        self._kept: dict[int, tuple[T, int]] = {}
        self._size = len(instances) if instances is not None else size

    def draw(self, rng: np.random.Generator) -> T:
        """One of the objects, each with the same chance."""
        slot = int(rng.integers(self._size))
        number = int(rng.integers(2**40)) if self._instances is None else self._instances[slot]
        found, uses = self._kept.get(slot, (None, 0))
        if found is None or (self._instances is None and uses >= self._uses):
            found, uses = self._build(number), 0
        self._kept[slot] = (found, uses + 1)
        return found
