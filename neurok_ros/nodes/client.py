"""The other end of the node's interfaces: what a planner, a player of recordings or a test says, and what it gets back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import PointCloud2
from shape_msgs.msg import Mesh
from std_msgs.msg import Header

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.msg import GripperPush, ObjectMesh, PushWaypoint
from neurok_ros.nodes.messages import pose_message, stamp_message, tool_message
from neurok_ros.nodes.ros_features import create_cloud
from neurok_ros.prediction.types import PredictedMotion, Push
from neurok_ros.reconstruction.scan_files import read_raw_cloud, read_scan
from neurok_ros.reconstruction.types import ReconstructedMesh, Scan

DEFAULT_FRAME = "camera"
"""Frame of recordings that name none."""


def recorded_cloud(path: Path, topic: str | None = None) -> PointCloud2:
    """The first cloud of a recording as its camera sent it: bags keep their message, other files become an unorganised cloud.

    Raises:
        NeurokError: FILE_FAILED, INVALID_CLOUD.
    """
    raw = read_raw_cloud(path, topic)
    return cloud_message(read_scan(path, topic)) if raw is None else deserialize_message(raw, PointCloud2)


def cloud_message(scan: Scan) -> PointCloud2:
    """A scan from one viewpoint, in the frame of a camera that stands there: x y z and, where it has colours, rgb."""
    header = Header(frame_id=scan.frame or DEFAULT_FRAME, stamp=stamp_message(scan.stamp))
    points = scan.points - scan.viewpoints
    if scan.colors is None:
        return create_cloud(header, points)
    red, green, blue = scan.colors.astype(np.uint32).T
    return create_cloud(header, points, rgb=(red << 16 | green << 8 | blue).view(np.float32))


def push_message(push: Push, frame: str) -> GripperPush:
    """A planned push in a frame."""
    poses = np.concatenate([push.path.positions, push.path.quaternions], axis=1)
    return GripperPush(
        header=Header(frame_id=frame),
        tool=tool_message(push.tool),
        waypoints=[PushWaypoint(time=float(t), pose=pose_message(pose)) for t, pose in zip(push.path.times, poses, strict=True)],
        force_limit=push.force_limit if np.isfinite(push.force_limit) else 0.0,
        opening=push.tool.opening or 0.0,
    )


def mesh_from_message(message: ObjectMesh) -> ReconstructedMesh:
    """A reconstructed object as the node sends it."""
    vertices, faces = _mesh_arrays(message.mesh)
    return ReconstructedMesh(
        vertices=vertices,
        faces=faces,
        observed=np.array(message.observed, np.bool_),
        colors=np.array(message.colors, np.uint8).reshape(-1, 3) if len(message.colors) else None,
        support=np.array(message.support, np.float64),
        completion=message.completion,
        frame=message.header.frame_id,
        stamp=message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec,
    )


def motion_from_result(result: Any) -> PredictedMotion:
    """The motion in a PredictDeformation result.

    Raises:
        NeurokError: the result's own error, where it holds no motion.
    """
    motion = result.motion
    if not len(motion.times):
        raise NeurokError(ErrorCode(result.error_code), "result", result.message, "See the message")
    shape = (len(motion.times), motion.vertex_count, 3)
    return PredictedMotion(
        times=np.array(motion.times),
        vertices=np.array(motion.vertices, np.float32).reshape(shape),
        tool_poses=np.array([_pose_array(pose) for pose in motion.tool_poses]),
        contact_force=np.array([(force.x, force.y, force.z) for force in motion.contact_force]),
        penetration=np.array(motion.penetration),
        displacement=np.array(motion.displacement),
        parameterization=result.quality.parameterization,
        parameterization_reason=result.quality.parameterization_reason,
        flags={flag.name: flag.raised for flag in result.quality.flags},
        measures={measure.name: measure.value for measure in result.quality.measures},
        timings_ms={stage.stage: stage.milliseconds for stage in result.stage_times},
    )


def _mesh_arrays(mesh: Mesh) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    vertices = np.array([(point.x, point.y, point.z) for point in mesh.vertices], np.float64).reshape(-1, 3)
    faces = np.array([triangle.vertex_indices for triangle in mesh.triangles], np.int32).reshape(-1, 3)
    return vertices, faces


def _pose_array(pose: Pose) -> tuple[float, ...]:
    p, q = pose.position, pose.orientation
    return (p.x, p.y, p.z, q.x, q.y, q.z, q.w)
