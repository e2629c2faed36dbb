"""Every row of the table of malformed and unusual point clouds that concerns their bytes."""

from __future__ import annotations

import array
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.point_fields import DecodedPoints, decode_points

TYPE_NUMBERS = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}
COLOR = 0xFF102030


@dataclass
class Field:
    name: str
    offset: int
    datatype: int
    count: int = 1


def cloud(
    layout: list[tuple[str, str, int]],
    height: int = 1,
    width: int = 12,
    point_step: int = 0,
    row_padding: int = 0,
    big: bool = False,
) -> tuple[dict[str, Any], np.ndarray]:
    """Arguments of decode_points for fields (name, numpy type, offset), and the (h * w, 3) coordinates it holds."""
    order = ">" if big else "<"
    step = point_step or max(offset + np.dtype(kind).itemsize for _, kind, offset in layout)
    record = np.dtype(
        {
            "names": [name for name, _, _ in layout],
            "formats": [order + kind for _, kind, _ in layout],
            "offsets": [offset for _, _, offset in layout],
            "itemsize": step,
        }
    )
    points = np.arange(1, height * width * 3 + 1).reshape(-1, 3) % 100
    records = np.zeros((height, width), dtype=record)
    for name in record.names or ():
        if name in "xyz":
            records[name] = points[:, "xyz".index(name)].reshape(height, width)
        elif name in ("rgb", "rgba"):
            words = np.full((height, width), COLOR, dtype=order + "u4")
            records[name] = words.view(record[name])
        else:
            records[name] = np.arange(height * width).reshape(height, width)
    rows = [row.tobytes() + b"\xab" * row_padding for row in records]
    fields = [Field(name, offset, TYPE_NUMBERS[kind]) for name, kind, offset in layout]
    arguments = {
        "data": b"".join(rows),
        "width": width,
        "height": height,
        "point_step": step,
        "row_step": step * width + row_padding,
        "is_bigendian": big,
        "fields": fields,
    }
    return arguments, points


XYZ = [("x", "f4", 0), ("y", "f4", 4), ("z", "f4", 8)]


def decode(arguments: dict[str, Any], **changes: Any) -> DecodedPoints:
    return decode_points(**{**arguments, **changes})


@pytest.mark.parametrize(
    ("layout", "point_step"),
    [
        (XYZ, 32),
        ([("z", "f4", 4), ("intensity", "u2", 0), ("x", "f4", 12), ("y", "f4", 8)], 0),
        ([("x", "f8", 0), ("y", "f8", 8), ("z", "f8", 16)], 0),
        ([("x", "i2", 1), ("y", "i2", 3), ("z", "i2", 5)], 9),
        ([("ring", "u2", 0), ("x", "f4", 2), ("y", "f8", 6), ("z", "u1", 14)], 21),
    ],
    ids=["wide point_step", "any order", "float64", "int16, unaligned", "mixed"],
)
@pytest.mark.parametrize("row_padding", [0, 13])
@pytest.mark.parametrize("big", [False, True])
def test_decodes_every_layout(layout: list[tuple[str, str, int]], point_step: int, row_padding: int, big: bool) -> None:
    arguments, points = cloud(layout, height=3, width=4, point_step=point_step, row_padding=row_padding, big=big)
    before = bytes(arguments["data"])

    decoded = decode(arguments)

    np.testing.assert_array_equal(decoded.points, points)
    assert decoded.shape == (3, 4)
    assert decoded.finite.all()
    assert arguments["data"] == before, "bytes are never swapped in place"


@pytest.mark.parametrize("row_step", ["zero", "whole cloud"])
def test_tolerates_the_usual_wrong_row_steps(row_step: str) -> None:
    arguments, points = cloud(XYZ, height=3, width=4)

    decoded = decode(arguments, row_step=0 if row_step == "zero" else len(arguments["data"]))

    np.testing.assert_array_equal(decoded.points, points)
    assert any("row_step" in note for note in decoded.notes)


def byte_array(data: bytes) -> Any:
    return array.array("B", data)


