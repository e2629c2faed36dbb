"""Door, drawer, laptop lid, faucet lever and chain: exact kinematics, frictionless joints."""

from __future__ import annotations

from functools import partial

import numpy as np

from neurok_ros.dynamics import ToolKind, ToolShape
from validation.case import Case
from validation.mujoco.comparison import Push, Setting, compared, through
from validation.mujoco.mechanism import Link, Mechanism
from validation.mujoco.primitive import Primitive, box
from validation.mujoco.reference import IMPACT, PUSHING

WOOD, METAL, PLASTIC = 500.0, 2700.0, 1200.0
"""kg/m^3."""
FINGER = ToolShape(ToolKind.SPHERE, (0.02,))
FINE_STEP = 1.0 / 240.0
"""Seconds: for comparisons with equal steps."""
LID_HINGE = 0.009
"""Metres above the laptop's base."""
PAD = ToolShape(ToolKind.BOX, (0.04, 0.06, 0.06))


def door() -> Mechanism:
    """A room door 0.8 m wide and 2 m high on a vertical hinge along x = y = 0, with a handle on both sides."""
    leaf = box((0.0, -0.02, 0.0), (0.8, 0.02, 2.0), WOOD)
    handles = [box((0.66, y - 0.015, 0.99), (0.78, y + 0.015, 1.01), METAL) for y in (-0.045, 0.045)]
    return Mechanism(
        (Link((leaf, *handles), "hinge", (0.0, 0.0, 1.0)),), base=(box((-0.08, -0.05, 0.0), (-0.01, 0.05, 2.1), WOOD),)
    )


def door_setting(speed: float) -> Setting:
    """A fingertip pushes the leaf 0.6 m from its hinge over 0.2 m, then goes back."""
    start, end, met = -0.06, 0.16, 0.22 / speed
    path = through((0.0, 0.6, start, 1.2), (met, 0.6, end, 1.2), (met + 0.3, 0.6, start, 1.2))
    return Setting(door(), Push(FINGER, path, 0.008, 0.1))


def drawer() -> Mechanism:
    """A drawer 0.4 m wide and deep, open by 0.3 m, that slides along x."""
    low, high, wall = (0.0, -0.2, 0.0), (0.4, 0.2, 0.12), 0.012
    front = box((high[0], low[1] - 0.02, -0.02), (high[0] + 0.02, high[1] + 0.02, high[2] + 0.02), WOOD)
    floor = box((wall, -0.2 + wall, 0.0), (0.4, 0.2 - wall, wall), WOOD)
    back = box((0.0, -0.2, 0.0), (wall, 0.2, 0.12), WOOD)
    sides = [box((wall, a, 0.0), (0.4, a + wall, 0.12), WOOD) for a in (-0.2, 0.2 - wall)]
    grip = box((0.42, -0.06, 0.05), (0.445, 0.06, 0.07), METAL)
    case = (box((-0.02, -0.24, -0.03), (0.0, 0.24, 0.16), WOOD), box((0.0, -0.24, 0.15), (0.4, 0.24, 0.16), WOOD))
    return Mechanism((Link((front, floor, back, *sides, grip), "slide", (1.0, 0.0, 0.0), rest=0.3),), base=case)


def drawer_setting(speed: float) -> Setting:
    """A pad pushes the grip inwards over 0.12 m and stops; the drawer goes on."""
    duration = 0.13 / speed
    path = through((0.0, 0.775, 0.0, 0.06), (duration, 0.645, 0.0, 0.06))
    return Setting(drawer(), Push(PAD, path, 0.01, 0.12), seconds=min(2.0, duration + 0.15 / speed))


def laptop(angle: float) -> Mechanism:
    """A laptop whose lid, closed at 0, stands open by an angle in radians; the top of its base is z = 0."""
    lid = box((0.0, -0.16, 0.001), (0.22, 0.16, LID_HINGE), PLASTIC)
    link = Link((lid,), "hinge", (0.0, -1.0, 0.0), (0.0, 0.0, LID_HINGE), rest=angle)
    return Mechanism((link,), base=(box((0.0, -0.16, -0.018), (0.22, 0.16, 0.0), PLASTIC),))


def lid_swings() -> Setting:
    """The base at a table's edge: the lid, folded back below the horizontal, is let go and swings by 80 degrees to each side."""
    return Setting(laptop(np.radians(190.0)))


