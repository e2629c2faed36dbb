"""What the network is built of. Every layer can be differentiated forward over forward (torch.func.jvp in jvp).

`torch.nn.LayerNorm` gives wrong second derivatives there, and fused attention has no forward mode: hence a root-mean-square
norm and an attention of plain products.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from neurok_ros.kinematics.neurok.surface import PART_NUMBERS, Surface

PART_FREQUENCIES = 4
"""Of the embedding of a part's middle, per axis."""


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """(..., m, n) between points (..., m, 3) and (..., n, 3)."""
    return (a.unsqueeze(-2) - b.unsqueeze(-3)).square().sum(-1)


class RmsNorm(nn.Module):
    """x / sqrt(mean(x^2)), scaled per feature (Zhang and Sennrich 2019); computed in float32 at least."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """(..., width) to the same."""
        exact = x.to(torch.promote_types(x.dtype, torch.float32))
        quotient = torch.rsqrt((exact * exact).mean(-1, keepdim=True) + 1e-6)
        return (exact * quotient).to(x.dtype) * self.scale.to(x.dtype)


class Attention(nn.Module):
    """Multi-head attention of queries (b, m, width) to a context (b, n, width); both are normalized first.

    Where distances are given, each head prefers what is near by a strength of its own, learned from nearly none up to
    a Gaussian of standard deviation 0.18.
    """

    def __init__(self, width: int, heads: int, near: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.query_norm = RmsNorm(width)
        self.context_norm = RmsNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key_value = nn.Linear(width, 2 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.log_closeness = nn.Parameter(torch.linspace(-3.0, 2.75, heads)) if near else None

    def forward(self, x: Tensor, context: Tensor, apart: Tensor | None = None) -> Tensor:
        """(b, m, width): what is to be added to the queries; `apart` (b, m, n) squared distances."""
        query = self._split(self.query(self.query_norm(x)))
        key, value = (self._split(half) for half in self.key_value(self.context_norm(context)).chunk(2, dim=-1))
        scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-1, -2)
        if apart is not None and self.log_closeness is not None:
            scores = scores - self.log_closeness.exp().view(-1, 1, 1) * apart.unsqueeze(-3)
        mixed = scores.softmax(-1).to(value.dtype) @ value
        out: Tensor = self.out(mixed.transpose(-2, -3).flatten(-2))
        return out

    def _split(self, x: Tensor) -> Tensor:
        return x.reshape(*x.shape[:-1], self.heads, -1).transpose(-2, -3)


class FeedForward(nn.Module):
    """Norm, widen by two, GELU, back."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = RmsNorm(width)
        self.widen = nn.Linear(width, 2 * width)
        self.out = nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """(..., width): what is to be added."""
        out: Tensor = self.out(nn.functional.gelu(self.widen(self.norm(x))))
        return out


class Block(nn.Module):
    """Cross-attention to a context, self-attention where asked for, feed-forward, each added to what was there."""

    def __init__(self, width: int, heads: int, self_attention: bool, near: bool = False) -> None:
        super().__init__()
        self.cross = Attention(width, heads, near)
        self.self_attention = Attention(width, heads) if self_attention else None
        self.feed_forward = FeedForward(width)

    def forward(self, x: Tensor, context: Tensor, apart: Tensor | None = None) -> Tensor:
        """(b, m, width) queries that saw the context (b, n, width), at squared distances (b, m, n) where given."""
        x = x + self.cross(x, context, apart)
        if self.self_attention is not None:
            x = x + self.self_attention(x, x)
        out: Tensor = x + self.feed_forward(x)
        return out


class SelfBlock(nn.Module):
    """Self-attention and feed-forward."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(width, heads)
        self.feed_forward = FeedForward(width)

    def forward(self, x: Tensor) -> Tensor:
        """(b, m, width) to the same."""
        x = x + self.attention(x, x)
        out: Tensor = x + self.feed_forward(x)
        return out


class PointEmbedding(nn.Module):
    """Points with their normals and parts, and more numbers where there are some, as features.

    Sines and cosines of each coordinate at doubling frequencies beside the coordinates themselves, as in 3DShape2VecSet
    (Zhang et al. 2023), then a small network per point. Normals tell the two sides of a thin wall apart, and the middle of
    a point's connected part says what moves with it. Parts start with little weight: they drown everything else otherwise, and
    training does not get off the ground.
    """

    def __init__(self, width: int, frequencies: int, more: int = 0) -> None:
        super().__init__()
        self.frequencies = frequencies
        self.place = nn.Linear(6 * frequencies + 6, width)
        self.part = nn.Linear(6 * PART_FREQUENCIES + PART_NUMBERS, width, bias=False)
        self.more = nn.Linear(more, width, bias=False) if more else None
        self.feed_forward = FeedForward(width)
        with torch.no_grad():
            self.part.weight.mul_(0.2)

    def forward(self, surface: Surface, more: Tensor | None = None) -> Tensor:
        """(b, n, width), or (b, t, n, width) where there are more numbers (b, t, n, more)."""
        place = [surface.points, surface.normals, *_waves(surface.points, self.frequencies)]
        part = [surface.parts, *_waves(surface.parts[..., :3], PART_FREQUENCIES)]
        features: Tensor = self.place(torch.cat(place, dim=-1)) + self.part(torch.cat(part, dim=-1))
        if self.more is not None and more is not None:
            features = features.unsqueeze(1) + self.more(more)
        out: Tensor = features + self.feed_forward(features)
        return out


def _waves(points: Tensor, frequencies: int) -> tuple[Tensor, Tensor]:
    """Sines and cosines (..., 3 frequencies) of coordinates (..., 3) times pi, 2 pi, 4 pi, ..."""
    octaves = math.pi * 2.0 ** torch.arange(frequencies, device=points.device, dtype=points.dtype)
    angles = (points.unsqueeze(-1) * octaves).flatten(-2)
    return angles.sin(), angles.cos()