def numpy_bytes(data: bytes) -> Any:
    return np.frombuffer(data, dtype="u1")


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview, byte_array, numpy_bytes])
def test_takes_any_buffer_without_copying(make: Any) -> None:
    arguments, points = cloud(XYZ)
    data = make(arguments["data"])

    decoded = decode(arguments, data=data)

    np.testing.assert_array_equal(decoded.points, points)
    assert np.shares_memory(decoded.points, np.frombuffer(data, dtype="u1"))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"row_step": 11 * 12 + 11}, "row_step"),
        ({"point_step": 0}, "point_step"),
        ({"data": b"\0" * 143}, "data"),
        ({"width": 2**31, "height": 2**31}, "width"),
        ({"width": 0}, "width"),
        ({"fields": []}, "fields"),
        ({"fields": [Field("x", 0, 7), Field("y", 4, 7)]}, "z"),
        ({"fields": [Field("x", 0, 7), Field("y", 4, 7), Field("z", 9, 7)]}, "z"),
        ({"fields": [Field("x", 0, 7), Field("y", 2, 7), Field("z", 8, 7)]}, "x"),
        ({"fields": [Field("x", 0, 7), Field("y", 4, 7), Field("z", 8, 7), Field("x", 8, 7)]}, "x"),
        ({"fields": [Field("x", 0, 7), Field("y", 4, 99), Field("z", 8, 7)]}, "y"),
        ({"fields": [Field("x", 0, 7), Field("y", 4, 7), Field("z", 8, 7), Field("i", 0, 7, 3)]}, "x"),
        ({"fields": [Field("x", 0, 7, 2**31), Field("y", 4, 7), Field("z", 8, 7)]}, "x"),
    ],
)
def test_rejects_contradictions_naming_the_field(changes: dict[str, Any], field: str) -> None:
    arguments, _ = cloud(XYZ)

    with pytest.raises(NeurokError) as caught:
        decode(arguments, **changes)

    assert caught.value.code is ErrorCode.INVALID_CLOUD
    assert caught.value.field == field


def test_an_empty_cloud_is_empty_even_without_fields() -> None:
    decoded = decode_points(b"", 0, 0, 0, 0, False, [])

    assert decoded.points.shape == (0, 3)
    assert len(decoded.scan().points) == 0


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_notices_a_wrong_byte_order_flag(big: bool, kind: str) -> None:
    size = np.dtype(kind).itemsize
    arguments, points = cloud([(name, kind, size * axis) for axis, name in enumerate("xyz")], width=400, big=big)

    decoded = decode(arguments, is_bigendian=not big)

    np.testing.assert_array_equal(decoded.points, points)
    assert any("is_bigendian" in note for note in decoded.notes)


@pytest.mark.parametrize("kind", ["f4", "u4"])
@pytest.mark.parametrize("name", ["rgb", "rgba"])
@pytest.mark.parametrize("big", [False, True])
def test_packed_colours_are_viewed_not_cast(kind: str, name: str, big: bool) -> None:
    arguments, _ = cloud([*XYZ, (name, kind, 12)], height=2, width=3, row_padding=5, big=big)

    colors = decode(arguments).colors

    assert colors is not None
    np.testing.assert_array_equal(colors, np.tile([0x10, 0x20, 0x30], (6, 1)))


def test_a_colour_that_is_a_nan_as_a_float_keeps_its_point() -> None:
    arguments, points = cloud([*XYZ, ("rgb", "f4", 12)], width=1)
    arguments["data"] = arguments["data"][:12] + b"\x03\x02\xc1\x7f"
    assert np.isnan(np.frombuffer(arguments["data"][12:], "<f4")).all()

    scan = decode(arguments).scan()

    np.testing.assert_array_equal(scan.points, points)
    assert scan.colors is not None
    np.testing.assert_array_equal(scan.colors, [[0xC1, 0x02, 0x03]])


def test_colours_of_another_type_are_ignored_with_a_note() -> None:
    arguments, _ = cloud([*XYZ, ("intensity", "u2", 12)])
    arguments["fields"][3].name = "rgb"

    decoded = decode(arguments)

    assert decoded.colors is None
    assert any("rgb" in note for note in decoded.notes)


def test_drops_points_that_are_not_finite_and_keeps_the_rest_in_order() -> None:
    arguments, points = cloud([*XYZ, ("label", "u4", 12)], height=2, width=3)
    records = np.frombuffer(bytearray(arguments["data"]), dtype="<f4").reshape(6, 4)
    records[1, 0], records[3, 1], records[4, 2] = np.nan, np.inf, -np.inf

    decoded = decode(arguments, data=records.tobytes())
    scan = decoded.scan(viewpoint=(1, 2, 3), frame="camera", stamp=4.0)

    assert decoded.finite.tolist() == [True, False, True, False, False, True]
    np.testing.assert_array_equal(scan.points, points[[0, 2, 5]])
    assert scan.labels is not None
    assert scan.labels.tolist() == [0, 2, 5]
    np.testing.assert_array_equal(scan.viewpoints, np.tile([1, 2, 3], (3, 1)))


def test_agrees_with_sensor_msgs_py_where_that_can_read_the_cloud() -> None:
    point_cloud2 = pytest.importorskip("sensor_msgs_py.point_cloud2", reason="sensor_msgs_py comes with a ROS installation")
    from sensor_msgs.msg import PointCloud2, PointField

    arguments, _ = cloud(XYZ, height=3, width=4)
    fields = [PointField(name=each.name, offset=each.offset, datatype=each.datatype, count=1) for each in arguments["fields"]]
    message = PointCloud2(**{**arguments, "data": array.array("B", arguments["data"]), "fields": fields})

    theirs = point_cloud2.read_points(message, field_names=("x", "y", "z"))

    np.testing.assert_array_equal(decode(arguments).points, np.stack([theirs[name].ravel() for name in "xyz"], axis=1))
