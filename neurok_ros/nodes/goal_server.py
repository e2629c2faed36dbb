"""The action server: which goals are taken, and the one place where a goal ends.

A goal that is accepted waits in line for the compute thread; `goal_queue_size` goals may wait while one is answered, and
further ones are rejected. A goal ends once: by its answer, a cancel, its deadline, or the node becoming inactive, whichever
is first. A cancel that was accepted always ends as CANCELED.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from neurok_ros.action import PredictDeformation
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.nodes.jobs import ComputeThread, Ending, Job, Verdict

Goal = Any
Result = Any
Report = Callable[[str, float, float], None]
"""stage, progress of the whole goal from 0 to 1, predicted time in seconds."""
Answer = Callable[[Goal, Report, Callable[[], bool]], Result]

RESULT_GRACE = 60.0
"""Seconds that a result is kept beyond the longest goal."""
FEEDBACK_PERIOD = 0.05
"""Seconds between two feedback messages of one stage."""
FAREWELL = 0.3
"""Seconds between the end of the last goal and the end of the server, in which results are sent and received."""
CANCELING_PAUSE, CANCELING_TIMEOUT = 0.001, 2.0


@dataclass
class GoalCounts:
    """What became of the goals."""

    rejected: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    last_error: str = ""


class GoalServer:
    """Serves `predict_deformation`.

    Args:
        node: creates the server.
        thread: computes the answers.
        answer: computes one; its result's `error_code` decides whether the goal succeeded.
        default_deadline: seconds of wall clock for a goal that sets none, asked for every goal.
        max_deadline: longest deadline in seconds.
        queue_size: goals that may wait while one is being answered.
    """

    def __init__(
        self,
        node: Node,
        thread: ComputeThread,
        answer: Answer,
        default_deadline: Callable[[], float],
        max_deadline: float,
        queue_size: int,
    ) -> None:
        self._logger = node.get_logger()
        self._thread = thread
        self._answer = answer
        self._default_deadline = default_deadline
        self._max_deadline = max_deadline
        self._queue_size = queue_size
        self._open = False
        self._jobs: dict[bytes, Job[Result]] = {}
        self._changed = threading.Condition()
        self.counts = GoalCounts()
        self._server = ActionServer(
            node,
            PredictDeformation,
            "predict_deformation",
            execute_callback=self._execute,
            goal_callback=self._consider,
            handle_accepted_callback=self._accept,
            cancel_callback=self._cancel,
            callback_group=MutuallyExclusiveCallbackGroup(),
            result_timeout=int(max_deadline + RESULT_GRACE),
        )

    def open(self) -> None:
        """Goals are taken from now on."""
        self._open = True

    def close(self, timeout: float) -> bool:
        """No goal is taken any more and those in line are aborted with NODE_INACTIVE; true where all have ended."""
        self._open = False
        return self.abort_all(
            NeurokError(ErrorCode.NODE_INACTIVE, "goal", "the node was deactivated", "Activate it and ask again"), timeout
        )

    def abort_all(self, error: NeurokError, timeout: float) -> bool:
        """Aborts every goal and waits until they have ended; true where that took less than `timeout` seconds."""
        with self._changed:
            for job in self._jobs.values():
                job.end(Ending.aborted(error))
            return self._changed.wait_for(lambda: not self._jobs, timeout)

    def destroy(self) -> None:
        """Takes the action away, a moment after the last goal has ended: rclpy sends its result after it has been returned."""
        time.sleep(FAREWELL)
        self._server.destroy()

    def _consider(self, goal: Goal) -> GoalResponse:
        with self._changed:
            unfinished = sum(not job.ended for job in self._jobs.values())
        if not self._open:
            return self._reject("the node is not active")
        if unfinished > self._queue_size:
            return self._reject("the queue is full")
        return GoalResponse.ACCEPT

    def _reject(self, reason: str) -> GoalResponse:
        self.counts.rejected[reason] += 1
        self._logger.warning(f"goal rejected: {reason}")
        return GoalResponse.REJECT

    def _accept(self, handle: Any) -> None:
        feedback = _Feedback(handle)
        job: Job[Result] = Job(
            lambda should_stop: self._answer(handle.request, feedback.report, should_stop), self._deadline(handle)
        )
        feedback.job = job
        with self._changed:
            self._jobs[bytes(handle.goal_id.uuid)] = job
        if not self._open:
            job.end(Ending.aborted(NeurokError(ErrorCode.NODE_INACTIVE, "goal", "the node was deactivated", "Activate it")))
        elif not 0.0 <= handle.request.deadline <= self._max_deadline:
            job.end(
                Ending.aborted(
                    NeurokError(
                        ErrorCode.INVALID_OPTIONS,
                        "deadline",
                        f"is {handle.request.deadline:g} s",
                        f"Choose up to {self._max_deadline:g} s (parameter max_deadline_s), or 0 for the node's default",
                    )
                )
            )
        else:
            self._thread.submit(job)
        handle.execute()

    def _deadline(self, handle: Any) -> float:
        return time.monotonic() + (handle.request.deadline or self._default_deadline())

    def _cancel(self, handle: Any) -> CancelResponse:
        job = self._jobs.get(bytes(handle.goal_id.uuid))
        if job is None or not job.end(Ending(Verdict.CANCELED, ErrorCode.CANCELED, "canceled by the client")):
            return CancelResponse.REJECT
        return CancelResponse.ACCEPT

    def _execute(self, handle: Any) -> Result:
        """Runs in a thread of the executor, which only waits here, until somebody has ended the goal's job."""
        key = bytes(handle.goal_id.uuid)
        ending = self._jobs[key].wait()
        try:
            return self._end(handle, ending)
        finally:
            with self._changed:
                del self._jobs[key]
                self._changed.notify_all()

    def _end(self, handle: Any, ending: Ending[Result]) -> Result:
        result = ending.value
        if result is None:
            result = PredictDeformation.Result(error_code=int(ending.code), message=ending.message)
        if ending.verdict is Verdict.CANCELED:
            _wait_until_canceling(handle)
            handle.canceled()
        elif result.error_code == PredictDeformation.Result.NONE:
            handle.succeed()
        else:
            handle.abort()
        code = ErrorCode(result.error_code)
        self.counts.ended[code.name.lower() if code else "succeeded"] += 1
        if code and code is not ErrorCode.CANCELED:
            self.counts.last_error = result.message
            self._logger.error(f"goal aborted, {code.name}: {result.message}")
        return result


class _Feedback:
    """Tells the client where its goal is, not more often than it can read."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self._stage = ""
        self._next = 0.0
        self.job: Job[Result]

    def report(self, stage: str, progress: float, predicted_time: float) -> None:
        now = time.monotonic()
        if self.job.ended or (stage == self._stage and now < self._next):
            return
        self._stage, self._next = stage, now + FEEDBACK_PERIOD
        self._handle.publish_feedback(
            PredictDeformation.Feedback(stage=stage, progress=float(progress), predicted_time=float(predicted_time))
        )


def _wait_until_canceling(handle: Any) -> None:
    """rclpy moves a goal to CANCELING only after its cancel callback has returned, and until then it cannot be canceled."""
    give_up = time.monotonic() + CANCELING_TIMEOUT
    while not handle.is_cancel_requested and time.monotonic() < give_up:
        time.sleep(CANCELING_PAUSE)
