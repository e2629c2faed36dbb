"""Fixed sets of objects to judge by: the same on every machine and in every run."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from neurok_ros.geometry.sampling import SurfaceSamples, sample_surface
from training.data import sources
from training.data.articulated.source import ArticulatedSource
from training.data.deformed.source import SoftSource
from training.data.framing import without_rigid_motion
from training.data.rigid.source import RigidSource
from training.data.simulated.sequences import SequenceSource
from training.pairs import PairSource

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
KnownSource = ArticulatedSource | SoftSource | RigidSource | SequenceSource
HeldOutName = Literal["held_out_instances", "held_out_categories"]

SURFACE_POINTS = 8192
"""Material points that the distances are measured on."""
FITTING_POINTS = 512
"""Material points that inverse kinematics sees."""
LONGEST_EDGE = 0.2
"""In units of the object: a large triangle cannot bend, and its corners alone would say where all of it goes."""
OWN_FRAMES = 48
"""Frames of its own motion that an oracle may learn an object from."""
_CENTERING_POINTS = 2048
_SEED = 20261130
_LEAST_MOTION = 0.05
_DRAWS = 12


@dataclass(frozen=True)
class EvaluationObject:
    """An object at rest and in other poses, every vertex followed.

    Lengths are in units of the object: the mean of its surface at rest is the origin, its farthest vertex at rest is at one.
    """

    name: str
    """Such as `articulated/oven/3`: its category is all before the last slash."""
    vertices: Floats
    """(n, 3) at rest."""
    faces: Ints
    """(m, 3) vertex indices, outward oriented where they enclose something."""
    targets: Floats
    """(t, n, 3) poses to be reached."""
    frames: Floats
    """(f, n, 3) other poses from the same distribution: what oracles may look at, and no other method."""

    @property
    def category(self) -> str:
        """What figures are averaged by, too."""
        return self.name.rpartition("/")[0]

    @cached_property
    def surface(self) -> MaterialPoints:
        """The points that errors are measured on."""
        return MaterialPoints.random(self.vertices, self.faces, SURFACE_POINTS, zlib.crc32(self.name.encode()))

    @cached_property
    def fitting(self) -> MaterialPoints:
        """The points that inverse kinematics sees."""
        samples = sample_surface(self.vertices, self.faces, FITTING_POINTS, zlib.crc32(self.name.encode()))
        return MaterialPoints.on(samples, self.vertices, self.faces)


@dataclass(frozen=True)
class MaterialPoints:
    """Points of a mesh's surface that go where their triangles go."""

    corners: Ints
    """(p, 3) vertex indices."""
    weights: Floats
    """(p, 3) barycentric coordinates."""

    def at(self, vertices: Floats) -> Floats:
        """(p, 3) where they are on a shape (n, 3) of the mesh."""
        return np.asarray(np.einsum("pc,pcx->px", self.weights, vertices[self.corners]))

    @staticmethod
    def vertices(count: int) -> MaterialPoints:
        """The mesh's vertices themselves."""
        corners = np.repeat(np.arange(count)[:, None], 3, axis=1)
        return MaterialPoints(corners, np.tile([1.0, 0.0, 0.0], (count, 1)))

    @staticmethod
    def random(rest: Floats, faces: Ints, count: int, seed: int) -> MaterialPoints:
        """Uniform over the surface, independent of each other."""
        rng = np.random.default_rng(seed)
        triangles = rest[faces]
        area = np.linalg.norm(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]), axis=1)
        face = rng.choice(len(faces), count, p=area / area.sum())
        root, other = np.sqrt(rng.random(count)), rng.random(count)
        return MaterialPoints(faces[face], np.stack([1 - root, root * (1 - other), root * other], axis=1))

    @staticmethod
    def on(samples: SurfaceSamples, vertices: Floats, faces: Ints) -> MaterialPoints:
        """The samples (p, 3) of a mesh."""
        a, b, c = np.moveaxis(vertices[faces[samples.faces]], 1, 0)
        normal = np.cross(b - a, c - a)
        twice = (normal**2).sum(axis=1)
        second = (np.cross(samples.points - a, c - a) * normal).sum(axis=1) / twice
        third = (np.cross(b - a, samples.points - a) * normal).sum(axis=1) / twice
        return MaterialPoints(faces[samples.faces], np.stack([1 - second - third, second, third], axis=1))


