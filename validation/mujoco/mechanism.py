"""Mechanisms of boxes and cylinders, written once: the state space that this package moves, and what MuJoCo is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from neurok_ros.dynamics import Body, Material
from validation.mujoco.comparison import Push, Sampled
from validation.mujoco.primitive import Primitive, numbers
from validation.mujoco.reference import Recording

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Link:
    """A rigid body on a joint."""

    shapes: tuple[Primitive, ...]
    joint: Literal["hinge", "slide"]
    axis: tuple[float, float, float]
    """Unit length."""
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Metres, a point of a hinge's axis where every coordinate is 0."""
    rest: float = 0.0
    """Radians or metres: where the motion starts."""


@dataclass(frozen=True)
class Mechanism:
    """Links of which each moves on the one before it (a chain), or each on the fixed base."""

    links: tuple[Link, ...]
    chained: bool = False
    base: tuple[Primitive, ...] = ()
    """Fixed; touches nothing."""

    @property
    def rest(self) -> Floats:
        """(links,) coordinates."""
        return np.array([link.rest for link in self.links])

    @property
    def size(self) -> float:
        """Metres, largest extent at rest, base and all."""
        ours = self.sampled(0.0, None)
        corners = [ours.outline.positions(ours.outline.rest).numpy(), *(shape.surface(1.0)[0] for shape in self.base)]
        return float(np.ptp(np.concatenate(corners), axis=0).max())

    @property
    def names(self) -> list[str]:
        """Of MuJoCo's bodies."""
        return [f"link{number}" for number in range(len(self.links))]

    @property
    def start(self) -> Floats:
        """(links,)."""
        return self.rest

    def mjcf(self) -> str:
        """Bodies whose frames all lie at the world's origin where every coordinate is 0."""
        text, closing = "", ""
        for number, link in enumerate(self.links):
            geoms = "".join(shape.geom() for shape in link.shapes)
            joint = f'<joint type="{link.joint}" axis="{numbers(link.axis)}" pos="{numbers(link.origin)}"/>'
            text += f'<body name="link{number}">{joint}{geoms}'
            if self.chained:
                closing += "</body>"
            else:
                text += "</body>"
        return text + closing

    def sampled(self, friction: float, push: Push | None) -> Sampled:
        """The links' particles; those that can touch are near the push, at rest."""
        shapes = [(number, shape) for number, link in enumerate(self.links) for shape in link.shapes]
        points, owner = [shape.mass_points() for _, shape in shapes], [np.full(8, number) for number, _ in shapes]
        masses = np.repeat([shape.mass / 8.0 for _, shape in shapes], 8)
        areas = [np.zeros(0)]
        if push is not None:
            for number, shape in shapes:
                surface, shares = shape.surface(push.spacing)
                placed = self._state(surface, np.full(len(surface), number)).positions(torch.from_numpy(self.rest)).numpy()
                keep = cKDTree(push.places()).query(placed)[0] < push.reach
                points.append(surface[keep])
                owner.append(np.full(int(keep.sum()), number))
                areas.append(shares[keep])
        area = torch.from_numpy(np.concatenate(areas))
        body = Body(
            self._state(np.concatenate(points), np.concatenate(owner)),
            torch.cat([torch.from_numpy(masses), torch.zeros_like(area)]),
            torch.arange(len(area)) + len(masses),
            area,
            Material(friction=friction),
        )
        grids = [(number, shape.surface(max(shape.half))[0]) for number, shape in shapes]
        outline = np.concatenate([grid for _, grid in grids])
        outline_owner = np.concatenate([np.full(len(grid), number) for number, grid in grids])
        return Sampled(body, self._state(outline, outline_owner), outline, outline_owner)

    def figures(self, ours: Floats, theirs: Recording) -> dict[str, float]:
        """The largest error of any hinge's angle and any slide's offset."""
        off = np.abs(ours - theirs.coordinates[: len(ours)])
        hinges = np.array([link.joint == "hinge" for link in self.links])
        found = {}
        if hinges.any():
            found["angle_error_deg"] = float(np.degrees(off[:, hinges].max()))
        if not hinges.all():
            found["offset_error_mm"] = 1e3 * float(off[:, ~hinges].max())
        return found

    def _state(self, points: Floats, owner: NDArray[np.int64]) -> MechanismState:
        return MechanismState(self, torch.from_numpy(points), torch.from_numpy(owner))


class MechanismState:
    """The exact state space of a mechanism: one coordinate a joint.

    Args:
        mechanism: what moves.
        points: (n, 3) metres, where every coordinate is 0.
        link: (n,) int64, the link that each point belongs to.
    """

    def __init__(self, mechanism: Mechanism, points: Tensor, link: Tensor) -> None:
        self._points, self._link, self._chained = points, link, mechanism.chained
        self._axes = torch.tensor([k.axis for k in mechanism.links], dtype=torch.float64)
        self._origins = torch.tensor([k.origin for k in mechanism.links], dtype=torch.float64)
        self._turns = [k.joint == "hinge" for k in mechanism.links]
        self.dim = len(mechanism.links)
        self.rest = torch.from_numpy(mechanism.rest)

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        rotations, shifts = self._poses(q)
        return torch.einsum("nij,nj->ni", rotations[self._link], self._points) + shifts[self._link]

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, dim): a point moves along a slide's axis, or about a hinge's."""
        rotations, shifts = self._poses(q)
        x = torch.einsum("nij,nj->ni", rotations[self._link], self._points) + shifts[self._link]
        columns = []
        for joint in range(self.dim):
            axis = rotations[joint] @ self._axes[joint]
            if self._turns[joint]:
                moved = torch.linalg.cross(axis.expand_as(x), x - (rotations[joint] @ self._origins[joint] + shifts[joint]))
            else:
                moved = axis.expand_as(x)
            carried = self._link >= joint if self._chained else self._link == joint
            columns.append(moved * carried[:, None])
        return torch.stack(columns, dim=2)

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """The sum."""
        return q + step

    def _poses(self, q: Tensor) -> tuple[Tensor, Tensor]:
        rotation, shift = torch.eye(3, dtype=q.dtype), torch.zeros(3, dtype=q.dtype)
        rotations, shifts = [], []
        for joint in range(self.dim):
            if not self._chained:
                rotation, shift = torch.eye(3, dtype=q.dtype), torch.zeros(3, dtype=q.dtype)
            if self._turns[joint]:
                turn = _rotation(self._axes[joint], q[joint])
                own_shift = self._origins[joint] - turn @ self._origins[joint]
            else:
                turn, own_shift = torch.eye(3, dtype=q.dtype), q[joint] * self._axes[joint]
            rotation, shift = rotation @ turn, rotation @ own_shift + shift
            rotations.append(rotation)
            shifts.append(shift)
        return torch.stack(rotations), torch.stack(shifts)


def _rotation(axis: Tensor, angle: Tensor) -> Tensor:
    """(3, 3) by Rodrigues' formula."""
    zero = torch.zeros((), dtype=axis.dtype)
    x, y, z = axis
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero]).view(3, 3)
    return torch.eye(3, dtype=axis.dtype) + torch.sin(angle) * cross + (1.0 - torch.cos(angle)) * (cross @ cross)
