"""Contact between a body's own parts: a drawer stops at its cabinet's back, a lid on its box.

A contact particle of one part meets the surface of another where that was at rest: the place is carried there by the motion of
the other part's nearest particle and its neighbours, exactly where a part moves rigidly. At the start of each step each particle
near another part is given a plane of its surface, the one that its path comes to; kept for the step, it makes the gap linear in
the positions and lets nothing pass through, however far it goes. As deep as one part is in another at rest, as scanned parts are,
all of it may be. No friction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from torch import Tensor

from neurok_ros.dynamics.energies import PairForces, contact_law
from neurok_ros.dynamics.tools import Floats
from neurok_ros.geometry.surface_distance import SurfaceDistance

BURIED = 0.02
"""Of the body's length: what is deeper inside another part at rest (a pin in its bore) does not touch it."""
NEAR = 0.005
"""Metres: a particle this near to another part, after what both will travel in a step, is looked at."""
LOOK = 0.01
"""Metres: along a path it is looked so often whether it is inside a part ..."""
MOST_LOOKS = 8
"""... but not more often than this in a step."""
DEEPER = 1.5
"""Times the deepest particle at rest: corners of an overlap are deeper than its sides, and rarely have a particle."""
OPPOSITE = -0.5
"""Cosine: a path that ends outside, on a face that looks so much the other way, has gone right through."""
NEIGHBOURS = 8

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parts:
    """Which part each of a body's contact particles belongs to, and the closed surfaces of the parts at rest."""

    part: Tensor
    """(c,) int64, any numbers."""
    surfaces: dict[int, SurfaceDistance]
    """By the part's number; a part without one can touch but not be touched."""
    slack: float = 0.0
    """Metres: so deep may every part be in another; how exactly the parts' motion is known."""


@dataclass(frozen=True)
class PairContacts:
    """Particles that are inside another part."""

    energy: float
    """J."""
    forces: PairForces
    depth: float
    """Metres, of the deepest."""


@dataclass(frozen=True)
class CandidatePairs:
    """Pairs that might meet within a step."""

    first: Tensor
    """(m,) int64, the particle."""
    second: Tensor
    """(m,) int64, the particle of another part whose plane it may meet."""
    normal: Tensor
    """(m, 3) of that plane, out of that part."""
    offset: Tensor
    """(m,) metres: the gap where both particles are at one place."""
    stiffness: Tensor
    """(m,) N/m."""
    yield_depth: float
    """Metres, see `contact_law`."""

    def gaps(self, x: Tensor) -> Tensor:
        """(m,) metres, negative inside, for particle positions (n, 3)."""
        return ((x[self.first] - x[self.second]) * self.normal).sum(1) + self.offset

    def contacts(self, x: Tensor, before: Tensor, step: float) -> PairContacts | None:
        """Of positions (n, 3) after a step in seconds from gaps (m,) in metres before it; None if nothing touches."""
        gaps = self.gaps(x)
        index = (gaps < 0.0).nonzero().squeeze(1)
        if not len(index):
            return None
        depth, normal = -gaps[index], self.normal[index]
        rate = (before[index] + depth) / step
        energy, force, stiffness = contact_law(depth, self.stiffness[index], self.yield_depth, rate, 1.0 / step)
        hessian = (stiffness.unsqueeze(1) * normal).unsqueeze(2) * normal.unsqueeze(1)
        forces = PairForces(self.first[index], self.second[index], -force.unsqueeze(1) * normal, hessian)
        return PairContacts(float(energy.sum()), forces, float(depth.max()))


