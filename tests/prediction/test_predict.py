"""What a prediction must be: of the push that was asked, the same in every frame of reference, and honest about its limits."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from meshes import box, mesh_of
from scipy.spatial.transform import Rotation

from neurok_ros.dynamics.tools import ToolKind, ToolPath, ToolShape
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.prediction import predict, prepare
from neurok_ros.prediction.predict import BASE_LAYER
from neurok_ros.prediction.suggested_push import suggest_push
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictedMotion, PredictionOptions, Push
from neurok_ros.reconstruction.types import ReconstructedMesh

FOAM = PhysicalProperties(density=60.0, youngs_modulus=2.0e4)
WOOD = PhysicalProperties(density=600.0, youngs_modulus=1.0e10, friction=0.4)


def straight_push(start: float, end: float, height: float, seconds: float = 0.8) -> Push:
    """A 1 cm ball along x, at a constant speed."""
    ends = np.array([[start, 0.0, height], [end, 0.0, height]])
    path = ToolPath(np.array([0.0, seconds]), ends, np.tile([0.0, 0.0, 0.0, 1.0], (2, 1)))
    return Push(ToolShape(ToolKind.SPHERE, (0.01,)), path)


def pushed(mesh: ReconstructedMesh, properties: PhysicalProperties, push: Push, **options: object) -> PredictedMotion:
    chosen = replace(PredictionOptions(horizon=1.2), **options)  # type: ignore[arg-type]
    return predict(prepare(mesh, properties, chosen), push, chosen)


def test_a_rigid_block_follows_the_tool_and_stops_where_it_leaves_it(low_block: ReconstructedMesh) -> None:
    """Quasi-static push through the middle: the face at x = -4 cm is taken to where the ball's front ends, 2 cm on.

    Tolerance 1.5 mm: contact compliance and the coasting of a block pushed at 8 cm/s, v^2 / (2 mu g) = 0.8 mm.
    """
    motion = pushed(low_block, WOOD, straight_push(-0.07, -0.03, 0.015))
    assert motion.parameterization == "rigid"
    moved = motion.vertices[-1] - low_block.vertices
    assert moved[:, 0].mean() == pytest.approx(0.02, abs=1.5e-3)
    assert np.abs(moved[:, 1:].mean(axis=0)).max() < 1.5e-3


def test_the_push_costs_what_friction_takes(low_block: ReconstructedMesh) -> None:
    """At constant speed the tool's force along the push is mu times the support's, which carries the block's weight and what
    the tool's own friction adds to it. 2 % for what is left of the impact."""
    motion = pushed(low_block, WOOD, straight_push(-0.07, -0.01, 0.015))
    sliding = (motion.times > 0.4) & (motion.times < 0.75)
    along, _, upward = motion.contact_force[sliding].mean(axis=0)
    assert -along == pytest.approx(WOOD.friction * (motion.measures["mass_kg"] * 9.81 + upward), rel=0.02)


def test_mass_is_density_times_volume(block: ReconstructedMesh) -> None:
    motion = pushed(block, FOAM, straight_push(-0.06, -0.045, 0.07))
    assert motion.measures["mass_kg"] == pytest.approx(60.0 * 0.06 * 0.06 * 0.09, rel=1e-6)


def test_foam_gives_way_and_returns_when_the_tool_leaves(block: ReconstructedMesh) -> None:
    push = suggest_push(block, depth=0.2, height=0.8)
    motion = pushed(block, FOAM, push, fixation=Fixation.BASE, horizon=2.0)
    assert motion.parameterization == "modal"
    assert motion.displacement.max() > 5e-3
    assert motion.displacement[-1] < 0.1 * motion.displacement.max()
    assert motion.measures["max_strain"] > 0.02


def test_a_stiffer_block_needs_more_force_for_the_same_push(block: ReconstructedMesh) -> None:
    push = suggest_push(block, depth=0.1, height=0.8)
    forces = [
        np.linalg.norm(
            pushed(block, replace(FOAM, youngs_modulus=modulus), push, fixation=Fixation.BASE).contact_force, axis=1
        ).max()
        for modulus in (1e4, 1e5)
    ]
    assert forces[1] > 4 * forces[0]


