"""Cabinets, desks, room doors and windows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from manifold3d import Manifold

from training.data.articulated.fronts import Rect, door_panel, drawer, feet, handle, inset_by, split, swing_door, turning_knob
from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import ball, between, frame, placed, rod, rounded, unite, wire


def cabinet(rng: np.random.Generator) -> Mechanism:
    """Drawers and doors in all arrangements, in a hollow or a solid case."""
    return _case(rng, float(rng.uniform(0.25, 0.6)), float(rng.uniform(0.35, 1.5)), float(rng.uniform(0.3, 1.8)), None)


def chest_of_drawers(rng: np.random.Generator) -> Mechanism:
    """Drawers only: one to nine."""
    return _case(rng, float(rng.uniform(0.3, 0.6)), float(rng.uniform(0.3, 1.2)), float(rng.uniform(0.2, 1.2)), "drawer")


def wardrobe(rng: np.random.Generator) -> Mechanism:
    """Doors only, high or low, hinged or sliding."""
    kind = "sliding" if rng.random() < 0.35 else "door"
    return _case(rng, float(rng.uniform(0.3, 0.65)), float(rng.uniform(0.6, 1.8)), float(rng.uniform(0.5, 2.0)), kind)


def _case(rng: np.random.Generator, depth: float, width: float, height: float, kind: str | None) -> Mechanism:
    m = Mechanism()
    wall = float(rng.uniform(0.015, 0.04))
    hollow = rng.random() < 0.75
    inset = rng.random() < 0.5
    panel = float(rng.uniform(0.012, 0.03))
    gap = float(rng.uniform(0.002, 0.006))
    most = 2 if kind in ("door", "sliding") else 9
    cells = split(rng, (wall / 2, width - wall / 2, wall / 2, height - wall / 2), int(rng.integers(1, most + 1)))
    body = between((0, 0, 0), (depth, width, height))
    kinds = [kind or _cell_kind(rng, cell) for cell in cells]
    if all(what == "open" for what in kinds):
        kinds[-1] = "door"
    for cell, what in zip(cells, kinds, strict=True):
        y0, y1, z0, z1 = inset_by(cell, wall / 2)
        if hollow or what == "open":
            body -= between((wall, y0, z0), (depth + 1, y1, z1))
        elif what in ("drawer", "sliding") or inset:
            deep = 0.8 * depth if what == "drawer" else 2.6 * panel
            body -= between((depth - deep, y0, z0), (depth + 1, y1, z1))
    shapes = [body, *feet(rng, (0, 0, 0), (depth, width, height))]
    if rng.random() < 0.4:
        over = rng.uniform(0.0, 0.03)
        shapes.append(between((-0.001, -over, height - 0.005), (depth + over, width + over, height + rng.uniform(0.01, 0.04))))
    if hollow and rng.random() < 0.4:
        y0, y1, z0, z1 = inset_by(cells[0], wall / 2)
        if kinds[0] in ("door", "open") and z1 - z0 > 0.3:
            z = (z0 + z1) / 2
            shapes.append(between((wall / 2, y0 - 0.002, z - 0.006), (depth * 0.85, y1 + 0.002, z + 0.006)))
    base = m.base(*shapes)
    back = 0.25 * depth + wall if hollow else 0.3 * depth
    for cell, what in zip(cells, kinds, strict=True):
        within = inset or what == "sliding"
        rect = inset_by(cell, wall / 2 + gap if within else gap)
        face = depth if within else depth + panel + gap
        _fill(m, rng, base, rect, what, face, panel, face - panel - back, 0.0 if within else wall / 2)
    return m


def _cell_kind(rng: np.random.Generator, cell: Rect) -> str:
    y0, y1, z0, z1 = cell
    flat = (y1 - y0) / (z1 - z0)
    if flat > 1.3:
        return str(rng.choice(["drawer", "flap", "door", "open", "sliding"], p=[0.6, 0.15, 0.1, 0.05, 0.1]))
    return str(rng.choice(["drawer", "flap", "door", "open", "sliding"], p=[0.15, 0.05, 0.68, 0.07, 0.05]))


def _fill(
    m: Mechanism,
    rng: np.random.Generator,
    base: int,
    rect: Rect,
    what: str,
    front: float,
    panel: float,
    depth: float,
    margin: float,
) -> None:
    """Put a moving front of some kind into one cell; its face lies at x = front and covers the case's walls by `margin`."""
    y0, y1, z0, z1 = rect
    if what == "drawer":
        drawer(m, rng, base, (front - panel, y0, z0), (front, y1, z1), depth, rng.random() < 0.7, margin)
    elif what == "flap":
        swing_door(m, rng, base, (front - panel, y0, z0), (front, y1, z1), "top" if rng.random() < 0.5 else "bottom")
    elif what == "door" and (y1 - y0 > 0.9 * (z1 - z0) or y1 - y0 > 0.8) and rng.random() < 0.8:
        middle, gap = (y0 + y1) / 2, 0.002
        swing_door(m, rng, base, (front - panel, y0, z0), (front, middle - gap, z1), "left")
        swing_door(m, rng, base, (front - panel, middle + gap, z0), (front, y1, z1), "right")
    elif what == "door":
        swing_door(m, rng, base, (front - panel, y0, z0), (front, y1, z1), "left" if rng.random() < 0.5 else "right")
    elif what == "sliding":
        _sliding_panels(m, rng, base, rect, front, panel)


