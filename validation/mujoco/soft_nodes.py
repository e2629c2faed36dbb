"""A soft block whose every node moves, here and in MuJoCo: the same tetrahedra, masses and held nodes.

MuJoCo's material is Saint Venant-Kirchhoff's, here it is neo-Hookean with the same moduli: they part at large strains.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, Material, ToolKind, ToolPath, ToolShape, simulate
from neurok_ros.parameterization import StrainSites
from neurok_ros.prediction.types import PhysicalProperties
from validation.case import Case, Motion
from validation.mujoco.comparison import DEFAULT_STEP, force_figures, mean_error, through
from validation.mujoco.flex import Flex, record_flex
from validation.mujoco.reference import FRAME_RATE, TOUCHING
from validation.mujoco.voxels import Tetrahedra, tetrahedra

Floats = NDArray[np.float64]
PROPERTIES = PhysicalProperties(density=200.0, youngs_modulus=2.0e4, poisson_ratio=0.3, damping=0.01, friction=0.3)
CELLS, EDGE = (3, 3, 6), 0.025
"""Of the block; metres."""
FINE_STEP = 1.0 / 120.0
"""Seconds."""
STEPS_PER_FRAME = 256
"""Of MuJoCo, explicit: stable at this stiffness and damping."""
BAR = ToolShape(ToolKind.CYLINDER, (0.12, 0.01))
"""Lies along y."""
FACE_CUTS = 6
"""So fine are the faces sampled that a tool meets."""
PLATE = ToolShape(ToolKind.BOX, (0.12, 0.12, 0.02))
ROW_HEIGHT = 0.124
"""Metres: of a row of nodes, sagged."""


class Nodes:
    """Every node moves by itself, save those that are held, and particles between them move with them.

    Args:
        nodes: (n, 3) metres.
        moving: (m,) the nodes that move.
        between: (p, n) weights by which nodes carry further particles.
    """

    def __init__(self, nodes: Tensor, moving: Tensor, between: Tensor) -> None:
        weights = torch.cat([torch.eye(len(nodes), dtype=nodes.dtype), between])
        self._points, self._weights = weights @ nodes, weights[:, moving]
        self.dim = 3 * len(moving)
        self.rest = nodes.new_zeros(self.dim)
        self._jacobian = torch.einsum("nm,ij->nimj", self._weights, torch.eye(3, dtype=nodes.dtype)).reshape(-1, 3, self.dim)

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        return self._points + self._weights @ q.view(-1, 3)

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, dim), the same at every state."""
        return self._jacobian

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """The sum."""
        return q + step


@dataclass(frozen=True, eq=False)
class Pushed:
    """What happens to the block."""

    tool: ToolShape | None
    path: ToolPath | None
    seconds: float
    max_step: float = DEFAULT_STEP


def compared(pushed: Pushed) -> Motion:
    """The nodes here and in MuJoCo."""
    solid = tetrahedra(np.ones(CELLS, bool), (EDGE, EDGE, EDGE))
    held = np.flatnonzero(solid.nodes[:, 2] < 0.5 * EDGE)
    flex = Flex(solid.nodes, solid.elements, PROPERTIES.density * solid.node_volumes(), held, PROPERTIES)
    truth, force = record_flex(flex, pushed.seconds, STEPS_PER_FRAME, "Euler", pushed.tool, pushed.path, TOUCHING)
    predicted, tool_force = simulated(solid, flex, pushed, pushed.max_step)
    times, size = np.arange(len(truth)) / FRAME_RATE, float(np.ptp(solid.nodes, axis=0).max())
    motion = Motion(times, truth, predicted, size)
    figures = {"kinematics_error_percent_of_size": 0.0, "dynamics_error_percent_of_size": 100.0 * mean_error(motion) / size}
    if pushed.tool is not None:
        figures |= force_figures(tool_force, force)
    if pushed.max_step < DEFAULT_STEP:
        by_default = Motion(times, truth, simulated(solid, flex, pushed, DEFAULT_STEP)[0], size)
        figures["max_step_ms"] = 1e3 * pushed.max_step
        figures["default_step_error_percent_of_peak"] = 100.0 * float(by_default.rmse().max()) / motion.peak()
    return Motion(times, truth, predicted, size, figures)


