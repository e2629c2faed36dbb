"""What furniture and appliances share: handles, doors, drawers, knobs, buttons, feet.

Fronts face +x; y is the width, z is up. Doors and drawers are boxes from a low to a high corner, thin in x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from manifold3d import Manifold

from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import (
    Floats,
    Vector,
    arc,
    ball,
    between,
    box,
    cut,
    frame,
    placed,
    rod,
    rounded,
    tray,
    unite,
    wire,
)

Side = Literal["left", "right", "bottom", "top"]
Rect = tuple[float, float, float, float]
"""y from, y to, z from, z to."""


def handle(
    rng: np.random.Generator, at: Vector, out: Vector, along: Vector, length: float, size: float | None = None
) -> list[Manifold]:
    """A handle that sticks out of a surface at a point, in pieces: a bar on posts, a hoop, a bow, a knob or a ledge.

    Args:
        rng: chooses kind and proportions.
        at: on the surface, the handle's middle.
        out: the outward normal there.
        along: the direction of a long handle.
        length: of a long handle.
        size: how far it sticks out; random where None.
    """
    reach = float(rng.uniform(0.025, 0.06) * (2.0 if rng.random() < 0.2 else 1.0)) if size is None else size
    thick = reach * rng.uniform(0.12, 0.25)
    kind = rng.choice(["bar", "square bar", "hoop", "bow", "knob", "ledge"], p=[0.25, 0.2, 0.15, 0.15, 0.17, 0.08])
    half = length / 2
    sunk = -min(0.2 * reach, 0.012)
    if kind == "bar":
        inset = half * rng.uniform(0.75, 1.0)
        posts = [rod((s * inset, 0, sunk), (s * inset, 0, reach), thick, segments=12) for s in (-1, 1)]
        made = [*posts, rod((-half - thick, 0, reach), (half + thick, 0, reach), thick, segments=12)]
    elif kind == "square bar":
        inset = half * rng.uniform(0.8, 1.0)
        posts = [between((s * inset - thick, -thick, sunk), (s * inset + thick, thick, reach)) for s in (-1, 1)]
        made = [*posts, between((-half - thick, -thick, reach - 2 * thick), (half + thick, thick, reach))]
    elif kind == "hoop":
        corner = half * rng.uniform(0.6, 1.0)
        made = [wire([(s * half, 0, sunk), (s * corner, 0, reach)], thick) for s in (-1, 1)]
        made.append(wire([(-corner, 0, reach), (corner, 0, reach)], thick * rng.uniform(0.9, 1.5)))
    elif kind == "bow":
        angle = np.linspace(0, np.pi, 9)
        made = [wire([(-half * np.cos(a), 0, sunk + (reach - sunk) * np.sin(a) ** 0.6) for a in angle], thick)]
    elif kind == "knob":
        radius = reach * rng.uniform(0.3, 0.6)
        top = (
            ball((0, 0, reach), radius)
            if rng.random() < 0.5
            else rod((0, 0, 0.6 * reach), (0, 0, reach), radius, radius * rng.uniform(0.6, 1.1))
        )
        made = [rod((0, 0, sunk), (0, 0, reach * 0.8), radius * 0.5, segments=12), top]
    else:
        made = [between((-half, -thick, sunk), (half, thick, reach * 0.7))]
    if rng.random() < 0.5:
        made = [unite(made)]
    return [placed(piece, frame(at, out, along)) for piece in made]


def swing_door(
    m: Mechanism,
    rng: np.random.Generator,
    parent: int,
    low: Vector,
    high: Vector,
    side: Side,
    limit: float | None = None,
    extra: list[Manifold] | None = None,
    with_handle: bool = True,
) -> int:
    """Hang a door at one side of its front face, so that it swings towards +x without touching its frame; returns the link."""
    (x0, y0, z0), (x1, y1, z1) = np.minimum(low, high), np.maximum(low, high)
    width, height = y1 - y0, z1 - z0
    shapes = [*door_panel(rng, (x0, y0, z0), (x1, y1, z1)), *(extra or [])]
    edge = rng.uniform(0.05, 0.09) * min(width, height)
    if with_handle:
        if side in ("left", "right"):
            y = y1 - edge if side == "left" else y0 + edge
            z = z0 + height * rng.uniform(0.35, 0.65)
            long = min(height * rng.uniform(0.15, 0.6), 2 * min(z - z0, z1 - z) * 0.9)
            shapes += handle(rng, (x1, y, z), (1, 0, 0), (0, 0, 1), long)
        else:
            z = z1 - edge if side == "bottom" else z0 + edge
            shapes += handle(rng, (x1, (y0 + y1) / 2, z), (1, 0, 0), (0, 1, 0), width * rng.uniform(0.2, 0.8))
    origin, axis = {
        "left": ((x1, y0, z0), (0, 0, -1)),
        "right": ((x1, y1, z0), (0, 0, 1)),
        "bottom": ((x1, y0, z0), (0, 1, 0)),
        "top": ((x1, y0, z1), (0, -1, 0)),
    }[side]
    most = float(rng.uniform(1.3, 2.2)) if limit is None else limit
    return m.hinge(parent, shapes, origin, axis, m.coordinate(0.0, most))


def door_panel(rng: np.random.Generator, low: Vector, high: Vector) -> list[Manifold]:
    """A plain panel, one with a recessed field, or an open frame with a pane, in one piece or in several."""
    (x0, y0, z0), (x1, y1, z1) = np.asarray(low), np.asarray(high)
    panel = between(low, high)
    kind = rng.choice(["plain", "recessed", "framed", "boards"], p=[0.4, 0.25, 0.25, 0.1])
    border = rng.uniform(0.1, 0.22) * min(y1 - y0, z1 - z0)
    y2, y3, z2, z3 = y0 + border, y1 - border, z0 + border, z1 - border
    if kind == "plain":
        return [panel]
    if kind == "boards":
        upright, count = bool(rng.random() < 0.6), int(rng.integers(2, 5))
        edges = np.linspace(y0, y1, count + 1) if upright else np.linspace(z0, z1, count + 1)
        return cut(panel, 1 if upright else 2, edges[1:-1])
    if kind == "recessed":
        panel -= between((x1 - (x1 - x0) * rng.uniform(0.2, 0.5), y2, z2), (x1 + 1, y3, z3))
        return [panel]
    rim = panel - between((x0 - 1, y2, z2), (x1 + 1, y3, z3))
    thick = (x1 - x0) * rng.uniform(0.2, 0.6)
    back = x0 + (x1 - x0 - thick) * rng.uniform(0.2, 0.8)
    lap = rng.uniform(0.1, 0.6) * border
    pane = between((back, y2 - lap, z2 - lap), (back + thick, y3 + lap, z3 + lap))
    return [*(frame_members(rim, y2, y3, z2, z3) if rng.random() < 0.5 else [rim]), pane]


def frame_members(rim: Manifold, y2: float, y3: float, z2: float, z3: float) -> list[Manifold]:
    """The four members of a rectangular frame whose opening lies between these: two uprights, and what is between them."""
    left, middle, right = cut(rim, 1, (y2, y3))
    return [left, right, *middle.decompose()]


def case_members(body: Manifold, planes: Sequence[tuple[int, float]]) -> list[Manifold]:
    """A hollow case as boards: cut off what is beyond each plane (axis, place) in turn, on the plane's thinner side."""
    boards: list[Manifold] = []
    rest = body
    for axis, at in planes:
        below, above = cut(rest, axis, (at,))
        low, high = rest.bounding_box()[axis], rest.bounding_box()[axis + 3]
        board, rest = (below, above) if at - low < high - at else (above, below)
        boards.append(board)
    return [piece for piece in (*boards, rest) if not piece.is_empty()]


