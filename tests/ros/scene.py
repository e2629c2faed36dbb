"""A box on a table as a depth camera sees it, rendered by hand, and the messages made of it."""

from __future__ import annotations

import array
from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Point, Pose, Quaternion
from numpy.typing import NDArray
from sensor_msgs.msg import PointCloud2, PointField
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Header

from neurok_ros.action import PredictDeformation
from neurok_ros.msg import GripperPush, PushWaypoint

Floats = NDArray[np.float64]

BOX = (0.08, 0.06, 0.12)
"""Edge lengths in metres; the box stands on the table (z = 0) with its centre above the world's origin."""
CAMERA = np.array([0.45, -0.35, 0.45])
TABLE = 0.4
"""Metres: half the edge of the square table."""
WIDTH, HEIGHT, FOCAL = 200, 150, 230.0


def camera_rotation() -> Floats:
    """(3, 3): columns are the camera's x (right), y (down), z (forward) in the world; it looks at the box."""
    forward = np.array([0.0, 0.0, 0.04]) - CAMERA
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward], axis=1)


def camera_quaternion() -> tuple[float, float, float, float]:
    """x y z w of the camera in the world."""
    m = camera_rotation()
    w = 0.5 * np.sqrt(max(1e-12, 1.0 + np.trace(m)))
    return ((m[2, 1] - m[1, 2]) / (4 * w), (m[0, 2] - m[2, 0]) / (4 * w), (m[1, 0] - m[0, 1]) / (4 * w), w)


def camera_pose() -> list[float]:
    """The camera in the world as the parameter `static_transform` has it."""
    return [float(value) for value in (*CAMERA, *camera_quaternion())]


def render() -> Floats:
    """(HEIGHT, WIDTH, 3) metres in the camera's frame, NaN where the ray hits nothing."""
    u, v = np.meshgrid(np.arange(WIDTH) - WIDTH / 2, np.arange(HEIGHT) - HEIGHT / 2)
    rays = np.stack([u / FOCAL, v / FOCAL, np.ones_like(u)], axis=-1)
    world = rays @ camera_rotation().T
    with np.errstate(divide="ignore", invalid="ignore"):
        table = -CAMERA[2] / world[..., 2]
        hit = CAMERA[:2] + table[..., None] * world[..., :2]
        table = np.where((table > 0) & (np.abs(hit) < TABLE).all(axis=-1), table, np.inf)
        lower, upper = np.array([-BOX[0] / 2, -BOX[1] / 2, 0.0]), np.array([BOX[0] / 2, BOX[1] / 2, BOX[2]])
        near, far = (lower - CAMERA) / world, (upper - CAMERA) / world
        enter, leave = np.minimum(near, far).max(axis=-1), np.maximum(near, far).min(axis=-1)
        box = np.where((enter < leave) & (enter > 0), enter, np.inf)
    depth = np.minimum(table, box)
    return np.where(np.isfinite(depth)[..., None], depth[..., None] * rays, np.nan)


def cloud(points: Floats | None = None, frame: str = "camera", stamp: float = 0.0) -> PointCloud2:
    """An organised cloud with float32 x, y, z and padding (point_step 16)."""
    points = render() if points is None else points
    height, width = points.shape[:2]
    rows = np.zeros((height, width, 4), dtype=np.float32)
    rows[..., :3] = points
    message = PointCloud2(height=height, width=width, point_step=16, row_step=16 * width, is_dense=False)
    message.header = Header(frame_id=frame)
    message.header.stamp.sec = int(stamp)
    message.fields = [PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1) for i, name in enumerate("xyz")]
    message.data = array.array("B", rows.tobytes())
    return message


def push(
    start: Sequence[float] = (0.10, 0.0, 0.07), end: Sequence[float] = (0.02, 0.0, 0.07), duration: float = 0.4
) -> GripperPush:
    """A sphere of 2 cm that moves from `start` to `end` (metres, world) in `duration` seconds."""
    message = GripperPush(header=Header(frame_id="world"))
    message.tool = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[0.02])
    for time, (x, y, z) in ((0.0, start), (duration, end)):
        pose = Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(w=1.0))
        message.waypoints.append(PushWaypoint(time=time, pose=pose))
    return message


def goal(horizon: float = 0.5, frame_rate: float = 20.0, **fields: object) -> PredictDeformation.Goal:
    """Push the box of the latest scan, as a rigid body."""
    message = PredictDeformation.Goal(push=push(), horizon=horizon, frame_rate=frame_rate, parameterization="rigid")
    message.properties.use_defaults = True
    for name, value in fields.items():
        setattr(message, name, value)
    return message


def world_arguments() -> list[str]:
    """The camera stands still and looks at the box; meshes and pushes are in the world's frame."""
    pose = ", ".join(f"{value:.9f}" for value in camera_pose())
    return [
        "-p",
        "planning_frame:=world",
        "-p",
        f"static_transform:=[{pose}]",
        "-p",
        "vertex_budget:=300",
        "-p",
        "diagnostics_period_s:=0.1",
    ]
