"""Which state space an object gets, and why.

Asked for `auto`, an object gets the learned state space where

- a trained model is installed,
- the model knows the object: the numbers of `Familiarity` are within the bounds below,
- and what it found is of use: the object moves at all (`LEAST_REACH`), and has a joint. It has joints where its motions leave
  enough of it rigid (`LEAST_RIGID_SHARE`), and in a soft one `elastic_sites` finds some, too: without, it is deformed more finely
  by a hundred elastic modes than by a few learned coordinates.

Otherwise a stiff object is rigid and a soft one gets its elastic modes. With the learned state space an object stores no strain
energy (`dynamics.Jointed`), and stays where it was pushed, if it is stiff or if its motions leave so much of it rigid that it
must be made of parts, whatever modulus it was given (`SURELY_RIGID_SHARE`): nobody knows the modulus of a laptop. Other soft
objects are elastic, but not across their joints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from neurok_ros.dynamics import elastic_sites, rigid_share
from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.geometry.driving import connected_parts
from neurok_ros.geometry.lattice import VoxelLattice
from neurok_ros.kinematics import LatticeParticles, RigidBodyKinematics, skinning_modes
from neurok_ros.kinematics.neurok import COORDINATES, Familiarity, familiarity, installed_model, is_installed, neurok_kinematics
from neurok_ros.parameterization import ObjectKinematics
from neurok_ros.prediction.types import PhysicalProperties
from neurok_ros.reconstruction.types import ReconstructedMesh

RIGID_MODULUS = 5.0e7
"""Pa: from here on (hard rubber, wood, metal) a hand-held push dents an object by less than a camera can see."""
LARGEST_MODULUS = 1.0e5
"""Pa: with learned coordinates no soft object is stiffer. Learned motions strain what should stay as it is by a percent or so,
which a larger modulus would forbid, and with it the motion."""
LEAST_RIGID_SHARE = 0.36
"""Of the volume, see `rigid_share`: of 50 held-out articulated objects all but one were above, of 21 soft ones two cylinders, a
plant and a rope, ..."""
LEAST_RIGID_SHARE_OF_ONE = 0.5
"""... the same for objects in one connected piece: plain boxes, whose lid would not be seen, have 0.13 to 0.47, ..."""
SURELY_RIGID_SHARE = 0.6
"""... and above this were 39 of the articulated, and the cylinders."""
MOST_STILL = 0.03
"""Of the object's radius: a network that moves an object by more when asked for no motion does not know it."""
LEAST_IMPORTANCE = 0.65
"""Of the learned motion: where the coordinates explain less, they are not what the object does. Those 50 had 0.73 and more; soft
objects have 0.71 to 0.99."""
LEAST_REACH = 0.02
"""Of the object's radius: an object that moves by less within the prior has no joints to speak of."""


@dataclass(frozen=True, eq=False)
class StateSpaceChoice:
    """The state space of an object."""

    kinematics: ObjectKinematics
    modulus: float
    """Pa, Young's modulus of what strains; infinite for a rigid body, zero for rigid parts on joints."""
    material: Tensor
    """(s,) bool, the strain sites that are inside the material, and do not only bridge a joint."""
    reason: str
    """Why this one, as a sentence for the user."""
    rigid_share: float = 1.0
    """How much of the volume the motions leave rigid, see `dynamics.rigid_share`; of no account for unlearned ones."""
    doubt: str = ""
    """Why `auto` would not have taken the learned one, that was asked for; nothing where it would."""


