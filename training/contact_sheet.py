"""Pictures of the data set: objects of every kind in several states, to be looked at.

`python -m training.contact_sheet docs/images/data_articulated.png` and `... docs/images/data_deformed.png --family deformed`
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import pyvista as pv
import typer
from PIL import Image, ImageDraw

from training.data import RECONSTRUCTED, SIMULATED
from training.data.articulated.categories import articulated_sources
from training.data.articulated.source import ArticulatedObject, ArticulatedSource
from training.data.deformed.source import SoftSource, soft_sources
from training.data.framing import without_rigid_motion
from training.data.reconstructed.store import ReconstructedSource, reconstructed_sources
from training.data.rigid.source import RigidSource, rigid_sources
from training.data.simulated.sequences import SequenceSource, simulated_sources
from training.sampling import Floats, Ints

_PALETTE = np.array(
    [
        [176, 184, 194],
        [233, 120, 82],
        [88, 150, 205],
        [120, 180, 100],
        [222, 185, 80],
        [160, 120, 190],
        [95, 185, 180],
        [205, 110, 150],
    ],
    np.uint8,
)
_POINT = 0.012
"""Of the object's size: half the width of the square that stands for a point."""
_LABEL = 16
"""Pixels above each tile."""


@dataclass(frozen=True)
class Shape:
    """One mesh of a tile."""

    vertices: Floats
    """(v, 3)."""
    faces: Ints
    """(f, 3)."""
    color: Ints
    """(f,) number of each face's colour."""


@dataclass(frozen=True)
class Tile:
    """A row of pictures of one object, drawn at one scale."""

    label: str
    shapes: Sequence[Shape]


def articulated_tile(source: ArticulatedSource, number: int, states: int = 3) -> Tile:
    """One object at rest and in `states - 1` other states."""
    made: ArticulatedObject = source.fixed_object(number)
    mechanism = made.mechanism
    rng = np.random.default_rng(number)
    far = np.array([c.upper if c.upper - c.rest > c.rest - c.lower else c.lower for c in mechanism.coordinates])
    values = [
        mechanism.rest,
        *[mechanism.rest + (far - mechanism.rest) * rng.uniform(0.3, 1.0, len(far)) for _ in range(states - 1)],
    ]
    shapes = [Shape(made.vertices(v), made.surface.faces, made.assembly.face_link) for v in values]
    return Tile(source.name.split("/")[-1], shapes)


def soft_tile(source: SoftSource, number: int, states: int = 3) -> Tile:
    """One soft body undeformed and under `states - 1` random deformations."""
    made = source.fixed_object(number)
    rng = np.random.default_rng(number)
    rest = made.surface.vertices
    shapes = [rest]
    for _ in range(states - 1):
        moved, jacobian = made.deform(rng, float(rng.uniform(0.3, 2.0)), rest)
        shapes.append(without_rigid_motion(rest, moved, jacobian)[0])
    color = np.full(len(made.surface.faces), zlib.crc32(source.name.encode()) + number)
    return Tile(source.name.split("/")[-1], [Shape(vertices, made.surface.faces, color) for vertices in shapes])


def rigid_tile(source: RigidSource, number: int, states: int = 3) -> Tile:
    """One scene as built, and after `states - 1` random moves."""
    made = source.fixed_object(number)
    rng = np.random.default_rng(number)
    still = np.tile(np.eye(4), (int(made.assembly.face_link.max()) + 1, 1, 1))
    poses = [still, *[made.poses(rng) for _ in range(states - 1)]]
    shapes = [Shape(made.vertices(each), made.assembly.surface.faces, made.assembly.face_link) for each in poses]
    return Tile(source.name.split("/")[-1], shapes)


def simulated_tile(source: SequenceSource, number: int, states: int = 3) -> Tile:
    """A simulated object at first, and in `states - 1` later frames."""
    sequence = source.fixed_object(number).sequence
    frames = np.linspace(0, len(sequence.vertices) - 1, states).round().astype(int)
    color = np.full(len(sequence.faces), zlib.crc32(source.name.encode()) + number)
    return Tile(source.name.split("/")[-1], [Shape(sequence.vertices[i], sequence.faces, color) for i in frames])


