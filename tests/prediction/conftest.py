from __future__ import annotations

import pytest
from meshes import box, mesh_of

from neurok_ros.reconstruction.types import ReconstructedMesh


@pytest.fixture(scope="session")
def block() -> ReconstructedMesh:
    """6 cm x 6 cm x 9 cm."""
    return mesh_of(box((0.06, 0.06, 0.09)))


@pytest.fixture(scope="session")
def low_block() -> ReconstructedMesh:
    """8 cm x 8 cm x 4 cm: slides rather than tips."""
    return mesh_of(box((0.08, 0.08, 0.04)))
