"""Pairs of frames of rigid bodies that move freely, in groups and on their own."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from manifold3d import Manifold
from scipy.spatial.transform import Rotation

from training.data.articulated.mechanism import Assembly, Mechanism, rotation_about
from training.data.articulated.shapes import (
    ball,
    between,
    box,
    moved,
    plate,
    ring,
    rod,
    rounded,
    tray,
    turned,
    unite,
    vessel,
    wire,
)
from training.data.framing import framed, without_rigid_motion
from training.data.pool import Pool
from training.pairs import Pair
from training.sampling import Floats, SurfacePoints


def solid(rng: np.random.Generator) -> Manifold:
    """A household thing without joints, about 0.1 in size, that stands on z = 0."""
    a, b, c = rng.uniform(0.03, 0.12, 3)
    radius = min(a, b) / 2
    kind = rng.choice(["box", "round box", "can", "mug", "bottle", "ball", "plate", "ring", "block", "tool", "letter"])
    if kind == "box":
        return between((-a / 2, -b / 2, 0), (a / 2, b / 2, c))
    if kind == "round box":
        return rounded((0, 0, c / 2), (a, b, c), 0.2 * min(a, b, c))
    if kind == "can":
        return rod((0, 0, 0), (0, 0, c), radius)
    if kind == "mug":
        near, far = radius - 0.003, radius + 0.025
        loop = wire([(near, 0, 0.8 * c), (far, 0, 0.7 * c), (far, 0, 0.3 * c), (near, 0, 0.2 * c)], 0.004)
        return unite([vessel([(radius, 0.0), (radius, c)], 0.004), loop])
    if kind == "bottle":
        return turned([(0.0, 0.0), (radius, 0.0), (radius, 0.6 * c), (0.4 * radius, 0.8 * c), (0.4 * radius, c), (0.0, c)])
    if kind == "ball":
        return ball((0, 0, radius), radius)
    if kind == "plate":
        return vessel([(0.6 * a, 0.0), (a, 0.2 * c)], 0.004)
    if kind == "ring":
        return moved(ring(a, 0.2 * a), (0, 0, 0.2 * a))
    if kind == "block":
        return between((-a / 2, -b / 2, 0), (a / 2, b / 2, c)) - between((-a, -b / 4, 0.4 * c), (a, b / 4, 2 * c))
    if kind == "tool":
        head = box((0, 0, 0.015), (0.03, 0.4 * b, 0.03))
        return unite([head, rod((0, 0, 0.015), (2 * a, 0, 0.015), 0.008)])
    outline = [(0.0, 0.0), (a, 0.0), (a, 0.3 * b), (0.4 * a, 0.3 * b), (0.4 * a, b), (0.0, b)]
    return moved(plate(outline, 0.3 * c), (-0.3 * a, -0.3 * b, 0.15 * c))


class RigidScene:
    """One to six bodies, each of which may move in its own way."""

    def __init__(self, bodies: Sequence[Manifold], mobile: Sequence[bool], seed: Sequence[int]) -> None:
        mechanism = Mechanism()
        for body in bodies:
            mechanism.base(body)
        self.assembly = Assembly.of(mechanism)
        self._mobile = np.array(mobile)
        self._points = SurfacePoints(self.assembly.surface, seed)

    def poses(self, rng: np.random.Generator) -> Floats:
        """(bodies, 4, 4): a turn about the body's own middle and a shift; bodies that stand still keep the identity."""
        size = float(np.ptp(self.assembly.surface.vertices, axis=0).max())
        poses = np.tile(np.eye(4), (len(self._mobile), 1, 1))
        together = rng.random() < 0.25
        shared = rng.normal(0, 0.25, 3) * size
        for number in np.flatnonzero(self._mobile):
            if rng.random() < 0.15:
                continue
            middle = self.assembly.surface.vertices[self.assembly.vertex_link == number].mean(axis=0)
            turn = self._turn(rng)
            shift = shared if together else rng.normal(0, 0.25, 3) * size * (rng.random(3) < 0.7)
            poses[number, :3, :3] = turn
            poses[number, :3, 3] = middle + shift - turn @ middle
        return poses

    @property
    def standing(self) -> bool:
        """Whether some body stays where it is; otherwise only motion relative to the whole counts."""
        return not bool(self._mobile.all())

    @staticmethod
    def _turn(rng: np.random.Generator) -> Floats:
        kind = rng.random()
        if kind < 0.3:
            return np.eye(3)
        if kind < 0.6:
            return rotation_about(np.array([0.0, 0.0, 1.0]), float(rng.uniform(-np.pi, np.pi)))
        if kind < 0.85:
            return np.asarray(Rotation.from_rotvec(rng.normal(0, 0.4, 3)).as_matrix())
        return np.asarray(Rotation.random(rng=rng).as_matrix())

    def vertices(self, poses: Floats) -> Floats:
        """The mesh's vertices (v, 3) with the bodies at poses (bodies, 4, 4)."""
        return _apply(poses[self.assembly.vertex_link], self.assembly.surface.vertices)

    def pairs(self, rng: np.random.Generator, points: int, targets: int) -> list[Pair]:
        """`targets` pairs that share frame 0: as built every other time, moved about otherwise. A single body never moves."""
        samples = self._points(points)
        link = self.assembly.face_link[samples.faces]
        still = np.tile(np.eye(4), (len(self._mobile), 1, 1))
        first = still if rng.random() < 0.5 else self.poses(rng)
        points0, normals0 = _apply(first[link], samples.points), np.einsum("pij,pj->pi", first[link, :3, :3], samples.normals)
        moves = [self.poses(rng) @ np.linalg.inv(first) for _ in range(targets)]
        frames = [(_apply(move[link], points0), move[link, :3, :3]) for move in moves]
        if not self.standing:
            frames = [without_rigid_motion(points0, *frame) for frame in frames]
        return framed(points0, normals0, frames, samples.part)


