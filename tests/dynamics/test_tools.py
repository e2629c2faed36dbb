"""Signed distances, path interpolation, and pushes that no gripper could make."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import trimesh
from scipy.spatial.transform import Rotation, Slerp

from neurok_ros.dynamics import ToolKind, ToolPath, ToolShape, checked_push, signed_distance
from neurok_ros.dynamics.tools import tool_surface
from neurok_ros.errors import ErrorCode, NeurokError

SHAPES = [
    ToolShape(ToolKind.BOX, (0.1, 0.06, 0.2)),
    ToolShape(ToolKind.SPHERE, (0.05,)),
    ToolShape(ToolKind.CYLINDER, (0.2, 0.04)),
    ToolShape(ToolKind.CAPSULE, (0.15, 0.04)),
    ToolShape(ToolKind.BOX, (0.1, 0.06, 0.2), opening=0.03),
    ToolShape(ToolKind.SPHERE, (0.05,), opening=0.03),
    ToolShape(ToolKind.CYLINDER, (0.2, 0.04), opening=0.03),
    ToolShape(ToolKind.CAPSULE, (0.15, 0.04), opening=0.03),
]


def name_of(shape: ToolShape) -> str:
    return shape.kind.value if shape.opening is None else f"two of {shape.kind.value}"


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_stepping_back_along_the_normal_reaches_the_surface(shape: ToolShape) -> None:
    points = 0.15 * torch.randn(500, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    distance, normal = signed_distance(shape, points)
    assert torch.allclose(normal.norm(dim=1), torch.ones(500, dtype=torch.float64))
    on_surface, _ = signed_distance(shape, points - distance[:, None] * normal)
    assert float(on_surface.abs().max()) < 1e-12
    assert bool((distance < 0.0).any())
    assert bool((distance > 0.0).any())


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_the_sign_says_whether_a_point_is_inside(shape: ToolShape) -> None:
    points = 0.1 * torch.randn(500, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x, y, z = points.numpy().T
    if shape.opening is not None:
        y = np.minimum(np.abs(y - shape.offset), np.abs(y + shape.offset))
    if shape.kind is ToolKind.BOX:
        inside = (np.abs(x) < 0.05) & (np.abs(y) < 0.03) & (np.abs(z) < 0.1)
    elif shape.kind is ToolKind.CAPSULE:
        inside = x**2 + y**2 + (np.abs(z) - 0.075).clip(min=0.0) ** 2 < 0.04**2
    elif shape.kind is ToolKind.SPHERE:
        inside = x**2 + y**2 + z**2 < 0.05**2
    else:
        inside = (x**2 + y**2 < 0.04**2) & (np.abs(z) < 0.1)
    assert np.array_equal((signed_distance(shape, points)[0] < 0.0).numpy(), inside)


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_the_centre_has_a_finite_normal(shape: ToolShape) -> None:
    distance, normal = signed_distance(shape, torch.tensor([[0.0, shape.offset, 0.0]], dtype=torch.float64))
    assert float(distance) == pytest.approx(-min(shape.half_extents))
    assert torch.allclose(normal.norm(dim=1), torch.ones(1, dtype=torch.float64))


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_no_point_of_a_tool_is_beyond_its_bounding_radius_and_one_touches_it(shape: ToolShape) -> None:
    directions = torch.randn(4000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    directions /= directions.norm(dim=1, keepdim=True)
    at = shape.bounding_radius * directions
    assert float(signed_distance(shape, at * (1.0 + 1e-9))[0].min()) > 0.0
    assert float(signed_distance(shape, at * 0.97)[0].min()) < 0.0  # 4000 directions come near to every corner


def test_fingers_stand_as_far_apart_as_the_gripper_is_open() -> None:
    for shape in SHAPES[4:]:
        assert shape.opening is not None
        y = torch.tensor([0.0, 0.4999, 0.5001, -0.5001], dtype=torch.float64) * shape.opening
        distance, normal = signed_distance(shape, torch.stack([0 * y, y, 0 * y], dim=1))
        assert float(distance[0]) == pytest.approx(0.5 * shape.opening)
        assert (distance < 0.0).tolist() == [False, False, True, True]
        assert torch.allclose(normal[2:, 1], torch.tensor([-1.0, 1.0], dtype=torch.float64))  # into the gap


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_what_is_drawn_is_what_is_felt(shape: ToolShape) -> None:
    vertices, faces = tool_surface(shape)
    distance, _ = signed_distance(shape, torch.from_numpy(vertices))
    assert float(distance.abs().max()) < 1e-9
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    assert mesh.is_watertight
    assert mesh.volume > 0.0
    assert np.allclose(mesh.bounds[1], [shape.half_extents[0], shape.offset + shape.half_extents[1], shape.half_extents[2]])


def test_poses_are_linear_in_position_and_spherical_linear_in_rotation() -> None:
    rotations = Rotation.from_euler("xyz", [[0.1, 0.2, 0.3], [1.0, -0.5, 2.0], [0.0, 0.0, 3.1]])
    path = ToolPath(np.array([0.5, 1.0, 2.0]), np.array([[0.0, 0, 0], [1.0, 0, 0], [1.0, 2.0, 0]]), rotations.as_quat())
    slerp = Slerp(path.times, rotations)
    for time in (0.5, 0.7, 1.0, 1.9, 2.0):
        position, quaternion = path.pose(time)
        expected = [np.interp(time, path.times, path.positions[:, k]) for k in range(3)]
        assert np.allclose(position, expected)
        assert (Rotation.from_quat(quaternion) * slerp(time).inv()).magnitude() < 1e-7
    assert np.allclose(path.pose(0.0)[0], path.positions[0])  # rests before
    assert np.allclose(path.pose(9.0)[0], path.positions[-1])  # and after
    assert path.speed_between(2.0, 3.0, 0.1) == 0.0
    assert path.speed_between(0.6, 0.7, 0.0) == pytest.approx(2.0)


def good() -> dict[str, object]:
    return {
        "times": np.array([0.0, 1.0]),
        "positions": np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0]]),
        "quaternions": np.array([[0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, -1.0]]),
    }


def test_quaternions_are_normalised() -> None:
    assert np.allclose(np.linalg.norm(checked_push(SHAPES[0], ToolPath(**good())).quaternions, axis=1), 1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"times": np.array([0.0, 0.0])}, r"push.waypoints\[1\].time"),
        ({"times": np.array([1.0, 0.5])}, r"push.waypoints\[1\].time"),
        ({"times": np.array([-1.0, 0.5])}, r"push.waypoints\[0\].time"),
        ({"times": np.array([0.0, np.nan])}, r"push.waypoints\[1\].time"),
        ({"times": np.array([0.0, 1.0, 2.0])}, "push.waypoints"),
        ({"times": np.zeros(0), "positions": np.zeros((0, 3)), "quaternions": np.zeros((0, 4))}, "push.waypoints"),
        ({"positions": np.array([[0.0, 0.0, 0.0], [np.inf, 0.0, 0.0]])}, r"push.waypoints\[1\].position"),
        ({"positions": np.array([[0.0, 0.0, 0.0], [100.0, 0.0, 0.0]])}, r"push.waypoints\[1\]"),
        ({"quaternions": np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])}, r"push.waypoints\[0\].orientation"),
        ({"quaternions": np.full((2, 4), np.nan)}, r"push.waypoints\[0\].orientation"),
    ],
)
def test_impossible_paths_are_refused_by_name(change: dict[str, object], field: str) -> None:
    with pytest.raises(NeurokError, match=field) as caught:
        checked_push(SHAPES[1], ToolPath(**{**good(), **change}))  # type: ignore[arg-type]
    assert caught.value.code is ErrorCode.INVALID_PUSH


@pytest.mark.parametrize(
    "shape",
    [
        ToolShape(ToolKind.BOX, (0.1, 0.1)),
        ToolShape(ToolKind.SPHERE, ()),
        ToolShape(ToolKind.SPHERE, (0.0,)),
        ToolShape(ToolKind.CYLINDER, (0.1, -0.1)),
        ToolShape(ToolKind.CYLINDER, (0.1, float("nan"))),
        ToolShape(ToolKind.CAPSULE, (0.1,)),
    ],
)
def test_impossible_tools_are_refused(shape: ToolShape) -> None:
    with pytest.raises(NeurokError, match=r"push\.tool\.dimensions") as caught:
        checked_push(shape, ToolPath(**good()))  # type: ignore[arg-type]
    assert caught.value.code is ErrorCode.INVALID_PUSH


@pytest.mark.parametrize("opening", [0.0, -0.01, float("nan"), float("inf")])
def test_a_gripper_that_is_not_open_is_refused(opening: float) -> None:
    with pytest.raises(NeurokError, match=r"push\.opening") as caught:
        checked_push(ToolShape(ToolKind.SPHERE, (0.05,), opening), ToolPath(**good()))  # type: ignore[arg-type]
    assert caught.value.code is ErrorCode.INVALID_PUSH
