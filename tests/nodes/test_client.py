"""What a planner sends arrives as it was meant, and what it gets back is what the node computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("neurok_ros.action", reason="the package is not built: make setup, source .venv/ros_env.sh")

from neurok_ros.action import PredictDeformation
from neurok_ros.dynamics.tools import ToolKind, ToolPath, ToolShape
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.nodes import client, messages
from neurok_ros.nodes.clouds import scan_from_cloud
from neurok_ros.prediction.types import PredictedMotion, Push
from neurok_ros.reconstruction.types import ReconstructedMesh, Scan

DEMO_BAG = Path(__file__).parents[2] / "demo" / "plush_bear"


@pytest.mark.parametrize("colored", [True, False])
def test_a_scan_survives_the_way_over_a_cloud(colored: bool) -> None:
    """Positions are sent as float32 from the camera: 1e-7 m. A colour's bits may read as a NaN and must survive that."""
    rng = np.random.default_rng(0)
    points = rng.uniform(0.2, 1.0, (50, 3))
    colors = rng.integers(0, 256, (50, 3)).astype(np.uint8)
    colors[0] = (255, 192, 1)
    viewpoint = np.array([0.1, -0.3, 0.2])
    scan = Scan(points, np.tile(viewpoint, (50, 1)), colors if colored else None, frame="camera", stamp=3.25)
    again, _ = scan_from_cloud(client.cloud_message(scan), np.eye(4), "camera", 10)
    np.testing.assert_allclose(again.points + viewpoint, points, atol=1e-7)
    assert (again.frame, again.stamp) == ("camera", 3.25)
    assert again.colors is None if not colored else np.array_equal(again.colors, colors)


def test_a_bag_is_played_as_it_was_recorded() -> None:
    cloud = client.recorded_cloud(DEMO_BAG)
    assert (cloud.height, cloud.width, cloud.is_dense) == (480, 640, False)
    assert cloud.header.frame_id == "camera_depth_optical_frame"


@pytest.mark.parametrize(("limit", "opening"), [(7.5, None), (np.inf, 0.08)])
def test_a_push_survives_the_message(limit: float, opening: float | None) -> None:
    path = ToolPath(np.array([0.0, 0.5]), np.array([[0.1, 0.2, 0.3], [0.4, 0.2, 0.3]]), np.tile([0.0, 0.6, 0.0, 0.8], (2, 1)))
    push = Push(ToolShape(ToolKind.CYLINDER, (0.2, 0.03), opening), path, limit)
    again = messages.push_from_message(client.push_message(push, "world"), np.eye(4))
    assert (again.tool, again.force_limit) == (push.tool, limit)
    np.testing.assert_allclose(again.path.times, path.times)
    np.testing.assert_allclose(again.path.positions, path.positions)
    np.testing.assert_allclose(again.path.quaternions, path.quaternions)


@pytest.mark.parametrize("colored", [True, False])
def test_an_object_survives_the_message(colored: bool) -> None:
    mesh = ReconstructedMesh(
        vertices=np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        faces=np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32),
        observed=np.array([True, False, True, True]),
        colors=np.arange(12, dtype=np.uint8).reshape(4, 3) if colored else None,
        support=np.array([0.0, 0.0, 1.0, 0.25]),
        completion="hull",
        frame="world",
        stamp=8.5,
    )
    again = client.mesh_from_message(messages.object_message("tetrahedron", mesh))
    for name in ("vertices", "faces", "observed", "support"):
        np.testing.assert_array_equal(getattr(again, name), getattr(mesh, name))
    assert again.colors is None if not colored else np.array_equal(again.colors, mesh.colors)
    assert (again.completion, again.frame, again.stamp) == (mesh.completion, mesh.frame, mesh.stamp)


def test_a_motion_survives_the_result() -> None:
    rng = np.random.default_rng(1)
    motion = PredictedMotion(
        times=np.array([0.0, 0.1, 0.2]),
        vertices=rng.normal(size=(3, 4, 3)).astype(np.float32),
        tool_poses=np.concatenate([rng.normal(size=(3, 3)), np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))], axis=1),
        contact_force=rng.normal(size=(3, 3)),
        penetration=np.array([0.0, 1e-4, 0.0]),
        displacement=np.array([0.0, 0.01, 0.02]),
        parameterization="modal",
        parameterization_reason="because",
        flags={"tipped": True, "diverged": False},
        measures={"max_tilt_deg": 50.0},
        timings_ms={"simulating": 12.5},
    )
    result = PredictDeformation.Result(
        motion=messages.motion_message(motion, np.arange(3)),
        quality=messages.quality_message(motion),
        stage_times=messages.stage_messages(motion.timings_ms),
    )
    again = client.motion_from_result(result)
    for name in ("times", "vertices", "tool_poses", "contact_force", "penetration", "displacement"):
        np.testing.assert_array_equal(getattr(again, name), getattr(motion, name))
    assert (again.flags, again.measures, again.timings_ms) == (motion.flags, motion.measures, motion.timings_ms)
    assert (again.parameterization, again.parameterization_reason) == ("modal", "because")


def test_a_result_without_a_motion_is_its_own_error() -> None:
    result = PredictDeformation.Result(error_code=int(ErrorCode.NO_SCAN), message="no cloud has arrived")
    with pytest.raises(NeurokError, match="no cloud has arrived") as caught:
        client.motion_from_result(result)
    assert caught.value.code is ErrorCode.NO_SCAN
