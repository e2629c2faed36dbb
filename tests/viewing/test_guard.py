"""Odd motions are drawn as far as they make sense; nonsense is refused with a reason."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bent_box import Example
from PIL import Image

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.prediction.types import PredictedMotion
from neurok_ros.viewing.gltf import export_glb
from neurok_ros.viewing.guard import check_mesh, drawable
from neurok_ros.viewing.pictures import picture_of_motion
from neurok_ros.viewing.scene import PushScene


def spoiled(motion: PredictedMotion, frame: int, value: float) -> PredictedMotion:
    vertices = motion.vertices.copy()
    vertices[frame, 5, 1] = value
    return replace(motion, vertices=vertices, flags={"diverged": True})


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_a_motion_ends_where_it_diverges(example: Example, value: float) -> None:
    kept = drawable(example.mesh, spoiled(example.motion, 20, value))
    assert len(kept.times) == len(kept.vertices) == len(kept.tool_poses) == len(kept.contact_force) == 20
    assert np.isfinite(kept.vertices).all()


def test_a_motion_that_never_made_sense_is_refused(example: Example) -> None:
    with pytest.raises(NeurokError) as caught:
        drawable(example.mesh, spoiled(example.motion, 0, np.nan))
    assert caught.value.code is ErrorCode.DIVERGED


def test_a_motion_of_another_mesh_is_refused(example: Example) -> None:
    with pytest.raises(NeurokError, match=r"motion\.vertices"):
        drawable(example.mesh, replace(example.motion, vertices=example.motion.vertices[:, :-1]))


def test_a_mesh_with_nonsense_in_it_is_refused(example: Example) -> None:
    mesh = example.mesh
    bad_vertices = mesh.vertices.copy()
    bad_vertices[3] = np.nan
    bad_faces = mesh.faces.copy()
    bad_faces[0, 0] = len(mesh.vertices)
    for field, value in (("vertices", bad_vertices), ("faces", bad_faces), ("support", np.zeros(4)), ("faces", mesh.faces[:0])):
        with pytest.raises(NeurokError) as caught:
            check_mesh(replace(mesh, **{field: value}))
        assert caught.value.code is ErrorCode.RECONSTRUCTION_FAILED


def test_a_diverged_motion_is_drawn_with_its_warning(example: Example, tmp_path: Path) -> None:
    calm = replace(drawable(example.mesh, spoiled(example.motion, 20, np.nan)), flags={})
    picture_of_motion(example.mesh, calm, example.push, tmp_path / "calm.png")
    picture_of_motion(example.mesh, spoiled(example.motion, 20, np.nan), example.push, tmp_path / "warned.png")
    calm_pixels, warned = (np.asarray(Image.open(tmp_path / f"{name}.png"), dtype=int) for name in ("calm", "warned"))
    changed = np.abs(calm_pixels - warned).max(axis=2) > 30
    # Nothing but the line of the warning differs, at the top left.
    assert changed[76:110, 30:300].sum() > 200
    assert changed.sum() == changed[70:115, 30:400].sum()


def test_nothing_moving_far_from_the_origin_is_drawn_and_exported(example: Example, tmp_path: Path) -> None:
    """A map frame may put the object kilometres from its origin, where float32 has steps of 0.1 mm."""
    shift = np.array([1500.0, -800.0, 20.0])
    support = example.mesh.support.copy()
    support[3] -= support[:3] @ shift
    mesh = replace(example.mesh, vertices=example.mesh.vertices + shift, support=support, colors=None)
    still = replace(
        example.motion,
        vertices=np.repeat(mesh.vertices[None].astype(np.float32), 46, axis=0),
        tool_poses=example.motion.tool_poses + np.append(shift, np.zeros(4)),
        contact_force=np.zeros((46, 3)),
        displacement=np.zeros(46),
    )
    path = replace(example.push.path, positions=example.push.path.positions + shift)
    push = replace(example.push, path=path)
    picture_of_motion(mesh, still, push, tmp_path / "still.png")
    scene = PushScene(mesh, still, push)
    x, y = scene.camera((1200, 640), fill=0.8).pixels(scene.rest.mean(axis=0))
    middle = np.asarray(Image.open(tmp_path / "still.png").convert("RGB"))[
        round(y) + 4 : round(y) + 84, round(x) - 20 : round(x) + 20
    ]
    # The pale colour of no displacement everywhere (226 in the light, about 200 in shade), neither background nor dark.
    assert middle.min() > 120
    assert middle.max() < 240
    export_glb(mesh, still, push, tmp_path / "still.glb")
    assert (tmp_path / "still.glb").stat().st_size > 1000


def test_a_machine_without_opengl_gets_an_error_not_a_crash() -> None:
    code = (
        "import numpy as np; from neurok_ros.viewing.stage import Stage, camera_for\n"
        "try: Stage(camera_for(np.eye(3), 0.0, 0.3, (64, 48)), ground=1.0, grid=0.5)\n"
        "except Exception as error: print(error.code.name, error)"
    )
    without_drivers = {**os.environ, "__EGL_VENDOR_LIBRARY_FILENAMES": "/nonexistent"}
    without_drivers.pop("DISPLAY", None)
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=without_drivers, cwd=root)
    assert done.returncode == 0
    assert done.stdout.startswith("INTERNAL graphics")
    assert "libegl1" in done.stdout


def test_viewing_loads_neither_torch_nor_open3d() -> None:
    code = (
        "import sys, neurok_ros.viewing.pictures, neurok_ros.viewing.film, neurok_ros.viewing.gltf;"
        "print([m for m in ('torch', 'open3d', 'rclpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout.strip() == "[]"
