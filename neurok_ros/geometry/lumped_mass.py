"""Masses at points that stand for a solid: the same mass, centre of mass and inertia tensor as the solid itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neurok_ros.geometry.solids import SolidMoments

Floats = NDArray[np.float64]

_LEAST_FACTOR = 0.05
"""No point may lose more than all but this part of its volume when the moments are matched."""


def match_moments(points: Floats, volumes: Floats, solid: SolidMoments) -> Floats:
    """Change the volumes at points as little as possible so that they have the moments of the solid.

    The least relative change (in the volume-weighted mean square) multiplies each volume by a polynomial of the position: of
    second degree for all ten moments, volume, centre and inertia. Where that would take nearly all from a point, as with only
    two points across a thin solid, whose inertia no positive masses there can have, volume and centre are matched alone.

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
    monomials = np.hstack([np.ones((len(x), 1)), x, x[:, i] * x[:, j]])
    moments = np.concatenate([[1.0, 0.0, 0.0, 0.0], solid.second[i, j] / (solid.volume * scale**2)])
    share = volumes / volumes.sum()
    for count in (10, 4):
        basis = monomials[:, :count]
        wanted = moments[:count] - basis.T @ share
        change, *_ = np.linalg.lstsq(basis.T @ (share[:, None] * basis), wanted, rcond=1e-12)
        factor = 1 + basis @ change
        if factor.min() > _LEAST_FACTOR:
            share = share * factor
            break
    return np.asarray(share * (solid.volume / share.sum()))


def inertia_tensor(points: Floats, masses: Floats) -> Floats:
    """(3, 3) kg m^2, the inertia tensor of point masses (n,) kg at points (n, 3) metres about their centre of mass."""
    arm = points - masses @ points / masses.sum()
    second = (masses[:, None] * arm).T @ arm
    return np.asarray(np.trace(second) * np.eye(3) - second)
