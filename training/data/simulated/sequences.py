"""Meshes with shared topology over time: their files, and pairs of their frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from training.data.deformed.source import polar_rotation
from training.data.files import files_by_kind
from training.data.framing import framed, without_rigid_motion
from training.data.pool import Pool
from training.pairs import Pair
from training.sampling import Floats, Ints, Surface, SurfacePoints

_LEVELS = 32767
"""Coordinates are kept as whole numbers up to this: a hundred thousandth of the object's size."""


@dataclass(frozen=True)
class MeshSequence:
    """One object in several frames; the first is the one it was made in."""

    vertices: Floats
    """(frames, v, 3)."""
    faces: Ints
    """(f, 3), closed and outward oriented."""
    fixed: bool
    """Whether something holds it in place; a free one's rigid motion is taken out of its pairs."""

    def save(self, path: Path) -> None:
        """Write a compressed npz file; it appears under its name only when it is whole."""
        center = (self.vertices.min(axis=(0, 1)) + self.vertices.max(axis=(0, 1))) / 2
        scale = np.abs(self.vertices - center).max() / _LEVELS
        unfinished = path.with_suffix(".part.npz")
        np.savez_compressed(
            unfinished,
            vertices=np.round((self.vertices - center) / scale).astype(np.int16),
            scale=scale,
            faces=self.faces.astype(np.int32),
            fixed=self.fixed,
        )
        unfinished.rename(path)

    @staticmethod
    def load(path: Path) -> MeshSequence:
        """Read what `save` wrote, centred."""
        with np.load(path) as found:
            vertices = found["vertices"].astype(np.float64) * float(found["scale"])
            return MeshSequence(vertices, found["faces"].astype(np.int64), bool(found["fixed"]))


class SequenceObject:
    """A sequence to draw pairs from."""

    def __init__(self, sequence: MeshSequence, part: Ints | None = None, seed: Sequence[int] = (0,)) -> None:
        """`part` (f,) is the connected component of each face; one component where None."""
        self.sequence = sequence
        faces = sequence.faces
        self.surface = Surface(sequence.vertices[0], faces, np.zeros(len(faces), np.int64) if part is None else part)
        self._points = SurfacePoints(self.surface, seed)

    def pairs(self, rng: np.random.Generator, points: int, targets: int) -> list[Pair]:
        """`targets` pairs that share frame 0: the first frame every third time, any frame otherwise."""
        samples = self._points(points)
        frames = self.sequence.vertices
        first = 0 if rng.random() < 1 / 3 else int(rng.integers(len(frames)))
        edges0 = face_frames(frames[first], self.sequence.faces[samples.faces])
        back = np.linalg.inv(edges0)
        points0 = self._at(first, samples.faces, samples.weights)
        moved = []
        for number in rng.choice(np.delete(np.arange(len(frames)), first), targets):
            gradient = face_frames(frames[number], self.sequence.faces[samples.faces]) @ back
            points1, rotations = self._at(int(number), samples.faces, samples.weights), polar_rotation(gradient)
            moved.append((points1, rotations) if self.sequence.fixed else without_rigid_motion(points0, points1, rotations))
        return framed(points0, edges0[:, :, 2] / np.linalg.norm(edges0[:, :, 2], axis=1, keepdims=True), moved, samples.part)

    def _at(self, frame: int, faces: Ints, weights: Floats) -> Floats:
        return np.asarray(np.einsum("pc,pcx->px", weights, self.sequence.vertices[frame][self.sequence.faces[faces]]))


class SequenceSource:
    """The sequences of some files."""

    stretchable = True
    scanned = False

    def __init__(self, name: str, paths: Sequence[Path], fixed_set: bool) -> None:
        """`fixed_set`: keep all of them in memory once read; otherwise a few at a time."""
        self.name = name
        self._paths = list(paths)
        self._pool = Pool(self._read, range(len(self._paths)) if fixed_set else None, size=12, uses=16)

    def sample(self, rng: np.random.Generator, points: int, targets: int = 1) -> list[Pair]:
        """See `training.pairs.PairSource`."""
        return self._pool.draw(rng).pairs(rng, points, targets)

    def fixed_object(self, number: int) -> SequenceObject:
        """One sequence by its number, for pictures and evaluation."""
        return self._read(number)

    def _read(self, number: int) -> SequenceObject:
        which = number % len(self._paths)
        return SequenceObject(MeshSequence.load(self._paths[which]), seed=(which,))


def simulated_sources(folder: Path, held_out_instances: bool) -> list[SequenceSource]:
    """One source a kind of the files that `training.data.simulate` wrote; every tenth file is kept for judging."""
    make = partial(SequenceSource, fixed_set=held_out_instances)
    return [make(f"simulated/{kind}", paths) for kind, paths in files_by_kind(folder, held_out_instances).items()]


def face_frames(vertices: Floats, faces: Ints) -> Floats:
    """(p, 3, 3) two edges of each triangle and its normal, as long as the square root of its doubled area, as columns.

    The product of one frame's with the inverse of another's is the deformation gradient of a thin skin.
    """
    a, b, c = np.moveaxis(vertices[faces], 1, 0)
    normal = np.cross(b - a, c - a)
    normal /= np.sqrt(np.linalg.norm(normal, axis=1, keepdims=True))
    return np.stack([b - a, c - a, normal], axis=2)
