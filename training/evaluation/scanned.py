"""Objects as a camera sees them: meshes that reconstruction makes from simulated single-view scans."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.spatial import cKDTree

from neurok_ros.errors import NeurokError
from neurok_ros.reconstruction import ReconstructionWorker
from training.data.reconstructed.scan import RADIUS, reconstructed, side_that_moves
from training.evaluation.cache import Cache
from training.evaluation.objects import EvaluationObject, Floats, Ints, MaterialPoints, unit_object

_LEAST_MOTION = 0.2
"""Of the true object's: below that the camera has missed what moves, and the rest pose would count as a success."""
_TRACKED = 20000
"""Material points whose nearest tells where a point of the reconstructed surface goes."""


def scanned_objects(
    objects: Sequence[EvaluationObject], cache: Cache, on_object: Callable[[str], None] = print
) -> tuple[list[EvaluationObject], list[str]]:
    """Each object once more, as reconstructed from one side, moving as the nearest points of the true surface do; and those
    that could not be reconstructed, or only what does not move of them, in words. Reconstruction runs in a process of its own.

    Args:
        objects: standing on the plane below their lowest vertex, z up.
        cache: of scans.
        on_object: told the name of each object before it is scanned.
    """
    made: list[EvaluationObject] = []
    failed: list[str] = []
    with ExitStack() as stack:
        worker = _lazy_worker(stack)
        for given in objects:
            on_object(given.name)
            found = cache.scanned(given, partial(_seen, worker, given))
            if isinstance(found, str):
                failed.append(found)
            else:
                made.append(found)
    return made, failed


def _lazy_worker(stack: ExitStack) -> Callable[[], ReconstructionWorker]:
    """The worker, started when it is first asked for and stopped with the stack."""
    started: list[ReconstructionWorker] = []

    def get() -> ReconstructionWorker:
        if not started:
            started.append(stack.enter_context(ReconstructionWorker()))
        return started[0]

    return get


def _seen(worker: Callable[[], ReconstructionWorker], given: EvaluationObject) -> EvaluationObject | str:
    name = f"scanned/{given.name}"
    try:
        found = _rescanned(worker(), given, name)
    except NeurokError as error:
        return f"{name}: {error}"
    if _motion(found) < _LEAST_MOTION * _motion(given):
        return f"{name}: what moves was not reconstructed"
    return found


def _motion(given: EvaluationObject) -> float:
    """How far the farthest vertex goes, on average over the target poses."""
    return float(np.linalg.norm(given.targets - given.vertices, axis=2).max(axis=1).mean())


def _rescanned(worker: ReconstructionWorker, given: EvaluationObject, name: str) -> EvaluationObject:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rest = given.surface.at(given.vertices)
    side = side_that_moves(rest, np.stack([given.surface.at(pose) for pose in given.targets]))
    seen = seen_mesh(worker, given.vertices, given.faces, side + rng.uniform(-0.7, 0.7), rng)
    targets, frames = (np.stack([seen.carried_to(pose) for pose in poses]) for poses in (given.targets, given.frames))
    return unit_object(name, seen.vertices, seen.faces, targets, frames)


@dataclass(frozen=True)
class SeenMesh:
    """What was reconstructed of a mesh, and how it goes along with it."""

    vertices: Floats
    """(n, 3) in the units of the true mesh."""
    faces: Ints
    """(m, 3)"""
    followed: MaterialPoints
    """The point of the true surface that each vertex is next to, ..."""
    offset: Floats
    """... and (n, 3) where it is from there."""

    def carried_to(self, pose: Floats) -> Floats:
        """(n, 3) where its vertices are when the true ones are at (v, 3)."""
        return self.followed.at(pose) + self.offset


def seen_mesh(
    worker: ReconstructionWorker, vertices: Floats, faces: np.ndarray, azimuth: float, rng: np.random.Generator
) -> SeenMesh:
    """What reconstruction makes of a scan of a mesh from one side; for the scan it gets a radius of about `RADIUS`.

    Args:
        worker: does it.
        vertices: (v, 3) of any size, z up, standing on the plane below its lowest vertex.
        faces: (f, 3).
        azimuth: radians about z from x, where the camera stands.
        rng: see `simulated_scan`.

    Raises:
        NeurokError: where nothing can be reconstructed.
    """
    tracked = MaterialPoints.random(vertices, faces, _TRACKED, 0)
    places = tracked.at(vertices)
    found, its_faces = reconstructed(worker, vertices, faces, places.mean(axis=0), RADIUS, azimuth, rng)
    _, nearest = cKDTree(places).query(found)
    followed = MaterialPoints(tracked.corners[nearest], tracked.weights[nearest])
    return SeenMesh(found, its_faces, followed, found - places[nearest])
