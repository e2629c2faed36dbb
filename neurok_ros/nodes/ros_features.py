"""What of ROS is present beyond rclpy and the messages, and the same few functions with and without it.

tf2_ros, tf_transformations and sensor_msgs_py come with every ROS installation and are not on PyPI. No other module asks.
"""

from __future__ import annotations

import array
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Transform
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header

from neurok_ros.errors import ErrorCode, NeurokError

try:
    from rclpy.event_handler import SubscriptionEventCallbacks
except ImportError:  # Humble
    from rclpy.qos_event import SubscriptionEventCallbacks

try:
    import tf2_ros
except ImportError:
    tf2_ros = None

try:
    import tf_transformations
except ImportError:
    tf_transformations = None
    import transforms3d

try:
    from sensor_msgs_py import point_cloud2
except ImportError:
    point_cloud2 = None

__all__ = [
    "SubscriptionEventCallbacks",
    "Transforms",
    "create_cloud",
    "matrix_from_pose",
    "matrix_from_quaternion",
    "quaternion_from_matrix",
]

Floats = NDArray[np.float64]
LOOKUP_PAUSE = 0.02
"""Seconds between two look-ups of a transform that may still arrive."""


def matrix_from_quaternion(quaternion: Sequence[float]) -> Floats:
    """The rotation matrix (3, 3) of a unit quaternion x y z w."""
    x, y, z, w = (float(value) for value in quaternion)
    if tf_transformations is not None:
        return np.asarray(tf_transformations.quaternion_matrix((x, y, z, w)), dtype=np.float64)[:3, :3]
    return np.asarray(transforms3d.quaternions.quat2mat((w, x, y, z)), dtype=np.float64)


def quaternion_from_matrix(rotation: Floats) -> Floats:
    """The unit quaternion x y z w (4,) of a rotation matrix (3, 3)."""
    if tf_transformations is not None:
        matrix = np.eye(4)
        matrix[:3, :3] = rotation
        return np.asarray(tf_transformations.quaternion_from_matrix(matrix), dtype=np.float64)
    w, x, y, z = transforms3d.quaternions.mat2quat(rotation)
    return np.array([x, y, z, w], dtype=np.float64)


def matrix_from_pose(pose: Sequence[float]) -> Floats:
    """The rigid transform (4, 4) of x y z in metres and a unit quaternion x y z w."""
    matrix = np.eye(4)
    matrix[:3, :3] = matrix_from_quaternion(pose[3:])
    matrix[:3, 3] = pose[:3]
    return matrix


class Transforms:
    """Where one frame stands in another: tf2 where it is installed, else equal frames or one static transform.

    Args:
        node: listens to /tf and /tf_static.
        static_pose: x y z (metres) and quaternion x y z w of the sensor's frame in the planning frame; it takes the place
            of tf2 for that frame. None: no such transform.
    """

    def __init__(self, node: Node, static_pose: Sequence[float] | None) -> None:
        self._static = None if static_pose is None else matrix_from_pose(static_pose)
        self._sensor_frame: str | None = None
        self._buffer: Any = None
        self._listener: Any = None
        if tf2_ros is not None:
            self._buffer = tf2_ros.Buffer()
            self._listener = tf2_ros.TransformListener(self._buffer, node, spin_thread=False)
        self.retries = 0
        """Look-ups that had to be repeated because the transform had not arrived yet."""
        self.failures = 0

    def find_sensor(self, target: str, source: str, stamp: Any, timeout: float, should_stop: Callable[[], bool]) -> Floats:
        """As `find`, for the frame of a cloud: the one that the static transform, if there is one, is about."""
        self._sensor_frame = source
        return self.find(target, source, stamp, timeout, should_stop)

    def find(
        self,
        target: str,
        source: str,
        stamp: Any,
        timeout: float,
        should_stop: Callable[[], bool],
        field: str = "cloud.header.frame_id",
    ) -> Floats:
        """The transform (4, 4) that takes points in `source` to `target`, translation in metres.

        It never waits inside tf2: look-ups have no timeout and are repeated until `timeout` seconds have passed, so call it
        from a thread that may sleep.

        Args:
            stamp: builtin_interfaces/Time of the data; zero: the newest transform.
            field: what the user wrote the source frame in.

        Raises:
            NeurokError: TRANSFORM_FAILED, naming both frames.
        """
        if target == source:
            return np.eye(4)
        if self._static is not None and source == self._sensor_frame:
            return self._static
        if self._buffer is None:
            self.failures += 1
            raise _no_transform(field, target, source, "tf2_ros is not installed")
        expiry = time.monotonic() + timeout
        while True:
            try:
                found = self._buffer.lookup_transform(target, source, Time.from_msg(stamp))
            except tf2_ros.TransformException as error:
                if time.monotonic() >= expiry or should_stop():
                    self.failures += 1
                    raise _no_transform(field, target, source, str(error)) from error
                self.retries += 1
                time.sleep(LOOKUP_PAUSE)
            else:
                return _matrix(found.transform)

    def clear(self) -> None:
        """Forgets every transform received, because time went backwards."""
        if self._buffer is not None:
            self._buffer.clear()

    def close(self) -> None:
        """Stops listening."""
        if self._listener is not None:
            self._listener.unregister()
            self._listener = None


def _no_transform(field: str, target: str, source: str, why: str) -> NeurokError:
    return NeurokError(
        ErrorCode.TRANSFORM_FAILED,
        field,
        f"no transform from {source!r} to {target!r}: {why}",
        "Publish it on /tf, set the parameter static_transform, or use one frame throughout",
    )


def _matrix(transform: Transform) -> Floats:
    t, r = transform.translation, transform.rotation
    return matrix_from_pose([t.x, t.y, t.z, r.x, r.y, r.z, r.w])


def create_cloud(header: Header, points: Floats, **columns: NDArray[Any]) -> PointCloud2:
    """An unorganised PointCloud2 with float32 x, y, z in metres, and what else is known of each point.

    Args:
        points: (n, 3) metres.
        columns: (n,) float32 or uint32, by the name of their field, such as `label` or `rgb`.
    """
    values: dict[str, NDArray[Any]] = {**dict(zip("xyz", points.T.astype(np.float32), strict=True)), **columns}
    layout = np.dtype([(name, value.dtype.newbyteorder("<")) for name, value in values.items()])
    rows = np.empty(len(points), dtype=layout)
    for name, value in values.items():
        rows[name] = value
    kinds = {"f": PointField.FLOAT32, "u": PointField.UINT32}
    fields = [
        PointField(name=name, offset=4 * index, datatype=kinds[value.dtype.kind], count=1)
        for index, (name, value) in enumerate(values.items())
    ]
    if point_cloud2 is not None:
        return point_cloud2.create_cloud(header, fields, rows)
    cloud = PointCloud2(
        header=header,
        height=1,
        width=len(rows),
        fields=fields,
        is_bigendian=False,
        point_step=layout.itemsize,
        row_step=layout.itemsize * len(rows),
        is_dense=True,
    )
    # Any other type of sequence would be checked byte by byte in the message's setter.
    cloud.data = array.array("B", rows.tobytes())
    return cloud
