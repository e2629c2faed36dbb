"""A small photo studio: one off-screen VTK window, a camera fitted to its subject, soft shadow and grid on the support.

All coordinates are metres in the support frame (z up, the support at z = 0).
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyvista as pv
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.types import Floats
from neurok_ros.viewing.frame import vertex_normals
from neurok_ros.viewing.palette import BACKGROUND, GRID, PATH, TOOL

EGL_WINDOW = "vtkEGLRenderWindow"

if TYPE_CHECKING:
    from collections.abc import Iterable

    from neurok_ros.dynamics.tools import ToolShape

VIEW_ANGLE = 24.0
"""Degrees, vertical: a long lens, so that sizes compare across the picture."""
SHADOW_PIXELS = 128
SHADOW_STRENGTH = 0.42
CREASE = 50.0
"""Degrees between faces from which an edge is drawn sharp."""


@dataclass(frozen=True)
class Camera:
    """A pinhole camera, upright."""

    position: Floats
    axes: Floats
    """(3, 3) rows: right, up, backward; unit vectors."""
    size: tuple[int, int]
    """Pixels, width and height."""

    def pixels(self, points: Floats) -> Floats:
        """(..., 2) pixel coordinates from the top left corner, of points (..., 3) in front of the camera."""
        local = (points - self.position) @ self.axes.T
        scale = self.size[1] / 2 / np.tan(np.radians(VIEW_ANGLE / 2)) / np.maximum(-local[..., 2:], 1e-9)
        return np.asarray(local[..., :2] * scale * np.array([1.0, -1.0]) + np.array(self.size) / 2)


def camera_for(points: Floats, azimuth: float, elevation: float, size: tuple[int, int], fill: float = 0.86) -> Camera:
    """The nearest camera on a ray that sees all points (p, 3).

    Args:
        points: what must be in the picture.
        azimuth: radians from +x to where the camera stands, about +z.
        elevation: radians above the support.
        size: pixels, width and height.
        fill: share of the picture's width and height that the points may take.
    """
    backward = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0.0])
    axes = np.stack([right, np.cross(backward, right), backward])
    local = points @ axes.T
    slope_y = np.tan(np.radians(VIEW_ANGLE / 2)) * fill
    slopes = np.array([slope_y * size[0] / size[1], slope_y])
    # A point is in view while |u - centre| <= slope (distance - depth): each side of the picture bounds a plane.
    high = (local[:, :2] + slopes * local[:, 2:]).max(axis=0)
    low = (local[:, :2] - slopes * local[:, 2:]).min(axis=0)
    centre = (high + low) / 2
    distance = max(float(((high - low) / 2 / slopes).max()), 0.01)
    return Camera(np.array([*centre, distance]) @ axes, axes, size)


class Surface:
    """A triangle mesh on the stage whose vertices can be moved."""

    def __init__(self, vertices: Floats, faces: NDArray[np.int32], colors: NDArray[np.uint8]) -> None:
        packed = np.column_stack([np.full(len(faces), 3), faces]).ravel()
        whole = pv.PolyData(vertices, packed)
        whole.point_data["source"] = np.arange(len(vertices))
        creased = whole.compute_normals(
            split_vertices=True, feature_angle=CREASE, consistent_normals=False, auto_orient_normals=False
        )
        self._source = np.asarray(creased.point_data["source"])
        self._faces = creased.faces.reshape(-1, 4)[:, 1:]
        self.polydata = pv.PolyData(vertices[self._source], creased.faces)
        self.polydata.point_data["color"] = colors[self._source]
        self.move(vertices)

    def move(self, vertices: Floats) -> None:
        """Takes new vertex positions (n, 3) in metres, in the order of the mesh it was made from."""
        points = vertices[self._source]
        self.polydata.points = points
        self.polydata.point_data.active_normals = vertex_normals(points, self._faces).astype(np.float32)

    def paint(self, colors: NDArray[np.uint8]) -> None:
        """Takes new vertex colours (n, 3)."""
        self.polydata.point_data["color"] = colors[self._source]


class Stage:
    """The window, its camera and its lights. Use as a context manager: it holds graphics memory."""

    def __init__(self, camera: Camera, ground: float, grid: float, oversample: int = 1) -> None:
        """Args:
        camera: where the picture is taken from; its size is the picture's.
        ground: half the side of the shadow's square about the origin, metres.
        grid: spacing of the support's grid, metres.
        oversample: rendered pixels per picture pixel along each side.

        Raises:
            NeurokError: INTERNAL where there is no OpenGL.
        """
        self._camera = camera
        width, height = camera.size
        self._plotter = _plotter((width * oversample, height * oversample))
        self._plotter.set_background(BACKGROUND)
        self._plotter.render_window.SetMultiSamples(4)
        self._ground = ground
        self._light = _key_light(camera)
        self._place_camera()
        self._place_lights()
        self._shadow = self._lay_shadow_ground()
        self._lay_grid(grid)

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        self._plotter.close()

    def add_surface(self, surface: Surface) -> None:
        """Shows the surface in its own colours."""
        self._plotter.add_mesh(
            surface.polydata,
            scalars="color",
            rgb=True,
            smooth_shading=True,
            ambient=0.45,
            diffuse=0.62,
            specular=0.05,
            specular_power=12,
        )

    def add_ghost(self, vertices: Floats, faces: NDArray[np.int32], opacity: float = 0.22) -> None:
        """Shows a pale, see-through surface: where something was before."""
        packed = np.column_stack([np.full(len(faces), 3), faces]).ravel()
        ghost = pv.PolyData(vertices, packed)
        self._plotter.add_mesh(ghost, color=(96, 108, 120), opacity=opacity, culling="front", lighting=False)

    def add_tool(self, shape: ToolShape, pose: Floats, opacity: float = 1.0) -> Any:
        """Shows the tool at a pose (4, 4); returns its actor, for `move_tool`."""
        actor = self._plotter.add_mesh(
            tool_polydata(shape), color=TOOL, smooth_shading=True,
            split_sharp_edges=shape.kind.value not in ("sphere", "capsule"),
            opacity=opacity, ambient=0.45, diffuse=0.6, specular=0.25, specular_power=20,
        )  # fmt: skip
        self.move_tool(actor, pose)
        return actor

    def move_tool(self, actor: Any, pose: Floats) -> None:
        """Puts the tool at a pose (4, 4)."""
        actor.user_matrix = pose

    def add_path(self, points: Floats, radius: float) -> None:
        """Shows the way of the tool's centre (p, 3) as a thin tube, metres."""
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        kept = points[np.concatenate([[True], steps > 1e-6])]
        if len(kept) > 1:
            self._plotter.add_mesh(pv.lines_from_points(kept).tube(radius=radius, n_sides=12), color=PATH, lighting=False)

    def cast_shadow(self, casters: Iterable[tuple[Floats, NDArray[Any]]]) -> None:
        """Draws the shadow of triangle meshes (vertices, faces) on the support: dark at contact, fading with height."""
        triangles = np.concatenate([vertices[faces] for vertices, faces in casters])
        heights = np.maximum(triangles[:, :, 2].min(axis=1), 0.0)
        flat = triangles[:, :, :2] - np.maximum(triangles[:, :, 2:], 0.0) * self._light[:2] / self._light[2]
        pixels = (flat / self._ground + 1) / 2 * SHADOW_PIXELS
        darkness = np.rint(255 * np.exp(-heights / (0.6 * self._ground))).astype(int)
        sheet = Image.new("L", (SHADOW_PIXELS, SHADOW_PIXELS))
        draw = ImageDraw.Draw(sheet)
        for index in np.argsort(-heights):
            draw.polygon(pixels[index].ravel().tolist(), fill=int(darkness[index]))
        shade = np.asarray(sheet.filter(ImageFilter.GaussianBlur(SHADOW_PIXELS / 55)), dtype=np.float64) / 255
        self._shadow.point_data["color"][:, 3] = (255 * SHADOW_STRENGTH * shade).astype(np.uint8).ravel()
        self._shadow.Modified()

    def picture(self) -> Image.Image:
        """What the camera sees now, at its size."""
        self._plotter.render()
        image = Image.fromarray(np.ascontiguousarray(self._plotter.screenshot(return_img=True)[:, :, :3]))
        if image.size == self._camera.size:
            return image
        return image.resize(self._camera.size, Image.Resampling.LANCZOS)

    def _place_camera(self) -> None:
        camera = self._plotter.camera
        camera.position = self._camera.position
        camera.focal_point = self._camera.position - self._camera.axes[2]
        camera.up = self._camera.axes[1]
        camera.view_angle = VIEW_ANGLE
        distance = float(np.linalg.norm(self._camera.position))
        camera.clipping_range = (distance * 0.02, distance * 20)
        self._plotter.renderer.SetClippingRangeExpansion(0.1)

    def _place_lights(self) -> None:
        right, up, backward = self._camera.axes
        fill, rim = 0.8 * right + 0.2 * up + backward, up - 0.6 * backward
        for direction, intensity in ((self._light, 0.75), (fill, 0.5), (rim, 0.15)):
            self._plotter.add_light(
                pv.Light(position=direction, focal_point=(0, 0, 0), intensity=intensity, light_type="scene light")
            )

    def _lay_shadow_ground(self) -> Any:
        side = 2 * self._ground / SHADOW_PIXELS
        corner = (-self._ground, -self._ground, -1e-3 * self._ground)
        sheet = pv.ImageData(dimensions=(SHADOW_PIXELS, SHADOW_PIXELS, 1), spacing=(side, side, 1), origin=corner)
        sheet.point_data["color"] = np.zeros((SHADOW_PIXELS**2, 4), dtype=np.uint8)
        self._plotter.add_mesh(sheet, scalars="color", rgb=True, lighting=False)
        return sheet

    def _lay_grid(self, spacing: float) -> None:
        reach = 1.6 * self._ground
        count = int(reach / spacing)
        ticks = np.arange(-count, count + 1) * spacing
        along = np.linspace(-reach, reach, 65)
        across = [np.column_stack([np.full(65, tick), along]) for tick in ticks]
        lines = across + [line[:, ::-1] for line in across]
        flat = np.concatenate(lines)
        packed = np.column_stack([np.full(len(lines), 65), np.arange(len(flat)).reshape(-1, 65)]).ravel()
        grid = pv.PolyData(np.column_stack([flat, np.full(len(flat), -2e-3 * self._ground)]), lines=packed)
        share = np.clip(1.25 - np.linalg.norm(flat, axis=1) / reach * 1.25, 0.0, 1.0)[:, None]
        grid.point_data["color"] = (share * np.array(GRID) + (1 - share) * np.array(BACKGROUND)).astype(np.uint8)
        self._plotter.add_mesh(grid, scalars="color", rgb=True, lighting=False, line_width=1.2)


