"""What a camera sees of a mesh from one side, and what reconstruction makes of it."""

from __future__ import annotations

import numpy as np
import pyvista as pv

from neurok_ros.reconstruction import MeshOptions, ObjectSelection, ReconstructionWorker, Scan, SegmentationOptions
from training.sampling import Floats, Ints

RADIUS = 0.18
"""Metres that an object's radius becomes: something that stands on a table."""
_WIDTH, _HEIGHT, _FOCAL = 640, 480, 525.0
_BASELINE = 0.075
"""Metres between camera and projector."""
_DISTANCE = 0.9
_GRAZING = 0.15
_TIMEOUT = 90.0


def reconstructed(
    worker: ReconstructionWorker,
    vertices: Floats,
    faces: Ints,
    middle: Floats,
    radius: float,
    azimuth: float,
    rng: np.random.Generator,
) -> tuple[Floats, Ints]:
    """The mesh (n, 3), (m, 3) that reconstruction makes of a scan of a mesh, in the units of that mesh.

    Args:
        worker: does it.
        vertices: (v, 3) of any size, z up, standing on the plane below its lowest vertex.
        faces: (f, 3).
        middle: (3,) of its surface.
        radius: metres that the farthest vertex has from there while it is scanned.
        azimuth: radians about z from x, where the camera stands.
        rng: see `simulated_scan`.

    Raises:
        NeurokError: where nothing can be reconstructed.
    """
    scale = radius / float(np.linalg.norm(vertices - middle, axis=1).max())
    shift = np.array([*(-scale * middle[:2]), -scale * vertices[:, 2].min()])
    scan = simulated_scan(scale * vertices + shift, faces, azimuth, rng)
    center = scale * vertices.mean(axis=0) + shift
    selection = ObjectSelection(point=(float(center[0]), float(center[1]), float(center[2])))
    options = SegmentationOptions(up=(0.0, 0.0, 1.0), split_touching=False)
    mesh, _ = worker.reconstruct(scan, options, selection, MeshOptions(), _TIMEOUT)
    return (mesh.vertices - shift) / scale, np.asarray(mesh.faces, np.int64)


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
