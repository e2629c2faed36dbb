"""`pip install .` gives a package that works where there is no ROS at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
NO_ROS = """
import importlib.abc, sys
class NoRos(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("rclpy", "rcl_interfaces", "sensor_msgs", "tf2_ros", "ament_index_python"):
            raise ModuleNotFoundError(f"there is no ROS here: {name}")
sys.meta_path.insert(0, NoRos())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as pip installs it, without its dependencies, which are here already."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, timeout=170)
    return folder


def run(installed: Path, code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment.update(PYTHONPATH=str(installed), OMP_NUM_THREADS="1")
    return subprocess.run(
        [sys.executable, "-P", "-c", NO_ROS + code] if sys.version_info >= (3, 11) else [sys.executable, "-c", NO_ROS + code],
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=170,
    )


def test_every_room_but_nodes_is_imported(installed: Path, tmp_path: Path) -> None:
    code = """
import neurok_ros.geometry, neurok_ros.kinematics, neurok_ros.dynamics, neurok_ros.prediction, neurok_ros.predict
import neurok_ros.viewing.film, neurok_ros.viewing.gltf, neurok_ros.viewing.pictures, neurok_ros.reconstruction
print(neurok_ros.predict.__file__)
assert "open3d" not in sys.modules, "Open3D and torch must not meet in one process"
"""
    done = run(installed, code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().startswith(str(installed))


def test_one_command_makes_the_film_from_a_scan(installed: Path, tmp_path: Path) -> None:
    code = f"""
import sys
sys.argv = ["neurok-predict", {str(ROOT / "demo" / "plush_bear")!r}, "--no-split-touching", "--horizon", "1.0"]
from neurok_ros.predict import run
run()
"""
    done = run(installed, code, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    made = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"mesh.png", "motion.png", "motion.gif", "motion.glb", "object.glb", "demo.json"} <= made
    figures = json.loads((tmp_path / "out" / "demo.json").read_text())
    assert figures["parameterization"] == "modal"
    assert figures["max_displacement_m"] > 5e-3


def test_a_missing_scan_is_named(installed: Path, tmp_path: Path) -> None:
    code = 'import sys; sys.argv = ["neurok-predict", "nowhere.pcd"]\nfrom neurok_ros.predict import run; run()'
    done = run(installed, code, tmp_path)
    assert done.returncode != 0
    assert "nowhere.pcd" in done.stdout
    assert "Traceback" not in done.stderr
