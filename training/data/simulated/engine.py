"""Flexible bodies in MuJoCo: short motions under gravity and pulls that come and go."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np

from neurok_ros.geometry import build_lattice
from neurok_ros.geometry.lattice import CORNERS
from training.data.articulated.mechanism import rotation_about
from training.data.deformed.bodies import BODIES, body_surface
from training.data.simulated.sequences import MeshSequence
from training.data.simulated.skins import grid_triangles, shell_faces, shell_vertices, tube_faces, tube_vertices
from training.sampling import Floats, Ints

_STEP = 0.002
"""Seconds."""
_EVERY = 40
"""Steps between the frames that are kept."""
_FRAMES = 14
_DIVERGED = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
_DRAG = 1.5
"""1/s: the air's force on a node for its mass and velocity."""
_MOST_STRETCH = 3.0
"""A motion with a longer or shorter edge than this many times its first length counts as failed."""
_LEAST_VOLUME = 0.1
"""The same for a tetrahedron that keeps less than this part of its volume."""
_CELLS = 90
"""Of the lattice that fills a soft body."""
_SOFT = ("block", "blob", "cylinder", "glove", "hoop", "plush", "quadruped")
KINDS = ("cloth", "panel", "rope", *(f"soft_{name}" for name in _SOFT))
"""Sheets, stiff sheets, strings, and each kind of soft body."""


@dataclass(frozen=True)
class Flex:
    """What MuJoCo is asked to simulate."""

    nodes: Floats
    """(n, 3) metres."""
    elements: Ints
    """(e, 2, 3 or 4) edges, triangles or tetrahedra."""
    attributes: str
    """MJCF inside the flexcomp element: elasticity, edges."""
    mass: float
    """Kilograms."""
    pinned: Ints
    """Nodes that do not move."""
    gravity: Floats
    """(3,) m/s^2."""


def simulate(kind: str, seed: tuple[int, ...], force: float = 1.0) -> MeshSequence | None:
    """One object of a kind in its first shape and in `_FRAMES` frames of a motion; None where the motion went wrong.

    Args:
        kind: of `KINDS`.
        seed: equal seeds give the equal sequence on one version of MuJoCo.
        force: how hard it is pulled, of what its kind usually gets.
    """
    rng = np.random.default_rng(seed)
    if kind in ("cloth", "panel"):
        return _sheet(rng, force, stiff=kind == "panel")
    if kind == "rope":
        return _string(rng, force)
    return _soft(rng, force, kind.removeprefix("soft_"))


