"""What cannot be is said: a hold that gives way, a tool that is in the object from the start."""

from __future__ import annotations

import numpy as np
import pytest
from meshes import box, mesh_of

from neurok_ros.dynamics.tools import ToolKind, ToolPath, ToolShape
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.prediction import predict, prepare
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictionOptions, Push
from neurok_ros.reconstruction.types import ReconstructedMesh

WOOD = PhysicalProperties(density=600.0, youngs_modulus=1.0e10, friction=0.4)
BASE_HELD = PredictionOptions(horizon=0.3, fixation=Fixation.BASE)


def ball_along_x(start: float, end: float, height: float, radius: float = 0.01) -> Push:
    """In 0.3 s."""
    ends = np.array([[start, 0.0, height], [end, 0.0, height]])
    path = ToolPath(np.array([0.0, 0.3]), ends, np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)))
    return Push(ToolShape(ToolKind.SPHERE, (radius,)), path)


@pytest.mark.parametrize(("end", "gave_way"), [(-0.0405, False), (-0.033, True)])
def test_a_stiff_object_that_is_pushed_off_its_hold_is_told_of(block: ReconstructedMesh, end: float, gave_way: bool) -> None:
    """The block's face is at x = -3 cm: a ball of 1 cm stops short of it, or is sent 7 mm farther than it can go."""
    motion = predict(prepare(block, WOOD, BASE_HELD), ball_along_x(-0.05, end, 0.07), BASE_HELD)
    assert motion.flags["hold_gave_way"] is gave_way
    lowest = block.vertices[:, 2] < 0.005
    moved = np.linalg.norm(motion.vertices[:, lowest] - block.vertices[lowest], axis=2).max()
    assert bool(moved > 0.5e-3) is gave_way


def test_a_tool_in_the_middle_of_a_tiny_object_is_refused() -> None:
    """A cube of 6 mm around a ball of 2 mm: nowhere 10 mm deep, and yet all the way inside."""
    cube = mesh_of(box((0.006, 0.006, 0.006)))
    options = PredictionOptions(horizon=0.1)
    with pytest.raises(NeurokError, match="inside the object") as caught:
        predict(prepare(cube, WOOD, options), ball_along_x(-0.001, 0.02, 0.003, radius=0.0028), options)
    assert caught.value.code is ErrorCode.INVALID_PUSH
