"""The judge is fair: what can be reached is reached, what fails counts, and the same objects come every time."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh
from scipy.spatial.transform import Rotation
from torch import Tensor

from neurok_ros.kinematics.neurok.checkpoint import save_model
from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.model import NeurokModel
from training.data.deformed.source import soft_sources
from training.data.reconstructed.scan import simulated_scan
from training.data.rigid.source import rigid_sources
from training.data.simulated.sequences import MeshSequence, SequenceSource
from training.evaluate import main
from training.evaluation.cache import Cache, method_hash, object_hash
from training.evaluation.inverse_kinematics import ITERATIONS, OBJECTIVES, decode, errors, solve
from training.evaluation.judge import on_object, summary
from training.evaluation.keypoints import KEYPOINTS, KeypointNetwork, Keypoints
from training.evaluation.methods import (
    ElasticModes,
    Linear,
    Method,
    Modal,
    OwnFrames,
    OwnFramesMlp,
    RestPose,
    RigidFit,
    StateSpace,
    closed_mesh,
    kabsch,
    linear_coefficients,
)
from training.evaluation.neurok import Neurok, NeurokStates, local_rotations
from training.evaluation.objects import (
    OWN_FRAMES,
    EvaluationObject,
    Floats,
    MaterialPoints,
    held_out_objects,
    posed,
    refined,
    unit_object,
)
from training.evaluation.scanned import scanned_objects
from training.evaluation.signals import NAMES, object_signals
from training.evaluation.third_party import PACKAGES, moves_as_one, package_root, third_party_objects
from training.pairs import PairSource


def door(angles: list[float]) -> EvaluationObject:
    """A frame and a leaf that swings about z; the poses to reach, and the same without end for oracles."""
    frame = trimesh.creation.box(bounds=[(-1, -0.1, -1), (0, 0.1, 1)]).subdivide()
    leaf = trimesh.creation.box(bounds=[(0.05, -0.1, -1), (1, 0.1, 1)]).subdivide()
    both = trimesh.util.concatenate([frame, leaf])
    swings = np.arange(len(both.vertices)) >= len(frame.vertices)

    def pose(angle: float) -> Floats:
        turned = Rotation.from_rotvec([0, 0, angle]).as_matrix()
        return np.where(swings[:, None], both.vertices @ turned.T, both.vertices)

    frames = np.stack([pose(a) for a in np.linspace(0, 1.5, 24)])
    return unit_object("test/door/0", both.vertices, np.asarray(both.faces), np.stack([pose(a) for a in angles]), frames)


@pytest.fixture(scope="module")
def swinging() -> EvaluationObject:
    return door([0.4, 1.2])


@pytest.fixture(scope="module")
def untrained() -> NeurokModel:
    torch.manual_seed(0)
    config = ModelConfig(
        width=32, tokens=4, token_size=8, encoder_blocks=1, decoder_blocks=1, handles=6, encoder_points=48, deformation_points=48
    )
    return NeurokModel(config).eval().requires_grad_(False)


def reached(given: EvaluationObject, method: Method, objective: str = "vertex") -> float:
    space = method.fit(given)
    found = [decode(given, space, solve(given, space, target, objective, ITERATIONS)) for target in given.targets]  # type: ignore[arg-type]
    return float(np.mean([errors(given, f, t).vertex_rmse for f, t in zip(found, given.targets, strict=True)]))


def test_an_object_is_in_units_of_itself(swinging: EvaluationObject) -> None:
    assert np.linalg.norm(swinging.vertices, axis=1).max() == pytest.approx(1)
    assert np.linalg.norm(swinging.surface.at(swinging.vertices).mean(axis=0)) < 0.03  # 8192 and 2048 random points


def test_points_of_the_surface_go_where_their_triangles_go(swinging: EvaluationObject) -> None:
    turn, shift = Rotation.from_rotvec([0.3, 0.2, 0.1]).as_matrix(), np.array([1.0, 2.0, 3.0])
    for points in (swinging.surface, swinging.fitting, MaterialPoints.vertices(len(swinging.vertices))):
        there = points.at(swinging.vertices @ turn.T + shift)
        np.testing.assert_allclose(there, points.at(swinging.vertices) @ turn.T + shift, atol=1e-12)
        np.testing.assert_allclose(points.weights.sum(axis=1), 1)
        assert points.weights.min() > -1e-9


def test_splitting_long_edges_changes_no_shape() -> None:
    mesh = trimesh.creation.cylinder(0.3, 2.0, sections=7)
    vertices, faces = refined(np.stack([mesh.vertices, 2 * mesh.vertices]), np.asarray(mesh.faces), 0.2)
    fine = trimesh.Trimesh(vertices[0], faces, process=False)
    assert fine.edges_unique_length.max() <= 0.2
    assert fine.is_watertight
    assert fine.volume == pytest.approx(mesh.volume)
    assert fine.area == pytest.approx(mesh.area)
    np.testing.assert_allclose(vertices[1], 2 * vertices[0])


def test_rest_is_rest_for_every_method(swinging: EvaluationObject, untrained: NeurokModel) -> None:
    exact = [RestPose(), RigidFit(), ElasticModes(6), Modal(), OwnFrames(4), Neurok(untrained, 4), Neurok(untrained, None)]
    for method in exact:
        space = method.fit(swinging)
        np.testing.assert_allclose(decode(swinging, space, space.rest), swinging.vertices, atol=1e-6, err_msg=method.name)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_space_that_holds_the_motion_reaches_it(swinging: EvaluationObject, objective: str) -> None:
    """Two principal components hold a turn about one axis exactly: cosine and sine."""
    assert reached(swinging, OwnFrames(3), objective) < 1e-4


def test_a_curved_space_of_one_coordinate_reaches_what_a_flat_one_cannot(swinging: EvaluationObject) -> None:
    assert reached(swinging, OwnFramesMlp(1)) < 0.02
    assert reached(swinging, OwnFrames(1)) > 0.02


def test_the_optimizer_finds_the_optimum(swinging: EvaluationObject) -> None:
    """Of a linear space it is known in closed form."""
    space = ElasticModes(6).fit(swinging)
    assert isinstance(space, Linear)
    exact = linear_coefficients(space, swinging.fitting, swinging.targets[1])
    np.testing.assert_allclose(solve(swinging, space, swinging.targets[1], "vertex", ITERATIONS), exact, atol=1e-5)


def test_the_best_rigid_fit_is_the_best() -> None:
    """A whole that turned and moved comes back exactly; starting there, the optimizer has nothing to do."""
    still = door([0.0])
    turn = Rotation.from_rotvec([0.5, -1.0, 2.0]).as_matrix()
    target = still.vertices @ turn.T + [0.1, 0.2, 0.3]
    given = EvaluationObject(still.name, still.vertices, still.faces, target[None], still.frames)
    assert reached(given, RigidFit()) < 1e-9


def test_elastic_parts_swing_at_a_joint_before_they_bend(swinging: EvaluationObject) -> None:
    """The leaf hangs by weak springs: the six softest ways keep each part's shape up to second order."""
    space = ElasticModes(6).fit(swinging)
    assert isinstance(space, Linear)
    leaf = swinging.vertices[:, 0] > 0.05
    for mode in np.moveaxis(space.basis, 2, 0):
        rotation, shift = kabsch(swinging.vertices[None, leaf], (swinging.vertices + 1e-4 * mode)[None, leaf])
        rigid = swinging.vertices[leaf] @ rotation[0].T + shift[0]
        bent = np.linalg.norm(swinging.vertices[leaf] + 1e-4 * mode[leaf] - rigid, axis=1).max()
        assert bent < 0.05 * 1e-4 * np.linalg.norm(mode, axis=1).max()


