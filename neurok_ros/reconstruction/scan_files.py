"""Scans from files: PCD, PLY, and bags (MCAP files, rosbag2 folders, .db3, ROS 1 .bag) with a PointCloud2 topic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.pcd import decode_pcd
from neurok_ros.reconstruction.point_fields import decode_points
from neurok_ros.reconstruction.types import Scan

BAG_SUFFIXES = (".mcap", ".db3", ".bag")
POINT_CLOUD = "sensor_msgs/msg/PointCloud2"


def read_scan(path: Path, topic: str | None = None, index: int = 0) -> Scan:
    """Read one scan, points that are not finite dropped.

    Args:
        path: a .pcd, .ply, .mcap, .db3 or .bag file, or a rosbag2 folder.
        topic: of a bag: the PointCloud2 topic to read; None where there is only one.
        index: of a bag: which message on that topic, from 0.

    Returns:
        The scan in the frame of the file, metres. The camera is taken to be at the origin, for a PCD file at its VIEWPOINT.

    Raises:
        NeurokError: FILE_FAILED where the file cannot be read, INVALID_CLOUD where what it holds contradicts itself.
    """
    if not path.exists():
        raise _failed("path", f"{path} does not exist", "Check the path")
    suffix = path.suffix.lower()
    try:
        if _is_bag(path):
            return _read_bag(path, topic, index)
        if suffix == ".pcd":
            decoded, viewpoint = decode_pcd(path.read_bytes())
            return decoded.scan(viewpoint)
        if suffix == ".ply":
            return _read_ply(path)
    except OSError as error:
        raise _failed("path", f"{path} cannot be read ({error})", "Check the file and its permissions") from error
    raise _failed("path", f"{path.name}: unknown type {suffix!r}", "Use .pcd, .ply, .mcap, .db3, .bag or a rosbag2 folder")


def merge_scans(scans: Sequence[Scan]) -> Scan:
    """Several scans of the same object, already in one frame, as one; the latest stamp; colours and labels where all have them.

    Raises:
        NeurokError: NO_SCAN without scans, INVALID_CLOUD where the frames differ.
    """
    if not scans:
        raise NeurokError(ErrorCode.NO_SCAN, "scans", "there are none to merge", "Give at least one scan")
    frames = sorted({scan.frame for scan in scans})
    if len(frames) > 1:
        raise NeurokError(ErrorCode.INVALID_CLOUD, "frame", f"scans are in frames {frames}", "Transform them into one first")
    colors = [scan.colors for scan in scans if scan.colors is not None]
    labels = [scan.labels for scan in scans if scan.labels is not None]
    return Scan(
        points=np.concatenate([scan.points for scan in scans]),
        viewpoints=np.concatenate([scan.viewpoints for scan in scans]),
        colors=np.concatenate(colors) if len(colors) == len(scans) else None,
        labels=np.concatenate(labels) if len(labels) == len(scans) else None,
        frame=frames[0],
        stamp=max(scan.stamp for scan in scans),
    )


def _failed(name: str, problem: str, remedy: str) -> NeurokError:
    return NeurokError(ErrorCode.FILE_FAILED, name, problem, remedy)


def _read_ply(path: Path) -> Scan:
    import trimesh

    try:
        geometry = trimesh.load(path, process=False)
    except Exception as error:
        raise _failed("path", f"{path} cannot be read as PLY ({error})", "Write the file again") from error
    points = np.asarray(getattr(geometry, "vertices", np.empty((0, 3))), dtype=np.float64).reshape(-1, 3)
    finite = np.isfinite(points).all(axis=1)
    rgba = getattr(geometry, "colors", None)
    if isinstance(geometry, trimesh.Trimesh) and geometry.visual.kind == "vertex":
        rgba = geometry.visual.vertex_colors
    colored = rgba is not None and np.shape(rgba)[:1] == (len(points),)
    return Scan(
        points=points[finite],
        viewpoints=np.zeros((int(finite.sum()), 3)),
        colors=np.asarray(rgba, dtype=np.uint8)[finite, :3] if colored else None,
    )


def read_raw_cloud(path: Path, topic: str | None = None, index: int = 0) -> bytes | None:
    """The bytes of a ROS 2 bag's PointCloud2 as they were recorded (CDR); None where the file is something else.

    Raises:
        NeurokError: FILE_FAILED, as `read_scan`.
    """
    is_ros2_bag = _is_bag(path) and path.suffix.lower() != ".bag"
    return _bag_message(path, topic, index)[0] if is_ros2_bag else None


def _is_bag(path: Path) -> bool:
    return path.is_dir() or path.suffix.lower() in BAG_SUFFIXES


def _read_bag(path: Path, topic: str | None, index: int) -> Scan:
    return _message_scan(_bag_message(path, topic, index)[1])


def _bag_message(path: Path, topic: str | None, index: int) -> tuple[bytes, Any]:
    from rosbags.highlevel import AnyReader, AnyReaderError
    from rosbags.typesys import Stores, get_typestore

    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as reader:
            connections = [each for each in reader.connections if each.msgtype == POINT_CLOUD]
            topics = sorted({each.topic for each in connections})
            chosen = _choose_topic(topics, topic)
            connections = [each for each in connections if each.topic == chosen]
            for number, (connection, _, raw) in enumerate(reader.messages(connections=connections)):
                if number == index:
                    return bytes(raw), reader.deserialize(raw, connection.msgtype)
    except AnyReaderError as error:
        raise _failed("path", f"{path} cannot be read as a bag ({error})", "Check it with `ros2 bag info`") from error
    raise _failed("index", f"{index} is beyond the last PointCloud2 on {chosen}", "Give a smaller index")


def _choose_topic(topics: Sequence[str], topic: str | None) -> str:
    if topic is not None:
        if topic not in topics:
            raise _failed("topic", f"{topic} carries no PointCloud2", f"Choose one of {list(topics)}")
        return topic
    if len(topics) != 1:
        remedy = "Name one of them" if topics else "Record one"
        raise _failed("topic", f"{len(topics)} topics carry PointCloud2: {list(topics)}", remedy)
    return topics[0]


def _message_scan(message: Any) -> Scan:
    sizes = (message.width, message.height, message.point_step, message.row_step)
    decoded = decode_points(message.data, *sizes, bool(message.is_bigendian), message.fields)
    stamp = message.header.stamp
    return replace(decoded.scan(), frame=message.header.frame_id, stamp=stamp.sec + stamp.nanosec * 1e-9)
