"""Surface samples: on the surface, evenly spread, standing for all of it."""

from __future__ import annotations

import numpy as np
import trimesh
from scipy.spatial import cKDTree

from neurok_ros.geometry.sampling import sample_surface


def test_sphere_samples_lie_on_it_and_stand_for_its_area() -> None:
    sphere = trimesh.creation.icosphere(subdivisions=4, radius=0.05)
    samples = sample_surface(sphere.vertices, sphere.faces, 300)
    radius = np.linalg.norm(samples.points, axis=1)
    np.testing.assert_allclose(radius, 0.05, rtol=2e-3)  # the facets' sagitta
    assert ((samples.points / radius[:, None] * samples.normals).sum(axis=1) > 0.99).all()
    np.testing.assert_allclose(samples.areas.sum(), sphere.area, rtol=1e-12)
    assert samples.areas.min() > 0


def test_samples_are_spread_more_evenly_than_chance() -> None:
    """The densest packing of discs has a spacing of 1.07 sqrt(area / count); farthest points keep more than 0.6 of that,
    while among random points some pair is always far closer."""
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    samples = sample_surface(box.vertices, box.faces, 400)
    distance, _ = cKDTree(samples.points).query(samples.points, k=2)
    spacing = np.sqrt(box.area / 400)
    on_one_face = np.array(
        [
            np.ptp(samples.normals[[i, j]], axis=0).max() < 1e-9
            for i, j in enumerate(cKDTree(samples.points).query(samples.points, k=2)[1][:, 1])
        ]
    )
    assert distance[on_one_face, 1].min() > 0.6 * spacing
    gap, _ = cKDTree(samples.points).query(trimesh.sample.sample_surface(box, 5000, seed=1)[0])
    assert gap.max() < 1.5 * spacing


def test_both_sides_of_a_thin_plate_get_their_points() -> None:
    plate = trimesh.creation.box((0.2, 0.2, 0.001))
    samples = sample_surface(plate.vertices, plate.faces, 200)
    above = samples.normals[:, 2] > 0.5
    below = samples.normals[:, 2] < -0.5
    np.testing.assert_allclose(samples.areas[above].sum(), 0.04, rtol=0.05)
    np.testing.assert_allclose(samples.areas[below].sum(), 0.04, rtol=0.05)
    assert abs(above.sum() - below.sum()) < 20


def test_equal_seeds_give_equal_samples() -> None:
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    first, again, other = (sample_surface(box.vertices, box.faces, 50, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.points, again.points)
    assert not np.array_equal(first.points, other.points)
