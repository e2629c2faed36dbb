"""MuJoCo as the reference: its settings, the tool on its path, and what is recorded.

What has to be done so that it answers the same question as this package:

- The tool is a body with velocity, put back on its path before every step, so heavy (`TOOL_MASS`) that no contact moves it.
  A mocap body has no velocity in MuJoCo: friction and the contact's damping would take a moving tool for one that rests.
- Impacts do not rebound, as they do not here: contacts are overdamped. With a time constant T and a damping ratio z an object
  leaves with 1 / (4 z^2) of its speed of approach; the usual z = 1 would give back a tenth.
- Sliding does not lift: MuJoCo's friction is part of a convex problem, whose solution for something that slides is to separate
  as well, the more the stiffer its contacts: hit at 0.6 m/s, a box on a stiff table hopped by 2 mm; pushed at 0.1 m/s with
  T = 0.25 ms and z = 20 it jumped by 10 mm and fell over. So what slides does so on softer contacts (`SLIDING`, `PUSHING`), with
  which a sliding box stops where Coulomb's law says, to 0.2 %.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from neurok_ros.dynamics import ToolKind, ToolPath, ToolShape
from validation.mujoco.primitive import numbers

Floats = NDArray[np.float64]

FRAME_RATE = 60
STEPS_PER_FRAME = 160
"""So that a step is about 0.1 ms."""
TOOL_MASS = 1.0e4
"""kg."""


@dataclass(frozen=True)
class Contact:
    """How contacts with an obstacle give way (MuJoCo's solref)."""

    time_constant: float
    """Seconds; at least two steps."""
    damping_ratio: float

    def attributes(self) -> str:
        """MJCF of an obstacle's geom, whose parameters hold against every body."""
        return f'contype="1" conaffinity="0" priority="1" solref="{self.time_constant} {self.damping_ratio}"'


IMPACT = Contact(2.5e-4, 20.0)
"""Gives back 0.06 % of the speed of an impact."""
PUSHING = Contact(1e-3, 4.0)
"""Of a tool that pushes something that slides on a table."""
TOUCHING = Contact(5e-4, 1.0)
"""Of a tool on something soft, which is stopped by its own elasticity."""
SLIDING = Contact(5e-3, 1.0)
"""Of that table."""


@dataclass(frozen=True)
class Recording:
    """What MuJoCo says at each frame."""

    times: Floats
    """(t,) seconds, from 0."""
    rotations: Floats
    """(t, bodies, 3, 3)."""
    shifts: Floats
    """(t, bodies, 3) metres."""
    coordinates: Floats
    """(t, nq)."""
    tool_force: Floats
    """(t, 3) N on the tool, mean over the time since the last frame."""
    penetration: float
    """Metres, the deepest of all steps."""

    def points(self, rest: Floats, body: NDArray[np.int64]) -> Floats:
        """(t, n, 3) metres, of points (n, 3) that belong to bodies (n,) whose frames were at the origin."""
        return np.asarray(np.einsum("tnij,nj->tni", self.rotations[:, body], rest) + self.shifts[:, body])


def tool_body(tool: ToolShape, contact: Contact) -> str:
    """MJCF of a tool."""
    if tool.kind is ToolKind.SPHERE:
        geom, size = "sphere", tool.dimensions
    elif tool.kind is ToolKind.BOX:
        geom, size = "box", tool.half_extents
    else:
        geom, size = "cylinder", (tool.dimensions[1], 0.5 * tool.dimensions[0])
    inertia = numbers((TOOL_MASS,) * 3)
    return (
        f'<body name="tool" gravcomp="1"><freejoint/>'
        f'<inertial pos="0 0 0" mass="{TOOL_MASS:g}" diaginertia="{inertia}"/>'
        f'<geom name="tool" type="{geom}" size="{numbers(size)}" {contact.attributes()}/></body>'
    )


def floor(contact: Contact) -> str:
    """MJCF of the plane z = 0."""
    return f'<geom name="floor" type="plane" size="5 5 0.1" {contact.attributes()}/>'


def world(bodies: str, obstacles: str, friction: float, integrator: str, steps_per_frame: int = STEPS_PER_FRAME) -> str:
    """MJCF of a world in which bodies touch obstacles, but not each other."""
    return (
        f'<mujoco><option timestep="{1.0 / (FRAME_RATE * steps_per_frame):.15g}" gravity="0 0 -9.81" integrator="{integrator}" '
        f'cone="elliptic" impratio="100" solver="Newton" tolerance="1e-14" iterations="200"/>'
        f'<default><geom solimp="0.9999 0.9999 0.0001" friction="{friction:g} 0 0" condim="3" contype="2" conaffinity="1"/>'
        f"</default><worldbody>{bodies}{obstacles}</worldbody></mujoco>"
    )


def record(
    xml: str,
    names: list[str],
    seconds: float,
    path: ToolPath | None = None,
    start: Floats | None = None,
) -> Recording:
    """Let MuJoCo move a world.

    Args:
        xml: of `world`.
        names: bodies to record.
        seconds: how long.
        path: of the tool, if the world has one.
        start: (nq,) the bodies' coordinates without the tool's; None: as the world says.
    """
    quiet()
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    bodies = [mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) for name in names]
    if start is not None:
        data.qpos[: len(start)] = start
    steps = round(1.0 / (FRAME_RATE * model.opt.timestep))
    coordinates = model.nq - (7 if path is not None else 0)
    count = round(seconds * FRAME_RATE) + 1
    kept = Recording(
        np.arange(count) / FRAME_RATE,
        np.zeros((count, len(bodies), 3, 3)),
        np.zeros((count, len(bodies), 3)),
        np.zeros((count, coordinates)),
        np.zeros((count, 3)),
        0.0,
    )
    deepest, momentum = 0.0, np.zeros(3)
    for step in range((count - 1) * steps + 1):
        if step % steps == 0:
            frame = step // steps
            mujoco.mj_forward(model, data)
            kept.rotations[frame] = data.xmat[bodies].reshape(-1, 3, 3)
            kept.shifts[frame] = data.xpos[bodies]
            kept.coordinates[frame] = data.qpos[:coordinates]
            kept.tool_force[frame] = momentum * FRAME_RATE
            momentum = np.zeros(3)
        velocity = put_tool(model, data, path) if path is not None else np.zeros(3)
        mujoco.mj_step(model, data)
        if path is not None:
            momentum += tool_momentum(data, velocity)
        if data.ncon:
            deepest = max(deepest, -float(data.contact.dist.min()))
    return Recording(kept.times, kept.rotations, kept.shifts, kept.coordinates, kept.tool_force, deepest)


def put_tool(model: mujoco.MjModel, data: mujoco.MjData, path: ToolPath) -> Floats:
    """Set pose and velocity of the tool, which is the last body; the velocity (3,) in m/s."""
    step = model.opt.timestep
    position, quaternion = path.pose(data.time)
    after, turned = path.pose(data.time + step)
    here = np.array([quaternion[3], *quaternion[:3]])
    there = np.array([turned[3], *turned[:3]])
    data.qpos[-7:-4], data.qpos[-4:] = position, here
    velocity = (after - position) / step
    spin = np.zeros(3)
    mujoco.mju_subQuat(spin, there, here)
    data.qvel[-6:-3], data.qvel[-3:] = velocity, spin / step
    return np.asarray(velocity)


def tool_momentum(data: mujoco.MjData, velocity: Floats) -> Floats:
    """(3,) N s that the tool took up in the step that it began with this velocity (3,) in m/s."""
    return np.asarray(TOOL_MASS * (data.qvel[-6:-3] - velocity))


def quiet() -> None:
    """Keep MuJoCo from writing its warnings to a file in the folder where a command runs; a motion that went wrong shows."""
    mujoco.set_mju_user_warning(_ignore)


def _ignore(message: str) -> None:
    del message
