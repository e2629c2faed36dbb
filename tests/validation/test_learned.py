"""Training's mechanisms in MuJoCo, the finger that pushes them, and the plumbing with a network of random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from neurok_ros.kinematics.neurok import ModelConfig, NeurokModel, installed, save_model
from validation import learned
from validation.learned import Pushed, held_box, judged, push_of, subject_of, whole_mesh
from validation.mujoco.trained import motion_of

DRAWER = Pushed("drawers", 0, 0, 0.8, -0.4)
DOOR = Pushed("microwave", 1, 0, 0.4, -0.2)


@pytest.mark.parametrize("pushed", [DRAWER, DOOR], ids=["drawer", "door"])
def test_mujoco_starts_in_the_state_given_and_takes_the_pushed_joint_as_far_as_the_finger_goes(pushed: Pushed) -> None:
    """The finger's travel is a chord and its ball has a radius: a tenth of the travel is left to them. Nothing leaves its range
    by more than its stops give way; nothing that stands still moves."""
    subject = subject_of(pushed)
    found, truth = motion_of(subject, push_of(pushed, subject), 0.6)
    np.testing.assert_allclose(truth[0], subject.vertices, atol=1e-9)
    chosen = subject.mechanism.coordinates[pushed.coordinate]
    travelled = found.coordinates[30, pushed.coordinate] - found.coordinates[0, pushed.coordinate]
    wanted = pushed.travel * (chosen.upper - chosen.lower)
    assert travelled / wanted > 0.9
    assert found.coordinates[:, pushed.coordinate].min() > chosen.lower - 0.02 * (chosen.upper - chosen.lower)
    standing = subject.link == 0
    np.testing.assert_allclose(truth[:, standing], truth[:1, standing].repeat(len(truth), 0), atol=1e-12)


@pytest.mark.parametrize("pushed", learned.PUSHES, ids=[f"{p.category}-{p.number}" for p in learned.PUSHES])
def test_the_box_holds_what_stands_still_alone(pushed: Pushed) -> None:
    subject = subject_of(pushed)
    low, high = held_box(subject)
    held = ((subject.vertices >= low) & (subject.vertices <= high)).all(axis=1)
    assert held.any()
    assert set(subject.link[held]) <= {
        n for n in range(len(subject.mechanism.links)) if not any(subject.carried(c)[n] for c in range(len(subject.values)))
    }


@pytest.mark.parametrize("held", [True, False])
def test_a_lid_that_is_held_does_not_fall_before_it_is_pushed(held: bool) -> None:
    lid = Pushed("box", 0, 0, 0.4, -0.1, held=held)
    subject = subject_of(lid)
    found, _ = motion_of(subject, push_of(lid, subject), 0.03)
    fallen = abs(found.coordinates[1, 0] - found.coordinates[0, 0])
    assert fallen < 1e-6 if held else fallen > 1e-4


def test_a_network_of_random_weights_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drawer that stays where it is: the split of the error adds up to within the triangle inequality."""
    torch.manual_seed(0)
    sizes = {"tokens": 4, "token_size": 8, "encoder_blocks": 1, "decoder_blocks": 1, "handles": 6}
    path = tmp_path / "neurok.safetensors"
    save_model(NeurokModel(ModelConfig(width=32, encoder_points=40, deformation_points=40, **sizes)), path, {})
    monkeypatch.setattr(installed, "WEIGHTS", path)
    monkeypatch.setattr(learned, "SECONDS", 0.1)
    installed.installed_model.cache_clear()
    subject = subject_of(DRAWER)
    push = push_of(DRAWER, subject)
    still = subject.vertices[None].repeat(7, 0)
    mesh = whole_mesh(subject.vertices, subject.faces)
    motion = judged(mesh, held_box(subject), push, still, np.ones((7, 3)))
    installed.installed_model.cache_clear()
    assert motion.predicted.shape == motion.truth.shape
    assert motion.figures["kinematics_error_percent_of_size"] == pytest.approx(0.0, abs=1e-3)
    whole = 100.0 * motion.rmse()[6] / motion.size
    split = motion.figures["kinematics_error_percent_of_size"] + motion.figures["dynamics_error_percent_of_size"]
    assert whole <= split + 1e-3
