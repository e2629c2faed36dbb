"""Bodies that no scan gives: fewer coordinates than they say, masses without effect, no extent. Asked of the dynamics itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from neurok_ros.dynamics import Body, Conditions, Material, ToolKind, ToolPath, ToolShape, simulate
from neurok_ros.errors import NeurokError
from validation.judge import Evidence, verdict
from validation.stress_objects import still
from validation.stress_trial import Run

SECONDS = 0.8
FRAME_RATE = 60
GRAVITY = (0.0, 0.0, -9.81)
SUPPORT = (0.0, 0.0, 1.0, 0.0)
FINGER = ToolShape(ToolKind.SPHERE, (0.02,))


class LinearStates:
    """Points that move along given fields, one coordinate each.

    Args:
        points: (n, 3) metres.
        fields: (n, 3, r).
    """

    def __init__(self, points: Tensor, fields: Tensor) -> None:
        self._points, self._fields = points, fields
        self.dim = fields.shape[2]
        self.rest = points.new_zeros(self.dim)

    def positions(self, q: Tensor) -> Tensor:
        """(n, 3) metres."""
        return self._points + self._fields @ q

    def jacobian(self, q: Tensor) -> Tensor:
        """(n, 3, r), the same everywhere."""
        return self._fields

    def retract(self, q: Tensor, step: Tensor) -> Tensor:
        """The sum."""
        return q + step


@dataclass(frozen=True, eq=False)
class BareTrial:
    """A question to the dynamics."""

    group: str
    name: str
    body: Callable[[], Body]

    def run(self) -> Run:
        """Pushed by a finger along x over the support, judged."""
        begin = time.monotonic()
        path = _path()
        times = np.arange(round(SECONDS * FRAME_RATE) + 1) / FRAME_RATE
        conditions = Conditions(GRAVITY, SUPPORT, FINGER, path)
        try:
            body = self.body()
            frames = list(simulate(body, conditions, times.tolist()))
        except NeurokError as error:
            return Run(self.group, self.name, (f"{error.code.name}: {error}",), (), time.monotonic() - begin)
        except Exception as error:
            return Run(self.group, self.name, (), (f"raised {type(error).__name__}: {error}",), time.monotonic() - begin)
        said = [f"{name}" for name in ("diverged",) if frames[-1].diverged]
        said += ["not_converged"] if not all(frame.converged for frame in frames) else []
        positions = np.stack([frame.positions.numpy() for frame in frames])
        seen = Evidence(
            times=np.array([frame.time for frame in frames]),
            vertices=positions,
            nodes=positions,
            masses=body.masses.numpy(),
            gravity=np.array(GRAVITY),
            support=np.array(SUPPORT),
            tool=FINGER,
            tool_poses=np.stack([frame.tool_pose for frame in frames if frame.tool_pose is not None]),
            tool_speed=float(path.segment_speeds(FINGER.bounding_radius).max()),
            tool_work=np.array([frame.tool_work for frame in frames]),
        )
        return Run(self.group, self.name, tuple(said), tuple(verdict(seen)), time.monotonic() - begin)


def _path() -> ToolPath:
    return still(np.array([0.0, 0.5]), np.array([[-0.15, 0.0, 0.03], [0.05, 0.0, 0.03]]))


def _cube() -> Tensor:
    """(27, 3) a grid in a cube of 0.1 m on the support."""
    line = torch.linspace(-0.05, 0.05, 3, dtype=torch.float64)
    return torch.cartesian_prod(line, line, line + 0.05)


def _translations(points: Tensor) -> Tensor:
    return torch.eye(3, dtype=torch.float64).expand(len(points), 3, 3).clone()


def _affine(points: Tensor) -> Tensor:
    """(n, 3, 12) every affine field."""
    monomials = torch.cat([torch.ones_like(points[:, :1]), points], dim=1)
    return torch.einsum("nm,ij->nimj", monomials, torch.eye(3, dtype=torch.float64)).reshape(len(points), 3, 12)


def _body(points: Tensor, fields: Tensor, masses: Tensor | None = None) -> Body:
    masses = torch.full((len(points),), 1.0 / len(points), dtype=torch.float64) if masses is None else masses
    areas = torch.full((len(points),), 1e-3, dtype=torch.float64)
    return Body(LinearStates(points, fields), masses, torch.arange(len(points)), areas, Material(friction=0.4))


def _redundant() -> Body:
    fields = _translations(_cube())
    return _body(_cube(), torch.cat([fields, fields, fields[:, :, :1]], dim=2))


def _nearly_redundant() -> Body:
    fields = _translations(_cube())
    return _body(_cube(), torch.cat([fields, fields + 1e-9 * _affine(_cube())[:, :, 3:6]], dim=2))


def _without_effect() -> Body:
    fields = _translations(_cube())
    return _body(_cube(), torch.cat([fields, torch.zeros_like(fields)], dim=2))


def _line() -> Body:
    points = torch.zeros(9, 3, dtype=torch.float64)
    points[:, 1] = torch.linspace(-0.05, 0.05, 9, dtype=torch.float64)
    points[:, 2] = 0.03
    return _body(points, _affine(points))


def _point() -> Body:
    points = torch.tensor([[0.0, 0.0, 0.03]], dtype=torch.float64).expand(5, 3).clone()
    return _body(points, _affine(points))


def _massless_half() -> Body:
    points = _cube()
    masses = torch.where(points[:, 2] > 0.05, 0.0, 1.0 / 18.0).double()
    return _body(points, _translations(points), masses)


def _massless_coordinate() -> Body:
    """A coordinate that moves particles without mass alone."""
    points = _cube()
    top = points[:, 2] > 0.09
    own = torch.zeros(len(points), 3, 1, dtype=torch.float64)
    own[top, 0, 0] = 1.0
    return _body(points, torch.cat([_translations(points), own], dim=2), torch.where(top, 0.0, 1.0 / 18.0).double())


def _massless() -> Body:
    return _body(_cube(), _translations(_cube()), torch.zeros(27, dtype=torch.float64))


def _unlike_scales() -> Body:
    fields = _translations(_cube())
    return _body(_cube(), fields * torch.tensor([1e-6, 1.0, 1e6], dtype=torch.float64))


def _few_heavy() -> Body:
    masses = torch.full((27,), 1e-9, dtype=torch.float64)
    masses[0] = 1.0
    return _body(_cube(), _translations(_cube()), masses)


BARE_TRIALS = [
    BareTrial("degenerate mass matrix", name, body)
    for name, body in (
        ("coordinates that say the same twice", _redundant),
        ("nearly the same twice", _nearly_redundant),
        ("coordinates without effect", _without_effect),
        ("points on a line, affine", _line),
        ("one point, affine", _point),
        ("half of the particles without mass", _massless_half),
        ("a coordinate without mass", _massless_coordinate),
        ("no mass at all", _massless),
        ("coordinates of unlike scale", _unlike_scales),
        ("all the mass in one particle", _few_heavy),
    )
]
