"""Everything that exists between configure and cleanup: topics, services, the action, the compute thread, the worker."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TypeVar

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType, JumpThreshold
from rclpy.duration import Duration
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.msg import ObjectMesh
from neurok_ros.nodes.animation import MotionPlayer
from neurok_ros.nodes.cloud_subscription import CloudSubscription
from neurok_ros.nodes.clouds import check_cloud, segmented_cloud
from neurok_ros.nodes.diagnostics import cloud_status, prediction_status
from neurok_ros.nodes.goal_server import GoalServer
from neurok_ros.nodes.inbox import CloudInbox
from neurok_ros.nodes.jobs import ComputeThread, Ending, Job, Verdict
from neurok_ros.nodes.markers import MotionMarkers, mesh_marker, no_motion
from neurok_ros.nodes.messages import header_message, object_message
from neurok_ros.nodes.object_store import StoredObject
from neurok_ros.nodes.parameters import read_parameters
from neurok_ros.nodes.prediction_job import Outputs, PredictionJob
from neurok_ros.nodes.ros_features import Transforms
from neurok_ros.prediction.types import PredictedMotion, Push
from neurok_ros.reconstruction.types import Scan, SegmentedObject
from neurok_ros.reconstruction.worker import ReconstructionWorker
from neurok_ros.srv import LoadObject, ReconstructObject, SaveObject

T = TypeVar("T")

GOALS_END_WITHIN = 10.0
"""Seconds that deactivation waits for goals to end; each needs one integration step or one look at `should_stop`."""
MEGABYTE = 2**20
LATCHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Session:
    """One configured life of the node.

    Args:
        node: everything is created on it, every name relative to its namespace.

    Raises:
        Exception: whatever the middleware or the worker raises; what had been created by then is gone again.
    """

    def __init__(self, node: LifecycleNode) -> None:
        self._node = node
        self._logger = node.get_logger()
        self._active = False
        self._undrawable = 0
        self._service_job: Job[Any] | None = None
        self._service_lock = threading.Lock()
        with ExitStack() as stack:
            self._create(stack)
            self._resources = stack.pop_all()

    def _create(self, stack: ExitStack) -> None:
        node = self._node
        parameters = read_parameters(node)
        self._thread = ComputeThread(self._logger.error)
        stack.callback(self._thread.close, GOALS_END_WITHIN)
        self._worker = ReconstructionWorker(parameters.reconstruction_memory_mb * MEGABYTE)
        self._worker.start()
        stack.callback(self._worker.close)
        self._transforms = Transforms(node, parameters.static_pose())
        stack.callback(self._transforms.close)
        self._inbox: CloudInbox[PointCloud2] = CloudInbox()
        self._clouds = CloudSubscription(node, self._on_cloud, parameters.cloud_reliability)
        self._player = MotionPlayer()
        self._jobs = PredictionJob(
            lambda: read_parameters(node),
            self._worker,
            self._inbox,
            self._transforms,
            Outputs(self._publish_object, self._publish_segmented, self._show_motion),
        )
        self._goals = GoalServer(
            node,
            self._thread,
            self._jobs.predict,
            lambda: read_parameters(node).default_deadline_s,
            parameters.max_deadline_s,
            parameters.goal_queue_size,
        )
        stack.callback(self._goals.destroy)
        self._create_publishers(stack)
        self._create_services(stack)
        self._create_timers(stack, 1.0 / parameters.marker_rate_hz, parameters.diagnostics_period_s)
        jump = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=False)
        handle = node.get_clock().create_jump_callback(jump, post_callback=self._on_time_jump)
        stack.callback(handle.unregister)

    def _create_publishers(self, stack: ExitStack) -> None:
        def publisher(kind: Any, topic: str, qos: QoSProfile | int) -> Any:
            created = self._node.create_publisher(kind, topic, qos)
            stack.callback(self._node.destroy_publisher, created)
            return created

        self._object_publisher = publisher(ObjectMesh, "object_mesh", LATCHED)
        self._mesh_publisher = publisher(Marker, "mesh_marker", LATCHED)
        self._segmented_publisher = publisher(PointCloud2, "segmented_cloud", LATCHED)
        self._motion_publisher = publisher(MarkerArray, "motion_markers", 1)
        self._diagnostics_publisher = publisher(DiagnosticArray, "/diagnostics", 10)

    def _create_services(self, stack: ExitStack) -> None:
        slow, prompt = MutuallyExclusiveCallbackGroup(), MutuallyExclusiveCallbackGroup()
        for kind, name, callback, group in (
            (ReconstructObject, "reconstruct", self._reconstruct, slow),
            (SaveObject, "save_object", self._save, slow),
            (LoadObject, "load_object", self._load, slow),
            (Trigger, "~/reset", self._reset, prompt),
        ):
            service = self._node.create_service(kind, name, callback, callback_group=group)
            stack.callback(self._node.destroy_service, service)

    def _create_timers(self, stack: ExitStack, marker_period: float, diagnostics_period: float) -> None:
        # Markers and diagnostics keep to the wall clock: simulated time may stand still.
        wall = Clock(clock_type=ClockType.STEADY_TIME)
        for period, callback in ((marker_period, self._draw), (diagnostics_period, self._diagnose)):
            timer = self._node.create_timer(period, callback, callback_group=MutuallyExclusiveCallbackGroup(), clock=wall)
            stack.callback(self._node.destroy_timer, timer)

    # --- lifecycle --------------------------------------------------------------------------------------------

    def activate(self) -> None:
        """Clouds are listened to and goals taken from now on."""
        self._clouds.open()
        self._active = True
        self._goals.open()

    def deactivate(self) -> None:
        """Every goal is aborted with NODE_INACTIVE, clouds are no longer listened to."""
        self._active = False
        if not self._goals.close(GOALS_END_WITHIN):
            self._logger.error(f"a goal did not end within {GOALS_END_WITHIN:g} s")
        self._end_service_job()
        self._player.play(None)
        self._clouds.close()
        self._inbox.clear()

    def close(self) -> None:
        """Takes everything away again, in the reverse order; goals that are not answered yet end with NODE_INACTIVE."""
        if self._active:
            self.deactivate()
        self._resources.close()

    # --- clouds and time --------------------------------------------------------------------------------------

    def _on_cloud(self, cloud: PointCloud2) -> None:
        try:
            if check_cloud(cloud):
                self._inbox.put(cloud)
            else:
                self._inbox.skip("empty", "it has no points")
        except NeurokError as error:
            self._inbox.skip(error.field, str(error))
            self._logger.warning(f"cloud skipped: {error}", throttle_duration_sec=5.0)

    def _on_time_jump(self, _jump: Any) -> None:
        self._inbox.jump_back()
        self._transforms.clear()
        self._logger.warning("time jumped back: cached clouds and transforms were dropped")

    # --- services ---------------------------------------------------------------------------------------------

    def _reconstruct(self, request: Any, response: Any) -> Any:
        if not self._active:
            return _failed(response, ErrorCode.NODE_INACTIVE, "the node is not active")
        ending = self._run(lambda should_stop: self._jobs.reconstruct(request, should_stop))
        return _with_object(response, ending)

    def _save(self, request: Any, response: Any) -> Any:
        ending = self._run(lambda _: self._jobs.save(request.object_id, request.path))
        if ending.value is None:
            return _failed(response, ending.code, ending.message)
        response.success, response.path = True, str(ending.value)
        return response

    def _load(self, request: Any, response: Any) -> Any:
        return _with_object(
            response, self._run(lambda should_stop: self._jobs.load(request.path, request.object_id, should_stop))
        )

    def _reset(self, _request: Any, response: Any) -> Any:
        error = NeurokError(ErrorCode.CANCELED, "goal", "the node was reset", "Ask again")
        ended = self._goals.abort_all(error, GOALS_END_WITHIN)
        self._end_service_job()
        self._inbox.clear()
        self._player.play(None)
        self._motion_publisher.publish(no_motion(Header()))
        forgotten = self._thread.submit(Job(lambda _: self._jobs.forget(), time.monotonic() + GOALS_END_WITHIN)).wait()
        response.success = ended and forgotten.verdict is Verdict.SUCCEEDED
        response.message = "scans and objects forgotten, goals aborted" if response.success else forgotten.message
        return response

    def _run(self, work: Callable[[Callable[[], bool]], T]) -> Ending[T]:
        """Does work in the compute thread, after the goals that wait there already; blocks this thread of the executor only."""
        job = Job(work, time.monotonic() + read_parameters(self._node).max_deadline_s)
        with self._service_lock:
            self._service_job = job
        self._thread.submit(job)
        return job.wait()

    def _end_service_job(self) -> None:
        with self._service_lock:
            if self._service_job is not None:
                error = NeurokError(ErrorCode.CANCELED, "request", "the node was reset or deactivated", "Ask again")
                self._service_job.end(Ending.aborted(error))

    # --- what is shown ----------------------------------------------------------------------------------------

    def _publish_object(self, stored: StoredObject) -> None:
        self._object_publisher.publish(object_message(stored.object_id, stored.mesh))
        try:
            marker = mesh_marker(_marker_header(stored), stored.mesh, read_parameters(self._node).marker_max_triangles)
        except NeurokError as error:
            self._withhold(error)
        else:
            self._mesh_publisher.publish(marker)

    def _publish_segmented(self, scan: Scan, segmented: SegmentedObject) -> None:
        header = Header(frame_id=scan.frame, stamp=self._node.get_clock().now().to_msg())
        self._segmented_publisher.publish(segmented_cloud(header, scan, segmented))

    def _show_motion(self, stored: StoredObject, push: Push, motion: PredictedMotion) -> None:
        limit = read_parameters(self._node).marker_max_triangles
        try:
            self._player.play(MotionMarkers(_marker_header(stored), stored.mesh.faces, motion, push.tool, limit))
        except NeurokError as error:
            self._withhold(error)

    def _withhold(self, error: NeurokError) -> None:
        self._undrawable += 1
        self._logger.warning(f"marker withheld: {error}")

    def _draw(self) -> None:
        if self._active and self._motion_publisher.get_subscription_count():
            markers = self._player.now()
            if markers is not None:
                self._motion_publisher.publish(markers)

    def _diagnose(self) -> None:
        node = self._node
        name = node.get_fully_qualified_name().lstrip("/")
        self._clouds.adapt()
        clouds = cloud_status(
            f"{name}: clouds",
            self._inbox,
            self._clouds,
            self._transforms,
            read_parameters(node).cloud_timeout_s,
            node.count_publishers(self._clouds.topic),
        )
        prediction = prediction_status(
            f"{name}: prediction",
            self._goals.counts,
            len(self._jobs.objects),
            self._jobs.stage_times_ms,
            self._worker.restarts,
            self._undrawable,
        )
        message = DiagnosticArray(status=[clouds, prediction])
        message.header.stamp = node.get_clock().now().to_msg()
        self._diagnostics_publisher.publish(message)


def _marker_header(stored: StoredObject) -> Header:
    """Without a stamp, which RViz takes as: wherever the frame is now."""
    return Header(frame_id=header_message(stored.mesh).frame_id)


def _failed(response: Any, code: ErrorCode, message: str) -> Any:
    response.success, response.error_code, response.message = False, int(code), message
    return response


def _with_object(response: Any, ending: Ending[StoredObject]) -> Any:
    if ending.value is None:
        return _failed(response, ending.code, ending.message)
    response.success = True
    response.object = object_message(ending.value.object_id, ending.value.mesh)
    return response