def _sheet(rng: np.random.Generator, force: float, stiff: bool) -> MeshSequence | None:
    rows, columns = rng.integers(9, 16, 2)
    spacing = 0.6 / max(rows, columns)
    grid = np.stack(np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"), axis=-1).reshape(-1, 2) * spacing
    points = np.column_stack([grid - grid.mean(axis=0), np.zeros(len(grid))])
    if stiff and rng.random() < 0.6:
        points[:, 2] = rng.uniform(-1.5, 1.5) * points[:, 0] ** 2
    if rng.random() < 0.5:
        points = points @ rotation_about(np.array([1.0, 0, 0]), np.pi / 2).T
    triangles = grid_triangles(int(rows), int(columns))
    young = 10 ** (rng.uniform(6.0, 7.0) if stiff else rng.uniform(3.5, 5.5))
    elastic = f'<elasticity young="{young:.4g}" poisson="0.2" thickness="0.006" damping="0.004" elastic2d="both"/>'
    corners = np.array([0, columns - 1, (rows - 1) * columns, rows * columns - 1])
    edge = np.arange(columns)
    held = [corners[:1], corners[:2], corners[[0, 3]], corners, edge, np.array([(rows // 2) * columns + columns // 2])]
    pinned = edge if stiff and rng.random() < 0.7 else held[int(rng.integers(len(held)))]
    flex = Flex(points, triangles, elastic, 0.15, pinned, np.array([0, 0, -9.81]) * (rng.random() < 0.8))
    motion = _move(rng, flex, force * float(rng.uniform(0.2, 1.5) * (3.0 if stiff else 1.0)))
    if motion is None:
        return None
    vertices = np.stack([shell_vertices(frame, triangles, 0.008) for frame in motion])
    return MeshSequence(vertices, shell_faces(triangles, len(points)), fixed=True)


def _string(rng: np.random.Generator, force: float) -> MeshSequence | None:
    count = int(rng.integers(16, 32))
    turn = np.cumsum(rng.normal(0, rng.uniform(0.0, 0.35), (count - 1, 2)), axis=0)
    (cos_a, cos_b), (sin_a, sin_b) = np.cos(turn).T, np.sin(turn).T
    steps = np.column_stack([cos_a * cos_b, sin_a * cos_b, sin_b])
    points = np.vstack([np.zeros(3), np.cumsum(steps, axis=0)]) * 0.8 / count
    ends = np.array([0, count - 1])
    held = [ends[:1], ends, np.array([count // 2])]
    edges = np.column_stack([np.arange(count - 1), np.arange(1, count)])
    unstretchable = '<edge equality="true" solref="0.004 1"/>'
    flex = Flex(points, edges, unstretchable, 0.1, held[int(rng.integers(3))], np.array([0, 0, -9.81]))
    motion = _move(rng, flex, force * float(rng.uniform(0.1, 0.8)))
    if motion is None:
        return None
    radius = float(rng.uniform(0.006, 0.016))
    return MeshSequence(np.stack([tube_vertices(frame, radius) for frame in motion]), tube_faces(count), fixed=True)


def _soft(rng: np.random.Generator, force: float, name: str) -> MeshSequence | None:
    surface = body_surface(BODIES[name](rng))
    size = 0.4
    lattice = build_lattice(surface.vertices * size, surface.faces, _CELLS)
    tetrahedra = _tetrahedra(lattice.cells)
    young = 10 ** rng.uniform(4.0, 5.0)
    elastic = f'<elasticity young="{young:.4g}" poisson="{rng.uniform(0.1, 0.4):.3f}" damping="0.01"/>'
    height = lattice.nodes @ rng.choice([[0.0, 0, 1], [0.0, 0, -1], [0.0, 1, 0]])
    free = rng.random() < 0.35
    pinned = np.flatnonzero(height <= np.quantile(height, rng.uniform(0.1, 0.3))) if not free else np.zeros(0, np.int64)
    gravity = np.zeros(3) if free else np.array([0, 0, -9.81]) * (rng.random() < 0.7)
    flex = Flex(lattice.nodes, tetrahedra, elastic, float(300 * lattice.volume), pinned, gravity)
    strength = young * lattice.volume / size * rng.uniform(0.05, 0.4)
    motion = _move(rng, flex, force * float(strength))
    if motion is None:
        return None
    skin = lattice.interpolate(surface.vertices * size)
    return MeshSequence(np.stack([skin(frame) for frame in motion]), surface.faces, fixed=not free)


def _tetrahedra(cells: Ints) -> Ints:
    """(6 c, 4) Kuhn's division of hexahedra: neighbours of one orientation divide their common face alike."""
    number = {tuple(corner): i for i, corner in enumerate(CORNERS.tolist())}
    made = []
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (0, 2, 1), (2, 1, 0), (1, 0, 2)):
        unit = np.eye(3, dtype=np.int64)
        path = [np.zeros(3, np.int64), unit[a], unit[a] + unit[b], unit[a] + unit[b] + unit[c]]
        corners = [number[tuple(int(x) for x in p)] for p in path]
        even = (a, b, c) in ((0, 1, 2), (1, 2, 0), (2, 0, 1))
        made.append(cells[:, corners if even else [corners[0], corners[2], corners[1], corners[3]]])
    return np.concatenate(made)


def _move(rng: np.random.Generator, flex: Flex, strength: float) -> Floats | None:
    """(1 + frames, n, 3) the nodes at first and in the frames kept; None where they flew apart."""
    mujoco.set_mju_user_warning(_ignore)
    model = mujoco.MjModel.from_xml_string(_mjcf(flex))
    data = mujoco.MjData(model)
    bodies = model.flex_vertbodyid
    mujoco.mj_forward(model, data)
    frames = [data.flexvert_xpos.reshape(-1, 3).copy()]
    pulls = _Pulls(rng, flex.nodes, strength)
    mass = flex.mass / len(flex.nodes)
    for step in range(_FRAMES * _EVERY):
        force = pulls(step / (_FRAMES * _EVERY))
        if len(flex.pinned) == 0:
            force = force - force.mean(axis=0)
        data.xfrc_applied[bodies, :3] = force - _DRAG * mass * _velocities(model, data)
        mujoco.mj_step(model, data)
        if (step + 1) % _EVERY == 0:
            frames.append(data.flexvert_xpos.reshape(-1, 3).copy())
    if any(data.warning[int(kind)].number for kind in _DIVERGED):
        return None
    motion = np.stack(frames)
    return motion if _is_sound(motion, flex.elements) else None


def _velocities(model: mujoco.MjModel, data: mujoco.MjData) -> Floats:
    """(n, 3) m/s of the nodes; each is a body of three slides, a pinned one belongs to the world."""
    velocities = np.zeros((len(model.flex_vertbodyid), 3))
    address = model.body_dofadr[model.flex_vertbodyid]
    moving = model.body_dofnum[model.flex_vertbodyid] == 3
    velocities[moving] = data.qvel[address[moving, None] + np.arange(3)]
    return velocities


class _Pulls:
    """One to three forces on round regions of an object, each for a while; two that face each other squeeze."""

    def __init__(self, rng: np.random.Generator, nodes: Floats, strength: float) -> None:
        size = float(np.ptp(nodes, axis=0).max())
        self._fields: list[tuple[Floats, float, float]] = []
        for _ in range(int(rng.integers(1, 4))):
            center = nodes[int(rng.integers(len(nodes)))]
            weight = np.exp(-0.5 * ((nodes - center) ** 2).sum(axis=1) / (rng.uniform(0.12, 0.35) * size) ** 2)
            weight /= weight.sum()
            way = rng.normal(size=3)
            way /= np.linalg.norm(way)
            kind = rng.random()
            if kind < 0.55:
                field = np.tile(way, (len(nodes), 1))
            elif kind < 0.8:
                field = -np.sign((nodes - center) @ way)[:, None] * way
            else:
                field = np.cross(way, nodes - center) / size * 2
            start = float(rng.uniform(0.0, 0.4))
            self._fields.append((strength * weight[:, None] * field, start, start + float(rng.uniform(0.2, 0.6))))

    def __call__(self, time: float) -> Floats:
        """(n, 3) newtons at a time from 0 to 1."""
        return np.asarray(sum(field * _window(time, start, end) for field, start, end in self._fields))


def _window(time: float, start: float, end: float) -> float:
    return float(np.sin(np.pi * (time - start) / (end - start)) ** 2) if start < time < end else 0.0


def _is_sound(motion: Floats, elements: Ints) -> bool:
    if not np.isfinite(motion).all():
        return False
    corners = elements.shape[1]
    edges = np.vstack([elements[:, [i, j]] for i in range(corners) for j in range(i)])
    lengths = np.linalg.norm(motion[:, edges[:, 0]] - motion[:, edges[:, 1]], axis=2)
    ratio = lengths / lengths[0]
    moved = np.linalg.norm(motion - motion[0], axis=2).max()
    if corners == 4:
        a, b, c, d = np.moveaxis(motion[:, elements], 2, 0)
        volumes = np.einsum("tei,tei->te", np.cross(b - a, c - a), d - a)
        if (volumes / volumes[0]).min() < _LEAST_VOLUME:
            return False
    intact = ratio.max() < _MOST_STRETCH and ratio.min() > 1 / _MOST_STRETCH
    return bool(intact and moved > 0.02 * np.ptp(motion[0], axis=0).max())


def _ignore(message: str) -> None:
    """MuJoCo would write its warnings to a log file where the command runs; those that matter are counted in its data too."""


def _mjcf(flex: Flex) -> str:
    def flat(values: Floats | Ints) -> str:
        return " ".join(f"{value:.7g}" for value in np.ravel(values))

    dim = flex.elements.shape[1] - 1
    pin = f'<pin id="{flat(flex.pinned)}"/>' if len(flex.pinned) else ""
    return (
        f'<mujoco><option timestep="{_STEP}" solver="CG" tolerance="1e-6" integrator="discrete" gravity="{flat(flex.gravity)}"/>'
        f'<size memory="64M"/><worldbody><flexcomp name="flex" type="direct" dim="{dim}" mass="{flex.mass:.5g}" radius="0.001" '
        f'point="{flat(flex.nodes)}" element="{flat(flex.elements)}"><contact selfcollide="none" contype="0" conaffinity="0"/>'
        f"{flex.attributes}{pin}</flexcomp></worldbody></mujoco>"
    )
