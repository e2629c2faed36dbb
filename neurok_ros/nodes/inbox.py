"""The newest cloud, kept undecoded until somebody needs it, and what became of all the others."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Message = TypeVar("Message")


@dataclass
class CloudCounts:
    """What became of the clouds that arrived."""

    received: int = 0
    dropped: int = 0
    """Replaced by a newer one before anybody had used them."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Never kept, by reason."""
    time_jumps: int = 0


class CloudInbox(Generic[Message]):
    """Keeps the newest usable message and counts the rest. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: Message | None = None
        self._used = False
        self._last_arrival: float | None = None
        self._last_problem = ""
        self.notes: tuple[str, ...] = ()
        """What the last decoded message said that was not so."""
        self.counts = CloudCounts()

    def put(self, message: Message) -> None:
        """Keeps this message in place of the one before."""
        with self._lock:
            self._arrive()
            if self._newest is not None and not self._used:
                self.counts.dropped += 1
            self._newest, self._used, self._last_problem = message, False, ""

    def skip(self, reason: str, problem: str) -> None:
        """Counts a message that cannot be used. The one before stays.

        Args:
            reason: a short key to count by, e.g. the field at fault.
            problem: the whole sentence.
        """
        with self._lock:
            self._arrive()
            self.counts.skipped[reason] += 1
            self._last_problem = problem

    def note(self, notes: Sequence[str]) -> None:
        """Remembers what was found out when a message was decoded."""
        self.notes = tuple(notes)

    def newest(self) -> Message | None:
        """The newest usable message."""
        with self._lock:
            self._used = True
            return self._newest

    def clear(self) -> None:
        """Forgets the message, keeps the counts."""
        with self._lock:
            self._newest = None

    def jump_back(self) -> None:
        """Forgets the message because time went backwards."""
        with self._lock:
            self._newest = None
            self.counts.time_jumps += 1

    @property
    def last_problem(self) -> str:
        """What was wrong with the last message; empty: nothing."""
        with self._lock:
            return self._last_problem

    def seconds_since_arrival(self) -> float | None:
        """Wall-clock seconds since any message arrived; None: never."""
        with self._lock:
            return None if self._last_arrival is None else time.monotonic() - self._last_arrival

    def _arrive(self) -> None:
        self.counts.received += 1
        self._last_arrival = time.monotonic()
