"""Cabinets, desks, safes and windows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from manifold3d import Manifold

from training.data.articulated.fronts import (
    Rect,
    case_members,
    door_panel,
    drawer,
    feet,
    frame_members,
    handle,
    inset_by,
    split,
    swing_door,
    turning_knob,
)
from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import between, frame, placed, rod, rounded, tray, unite


def cabinet(rng: np.random.Generator) -> Mechanism:
    """Drawers and doors in all arrangements, in a hollow or a solid case."""
    return _case(rng, float(rng.uniform(0.25, 0.6)), float(rng.uniform(0.35, 1.5)), float(rng.uniform(0.3, 1.8)), None)


def chest_of_drawers(rng: np.random.Generator) -> Mechanism:
    """Drawers only: one to nine."""
    return _case(rng, float(rng.uniform(0.3, 0.6)), float(rng.uniform(0.3, 1.2)), float(rng.uniform(0.2, 1.2)), "drawer")


def tray_case(rng: np.random.Generator) -> Mechanism:
    """One or two trays that nearly fill their case, which is as thin as a matchbox's sleeve or has a frame for a front."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.15, 0.5), rng.uniform(0.15, 0.7), rng.uniform(0.06, 0.45)
    smallest = min(depth, width, height)
    y0, z0, y1, z1, x0 = smallest * rng.uniform(0.02, 0.16, 5) * rng.uniform(0.4, 1.0)
    rows = 2 if height > 0.15 and rng.random() < 0.3 else 1
    shelf = 0.5 * (z0 + z1)
    edges = np.linspace(z0, height - z1 + shelf, rows + 1)
    cells = [(y0, width - y1, float(a), float(b - shelf)) for a, b in pairwise(edges)]
    through = rng.random() < 0.15
    body = between((0, 0, 0), (depth, width, height))
    for cell in cells:
        body -= between((-1 if through else x0, cell[0], cell[2]), (depth + 1, cell[1], cell[3]))
    planes = [(1, y0), (1, width - y1), (2, z0), (2, height - z1)]
    if not through:
        planes.insert(0, (0, x0))
    base = m.base(*(case_members(body, planes) if rng.random() < 0.4 else [body]), *feet(rng, (0, 0, 0), (depth, width, height)))
    gap = smallest * rng.uniform(0.01, 0.04)
    for cell in cells:
        _sleeve_tray(m, rng, base, inset_by(cell, gap), x0 + gap, depth + smallest * rng.uniform(-0.04, 0.06))
    return m


def _sleeve_tray(m: Mechanism, rng: np.random.Generator, base: int, rect: Rect, back: float, front: float) -> None:
    y0, y1, z0, z1 = rect
    wall = min(y1 - y0, z1 - z0) * rng.uniform(0.04, 0.16)
    top = z1 - (z1 - z0) * (0.0 if rng.random() < 0.5 else rng.uniform(0.05, 0.4))
    body = tray((back, y0, z0), (front, y1, top), wall)
    pieces = case_members(body, [(1, y0 + wall), (1, y1 - wall), (0, back + wall), (0, front - wall)])
    shapes = pieces if rng.random() < 0.3 else [body]
    if rng.random() < 0.4:
        shapes.append(between((front - wall / 2, y0, z0), (front + wall * rng.uniform(0.1, 0.8), y1, z1)))
    if rng.random() < 0.9:
        face = float(unite(shapes).bounding_box()[3])
        along, room = ((0, 1, 0), y1 - y0) if rng.random() < 0.85 else ((0, 0, 1), 0.6 * (top - z0))
        place = (face, (y0 + y1) / 2, z0 + (top - z0) * rng.uniform(0.4, 0.65))
        reach = min((z1 - z0) * rng.uniform(0.2, 0.6), 0.35 * (front - back))
        shapes += handle(rng, place, (1, 0, 0), along, room * rng.uniform(0.15, 0.7), float(reach))
    m.slide(base, shapes, (1, 0, 0), m.coordinate(0.0, float((front - back) * rng.uniform(0.4, 0.95))))


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
    count = 1 + int(most * rng.random() ** 1.7)
    cells = split(rng, (wall / 2, width - wall / 2, wall / 2, height - wall / 2), count)
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
    boards = hollow and rng.random() < 0.5
    made_of = case_members(body, _outer_walls(rng, depth, width, height, wall)) if boards else [body]
    shapes = [*made_of, *feet(rng, (0, 0, 0), (depth, width, height))]
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


def _outer_walls(rng: np.random.Generator, depth: float, width: float, height: float, wall: float) -> list[tuple[int, float]]:
    """Where a case is cut into boards (`case_members`): at its back, and at its sides or its top and bottom first."""
    back: list[tuple[int, float]] = [(0, wall)] if rng.random() < 0.7 else []
    sides, ends = [(1, wall), (1, width - wall)], [(2, wall), (2, height - wall)]
    front: list[tuple[int, float]] = [(0, 0.9 * depth)] if rng.random() < 0.15 else []
    return [*front, *back, *(sides + ends if rng.random() < 0.5 else ends + sides)]


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
        y = low + (0.0 if first else wide) + (1 if first else -1) * 0.05 * min(wide, z1 - z0)
        grip = handle(rng, (x, y, (z0 + z1) / 2), (1, 0, 0), (0, 0, 1), (z1 - z0) * 0.2, panel * (1.0 if first else 0.15))
        shapes = [*shape, *grip]
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


