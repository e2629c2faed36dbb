"""Plays predicted motions at real speed, over and over, until the next one comes."""

from __future__ import annotations

import threading
import time

from visualization_msgs.msg import MarkerArray

from neurok_ros.nodes.markers import MotionMarkers

PAUSE = 1.0
"""Seconds that the last frame stays before the motion starts again."""


class MotionPlayer:
    """Says what to draw now. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._motion: MotionMarkers | None = None
        self._started = 0.0

    def play(self, motion: MotionMarkers | None) -> None:
        """Plays this motion from now on; None: nothing."""
        with self._lock:
            self._motion, self._started = motion, time.monotonic()

    def now(self) -> MarkerArray | None:
        """The markers of this moment; None where nothing is played."""
        with self._lock:
            if self._motion is None:
                return None
            elapsed = (time.monotonic() - self._started) % (self._motion.duration + PAUSE)
            return self._motion.at(float(self._motion.times[0]) + elapsed)
