"""Objects that reconstruction made from a simulated scan, as training data."""

from pathlib import Path

import numpy as np
import pytest

from neurok_ros.reconstruction import ReconstructionWorker
from training.batches import BatchRecipe
from training.data import sources
from training.data.articulated.categories import CATEGORIES
from training.data.articulated.mechanism import Coordinate, Mechanism
from training.data.articulated.shapes import box
from training.data.articulated.source import ArticulatedSource, JointedPoints
from training.data.files import file_name
from training.data.reconstruct import missing, rebuilt
from training.data.reconstructed.store import ReconstructedObject, reconstructed_sources


@pytest.fixture(scope="module")
def laptop() -> ReconstructedObject:
    """A laptop, scanned and reconstructed."""
    source = ArticulatedSource("laptop", CATEGORIES["laptop"], (5, 0), None)
    with ReconstructionWorker() as worker:
        made = rebuilt(source, 1, worker)
    assert made is not None
    return made


def test_the_lid_of_a_reconstructed_laptop_turns_as_one_and_its_base_stays(laptop: ReconstructedObject) -> None:
    rng = np.random.default_rng(0)
    pairs = laptop.pairs(rng, 512, 6)
    base = laptop.surface.link[:512] == 0
    assert 0.2 < base.mean() < 0.9
    for pair in pairs:
        np.testing.assert_allclose(pair.points1[base], pair.points0[base], atol=1e-6)
        lid0, lid1 = pair.points0[~base], pair.points1[~base]
        apart0, apart1 = (np.linalg.norm(lid[:, None] - lid[None], axis=2) for lid in (lid0, lid1))
        np.testing.assert_allclose(apart1, apart0, atol=1e-5)
    assert max(float(np.linalg.norm(pair.points1 - pair.points0, axis=1).max()) for pair in pairs) > 0.3


def test_what_was_kept_moves_as_what_was_made(laptop: ReconstructedObject, tmp_path: Path) -> None:
    laptop.save(tmp_path / "laptop_000000.npz")
    again = ReconstructedObject.load(tmp_path / "laptop_000000.npz")
    made, read = (found.pairs(np.random.default_rng(3), 256, 2) for found in (laptop, again))
    for a, b in zip(made, read, strict=True):
        np.testing.assert_allclose(a.points1, b.points1, atol=1e-5)  # kept in single precision
        np.testing.assert_allclose(a.rotations, b.rotations, atol=1e-6)
        np.testing.assert_array_equal(a.part, b.part)
    assert not list(tmp_path.glob("*.part"))


def test_every_tenth_is_kept_for_judging_and_none_is_cut_once_more(laptop: ReconstructedObject, tmp_path: Path) -> None:
    for number in (3, 9):
        laptop.save(tmp_path / file_name("laptop", number))
    train, judged = (reconstructed_sources(tmp_path, kept) for kept in (False, True))
    assert [s.name for s in train] == [s.name for s in judged] == ["reconstructed/laptop"]
    assert [s.name for _, s in sources("held_out_reconstructed", reconstructed=tmp_path)] == ["reconstructed/laptop"]
    assert "reconstructed/laptop" in {s.name for _, s in sources("train", reconstructed=tmp_path)}
    recipe = BatchRecipe([(1.0, train[0])], 1, 2, 512, (4, 4), augment=False, scan_share=1.0, seed=0, rank=0)
    shown = np.asarray(recipe[0].points[0])
    whole = laptop.pairs(np.random.default_rng(0), 512, 1)[0].points0
    np.testing.assert_allclose(shown, whole, atol=1e-5)


def test_only_what_is_missing_is_made(tmp_path: Path) -> None:
    jobs = missing(tmp_path, 70)
    assert len(set(jobs)) == 70
    (tmp_path / file_name(*jobs[4])).touch()
    assert missing(tmp_path, 70) == jobs[:4] + jobs[5:]


def test_points_of_any_state_are_where_they_were_in_that_state() -> None:
    mechanism = Mechanism()
    angle = mechanism.coordinate(0.0, 1.5)
    base = mechanism.base(box((0, 0, 0), (1, 1, 1)))
    mechanism.hinge(base, [box((0, 0, 1), (1, 1, 1.1))], (0, 0, 1), (0, 1, 0), angle, ratio=-1.0)
    points, normals = np.random.default_rng(0).normal(size=(2, 20, 3))
    link, part = np.arange(20) % 2, np.zeros(20, np.int64)
    values = np.array([0.7])
    followed = JointedPoints.from_state(mechanism, values, points, normals, link, part)
    np.testing.assert_allclose(followed.at(values), points, atol=1e-12)
    moved = followed.at(np.array([1.2]))
    np.testing.assert_allclose(moved[link == 0], points[link == 0], atol=1e-12)
    axis = points[link == 1] - np.array([0, 0, 1])
    turned = axis @ np.array([[np.cos(-0.5), 0, -np.sin(-0.5)], [0, 1, 0], [np.sin(-0.5), 0, np.cos(-0.5)]])
    np.testing.assert_allclose(moved[link == 1], turned + np.array([0, 0, 1]), atol=1e-12)
    assert mechanism.coordinates == [Coordinate(0.0, 1.5, 0.0)]
