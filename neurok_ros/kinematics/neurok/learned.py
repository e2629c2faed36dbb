"""The learned state space of one object, from its mesh."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.geometry.driving import connected_parts, drive, nearest_part
from neurok_ros.geometry.rotations import nearest_rotation, quaternion_matrix
from neurok_ros.geometry.sampling import SurfaceSamples, sample_surface
from neurok_ros.kinematics.neurok.checkpoint import load_model
from neurok_ros.kinematics.neurok.decoders import HandleDecoder, PointDecoder, Prepared
from neurok_ros.kinematics.neurok.encoders import ShapeCode
from neurok_ros.kinematics.neurok.model import NeurokModel, at_points, compose, inverse, transform
from neurok_ros.kinematics.neurok.subspace import ActiveSubspace, Criterion, Gradient, active_subspace, joined, principal_motions
from neurok_ros.kinematics.neurok.surface import Surface
from neurok_ros.kinematics.neurok.tangents import HandleMotions
from neurok_ros.kinematics.rigid import RigidBody
from neurok_ros.parameterization import StateLimit

Floats = NDArray[np.float64]

COORDINATES = 16
"""k_q. More of them reach a pose better (docs/training.md), and push predictions with 24 are no better than with 16."""
K_DRIVE = 4
"""Surface samples that a point follows."""
CODES_REACH = 10.0
"""Standard deviations: so far from rest the encoder puts the largest motions of held-out objects, though the prior hardly does:
4 to 6 for doors, lids and drawers that moved by a tenth of their size, 9 for a lamp's arm that moved by a third."""
DRAWN_STATES = 256
"""Of which the principal motions are found."""
SAMPLES = 512
"""Surface samples that drive the object's points; the first `encoder_points` of them are encoded."""


@dataclass(frozen=True)
class EncodedObject:
    """What the network found in a mesh, and the state that means the mesh as it was scanned."""

    model: NeurokModel
    samples: SurfaceSamples
    sample_part: NDArray[np.int64]
    """(s,) the connected part of the mesh that each sample lies on."""
    surface: Surface
    """The samples as the network sees them."""
    center: Floats
    """(3,) metres: the origin of the network's coordinates."""
    radius: float
    """Metres: the network's unit of length."""
    shape: ShapeCode
    prepared: Prepared
    """For the samples."""
    rest: Tensor
    """(K, F_token) the posterior's mean of no deformation."""

    def posterior_mean(self, moved: Tensor, rotations: Tensor) -> Tensor:
        """(K, F_token) the latent of the encoded samples' motion.

        Args:
            moved: (s, 3) metres, where the samples are.
            rotations: (s, 3, 3) how the material turned there.
        """
        count, like = self.model.config.encoder_points, self.rest
        there, turned = self.unit(moved[:count]).to(like), rotations[:count].to(like)
        with torch.no_grad():
            found = self.model.encode_deformation(self.surface.first(count), there[None, None], turned[None, None], self.shape)
        return found.mean[0, 0]

    def unit(self, points: Tensor) -> Tensor:
        """Points (n, 3) in metres, in the network's coordinates."""
        return (points - torch.from_numpy(self.center).to(points)) / self.radius


def encode_object(vertices: Floats, faces: NDArray[np.integer], model: NeurokModel, seed: int = 0) -> EncodedObject:
    """Let the network look at a mesh.

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3) vertex indices, outward oriented; the mesh may be open.
        model: the trained network, in float32, on any device.
        seed: of the surface samples.

    Raises:
        NeurokError: RECONSTRUCTION_FAILED where the mesh has no surface or is not finite.
    """
    _check_mesh(vertices, faces)
    part = connected_parts(faces, len(vertices))[faces[:, 0]]
    samples = sample_surface(vertices, faces, max(SAMPLES, model.config.encoder_points), seed, part)
    return encode_samples(samples, part[samples.faces], model)


def encode_samples(samples: SurfaceSamples, part: NDArray[np.int64], model: NeurokModel) -> EncodedObject:
    """Let the network look at points spread evenly over a surface, every first part of them too.

    Args:
        samples: at least as many as the model's `encoder_points`.
        part: (s,) the connected part that each lies on.
        model: the trained network, in float32, on any device.
    """
    center = samples.points.mean(axis=0)
    radius = float(np.linalg.norm(samples.points - center, axis=1).max())
    device = next(model.parameters()).device
    points = torch.from_numpy((samples.points - center) / radius).float().to(device)[None]
    normals = torch.from_numpy(samples.normals).float().to(device)[None]
    count = model.config.encoder_points
    label = torch.from_numpy(np.unique(part, return_inverse=True)[1].reshape(1, -1)).to(device)
    surface = Surface.of(points, normals, label)
    seen = surface.first(count)
    with torch.no_grad():
        shape = model.encode_shape(seen)
        still = torch.eye(3, device=device).expand(1, 1, count, 3, 3)
        rest = model.encode_deformation(seen, seen.points.unsqueeze(1), still, shape).mean[0, 0]
        prepared = model.prepare(shape, seen, surface)
    return EncodedObject(model, samples, part, surface, center, radius, shape, prepared, rest)


