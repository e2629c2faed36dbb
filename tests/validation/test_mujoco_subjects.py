"""What both simulators are given is the same thing."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import torch

from validation.mujoco.articulated import chain, door, drawer
from validation.mujoco.mechanism import Mechanism
from validation.mujoco.reference import world
from validation.mujoco.voxels import tetrahedra


@pytest.mark.parametrize("mechanism", [door(), drawer(), chain(0.3)], ids=["door", "drawer", "chain"])
def test_both_have_the_same_inertia_and_the_same_places_at_any_state(mechanism: Mechanism) -> None:
    """J^T M J of the particles is MuJoCo's mass matrix, and J maps speeds to the same speeds, to rounding."""
    model = mujoco.MjModel.from_xml_string(world(mechanism.mjcf(), "", 0.0, "RK4"))
    data = mujoco.MjData(model)
    ours = mechanism.sampled(0.0, None)
    q = torch.from_numpy(np.random.default_rng(1).normal(0.0, 0.7, len(mechanism.links)))
    data.qpos[:] = q.numpy()
    mujoco.mj_forward(model, data)
    theirs = np.zeros((model.nv, model.nv))
    for column, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, theirs[column], unit)
    jacobian = ours.body.kinematics.jacobian(q)
    mass_matrix = torch.einsum("n,nid,nie->de", ours.body.masses, jacobian, jacobian)
    assert mass_matrix.numpy() == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    places = data.xmat[1:].reshape(-1, 3, 3)[ours.outline_body] @ ours.outline_points[:, :, None]
    moved = places[:, :, 0] + data.xpos[1:][ours.outline_body]
    assert ours.outline.positions(q).numpy() == pytest.approx(moved, abs=1e-12)
    step = 1e-6 * torch.ones(len(q), dtype=torch.float64)
    slope = (ours.outline.positions(q + step) - ours.outline.positions(q - step)) / 2e-6
    assert (ours.outline.jacobian(q).sum(2)).numpy() == pytest.approx(slope.numpy(), abs=1e-8)


def test_cubes_are_filled_without_gap_and_their_surface_is_closed() -> None:
    occupied = np.ones((2, 3, 4), bool)
    occupied[0, 0, 3] = False
    solid = tetrahedra(occupied, (0.1, 0.2, 0.3), fineness=2)
    assert solid.node_volumes().sum() == pytest.approx(23 * 0.1 * 0.2 * 0.3)
    corners = solid.nodes[solid.surface]
    enclosed = np.einsum("fi,fi->f", np.cross(corners[:, 0], corners[:, 1]), corners[:, 2]).sum() / 6.0
    assert enclosed == pytest.approx(23 * 0.1 * 0.2 * 0.3)  # closed and outward, by the divergence theorem
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert normals.sum(0) == pytest.approx(np.zeros(3), abs=1e-12)
