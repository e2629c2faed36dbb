"""Which state space an object gets: what must hold for any trained model holds for one with random weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from meshes import box, mesh_of

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.kinematics.neurok import Familiarity, ModelConfig, NeurokModel, installed, save_model
from neurok_ros.parameterization import StrainSites
from neurok_ros.prediction import predict, prepare, state_space
from neurok_ros.prediction.suggested_push import suggest_push
from neurok_ros.prediction.types import PhysicalProperties, PredictionOptions
from neurok_ros.reconstruction.types import ReconstructedMesh

FOAM = PhysicalProperties(density=60.0, youngs_modulus=2.0e4)
WOOD = PhysicalProperties(density=600.0, youngs_modulus=1.0e10, friction=0.4)
KNOWN = Familiarity(still=0.001, importance=0.95, reach=0.2)


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the package looks for its model; nothing is there yet."""
    path = tmp_path / "weights" / "neurok.safetensors"
    monkeypatch.setattr(installed, "WEIGHTS", path)
    installed.installed_model.cache_clear()
    yield path
    installed.installed_model.cache_clear()


@pytest.fixture
def random_model(weights: Path) -> Path:
    """A small network, installed, whose motions are some percent of an object's size."""
    torch.manual_seed(0)
    sizes = {"tokens": 4, "token_size": 8, "encoder_blocks": 1, "decoder_blocks": 1, "handles": 6}
    model = NeurokModel(ModelConfig(width=32, encoder_points=40, deformation_points=40, **sizes))
    torch.nn.init.normal_(model.decoder.motion[1].weight, std=0.05)  # type: ignore[arg-type]
    save_model(model, weights, {})
    return weights


@pytest.mark.parametrize(("properties", "expected"), [(FOAM, "modal"), (WOOD, "rigid")])
def test_without_a_model_the_reason_says_so(
    weights: Path, block: ReconstructedMesh, properties: PhysicalProperties, expected: str
) -> None:
    prepared = prepare(block, properties, PredictionOptions())
    assert prepared.kinematics.name == expected
    assert "no learned model is installed" in prepared.reason


def test_asking_for_a_model_that_is_not_there_is_refused(weights: Path, block: ReconstructedMesh) -> None:
    with pytest.raises(NeurokError, match="no learned model is installed") as caught:
        prepare(block, FOAM, PredictionOptions(parameterization="neurok"))
    assert (caught.value.code, caught.value.field) == (ErrorCode.INVALID_OPTIONS, "parameterization")


def test_a_damaged_model_is_named(weights: Path, block: ReconstructedMesh) -> None:
    weights.parent.mkdir()
    weights.write_bytes(b"no weights")
    with pytest.raises(NeurokError, match="checkpoint"):
        prepare(block, FOAM, PredictionOptions())


@pytest.mark.parametrize(
    ("found", "number"),
    [
        (replace(KNOWN, still=0.123), "12.3%"),
        (replace(KNOWN, importance=0.31), "31%"),
        (replace(KNOWN, reach=0.004), "0.4%"),
    ],
)
@pytest.mark.parametrize(("properties", "expected"), [(FOAM, "modal"), (WOOD, "rigid")])
def test_an_object_that_the_model_does_not_know_falls_back_and_says_by_how_much(
    random_model: Path,
    block: ReconstructedMesh,
    monkeypatch: pytest.MonkeyPatch,
    properties: PhysicalProperties,
    expected: str,
    found: Familiarity,
    number: str,
) -> None:
    monkeypatch.setattr(state_space, "familiarity", lambda encoded, subspace: found)
    prepared = prepare(block, properties, PredictionOptions())
    assert prepared.kinematics.name == expected
    assert number in prepared.reason


