"""Solid boxes and cylinders: the same mass, centre and inertia in MuJoCo and in particles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Primitive:
    """A solid box, or a cylinder along z, in the object's frame where every coordinate is 0."""

    kind: Literal["box", "cylinder"]
    centre: tuple[float, float, float]
    """Metres."""
    half: tuple[float, float, float]
    """Metres: half the bounding box."""
    density: float
    """kg/m^3."""

    @property
    def mass(self) -> float:
        """kg."""
        x, y, z = self.half
        return self.density * (8.0 * x * y * z if self.kind == "box" else 2.0 * np.pi * x * x * z)

    def mass_points(self) -> Floats:
        """(8, 3) metres: eighths of the mass here have the moments of the solid up to second order."""
        x, y, z = self.half
        deviations = np.array([x, y, z]) / np.sqrt(3.0) if self.kind == "box" else np.array([x / 2.0, y / 2.0, z / np.sqrt(3.0)])
        signs = np.stack(np.meshgrid([-1, 1], [-1, 1], [-1, 1], indexing="ij"), -1).reshape(-1, 3)
        return np.asarray(np.array(self.centre) + signs * deviations)

    def surface(self, spacing: float) -> tuple[Floats, Floats]:
        """Points (n, 3) in metres on the surface, edges and corners among them, and the area (n,) m^2 of each."""
        if self.kind == "box":
            points, areas = _box_surface(np.array(self.half), spacing)
        else:
            points, areas = _cylinder_surface(self.half[0], self.half[2], spacing)
        return points + np.array(self.centre), areas

    def geom(self) -> str:
        """MJCF."""
        size = self.half if self.kind == "box" else (self.half[0], self.half[2])
        return f'<geom type="{self.kind}" pos="{numbers(self.centre)}" size="{numbers(size)}" mass="{self.mass:.12g}"/>'


def box(low: tuple[float, float, float], high: tuple[float, float, float], density: float) -> Primitive:
    """The box between two corners, metres."""
    a, b = np.array(low), np.array(high)
    return Primitive("box", _triple((a + b) / 2), _triple((b - a) / 2), density)


def numbers(values: tuple[float, ...] | Floats) -> str:
    """An attribute of MJCF."""
    return " ".join(f"{float(value):.12g}" for value in values)


def _triple(values: Floats) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z


def _shares(count: int) -> Floats:
    """(count + 1,) trapezium weights that sum to one."""
    weights = np.full(count + 1, 1.0 / count)
    weights[[0, -1]] *= 0.5
    return weights


def _box_surface(half: Floats, spacing: float) -> tuple[Floats, Floats]:
    counts = np.maximum(np.ceil(2.0 * half / spacing), 1).astype(int)
    found: dict[tuple[int, int, int], float] = {}
    for axis in range(3):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        share = np.outer(_shares(counts[a]), _shares(counts[b])) * 4.0 * half[a] * half[b]
        for end in (0, counts[axis]):
            for (i, j), area in np.ndenumerate(share):
                place = [0, 0, 0]
                place[axis], place[a], place[b] = int(end), i, j
                key = (place[0], place[1], place[2])
                found[key] = found.get(key, 0.0) + float(area)
    places = np.array(list(found))
    return -half + 2.0 * half * places / counts, np.array(list(found.values()))


def _cylinder_surface(radius: float, half_height: float, spacing: float) -> tuple[Floats, Floats]:
    around = max(int(np.ceil(2.0 * np.pi * radius / spacing)), 8)
    up = max(int(np.ceil(2.0 * half_height / spacing)), 1)
    angles = 2.0 * np.pi * np.arange(around) / around
    heights = np.linspace(-half_height, half_height, up + 1)
    ring = np.column_stack([radius * np.cos(angles), radius * np.sin(angles)])
    side = np.column_stack([np.tile(ring, (up + 1, 1)), np.repeat(heights, around)])
    areas = np.repeat(_shares(up) * 4.0 * np.pi * radius * half_height / around, around)
    lids = np.array([[0.0, 0.0, -half_height], [0.0, 0.0, half_height]])
    return np.concatenate([side, lids]), np.concatenate([areas, np.full(2, np.pi * radius**2)])
