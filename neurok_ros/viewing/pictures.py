"""Still pictures: what was reconstructed, and what is predicted to happen."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from neurok_ros.reconstruction.types import Floats, ReconstructedMesh
from neurok_ros.viewing import lettering
from neurok_ros.viewing.frame import support_frame
from neurok_ros.viewing.guard import check_mesh, drawable, output_path
from neurok_ros.viewing.palette import (
    BACKGROUND,
    FAINT_INK,
    FORCE,
    GUESSED,
    GUESSED_SHARE,
    OBJECT,
    PATH,
    TOOL,
    displacement_colors,
    surface_colors,
)
from neurok_ros.viewing.scene import PushScene, warnings_of
from neurok_ros.viewing.stage import Stage, Surface, camera_for, round_length

if TYPE_CHECKING:
    from neurok_ros.prediction.types import PredictedMotion, Push

PICTURE_ENDINGS = (".png", ".jpg", ".jpeg")
WIDTH = 1200
OVERSAMPLE = 2
SMALLEST_SCALE = 1e-3
"""Metres: colour never stretches over less, so that rounding does not look like motion."""
STRIP = 5
"""Moments below the large view of a motion."""


def picture_of_mesh(mesh: ReconstructedMesh, path: str | Path) -> None:
    """Writes a picture, 1200 x 700 pixels, of the mesh from the camera's side and from behind, with its size.

    The scanned surface has its scanned colours (or one calm colour), the guessed one is tinted.

    Raises:
        NeurokError: RECONSTRUCTION_FAILED for a mesh that cannot be drawn, FILE_FAILED for a path that cannot be written.
    """
    check_mesh(mesh)
    path = output_path(path, PICTURE_ENDINGS)
    frame = support_frame(mesh)
    vertices = frame.points(mesh.vertices)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    diagonal = float(np.linalg.norm(high - low))
    grid = round_length(diagonal / 3)
    picture = Image.new("RGB", (WIDTH, 700), BACKGROUND)
    for column, (azimuth, title) in enumerate(((0.45, "from the camera's side"), (np.pi + 0.45, "from behind"))):
        panel = _mesh_panel(vertices, mesh, azimuth, grid)
        lettering.paste_softly(picture, panel, (column * WIDTH // 2, 72))
        lettering.write(picture, ((column + 0.5) * WIDTH / 2, 106), title, 19, FAINT_INK, anchor="mm")
    depth, width, height = 100 * (high - low)
    lettering.write(picture, (36, 28), "Reconstructed mesh", 30)
    size = f"{width:.1f} cm wide,  {depth:.1f} cm deep,  {height:.1f} cm high"
    lettering.write(picture, (WIDTH - 36, 45), size, 22, anchor="rm")
    lettering.legend(picture, (36, 664), _mesh_legend(mesh), 20)
    numbers = f"{len(mesh.vertices)} vertices, {len(mesh.faces)} faces    grid {lettering.length(grid, 'cm')}"
    lettering.write(picture, (WIDTH - 36, 664), numbers, 18, FAINT_INK, anchor="rm")
    picture.save(path)


def picture_of_motion(mesh: ReconstructedMesh, motion: PredictedMotion, push: Push, path: str | Path) -> None:
    """Writes a picture, 1200 x 900 pixels: the tellingest moment large, over the rest state, and five moments in a row.

    Colour is the displacement of each vertex from rest; the arrow is the force of the tool on the object.

    Raises:
        NeurokError: as `guard.drawable`, and FILE_FAILED for a path that cannot be written.
    """
    motion = drawable(mesh, motion)
    path = output_path(path, PICTURE_ENDINGS)
    scene = PushScene(mesh, motion, push)
    largest = max(float(scene.displacements.max()), SMALLEST_SCALE)
    picture = Image.new("RGB", (WIDTH, 900), BACKGROUND)
    main = telling_frame(motion)
    lettering.paste_softly(picture, _motion_panel(scene, [main], (WIDTH, 640), largest, detailed=True)[0], (0, 44))
    moments = np.unique(np.linspace(0, len(motion.times) - 1, min(STRIP, len(motion.times))).round().astype(int))
    width = WIDTH // STRIP
    for column, panel in enumerate(_motion_panel(scene, list(moments), (width, 172), largest, detailed=False)):
        lettering.paste_softly(picture, panel, (column * width, 682))
        lettering.write(picture, ((column + 0.5) * width, 866), f"{motion.times[moments[column]]:.2f} s", 20, anchor="mm")
    _letter_motion(picture, scene, main, largest)
    picture.save(path)


def telling_frame(motion: PredictedMotion) -> int:
    """The frame of largest displacement among those in which the tool presses; of all, where it never does."""
    pressing = np.linalg.norm(motion.contact_force, axis=1)
    in_touch = pressing > 0.1 * max(float(pressing.max()), 1e-9)
    candidates = np.flatnonzero(in_touch) if in_touch.any() else np.arange(len(motion.times))
    return int(candidates[np.argmax(motion.displacement[candidates])])


def _mesh_panel(vertices: Floats, mesh: ReconstructedMesh, azimuth: float, grid: float) -> Image.Image:
    camera = camera_for(vertices, azimuth, np.radians(24), (WIDTH // 2, 560), fill=0.80)
    ground = 1.5 * float(np.linalg.norm(vertices, axis=1).max())
    with Stage(camera, ground, grid, OVERSAMPLE) as stage:
        stage.add_surface(Surface(vertices, mesh.faces, surface_colors(mesh)))
        stage.cast_shadow([(vertices, mesh.faces)])
        return stage.picture()


def _mesh_legend(mesh: ReconstructedMesh) -> list[tuple[tuple[int, int, int] | Image.Image, str]]:
    base = np.array(OBJECT, dtype=np.float64) if mesh.colors is None else _typical_color(mesh)
    tinted = (1 - GUESSED_SHARE) * base + GUESSED_SHARE * np.array(GUESSED)
    entries: list[tuple[tuple[int, int, int] | Image.Image, str]] = []
    if mesh.observed.any():
        entries.append((_rgb(base), "scanned"))
    if not mesh.observed.all():
        entries.append((_rgb(tinted), f"guessed, by {mesh.completion}" if mesh.completion else "guessed"))
    return entries


def _typical_color(mesh: ReconstructedMesh) -> Floats:
    assert mesh.colors is not None
    seen = mesh.observed if mesh.observed.any() else np.ones(len(mesh.vertices), dtype=bool)
    return np.asarray(np.median(mesh.colors[seen].astype(np.float64), axis=0))


def _rgb(color: Floats) -> tuple[int, int, int]:
    red, green, blue = (round(float(c)) for c in color)
    return red, green, blue


def _motion_panel(
    scene: PushScene, frames: list[int], size: tuple[int, int], largest: float, *, detailed: bool
) -> list[Image.Image]:
    camera = scene.camera(size, fill=0.8 if detailed else 0.84)
    panels = []
    with Stage(camera, scene.ground, scene.grid, OVERSAMPLE) as stage:
        surface = Surface(scene.rest, scene.faces, displacement_colors(scene.displacements[0], largest))
        stage.add_surface(surface)
        stage.add_ghost(scene.rest, scene.faces, opacity=0.2 if detailed else 0.12)
        if detailed:
            stage.add_path(scene.tool_path, scene.diagonal * 0.004)
        tool = stage.add_tool(scene.tool, scene.tool_poses[0])
        for frame in frames:
            surface.move(scene.vertices[frame])
            surface.paint(displacement_colors(scene.displacements[frame], largest))
            stage.move_tool(tool, scene.tool_poses[frame])
            stage.cast_shadow(scene.casters(frame))
            panel = stage.picture()
            lettering.outline(panel, camera.pixels(scene.rest), scene.faces, FAINT_INK, width=2 if detailed else 1)
            scene.draw_force(panel, camera, frame, width=9 if detailed else 4)
            panels.append(panel)
    return panels


def _letter_motion(picture: Image.Image, scene: PushScene, main: int, largest: float) -> None:
    motion = scene.motion
    pressing = float(np.linalg.norm(motion.contact_force[main]))
    lettering.write(picture, (36, 28), f"Predicted motion at {motion.times[main]:.2f} s", 30)
    unit = lettering.length_unit(largest)
    moved = lettering.length(float(motion.displacement[main]), unit)
    numbers = f"moved by up to {moved},  pushed with {lettering.force(pressing)}"
    lettering.write(picture, (WIDTH - 36, 45), numbers, 22, anchor="rm")
    entries = [(TOOL, "tool"), (PATH, "its path"), ((206, 210, 213), "at rest"), (FORCE, "force on the object")]
    lettering.legend(picture, (36, 658), entries, 18)
    lettering.write(picture, (WIDTH - 36, 658), f"grid {lettering.length(scene.grid, 'cm')}", 18, FAINT_INK, anchor="rm")
    lettering.displacement_scale(picture, (WIDTH - 130, 180, WIDTH - 108, 440), largest, 18)
    if text := warnings_of(motion):
        lettering.write(picture, (36, 76), text, 20, FORCE)