def test_open_parts_are_closed_for_the_lattice() -> None:
    """An open tray counts as the box around it, a flat sheet is left out, and what is closed stays as it is."""
    tray = trimesh.creation.box((1, 1, 1))
    tray = trimesh.Trimesh(tray.vertices, tray.faces[np.abs(tray.face_normals[:, 2] - 1) > 0.1])
    ball = trimesh.creation.icosphere(subdivisions=2)
    ball.apply_translation([3, 0, 0])
    sheet = trimesh.Trimesh([[0, 0, 2], [1, 0, 2], [0, 1, 2]], [[0, 1, 2]])
    mixed = trimesh.util.concatenate([tray, ball, sheet])
    found = trimesh.Trimesh(*closed_mesh(mixed.vertices, np.asarray(mixed.faces)), process=False)
    assert found.is_watertight
    assert found.volume == pytest.approx(1 + ball.volume)


def test_the_adapter_gives_the_encoder_the_true_rotations() -> None:
    rng = np.random.default_rng(0)
    points, part = rng.uniform(-1, 1, (100, 3)), np.repeat([0, 1], 50)
    turns = Rotation.from_rotvec([[0, 0, 0.7], [1.0, 0, 0]]).as_matrix()[part]
    moved = np.einsum("nij,nj->ni", turns, points) + part[:, None]
    np.testing.assert_allclose(local_rotations(points, moved, part), turns, atol=1e-9)


