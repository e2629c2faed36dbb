"""Doors and gates with latches; bolts and turning locks."""

from __future__ import annotations

import numpy as np
from manifold3d import Manifold

from training.data.articulated.fronts import Rect, door_panel, frame_members, handle, swing_door
from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import Vector, ball, between, box, frame, placed, rod, wire


def room_door(rng: np.random.Generator) -> Mechanism:
    """A door in its frame, with a lever handle or a knob on both sides that turns; one or two leaves."""
    m = Mechanism()
    width, height, thick = rng.uniform(0.6, 1.0), rng.uniform(1.2, 2.1), rng.uniform(0.03, 0.06)
    post = rng.uniform(0.04, 0.1)
    leaves = 2 if rng.random() < 0.2 else 1
    total = leaves * width
    rim = between((-thick, -post, 0), (thick, total + post, height + post)) - between((-1, 0, -1), (1, total, height))
    shapes = [rim] if rng.random() < 0.5 else frame_members(rim, 0, total, -1, height)
    if rng.random() < 0.5:
        shapes.append(between((-thick, -post, -0.02), (thick, total + post, 0.004)))
    if rng.random() < 0.3:
        shapes.append(between((-thick * 0.9, -post - rng.uniform(0.1, 0.6), 0), (thick * 0.9, -post + 0.01, height + post)))
    base = m.base(*shapes)
    for leaf in range(leaves):
        y0, y1 = leaf * width + 0.004, (leaf + 1) * width - 0.004
        left = leaf == 0 if leaves == 2 else rng.random() < 0.5
        low, high = (-thick / 2, y0, 0.008), (thick / 2, y1, height - 0.004)
        link = swing_door(m, rng, base, low, high, "left" if left else "right", float(rng.uniform(1.4, 2.4)), with_handle=False)
        if rng.random() < 0.85:
            y = y1 - 0.09 * width if left else y0 + 0.09 * width
            size = float(rng.uniform(0.09, 0.14))
            latch(m, rng, link, (0, y, height * rng.uniform(0.42, 0.52)), thick, size, -1 if left else 1)
    return m


def gate(rng: np.random.Generator) -> Mechanism:
    """One or two leaves between posts, low or high, thin or thick, with a latch that turns on both sides."""
    m = Mechanism()
    width, height = rng.uniform(0.35, 1.3), rng.uniform(0.4, 2.0)
    thick = rng.uniform(0.04, 0.28) * min(width, height)
    leaves = 2 if rng.random() < 0.2 else 1
    total, gap = leaves * width, rng.uniform(0.01, 0.05) * width
    post = thick * rng.uniform(0.5, 1.1)
    low, high = -height * rng.uniform(0.0, 0.15), height * rng.uniform(0.95, 1.2)
    round_posts = rng.random() < 0.5
    joined, top = [], high
    if rng.random() < 0.25:
        joined.append(between((-post, -post - gap, high - post), (post, total + post + gap, high + post)))
        top, height = high + post, min(height, high - post - gap)
    posts = [_post(y, post, low, top, round_posts) for y in (-post - gap, total + post + gap)]
    if rng.random() < 0.25:
        joined.append(between((-1.5 * post, -2 * post - gap, low - post), (1.5 * post, total + 2 * post + gap, low + 0.3 * post)))
        low_leaf = low + 0.3 * post + gap
    else:
        low_leaf = low + rng.uniform(0.0, 0.1) * height
    if rng.random() < 0.25:
        side = rng.uniform(0.2, 0.8) * width
        joined.append(between((-0.4 * post, -post - gap - side, low), (0.4 * post, -post - gap, 0.9 * high)))
    if any(piece.bounding_box()[4] > total for piece in joined):
        base = m.base(*posts, *joined)
    else:
        base = m.base(posts[0], *joined)
        m.fix(base, [posts[1]])
    for leaf in range(leaves):
        rect = (leaf * width + gap / 4, (leaf + 1) * width - gap / 4, low_leaf, height)
        left = leaf == 0 if leaves == 2 else bool(rng.random() < 0.5)
        _hang_leaf(m, rng, base, rect, thick, left)
    return m


