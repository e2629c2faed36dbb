"""What a state could do next without mechanics: the baselines that Lagrangian dynamics is compared with.

All of them move the same coordinates. Where a model knows nothing of tools (constant velocity, first order), contact is given to
it: a state that would be inside the tool or below the support is put out by the smallest change of coordinates, and the
velocity is what comes of it, so that a pushed door is carried along and keeps its speed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from neurok_ros.dynamics import Body, ToolPath, ToolShape, signed_distance
from neurok_ros.dynamics.energies import NeoHookean
from neurok_ros.dynamics.tools import rotation_matrix
from validation.case import Floats

STEP = 1.0 / 60.0
"""Seconds."""
CONTACT_PASSES = 30
CONTACT_TOLERANCE = 1e-5
"""Metres."""
GRAVITY = 9.81


@dataclass(frozen=True, eq=False)
class World:
    """What moves, in coordinates z (r,) of its state space, and what it can touch."""

    body: Body
    basis: Tensor
    """(dim, r): q = rest + basis z; columns span the directions that are free to move."""
    tool: ToolShape | None
    support: bool
    """Whether there is one, at z = 0."""

    def state(self, z: Tensor) -> Tensor:
        """(s,)."""
        return self.body.kinematics.rest + self.basis @ z

    def potential(self, z: Tensor) -> Tensor:
        """J: gravity and strain."""
        body = self.body
        x = body.kinematics.positions(self.state(z))
        value = GRAVITY * torch.dot(body.masses, x[:, 2])
        if body.strain is not None:
            elastic = NeoHookean(body.material.shear_modulus, body.material.lame_lambda)
            density = elastic.value_and_stress(body.strain.deformation_gradients(x).reshape(-1, 9))[0]
            value = value + torch.dot(density, body.strain.volume)
        return value

    def slope(self, z: Tensor) -> Tensor:
        """(r,) the gradient of the potential."""
        found: Tensor = torch.autograd.functional.jacobian(self.potential, z)  # type: ignore[no-untyped-call]
        return found

    def curvature(self, z: Tensor) -> Tensor:
        """(r, r) its Hessian."""
        found: Tensor = torch.autograd.functional.hessian(self.potential, z)  # type: ignore[no-untyped-call]
        return found

    def put_out(self, z: Tensor, position: Floats, quaternion: Floats) -> Tensor:
        """The state moved by least squares, one deepest particle after another, until none is inside the tool or the support."""
        contact = self.body.contact
        if not len(contact):
            return z
        origin, turn = z.new_tensor(position), z.new_tensor(rotation_matrix(quaternion))
        for _ in range(CONTACT_PASSES):
            x = self.body.kinematics.positions(self.state(z))[contact]
            gaps, normals = [], []
            if self.tool is not None:
                distance, normal = signed_distance(self.tool, (x - origin) @ turn)
                gaps, normals = [distance], [normal @ turn.T]
            if self.support:
                gaps.append(x[:, 2])
                normals.append(torch.eye(3, dtype=x.dtype)[2].expand_as(x))
            gap, normal = torch.cat(gaps), torch.cat(normals)
            deepest = int(gap.argmin())
            if float(gap[deepest]) > -CONTACT_TOLERANCE:
                break
            jacobian = self.body.kinematics.jacobian(self.state(z))[contact[deepest % len(contact)]] @ self.basis
            row = normal[deepest] @ jacobian
            z = z - gap[deepest] / (row @ row + 1e-12) * row
        return z


class LatentModel(Protocol):
    """A motion from where it starts."""

    def rollout(self, world: World, path: ToolPath, start: Tensor, frames: int) -> Tensor:
        """(frames, r) coordinates at steps of `STEP`, from rest at the start (r,)."""


class ConstantVelocity:
    """Goes on as it went."""

    def rollout(self, world: World, path: ToolPath, start: Tensor, frames: int) -> Tensor:
        """See `LatentModel`."""
        states = [start, start]
        for frame in range(1, frames):
            states.append(world.put_out(2.0 * states[-1] - states[-2], *path.pose(frame * STEP)))
        return torch.stack(states[1:])


@dataclass(frozen=True)
class FirstOrder:
    """c z' = -grad V, by linearly implicit steps."""

    damping: float
    """c."""

    def rollout(self, world: World, path: ToolPath, start: Tensor, frames: int) -> Tensor:
        """See `LatentModel`."""
        states, hessian = [start], None
        for frame in range(1, frames):
            if hessian is None or len(start) <= 8:
                values, vectors = torch.linalg.eigh(world.curvature(states[-1]))
                hessian = vectors * values.clamp(min=0.0) @ vectors.T
            matrix = self.damping / STEP * torch.eye(len(start), dtype=start.dtype) + hessian
            step = torch.linalg.solve(matrix, -world.slope(states[-1]))
            states.append(world.put_out(states[-1] + step, *path.pose(frame * STEP)))
        return torch.stack(states)


