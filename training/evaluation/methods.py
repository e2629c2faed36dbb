"""What is compared: ways to get a state space from an object. Each is fitted to one object, then asked for positions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from manifold3d import Manifold
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation
from torch import Tensor, nn

from neurok_ros.geometry import build_lattice
from neurok_ros.geometry.driving import connected_parts
from neurok_ros.geometry.rotations import quaternion_exp, quaternion_matrix
from neurok_ros.kinematics import skinning_modes, strain_sites
from neurok_ros.kinematics.modal import SkinningModes
from training.evaluation.metrics import split_closed
from training.evaluation.objects import EvaluationObject, Floats, Ints, MaterialPoints


class Motion(Protocol):
    """Points as a function of a state (dim,), float64."""

    def positions(self, q: Tensor) -> Tensor:
        """(p, 3)."""

    def jacobian(self, q: Tensor) -> Tensor:
        """(p, 3, dim)."""


class StateSpace(Protocol):
    """The states of one object, as vectors (dim,) of float64 that can be added."""

    @property
    def dim(self) -> int:
        """How many numbers a state has; zero where there is but one."""

    @property
    def rest(self) -> Tensor:
        """(dim,) the state that means the object as it is given."""

    def follow(self, points: MaterialPoints) -> Motion:
        """Where these points are in a state."""

    def start(self, target: Floats) -> Tensor:
        """(dim,) a first guess of the state in which the vertices (n, 3) are there."""


class Method(Protocol):
    """A way to get state spaces."""

    @property
    def name(self) -> str:
        """In tables."""

    @property
    def oracle(self) -> bool:
        """Whether it looks at how this very object moves."""

    def fit(self, given: EvaluationObject) -> StateSpace:
        """The state space of an object, from its rest shape; an oracle may use `frames`, and none may use `targets`."""


@dataclass(frozen=True)
class LinearMotion:
    """x = start + B q."""

    start: Tensor
    """(p, 3)."""
    basis: Tensor
    """(p, 3, dim)."""

    def positions(self, q: Tensor) -> Tensor:
        """(p, 3)."""
        return self.start + self.basis @ q

    def jacobian(self, q: Tensor) -> Tensor:
        """The basis, whatever the state."""
        return self.basis


@dataclass(frozen=True)
class CurvedMotion:
    """Any differentiable function from a state (dim,) to points (p, 3)."""

    function: Callable[[Tensor], Tensor]

    def positions(self, q: Tensor) -> Tensor:
        """(p, 3)."""
        return self.function(q)

    def jacobian(self, q: Tensor) -> Tensor:
        """(p, 3, dim), by forward differentiation."""
        slope: Tensor = torch.func.jacfwd(self.function)(q)
        return slope


@dataclass(frozen=True)
class Linear:
    """Vertices that are linear in the state: x = X + B q."""

    vertices: Floats
    basis: Floats
    """(n, 3, dim)."""

    @property
    def dim(self) -> int:
        """Columns of the basis."""
        return int(self.basis.shape[2])

    @property
    def rest(self) -> Tensor:
        """Zero."""
        return torch.zeros(self.dim, dtype=torch.float64)

    def follow(self, points: MaterialPoints) -> Motion:
        """Barycentric sums of the vertices' rows."""
        start = torch.from_numpy(points.at(self.vertices))
        basis = torch.from_numpy(np.einsum("pc,pcxk->pxk", points.weights, self.basis[points.corners]))
        return LinearMotion(start, basis)

    def start(self, target: Floats) -> Tensor:
        """Rest."""
        return self.rest


@dataclass(frozen=True)
class RestPose:
    """Nothing moves."""

    name: str = "rest pose"
    oracle: bool = False

    def fit(self, given: EvaluationObject) -> StateSpace:
        """One state."""
        return Linear(given.vertices, np.zeros((*given.vertices.shape, 0)))


@dataclass(frozen=True)
class RigidFit:
    """The whole object moves as one body: translation, then rotation vector about the surface's mean; starts from the best
    fit of the vertices (Kabsch 1976)."""

    name: str = "rigid"
    oracle: bool = False

    def fit(self, given: EvaluationObject) -> StateSpace:
        """Six numbers."""
        return RigidStates(given.vertices, given.surface)


@dataclass(frozen=True)
class RigidStates:
    """See `RigidFit`."""

    vertices: Floats
    surface: MaterialPoints
    dim: int = 6

    @property
    def rest(self) -> Tensor:
        """Zero."""
        return torch.zeros(6, dtype=torch.float64)

    def follow(self, points: MaterialPoints) -> Motion:
        """x = R(q[3:]) X + q[:3]."""
        start = torch.from_numpy(points.at(self.vertices))
        return CurvedMotion(lambda q: start @ quaternion_matrix(quaternion_exp(q[3:])).T + q[:3])

    def start(self, target: Floats) -> Tensor:
        """The least sum of squares over the surface."""
        a, b = self.surface.at(self.vertices), self.surface.at(target)
        rotation, shift = kabsch(a[None], b[None])
        return torch.from_numpy(np.concatenate([shift[0], rotation_vector(rotation[0])]))


