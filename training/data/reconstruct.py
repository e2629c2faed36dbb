"""Scan articulated objects as a robot's camera would, reconstruct them, and keep what comes out: resumable, one file an object.

`python -m training.data.reconstruct out/reconstructed --count 1500`
"""

from __future__ import annotations

import atexit
import multiprocessing
import zlib
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from scipy.spatial import cKDTree

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.geometry.driving import connected_parts
from neurok_ros.geometry.sampling import sample_surface
from neurok_ros.reconstruction import ReconstructionWorker
from training.data.articulated.categories import articulated_sources
from training.data.articulated.mechanism import Mechanism
from training.data.articulated.source import ArticulatedObject, ArticulatedSource, JointedPoints
from training.data.files import file_name, unmade
from training.data.reconstructed.scan import reconstructed, side_that_moves
from training.data.reconstructed.store import ReconstructedObject
from training.sampling import Floats

KEPT = "kept"
NOT_THE_OBJECTS_FAULT = (ErrorCode.NODE_INACTIVE, ErrorCode.WORKER_DIED, ErrorCode.OUT_OF_MEMORY)
POINTS = 1024
"""Kept of each object."""
_RADII = (0.1, 0.22)
"""Metres, of what stands before the camera."""
_TRACKED = 16000
"""Points of the true surface, the nearest of which says what a reconstructed point goes along with."""
_STATES = 8
"""Random ones, that say how much an object moves and where."""
_AT_REST = 0.7
"""Of the objects, those scanned with all joints at rest."""
_AROUND = 0.9
"""Radians to either side of where most of what moves is, from which the camera looks."""
_LEAST_SHARE = 0.3
"""Of what moves, by how far and how much of the surface: where less was reconstructed, the object is left out."""


@cache
def _worker() -> ReconstructionWorker:
    """One for each process, as long as it lives."""
    worker = ReconstructionWorker()
    worker.start()
    atexit.register(worker.close)
    return worker


def make_one(job: tuple[str, int], folder: Path) -> str:
    """Scan and reconstruct the object with this category and number and write its file; says what came of it."""
    category, number = job
    source = next(source for source in articulated_sources(False, False) if source.name == f"articulated/{category}")
    try:
        made = rebuilt(source, number, _worker())
    except NeurokError as error:
        if error.code in NOT_THE_OBJECTS_FAULT:
            raise
        return str(error.code)
    if made is None:
        return "what moves was not seen"
    made.save(folder / file_name(category, number))
    return KEPT


def rebuilt(source: ArticulatedSource, number: int, worker: ReconstructionWorker) -> ReconstructedObject | None:
    """What reconstruction makes of an object in one state; None where it lacks too much of what moves.

    Raises:
        NeurokError: where nothing can be reconstructed.
    """
    rng = np.random.default_rng([zlib.crc32(source.name.encode()), number, 2])
    given = source.fixed_object(number)
    mechanism = given.mechanism
    if not isinstance(mechanism, Mechanism):
        raise TypeError(f"{source.name} is not made of the joints that can be kept")
    values = mechanism.rest if rng.random() < _AT_REST else mechanism.random_values(rng)
    true = _tracked(given, rng)
    start = true.at(values)
    ends = np.stack([true.at(mechanism.random_values(rng)) for _ in range(_STATES)])
    azimuth = side_that_moves(start, ends) + rng.uniform(-_AROUND, _AROUND)
    vertices, radius = given.vertices(values), float(rng.uniform(*_RADII))
    found, faces = reconstructed(worker, vertices, given.surface.faces, start.mean(axis=0), radius, azimuth, rng)
    part = connected_parts(faces, len(found))[faces[:, 0]]
    samples = sample_surface(found, faces, POINTS, number, part)
    _, nearest = cKDTree(start).query(samples.points)
    surface = JointedPoints.from_state(
        mechanism, values, samples.points, samples.normals, true.link[nearest], part[samples.faces]
    )
    enough = _motion(surface, values, rng) >= _LEAST_SHARE * _motion(true, values, rng)
    return ReconstructedObject(mechanism, surface, values) if enough else None


def _tracked(given: ArticulatedObject, rng: np.random.Generator) -> JointedPoints:
    """Points all over an object's surface."""
    samples = given.surface.scatter(rng, _TRACKED)
    return JointedPoints(given.mechanism, samples.points, samples.normals, given.assembly.face_link[samples.faces], samples.part)


def _motion(surface: JointedPoints, values: Floats, rng: np.random.Generator) -> float:
    """Mean distance over points and random states."""
    start = surface.at(values)
    moved = [surface.at(surface.mechanism.random_values(rng)) - start for _ in range(_STATES)]
    return float(np.linalg.norm(np.stack(moved), axis=2).mean())


def missing(folder: Path, count: int) -> list[tuple[str, int]]:
    """The jobs (category, number) of `count` objects, shared among the categories in turn, whose files are not there yet."""
    categories = [source.name.partition("/")[2] for source in articulated_sources(False, False)]
    return unmade(folder, categories, count)


def main(
    out: Annotated[Path, typer.Argument(help="Folder of the files; what is there already is kept.")],
    count: Annotated[int, typer.Option(help="How many objects there shall be in all.")] = 1500,
    workers: Annotated[int, typer.Option(help="Processes; 0 for one a core.")] = 0,
) -> None:
    """Scan and reconstruct until there are COUNT articulated objects in OUT."""
    out.mkdir(parents=True, exist_ok=True)
    jobs = missing(out, count)
    columns = (TextColumn("reconstructing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    processes = workers or multiprocessing.cpu_count()
    with multiprocessing.get_context("spawn").Pool(processes) as pool, Progress(*columns) as progress:
        outcomes = Counter(progress.track(pool.imap_unordered(partial(make_one, folder=out), jobs), total=len(jobs)))
    left_out = ", ".join(f"{many} {why}" for why, many in outcomes.items() if why != KEPT)
    typer.echo(f"{outcomes[KEPT]} new objects in {out}; left out: {left_out or 'none'}; {count - len(jobs)} were there")


if __name__ == "__main__":
    typer.run(main)
