"""A coloured box on a table, in a tilted camera frame, bent by a sphere; made by formulas, so that its motion is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from neurok_ros.dynamics.tools import ToolKind, ToolPath, ToolShape
from neurok_ros.prediction.types import PredictedMotion, Push
from neurok_ros.reconstruction.types import ReconstructedMesh

SIZE = np.array([0.07, 0.10, 0.20])
RADIUS = 0.025
TIP = 0.05
CAMERA = Rotation.from_euler("xyz", [2.1, 0.3, -0.8])
"""From the table (z up) to the scan's frame, which like a camera's has no axis up."""
OFFSET = np.array([0.2, -0.1, 0.9])


@dataclass(frozen=True)
class Example:
    mesh: ReconstructedMesh
    motion: PredictedMotion
    push: Push


def to_scan(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return points @ CAMERA.as_matrix().T + OFFSET


def box_mesh() -> ReconstructedMesh:
    box = trimesh.creation.box(SIZE).subdivide_to_size(0.016)
    points = np.asarray(box.vertices) + np.array([0.0, 0.0, SIZE[2] / 2])
    stripes = np.floor(points[:, 2] / 0.04).astype(int) % 2 == 0
    colors = np.where(stripes[:, None], [196, 62, 54], [236, 226, 204]).astype(np.uint8)
    up = CAMERA.as_matrix()[:, 2]
    return ReconstructedMesh(
        vertices=to_scan(points),
        faces=box.faces.astype(np.int32),
        observed=(points[:, 0] > -0.012) & (points[:, 2] > 0.001),
        colors=colors,
        support=np.append(up, -up @ OFFSET),
        completion="symmetry",
    )


def bend(frames: int = 46, horizon: float = 1.5, tip: float = TIP) -> Example:
    """The box bends along +y, as height squared; a sphere on the -y side follows its face at three quarters of the height."""
    mesh = box_mesh()
    table = (mesh.vertices - OFFSET) @ CAMERA.as_matrix()
    times = np.linspace(0.0, horizon, frames) if frames > 1 else np.zeros(1)
    contact_height = 0.75 * SIZE[2]
    bends = tip * np.clip((times / horizon - 0.2) / 0.7, 0.0, 1.0) ** 1.5
    moved = np.repeat(table[None], frames, axis=0)
    moved[:, :, 1] += bends[:, None] * (table[:, 2] / SIZE[2]) ** 2
    tool = np.zeros((frames, 3))
    tool[:, 2] = contact_height
    approach = 0.09 * np.clip(1 - times / horizon / 0.2, 0.0, 1.0)
    tool[:, 1] = -SIZE[1] / 2 - RADIUS + bends * 0.75**2 - approach
    quaternion = np.tile(CAMERA.as_quat(), (frames, 1))
    force = np.zeros((frames, 3))
    force[:, 1] = -80.0 * bends
    waypoints = [0, frames // 5, frames - 1]
    path = ToolPath(np.array([0.0, 0.2, 1.0]) * horizon, to_scan(tool[waypoints]), quaternion[waypoints])
    motion = PredictedMotion(
        times=times,
        vertices=to_scan(moved).astype(np.float32),
        tool_poses=np.column_stack([to_scan(tool), quaternion]),
        contact_force=force @ CAMERA.as_matrix().T,
        penetration=np.zeros(frames),
        displacement=np.linalg.norm(moved - table, axis=2).max(axis=1),
        parameterization="modal",
        parameterization_reason="for the test",
    )
    return Example(mesh, motion, Push(ToolShape(ToolKind.SPHERE, (RADIUS,)), path))