@pytest.mark.parametrize(
    ("properties", "joints", "expected"), [(WOOD, 0, "rigid"), (FOAM, 0, "modal"), (WOOD, 7, "neurok"), (FOAM, 7, "neurok")]
)
def test_an_object_that_the_model_knows_takes_the_learned_motions_for_its_joints(
    random_model: Path,
    block: ReconstructedMesh,
    monkeypatch: pytest.MonkeyPatch,
    properties: PhysicalProperties,
    joints: int,
    expected: str,
) -> None:
    def material(kinematics: object, sites: StrainSites) -> torch.Tensor:
        return torch.arange(len(sites.volume)) >= joints

    monkeypatch.setattr(state_space, "familiarity", lambda encoded, subspace: KNOWN)
    monkeypatch.setattr(state_space, "elastic_sites", material)
    monkeypatch.setattr(state_space, "rigid_share", lambda kinematics, sites, internal: 0.5 if joints else 0.1)
    prepared = prepare(block, properties, PredictionOptions())
    assert prepared.kinematics.name == expected
    stiff = properties is WOOD
    assert int((~prepared.material).sum()) == (0 if stiff else joints)
    if joints:
        assert prepared.jointed == stiff
        assert stiff or prepared.modulus == min(properties.youngs_modulus, state_space.LARGEST_MODULUS)
        assert "the learned model knows the object" in prepared.reason
    else:
        assert "no joint" in prepared.reason


def test_parts_that_are_surely_rigid_are_on_joints_whatever_modulus_the_object_was_given(
    random_model: Path, block: ReconstructedMesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_space, "familiarity", lambda encoded, subspace: KNOWN)
    monkeypatch.setattr(state_space, "rigid_share", lambda kinematics, sites, internal: 0.7)
    prepared = prepare(block, FOAM, PredictionOptions())
    assert prepared.kinematics.name == "neurok"
    assert prepared.jointed


@pytest.mark.parametrize(("still", "unfamiliar"), [(0.2, True), (0.0, False)])
def test_learned_coordinates_that_do_not_fit_are_flagged_where_they_were_asked_for(
    random_model: Path, block: ReconstructedMesh, monkeypatch: pytest.MonkeyPatch, still: float, unfamiliar: bool
) -> None:
    monkeypatch.setattr(state_space, "familiarity", lambda encoded, subspace: replace(KNOWN, still=still))
    monkeypatch.setattr(state_space, "rigid_share", lambda kinematics, sites, internal: 0.7)
    options = PredictionOptions(parameterization="neurok", horizon=0.1)
    motion = predict(prepare(block, WOOD, options), suggest_push(block, depth=0.2, height=0.7), options)
    assert motion.flags["unfamiliar"] == unfamiliar
    assert ("does not know the object" in motion.parameterization_reason) == unfamiliar


@pytest.mark.parametrize("properties", [WOOD, FOAM], ids=["stiff", "soft"])
def test_a_push_is_rolled_out_on_learned_coordinates_from_the_scan(
    random_model: Path, block: ReconstructedMesh, properties: PhysicalProperties
) -> None:
    options = PredictionOptions(parameterization="neurok", horizon=0.4)
    prepared = prepare(block, properties, options)
    motion = predict(prepared, suggest_push(block, depth=0.2, height=0.7), options)
    assert motion.parameterization == "neurok"
    assert not motion.flags["diverged"]
    assert motion.displacement.max() > 1e-3
    np.testing.assert_allclose(motion.vertices[0], block.vertices, atol=1e-6)


def test_the_limit_holds_the_rest_state(random_model: Path, block: ReconstructedMesh) -> None:
    limit = prepare(block, WOOD, PredictionOptions(parameterization="neurok")).kinematics.limit
    assert limit is not None
    assert float(limit.center.norm()) <= limit.radius


def test_rest_is_the_scan_of_an_object_of_two_parts(random_model: Path) -> None:
    lid = box((0.1, 0.1, 0.01)).apply_translation((0.0, 0.0, 0.062))
    mesh = mesh_of(box((0.1, 0.1, 0.06)) + lid)
    prepared = prepare(mesh, WOOD, PredictionOptions(parameterization="neurok"))
    points = torch.from_numpy(mesh.vertices)
    moving = prepared.kinematics.at(points)
    torch.testing.assert_close(moving.positions(moving.rest), points, rtol=0, atol=1e-13)