def test_what_is_fixed_does_not_move(block: ReconstructedMesh) -> None:
    """Held particles move by less than 0.1 mm under a push that moves the top by millimetres."""
    push = suggest_push(block, depth=0.15, height=0.8)
    motion = pushed(block, FOAM, push, fixation=Fixation.BASE)
    lowest = block.vertices[:, 2] < BASE_LAYER * 0.09
    moved = np.linalg.norm(motion.vertices[:, lowest] - block.vertices[lowest], axis=2)
    assert motion.displacement.max() > 3e-3
    assert moved.max() < 1e-4


def test_nothing_happens_without_touch(block: ReconstructedMesh) -> None:
    """A stiff block at rest stays within 0.1 mm: it settles into the support's compliance and no more."""
    motion = pushed(block, WOOD, straight_push(-0.2, -0.15, 0.05))
    assert motion.flags["never_touched"]
    assert motion.displacement.max() < 1e-4
    assert not motion.contact_force.any()


@pytest.mark.parametrize("properties", [WOOD, FOAM], ids=["rigid", "modal"])
def test_the_same_motion_in_every_frame_of_reference(block: ReconstructedMesh, properties: PhysicalProperties) -> None:
    """Cameras look along other axes than worlds. A turned scene gives the turned motion.

    Tolerance 1 mm of 10 mm or more: the lattice and the surface samples are made anew and are not the same points.
    """
    turn = Rotation.from_euler("xyz", [110.0, -20.0, 35.0], degrees=True)
    shift = np.array([0.3, -0.2, 0.9])
    push = straight_push(-0.06, -0.02, 0.03)
    path = push.path
    turned_mesh = replace(
        block,
        vertices=turn.apply(block.vertices) + shift,
        support=np.append(turn.apply(block.support[:3]), block.support[3] - turn.apply(block.support[:3]) @ shift),
    )
    quaternions = np.tile(turn.as_quat(), (2, 1))
    turned_push = replace(push, path=ToolPath(path.times, turn.apply(path.positions) + shift, quaternions))
    here = pushed(block, properties, push)
    there = pushed(turned_mesh, properties, turned_push)
    back = turn.inv().apply((there.vertices[-1] - shift).reshape(-1, 3))
    assert here.displacement.max() > 1e-2
    assert np.linalg.norm(back - here.vertices[-1], axis=1).max() < 1e-3


def test_the_tool_stops_at_its_force_limit(block: ReconstructedMesh) -> None:
    push = replace(suggest_push(block, depth=0.4, height=0.6), force_limit=0.5)
    motion = pushed(block, replace(FOAM, youngs_modulus=1e5), push, fixation=Fixation.BASE)
    assert motion.flags["force_limited"]
    assert np.linalg.norm(motion.contact_force, axis=1).max() <= 0.5 * 1.05
    assert np.ptp(motion.tool_poses[:, 0]) < np.ptp(push.path.positions[:, 0]) or np.ptp(motion.tool_poses[:, 1]) < np.ptp(
        push.path.positions[:, 1]
    )


def test_a_tall_block_pushed_at_its_top_tips_and_says_so(block: ReconstructedMesh) -> None:
    """It slides below a friction of 30 mm / 85 mm = 0.35. Above 60 mm / 85 mm = 0.7 a tool that sticks locks it: the face would
    have to rise as fast as that share of its way."""
    motion = pushed(block, replace(WOOD, friction=0.6), straight_push(-0.06, 0.06, 0.085, seconds=1.0), horizon=2.0)
    assert motion.flags["tipped"]
    assert motion.measures["max_tilt_deg"] > 60.0


def test_a_cancel_is_heard_within_a_step(block: ReconstructedMesh) -> None:
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls > 5

    options = PredictionOptions()
    with pytest.raises(NeurokError) as caught:
        predict(prepare(block, FOAM, options), straight_push(-0.06, -0.03, 0.05), options, should_stop=stop)
    assert caught.value.code is ErrorCode.CANCELED
    assert calls < 10


def test_progress_grows_to_one_and_time_to_the_horizon(block: ReconstructedMesh) -> None:
    heard: list[tuple[str, float, float]] = []
    options = PredictionOptions(horizon=0.5)
    predict(
        prepare(block, FOAM, options),
        straight_push(-0.06, -0.04, 0.05),
        options,
        on_progress=lambda *said: heard.append(said),
    )
    shares, times = [each[1] for each in heard], [each[2] for each in heard]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert times[-1] == pytest.approx(0.5)