class SelfContact:
    """Finds the pairs of particles of different parts that might meet.

    Args:
        parts: one of fewer than three contact particles cannot be touched.
        contact: (c,) int64, the particles that can touch.
        rest: (n, 3) metres, positions of all particles at rest.
        stiffness: (c,) N/m.
        yield_depth: metres.
        length: metres, of the body.
    """

    def __init__(self, parts: Parts, contact: Tensor, rest: Tensor, stiffness: Tensor, yield_depth: float, length: float) -> None:
        self._contact, self._stiffness, self._yield_depth = contact, stiffness, yield_depth
        points, labels = rest[contact].cpu().numpy(), parts.part.cpu().numpy()
        self._parts = [
            _Part.of(points, labels, name, surface, BURIED * length, parts.slack)
            for name, surface in parts.surfaces.items()
            if np.sum(labels == name) > 2 and np.any(labels != name)
        ]

    def candidates(self, x: Tensor, v: Tensor, step: float) -> CandidatePairs | None:
        """The pairs that might meet within a step (seconds) from positions and velocities (n, 3); None if there are none."""
        points = x[self._contact].cpu().numpy()
        travel = v[self._contact].cpu().numpy() * step
        found = [part.met_by(points, travel) for part in self._parts]
        if not sum(len(met.first) for met in found):
            return None
        first = np.concatenate([met.first for met in found])
        second = np.concatenate([met.second for met in found])
        normal, offset = np.concatenate([met.normal for met in found]), np.concatenate([met.offset for met in found])
        here = torch.from_numpy(first).to(self._contact.device)
        there = torch.from_numpy(second).to(self._contact.device)
        return CandidatePairs(
            self._contact[here],
            self._contact[there],
            torch.from_numpy(normal).to(x),
            torch.from_numpy(offset).to(x),
            self._stiffness[here],
            self._yield_depth,
        )


@dataclass(frozen=True)
class _Met:
    """Particles that might meet a part."""

    first: Ints
    """(k,) the particle, of the contact particles."""
    second: Ints
    """(k,) the part's particle whose material it is near to."""
    normal: Floats
    """(k, 3) out of the part."""
    offset: Floats
    """(k,) metres, the gap where both particles are at one place."""


@dataclass(frozen=True)
class _Part:
    """One part: its particles, how the material around them has moved, its surface at rest, and what may touch it."""

    members: Ints
    """(p,) of the contact particles."""
    rest: Floats
    """(p, 3) metres."""
    along: Ints
    """(p, 2) two neighbours of each, in directions that differ most."""
    back: Floats
    """(p, 3, 3) inverse of the directions to them and their cross product, at rest."""
    surface: SurfaceDistance
    others: Ints
    """(o,) contact particles that may touch it."""
    slack: Floats
    """(o,) metres."""

    @classmethod
    def of(cls, rest: Floats, labels: Ints, name: int, surface: SurfaceDistance, buried: float, allowed: float) -> _Part:
        """Of contact particles (c, 3) at rest, those with this label (c,); particles buried deeper never touch it."""
        members, others = np.flatnonzero(labels == name), np.flatnonzero(labels != name)
        along = _neighbours(rest, members)
        back: Floats = np.linalg.pinv(_basis(rest, members, along)).astype(np.float64)
        distance, _ = surface(rest[others], np.inf)
        others, distance = others[distance > -buried], distance[distance > -buried]
        slack = np.zeros(len(others))
        for label in np.unique(labels[others]):
            same = labels[others] == label
            slack[same] = allowed + DEEPER * max(0.0, -float(distance[same].min()))
        return cls(members, rest[members], along, back, surface, others, slack)

    def met_by(self, points: Floats, travel: Floats) -> _Met:
        """What might meet it.

        Args:
            points: (c, 3) metres, of all contact particles.
            travel: (c, 3) metres, how far each is about to go.
        """
        _, nearest = cKDTree(points[self.members]).query(points[self.others])
        second = self.members[nearest]
        moved = (_basis(points, self.members, self.along) @ self.back)[nearest]
        back = np.linalg.inv(moved)
        start = self.rest[nearest] + np.einsum("kij,kj->ki", back, points[self.others] - points[second])
        path = np.einsum("kij,kj->ki", back, travel[self.others] - travel[second])
        far = np.linalg.norm(path, axis=1)
        distance, normal = self.surface(start, NEAR + 2.0 * float(far.max(initial=0.0)))
        near = np.flatnonzero(distance < NEAR + 2.0 * far)
        start, path, slack = start[near], path[near], self.slack[near]
        gap, normal = _facing(self.surface, start, path, distance[near] + slack, normal[near], slack)
        normal = np.einsum("kji,kj->ki", back[near], normal)
        stretch = np.linalg.norm(normal, axis=1)
        normal, gap = normal / stretch[:, None], gap / stretch
        first, second = self.others[near], second[near]
        bound = np.isfinite(gap)
        first, second, normal, gap = first[bound], second[bound], normal[bound], gap[bound]
        return _Met(first, second, normal, gap - np.einsum("ki,ki->k", points[first] - points[second], normal))