def tool_polydata(shape: ToolShape) -> Any:
    """The tool as closed triangle surfaces about its own origin, metres."""
    if shape.opening is None:
        return _primitive_polydata(shape)
    fingers = [_primitive_polydata(shape).translate((0.0, side * shape.offset, 0.0)) for side in (-1.0, 1.0)]
    return fingers[0].append_polydata(fingers[1])


def _primitive_polydata(shape: ToolShape) -> Any:
    if shape.kind.value == "capsule":
        height, radius = shape.dimensions
        capsule = pv.Capsule(direction=(0, 0, 1), radius=radius, cylinder_length=height, resolution=40)
        return capsule.triangulate().clean()
    if shape.kind.value == "sphere":
        return pv.Sphere(radius=shape.dimensions[0], theta_resolution=40, phi_resolution=28)
    if shape.kind.value == "cylinder":
        height, radius = shape.dimensions
        return pv.Cylinder(direction=(0, 0, 1), height=height, radius=radius, resolution=48).triangulate().clean()
    x, y, z = shape.dimensions
    return pv.Cube(x_length=x, y_length=y, z_length=z).triangulate().clean()


def tool_reach(shape: ToolShape) -> float:
    """Metres from the tool's origin to its farthest point."""
    return shape.bounding_radius


def round_length(length: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above a length."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(max(step * power for step in (1.0, 2.0, 5.0) if step * power <= length * (1 + 1e-9)))


def corners(*clouds: Floats) -> Floats:
    """(8, 3) the corners of the upright box around point sets (..., 3)."""
    stacked = np.concatenate([cloud.reshape(-1, 3) for cloud in clouds])
    low, high = stacked.min(axis=0), stacked.max(axis=0)
    return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])


def _plotter(size: tuple[int, int]) -> Any:
    """An off-screen window through EGL, which needs no display; refused where VTK would crash the process instead."""
    if sys.platform == "linux":
        os.environ.setdefault("VTK_DEFAULT_OPENGL_WINDOW", EGL_WINDOW)
    plotter = pv.Plotter(off_screen=True, window_size=size, lighting="none")
    if os.environ.get("VTK_DEFAULT_OPENGL_WINDOW") == EGL_WINDOW and type(plotter.render_window).__name__ != EGL_WINDOW:
        remedy = "Install the Debian packages libegl1 and libgl1; neither a display nor a GPU is needed"
        raise NeurokError(ErrorCode.INTERNAL, "graphics", "OpenGL cannot be started off screen through EGL", remedy)
    return plotter


def _key_light(camera: Camera) -> Floats:
    """Unit direction to the key light: from above, left of the camera."""
    right, _, backward = camera.axes
    flat = np.array([backward[0], backward[1], 0.0])
    flat /= max(float(np.linalg.norm(flat)), 1e-9)
    direction = 0.75 * flat - 0.5 * right + np.array([0.0, 0.0, 1.1])
    return np.asarray(direction / np.linalg.norm(direction))
