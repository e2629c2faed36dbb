#!/usr/bin/env python3
"""Records the scan that `make demo` plays: a plush bear and a carton on a table, seen by a simulated structured-light camera.

    python scripts/record_demo_scan.py demo/plush_bear

The camera is modelled after a 640x480 sensor with a 75 mm projector baseline: depth comes from a disparity quantized to 1/8 pixel
with 1/10 pixel of noise, and is missing where the projector's light is shadowed or grazes the surface.
"""

from __future__ import annotations

import argparse
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import open3d as o3d
import trimesh
from numpy.typing import NDArray
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

WIDTH, HEIGHT, FOCAL = 640, 480, 525.0
BASELINE = 0.075
FRAME = "camera_depth_optical_frame"
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Surface:
    """A mesh of one colour."""

    mesh: trimesh.Trimesh
    color: tuple[int, int, int]


def ellipsoid(center: tuple[float, float, float], radii: tuple[float, float, float], tilt_deg: float = 0.0) -> trimesh.Trimesh:
    """An ellipsoid in metres, tilted about the y axis, with the fuzzy surface of plush."""
    ball = trimesh.creation.icosphere(subdivisions=5)
    fuzz = 1.0 + 0.012 * np.sin(ball.vertices @ np.array([[31.0, 17.0], [-23.0, 29.0], [19.0, -37.0]])).sum(axis=1)
    ball.apply_transform(np.diag([*radii, 1.0]))
    ball.vertices *= fuzz[:, None]
    ball.apply_transform(trimesh.transformations.rotation_matrix(np.deg2rad(tilt_deg), [0, 1, 0]))
    ball.apply_translation(center)
    return ball


def plush_bear() -> list[Surface]:
    """A seated bear, 0.24 m tall, facing -y, on the plane z = 0."""
    brown, dark, cream, black = (150, 96, 54), (118, 72, 40), (226, 196, 150), (28, 24, 22)
    parts = [
        (brown, (0.0, 0.0, 0.075), (0.058, 0.050, 0.078), 0.0),
        (cream, (0.0, -0.012, 0.078), (0.042, 0.042, 0.055), 0.0),
        (brown, (0.0, -0.004, 0.182), (0.052, 0.048, 0.048), 0.0),
        (cream, (0.0, -0.044, 0.170), (0.023, 0.020, 0.018), 0.0),
        (black, (0.0, -0.062, 0.176), (0.008, 0.006, 0.006), 0.0),
        (black, (-0.019, -0.047, 0.195), (0.006, 0.005, 0.006), 0.0),
        (black, (0.019, -0.047, 0.195), (0.006, 0.005, 0.006), 0.0),
    ]
    for side in (-1.0, 1.0):
        parts += [
            (dark, (side * 0.042, 0.0, 0.222), (0.020, 0.014, 0.020), 0.0),
            (brown, (side * 0.066, -0.016, 0.104), (0.020, 0.020, 0.046), -side * 28.0),
            (dark, (side * 0.044, -0.060, 0.027), (0.027, 0.050, 0.027), 0.0),
        ]
    return [Surface(ellipsoid(center, radii, tilt), color) for color, center, radii, tilt in parts]


def table_scene() -> list[Surface]:
    """The bear, a carton 0.2 m beside it, and the table top; metres, z up."""
    carton = trimesh.creation.box((0.07, 0.05, 0.15))
    carton.apply_transform(trimesh.transformations.rotation_matrix(0.5, [0, 0, 1]))
    carton.apply_translation([0.22, 0.05, 0.075])
    table = trimesh.creation.box((1.1, 0.8, 0.03))
    table.apply_translation([0.0, 0.05, -0.015])
    return [*plush_bear(), Surface(carton, (72, 120, 168)), Surface(table, (196, 188, 176))]


def look_at(eye: Floats, target: Floats) -> Floats:
    """(3, 3) rotation from the optical frame (x right, y down, z forward) to the world."""
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward], axis=1)