def reduce(encoded: EncodedObject, size: int, criterion: Criterion = "both") -> ActiveSubspace:
    """The k_q = `size` directions of the latent that move the encoded points most (see `neurok.subspace`)."""
    count = encoded.model.config.encoder_points
    seen = encoded.surface.first(count)
    with torch.no_grad():
        prepared = encoded.model.prepare(encoded.shape, seen, seen)
    masses = torch.from_numpy(encoded.samples.areas[:count]).to(encoded.rest)

    def displacements_of(latents: Tensor) -> Tensor:
        maps = encoded.model.maps(prepared, latents.reshape(1, -1, *encoded.rest.shape))[0]
        return transform(maps, seen.points) - seen.points

    def of_gradients(gradient: Gradient) -> ActiveSubspace:
        return active_subspace(displacements_of, encoded.rest.flatten(), masses, size, gradient)

    if criterion == "displacement" or criterion == "kinetic":
        return of_gradients(criterion)
    latents, displacements = _states(encoded, prepared, max(DRAWN_STATES, size))
    motions = principal_motions(latents, displacements, masses, size)
    return motions if criterion == "motions" else joined(motions, of_gradients("kinetic"), size)


@torch.no_grad()
def _states(encoded: EncodedObject, prepared: Prepared, count: int) -> tuple[Tensor, Tensor]:
    """States drawn around rest with the prior's spread, decoded and encoded again.

    Args:
        encoded: the object.
        prepared: for its encoded points.
        count: how many states.

    Returns:
        (count, k) their latents relative to the rest state's, and (count, n, 3) the displacements of the encoded points from
        rest, in the network's units.
    """
    model, rest, looked_at = encoded.model, encoded.rest, encoded.model.config.deformation_points
    seen = encoded.surface.first(model.config.encoder_points)
    undo = inverse(model.controls(prepared, rest[None, None]))

    def maps(latents: Tensor) -> Tensor:
        return at_points(prepared, compose(model.controls(prepared, latents[None]), undo))[0]

    generator = torch.Generator().manual_seed(0)
    drawn = maps(rest + torch.randn(count, *rest.shape, generator=generator).to(rest))
    moved, turned = transform(drawn, seen.points)[:, :looked_at], nearest_rotation(drawn[:, :looked_at, :, :3])
    latents = model.encode_deformation(seen.first(looked_at), moved[None], turned[None], encoded.shape).mean[0]
    return (latents - rest).flatten(1), transform(maps(latents), seen.points) - seen.points


@dataclass(frozen=True)
class NeurokKinematics:
    """The states of an object that the learned model thinks possible.

    State: where `free`, a rigid pose as in `RigidBody` (7), and the reduced latent q (k_q, dimensionless), zero at rest. The
    internal motion happens in the object's own frame, the pose then moves the whole. Each control's motion is taken relative
    to its motion at rest, T_c(z(q)) T_c(z(0))^-1 with z(q) = z_rest + A q: the rest state is the scanned shape up to
    rounding (below 1e-12 of the object's size), and what moves rigidly still does.
    """

    encoded: EncodedObject
    subspace: ActiveSubspace
    vertices: Floats
    """(n, 3) metres, the mesh."""
    vertex_part: NDArray[np.int64]
    """(n,) its connected parts."""
    free: bool
    """Whether the object as a whole can move."""
    name: str = "neurok"

    @property
    def dim(self) -> int:
        """k_q, and 6 where the object is free."""
        return self.subspace.basis.shape[1] + (6 if self.free else 0)

    @property
    def limit(self) -> StateLimit:
        """The ball of radius `CODES_REACH` around the prior's mean; wider where rest is outside of it."""
        basis = self.subspace.basis.double().cpu()
        center = basis.T @ (self.encoded.shape.mean[0] - self.encoded.rest).flatten().double().cpu()
        return StateLimit(center, max(CODES_REACH, float(center.norm())))

    def at(self, points: Tensor, part: NDArray[np.int64] | None = None) -> LearnedMotion:
        """The state space followed at some points: each follows the K_drive nearest surface samples of its part.

        Args:
            points: (n, 3) metres, float64, on or in the object.
            part: (n,) the connected part of each, one of `vertex_part`; None for that of the nearest vertex. A door's middle
                is often nearer to a vertex of its frame than to one of its own.
        """
        encoded, places = self.encoded, points.detach().cpu().numpy()
        if part is None:
            part = nearest_part(places, self.vertices, self.vertex_part)
        driving = drive(places, part, encoded.samples.points, encoded.sample_part, K_DRIVE)
        index, share = torch.from_numpy(driving.index), torch.from_numpy(driving.weight)
        if encoded.prepared.weights is None:
            weights = torch.zeros(len(points), len(encoded.samples.points)).double().scatter_add_(1, index, share)
        else:
            weights = (encoded.prepared.weights[0].cpu().double()[index] * share.unsqueeze(-1)).sum(1)
        controls = Controls(encoded, self.subspace.basis, points)
        inner = ControlledPoints(controls, weights.to(points), encoded.unit(points), encoded.radius, points)
        center = torch.from_numpy(encoded.center).to(points)
        return LearnedMotion(inner, center, self.free)


