"""What the learned state space promises to the dynamics, whatever was learned."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import trimesh

from neurok_ros.errors import NeurokError
from neurok_ros.geometry.rotations import quaternion_exp
from neurok_ros.kinematics.neurok.learned import (
    ControlledPoints,
    Controls,
    LearnedMotion,
    NeurokKinematics,
    encode_object,
    neurok_kinematics,
    reduce,
)
from neurok_ros.kinematics.neurok.model import NeurokModel
from neurok_ros.parameterization import KinematicParameterization, ObjectKinematics

Mesh = tuple[np.ndarray, np.ndarray]
Q = torch.tensor([0.7, -1.1, 0.4], dtype=torch.float64)
POSE = torch.cat([torch.tensor([0.1, 0.2, -0.3]).double(), quaternion_exp(torch.tensor([0.5, -1.0, 0.8]).double())])


def motion(network: NeurokModel, mesh: Mesh, free: bool) -> tuple[LearnedMotion, torch.Tensor]:
    points = torch.from_numpy(mesh[0])
    return neurok_kinematics(*mesh, network, size=3, free=free).at(points), points


def test_it_is_a_kinematic_state_parameterization(network: NeurokModel, two_boxes: Mesh) -> None:
    kinematics: ObjectKinematics = neurok_kinematics(*two_boxes, network, size=3)
    moving: KinematicParameterization = kinematics.at(torch.from_numpy(two_boxes[0]))
    assert kinematics.name == "neurok"
    assert (moving.dim, moving.rest.shape[0]) == (9, 10)


@pytest.mark.parametrize("free", [True, False])
def test_rest_is_the_scan(network: NeurokModel, two_boxes: Mesh, free: bool) -> None:
    moving, points = motion(network, two_boxes, free)
    torch.testing.assert_close(moving.positions(moving.rest), points, rtol=0, atol=1e-13)


@pytest.mark.parametrize("free", [True, False])
def test_jacobian_is_the_derivative_of_a_step(network: NeurokModel, two_boxes: Mesh, free: bool) -> None:
    """Central differences of step 1e-5: their error is about 1e-10. The handles' derivatives are in float32: 1e-6 of 0.1 m."""
    moving, _ = motion(network, two_boxes, free)
    state = torch.cat([POSE, Q]) if free else Q
    jacobian = moving.jacobian(state)
    for i, step in enumerate(1e-5 * torch.eye(moving.dim).double()):
        ahead, back = (moving.positions(moving.retract(state, sign * step)) for sign in (1, -1))
        torch.testing.assert_close(jacobian[..., i], (ahead - back) / 2e-5, rtol=1e-6, atol=1e-7)
    assert jacobian[..., -3:].abs().max() > 1e-3, "the latent moves the points"


