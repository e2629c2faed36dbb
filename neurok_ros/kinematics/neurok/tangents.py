"""The handle decoder with its derivatives by a few directions of the latent, in one pass.

Forward differentiation by `torch.func` costs ten times the arithmetic here, because the decoder is many small operations.
A stack (1 + k, ..., width) holds a value in row 0 and its derivatives by k directions behind it, so that a linear layer is one
product for all. A stack of one row is a constant.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from neurok_ros.geometry.rotations import quaternion_matrix
from neurok_ros.kinematics.neurok.decoders import HandleDecoder, Prepared
from neurok_ros.kinematics.neurok.layers import Attention, Block, FeedForward, RmsNorm, SelfBlock


def handle_motions(decoder: HandleDecoder, prepared: Prepared, latent: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """The rigid maps of one object's handles, and their derivatives.

    Args:
        decoder: in the precision of the other arguments, as is the result.
        prepared: of one object, b = 1.
        latent: (K, F_token).
        directions: (k, K, F_token), not none.

    Returns:
        (c, 3, 4) what `decoder.controls` gives, and (k, c, 3, 4) its derivatives along the directions.
    """
    state = decoder.state
    known = state.from_shape(prepared.tokens) + state.place
    tokens = _linear(state.from_latent, torch.cat([latent[None], directions]))
    tokens[0] += known[0]
    tokens = _self_block(state.block, tokens)
    features = prepared.features
    for block in decoder.blocks:
        assert isinstance(block, Block)
        features = _block(block, features, tokens, prepared.apart)
    norm, last = decoder.motion
    assert isinstance(norm, RmsNorm)
    assert isinstance(last, nn.Linear)
    return _maps(_linear(last, _norm(norm, features)), prepared.anchors[0])


def _maps(raw: Tensor, anchor: Tensor) -> tuple[Tensor, Tensor]:
    """Maps (c, 3, 4) and derivatives (k, c, 3, 4) of handles that turn about anchors (c, 3), from the stack (1 + k, c, 7)."""
    raw[0, :, 3] += 1
    length = raw[0, :, :4].norm(dim=-1, keepdim=True)
    quaternion = raw[0, :, :4] / length
    turning = raw[1:, :, :4] / length
    turning = turning - quaternion * (quaternion * turning).sum(-1, keepdim=True)
    turned = quaternion_matrix(torch.cat([quaternion[None], quaternion + turning, quaternion - turning]))
    ahead, behind = turned[1:].chunk(2)
    rotation, slopes = turned[0], (ahead - behind) / 2  # exact: a rotation matrix is quadratic in the quaternion
    offset = anchor + raw[0, :, 4:] - (rotation @ anchor.unsqueeze(-1)).squeeze(-1)
    offsets = raw[1:, :, 4:] - (slopes @ anchor.unsqueeze(-1)).squeeze(-1)
    return torch.cat([rotation, offset.unsqueeze(-1)], dim=-1), torch.cat([slopes, offsets.unsqueeze(-1)], dim=-1)


def _block(block: Block, x: Tensor, context: Tensor, apart: Tensor | None) -> Tensor:
    x = _sum(x, _attention(block.cross, x, context, apart))
    if block.self_attention is not None:
        x = _sum(x, _attention(block.self_attention, x, x, None))
    return _sum(x, _feed_forward(block.feed_forward, x))


def _self_block(block: SelfBlock, x: Tensor) -> Tensor:
    x = _sum(x, _attention(block.attention, x, x, None))
    return _sum(x, _feed_forward(block.feed_forward, x))


def _attention(layer: Attention, x: Tensor, context: Tensor, apart: Tensor | None) -> Tensor:
    def split(stack: Tensor) -> Tensor:
        return stack.reshape(*stack.shape[:-1], layer.heads, -1).transpose(-2, -3)

    query = split(_linear(layer.query, _norm(layer.query_norm, x)))
    key, value = (split(half) for half in _linear(layer.key_value, _norm(layer.context_norm, context)).chunk(2, dim=-1))
    scores = _product(query / math.sqrt(query.shape[-1]), key.transpose(-1, -2))
    if apart is not None and layer.log_closeness is not None:
        scores[0] -= layer.log_closeness.exp().view(-1, 1, 1) * apart[0]
    mixed = _product(_softmax(scores), value)
    return _linear(layer.out, mixed.transpose(-2, -3).flatten(-2))


def _softmax(stack: Tensor) -> Tensor:
    value, slopes = stack[:1].softmax(-1), stack[1:]
    return torch.cat([value, value * (slopes - (value * slopes).sum(-1, keepdim=True))])


def _feed_forward(layer: FeedForward, x: Tensor) -> Tensor:
    wide = _linear(layer.widen, _norm(layer.norm, x))
    value, slopes = wide[:1], wide[1:]
    share = 0.5 * (1 + torch.erf(value / math.sqrt(2)))
    slope = share + value * torch.exp(-0.5 * value * value) / math.sqrt(2 * math.pi)
    return _linear(layer.out, torch.cat([value * share, slope * slopes]))


def _norm(layer: RmsNorm, stack: Tensor) -> Tensor:
    value, slopes = stack[:1], stack[1:]
    inverse = torch.rsqrt((value * value).mean(-1, keepdim=True) + 1e-6)
    unit = value * inverse
    return torch.cat([unit, inverse * (slopes - unit * (unit * slopes).mean(-1, keepdim=True))]) * layer.scale


def _linear(layer: nn.Linear, stack: Tensor) -> Tensor:
    out = nn.functional.linear(stack, layer.weight)
    if layer.bias is not None:
        out[0] += layer.bias
    return out


def _product(a: Tensor, b: Tensor) -> Tensor:
    """Matrix products: a_0 b_0 in row 0, a_i b_0 + a_0 b_i behind it."""
    if len(b) == 1:
        return a @ b
    out = a[:1] @ b
    if len(a) > 1:
        out[1:] += a[1:] @ b[:1]
    return out


def _sum(a: Tensor, b: Tensor) -> Tensor:
    if len(a) == len(b):
        return a + b
    constant, moving = (a, b) if len(a) == 1 else (b, a)
    moving[:1] += constant
    return moving