def _facing(
    surface: SurfaceDistance, start: Floats, path: Floats, gap: Floats, normal: Floats, slack: Floats
) -> tuple[Floats, Floats]:
    """Gaps (k,) to, and normals (k, 3) of, the planes that particles should be kept in front of.

    Where the path comes into the part, that is the plane where it is first seen inside, if it came in through that, otherwise
    the plane at its start. Where the path stays outside, it is that of the planes at its two ends which has more of it in front;
    the gap is infinite where it goes around a corner, and the plane is that at the start where it may have gone right through.

    Args:
        surface: of the part.
        start: (k, 3) metres.
        path: (k, 3) metres, to the expected end of the step.
        gap: (k,) metres at the start.
        normal: (k, 3) there.
        slack: (k,) metres, part of the gap.
    """
    if not len(start):
        return gap, normal
    end_gap, end_normal, ahead = gap.copy(), normal.copy(), np.zeros_like(path)
    looks = int(np.clip(np.ceil(np.linalg.norm(path, axis=1).max() / LOOK), 1, MOST_LOOKS))
    on_way = np.arange(len(start))
    for look in range(1, looks + 1):
        ahead[on_way] = path[on_way] * (look / looks)
        distance, end_normal[on_way] = surface(start[on_way] + ahead[on_way], np.inf)
        end_gap[on_way] = distance + slack[on_way]
        on_way = on_way[end_gap[on_way] >= 0.0]
        if not len(on_way):
            break
    from_end = end_gap - np.einsum("ki,ki->k", ahead, end_normal)
    from_start = gap + np.einsum("ki,ki->k", path, normal)
    comes_in = end_gap < 0.0
    apart = np.minimum(gap, from_start) >= np.minimum(from_end, end_gap)
    through = np.einsum("ki,ki->k", normal, end_normal) < OPPOSITE
    at_start = np.where(comes_in, from_end < 0.0, apart | through)
    free = ~comes_in & ~through & (np.minimum(gap, from_start) < 0.0) & (np.minimum(from_end, end_gap) < 0.0)
    chosen = np.where(at_start, gap, from_end)
    return np.where(free, np.inf, chosen), np.where(at_start[:, None], normal, end_normal)


def _basis(points: Floats, members: Ints, along: Ints) -> Floats:
    """(p, 3, 3) columns: from each member to its two neighbours, and their cross product, all in metres."""
    first, second = points[along[:, 0]] - points[members], points[along[:, 1]] - points[members]
    across = np.cross(first, second) / (np.linalg.norm(first, axis=1, keepdims=True) + 1e-300)
    return np.stack([first, second, across], axis=2)


def _neighbours(points: Floats, members: Ints) -> Ints:
    """(p, 2) for each member: its nearest neighbour, and the one of the nearest few in the most different direction."""
    _, near = cKDTree(points[members]).query(points[members], k=np.arange(2, min(NEIGHBOURS, len(members) - 1) + 2))
    neighbour = members[near]
    arms = points[neighbour] - points[members][:, None]
    lengths = np.linalg.norm(arms, axis=2).clip(min=1e-300)
    sines = np.linalg.norm(np.cross(arms[:, :1], arms), axis=2) / (lengths[:, :1] * lengths)
    return np.stack([neighbour[:, 0], neighbour[np.arange(len(members)), sines.argmax(axis=1)]], axis=1)
