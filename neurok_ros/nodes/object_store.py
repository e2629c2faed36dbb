"""The objects that were reconstructed or loaded, by name."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.types import ReconstructedMesh, Scan


@dataclass(frozen=True, eq=False)
class StoredObject:
    """One object, equal to itself only, and the scans it was made from (none where it was loaded from a file)."""

    object_id: str
    mesh: ReconstructedMesh
    scans: tuple[Scan, ...] = ()


class ObjectStore:
    """Remembers up to `capacity` objects; the one used longest ago is forgotten first. Safe to use from any thread."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._objects: OrderedDict[str, StoredObject] = OrderedDict()
        self._lock = threading.Lock()
        self._made = 0

    def put(self, stored: StoredObject) -> None:
        """Remembers an object, in place of one of the same name."""
        with self._lock:
            self._objects[stored.object_id] = stored
            self._objects.move_to_end(stored.object_id)
            while len(self._objects) > self._capacity:
                self._objects.popitem(last=False)

    def get(self, object_id: str) -> StoredObject:
        """The object of this name, or the one used last where the name is empty.

        Raises:
            NeurokError: UNKNOWN_OBJECT, with the names that are known.
        """
        with self._lock:
            name = object_id or next(reversed(self._objects), "")
            if name not in self._objects:
                known = ", ".join(self._objects) or "none"
                raise NeurokError(
                    ErrorCode.UNKNOWN_OBJECT,
                    "object_id",
                    f"{object_id!r} is not known; known: {known}",
                    "Reconstruct or load the object first, or raise the parameter max_objects",
                )
            self._objects.move_to_end(name)
            return self._objects[name]

    def new_name(self) -> str:
        """A name that no object has had since the node was configured."""
        with self._lock:
            while True:
                self._made += 1
                name = f"object_{self._made}"
                if name not in self._objects:
                    return name

    def clear(self) -> None:
        """Forgets every object."""
        with self._lock:
            self._objects.clear()

    def __len__(self) -> int:
        with self._lock:
            return len(self._objects)
