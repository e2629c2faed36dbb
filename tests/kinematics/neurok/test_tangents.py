"""The decoder's derivatives written by hand against those of torch.func."""

from __future__ import annotations

import pytest
import torch

from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.decoders import HandleDecoder
from neurok_ros.kinematics.neurok.model import NeurokModel
from neurok_ros.kinematics.neurok.surface import Surface
from neurok_ros.kinematics.neurok.tangents import HandleMotions


@pytest.mark.parametrize("anchored", [True, False])
@pytest.mark.parametrize("blocks", [1, 2])
def test_derivatives_are_those_of_the_decoder(anchored: bool, blocks: int) -> None:
    """In float64, for large motions: rounding alone."""
    torch.manual_seed(1)
    sizes = {"tokens": 5, "token_size": 4, "encoder_blocks": 1, "handles": 7, "encoder_points": 30, "deformation_points": 30}
    model = NeurokModel(ModelConfig(width=24, heads=3, decoder_blocks=blocks, anchored=anchored, **sizes)).double()
    decoder = model.decoder
    assert isinstance(decoder, HandleDecoder)
    torch.nn.init.normal_(decoder.motion[1].weight, std=0.5)  # type: ignore[arg-type]
    points = torch.randn(1, 30, 3).double()
    surface = Surface.of(points, torch.nn.functional.normalize(points, dim=-1), torch.zeros(1, 30, dtype=torch.int64))
    latent, directions = torch.randn(5, 4).double(), torch.randn(3, 5, 4).double()
    with torch.no_grad():
        prepared = model.prepare(model.encode_shape(surface), surface, surface)

        def maps(amounts: torch.Tensor) -> torch.Tensor:
            moved = latent + torch.einsum("k,kij->ij", amounts, directions)
            return decoder.controls(prepared, moved[None, None])[0, 0]

        expected = torch.func.jacfwd(maps)(torch.zeros(3).double()).movedim(-1, 0)
        motions = HandleMotions(decoder, prepared, latent)
        value, slopes = motions.with_slopes(latent, directions)
    torch.testing.assert_close(motions.maps(latent), maps(torch.zeros(3).double()), rtol=0, atol=1e-13)
    torch.testing.assert_close(value, maps(torch.zeros(3).double()), rtol=0, atol=1e-13)
    torch.testing.assert_close(slopes, expected, rtol=0, atol=1e-13)
    assert expected.abs().max() > 0.1
