"""Smooth maps of space with their Jacobians. Bodies lie along z, centred, about one unit long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from training.sampling import Floats


class SpaceMap(Protocol):
    """A smooth one-to-one map of space."""

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """Where points (n, 3) go (n, 3), and the Jacobian there (n, 3, 3)."""


@dataclass(frozen=True)
class Rod:
    """Bends and twists the z axis as an elastic rod: curvature and twist are constant on each of its pieces.

    A cross-section stays plane and at right angles to the axis. Closed form on a piece: the axis is a helix.
    """

    start: float
    """z of the first piece's beginning."""
    length: float
    """Of each piece."""
    curvature: Floats
    """(pieces, 3) radians per unit length in the section's own axes: bending about x, about y, twist."""

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """See `SpaceMap`; beyond the ends the last pieces go on."""
        frames, centers = self._pieces()
        piece = np.clip(((points[:, 2] - self.start) / self.length).astype(np.int64), 0, len(self.curvature) - 1)
        along = points[:, 2] - self.start - piece * self.length
        curvature = self.curvature[piece]
        turn, travelled = _exponential(curvature, along)
        across = np.stack([points[:, 0], points[:, 1], np.zeros(len(points))], axis=1)
        frame = frames[piece] @ turn
        moved = centers[piece] + np.einsum("nij,nj->ni", frames[piece], travelled) + np.einsum("nij,nj->ni", frame, across)
        stretch = np.cross(curvature, across) + np.array([0.0, 0.0, 1.0])
        jacobian = frame.copy()
        jacobian[:, :, 2] = np.einsum("nij,nj->ni", frame, stretch)
        return moved, jacobian

    def _pieces(self) -> tuple[Floats, Floats]:
        """Frame (pieces, 3, 3) and axis point (pieces, 3) where each piece begins."""
        turns, travels = _exponential(self.curvature, np.full(len(self.curvature), self.length))
        frames, centers = np.empty_like(turns), np.empty_like(travels)
        frame, center = np.eye(3), np.array([0.0, 0.0, self.start])
        for i in range(len(self.curvature)):
            frames[i], centers[i] = frame, center
            center = center + frame @ travels[i]
            frame = frame @ turns[i]
        return frames, centers


@dataclass(frozen=True)
class Taper:
    """Scales the cross-section along z by 1 + a z + b z^2, and z by a constant: taper, bulge, stretch, squash."""

    linear: float
    quadratic: float
    stretch: float
    """Of z; the section shrinks by its square root, so that a plain stretch keeps the volume."""

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """See `SpaceMap`."""
        x, y, z = points.T
        thin = 1 / np.sqrt(self.stretch)
        scale = thin * (1 + self.linear * z + self.quadratic * z**2)
        slope = thin * (self.linear + 2 * self.quadratic * z)
        moved = np.stack([scale * x, scale * y, self.stretch * z], axis=1)
        jacobian = np.zeros((len(points), 3, 3))
        jacobian[:, 0, 0] = jacobian[:, 1, 1] = scale
        jacobian[:, 0, 2], jacobian[:, 1, 2] = slope * x, slope * y
        jacobian[:, 2, 2] = self.stretch
        return moved, jacobian


@dataclass(frozen=True)
class Linear:
    """A matrix: shear, or a turn into other axes."""

    matrix: Floats
    """(3, 3)."""

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """See `SpaceMap`."""
        return points @ self.matrix.T, np.broadcast_to(self.matrix, (len(points), 3, 3))


@dataclass(frozen=True)
class Cage:
    """Free-form deformation (Sederberg and Parry 1986): a box of control points, Bernstein polynomials in each direction."""

    low: Floats
    """(3,) corner of the box."""
    high: Floats
    """(3,) the opposite corner."""
    shifts: Floats
    """(l, m, n, 3) how far each control point has moved."""

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """See `SpaceMap`."""
        size = self.high - self.low
        local = (points - self.low) / size
        (u, du), (v, dv), (w, dw) = (_bernstein(local[:, i], self.shifts.shape[i]) for i in range(3))
        in_w, in_dw = np.tensordot(w, self.shifts, (1, 2)), np.tensordot(dw, self.shifts, (1, 2))
        moved = points + np.einsum("ni,nj,nijc->nc", u, v, in_w)
        columns = [
            np.einsum("ni,nj,nijc->nc", du, v, in_w),
            np.einsum("ni,nj,nijc->nc", u, dv, in_w),
            np.einsum("ni,nj,nijc->nc", u, v, in_dw),
        ]
        return moved, np.eye(3) + np.stack(columns, axis=2) / size


