"""The two decoders: from a latent to the affine map of each point, by way of a few rigid motions or point by point."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from neurok_ros.geometry.dual_quaternions import dual_quaternion_map, dual_quaternion_normalize
from neurok_ros.geometry.rotations import quaternion_matrix, quaternion_normalize
from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.encoders import ShapeCode
from neurok_ros.kinematics.neurok.layers import Block, PointEmbedding, RmsNorm, SelfBlock, squared_distances
from neurok_ros.kinematics.neurok.surface import Surface


@dataclass(frozen=True)
class Prepared:
    """What the decoder needs of a shape and its query points; no part of it depends on the latent.

    The c controls are what the latent moves: the handles, or the query points themselves.
    """

    features: Tensor
    """(b, c, width) of the controls."""
    anchors: Tensor
    """(b, c, 3) where the controls are at rest, in the unit sphere."""
    weights: Tensor | None
    """(b, n, c) how much each query point follows each control, rows sum to one; None where each follows its own."""
    tokens: Tensor
    """(b, K, width) of the shape."""
    apart: Tensor | None
    """(b, c, K) squared distances from the controls to where the tokens belong, if anywhere."""


class StateTokens(nn.Module):
    """The latent as tokens that know the shape, after one round of self-attention."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.place = nn.Parameter(0.5 * torch.randn(config.tokens, config.width))
        self.from_latent = nn.Linear(config.token_size, config.width)
        self.from_shape = nn.Linear(config.width, config.width)
        self.block = SelfBlock(config.width, config.heads)

    def forward(self, latent: Tensor, tokens: Tensor) -> Tensor:
        """(b, t, K, width) of latents (b, t, K, F_token) and shape tokens (b, K, width)."""
        known = self.from_shape(tokens).unsqueeze(1) + self.place.to(tokens.dtype)
        state: Tensor = self.block((self.from_latent(latent) + known).flatten(0, 1))
        return state.reshape(*latent.shape[:2], *state.shape[1:])


class ShapeAtPoints(nn.Module):
    """Features of points that saw the shape's tokens."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = PointEmbedding(config.width, config.frequencies)
        self.block = Block(config.width, config.heads, self_attention=False)

    def forward(self, surface: Surface, tokens: Tensor) -> Tensor:
        """(b, n, width)."""
        seen: Tensor = self.block(self.embedding(surface), tokens)
        return seen


class HandleDecoder(nn.Module):
    """x = sum_j w_j(x0) T_j(z) x0: weights from the shape alone, rigid motions from the latent.

    A handle is anchored at a surface point and turns about it. A point's weights are the softmax of products of features, less
    the squared distance to the anchor in units that are learned.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.width
        self.handles = config.handles
        self.shape_at = ShapeAtPoints(config)
        self.query = nn.Sequential(RmsNorm(width), nn.Linear(width, width))
        self.key = nn.Sequential(RmsNorm(width), nn.Linear(width, width))
        self.log_closeness = nn.Parameter(torch.tensor(2.0))
        self.state = StateTokens(config)
        self.blocks = _blocks(config, self_attention=True)
        self.motion = Motion(config, 7)

    def prepare(self, shape: ShapeCode, anchors: Surface, surface: Surface) -> Prepared:
        """Find the handles of shapes and the weights of their points.

        Args:
            shape: the code of the b shapes.
            anchors: points spread evenly; the first `handles` of them carry a handle.
            surface: query points.
        """
        carrying = anchors.first(self.handles)
        where = carrying.points
        both = self.shape_at(carrying.joined(surface), shape.tokens)
        handles, queries = both[:, : where.shape[1]], both[:, where.shape[1] :]
        query, key = self.query(queries), self.key(handles)
        match = (query @ key.transpose(-1, -2)).to(where.dtype) / query.shape[-1] ** 0.5
        apart = squared_distances(surface.points, where)
        weights = (match - self.log_closeness.exp() * apart).softmax(-1)
        return Prepared(handles, where, weights, shape.tokens, _apart(where, shape))

    def controls(self, prepared: Prepared, latent: Tensor) -> Tensor:
        """(b, t, c, 3, 4) rigid maps of the handles, of latents (b, t, K, F_token)."""
        state = self.state(latent, prepared.tokens)
        raw = _raw_motions(self.blocks, self.motion, prepared, state)
        rotation = quaternion_matrix(quaternion_normalize(_near_identity(raw[..., :4])))
        anchor = prepared.anchors.unsqueeze(1)
        offset = anchor + raw[..., 4:] - (rotation * anchor.unsqueeze(-2)).sum(-1)
        return torch.cat([rotation, offset.unsqueeze(-1)], dim=-1)


