"""Whether a motion can be true, found from positions alone: it never looks at what the prediction says of itself.

Bounds are loose on purpose. What breaks one is no matter of accuracy: it cannot happen.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from neurok_ros.dynamics import ToolKind, ToolShape
from neurok_ros.parameterization import StrainSites
from validation.case import Floats

REACH_OF_TOOL_SPEED = 2.0
"""What a tool that does not rebound hits off its middle moves at the far end by up to 1.4 times the tool's speed (a rod)."""
CREATED_SHARE = 0.05
"""Of the energy that was turned over so far: more than that is created, not rounding."""
CREATED_FLOOR = 2e-3
"""Of the work that lifts the object by its size: contacts give way by this much when they take up its weight."""
PENETRATION_SHARE = 0.05
"""Of the object's size: 3 % that the product states as its bound for the tool, and 2 % for what lies between surface samples."""
START_SHARE = 0.2
"""Of the object's size: a tool this deep in an object at the start is no noise of a scan."""
RIGID_SHARE = 0.01
HELD_SHARE = 0.01
DRIFT_SHARE = 0.005
"""Of the object's size, of something that rests, after it had half of the time to settle."""
FORCE_SHARE = 0.1
"""Over the force limit."""
POINT_LIKE_SIZE = 0.1
"""Metres."""
SUBSTEPS = 4
"""Between two frames the tool is looked at so often."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What was asked, and where everything was. f frames, n vertices, k points with mass."""

    times: Floats
    """(f,) seconds."""
    vertices: Floats
    """(f, n, 3) metres."""
    nodes: Floats
    """(f, k, 3) metres."""
    masses: Floats
    """(k,) kg."""
    gravity: Floats
    """(3,) m/s^2."""
    support: Floats | None = None
    """(4,) plane n . x + d = 0; None: there is none, or the object may leave it."""
    tool: ToolShape | None = None
    tool_poses: Floats | None = None
    """(f, 7) metres, quaternion x y z w."""
    tool_speed: float = 0.0
    """m/s, the fastest that any of its points moves."""
    tool_work: Floats | None = None
    """(f,) J, on the object since the start; None: there is no tool."""
    tool_force: Floats | None = None
    """(f, 3) N."""
    force_limit: float = np.inf
    rigid: bool = False
    sites: StrainSites | None = None
    """Of the nodes; None: nothing strains."""
    faces: NDArray[np.integer] | None = None
    """(m, 3) of the vertices, closed and outward oriented; None: the vertices are points."""
    held: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """(a,) nodes that are to stay where they are."""
    resting: bool = False
    """Nothing ever moves it."""

    @property
    def size(self) -> float:
        """Metres, largest extent at rest; that of a hand's width for a point."""
        return float(np.ptp(self.vertices[0], axis=0).max()) or POINT_LIKE_SIZE


def verdict(seen: Evidence) -> list[str]:
    """What cannot be true; empty for a motion that can."""
    if not (np.isfinite(seen.vertices).all() and np.isfinite(seen.nodes).all()):
        return ["not finite"]
    checks = (
        _too_far,
        _energy_created,
        _in_support,
        _in_tool,
        _tool_within,
        _not_rigid,
        _inverted,
        _not_held,
        _drifts,
        _too_hard,
    )
    return [found for check in checks if (found := check(seen))]


def _too_far(seen: Evidence) -> str:
    moved = np.linalg.norm(seen.vertices - seen.vertices[0], axis=2).max(axis=1)
    gravity = float(np.linalg.norm(seen.gravity))
    reach = REACH_OF_TOOL_SPEED * seen.tool_speed * seen.times + 0.5 * gravity * seen.times**2 + seen.size
    return _worst("moves farther than anything could take it", moved, reach, "m")


def _energy_created(seen: Evidence) -> str:
    """Kinetic energy of the mean velocities between frames (never more than the mean of the energy) and height."""
    if len(seen.times) < 2:
        return ""
    velocities = np.diff(seen.nodes, axis=0) / np.diff(seen.times)[:, None, None]
    kinetic = 0.5 * np.einsum("fki,fki,k->f", velocities, velocities, seen.masses)
    height = -np.einsum("fki,i,k->f", seen.nodes, seen.gravity, seen.masses)
    height = height - height[0]
    work = seen.tool_work if seen.tool_work is not None else np.zeros(len(seen.times))
    put_in = np.maximum.accumulate(np.maximum(work, 0.0))[1:]
    has = kinetic + np.minimum(height[1:], height[:-1])
    turned_over = put_in + np.maximum.accumulate(np.abs(height))[1:]
    floor = CREATED_FLOOR * float(seen.masses.sum()) * max(float(np.linalg.norm(seen.gravity)), 1.0) * seen.size
    return _worst("has more energy than it was given", has, put_in + CREATED_SHARE * turned_over + floor, "J")


def _in_support(seen: Evidence) -> str:
    if seen.support is None:
        return ""
    depth = -(seen.vertices @ seen.support[:3] + seen.support[3])
    deeper = (depth - np.maximum(depth[0], 0.0)).max(axis=1)
    return _worst("sinks into the support", deeper, np.full(len(deeper), PENETRATION_SHARE * seen.size), "m")


