"""A rigid body keeps distances, and its Jacobian is the derivative of what it does."""

from __future__ import annotations

import numpy as np
import torch
from scipy.spatial.transform import Rotation

from neurok_ros.geometry.rotations import quaternion_exp
from neurok_ros.kinematics import RigidBodyKinematics


def some(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).uniform(-1, 1, shape))


CENTER = some(3, seed=5)
BODY = RigidBodyKinematics(CENTER).at(some(12, 3))
POSE = torch.cat([some(3, seed=1), quaternion_exp(2 * some(3, seed=2))])


def test_rest_is_the_scan() -> None:
    torch.testing.assert_close(BODY.positions(BODY.rest), some(12, 3), rtol=0, atol=1e-15)


def test_positions_are_scipys() -> None:
    turned = Rotation.from_quat(POSE[3:].numpy()).apply((some(12, 3) - CENTER).numpy())
    np.testing.assert_allclose(BODY.positions(POSE).numpy(), turned + (CENTER + POSE[:3]).numpy(), atol=1e-14)


def test_jacobian_is_the_derivative_of_a_step() -> None:
    for pose in (BODY.rest, POSE):
        derivative = torch.func.jacrev(lambda step, pose=pose: BODY.positions(BODY.retract(pose, step)))
        torch.testing.assert_close(BODY.jacobian(pose), derivative(torch.zeros(6).double()), rtol=0, atol=1e-13)


def test_a_step_turns_about_the_worlds_axes_through_the_moving_centre() -> None:
    step = torch.tensor([0.1, 0.2, 0.3, 0.0, 0.0, np.pi / 2], dtype=torch.float64)
    arms = BODY.positions(POSE) - (CENTER + POSE[:3])
    moved = BODY.positions(BODY.retract(POSE, step)) - (CENTER + POSE[:3] + step[:3])
    torch.testing.assert_close(moved, torch.stack([-arms[:, 1], arms[:, 0], arms[:, 2]], dim=1), rtol=0, atol=1e-13)


def test_many_steps_keep_the_quaternion_unit_and_the_distances() -> None:
    pose = POSE
    for i in range(2000):
        pose = BODY.retract(pose, some(6, seed=i))
    torch.testing.assert_close(torch.linalg.vector_norm(pose[3:]), torch.tensor(1.0).double(), rtol=0, atol=1e-15)
    before, after = (torch.cdist(x, x) for x in (some(12, 3), BODY.positions(pose) - pose[:3]))
    torch.testing.assert_close(after, before, rtol=0, atol=1e-12)


def test_batch() -> None:
    steps = some(5, 6)
    poses = torch.func.vmap(BODY.retract, in_dims=(None, 0))(POSE, steps)
    both = torch.func.vmap(BODY.positions)(poses), torch.func.vmap(BODY.jacobian)(poses)
    for i in range(5):
        pose = BODY.retract(POSE, steps[i])
        torch.testing.assert_close(both[0][i], BODY.positions(pose))
        torch.testing.assert_close(both[1][i], BODY.jacobian(pose))
