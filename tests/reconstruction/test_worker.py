"""Reconstruction through the real worker process: Open3D is never imported into the test process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import trimesh
from scipy.spatial import cKDTree
from synthetic_scans import Body, box, chamfer, cylinder, render, sphere

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction import (
    MeshOptions,
    ObjectSelection,
    ReconstructedMesh,
    ReconstructionWorker,
    Scan,
    SegmentationOptions,
    SegmentedObject,
    merge_scans,
    read_scan,
)

SEGMENTATION = SegmentationOptions()


@pytest.fixture(scope="module")
def worker() -> Iterator[ReconstructionWorker]:
    with ReconstructionWorker() as started:
        yield started


def reconstruct(
    worker: ReconstructionWorker,
    scan: Scan,
    options: MeshOptions | None = None,
    selection: ObjectSelection | None = None,
    segmentation: SegmentationOptions = SEGMENTATION,
) -> tuple[ReconstructedMesh, SegmentedObject]:
    return worker.reconstruct(scan, segmentation, selection or ObjectSelection(), options or MeshOptions(), timeout_s=120.0)


def assert_sound(mesh: ReconstructedMesh, budget: int = 2000) -> trimesh.Trimesh:
    """Closed, outward oriented, 2-manifold, one piece, within the budget, above the support."""
    solid = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False)
    assert len(mesh.vertices) <= budget
    assert np.isfinite(mesh.vertices).all()
    assert solid.is_watertight
    assert solid.is_winding_consistent
    assert solid.volume > 0
    _, counts = np.unique(np.sort(solid.edges, axis=1), axis=0, return_counts=True)
    assert (counts == 2).all()
    assert trimesh.graph.connected_component_labels(solid.face_adjacency, node_count=len(solid.faces)).max() == 0
    assert set(mesh.faces.ravel()) == set(range(len(mesh.vertices)))
    assert (mesh.vertices @ mesh.support[:3] + mesh.support[3]).min() > -0.001
    assert mesh.observed.shape == (len(mesh.vertices),)
    return solid


def moved(mesh: trimesh.Trimesh, position: tuple[float, float, float], yaw: float = 0.0) -> trimesh.Trimesh:
    mesh.apply_transform(trimesh.transformations.rotation_matrix(yaw, (0, 0, 1)))
    return mesh.apply_translation(position)


SHAPES: dict[str, tuple[Body, trimesh.Trimesh]] = {
    "box": (
        box((0.12, 0.08, 0.15), (0.02, 0.03, 0.075), 0.4),
        moved(trimesh.creation.box((0.12, 0.08, 0.15)), (0.02, 0.03, 0.075), 0.4),
    ),
    "cylinder": (cylinder(0.04, 0.2, (0.02, 0.03, 0.0)), moved(trimesh.creation.cylinder(0.04, 0.2), (0.02, 0.03, 0.1))),
    "ball": (sphere(0.05, (0.02, 0.03, 0.05)), moved(trimesh.creation.icosphere(4, 0.05), (0.02, 0.03, 0.05))),
}


@pytest.mark.parametrize("name", list(SHAPES))
def test_known_bodies_are_completed_from_a_single_view(worker: ReconstructionWorker, name: str) -> None:
    body, truth = SHAPES[name]

    mesh, _ = reconstruct(worker, render([body]))

    solid = assert_sound(mesh)
    assert mesh.completion == "symmetry"
    # The back is a guess; 1 mm of noise moves a mirror plane by a few millimetres, 8 % of an 8 cm body is 6 mm.
    assert solid.volume == pytest.approx(truth.volume, rel=0.08)
    assert chamfer(mesh.vertices, mesh.faces, truth) < 0.003
    camera_side = (solid.vertex_normals * (render([body]).viewpoints[0] - mesh.vertices)).sum(axis=1) > 0.1
    assert mesh.observed[camera_side].mean() > 0.75
    assert mesh.observed[~camera_side].mean() < 0.45
    assert mesh.colors is not None
    assert {"segmenting", "meshing"} <= set(mesh.timings_ms)


def test_a_moved_scan_gives_the_moved_mesh_with_its_frame_and_stamp(worker: ReconstructionWorker) -> None:
    scan = render([SHAPES["box"][0]])
    shift = np.array([3.0, -2.0, 1.0])
    turn = np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]])
    points, viewpoints = scan.points @ turn.T + shift, scan.viewpoints @ turn.T + shift
    other = replace(scan, points=points, viewpoints=viewpoints, frame="map", stamp=7.5)

    mesh, _ = reconstruct(worker, other)

    assert (mesh.frame, mesh.stamp) == ("map", 7.5)
    solid = assert_sound(mesh)
    np.testing.assert_allclose(solid.centroid, turn @ (0.02, 0.03, 0.075) + shift, atol=0.006)


def test_guessed_surface_shows_no_colour_that_a_camera_saw_elsewhere(worker: ReconstructionWorker) -> None:
    """A box blue above and red below: what was seen keeps its colour, what was guessed has one colour of its own."""
    scan = render([SHAPES["box"][0]])
    red, blue = np.array([250, 10, 10], np.uint8), np.array([10, 10, 250], np.uint8)
    painted = replace(scan, colors=np.where(scan.points[:, 2:] > 0.145, blue, red))

    mesh, _ = reconstruct(worker, painted)

    assert mesh.colors is not None
    assert len(np.unique(mesh.colors[~mesh.observed], axis=0)) == 1
    on_top = mesh.observed & (mesh.vertices[:, 2] > 0.148)
    assert (mesh.colors[on_top] == blue).all(axis=1).mean() > 0.95
    below = mesh.observed & (mesh.vertices[:, 2] < 0.14)
    assert (mesh.colors[below] == red).all(axis=1).mean() > 0.95


def test_two_views_leave_less_to_guess(worker: ReconstructionWorker) -> None:
    body, truth = SHAPES["box"]
    front, back = render([body]), render([body], camera=(0.0, 0.6, 0.45))

    one, _ = reconstruct(worker, front)
    both, _ = reconstruct(worker, merge_scans([front, back]))

    solid = assert_sound(both)
    assert both.observed.mean() > one.observed.mean() + 0.1
    assert solid.volume == pytest.approx(truth.volume, rel=0.05)


@pytest.mark.parametrize("completion", ["hull", "none"])
def test_the_other_completions_close_as_well(worker: ReconstructionWorker, completion: str) -> None:
    body, truth = SHAPES["box"]

    mesh, _ = reconstruct(worker, render([body]), MeshOptions(completion=completion))

    assert assert_sound(mesh).volume == pytest.approx(truth.volume, rel=0.1)
    assert mesh.completion in (completion, "hull")


@pytest.mark.parametrize("budget", [60])
def test_the_vertex_budget_holds(worker: ReconstructionWorker, budget: int) -> None:
    mesh, _ = reconstruct(worker, render([SHAPES["ball"][0]]), MeshOptions(vertex_budget=budget))

    assert_sound(mesh, budget)


THIN = {
    "card lying": box((0.12, 0.08, 0.016), (0.0, 0.0, 0.008), 0.3),
    "card upright": box((0.12, 0.001, 0.1), (0.0, 0.0, 0.05), 0.3),
    "rod upright": cylinder(0.006, 0.2, (0.0, 0.0, 0.0)),
}


@pytest.mark.parametrize("name", list(THIN))
def test_thin_things_get_a_thickness(worker: ReconstructionWorker, name: str) -> None:
    mesh, _ = reconstruct(worker, render([THIN[name]]))

    solid = assert_sound(mesh)
    principal = (mesh.vertices - solid.centroid) @ np.linalg.eigh(np.cov(mesh.vertices.T))[1][:, 0]
    assert np.ptp(principal) > 0.0025, "of the 4 mm asked for, less the smoothing of one 1 mm cell"
    assert np.ptp(principal) < 0.025


def test_a_hundred_points_are_enough(worker: ReconstructionWorker) -> None:
    coarse = render([sphere(0.05, (0.0, 0.0, 0.05))], width=70, focal=80.0)
    options = SegmentationOptions(voxel=0.008, min_points=40, cluster_distance=0.03)

    mesh, chosen = reconstruct(worker, coarse, segmentation=options)

    assert len(chosen.points) < 150
    assert assert_sound(mesh).volume == pytest.approx(4 / 3 * np.pi * 0.05**3, rel=0.3)


def test_points_that_crash_open3d_do_not_reach_it(worker: ReconstructionWorker) -> None:
    scan = render([SHAPES["box"][0]])
    bad = np.array([[np.nan, 0, 0], [np.inf, 0, 0], [0, -np.inf, 0], [1e300, 0, 0]])
    points = np.concatenate([scan.points, bad, np.repeat(scan.points[:1], 1000, axis=0)])
    dirty = Scan(points, np.tile(scan.viewpoints[0], (len(points), 1)))

    mesh, _ = reconstruct(worker, dirty)

    assert_sound(mesh)
    assert worker.restarts == 0


def test_repeated_reconstruction_does_not_crash_and_gives_the_same_mesh(worker: ReconstructionWorker) -> None:
    scan = render([SHAPES["ball"][0]], width=160, focal=190.0)

    first, *others = [reconstruct(worker, scan)[0] for _ in range(3)]

    for other in others:
        np.testing.assert_array_equal(first.vertices, other.vertices)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (MeshOptions(completion="magic"), "completion"),
        (MeshOptions(vertex_budget=3), "vertex_budget"),
        (MeshOptions(poisson_depth=12), "poisson_depth"),
    ],
)
def test_options_without_bounds_are_refused(worker: ReconstructionWorker, options: MeshOptions, field: str) -> None:
    with pytest.raises(NeurokError) as caught:
        reconstruct(worker, render([SHAPES["ball"][0]]), options)

    assert (caught.value.code, caught.value.field) == (ErrorCode.INVALID_OPTIONS, field)


@pytest.mark.parametrize("name", ["test0", "test33", "milk_cartoon_all_small_clorox", "table_scene_mug_stereo_textured"])
def test_the_largest_object_of_a_real_scan_becomes_a_sound_mesh(worker: ReconstructionWorker, scans: Path, name: str) -> None:
    mesh, chosen = reconstruct(worker, read_scan(scans / f"{name}.pcd"))

    solid = assert_sound(mesh)
    surface, _ = trimesh.sample.sample_surface(solid, 30_000, seed=0)
    assert np.median(cKDTree(surface).query(chosen.points)[0]) < 0.003, "the mesh follows what was seen"
    assert solid.volume < 1.3 * np.prod(np.ptp(mesh.vertices, axis=0))


def test_torch_and_open3d_are_in_different_processes(worker: ReconstructionWorker) -> None:
    worker.segment(render([]), SEGMENTATION)
    maps = Path(f"/proc/{worker.pid}/maps").read_text()

    assert "open3d" in maps
    assert "libtorch" not in maps
    assert "open3d" not in sys.modules


def interrupt(worker: ReconstructionWorker, signal_number: int) -> None:
    pid = worker.pid
    assert pid is not None
    os.kill(pid, signal_number)


def test_a_killed_worker_is_an_error_and_is_replaced() -> None:
    with ReconstructionWorker() as worker:
        scan = render([SHAPES["box"][0]])

        def kill_at_work(stage: str) -> None:
            if stage == "reconstructing":
                interrupt(worker, signal.SIGKILL)

        with pytest.raises(NeurokError, match="SIGKILL") as caught:
            worker.reconstruct(scan, SEGMENTATION, ObjectSelection(), MeshOptions(), 120.0, on_stage=kill_at_work)
        assert caught.value.code is ErrorCode.WORKER_DIED
        assert worker.restarts == 1

        interrupt(worker, signal.SIGKILL)
        time.sleep(0.2)
        assert_sound(reconstruct(worker, scan)[0])
        assert worker.restarts == 2


def test_a_time_limit_and_a_cancellation_kill_the_work_and_the_next_call_succeeds() -> None:
    with ReconstructionWorker() as worker:
        scan = render([SHAPES["box"][0]])
        worker.segment(scan, SEGMENTATION)
        first = worker.pid

        with pytest.raises(NeurokError) as late:
            worker.reconstruct(scan, SEGMENTATION, ObjectSelection(), MeshOptions(), timeout_s=0.2)
        assert late.value.code is ErrorCode.RECONSTRUCTION_TIMEOUT
        assert not Path(f"/proc/{first}").exists()

        worker.segment(scan, SEGMENTATION)
        stopped = threading.Event()
        second = worker.pid
        with pytest.raises(NeurokError) as canceled:
            worker.reconstruct(
                scan, SEGMENTATION, ObjectSelection(), MeshOptions(), 120.0, stopped.is_set, on_stage=lambda stage: stopped.set()
            )
        assert canceled.value.code is ErrorCode.CANCELED
        assert not Path(f"/proc/{second}").exists()

        assert len(worker.segment(scan, SEGMENTATION)) == 1


def test_a_stopped_worker_does_not_hang_the_caller() -> None:
    with ReconstructionWorker() as worker:
        scan = render([SHAPES["box"][0]])
        worker.segment(scan, SEGMENTATION)
        interrupt(worker, signal.SIGSTOP)

        with pytest.raises(NeurokError) as caught:
            worker.segment(scan, SEGMENTATION, timeout_s=0.3)

        assert caught.value.code is ErrorCode.RECONSTRUCTION_TIMEOUT


def test_the_memory_limit_is_an_error_and_not_the_end() -> None:
    with ReconstructionWorker(memory_limit_bytes=340 * 2**20) as worker:
        large = render([SHAPES["box"][0]], width=1400, focal=1600.0)

        with pytest.raises(NeurokError) as caught:
            worker.segment(large, SEGMENTATION)

        assert caught.value.code in (ErrorCode.OUT_OF_MEMORY, ErrorCode.WORKER_DIED)
        assert len(worker.segment(render([SHAPES["box"][0]]), SEGMENTATION)) == 1


def test_a_closed_worker_refuses_and_ends_the_call_in_progress() -> None:
    worker = ReconstructionWorker()
    with pytest.raises(NeurokError, match="closed"):
        worker.segment(render([]), SEGMENTATION)
    worker.start()
    pid = worker.pid

    with pytest.raises(NeurokError) as caught:
        worker.reconstruct(
            render([SHAPES["box"][0]]),
            SEGMENTATION,
            ObjectSelection(),
            MeshOptions(),
            120.0,
            on_stage=lambda stage: threading.Thread(target=worker.close).start(),
        )

    assert caught.value.code is ErrorCode.NODE_INACTIVE
    worker.close()
    assert not Path(f"/proc/{pid}").exists()


def test_calls_from_several_threads_wait_for_each_other(worker: ReconstructionWorker) -> None:
    scan = render([SHAPES["box"][0]])
    counts: list[int] = []
    threads = [threading.Thread(target=lambda: counts.append(len(worker.segment(scan, SEGMENTATION)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts == [1, 1, 1]


PARENT = """
import sys, time
import numpy as np
from neurok_ros.reconstruction import *
worker = ReconstructionWorker()
worker.start()
random = np.random.default_rng(0)
points = np.concatenate([random.uniform(-1, 1, (400_000, 3)) * (1, 1, 0), random.uniform(-.3, .3, (400_000, 3)) + (0, 0, .35)])
scan = Scan(points, np.tile([0., 0., 2.], (len(points), 1)))
def tell(stage):
    print(worker.pid, flush=True)
worker.segment(scan, SegmentationOptions(), timeout_s=100, on_stage=tell)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_worker_ends_with_its_parent_without_a_word(number: int) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())

    os.killpg(parent.pid, number)
    _, errors = parent.communicate(timeout=30)

    deadline = time.monotonic() + 5.0
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < deadline, "the worker outlives its parent"
        time.sleep(0.05)
    assert "worker_process" not in errors