def simulated(solid: Tetrahedra, flex: Flex, pushed: Pushed, max_step: float) -> tuple[Floats, Floats]:
    """This package's nodes (t, n, 3) in metres and force on the tool (t, 3) in N, its mean over the steps of a frame."""
    torch.set_num_threads(1)
    moving = np.setdiff1d(np.arange(len(solid.nodes)), flex.held)
    between = face_points(solid)
    body = Body(
        Nodes(torch.from_numpy(solid.nodes), torch.from_numpy(moving), torch.from_numpy(between)),
        torch.cat([torch.from_numpy(flex.masses), torch.zeros(len(between), dtype=torch.float64)]),
        torch.arange(len(between)) + len(solid.nodes),
        torch.full((len(between),), 0.5 * (EDGE / FACE_CUTS) ** 2, dtype=torch.float64),
        Material(PROPERTIES.youngs_modulus, PROPERTIES.poisson_ratio, PROPERTIES.damping, PROPERTIES.friction),
        strain_sites(solid),
    )
    conditions = Conditions(tool=pushed.tool, path=pushed.path)
    per_frame = round(1.0 / (FRAME_RATE * max_step))
    times = np.arange(round(pushed.seconds * FRAME_RATE) * per_frame + 1) / (FRAME_RATE * per_frame)
    steps = [f for f in simulate(body, conditions, times.tolist(), max_step) if not f.diverged]
    frames = steps[::per_frame]
    force = np.zeros((len(frames), 3))
    force[1:] = np.stack([f.tool_force for f in steps[1 : (len(frames) - 1) * per_frame + 1]]).reshape(-1, per_frame, 3).mean(1)
    return np.stack([f.positions.numpy()[: len(solid.nodes)] for f in frames]), force


def face_points(solid: Tetrahedra) -> Floats:
    """(p, n) nodes' weights of a grid of points on the faces that a tool meets: the upper ones at the least x, and the top."""
    low, top = solid.nodes[:, 0].min(), solid.nodes[:, 2].max()
    corners = solid.nodes[solid.surface]
    side = (np.abs(corners[:, :, 0] - low) < 1e-9).all(1) & (corners[:, :, 2] > top - 2.5 * EDGE).all(1)
    above = (np.abs(corners[:, :, 2] - top) < 1e-9).all(1)
    steps = [(i, j, FACE_CUTS - i - j) for i in range(FACE_CUTS + 1) for j in range(FACE_CUTS + 1 - i)]
    shares = np.array(steps) / FACE_CUTS
    weights = np.zeros((int((side | above).sum()), len(shares), len(solid.nodes)))
    for face, triangle in enumerate(solid.surface[side | above]):
        weights[face][:, triangle] = shares
    return np.unique(weights.reshape(-1, len(solid.nodes)).round(12), axis=0)


def strain_sites(solid: Tetrahedra) -> StrainSites:
    """One in each tetrahedron."""
    corners = solid.nodes[solid.elements]
    edges = corners[:, 1:] - corners[:, :1]
    gradients = np.linalg.inv(edges).transpose(0, 2, 1)
    gradients = np.concatenate([-gradients.sum(1, keepdims=True), gradients], axis=1)
    volumes = np.linalg.det(edges) / 6.0
    return StrainSites(torch.from_numpy(solid.elements), torch.from_numpy(gradients), torch.from_numpy(volumes))


def bent(depth: float) -> Pushed:
    """A bar bends the block near its top by a depth in metres, holds it and lets go."""
    start, z = -0.0375 - 0.01 - 0.005, ROW_HEIGHT
    end = start + 0.005 + depth
    path = through((0.0, start, 0.0, z), (0.2, end, 0.0, z), (0.4, end, 0.0, z), (0.5, start - 0.05, 0.0, z))
    lying = np.tile([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)], (len(path.times), 1))
    return Pushed(BAR, ToolPath(path.times, path.positions, lying), 0.7, FINE_STEP)


def pressed() -> Pushed:
    """A plate presses the whole upper face down by 0.015 m, holds it and lets go."""
    top = 0.15 + 0.01 + 0.002
    path = through((0.0, 0.0, 0.0, top), (0.2, 0.0, 0.0, top - 0.017), (0.4, 0.0, 0.0, top - 0.017), (0.5, 0.0, 0.0, top + 0.05))
    return Pushed(PLATE, path, 0.7, FINE_STEP)


CASES: list[Case] = [
    Case(name, "MuJoCo", description, partial(compared, pushed))
    for name, description, pushed in (
        (
            "soft block sags",
            "A foam block of tetrahedra under its own weight, from rest: nodes.",
            Pushed(None, None, 0.5, FINE_STEP),
        ),
        ("soft block bent a little", "The same, bent at its top by 5 mm, held and let go.", bent(0.005)),
        ("soft block bent far", "The same by 20 mm.", bent(0.02)),
        ("soft block pressed", "The same, pressed by a tenth of its height, held and let go.", pressed()),
    )
]