def neurok_kinematics(
    vertices: Floats, faces: NDArray[np.integer], checkpoint: Path | NeurokModel, size: int = COORDINATES, free: bool = True
) -> NeurokKinematics:
    """The learned state space of a mesh.

    Args:
        vertices: (n, 3) metres.
        faces: (m, 3) vertex indices, outward oriented.
        checkpoint: the file of a trained model, or the model.
        size: k_q, how many internal coordinates; the rank of the latent at most.
        free: whether the object as a whole can move, too.

    Raises:
        NeurokError: FILE_FAILED for a checkpoint that cannot be used, RECONSTRUCTION_FAILED for such a mesh, INVALID_OPTIONS
            for a size that the latent does not have.
    """
    model = load_model(checkpoint) if isinstance(checkpoint, Path) else checkpoint
    if not 1 <= size <= model.config.latent_size:
        problem = f"is {size}, the latent has {model.config.latent_size}"
        raise NeurokError(ErrorCode.INVALID_OPTIONS, "coordinates", problem, "Choose at least 1 and at most that many")
    encoded = encode_object(vertices, faces, model)
    return NeurokKinematics(encoded, reduce(encoded, size), vertices, connected_parts(faces, len(vertices)), free)


class Controls:
    """The motions of an object's controls as a function of the reduced latent, in the precision of `like`."""

    def __init__(self, encoded: EncodedObject, basis: Tensor, like: Tensor) -> None:
        self._rest = encoded.rest.to(like)
        self.basis = basis.to(like)
        self._directions = self.basis.T.reshape(-1, *self._rest.shape).float()
        self._rough: HandleMotions | None = None
        self._absolute: Callable[[Tensor], Tensor]
        decoder = encoded.model.decoder
        if isinstance(decoder, HandleDecoder):
            self._absolute = HandleMotions(decoder, encoded.prepared, like).maps
            self._rough = HandleMotions(decoder, encoded.prepared, like.float())
        else:
            self._absolute = _point_maps(decoder, encoded.prepared, like)
        self._undo = inverse(self._absolute(self._rest))

    def __call__(self, q: Tensor) -> Tensor:
        """(c, 3, 4) rigid maps in the network's coordinates, the identity at q = 0, of the reduced latent (k_q,)."""
        return compose(self._absolute(self._latent(q)), self._undo)

    def with_slopes(self, q: Tensor) -> tuple[Tensor, Tensor]:
        """The maps, and their derivatives (k_q, c, 3, 4) by q.

        Those of handles are found in float32, for speed: both are then right to about 1e-6.
        """
        if self._rough is None:
            return self(q), torch.func.jacfwd(self)(q).movedim(-1, 0)
        found = self._rough.with_slopes(self._latent(q).float(), self._directions)
        maps, slopes = (compose(part.to(self._undo), self._undo) for part in found)
        return maps, slopes

    def _latent(self, q: Tensor) -> Tensor:
        return self._rest + (self.basis @ q).reshape(self._rest.shape)