def test_second_derivatives_are_those_of_differences(network: NeurokModel, two_boxes: Mesh) -> None:
    moving, _ = motion(network, two_boxes, free=False)
    way, h = torch.tensor([0.3, 0.5, -0.8], dtype=torch.float64), 1e-3

    def slope(q: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = torch.func.jvp(moving.positions, (q,), (way,))[1]
        return found

    second = torch.func.jvp(slope, (Q,), (way,))[1]
    differences = (slope(Q - 2 * h * way) - 8 * slope(Q - h * way) + 8 * slope(Q + h * way) - slope(Q + 2 * h * way)) / (12 * h)
    torch.testing.assert_close(second, differences, rtol=1e-5, atol=1e-9)


def test_a_pose_moves_the_whole_rigidly(network: NeurokModel, two_boxes: Mesh) -> None:
    moving, _ = motion(network, two_boxes, free=True)
    inside = moving.positions(torch.cat([moving.rest[:7], Q]))
    posed = moving.positions(torch.cat([POSE, Q]))
    torch.testing.assert_close(torch.cdist(posed, posed), torch.cdist(inside, inside), rtol=0, atol=1e-7)
    assert (posed - inside).norm(dim=1).min() > 0.01


def test_states_know_nothing_of_the_place_and_size_of_the_object(network: NeurokModel, two_boxes: Mesh) -> None:
    """The same object three times as large and elsewhere moves three times as far. The network is in float32: 1e-4."""
    vertices, faces = two_boxes
    start = torch.from_numpy(vertices)
    bigger = 3.0 * vertices + np.array([10.0, 20.0, -5.0])
    small, large = (encode_object(v, faces, network) for v in (vertices, bigger))
    torch.testing.assert_close(large.rest, small.rest, rtol=0, atol=1e-4)
    basis = reduce(small, 3)
    part = np.zeros(len(vertices), np.int64)
    moves = [
        NeurokKinematics(encoded, basis, v, part, free=False).at(torch.from_numpy(v)).positions(Q) - torch.from_numpy(v)
        for encoded, v in ((small, vertices), (large, bigger))
    ]
    assert moves[0].abs().max() > 1e-3
    torch.testing.assert_close(moves[1], 3.0 * moves[0], rtol=0, atol=3e-4 * float(start.std()))


def test_batch(network: NeurokModel, two_boxes: Mesh) -> None:
    moving, _ = motion(network, two_boxes, free=True)
    states = torch.stack([torch.cat([POSE, Q]), torch.cat([moving.rest[:7], -Q])])
    together = torch.func.vmap(moving.positions)(states)
    for i in range(2):
        torch.testing.assert_close(together[i], moving.positions(states[i]), rtol=0, atol=1e-12)


def test_points_inside_and_points_of_an_open_mesh_move_with_what_is_near(network: NeurokModel, two_boxes: Mesh) -> None:
    vertices, faces = two_boxes
    kinematics = neurok_kinematics(vertices, faces[2:], network, size=3, free=False)
    middle = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
    moved = kinematics.at(middle).positions(Q)
    assert moved.isfinite().all()
    assert (moved - middle).norm() < 0.5


def test_a_point_follows_its_own_part_where_another_has_nearer_vertices(network: NeurokModel) -> None:
    """The samples of a plate of two large triangles a side, 1 mm above a finely meshed block."""
    block = trimesh.creation.box((0.2, 0.2, 0.1)).subdivide().subdivide().subdivide()
    plate = trimesh.creation.box((0.2, 0.2, 0.01)).apply_translation((0.0, 0.0, 0.056))
    both = trimesh.util.concatenate([block, plate])
    kinematics = neurok_kinematics(np.asarray(both.vertices), np.asarray(both.faces), network, size=3, free=False)
    encoded = kinematics.encoded
    points = torch.from_numpy(encoded.samples.points)
    on_plate = encoded.samples.faces >= len(block.faces)
    assert on_plate.sum() > 100
    controls = Controls(encoded, kinematics.subspace.basis, points)
    weights = encoded.prepared.weights
    shares = torch.eye(len(points)).double() if weights is None else weights[0].double()
    wanted = ControlledPoints(controls, shares, encoded.unit(points), encoded.radius, points).positions(Q)
    told = kinematics.at(points, encoded.sample_part).positions(Q)
    guessed = kinematics.at(points).positions(Q)
    torch.testing.assert_close(told, wanted, rtol=0, atol=1e-6)
    assert (guessed - wanted)[on_plate].norm(dim=1).max() > 1e-3


@pytest.mark.parametrize(
    ("faces", "problem"),
    [([], "no faces"), ([[0, 1, 9]], "outside 0 to 3"), ([[0, 1, 1]], "no area"), ([[0, 1, 3]], "not finite")],
)
def test_a_mesh_of_no_use_is_named(network: NeurokModel, faces: list[list[int]], problem: str) -> None:
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [np.nan, 0, 0]])
    with pytest.raises(NeurokError, match=problem):
        neurok_kinematics(vertices, np.array(faces, np.int64).reshape(-1, 3), network)


@pytest.mark.parametrize("size", [0, 33])
def test_a_number_of_coordinates_that_the_latent_does_not_have(network: NeurokModel, two_boxes: Mesh, size: int) -> None:
    with pytest.raises(NeurokError, match="coordinates"):
        neurok_kinematics(*two_boxes, network, size=size)
