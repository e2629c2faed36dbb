"""Rigid scenes: every body moves rigidly, bodies do not overlap as built, and a board stays where it is."""

from __future__ import annotations

import numpy as np
import pytest

from training.data.articulated.shapes import unite
from training.data.rigid.source import SCENES, RigidSource, rigid_sources


@pytest.mark.parametrize("source", rigid_sources(held_out_instances=True), ids=lambda s: s.name.split("/")[-1])
def test_distances_within_a_body_stay_and_the_rotation_is_the_motion(source: RigidSource) -> None:
    for pair in source.sample(np.random.default_rng(1), 300, 3):
        assert np.linalg.norm(pair.points0, axis=1).max() == pytest.approx(1, abs=1e-6)
        for part in np.unique(pair.part):
            own = np.flatnonzero(pair.part == part)
            a, b = pair.points0[own].astype(float), pair.points1[own].astype(float)
            turned = np.einsum("nij,nj->ni", pair.rotations[own].astype(float), a - a[0])
            np.testing.assert_allclose(b - b[0], turned, atol=3e-6)


@pytest.mark.parametrize("kind", SCENES)
def test_bodies_do_not_overlap_as_built(kind: str) -> None:
    for number in range(10):
        bodies, mobile = SCENES[kind](np.random.default_rng([number]))
        assert len(bodies) == len(mobile)
        assert any(mobile)
        apart = sum(body.volume() for body in bodies)
        assert unite(bodies).volume() == pytest.approx(apart, rel=0.02)


def test_the_board_stays() -> None:
    scene = next(s for s in rigid_sources(held_out_instances=True) if s.name == "rigid/table").fixed_object(3)
    np.testing.assert_array_equal(scene.poses(np.random.default_rng(0))[0], np.eye(4))
