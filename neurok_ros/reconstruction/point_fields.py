"""The bytes of a PointCloud2 as arrays: by offset, without copies where the layout allows, distrusting every number.

`sensor_msgs_py` ignores `row_step`, asserts on mixed field types and swaps bytes in place, hence this module. It knows
nothing of ROS: whatever has a `name`, `offset`, `datatype` and `count` is a field. PCD files are read with it as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.types import Scan

MAX_POINTS = 10_000_000
"""Twice what the largest common depth cameras give; a bound against sizes that are nonsense."""

# sensor_msgs/PointField; 9 and 10 are newer than Kilted and occur in PCD files as U8 and I8.
NUMPY_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8", 9: "i8", 10: "u8"}
COLOR_NAMES = ("rgb", "rgba")
PADDING_NAMES = ("", "_")
CREDIBLE_METRES = (1e-7, 1e5)
"""Coordinates of real scans lie in between, or are zero; a float with its bytes reversed mostly does not."""


class PointField(Protocol):
    """One `sensor_msgs/PointField`, or anything shaped like it."""

    @property
    def name(self) -> str: ...
    @property
    def offset(self) -> int: ...
    @property
    def datatype(self) -> int: ...
    @property
    def count(self) -> int: ...


@dataclass(frozen=True)
class DecodedPoints:
    """A cloud's arrays, one row per point in row-major order of the organised cloud, invalid points still in place."""

    points: NDArray[Any]
    """(h * w, 3) float32 or float64, metres; a view of the message's bytes where the layout allows."""
    colors: NDArray[np.uint8] | None
    """(h * w, 3) red, green, blue."""
    labels: NDArray[np.uint32] | None
    """(h * w,)."""
    shape: tuple[int, int]
    """(h, w): rows and columns."""
    finite: NDArray[np.bool_]
    """(h * w,) true where x, y and z are all finite, whatever `is_dense` says."""
    notes: list[str] = field(default_factory=list)
    """What the message said that was not so, and what was assumed instead."""

    def scan(self, viewpoint: Sequence[float] = (0.0, 0.0, 0.0), frame: str = "", stamp: float = 0.0) -> Scan:
        """The finite points as a Scan seen from one `viewpoint` (3,) in metres, in the cloud's frame."""
        points = self.points[self.finite].astype(np.float64)
        return Scan(
            points=points,
            viewpoints=np.broadcast_to(np.asarray(viewpoint, dtype=np.float64), points.shape).copy(),
            colors=None if self.colors is None else np.ascontiguousarray(self.colors[self.finite]),
            labels=None if self.labels is None else self.labels[self.finite],
            frame=frame,
            stamp=stamp,
        )


@dataclass(frozen=True)
class _Layout:
    """Where things lie in the data, after every claim was checked."""

    data: memoryview
    height: int
    width: int
    point_step: int
    row_step: int

    def view(self, offset: int, numpy_type: str, shape: tuple[int, ...] = (), strides: tuple[int, ...] = ()) -> NDArray[Any]:
        """(h * w, *shape) of what lies `offset` bytes into every point; no copy where rows follow without padding."""
        array: NDArray[Any] = np.ndarray(
            (self.height, self.width, *shape),
            dtype=np.dtype(numpy_type),
            buffer=self.data,
            offset=offset,
            strides=(self.row_step, self.point_step, *strides),
        )
        return array.reshape(self.height * self.width, *shape)


def decode_points(
    data: Any,
    width: int,
    height: int,
    point_step: int,
    row_step: int,
    is_bigendian: bool,
    fields: Sequence[PointField],
    max_points: int = MAX_POINTS,
) -> DecodedPoints:
    """Decode the content of a `sensor_msgs/PointCloud2`; every length is in bytes, as in the message.

    Args:
        data: anything with a buffer of bytes (bytes, array('B'), memoryview, numpy uint8).
        width, height: points in a row, and rows (1: unorganised).
        point_step, row_step: bytes from point to point and from row to row; `row_step` may be 0 or the size of the
            whole cloud, as some drivers publish it.
        is_bigendian: the byte order; where the coordinates are only credible the other way round, that one is used
            and a note says so.
        fields: x, y and z of any number type, optionally rgb or rgba (packed into 4 bytes) and label, in any order.
        max_points: more than this is refused.

    Returns:
        The points, (0, 3) of them for an empty cloud.

    Raises:
        NeurokError: INVALID_CLOUD, with the name of the field at fault, before anything is allocated.
    """
    notes: list[str] = []
    checked = _checked(data, width, height, point_step, row_step, fields, max_points, notes)
    if checked is None:
        return DecodedPoints(np.empty((0, 3), np.float32), None, None, (height, width), np.empty(0, np.bool_))
    layout, by_name = checked
    xyz = [by_name[name] for name in "xyz"]
    big = _credible_byte_order(layout, xyz, is_bigendian, notes)
    points = _coordinates(layout, xyz, big)
    return DecodedPoints(
        points=points,
        colors=_colors(layout, by_name, big, notes),
        labels=_labels(layout, by_name, big),
        shape=(height, width),
        finite=np.isfinite(points).all(axis=1),
        notes=notes,
    )


