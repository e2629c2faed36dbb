"""What people look at first shows what it must, where it must."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bent_box import Example
from numpy.typing import NDArray
from PIL import Image

from neurok_ros.dynamics.tools import ToolKind, ToolShape
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.viewing.palette import OBJECT, TOOL
from neurok_ros.viewing.pictures import picture_of_mesh, picture_of_motion, telling_frame
from neurok_ros.viewing.scene import PushScene
from neurok_ros.viewing.stage import Stage, Surface, camera_for, corners, tool_polydata

Pixels = NDArray[np.int64]


def pixels_of(path: Path) -> Pixels:
    return np.asarray(Image.open(path).convert("RGB"), dtype=np.int64)


def colored(pixels: Pixels) -> NDArray[np.bool_]:
    """Not background, grid or shadow, which are all grey to within 8 levels."""
    return np.asarray(np.ptp(pixels, axis=2) > 16)


def tool_colored(pixels: Pixels) -> NDArray[np.bool_]:
    """The tool's hue in any light: ratios of red, green and blue as in its colour, to within 0.15."""
    red = np.maximum(pixels[..., 0], 1)
    near = [np.abs(pixels[..., c] / red - TOOL[c] / TOOL[0]) < 0.15 for c in (1, 2)]
    return np.asarray(near[0] & near[1] & (red > 90))


def reddish(pixels: Pixels) -> int:
    return int(((pixels[..., 0] > 1.8 * pixels[..., 2]) & (pixels[..., 0] > 100)).sum())


def bluish(pixels: Pixels) -> int:
    return int(((pixels[..., 2] > 1.15 * pixels[..., 1]) & (pixels[..., 2] > 60)).sum())


def test_the_scanned_side_is_left_and_the_guessed_side_right(example: Example, tmp_path: Path) -> None:
    picture_of_mesh(example.mesh, tmp_path / "new folder" / "mesh.png")
    pixels = pixels_of(tmp_path / "new folder" / "mesh.png")
    assert pixels.shape == (700, 1200, 3)
    left, right = pixels[130:600, :600], pixels[130:600, 600:]
    # The box, twice as high as wide, fills 80 % of the panel's height: about a quarter of its area, less for pale stripes.
    assert colored(left).mean() > 0.1
    assert colored(right).mean() > 0.1
    assert reddish(left) > 3 * reddish(right)
    assert bluish(right) > 3 * bluish(left)


def test_a_mesh_without_colors_is_drawn_calmly(example: Example, tmp_path: Path) -> None:
    bare = replace(example.mesh, colors=None, observed=np.ones(len(example.mesh.vertices), dtype=bool), completion="")
    picture_of_mesh(bare, tmp_path / "mesh.png")
    box = pixels_of(tmp_path / "mesh.png")[280:420, 250:350].reshape(-1, 3)
    # Shaded, hence darker than the colour itself, but of its hue: the same order, blue over green over red.
    mean = box.mean(axis=0)
    assert mean[2] > mean[1] > mean[0]
    assert np.all(np.abs(mean / mean.max() - np.array(OBJECT) / max(OBJECT)) < 0.08)


@pytest.mark.parametrize(
    "tool",
    [
        ToolShape(ToolKind.SPHERE, (0.025,)),
        ToolShape(ToolKind.BOX, (0.03, 0.05, 0.04)),
        ToolShape(ToolKind.CYLINDER, (0.05, 0.025)),
        ToolShape(ToolKind.CAPSULE, (0.03, 0.02)),
    ],
    ids=lambda tool: tool.kind.value,
)
def test_the_tool_stands_where_it_pushes(example: Example, tool: ToolShape, tmp_path: Path) -> None:
    push = replace(example.push, tool=tool)
    picture_of_motion(example.mesh, example.motion, push, tmp_path / "motion.png")
    pixels = pixels_of(tmp_path / "motion.png")
    assert pixels.shape == (900, 1200, 3)
    scene = PushScene(example.mesh, example.motion, push)
    camera = scene.camera((1200, 640), fill=0.8)
    x, y = camera.pixels(scene.tool_poses[telling_frame(example.motion)][:3, 3])
    around = tool_colored(pixels)[round(y) + 44 - 30 : round(y) + 44 + 30, round(x) - 30 : round(x) + 30]
    # The arrow and the pushed object hide part of the tool, but never two thirds of what is around its centre.
    assert around.mean() > 0.33


