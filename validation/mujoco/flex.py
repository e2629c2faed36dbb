"""MuJoCo's deformable bodies as the reference for soft things."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from neurok_ros.dynamics import ToolPath, ToolShape
from neurok_ros.prediction.types import PhysicalProperties
from validation.mujoco.primitive import numbers
from validation.mujoco.reference import FRAME_RATE, Contact, put_tool, quiet, tool_body, tool_momentum
from validation.mujoco.voxels import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Flex:
    """A body of triangles or tetrahedra, its nodes' masses and which of them are held."""

    nodes: Floats
    """(n, 3) metres."""
    elements: Ints
    """(e, 3 or 4)."""
    masses: Floats
    """(n,) kg."""
    held: Ints
    """(k,)."""
    properties: PhysicalProperties
    thickness: float = 0.0
    """Metres, of triangles."""

    def mjcf(self) -> str:
        """One flexible component."""
        material = f'young="{self.properties.youngs_modulus:g}" poisson="{self.properties.poisson_ratio:g}" '
        material += f'damping="{self.properties.damping:g}"'
        dim = self.elements.shape[1] - 1
        if dim == 2:
            material += f' thickness="{self.thickness:g}" elastic2d="both"'
        return (
            f'<flexcomp name="flex" type="direct" dim="{dim}" mass="1" radius="{RADIUS}" '
            f'point="{numbers(self.nodes.ravel())}" element="{" ".join(map(str, self.elements.ravel()))}">'
            f'<contact selfcollide="none" contype="2" conaffinity="1" friction="{self.properties.friction:g} 0 0" condim="3"/>'
            f'<elasticity {material}/><pin id="{" ".join(map(str, self.held))}"/></flexcomp>'
        )


RADIUS = 1e-5
"""Metres: MuJoCo thickens a flexible body by this."""


def record_flex(
    flex: Flex,
    seconds: float,
    steps_per_frame: int,
    integrator: str,
    tool: ToolShape | None = None,
    path: ToolPath | None = None,
    contact: Contact | None = None,
) -> tuple[Floats, Floats]:
    """Nodes (t, n, 3) in metres and the force on the tool (t, 3) in N, its mean since the last frame.

    Args:
        flex: what moves.
        seconds: how long.
        steps_per_frame: at 60 frames a second.
        integrator: `Euler`, with steps short enough for the finest mode and its damping, or `discrete`, which is implicit.
        tool: that pushes.
        path: of the tool.
        contact: of the tool.
    """
    quiet()
    obstacle = tool_body(tool, contact) if tool is not None and contact is not None else ""
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{1.0 / (FRAME_RATE * steps_per_frame):.15g}" integrator="{integrator}" solver="CG" '
        f'tolerance="1e-10" cone="elliptic" impratio="10" gravity="0 0 -9.81"/><size memory="512M"/>'
        f'<default><geom friction="{flex.properties.friction:g} 0 0" solimp="0.999 0.999 0.0001"/></default>'
        f"<worldbody>{flex.mjcf()}{obstacle}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    bodies = model.flex_vertbodyid
    moving = model.body_dofnum[bodies] == 3
    model.body_mass[bodies[moving]] = flex.masses[moving]
    mujoco.mj_setConst(model, data)
    count = round(seconds * FRAME_RATE) + 1
    frames, forces = np.zeros((count, len(flex.nodes), 3)), np.zeros((count, 3))
    momentum = np.zeros(3)
    for step in range((count - 1) * steps_per_frame + 1):
        if step % steps_per_frame == 0:
            mujoco.mj_kinematics(model, data)
            mujoco.mj_flex(model, data)
            frames[step // steps_per_frame] = data.flexvert_xpos.reshape(-1, 3)
            forces[step // steps_per_frame] = momentum * FRAME_RATE
            momentum = np.zeros(3)
        velocity = put_tool(model, data, path) if path is not None else np.zeros(3)
        mujoco.mj_step(model, data)
        if path is not None:
            momentum += tool_momentum(data, velocity)
    return frames, forces
