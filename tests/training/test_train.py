"""Training learns, and a run that is killed at any moment ends as if it had not been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from hinges import hinges
from safetensors.torch import load_file

from neurok_ros.errors import NeurokError
from neurok_ros.kinematics.neurok.checkpoint import load_model
from neurok_ros.kinematics.neurok.config import ModelConfig
from neurok_ros.kinematics.neurok.model import NeurokModel, transform
from training.batches import BatchRecipe, held_out
from training.curves import Table, read_table
from training.settings import Settings, TrainingSettings, load_settings
from training.train import Run, learning_rate

ROOT = Path(__file__).parent.parent.parent
MODEL = ModelConfig(
    width=32, tokens=4, token_size=8, encoder_blocks=1, decoder_blocks=1, handles=6, encoder_points=48, deformation_points=48
)
SHORT = TrainingSettings(
    steps=40, objects=2, targets=2, query_points=32, save_every_seconds=0.0, log_every=5, evaluate_every=20, held_out_objects=4
)
PROGRAM = f"""
import sys
sys.path[:0] = [{str(ROOT)!r}, {str(Path(__file__).parent)!r}]
import torch
torch.set_num_threads(1)
from pathlib import Path
from hinges import hinges
from test_train import MODEL, SHORT, Settings
from training.train import Run
Run(Settings(MODEL, SHORT), Path(sys.argv[1]), hinges).train()
"""


def start(out: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(out)], env=environment, stdout=subprocess.DEVNULL)


def time_of(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def test_a_hinge_is_learned(tmp_path: Path) -> None:
    """Two plates folding by up to 90 degrees: far better than not moving, on hinges of widths not seen."""
    training = TrainingSettings(
        steps=300, objects=4, targets=4, query_points=48, evaluate_every=300, kl_warmup_steps=200, augment=False, scan_share=0.0
    )
    Run(Settings(MODEL, training), tmp_path, hinges).train()
    last = [row for row in read_table(tmp_path / "held_out.csv") if row["source"] == "all"][-1]
    assert float(last["rmse"]) < 0.5 * float(last["rest_rmse"])
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    assert small_step_error(load_model(tmp_path / "weights.safetensors", "cpu")) < 0.5


def small_step_error(model: NeurokModel) -> float:
    """What is missed of a tenth of the way to a fold, as a share of that step."""
    batch = BatchRecipe(hinges("train"), 8, 4, 96, (4, 8), False, 0.0, 3, 0)[0]
    tenth = torch.full_like(batch.fraction, 0.1)
    with torch.no_grad():
        _, ways, _, _ = model(batch.surface, batch.moved, batch.rotations, torch.zeros_like(batch.noise), tenth)
    start, turned = batch.points[:, None, 48:], batch.rotations[:, :, 48:]
    angle = 0.1 * torch.atan2(turned[..., 2, 0], turned[..., 0, 0])
    x, y, z = start.unbind(-1)
    expected = torch.stack([angle.cos() * x - angle.sin() * z, y + 0 * angle, angle.sin() * x + angle.cos() * z], -1) - start
    step = transform(ways, start) - start
    return float((step - expected).norm() / expected.norm())


def test_killed_at_any_moment_it_ends_the_same(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for _ in range(2):
        before = time_of(broken / "last.pt")
        process = start(broken)
        while process.poll() is None and time_of(broken / "last.pt") == before:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait(30)
    for folder in (whole, broken):
        Run(Settings(MODEL, SHORT), folder, hinges).train()

    a, b = (load_file(folder / "weights.safetensors") for folder in (whole, broken))
    for name in a:
        torch.testing.assert_close(a[name], b[name], rtol=0, atol=0)
    for table in ("training.csv", "held_out.csv"):
        rows = [[{k: v for k, v in row.items() if "second" not in k} for row in read_table(f / table)] for f in (whole, broken)]
        assert rows[0] == rows[1]
    assert not list(broken.glob("*.tmp"))


def test_a_batch_is_a_function_of_its_step_and_process() -> None:
    recipes = [BatchRecipe(hinges("train"), 3, 2, 40, (4, 8), True, 0.5, 7, rank) for rank in (0, 0, 1)]
    again = [recipe[11] for recipe in recipes]
    torch.testing.assert_close(again[0].moved, again[1].moved, rtol=0, atol=0)
    assert not torch.equal(again[0].moved, again[2].moved)
    with_workers = next(recipes[0].from_step(11, 12, workers=1))
    torch.testing.assert_close(with_workers.moved, again[0].moved, rtol=0, atol=0)


def test_any_view_keeps_motions_what_they_are() -> None:
    """The plates stay rigid: seen from elsewhere, moved = R (x - axis) + axis with the same R that the batch says."""
    batch = BatchRecipe(hinges("train"), 6, 2, 40, (4, 8), True, 0.5, 1, 0)[0]
    turn = batch.rotations
    torch.testing.assert_close(turn @ turn.mT, torch.eye(3).expand_as(turn), rtol=0, atol=1e-5)
    torch.testing.assert_close(torch.linalg.det(turn), torch.ones(turn.shape[:3]), rtol=0, atol=1e-5)
    shift = batch.moved - (turn @ batch.points[:, None, :, :, None]).squeeze(-1)
    turned = (turn - torch.eye(3)).abs().amax((-1, -2)) > 1e-3
    for b in range(6):
        for t in range(2):
            mine = shift[b, t][turned[b, t]]
            torch.testing.assert_close(mine, mine[:1].expand_as(mine), rtol=0, atol=1e-5)
            assert (batch.moved[b, t] - batch.points[b])[~turned[b, t]].abs().max() < 1e-6


def test_held_out_objects_are_fixed() -> None:
    first, again = (held_out("held_out_instances", hinges("held_out_instances"), 4, 2, 40, (4, 8), True) for _ in range(2))
    torch.testing.assert_close(first[0].batch.moved, again[0].batch.moved, rtol=0, atol=0)


def test_learning_rate_rises_stays_and_falls_to_zero() -> None:
    settings = TrainingSettings(steps=1000, warmup_steps=100, decay_share=0.2, learning_rate=1.0)
    rates = [learning_rate(step, settings) for step in (0, 49, 99, 500, 800, 900, 1000)]
    assert rates == pytest.approx([0.01, 0.5, 1.0, 1.0, 1.0, 0.5, 0.0])


def test_rows_after_the_step_taken_up_are_dropped_and_a_torn_line_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("step,x\n1,0.5\n2,0.25\n3,0.1")
    assert [row["step"] for row in Table(path, 2).rows] == [1, 2]
    path.write_text("step,x\n1,0.5\n2")
    assert [row["step"] for row in read_table(path)] == [1]


@pytest.mark.parametrize("name", ["small", "points"])
def test_config_files_are_valid(name: str) -> None:
    settings = load_settings(ROOT / "training" / "config" / f"{name}.yaml")
    assert settings.model.decoder == {"small": "handles", "points": "points"}[name]


def test_a_misspelt_setting_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("training: {stepps: 3}")
    with pytest.raises(NeurokError, match=r"config\.training\.stepps"):
        load_settings(path)
