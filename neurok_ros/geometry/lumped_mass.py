"""Masses at points that stand for a solid: the same mass, centre of mass and inertia tensor as the solid itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neurok_ros.geometry.solids import SolidMoments

Floats = NDArray[np.float64]

_ITERATIONS = 30
_STEP_LENGTHS = 0.5 ** np.arange(8)
"""Newton steps are halved until the (convex) dual falls enough."""
_EXACT = 1e-10
"""Of the volume: how well matched moments match, in lengths of the solid."""


def match_moments(points: Floats, volumes: Floats, solid: SolidMoments) -> Floats:
    """Change the volumes at points as little as possible so that they have the moments of the solid.

    The least change in relative entropy multiplies each volume by the exponential of a polynomial of the position, which
    keeps it positive: of second degree for all ten moments, volume, centre and inertia. Where no positive volumes at these
    points can have that inertia, as with only two points across a solid, volume and centre are matched alone.

    Args:
        points: (n, 3) metres.
        volumes: (n,) m^3, what each point stands for before the change, positive.
        solid: what the sums must be.

    Returns:
        (n,) m^3, positive, with the solid's volume exactly.
    """
    scale = np.sqrt(np.trace(solid.second) / solid.volume)
    x = (points - solid.center) / scale
    i, j = np.triu_indices(3)
    monomials = np.hstack([x, x[:, i] * x[:, j]])
    moments = np.concatenate([np.zeros(3), solid.second[i, j] / (solid.volume * scale**2)])
    share = volumes / volumes.sum()
    for count in (9, 3):
        matched = _least_entropy_change(share, monomials[:, :count], moments[:count])
        if np.abs(matched @ monomials[:, :count] - moments[:count]).max() < _EXACT:
            return np.asarray(matched * solid.volume)
    return np.asarray(share * solid.volume)


def _least_entropy_change(share: Floats, monomials: Floats, moments: Floats) -> Floats:
    """Shares (n,) that sum to one and, where positive ones can, have the moments (k,) of monomials (n, k): Newton's method."""
    exponent = np.zeros(len(moments))

    def tilted(exponent: Floats) -> tuple[Floats, float]:
        power = (monomials - moments) @ exponent
        weighted = share * np.exp(power - power.max())
        return weighted / weighted.sum(), float(np.log(weighted.sum()) + power.max())

    current, value = tilted(exponent)
    for _ in range(_ITERATIONS):
        off = current @ monomials - moments
        centered = monomials - current @ monomials
        step, *_ = np.linalg.lstsq((current[:, None] * centered).T @ centered, -off, rcond=1e-12)
        if not np.isfinite(step).all() or np.abs(off).max() < 0.01 * _EXACT:
            break
        for length in _STEP_LENGTHS:
            shares, new = tilted(exponent + length * step)
            if new <= value + 1e-4 * length * float(off @ step):
                break
        exponent, current, value = exponent + length * step, shares, new
    return current


def inertia_tensor(points: Floats, masses: Floats) -> Floats:
    """(3, 3) kg m^2, the inertia tensor of point masses (n,) kg at points (n, 3) metres about their centre of mass."""
    arm = points - masses @ points / masses.sum()
    second = (masses[:, None] * arm).T @ arm
    return np.asarray(np.trace(second) * np.eye(3) - second)