def _post(y: float, radius: float, low: float, high: float, round_post: bool) -> Manifold:
    if round_post:
        return rod((0, y, low), (0, y, high), radius)
    return between((-radius, y - radius, low), (radius, y + radius, high))


def _hang_leaf(m: Mechanism, rng: np.random.Generator, base: int, rect: Rect, thick: float, left: bool) -> None:
    y0, y1, z0, z1 = rect
    hinged, free = (y0, y1) if left else (y1, y0)
    x = 0.0 if rng.random() < 0.5 else thick / 2
    inward = -1 if left else 1
    place = (0.0, free + inward * rng.uniform(0.06, 0.35) * (y1 - y0), z0 + rng.uniform(0.35, 0.65) * (z1 - z0))
    shapes = _leaf(rng, rect, thick, place)
    if rng.random() < 0.4:
        knuckle = thick * rng.uniform(0.1, 0.25)
        at = hinged + (knuckle if left else -knuckle) * 0.4
        for z in np.linspace(z0, z1, int(rng.integers(2, 4)) + 2)[1:-1]:
            shapes.append(rod((0, at, z - 2 * knuckle), (0, at, z + 2 * knuckle), knuckle, segments=10))
    out = rng.choice([-1, 1])
    swing = m.coordinate(0.0, float(rng.uniform(1.0, 2.4)))
    link = m.hinge(base, shapes, (out * x, hinged, 0), (0, 0, -out if left else out), swing)
    size = min(y1 - y0, z1 - z0) * rng.uniform(0.12, 0.4)
    if rng.random() < 0.8:
        latch(m, rng, link, place, thick, float(size), inward)


def _leaf(rng: np.random.Generator, rect: Rect, thick: float, lock: Vector) -> list[Manifold]:
    """A panel, one between round or square stiles, or rails with bars and a plate where the lock is."""
    y0, y1, z0, z1 = rect
    half, kind = thick / 2, rng.choice(["panel", "stiles", "bars"], p=[0.4, 0.35, 0.25])
    if kind == "panel":
        return door_panel(rng, (-half, y0, z0), (half, y1, z1))
    if kind == "stiles":
        stile = half if rng.random() < 0.6 else rng.uniform(0.03, 0.12) * (y1 - y0)
        round_stile, thin = stile == half, half * rng.uniform(0.3, 0.95)
        sides = (
            [rod((0, y, z0), (0, y, z1), half) for y in (y0 + half, y1 - half)]
            if round_stile
            else [between((-half, y - stile, z0), (half, y + stile, z1)) for y in (y0 + stile, y1 - stile)]
        )
        return [*sides, between((-thin, y0 + stile, z0), (thin, y1 - stile, z1))]
    bar = half * rng.uniform(0.25, 0.6)
    count = int(rng.integers(3, 8))
    round_bar = rng.random() < 0.5
    places = np.linspace(y0 + bar, y1 - bar, count)
    uprights = [
        rod((0, y, z0), (0, y, z1), bar, segments=10) if round_bar else between((-bar, y - bar, z0), (bar, y + bar, z1))
        for y in places
    ]
    rails = [
        between((-half, y0, z - bar), (half, y1, z + bar))
        for z in z0 + (z1 - z0) * np.linspace(0.12, 0.88, int(rng.integers(2, 4)))
    ]
    wide, tall = 0.6 * (places[1] - places[0]) + bar, rng.uniform(0.05, 0.15) * (z1 - z0)
    return [*uprights, *rails, box(lock, (1.6 * half, 2 * wide, 2 * tall))]


