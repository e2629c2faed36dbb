"""Which particles are inside the support or the tool, and how hard they are pushed out.

Contact is a stiff spring per particle. It is stiff enough that one particle alone stops the whole body
(`DEPTH_FRACTION`), and ten times as stiff as the material that it presses on, so that an indentation is the material's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from neurok_ros.dynamics.energies import Contacts, contact_law
from neurok_ros.dynamics.tools import Floats, ToolShape, rotation_matrix, signed_distance

if TYPE_CHECKING:
    from neurok_ros.dynamics.body import Body

DEPTH_LIMIT = 5e-4
"""Metres: a typical push sinks in no deeper than this ..."""
DEPTH_FRACTION = 5e-3
"""... or this part of the body's length, whichever is less."""
STIFFER_THAN_MATERIAL = 10.0
SWEEP_FRACTION = 0.5
"""In one step a near tool and a particle approach each other by at most this part of the tool's smallest half-extent, and no
iteration takes a particle deeper into it than that, so that it is always pushed out on the side where it came in."""
STANDARD_GRAVITY = 9.81
"""m/s^2: scale of forces, whatever gravity is."""


def yield_depth(body: Body) -> float:
    """Metres: how deep one contact particle sinks when it carries the body's weight or stops it within one step."""
    return min(DEPTH_LIMIT, DEPTH_FRACTION * body.length)


def contact_resolution(areas: Tensor, tool: ToolShape) -> float:
    """How coarse contact particles are for a tool: the radius of the largest disc that one of them stands for, over the tool's
    smallest half-extent. Contact is felt at particles only: from about 0.7 the tool may slip in between them.

    Args:
        areas: (c,) m^2, the surface that each particle stands for; at least one.
        tool: the tool.
    """
    return float((areas.max() / torch.pi).sqrt()) / min(tool.half_extents)


def edges_of(outline: Tensor) -> Tensor:
    """(p, 6) a corner, and the unit normal outwards of the edge that starts there, for the corners (p, 3) of a flat convex
    polygon in order."""
    ahead = outline.roll(-1, 0) - outline
    middle = outline.mean(0)
    inwards = middle - outline
    inwards = inwards - (inwards * ahead).sum(1, keepdim=True) / (ahead * ahead).sum(1, keepdim=True) * ahead
    return torch.cat([outline, -inwards / inwards.norm(dim=1, keepdim=True)], dim=1)


def beyond_edges(edges: Tensor, points: Tensor) -> Tensor:
    """(k,) metres that points (k, 3) are beyond the farthest of edges (p, 6), see `edges_of`; negative within."""
    return ((points.unsqueeze(1) - edges[:, :3]) * edges[:, 3:]).sum(2).amax(1)


def contact_stiffness(body: Body, speed: float, step: float) -> Tensor:
    """(c,) N/m for each contact particle.

    The larger of m (g + v / h) / e, so that one particle stops the body within one step, and 10 x 2 E r, r the radius of a
    disc of the particle's area: 2 E r is about the stiffness of an elastic half-space under such a disc.

    Args:
        body: the body.
        speed: m/s, at which body and obstacle may meet.
        step: seconds.
    """
    stopping = body.mass * (STANDARD_GRAVITY + speed / step) / yield_depth(body)
    if body.strain is None:
        return torch.full_like(body.contact_areas, stopping)
    modulus = body.material.youngs_modulus * (1.0 + body.material.damping / step)
    if body.jointed is not None:
        modulus += body.jointed.viscosity / step
    pressing = STIFFER_THAN_MATERIAL * 2.0 * modulus * (body.contact_areas / torch.pi).sqrt()
    return pressing.clamp(min=stopping)


