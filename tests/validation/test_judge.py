"""The judge of the stress test finds what was planted, and nothing in what is right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import trimesh

from neurok_ros.dynamics import ToolKind, ToolShape
from neurok_ros.parameterization import StrainSites
from neurok_ros.prediction.types import PhysicalProperties, PredictionOptions
from validation.judge import Evidence, verdict
from validation.stress import summed
from validation.stress_objects import box, scanned, sideways
from validation.stress_trial import Run, Trial

GRAVITY = np.array([0.0, 0.0, -9.81])
CUBE = 0.1 * np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (0.0, 1.0)])
TIMES = np.arange(31) / 60.0


def pushed_cube() -> Evidence:
    """A cube of 1 kg that a ball takes along x at 0.2 m/s, on a support with friction 0.4, for half a second."""
    moved = np.outer(0.2 * TIMES, [1.0, 0.0, 0.0])
    vertices = CUBE + moved[:, None]
    tool = np.hstack([np.array([-0.07, 0.0, 0.05]) + moved, np.tile([0.0, 0.0, 0.0, 1.0], (31, 1))])
    work = 0.5 * 0.2**2 + 0.4 * 9.81 * moved[:, 0]
    return Evidence(
        times=TIMES,
        vertices=vertices,
        nodes=vertices,
        masses=np.full(8, 0.125),
        gravity=GRAVITY,
        support=np.array([0.0, 0.0, 1.0, 0.0]),
        tool=ToolShape(ToolKind.SPHERE, (0.02,)),
        tool_poses=tool,
        tool_speed=0.2,
        tool_work=np.where(TIMES > 0.0, work, 0.0),
        tool_force=np.tile([-4.0, 0.0, 0.0], (31, 1)),
        rigid=True,
    )


def with_positions(positions: np.ndarray) -> Evidence:
    return replace(pushed_cube(), vertices=positions, nodes=positions)


def test_a_motion_that_can_be_true_passes() -> None:
    assert verdict(pushed_cube()) == []


def test_a_free_fall_passes_and_its_mirror_image_in_energy_does_not() -> None:
    """Falling turns height into speed; rising at the same speeds, from rest, makes energy of nothing."""
    fall = np.outer(0.5 * TIMES**2, GRAVITY)[:, None]
    free = {"tool": None, "tool_poses": None, "tool_work": None, "tool_force": None, "support": None}
    assert verdict(replace(with_positions(CUBE + fall), **free)) == []  # type: ignore[arg-type]
    assert any("more energy" in found for found in verdict(replace(with_positions(CUBE - fall), **free)))  # type: ignore[arg-type]


def test_not_a_number_is_found() -> None:
    broken = pushed_cube().vertices.copy()
    broken[7, 3, 1] = np.nan
    assert verdict(with_positions(broken)) == ["not finite"]


def test_a_vertex_that_flies_off_is_found() -> None:
    exploded = pushed_cube().vertices.copy()
    exploded[20:, 5] += 3.0
    found = verdict(with_positions(exploded))
    assert any("farther" in problem for problem in found)
    assert any("changes its shape" in problem for problem in found)


def test_energy_that_nobody_gave_is_found() -> None:
    """Twice the tool's speed after a touch: four times the energy, with a tenth of the work."""
    quick = CUBE + np.outer(0.39 * TIMES, [1.0, 0.0, 0.0])[:, None]
    assert any("more energy" in found for found in verdict(replace(with_positions(quick), tool_work=0.01 * TIMES)))


@pytest.mark.parametrize(("height", "found"), [(-0.012, "sinks into the support"), (-0.003, "")])
def test_sinking_into_the_support_is_found(height: float, found: str) -> None:
    """The bound is 5 % of the size: 5 mm."""
    sunk = pushed_cube().vertices + np.minimum(TIMES, 0.1)[:, None, None] * np.array([0.0, 0.0, height / 0.1])
    problems = verdict(with_positions(sunk))
    assert any(found in problem for problem in problems) if found else problems == []