def _in_tool(seen: Evidence) -> str:
    if seen.tool is None or seen.tool_poses is None:
        return ""
    start = float(_depth(seen.tool, seen.vertices[0], seen.tool_poses[0]).max())
    if start > START_SHARE * seen.size:
        return f"starts {1e3 * start:.3g} mm inside the tool"
    bound = PENETRATION_SHARE * seen.size + max(start, 0.0)
    deepest = [
        _depth(seen.tool, (1.0 - share) * before + share * after, (1.0 - share) * pose + share * pose_after).max()
        for before, after, pose, pose_after in zip(
            seen.vertices[:-1], seen.vertices[1:], seen.tool_poses[:-1], seen.tool_poses[1:], strict=True
        )
        for share in np.arange(1, SUBSTEPS + 1) / SUBSTEPS
    ]
    return _worst("is inside the tool", np.array(deepest), np.full(len(deepest), bound), "m")


def _tool_within(seen: Evidence) -> str:
    """By the solid angle that the surface fills as seen from the tool's middle (van Oosterom and Strackee 1983)."""
    if seen.faces is None or seen.tool is None or seen.tool_poses is None or seen.tool.opening is not None:
        return ""
    for time, vertices, pose in zip(seen.times, seen.vertices, seen.tool_poses, strict=True):
        a, b, c = np.moveaxis(vertices[seen.faces] - pose[:3], 1, 0)
        lengths = [np.linalg.norm(side, axis=1) for side in (a, b, c)]
        volume = np.einsum("mi,mi->m", a, np.cross(b, c))
        along = lengths[0] * lengths[1] * lengths[2]
        for (one, other), length in zip(((a, b), (b, c), (c, a)), (lengths[2], lengths[0], lengths[1]), strict=True):
            along = along + np.einsum("mi,mi->m", one, other) * length
        if abs(2.0 * np.arctan2(volume, along).sum()) > 2.0 * np.pi:
            return f"the tool's middle is inside the object after {time:.3g} s"
    return ""


def _depth(tool: ToolShape, points: Floats, pose: Floats) -> Floats:
    """(n,) metres inside a tool, negative outside, where it is only a bound."""
    x, y, z, w = pose[3:] / np.linalg.norm(pose[3:])
    arms, axis = points - pose[:3], np.array([x, y, z])
    turned = arms - 2.0 * w * np.cross(axis, arms) + 2.0 * np.cross(axis, np.cross(axis, arms))
    if tool.opening is not None:
        turned[:, 1] = np.abs(turned[:, 1]) - 0.5 * tool.opening - tool.half_extents[1]
    if tool.kind is ToolKind.BOX:
        return np.asarray((np.array(tool.half_extents) - np.abs(turned)).min(axis=1))
    if tool.kind is ToolKind.CYLINDER:
        height, radius = tool.dimensions
        return np.asarray(np.minimum(radius - np.hypot(turned[:, 0], turned[:, 1]), 0.5 * height - np.abs(turned[:, 2])))
    half = 0.5 * tool.dimensions[0] if tool.kind is ToolKind.CAPSULE else 0.0
    turned[:, 2] -= np.clip(turned[:, 2], -half, half)
    return np.asarray(tool.dimensions[-1] - np.linalg.norm(turned, axis=1))


def _not_rigid(seen: Evidence) -> str:
    if not seen.rigid:
        return ""
    chosen = seen.vertices[:, np.linspace(0, seen.vertices.shape[1] - 1, 40).astype(int)]
    apart = np.linalg.norm(chosen[:, :, None] - chosen[:, None], axis=3)
    changed = np.abs(apart - apart[0]).max(axis=(1, 2))
    return _worst("a rigid body changes its shape", changed, np.full(len(changed), RIGID_SHARE * seen.size), "m")


def _inverted(seen: Evidence) -> str:
    if seen.sites is None:
        return ""
    least = np.array([float(torch.linalg.det(seen.sites.deformation_gradients(torch.from_numpy(x))).min()) for x in seen.nodes])
    return _worst("material is turned inside out", -least, np.zeros(len(least)), "of its volume")


def _not_held(seen: Evidence) -> str:
    if not len(seen.held):
        return ""
    moved = np.linalg.norm(seen.nodes[:, seen.held] - seen.nodes[0, seen.held], axis=2).max(axis=1)
    return _worst("what is held moves", moved, np.full(len(moved), HELD_SHARE * seen.size), "m")


def _drifts(seen: Evidence) -> str:
    if not seen.resting:
        return ""
    late = seen.vertices[len(seen.times) // 2 :]
    moved = np.linalg.norm(late - late[0], axis=2).max(axis=1)
    return _worst("drifts while it rests", moved, np.full(len(moved), DRIFT_SHARE * seen.size), "m")


def _too_hard(seen: Evidence) -> str:
    if seen.tool_force is None or not np.isfinite(seen.force_limit):
        return ""
    force = np.linalg.norm(seen.tool_force, axis=1)
    return _worst("presses harder than its limit", force, np.full(len(force), (1.0 + FORCE_SHARE) * seen.force_limit), "N")


def _worst(problem: str, values: Floats, bounds: Floats, unit: str) -> str:
    """The problem with its numbers where a value is above its bound, or nothing."""
    worst = int((values - bounds).argmax())
    return f"{problem}: {values[worst]:.3g} {unit}, bound {bounds[worst]:.3g}" if values[worst] > bounds[worst] else ""