def window(rng: np.random.Generator) -> Mechanism:
    """A frame with sashes that slide sideways or up, or swing out about a side, the top or the bottom."""
    m = Mechanism()
    width, height, deep = rng.uniform(0.4, 1.6), rng.uniform(0.4, 1.4), rng.uniform(0.05, 0.1)
    post = rng.uniform(0.03, 0.08)
    outer = between((-deep / 2, -post, -post), (deep / 2, width + post, height + post))
    rim = outer - between((-1, 0, 0), (1, width, height))
    shapes = [rim] if rng.random() < 0.6 else frame_members(rim, 0, width, 0, height)
    if rng.random() < 0.35:
        shapes.append(between((-deep / 2, -post - 0.05, -post - 0.03), (deep, width + post + 0.05, -post + 0.005)))
    base = m.base(*shapes)
    bar, thin = rng.uniform(0.025, 0.06), deep * 0.3
    if rng.random() < 0.55:
        upward = rng.random() < 0.4
        span = height if upward else width
        size = span * rng.uniform(0.49, 0.54)
        for number in (0, 1):
            start = 0.003 if number == 0 else span - size - 0.003
            x = 0.6 * thin * (1 if number == 0 else -1)
            rect = (0.003, width - 0.003, start, start + size) if upward else (start, start + size, 0.003, height - 0.003)
            shapes = _sash(rng, rect, bar, x - thin / 2, x + thin / 2)
            y = width / 2 if upward else (rect[0] + bar / 2 if number == 0 else rect[1] - bar / 2)
            z = rect[2] + bar / 2 if upward else height / 2
            if number == 0:
                along = (0, 1, 0) if upward else (0, 0, 1)
                shapes += handle(rng, (x + thin / 2, y, z), (1, 0, 0), along, 0.12, float(rng.uniform(0.03, 0.06)))
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


def _sash(rng: np.random.Generator, rect: Rect, bar: float, x0: float, x1: float) -> list[Manifold]:
    """A frame around a thin pane, perhaps with glazing bars."""
    y0, y1, z0, z1 = rect
    y2, y3, z2, z3 = inset_by(rect, bar)
    third = (x1 - x0) / 3
    rim = between((x0, y0, z0), (x1, y1, z1)) - between((x0 - 1, y2, z2), (x1 + 1, y3, z3))
    lap = 0.5 * bar
    pieces = [rim] if rng.random() < 0.6 else frame_members(rim, y2, y3, z2, z3)
    pieces.append(between((x0 + third, y2 - lap, z2 - lap), (x1 - third, y3 + lap, z3 + lap)))
    if rng.random() < 0.4:
        y, z = (y0 + y1) / 2, (z0 + z1) / 2
        pieces.append(between((x0 + 0.001, y - bar / 4, z0 + bar / 2), (x1 - 0.001, y + bar / 4, z1 - bar / 2)))
        pieces.append(between((x0 + 0.001, y0 + bar / 2, z - bar / 4), (x1 - 0.001, y1 - bar / 2, z + bar / 4)))
    return pieces


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
    m.hinge(base, [*_sash(rng, rect, bar, x1 - thin, x1), *grip], origin, axis, m.coordinate(0.0, float(rng.uniform(0.8, 1.8))))


def safe(rng: np.random.Generator) -> Mechanism:
    """A thick-walled box with a thick door, in its opening or before it, that carries a dial and a wheel or a lever."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.25, 0.6), rng.uniform(0.3, 0.7), rng.uniform(0.3, 0.9)
    wall, gap = rng.uniform(0.03, 0.08), 0.004
    body = between((0, 0, 0), (depth, width, height)) - between((wall, wall, wall), (depth + 1, width - wall, height - wall))
    planes = [(0, wall), (1, wall), (1, width - wall), (2, wall), (2, height - wall)]
    members = case_members(body, planes) if rng.random() < 0.25 else [body]
    base = m.base(*members, *feet(rng, (0, 0, 0), (depth, width, height)))
    left = rng.random() < 0.5
    thick = wall * rng.uniform(0.5, 0.9)
    if rng.random() < 0.5:
        edge, x0 = wall + gap, depth - thick + wall * rng.uniform(0.0, 0.3)
    else:
        edge, x0 = wall * rng.uniform(0.0, 0.8), depth + gap
    face = x0 + thick
    low, high = (x0, edge, edge), (face, width - edge, height - edge)
    door = swing_door(m, rng, base, low, high, "left" if left else "right", with_handle=rng.random() < 0.2)
    middle, spread = np.array([face, width / 2, height / 2]), 0.18 * height
    if rng.random() < 0.6:
        radius = rng.uniform(0.07, 0.13) * min(width, height)
        turning_knob(m, rng, door, middle + (0, 0, spread), (1, 0, 0), radius, (0, 0, 1))
    arms, long, bar = int(rng.integers(1, 6)), min(width, height) * rng.uniform(0.12, 0.3), rng.uniform(0.007, 0.016)
    turns = 2 * np.pi * np.arange(arms) / arms
    tips = [(long * np.cos(turn), long * np.sin(turn), 0.045) for turn in turns]
    wheel = [rod((0, 0, 0.001), (0, 0, 0.05), 2 * bar), *[rod((0, 0, 0.04), tip, bar, segments=10) for tip in tips]]
    at = middle - (0, 0, spread * 0.6)
    wheel = [placed(piece, frame(at, (1, 0, 0), (0, 0, 1))) for piece in wheel]
    m.hinge(door, wheel, at, (1, 0, 0), m.coordinate(0.0, float(rng.uniform(1.0, 3.0))))
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