def unit_object(name: str, vertices: Floats, faces: Ints, targets: Floats, frames: Floats) -> EvaluationObject:
    """An object from poses in any unit: unused vertices dropped, shifted and scaled as `EvaluationObject` says, long edges split
    as they are in no reconstructed mesh."""
    used, own = np.unique(faces, return_inverse=True)
    own = own.reshape(faces.shape).astype(np.int64)
    poses = np.concatenate([vertices[None], targets, frames])[:, used]
    center = MaterialPoints.random(poses[0], own, _CENTERING_POINTS, 0).at(poses[0]).mean(axis=0)
    poses = (poses - center) / np.linalg.norm(poses[0] - center, axis=1).max()
    poses, own = refined(poses, own, LONGEST_EDGE)
    return EvaluationObject(name, poses[0], own, poses[1 : 1 + len(targets)], poses[1 + len(targets) :])


def refined(poses: Floats, faces: Ints, longest: float) -> tuple[Floats, Ints]:
    """Split the edges that are longer than `longest` at rest, again and again; a closed mesh stays closed.

    Args:
        poses: (k, n, 3) the vertices in several poses, the first at rest.
        faces: (m, 3) vertex indices.
        longest: in the unit of the vertices.
    """
    while True:
        sides = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        edges, edge = np.unique(sides, axis=0, return_inverse=True)
        split = np.linalg.norm(poses[0, edges[:, 0]] - poses[0, edges[:, 1]], axis=1) > longest
        if not split.any():
            return poses, faces
        middle = np.where(split, poses.shape[1] + np.cumsum(split) - 1, -1)
        added = poses[:, edges[split]].mean(axis=2)
        faces = _split_faces(faces, middle[edge.reshape(-1, 3)])
        poses = np.concatenate([poses, added], axis=1)


def _split_faces(faces: Ints, middles: Ints) -> Ints:
    """Triangles (., 3) in place of triangles (m, 3) whose sides have new vertices (m, 3) in their middles, or -1."""
    count = (middles >= 0).sum(axis=1)
    # Turn each triangle so that its split sides come first.
    first = np.where(count == 1, middles.argmax(axis=1), np.where(count == 2, (middles.argmin(axis=1) + 1) % 3, 0))
    order = (first[:, None] + np.arange(3)) % 3
    (a, b, c), (p, q, r) = np.take_along_axis(faces, order, 1).T, np.take_along_axis(middles, order, 1).T
    none, one, two, three = (count == k for k in range(4))
    pieces = [
        (none, (a, b, c)),
        *((one, corners) for corners in ((a, p, c), (p, b, c))),
        *((two, corners) for corners in ((p, b, q), (a, p, q), (a, q, c))),
        *((three, corners) for corners in ((a, p, r), (p, b, q), (r, q, c), (p, q, r))),
    ]
    return np.concatenate([np.stack(corners, axis=1)[chosen] for chosen, corners in pieces])


