"""A free rigid box on a table: it slides, turns, tips and rocks.

It stands on its corners in both: how a rigid box's weight is spread over its face is not determined, and the friction that
resists turning depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from neurok_ros.dynamics import Body, Material, ToolKind, ToolShape
from neurok_ros.kinematics import RigidBodyKinematics
from neurok_ros.parameterization import KinematicParameterization
from validation.case import Case
from validation.mujoco.comparison import Push, Sampled, Setting, compared, through
from validation.mujoco.primitive import Primitive, box
from validation.mujoco.reference import IMPACT, PUSHING, SLIDING, Recording

Floats = NDArray[np.float64]
DENSITY = 300.0
"""kg/m^3."""
FINGER = ToolShape(ToolKind.SPHERE, (0.015,))
PAD = ToolShape(ToolKind.BOX, (0.03, 0.06, 0.03))
SHORT, TALL = (0.12, 0.16, 0.1), (0.07, 0.1, 0.2)
"""Metres, whole edges."""
FRICTION = 0.4


@dataclass(frozen=True)
class FreeBox:
    """A box that stands on z = 0, perhaps turned about one of its lower edges."""

    edges: tuple[float, float, float]
    """Metres."""
    tilt: float = 0.0
    """Radians, about the lower edge at the largest x."""

    @property
    def names(self) -> list[str]:
        """Of MuJoCo's body."""
        return ["box"]

    @property
    def size(self) -> float:
        """Metres."""
        return max(self.edges)

    @property
    def solid(self) -> Primitive:
        """Upright."""
        x, y, z = self.edges
        return box((-x / 2, -y / 2, 0.0), (x / 2, y / 2, z), DENSITY)

    @property
    def start(self) -> Floats:
        """(7,) position and quaternion w x y z of the frame that was at the origin."""
        edge = np.array([self.edges[0] / 2, 0.0, 0.0])
        return np.array([*(edge - self._turned(edge)), np.cos(self.tilt / 2), 0.0, np.sin(self.tilt / 2), 0.0])

    def mjcf(self) -> str:
        """One free body."""
        return f'<body name="box"><freejoint/>{self.solid.geom()}</body>'

    def sampled(self, friction: float, push: Push | None) -> Sampled:
        """The corners touch everything, and points on the sides near the push, off the lower edges."""
        solid = self.solid
        corners, _ = solid.surface(1.0)
        points = [solid.mass_points(), corners]
        areas = [np.full(8, 1e-4)]
        if push is not None:
            surface, shares = solid.surface(push.spacing)
            keep = (surface[:, 2] > 0.5 * push.spacing) & (cKDTree(push.places()).query(surface)[0] < push.reach)
            keep &= cKDTree(corners).query(surface)[0] > 0.5 * push.spacing
            points.append(surface[keep])
            areas.append(shares[keep])
        area = torch.from_numpy(np.concatenate(areas))
        masses = torch.full((8,), solid.mass / 8.0, dtype=torch.float64)
        body = Body(
            self._placed(np.concatenate(points)),
            torch.cat([masses, torch.zeros_like(area)]),
            torch.arange(len(area)) + 8,
            area,
            Material(friction=friction),
        )
        outline, _ = solid.surface(self.size / 2.0)
        return Sampled(body, self._placed(outline), outline, np.zeros(len(outline), np.int64))

    def figures(self, ours: Floats, theirs: Recording) -> dict[str, float]:
        """The largest errors of the centre's place and of the orientation."""
        shared = len(ours)
        rest = np.array([self.solid.centre])
        centre = self._turned(rest[0]) + self.start[:3]
        places = theirs.points(rest, np.zeros(1, np.int64))[:shared, 0]
        turn = _matrices(ours[:, 3:]) @ self._matrix()
        cosine = 0.5 * (np.einsum("tij,tij->t", turn, theirs.rotations[:shared, 0]) - 1.0)
        return {
            "offset_error_mm": 1e3 * float(np.linalg.norm(centre + ours[:, :3] - places, axis=1).max()),
            "angle_error_deg": float(np.degrees(np.arccos(cosine.clip(-1.0, 1.0)).max())),
        }

    def _matrix(self) -> Floats:
        c, s = np.cos(self.tilt), np.sin(self.tilt)
        return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])

    def _turned(self, points: Floats) -> Floats:
        return np.asarray(points @ self._matrix().T)

    def _placed(self, points: Floats) -> KinematicParameterization:
        centre = self._turned(np.array(self.solid.centre)) + self.start[:3]
        return RigidBodyKinematics(torch.from_numpy(centre)).at(torch.from_numpy(self._turned(points) + self.start[:3]))


def _matrices(quaternions: Floats) -> Floats:
    """(t, 3, 3) of quaternions (t, 4) x y z w."""
    x, y, z, w = quaternions.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def slide(speed: float) -> Setting:
    """A pad pushes the middle of a side over 0.2 m and stops: at the height of the centre of mass, so that its impact does not
    lift the box."""
    start, height = -SHORT[0] / 2 - PAD.half_extents[0] - 0.01, SHORT[2] / 2
    path = through((0.0, start, 0.0, height), (0.21 / speed, start + 0.21, 0.0, height))
    return Setting(FreeBox(SHORT), Push(PAD, path, 0.01, 0.15, PUSHING), floor=SLIDING, friction=FRICTION)


def turn(speed: float) -> Setting:
    """A fingertip pushes a quarter of the side's width off its middle, over 0.12 m, and stops."""
    start, height = -SHORT[0] / 2 - FINGER.dimensions[0] - 0.01, SHORT[2] / 2
    path = through((0.0, start, 0.04, height), (0.13 / speed, start + 0.13, 0.04, height))
    return Setting(FreeBox(SHORT), Push(FINGER, path, 0.0025, 0.04, PUSHING), floor=SLIDING, friction=FRICTION)


def tip(speed: float, distance: float) -> Setting:
    """A fingertip pushes a tall box near its top; it falls over, or back where the distance is too short."""
    start = -TALL[0] / 2 - FINGER.dimensions[0] - 0.01
    back = 0.01 + distance
    path = through((0.0, start, 0.0, 0.17), (back / speed, start + back, 0.0, 0.17), (back / speed + 0.3, start, 0.0, 0.17))
    return Setting(FreeBox(TALL), Push(FINGER, path, 0.0025, 0.06), floor=IMPACT, friction=FRICTION)


def rock() -> Setting:
    """A tall box, let go on an edge, tilted by 12 degrees, falls back and rocks to rest."""
    return Setting(FreeBox(TALL, np.radians(12.0)), floor=IMPACT, friction=FRICTION)


CASES: list[Case] = [
    Case(name, "MuJoCo", description, partial(compared, setting))
    for name, description, setting in (
        ("free box pushed slowly", "A pad pushes a box over a table at 0.1 m/s and stops.", slide(0.1)),
        ("free box pushed fast", "The same at 0.6 m/s; the box slides on.", slide(0.6)),
        ("free box turned slowly", "A fingertip pushes a box off its middle at 0.1 m/s: it slides and turns.", turn(0.1)),
        ("free box turned fast", "The same at 0.5 m/s.", turn(0.5)),
        ("tall box tipped over", "A fingertip pushes a tall box near its top until it falls over.", tip(0.15, 0.08)),
        ("tall box tipped and let back", "The same, not far enough: it falls back on its face.", tip(0.15, 0.03)),
        ("tall box rocks", "A tall box is let go on one edge, and rocks to rest.", rock()),
    )
]
