"""Pairs of frames of soft bodies, deformed by random smooth maps."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation

from training.data.articulated.mechanism import rotation_about
from training.data.deformed.bodies import BODIES, Body, body_surface
from training.data.deformed.maps import Cage, Chain, Dent, Linear, Rod, SpaceMap, Taper, Waves
from training.data.framing import framed, without_rigid_motion
from training.data.pool import Pool
from training.pairs import Pair
from training.sampling import Floats, SurfacePoints

_POLAR_ITERATIONS = 30
_MOST_STRETCH = 2.8
"""Maps that stretch or squeeze some point more than this are drawn again."""
_TRIES = 6
"""Each try is milder than the one before."""

_STATES = 15
"""Deformed states of a body; any two of them, or one and the body at rest, make a pair."""

Kind = Callable[[np.random.Generator, float], SpaceMap]


def bending(rng: np.random.Generator, strength: float) -> SpaceMap:
    """One bend along the body."""
    turn = rng.uniform(0, 2 * np.pi)
    curvature = strength * rng.uniform(0.5, 2.0) * np.array([np.cos(turn), np.sin(turn), 0.0])
    return Rod(-0.5, 1.0, curvature[None])


def rolling(rng: np.random.Generator, strength: float) -> SpaceMap:
    """A sheet, thin in x, rolled about some axis in its plane, evenly or more and more."""
    pieces = 16
    place = np.linspace(-1, 1, pieces)
    size = strength * rng.uniform(-4.0, 4.0) * (1 + rng.uniform(-1, 1) * place)
    curvature = np.stack([np.zeros(pieces), size, np.zeros(pieces)], axis=1)
    turn = rotation_about(np.array([1.0, 0.0, 0.0]), float(rng.uniform(0, np.pi)))
    return Chain([Linear(turn), Rod(-0.7, 1.4 / pieces, curvature), Linear(turn.T)])


def twisting(rng: np.random.Generator, strength: float) -> SpaceMap:
    """An even twist."""
    return Rod(-0.5, 1.0, np.array([[0.0, 0.0, strength * rng.uniform(-2.5, 2.5)]]))


def curling(rng: np.random.Generator, strength: float) -> SpaceMap:
    """Bends and twists that change along the body: a rope on the floor."""
    pieces = 24
    place = np.linspace(-0.5, 0.5, pieces)
    waves = rng.integers(0, 4, 3)
    phases = rng.uniform(0, 2 * np.pi, 3)
    size = strength * rng.uniform(0.5, 5.0) * np.array([1.0, rng.choice([0.0, 1.0]), 0.4])
    return Rod(-0.5, 1 / pieces, size * np.cos(2 * np.pi * place[:, None] * waves / 1.5 + phases))


def tapering(rng: np.random.Generator, strength: float) -> SpaceMap:
    """Thicker here, thinner there, longer or shorter."""
    stretch = float(np.exp(strength * rng.uniform(-0.5, 0.5)))
    return Taper(strength * rng.uniform(-0.9, 0.9), strength * rng.uniform(-1.2, 1.2), stretch)


def shearing(rng: np.random.Generator, strength: float) -> SpaceMap:
    """A shear in a random plane."""
    matrix = np.eye(3)
    i, j = rng.choice(3, 2, replace=False)
    matrix[i, j] = strength * rng.uniform(-0.8, 0.8)
    return Linear(matrix)


def free_form(rng: np.random.Generator, strength: float) -> SpaceMap:
    """A cage of 3 or 4 control points a side, moved at random."""
    counts = rng.integers(3, 5, 3)
    return Cage(np.full(3, -0.55), np.full(3, 0.55), strength * rng.normal(0, 0.16, (*counts, 3)))


def rippling(rng: np.random.Generator, strength: float) -> SpaceMap:
    """Waves across the thin direction x of a sheet."""
    count = int(rng.integers(1, 5))
    numbers = rng.normal(0, 5.0, (count, 3))
    numbers[:, 0] = 0
    sizes = strength * rng.normal(0, 0.5, count) / np.maximum(np.linalg.norm(numbers, axis=1), 2.0)
    return Waves(numbers, sizes, rng.uniform(0, 2 * np.pi, count), 0)


def dented(rng: np.random.Generator, strength: float) -> SpaceMap:
    """One to three dents or bumps."""
    dents = []
    for _ in range(int(rng.integers(1, 4))):
        way = rng.normal(size=3)
        radius = rng.uniform(0.12, 0.35)
        dents.append(
            Dent(rng.uniform(-0.35, 0.35, 3), strength * 0.9 * radius * rng.uniform(0.3, 1.0) * way / np.linalg.norm(way), radius)
        )
    return Chain(dents)


KINDS: dict[str, Sequence[Kind]] = {
    "block": (bending, twisting, tapering, shearing, free_form, dented),
    "blob": (bending, twisting, tapering, shearing, free_form, dented),
    "cylinder": (bending, twisting, tapering, shearing, free_form, curling),
    "glove": (rolling, free_form, rippling, free_form),
    "hoop": (bending, twisting, free_form, shearing),
    "plant": (bending, curling, free_form),
    "plush": (bending, twisting, free_form, free_form, dented),
    "quadruped": (bending, free_form, free_form, twisting),
    "rope": (curling, curling, bending),
    "sheet": (rolling, rippling, rolling, rippling, free_form),
}
"""Which deformations suit each kind of body."""
_ONE_AT_A_TIME = ("rope",)
"""Kinds so long and thin that a second map would tear what the first has bent aside."""
_ANY_AXES = ("block", "blob", "plush", "quadruped", "hoop")
"""Kinds that are bent and twisted about any axis, not only about their longest."""


class SoftObject:
    """One body, and the deformations that it is seen in."""

    def __init__(self, kind: str, body: Body, seed: Sequence[int]) -> None:
        rng = np.random.default_rng(seed)
        self.surface = body_surface(body(rng))
        self._kinds = KINDS[kind]
        self._any_axes = kind in _ANY_AXES
        self._most = 1 if kind in _ONE_AT_A_TIME else 3
        self._points = SurfacePoints(self.surface, seed)
        self._seed = seed
        self._seen: dict[int, list[tuple[Floats, Floats]]] = {}

    def deform(self, rng: np.random.Generator, strength: float, points: Floats) -> tuple[Floats, Floats]:
        """Points (n, 3) of the body under one to three random deformations, and the Jacobians there (n, 3, 3).

        Where some point would be squeezed or stretched too much, or turned inside out, the same deformations come milder.
        """
        chosen = [self._kinds[i] for i in rng.choice(len(self._kinds), int(rng.integers(1, self._most + 1)))]
        axes = Rotation.random(rng=rng).as_matrix() if self._any_axes and rng.random() < 0.6 else np.eye(3)
        seed = int(rng.integers(2**32))
        for attempt in range(_TRIES):
            own = np.random.default_rng(seed)
            made = [kind(own, strength * 0.7**attempt) for kind in chosen]
            moved, jacobian = Chain([Linear(axes), *made, Linear(axes.T)])(points)
            if _is_gentle(jacobian):
                return moved, jacobian
        return points, np.tile(np.eye(3), (len(points), 1, 1))

    def pairs(self, rng: np.random.Generator, points: int, targets: int) -> list[Pair]:
        """`targets` pairs that share frame 0, of the body's states: undeformed every other time, any state otherwise."""
        samples = self._points(points)
        states = self._states(points)
        first = 0 if rng.random() < 0.5 else int(rng.integers(len(states)))
        points0, jacobian0 = states[first]
        back = np.linalg.inv(jacobian0)
        normals0 = np.einsum("nji,nj->ni", back, samples.normals)
        normals0 /= np.linalg.norm(normals0, axis=1, keepdims=True)
        moved = []
        for number in rng.choice(np.delete(np.arange(len(states)), first), targets):
            points1, jacobian1 = states[number]
            moved.append(without_rigid_motion(points0, points1, polar_rotation(jacobian1 @ back)))
        return framed(points0, normals0, moved, samples.part)

    def _states(self, points: int) -> list[tuple[Floats, Floats]]:
        """The sampled points at rest and deformed, with the Jacobians there: made once for each number of points."""
        if points not in self._seen:
            rng = np.random.default_rng([*self._seed, points, 1])
            rest = self._points(points).points
            still = np.tile(np.eye(3), (points, 1, 1))
            deformed = [self.deform(rng, float(rng.uniform(0.2, 2.0)), rest) for _ in range(_STATES)]
            self._seen[points] = [(rest, still), *deformed]
        return self._seen[points]