def check_layout(
    data: Any,
    width: int,
    height: int,
    point_step: int,
    row_step: int,
    fields: Sequence[PointField],
    max_points: int = MAX_POINTS,
) -> bool:
    """Whether a cloud has points at all; looks at no point, so it costs next to nothing. Arguments as in `decode_points`.

    Raises:
        NeurokError: INVALID_CLOUD, with the name of the field at fault.
    """
    return _checked(data, width, height, point_step, row_step, fields, max_points, notes=[]) is not None


def _checked(
    data: Any,
    width: int,
    height: int,
    point_step: int,
    row_step: int,
    fields: Sequence[PointField],
    max_points: int,
    notes: list[str],
) -> tuple[_Layout, dict[str, PointField]] | None:
    """The layout and the fields by name after every claim was checked; None for a cloud without points."""
    view = memoryview(data).cast("B")
    if width < 0 or height < 0 or width * height > max_points:
        raise _invalid("width", f"{width} x {height} points, at most {max_points} are accepted", "Crop or down-sample the cloud")
    if width * height == 0:
        if len(view):
            raise _invalid("width", f"{width} x {height} points but {len(view)} bytes of data", "Set width and height")
        return None
    layout = _checked_layout(view, width, height, point_step, row_step, notes)
    return layout, _checked_fields(fields, point_step)


def _invalid(name: str, problem: str, remedy: str) -> NeurokError:
    return NeurokError(ErrorCode.INVALID_CLOUD, name, problem, remedy)


def _checked_layout(data: memoryview, width: int, height: int, point_step: int, row_step: int, notes: list[str]) -> _Layout:
    if point_step <= 0:
        raise _invalid("point_step", f"is {point_step}", "Set it to the bytes of one point")
    packed = width * point_step
    if row_step == 0:
        notes.append(f"row_step is 0; {packed} = width x point_step was assumed")
        row_step = packed
    elif height > 1 and row_step == height * packed and len(data) < height * row_step:
        notes.append(f"row_step {row_step} is the size of the whole cloud; {packed} = width x point_step was assumed")
        row_step = packed
    if row_step < packed:
        raise _invalid("row_step", f"{row_step} bytes, less than width x point_step = {packed}", "Set it to the bytes of one row")
    needed = (height - 1) * row_step + packed
    if len(data) < needed:
        raise _invalid("data", f"{len(data)} bytes, but width, height and steps need {needed}", "Send the whole cloud")
    if len(data) > height * row_step:
        notes.append(f"data has {len(data) - height * row_step} bytes more than height x row_step; they were ignored")
    return _Layout(data, height, width, point_step, row_step)


def _size(point_field: PointField) -> int:
    return np.dtype(NUMPY_TYPES[point_field.datatype]).itemsize * max(point_field.count, 1)


def _checked_fields(fields: Sequence[PointField], point_step: int) -> dict[str, PointField]:
    if not fields:
        raise _invalid("fields", "is empty", "Describe at least x, y and z")
    wanted = ("x", "y", "z", "label", *COLOR_NAMES)
    by_name: dict[str, PointField] = {}
    for each in fields:
        if each.name in PADDING_NAMES or (each.datatype not in NUMPY_TYPES and each.name not in wanted):
            continue
        if each.name in by_name:
            raise _invalid(each.name, "is described twice in fields", "Describe every field once")
        if each.datatype not in NUMPY_TYPES:
            raise _invalid(each.name, f"datatype {each.datatype} is unknown", "Use the constants of sensor_msgs/PointField")
        if each.offset < 0 or each.offset + _size(each) > point_step:
            raise _invalid(
                each.name,
                f"bytes {each.offset} to {each.offset + _size(each)} lie outside the point_step of {point_step}",
                "Mend its offset, datatype or count, or point_step",
            )
        by_name[each.name] = each
    for name in "xyz":
        if name not in by_name:
            raise _invalid(name, f"is missing among the fields {sorted(by_name)}", "Send x, y and z")
        _refuse_overlap(by_name[name], by_name)
    return by_name


