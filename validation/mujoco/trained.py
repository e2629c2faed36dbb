"""The mechanisms that training makes, as MuJoCo sees them: their own triangles near the tool, the masses of the whole links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from neurok_ros.prediction.types import Push
from training.data.articulated.mechanism import Joint, Link, Mechanism
from training.data.articulated.source import ArticulatedObject
from training.sampling import Floats
from validation.mujoco.primitive import numbers
from validation.mujoco.reference import IMPACT, Recording, quiet, record, tool_body, world

STEPS_PER_FRAME = 40
"""So that a step is about 0.4 ms."""
STOPS = 'solreflimit="0.002 4"'
"""Overdamped: the ends of a joint's range give back nothing."""
SKIN = 0.5
"""Of the tool's smallest half-extent: how thick the triangles are that it meets."""
REACH = 2.0
"""Of the tool's bounding radius: triangles so near to its path, at rest, can be touched."""


@dataclass(frozen=True, eq=False)
class Trained:
    """An articulated object in a state, its base held."""

    made: ArticulatedObject
    mechanism: Mechanism
    values: Floats
    """(coordinates,) where it starts."""
    density: float
    """kg/m^3 of all links."""
    joint_damping: float
    """1/s: every joint brakes with so much of its own inertia where all coordinates are 0."""
    held: bool
    """Whether gravity does not act on what moves: springs or stiff joints carry it."""

    @property
    def faces(self) -> NDArray[np.int64]:
        """(f, 3)."""
        return self.made.surface.faces

    @property
    def vertices(self) -> Floats:
        """(v, 3) metres, where it starts."""
        return self.made.vertices(self.values)

    @property
    def link(self) -> NDArray[np.int64]:
        """(v,) that each vertex belongs to."""
        return self.made.assembly.vertex_link

    def carried(self, coordinate: int) -> NDArray[np.bool_]:
        """(links,) those that a coordinate moves."""
        ahead = self.values.copy()
        ahead[coordinate] += 1e-3
        moved = self.mechanism.poses(ahead) - self.mechanism.poses(self.values)
        return np.asarray(np.abs(moved).max(axis=(1, 2)) > 1e-9)


def motion_of(subject: Trained, push: Push, seconds: float) -> tuple[Recording, Floats]:
    """What MuJoCo says, and where the vertices go (t, v, 3), metres."""
    quiet()
    order = _joint_order(subject.mechanism)
    by_link = np.zeros(len(subject.mechanism.links))
    undamped = mujoco.MjModel.from_xml_string(_xml(subject, push, by_link))
    by_link[order] = undamped.dof_M0[: len(order)]
    xml = _xml(subject, push, subject.joint_damping * by_link)
    names = [f"link{number}" for number in range(len(subject.mechanism.links))]
    found = record(xml, names, seconds, push.path, _joint_values(subject))
    return found, found.points(subject.made.surface.vertices, subject.link)


def _xml(subject: Trained, push: Push, damping: Floats) -> str:
    mechanism = subject.mechanism
    skins = _skins(subject, push)
    assets = "".join(
        f'<mesh name="s{i}" inertia="convex" vertex="{numbers(prism.ravel())}"/>' for i, (_, prism) in enumerate(skins)
    )
    coupled = "".join(_couplings(mechanism))
    geoms: dict[int, str] = {}
    for i, (number, _) in enumerate(skins):
        geoms[number] = geoms.get(number, "") + f'<geom type="mesh" mesh="s{i}" mass="0"/>'
    bodies = "".join(_body(subject, number, geoms, damping) for number in _children(mechanism, None))
    xml = world(bodies, tool_body(push.tool, IMPACT), 0.3, "implicitfast", STEPS_PER_FRAME)
    return xml.replace(
        "<worldbody>", f'<compiler angle="radian"/><asset>{assets}</asset><equality>{coupled}</equality><worldbody>', 1
    )


