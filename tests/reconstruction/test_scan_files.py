from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction import lzf
from neurok_ros.reconstruction.scan_files import merge_scans, read_scan
from neurok_ros.reconstruction.types import Scan

POINTS = np.array([[0.5, -1.25, 2.0], [1.0, 2.0, 3.0], [-4.0, 0.125, 0.25], [7.0, 8.0, 9.0]])
LABELS = np.array([0, 20, 30, 4_000_000_000])
COLORS = np.array([[1, 2, 3], [255, 254, 253], [0, 0, 0], [16, 32, 48]])


def words() -> np.ndarray:
    return (COLORS[:, 0] << 16) | (COLORS[:, 1] << 8) | COLORS[:, 2]


def literal_lzf(data: bytes) -> bytes:
    """LZF that copies everything: valid, if not small."""
    parts = [data[start : start + 32] for start in range(0, len(data), 32)]
    return b"".join(bytes([len(part) - 1]) + part for part in parts)


def pcd(storage: str, float_color: bool = False) -> bytes:
    kind = "F" if float_color else "U"
    header = (
        "# .PCD v0.7\nVERSION 0.7\nFIELDS label _ z y x rgb\nSIZE 4 1 4 4 8 4\n"
        f"TYPE U U F F F {kind}\nCOUNT 1 3 1 1 1 1\nWIDTH 2\nHEIGHT 2\nVIEWPOINT 0.1 0.2 0.3 1 0 0 0\nPOINTS 4\nDATA {storage}\n"
    ).encode()
    record = np.dtype([("label", "<u4"), ("pad", "u1", 3), ("z", "<f4"), ("y", "<f4"), ("x", "<f8"), ("rgb", "<u4")])
    records = np.zeros(4, record)
    records["label"], records["rgb"] = LABELS, words()
    records["x"], records["y"], records["z"] = POINTS.T
    if storage == "ascii":
        colors = words().astype("u4").view("f4") if float_color else words()
        lines = [f"{label} 0 0 0 {p[2]} {p[1]} {p[0]} {c!s}" for label, p, c in zip(LABELS, POINTS, colors, strict=True)]
        return header + "\n".join(lines).encode() + b"\n"
    if storage == "binary":
        return header + records.tobytes()
    columns = b"".join(records[name].tobytes() for name in record.names or ())
    packed = literal_lzf(columns)
    return header + struct.pack("<II", len(packed), len(columns)) + packed


@pytest.mark.parametrize("float_color", [False, True])
@pytest.mark.parametrize("storage", ["ascii", "binary", "binary_compressed"])
def test_reads_pcd_with_fields_in_any_order_and_type(tmp_path: Path, storage: str, float_color: bool) -> None:
    path = tmp_path / "scan.pcd"
    path.write_bytes(pcd(storage, float_color))

    scan = read_scan(path)

    np.testing.assert_array_equal(scan.points, POINTS)
    np.testing.assert_allclose(scan.viewpoints, np.tile([0.1, 0.2, 0.3], (4, 1)))
    assert scan.labels is not None
    assert scan.colors is not None
    np.testing.assert_array_equal(scan.labels, LABELS)
    np.testing.assert_array_equal(scan.colors, COLORS)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b"not a pcd", "DATA"),
        (pcd("binary").replace(b"WIDTH 2", b"WIDTH 3"), "POINTS"),
        (pcd("binary").replace(b"POINTS 4", b"POINTS 4000000000").replace(b"WIDTH 2", b"WIDTH 2000000000"), "WIDTH"),
        (pcd("binary").replace(b"SIZE 4 1 4", b"SIZE 4 1 3"), "z"),
        (pcd("binary").replace(b"FIELDS label _ z", b"FIELDS label _ w"), "z"),
        (pcd("binary")[:-1], "data"),
        (pcd("binary_compressed")[:-1], "DATA"),
        (pcd("ascii")[:-20], "DATA"),
    ],
)
def test_a_damaged_pcd_is_an_error_that_names_the_line(tmp_path: Path, content: bytes, field: str) -> None:
    path = tmp_path / "scan.pcd"
    path.write_bytes(content)

    with pytest.raises(NeurokError) as caught:
        read_scan(path)

    assert caught.value.code is ErrorCode.INVALID_CLOUD
    assert caught.value.field == field


def test_lzf_copies_repeat_and_overlap() -> None:
    # "abcab" then three bytes from three back, then a long run from one back (length 7 + 5 + 2 = 14).
    packed = bytes([4]) + b"abcab" + bytes([(1 << 5) | 0, 2]) + bytes([(7 << 5) | 0, 5, 0])

    assert lzf.decompress(packed, 22) == b"abcab" + b"cab" + b"b" * 14


@pytest.mark.parametrize("packed", [bytes([32, 5]), bytes([224]), bytes([0]) + b"a" + bytes([32])])
def test_damaged_lzf_is_an_error(packed: bytes) -> None:
    with pytest.raises(ValueError, match=r"data|bytes"):
        lzf.decompress(packed, 10)


