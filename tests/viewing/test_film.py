"""Films run at real speed and show the tool where it is."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bent_box import Example
from PIL import Image

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.viewing.film import VIEW, film_moments, film_of_motion, nearest_frames
from neurok_ros.viewing.palette import TOOL
from neurok_ros.viewing.scene import PushScene


@pytest.fixture(scope="module")
def gif(example: Example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "push.gif"
    film_of_motion(example.mesh, example.motion, example.push, path)
    return path


def test_a_gif_keeps_real_time(example: Example, gif: Path) -> None:
    with Image.open(gif) as film:
        assert film.size == (640, 480)
        assert film.n_frames == len(example.motion.times)
        starts, now = [], 0
        for index in range(film.n_frames):
            film.seek(index)
            starts.append(now / 1000)
            now += film.info["duration"]
        assert film.info["loop"] == 0
    # GIF counts hundredths of a second: no picture is off by more than half of one.
    assert np.abs(np.array(starts) - example.motion.times).max() < 0.0051
    # The last picture is shown for a step too.
    assert now / 1000 == pytest.approx(example.motion.times[-1] + 1 / 30, abs=0.0051)


def test_a_gif_of_this_length_can_be_sent_around(gif: Path) -> None:
    assert gif.stat().st_size < 3_000_000


def test_the_tool_is_where_the_motion_has_it(example: Example, gif: Path) -> None:
    scene = PushScene(example.mesh, example.motion, example.push)
    camera = scene.camera(VIEW, fill=0.86)
    radius = example.push.tool.dimensions[0]
    with Image.open(gif) as film:
        for index in (0, 4, 8):
            film.seek(index)
            pixels = np.asarray(film.convert("RGB"), dtype=np.int64)[: VIEW[1]]
            red = np.maximum(pixels[..., 0], 1)
            near = [np.abs(pixels[..., c] / red - TOOL[c] / TOOL[0]) < 0.15 for c in (1, 2)]
            rows, columns = np.nonzero(near[0] & near[1] & (red > 90))
            centre = scene.tool_poses[index][:3, 3]
            size = float(np.ptp(camera.pixels(centre + np.array([[0, 0, -radius], [0, 0, radius]]))[:, 1]))
            # Nothing hides the tool before contact; a tenth of its size for shading lost to the film's 256 colours.
            assert np.array([columns.mean(), rows.mean()]) == pytest.approx(camera.pixels(centre), abs=0.1 * size)


def test_fast_motions_are_thinned_and_uneven_ones_resampled() -> None:
    times = np.linspace(0, 2, 241)
    moments = film_moments(times)
    assert len(moments) == 61
    assert times[nearest_frames(times, moments)] == pytest.approx(moments, abs=1e-9)
    uneven = np.array([0.0, 0.1, 0.2, 0.3, 0.9])
    moments = film_moments(uneven)
    assert moments[-1] == pytest.approx(0.9)
    assert nearest_frames(uneven, moments).tolist() == [0, 1, 2, 3, 3, 3, 4, 4, 4, 4]
    assert film_moments(np.array([0.4])).tolist() == [0.4]


def test_an_mp4_keeps_real_time(example: Example, tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="MP4 needs imageio-ffmpeg")
    film_of_motion(example.mesh, example.motion, example.push, tmp_path / "push.mp4")
    frames, seconds = ffmpeg.count_frames_and_secs(str(tmp_path / "push.mp4"))
    assert frames == len(example.motion.times)
    # Container time stamps have hundredths in the tool's report.
    assert seconds == pytest.approx(example.motion.times[-1] + 1 / 30, abs=0.02)


def test_an_mp4_without_its_library_names_the_remedy(example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(NeurokError, match="imageio-ffmpeg") as caught:
        film_of_motion(example.mesh, example.motion, example.push, tmp_path / "push.mp4")
    assert caught.value.code is ErrorCode.FILE_FAILED


def test_a_single_still_moment_makes_a_film(example: Example, tmp_path: Path) -> None:
    motion = example.motion
    still = replace(
        motion,
        times=motion.times[:1],
        vertices=motion.vertices[:1],
        tool_poses=motion.tool_poses[:1],
        contact_force=motion.contact_force[:1],
        penetration=motion.penetration[:1],
        displacement=motion.displacement[:1],
    )
    film_of_motion(example.mesh, still, example.push, tmp_path / "still.gif")
    with Image.open(tmp_path / "still.gif") as film:
        assert film.n_frames == 1
        assert np.asarray(film.convert("RGB")).std() > 10
