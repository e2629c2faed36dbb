"""Unconnected parts of one object meet each other, and an object may leave its support."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from meshes import box, mesh_of

from neurok_ros.dynamics.tools import ToolKind, ToolPath, ToolShape
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.geometry import build_lattice, sample_surface
from neurok_ros.geometry.driving import connected_parts
from neurok_ros.prediction import predict, prepare
from neurok_ros.prediction.parts import object_particles
from neurok_ros.prediction.types import PhysicalProperties, PredictedMotion, PredictionOptions, Push
from neurok_ros.reconstruction.types import ReconstructedMesh

FOAM = PhysicalProperties(density=60.0, youngs_modulus=1.0e5, friction=0.3)
WOOD = PhysicalProperties(density=600.0, youngs_modulus=1.0e10, friction=0.4)


def push_along_x(start: float, end: float, height: float, seconds: float) -> Push:
    ends = np.array([[start, 0.0, height], [end, 0.0, height]])
    return Push(
        ToolShape(ToolKind.SPHERE, (0.015,)), ToolPath(np.array([0.0, seconds]), ends, np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)))
    )


def pushed(mesh: ReconstructedMesh, properties: PhysicalProperties, push: Push, options: PredictionOptions) -> PredictedMotion:
    return predict(prepare(mesh, properties, options), push, options)


def test_a_pushed_part_takes_the_part_behind_it_along() -> None:
    """Two foam blocks 1 cm apart; the first is pushed by 3 cm, so the second by 2."""
    second = box((0.06, 0.06, 0.05))
    second.apply_translation([0.07, 0.0, 0.0])
    mesh = mesh_of(trimesh.util.concatenate([box((0.06, 0.06, 0.05)), second]))
    options = PredictionOptions(horizon=1.2, frame_rate=10.0, parameterization="modal")
    motion = pushed(mesh, FOAM, push_along_x(-0.06, -0.015, 0.025, 0.8), options)
    behind = mesh.vertices[:, 0] > 0.035
    moved = motion.vertices[-1] - mesh.vertices
    assert moved[~behind, 0].mean() == pytest.approx(0.03, abs=4e-3)  # the ball dents the foam by millimetres
    assert moved[behind, 0].mean() == pytest.approx(0.02, abs=4e-3)
    assert motion.measures["max_self_penetration_m"] < 1e-3
    gap = motion.vertices[-1][behind, 0].min() - motion.vertices[-1][~behind, 0].max()
    assert gap > -2e-3  # surfaces are felt at samples


def test_every_particle_knows_its_part_where_another_has_nearer_vertices() -> None:
    """A coarse plate 1 mm above a finely meshed, hollow block; the cavity's wall is a part of its own, and the block's material
    may count to either."""
    block = box((0.2, 0.2, 0.1)).subdivide().subdivide().subdivide()
    cavity = box((0.1, 0.1, 0.05)).apply_translation([0.0, 0.0, 0.025])
    cavity.invert()
    plate = box((0.2, 0.2, 0.01)).apply_translation([0.0, 0.0, 0.101])
    mesh = mesh_of(trimesh.util.concatenate([block, cavity, plate]))
    lattice = build_lattice(mesh.vertices, mesh.faces)
    surface = sample_surface(mesh.vertices, mesh.faces, 300)
    particles = object_particles(mesh.vertices, mesh.faces, lattice, surface)
    part = connected_parts(mesh.faces, len(mesh.vertices))
    on_plate = particles.part == part[-1]
    heights = particles.points[:, 2].numpy()
    assert on_plate[: particles.nodes].sum() > 20
    assert on_plate[particles.nodes :].sum() > 50
    np.testing.assert_array_equal(heights[particles.nodes :][on_plate[particles.nodes :]] > 0.1005, True)
    np.testing.assert_array_equal(heights[particles.nodes :][~on_plate[particles.nodes :]] < 0.1005, True)
    np.testing.assert_array_equal(
        on_plate[: particles.nodes], lattice.node_part == lattice.node_part[heights[: particles.nodes].argmax()]
    )
    assert set(particles.part) == set(part)


def test_what_is_pushed_over_the_edge_of_its_support_is_flagged(low_block: ReconstructedMesh) -> None:
    table = ((-0.5, -0.5, 0.0), (0.05, -0.5, 0.0), (0.05, 0.5, 0.0), (-0.5, 0.5, 0.0))
    options = PredictionOptions(horizon=1.5, frame_rate=10.0)
    push = push_along_x(-0.07, 0.07, 0.015, 1.0)
    over = pushed(low_block, WOOD, push, replace(options, support_outline=table))
    assert over.flags["slid_off"]
    assert over.vertices[-1][:, 2].min() < -0.01
    assert not pushed(low_block, WOOD, push, options).flags["slid_off"]


@pytest.mark.parametrize(
    "outline",
    [((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), ((0.0, 0.0, 0.0),) * 3, ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, float("nan"), 0.0))],
)
def test_an_outline_that_is_none_is_refused(
    low_block: ReconstructedMesh, outline: tuple[tuple[float, float, float], ...]
) -> None:
    with pytest.raises(NeurokError, match="support_outline") as caught:
        prepare(low_block, WOOD, PredictionOptions(support_outline=outline))
    assert caught.value.code is ErrorCode.INVALID_OPTIONS
