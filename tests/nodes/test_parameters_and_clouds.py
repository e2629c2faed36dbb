"""What parameters may be together, and clouds in the planning frame."""

from __future__ import annotations

import array
from dataclasses import fields

import numpy as np
import pytest

pytest.importorskip("neurok_ros.action", reason="the package is not built: make setup, source .venv/ros_env.sh")

from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.nodes.clouds import check_cloud, scan_from_cloud, segmented_cloud
from neurok_ros.nodes.parameters import NodeParameters, unknown_parameters
from neurok_ros.reconstruction.types import SegmentedObject


def cloud(points: np.ndarray) -> PointCloud2:
    message = PointCloud2(height=1, width=len(points), point_step=12, row_step=12 * len(points))
    message.header.stamp.sec = 5
    message.fields = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, name in enumerate("xyz")]
    message.data = array.array("B", points.astype(np.float32).tobytes())
    return message


def test_every_parameter_says_what_it_is_for() -> None:
    for each in fields(NodeParameters):
        assert each.metadata["description"].endswith("."), each.name


def test_a_misspelt_parameter_is_named_and_its_likely_spelling_too() -> None:
    given = ["density", "use_sim_time", "frriction", "qos_overrides./tf.subscription.depth", "colour"]
    sentences = unknown_parameters(given, lambda name: name in ("density", "use_sim_time"))
    assert len(sentences) == 2
    assert "'frriction'" in sentences[0]
    assert "'friction'" in sentences[0]
    assert "'colour'" in sentences[1]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"density": 0.0}, "density"),
        ({"density": float("nan")}, "density"),
        ({"completion": "magic"}, "completion"),
        ({"up": (0.0, 1.0)}, "up"),
        ({"crop_min": (0.0, 0.0, 1.0), "crop_max": (1.0, 1.0, 0.0)}, "crop_min"),
        ({"default_deadline_s": 400.0}, "default_deadline_s"),
        ({"static_transform": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0)}, "static_transform"),
        ({"static_transform": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)}, "planning_frame"),
    ],
)
def test_parameters_that_make_no_sense_are_named(values: dict[str, object], named: str) -> None:
    with pytest.raises(NeurokError) as error:
        NodeParameters(**values)  # type: ignore[arg-type]
    assert error.value.field == named
    assert error.value.code is ErrorCode.INVALID_OPTIONS


def test_zeros_mean_none() -> None:
    parameters = NodeParameters()
    assert parameters.static_pose() is None
    assert parameters.segmentation().up is None
    assert parameters.segmentation().crop is None
    turned = NodeParameters(up=(0.0, 0.0, 2.0), crop_max=(1.0, 1.0, 1.0))
    assert turned.segmentation().up == (0.0, 0.0, 1.0)
    assert turned.segmentation().crop == ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def test_a_scan_is_in_the_planning_frame_and_knows_where_the_camera_stood() -> None:
    """The camera looks along the world's -z from a height of 2 m."""
    pose = np.array([[1.0, 0.0, 0.0, 0.5], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 2.0], [0.0, 0.0, 0.0, 1.0]])
    points = np.array([[0.0, 0.0, 2.0], [0.1, 0.2, 1.5], [np.nan, 0.0, 1.0], [0.0, np.inf, 1.0]])
    scan, notes = scan_from_cloud(cloud(points), pose, "world", min_points=2)
    assert np.allclose(scan.points, [[0.5, 0.0, 0.0], [0.6, -0.2, 0.5]], atol=1e-6)  # the cloud is float32
    assert np.allclose(scan.viewpoints, [[0.5, 0.0, 2.0]] * 2)
    assert (scan.frame, scan.stamp) == ("world", 5.0)
    assert notes == []
    with pytest.raises(NeurokError, match="2 finite points of 4, at least 3"):
        scan_from_cloud(cloud(points), pose, "world", min_points=3)


def test_the_segmented_cloud_marks_the_object() -> None:
    scan, _ = scan_from_cloud(cloud(np.arange(15.0).reshape(5, 3)), np.eye(4), "world", 1)
    chosen = SegmentedObject(scan.points[1:3], scan.viewpoints[1:3], np.array([1, 2]), np.array([0.0, 0.0, 1.0, 0.0]))
    message = segmented_cloud(Header(frame_id="world"), scan, chosen)
    assert check_cloud(message)
    rows = np.frombuffer(message.data, dtype=[("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("label", "<u4")])
    assert rows["label"].tolist() == [0, 1, 1, 0, 0]
    assert np.allclose(rows["y"], scan.points[:, 1])


def test_an_empty_cloud_is_empty_and_not_wrong() -> None:
    assert not check_cloud(PointCloud2())
