"""The lifecycle node `neurok`: clouds and planned pushes come in, predicted motions go out."""

from __future__ import annotations

import functools
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rcl_interfaces.msg import SetParametersResult
from rclpy.executors import MultiThreadedExecutor
from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions

from neurok_ros.errors import NeurokError
from neurok_ros.nodes.parameters import declare_parameters, read_parameters
from neurok_ros.nodes.session import Session

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
EXECUTOR_THREADS = 48
"""More than can ever wait at once (every goal in line has one); they are only made when needed."""
PATIENCE = 1.0
"""Seconds after a first signal in which another one asks for no more than the first."""

Transition = Callable[["PredictionNode", Any], None]


def _transition(callback: Transition) -> Callable[[PredictionNode, Any], Any]:
    """A lifecycle callback: rclpy swallows exceptions, so they are logged here, and the transition fails."""

    @functools.wraps(callback)
    def guarded(node: PredictionNode, state: Any) -> Any:
        try:
            callback(node, state)
        except Exception:
            node.get_logger().error(f"{callback.__name__} failed:\n{traceback.format_exc()}")
            return FAILURE
        return SUCCESS

    return guarded


class PredictionNode(LifecycleNode):  # type: ignore[misc]
    """Configure starts the reconstruction process and offers topics, services and the action; activate takes clouds and goals.

    Raises:
        NeurokError: INVALID_OPTIONS, where the parameters do not fit together.
    """

    def __init__(self) -> None:
        super().__init__("neurok")
        declare_parameters(self)
        self._session: Session | None = None
        self._finalized = False
        self.autostart = read_parameters(self).autostart
        self.add_on_set_parameters_callback(self._validate)

    def bring_up(self) -> bool:
        """Configures and activates; true where both succeeded."""
        return bool(self.trigger_configure() == SUCCESS and self.trigger_activate() == SUCCESS)

    def bring_down(self) -> None:
        """Ends goals with a code, joins threads and processes, whatever state the node is in."""
        if not self._finalized:
            self.trigger_shutdown()

    @_transition
    def on_configure(self, _state: Any) -> None:
        """Creates everything."""
        self._session = Session(self)

    @_transition
    def on_activate(self, _state: Any) -> None:
        """Takes clouds and goals from now on."""
        self._configured().activate()

    @_transition
    def on_deactivate(self, _state: Any) -> None:
        """Aborts goals and stops listening."""
        self._configured().deactivate()

    @_transition
    def on_cleanup(self, _state: Any) -> None:
        """Takes everything away."""
        self._close()

    @_transition
    def on_shutdown(self, _state: Any) -> None:
        """Takes everything away, active or not."""
        self._finalized = True
        self._close()

    @_transition
    def on_error(self, _state: Any) -> None:
        """Back to unconfigured."""
        self._close()

    def _configured(self) -> Session:
        if self._session is None:
            raise RuntimeError("the node is not configured")
        return self._session

    def _close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _validate(self, changes: Sequence[Parameter]) -> SetParametersResult:
        try:
            read_parameters(self, {change.name: change.value for change in changes})
        except NeurokError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)


def main(args: list[str] | None = None) -> int:
    """Runs the node until SIGINT or SIGTERM; the exit status is 0 then, and 1 where it could not start."""
    stop = threading.Event()
    _stop_on_signals(stop)
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = PredictionNode()
    except (NeurokError, rclpy.exceptions.ParameterException) as error:
        print(f"neurok: {error}", file=sys.stderr)
        rclpy.shutdown()
        return 1
    executor = MultiThreadedExecutor(num_threads=EXECUTOR_THREADS)
    executor.add_node(node)
    finished = threading.Event()
    spinner = threading.Thread(target=_spin, args=(executor, node, finished), name="executor")
    spinner.start()
    started = not node.autostart or node.bring_up()
    if started:
        node.get_logger().info("active" if node.autostart else "waiting to be configured")
        stop.wait()
    node.bring_down()  # while the executor still spins, because it is what sends the last results
    finished.set()
    executor.wake()
    spinner.join()
    executor.shutdown()
    node.destroy_node()
    rclpy.shutdown()
    return 0 if started else 1


def _stop_on_signals(stop: threading.Event) -> None:
    """The first signal ends goals and processes in order; one that comes `PATIENCE` later kills.

    Those in between are the same request again: a launch that is stopped with its whole process group passes the signal on, so
    that the node gets it twice.
    """
    first: list[float] = []

    def handle(number: int, _frame: Any) -> None:
        if not first:
            first.append(time.monotonic())
            stop.set()
        elif time.monotonic() - first[0] > PATIENCE:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def _spin(executor: MultiThreadedExecutor, node: PredictionNode, finished: threading.Event) -> None:
    """Spins until told to stop: an exception in a callback, or in rclpy itself, is logged and ends nothing."""
    while not finished.is_set():
        try:
            executor.spin_once(timeout_sec=1.0)
        except Exception:
            node.get_logger().error(f"a callback failed:\n{traceback.format_exc()}")


if __name__ == "__main__":
    sys.exit(main())