def _body(subject: Trained, number: int, geoms: dict[int, str], damping: Floats) -> str:
    mechanism = subject.mechanism
    link = mechanism.links[number]
    inside = "".join(_body(subject, child, geoms, damping) for child in _children(mechanism, number))
    joint = _joint(mechanism, number, float(damping[number])) + geoms.get(number, "")
    return f'<body name="link{number}" gravcomp="{int(subject.held)}">{joint}{_inertial(link, subject.density)}{inside}</body>'


def _inertial(link: Link, density: float) -> str:
    mesh = link.body.to_mesh64()
    solid = trimesh.Trimesh(np.asarray(mesh.vert_properties)[:, :3], np.asarray(mesh.tri_verts), process=False)
    solid.density = density
    i = solid.moment_inertia
    full = numbers(np.array([i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]))
    return f'<inertial pos="{numbers(solid.center_mass)}" mass="{solid.mass:.12g}" fullinertia="{full}"/>'


def _joint(mechanism: Mechanism, number: int, damping: float) -> str:
    joint = mechanism.links[number].joint
    if joint.kind == "fixed":
        return ""
    coordinate = mechanism.coordinates[joint.coordinate]
    ends = sorted((joint.ratio * coordinate.lower, joint.ratio * coordinate.upper))
    kind = "hinge" if joint.kind == "revolute" else "slide"
    place = f'axis="{numbers(joint.axis)}" pos="{numbers(joint.origin)}"'
    limits = f'limited="true" range="{numbers(np.array(ends))}" {STOPS}'
    return f'<joint name="j{number}" type="{kind}" {place} {limits} damping="{damping:.12g}"/>'


def _couplings(mechanism: Mechanism) -> Iterable[str]:
    """Of joints that the same coordinate moves, each follows the first."""
    first: dict[int, tuple[int, Joint]] = {}
    for number in _joint_order(mechanism):
        joint = mechanism.links[number].joint
        if joint.coordinate not in first:
            first[joint.coordinate] = number, joint
            continue
        leader, leading = first[joint.coordinate]
        ratio = joint.ratio / leading.ratio
        yield f'<joint joint1="j{number}" joint2="j{leader}" polycoef="0 {ratio:.12g} 0 0 0" solref="0.002 1"/>'


def _children(mechanism: Mechanism, parent: int | None) -> list[int]:
    return [i for i, link in enumerate(mechanism.links) if (link.parent == i if parent is None else link.parent == parent != i)]


def _joint_order(mechanism: Mechanism) -> list[int]:
    """Links that have a joint, as MuJoCo numbers them: depth first."""

    def below(numbered: list[int]) -> list[int]:
        return [n for number in numbered for n in (number, *below(_children(mechanism, number)))]

    return [n for n in below(_children(mechanism, None)) if mechanism.links[n].joint.kind != "fixed"]


def _joint_values(subject: Trained) -> Floats:
    joints = [subject.mechanism.links[number].joint for number in _joint_order(subject.mechanism)]
    return np.array([joint.ratio * subject.values[joint.coordinate] for joint in joints])


def _skins(subject: Trained, push: Push) -> list[tuple[int, Floats]]:
    """The link of each triangle near the tool's path, and a prism (6, 3) in metres below it, where all coordinates are 0."""
    rest, home = subject.vertices, subject.made.surface.vertices
    triangles = rest[subject.faces]
    centers = triangles.mean(axis=1)
    radii = np.linalg.norm(triangles - centers[:, None], axis=2).max(axis=1)
    times = np.linspace(0.0, push.path.times[-1], 200)
    places = np.stack([push.path.pose(float(t))[0] for t in times])
    near = cKDTree(places).query(centers)[0] - radii < REACH * push.tool.bounding_radius
    skins = []
    for face in np.flatnonzero(near):
        corners = home[subject.faces[face]]
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        twice_area = float(np.linalg.norm(normal))
        if twice_area > 1e-9:
            below = corners - SKIN * min(push.tool.half_extents) * normal / twice_area
            skins.append((int(subject.link[subject.faces[face, 0]]), np.concatenate([corners, below])))
    return skins
