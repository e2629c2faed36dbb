"""Articulated objects: parts are rigid, whole and attached; joints do what their names say; held-out objects stay apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from training.data import sources
from training.data.articulated.categories import CATEGORIES, HELD_OUT, articulated_sources
from training.data.articulated.mechanism import Assembly, Mechanism
from training.data.articulated.shapes import between, cut, placed, tray, unite
from training.data.articulated.source import ArticulatedObject, build_object

INSTANCES = range(3)


@pytest.mark.parametrize("category", CATEGORIES)
def test_bodies_are_whole_and_attached_at_rest(category: str) -> None:
    for number in INSTANCES:
        made = build_object(CATEGORIES[category], (7,), number)
        mechanism = made.mechanism
        poses = mechanism.poses(mechanism.rest)
        links = [(link, pose) for link, pose in zip(mechanism.links, poses, strict=True) if not link.body.is_empty()]
        bodies = [placed(link.body, pose) for link, pose in links]
        size = float(np.linalg.norm(np.ptp(made.vertices(mechanism.rest), axis=0)))
        assert len(bodies) > 1
        for own, body in enumerate(bodies):
            assert body.status().name == "NoError"
            assert len(body.decompose()) == 1, f"{category} {number}: link {own} is in pieces"
            nearest = min(body.min_gap(other, 0.1 * size) for i, other in enumerate(bodies) if i != own)
            assert nearest < 0.05 * size, f"{category} {number}: link {own} floats"
            for other in range(own):
                shared = (body ^ bodies[other]).volume() / min(body.volume(), bodies[other].volume())
                # A door's spindle runs through its leaf, a pin through its knuckle: a sixth at most; nothing else overlaps.
                assert shared < 0.2, f"{category} {number}: links {other} and {own} overlap"


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_joint_moves_something(category: str) -> None:
    made = build_object(CATEGORIES[category], (7,), 0)
    mechanism = made.mechanism
    rest = made.vertices(mechanism.rest)
    for number, coordinate in enumerate(mechanism.coordinates):
        assert coordinate.lower <= coordinate.rest <= coordinate.upper
        values = mechanism.rest
        end = coordinate.upper if coordinate.upper > coordinate.rest else coordinate.lower
        values[number] += 0.4 * (end - coordinate.rest)
        moved = np.linalg.norm(made.vertices(values) - rest, axis=1).max()
        assert moved > 0.002 * np.linalg.norm(np.ptp(rest, axis=0))


@pytest.mark.parametrize("category", ["cabinet", "scissors", "fan", "bottle"])
def test_parts_move_rigidly_by_the_stated_rotation(category: str) -> None:
    pair = build_object(CATEGORIES[category], (7,), 1).pairs(np.random.default_rng(3), 400, 1)[0]
    for part in np.unique(pair.part):
        own = pair.part == part
        if own.sum() < 8:
            continue
        a, b = pair.points0[own].astype(float), pair.points1[own].astype(float)
        fitted, left = Rotation.align_vectors(b - b.mean(0), a - a.mean(0))
        assert left / np.sqrt(own.sum()) < 1e-5
        stated = Rotation.from_matrix(pair.rotations[own][0].astype(float))
        spread = np.linalg.svd(a - a.mean(0), compute_uv=False)
        if spread[1] > 0.05:
            assert (fitted * stated.inv()).magnitude() < 1e-3
        assert np.abs(pair.rotations[own] - pair.rotations[own][0]).max() == 0


def test_a_pair_is_centred_and_of_unit_size_with_shared_first_frame() -> None:
    pairs = build_object(CATEGORIES["kettle"], (7,), 2).pairs(np.random.default_rng(0), 300, 4)
    assert len(pairs) == 4
    for pair in pairs:
        assert pair.points0 is pairs[0].points0
        assert np.abs(pair.points0.mean(axis=0)).max() < 1e-6
        assert np.linalg.norm(pair.points0, axis=1).max() == pytest.approx(1, abs=1e-6)
        np.testing.assert_allclose(np.linalg.norm(pair.normals0, axis=1), 1, atol=1e-6)
        assert pair.points1.dtype == pair.rotations.dtype == np.float32
        assert pair.part.dtype == np.int64


def _door() -> Mechanism:
    m = Mechanism()
    base = m.base(between((0, 0, 0), (0.1, 1, 1)))
    m.hinge(base, [between((0.2, 0, 0), (0.3, 1, 1))], (0.2, 0, 0), (0, 0, 1), m.coordinate(0.0, 2.0))
    return m


def test_a_hinge_keeps_its_axis_and_turns_by_its_angle() -> None:
    m = _door()
    pose = m.poses(np.array([np.pi / 2]))[1]
    np.testing.assert_allclose(pose @ [0.2, 0, 0.7, 1], [0.2, 0, 0.7, 1], atol=1e-12)
    np.testing.assert_allclose(pose @ [0.2, 1, 0, 1], [-0.8, 0, 0, 1], atol=1e-12)


def test_a_screw_advances_by_its_pitch_a_turn_and_a_slide_by_its_value() -> None:
    m = Mechanism()
    base = m.base(between((0, 0, 0), (1, 1, 1)))
    cap = m.hinge(
        base, [between((0, 0, 1), (1, 1, 2))], (0.5, 0.5, 0), (0, 0, 1), m.coordinate(0.0, 7.0), pitch=0.01 / (2 * np.pi)
    )
    m.slide(cap, [between((0, 0, 2), (1, 1, 3))], (1, 0, 0), m.coordinate(0.0, 1.0))
    poses = m.poses(np.array([2 * np.pi, 0.3]))
    np.testing.assert_allclose(poses[cap], [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.01], [0, 0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(poses[2][:3, 3], [0.3, 0, 0.01], atol=1e-12)


def test_coupled_halves_turn_opposite_ways() -> None:
    m = build_object(CATEGORIES["scissors"], (7,), 0).mechanism
    assert len(m.coordinates) == 1
    first, second = m.poses(np.array([0.4]))
    np.testing.assert_allclose(first[:3, :3] @ second[:3, :3], np.eye(3), atol=1e-12)


def test_united_bodies_have_no_inner_surface_and_touching_links_stay_separate_parts() -> None:
    m = Mechanism()
    base = m.base(between((0, 0, 0), (1, 1, 1)), between((0.5, 0, 0), (2, 1, 1)))
    m.slide(base, [between((2, 0, 0), (3, 1, 1))], (1, 0, 0), m.coordinate(0.0, 1.0))
    surface = Assembly.of(m).surface
    assert surface.area == pytest.approx(2 * (2 * 1 + 2 * 1 + 1) + 6, rel=1e-9)
    assert set(surface.part) == {0, 1}


@pytest.mark.parametrize("category", ["gate", "tray_case", "lock", "fridge"])
def test_a_body_in_pieces_is_the_same_body_and_every_piece_goes_where_it_goes(category: str) -> None:
    mechanism = CATEGORIES[category](np.random.default_rng(4))
    whole, apart = Assembly.of(mechanism), Assembly.of(mechanism, np.random.default_rng(1))
    assert len(np.unique(apart.surface.part)) > len(np.unique(whole.surface.part))
    for number, link in enumerate(mechanism.links):
        own, all_of_it = (a.surface.vertices[a.vertex_link == number] for a in (apart, whole))
        np.testing.assert_allclose(own.min(axis=0), all_of_it.min(axis=0), atol=1e-9)
        np.testing.assert_allclose(own.max(axis=0), all_of_it.max(axis=0), atol=1e-9)
        assert sum(piece.volume() for piece in link.pieces) >= link.body.volume() * (1 - 1e-9)


def test_a_shape_that_was_cut_is_one_body_again_when_united() -> None:
    shell = tray((0, 0, 0), (1, 2, 3), 0.1)
    slices = cut(shell, 1, (0.1, 1.9))
    assert len(slices) == 3
    again = unite(slices)
    assert len(again.decompose()) == 1
    assert again.volume() == pytest.approx(shell.volume(), rel=1e-9)


def test_what_shows_little_seldom_moves_alone() -> None:
    """A dial that turns in its place, on a door beside another door: reach 0.014 against 0.6, so roots as 1 to 7."""
    m = _door()
    m.hinge(0, [between((0.2, 1, 0), (0.3, 2, 1))], (0.2, 2, 0), (0, 0, -1), m.coordinate(0.0, 2.0))
    m.hinge(1, [between((0.31, 0.5, 0.5), (0.32, 0.52, 0.52))], (0.31, 0.51, 0.51), (1, 0, 0), m.coordinate(0.0, 3.0))
    made = ArticulatedObject(m, Assembly.of(m), (1,))
    alone = 0
    for number in range(200):
        pair = made.pairs(np.random.default_rng(number), 64, 1)[0]
        moving = np.linalg.norm(pair.points1 - pair.points0, axis=1)
        alone += bool(0 < moving.max() < 0.02)
    # Chosen evenly, it does in 7 % of the pairs (measured on 1000).
    assert alone < 200 / 24


def test_points_are_spread_evenly_and_so_is_every_first_part_of_them() -> None:
    surface = Assembly.of(_door()).surface
    drawn = surface.draw(np.random.default_rng(0), 512)
    points = np.hstack([drawn.points, drawn.normals])  # points of two faces that meet are no neighbours
    for count in (128, 512):
        nearest = cKDTree(points[:count]).query(points[:count], k=2)[0][:, 1]
        # Of independent points a third have a neighbour within 0.35 spacings: 1 - exp(-pi 0.35^2).
        assert np.percentile(nearest, 2) > 0.35 * np.sqrt(surface.area / count)


def test_held_out_objects_are_other_objects_and_always_the_same() -> None:
    train = {s.name for _, s in sources("train")}
    kept = {s.name for _, s in sources("held_out_categories")}
    assert not train & kept
    assert {f"articulated/{name}" for name in HELD_OUT} <= kept
    made_here = {name for name in train if not name.startswith("reconstructed/")}
    assert made_here - {"rigid/single"} == {s.name for _, s in sources("held_out_instances")}
    for split in ("train", "held_out_instances", "held_out_categories"):
        assert sum(share for share, _ in sources(split)) == pytest.approx(1)
    seen = articulated_sources(held_out_categories=False, held_out_instances=False)[3].fixed_object(5)
    unseen = articulated_sources(held_out_categories=False, held_out_instances=True)[3].fixed_object(5)
    again = articulated_sources(held_out_categories=False, held_out_instances=True)[3].fixed_object(5)
    np.testing.assert_array_equal(unseen.surface.vertices, again.surface.vertices)
    assert seen.surface.vertices.shape != unseen.surface.vertices.shape or not np.allclose(
        seen.surface.vertices, unseen.surface.vertices
    )


def test_the_same_generator_gives_the_same_pairs() -> None:
    def some() -> list[float]:
        rng = np.random.default_rng(11)
        return [float(sources("held_out_instances")[i][1].sample(rng, 64, 2)[1].points1.sum()) for i in (0, 9, 20)]

    assert some() == some()


def test_an_unknown_split_is_named() -> None:
    with pytest.raises(ValueError, match="validation"):
        sources("validation")  # type: ignore[arg-type]
