"""Kinematic state parameterizations written by hand, and bodies made of them, whose motion is known: shared with the tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neurok_ros.dynamics import Body, Material, ToolKind, ToolPath, ToolShape
from neurok_ros.parameterization import KinematicParameterization, StrainSites

torch.set_num_threads(1)

GRAVITY = 9.81


class Pendulum:
    """One angle from hanging (-z), swinging in the x z plane; particles at distances (n,) along the rod."""

    dim = 1

    def __init__(self, distances: list[float], angle: float) -> None:
        self._distances = torch.tensor(distances, dtype=torch.float64)
        self.rest = torch.tensor([angle], dtype=torch.float64)

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        direction = torch.stack([torch.sin(q[0]), torch.zeros_like(q[0]), -torch.cos(q[0])])
        return self._distances[:, None] * direction

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, dim)."""
        direction = torch.stack([torch.cos(q[0]), torch.zeros_like(q[0]), torch.sin(q[0])])
        return (self._distances[:, None] * direction)[:, :, None]

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """See `KinematicParameterization`."""
        return q + step


class DoublePendulum:
    """Two angles from hanging (-z) in the x z plane, rods of lengths (2,) metres, a particle at the end of each."""

    dim = 2

    def __init__(self, lengths: tuple[float, float], angles: tuple[float, float]) -> None:
        self._lengths = torch.tensor(lengths, dtype=torch.float64)
        self.rest = torch.tensor(angles, dtype=torch.float64)

    def positions(self, q: Tensor) -> Tensor:
        """(2, 3) metres."""
        rods = torch.stack([torch.sin(q), torch.zeros_like(q), -torch.cos(q)], dim=1) * self._lengths[:, None]
        return torch.stack([rods[0], rods[0] + rods[1]])

    def jacobian(self, q: Tensor) -> Tensor:
        """(2, 3, 2) metres."""
        turned = torch.stack([torch.cos(q), torch.zeros_like(q), torch.sin(q)], dim=1) * self._lengths[:, None]
        upper, lower = turned[0], turned[1]
        return torch.stack([torch.stack([upper, torch.zeros_like(upper)], dim=1), torch.stack([upper, lower], dim=1)])

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """A sum."""
        return q + step


class Linear:
    """x = X + B q with a constant basis (n, 3, dim)."""

    def __init__(self, points: Tensor, basis: Tensor) -> None:
        self._points, self._basis = points, basis
        self._flat = basis.reshape(-1, basis.shape[2])
        self.dim = basis.shape[2]
        self.rest = points.new_zeros(self.dim)

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        return self._points + (self._flat @ q).view(-1, 3)

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, dim)."""
        return self._basis

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """See `KinematicParameterization`."""
        return q + step


def translation(points: Tensor) -> Linear:
    """A body that only translates."""
    return Linear(points, torch.eye(3, dtype=torch.float64).repeat(len(points), 1, 1))


def full_space(points: Tensor) -> Linear:
    """Every particle moves by itself."""
    return Linear(points, torch.eye(3 * len(points), dtype=torch.float64).view(len(points), 3, -1))


def skew(vectors: Tensor) -> Tensor:
    """(n, 3, 3) with skew(v) w = v x w."""
    zero = torch.zeros_like(vectors[:, 0])
    x, y, z = vectors.unbind(1)
    return torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=1).view(-1, 3, 3)


def quaternion_matrix(quaternion: Tensor) -> Tensor:
    """(3, 3) of a unit quaternion x y z w."""
    vector, w = quaternion[:3], quaternion[3]
    eye = torch.eye(3, dtype=quaternion.dtype)
    cross = skew(vector[None])[0]
    return (w * w - vector @ vector) * eye + 2.0 * torch.outer(vector, vector) + 2.0 * w * cross


class Rigid:
    """SE(3): a state is position (3) and quaternion x y z w; a step is a translation and a rotation vector in the frame."""

    dim = 6

    def __init__(self, points: Tensor) -> None:
        self._centre = points.mean(0)
        self._local = points - self._centre
        self.rest = torch.cat([self._centre, points.new_tensor([0.0, 0.0, 0.0, 1.0])])
        self._eye = torch.eye(3, dtype=points.dtype).repeat(len(points), 1, 1)

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        return q[:3] + self._local @ quaternion_matrix(q[3:]).T

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, dim)."""
        return torch.cat([self._eye, -skew(self._local @ quaternion_matrix(q[3:]).T)], dim=2)

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """See `KinematicParameterization`."""
        half = 0.5 * step[3:]
        angle = half.norm()
        turn = torch.cat([half * torch.sinc(angle / torch.pi), torch.cos(angle)[None]])
        a, b = turn, q[3:]
        vector = a[3] * b[:3] + b[3] * a[:3] + torch.linalg.cross(a[:3], b[:3])
        turned = torch.cat([vector, (a[3] * b[3] - a[:3] @ b[:3])[None]])
        return torch.cat([q[:3] + step[:3], turned / turned.norm()])