class LearnedStep:
    """A network from the last two states and the tool's pose to the next state, as a change of the constant velocity.

    Args:
        motions: (frames, r) coordinates of the motions to learn from.
        paths: of the tool in each.
        noise: standard deviation of what is added to the states, as part of theirs: a network fed with its own answers sees
            states that no motion has.
        steps: of Adam, each over all the data.
        seed: of the network and the noise.
    """

    def __init__(self, motions: Sequence[Tensor], paths: Sequence[ToolPath], noise: float, steps: int, seed: int = 0) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._fit(motions, paths, noise, steps)

    def _fit(self, motions: Sequence[Tensor], paths: Sequence[ToolPath], noise: float, steps: int) -> None:
        starts = [torch.cat([motion[:1], motion]) for motion in motions]
        before, now, after = (torch.cat([m[k : len(m) - 2 + k] for m in starts]) for k in range(3))
        tools = torch.cat([_tool_features(path, len(motion)) for motion, path in zip(motions, paths, strict=True)])
        self._mean, self._scale = now.mean(0), now.std(0) + 1e-9
        self._rate = (now - before).std(0) + 1e-9
        self._change = (after - 2.0 * now + before).std(0) + 1e-9
        self._tool_mean, self._tool_scale = tools.mean(0), tools.std(0) + 1e-3
        inputs = self._features(now, before, tools).shape[1]
        self._net = nn.Sequential(
            nn.Linear(inputs, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, now.shape[1])
        ).double()
        optimizer = torch.optim.Adam(self._net.parameters(), lr=2e-3)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
        for _ in range(steps):
            shift = noise * self._scale * torch.randn_like(now)
            kick = noise * self._rate * torch.randn_like(now)
            noisy, noisy_before = now + shift, before + shift - kick
            wanted = (after - 2.0 * noisy + noisy_before) / self._change
            found = self._net(self._features(noisy, noisy_before, tools))
            loss = ((found - wanted) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()

    def _features(self, now: Tensor, before: Tensor, tool: Tensor) -> Tensor:
        return torch.cat(
            [(now - self._mean) / self._scale, (now - before) / self._rate, (tool - self._tool_mean) / self._tool_scale], dim=1
        )

    @torch.no_grad()
    def rollout(self, world: World, path: ToolPath, start: Tensor, frames: int) -> Tensor:
        """See `LatentModel`."""
        tools, states = _tool_features(path, frames), [start, start]
        for frame in range(1, frames):
            now, before = states[-1], states[-2]
            change = self._net(self._features(now[None], before[None], tools[frame - 1 : frame]))[0] * self._change
            states.append(2.0 * now - before + change)
        return torch.stack(states[1:])


def _tool_features(path: ToolPath, frames: int) -> Tensor:
    """(frames - 1, 6) where the tool is at the end of each step, and by how much it moves in it."""
    places = np.stack([path.pose(frame * STEP)[0] for frame in range(frames)])
    return torch.from_numpy(np.hstack([places[1:], np.diff(places, axis=0)]))


def best_of(models: Sequence[LatentModel], error: Callable[[LatentModel], float]) -> LatentModel:
    """The model with the least error."""
    return min(models, key=error)
