"""Articulated objects: rigid bodies in a tree, joined by joints, moved by a few free coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from manifold3d import Manifold
from numpy.typing import NDArray

from training.data.articulated.shapes import Vector, cut, unite
from training.sampling import Surface

Floats = NDArray[np.float64]

_SAWN = 0.12
"""Of the pieces of a body that is left in pieces, those that are two."""


@dataclass(frozen=True)
class Joint:
    """How one body moves against another; axis and origin in the object's frame, in the state where every coordinate is 0."""

    kind: Literal["revolute", "prismatic", "fixed"]
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """Unit length."""
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    coordinate: int = 0
    """The free coordinate that moves this joint; joints with the same one are coupled."""
    ratio: float = 1.0
    """The joint's value (radians, or units of length) for a coordinate of one."""
    pitch: float = 0.0
    """Of a revolute joint: how far it moves along its axis for a turn of one radian (a screw)."""

    def motion(self, value: float) -> Floats:
        """The pose (4, 4) that the joint applies at a value of its coordinate."""
        pose = np.eye(4)
        axis, origin = np.array(self.axis), np.array(self.origin)
        if self.kind == "prismatic":
            pose[:3, 3] = self.ratio * value * axis
        elif self.kind == "revolute":
            angle = self.ratio * value
            pose[:3, :3] = rotation_about(axis, angle)
            pose[:3, 3] = origin - pose[:3, :3] @ origin + self.pitch * angle * axis
        return pose


@dataclass(frozen=True)
class Coordinate:
    """A degree of freedom: radians or units of length, as its joints have it."""

    lower: float
    upper: float
    rest: float
    """Where the object is mostly found: a closed door, a dial at zero."""


@dataclass(frozen=True)
class Link:
    """A rigid body of the tree."""

    pieces: tuple[Manifold, ...]
    """What it is put together from; they touch or overlap."""
    parent: int
    """The link it is joined to; its own number for the root."""
    joint: Joint

    @cached_property
    def body(self) -> Manifold:
        """All pieces as one, without inner surfaces."""
        return unite(self.pieces)


@dataclass
class Mechanism:
    """A kinematic tree; the links come after their parents."""

    links: list[Link] = field(default_factory=list)
    coordinates: list[Coordinate] = field(default_factory=list)

    def coordinate(self, lower: float, upper: float, rest: float | None = None) -> int:
        """Add a degree of freedom, at `lower` when at rest unless said otherwise; returns its number."""
        self.coordinates.append(Coordinate(lower, upper, lower if rest is None else rest))
        return len(self.coordinates) - 1

    def base(self, *shapes: Manifold) -> int:
        """Add the body that stands still; returns its number."""
        return self._add(Link(tuple(shapes), len(self.links), Joint("fixed")))

    def hinge(
        self,
        parent: int,
        shapes: list[Manifold],
        origin: Vector,
        axis: Vector,
        coordinate: int,
        ratio: float = 1.0,
        pitch: float = 0.0,
    ) -> int:
        """Add a body that turns about an axis through `origin`; returns its number."""
        joint = Joint("revolute", _unit(axis), _triple(origin), coordinate, ratio, pitch)
        return self._add(Link(tuple(shapes), parent, joint))

    def root_hinge(self, shapes: list[Manifold], origin: Vector, axis: Vector, coordinate: int, ratio: float) -> int:
        """Add a body that turns against no other, in an object that has no body at rest; returns its number."""
        joint = Joint("revolute", _unit(axis), _triple(origin), coordinate, ratio)
        return self._add(Link(tuple(shapes), len(self.links), joint))

    def slide(self, parent: int, shapes: list[Manifold], axis: Vector, coordinate: int, ratio: float = 1.0) -> int:
        """Add a body that slides along an axis; returns its number."""
        return self._add(Link(tuple(shapes), parent, Joint("prismatic", _unit(axis), coordinate=coordinate, ratio=ratio)))

    def fix(self, parent: int, shapes: list[Manifold]) -> int:
        """Add a body that does not move against its parent and may be apart from it; returns its number."""
        return self._add(Link(tuple(shapes), parent, Joint("fixed")))

    def _add(self, link: Link) -> int:
        self.links.append(link)
        return len(self.links) - 1

    def poses(self, values: Floats) -> Floats:
        """The links' poses (links, 4, 4) for the coordinates' values (coordinates,); identities where all values are 0."""
        poses = np.empty((len(self.links), 4, 4))
        for number, link in enumerate(self.links):
            own = link.joint.motion(float(values[link.joint.coordinate]) if link.joint.kind != "fixed" else 0.0)
            poses[number] = own if link.parent == number else poses[link.parent] @ own
        return poses

    @property
    def rest(self) -> Floats:
        """(coordinates,)."""
        return np.array([c.rest for c in self.coordinates])

    def random_values(self, rng: np.random.Generator) -> Floats:
        """(coordinates,) a state, see `random_state`."""
        return random_state(self.coordinates, rng)