def test_a_network_starts_where_its_encoder_says(swinging: EvaluationObject, untrained: NeurokModel) -> None:
    space = Neurok(untrained, None).fit(swinging)
    assert isinstance(space, NeurokStates)
    np.testing.assert_allclose(space.start(swinging.vertices), space.rest, atol=1e-4)
    expected = (space.posterior_mean(swinging.targets[0]) - space.encoded.rest).flatten()
    np.testing.assert_allclose(space.start(swinging.targets[0]), expected, atol=1e-6)
    assert expected.abs().max() > 1e-3


def test_signals_of_an_object_are_numbers(swinging: EvaluationObject, untrained: NeurokModel) -> None:
    space = Neurok(untrained, 3).fit(swinging)
    assert isinstance(space, NeurokStates)
    found = object_signals(space.encoded, space.subspace)
    assert set(found) == set(NAMES)
    assert all(np.isfinite(value) and value > 0 for value in found.values())
    assert found["condition"] >= 1
    assert found["importance"] <= 1 + 1e-6  # a share, in single precision


def test_the_reach_of_an_object_is_how_far_it_can_be_seen_to_move(swinging: EvaluationObject, untrained: NeurokModel) -> None:
    """A network whose handles hardly move has hardly any reach; ten times the motion is ten times the reach."""
    still, moving = copy.deepcopy(untrained), copy.deepcopy(untrained)
    torch.nn.init.zeros_(still.decoder.motion[1].weight)  # type: ignore[arg-type]
    torch.nn.init.normal_(moving.decoder.motion[1].weight, std=0.1)  # type: ignore[arg-type]
    reaches = []
    for model in (still, moving):
        space = Neurok(model, 3).fit(swinging)
        assert isinstance(space, NeurokStates)
        reaches.append(object_signals(space.encoded, space.subspace)["reach"])
    assert reaches[0] < 1e-6
    assert reaches[1] > 1e-3


@dataclass(frozen=True)
class Wild:
    """A method that breaks: when fitted, or when decoded."""

    when: str
    oracle: bool = False

    @property
    def name(self) -> str:
        return self.when

    def fit(self, given: EvaluationObject) -> StateSpace:
        if self.when == "fit":
            raise ValueError("cannot be fitted")
        return Exploding(given.vertices, np.ones((*given.vertices.shape, 1)))


class Exploding(Linear):
    """Nowhere, once it is asked for the vertices."""

    def start(self, target: Floats) -> Tensor:
        return torch.full((1,), float("nan"), dtype=torch.float64)


def test_what_fails_counts_as_the_rest_pose_and_is_named(swinging: EvaluationObject) -> None:
    rest = summary(list(on_object(swinging, RestPose(), 5)))
    assert rest["failed"] == []
    assert rest["vertex_rmse"] > 0.1
    unfit = summary(list(on_object(swinging, Wild("fit"), 5)))
    assert unfit["failed"] == [swinging.name]
    assert unfit["vertex_rmse"] == rest["vertex_rmse"]
    broken = [o for o in on_object(swinging, Wild("decode"), 5) if o.objective == "vertex"]
    assert all(o.failure for o in broken)
    assert summary(broken)["iou"] == rest["iou"]


def test_what_was_judged_is_not_judged_again(swinging: EvaluationObject, tmp_path: Path) -> None:
    """Read back, an outcome is what it was; another object, other options or other weights are not mistaken for it."""
    first = Cache(tmp_path).judged(swinging, RigidFit(), 5)
    kept = list(tmp_path.iterdir())
    again = Cache(tmp_path).judged(swinging, RigidFit(), 5)
    assert list(tmp_path.iterdir()) == kept
    for a, b in zip(first, again, strict=True):
        assert replace(a, found=None) == replace(b, found=None)
        np.testing.assert_array_equal(a.found, b.found)  # type: ignore[arg-type]
    Cache(tmp_path).judged(swinging, RigidFit(), 6)
    assert len(list(tmp_path.iterdir())) == len(kept) + 1
    assert object_hash(swinging) == object_hash(door([0.4, 1.2]))
    assert object_hash(swinging) != object_hash(door([0.4, 1.3]))