def _sliding_panels(m: Mechanism, rng: np.random.Generator, base: int, rect: Rect, front: float, panel: float) -> None:
    y0, y1, z0, z1 = rect
    wide = (y1 - y0) * rng.uniform(0.5, 0.54)
    travel = (y1 - y0) - wide
    both = rng.random() < 0.6
    for first in (True, False):
        low = y0 if first else y1 - wide
        x = front - (0 if first else 1.2 * panel)
        shape = door_panel(rng, (x - panel, low, z0), (x, low + wide, z1))
        y = low + wide * (0.05 if first else 0.95)
        grip = handle(rng, (x, y, (z0 + z1) / 2), (1, 0, 0), (0, 0, 1), (z1 - z0) * 0.2, panel * (1.0 if first else 0.15))
        shapes = [shape, grip]
        if first or both:
            m.slide(base, shapes, (0, 1 if first else -1, 0), m.coordinate(0.0, float(travel)))
        else:
            m.fix(base, shapes)


def desk(rng: np.random.Generator) -> Mechanism:
    """A table top on legs or side panels, with drawers hung under it."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.4, 0.8), rng.uniform(0.7, 1.6), rng.uniform(0.5, 0.8)
    top = rng.uniform(0.02, 0.05)
    thick = rng.uniform(0.02, 0.04)
    shapes = [between((0, 0, height - top), (depth, width, height))]
    if rng.random() < 0.5:
        shapes += [between((0, y, 0), (depth, y + thick, height - top / 2)) for y in (0, width - thick)]
    else:
        shapes += [
            between((x, y, 0), (x + thick, y + thick, height - top / 2)) for x in (0, depth - thick) for y in (0, width - thick)
        ]
    under = height - top
    left, right = thick * 1.2, width - thick * 1.2
    if rng.random() < 0.5:
        stack, tall, block = int(rng.integers(1, 5)), under * rng.uniform(0.4, 0.9), rng.uniform(0.28, 0.45) * width
        spans = [(left, left + block), (right - block, right)] if rng.random() < 0.35 else [(right - block, right)]
        rows = [(y0, y1, under - (i + 1) * tall / stack, under - i * tall / stack) for y0, y1 in spans for i in range(stack)]
    else:
        count, tall = int(rng.integers(1, 4)), rng.uniform(0.08, 0.15)
        edges = np.linspace(left, right, count + 1)
        rows = [(float(a), float(b), under - tall, under) for a, b in pairwise(edges)]
    wall = 0.012
    case = unite([between((0.03, y0, z0), (depth - 0.03, y1, z1 + 0.003)) for y0, y1, z0, z1 in rows])
    for row in rows:
        y0, y1, z0, z1 = inset_by(row, wall / 2)
        case -= between((0.03 + wall, y0, z0), (depth, y1, z1))
    base = m.base(*shapes, case)
    for row in rows:
        y0, y1, z0, z1 = inset_by(row, wall / 2 + 0.003)
        drawer(m, rng, base, (depth - 0.05, y0, z0), (depth - 0.03, y1, z1), 0.8 * (depth - 0.1))
    return m


def room_door(rng: np.random.Generator) -> Mechanism:
    """A door in its frame, with a lever handle or a knob on both sides that turns; one or two leaves."""
    m = Mechanism()
    width, height, thick = rng.uniform(0.6, 1.0), rng.uniform(1.2, 2.1), rng.uniform(0.03, 0.06)
    post = rng.uniform(0.04, 0.1)
    leaves = 2 if rng.random() < 0.2 else 1
    total = leaves * width
    frame_shape = between((-thick, -post, 0), (thick, total + post, height + post)) - between((-1, 0, -1), (1, total, height))
    if rng.random() < 0.5:
        frame_shape += between((-thick, -post, -0.02), (thick, total + post, 0.004))
    if rng.random() < 0.3:
        frame_shape += between((-thick * 0.9, -post - rng.uniform(0.1, 0.6), 0), (thick * 0.9, -post + 0.01, height + post))
    base = m.base(frame_shape)
    for leaf in range(leaves):
        y0, y1 = leaf * width + 0.004, (leaf + 1) * width - 0.004
        left = leaf == 0 if leaves == 2 else rng.random() < 0.5
        low, high = (-thick / 2, y0, 0.008), (thick / 2, y1, height - 0.004)
        link = swing_door(m, rng, base, low, high, "left" if left else "right", float(rng.uniform(1.4, 2.4)), with_handle=False)
        if rng.random() < 0.85:
            _latch(
                m,
                rng,
                link,
                y1 - 0.09 * width if left else y0 + 0.09 * width,
                height * rng.uniform(0.42, 0.52),
                thick,
                -1 if left else 1,
            )
    return m


def _latch(m: Mechanism, rng: np.random.Generator, door: int, y: float, z: float, thick: float, inward: int) -> None:
    """A spindle through the door with a lever or a knob at each end."""
    reach = rng.uniform(0.04, 0.07)
    shapes = [rod((-thick / 2 - reach, y, z), (thick / 2 + reach, y, z), 0.011, segments=12)]
    lever = rng.random() < 0.65
    for side in (-1, 1):
        x = side * (thick / 2 + reach)
        if lever:
            shapes.append(wire([(x, y, z), (x, y + inward * rng.uniform(0.09, 0.14), z)], 0.01))
        else:
            shapes.append(ball((x, y, z), 0.03, (0.7, 1, 1)))
            shapes.append(between((x - 0.02, y - 0.004, z - 0.034), (x + 0.02, y + 0.004, z + 0.034)))
    m.hinge(door, shapes, (0, y, z), (-inward, 0, 0), m.coordinate(0.0, float(rng.uniform(0.6, 1.2))))


def window(rng: np.random.Generator) -> Mechanism:
    """A frame with sashes that slide sideways or up, or swing out about a side, the top or the bottom."""
    m = Mechanism()
    width, height, deep = rng.uniform(0.4, 1.6), rng.uniform(0.4, 1.4), rng.uniform(0.05, 0.1)
    post = rng.uniform(0.03, 0.08)
    outer = between((-deep / 2, -post, -post), (deep / 2, width + post, height + post))
    base_shape = outer - between((-1, 0, 0), (1, width, height))
    if rng.random() < 0.35:
        base_shape += between((-deep / 2, -post - 0.05, -post - 0.03), (deep, width + post + 0.05, -post + 0.005))
    base = m.base(base_shape)
    bar, thin = rng.uniform(0.025, 0.06), deep * 0.3
    if rng.random() < 0.55:
        upward = rng.random() < 0.4
        span = height if upward else width
        size = span * rng.uniform(0.49, 0.54)
        for number in (0, 1):
            start = 0.003 if number == 0 else span - size - 0.003
            x = 0.6 * thin * (1 if number == 0 else -1)
            rect = (0.003, width - 0.003, start, start + size) if upward else (start, start + size, 0.003, height - 0.003)
            shapes = [_sash(rng, rect, bar, x - thin / 2, x + thin / 2)]
            y = width / 2 if upward else rect[0] + (0.06 if number == 0 else 0.94) * size
            z = rect[2] + bar / 2 if upward else height / 2
            if number == 0:
                shapes.append(
                    handle(
                        rng, (x + thin / 2, y, z), (1, 0, 0), (0, 1, 0) if upward else (0, 0, 1), 0.12, rng.uniform(0.03, 0.06)
                    )
                )
            travel = span - size - 0.006
            sign = 1 if number == 0 else -1
            if number == 0 or rng.random() < 0.4:
                m.slide(base, shapes, (0, 0, sign) if upward else (0, sign, 0), m.coordinate(0.0, float(travel)))
            else:
                m.fix(base, shapes)
    else:
        sides = {1: ["left", "right", "top", "bottom"][int(rng.integers(4))], 2: "both"}[int(rng.integers(1, 3))]
        halves = [("left", 0.003, width / 2 - 0.002), ("right", width / 2 + 0.002, width - 0.003)]
        for side, y0, y1 in halves if sides == "both" else [(sides, 0.003, width - 0.003)]:
            _casement(m, rng, base, side, (y0, y1, 0.003, height - 0.003), bar, thin)
    return m


def _sash(rng: np.random.Generator, rect: Rect, bar: float, x0: float, x1: float) -> Manifold:
    """A frame around a thin pane, perhaps with glazing bars."""
    y0, y1, z0, z1 = rect
    solid = between((x0, y0, z0), (x1, y1, z1))
    third = (x1 - x0) / 3
    opening = (y0 + bar, y1 - bar, z0 + bar, z1 - bar)
    for a, b in ((x0 - 1, x0 + third), (x1 - third, x1 + 1)):
        solid -= between((a, opening[0], opening[2]), (b, opening[1], opening[3]))
    if rng.random() < 0.4:
        y, z = (y0 + y1) / 2, (z0 + z1) / 2
        solid += between((x0 + 0.001, y - bar / 4, z0 + bar / 2), (x1 - 0.001, y + bar / 4, z1 - bar / 2))
        solid += between((x0 + 0.001, y0 + bar / 2, z - bar / 4), (x1 - 0.001, y1 - bar / 2, z + bar / 4))
    return solid


def _casement(m: Mechanism, rng: np.random.Generator, base: int, side: str, rect: Rect, bar: float, thin: float) -> None:
    y0, y1, z0, z1 = rect
    x1 = thin * 0.8
    where = {
        "left": ((x1, y0, z0), (0, 0, -1), (y1 - bar / 2, (z0 + z1) / 2), (0, 0, 1)),
        "right": ((x1, y1, z0), (0, 0, 1), (y0 + bar / 2, (z0 + z1) / 2), (0, 0, 1)),
        "bottom": ((x1, y0, z0), (0, 1, 0), ((y0 + y1) / 2, z1 - bar / 2), (0, 1, 0)),
        "top": ((x1, y0, z1), (0, -1, 0), ((y0 + y1) / 2, z0 + bar / 2), (0, 1, 0)),
    }
    origin, axis, (y, z), along = where[side]
    grip = handle(rng, (x1, y, z), (1, 0, 0), along, 0.1, rng.uniform(0.03, 0.06))
    m.hinge(base, [_sash(rng, rect, bar, x1 - thin, x1), grip], origin, axis, m.coordinate(0.0, float(rng.uniform(0.8, 1.8))))


def safe(rng: np.random.Generator) -> Mechanism:
    """A thick-walled box with a thick door that carries a dial and a turning handle."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.25, 0.6), rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.9)
    wall, gap = rng.uniform(0.03, 0.08), 0.004
    body = between((0, 0, 0), (depth, width, height)) - between((wall, wall, wall), (depth + 1, width - wall, height - wall))
    base = m.base(body, *feet(rng, (0, 0, 0), (depth, width, height)))
    left = rng.random() < 0.5
    low, high = (depth - wall * 0.8, wall + gap, wall + gap), (depth, width - wall - gap, height - wall - gap)
    door = swing_door(m, rng, base, low, high, "left" if left else "right", with_handle=False)
    middle, spread = np.array([depth, width / 2, height / 2]), 0.18 * height
    turning_knob(m, rng, door, middle + (0, 0, spread), (1, 0, 0), 0.08 * min(width, height), (0, 0, 1))
    arms = int(rng.integers(1, 5))
    spokes = []
    for i in range(arms):
        turn = 2 * np.pi * i / arms
        spokes.append(rod((0, 0, 0.04), (0.13 * width * np.cos(turn), 0.13 * width * np.sin(turn), 0.045), 0.008, segments=10))
    wheel = unite([rod((0, 0, 0.001), (0, 0, 0.05), 0.018), *spokes])
    at = middle - (0, 0, spread * 0.6)
    m.hinge(
        door, [placed(wheel, frame(at, (1, 0, 0), (0, 0, 1)))], at, (1, 0, 0), m.coordinate(0.0, float(rng.uniform(1.0, 3.0)))
    )
    return m


def storage_bench(rng: np.random.Generator) -> Mechanism:
    """A bench or ottoman whose padded seat opens on a chest."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.3, 0.5), rng.uniform(0.4, 1.2), rng.uniform(0.25, 0.5)
    wall, seat = 0.02, rng.uniform(0.04, 0.1)
    chest = between((0, 0, 0), (depth, width, height)) - between((wall, wall, wall), (depth - wall, width - wall, height + 1))
    base = m.base(chest, *feet(rng, (0, 0, 0), (depth, width, height)))
    pad = rounded((depth / 2, width / 2, height + 0.004 + seat / 2), (depth + 0.01, width + 0.01, seat), seat * 0.3)
    m.hinge(base, [pad], (0, 0, height + 0.004), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(1.0, 1.8))))
    return m
