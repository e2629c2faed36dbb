"""What RViz draws: an object, its predicted motion, the tool. Nothing leaves here that makes RViz abort."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Vector3
from numpy.typing import NDArray
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from neurok_ros.dynamics.tools import ToolKind, ToolShape, tool_surface
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.nodes.messages import points_message, pose_message
from neurok_ros.prediction.types import PredictedMotion
from neurok_ros.reconstruction.types import ReconstructedMesh

Floats = NDArray[np.float64]
Faces = NDArray[np.int32]
Color = tuple[float, float, float, float]

MESH_NAMESPACE, MOTION_NAMESPACE, TOOL_NAMESPACE = "neurok_object", "neurok_motion", "neurok_tool"
OBSERVED_COLOR: Color = (0.55, 0.62, 0.70, 1.0)
GUESSED_COLOR: Color = (0.92, 0.59, 0.35, 1.0)
MOTION_COLOR: Color = (0.25, 0.55, 0.85, 0.9)
TOOL_COLOR: Color = (0.25, 0.25, 0.28, 0.9)
FARTHEST = 1.0e4
"""Metres: RViz aborts on numbers that its renderer cannot hold."""
TOOL_KINDS = {ToolKind.BOX: Marker.CUBE, ToolKind.SPHERE: Marker.SPHERE, ToolKind.CYLINDER: Marker.CYLINDER}
"""What RViz has a marker for; other tools are drawn as triangles."""
COARSENING = 1.25


def coarse_surface(vertices: Floats, faces: Faces, max_triangles: int) -> tuple[NDArray[np.int64], Faces]:
    """A coarser surface over a choice of the same vertices, so that whatever moves the mesh moves it as well.

    Vertices in one cell of a grid become the one of them nearest to their mean; the cells grow until few enough triangles
    are left.

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3).

    Returns:
        (k,) indices of the vertices that are kept, and (j, 3) faces over those k, j at most `max_triangles`.
    """
    if len(faces) <= max_triangles:
        return np.arange(len(vertices)), faces
    lower = vertices.min(axis=0)
    cell = float(np.ptp(vertices, axis=0).max()) / np.sqrt(max_triangles)
    while True:
        keys = np.floor((vertices - lower) / cell).astype(np.int64)
        cluster = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        count = int(cluster.max()) + 1
        total = np.stack([np.bincount(cluster, vertices[:, axis], count) for axis in range(3)], axis=1)
        mean = total / np.bincount(cluster, minlength=count)[:, None]
        nearest_last = np.argsort(-np.linalg.norm(vertices - mean[cluster], axis=1), kind="stable")
        kept = np.empty(count, dtype=np.int64)
        kept[cluster[nearest_last]] = nearest_last
        coarse = cluster[faces]
        a, b, c = coarse.T
        coarse = coarse[(a != b) & (b != c) & (c != a)].astype(np.int32)
        if len(coarse) <= max_triangles:
            return kept, coarse
        cell *= COARSENING


def check_drawable(coordinates: NDArray[np.floating], name: str) -> None:
    """Raises NeurokError(INTERNAL) unless all coordinates are finite and near enough for RViz."""
    if not (np.isfinite(coordinates).all() and (np.abs(coordinates) < FARTHEST).all()):
        raise NeurokError(ErrorCode.INTERNAL, name, "has a vertex that RViz cannot draw", "Not published; see the quality flags")


def delete_marker(header: Header, namespace: str) -> Marker:
    """Takes a marker away."""
    return Marker(header=header, ns=namespace, id=0, action=Marker.DELETE)


def mesh_marker(header: Header, mesh: ReconstructedMesh, max_triangles: int) -> Marker:
    """The object, guessed parts tinted; a DELETE where there is no triangle to show.

    Raises:
        NeurokError: INTERNAL, if RViz could not draw it.
    """
    kept, faces = coarse_surface(mesh.vertices, mesh.faces, max_triangles)
    if not len(faces):
        return delete_marker(header, MESH_NAMESPACE)
    check_drawable(mesh.vertices[kept], MESH_NAMESPACE)
    marker = _marker(header, MESH_NAMESPACE, Marker.TRIANGLE_LIST, OBSERVED_COLOR)
    points = points_message(mesh.vertices[kept])
    palette = (_color(GUESSED_COLOR), _color(OBSERVED_COLOR))
    colors = [palette[seen] for seen in mesh.observed[kept].tolist()]
    corners = faces.reshape(-1).tolist()
    marker.points = [points[corner] for corner in corners]
    marker.colors = [colors[corner] for corner in corners]
    return marker


class MotionMarkers:
    """Draws single frames of a predicted motion; the topology of the marker never changes.

    Args:
        header: frame of the motion.
        faces: (m, 3) of the object's mesh.
        motion: what to draw.
        tool: the tool that pushes.
        max_triangles: more than this are drawn coarser.

    Raises:
        NeurokError: INTERNAL, if RViz could not draw it.
    """

    def __init__(self, header: Header, faces: Faces, motion: PredictedMotion, tool: ToolShape, max_triangles: int) -> None:
        kept, faces = coarse_surface(motion.vertices[0].astype(np.float64), faces, max_triangles)
        self._header = header
        self._vertices = motion.vertices[:, kept]
        self._tool_poses = motion.tool_poses
        check_drawable(self._vertices, MOTION_NAMESPACE)
        check_drawable(self._tool_poses, TOOL_NAMESPACE)
        self.times = motion.times
        self._points = points_message(self._vertices[0])
        self._surface = _marker(header, MOTION_NAMESPACE, Marker.TRIANGLE_LIST, MOTION_COLOR)
        self._surface.points = [self._points[corner] for corner in faces.reshape(-1).tolist()]
        self._tool = _tool_marker(header, tool)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return float(self.times[-1] - self.times[0])

    def at(self, time: float) -> MarkerArray:
        """Object and tool at a time in seconds from the start of the push: the last frame that has been reached."""
        frame = max(0, int(np.searchsorted(self.times, time, side="right")) - 1)
        for point, (x, y, z) in zip(self._points, self._vertices[frame].tolist(), strict=True):
            point.x, point.y, point.z = x, y, z
        self._tool.pose = pose_message(self._tool_poses[frame])
        surface = self._surface if self._surface.points else delete_marker(self._header, MOTION_NAMESPACE)
        return MarkerArray(markers=[surface, self._tool])


def no_motion(header: Header) -> MarkerArray:
    """Takes the motion and the tool away."""
    return MarkerArray(markers=[delete_marker(header, MOTION_NAMESPACE), delete_marker(header, TOOL_NAMESPACE)])


def _marker(header: Header, namespace: str, kind: int, color: Color) -> Marker:
    marker = Marker(header=header, ns=namespace, id=0, type=kind, action=Marker.ADD)
    marker.pose.orientation.w = 1.0
    marker.scale = Vector3(x=1.0, y=1.0, z=1.0)
    marker.color = _color(color)
    return marker


def _color(color: Sequence[float]) -> ColorRGBA:
    red, green, blue, alpha = color
    return ColorRGBA(r=red, g=green, b=blue, a=alpha)


def _tool_marker(header: Header, tool: ToolShape) -> Marker:
    if tool.opening is None and tool.kind in TOOL_KINDS:
        marker = _marker(header, TOOL_NAMESPACE, TOOL_KINDS[tool.kind], TOOL_COLOR)
        marker.scale = _tool_scale(tool)
        return marker
    marker = _marker(header, TOOL_NAMESPACE, Marker.TRIANGLE_LIST, TOOL_COLOR)
    vertices, faces = tool_surface(tool)
    points = points_message(vertices)
    marker.points = [points[corner] for corner in faces.reshape(-1).tolist()]
    return marker


def _tool_scale(tool: ToolShape) -> Vector3:
    if tool.kind is ToolKind.BOX:
        x, y, z = tool.dimensions
        return Vector3(x=x, y=y, z=z)
    if tool.kind is ToolKind.SPHERE:
        (radius,) = tool.dimensions
        return Vector3(x=2 * radius, y=2 * radius, z=2 * radius)
    height, radius = tool.dimensions
    return Vector3(x=2 * radius, y=2 * radius, z=height)
