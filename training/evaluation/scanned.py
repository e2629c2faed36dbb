"""Objects as a camera sees them: meshes that reconstruction makes from simulated single-view scans."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyvista as pv
from scipy.spatial import cKDTree

from neurok_ros.errors import NeurokError
from neurok_ros.reconstruction import MeshOptions, ObjectSelection, ReconstructionWorker, Scan, SegmentationOptions
from training.evaluation.cache import Cache
from training.evaluation.objects import EvaluationObject, Floats, Ints, MaterialPoints, unit_object

RADIUS = 0.18
"""Metres that an object's unit of length becomes: something that stands on a table."""
_WIDTH, _HEIGHT, _FOCAL = 640, 480, 525.0
_BASELINE = 0.075
"""Metres between camera and projector."""
_DISTANCE = 0.9
_GRAZING = 0.15
_TIMEOUT = 90.0
_LEAST_MOTION = 0.2
"""Of the true object's: below that the camera has missed what moves, and the rest pose would count as a success."""
_TRACKED = 20000
"""Material points whose nearest tells where a point of the reconstructed surface goes."""


def scanned_objects(
    objects: Sequence[EvaluationObject], cache: Cache, on_object: Callable[[str], None] = print
) -> tuple[list[EvaluationObject], list[str]]:
    """Each object once more, as reconstructed from one side, moving as the nearest points of the true surface do; and those
    that could not be reconstructed, or only what does not move of them, in words. Reconstruction runs in a process of its own.

    Args:
        objects: standing on the plane below their lowest vertex, z up.
        cache: of scans.
        on_object: told the name of each object before it is scanned.
    """
    made: list[EvaluationObject] = []
    failed: list[str] = []
    with ExitStack() as stack:
        worker = _lazy_worker(stack)
        for given in objects:
            on_object(given.name)
            found = cache.scanned(given, partial(_seen, worker, given))
            if isinstance(found, str):
                failed.append(found)
            else:
                made.append(found)
    return made, failed


def _lazy_worker(stack: ExitStack) -> Callable[[], ReconstructionWorker]:
    """The worker, started when it is first asked for and stopped with the stack."""
    started: list[ReconstructionWorker] = []

    def get() -> ReconstructionWorker:
        if not started:
            started.append(stack.enter_context(ReconstructionWorker()))
        return started[0]

    return get


def _seen(worker: Callable[[], ReconstructionWorker], given: EvaluationObject) -> EvaluationObject | str:
    name = f"scanned/{given.name}"
    try:
        found = _rescanned(worker(), given, name)
    except NeurokError as error:
        return f"{name}: {error}"
    if _motion(found) < _LEAST_MOTION * _motion(given):
        return f"{name}: what moves was not reconstructed"
    return found


def _motion(given: EvaluationObject) -> float:
    """How far the farthest vertex goes, on average over the target poses."""
    return float(np.linalg.norm(given.targets - given.vertices, axis=2).max(axis=1).mean())


def _rescanned(worker: ReconstructionWorker, given: EvaluationObject, name: str) -> EvaluationObject:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rest = given.surface.at(given.vertices)
    side = side_that_moves(rest, np.stack([given.surface.at(pose) for pose in given.targets]))
    seen = seen_mesh(worker, given.vertices, given.faces, side + rng.uniform(-0.7, 0.7), rng)
    targets, frames = (np.stack([seen.carried_to(pose) for pose in poses]) for poses in (given.targets, given.frames))
    return unit_object(name, seen.vertices, seen.faces, targets, frames)


@dataclass(frozen=True)
class SeenMesh:
    """What was reconstructed of a mesh, and how it goes along with it."""

    vertices: Floats
    """(n, 3) in the units of the true mesh."""
    faces: Ints
    """(m, 3)"""
    followed: MaterialPoints
    """The point of the true surface that each vertex is next to, ..."""
    offset: Floats
    """... and (n, 3) where it is from there."""

    def carried_to(self, pose: Floats) -> Floats:
        """(n, 3) where its vertices are when the true ones are at (v, 3)."""
        return self.followed.at(pose) + self.offset