def record(scene: list[Surface], eye: Floats, target: Floats, rng: np.random.Generator) -> tuple[Floats, NDArray[np.uint8]]:
    """The organised cloud (HEIGHT, WIDTH, 3) in metres in the optical frame, NaN where nothing was measured, and its colours."""
    caster = o3d.t.geometry.RaycastingScene()
    for surface in scene:
        caster.add_triangles(_tensor(surface.mesh.vertices, np.float32), _tensor(surface.mesh.faces, np.uint32))
    rotation = look_at(eye, target)
    columns, rows = np.meshgrid(np.arange(WIDTH), np.arange(HEIGHT))
    rays = np.stack([(columns - WIDTH / 2 + 0.5) / FOCAL, (rows - HEIGHT / 2 + 0.5) / FOCAL, np.ones((HEIGHT, WIDTH))], axis=-1)
    hits = caster.cast_rays(_rays(np.broadcast_to(eye, rays.shape), rays @ rotation.T))
    depth = hits["t_hit"].numpy().astype(np.float64)
    depth[~np.isfinite(depth)] = np.nan
    normals = hits["primitive_normals"].numpy() @ rotation
    points = eye + (depth[..., None] * rays) @ rotation.T

    projector = eye + rotation[:, 0] * BASELINE
    lit = caster.test_occlusions(_rays(points, projector - points), tnear=0.01, tfar=0.99).numpy() == 0
    unit = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    grazing = np.abs((normals * unit).sum(axis=-1))
    seen = np.isfinite(depth) & lit & (grazing > 0.15)

    disparity = FOCAL * BASELINE / depth + rng.normal(0.0, 0.1, depth.shape)
    measured = FOCAL * BASELINE / (np.maximum(np.round(disparity * 8), 1.0) / 8)
    cloud = np.where(seen[..., None], rays * measured[..., None], np.nan)

    palette = np.array([surface.color for surface in scene] + [(0, 0, 0)], np.float64)
    index = hits["geometry_ids"].numpy().astype(np.int64)
    index[(index < 0) | (index >= len(scene))] = len(scene)
    shade = 0.55 + 0.45 * grazing + rng.normal(0.0, 0.02, depth.shape)
    return cloud, np.clip(palette[index] * shade[..., None], 0, 255).astype(np.uint8)


def _rays(origins: Floats, directions: Floats) -> Any:
    return _tensor(np.concatenate([origins, directions], axis=-1), np.float32)


def _tensor(values: NDArray[Any], kind: type) -> Any:
    return o3d.core.Tensor.from_numpy(values.astype(kind))


def write_bag(cloud: Floats, colors: NDArray[np.uint8], path: Path) -> None:
    """Write a rosbag2 folder (MCAP storage) with one PointCloud2 on /camera/depth/color/points."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    data = np.zeros((HEIGHT, WIDTH), np.dtype([("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("rgb", "<u4")]))
    for axis, name in enumerate("xyz"):
        data[name] = cloud[..., axis]
    channels = colors.astype(np.uint32)
    data["rgb"] = channels[..., 0] << 16 | channels[..., 1] << 8 | channels[..., 2]
    field = types["sensor_msgs/msg/PointField"]
    message = types["sensor_msgs/msg/PointCloud2"](
        header=types["std_msgs/msg/Header"](stamp=types["builtin_interfaces/msg/Time"](sec=0, nanosec=0), frame_id=FRAME),
        height=HEIGHT,
        width=WIDTH,
        fields=[field(name=name, offset=4 * i, datatype=7, count=1) for i, name in enumerate(("x", "y", "z", "rgb"))],
        is_bigendian=False,
        point_step=data.dtype.itemsize,
        row_step=data.dtype.itemsize * WIDTH,
        data=data.reshape(-1).view(np.uint8),
        is_dense=False,
    )
    shutil.rmtree(path, ignore_errors=True)
    writer = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/camera/depth/color/points", message.__msgtype__, typestore=store)
        writer.write(connection, 0, store.serialize_cdr(message, message.__msgtype__))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bag", type=Path, help="rosbag2 folder to write")
    path = parser.parse_args().bag
    cloud, colors = record(table_scene(), np.array([-0.12, -0.62, 0.42]), np.array([0.04, 0.0, 0.08]), np.random.default_rng(0))
    write_bag(cloud, colors, path)
    print(f"{path}: {np.isfinite(cloud[..., 2]).sum()} of {WIDTH * HEIGHT} points measured")


if __name__ == "__main__":
    main()