class ControlledPoints:
    """Points that follow controls: x = X + r sum_c w_c (T_c(q) - 1) X, all in metres but X, the points in units of r.

    State and step (k_q,) dimensionless.

    Args:
        controls: from q to (c, 3, 4) maps.
        weights: (n, c) each row sums to one.
        unit_points: (n, 3) the points at rest in the network's coordinates.
        radius: r, metres.
        points: (n, 3) metres, the points at rest.
    """

    def __init__(self, controls: Controls, weights: Tensor, unit_points: Tensor, radius: float, points: Tensor) -> None:
        self.dim = controls.basis.shape[1]
        self.rest = torch.zeros(self.dim).to(points)
        self._controls = controls
        self._points = points
        homogeneous = torch.cat([unit_points, torch.ones_like(unit_points[:, :1])], dim=1)
        self._columns = radius * (weights.unsqueeze(-1) * homogeneous.unsqueeze(1)).flatten(1)
        self._still = torch.eye(3, 4).to(points)

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        return self._follow(self._controls(q))

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, k_q) metres, right to about 1e-6 of its largest number."""
        return self.with_jacobian(q)[1]

    def with_jacobian(self, q: Tensor, turn: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Positions (n, 3) as exact as the derivative, and the derivative (n, 3, k_q), turned by a rotation (3, 3) where given.

        The derivative is that of a few maps, spread over the points.
        """
        maps, slopes = self._controls.with_slopes(q)
        turned = slopes if turn is None else turn @ slopes
        flat = turned.permute(1, 3, 2, 0).reshape(self._columns.shape[1], -1)
        return self._follow(maps), (self._columns @ flat).reshape(-1, 3, self.dim)

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """The sum."""
        return q + step

    def _follow(self, maps: Tensor) -> Tensor:
        return self._points + self._columns @ (maps - self._still).transpose(-1, -2).reshape(-1, 3)


class LearnedMotion:
    """The internal motion in the object's frame, and the object's pose where it is free.

    State: pose (7) as in `RigidBody`, where free, then q (k_q,). Step: translation (3, metres) and rotation vector
    (3, radians) about the object's centre, where free, then the change of q.

    Args:
        inner: the internal motion.
        center: (3,) metres, in the object's frame: what the pose turns about.
        free: whether there is a pose.
    """

    def __init__(self, inner: ControlledPoints, center: Tensor, free: bool) -> None:
        self.inner = inner
        self.free = free
        self._center = center
        self._pose = 7 if free else 0
        self._twist = 6 if free else 0
        self.dim = self._twist + inner.dim
        self._body = RigidBody(center[None], center)
        self.rest = torch.cat([self._body.rest[: self._pose], inner.rest])
        self._last: tuple[Tensor, Tensor] | None = None

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        moved = self.inner.positions(q[self._pose :])
        return RigidBody(moved, self._center).positions(q[: self._pose]) if self.free else moved

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, dim), right to about 1e-6 of its largest number; the same tensor again for the same q."""
        if self._last is None or not torch.equal(self._last[0], q):
            self._last = q.clone(), self._jacobian(q)
        return self._last[1]

    def _jacobian(self, q: Tensor) -> Tensor:
        if not self.free:
            return self.inner.jacobian(q)
        moved, internal = self.inner.with_jacobian(q[7:], quaternion_matrix(q[3:7]))
        return torch.cat([RigidBody(moved, self._center).jacobian(q[:7]), internal], dim=-1)

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """The pose after the twist, and the sum for the rest."""
        internal = self.inner.retract(q[self._pose :], step[self._twist :])
        return torch.cat([self._body.retract(q[:7], step[:6]), internal]) if self.free else internal


def _point_maps(decoder: PointDecoder, found: Prepared, like: Tensor) -> Callable[[Tensor], Tensor]:
    """From a latent (K, F_token) to the maps (n, 3, 4), in the precision and place of `like`."""
    exact = copy.deepcopy(decoder).to(like).requires_grad_(False)
    apart = None if found.apart is None else found.apart.to(like)
    prepared = Prepared(found.features.to(like), found.anchors.to(like), None, found.tokens.to(like), apart)
    return lambda latent: exact.controls(prepared, latent[None, None])[0, 0]


def _check_mesh(vertices: Floats, faces: NDArray[np.integer]) -> None:
    problem = ""
    if len(faces) == 0:
        problem = "it has no faces"
    elif faces.min() < 0 or faces.max() >= len(vertices):
        problem = f"faces name vertices outside 0 to {len(vertices) - 1}"
    elif not np.isfinite(vertices[np.unique(faces)]).all():
        problem = "some vertices are not finite"
    else:
        a, b, c = np.moveaxis(vertices[faces], 1, 0)
        if not np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() > 0:
            problem = "its faces have no area"
    if problem:
        raise NeurokError(ErrorCode.RECONSTRUCTION_FAILED, "mesh", problem, "Give a triangle mesh in metres")