@pytest.mark.parametrize("kind", [ToolKind.CAPSULE, ToolKind.CYLINDER])
def test_both_fingers_of_a_gripper_are_drawn(kind: ToolKind) -> None:
    gripper = ToolShape(kind, (0.05, 0.012), opening=0.02)
    x, y, z = gripper.half_extents
    surface = tool_polydata(gripper)
    assert np.allclose(surface.bounds, [-x, x, -0.01 - 2 * y, 0.01 + 2 * y, -z, z], atol=2e-4)
    assert np.abs(surface.points[:, 1]).min() > 0.0099


def test_displacement_is_told_by_color(example: Example, tmp_path: Path) -> None:
    picture_of_motion(example.mesh, example.motion, example.push, tmp_path / "motion.png")
    scene = PushScene(example.mesh, example.motion, example.push)
    camera = scene.camera((1200, 640), fill=0.8)
    shape = scene.vertices[telling_frame(example.motion)]
    pixels = pixels_of(tmp_path / "motion.png")

    def brightness(height: float) -> float:
        ring = shape[np.abs(scene.rest[:, 2] - height) < 0.01]
        x, y = camera.pixels(ring.mean(axis=0))
        return float(pixels[round(y) + 44 - 4 : round(y) + 44 + 4, round(x) - 4 : round(x) + 4].mean())

    # Pale where the held foot stays, dark where the free end has moved; the map spans 230 to 60.
    assert brightness(0.02) > brightness(0.10) + 15
    assert brightness(0.10) > brightness(0.18) + 15


def test_the_camera_sees_all_and_no_more_than_it_must() -> None:
    points = np.random.default_rng(3).normal(size=(200, 3)) * [0.1, 0.2, 0.3]
    for size in ((640, 480), (300, 800)):
        camera = camera_for(points, azimuth=0.7, elevation=0.4, size=size, fill=0.8)
        offset = np.abs(camera.pixels(points) / np.array(size) * 2 - 1)
        # The nearest camera: the points just reach the allowed 80 % on one axis (exact geometry, float64).
        assert offset.max() == pytest.approx(0.8, abs=1e-9)


def test_words_and_arrows_land_where_the_renderer_draws() -> None:
    points = corners(np.array([[-0.2, -0.2, 0.0], [0.2, 0.3, 0.4]]))
    camera = camera_for(points, azimuth=0.3, elevation=0.5, size=(400, 300))
    place = np.eye(4)
    place[:3, 3] = [0.1, -0.12, 0.2]
    with Stage(camera, ground=0.5, grid=0.1) as stage:
        stage.add_tool(ToolShape(ToolKind.SPHERE, (0.02,)), place)
        pixels = np.asarray(stage.picture(), dtype=np.int64)
    rows, columns = np.nonzero(tool_colored(pixels))
    assert len(rows) > 50
    # The centre of a small sphere's image is the image of its centre, to a pixel of rasterisation.
    assert np.array([columns.mean(), rows.mean()]) == pytest.approx(camera.pixels(place[:3, 3]), abs=1.5)


def test_a_moved_surface_is_redrawn_with_its_shadow(example: Example) -> None:
    vertices = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]], dtype=np.float64)
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], dtype=np.int32)
    camera = camera_for(corners(np.array([[-0.3, -0.3, 0.0], [0.3, 0.3, 0.2]])), azimuth=0.5, elevation=0.6, size=(320, 240))
    surface = Surface(vertices, faces, np.full((4, 3), (20, 60, 220), dtype=np.uint8))
    centres = []
    with Stage(camera, ground=0.5, grid=0.2) as stage:
        stage.add_surface(surface)
        for shift in (0.0, 0.15):
            moved = vertices + np.array([0.0, shift, 0.0])
            surface.move(moved)
            stage.cast_shadow([(moved, faces[:0])])
            unshaded = np.asarray(stage.picture(), dtype=np.int64)
            stage.cast_shadow([(moved, faces)])
            darkened = (unshaded - np.asarray(stage.picture(), dtype=np.int64)).mean(axis=2) > 30
            centres.append([np.nonzero(colored(unshaded))[1].mean(), np.nonzero(darkened)[1].mean()])
    expected = np.diff(camera.pixels(np.array([[0.03, 0.03, 0.03], [0.03, 0.18, 0.03]]))[:, 0])[0]
    moved_by = np.diff(centres, axis=0)[0]
    # Object and shadow move together along the picture; perspective and hidden edges change it by under a fifth.
    assert moved_by == pytest.approx([expected, expected], rel=0.2)


def test_an_unknown_ending_is_refused(example: Example, tmp_path: Path) -> None:
    with pytest.raises(NeurokError, match=r"\.png") as caught:
        picture_of_mesh(example.mesh, tmp_path / "mesh.bmp2")
    assert caught.value.code is ErrorCode.FILE_FAILED
