"""What RViz is given, and what it must never be given."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

pytest.importorskip("neurok_ros.action", reason="the package is not built: make setup, source .venv/ros_env.sh")

from std_msgs.msg import Header
from visualization_msgs.msg import Marker

from neurok_ros.dynamics.tools import ToolKind, ToolShape
from neurok_ros.errors import NeurokError
from neurok_ros.nodes.markers import MotionMarkers, coarse_surface, mesh_marker, no_motion
from neurok_ros.prediction.types import PredictedMotion
from neurok_ros.reconstruction.types import ReconstructedMesh

HEADER = Header(frame_id="world")
SPHERE = ToolShape(ToolKind.SPHERE, (0.02,))
UNLIMITED = 1_000_000


def mesh_of(vertices: np.ndarray, faces: np.ndarray) -> ReconstructedMesh:
    observed = np.arange(len(vertices)) % 2 == 0
    return ReconstructedMesh(
        vertices, faces.astype(np.int32), observed, None, np.array([0.0, 0.0, 1.0, 0.0]), "symmetry", "world"
    )


def ball(subdivisions: int = 3) -> ReconstructedMesh:
    shape = trimesh.creation.icosphere(subdivisions, radius=0.1)
    return mesh_of(np.array(shape.vertices), np.array(shape.faces))


def sliding(mesh: ReconstructedMesh, frames: int = 11) -> PredictedMotion:
    """Moves along x with 1 m/s."""
    times = np.arange(frames) / 10.0
    vertices = mesh.vertices[None] + times[:, None, None] * np.array([1.0, 0.0, 0.0])
    poses = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (frames, 1))
    poses[:, 0] = times
    zero = np.zeros(frames)
    return PredictedMotion(times, vertices.astype(np.float32), poses, np.zeros((frames, 3)), zero, times, "rigid", "")


def corners(marker: Marker) -> np.ndarray:
    return np.array([(p.x, p.y, p.z) for p in marker.points])


def test_a_marker_shows_the_triangles_of_the_mesh() -> None:
    mesh = ball()
    marker = mesh_marker(HEADER, mesh, UNLIMITED)
    assert np.allclose(corners(marker).reshape(-1, 3, 3), mesh.vertices[mesh.faces])
    assert (marker.type, marker.action, marker.color.a) == (Marker.TRIANGLE_LIST, Marker.ADD, 1.0)
    assert marker.pose.orientation.w == 1.0
    assert (marker.scale.x, marker.scale.y, marker.scale.z) == (1.0, 1.0, 1.0)
    assert len(marker.colors) == len(marker.points)
    shades = {(c.r, c.g, c.b) for c in marker.colors}
    assert len(shades) == 2, "guessed and observed parts differ"


@pytest.mark.parametrize("limit", [1200, 300, 50])
def test_large_meshes_are_shown_coarser_but_whole(limit: int) -> None:
    """The bounding box of the coarse surface is that of the ball, up to the size of a cell of the grid."""
    mesh = ball(5)  # 20480 triangles
    kept, faces = coarse_surface(mesh.vertices, mesh.faces, limit)
    assert limit / 10 < len(faces) <= limit
    assert faces.min() >= 0
    assert faces.max() < len(kept)
    size = np.ptp(mesh.vertices[kept][np.unique(faces)], axis=0)
    assert np.all(size > 0.2 * (1 - 2 / np.sqrt(limit / 6)))
    a, b, c = faces.T
    assert np.all((a != b) & (b != c) & (c != a))


def test_small_meshes_are_not_touched() -> None:
    mesh = ball(1)
    kept, faces = coarse_surface(mesh.vertices, mesh.faces, 80)
    assert kept.tolist() == list(range(len(mesh.vertices)))
    assert np.array_equal(faces, mesh.faces)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e245])
def test_what_rviz_cannot_draw_is_not_made(bad: float) -> None:
    mesh = ball(1)
    mesh.vertices[3, 1] = bad
    with pytest.raises(NeurokError, match="cannot draw"):
        mesh_marker(HEADER, mesh, UNLIMITED)
    motion = sliding(ball(1))
    with np.errstate(over="ignore"):
        motion.vertices[4, 3, 1] = bad
    with pytest.raises(NeurokError, match="cannot draw"):
        MotionMarkers(HEADER, mesh.faces, motion, SPHERE, UNLIMITED)
    motion = sliding(ball(1))
    motion.tool_poses[4, 1] = bad
    with pytest.raises(NeurokError, match="cannot draw"):
        MotionMarkers(HEADER, mesh.faces, motion, SPHERE, UNLIMITED)


def test_a_mesh_without_triangles_is_taken_away_instead_of_drawn() -> None:
    marker = mesh_marker(HEADER, mesh_of(np.zeros((3, 3)), np.empty((0, 3))), UNLIMITED)
    assert marker.action == Marker.DELETE
    assert marker.ns == mesh_marker(HEADER, ball(), UNLIMITED).ns


def test_the_motion_is_where_it_should_be_at_every_time() -> None:
    mesh = ball(2)
    markers = MotionMarkers(HEADER, mesh.faces, sliding(mesh), SPHERE, UNLIMITED)
    rest = mesh.vertices[mesh.faces].reshape(-1, 3)
    for time, x in ((0.0, 0.0), (0.51, 0.5), (1.0, 1.0), (9.0, 1.0)):
        surface, tool = markers.at(time).markers
        assert np.allclose(corners(surface), rest + np.array([x, 0.0, 0.0]), atol=1e-6)
        assert tool.pose.position.x == pytest.approx(x)
        assert len(surface.points) == 3 * len(mesh.faces), "the topology never changes"
    assert markers.duration == pytest.approx(1.0)
    identities = {(marker.ns, marker.id) for marker in markers.at(0.0).markers}
    assert identities == {(marker.ns, marker.id) for marker in no_motion(HEADER).markers}
    assert all(marker.action == Marker.DELETE for marker in no_motion(HEADER).markers)


@pytest.mark.parametrize(
    ("tool", "kind", "scale"),
    [
        (ToolShape(ToolKind.SPHERE, (0.02,)), Marker.SPHERE, (0.04, 0.04, 0.04)),
        (ToolShape(ToolKind.BOX, (0.1, 0.2, 0.3)), Marker.CUBE, (0.1, 0.2, 0.3)),
        (ToolShape(ToolKind.CYLINDER, (0.3, 0.01)), Marker.CYLINDER, (0.02, 0.02, 0.3)),
    ],
)
def test_the_tool_has_its_size(tool: ToolShape, kind: int, scale: tuple[float, float, float]) -> None:
    mesh = ball(1)
    _, marker = MotionMarkers(HEADER, mesh.faces, sliding(mesh), tool, UNLIMITED).at(0.0).markers
    assert marker.type == kind
    assert (marker.scale.x, marker.scale.y, marker.scale.z) == pytest.approx(scale)
    assert marker.color.a > 0


@pytest.mark.parametrize(
    "tool", [ToolShape(ToolKind.CAPSULE, (0.1, 0.01)), ToolShape(ToolKind.SPHERE, (0.01,), opening=0.05)], ids=["capsule", "two"]
)
def test_a_tool_that_rviz_has_no_marker_for_is_drawn_as_triangles(tool: ToolShape) -> None:
    mesh = ball(1)
    _, marker = MotionMarkers(HEADER, mesh.faces, sliding(mesh), tool, UNLIMITED).at(0.0).markers
    assert marker.type == Marker.TRIANGLE_LIST
    assert len(marker.points) % 3 == 0
    reach = max((point.x**2 + point.y**2 + point.z**2) ** 0.5 for point in marker.points)
    assert reach == pytest.approx(tool.bounding_radius, rel=0.02)
    assert (marker.scale.x, marker.scale.y, marker.scale.z) == (1.0, 1.0, 1.0)
