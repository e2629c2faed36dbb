"""The colours that mean the same thing in every picture, film and GLB."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from neurok_ros.reconstruction.types import Floats, ReconstructedMesh

Color = tuple[int, int, int]

BACKGROUND: Color = (248, 248, 246)
INK: Color = (38, 44, 52)
FAINT_INK: Color = (120, 126, 134)
GRID: Color = (176, 180, 184)
TOOL: Color = (240, 130, 30)
PATH: Color = (150, 84, 24)
FORCE: Color = (200, 30, 60)
OBJECT: Color = (150, 172, 186)
GUESSED: Color = (150, 105, 225)
GUESSED_SHARE = 0.6
"""How much of a guessed vertex's colour is the tint."""

_DISPLACEMENT = np.array([[226, 232, 234], [150, 205, 208], [60, 150, 190], [44, 84, 160], [52, 28, 104]], dtype=np.float64)


def surface_colors(mesh: ReconstructedMesh) -> NDArray[np.uint8]:
    """(n, 3) red, green, blue: the scanned colours, or one calm colour, tinted where the surface was guessed."""
    base = np.tile(np.array(OBJECT, dtype=np.float64), (len(mesh.vertices), 1))
    if mesh.colors is not None:
        base = mesh.colors.astype(np.float64)
    share = np.where(mesh.observed, 0.0, GUESSED_SHARE)[:, None]
    return np.asarray(np.rint((1 - share) * base + share * np.array(GUESSED)), dtype=np.uint8)


def displacement_colors(displacement: Floats, largest: float) -> NDArray[np.uint8]:
    """(n, 3) red, green, blue of displacements (n,) from 0 to `largest`, both in metres; pale is still, dark has moved."""
    share = np.clip(displacement / max(largest, 1e-12), 0.0, 1.0)
    stops = np.linspace(0.0, 1.0, len(_DISPLACEMENT))
    colors = np.stack([np.interp(share, stops, _DISPLACEMENT[:, c]) for c in range(3)], axis=-1)
    return np.asarray(np.rint(colors), dtype=np.uint8)