@dataclass(frozen=True)
class Waves:
    """Shifts along one axis by a sum of sines of the others: ripples and folds of a sheet."""

    numbers: Floats
    """(waves, 3) wave vectors, radians per unit length."""
    amplitudes: Floats
    """(waves,)."""
    phases: Floats
    """(waves,) radians."""
    axis: int
    """The axis shifted along; wave vectors have no part along it."""

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """See `SpaceMap`."""
        angle = points @ self.numbers.T + self.phases
        moved = points.copy()
        moved[:, self.axis] += np.sin(angle) @ self.amplitudes
        jacobian = np.tile(np.eye(3), (len(points), 1, 1))
        jacobian[:, self.axis] += (np.cos(angle) * self.amplitudes) @ self.numbers
        return moved, jacobian


@dataclass(frozen=True)
class Dent:
    """Pushes points along one direction, most at a centre, less around it by a Gaussian: a finger in a cushion."""

    center: Floats
    """(3,)."""
    push: Floats
    """(3,) at the centre."""
    radius: float

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """See `SpaceMap`."""
        away = (points - self.center) / self.radius
        weight = np.exp(-0.5 * (away**2).sum(axis=1))
        moved = points + weight[:, None] * self.push
        return moved, np.eye(3) - (weight / self.radius)[:, None, None] * self.push[:, None] * away[:, None, :]


@dataclass(frozen=True)
class Chain:
    """One map after the other."""

    maps: Sequence[SpaceMap]

    def __call__(self, points: Floats) -> tuple[Floats, Floats]:
        """See `SpaceMap`."""
        jacobian = np.tile(np.eye(3), (len(points), 1, 1))
        for each in self.maps:
            points, own = each(points)
            jacobian = own @ jacobian
        return points, jacobian


def _exponential(curvature: Floats, along: Floats) -> tuple[Floats, Floats]:
    """The turn exp([k] s) (n, 3, 3), and the integral of its third column from 0 to s (n, 3)."""
    rate = np.linalg.norm(curvature, axis=1)
    angle = rate * along
    safe = np.where(rate < 1e-9, 1.0, rate)
    axis = np.where(rate[:, None] < 1e-9, np.array([0.0, 0.0, 1.0]), curvature / safe[:, None])
    sine, cosine = np.sin(angle), np.cos(angle)
    third = np.array([0.0, 0.0, 1.0])
    cross = np.cross(axis, third)
    turn = _outer_turn(axis, sine, cosine)
    small = np.abs(angle) < 1e-6
    about = np.where(small, 0.5 * along * angle, (1 - cosine) / safe)
    beyond = np.where(small, 0.0, along - sine / safe)
    travelled = along[:, None] * third + about[:, None] * cross + beyond[:, None] * np.cross(axis, cross)
    return turn, travelled


def _outer_turn(axis: Floats, sine: Floats, cosine: Floats) -> Floats:
    """(n, 3, 3) rotations about unit axes (n, 3)."""
    x, y, z = axis.T
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
    return np.asarray(np.eye(3) + sine[:, None, None] * cross + (1 - cosine)[:, None, None] * (cross @ cross))


def _bernstein(t: Floats, count: int) -> tuple[Floats, Floats]:
    """Bernstein polynomials (n, count) of degree count - 1 and their derivatives (n, count)."""
    degree = count - 1
    full, lower = _basis(t, degree), _basis(t, degree - 1)
    slope = np.zeros_like(full)
    slope[:, :-1] -= degree * lower
    slope[:, 1:] += degree * lower
    return full, slope


def _basis(t: Floats, degree: int) -> Floats:
    rows = np.ones((len(t), 1))
    for _ in range(degree):
        wider = np.zeros((len(t), rows.shape[1] + 1))
        wider[:, :-1] += (1 - t)[:, None] * rows
        wider[:, 1:] += t[:, None] * rows
        rows = wider
    return rows
