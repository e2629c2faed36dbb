"""One question to the product, and what became of it."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import torch

from neurok_ros.dynamics import Body, Conditions, Frame, simulate
from neurok_ros.errors import NeurokError
from neurok_ros.kinematics.neurok import ModelConfig, NeurokModel, is_installed
from neurok_ros.prediction import predict, prepare
from neurok_ros.prediction.predict import fixed_region
from neurok_ros.prediction.prepare import PreparedObject
from neurok_ros.prediction.types import PhysicalProperties, PredictedMotion, PredictionOptions, Push
from neurok_ros.reconstruction.types import ReconstructedMesh
from validation.judge import Evidence, verdict

DISTRUST = (
    "diverged",
    "not_converged",
    "penetrating",
    "hold_gave_way",
    "coarse_contact",
    "large_strain",
    "unfamiliar",
    "out_of_state_space",
)
"""The flags that say that a prediction is not to be trusted. The others (`tipped`, `slid_off`, ...) tell what happens."""
_predicting = importlib.import_module("neurok_ros.prediction.predict")
_choosing = importlib.import_module("neurok_ros.prediction.state_space")


@dataclass(frozen=True, eq=False)
class Trial:
    """A question to the product."""

    group: str
    name: str
    mesh: ReconstructedMesh
    properties: PhysicalProperties
    options: PredictionOptions
    push: Push
    max_step: float = 1.0 / 60.0
    """Seconds, of the integrator."""
    resting: bool = False
    """The tool stays away."""

    def run(self) -> Run:
        """Ask, and judge the answer."""
        return run_trial(self)


@dataclass(frozen=True)
class Run:
    """What became of a trial."""

    group: str
    name: str
    said: tuple[str, ...]
    """Errors raised and flags of distrust."""
    wrong: tuple[str, ...]
    """What the judge found."""
    seconds: float

    @property
    def silent(self) -> bool:
        """Wrong, and not a word of it."""
        return bool(self.wrong) and not self.said


@contextmanager
def learned_model() -> Iterator[str]:
    """Let `neurok` be asked for: by the installed model, or where there is none by one whose weights mean nothing."""
    if is_installed():
        yield "the installed model"
        return
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = ModelConfig(
            width=32,
            tokens=4,
            token_size=8,
            encoder_blocks=1,
            decoder_blocks=1,
            handles=6,
            encoder_points=40,
            deformation_points=40,
        )
        model = NeurokModel(config).eval()
        torch.nn.init.normal_(model.decoder.motion[1].weight, std=0.05)  # type: ignore[arg-type]
    with ExitStack() as patches:
        patches.enter_context(mock.patch.object(_choosing, "is_installed", return_value=True))
        patches.enter_context(mock.patch.object(_choosing, "installed_model", return_value=model))
        yield "random weights"


def run_trial(trial: Trial) -> Run:
    """Ask the product, and judge its answer."""
    begin = time.monotonic()
    try:
        prepared = prepare(trial.mesh, trial.properties, trial.options)
        motion, frames = _recorded(prepared, trial)
    except NeurokError as error:
        return Run(trial.group, trial.name, (f"{error.code.name}: {error}",), (), time.monotonic() - begin)
    except Exception as error:
        wrong = f"raised {type(error).__name__}: {error}"
        return Run(trial.group, trial.name, (), (wrong,), time.monotonic() - begin)
    said = tuple(flag for flag in DISTRUST if motion.flags[flag])
    return Run(trial.group, trial.name, said, tuple(verdict(evidence(trial, prepared, motion, frames))), time.monotonic() - begin)


def _recorded(prepared: PreparedObject, trial: Trial) -> tuple[PredictedMotion, list[Frame]]:
    """The prediction, and what the integrator told it."""
    frames: list[Frame] = []

    def kept(body: Body, conditions: Conditions, times: Sequence[float], **settings: Any) -> Iterator[Frame]:
        for frame in simulate(body, conditions, times, trial.max_step, **settings):
            frames.append(frame)
            yield frame

    with mock.patch.object(_predicting, "simulate", kept):
        motion = predict(prepared, trial.push, trial.options, device="cpu")
    return motion, frames[: len(motion.times)]


def evidence(trial: Trial, prepared: PreparedObject, motion: PredictedMotion, frames: list[Frame]) -> Evidence:
    """What the judge is shown."""
    nodes, path, options = prepared.particles.nodes, trial.push.path, trial.options
    leaves = options.support_outline is not None
    speeds = path.segment_speeds(trial.push.tool.bounding_radius)
    return Evidence(
        times=motion.times,
        vertices=motion.vertices.astype(np.float64),
        nodes=np.stack([frame.positions[:nodes].cpu().numpy() for frame in frames]),
        masses=trial.properties.density * prepared.lattice.node_volumes,
        gravity=-options.gravity * prepared.mesh.support[:3],
        support=None if leaves else prepared.mesh.support,
        tool=trial.push.tool,
        tool_poses=motion.tool_poses,
        tool_speed=float(speeds.max(initial=0.0)),
        tool_work=np.array([frame.tool_work for frame in frames]),
        tool_force=motion.contact_force,
        force_limit=trial.push.force_limit,
        rigid=motion.parameterization == "rigid",
        sites=None if motion.parameterization == "rigid" else prepared.particles.sites.select(prepared.material),
        held=fixed_region(prepared.mesh, options, prepared.lattice.nodes),
        faces=trial.mesh.faces,
        resting=trial.resting,
    )