def test_other_weights_are_another_method(untrained: NeurokModel) -> None:
    changed = copy.deepcopy(untrained)
    next(changed.parameters())[0] += 1
    hashes = {method_hash(method) for method in (Neurok(untrained, 4), Neurok(changed, 4), Neurok(untrained, 5), OwnFrames(4))}
    assert len(hashes) == 4
    assert method_hash(Neurok(untrained, 4)) == method_hash(Neurok(copy.deepcopy(untrained), 4))


def test_keypoints_move_what_follows_them(swinging: EvaluationObject) -> None:
    """Shares are at most one and fall with the distance; a shape shifted as a whole is as far from its keypoints as it was."""
    torch.manual_seed(0)
    network = KeypointNetwork().eval().requires_grad_(False)
    space = Keypoints(network).fit(swinging)
    assert space.dim == 3 * KEYPOINTS
    np.testing.assert_allclose(decode(swinging, space, space.rest), swinging.vertices, atol=1e-12)
    np.testing.assert_allclose(space.start(swinging.vertices), space.rest, atol=1e-6)
    together = torch.tensor([1.0, 0.0, 0.0]).double().repeat(KEYPOINTS)
    moved = decode(swinging, space, together) - swinging.vertices
    assert (moved[:, 0] > 0).all()
    assert (moved[:, 0] <= 1 + 1e-6).all()
    np.testing.assert_allclose(moved[:, 1:], 0, atol=1e-12)


def test_the_sets_are_the_same_every_time() -> None:
    (first, missing), (again, _) = (held_out_objects("held_out_categories", 3, 1) for _ in range(2))
    assert missing == []
    assert [o.name for o in first] == [o.name for o in again]
    assert len({o.category for o in first}) == 3
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.targets, b.targets)
        assert np.linalg.norm(a.targets[0] - a.vertices, axis=1).max() > 0.05


@pytest.mark.parametrize("source", [*rigid_sources(True)[1:2], *soft_sources(True)[:1]], ids=lambda source: source.name)
def test_every_kind_of_source_gives_objects_with_poses(source: PairSource) -> None:
    given = posed(source, 0, 2)
    assert given.targets.shape == (2, *given.vertices.shape)
    assert len(given.frames) == OWN_FRAMES
    assert np.isfinite(given.targets).all()


def test_a_simulated_body_that_flies_keeps_its_shape_alone(tmp_path: Path) -> None:
    """A cube that tumbles and swells: what is left of the motion is the swelling."""
    cube = trimesh.creation.box((1, 1, 1)).subdivide()
    turns = [Rotation.from_rotvec([0.3 * i, 0.1, 0]).as_matrix() for i in range(6)]
    frames = np.stack([(1 + 0.1 * i) * cube.vertices @ turn.T + [i, 0, 0] for i, turn in enumerate(turns)])
    path = tmp_path / "cube_000009.npz"
    MeshSequence(frames, np.asarray(cube.faces), fixed=False).save(path)
    given = posed(SequenceSource("simulated/cube", [path], True), 0, 3)
    for target in given.targets:
        stretch = np.linalg.norm(target, axis=1) / np.linalg.norm(given.vertices, axis=1)
        assert np.ptp(stretch) < 0.05  # the centre is a mean of random points of the surface
        assert stretch.mean() > 1.05


def test_third_party_objects_are_read_or_missed_by_name() -> None:
    objects, missing = third_party_objects(2, 1)
    installed = [package for package in PACKAGES if package_root(package)]
    assert bool(objects) == bool(installed)
    assert bool(missing) == (len(installed) < 2)
    assert all("is neither installed nor fetched" in reason for reason in missing)


def test_an_object_that_moves_as_one_body_is_told_from_one_with_a_joint(swinging: EvaluationObject) -> None:
    turn = Rotation.from_rotvec([0.5, -1.0, 2.0]).as_matrix()
    turned = replace(swinging, targets=(swinging.vertices @ turn.T + [0.1, 0.2, 0.3])[None])
    assert moves_as_one(turned)
    assert not moves_as_one(swinging)