@dataclass(frozen=True)
class OwnFrames:
    """Principal components of other poses of this very object: the best linear space there can be."""

    size: int
    name: str = "PCA of own frames"
    oracle: bool = True

    def fit(self, given: EvaluationObject) -> StateSpace:
        """`size` components of the displacements from rest, each in units of its standard deviation."""
        basis = principal_components(given, self.size)
        return Linear(given.vertices, basis)


def principal_components(given: EvaluationObject, size: int) -> Floats:
    """(n, 3, size) directions of the displacements from rest, times their spread; points of the surface count alike."""
    moved = given.frames - given.vertices
    at_points = np.stack([given.fitting.at(f) for f in moved]).reshape(len(moved), -1)
    left, spread, _ = np.linalg.svd(at_points, full_matrices=False)
    kept = min(size, int(np.count_nonzero(spread > 1e-9 * spread[0])))
    combined = np.einsum("fk,fnx->nxk", left[:, :kept], moved) / np.sqrt(len(moved))
    return np.asarray(np.pad(combined, ((0, 0), (0, 0), (0, size - kept))))


@dataclass(frozen=True)
class OwnFramesMlp:
    """A curved space learned from other poses of this very object: an auto-encoder of their principal components (Fulton et
    al., Latent-space Dynamics for Reduced Deformable Simulation, 2019)."""

    size: int
    components: int = 32
    width: int = 64
    steps: int = 600
    name: str = "MLP of own frames"
    oracle: bool = True

    def fit(self, given: EvaluationObject) -> StateSpace:
        """Trained in double precision with Adam, full batches, always from the same numbers."""
        linear = Linear(given.vertices, principal_components(given, self.components))
        wanted = self._coefficients(linear, given)
        scale = wanted.square().mean(0).sum().sqrt()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            encoder = self._network(self.components, self.size)
            decoder = self._network(self.size, self.components)
        optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], 3e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)
        with torch.enable_grad():
            for _ in range(self.steps):
                loss = (decoder(encoder(wanted / scale)) - wanted / scale).square().sum(1).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        for network in (encoder, decoder):
            network.requires_grad_(False)
        return MlpStates(linear, encoder, decoder, float(scale), self.size)

    def _network(self, inputs: int, outputs: int) -> nn.Sequential:
        layers = [nn.Linear(inputs, self.width), nn.ELU(), nn.Linear(self.width, self.width), nn.ELU()]
        return nn.Sequential(*layers, nn.Linear(self.width, outputs)).double()

    def _coefficients(self, linear: Linear, given: EvaluationObject) -> Tensor:
        frames = np.concatenate([given.frames, given.vertices[None]])
        return torch.stack([linear_coefficients(linear, given.fitting, frame) for frame in frames])


def linear_coefficients(linear: Linear, points: MaterialPoints, target: Floats) -> Tensor:
    """(dim,) the state of a linear space whose points are nearest to those of a target (n, 3)."""
    basis = np.einsum("pc,pcxk->pxk", points.weights, linear.basis[points.corners]).reshape(-1, linear.dim)
    wanted = (points.at(target) - points.at(linear.vertices)).reshape(-1)
    return torch.from_numpy(np.linalg.lstsq(basis, wanted, rcond=1e-8)[0])


@dataclass(frozen=True)
class MlpStates:
    """See `OwnFramesMlp`."""

    linear: Linear
    encoder: nn.Sequential
    decoder: nn.Sequential
    scale: float
    dim: int

    @property
    def rest(self) -> Tensor:
        """What the encoder makes of no displacement."""
        return self._encode(torch.zeros(self.linear.dim, dtype=torch.float64))

    def follow(self, points: MaterialPoints) -> Motion:
        """The linear space's positions for the decoded components."""
        linear = self.linear.follow(points)
        return CurvedMotion(lambda q: linear.positions(self.scale * self.decoder(q)))

    def start(self, target: Floats) -> Tensor:
        """What the encoder makes of the target."""
        every = MaterialPoints.vertices(len(self.linear.vertices))
        return self._encode(linear_coefficients(self.linear, every, target))

    def _encode(self, coefficients: Tensor) -> Tensor:
        encoded: Tensor = self.encoder(coefficients / self.scale)
        return encoded


@dataclass(frozen=True)
class Modal:
    """The skinning modes that the prediction uses without a trained model, all of them."""

    name: str = "skinning modes"
    oracle: bool = False

    def fit(self, given: EvaluationObject) -> StateSpace:
        """Open parts count as their convex hulls."""
        modes = skinning_modes(build_lattice(*closed_mesh(given.vertices, given.faces)))
        fields = modes.fields(given.vertices)
        return Linear(given.vertices, np.einsum("nr,xy->nxry", fields, np.eye(3)).reshape(*given.vertices.shape, -1))


