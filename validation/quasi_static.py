"""Pushing so slowly that inertia does not count: a block whose pushed point is carried along by the pusher.

Of all turns about the pushed point the block makes the one in which friction on its support takes the least power (Peshkin and
Sanderson 1989), which is the normality of the limit surface (Goyal, Ruina and Papadopoulos 1991) put as a minimum. Its
ellipsoidal approximation (Howe and Cutkosky 1996) has a solution in closed form (Lynch, Maekawa and Tanie 1992).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

from validation.case import Floats
from validation.systems import GRAVITY

PRESSURE_PASSES = 8
"""Fixed-point iterations of the pressure under a push above the ground; each brings its error down by about height / length."""


@dataclass(frozen=True)
class PushedBlock:
    """A block on feet of equal stiffness, pushed at one point that sticks to the pusher."""

    feet: Floats
    """(k, 2) metres from the centre of mass, at angle zero."""
    point: Floats
    """(2,) metres from the centre of mass, at angle zero: where it is pushed ..."""
    height: float
    """... and how high above the support, metres."""
    mass: float
    """kg."""
    friction: float
    """Coulomb coefficient on the support."""

    def turning(self, angle: float, velocity: Floats) -> tuple[float, Floats]:
        """Angular velocity in rad/s at an angle, the point carried along at a velocity (2,) m/s; the pusher's force (2,) N."""
        feet, point = self.feet @ _rotation(angle).T, _rotation(angle) @ self.point
        arms = np.stack([-(feet - point)[:, 1], (feet - point)[:, 0]], axis=1)
        force, omega = np.zeros(2), 0.0
        reach = 10.0 * float(np.linalg.norm(velocity)) / float(np.linalg.norm(self.feet, axis=1).max())
        for _ in range(PRESSURE_PASSES):
            load = self._pressure(feet, force)

            def power(turn: float, load: Floats = load) -> float:
                speeds: Floats = np.linalg.norm(velocity + turn * arms, axis=1)
                return float(np.dot(load, speeds))

            found: Any = minimize_scalar(power, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-9})
            omega = float(found.x)
            slip = velocity + omega * arms
            force = self.friction * (load / np.linalg.norm(slip, axis=1)) @ slip
        return omega, force

    def ellipsoid_turning(self, angle: float, velocity: Floats) -> float:
        """rad/s by the ellipsoidal limit surface: the same, approximately, in closed form."""
        load = self._pressure(self.feet, np.zeros(2))
        characteristic = float(load @ np.linalg.norm(self.feet, axis=1)) / float(load.sum())
        x, y = _rotation(angle) @ self.point
        return float((x * velocity[1] - y * velocity[0]) / (characteristic**2 + x**2 + y**2))

    def poses(self, times: Floats, start: Floats, velocity: Floats) -> tuple[Floats, Floats]:
        """Centres (t, 2) in metres and angles (t,) from a centre (2,) at angle zero, the point carried along at `velocity`."""

        def rate(_: float, y: Floats) -> list[float]:
            return [self.turning(y[0], velocity)[0]]

        found: Any = solve_ivp(rate, (0.0, times[-1]), [0.0], "RK45", times, rtol=1e-6, atol=1e-8)
        angles: Floats = found.y[0]
        carried = start + self.point + times[:, None] * velocity
        centres = carried - np.stack([_rotation(angle) @ self.point for angle in angles])
        return centres, angles

    def ellipsoid_angle(self, duration: float, velocity: Floats) -> float:
        """Radians turned after a push of `duration` seconds, by the ellipsoidal limit surface."""

        def rate(_: float, y: Floats) -> list[float]:
            return [self.ellipsoid_turning(y[0], velocity)]

        found: Any = solve_ivp(rate, (0.0, duration), [0.0], "RK45", rtol=1e-6, atol=1e-8)
        return float(found.y[0, -1])

    def _pressure(self, feet: Floats, force: Floats) -> Floats:
        """(k,) N under feet of equal stiffness, which are pressed in linearly over the ground: it balances the weight, and the
        pusher's force with its lever arm."""
        shape = np.column_stack([np.ones(len(feet)), feet])
        balance = np.array([self.mass * GRAVITY, *(force * self.height)])
        load: Floats = shape @ np.linalg.solve(shape.T @ shape, balance)
        return load


def _rotation(angle: float) -> Floats:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
