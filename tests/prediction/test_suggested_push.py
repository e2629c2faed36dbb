from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from neurok_ros.dynamics.tools import checked_push, signed_distance
from neurok_ros.geometry import sample_surface
from neurok_ros.prediction.suggested_push import suggest_push
from neurok_ros.reconstruction.types import ReconstructedMesh


@pytest.mark.parametrize("direction", [None, (1.0, 0.2, 0.0), (0.0, -1.0, 0.5)])
def test_it_starts_clear_touches_and_then_meets_the_object(
    block: ReconstructedMesh, direction: tuple[float, float, float] | None
) -> None:
    """The ball is 5 cm away, touches, and then stands where the resting block is.

    Tolerances for the surface's samples (4 mm apart) and, along a diagonal, for a touch that is off the ball's front.
    """
    push = suggest_push(block, depth=1 / 3, direction=None if direction is None else np.array(direction))
    checked_push(push.tool, push.path)
    surface = sample_surface(block.vertices, block.faces, 2000).points
    distance = [
        float(signed_distance(push.tool, torch.from_numpy(surface - position))[0].min()) for position in push.path.positions
    ]
    assert distance[0] > 0.045
    assert -1e-3 < distance[1] < 6e-3
    assert distance[2] < -1e-3
    travel = push.path.positions[2] - push.path.positions[1]
    extent = np.ptp(block.vertices @ travel / np.linalg.norm(travel))
    assert np.linalg.norm(travel) == pytest.approx(extent / 3, rel=0.05)
    assert np.ptp(push.path.positions[:, 2]) < 1e-12


def test_it_pushes_where_the_object_is_thinnest(block: ReconstructedMesh) -> None:
    thin = replace(block, vertices=block.vertices * [1.0, 0.3, 1.0])
    path = suggest_push(thin).path.positions
    assert abs(path[2] - path[0])[1] > 10 * abs(path[2] - path[0])[0]


def test_it_touches_the_side_that_was_seen(block: ReconstructedMesh) -> None:
    seen = replace(block, observed=block.vertices @ [0.6, -0.8, 0.0] > 0.0)
    path = suggest_push(seen).path.positions
    direction = (path[2] - path[1]) / np.linalg.norm(path[2] - path[1])
    assert direction @ [0.6, -0.8, 0.0] < -0.98
