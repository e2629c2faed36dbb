"""What the compute thread does for a goal or a service: from a cloud to an object, from an object and a push to a motion.

The only module of this room that calls reconstruction and prediction.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from sensor_msgs.msg import PointCloud2

from neurok_ros.action import PredictDeformation
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.nodes.clouds import check_cloud, scan_from_cloud
from neurok_ros.nodes.inbox import CloudInbox
from neurok_ros.nodes.messages import (
    chosen_frames,
    header_message,
    mesh_message,
    motion_message,
    options_from_goal,
    properties_from_message,
    push_from_message,
    quality_message,
    selection_from_message,
    stage_messages,
)
from neurok_ros.nodes.object_store import ObjectStore, StoredObject
from neurok_ros.nodes.parameters import NodeParameters
from neurok_ros.nodes.ros_features import Transforms
from neurok_ros.prediction import PreparedObject, predict, prepare
from neurok_ros.prediction.object_file import load_object, save_object
from neurok_ros.prediction.types import PhysicalProperties, PredictedMotion, PredictionOptions, Push
from neurok_ros.reconstruction.scan_files import merge_scans
from neurok_ros.reconstruction.types import ObjectSelection, ReconstructedMesh, Scan, SegmentedObject
from neurok_ros.reconstruction.worker import ReconstructionWorker

Floats = NDArray[np.float64]
Report = Callable[[str, float, float], None]
ShouldStop = Callable[[], bool]

RECONSTRUCTION_STAGES = {"segmenting": 0.05, "reconstructing": 0.10}
PREPARING, SIMULATING, FINISHING = 0.40, 0.50, 0.95
"""How far the whole goal is when a stage begins, as feedback shows it."""
BYTES_PER_VERTEX = 12
SLOWER = "Push more slowly, or use a softer or denser object"


@dataclass(frozen=True)
class _Key:
    """What a prepared object depends on."""

    stored: StoredObject
    properties: PhysicalProperties
    options: PredictionOptions


@dataclass(frozen=True)
class Outputs:
    """Who wants to know of what was made on the way."""

    on_object: Callable[[StoredObject], None]
    on_segmented: Callable[[Scan, SegmentedObject], None]
    on_motion: Callable[[StoredObject, Push, PredictedMotion], None]


class PredictionJob:
    """Answers goals and services in the compute thread.

    Args:
        parameters: asked for at the start of every answer.
        worker: reconstructs meshes in a process of its own.
        inbox: holds the newest cloud.
        transforms: where one frame stands in another.
        outputs: told of objects and motions.
    """

    def __init__(
        self,
        parameters: Callable[[], NodeParameters],
        worker: ReconstructionWorker,
        inbox: CloudInbox[PointCloud2],
        transforms: Transforms,
        outputs: Outputs,
    ) -> None:
        self._parameters = parameters
        self._worker = worker
        self._inbox = inbox
        self._transforms = transforms
        self._outputs = outputs
        self.objects = ObjectStore(parameters().max_objects)
        self.stage_times_ms: dict[str, float] = {}
        """Wall-clock milliseconds per stage of the last answer."""
        self._prepared: tuple[_Key, PreparedObject] | None = None

    def predict(self, goal: Any, report: Report, should_stop: ShouldStop) -> Any:
        """The result of a goal; `error_code` is set where a part of the motion is all there is.

        Raises:
            NeurokError: where there is no motion at all.
        """
        parameters = self._parameters()
        timings: dict[str, float] = {}
        properties = properties_from_message(goal.properties, parameters.properties())
        options = options_from_goal(goal, parameters.frame_rate)
        selection = selection_from_message(goal.selection)
        frames = chosen_frames(goal.frames, options.frame_count)
        push_from_message(goal.push, np.eye(4))  # a bad push is refused before the object costs time

        stored = self._object_of(goal, selection, parameters, timings, report, should_stop)
        frame_pose = self._pose_now(stored.mesh.frame, goal.push.header.frame_id, "push.header.frame_id", parameters, should_stop)
        push = push_from_message(goal.push, frame_pose)
        _check_size(len(frames), len(stored.mesh.vertices), parameters.max_result_mb)

        report("preparing", PREPARING, 0.0)
        prepared = self._prepare(stored, properties, options, timings)
        motion = self._simulate(prepared, push, options, parameters.device, report, should_stop)
        timings.update(motion.timings_ms)

        report("finishing", FINISHING, float(motion.times[-1]))
        started = time.perf_counter()
        result = PredictDeformation.Result(
            object_id=stored.object_id,
            header=header_message(stored.mesh),
            rest_mesh=mesh_message(stored.mesh.vertices, stored.mesh.faces),
            observed=stored.mesh.observed.tolist(),
            motion=motion_message(motion, frames[frames < len(motion.times)]),
            quality=quality_message(motion),
        )
        if motion.flags.get("diverged"):
            result.error_code = int(ErrorCode.DIVERGED)
            result.message = f"push: the motion could be followed to {motion.times[-1]:.3g} s only. {SLOWER}"
        self._outputs.on_motion(stored, push, motion)
        timings["finishing"] = _milliseconds_since(started)
        result.stage_times = stage_messages(timings)
        self.stage_times_ms = timings
        return result

    def reconstruct(self, request: Any, should_stop: ShouldStop) -> StoredObject:
        """The object that a ReconstructObject request asks for, from the newest cloud.

        Raises:
            NeurokError
        """
        parameters = self._parameters()
        timings: dict[str, float] = {}
        selection = selection_from_message(request.selection)
        before: tuple[Scan, ...] = ()
        if request.merge:
            before = self._scans_of(request.object_id)
        scan = self._scan(self._newest_cloud(), parameters, timings, should_stop)
        stored = self._reconstruct(
            request.object_id, (*before, scan), selection, parameters, timings, lambda *_: None, should_stop
        )
        self.stage_times_ms = timings
        return stored

    def save(self, object_id: str, path: str) -> Path:
        """Writes an object, the one used last where no name is given; returns the absolute path.

        Raises:
            NeurokError: UNKNOWN_OBJECT, FILE_FAILED.
        """
        stored = self.objects.get(object_id)
        return save_object(stored.mesh, Path(path), stored.object_id)

    def load(self, path: str, object_id: str, should_stop: ShouldStop) -> StoredObject:
        """Reads an object, brings it to the planning frame, and remembers it under `object_id`, or its own name if empty.

        Raises:
            NeurokError: FILE_FAILED, TRANSFORM_FAILED.
        """
        parameters = self._parameters()
        name, mesh = load_object(Path(path))
        frame = parameters.planning_frame or mesh.frame
        pose = self._pose_now(frame, mesh.frame, "path", parameters, should_stop)
        stored = StoredObject(object_id or name, _moved(mesh, pose, frame))
        self.objects.put(stored)
        self._outputs.on_object(stored)
        return stored

    def forget(self) -> None:
        """Forgets every object."""
        self.objects.clear()
        self._prepared = None

    def _object_of(
        self,
        goal: Any,
        selection: ObjectSelection,
        parameters: NodeParameters,
        timings: dict[str, float],
        report: Report,
        should_stop: ShouldStop,
    ) -> StoredObject:
        if goal.object_id:
            return self.objects.get(goal.object_id)
        report("segmenting", 0.0, 0.0)
        cloud = goal.cloud
        if not (len(cloud.data) or cloud.width or cloud.fields):
            cloud = self._newest_cloud()
        elif not check_cloud(cloud):
            raise NeurokError(ErrorCode.TOO_FEW_POINTS, "cloud.width", "the cloud has no points", "Send a scan of the object")
        scan = self._scan(cloud, parameters, timings, should_stop)
        return self._reconstruct("", (scan,), selection, parameters, timings, report, should_stop)

    def _newest_cloud(self) -> PointCloud2:
        cloud = self._inbox.newest()
        if cloud is None:
            problem = self._inbox.last_problem
            raise NeurokError(
                ErrorCode.NO_SCAN,
                "points",
                f"no usable cloud has arrived; the last one: {problem}" if problem else "no cloud has arrived",
                "Publish a sensor_msgs/PointCloud2 on this topic, or remap it; /diagnostics says more",
            )
        return cloud

    def _scan(self, cloud: PointCloud2, parameters: NodeParameters, timings: dict[str, float], should_stop: ShouldStop) -> Scan:
        started = time.perf_counter()
        frame = parameters.planning_frame or cloud.header.frame_id
        pose = self._transforms.find_sensor(
            frame, cloud.header.frame_id, cloud.header.stamp, parameters.transform_timeout_s, should_stop
        )
        scan, notes = scan_from_cloud(cloud, pose, frame, parameters.min_points)
        self._inbox.note(notes)
        timings["decoding"] = _milliseconds_since(started)
        return scan

    def _scans_of(self, object_id: str) -> tuple[Scan, ...]:
        if not object_id:
            raise NeurokError(ErrorCode.UNKNOWN_OBJECT, "object_id", "is empty", "Name the object to merge with")
        scans = self.objects.get(object_id).scans
        if not scans:
            raise NeurokError(
                ErrorCode.UNKNOWN_OBJECT,
                "object_id",
                f"{object_id!r} was loaded from a file, without scans",
                "Set merge to false",
            )
        return scans

    def _reconstruct(
        self,
        object_id: str,
        scans: tuple[Scan, ...],
        selection: ObjectSelection,
        parameters: NodeParameters,
        timings: dict[str, float],
        report: Report,
        should_stop: ShouldStop,
    ) -> StoredObject:
        scan = merge_scans(scans) if len(scans) > 1 else scans[0]
        mesh, segmented = self._worker.reconstruct(
            scan,
            parameters.segmentation(),
            selection,
            parameters.mesh(),
            parameters.reconstruction_timeout_s,
            should_stop,
            lambda stage: report(stage, RECONSTRUCTION_STAGES.get(stage, RECONSTRUCTION_STAGES["reconstructing"]), 0.0),
        )
        timings.update(mesh.timings_ms)
        stored = StoredObject(object_id or self.objects.new_name(), mesh, scans)
        self.objects.put(stored)
        self._outputs.on_segmented(scan, segmented)
        self._outputs.on_object(stored)
        return stored

    def _pose_now(self, target: str, source: str, field: str, parameters: NodeParameters, should_stop: ShouldStop) -> Floats:
        """The newest transform (4, 4), metres, from `source`, or the planning frame where that is empty, to `target`."""
        source = source or parameters.planning_frame or target
        return self._transforms.find(target, source, Time(), parameters.transform_timeout_s, should_stop, field)

    def _prepare(
        self, stored: StoredObject, properties: PhysicalProperties, options: PredictionOptions, timings: dict[str, float]
    ) -> PreparedObject:
        """Keeps the last object prepared, since planners ask for many pushes on one."""
        key = _Key(stored, properties, replace(options, horizon=1.0, frame_rate=1.0))
        if self._prepared is None or self._prepared[0] != key:
            started = time.perf_counter()
            self._prepared = (key, prepare(stored.mesh, properties, options))
            timings["preparing"] = _milliseconds_since(started)
        return self._prepared[1]

    def _simulate(
        self,
        prepared: PreparedObject,
        push: Push,
        options: PredictionOptions,
        device: str,
        report: Report,
        should_stop: ShouldStop,
    ) -> PredictedMotion:
        def progress(stage: str, share: float, predicted_time: float) -> None:
            report(stage, SIMULATING + share * (FINISHING - SIMULATING), predicted_time)

        return predict(prepared, push, options, progress, should_stop, device)


def _moved(mesh: ReconstructedMesh, pose: Floats, frame: str) -> ReconstructedMesh:
    rotation, translation = pose[:3, :3], pose[:3, 3]
    normal = rotation @ mesh.support[:3]
    support = np.array([*normal, mesh.support[3] - normal @ translation])
    return replace(mesh, vertices=mesh.vertices @ rotation.T + translation, support=support, frame=frame)


def _check_size(frames: int, vertices: int, max_result_mb: float) -> None:
    megabytes = frames * vertices * BYTES_PER_VERTEX / 1e6
    if megabytes > max_result_mb:
        raise NeurokError(
            ErrorCode.RESULT_TOO_LARGE,
            "frames",
            f"{frames} frames of {vertices} vertices are {megabytes:.1f} MB, at most {max_result_mb:g} MB are sent",
            "Ask for fewer frames, a lower frame_rate or a shorter horizon, or raise the parameter max_result_mb",
        )


def _milliseconds_since(started: float) -> float:
    return 1e3 * (time.perf_counter() - started)
