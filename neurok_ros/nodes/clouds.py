"""PointCloud2 to Scan and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import Header

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.nodes.ros_features import create_cloud
from neurok_ros.reconstruction.point_fields import check_layout, decode_points
from neurok_ros.reconstruction.types import Scan, SegmentedObject

Floats = NDArray[np.float64]


def check_cloud(cloud: PointCloud2) -> bool:
    """Whether the cloud has points at all; cheap, looks at no point.

    Raises:
        NeurokError: INVALID_CLOUD, with the name of the field at fault.
    """
    return check_layout(cloud.data, cloud.width, cloud.height, cloud.point_step, cloud.row_step, cloud.fields)


def scan_from_cloud(cloud: PointCloud2, sensor_pose: Floats, frame: str, min_points: int) -> tuple[Scan, list[str]]:
    """The finite points of a cloud in the planning frame, and what the message said that was not so.

    Args:
        sensor_pose: (4, 4) transform from the cloud's frame to `frame`, metres. The camera stands at its origin.
        frame: name of the planning frame.
        min_points: fewer finite points than this are refused.

    Raises:
        NeurokError: INVALID_CLOUD with the field at fault, TOO_FEW_POINTS with the count.
    """
    decoded = decode_points(
        cloud.data, cloud.width, cloud.height, cloud.point_step, cloud.row_step, cloud.is_bigendian, cloud.fields
    )
    stamp = cloud.header.stamp.sec + 1e-9 * cloud.header.stamp.nanosec
    scan = decoded.scan(frame=frame, stamp=stamp)
    if len(scan.points) < min_points:
        raise NeurokError(
            ErrorCode.TOO_FEW_POINTS,
            "cloud.data",
            f"{len(scan.points)} finite points of {cloud.width * cloud.height}, at least {min_points} are needed",
            "Move the camera so that it sees the object, or lower the parameter min_points",
        )
    points = scan.points @ sensor_pose[:3, :3].T + sensor_pose[:3, 3]
    viewpoints = np.broadcast_to(sensor_pose[:3, 3], points.shape).copy()
    return replace(scan, points=points, viewpoints=viewpoints), decoded.notes


def segmented_cloud(header: Header, scan: Scan, segmented: SegmentedObject) -> PointCloud2:
    """The scan with label 1 on the points of the object that was chosen and 0 on all others."""
    labels = np.zeros(len(scan.points), dtype=np.uint32)
    labels[segmented.source] = 1
    return create_cloud(header, scan.points, label=labels)