def held_out_objects(split: HeldOutName, count: int, poses: int) -> tuple[list[EvaluationObject], list[str]]:
    """About `count` objects of a split, as evenly from its sources as can be, in `poses` poses each; and the sources that no
    objects can be taken from, in words.

    With fewer objects than sources, sources are left out evenly over the list.
    """
    found = [source for _, source in sources(split)]
    known = [source for source in found if isinstance(source, get_args(KnownSource))]
    missing = [f"{source.name}: its motion is known at sampled points only" for source in found if source not in known]
    chosen = [known[i * len(known) // count] for i in range(count)] if count < len(known) else known
    each = max(1, round(count / max(1, len(chosen))))
    return [posed(source, number, poses) for source in chosen for number in range(each)], missing


def posed(source: PairSource, number: int, poses: int) -> EvaluationObject:
    """One fixed object of a source of training data, in `poses` poses."""
    if isinstance(source, ArticulatedSource):
        return articulated(source, number, poses)
    if isinstance(source, SoftSource):
        return soft(source, number, poses)
    if isinstance(source, RigidSource):
        return rigid(source, number, poses)
    if isinstance(source, SequenceSource):
        return sequence(source, number, poses)
    raise TypeError(f"{source.name} has no fixed objects")


def articulated(source: ArticulatedSource, number: int, poses: int) -> EvaluationObject:
    """A mechanism, at rest and in random states of its coordinates."""
    made = source.fixed_object(number)
    rng = _generator(source.name, number)
    rest = made.vertices(made.mechanism.rest)
    moved = moved_poses(rest, lambda: made.vertices(made.mechanism.random_values(rng)), poses + OWN_FRAMES)
    return unit_object(f"{source.name}/{number}", rest, made.surface.faces, moved[:poses], moved[poses:])


def soft(source: SoftSource, number: int, poses: int) -> EvaluationObject:
    """A soft body, undeformed and under random deformations, without the motion of the whole."""
    made = source.fixed_object(number)
    rng = _generator(source.name, number)
    rest = made.surface.vertices

    def pose() -> Floats:
        there, jacobian = made.deform(rng, float(rng.uniform(0.3, 2.0)), rest)
        return without_rigid_motion(rest, there, jacobian)[0]

    moved = moved_poses(rest, pose, poses + OWN_FRAMES)
    return unit_object(f"{source.name}/{number}", rest, made.surface.faces, moved[:poses], moved[poses:])


def rigid(source: RigidSource, number: int, poses: int) -> EvaluationObject:
    """Separate bodies, as built and moved about."""
    made = source.fixed_object(number)
    rng = _generator(source.name, number)
    surface = made.assembly.surface
    turns = np.tile(np.eye(3), (len(surface.vertices), 1, 1))

    def pose() -> Floats:
        moved = made.vertices(made.poses(rng))
        return moved if made.standing else without_rigid_motion(surface.vertices, moved, turns)[0]

    moved = moved_poses(surface.vertices, pose, poses + OWN_FRAMES)
    return unit_object(f"{source.name}/{number}", surface.vertices, surface.faces, moved[:poses], moved[poses:])


def sequence(source: SequenceSource, number: int, poses: int) -> EvaluationObject:
    """A simulated body, in its first frame and in others, without the motion of the whole where it is free."""
    made = source.fixed_object(number).sequence
    rng = _generator(source.name, number)
    rest, others = made.vertices[0], made.vertices[1:]
    turns = np.tile(np.eye(3), (len(rest), 1, 1))

    def pose() -> Floats:
        moved = others[rng.integers(len(others))]
        return moved if made.fixed else without_rigid_motion(rest, moved, turns)[0]

    moved = moved_poses(rest, pose, poses + OWN_FRAMES)
    return unit_object(f"{source.name}/{number}", rest, made.faces, moved[:poses], moved[poses:])


def moved_poses(rest: Floats, draw: Callable[[], Floats], count: int) -> Floats:
    """(count, n, 3) random poses that are no rest pose: each the first of some draws that moves a vertex by `_LEAST_MOTION` of
    the box's diagonal, or the one that comes nearest to that."""
    least = _LEAST_MOTION * float(np.linalg.norm(np.ptp(rest, axis=0)))
    chosen = []
    for _ in range(count):
        best, farthest = rest, -1.0
        for _ in range(_DRAWS):
            pose = draw()
            far = float(np.linalg.norm(pose - rest, axis=1).max())
            if far > farthest:
                best, farthest = pose, far
            if far >= least:
                break
        chosen.append(best)
    return np.stack(chosen)


def _generator(name: str, number: int) -> np.random.Generator:
    return np.random.default_rng([_SEED, zlib.crc32(name.encode()), number])
