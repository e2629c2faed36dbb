"""One thread computes, jobs wait in line for it, and every job ends exactly once: whoever ends it first decides how."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from queue import SimpleQueue
from typing import Generic, TypeVar

from neurok_ros.errors import ErrorCode, NeurokError

T = TypeVar("T")


class Verdict(Enum):
    """How a job ended, in the words of ROS 2 actions."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"


@dataclass(frozen=True)
class Ending(Generic[T]):
    """How a job ended. `value` is what the work returned, None unless it succeeded."""

    verdict: Verdict
    code: ErrorCode = ErrorCode.NONE
    message: str = ""
    value: T | None = None

    @staticmethod
    def aborted(error: NeurokError) -> Ending[T]:
        """The ending of work that failed with an error."""
        return Ending(Verdict.ABORTED, error.code, str(error))


class Job(Generic[T]):
    """Work that one thread does while another waits for it.

    Args:
        work: does the work; called with `should_stop`, which turns true as soon as nobody wants the answer any more.
        deadline: `time.monotonic()` at which waiting ends, seconds.
    """

    def __init__(self, work: Callable[[Callable[[], bool]], T], deadline: float) -> None:
        self.work = work
        self.deadline = deadline
        self._ending: Ending[T] | None = None
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def end(self, ending: Ending[T]) -> bool:
        """Ends the job unless it has ended before; true where this ending is the one that counts."""
        with self._lock:
            if self._ending is not None:
                return False
            self._ending = ending
            self._ended.set()
            return True

    @property
    def ended(self) -> bool:
        """Whether the job has ended: by its work, a cancel, its deadline or a shutdown."""
        return self._ended.is_set()

    def wait(self) -> Ending[T]:
        """Blocks until the job has ended, and ends it at its deadline."""
        if not self._ended.wait(max(0.0, self.deadline - time.monotonic())):
            self.end(
                Ending.aborted(
                    NeurokError(
                        ErrorCode.DEADLINE_EXCEEDED,
                        "deadline",
                        "passed before the answer was ready",
                        "Allow more time, or ask for a shorter horizon or a smaller vertex_budget",
                    )
                )
            )
        assert self._ending is not None
        return self._ending


class ComputeThread:
    """The only thread that computes. Jobs run one at a time, in the order they came.

    One thread, because torch compiles and caches per thread and Open3D's worker answers one question at a time; and its own
    thread, so that whoever answers cancels and lifecycle transitions is never busy computing.

    Args:
        log_error: gets the traceback where work fails in a way that nobody has foreseen.
    """

    def __init__(self, log_error: Callable[[str], None]) -> None:
        self._log_error = log_error
        self._queue: SimpleQueue[Job[object] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="compute", daemon=True)
        self._thread.start()

    def submit(self, job: Job[T]) -> Job[T]:
        """Puts a job in line."""
        self._queue.put(job)  # type: ignore[arg-type]
        return job

    def close(self, timeout: float) -> bool:
        """Lets the current job finish and ends the thread; true where that happened within `timeout` seconds."""
        self._queue.put(None)
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            if not job.ended:
                job.end(_ending_of(job, self._log_error))


def _ending_of(job: Job[T], log_error: Callable[[str], None]) -> Ending[T]:
    try:
        return Ending(Verdict.SUCCEEDED, value=job.work(lambda: job.ended))
    except NeurokError as error:
        return Ending.aborted(error)
    except Exception as error:  # the thread must outlive whatever a job does
        if _out_of_memory(error):
            return Ending.aborted(
                NeurokError(ErrorCode.OUT_OF_MEMORY, "vertex_budget", "memory ran out", "Use fewer vertices or a shorter horizon")
            )
        log_error(f"a job failed:\n{traceback.format_exc()}")
        return Ending.aborted(
            NeurokError(
                ErrorCode.INTERNAL, type(error).__name__, str(error), "The node's log has the traceback; please report it"
            )
        )


def _out_of_memory(error: Exception) -> bool:
    """Python's own error, or torch's, which on a CPU is a RuntimeError that says so."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "memory" in str(error) and "alloc" in str(error)
    )