def drawer(
    m: Mechanism,
    rng: np.random.Generator,
    parent: int,
    low: Vector,
    high: Vector,
    depth: float,
    hollow: bool = True,
    margin: float = 0.0,
) -> int:
    """A drawer that slides towards +x out of its case; returns the link.

    Args:
        m: gets the drawer.
        rng: chooses handle, travel and the height of the sides.
        parent: the case.
        low: corner of the front panel.
        high: its opposite corner.
        depth: of the box behind the panel.
        hollow: a box, or a block.
        margin: how far the panel covers the case's walls on each side.
    """
    (x0, y0, z0), (x1, y1, z1) = np.minimum(low, high), np.maximum(low, high)
    width, height = y1 - y0, z1 - z0
    side = margin + 0.04 * min(width, height) + 0.002
    back, top = (x0 - depth, y0 + side, z0 + side), z1 - height * rng.uniform(0.1, 0.4)
    front = (x0 + 0.3 * (x1 - x0), y1 - side, top)
    wall = min(0.012, 0.08 * min(width, height))
    panel, ceiling = between((x0, y0, z0), (x1, y1, z1)), z1
    if not hollow:
        shapes = [panel, between(back, front)]
    elif rng.random() < 0.3:
        y2, y3 = (y0, y1) if margin == 0 else (y0 + side, y1 - side)
        ceiling = top if rng.random() < 0.5 else z1 - (0 if margin == 0 else side)
        shapes = [tray((back[0], y2, back[2]), (x1, y3, ceiling), wall * rng.uniform(1.0, 1.8))]
    else:
        box_body = tray(back, front, wall)
        planes = [(1, back[1] + wall), (1, front[1] - wall), (0, x0 - depth + wall)]
        shapes = [panel, *(case_members(box_body, planes) if rng.random() < 0.3 else [box_body])]
    long = width * rng.uniform(0.12, 0.6)
    if width > 0.8 and rng.random() < 0.4:
        for y in (y0 + width / 4, y1 - width / 4):
            place = (x1, y, (z0 + z1) / 2)
            shapes += handle(np.random.default_rng(7), place, (1, 0, 0), (0, 1, 0), width * 0.15, min(0.045, height / 3))
    elif rng.random() < 0.93:
        place = (x1, (y0 + y1) / 2, z0 + (ceiling - z0) * rng.uniform(0.45, 0.8))
        shapes += handle(rng, place, (1, 0, 0), (0, 1, 0), long, min(0.05, height / 3))
    return m.slide(parent, shapes, (1, 0, 0), m.coordinate(0.0, float(depth * rng.uniform(0.5, 0.92))))


