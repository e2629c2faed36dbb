"""Soft things, whole as the product predicts them: lattice, skinning modes, contact samples. The error is split in two.

`kinematics`: the best state for MuJoCo's true shape, by least squares over the modes' coordinates; `dynamics`: what the
predicted shape is off from that best one: time integration, contact, and what the modes' energy is too stiff by. MuJoCo's linear
tetrahedra are no more than a guide: cut twice as fine, the bent block pushes back with 2.02 N in place of 2.40 N.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from neurok_ros.dynamics import ToolKind, ToolShape
from neurok_ros.prediction.predict import predict
from neurok_ros.prediction.prepare import PreparedObject, prepare
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictionOptions
from neurok_ros.prediction.types import Push as ProductPush
from neurok_ros.reconstruction.types import ReconstructedMesh
from validation.case import Case, Motion
from validation.mujoco.comparison import force_figures, through
from validation.mujoco.flex import Flex, record_flex
from validation.mujoco.reference import FRAME_RATE, TOUCHING
from validation.mujoco.voxels import Tetrahedra, tetrahedra

Floats = NDArray[np.float64]
FINGER = ToolShape(ToolKind.SPHERE, (0.025,))
PLATE = ToolShape(ToolKind.BOX, (0.12, 0.12, 0.02))
HELD_HEIGHT = 1e-3
"""Metres: what is lower is held."""


@dataclass(frozen=True, eq=False)
class Soft:
    """A soft thing that stands on its held lower face."""

    occupied: NDArray[np.bool_]
    """(x, y, z) cells."""
    edge: float
    """Metres, of a cell."""
    properties: PhysicalProperties
    push: ProductPush
    seconds: float
    fineness: int = 1
    """Of MuJoCo's mesh."""
    steps_per_frame: int = 32
    """Of MuJoCo, implicit: about 0.5 ms."""

    def solid(self) -> Tetrahedra:
        """MuJoCo's mesh."""
        return tetrahedra(self.occupied, (self.edge, self.edge, self.edge), self.fineness)


def compared(soft: Soft) -> Motion:
    """The surface here and in MuJoCo."""
    solid = soft.solid()
    vertices, faces, node = solid.mesh()
    prepared = prepared_object(vertices, faces, soft.properties)
    theirs, force = reference(soft, solid)
    truth = theirs[:, node]
    corners = np.array([vertices.min(0) - 0.01, [*(vertices.max(0)[:2] + 0.01), HELD_HEIGHT]])
    options = PredictionOptions(soft.seconds, FRAME_RATE, Fixation.BOX, (tuple(corners[0]), tuple(corners[1])), "modal")
    motion = predict(prepared, soft.push, options, device="cpu")
    predicted = motion.vertices.astype(np.float64)
    times, size = np.arange(len(truth)) / FRAME_RATE, float(np.ptp(vertices, axis=0).max())
    figures = split_error(prepared, vertices, truth, predicted, size)
    figures |= force_figures(motion.contact_force, force)
    figures["penetration_mm"] = 1e3 * float(motion.penetration.max())
    return Motion(times, truth, predicted, size, figures)


def reference(soft: Soft, solid: Tetrahedra) -> tuple[Floats, Floats]:
    """MuJoCo's nodes (t, n, 3) in metres and force on the tool (t, 3) in N."""
    held = np.flatnonzero(solid.nodes[:, 2] < HELD_HEIGHT)
    flex = Flex(solid.nodes, solid.elements, soft.properties.density * solid.node_volumes(), held, soft.properties)
    return record_flex(flex, soft.seconds, soft.steps_per_frame, "discrete", soft.push.tool, soft.push.path, TOUCHING)


def prepared_object(vertices: Floats, faces: NDArray[np.int64], properties: PhysicalProperties) -> PreparedObject:
    """What the product makes of a mesh, with no support within a metre below."""
    seen = np.ones(len(vertices), bool)
    mesh = ReconstructedMesh(vertices, faces.astype(np.int32), seen, None, np.array([0.0, 0.0, 1.0, 1.0]), "none")
    return prepare(mesh, properties, PredictionOptions(parameterization="modal"))


def split_error(prepared: PreparedObject, points: Floats, truth: Floats, predicted: Floats, size: float) -> dict[str, float]:
    """Root mean squares over points (n, 3) and frames, as per cent of the size and of the peak displacement."""
    fields = np.asarray(prepared.kinematics.at(torch.from_numpy(points)).fields.numpy())  # type: ignore[attr-defined]
    moved = truth - points
    basis, _ = np.linalg.qr(fields)
    best = points + np.einsum("nr,trk->tnk", basis, np.einsum("nr,tnk->trk", basis, moved))
    shared = len(predicted)
    peak = float(np.sqrt((moved**2).sum(-1).mean(-1)).max())
    found = {"coordinates": float(3 * fields.shape[1])}
    for name, off in (("kinematics", best - truth), ("dynamics", predicted - best[:shared])):
        error = float(np.sqrt((off**2).sum(-1).mean()))
        found[f"{name}_error_percent_of_size"] = 100.0 * error / size
        found[f"{name}_error_percent_of_peak"] = 100.0 * error / peak
    return found


FOAM = PhysicalProperties(density=200.0, youngs_modulus=2.0e4, poisson_ratio=0.3, damping=0.03, friction=0.3)
BLOCK = np.ones((4, 4, 8), bool)
"""Cells of 0.02 m."""


def block() -> Soft:
    """A foam block, 0.08 m by 0.08 m by 0.16 m, pushed at its top from the side by 0.03 m and let go."""
    path = through((0.0, -0.07, 0.0, 0.13), (0.2, -0.035, 0.0, 0.13), (0.4, -0.035, 0.0, 0.13), (0.5, -0.1, 0.0, 0.13))
    return Soft(BLOCK, 0.02, FOAM, ProductPush(FINGER, path), 1.0)


def pressed_block() -> Soft:
    """The same, pressed all over its upper face from above by 0.015 m and held, for half a second: MuJoCo's block, whose
    tetrahedra all lean one way, creeps sideways under the plate by 5 mm/s."""
    path = through((0.0, 0.0, 0.0, 0.175), (0.25, 0.0, 0.0, 0.155))
    return Soft(BLOCK, 0.02, FOAM, ProductPush(PLATE, path), 0.5)


def plush() -> Soft:
    """A plush-like figure of cubes, 0.32 m high: legs, belly, arms, head; a finger pushes its head and lets go."""
    cells = np.zeros((4, 8, 16), bool)
    cells[:, 1:3, :4] = cells[:, 5:7, :4] = True
    cells[:, 1:7, 4:10] = True
    cells[1:3, 0, 7:9] = cells[1:3, 7, 7:9] = True
    cells[:, 2:6, 10:12] = True
    cells[:, 1:7, 12:16] = True
    path = through((0.0, -0.07, 0.0, 0.28), (0.3, -0.03, 0.0, 0.28), (0.5, -0.03, 0.0, 0.28), (0.6, -0.1, 0.0, 0.28))
    return Soft(cells, 0.02, FOAM, ProductPush(FINGER, path), 1.0)


CASES: list[Case] = [
    Case(name, "MuJoCo", description, partial(compared, soft))
    for name, description, soft in (
        ("soft block bent", "A foam block, its base held, bent by a finger at its top and let go: surface.", block()),
        ("soft block pressed", "The same, pressed from above.", pressed_block()),
        ("plush pushed", "A plush-like figure, its feet held, pushed at its head and let go: surface.", plush()),
    )
]
