"""Reconstruct, save, load and reset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from scene import cloud, goal
from std_srvs.srv import Trigger

from neurok_ros.action import PredictDeformation
from neurok_ros.prediction.object_file import save_object
from neurok_ros.reconstruction.types import ReconstructedMesh
from neurok_ros.srv import LoadObject, ReconstructObject, SaveObject

if TYPE_CHECKING:
    from harness import Client

Result = PredictDeformation.Result


@pytest.fixture(scope="module")
def box(client: Client) -> ReconstructObject.Response:
    """The box, reconstructed by the service."""
    client.show(cloud())
    response = client.call(ReconstructObject, "reconstruct", ReconstructObject.Request(object_id="box"))
    assert response.success, response.message
    return response


def test_reconstruct_names_the_object_and_a_goal_can_ask_for_it(client: Client, box: ReconstructObject.Response) -> None:
    assert box.object.object_id == "box"
    assert box.object.header.frame_id == "world"
    assert len(box.object.mesh.vertices) == len(box.object.observed)
    assert np.allclose(box.object.support, [0.0, 0.0, 1.0, 0.0], atol=0.02), "the table is the plane z = 0"
    status, result = client.ask(goal(object_id="box"))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.message
    assert result.object_id == "box"


def test_an_object_survives_a_file(client: Client, box: ReconstructObject.Response, tmp_path: Path) -> None:
    path = tmp_path / "box.glb"
    saved = client.call(SaveObject, "save_object", SaveObject.Request(object_id="box", path=str(path)))
    assert saved.success, saved.message
    assert Path(saved.path) == path
    loaded = client.call(LoadObject, "load_object", LoadObject.Request(path=str(path), object_id="again"))
    assert loaded.success, loaded.message
    assert loaded.object.object_id == "again"
    before = np.array([(v.x, v.y, v.z) for v in box.object.mesh.vertices])
    after = np.array([(v.x, v.y, v.z) for v in loaded.object.mesh.vertices])
    assert np.allclose(before, after, atol=1e-6)  # GLB stores float32
    assert client.ask(goal(object_id="again"))[0] == GoalStatus.STATUS_SUCCEEDED


def test_another_scan_can_be_merged_into_an_object(client: Client, box: ReconstructObject.Response) -> None:
    assert box.success
    client.show(cloud())
    response = client.call(ReconstructObject, "reconstruct", ReconstructObject.Request(object_id="box", merge=True))
    assert response.success, response.message
    unknown = client.call(ReconstructObject, "reconstruct", ReconstructObject.Request(object_id="teapot", merge=True))
    assert not unknown.success
    assert unknown.error_code == Result.UNKNOWN_OBJECT


def test_files_that_cannot_be_are_errors(client: Client, tmp_path: Path) -> None:
    missing = client.call(LoadObject, "load_object", LoadObject.Request(path=str(tmp_path / "none.glb")))
    assert not missing.success
    assert missing.error_code == Result.FILE_FAILED
    wrong = client.call(SaveObject, "save_object", SaveObject.Request(path=str(tmp_path / "box.txt")))
    assert not wrong.success
    assert wrong.error_code == Result.FILE_FAILED


def test_an_object_from_a_frame_that_nobody_knows_is_refused(client: Client, tmp_path: Path) -> None:
    tetrahedron = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype=np.int32)
    mesh = ReconstructedMesh(tetrahedron, faces, np.ones(4, bool), None, np.array([0.0, 0.0, 1.0, 0.0]), "none", "attic")
    path = save_object(mesh, tmp_path / "attic.glb", "thing")
    answer = client.call(LoadObject, "load_object", LoadObject.Request(path=str(path)))
    assert answer.error_code == Result.TRANSFORM_FAILED
    assert "'attic'" in answer.message


def test_reset_ends_the_goal_and_forgets_everything(client: Client, box: ReconstructObject.Response) -> None:
    handle = client.send(goal(object_id="box", horizon=60.0, frame_rate=1.0))
    client.wait_for_stage("simulating")
    assert client.call(Trigger, "neurok/reset").success
    status, result = client.result(handle)
    assert status == GoalStatus.STATUS_ABORTED
    assert "reset" in result.message
    assert client.ask(goal(object_id="box"))[1].error_code == Result.UNKNOWN_OBJECT
    assert client.ask(goal())[1].error_code == Result.NO_SCAN