def turning_knob(m: Mechanism, rng: np.random.Generator, parent: int, at: Vector, out: Vector, radius: float, up: Vector) -> int:
    """A knob or dial that turns about the surface's normal; a grip or a pointer shows how far; returns the link."""
    height = radius * rng.uniform(0.5, 1.3)
    kind = rng.choice(["grip", "pointer", "star"], p=[0.45, 0.35, 0.2])
    base = 0.03 * radius
    disc = rod((0, 0, base), (0, 0, height * 0.5), radius, radius * rng.uniform(0.8, 1.0))
    if kind == "grip":
        grip = box((0, 0, 0.7 * height), (2 * radius * rng.uniform(0.85, 1.15), radius * rng.uniform(0.25, 0.5), 0.6 * height))
        made = [disc, grip]
    elif kind == "pointer":
        tall = rod((0, 0, base), (0, 0, height), radius * 0.8, radius * 0.7)
        made = [disc, tall, box((radius * 0.6, 0, 0.35 * height), (1.2 * radius, 0.2 * radius, 0.5 * height))]
    else:
        arms = int(rng.integers(3, 6))
        turns = [2 * np.pi * i / arms for i in range(arms)]
        lobes = [
            rod(
                (0.8 * radius * np.cos(a), 0.8 * radius * np.sin(a), base),
                (0.8 * radius * np.cos(a), 0.8 * radius * np.sin(a), height),
                0.3 * radius,
                segments=12,
            )
            for a in turns
        ]
        made = [rod((0, 0, base), (0, 0, height), 0.8 * radius), *lobes]
    limit = float(rng.uniform(1.5, 5.0))
    low = 0.0 if rng.random() < 0.6 else -limit / 2
    return m.hinge(parent, [placed(piece, frame(at, out, up)) for piece in made], at, out, m.coordinate(low, low + limit, 0.0))