@pytest.mark.parametrize("ascii_format", [False, True])
def test_reads_ply(tmp_path: Path, ascii_format: bool) -> None:
    import trimesh

    path = tmp_path / "scan.ply"
    rgba = np.column_stack([COLORS, np.full(4, 255)]).astype(np.uint8)
    path.write_bytes(trimesh.PointCloud(POINTS, rgba).export(file_type="ply", encoding="ascii" if ascii_format else "binary"))

    scan = read_scan(path)

    np.testing.assert_allclose(scan.points, POINTS)
    assert scan.colors is not None
    np.testing.assert_array_equal(scan.colors, COLORS)


def write_bag(folder: Path, storage: str, topics: dict[str, int]) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    types = get_typestore(Stores.ROS2_HUMBLE)
    header, time_type = types.types["std_msgs/msg/Header"], types.types["builtin_interfaces/msg/Time"]
    cloud, field = types.types["sensor_msgs/msg/PointCloud2"], types.types["sensor_msgs/msg/PointField"]
    with Writer(folder, version=8, storage_plugin=StoragePlugin[storage]) as writer:
        for topic, count in topics.items():
            connection = writer.add_connection(topic, cloud.__msgtype__, typestore=types)
            for number in range(count):
                message = cloud(
                    header=header(stamp=time_type(sec=10 + number, nanosec=500_000_000), frame_id="camera"),
                    height=1,
                    width=4,
                    fields=[field(name=name, offset=4 * axis, datatype=7, count=1) for axis, name in enumerate("xyz")],
                    is_bigendian=False,
                    point_step=12,
                    row_step=48,
                    data=np.frombuffer((POINTS + number).astype("<f4").tobytes(), np.uint8),
                    is_dense=True,
                )
                writer.write(connection, number, types.serialize_cdr(message, cloud.__msgtype__))


@pytest.mark.parametrize("storage", ["MCAP", "SQLITE3"])
@pytest.mark.parametrize("as_folder", [True, False])
def test_reads_a_message_from_a_bag(tmp_path: Path, storage: str, as_folder: bool) -> None:
    folder = tmp_path / "bag"
    write_bag(folder, storage, {"/points": 3})
    path = folder if as_folder else next(each for each in folder.iterdir() if each.suffix in (".mcap", ".db3"))

    scan = read_scan(path, index=2)

    np.testing.assert_array_equal(scan.points, POINTS + 2)
    assert scan.frame == "camera"
    assert scan.stamp == 12.5


def test_a_bag_with_several_clouds_needs_a_topic(tmp_path: Path) -> None:
    folder = tmp_path / "bag"
    write_bag(folder, "MCAP", {"/left": 1, "/right": 2})

    np.testing.assert_array_equal(read_scan(folder, topic="/right", index=1).points, POINTS + 1)
    for arguments, field in (({}, "topic"), ({"topic": "/up"}, "topic"), ({"topic": "/left", "index": 1}, "index")):
        with pytest.raises(NeurokError) as caught:
            read_scan(folder, **arguments)  # type: ignore[arg-type]
        assert caught.value.code is ErrorCode.FILE_FAILED
        assert caught.value.field == field


@pytest.mark.parametrize("name", ["missing.pcd", "scan.stl", "broken.ply", "broken.mcap", "empty_folder"])
def test_unreadable_files_are_errors(tmp_path: Path, name: str) -> None:
    if "broken" in name or name.endswith(".stl"):
        (tmp_path / name).write_bytes(b"nonsense")
    elif name == "empty_folder":
        (tmp_path / name).mkdir()

    with pytest.raises(NeurokError) as caught:
        read_scan(tmp_path / name)

    assert caught.value.code is ErrorCode.FILE_FAILED


def test_merging_keeps_what_all_scans_have() -> None:
    colors = COLORS.astype(np.uint8)
    one = Scan(POINTS, np.zeros((4, 3)), colors=colors, labels=LABELS.astype(np.uint32), frame="world", stamp=1.0)
    two = Scan(POINTS + 1, np.ones((4, 3)), colors=colors, frame="world", stamp=3.0)

    merged = merge_scans([one, two])

    np.testing.assert_array_equal(merged.points, np.concatenate([POINTS, POINTS + 1]))
    np.testing.assert_array_equal(merged.viewpoints[:, 0], [0] * 4 + [1] * 4)
    assert merged.colors is not None
    assert merged.labels is None
    assert (merged.frame, merged.stamp) == ("world", 3.0)


def test_merging_needs_one_frame_and_a_scan() -> None:
    one = Scan(POINTS, np.zeros((4, 3)), frame="world")
    with pytest.raises(NeurokError, match="frame"):
        merge_scans([one, Scan(POINTS, np.zeros((4, 3)), frame="camera")])
    with pytest.raises(NeurokError, match="scans"):
        merge_scans([])


def test_real_scans_are_read_with_labels(scans: Path) -> None:
    scan = read_scan(scans / "test33.pcd")

    assert len(scan.points) == 172_802
    assert scan.labels is not None
    assert set(np.unique(scan.labels)) == {1, 20, 30, 40, 50, 51}