@dataclass(frozen=True)
class ElasticModes:
    """The softest vibrations of the object made of one elastic material, without the motions of the whole.

    Parts that are not connected hold on to each other by weak springs where they nearly touch, so that what two parts could do
    at a joint comes first.
    """

    size: int
    name: str = "elastic modes"
    oracle: bool = False

    def fit(self, given: EvaluationObject) -> StateSpace:
        """The `size` lowest modes after the six rigid ones; open parts count as their convex hulls."""
        modes = skinning_modes(build_lattice(*closed_mesh(given.vertices, given.faces)))
        _, vectors = np.linalg.eigh(elastic_stiffness(modes))
        chosen = vectors[:, 6 : 6 + self.size].reshape(-1, 3, self.size)
        return Linear(given.vertices, np.einsum("nr,rxk->nxk", modes.fields(given.vertices), chosen))


_POISSON = 0.3
_JOINT_SPRING = 1e-5
"""Of Young's modulus times the object's size: far softer than any bend."""


def closed_mesh(vertices: Floats, faces: Ints) -> tuple[Floats, Ints]:
    """The mesh with the convex hull of each open connected part in place of that part; one that is flat is left out."""
    closed, opened = split_closed(faces, len(vertices))
    if len(opened) == 0:
        return vertices, faces
    part = connected_parts(opened, len(vertices))[opened[:, 0]]
    points, triangles = [vertices], [closed]
    for label in np.unique(part):
        own = vertices[np.unique(opened[part == label])]
        if np.linalg.matrix_rank(own - own.mean(axis=0), tol=1e-3) == 3:
            hull = Manifold.hull_points(own).to_mesh64()
            triangles.append(np.asarray(hull.tri_verts, np.int64) + sum(len(p) for p in points))
            points.append(np.asarray(hull.vert_properties)[:, :3])
    return np.concatenate(points), np.concatenate(triangles)


def elastic_stiffness(modes: SkinningModes) -> Floats:
    """(3 r, 3 r) of linear elasticity with Young's modulus one, in the coordinates of the modes, in which the mass is one."""
    lattice = modes.lattice
    fields = modes.fields(lattice.nodes)
    sites = strain_sites(lattice)
    slope = np.einsum("sar,saj->srj", fields[sites.index.numpy()], sites.gradient.numpy())
    volume = sites.volume.numpy()
    shear = 1 / (2 * (1 + _POISSON))
    lame = _POISSON / ((1 + _POISSON) * (1 - 2 * _POISSON))
    dots = np.einsum("s,srj,stj->rt", volume, slope, slope)
    crossed = np.einsum("s,sri,stj->ritj", volume, slope, slope)
    size = fields.shape[1]
    stiffness = shear * (np.einsum("rt,xy->rxty", dots, np.eye(3)) + crossed.transpose(0, 3, 2, 1)) + lame * crossed
    stiffness += np.einsum("rt,xy->rxty", _joint_springs(modes, fields), np.eye(3))
    return np.asarray(stiffness.reshape(3 * size, 3 * size))


def _joint_springs(modes: SkinningModes, fields: Floats) -> Floats:
    """(r, r) of springs from each part to the nearest nodes of the others, where they are at most a cell farther apart than at
    the nearest place."""
    lattice = modes.lattice
    cell = float(lattice.sizes.mean())
    springs = np.zeros((fields.shape[1], fields.shape[1]))
    for part in range(len(lattice.moments) if len(lattice.moments) > 1 else 0):
        mine, others = np.flatnonzero(lattice.node_part == part), np.flatnonzero(lattice.node_part != part)
        distance, nearest = cKDTree(lattice.nodes[others]).query(lattice.nodes[mine])
        held = distance <= distance.min() + cell
        apart = fields[mine[held]] - fields[others[nearest[held]]]
        springs += _JOINT_SPRING * apart.T @ apart / len(apart)
    return springs


def kabsch(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Rotations (s, 3, 3) and shifts (s, 3) that bring points a (s, p, 3) nearest to b (s, p, 3): R a + shift."""
    center_a, center_b = a.mean(axis=1), b.mean(axis=1)
    left, _, right = np.linalg.svd(np.einsum("spi,spj->sij", b - center_b[:, None], a - center_a[:, None]))
    left[:, :, 2] *= np.sign(np.linalg.det(left @ right))[:, None]
    rotation = left @ right
    return rotation, center_b - np.einsum("sij,sj->si", rotation, center_a)


def rotation_vector(rotation: Floats) -> Floats:
    """(3,) radians."""
    return np.asarray(Rotation.from_matrix(rotation).as_rotvec())


def baselines(size: int) -> list[Method]:
    """Everything that needs no trained model; `size` is k_q where a method has a choice."""
    return [RestPose(), RigidFit(), ElasticModes(size), Modal(), OwnFrames(size), OwnFramesMlp(size)]
