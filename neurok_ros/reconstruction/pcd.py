"""PCD files (Point Cloud Library, version 0.7): ascii, binary and binary_compressed, any fields.

Open3D's reader drops labels and unorganised padding, and must not be imported here.
"""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction import lzf
from neurok_ros.reconstruction.point_fields import MAX_POINTS, NUMPY_TYPES, DecodedPoints, decode_points

_DATATYPES = {
    ("I", 1): 1,
    ("U", 1): 2,
    ("I", 2): 3,
    ("U", 2): 4,
    ("I", 4): 5,
    ("U", 4): 6,
    ("F", 4): 7,
    ("F", 8): 8,
    ("I", 8): 9,
    ("U", 8): 10,
}


@dataclass(frozen=True)
class PcdField:
    """A field of a PCD file, shaped like a `sensor_msgs/PointField`."""

    name: str
    offset: int
    datatype: int
    count: int


@dataclass(frozen=True)
class _Header:
    fields: list[PcdField]
    point_step: int
    width: int
    height: int
    viewpoint: tuple[float, float, float]
    storage: str
    size: int


def decode_pcd(content: bytes) -> tuple[DecodedPoints, tuple[float, float, float]]:
    """The cloud in the bytes of a PCD file, and where the camera stood (metres, the cloud's frame).

    Raises:
        NeurokError: INVALID_CLOUD, with the header line at fault.
    """
    header = _read_header(content)
    body = content[header.size :]
    if header.storage == "ascii":
        body = _pack_ascii(body, header)
    elif header.storage == "binary_compressed":
        body = _decompress(body, header)
    elif header.storage != "binary":
        raise _invalid("DATA", f"{header.storage!r} is unknown", "Use ascii, binary or binary_compressed")
    body = body[: header.point_step * header.width * header.height]
    row_step = header.point_step * header.width
    return decode_points(body, header.width, header.height, header.point_step, row_step, False, header.fields), header.viewpoint


def _invalid(name: str, problem: str, remedy: str = "Write the file again") -> NeurokError:
    return NeurokError(ErrorCode.INVALID_CLOUD, name, problem, remedy)


def _read_header(content: bytes) -> _Header:
    lines: dict[str, list[str]] = {}
    position = 0
    while "DATA" not in lines:
        end = content.find(b"\n", position)
        if end < 0 or position > 65536:
            raise _invalid("DATA", "the header does not end with a DATA line", "Check that this is a PCD file")
        words = content[position:end].decode("ascii", errors="replace").split()
        if words and not words[0].startswith("#"):
            lines[words[0].upper()] = words[1:]
        position = end + 1
    names = lines.get("FIELDS") or lines.get("COLUMNS") or []
    try:
        sizes = [int(word) for word in lines.get("SIZE", [])]
        counts = [int(word) for word in lines.get("COUNT", ["1"] * len(names))]
        points = int(lines["POINTS"][0]) if "POINTS" in lines else None
        width = int(lines["WIDTH"][0]) if "WIDTH" in lines else (points or 0)
        height = int(lines["HEIGHT"][0]) if "HEIGHT" in lines else 1
        viewpoint = [float(word) for word in lines.get("VIEWPOINT", ["0"] * 7)][:3]
    except (ValueError, IndexError) as error:
        raise _invalid("header", f"a number cannot be read ({error})") from None
    types = lines.get("TYPE", [])
    if not len(names) == len(sizes) == len(types) == len(counts):
        raise _invalid("FIELDS", "FIELDS, SIZE, TYPE and COUNT differ in length")
    if len(viewpoint) != 3:
        raise _invalid("VIEWPOINT", "has fewer than three numbers")
    if points is not None and points != width * height:
        raise _invalid("POINTS", f"{points} differs from WIDTH x HEIGHT = {width * height}")
    if width < 0 or height < 0 or width * height > MAX_POINTS:
        raise _invalid("WIDTH", f"{width} x {height} points, at most {MAX_POINTS} are accepted", "Crop or down-sample the cloud")
    fields, offset = [], 0
    for name, size, kind, count in zip(names, sizes, types, counts, strict=True):
        if (kind.upper(), size) not in _DATATYPES or count < 1:
            raise _invalid(name, f"TYPE {kind}, SIZE {size}, COUNT {count} is no PCD type")
        fields.append(PcdField(name, offset, _DATATYPES[kind.upper(), size], count))
        offset += size * count
    x, y, z = viewpoint
    return _Header(fields, offset, width, height, (x, y, z), " ".join(lines["DATA"]).lower(), position)


def _record(header: _Header) -> np.dtype[np.void]:
    """One point as a structured dtype; fields by position because padding fields may share a name."""
    formats = [("<" + NUMPY_TYPES[each.datatype], (each.count,)) for each in header.fields]
    return np.dtype(
        {
            "names": [str(index) for index in range(len(formats))],
            "formats": formats,
            "offsets": [each.offset for each in header.fields],
            "itemsize": header.point_step,
        }
    )


def _pack_ascii(body: bytes, header: _Header) -> bytes:
    count = header.width * header.height
    if count == 0:
        return b""
    try:
        table = np.loadtxt(io.BytesIO(body), dtype=np.float64, ndmin=2, max_rows=count)
    except ValueError as error:
        raise _invalid("DATA", f"a line cannot be read ({error})") from None
    columns = sum(each.count for each in header.fields)
    if table.shape != (count, columns):
        raise _invalid("DATA", f"{table.shape[0]} lines of {table.shape[1]} numbers instead of {count} of {columns}")
    records = np.zeros(count, _record(header))
    column = 0
    for index, each in enumerate(header.fields):
        values: NDArray[np.float64] = table[:, column : column + each.count]
        whole = records.dtype[index].base.kind in "iu"
        records[str(index)] = np.nan_to_num(values) if whole else values
        column += each.count
    return records.tobytes()


def _decompress(body: bytes, header: _Header) -> bytes:
    """Compressed PCD files hold all values of the first field, then all of the second, ..."""
    count = header.width * header.height
    if len(body) < 8:
        raise _invalid("DATA", f"{len(body)} bytes after the header")
    compressed, size = (int(word) for word in np.frombuffer(body, "<u4", 2))
    if size != count * header.point_step:
        raise _invalid("DATA", f"announces {size} bytes, the header {count * header.point_step}")
    try:
        columns = lzf.decompress(body[8 : 8 + compressed], size)
    except ValueError as error:
        raise _invalid("DATA", f"cannot be decompressed ({error})") from None
    records = np.empty(count, _record(header))
    offset = 0
    for index in range(len(header.fields)):
        part = records[str(index)]
        part[...] = np.frombuffer(columns, part.dtype, part.size, offset).reshape(part.shape)
        offset += part.nbytes
    return records.tobytes()