def choose_state_space(
    mesh: ReconstructedMesh, lattice: VoxelLattice, particles: LatticeParticles, properties: PhysicalProperties, wanted: str
) -> StateSpaceChoice:
    """The state space that was asked for, or the best one.

    Args:
        mesh: the object.
        lattice: that covers it.
        particles: of the lattice.
        properties: of its material.
        wanted: one of `validation.PARAMETERIZATIONS`.

    Raises:
        NeurokError: INVALID_OPTIONS where the learned one is asked for and no model is installed; FILE_FAILED where the
            installed model is damaged.
    """
    asked = "asked for in the goal"
    if wanted == "neurok":
        if not is_installed():
            remedy = "Use auto, rigid or modal, or install a package with trained weights"
            raise NeurokError(ErrorCode.INVALID_OPTIONS, "parameterization", "no learned model is installed", remedy)
        choice, known = _learned(mesh, particles, properties, asked)
        doubt = _doubt(choice, known, _least_rigid_share(mesh))
        return replace(choice, reason=f"{asked}, but {doubt}", doubt=doubt) if doubt else choice
    if wanted != "auto":
        return _unlearned(lattice, particles, properties, wanted == "rigid", asked)
    stiff = properties.youngs_modulus >= RIGID_MODULUS
    if not is_installed():
        return _unlearned(lattice, particles, properties, stiff, f"{_stiffness(properties)}; no learned model is installed")
    choice, known = _learned(mesh, particles, properties, "")
    doubt = _doubt(choice, known, _least_rigid_share(mesh))
    if doubt:
        return _unlearned(lattice, particles, properties, stiff, f"{_stiffness(properties)}; {doubt}")
    found = f"the learned model knows the object (asked for no motion it moves it by {known.still:.1%} of its radius"
    used = f"{found}, bound {MOST_STILL:.0%}) and moves it by up to {known.reach:.1%}"
    return replace(choice, reason=used)


def _learned(
    mesh: ReconstructedMesh, particles: LatticeParticles, properties: PhysicalProperties, reason: str
) -> tuple[StateSpaceChoice, Familiarity]:
    kinematics = neurok_kinematics(mesh.vertices, mesh.faces, installed_model())
    followed = kinematics.at(particles.points[: particles.nodes], particles.part[: particles.nodes])
    share = rigid_share(followed, particles.sites, COORDINATES)
    if properties.youngs_modulus >= RIGID_MODULUS or share >= SURELY_RIGID_SHARE:
        choice = StateSpaceChoice(kinematics, 0.0, _everywhere(particles), reason, share)
    else:
        material = elastic_sites(followed, particles.sites)
        choice = StateSpaceChoice(kinematics, min(properties.youngs_modulus, LARGEST_MODULUS), material, reason, share)
    return choice, familiarity(kinematics.encoded, kinematics.subspace)


def _unlearned(
    lattice: VoxelLattice, particles: LatticeParticles, properties: PhysicalProperties, rigid: bool, reason: str
) -> StateSpaceChoice:
    kinematics: ObjectKinematics = (
        RigidBodyKinematics(torch.from_numpy(np.asarray(lattice.center))) if rigid else skinning_modes(lattice)
    )
    return StateSpaceChoice(kinematics, math.inf if rigid else properties.youngs_modulus, _everywhere(particles), reason)


def _everywhere(particles: LatticeParticles) -> Tensor:
    return torch.ones(len(particles.sites.volume), dtype=torch.bool)


def _least_rigid_share(mesh: ReconstructedMesh) -> float:
    pieces = len(np.unique(connected_parts(mesh.faces, len(mesh.vertices))[mesh.faces]))
    return LEAST_RIGID_SHARE if pieces > 1 else LEAST_RIGID_SHARE_OF_ONE


def _doubt(choice: StateSpaceChoice, known: Familiarity, least_rigid_share: float) -> str:
    """Why the learned state space is not used, or nothing."""
    if known.still > MOST_STILL:
        moves = f"asked for no motion, it moves it by {known.still:.1%} of its radius (bound {MOST_STILL:.0%})"
        return f"the learned model does not know the object: {moves}"
    if known.importance < LEAST_IMPORTANCE:
        explain = f"{COORDINATES} coordinates explain {known.importance:.0%} of its motion (bound {LEAST_IMPORTANCE:.0%})"
        return f"the learned model does not know the object: {explain}"
    if known.reach < LEAST_REACH:
        return f"the learned model moves no part of it by more than {known.reach:.1%} of its radius (bound {LEAST_REACH:.0%})"
    if choice.modulus > 0.0 and bool(choice.material.all()):
        return "the learned model finds no joint in it"
    if choice.rigid_share < least_rigid_share:
        keeps = f"its motions keep {choice.rigid_share:.0%} of the volume rigid (bound {least_rigid_share:.0%})"
        return f"the learned model finds no joint in it: {keeps}"
    return ""


def _stiffness(properties: PhysicalProperties) -> str:
    modulus = f"Young's modulus {properties.youngs_modulus:.3g} Pa"
    if properties.youngs_modulus >= RIGID_MODULUS:
        return f"{modulus} is at least {RIGID_MODULUS:.3g} Pa: too stiff to deform visibly"
    return f"{modulus} is below {RIGID_MODULUS:.3g} Pa: the object deforms"
