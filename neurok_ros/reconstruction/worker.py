"""Supervises the process that Open3D lives in, so that nothing Open3D does can take the caller down with it.

The process is a fresh interpreter (never a fork, and it does not import the parent's main module, which may hold rclpy
and torch). It is started ahead of time, killed on a time limit, on cancellation and on close, and replaced at once.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

import neurok_ros
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.types import (
    MeshOptions,
    ObjectSelection,
    ReconstructedMesh,
    Scan,
    SegmentationOptions,
    SegmentedObject,
)

Stop = Callable[[], bool]
Stage = Callable[[str], None]

POLL = 0.05
"""Seconds between two looks at the time limit and at `should_stop`."""
START_LIMIT = 60.0
"""Seconds that importing Open3D may take."""
DEFAULT_MEMORY = 4 * 2**30


def never() -> bool:
    """A `should_stop` for callers that do not cancel."""
    return False


def ignore(stage: str) -> None:
    """An `on_stage` for callers that do not follow progress."""


class ReconstructionWorker:
    """Segmentation and meshing in a process of their own. Thread safe; one call at a time, others wait.

    Args:
        memory_limit_bytes: of data that the process may allocate; a call that needs more fails with OUT_OF_MEMORY
            (or WORKER_DIED, where Open3D aborts).
    """

    def __init__(self, memory_limit_bytes: int = DEFAULT_MEMORY) -> None:
        self._memory_limit = memory_limit_bytes
        self._lock = threading.Lock()
        self._closed = True
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._sender: threading.Thread | None = None
        self._ready = False
        self.restarts = 0
        """How often the process had to be replaced."""

    def start(self) -> None:
        """Start the process and return; it imports Open3D meanwhile (1 to 2 s)."""
        with self._lock:
            self._closed = False
            if self._process is None:
                self._spawn()

    def close(self) -> None:
        """End the process; a call in progress ends with NODE_INACTIVE."""
        self._closed = True
        with self._lock:
            self._kill()

    def __enter__(self) -> ReconstructionWorker:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The process's id, None while there is none."""
        return None if self._process is None else self._process.pid

    def segment(
        self,
        scan: Scan,
        options: SegmentationOptions,
        timeout_s: float = 30.0,
        should_stop: Stop = never,
        on_stage: Stage = ignore,
    ) -> list[SegmentedObject]:
        """`segmentation.segment` in the process. Raises what it raises, and what `reconstruct` here raises."""
        objects: list[SegmentedObject] = self._call("segment", (scan, options), timeout_s, should_stop, on_stage)
        return objects

    def reconstruct(
        self,
        scan: Scan,
        segmentation: SegmentationOptions,
        selection: ObjectSelection,
        mesh_options: MeshOptions,
        timeout_s: float,
        should_stop: Stop = never,
        on_stage: Stage = ignore,
    ) -> tuple[ReconstructedMesh, SegmentedObject]:
        """Segment a scan, select an object of it and close its mesh.

        Args:
            scan: metres, any frame.
            segmentation, selection, mesh_options: see their classes.
            timeout_s: seconds from the start of the work (not of waiting for another call).
            should_stop: asked every POLL seconds; true kills the process.
            on_stage: called with `segmenting` and `reconstructing` in the caller's thread.

        Raises:
            NeurokError: CANCELED, RECONSTRUCTION_TIMEOUT, WORKER_DIED (in each case a new process is ready for the next
                call), OUT_OF_MEMORY, NODE_INACTIVE where the worker is closed, and what segmentation and meshing raise.
        """
        arguments = (scan, segmentation, selection, mesh_options)
        made: tuple[ReconstructedMesh, SegmentedObject] = self._call("reconstruct", arguments, timeout_s, should_stop, on_stage)
        return made

    def _call(self, task: str, arguments: tuple[Any, ...], timeout_s: float, should_stop: Stop, on_stage: Stage) -> Any:
        while not self._lock.acquire(timeout=POLL):
            self._check_stop(should_stop)
        try:
            return self._locked_call(task, arguments, timeout_s, should_stop, on_stage)
        finally:
            if self._closed:
                self._kill()
            self._lock.release()

    def _locked_call(self, task: str, arguments: tuple[Any, ...], timeout_s: float, should_stop: Stop, on_stage: Stage) -> Any:
        self._check_stop(should_stop)
        if self._process is None or self._process.poll() is not None:
            self._replace()
        finished = False
        try:
            self._wait_until_ready(should_stop)
            connection = self._connection
            assert connection is not None
            self._sender = threading.Thread(target=_send, args=(connection, (task, arguments)), daemon=True)
            self._sender.start()
            deadline = time.monotonic() + timeout_s
            while True:
                kind, content = self._receive(deadline, should_stop, self._timeout_error(timeout_s))
                if kind == "stage":
                    on_stage(content)
                    continue
                finished = True
                if kind == "error":
                    raise content
                return content
        finally:
            if not finished and not self._closed:
                self._replace()

    def _wait_until_ready(self, should_stop: Stop) -> None:
        if self._ready:
            return
        problem = f"was not ready within {START_LIMIT} s"
        late = NeurokError(ErrorCode.WORKER_DIED, "worker", problem, "See the log; is Open3D installed?")
        self._receive(time.monotonic() + START_LIMIT, should_stop, late)
        self._ready = True

    def _receive(self, deadline: float, should_stop: Stop, late: NeurokError) -> tuple[str, Any]:
        assert self._connection is not None
        try:
            while not self._connection.poll(POLL):
                self._check_stop(should_stop)
                if time.monotonic() > deadline:
                    raise late
            self._check_stop(should_stop)
            message: tuple[str, Any] = self._connection.recv()
            return message
        except (EOFError, OSError):
            raise self._died() from None

    def _check_stop(self, should_stop: Stop) -> None:
        if self._closed:
            raise NeurokError(ErrorCode.NODE_INACTIVE, "worker", "the worker is closed", "Start it, or activate the node")
        if should_stop():
            raise NeurokError(ErrorCode.CANCELED, "reconstruction", "was cancelled", "Ask again if it is still wanted")

    def _timeout_error(self, timeout_s: float) -> NeurokError:
        problem = f"took longer than {timeout_s:g} s"
        remedy = "Crop the scan, raise voxel, or allow more time"
        return NeurokError(ErrorCode.RECONSTRUCTION_TIMEOUT, "reconstruction", problem, remedy)

    def _died(self) -> NeurokError:
        assert self._process is not None
        try:
            status = self._process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            status = 0
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        problem = f"the reconstruction process ended with {how}"
        return NeurokError(ErrorCode.WORKER_DIED, "worker", problem, "It has been restarted; ask again")

    def _replace(self) -> None:
        self._kill()
        self.restarts += 1
        self._spawn()

    def _spawn(self) -> None:
        ours, theirs = socket.socketpair()
        package_root = str(Path(neurok_ros.__file__).resolve().parent.parent)
        search_path = os.pathsep.join(filter(None, [package_root, os.environ.get("PYTHONPATH")]))
        arguments = [str(theirs.fileno()), str(self._memory_limit)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "neurok_ros.reconstruction.worker_process", *arguments],
            stdin=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": search_path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        theirs.close()
        self._connection = Connection(ours.detach())
        self._ready = False

    def _kill(self) -> None:
        if self._process is None or self._connection is None or self._process.stdin is None:
            return
        self._process.kill()
        self._process.wait()
        if self._sender is not None:
            self._sender.join()
        self._connection.close()
        self._process.stdin.close()
        self._process, self._connection, self._sender = None, None, None


def _send(connection: Connection, message: tuple[str, tuple[Any, ...]]) -> None:
    """In a thread, because a process that does not read must not hang the caller; its death is noticed by the receiver."""
    try:
        connection.send(message)
    except OSError:
        return