@dataclass
class Lattice:
    """A box filled with hexahedra; nodes are particles, strain is measured at 2 x 2 x 2 Gauss points of each cell."""

    points: Tensor
    """(n, 3) metres, standing on z = 0, centred in x and y."""
    masses: Tensor
    sites: StrainSites
    areas: Tensor
    """(n,) m^2, of the surface; 0 inside."""


def lattice(size: tuple[float, float, float], cells: tuple[int, int, int], density: float = 200.0, gauss: int = 2) -> Lattice:
    """A box of `size` metres; `gauss` 2: eight strain sites a cell, 1: one, at the centre."""
    axes = [np.linspace(0.0, s, c + 1) for s, c in zip(size, cells, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points -= np.array([0.5 * size[0], 0.5 * size[1], 0.0])
    numbers = np.arange(len(points)).reshape([c + 1 for c in cells])
    corners = [(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)]
    index = np.stack([numbers[i : i + cells[0], j : j + cells[1], k : k + cells[2]].ravel() for i, j, k in corners], axis=1)
    edge = np.array(size) / np.array(cells)
    ends = (0.5,) if gauss == 1 else (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))
    gradients = []
    for at in ((a, b, c) for a in ends for b in ends for c in ends):
        weight = np.array([[t if e else 1.0 - t for e, t in zip(corner, at, strict=True)] for corner in corners])
        sign = np.array([[1.0 if e else -1.0 for e in corner] for corner in corners])
        gradients.append(np.stack([sign[:, d] / edge[d] * np.prod(np.delete(weight, d, 1), 1) for d in range(3)], axis=1))
    per_cell = len(gradients)
    masses = np.bincount(index.ravel(), minlength=len(points)) * density * edge.prod() / 8.0
    areas = np.zeros(numbers.shape)
    for axis in range(3):
        face = np.array([0.5] + [1.0] * (cells[(axis + 1) % 3] - 1) + [0.5])
        other = np.array([0.5] + [1.0] * (cells[(axis + 2) % 3] - 1) + [0.5])
        patch = np.outer(face, other) * edge[(axis + 1) % 3] * edge[(axis + 2) % 3]
        for end in (0, -1):
            np.moveaxis(areas, (axis, (axis + 1) % 3, (axis + 2) % 3), (0, 1, 2))[end] += patch
    return Lattice(
        torch.from_numpy(points),
        torch.from_numpy(masses),
        StrainSites(
            torch.from_numpy(np.repeat(index, per_cell, axis=0)),
            torch.from_numpy(np.tile(np.stack(gradients), (len(index), 1, 1))),
            torch.full((len(index) * per_cell,), edge.prod() / per_cell, dtype=torch.float64),
        ),
        torch.from_numpy(areas.ravel()),
    )


def rigid_box(
    size: tuple[float, float, float], density: float = 200.0, friction: float = 0.5, cells: tuple[int, int, int] = (4, 4, 4)
) -> Body:
    """A rigid box standing on z = 0, its mass spread over a grid (inertia of a solid box to a few percent)."""
    grid = lattice(size, cells, density)
    contact = grid.areas.nonzero().squeeze(1)
    return Body(Rigid(grid.points), grid.masses, contact, grid.areas[contact], Material(friction=friction))


def sliding_box(size: tuple[float, float, float], density: float = 200.0, friction: float = 0.5) -> Body:
    """A box that only translates, standing on z = 0."""
    grid = lattice(size, (2, 2, 2), density)
    contact = grid.areas.nonzero().squeeze(1)
    return Body(translation(grid.points), grid.masses, contact, grid.areas[contact], Material(friction=friction))


def soft_box(size: tuple[float, float, float], cells: tuple[int, int, int], material: Material, density: float = 200.0) -> Body:
    """A full finite-element box standing on z = 0."""
    grid = lattice(size, cells, density)
    contact = grid.areas.nonzero().squeeze(1)
    return Body(full_space(grid.points), grid.masses, contact, grid.areas[contact], material, grid.sites)


def straight_push(start: Iterable[float], end: Iterable[float], duration: float) -> ToolPath:
    """From one place to another without turning."""
    ends = np.array([list(start), list(end)], dtype=np.float64)
    return ToolPath(np.array([0.0, duration]), ends, np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)))


def velocity(*components: float) -> Tensor:
    """(dim,) generalized velocity."""
    return torch.tensor(components, dtype=torch.float64)


def untouchable(kinematics: KinematicParameterization, masses: Iterable[float]) -> Body:
    """A body of particles with these masses (n,) in kg that nothing can touch."""
    nothing = torch.zeros(0, dtype=torch.int64)
    return Body(kinematics, torch.tensor(list(masses), dtype=torch.float64), nothing, nothing.double(), Material())


def box_tool(x: float, y: float, z: float) -> ToolShape:
    """Full edge lengths in metres."""
    return ToolShape(ToolKind.BOX, (x, y, z))
