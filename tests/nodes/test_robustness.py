"""Exceptions where rclpy would swallow them or die of them."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("neurok_ros.action", reason="the package is not built: make setup, source .venv/ros_env.sh")

from rclpy.lifecycle import TransitionCallbackReturn

from neurok_ros.nodes.prediction_node import _spin, _transition


class Recorder:
    """Stands for a node: keeps what it logs as errors."""

    def __init__(self) -> None:
        self.errors: list[str] = []

    def get_logger(self) -> Recorder:
        return self

    def error(self, message: str) -> None:
        self.errors.append(message)


def test_an_exception_in_a_transition_is_logged_and_the_transition_fails() -> None:
    node = Recorder()

    @_transition
    def on_configure(_node: object, _state: object) -> None:
        raise FileNotFoundError("calibration.yaml")

    assert on_configure(node, None) == TransitionCallbackReturn.FAILURE
    (message,) = node.errors
    assert "on_configure" in message
    assert "Traceback" in message
    assert "calibration.yaml" in message


def test_a_transition_without_exception_succeeds() -> None:
    assert _transition(lambda _node, _state: None)(Recorder(), None) == TransitionCallbackReturn.SUCCESS


def test_an_exception_in_a_callback_does_not_end_the_executor() -> None:
    """rclpy's action server raises KeyError when a goal expires that it has forgotten; the node must go on."""
    finished = threading.Event()

    class Executor:
        turns = 0

        def spin_once(self, timeout_sec: float) -> None:
            self.turns += 1
            if self.turns == 1:
                raise KeyError(b"goal")
            finished.set()

    executor, node = Executor(), Recorder()
    _spin(executor, node, finished)  # type: ignore[arg-type]
    assert executor.turns == 2
    assert "KeyError" in node.errors[0]
