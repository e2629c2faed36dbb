"""Reconstructed objects on disk: points of their surface, and how each of them moves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from training.data.articulated.mechanism import Coordinate, Joint, Link, Mechanism
from training.data.articulated.source import JointedPoints
from training.data.files import files_by_kind
from training.data.pool import Pool
from training.pairs import Pair
from training.sampling import Floats


@dataclass(frozen=True)
class ReconstructedObject:
    """What reconstruction made of an articulated object in one state."""

    mechanism: Mechanism
    """Its joints; of its bodies nothing is left."""
    surface: JointedPoints
    """Its points, evenly spread (every first part of them too), each going along with the link whose surface is nearest."""
    values: Floats
    """(coordinates,) the state that it was scanned in."""

    def save(self, path: Path) -> None:
        """As .npz, with the joints as JSON. A file is there wholly or not at all."""
        mechanism, surface = self.mechanism, self.surface
        joints = {
            "links": [{"parent": link.parent, "joint": asdict(link.joint)} for link in mechanism.links],
            "coordinates": [asdict(coordinate) for coordinate in mechanism.coordinates],
        }
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            np.savez_compressed(
                file,
                points=surface.points.astype(np.float32),
                normals=surface.normals.astype(np.float32),
                link=surface.link.astype(np.int16),
                part=surface.part.astype(np.int16),
                values=self.values,
                joints=json.dumps(joints),
            )
        part.replace(path)

    @staticmethod
    def load(path: Path) -> ReconstructedObject:
        """What `save` wrote."""
        with np.load(path) as found:
            joints = json.loads(str(found["joints"]))
            links = [Link((), link["parent"], _joint(link["joint"])) for link in joints["links"]]
            mechanism = Mechanism(links, [Coordinate(**coordinate) for coordinate in joints["coordinates"]])
            points, normals = (found[name].astype(np.float64) for name in ("points", "normals"))
            link, part = (found[name].astype(np.int64) for name in ("link", "part"))
            return ReconstructedObject(mechanism, JointedPoints(mechanism, points, normals, link, part), found["values"])

    def pairs(self, rng: np.random.Generator, points: int, targets: int) -> list[Pair]:
        """`targets` pairs of its first so many points, from the state that it was scanned in."""
        return self.surface.first(points).pairs(self.values, rng, targets)


def _joint(values: dict[str, Any]) -> Joint:
    triples: dict[str, Any] = {name: tuple(values[name]) for name in ("axis", "origin")}
    return Joint(**{**values, **triples})


class ReconstructedSource:
    """The reconstructed objects of one category."""

    stretchable = False
    scanned = True

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        self.name = name
        self._paths = list(paths)
        self._pool = Pool(self._read, range(len(self._paths)))

    def sample(self, rng: np.random.Generator, points: int, targets: int = 1) -> list[Pair]:
        """See `training.pairs.PairSource`."""
        return self._pool.draw(rng).pairs(rng, points, targets)

    def fixed_object(self, number: int) -> ReconstructedObject:
        """One object by its place among the files, for pictures."""
        return self._read(number % len(self._paths))

    def _read(self, number: int) -> ReconstructedObject:
        return ReconstructedObject.load(self._paths[number])


def reconstructed_sources(folder: Path, held_out_instances: bool) -> list[ReconstructedSource]:
    """One source a category of the files that `training.data.reconstruct` wrote; every tenth file is kept for judging."""
    found = files_by_kind(folder, held_out_instances)
    return [ReconstructedSource(f"reconstructed/{category}", paths) for category, paths in found.items()]
