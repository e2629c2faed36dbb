"""A thin sheet held at one edge: how far elastic modes of a filled solid can follow cloth.

Neither side is the truth here. By the elastica (a strip 0.18 m long, w L^3 / D = 38) the free edge hangs 0.160 m below the clamp;
MuJoCo's triangles let it hang 0.178 m low, and the modes 0.12 m: they can take on the shape, but only with stretched material.
"""

from __future__ import annotations

import numpy as np

from neurok_ros.dynamics import ToolKind, ToolShape
from neurok_ros.prediction.predict import predict
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictionOptions
from neurok_ros.prediction.types import Push as ProductPush
from validation.case import Case, Motion
from validation.mujoco.comparison import through
from validation.mujoco.flex import Flex, record_flex
from validation.mujoco.reference import FRAME_RATE
from validation.mujoco.soft import prepared_object, split_error
from validation.mujoco.voxels import tetrahedra

CELLS, EDGE, THICKNESS = 10, 0.02, 0.006
"""Along both sides; metres."""
PROPERTIES = PhysicalProperties(density=200.0, youngs_modulus=1.0e5, poisson_ratio=0.3, damping=0.02, friction=0.3)
SECONDS, STEPS_PER_FRAME = 1.0, 32
FAR = through((0.0, 10.0, 0.0, 10.0))
TOOL = ToolShape(ToolKind.SPHERE, (0.01,))
"""Touches nothing."""


def compared() -> Motion:
    """A sheet, level at first and clamped along one edge, falls; its middle surface here and in MuJoCo."""
    solid = tetrahedra(np.ones((CELLS, CELLS, 1), bool), (EDGE, EDGE, THICKNESS))
    vertices, faces, _ = solid.mesh()
    below, above = vertices[:, 2] < 0.5 * THICKNESS, vertices[:, 2] > 0.5 * THICKNESS
    middle = vertices[below] + np.array([0.0, 0.0, 0.5 * THICKNESS])
    triangles = np.searchsorted(np.flatnonzero(below), faces[below[faces].all(1)])[:, ::-1]
    edge = middle[:, 0].min()
    corners = middle[triangles]
    areas = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    shares = np.bincount(triangles.ravel(), np.repeat(areas / 3.0, 3), len(middle))
    masses = np.asarray(PROPERTIES.density * THICKNESS * shares, np.float64)
    held = np.flatnonzero(middle[:, 0] < edge + 1.5 * EDGE)
    flex = Flex(middle, triangles, masses, held, PROPERTIES, THICKNESS)
    truth, _ = record_flex(flex, SECONDS, STEPS_PER_FRAME, "discrete")

    prepared = prepared_object(vertices, faces, PROPERTIES)
    box = ((edge - 0.01, -1.0, -1.0), (edge + EDGE + 1e-3, 1.0, 1.0))
    options = PredictionOptions(SECONDS, FRAME_RATE, Fixation.BOX, box, "modal")
    motion = predict(prepared, ProductPush(TOOL, FAR), options, device="cpu")
    predicted = 0.5 * (motion.vertices[:, below] + motion.vertices[:, above]).astype(np.float64)
    size = float(np.ptp(vertices, axis=0).max())
    times = np.arange(len(truth)) / FRAME_RATE
    return Motion(times, truth, predicted, size, split_error(prepared, middle, truth, predicted, size))


CASES: list[Case] = [
    Case(
        "sheet falls",
        "MuJoCo",
        "A level sheet of soft rubber, clamped along one edge, falls and hangs: middle surface.",
        compared,
    )
]
