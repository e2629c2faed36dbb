"""NeuROK: a conditional variational auto-encoder of the deformations that a shape can undergo (Sec. 4.1)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.decoders import HandleDecoder, PointDecoder, Prepared
from neurok_ros.kinematics.neurok.encoders import DeformationEncoder, Posterior, PriorEncoder, ShapeCode
from neurok_ros.kinematics.neurok.surface import Surface


class NeurokModel(nn.Module):
    """Both encoders and the decoder. Lengths are in units of the object: mean of its points at the origin, largest radius one.

    Shapes: b objects, t deformations of each, n points, c controls.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.prior_encoder = PriorEncoder(config)
        self.deformation_encoder = DeformationEncoder(config)
        self.decoder: HandleDecoder | PointDecoder = (
            HandleDecoder(config) if config.decoder == "handles" else PointDecoder(config)
        )

    def encode_shape(self, surface: Surface) -> ShapeCode:
        """The prior of shapes, from evenly spread points."""
        code: ShapeCode = self.prior_encoder(surface)
        return code

    def encode_deformation(self, surface: Surface, moved: Tensor, rotations: Tensor, shape: ShapeCode) -> Posterior:
        """The posterior of deformations to points (b, t, n, 3) with local rotations (b, t, n, 3, 3)."""
        posterior: Posterior = self.deformation_encoder(surface, moved, rotations, shape)
        return posterior

    def prepare(self, shape: ShapeCode, anchors: Surface, surface: Surface) -> Prepared:
        """All that decoding at a surface's n points needs beside the latent; `anchors` are what the shape was encoded from."""
        return self.decoder.prepare(shape, anchors, surface)

    def controls(self, prepared: Prepared, latent: Tensor) -> Tensor:
        """(b, t, c, 3, 4) rigid maps, of latents (b, t, K, F_token)."""
        return self.decoder.controls(prepared, latent)

    def maps(self, prepared: Prepared, latent: Tensor) -> Tensor:
        """(b, t, n, 3, 4) the affine map of each query point, of latents (b, t, K, F_token)."""
        return at_points(prepared, self.controls(prepared, latent))

    def forward(
        self, surface: Surface, moved: Tensor, rotations: Tensor, noise: Tensor, fraction: Tensor
    ) -> tuple[Tensor, Tensor, Posterior, ShapeCode]:
        """Encode deformations and decode them again, for training.

        The first `encoder_points` points are encoded, those after them are decoded.

        Args:
            surface: n points at rest.
            moved: (b, t, n, 3).
            rotations: (b, t, n, 3, 3).
            noise: (b, t, K, F_token) standard normal numbers; zeros decode the posterior's mean.
            fraction: (b, t) how far to go on the straight way from the rest state's latent to each posterior's mean.

        Returns:
            (b, t, n - encoder_points, 3, 4) the decoded affine map of each point after the encoder's, relative to that of the
            rest state; the same part of the way; the posterior; the prior.
        """
        count = self.config.encoder_points
        seen = surface.first(count)
        shape = self.encode_shape(seen)
        still = torch.eye(3, device=moved.device).expand(len(moved), 1, moved.shape[2], 3, 3)
        both = self.encode_deformation(
            seen, torch.cat([moved, surface.points.unsqueeze(1)], 1), torch.cat([rotations, still], 1), shape
        )
        posterior, rest = Posterior(both.mean[:, :-1], both.log_variance[:, :-1]), both.mean[:, -1:]
        latent = posterior.mean + (0.5 * posterior.log_variance).exp() * noise
        between = rest + fraction[..., None, None] * (posterior.mean - rest)
        prepared = self.prepare(shape, seen, surface.after(count))
        controls = self.controls(prepared, torch.cat([latent, between, rest], 1))
        maps = at_points(prepared, compose(controls[:, :-1], inverse(controls[:, -1:])))
        ends, ways = maps.chunk(2, dim=1)
        return ends, ways, posterior, shape


def at_points(prepared: Prepared, controls: Tensor) -> Tensor:
    """(b, t, n, 3, 4) the map of each query point, of its controls' (b, t, c, 3, 4)."""
    return controls if prepared.weights is None else blend(prepared.weights.unsqueeze(1), controls)


def blend(weights: Tensor, controls: Tensor) -> Tensor:
    """(..., n, 3, 4): sums of maps (..., c, 3, 4) with weights (..., n, c)."""
    with torch.autocast(weights.device.type, enabled=False):
        mixed: Tensor = weights @ controls.flatten(-2)
    return mixed.reshape(*mixed.shape[:-1], 3, 4)


def compose(after: Tensor, before: Tensor) -> Tensor:
    """(..., 3, 4) affine maps: `before`, then `after`."""
    offset = (after[..., :3] @ before[..., 3:]) + after[..., 3:]
    return torch.cat([after[..., :3] @ before[..., :3], offset], dim=-1)


def inverse(rigid: Tensor) -> Tensor:
    """(..., 3, 4) of rigid maps (..., 3, 4)."""
    back = rigid[..., :3].transpose(-1, -2)
    return torch.cat([back, -(back @ rigid[..., 3:])], dim=-1)


def transform(maps: Tensor, points: Tensor) -> Tensor:
    """(..., n, 3): points (..., n, 3) moved by affine maps (..., n, 3, 4)."""
    return (maps[..., :3] * points.unsqueeze(-2)).sum(-1) + maps[..., 3]


def kl_divergence(posterior: Posterior, shape: ShapeCode) -> Tensor:
    """(b, t, K, F_token) nats for each number of the latent: D(N(m, s^2) || N(mean, 1))."""
    difference = posterior.mean - shape.mean.unsqueeze(1)
    return 0.5 * (difference.square() + posterior.log_variance.exp() - posterior.log_variance - 1)