class Kinematics(Protocol):
    """What pairs need of articulated objects, made here or imported."""

    coordinates: list[Coordinate]

    @property
    def rest(self) -> Floats:
        """(coordinates,)."""

    def poses(self, values: Floats) -> Floats:
        """(links, 4, 4) for the coordinates' values (coordinates,), by which the assembly's surface moves."""

    def random_values(self, rng: np.random.Generator) -> Floats:
        """(coordinates,) a state."""


def random_state(coordinates: Sequence[Coordinate], rng: np.random.Generator) -> Floats:
    """(coordinates,) each at rest, at its upper limit, or anywhere between its limits."""
    lower, upper, rest = (np.array([getattr(c, name) for c in coordinates]) for name in ("lower", "upper", "rest"))
    return np.asarray(np.choose(rng.choice(3, len(lower), p=[0.15, 0.15, 0.7]), [rest, upper, rng.uniform(lower, upper)]))


@dataclass(frozen=True)
class Assembly:
    """The surface of an object, in the state in which all its links' poses are identities."""

    surface: Surface
    face_link: NDArray[np.int64]
    """(f,) the link that each face belongs to."""
    vertex_link: NDArray[np.int64]
    """(v,) the same for vertices."""

    @staticmethod
    def of(mechanism: Mechanism, pieces: np.random.Generator | None = None) -> Assembly:
        """Join the links' meshes; a link of several unconnected bodies counts as that many parts.

        Args:
            mechanism: whose links to join.
            pieces: leaves most links in pieces that are parts of their own, as in models that people put together, and says
                which; where None each link is one body, as what is scanned and meshed is.
        """
        vertices, faces, part, link_of_face, link_of_vertex = [], [], [], [], []
        start = parts = 0
        for number, link in enumerate(mechanism.links):
            bodies = [link.body] if pieces is None else _in_pieces(link, pieces)
            for body in [body for whole in bodies for body in _connected(whole)]:
                mesh = body.to_mesh64()
                vertices.append(np.asarray(mesh.vert_properties)[:, :3])
                faces.append(np.asarray(mesh.tri_verts, np.int64) + start)
                part.append(np.full(len(faces[-1]), parts))
                link_of_face.append(np.full(len(faces[-1]), number))
                link_of_vertex.append(np.full(len(vertices[-1]), number))
                start += len(vertices[-1])
                parts += 1
        surface = Surface(np.vstack(vertices), np.vstack(faces), np.concatenate(part))
        return Assembly(surface, np.concatenate(link_of_face), np.concatenate(link_of_vertex))


def _connected(shape: Manifold) -> list[Manifold]:
    """The connected bodies of a shape, without the slivers of no volume that unions leave now and then."""
    bodies: list[Manifold] = shape.decompose()
    if len(bodies) < 2:
        return bodies
    volumes = np.array([body.volume() for body in bodies])
    return [body for body, volume in zip(bodies, volumes, strict=True) if volume > 1e-6 * volumes.max()]


def _in_pieces(link: Link, rng: np.random.Generator) -> list[Manifold]:
    """A link's pieces, some of them sawn through; or, one time in five, all of it as one."""
    if rng.random() < 0.2:
        return [link.body]
    pieces: list[Manifold] = []
    for piece in link.pieces:
        if rng.random() < _SAWN and not piece.is_empty():
            low, high = np.split(np.array(piece.bounding_box()), 2)
            axis = int(np.argmax(high - low)) if rng.random() < 0.7 else int(rng.integers(3))
            pieces += cut(piece, axis, [low[axis] + rng.uniform(0.2, 0.8) * (high - low)[axis]])
        else:
            pieces.append(piece)
    return pieces


def rotation_about(axis: Floats, angle: float) -> Floats:
    """(3, 3) the rotation by `angle` radians about a unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross))


def _triple(vector: Vector) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in vector)
    return x, y, z


def _unit(vector: Vector) -> tuple[float, float, float]:
    return _triple(np.asarray(vector, float) / np.linalg.norm(vector))