def test_gpu_memory_that_runs_out_sends_the_work_to_the_cpu(block: ReconstructedMesh, monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["neurok_ros.prediction.predict"]
    tried: list[torch.device] = []
    real = module._predict_on

    def first_fails(device: torch.device, *rest: object) -> PredictedMotion:
        tried.append(device)
        if len(tried) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return real(device, *rest)

    monkeypatch.setattr(module, "_predict_on", first_fails)
    motion = pushed(block, FOAM, straight_push(-0.06, -0.04, 0.05), horizon=0.2)
    assert len(tried) == 2
    assert "GPU memory ran out" in motion.parameterization_reason


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_a_device_that_is_not_there_is_named(block: ReconstructedMesh) -> None:
    options = PredictionOptions()
    with pytest.raises(NeurokError, match=r"device.*no CUDA"):
        predict(prepare(block, FOAM, options), straight_push(-0.06, -0.04, 0.05), options, device="cuda")


def test_a_box_that_holds_nothing_is_refused(block: ReconstructedMesh) -> None:
    options = PredictionOptions(fixation=Fixation.BOX, fixed_box=((5.0, 5.0, 5.0), (6.0, 6.0, 6.0)))
    with pytest.raises(NeurokError, match="fixed_box"):
        predict(prepare(block, FOAM, options), straight_push(-0.06, -0.04, 0.05), options)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"density": 0.0}, "properties.density"),
        ({"density": float("nan")}, "properties.density"),
        ({"youngs_modulus": -1.0}, "properties.youngs_modulus"),
        ({"poisson_ratio": 0.5}, "properties.poisson_ratio"),
        ({"friction": -0.1}, "properties.friction"),
    ],
)
def test_impossible_materials_are_named(block: ReconstructedMesh, changes: dict[str, float], field: str) -> None:
    with pytest.raises(NeurokError) as caught:
        prepare(block, replace(FOAM, **changes), PredictionOptions())
    assert caught.value.code is ErrorCode.INVALID_PROPERTIES
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"horizon": -1.0}, "horizon"),
        ({"horizon": float("inf")}, "horizon"),
        ({"frame_rate": 0.0}, "frame_rate"),
        ({"parameterization": "magic"}, "parameterization"),
        ({"fixation": Fixation.BOX, "fixed_box": ((1.0, 0.0, 0.0), (0.0, 1.0, 1.0))}, "fixed_box"),
    ],
)
def test_impossible_options_are_named(block: ReconstructedMesh, changes: dict[str, object], field: str) -> None:
    with pytest.raises(NeurokError) as caught:
        prepare(block, FOAM, replace(PredictionOptions(), **changes))  # type: ignore[arg-type]
    assert caught.value.code is ErrorCode.INVALID_OPTIONS
    assert caught.value.field == field


def test_a_small_finger_does_not_slip_between_the_samples_of_a_large_object() -> None:
    """An 8 mm ball and a 2 mm ball against a 20 cm cube are felt; that a needle of 0.3 mm may not be is said."""
    cube = mesh_of(box((0.2, 0.2, 0.2)))
    path = straight_push(-0.12, -0.095, 0.1).path
    motion = pushed(cube, WOOD, Push(ToolShape(ToolKind.SPHERE, (0.008,)), path, force_limit=5.0))
    assert not motion.flags["never_touched"]
    assert motion.penetration.max() < 2e-3
    assert not pushed(cube, WOOD, Push(ToolShape(ToolKind.SPHERE, (0.002,)), path, force_limit=5.0)).flags["never_touched"]
    assert pushed(cube, WOOD, Push(ToolShape(ToolKind.SPHERE, (3e-4,)), path), horizon=0.2).flags["coarse_contact"]


def test_a_push_with_a_tool_of_no_size_is_refused(block: ReconstructedMesh) -> None:
    push = straight_push(-0.06, -0.04, 0.05)
    with pytest.raises(NeurokError) as caught:
        pushed(block, FOAM, replace(push, tool=ToolShape(ToolKind.SPHERE, (0.0,))))
    assert caught.value.code is ErrorCode.INVALID_PUSH