def _refuse_overlap(one: PointField, by_name: dict[str, PointField]) -> None:
    for other in by_name.values():
        apart = other.offset >= one.offset + _size(one) or one.offset >= other.offset + _size(other)
        if other is not one and not apart:
            problem = f"at offset {one.offset} shares bytes with {other.name} at offset {other.offset}"
            raise _invalid(one.name, problem, "Mend the offsets")


def _numpy_type(point_field: PointField, big: bool) -> str:
    return (">" if big else "<") + NUMPY_TYPES[point_field.datatype]


def _credible_share(layout: _Layout, point_field: PointField, big: bool) -> float:
    values = layout.view(point_field.offset, _numpy_type(point_field, big))
    sample = np.abs(values[:: max(1, len(values) // 4096)].astype(np.float64))
    low, high = CREDIBLE_METRES
    return float(np.mean(~np.isfinite(sample) | (sample == 0) | ((sample > low) & (sample < high))))


def _credible_byte_order(layout: _Layout, xyz: Sequence[PointField], claimed: bool, notes: list[str]) -> bool:
    """The byte order to read with. Only floating-point numbers can tell; integers are taken as they are claimed."""
    floats = [each for each in xyz if NUMPY_TYPES[each.datatype].startswith("f")]
    with np.errstate(invalid="ignore", over="ignore"):
        as_claimed = min((_credible_share(layout, each, claimed) for each in floats), default=1.0)
        if as_claimed > 0.5:
            return claimed
        otherwise = min(_credible_share(layout, each, not claimed) for each in floats)
    if otherwise < 0.9:
        notes.append(f"only {as_claimed:.0%} of the coordinates are credible as metres, in either byte order")
        return claimed
    notes.append(f"is_bigendian is {claimed}, but the coordinates are only credible the other way round, which was used")
    return not claimed


def _coordinates(layout: _Layout, xyz: Sequence[PointField], big: bool) -> NDArray[Any]:
    """(n, 3) float32 or float64: a view if the three lie evenly spaced in one native float type, else a converted copy."""
    x, y, z = xyz
    native = np.dtype(_numpy_type(x, big)).isnative
    stride = y.offset - x.offset
    if native and x.datatype == y.datatype == z.datatype and x.datatype in (7, 8) and z.offset - y.offset == stride:
        return layout.view(x.offset, NUMPY_TYPES[x.datatype], (3,), (stride,))
    columns = [layout.view(each.offset, _numpy_type(each, big)) for each in xyz]
    result = np.result_type(np.float32, *(column.dtype for column in columns)).newbyteorder("=")
    points: NDArray[Any] = np.empty((len(columns[0]), 3), dtype=result)
    for axis, column in enumerate(columns):
        points[:, axis] = column
    return points


def _colors(layout: _Layout, by_name: dict[str, PointField], big: bool, notes: list[str]) -> NDArray[np.uint8] | None:
    """(n, 3): the bytes 0xAARRGGBB of the packed word, whatever number type it claims to be."""
    packed = next((by_name[name] for name in COLOR_NAMES if name in by_name), None)
    if packed is None:
        return None
    if NUMPY_TYPES[packed.datatype] not in ("i4", "u4", "f4"):
        notes.append(f"{packed.name} has datatype {packed.datatype}, not a packed 4-byte word; colours were ignored")
        return None
    return layout.view(packed.offset + 1, "u1", (3,), (1,)) if big else layout.view(packed.offset + 2, "u1", (3,), (-1,))


def _labels(layout: _Layout, by_name: dict[str, PointField], big: bool) -> NDArray[np.uint32] | None:
    if "label" not in by_name:
        return None
    values = layout.view(by_name["label"].offset, _numpy_type(by_name["label"], big))
    if values.dtype.kind == "f":
        values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0).astype(np.int64)
    return values.astype(np.uint32, copy=False)
