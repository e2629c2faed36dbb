"""Single-view depth images of known bodies standing on a plane, by ray casting in closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from neurok_ros.reconstruction.types import Floats, Scan

Body = Callable[[Floats, Floats], Floats]
"""Distances (n,) along rays from origin (3,) in directions (n, 3); inf where the ray misses."""

CAMERA = (0.05, -0.55, 0.45)


def box(size: Sequence[float], centre: Sequence[float], yaw: float = 0.0) -> Body:
    """A box (m) turned about the vertical by `yaw` (rad)."""
    half, middle = np.asarray(size) / 2, np.asarray(centre)
    turn = np.array([[np.cos(yaw), np.sin(yaw), 0], [-np.sin(yaw), np.cos(yaw), 0], [0, 0, 1.0]])

    def cast(origin: Floats, directions: Floats) -> Floats:
        start, along = turn @ (origin - middle), directions @ turn.T
        with np.errstate(divide="ignore", invalid="ignore"):
            one, two = (-half - start) / along, (half - start) / along
        near, far = np.minimum(one, two).max(axis=1), np.maximum(one, two).min(axis=1)
        return np.where((near < far) & (near > 0), near, np.inf)

    return cast


def sphere(radius: float, centre: Sequence[float]) -> Body:
    """A sphere (m)."""

    def cast(origin: Floats, directions: Floats) -> Floats:
        offset = origin - np.asarray(centre)
        b = directions @ offset
        disc = b**2 - offset @ offset + radius**2
        return np.where(disc > 0, -b - np.sqrt(np.maximum(disc, 0)), np.inf)

    return cast


def cylinder(radius: float, height: float, foot: Sequence[float]) -> Body:
    """An upright cylinder (m) that stands at `foot`."""

    def cast(origin: Floats, directions: Floats) -> Floats:
        offset = origin - np.asarray(foot)
        a = (directions[:, :2] ** 2).sum(axis=1)
        b = directions[:, :2] @ offset[:2]
        disc = b**2 - a * (offset[:2] @ offset[:2] - radius**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            side = (-b - np.sqrt(np.maximum(disc, 0))) / a
            z = offset[2] + side * directions[:, 2]
            side = np.where((disc > 0) & (z >= 0) & (z <= height), side, np.inf)
            top = (height - offset[2]) / directions[:, 2]
        hit = offset[:2] + top[:, None] * directions[:, :2]
        top = np.where((hit**2).sum(axis=1) <= radius**2, top, np.inf)
        return np.minimum(side, top)

    return cast


def ground(origin: Floats, directions: Floats) -> Floats:
    """The plane z = 0."""
    with np.errstate(divide="ignore"):
        distance = -origin[2] / directions[:, 2]
    return np.where(distance > 0, distance, np.inf)


def render(
    bodies: Sequence[Body],
    camera: Sequence[float] = CAMERA,
    target: Sequence[float] = (0.0, 0.0, 0.05),
    noise: float = 0.001,
    width: int = 260,
    focal: float = 300.0,
) -> Scan:
    """What a depth camera at `camera` sees of the bodies (labels 1, 2, ...) on the ground (label 0); noise in m along the ray."""
    origin = np.asarray(camera, dtype=float)
    forward = np.asarray(target) - origin
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    height = width * 3 // 4
    u, v = np.meshgrid(np.arange(width) - (width - 1) / 2, np.arange(height) - (height - 1) / 2)
    directions = forward + (u.reshape(-1, 1) * right + v.reshape(-1, 1) * down) / focal
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    distances = np.stack([ground(origin, directions), *[body(origin, directions) for body in bodies]])
    labels = distances.argmin(axis=0)
    distance = distances.min(axis=0) + np.random.default_rng(1).normal(scale=noise, size=len(directions))
    seen = np.isfinite(distance) & (distance < 2.0)
    points = origin + directions[seen] * distance[seen, None]
    return Scan(
        points=points,
        viewpoints=np.tile(origin, (len(points), 1)),
        colors=np.full((len(points), 3), 128, dtype=np.uint8),
        labels=labels[seen].astype(np.uint32),
        frame="world",
    )


def chamfer(vertices: Floats, faces: NDArray[np.int32], truth: trimesh.Trimesh) -> float:
    """Mean distance (m) from each of two surfaces to the other, averaged; dense samples keep its floor below 0.5 mm."""
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    one, _ = trimesh.sample.sample_surface(mesh, 60_000, seed=0)
    two, _ = trimesh.sample.sample_surface(truth, 60_000, seed=0)
    return float((cKDTree(two).query(one[::20])[0].mean() + cKDTree(one).query(two[::20])[0].mean()) / 2)
