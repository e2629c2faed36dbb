"""Pairs of frames of articulated objects, with every point's exact motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from training.data.articulated.mechanism import Assembly, Kinematics, Mechanism
from training.data.framing import framed
from training.data.pool import Pool
from training.pairs import Pair
from training.sampling import Floats, Ints, Surface, SurfacePoints

Builder = Callable[[np.random.Generator], Mechanism]

APART_SHARE = 0.5
"""Of the objects, those whose links are left in the pieces that they were put together from."""


class ArticulatedObject:
    """A mechanism with its surface."""

    def __init__(self, mechanism: Kinematics, assembly: Assembly, seed: Sequence[int]) -> None:
        """`seed` says which points of the surface are looked at."""
        self.mechanism = mechanism
        self.assembly = assembly
        self._points = SurfacePoints(self.assembly.surface, seed)
        self._followed: dict[int, JointedPoints] = {}

    def vertices(self, values: Floats) -> Floats:
        """The mesh's vertices (v, 3) for the coordinates' values (coordinates,)."""
        poses = self.mechanism.poses(values)[self.assembly.vertex_link]
        return _apply(poses, self.assembly.surface.vertices)

    @property
    def surface(self) -> Surface:
        """The mesh in the state where every coordinate is 0."""
        return self.assembly.surface

    def pairs(self, rng: np.random.Generator, points: int, targets: int) -> list[Pair]:
        """`targets` pairs that share frame 0: a random state, at rest every other time."""
        if points not in self._followed:
            samples = self._points(points)
            link = self.assembly.face_link[samples.faces]
            self._followed[points] = JointedPoints(self.mechanism, samples.points, samples.normals, link, samples.part)
        values = self.mechanism.rest if rng.random() < 0.5 else self.mechanism.random_values(rng)
        return self._followed[points].pairs(values, rng, targets)


@dataclass(frozen=True)
class JointedPoints:
    """Points of a mechanism's surface, in the state where every coordinate is 0."""

    mechanism: Kinematics
    points: Floats
    """(n, 3)."""
    normals: Floats
    """(n, 3) unit length."""
    link: Ints
    """(n,) what each of them goes along with."""
    part: Ints
    """(n,) the connected component of the surface that each of them is on."""

    @staticmethod
    def from_state(
        mechanism: Kinematics, values: Floats, points: Floats, normals: Floats, link: Ints, part: Ints
    ) -> JointedPoints:
        """From points (n, 3) with normals (n, 3) in the state `values` (coordinates,)."""
        poses = mechanism.poses(values)[link]
        back = poses[:, :3, :3].transpose(0, 2, 1)
        zero = np.einsum("pij,pj->pi", back, points - poses[:, :3, 3])
        return JointedPoints(mechanism, zero, np.einsum("pij,pj->pi", back, normals), link, part)

    def first(self, count: int) -> JointedPoints:
        """The first so many of the points."""
        return JointedPoints(self.mechanism, self.points[:count], self.normals[:count], self.link[:count], self.part[:count])

    def at(self, values: Floats) -> Floats:
        """(n, 3) where they are in the state `values` (coordinates,)."""
        return _apply(self.mechanism.poses(values)[self.link], self.points)

    @cached_property
    def reach(self) -> Floats:
        """(coordinates,) how far each coordinate alone moves the points from rest, root mean square over all of them."""
        rest = self.mechanism.rest
        start = self.at(rest)
        reach = np.empty(len(rest))
        for number, coordinate in enumerate(self.mechanism.coordinates):
            values = rest.copy()
            upward = coordinate.upper - coordinate.rest >= coordinate.rest - coordinate.lower
            values[number] = coordinate.upper if upward else coordinate.lower
            reach[number] = np.sqrt(np.square(self.at(values) - start).sum(axis=1).mean())
        return reach

    def pairs(self, values: Floats, rng: np.random.Generator, targets: int) -> list[Pair]:
        """`targets` pairs from the state `values` (coordinates,) to random ones."""
        mechanism, link = self.mechanism, self.link
        poses0 = mechanism.poses(values)
        points0 = _apply(poses0[link], self.points)
        normals0 = np.einsum("pij,pj->pi", poses0[link, :3, :3], self.normals)

        def frame(values1: Floats) -> tuple[Floats, Floats]:
            poses1 = mechanism.poses(values1)
            turns = poses1[:, :3, :3] @ poses0[:, :3, :3].transpose(0, 2, 1)
            return _apply(poses1[link], self.points), turns[link]

        ends = [_next_values(mechanism, values, self.reach, rng) for _ in range(targets)]
        fractions = rng.random(targets)
        between = [(float(f), *frame(values + f * (end - values))) for f, end in zip(fractions, ends, strict=True)]
        return framed(points0, normals0, [frame(end) for end in ends], self.part, between)


class ArticulatedSource:
    """Objects of one category."""

    stretchable = False
    scanned = False

    def __init__(self, category: str, builder: Builder, key: Sequence[int], instances: range | None) -> None:
        """`key` and an instance's number seed the builder; `instances` is a fixed set, or None for objects without end."""
        self.name = f"articulated/{category}"
        self._build = partial(build_object, builder, key)
        self._pool = Pool(self._build, instances, size=6, uses=16)

    def sample(self, rng: np.random.Generator, points: int, targets: int = 1) -> list[Pair]:
        """See `training.pairs.PairSource`."""
        return self._pool.draw(rng).pairs(rng, points, targets)

    def fixed_object(self, number: int) -> ArticulatedObject:
        """One object by its number, for pictures and evaluation."""
        return self._build(number)


def build_object(builder: Builder, key: Sequence[int], instance: int) -> ArticulatedObject:
    """The object with this number: always the same for the same key."""
    seed = (*key, instance)
    mechanism = builder(np.random.default_rng(seed))
    rng = np.random.default_rng([*seed, 1])
    return ArticulatedObject(mechanism, Assembly.of(mechanism, rng if rng.random() < APART_SHARE else None), seed)


def _next_values(mechanism: Kinematics, values: Floats, reach: Floats, rng: np.random.Generator) -> Floats:
    """Another state: all coordinates move, or, every other time, only a random one or two of them.

    Those that move little of the object are seldom among the few (as the square root of their reach says): a wheel that
    turns in its place shows next to nothing.
    """
    drawn = mechanism.random_values(rng)
    if len(values) > 2 and rng.random() < 0.5:
        weight = np.sqrt(reach) + 1e-9
        few = rng.choice(len(values), int(rng.integers(1, 3)), replace=False, p=weight / weight.sum())
        changed: Floats = values.copy()
        changed[few] = drawn[few]
        return changed
    return drawn


def _apply(poses: Floats, points: Floats) -> Floats:
    return np.asarray(np.einsum("pij,pj->pi", poses[:, :3, :3], points) + poses[:, :3, 3])
