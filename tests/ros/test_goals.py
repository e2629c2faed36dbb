"""Goals as a planner sends them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import Point
from harness import RELIABLE, wait_until
from scene import BOX, CAMERA, camera_rotation, cloud, goal
from sensor_msgs.msg import PointCloud2
from visualization_msgs.msg import Marker, MarkerArray

from neurok_ros.action import PredictDeformation
from neurok_ros.msg import ObjectMesh

if TYPE_CHECKING:
    from harness import Client, NodeProcess

Result = PredictDeformation.Result


@pytest.fixture(scope="module")
def seen(client: Client) -> Client:
    """The client, after its camera has shown the box."""
    client.show(cloud())
    return client


@pytest.fixture(scope="module")
def object_id(seen: Client) -> str:
    """The box, reconstructed once."""
    status, result = seen.ask(goal())
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message
    return str(result.object_id)


def long_goal(object_id: str, **fields: object) -> PredictDeformation.Goal:
    """A goal that no computer answers before a test has said what it wants to say."""
    return goal(object_id=object_id, horizon=60.0, frame_rate=1.0, **fields)


def test_a_goal_without_a_scan_says_so(client: Client) -> None:
    status, result = client.ask(goal())
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.NO_SCAN
    assert "no cloud has arrived" in result.message


def test_a_scan_and_a_push_come_in_and_a_motion_goes_out(seen: Client) -> None:
    objects = seen.hear(ObjectMesh, "object_mesh")
    status, result = seen.ask(goal())
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message
    assert result.error_code == Result.NONE
    assert result.header.frame_id == "world"

    vertices = np.array([(p.x, p.y, p.z) for p in result.rest_mesh.vertices])
    motion = result.motion
    assert motion.vertex_count == len(vertices) == len(result.observed) > 50
    assert len(motion.times) == len(motion.frames) == len(motion.tool_poses) == len(motion.contact_force) == 11
    assert np.allclose(motion.times, np.arange(11) / 20.0)
    moved = np.array(motion.vertices).reshape(11, len(vertices), 3)
    assert np.allclose(moved[0], vertices, atol=1e-4)  # the first frame is the scan
    # A camera sees half of the box: its top and its height are sure to a few voxels (3 mm), its far side is a guess.
    assert vertices[:, 2].max() == pytest.approx(BOX[2], abs=0.01)
    assert abs(vertices[:, 2].min()) < 0.01
    # The tool's surface passes the face at x = 0.04 by 4 cm, so the box has gone or tilted towards -x.
    assert moved[-1].mean(axis=0)[0] < vertices.mean(axis=0)[0] - 0.01
    assert max(motion.displacement) > 0.01

    assert seen.feedback[0].stage == "segmenting"
    assert {"preparing", "simulating"} <= {each.stage for each in seen.feedback}
    shares = [each.progress for each in seen.feedback]
    assert shares == sorted(shares)
    assert {each.stage for each in result.stage_times} >= {"decoding", "preparing", "finishing"}
    assert result.quality.parameterization == "rigid"
    wait_until(lambda: any(each.object_id == result.object_id for each in objects), "the object's mesh")


def test_only_the_frames_asked_for_are_returned(seen: Client, object_id: str) -> None:
    _, whole = seen.ask(goal(object_id=object_id))
    _, part = seen.ask(goal(object_id=object_id, frames=[0, 10]))
    assert list(part.motion.frames) == [0, 10]
    n = whole.motion.vertex_count
    assert np.allclose(part.motion.vertices, np.array(whole.motion.vertices).reshape(11, 3 * n)[[0, 10]].reshape(-1), atol=1e-5)


def test_a_cloud_in_the_goal_is_used(client: Client) -> None:
    status, result = client.ask(goal(cloud=cloud()))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message


def test_markers_are_latched_complete_and_move_at_real_speed(seen: Client, object_id: str) -> None:
    mesh = _first(seen, Marker, "mesh_marker")
    assert mesh.action == Marker.ADD
    assert mesh.header.frame_id == "world"
    assert len(mesh.points) % 3 == 0
    assert len(mesh.points) == len(mesh.colors) > 0
    assert mesh.color.a > 0
    segmented = _first(seen, PointCloud2, "segmented_cloud")
    assert [each.name for each in segmented.fields] == ["x", "y", "z", "label"]

    motion = seen.hear(MarkerArray, "motion_markers", RELIABLE)
    wait_until(lambda: len(motion) > 5, "motion markers")
    names = {(marker.ns, marker.id) for array in motion for marker in array.markers}
    assert len(names) == 2
    for array in motion:
        surface, tool = array.markers
        assert len(surface.points) % 3 == 0
        assert surface.color.a > 0
        assert tool.color.a > 0
        assert tool.scale.x == pytest.approx(0.04)
        assert np.isfinite([(p.x, p.y, p.z) for p in surface.points]).all()


def _first(client: Client, kind: Any, topic: str) -> Any:
    heard = client.hear(kind, topic)
    return wait_until(lambda: heard, f"a message on {topic}")[0]


@pytest.mark.parametrize(
    ("field", "value", "code", "names"),
    [
        ("object_id", "teapot", Result.UNKNOWN_OBJECT, "object_id"),
        ("horizon", float("nan"), Result.INVALID_OPTIONS, "horizon"),
        ("horizon", -1.0, Result.INVALID_OPTIONS, "horizon"),
        ("frame_rate", 1.0e9, Result.INVALID_OPTIONS, "frame_rate"),
        ("fixation", 9, Result.INVALID_OPTIONS, "fixation"),
        ("parameterization", "magic", Result.INVALID_OPTIONS, "parameterization"),
        ("deadline", 1.0e9, Result.INVALID_OPTIONS, "deadline"),
        ("deadline", float("nan"), Result.INVALID_OPTIONS, "deadline"),
        ("frames", [5000], Result.INVALID_OPTIONS, "frames"),
    ],
)
def test_what_is_wrong_with_a_goal_is_said_by_name(
    seen: Client, object_id: str, field: str, value: object, code: int, names: str
) -> None:
    message = goal(object_id=object_id)
    setattr(message, field, value)
    status, result = seen.ask(message)
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == code, result.message
    assert names in result.message


def test_what_is_wrong_with_a_push_is_said_by_name(seen: Client, object_id: str) -> None:
    message = goal(object_id=object_id)
    message.push.waypoints[1].time = 0.0
    _, result = seen.ask(message)
    assert result.error_code == Result.INVALID_PUSH
    assert "push.waypoints[1].time" in result.message


def test_negative_density_is_refused(seen: Client, object_id: str) -> None:
    message = goal(object_id=object_id)
    message.properties.use_defaults = False
    message.properties.density = -1.0
    _, result = seen.ask(message)
    assert result.error_code == Result.INVALID_PROPERTIES
    assert "properties.density" in result.message


def test_an_empty_box_holds_nothing(seen: Client, object_id: str) -> None:
    message = goal(object_id=object_id)
    message.fixed_box = [Point(), Point()]
    message.fixation = PredictDeformation.Goal.BOX_FIXED
    _, result = seen.ask(message)
    assert result.error_code == Result.INVALID_OPTIONS
    assert "fixed_box" in result.message


def test_a_push_in_a_frame_that_nobody_knows_is_named(seen: Client, object_id: str) -> None:
    message = goal(object_id=object_id)
    message.push.header.frame_id = "gripper"
    _, result = seen.ask(message)
    assert result.error_code == Result.TRANSFORM_FAILED
    assert "push.header.frame_id" in result.message
    assert "'gripper'" in result.message
    assert "'world'" in result.message


def test_a_push_in_the_cameras_frame_is_the_same_push(seen: Client, object_id: str) -> None:
    _, there = seen.ask(goal(object_id=object_id))
    message = goal(object_id=object_id)
    message.push.header.frame_id = "camera"
    for waypoint in message.push.waypoints:
        at = waypoint.pose.position
        at.x, at.y, at.z = camera_rotation().T @ (np.array([at.x, at.y, at.z]) - CAMERA)
    _, here = seen.ask(message)
    assert here.error_code == Result.NONE, here.message
    # The tool is a sphere, so its orientation does not matter; rounding of the pose is 1e-9.
    assert np.allclose(there.motion.tool_poses[-1].position.x, here.motion.tool_poses[-1].position.x, atol=1e-6)
    assert np.allclose(there.motion.vertices, here.motion.vertices, atol=1e-3)


def test_a_result_that_would_be_too_large_is_refused_before_it_is_computed(seen: Client, object_id: str) -> None:
    _, result = seen.ask(goal(object_id=object_id, horizon=59.0, frame_rate=240.0))
    assert result.error_code == Result.RESULT_TOO_LARGE
    assert "max_result_mb" in result.message


def test_a_running_goal_is_cancelled_and_the_next_one_is_answered(seen: Client, object_id: str) -> None:
    handle = seen.send(long_goal(object_id))
    seen.wait_for_stage("simulating")
    response = seen.cancel(handle)
    assert response.return_code == CancelGoal.Response.ERROR_NONE
    assert len(response.goals_canceling) == 1
    status, result = seen.result(handle)
    assert status == GoalStatus.STATUS_CANCELED
    assert result.error_code == Result.CANCELED
    status, result = seen.ask(goal(object_id=object_id))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message


def test_cancelling_a_goal_that_has_ended_changes_nothing(seen: Client, object_id: str) -> None:
    handle = seen.send(goal(object_id=object_id))
    status, _ = seen.result(handle)
    assert seen.cancel(handle).return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED
    assert status == GoalStatus.STATUS_SUCCEEDED


def test_a_cancel_that_races_with_success_is_either_rejected_or_honoured(seen: Client, object_id: str) -> None:
    """Cancels sent at many moments around the end: accepted means CANCELED, rejected means SUCCEEDED, nothing dies."""
    for delay in np.linspace(0.0, 0.3, 12):
        handle = seen.send(goal(object_id=object_id, horizon=0.1))
        time.sleep(float(delay))
        response = seen.cancel(handle)
        status, _ = seen.result(handle)
        accepted = len(response.goals_canceling) == 1
        assert status == (GoalStatus.STATUS_CANCELED if accepted else GoalStatus.STATUS_SUCCEEDED)


def test_one_goal_waits_in_line_and_the_next_is_rejected(seen: Client, object_id: str) -> None:
    first = seen.send(long_goal(object_id))
    second = seen.send(goal(object_id=object_id))
    third = seen.send(goal(object_id=object_id))
    assert first.accepted
    assert second.accepted
    assert not third.accepted
    seen.cancel(first)
    assert seen.result(first)[0] == GoalStatus.STATUS_CANCELED
    assert seen.result(second)[0] == GoalStatus.STATUS_SUCCEEDED
    wait_until(lambda: int(seen.value("prediction", "goals rejected, the queue is full")) >= 1, "the rejection in diagnostics")


def test_a_goal_in_line_can_be_cancelled(seen: Client, object_id: str) -> None:
    first = seen.send(long_goal(object_id))
    second = seen.send(long_goal(object_id))
    seen.cancel(second)
    assert seen.result(second)[0] == GoalStatus.STATUS_CANCELED
    seen.cancel(first)
    assert seen.result(first)[0] == GoalStatus.STATUS_CANCELED


def test_a_goal_ends_at_its_deadline(seen: Client, object_id: str) -> None:
    status, result = seen.ask(long_goal(object_id, deadline=0.5))
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.DEADLINE_EXCEEDED
    status, result = seen.ask(goal(object_id=object_id))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message


def test_the_node_logged_no_traceback(node: NodeProcess, seen: Client) -> None:
    assert seen.state() == "active"
    assert "Traceback" not in node.log()