def latch(m: Mechanism, rng: np.random.Generator, door: int, at: Vector, thick: float, size: float, inward: int) -> int:
    """A spindle through a door with a lever or a knob at each end, which turns; returns the link.

    Args:
        m: gets the latch.
        rng: chooses lever, knob and proportions.
        door: the link that carries it.
        at: the spindle's middle, inside the door.
        thick: the door's.
        size: a lever's length.
        inward: +1 where levers point along +y, -1 along -y.
    """
    _, y, z = at
    reach, bar = size * rng.uniform(0.3, 0.7), size * rng.uniform(0.07, 0.16)
    out = thick / 2 + reach
    core, neck = 0.45 * bar, bar * rng.uniform(0.8, 1.8)
    sides = (-1, 1) if rng.random() < 0.85 else (1,)
    shapes = [rod((-thick / 2 - 0.1 * reach, y, z), (out, y, z), core, segments=12)]
    shapes += [rod((side * (thick / 2 - 0.1 * reach), y, z), (side * out, y, z), neck, segments=12) for side in sides]
    lever = rng.random() < 0.65
    for side in sides:
        x = side * out
        if lever:
            bent = 0.4 * reach if rng.random() < 0.3 else 0.0
            tip = (x - side * bent, y + inward * size, z)
            shapes.append(wire([(x, y, z), (x, y + inward * 0.7 * size, z), tip], bar))
            if rng.random() < 0.3:
                shapes.append(ball(tip, 1.6 * bar))
        else:
            shapes.append(ball((x, y, z), 0.3 * size, (0.7, 1, 1)))
            shapes.append(
                between((x - 0.15 * size, y - bar / 2, z - 0.35 * size), (x + 0.15 * size, y + bar / 2, z + 0.35 * size))
            )
    return m.hinge(door, shapes, (0, y, z), (-inward, 0, 0), m.coordinate(0.0, float(rng.uniform(0.6, 1.5))))


def lock(rng: np.random.Generator) -> Mechanism:
    """A plate, a door or a box with a door, locked by sliding bolts, turning levers, hooks or hasps; perhaps a handle beside."""
    m = Mechanism()
    width, height = rng.uniform(0.12, 0.5), rng.uniform(0.1, 0.5)
    depth = min(width, height) * rng.uniform(0.06, 1.2)
    body = between((-depth, 0, 0), (0, width, height))
    front = min(width, height) * rng.uniform(0.02, 0.08)
    edge = min(width, height) * rng.uniform(0.03, 0.15)
    kind = rng.choice(["plate", "panel", "door"], p=[0.35, 0.3, 0.35])
    if kind == "door":
        wall = edge * rng.uniform(0.5, 1.0)
        if depth > 3 * wall:
            body -= between((wall - depth, wall, wall), (1, width - wall, height - wall))
        base = m.base(body)
        low, high = (0.003, edge * 0.3, edge * 0.3), (0.003 + front, width - edge * 0.3, height - edge * 0.3)
        carrier = swing_door(m, rng, base, low, high, "left" if rng.random() < 0.5 else "right", with_handle=False)
        face = 0.003 + front
    else:
        panel = between((-front / 2, edge, edge), (front, width - edge, height - edge))
        carrier = m.base(body, *([panel] if kind == "panel" else []), *_fixed_handle(rng, width, height, front, kind == "panel"))
        face = front if kind == "panel" else 0.0
    rect = (1.2 * edge, width - 1.2 * edge, 1.2 * edge, height - 1.2 * edge)
    y0, y1, z0, z1 = rect
    if rng.random() < 0.25:
        middle = (z0 + z1) / 2
        _lock_part(m, rng, carrier, (y0, y1, z0, middle), face)
        _lock_part(m, rng, carrier, (y0, y1, middle, z1), face)
    else:
        _lock_part(m, rng, carrier, rect, face)
    return m


def _fixed_handle(rng: np.random.Generator, width: float, height: float, front: float, panel: bool) -> list[Manifold]:
    """Beside a lock, near the edge: what looks as if it moved and does not."""
    if rng.random() < 0.5:
        return []
    place = (front if panel else 0.0, 0.8 * width, 0.5 * height)
    return handle(rng, place, (1, 0, 0), (0, 0, 1), height * rng.uniform(0.2, 0.5), min(width, height) * rng.uniform(0.08, 0.3))


