"""The process that Open3D lives in: `python -m neurok_ros.reconstruction.worker_process`, started by `worker.py` only.

Its standard input is a lifeline that carries no data: when the parent dies, however it dies, the kernel closes the pipe
and ends this process, even while Open3D holds the interpreter lock.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.segmentation import segment
from neurok_ros.reconstruction.segmentation import select as select_object
from neurok_ros.reconstruction.types import (
    MeshOptions,
    ObjectSelection,
    ReconstructedMesh,
    Scan,
    SegmentationOptions,
    SegmentedObject,
)

Stage = Callable[[str], None]


def main() -> None:
    """Serve requests until the parent closes the connection."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    connection, memory_limit = Connection(int(sys.argv[1])), int(sys.argv[2])
    _silence_native_code()
    resource.setrlimit(resource.RLIMIT_DATA, (memory_limit, memory_limit))
    from neurok_ros.reconstruction import meshing  # noqa: F401  (imports Open3D before the first request)

    connection.send(("ready", sorted(sys.modules)))
    while True:
        try:
            task, arguments = connection.recv()
        except EOFError:
            return
        connection.send(_answer(task, arguments, lambda stage: connection.send(("stage", stage))))


def _silence_native_code() -> None:
    """Poisson writes thousands of warnings straight to file descriptor 2; Python's own messages keep the original."""
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _die_with_parent() -> None:
    lifeline = sys.stdin.fileno()
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)  # type: ignore[attr-defined, unused-ignore]
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        os._exit(0)


def _answer(task: str, arguments: tuple[Any, ...], on_stage: Stage) -> tuple[str, Any]:
    try:
        return "result", TASKS[task](*arguments, on_stage)
    except NeurokError as error:
        return "error", error
    except MemoryError:
        problem = "the reconstruction needed more memory than the worker may use"
        return "error", NeurokError(ErrorCode.OUT_OF_MEMORY, "memory_limit", problem, "Raise the limit, or crop the scan")
    except Exception as error:
        traceback.print_exc()
        problem = f"failed with {type(error).__name__}: {error}"
        return "error", NeurokError(ErrorCode.RECONSTRUCTION_FAILED, "reconstruction", problem, "Scan again; see the log")


def _segment(scan: Scan, options: SegmentationOptions, on_stage: Stage) -> list[SegmentedObject]:
    on_stage("segmenting")
    return segment(scan, options)


def _reconstruct(
    scan: Scan, segmentation: SegmentationOptions, selection: ObjectSelection, options: MeshOptions, on_stage: Stage
) -> tuple[ReconstructedMesh, SegmentedObject]:
    from neurok_ros.reconstruction.meshing import reconstruct

    on_stage("segmenting")
    began = time.perf_counter()
    chosen = select_object(segment(scan, segmentation), scan, selection)
    segmenting = 1e3 * (time.perf_counter() - began)
    on_stage("reconstructing")
    mesh = reconstruct(chosen, options)
    return replace(mesh, frame=scan.frame, stamp=scan.stamp, timings_ms={"segmenting": segmenting, **mesh.timings_ms}), chosen


TASKS: dict[str, Callable[..., Any]] = {"segment": _segment, "reconstruct": _reconstruct}

if __name__ == "__main__":
    main()