class PointDecoder(nn.Module):
    """One dual quaternion a point, from cross-attention of the points to the state's tokens: the paper's decoder."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.shape_at = ShapeAtPoints(config)
        self.state = StateTokens(config)
        self.blocks = _blocks(config, self_attention=False)
        self.motion = Motion(config, 8)

    def prepare(self, shape: ShapeCode, anchors: Surface, surface: Surface) -> Prepared:
        """Features of query points; anchors are of no use here."""
        points = surface.points
        return Prepared(self.shape_at(surface, shape.tokens), points, None, shape.tokens, _apart(points, shape))

    def controls(self, prepared: Prepared, latent: Tensor) -> Tensor:
        """(b, t, n, 3, 4) the rigid map at each point, of latents (b, t, K, F_token)."""
        state = self.state(latent, prepared.tokens)
        raw = _raw_motions(self.blocks, self.motion, prepared, state)
        return dual_quaternion_map(dual_quaternion_normalize(torch.cat([_near_identity(raw[..., :4]), raw[..., 4:]], dim=-1)))


def _blocks(config: ModelConfig, self_attention: bool) -> nn.ModuleList:
    sizes = config.width, config.heads, self_attention, config.anchored
    return nn.ModuleList(Block(*sizes) for _ in range(config.decoder_blocks))


def _apart(controls: Tensor, shape: ShapeCode) -> Tensor | None:
    return None if shape.anchors is None else squared_distances(controls, shape.anchors)


def _raw_motions(blocks: nn.ModuleList, motion: nn.Module, prepared: Prepared, state: Tensor) -> Tensor:
    """(b, t, c, numbers): the controls look at the state's tokens (b, t, K, width)."""
    targets = state.shape[1]
    features = prepared.features.repeat_interleave(targets, dim=0)
    apart = None if prepared.apart is None else prepared.apart.repeat_interleave(targets, dim=0)
    for block in blocks:
        features = block(features, state.flatten(0, 1), apart)
    raw: Tensor = motion(features).to(prepared.anchors.dtype)
    return raw.reshape(*state.shape[:2], *raw.shape[1:])


class Motion(nn.Sequential):
    """From features to the numbers of a motion, the quaternion's four first; at first nothing moves much.

    Args:
        config: `motion` says whether anything turns.
        count: of numbers.
    """

    def __init__(self, config: ModelConfig, count: int) -> None:
        last = nn.Linear(config.width, count)
        nn.init.normal_(last.weight, std=1e-2)
        nn.init.zeros_(last.bias)
        super().__init__(RmsNorm(config.width), last)
        self._translates_only = config.motion == "translation"

    def forward(self, features: Tensor) -> Tensor:
        """(..., count) of features (..., width)."""
        raw: Tensor = self[1](self[0](features))
        return self.allowed(raw)

    def allowed(self, raw: Tensor) -> Tensor:
        """The numbers (..., count) without any turn, where controls may only translate."""
        return torch.cat([torch.zeros_like(raw[..., :4]), raw[..., 4:]], dim=-1) if self._translates_only else raw


def _near_identity(raw: Tensor) -> Tensor:
    """(..., 4) x y z w: zeros mean no rotation."""
    return torch.cat([raw[..., :3], 1 + raw[..., 3:]], dim=-1)
