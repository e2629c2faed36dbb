"""What was judged once is not judged again: outcomes and scans on disk, by the hash of all that they depend on."""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from training.evaluation.judge import Outcome, on_object
from training.evaluation.methods import Method
from training.evaluation.metrics import Errors
from training.evaluation.objects import EvaluationObject

_ROOT = Path(__file__).parents[2]
_GEOMETRY = tuple(
    f"neurok_ros/geometry/{name}.py"
    for name in ("driving", "dual_quaternions", "lattice", "lattice_building", "lumped_mass", "rotations", "sampling", "solids")
)
_SHARED_CODE = (
    *_GEOMETRY,
    "neurok_ros/kinematics/modal.py",
    "neurok_ros/kinematics/particles.py",
    *(f"training/evaluation/{name}.py" for name in ("inverse_kinematics", "judge", "methods", "metrics", "objects")),
)
_NEUROK_CODE = "neurok_ros/kinematics/neurok/*.py"
_SCAN_CODE = (
    *_GEOMETRY,
    "neurok_ros/reconstruction/*.py",
    "training/evaluation/scanned.py",
    "training/data/reconstructed/scan.py",
)


class Cache:
    """A folder of results; any of it may be deleted at any time.

    Args:
        folder: made when the first result is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def judged(self, given: EvaluationObject, method: Method, iterations: int) -> list[Outcome]:
        """`judge.on_object`, from disk where object, method, its weights and the code are what they were."""
        path = self._path("judged", object_hash(given), method_hash(method), str(iterations))
        if path.exists():
            return _read_outcomes(path, given, method)
        outcomes = list(on_object(given, method, iterations))
        _write(path, _outcome_arrays(outcomes))
        return outcomes

    def scanned(self, given: EvaluationObject, make: Callable[[], EvaluationObject | str]) -> EvaluationObject | str:
        """What `make` gives for an object, an object or a reason why there is none, from disk where the code is what it was."""
        path = self._path("scanned", object_hash(given), code_hash(*_SCAN_CODE))
        if not path.exists():
            made = make()
            _write(path, {"reason": np.array(made)} if isinstance(made, str) else _object_arrays(made))
        with np.load(path) as found:
            if "reason" in found:
                return str(found["reason"])
            return EvaluationObject(str(found["name"]), *(found[name] for name in ("vertices", "faces", "targets", "frames")))

    def _path(self, kind: str, *parts: str) -> Path:
        return self.folder / f"{kind}_{_digest(*parts)}.npz"


def object_hash(given: EvaluationObject) -> str:
    """Of its name and all its numbers."""
    return _digest(*(_numbers(value) for value in _object_arrays(given).values()))


def method_hash(method: Method) -> str:
    """Of a method's options and weights, and of the code that it runs."""
    parts = [type(method).__qualname__]
    for each in fields(method):  # type: ignore[arg-type]
        value = getattr(method, each.name)
        parts.append(weights_hash(value) if isinstance(value, nn.Module) else repr(value))
    source = Path(inspect.getfile(type(method)))
    learned = (_NEUROK_CODE,) if source.stem == "neurok" else ()
    return _digest(*parts, _digest(source.read_text()), code_hash(*_SHARED_CODE, *learned))


def weights_hash(network: nn.Module) -> str:
    """Of all parameters."""
    return _digest(*(f"{name} {_numbers(value.cpu().numpy())}" for name, value in network.state_dict().items()))


def code_hash(*patterns: str) -> str:
    """Of the repository's files that match."""
    return _digest(*(path.read_text() for pattern in patterns for path in sorted(_ROOT.glob(pattern))))


def _digest(*parts: str) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() + b"\0")
    return found.hexdigest()[:32]


def _numbers(array: NDArray[Any]) -> str:
    return hashlib.sha256(f"{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()).hexdigest()


def _object_arrays(given: EvaluationObject) -> dict[str, NDArray[Any]]:
    return {each.name: np.asarray(getattr(given, each.name)) for each in fields(given)}


def _outcome_arrays(outcomes: list[Outcome]) -> dict[str, NDArray[Any]]:
    rows = [(o.pose, o.objective, o.dim, o.failure, o.distance) for o in outcomes]
    names = ("pose", "objective", "dim", "failure", "distance")
    columns = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    errors = np.array([list(asdict(o.errors).values()) for o in outcomes])
    return {**columns, "errors": errors, **{f"found_{i}": o.found for i, o in enumerate(outcomes) if o.found is not None}}


def _read_outcomes(path: Path, given: EvaluationObject, method: Method) -> list[Outcome]:
    with np.load(path) as found:
        return [
            Outcome(
                method=method.name,
                object=given.name,
                pose=int(found["pose"][i]),
                objective=str(found["objective"][i]),  # type: ignore[arg-type]
                dim=int(found["dim"][i]),
                errors=Errors(*(float(value) for value in found["errors"][i])),
                failure=str(found["failure"][i]),
                found=found.get(f"found_{i}"),
                distance=float(found["distance"][i]),
            )
            for i in range(len(found["pose"]))
        ]


def _write(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    with unfinished.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    unfinished.replace(path)
