"""Films of a predicted motion at real speed, as GIF or MP4."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.types import Floats, ReconstructedMesh
from neurok_ros.viewing import lettering
from neurok_ros.viewing.guard import drawable, output_path
from neurok_ros.viewing.palette import BACKGROUND, FAINT_INK, FORCE, GRID, TOOL, surface_colors
from neurok_ros.viewing.scene import PushScene, warnings_of
from neurok_ros.viewing.stage import Stage, Surface

if TYPE_CHECKING:
    from neurok_ros.prediction.types import PredictedMotion, Push

FILM_ENDINGS = (".gif", ".mp4")
SIZE = (640, 480)
VIEW = (640, 418)
"""Pixels above the caption."""
FASTEST = 30.0
"""Pictures per second: more costs time and bytes, and browsers slow down GIFs above 50."""


def film_of_motion(mesh: ReconstructedMesh, motion: PredictedMotion, push: Push, path: str | Path) -> None:
    """Writes a film, 640 x 480 pixels, at real speed: the object in its scanned colours, the tool, time, force, displacement.

    It has the motion's own frames where these are evenly spaced at 30 per second or less, otherwise the nearest frames.
    A GIF repeats, an MP4 (H.264) does not.

    Raises:
        NeurokError: as `guard.drawable`, and FILE_FAILED for a path that cannot be written or an MP4 without imageio-ffmpeg.
    """
    motion = drawable(mesh, motion)
    path = output_path(path, FILM_ENDINGS)
    moments = film_moments(motion.times)
    pictures = _pictures(PushScene(mesh, motion, push), nearest_frames(motion.times, moments))
    if path.suffix.lower() == ".gif":
        _write_gif(pictures, moments, path)
    else:
        _write_mp4(pictures, moments, path)


def film_moments(times: Floats) -> Floats:
    """The moments (p,) that a film shows, seconds, evenly spaced from the first of `times` (f,) to the last or just before."""
    if len(times) < 2:
        return times[:1]
    step = max(float(np.median(np.diff(times))), 1 / FASTEST)
    count = int(np.floor((times[-1] - times[0]) / step + 1e-6)) + 1
    return np.asarray(times[0] + step * np.arange(count))


def nearest_frames(times: Floats, moments: Floats) -> NDArray[np.int64]:
    """Index of the nearest of `times` (f,), ascending, for each moment (p,)."""
    after = np.clip(np.searchsorted(times, moments), 1, max(len(times) - 1, 1))
    if len(times) < 2:
        return np.zeros(len(moments), dtype=np.int64)
    return np.where(moments - times[after - 1] <= times[after] - moments, after - 1, after)


def _pictures(scene: PushScene, frames: NDArray[np.int64]) -> Iterator[Image.Image]:
    camera = scene.camera(VIEW, fill=0.86)
    colors = surface_colors(scene.mesh)
    with Stage(camera, scene.ground, scene.grid) as stage:
        surface = Surface(scene.rest, scene.faces, colors)
        stage.add_surface(surface)
        tool = stage.add_tool(scene.tool, scene.tool_poses[0])
        for frame in frames:
            surface.move(scene.vertices[frame])
            stage.move_tool(tool, scene.tool_poses[frame])
            stage.cast_shadow(scene.casters(frame))
            view = stage.picture()
            scene.draw_force(view, camera, int(frame), width=6)
            picture = Image.new("RGB", SIZE, BACKGROUND)
            lettering.paste_softly(picture, view, (0, 0))
            _caption(picture, scene.motion, int(frame))
            yield picture


def _caption(picture: Image.Image, motion: PredictedMotion, frame: int) -> None:
    width, height = picture.size
    base = height - 26
    unit = lettering.length_unit(float(motion.displacement.max()))
    columns = (
        (24, "time", f"{motion.times[frame]:.2f} s"),
        (140, "force", lettering.force(float(np.linalg.norm(motion.contact_force[frame])))),
        (270, "displacement", lettering.length(float(motion.displacement[frame]), unit)),
    )
    for x, name, value in columns:
        lettering.write(picture, (x, base - 23), name, 13, FAINT_INK, anchor="ls")
        lettering.write(picture, (x, base), value, 21, anchor="ls")
    if text := warnings_of(motion):
        lettering.write(picture, (24, 24), text, 15, FORCE)
    span = float(motion.times[-1] - motion.times[0])
    share = (motion.times[frame] - motion.times[0]) / span if span > 0 else 1.0
    draw = ImageDraw.Draw(picture)
    draw.rectangle((24, height - 12, width - 24, height - 9), fill=GRID)
    draw.rectangle((24, height - 12, 24 + round(share * (width - 48)), height - 9), fill=TOOL)


def _write_gif(pictures: Iterator[Image.Image], moments: Floats, path: Path) -> None:
    """GIF counts hundredths of a second: each picture's end is rounded, not its length, so that the film stays in time."""
    stills = list(pictures)
    ends = np.append(moments[1:], moments[-1] + _step(moments)) - moments[0]
    hundredths = np.diff(np.rint(ends * 100).astype(int), prepend=0)
    palette = _common_palette(stills)
    indexed = [still.quantize(palette=palette, dither=Image.Dither.NONE) for still in stills]
    indexed[0].save(
        path, format="GIF", save_all=True, append_images=indexed[1:], duration=(hundredths * 10).tolist(), loop=0, optimize=False
    )


def _common_palette(stills: list[Image.Image]) -> Image.Image:
    """One palette for the film, from a few of its pictures side by side, so that still parts do not flicker."""
    chosen = [stills[i] for i in np.unique(np.linspace(0, len(stills) - 1, 5).round().astype(int))]
    sheet = Image.new("RGB", (SIZE[0] * len(chosen), SIZE[1]))
    for column, still in enumerate(chosen):
        sheet.paste(still, (column * SIZE[0], 0))
    return sheet.quantize(256, method=Image.Quantize.MEDIANCUT)


def _write_mp4(pictures: Iterator[Image.Image], moments: Floats, path: Path) -> None:
    try:
        import imageio_ffmpeg
    except ImportError as error:
        remedy = "Install it with pip, or name a file that ends in .gif"
        raise NeurokError(ErrorCode.FILE_FAILED, "path", "writing an MP4 needs imageio-ffmpeg", remedy) from error
    writer = imageio_ffmpeg.write_frames(str(path), SIZE, fps=1 / _step(moments), codec="libx264", quality=8, macro_block_size=2)
    writer.send(None)
    for picture in pictures:
        writer.send(picture.tobytes())
    writer.close()


def _step(moments: Floats) -> float:
    """Seconds that each picture is shown."""
    return float(moments[1] - moments[0]) if len(moments) > 1 else 1 / FASTEST