@dataclass(frozen=True)
class ToolPose:
    """Where a tool is, as tensors."""

    position: Tensor
    """(3,) metres."""
    rotation: Tensor
    """(3, 3) from the tool's frame to the object's."""

    @classmethod
    def of(cls, position: Floats, quaternion: Floats, like: Tensor) -> ToolPose:
        """From arrays (3,) and (4,) x y z w, on the device of `like`."""
        return cls(like.new_tensor(position), like.new_tensor(rotation_matrix(quaternion)))

    def velocity_at(self, points: Tensor, before: ToolPose, step: float) -> Tensor:
        """(k, 3) m/s: mean velocity over a step of the tool's material that is now at points (k, 3)."""
        carried = (points - self.position) @ self.rotation @ before.rotation.T + before.position
        return (points - carried) / step


@dataclass(frozen=True)
class Passage:
    """What contact points come from in a step: its mean rate of depth damps, and depends on where the points get to only."""

    support_gaps: Tensor | None
    """(c,) metres at its start."""
    tool_gaps: Tensor | None
    """(c,) metres at its start."""
    step: float
    """Seconds."""


@dataclass(frozen=True)
class Obstacles:
    """The support and the tool, for one body."""

    particle: Tensor
    """(c,) int64: the particles that can touch."""
    stiffness: Tensor
    """(c,) N/m."""
    yield_depth: float
    """Metres."""
    support: Tensor | None
    """(4,) plane n . x + d = 0."""
    support_slack: Tensor
    """(c,) metres, how deep a particle was in the support at the start: scanned surfaces are noisy."""
    tool: ToolShape | None
    tool_slack: Tensor
    """(c,) metres, the same for the tool."""

    def support_gaps(self, points: Tensor) -> Tensor | None:
        """(c,) metres between contact points (c, 3) and the support."""
        if self.support is None:
            return None
        return torch.addmv(self.support_slack + self.support[3], points, self.support[:3])

    def tool_gaps(self, points: Tensor, pose: ToolPose) -> tuple[Tensor, Tensor] | None:
        """(c,) metres between contact points (c, 3) and the tool, and the normals (c, 3) out of it."""
        if self.tool is None:
            return None
        distance, normal = signed_distance(self.tool, (points - pose.position) @ pose.rotation)
        return distance + self.tool_slack, normal @ pose.rotation.T

    def contacts(self, points: Tensor, pose: ToolPose | None, passage: Passage) -> tuple[Contacts | None, Tensor | None]:
        """Of contact points (c, 3) in metres; None if nothing touches. And their gaps (c,) to the tool, in metres.

        Without a pose the tool is out of reach, and so are gaps.
        """
        found: list[tuple[Tensor, Tensor, Tensor, Tensor]] = []  # particle, gap, normal, gap before
        support_gaps = self.support_gaps(points)
        support_count = 0
        if self.support is not None and support_gaps is not None and passage.support_gaps is not None:
            index = (support_gaps < 0.0).nonzero().squeeze(1)
            support_count = len(index)
            if support_count:
                found.append((index, support_gaps[index], self.support[:3].expand(support_count, 3), passage.support_gaps[index]))
        tool_gaps = self.tool_gaps(points, pose) if pose is not None else None
        if tool_gaps is not None and passage.tool_gaps is not None:
            index = (tool_gaps[0] < 0.0).nonzero().squeeze(1)
            if len(index):
                found.append((index, tool_gaps[0][index], tool_gaps[1][index], passage.tool_gaps[index]))
        gaps_to_tool = tool_gaps[0] if tool_gaps is not None else None
        if not found:
            return None, gaps_to_tool
        if len(found) == 1:
            index, gap, normal, before = found[0]
        else:
            index, gap, normal, before = (torch.cat(parts) for parts in zip(*found, strict=True))
        rate = (before - gap) / passage.step
        energy, force, stiffness = contact_law(-gap, self.stiffness[index], self.yield_depth, rate, 1.0 / passage.step)
        touching = Contacts(self.particle[index], normal, -gap, force, stiffness, float(energy.sum()), support_count)
        return touching, gaps_to_tool
