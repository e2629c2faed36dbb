"""The two encoders: what can move (prior), and how it moved (posterior)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from neurok_ros.geometry.dual_quaternions import dual_quaternion, matrix_quaternion
from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.layers import Block, PointEmbedding, RmsNorm, squared_distances
from neurok_ros.kinematics.neurok.surface import Surface

REACH = 3.0
"""Standard deviations: in no number of the latent is a posterior's mean farther from the prior's. Without it training leaves an
object's states many deviations away from the prior, which then says nothing of where states are."""


@dataclass(frozen=True)
class ShapeCode:
    """What the prior encoder found in a shape."""

    tokens: Tensor
    """(b, K, width) features that the decoder reads beside the latent."""
    mean: Tensor
    """(b, K, F_token) the mean of the prior N(mean, 1)."""
    anchors: Tensor | None
    """(b, K, 3) where the tokens belong, in the unit sphere, if anywhere."""


@dataclass(frozen=True)
class Posterior:
    """The distribution of the latent, given one deformation: independent normal numbers."""

    mean: Tensor
    """(b, t, K, F_token)."""
    log_variance: Tensor
    """(b, t, K, F_token)."""


class PriorEncoder(nn.Module):
    """E_cond: surface points to K learnable tokens by Perceiver blocks, and the prior's mean from them."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.width
        self.anchored = config.anchored
        self.embedding = PointEmbedding(width, config.frequencies)
        self.tokens = nn.Parameter(0.5 * torch.randn(config.tokens, width))
        self.blocks = nn.ModuleList(
            Block(width, config.heads, self_attention=True, near=config.anchored) for _ in range(config.encoder_blocks)
        )
        self.mean = nn.Sequential(RmsNorm(width), nn.Linear(width, config.token_size))

    def forward(self, surface: Surface) -> ShapeCode:
        """Encode shapes."""
        points = surface.points
        features = self.embedding(surface)
        tokens = self.tokens.expand(len(points), -1, -1).to(features.dtype)
        anchors = apart = None
        if self.anchored:
            anchors = points[:, : tokens.shape[1]]
            apart = squared_distances(anchors, points)
            tokens = tokens + features[:, : tokens.shape[1]]
        for block in self.blocks:
            tokens = block(tokens, features, apart)
        return ShapeCode(tokens, self.mean(tokens), anchors)


class DeformationEncoder(nn.Module):
    """E_VAE: surface points with their motions to 2 K learnable tokens, K for the mean and K for the variance.

    The mean is found relative to the prior's mean, at most `REACH` from it, and the tokens start from those of the shape: where
    nothing is known of the deformation, posterior and prior are the same.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.width
        self.embedding = PointEmbedding(width, config.frequencies, more=11)
        self.count = config.deformation_points
        self.tokens = nn.Parameter(0.5 * torch.randn(2 * config.tokens, width))
        self.from_shape = nn.Linear(width, width)
        self.blocks = nn.ModuleList(
            Block(width, config.heads, self_attention=True, near=config.anchored) for _ in range(config.encoder_blocks)
        )
        self.mean = nn.Sequential(RmsNorm(width), nn.Linear(width, config.token_size))
        self.log_variance = nn.Sequential(RmsNorm(width), nn.Linear(width, config.token_size))

    def forward(self, surface: Surface, moved: Tensor, rotations: Tensor, shape: ShapeCode) -> Posterior:
        """Encode t deformations of each of b shapes; the first `deformation_points` points are looked at.

        Args:
            surface: n points of each shape.
            moved: (b, t, n, 3) where the same material points are after the deformation.
            rotations: (b, t, n, 3, 3) how the material turned there.
            shape: the code of the b shapes.
        """
        batch, targets = moved.shape[:2]
        surface, moved, rotations = surface.first(self.count), moved[:, :, : self.count], rotations[:, :, : self.count]
        points = surface.points
        start = points.unsqueeze(1).expand_as(moved)
        turned = (rotations * start.unsqueeze(-2)).sum(-1)
        motion = torch.cat([dual_quaternion(matrix_quaternion(rotations), moved - turned), moved - start], dim=-1)
        features = self.embedding(surface, motion).flatten(0, 1)

        known = self.from_shape(shape.tokens).repeat(1, 2, 1) + self.tokens.to(shape.tokens.dtype)
        tokens = known.repeat_interleave(targets, dim=0)
        apart = None
        if shape.anchors is not None:
            count = shape.anchors.shape[1]
            tokens = tokens + features[:, :count].repeat(1, 2, 1)
            apart = squared_distances(shape.anchors, points).repeat(1, 2, 1).repeat_interleave(targets, dim=0)
        for block in self.blocks:
            tokens = block(tokens, features, apart)
        mean, variance = tokens.reshape(batch, targets, *tokens.shape[1:]).chunk(2, dim=2)
        bounded = self.log_variance(variance).clamp(-12.0, 6.0)
        return Posterior(shape.mean.unsqueeze(1) + REACH * torch.tanh(self.mean(mean) / REACH), bounded)