def reconstructed_tile(source: ReconstructedSource, number: int, states: int = 3) -> Tile:
    """The points of a reconstructed object as it was scanned, and in `states - 1` random states."""
    made = source.fixed_object(number)
    surface = made.surface
    rng = np.random.default_rng(number)
    values = [made.values, *[made.mechanism.random_values(rng) for _ in range(states - 1)]]
    across = np.cross(surface.normals, np.roll(surface.normals, 1, axis=1) + np.array([0.3, 0.1, 0.2]))
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    along = np.cross(surface.normals, across)
    count, size = len(surface.points), _POINT * float(np.linalg.norm(np.ptp(surface.points, axis=0)))
    corners = [surface.points + size * (x * across + y * along) for x, y in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    squares = replace(surface, points=np.vstack(corners), normals=np.tile(surface.normals, (4, 1)), link=np.tile(surface.link, 4))
    point = np.arange(count)
    halves = [np.stack([point, point + i * count, point + (i + 1) * count], axis=1) for i in (1, 2)]
    shapes = [Shape(squares.at(each), np.vstack(halves), np.tile(surface.link, 2)) for each in values]
    return Tile(source.name.split("/")[-1], shapes)


def draw(tiles: Sequence[Tile], columns: int, size: int = 90) -> Image.Image:
    """Tiles side by side in `columns` columns; every picture is `size` pixels wide and high."""
    wide = max(len(tile.shapes) for tile in tiles)
    rows = -(-len(tiles) // columns)
    width, height = columns * wide * size, rows * (size + _LABEL)
    plotter = pv.Plotter(off_screen=True, window_size=[2 * width, 2 * height], lighting="none")
    plotter.set_background("white")
    view = _view()
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        everything = np.vstack([shape.vertices for shape in tile.shapes]) @ view.T
        low, high = everything.min(axis=0), everything.max(axis=0)
        scale = 0.94 * size / max(high[:2] - low[:2])
        for place, shape in enumerate(tile.shapes):
            corner = np.array([(column * wide + place + 0.5) * size, -(row * (size + _LABEL) + _LABEL + 0.5 * size), 0.0])
            points = (shape.vertices @ view.T - (low + high) / 2) * scale + corner
            mesh = pv.PolyData.from_regular_faces(points, shape.faces)
            mesh.cell_data["color"] = _PALETTE[shape.color % len(_PALETTE)]
            plotter.add_mesh(mesh, scalars="color", rgb=True, smooth_shading=False, ambient=0.35, diffuse=0.75, show_edges=False)
    for position, power in (((0.3, 0.9, 1.0), 0.75), ((-0.8, 0.2, 0.6), 0.4)):
        plotter.add_light(pv.Light(position=position, focal_point=(0, 0, 0), intensity=power, light_type="scene light"))
    plotter.enable_parallel_projection()
    plotter.camera.position = (width / 2, -height / 2, 1000)
    plotter.camera.focal_point = (width / 2, -height / 2, 0)
    plotter.camera.up = (0, 1, 0)
    plotter.camera.parallel_scale = height / 2
    plotter.camera.clipping_range = (1, 2000)
    plotter.enable_anti_aliasing("ssaa")
    picture = Image.fromarray(np.asarray(plotter.screenshot(None, return_img=True)))
    plotter.close()
    picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    pen = ImageDraw.Draw(picture)
    for number, tile in enumerate(tiles):
        row, column = divmod(number, columns)
        pen.text((column * wide * size + 4, row * (size + _LABEL) + 3), tile.label, fill=(30, 30, 30))
    return picture


def _view() -> Floats:
    """(3, 3) turns z up, x forward into right, up, towards the viewer: seen from the front, the left and above."""
    toward = np.array([0.75, -0.5, 0.45])
    toward /= np.linalg.norm(toward)
    right = np.cross((0.0, 0.0, 1.0), toward)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(toward, right), toward])


def main(
    out: Path,
    family: Annotated[str, typer.Option(help="articulated, deformed, rigid, simulated or reconstructed.")] = "articulated",
    kinds: Annotated[str, typer.Option(help="Kinds of the family, separated by commas; all where empty.")] = "",
    instances: int = 3,
    columns: int = 6,
    size: int = 60,
    colors: Annotated[int, typer.Option(help="Of the picture's palette.")] = 48,
) -> None:
    """Draw instances of each kind of a family, each in three states; only objects that training never sees."""
    wanted = kinds.split(",") if kinds else []
    tiles: list[Tile] = []
    if family == "articulated":
        rigid = {s.name.split("/")[-1]: s for s in (*articulated_sources(False, True), *articulated_sources(True, True))}
        tiles = [articulated_tile(rigid[name], number) for name in wanted or sorted(rigid) for number in range(instances)]
    elif family == "deformed":
        soft = {s.name.split("/")[-1]: s for s in soft_sources(True)}
        tiles = [soft_tile(soft[name], number) for name in wanted or sorted(soft) for number in range(instances)]
    elif family == "rigid":
        scenes = {s.name.split("/")[-1]: s for s in rigid_sources(True)}
        tiles = [rigid_tile(scenes[name], number) for name in wanted or sorted(scenes) for number in range(instances)]
    elif family == "simulated":
        found = {s.name.split("/")[-1]: s for s in simulated_sources(SIMULATED, False)}
        tiles = [simulated_tile(found[name], number) for name in wanted or sorted(found) for number in range(instances)]
    elif family == "reconstructed":
        scanned = {s.name.split("/")[-1]: s for s in reconstructed_sources(RECONSTRUCTED, True)}
        tiles = [reconstructed_tile(scanned[name], number) for name in wanted or sorted(scanned) for number in range(instances)]
    else:
        raise typer.BadParameter(f"there is no family {family!r}")
    out.parent.mkdir(parents=True, exist_ok=True)
    draw(tiles, columns, size).quantize(colors).save(out, optimize=True)


if __name__ == "__main__":
    typer.run(main)