@pytest.mark.parametrize(
    "tool",
    [
        ToolShape(ToolKind.SPHERE, (0.02,)),
        ToolShape(ToolKind.BOX, (0.04, 0.2, 0.2)),
        ToolShape(ToolKind.CYLINDER, (0.2, 0.02)),
        ToolShape(ToolKind.CAPSULE, (0.2, 0.02)),
    ],
    ids=lambda tool: tool.kind.value,
)
def test_a_tool_that_passes_through_is_found(tool: ToolShape) -> None:
    """At 4 m/s it is before the cube at one frame and behind it at the next; the middle of the near side is a vertex, too."""
    cube = np.concatenate([CUBE, [[-0.05, 0.0, 0.05]]])
    standing = np.tile(cube, (31, 1, 1))
    through = pushed_cube().tool_poses
    assert through is not None
    through = through.copy()
    through[:, 0] = -0.2 + 4.0 * TIMES
    problems = verdict(replace(with_positions(standing), masses=np.full(9, 0.1), tool=tool, tool_poses=through))
    assert any("inside the tool" in problem for problem in problems)


def test_a_tool_within_the_object_touches_no_vertex_and_is_found() -> None:
    cube = scanned(trimesh.creation.box((0.1, 0.1, 0.1)))
    standing = np.tile(cube.vertices, (31, 1, 1))
    poses = np.tile([0.0, 0.0, 0.05, 0.0, 0.0, 0.0, 1.0], (31, 1))
    within = replace(with_positions(standing), tool_poses=poses, faces=cube.faces)
    assert verdict(within) == ["the tool's middle is inside the object after 0 s"]
    poses[:, 0] = -0.071
    assert verdict(within) == []


def test_material_turned_inside_out_is_found() -> None:
    corner = torch.tensor([[0, 4, 2, 1]])
    edges = torch.from_numpy(CUBE)[corner[0, 1:]] - torch.from_numpy(CUBE)[0]
    gradient = torch.linalg.inv(edges).T.contiguous()
    gradient = torch.cat([-gradient.sum(0, keepdim=True), gradient])[None]
    sites = StrainSites(corner, gradient, torch.tensor([1e-4], dtype=torch.float64))
    soft = replace(pushed_cube(), rigid=False, sites=sites)
    assert verdict(soft) == []
    flipped = soft.nodes.copy()
    flipped[10, 0, 0] += 0.12
    assert any("inside out" in problem for problem in verdict(replace(soft, nodes=flipped)))


def test_a_held_part_that_moves_and_a_rest_that_drifts_are_found() -> None:
    held = replace(pushed_cube(), held=np.array([0]))
    assert any("held moves" in problem for problem in verdict(held))
    assert any("drifts" in problem for problem in verdict(replace(pushed_cube(), resting=True)))


def test_a_force_over_its_limit_is_found() -> None:
    assert verdict(replace(pushed_cube(), force_limit=3.9)) == []
    assert any("presses harder" in problem for problem in verdict(replace(pushed_cube(), force_limit=3.0)))


def test_only_what_is_wrong_and_unsaid_is_silent() -> None:
    right, said, silent = (
        Run("a", "right", (), (), 0.1),
        Run("a", "said", ("penetrating",), ("is inside the tool",), 0.1),
        Run("b", "silent", (), ("not finite",), 0.1),
    )
    found = summed([right, said, silent], "random weights", 0.3)
    assert (found.runs, found.flagged, found.wrong, found.silent_failures) == (3, 1, 2, 1)
    assert found.groups["b"] == {"runs": 1, "flagged": 0, "wrong": 1, "silent": 1}
    assert [failure["name"] for failure in found.failures] == ["silent"]


@pytest.mark.parametrize("state", ["rigid", "modal"])
def test_an_ordinary_push_is_neither_flagged_nor_wrong(state: str) -> None:
    mesh = box(0.06, 0.06, 0.1)
    properties = PhysicalProperties(density=200.0, youngs_modulus=1e5)
    options = PredictionOptions(horizon=0.3, frame_rate=60.0, parameterization=state)
    run = Trial("test", state, mesh, properties, options, sideways(mesh, 0.0, height=0.4)).run()
    assert (run.said, run.wrong) == ((), ())
