"""The reconstruction process may die at any time."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from action_msgs.msg import GoalStatus
from harness import wait_until
from scene import cloud, goal

from neurok_ros.action import PredictDeformation

if TYPE_CHECKING:
    from harness import Client, NodeProcess

Result = PredictDeformation.Result


def test_a_killed_worker_is_an_error_and_the_next_goal_works(node: NodeProcess, client: Client) -> None:
    client.show(cloud())
    assert client.ask(goal())[0] == GoalStatus.STATUS_SUCCEEDED
    handle = client.send(goal())
    client.wait_for_stage("segmenting")
    for pid in node.children():
        os.kill(pid, signal.SIGKILL)
    status, result = client.result(handle)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.WORKER_DIED, result.message
    status, result = client.ask(goal())
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message
    wait_until(lambda: int(client.value("prediction", "reconstruction worker restarts")) == 1, "the restart in diagnostics")


def test_a_worker_killed_while_idle_costs_no_goal(node: NodeProcess, client: Client) -> None:
    client.show(cloud())
    for pid in node.children():
        os.kill(pid, signal.SIGKILL)
    status, result = client.ask(goal())
    assert status == GoalStatus.STATUS_SUCCEEDED or result.error_code == Result.WORKER_DIED
    status, result = client.ask(goal())
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message
