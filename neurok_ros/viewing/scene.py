"""A push on an object, ready to be drawn: everything in the support frame, one camera for all moments."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from neurok_ros.reconstruction.types import Floats, ReconstructedMesh
from neurok_ros.viewing import lettering
from neurok_ros.viewing.frame import support_frame
from neurok_ros.viewing.palette import FORCE
from neurok_ros.viewing.stage import Camera, camera_for, corners, round_length, tool_polydata, tool_reach

if TYPE_CHECKING:
    from neurok_ros.prediction.types import PredictedMotion, Push

ELEVATION = float(np.radians(20))
OFF_AXIS = float(np.radians(68))
"""Angle between the push and the line of sight: nearly from the side, with the contact turned towards the viewer."""


class PushScene:
    """The arrays of a drawable motion in the support frame."""

    def __init__(self, mesh: ReconstructedMesh, motion: PredictedMotion, push: Push) -> None:
        """Takes a motion that `guard.drawable` returned for this mesh."""
        frame = support_frame(mesh)
        self.mesh = mesh
        self.motion = motion
        self.tool = push.tool
        self.faces = mesh.faces
        self.rest = frame.points(mesh.vertices)
        self.vertices = frame.points(motion.vertices)
        self.displacements = np.linalg.norm(self.vertices - self.rest, axis=2)
        self.tool_poses = frame.poses(motion.tool_poses)
        self.forces_on_object = -frame.directions(motion.contact_force)
        self.tool_path = frame.points(push.path.positions[np.isfinite(push.path.positions).all(axis=1)])
        self.diagonal = float(np.linalg.norm(np.ptp(self.rest, axis=0)))
        self.grid = round_length(self.diagonal / 3)

    @cached_property
    def subject(self) -> Floats:
        """(p, 3) what must be in the picture: the object throughout, and the tool where it is near to the object."""
        reach = tool_reach(self.tool)
        centres = self.tool_poses[:, :3, 3]
        middle = self.vertices.mean(axis=1)
        near = np.linalg.norm(centres - middle, axis=1) < self.diagonal + reach
        boxes = [corners(self.vertices)]
        if near.any():
            boxes.append(corners(centres[near] - reach, centres[near] + reach))
        return np.concatenate(boxes)

    @property
    def ground(self) -> float:
        """Metres: half the side of the square on the support that catches shadows."""
        return 1.4 * float(np.linalg.norm(self.subject[:, :2], axis=1).max())

    def camera(self, size: tuple[int, int], fill: float) -> Camera:
        """One camera for every moment, nearly across the push, on the scanned side. Size in pixels."""
        push = self._push_azimuth()
        either = (push + np.pi - OFF_AXIS, push + np.pi + OFF_AXIS)
        return camera_for(self.subject, max(either, key=np.cos), ELEVATION, size, fill)

    def casters(self, frame: int) -> list[tuple[Floats, NDArray[Any]]]:
        """What throws a shadow in a frame: (vertices, faces) of the object and the tool."""
        pose = self.tool_poses[frame]
        points = np.asarray(self._tool.points, dtype=np.float64) @ pose[:3, :3].T + pose[:3, 3]
        return [(self.vertices[frame], self.faces), (points, self._tool.faces.reshape(-1, 4)[:, 1:])]

    def draw_force(self, image: Image.Image, camera: Camera, frame: int, width: float) -> None:
        """Draws the arrow of the force on the object; its length is a share of the object's size."""
        force = self.forces_on_object[frame]
        largest = float(np.linalg.norm(self.motion.contact_force, axis=1).max())
        if largest <= 0 or np.linalg.norm(force) < 0.02 * largest:
            return
        start = self.tool_poses[frame][:3, 3]
        tip = start + force / largest * (0.35 * self.diagonal + tool_reach(self.tool))
        tail_pixel, tip_pixel = camera.pixels(np.stack([start, tip]))
        lettering.arrow(image, tail_pixel, tip_pixel, FORCE, width)

    @cached_property
    def _tool(self) -> Any:
        return tool_polydata(self.tool)

    def _push_azimuth(self) -> float:
        """Radians about +z: where the tool heads to, from where it starts towards the object."""
        pressing = self.forces_on_object[:, :2].sum(axis=0)
        heading = pressing if np.linalg.norm(pressing) > 0 else self.vertices[0].mean(axis=0)[:2] - self.tool_poses[0, :2, 3]
        return float(np.arctan2(heading[1], heading[0]))


def warnings_of(motion: PredictedMotion) -> str:
    """The raised flags as one line; empty where there are none."""
    raised = [name.replace("_", " ") for name, warns in motion.flags.items() if warns]
    return f"warning: {', '.join(raised)}" if raised else ""