class RigidSource:
    """Scenes of one kind."""

    stretchable = False
    scanned = False

    def __init__(self, kind: str, key: Sequence[int], instances: range | None) -> None:
        """`key` and an instance's number seed the scene; `instances` is a fixed set, or None for scenes without end."""
        self.name = f"rigid/{kind}"
        self._build = partial(_build, SCENES[kind], key)
        self._pool = Pool(self._build, instances, size=12, uses=8)

    def sample(self, rng: np.random.Generator, points: int, targets: int = 1) -> list[Pair]:
        """See `training.pairs.PairSource`."""
        return self._pool.draw(rng).pairs(rng, points, targets)

    def fixed_object(self, number: int) -> RigidScene:
        """One scene by its number, for pictures and evaluation."""
        return self._build(number)


def _build(kind: SceneKind, key: Sequence[int], instance: int) -> RigidScene:
    seed = (*key, instance)
    bodies, mobile = kind(np.random.default_rng(seed))
    return RigidScene(bodies, mobile, seed)


SceneKind = Callable[[np.random.Generator], tuple[list[Manifold], list[bool]]]


def single(rng: np.random.Generator) -> tuple[list[Manifold], list[bool]]:
    """One thing without joints."""
    return [solid(rng)], [True]


def stack(rng: np.random.Generator) -> tuple[list[Manifold], list[bool]]:
    """Two to five bodies on each other, the lowest mostly at rest."""
    bodies: list[Manifold] = []
    height = 0.0
    for _ in range(int(rng.integers(2, 6))):
        body = solid(rng)
        box_of = body.bounding_box()
        bodies.append(moved(body, (*rng.uniform(-0.01, 0.01, 2), height - box_of[2])))
        height += box_of[5] - box_of[2] + 0.0005
    return bodies, [rng.random() < 0.4, *[True] * (len(bodies) - 1)]


def table(rng: np.random.Generator) -> tuple[list[Manifold], list[bool]]:
    """A board, a tray or a shelf that stands still, with things on it that can be moved."""
    wide, deep = rng.uniform(0.25, 0.45, 2)
    board = between((-deep / 2, -wide / 2, -0.015), (deep / 2, wide / 2, 0))
    if rng.random() < 0.5:
        board = tray((-deep / 2, -wide / 2, -0.01), (deep / 2, wide / 2, 0.03), 0.01)
    bodies = [board]
    places = [(x, y) for x in (-0.25, 0.25) for y in (-0.3, 0.0, 0.3)]
    for i in rng.permutation(len(places))[: int(rng.integers(1, 5))]:
        body = solid(rng)
        low, high = np.array(body.bounding_box()).reshape(2, 3)
        shrink = min(1.0, 0.3 * wide / float((high - low)[:2].max()))
        x, y = places[int(i)]
        shift = (x * deep - shrink * (low[0] + high[0]) / 2, y * wide - shrink * (low[1] + high[1]) / 2, 0.0005 - shrink * low[2])
        bodies.append(moved(body.scale([shrink] * 3), shift))
    return bodies, [False, *[True] * (len(bodies) - 1)]


SCENES: dict[str, SceneKind] = {"single": single, "stack": stack, "table": table}


def rigid_sources(held_out_instances: bool) -> list[RigidSource]:
    """One source a kind of scene; endless scenes, or the fixed ones that are kept for judging, where something can be judged."""
    fixed = range(32) if held_out_instances else None
    kinds = [kind for kind in SCENES if not (held_out_instances and kind == "single")]
    return [RigidSource(kind, (zlib.crc32(kind.encode()), 4 + int(held_out_instances)), fixed) for kind in kinds]


def _apply(poses: Floats, points: Floats) -> Floats:
    return np.asarray(np.einsum("pij,pj->pi", poses[:, :3, :3], points) + poses[:, :3, 3])