def seen_mesh(
    worker: ReconstructionWorker, vertices: Floats, faces: np.ndarray, azimuth: float, rng: np.random.Generator
) -> SeenMesh:
    """What reconstruction makes of a scan of a mesh from one side; for the scan it gets a radius of about `RADIUS`.

    Args:
        worker: does it.
        vertices: (v, 3) of any size, z up, standing on the plane below its lowest vertex.
        faces: (f, 3).
        azimuth: radians about z from x, where the camera stands.
        rng: see `simulated_scan`.

    Raises:
        NeurokError: where nothing can be reconstructed.
    """
    tracked = MaterialPoints.random(vertices, faces, _TRACKED, 0)
    places = tracked.at(vertices)
    middle = places.mean(axis=0)
    scale = RADIUS / float(np.linalg.norm(vertices - middle, axis=1).max())
    shift = np.array([*(-scale * middle[:2]), -scale * vertices[:, 2].min()])
    scan = simulated_scan(scale * vertices + shift, faces, azimuth, rng)
    center = scale * vertices.mean(axis=0) + shift
    selection = ObjectSelection(point=(float(center[0]), float(center[1]), float(center[2])))
    options = SegmentationOptions(up=(0.0, 0.0, 1.0), split_touching=False)
    mesh, _ = worker.reconstruct(scan, options, selection, MeshOptions(), _TIMEOUT)
    found = (mesh.vertices - shift) / scale
    _, nearest = cKDTree(places).query(found)
    followed = MaterialPoints(tracked.corners[nearest], tracked.weights[nearest])
    return SeenMesh(found, np.asarray(mesh.faces, np.int64), followed, found - places[nearest])


def side_that_moves(rest: Floats, poses: Floats) -> float:
    """Radians about z from x: where most of what moves is, seen from the middle. A robot looks at what it wants to move.

    Args:
        rest: (n, 3) points of the surface.
        poses: (p, n, 3) where they go.
    """
    far = np.linalg.norm(poses - rest, axis=2).mean(axis=0)
    x, y, _ = far @ (rest - rest.mean(axis=0))
    return float(np.arctan2(y, x))


def simulated_scan(vertices: Floats, faces: np.ndarray, azimuth: float, rng: np.random.Generator) -> Scan:
    """What a structured-light camera sees of a mesh on the plane z = 0.

    Depth comes from a disparity quantized to 1/8 pixel with 1/10 pixel of noise, and is missing on grazing surfaces.

    Args:
        vertices: (n, 3) metres, z up.
        faces: (m, 3).
        azimuth: radians about z from x, where the camera stands.
        rng: chooses the camera's height, and the noise.
    """
    target = np.array([0.0, 0.0, vertices[:, 2].mean()])
    height = np.radians(rng.uniform(25, 45))
    away = np.array([np.cos(azimuth) * np.cos(height), np.sin(azimuth) * np.cos(height), np.sin(height)])
    eye = target + _DISTANCE * away
    right = np.cross(-away, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(-away, right), -away])
    columns, rows = np.meshgrid(np.arange(_WIDTH), np.arange(_HEIGHT))
    rays = np.stack([(columns - _WIDTH / 2 + 0.5) / _FOCAL, (rows - _HEIGHT / 2 + 0.5) / _FOCAL, np.ones(rows.shape)], axis=-1)
    depth = _depth(vertices, faces, eye, target)
    surface = depth[..., None] * rays
    normals = np.cross(np.gradient(surface, axis=1), np.gradient(surface, axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        facing = np.abs((normals * rays).sum(-1)) / np.linalg.norm(normals, axis=-1) / np.linalg.norm(rays, axis=-1)
        disparity = _FOCAL * _BASELINE / depth + rng.normal(0.0, 0.1, depth.shape)
        measured = _FOCAL * _BASELINE / (np.maximum(np.round(disparity * 8), 1.0) / 8)
        seen = np.isfinite(depth) & (facing > _GRAZING)
    points = eye + (rays * measured[..., None])[seen] @ axes
    return Scan(points, np.broadcast_to(eye, points.shape).copy())


def _depth(vertices: Floats, faces: np.ndarray, eye: Floats, target: Floats) -> Floats:
    """(height, width) metres along the camera's axis, NaN where nothing is."""
    plotter = pv.Plotter(off_screen=True, window_size=[_WIDTH, _HEIGHT])
    plotter.add_mesh(pv.PolyData.from_regular_faces(vertices, faces))
    plotter.add_mesh(pv.Plane(center=(0, 0, 0), direction=(0, 0, 1), i_size=1.2, j_size=1.2))
    plotter.camera.position, plotter.camera.focal_point, plotter.camera.up = tuple(eye), tuple(target), (0.0, 0.0, 1.0)
    plotter.camera.view_angle = float(np.degrees(2 * np.arctan(_HEIGHT / 2 / _FOCAL)))
    plotter.camera.clipping_range = (0.2, 3.0)
    plotter.show(auto_close=False)
    depth = -np.asarray(plotter.get_image_depth(), np.float64)
    plotter.close()
    return depth