def push_button(
    m: Mechanism, rng: np.random.Generator, parent: int, at: Vector, out: Vector, radius: float, travel: float | None = None
) -> int:
    """A round or square button that is pressed into a surface; returns the link."""
    reach = radius * rng.uniform(0.5, 1.2) if travel is None else travel * 1.2
    gap = 0.02 * radius
    kind = rng.choice(["round", "square", "capped"], p=[0.45, 0.3, 0.25])
    moves = float(0.85 * (reach - gap)) if travel is None else travel
    if kind == "round":
        shapes = [rod((0, 0, gap), (0, 0, reach), radius, radius * rng.uniform(0.85, 1.0))]
    elif kind == "square":
        shapes = [rounded((0, 0, (gap + reach) / 2), (1.8 * radius, 1.8 * radius, reach - gap), 0.2 * min(radius, reach))]
    else:
        cap = reach * rng.uniform(0.25, 0.5)
        stem = rod((0, 0, gap), (0, 0, reach + 0.5 * cap), radius * rng.uniform(0.3, 0.7), segments=16)
        shapes = [stem, rod((0, 0, reach), (0, 0, reach + cap), radius, radius * rng.uniform(0.7, 1.0))]
    return m.slide(parent, [placed(each, frame(at, out)) for each in shapes], -np.asarray(out, float), m.coordinate(0.0, moves))


def feet(rng: np.random.Generator, low: Vector, high: Vector) -> list[Manifold]:
    """What a box stands on, below its low corner: nothing, four legs, or a plinth."""
    (x0, y0, z0), (x1, y1, _) = np.asarray(low), np.asarray(high)
    kind = rng.choice(["none", "legs", "round legs", "plinth"], p=[0.4, 0.2, 0.2, 0.2])
    if kind == "none":
        return []
    inset = 0.06 * min(x1 - x0, y1 - y0)
    if kind == "plinth":
        return [between((x0 + inset, y0 + inset, z0 - rng.uniform(0.03, 0.1)), (x1 - inset, y1 - inset, z0 + 0.005))]
    thick, tall = rng.uniform(0.012, 0.03), rng.uniform(0.04, 0.35)
    inset += thick
    corners = [(x, y) for x in (x0 + inset, x1 - inset) for y in (y0 + inset, y1 - inset)]
    if kind == "legs":
        return [between((x - thick, y - thick, z0 - tall), (x + thick, y + thick, z0 + 0.005)) for x, y in corners]
    spread = rng.uniform(0, 0.15) * tall
    middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2])
    return [
        rod((*(np.array(c) + spread * np.sign(np.array(c) - middle)), z0 - tall), (*c, z0 + 0.005), thick * 0.7, thick)
        for c in corners
    ]


def split(rng: np.random.Generator, rect: Rect, cells: int) -> list[Rect]:
    """Divide a rectangle by straight cuts into `cells` rectangles, the longer side mostly first."""
    if cells <= 1:
        return [rect]
    y0, y1, z0, z1 = rect
    first = int(rng.integers(1, cells))
    share = first / cells if rng.random() < 0.6 else float(np.clip(first / cells + rng.uniform(-0.15, 0.15), 0.2, 0.8))
    if (y1 - y0 > 1.2 * (z1 - z0)) != (rng.random() < 0.15):
        cut = y0 + share * (y1 - y0)
        return split(rng, (y0, cut, z0, z1), first) + split(rng, (cut, y1, z0, z1), cells - first)
    cut = z0 + share * (z1 - z0)
    return split(rng, (y0, y1, z0, cut), first) + split(rng, (y0, y1, cut, z1), cells - first)


def inset_by(rect: Rect, margin: float) -> Rect:
    """The rectangle, smaller by a margin on all sides."""
    y0, y1, z0, z1 = rect
    return y0 + margin, y1 - margin, z0 + margin, z1 - margin


def bow(center: Vector, start: Vector, axis: Vector, degrees: float, radius: float, steps: int = 10) -> Manifold:
    """A round wire along an arc of a circle from `start` about `center`."""
    points: list[Vector] = [np.asarray(p, float) for p in arc(center, start, axis, degrees, steps)]
    return wire(points, radius)


def around(center: Vector, radius: float, count: int, phase: float = 0.0) -> list[Floats]:
    """Points (count) on a horizontal circle."""
    turns = phase + 2 * np.pi * np.arange(count) / count
    return [np.asarray(center, float) + radius * np.array([np.cos(a), np.sin(a), 0.0]) for a in turns]