def test_a_camera_sees_the_near_side_and_the_table() -> None:
    ball = trimesh.creation.icosphere(subdivisions=3, radius=0.15)
    ball.apply_translation([0, 0, 0.15])
    scan = simulated_scan(np.asarray(ball.vertices), np.asarray(ball.faces), 0.0, np.random.default_rng(0))
    on_ball = scan.points[scan.points[:, 2] > 0.03]
    distance = np.abs(np.linalg.norm(on_ball - [0, 0, 0.15], axis=1) - 0.15)
    assert len(on_ball) > 5000
    assert np.median(distance) < 0.003  # a disparity step is 2.6 mm at 0.9 m
    toward = scan.viewpoints[0] - [0, 0, 0.15]
    assert ((on_ball - [0, 0, 0.15]) @ toward > -0.01).mean() > 0.99
    table = scan.points[np.linalg.norm(scan.points[:, :2], axis=1) > 0.3]
    assert np.median(np.abs(table[:, 2])) < 0.003


def test_a_scanned_object_moves_as_the_true_one_or_is_missed_by_name(swinging: EvaluationObject, tmp_path: Path) -> None:
    """The leaf swings by what it swings; a ball that moves inside a shut box is not seen."""
    shut = trimesh.util.concatenate([trimesh.creation.box((1, 1, 1)), trimesh.creation.icosphere(subdivisions=1, radius=0.1)])
    inside = shut.vertices.copy()
    inside[8:] += [0.2, 0, 0]
    hidden = unit_object("test/hidden/0", shut.vertices, np.asarray(shut.faces), inside[None], inside[None])
    (found,), failed = scanned_objects([swinging, hidden], Cache(tmp_path), lambda name: None)
    assert found.name == "scanned/test/door/0"
    assert failed == ["scanned/test/hidden/0: what moves was not reconstructed"]
    (again,), failed_again = scanned_objects([swinging, hidden], Cache(tmp_path), lambda name: None)
    assert failed_again == failed
    assert object_hash(again) == object_hash(found)
    _, distance, _ = trimesh.proximity.closest_point_naive(
        trimesh.Trimesh(swinging.vertices, swinging.faces), found.vertices[::20]
    )  # both are in units of themselves, and the scan closes the gap
    assert np.median(distance) < 0.1
    for mine, true in zip(found.targets, swinging.targets, strict=True):
        swung = np.linalg.norm(mine - found.vertices, axis=1).max()
        assert swung == pytest.approx(np.linalg.norm(true - swinging.vertices, axis=1).max(), rel=0.2)


@pytest.mark.parametrize("trained", [False, True])
def test_one_command_leaves_a_report_with_pictures_and_figures(trained: bool, untrained: NeurokModel, tmp_path: Path) -> None:
    """The figures have the names that other tools read: those of issue and README, for the model and for every baseline."""
    checkpoint = "none"
    if trained:
        checkpoint = str(tmp_path / "weights.safetensors")
        save_model(untrained, Path(checkpoint), {})
    main(
        checkpoint, tmp_path, tmp_path / "results" / "kinematics.json", cache=tmp_path / "cache", third_party=0, instances=1,
        categories=0, scanned=0, poses=1, iterations=3, strips=1,
    )  # fmt: skip
    found = json.loads((tmp_path / "results" / "kinematics.json").read_text())
    errors_of = {"chamfer_l1", "chamfer_l2", "iou", "vertex_rmse", "objects"}
    for name in ("third_party", "held_out_instances", "held_out_categories", "scanned"):
        assert errors_of <= set(found[name])
    assert found["held_out_instances"]["objects"] == 1
    judged = found["held_out_instances"]["baselines"]
    assert {"rest pose", "rigid", "elastic modes", "skinning modes", "PCA of own frames", "MLP of own frames"} <= set(judged)
    for values in judged.values():
        assert errors_of <= set(values)
        assert values["objects"] == 1
        assert isinstance(values["oracle"], bool)
        assert all(np.isfinite(values[key]) for key in errors_of)
    for value in (found["held_out_instances"]["vertex_rmse"], found["encode_ms_cpu"], found["checkpoint_mb"]):
        assert (value is not None) == trained
    assert found["commit"]
    assert "training.evaluate" in found["command"]
    assert set(found["out_of_distribution"]) == (set(NAMES) if trained else set())
    for picture in ("errors.png", "strips_held_out.png", "poses_held_out_instances.png"):
        assert picture in (tmp_path / "report.md").read_text()
        assert (tmp_path / picture).stat().st_size > 1000
