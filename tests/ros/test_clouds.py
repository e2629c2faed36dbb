"""Every kind of cloud that drivers are known to publish, through the real node: it lives, and names what is wrong."""

from __future__ import annotations

import array
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticStatus
from harness import wait_until
from scene import HEIGHT, WIDTH, cloud, goal, render
from sensor_msgs.msg import PointCloud2, PointField

from neurok_ros.action import PredictDeformation

if TYPE_CHECKING:
    from harness import Client

Result = PredictDeformation.Result
Change = Callable[[PointCloud2], None]


def packed(
    kind: np.dtype, fields: list[tuple[str, int, int]], rows: int = HEIGHT, pad: int = 0
) -> tuple[PointCloud2, np.ndarray]:
    """A cloud of this structured type, `pad` bytes after every row, and the array to fill; see `sealed`."""
    message = PointCloud2(height=rows, width=WIDTH * HEIGHT // rows, point_step=kind.itemsize)
    message.header.frame_id = "camera"
    message.row_step = message.width * kind.itemsize + pad
    message.fields = [PointField(name=name, offset=offset, datatype=datatype, count=1) for name, offset, datatype in fields]
    return message, np.zeros((rows, message.width), dtype=kind)


def sealed(message: PointCloud2, values: np.ndarray, pad: int = 0) -> PointCloud2:
    """The cloud with these values as its data."""
    rows = values.reshape(values.shape[0], -1).view(np.uint8)
    message.data = array.array("B", np.pad(rows, ((0, 0), (0, pad)), constant_values=255).tobytes())
    return message


def fill(values: np.ndarray) -> None:
    """The rendered scene as x, y, z."""
    points = render().reshape(*values.shape, 3)
    for axis, name in enumerate("xyz"):
        values[name] = points[..., axis]


def padded_steps() -> PointCloud2:
    kind = np.dtype({"names": ["x", "y", "z"], "formats": ["<f4"] * 3, "offsets": [4, 8, 12], "itemsize": 32})
    message, values = packed(kind, [("x", 4, 7), ("y", 8, 7), ("z", 12, 7)], pad=24)
    fill(values)
    return sealed(message, values, pad=24)


def row_step_zero() -> PointCloud2:
    message = cloud()
    message.row_step = 0
    return message


def row_step_of_the_whole_cloud() -> PointCloud2:
    message = cloud()
    message.row_step = len(message.data)
    return message


def doubles_in_reverse_order() -> PointCloud2:
    kind = np.dtype([("z", "<f8"), ("y", "<f8"), ("x", "<f8"), ("ring", "<u2")])
    message, values = packed(kind, [("z", 0, 8), ("y", 8, 8), ("x", 16, 8), ("ring", 24, 4)])
    fill(values)
    return sealed(message, values)


def unorganised() -> PointCloud2:
    kind = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4")])
    message, values = packed(kind, [("x", 0, 7), ("y", 4, 7), ("z", 8, 7)], rows=1)
    fill(values)
    return sealed(message, values)


def big_endian() -> PointCloud2:
    kind = np.dtype([("x", ">f4"), ("y", ">f4"), ("z", ">f4")])
    message, values = packed(kind, [("x", 0, 7), ("y", 4, 7), ("z", 8, 7)])
    message.is_bigendian = True
    fill(values)
    return sealed(message, values)


def wrongly_big_endian() -> PointCloud2:
    message = cloud()
    message.is_bigendian = True
    return message


def colours_that_are_nan_as_floats() -> PointCloud2:
    kind = np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("rgb", "<u4")])
    message, values = packed(kind, [("x", 0, 7), ("y", 4, 7), ("z", 8, 7), ("rgb", 12, 7)])
    fill(values)
    values["rgb"] = 0xFFC0FFEE  # as a float32 this is NaN; the points are good all the same
    return sealed(message, values)


def infinite_points_called_dense() -> PointCloud2:
    points = render()
    points[::7, ::5] = np.inf
    message = cloud(points)
    message.is_dense = True
    return message


GOOD = [
    padded_steps,
    row_step_zero,
    row_step_of_the_whole_cloud,
    doubles_in_reverse_order,
    unorganised,
    big_endian,
    wrongly_big_endian,
    colours_that_are_nan_as_floats,
    infinite_points_called_dense,
]


