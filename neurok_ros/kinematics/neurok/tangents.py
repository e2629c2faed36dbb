"""The handle decoder for one object: what does not depend on the latent is worked out once, and derivatives come in one pass.

Forward differentiation by `torch.func` costs ten times the arithmetic here, because the decoder is many small operations.
A stack (1 + k, ..., width) holds a value in row 0 and its derivatives by k directions behind it, so that a linear layer is one
product for all. A stack of one row is a value alone, or a constant; it is never written into, and `torch.func` may pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear

from neurok_ros.geometry.rotations import quaternion_matrix
from neurok_ros.kinematics.neurok.decoders import HandleDecoder, Prepared
from neurok_ros.kinematics.neurok.layers import Attention, Block, FeedForward, RmsNorm


class HandleMotions:
    """From latents to the rigid maps of one object's handles, as `HandleDecoder.controls`.

    Args:
        decoder: of the trained model.
        prepared: of one object, b = 1.
        like: gives precision and place.
    """

    def __init__(self, decoder: HandleDecoder, prepared: Prepared, like: Tensor) -> None:
        with torch.no_grad():
            state = decoder.state
            known = state.from_shape(prepared.tokens) + state.place + state.from_latent.bias
            self._known = known.to(like)
            self._enter = state.from_latent.weight.to(like)
            self._state_attention = _Attention.of(state.block.attention, None, like)
            self._state_forward = _FeedForward.of(state.block.feed_forward, like)
            self._blocks = [_Block.of(block, prepared.apart, like) for block in decoder.blocks if isinstance(block, Block)]
            norm, last = decoder.motion
            assert isinstance(norm, RmsNorm)
            assert isinstance(last, nn.Linear)
            self._last = _Linear.of(last, like, norm)
            self._allowed = decoder.motion.allowed
            self._features = prepared.features.to(like)
            self._anchors = prepared.anchors[0].to(like)

    def maps(self, latent: Tensor) -> Tensor:
        """(c, 3, 4) of a latent (K, F_token)."""
        raw = self._raw(latent[None])[0]
        rotation = quaternion_matrix(_turn(raw) / _turn(raw).norm(dim=-1, keepdim=True))
        return _about(self._anchors, rotation, self._anchors + raw[..., 4:])

    def with_slopes(self, latent: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
        """Maps (c, 3, 4) of a latent (K, F_token), and their derivatives (k, c, 3, 4) along directions (k, K, F_token)."""
        raw = self._raw(torch.cat([latent[None], directions]))
        length = _turn(raw[0]).norm(dim=-1, keepdim=True)
        quaternion, turning = _turn(raw[0]) / length, raw[1:, :, :4] / length
        turning = turning - quaternion * (quaternion * turning).sum(-1, keepdim=True)
        turned = quaternion_matrix(torch.cat([quaternion[None], quaternion + turning, quaternion - turning]))
        ahead, behind = turned[1:].chunk(2)
        slopes = (ahead - behind) / 2  # exact: a rotation matrix is quadratic in the quaternion
        maps = _about(self._anchors, turned[0], self._anchors + raw[0, :, 4:])
        return maps, _about(self._anchors, slopes, raw[1:, :, 4:])

    def _raw(self, latents: Tensor) -> Tensor:
        tokens = _sum(linear(latents, self._enter), self._known)
        tokens = _sum(tokens, self._state_attention.among(tokens))
        tokens = _sum(tokens, self._state_forward(tokens))
        context = _unit(tokens)
        features = self._features
        for block in self._blocks:
            features = block(features, context)
        return self._allowed(self._last(_unit(features)))


def _turn(raw: Tensor) -> Tensor:
    """(c, 4) the quaternions in a decoder's numbers (c, 7): zeros mean no rotation."""
    return torch.cat([raw[:, :3], 1 + raw[:, 3:4]], dim=-1)


def _about(anchor: Tensor, rotation: Tensor, there: Tensor) -> Tensor:
    """(..., c, 3, 4) maps that turn about anchors (c, 3) and take them there (..., c, 3)."""
    offset = there.unsqueeze(-1) - rotation @ anchor.unsqueeze(-1)
    return torch.cat([rotation, offset], dim=-1)


@dataclass(frozen=True)
class _Linear:
    """A linear layer, and the scale of the norm before it."""

    weight: Tensor
    bias: Tensor | None

    @staticmethod
    def of(layer: nn.Linear, like: Tensor, norm: RmsNorm | None = None) -> _Linear:
        weight = layer.weight if norm is None else layer.weight * norm.scale
        return _Linear(weight.to(like), None if layer.bias is None else layer.bias.to(like))

    def __call__(self, stack: Tensor) -> Tensor:
        if len(stack) == 1 or self.bias is None:
            return linear(stack, self.weight, self.bias)
        out = linear(stack, self.weight)
        out[0] += self.bias
        return out


