"""What a prediction knows of its own quality: numbers, and the warnings that follow from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from neurok_ros.dynamics import Frame
from neurok_ros.geometry.rigid_motions import rigid_motions
from neurok_ros.prediction.prepare import PreparedObject
from neurok_ros.prediction.types import Floats

PENETRATION_SHARE = 0.03
"""Of the object's size: what is deeper than this in the tool, in the support or in itself is a contact that did not hold."""
HELD_SHARE = 0.01
"""Of the object's size: where what is held moves by more, the push was stronger than the hold."""
BEYOND_LIMITS = 0.25
"""Standard deviations of the learned state space: farther beyond its edge than this is a shape that it has not learned."""
TIPPED_DEGREES = 45.0
JOINTS_SHARE = 0.1
"""Of the volume: more is not strained by joints alone."""
LARGE_STRAIN = 0.5
"""A local stretch or compression beyond this is outside of what a scan-based material model can be trusted for."""
COARSE_CONTACT = 0.7
"""Of the tool's half-extent: surface samples farther apart than this may let it slip in between them."""
OBSERVED_SHARE = 0.3
"""Of the surface: below this the shape is mostly a guess."""
_DEPTHS = ("max_penetration_m", "max_support_penetration_m", "max_self_penetration_m")


def quality_measures(prepared: PreparedObject, frames: Sequence[Frame], displacement: Floats) -> dict[str, float]:
    """The numbers behind the flags, over all frames; the unit stands at the end of each name."""
    forces = [float(np.linalg.norm(frame.tool_force)) for frame in frames]
    return {
        "object_size_m": prepared.size,
        "mass_kg": prepared.properties.density * prepared.lattice.volume,
        "max_displacement_m": float(displacement.max()),
        "max_tool_force_n": max(forces),
        "max_penetration_m": max(frame.penetration for frame in frames),
        "max_support_penetration_m": max(frame.support_penetration for frame in frames),
        "max_self_penetration_m": max(frame.self_penetration for frame in frames),
        "max_tilt_deg": max(_tilt(prepared, frame) for frame in frames),
        "max_strain": max(_largest_strain(prepared, frame) for frame in frames),
        "final_kinetic_energy_j": frames[-1].kinetic_energy,
        "max_strain_energy_j": max(frame.strain_energy for frame in frames),
        "tool_work_j": frames[-1].tool_work,
        "max_beyond_limits": max(frame.beyond_limits for frame in frames),
        "solver_residual_m": max(frame.residual for frame in frames),
        "observed_share": float(prepared.mesh.observed.mean()),
    }


def quality_flags(measures: dict[str, float], frames: Sequence[Frame], complete: bool, unfamiliar: bool) -> dict[str, bool]:
    """The warnings; true is a warning.

    Args:
        measures: from `quality_measures`, `contact_coarseness` of the object for its tool, and `max_held_displacement_m`.
        frames: the rollout.
        complete: whether it reached its horizon.
        unfamiliar: whether learned coordinates were asked for, and the model does not know the object or finds no joint in it.
    """
    return {
        "diverged": not complete,
        "not_converged": not all(frame.converged for frame in frames),
        "penetrating": max(measures[depth] for depth in _DEPTHS) > PENETRATION_SHARE * measures["object_size_m"],
        "hold_gave_way": measures["max_held_displacement_m"] > HELD_SHARE * measures["object_size_m"],
        "coarse_contact": measures["contact_coarseness"] > COARSE_CONTACT,
        "large_strain": measures["max_strain"] > LARGE_STRAIN,
        "unfamiliar": unfamiliar,
        "out_of_state_space": measures["max_beyond_limits"] > BEYOND_LIMITS,
        "tipped": measures["max_tilt_deg"] > TIPPED_DEGREES,
        "slid_off": any(frame.off_support for frame in frames),
        "force_limited": any(frame.force_limited for frame in frames),
        "never_touched": measures["max_tool_force_n"] == 0.0,
        "still_moving": measures["final_kinetic_energy_j"] > 0.5 * measures["mass_kg"] * 0.02**2,
        "mostly_guessed": measures["observed_share"] < OBSERVED_SHARE,
    }


def held_displacement(frames: Sequence[Frame], held: NDArray[np.int64], on_the_whole: bool) -> float:
    """Metres: the farthest that any of the particles (a,) that are held gets from where it started.

    Args:
        frames: the rollout.
        held: which particles.
        on_the_whole: not to count how they move against each other, see `dynamics.Jointed`.
    """
    if not len(held):
        return 0.0
    moved = torch.stack([frame.positions[held] - frames[0].positions[held] for frame in frames])
    if on_the_whole:
        basis = rigid_motions(frames[0].positions[held])
        moved = (moved.flatten(1) @ basis @ basis.T).view_as(moved)
    return float(moved.norm(dim=2).max())


def _tilt(prepared: PreparedObject, frame: Frame) -> float:
    """Degrees between the support's normal and the object's own upward axis, by the best rotation of its mass (Kabsch)."""
    nodes = prepared.particles.nodes
    masses = prepared.lattice.node_volumes
    rest = prepared.lattice.nodes
    now = frame.positions[:nodes].cpu().numpy()
    covariance = (masses[:, None] * (now - masses @ now / masses.sum())).T @ (rest - masses @ rest / masses.sum())
    left, _, right = np.linalg.svd(covariance)
    rotation = left @ np.diag([1.0, 1.0, np.linalg.det(left @ right)]) @ right
    up = prepared.mesh.support[:3]
    return float(np.degrees(np.arccos(np.clip(up @ rotation @ up, -1.0, 1.0))))


def _largest_strain(prepared: PreparedObject, frame: Frame) -> float:
    """The largest |principal stretch - 1| over all strain sites inside the material. Where that is not told from the joints, the
    largest but for `JOINTS_SHARE` of the volume."""
    sites = prepared.particles.sites.select(prepared.material)
    gradients = sites.deformation_gradients(frame.positions.cpu())
    strain = np.abs(np.linalg.svd(gradients.numpy(), compute_uv=False) - 1.0).max(axis=1, initial=0.0)
    if not prepared.jointed:
        return float(strain.max(initial=0.0))
    order = np.argsort(-strain)
    beyond = np.cumsum(sites.volume.numpy()[order])
    return float(strain[order][np.searchsorted(beyond, JOINTS_SHARE * beyond[-1])])