def _lock_part(m: Mechanism, rng: np.random.Generator, carrier: int, rect: Rect, face: float) -> None:
    """A bolt, a lever, a hook or a hasp on a face at x, within a rectangle."""
    y0, y1, z0, z1 = rect
    y, z = rng.uniform(0.3, 0.6) * (y1 - y0) + y0, rng.uniform(0.4, 0.6) * (z1 - z0) + z0
    size = min(y1 - y0, z1 - z0)
    gap = 0.01 * size
    kind = rng.choice(["bolt", "lever", "hasp"], p=[0.4, 0.4, 0.2])
    if kind == "bolt":
        _bolt(m, rng, carrier, rect, face + gap, float(z))
    elif kind == "lever":
        rose, thick, long = size * rng.uniform(0.06, 0.16), size * rng.uniform(0.02, 0.06), size * rng.uniform(0.15, 0.5)
        if rng.random() < 0.5:
            m.fix(carrier, [rod((face + gap / 4, y, z), (face + gap, y, z), 1.3 * rose)])
        lift = face + gap + size * rng.uniform(0.06, 0.2)
        turn = rng.uniform(0, 2 * np.pi)
        tip = np.array([lift, y + long * np.cos(turn), z + long * np.sin(turn)])
        shapes = [rod((face + gap, y, z), (lift, y, z), rose * rng.uniform(0.4, 0.9))]
        if rng.random() < 0.5:
            shapes.append(wire([(lift, y, z), tip], thick))
        else:
            bar = box((0.4 * long, 0, 0), (1.2 * long, 2 * thick, 1.2 * thick))
            shapes.append(placed(bar, frame((lift, y, z), (1, 0, 0), tip - (lift, y, z))))
        limit = float(rng.uniform(0.7, 2.6))
        low = 0.0 if rng.random() < 0.7 else -limit / 2
        m.hinge(carrier, shapes, (face, y, z), (1, 0, 0), m.coordinate(low, low + limit, 0.0))
    else:
        long, tall, thick = (y1 - y0) * rng.uniform(0.25, 0.6), (z1 - z0) * rng.uniform(0.15, 0.4), size * rng.uniform(0.02, 0.05)
        start, x = y0 + 0.1 * (y1 - y0), face + gap
        flap = [between((x, start, z - tall / 2), (x + thick, start + long, z + tall / 2))]
        flap.append(rod((x + thick / 2, start, z - tall / 2), (x + thick / 2, start, z + tall / 2), thick, segments=10))
        flap.append(ball((x + thick, start + 0.85 * long, z), tall * rng.uniform(0.1, 0.3)))
        m.hinge(carrier, flap, (x + thick, start, 0), (0, 0, -1), m.coordinate(0.0, float(rng.uniform(0.8, 2.8))))


def _bolt(m: Mechanism, rng: np.random.Generator, carrier: int, rect: Rect, x: float, z: float) -> None:
    """A round or flat bolt in one to three staples, with a knob or a bent end."""
    y0, y1, z0, z1 = rect
    room = y1 - y0
    thick = min(room, z1 - z0) * rng.uniform(0.03, 0.1)
    travel, long = room * rng.uniform(0.15, 0.4), room * rng.uniform(0.35, 0.6)
    middle = x + 1.1 * thick
    round_bolt = rng.random() < 0.6
    bolt = (
        rod((middle, y0, z), (middle, y0 + long, z), thick, segments=14)
        if round_bolt
        else between((middle - thick, y0, z - 1.5 * thick), (middle + thick, y0 + long, z + 1.5 * thick))
    )
    at = y0 + long * rng.uniform(0.2, 0.8)
    out = middle + thick * rng.uniform(2.0, 6.0)
    shapes = [bolt, rod((middle, at, z), (out, at, z), 0.6 * thick, segments=10)]
    shapes.append(
        ball((out, at, z), thick * rng.uniform(1.0, 2.0))
        if rng.random() < 0.6
        else between((out - thick / 2, at - 2 * thick, z - 2 * thick), (out + thick / 2, at + 2 * thick, z + 2 * thick))
    )
    m.slide(carrier, shapes, (0, 1, 0), m.coordinate(0.0, float(travel)))
    for place in rng.permutation([y0 + 0.08 * long, y0 + 0.92 * long, y0 + long + 0.8 * travel])[: int(rng.integers(1, 4))]:
        wide = 0.5 * thick
        hole = between((x - 1, place - 1, z - 1.7 * thick), (middle + 1.2 * thick, place + 1, z + 1.7 * thick))
        if abs(place - at) > 3.2 * thick:
            arch = between((x - 0.1 * thick, place - wide, z - 2.6 * thick), (middle + 2 * thick, place + wide, z + 2.6 * thick))
            m.fix(carrier, [arch - hole])
