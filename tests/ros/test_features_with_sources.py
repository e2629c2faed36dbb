"""The module that knows what of ROS is present, with the real packages beside it: each test needs one of them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: source .venv/ros_env.sh")

import rclpy
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import Header

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.nodes import ros_features
from neurok_ros.nodes.ros_features import Transforms, create_cloud, matrix_from_quaternion, quaternion_from_matrix

if TYPE_CHECKING:
    from tf2_ros import StaticTransformBroadcaster, TransformBroadcaster

ABSENT = "comes with a ROS installation, not with PyPI"


@pytest.fixture
def node() -> Iterator[Node]:
    context = Context()
    rclpy.init(context=context, domain_id=random.randint(1, 100))
    node = Node("listener", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    yield node
    executor.shutdown()
    thread.join()
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def transforms(node: Node) -> Iterator[Transforms]:
    pytest.importorskip("tf2_ros", reason=ABSENT)
    transforms = Transforms(node, static_pose=None)
    yield transforms
    transforms.close()


@pytest.fixture
def moving(node: Node) -> TransformBroadcaster:
    return pytest.importorskip("tf2_ros", reason=ABSENT).TransformBroadcaster(node)


@pytest.fixture
def fixed(node: Node) -> StaticTransformBroadcaster:
    return pytest.importorskip("tf2_ros", reason=ABSENT).StaticTransformBroadcaster(node)


def transform(parent: str, child: str, second: int, x: float) -> TransformStamped:
    """Turned by 90 degrees about z and moved by x metres."""
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id, message.header.stamp.sec = parent, second
    message.transform.translation.x = x
    message.transform.rotation.z = message.transform.rotation.w = np.sqrt(0.5)
    return message


def never() -> bool:
    return False


def test_a_point_of_the_camera_stands_where_tf_says(transforms: Transforms, fixed: StaticTransformBroadcaster) -> None:
    fixed.sendTransform(transform("base", "camera", 0, 2.0))
    found = transforms.find("base", "camera", Time(sec=7), 10.0, never)
    # One metre ahead on the camera's x is one metre along the base's y, after the turn.
    np.testing.assert_allclose(found @ [1.0, 0.0, 0.0, 1.0], [2.0, 1.0, 0.0, 1.0], atol=1e-12)


def test_the_transform_is_that_of_the_scans_time(transforms: Transforms, moving: TransformBroadcaster) -> None:
    moving.sendTransform(transform("base", "camera", 100, 0.0))
    moving.sendTransform(transform("base", "camera", 102, 1.0))
    found = transforms.find("base", "camera", Time(sec=101), 10.0, never)
    assert found[0, 3] == pytest.approx(0.5, abs=1e-9)


def test_a_scan_newer_than_every_transform_waits_for_the_next_one(transforms: Transforms, moving: TransformBroadcaster) -> None:
    moving.sendTransform(transform("base", "camera", 100, 0.0))
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(transforms.find("base", "camera", Time(sec=103), 30.0, never)))
    waiting.start()
    time.sleep(0.5)
    assert found == []
    moving.sendTransform(transform("base", "camera", 104, 1.0))
    waiting.join()
    assert found[0][0, 3] == pytest.approx(0.75, abs=1e-9)
    assert transforms.retries > 0
    assert transforms.failures == 0


def test_waiting_ends_with_an_error_that_names_both_frames(transforms: Transforms) -> None:
    with pytest.raises(NeurokError, match=r"(?s)camera.*base|base.*camera") as caught:
        transforms.find("base", "camera", Time(sec=103), 0.2, never)
    assert caught.value.code is ErrorCode.TRANSFORM_FAILED
    assert transforms.failures == 1


def test_waiting_ends_when_nobody_wants_the_answer_any_more(transforms: Transforms) -> None:
    begin = time.monotonic()
    with pytest.raises(NeurokError):
        transforms.find("base", "camera", Time(sec=103), 600.0, lambda: time.monotonic() > begin + 0.2)


def test_a_jump_back_in_time_forgets_moving_frames_and_keeps_fixed_ones(
    transforms: Transforms, moving: TransformBroadcaster, fixed: StaticTransformBroadcaster
) -> None:
    fixed.sendTransform(transform("hand", "camera", 0, 2.0))
    moving.sendTransform(transform("base", "hand", 100, 1.0))
    transforms.find("base", "camera", Time(sec=100), 10.0, never)
    transforms.clear()
    with pytest.raises(NeurokError):
        transforms.find("base", "hand", Time(sec=100), 0.1, never)
    # The bag starts again: its first transforms are older than those that were forgotten.
    moving.sendTransform(transform("base", "hand", 50, 1.0))
    assert transforms.find("base", "camera", Time(sec=50), 10.0, never)[0, 3] == pytest.approx(1.0, abs=1e-9)


def test_rotations_are_the_same_with_and_without_tf_transformations(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tf_transformations", reason=ABSENT)
    import transforms3d

    quaternions = np.random.default_rng(0).normal(size=(50, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    with_package = [matrix_from_quaternion(quaternion.tolist()) for quaternion in quaternions]
    back_with_package = [quaternion_from_matrix(matrix) for matrix in with_package]
    monkeypatch.setattr(ros_features, "tf_transformations", None)
    monkeypatch.setattr(ros_features, "transforms3d", transforms3d, raising=False)
    for quaternion, matrix, back in zip(quaternions, with_package, back_with_package, strict=True):
        np.testing.assert_allclose(matrix_from_quaternion(quaternion.tolist()), matrix, atol=1e-12)
        # q and -q are the same rotation; 1e-7 is what an eigenvector of a 4 x 4 matrix in doubles leaves.
        assert abs(quaternion_from_matrix(matrix) @ back) == pytest.approx(1.0, abs=1e-7)
        assert abs(quaternion @ back) == pytest.approx(1.0, abs=1e-7)


def test_clouds_are_the_same_with_and_without_sensor_msgs_py(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sensor_msgs_py", reason=ABSENT)
    points = np.random.default_rng(0).normal(size=(17, 3))
    labels = np.arange(17, dtype=np.uint32)
    header = Header(frame_id="base")
    with_package = create_cloud(header, points, label=labels)
    monkeypatch.setattr(ros_features, "point_cloud2", None)
    without = create_cloud(header, points, label=labels)
    without.is_dense = with_package.is_dense  # theirs never claims that no point is missing
    assert without == with_package