@dataclass(frozen=True)
class _Attention:
    """See `layers.Attention`; its inputs are normalized already."""

    heads: int
    query: _Linear
    key_value: _Linear
    out: _Linear
    far: Tensor | None
    """(1, heads, m, n) what distance takes off the scores."""

    @staticmethod
    def of(layer: Attention, apart: Tensor | None, like: Tensor) -> _Attention:
        query = _Linear.of(layer.query, like, layer.query_norm)
        query = _Linear(query.weight / math.sqrt(query.weight.shape[0] // layer.heads), None)
        far = None
        if apart is not None and layer.log_closeness is not None:
            far = (layer.log_closeness.exp().view(-1, 1, 1) * apart.unsqueeze(-3)).to(like)
        key_value = _Linear.of(layer.key_value, like, layer.context_norm)
        return _Attention(layer.heads, query, key_value, _Linear.of(layer.out, like), far)

    def among(self, stack: Tensor) -> Tensor:
        """Of a stack to itself."""
        unit = _unit(stack)
        return self(unit, unit)

    def __call__(self, x: Tensor, context: Tensor) -> Tensor:
        query = self._split(self.query(x))
        key, value = (self._split(half) for half in self.key_value(context).chunk(2, dim=-1))
        scores = _product(query, key.transpose(-1, -2))
        if self.far is not None:
            scores = _sum(scores, -self.far)
        mixed = _product(_softmax(scores), value)
        return self.out(mixed.transpose(-2, -3).flatten(-2))

    def _split(self, stack: Tensor) -> Tensor:
        return stack.reshape(*stack.shape[:-1], self.heads, -1).transpose(-2, -3)


@dataclass(frozen=True)
class _FeedForward:
    widen: _Linear
    out: _Linear

    @staticmethod
    def of(layer: FeedForward, like: Tensor) -> _FeedForward:
        return _FeedForward(_Linear.of(layer.widen, like, layer.norm), _Linear.of(layer.out, like))

    def __call__(self, stack: Tensor) -> Tensor:
        wide = self.widen(_unit(stack))
        value, slopes = wide[:1], wide[1:]
        if not len(slopes):
            return self.out(gelu(value))
        share = 0.5 * (1 + torch.erf(value / math.sqrt(2)))
        slope = share + value * torch.exp(-0.5 * value * value) / math.sqrt(2 * math.pi)
        return self.out(torch.cat([value * share, slope * slopes]))


@dataclass(frozen=True)
class _Block:
    cross: _Attention
    own: _Attention | None
    forward: _FeedForward

    @staticmethod
    def of(block: Block, apart: Tensor | None, like: Tensor) -> _Block:
        own = None if block.self_attention is None else _Attention.of(block.self_attention, None, like)
        return _Block(_Attention.of(block.cross, apart, like), own, _FeedForward.of(block.feed_forward, like))

    def __call__(self, x: Tensor, context: Tensor) -> Tensor:
        x = _sum(x, self.cross(_unit(x), context))
        if self.own is not None:
            x = _sum(x, self.own.among(x))
        return _sum(x, self.forward(x))


def _unit(stack: Tensor) -> Tensor:
    """Divided by the root of its mean square, see `layers.RmsNorm`."""
    value, slopes = stack[:1], stack[1:]
    inverse = torch.rsqrt((value * value).mean(-1, keepdim=True) + 1e-6)
    unit = value * inverse
    if not len(slopes):
        return unit
    return torch.cat([unit, inverse * (slopes - unit * (unit * slopes).mean(-1, keepdim=True))])


def _softmax(stack: Tensor) -> Tensor:
    value, slopes = stack[:1].softmax(-1), stack[1:]
    if not len(slopes):
        return value
    return torch.cat([value, value * (slopes - (value * slopes).sum(-1, keepdim=True))])


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Matrix products: a_0 b_0 in row 0, a_i b_0 + a_0 b_i behind it."""
    if len(b) == 1:
        return a @ b
    out = a[:1] @ b
    if len(a) > 1:
        out[1:] += a[1:] @ b[:1]
    return out


def _sum(a: Tensor, b: Tensor) -> Tensor:
    """Of stacks, one of which may be a constant."""
    if len(a) == len(b):
        return a + b
    constant, moving = (a, b) if len(a) == 1 else (b, a)
    return torch.cat([moving[:1] + constant, moving[1:]])