def lid_pushed(duration: float) -> Setting:
    """A fingertip behind the lid, which leans on it at 120 degrees, turns it past upright; it falls shut on its base."""
    angle = np.radians(120.0)
    along, out = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    x, z = np.array([0.0, LID_HINGE]) + 0.15 * along + (FINGER.dimensions[0] + 0.0005) * out
    path = through((0.0, x, 0.0, z), (duration, 0.0, 0.0, z), (duration + 0.3, x, 0.0, z))
    return Setting(laptop(angle), Push(FINGER, path, 0.01, 0.4, PUSHING), floor=IMPACT)


def faucet() -> Mechanism:
    """A lever 0.14 m long on a round knob that turns about z."""
    knob = Primitive("cylinder", (0.0, 0.0, 0.22), (0.025, 0.025, 0.02), METAL)
    lever = box((0.025, -0.008, 0.215), (0.165, 0.008, 0.23), METAL)
    return Mechanism(
        (Link((knob, lever), "hinge", (0.0, 0.0, 1.0)),),
        base=(Primitive("cylinder", (0.0, 0.0, 0.1), (0.022, 0.022, 0.1), METAL),),
    )


def faucet_setting(speed: float) -> Setting:
    """A fingertip pushes the lever near its end along a straight line, sliding along it, and stops."""
    path = through((0.0, 0.14, -0.04, 0.222), (0.14 / speed, 0.14, 0.1, 0.222))
    return Setting(faucet(), Push(FINGER, path, 0.002, 0.06))


def chain(angle: float) -> Mechanism:
    """Four links of 0.15 m, hung from the origin, the first turned by an angle in radians out of the vertical."""
    links = []
    for number in range(4):
        top = -0.15 * number
        links.append(
            Link(
                (box((-0.015, -0.015, top - 0.145), (0.015, 0.015, top - 0.005), METAL),),
                "hinge",
                (0.0, 1.0, 0.0),
                (0.0, 0.0, top),
                angle * (number == 0),
            )
        )
    return Mechanism(tuple(links), chained=True)


def chain_setting(speed: float) -> Setting:
    """A fingertip pushes the hanging chain's lowest link 0.1 m to the side, then goes back; 0: it swings from 60 degrees."""
    if speed == 0.0:
        return Setting(chain(np.radians(60.0)))
    met = 0.12 / speed
    path = through((0.0, -0.055, 0.0, -0.525), (met, 0.065, 0.0, -0.525), (met + 0.1, -0.055, 0.0, -0.525))
    return Setting(chain(0.0), Push(FINGER, path, 0.0025, 0.04))


CASES: list[Case] = [
    Case(name, "MuJoCo", description, partial(compared, setting))
    for name, description, setting in (
        ("door pushed slowly", "Leaf of a room door, pushed at 0.2 m/s and let go: vertices over 2 s.", door_setting(0.2)),
        ("door pushed fast", "The same at 1 m/s.", door_setting(1.0)),
        ("drawer pushed slowly", "An open drawer, pushed in at 0.1 m/s and let go.", drawer_setting(0.1)),
        ("drawer pushed fast", "The same at 0.5 m/s.", drawer_setting(0.5)),
        ("laptop lid swings", "The lid falls back over a table's edge and swings for 2 s, untouched.", lid_swings()),
        ("laptop lid pushed shut", "The lid, leaning on a finger that takes it past upright, falls shut.", lid_pushed(0.8)),
        ("laptop lid pushed shut fast", "The same in a quarter of the time.", lid_pushed(0.2)),
        (
            "faucet lever pushed slowly",
            "The lever, pushed at 0.1 m/s, the finger sliding along it.",
            faucet_setting(0.1),
        ),
        ("faucet lever pushed fast", "The same at 0.5 m/s; the lever turns on.", faucet_setting(0.5)),
        ("chain swings", "Four hinged links swing from 60 degrees for 2 s, untouched.", chain_setting(0.0)),
        ("chain pushed slowly", "Four hinged links, hanging, pushed to the side at 0.2 m/s and let go.", chain_setting(0.2)),
        ("chain pushed fast", "The same at 1 m/s.", chain_setting(1.0)),
    )
]
