"""The network: what it must not depend on, and derivatives that are those of differences."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from neurok_ros.errors import NeurokError
from neurok_ros.geometry.rotations import quaternion_exp, quaternion_matrix
from neurok_ros.kinematics.neurok.checkpoint import load_model, save_model
from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.encoders import Posterior, ShapeCode
from neurok_ros.kinematics.neurok.layers import Attention, Block, FeedForward, RmsNorm
from neurok_ros.kinematics.neurok.model import NeurokModel, kl_divergence, transform
from neurok_ros.kinematics.neurok.surface import Surface

DECODERS = ("handles", "points")


def tiny(decoder: str = "handles") -> NeurokModel:
    """A network whose motions are not small, in float64."""
    torch.manual_seed(0)
    config = ModelConfig(
        decoder=decoder,  # type: ignore[arg-type]
        width=32,
        tokens=4,
        token_size=8,
        encoder_blocks=1,
        decoder_blocks=1,
        handles=6,
        encoder_points=40,
        deformation_points=40,
    )
    model = NeurokModel(config).double()
    torch.nn.init.normal_(model.decoder.motion[1].weight, std=0.2)  # type: ignore[arg-type]
    return model.requires_grad_(False)


def some_shape(points: int = 70) -> Surface:
    generator = torch.Generator().manual_seed(1)
    raw = torch.randn(2, 1, points, 3, generator=generator, dtype=torch.float64)
    part = torch.arange(points).remainder(3).unsqueeze(0)
    return Surface.of(0.5 * raw[0] / raw[0].norm(dim=-1).max(), torch.nn.functional.normalize(raw[1], dim=-1), part)


def picked(surface: Surface, index: torch.Tensor) -> Surface:
    return Surface(surface.points[:, index], surface.normals[:, index], surface.parts[:, index])


def second_derivative(function: torch.nn.Module, x: torch.Tensor, way: torch.Tensor) -> torch.Tensor:
    once = lambda y: torch.func.jvp(function, (y,), (way,))[1]  # noqa: E731
    result: torch.Tensor = torch.func.jvp(once, (x,), (way,))[1]
    return result


@pytest.mark.parametrize(
    "layer", [RmsNorm(16), Attention(16, 4), FeedForward(16), Block(16, 4, True)], ids=lambda x: type(x).__name__
)
def test_layers_survive_forward_over_forward(layer: torch.nn.Module) -> None:
    """LayerNorm in place of the norm fails this by more than its value. Bound: fourth derivatives times h^2."""
    layer = layer.double().requires_grad_(False)
    x, way = torch.randn(2, 1, 5, 16, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    context = torch.randn(1, 7, 16, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    function = (lambda y: layer(y, context)) if isinstance(layer, (Attention, Block)) else layer
    h = 1e-3
    differences = (
        -function(x + 2 * h * way)
        + 16 * function(x + h * way)
        - 30 * function(x)
        + 16 * function(x - h * way)
        - function(x - 2 * h * way)
    ) / (12 * h**2)
    torch.testing.assert_close(second_derivative(function, x, way), differences, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("decoder", DECODERS)
def test_the_decoder_survives_forward_over_forward(decoder: str) -> None:
    model = tiny(decoder)
    surface = some_shape()
    shape = model.encode_shape(surface.first(40))
    prepared = model.prepare(shape, surface.first(40), surface)
    z, way = torch.randn(2, 1, 1, 4, 8, generator=torch.Generator().manual_seed(4), dtype=torch.float64)

    def decode(latent: torch.Tensor) -> torch.Tensor:
        return transform(model.maps(prepared, latent), surface.points[:, None])

    h = 1e-3
    differences = (
        -decode(z + 2 * h * way) + 16 * decode(z + h * way) - 30 * decode(z) + 16 * decode(z - h * way) - decode(z - 2 * h * way)
    ) / (12 * h**2)
    assert differences.abs().max() > 1e-3, "the latent bends the motion"
    torch.testing.assert_close(second_derivative(decode, z, way), differences, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("decoder", DECODERS)
def test_maps_are_rigid_at_controls_and_targets_do_not_mix(decoder: str) -> None:
    model = tiny(decoder)
    surface = some_shape()
    shape = model.encode_shape(surface.first(40))
    prepared = model.prepare(shape, surface.first(40), surface)
    latents = torch.randn(1, 3, 4, 8, dtype=torch.float64)
    controls = model.controls(prepared, latents)
    rotation = controls[..., :3]
    torch.testing.assert_close(rotation @ rotation.mT, torch.eye(3).double().expand_as(rotation), rtol=0, atol=1e-12)
    alone = model.maps(prepared, latents[:, 1:2])
    torch.testing.assert_close(model.maps(prepared, latents)[:, 1:2], alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("decoder", DECODERS)
def test_no_order_of_encoded_points_matters_but_for_the_first_which_are_anchors(decoder: str) -> None:
    model = tiny(decoder)
    surface = some_shape(40)
    moved, turn = surface.points[:, None] + 0.1, torch.eye(3).double().expand(1, 1, 40, 3, 3)
    order = torch.cat([torch.arange(4), 4 + torch.randperm(36, generator=torch.Generator().manual_seed(5))])
    means = []
    for index in (torch.arange(40), order):
        seen = picked(surface, index)
        shape = model.encode_shape(seen)
        means.append(model.encode_deformation(seen, moved[:, :, index], turn, shape).mean)
    torch.testing.assert_close(means[0], means[1], rtol=0, atol=1e-12)


def test_the_encoder_sees_a_rotation_whichever_sign_its_quaternion_has() -> None:
    """A turn by just under and just over 180 degrees about an axis and its opposite is nearly the same motion."""
    model = tiny()
    surface = some_shape(40)
    shape = model.encode_shape(surface)
    moved = surface.points[:, None].expand(1, 1, 40, 3)
    codes = []
    for angle in (3.0, 3.0 - 2 * torch.pi):
        turn = quaternion_matrix(quaternion_exp(torch.tensor([0.0, 0.0, angle], dtype=torch.float64)))
        codes.append(model.encode_deformation(surface, moved, turn.expand(1, 1, 40, 3, 3), shape).mean)
    torch.testing.assert_close(codes[0], codes[1], rtol=0, atol=1e-10)


def test_kl_is_that_of_torch_distributions() -> None:
    generator = torch.Generator().manual_seed(6)
    mean, log_variance = torch.randn(2, 2, 3, 4, 8, generator=generator)
    prior = torch.randn(2, 4, 8, generator=generator)
    shape, posterior = ShapeCode(prior, prior, None), Posterior(mean, log_variance)
    normal = torch.distributions.Normal
    expected = torch.distributions.kl_divergence(normal(mean, (0.5 * log_variance).exp()), normal(prior[:, None], 1.0))
    torch.testing.assert_close(kl_divergence(posterior, shape), expected)


def test_weights_of_the_handles_come_from_the_shape_and_sum_to_one() -> None:
    model = tiny("handles")
    surface = some_shape()
    shape = model.encode_shape(surface.first(40))
    weights = model.prepare(shape, surface.first(40), surface).weights
    assert weights is not None
    assert weights.shape == (1, 70, 6)
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 70).double(), rtol=0, atol=1e-12)


def test_a_checkpoint_gives_back_config_and_weights(tmp_path: Path) -> None:
    model, path = tiny("points").float(), tmp_path / "w.safetensors"
    save_model(model, path, {"step": 3}, torch.float32)
    again = load_model(path, "cpu")
    assert again.config == model.config
    raw = some_shape(40)
    surface = Surface(raw.points.float(), raw.normals.float(), raw.parts.float())
    torch.testing.assert_close(again.encode_shape(surface).mean, model.encode_shape(surface).mean, rtol=0, atol=0)
    assert [p.name for p in tmp_path.iterdir()] == ["w.safetensors"]


def test_a_checkpoint_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    with pytest.raises(NeurokError, match="no such file"):
        load_model(path)
    path.write_bytes(b"not weights at all")
    with pytest.raises(NeurokError, match="whole safetensors file"):
        load_model(path)
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(NeurokError, match="has format None"):
        load_model(path)

    save_model(tiny(), path, {})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(NeurokError, match="whole safetensors file"):
        load_model(path)
    path.write_bytes(whole.replace(rb"\"handles\": 6", rb"\"handels\": 6"))
    with pytest.raises(NeurokError, match="handels"):
        load_model(path)
    path.write_bytes(whole.replace(rb"\"token_size\": 8", rb"\"token_size\": 7"))
    with pytest.raises(NeurokError, match="of shape"):
        load_model(path)
    path.write_bytes(whole.replace(rb"\"encoder_blocks\": 1", rb"\"encoder_blocks\": 2"))
    with pytest.raises(NeurokError, match="lacks"):
        load_model(path)


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    model = tiny()
    model.prior_encoder.tokens[0, 0] = torch.nan
    save_model(model, tmp_path / "w.safetensors", {})
    assert load_file(tmp_path / "w.safetensors")
    with pytest.raises(NeurokError, match=r"prior_encoder\.tokens"):
        load_model(tmp_path / "w.safetensors")


@pytest.mark.parametrize(
    ("change", "named"),
    [({"width": 0}, "width"), ({"heads": 5}, "width"), ({"decoder": "mlp"}, "decoder"), ({"handles": 300}, "handles")],
)
def test_a_config_of_no_use_is_refused(change: dict[str, object], named: str) -> None:
    with pytest.raises(NeurokError, match=rf"model\.{named}"):
        dataclasses.replace(ModelConfig(), **change)  # type: ignore[arg-type]


def test_what_parts_are_told_to_their_points() -> None:
    """Middle and spread of two parts by hand; labels may be any."""
    points = torch.tensor([[[0.0, 0, 0], [2.0, 0, 0], [0, 5.0, 0], [0, 5.0, 4.0]]])
    parts = Surface.of(points, points, torch.tensor([[3, 3, 1, 1]])).parts
    torch.testing.assert_close(parts[0, 0], torch.tensor([1.0, 0, 0, 1.0, 0, 0]))
    torch.testing.assert_close(parts[0, 3], torch.tensor([0, 5.0, 2.0, 0, 0, 2.0]))