class SoftSource:
    """Bodies of one kind."""

    stretchable = True
    scanned = False

    def __init__(self, kind: str, key: Sequence[int], instances: range | None) -> None:
        """`key` and an instance's number seed the body; `instances` is a fixed set, or None for bodies without end."""
        self.name = f"deformed/{kind}"
        self._build = partial(_build, kind, key)
        self._pool = Pool(self._build, instances, size=8, uses=12)

    def sample(self, rng: np.random.Generator, points: int, targets: int = 1) -> list[Pair]:
        """See `training.pairs.PairSource`."""
        return self._pool.draw(rng).pairs(rng, points, targets)

    def fixed_object(self, number: int) -> SoftObject:
        """One body by its number, for pictures and evaluation."""
        return self._build(number)


def _build(kind: str, key: Sequence[int], instance: int) -> SoftObject:
    return SoftObject(kind, BODIES[kind], (*key, instance))


def polar_rotation(gradients: Floats) -> Floats:
    """(n, 3, 3) the rotation in the polar decomposition of deformation gradients (n, 3, 3) of positive determinant.

    Newton's iteration, scaled by Frobenius norms (Higham 1986): three times as fast as singular value decompositions.
    """
    columns = np.moveaxis(gradients, -1, 0).astype(np.float64)
    for _ in range(_POLAR_ITERATIONS):
        cofactors = np.stack([_cross(columns[1], columns[2]), _cross(columns[2], columns[0]), _cross(columns[0], columns[1])])
        inverse = cofactors / np.einsum("nx,nx->n", columns[0], cofactors[0])[:, None]
        scale = np.sqrt(np.linalg.norm(inverse, axis=(0, 2)) / np.linalg.norm(columns, axis=(0, 2)))[:, None]
        following = 0.5 * (scale * columns + inverse / scale)
        change = np.abs(following - columns).max()
        columns = following
        if change < 1e-6:
            break
    return np.asarray(np.moveaxis(columns, 0, -1))


def _cross(a: Floats, b: Floats) -> Floats:
    """(n, 3) cross products."""
    x = a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1]
    y = a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2]
    z = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return np.stack([x, y, z], axis=1)


def _is_gentle(jacobian: Floats) -> bool:
    """Whether no point is turned inside out, and none stretched or squeezed too much: both by the Frobenius norm, an upper
    bound of the largest stretch."""
    if np.linalg.det(jacobian).min() <= 1e-3:
        return False
    most = max(float(np.einsum("nij,nij->n", each, each).max()) for each in (jacobian, np.linalg.inv(jacobian)))
    return most < 2 + _MOST_STRETCH**2


def soft_sources(held_out_instances: bool) -> list[SoftSource]:
    """One source a kind; endless bodies, or the fixed ones that are kept for judging."""
    fixed = range(32) if held_out_instances else None
    return [SoftSource(kind, (zlib.crc32(kind.encode()), 2 + int(held_out_instances)), fixed) for kind in BODIES]