@pytest.mark.parametrize("make", GOOD, ids=lambda make: make.__name__)
def test_an_unusual_but_honest_cloud_is_understood(client: Client, make: Callable[[], PointCloud2]) -> None:
    client.show(make())
    assert client.status("clouds").level == DiagnosticStatus.OK
    status, result = client.ask(goal(horizon=0.1))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message
    z = [vertex.z for vertex in result.rest_mesh.vertices]
    assert 0.10 < max(z) < 0.14, "the box is 0.12 m high"


def test_a_wrong_byte_order_is_noted(client: Client) -> None:
    client.show(wrongly_big_endian())
    client.ask(goal(horizon=0.1))
    wait_until(lambda: "is_bigendian" in client.value("clouds", "note 0"), "the note in diagnostics")


def _set(**values: object) -> Change:
    def change(message: PointCloud2) -> None:
        for name, value in values.items():
            setattr(message, name, value)

    return change


def _rename_x(message: PointCloud2) -> None:
    message.fields[0].name = "u"


def _z_outside(message: PointCloud2) -> None:
    message.fields[2].offset = 14


GARBAGE = [
    ("row_step", _set(row_step=17)),
    ("width", _set(width=2**31, height=2**31)),
    ("data", _set(height=HEIGHT + 1)),
    ("data", _set(data=array.array("B"))),
    ("point_step", _set(point_step=0)),
    ("fields", _set(fields=[])),
    ("x", _rename_x),
    ("z", _z_outside),
    ("width", _set(width=0)),
    ("empty", _set(width=0, height=0, data=array.array("B"))),
]


@pytest.mark.parametrize(("name", "spoil"), GARBAGE)
def test_a_cloud_that_contradicts_itself_is_skipped_and_named(client: Client, name: str, spoil: Change) -> None:
    client.show(cloud())
    before = int(client.value("clouds", f"skipped, {name}"))
    bad = cloud()
    spoil(bad)
    client.show(bad)
    wait_until(lambda: int(client.value("clouds", f"skipped, {name}")) > before, f"a cloud skipped because of {name}")
    assert client.status("clouds").level == DiagnosticStatus.WARN
    status, result = client.ask(goal(horizon=0.1))
    assert status == GoalStatus.STATUS_SUCCEEDED, f"the good cloud before it was lost: {result.message}"


def test_a_spoiled_cloud_in_a_goal_names_its_field(client: Client) -> None:
    bad = cloud()
    bad.row_step = 17
    status, result = client.ask(goal(cloud=bad))
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.INVALID_CLOUD
    assert "row_step" in result.message


def test_too_few_points_are_counted(client: Client) -> None:
    points = np.full_like(render(), np.nan)
    points[:2, :30] = 0.5
    client.show(cloud(points))
    _, result = client.ask(goal())
    assert result.error_code == Result.TOO_FEW_POINTS
    assert "60 finite points" in result.message


def test_coincident_points_are_an_error_and_not_a_crash(client: Client) -> None:
    client.show(cloud(np.full_like(render(), 0.5)))
    status, result = client.ask(goal())
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code in (Result.TOO_FEW_POINTS, Result.NO_OBJECT_FOUND), result.message


def test_a_bare_table_has_no_object(client: Client) -> None:
    message = cloud()
    values = np.frombuffer(message.data, dtype=np.float32).reshape(HEIGHT, WIDTH, 4).copy()
    x, y = np.meshgrid(np.linspace(-0.3, 0.3, WIDTH), np.linspace(-0.3, 0.3, HEIGHT))
    values[..., :3] = np.stack([x, y, np.full_like(x, 0.6)], axis=-1)
    message.data = array.array("B", values.tobytes())
    client.show(message)
    _, result = client.ask(goal())
    assert result.error_code == Result.NO_OBJECT_FOUND, result.message


def test_a_flood_of_clouds_is_dropped_but_for_the_newest(client: Client) -> None:
    before = int(client.value("clouds", "dropped, replaced by a newer one"))
    for _ in range(5):
        client.show(cloud())
    wait_until(lambda: int(client.value("clouds", "dropped, replaced by a newer one")) >= before + 4, "dropped clouds")
