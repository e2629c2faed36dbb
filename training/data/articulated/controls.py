"""Faucets, levers, dials, buttons, switches, valves: what a hand turns or presses."""

from __future__ import annotations

import numpy as np
from manifold3d import Manifold

from training.data.articulated.fronts import around, push_button, turning_knob
from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import arc, ball, between, box, frame, moved, placed, plate, ring, rod, rounded, wire


def faucet(rng: np.random.Generator) -> Mechanism:
    """A tap: a spout that may swivel, one lever on top or at the side, or two handles."""
    m = Mechanism()
    height, reach, pipe = rng.uniform(0.06, 0.32), rng.uniform(0.08, 0.22), rng.uniform(0.009, 0.018)
    body = rng.uniform(1.5, 2.4) * pipe
    tall = height * rng.uniform(0.25, 0.5) + 0.02
    two = rng.random() < 0.4
    foot = [rod((0, 0, 0), (0, 0, 0.01), body * rng.uniform(1.1, 1.8)), rod((0, 0, 0), (0, 0, tall), body)]
    if two:
        span = rng.uniform(0.06, 0.12)
        foot.append(rounded((0, 0, 0.012), (3.2 * body, 2 * span + 3 * body, 0.024), 0.008))
        foot += [rod((0, s * span, 0.01), (0, s * span, 0.035), body * 0.9) for s in (-1, 1)]
    spout = _spout(rng, tall, height, reach, pipe)
    base = m.base(*foot)
    if rng.random() < 0.7:
        collar = rod((0, 0, tall + 0.002), (0, 0, tall + 0.014), body * 1.05)
        spout_link = m.hinge(base, [collar, spout], (0, 0, 0), (0, 0, 1), m.coordinate(-1.3, 1.3, 0.0))
    else:
        spout_link = base
        m.fix(base, [rod((0, 0, tall + 0.002), (0, 0, tall + 0.014), body), spout])
    if two:
        for side in (-1, 1):
            _tap_handle(m, rng, base, (0, side * span, 0.037), body)
    elif rng.random() < 0.6:
        side = 1 if rng.random() < 0.5 else -1
        z = tall * 0.6
        hub = rod((0, side * body * 1.03, z), (0, side * (body + 0.025), z), body * 0.75)
        tip = (rng.uniform(-0.02, 0.02), side * (body + 0.03), z + rng.uniform(0.05, 0.1))
        arm = wire([(0, side * (body + 0.014), z), tip], pipe * 0.45)
        m.hinge(base, [hub, arm], (0, 0, z), (0, 1, 0), m.coordinate(-0.7, 0.7, 0.0))
    else:
        start = float(rng.uniform(0.3, 0.6))
        z = tall * 0.5
        x = -body - 0.002
        arm = wire([(x - 0.01, 0, z), (x - 0.02 - rng.uniform(0.05, 0.1), 0, z + rng.uniform(0.0, 0.06))], pipe * 0.5)
        m.hinge(
            spout_link,
            [rod((x, 0, z), (x - 0.02, 0, z), body * 0.6), arm],
            (x - 0.01, 0, z),
            (0, 1, 0),
            m.coordinate(-0.2, start, 0.0),
        )
    return m


def _spout(rng: np.random.Generator, tall: float, height: float, reach: float, pipe: float) -> Manifold:
    z0, z1 = tall + 0.004, tall + height
    kind = rng.choice(["gooseneck", "straight", "bent"])
    if kind == "gooseneck":
        top = arc((reach / 2, 0, z1), (0, 0, z1), (0, 1, 0), 180.0 * rng.uniform(0.8, 1.05), 9)
        return wire([(0, 0, z0), *top], pipe * 0.8)
    if kind == "straight":
        return wire([(0, 0, z0 + pipe), (reach, 0, z0 + pipe + rng.uniform(-0.01, 0.06)), (reach + 0.008, 0, z0 - 0.01)], pipe)
    return wire([(0, 0, z0), (0, 0, z1), (reach, 0, z1 + rng.uniform(-0.03, 0.03)), (reach, 0, z1 - 0.04)], pipe * 0.9)


def _tap_handle(m: Mechanism, rng: np.random.Generator, base: int, at: tuple[float, float, float], size: float) -> None:
    x, y, z = at
    hub = rod((x, y, z), (x, y, z + 0.02), size * 0.8)
    if rng.random() < 0.5:
        arms = int(rng.integers(3, 5))
        parts = [wire([(x, y, z + 0.014), p], size * 0.25) for p in around((x, y, z + 0.018), size * 2.0, arms)]
    else:
        turn = rng.uniform(0, 2 * np.pi)
        parts = [wire([(x, y, z + 0.014), (x + size * 3 * np.cos(turn), y + size * 3 * np.sin(turn), z + 0.024)], size * 0.35)]
    m.hinge(base, [hub, *parts], at, (0, 0, 1), m.coordinate(0.0, float(rng.uniform(1.2, 3.1))))


def lever(rng: np.random.Generator) -> Mechanism:
    """A base with a long arm that turns about a horizontal axis: machine levers, hand brakes, slot machines."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.1, 0.3, 3)
    long, thick = rng.uniform(0.15, 0.4), rng.uniform(0.008, 0.018)
    upright = rng.random() < 0.5
    body = (
        rounded((0, 0, height / 2), (depth, width, height), 0.012)
        if rng.random() < 0.5
        else between((-depth / 2, -width / 2, 0), (depth / 2, width / 2, height))
    )
    grip_kind = rng.random()
    if upright:
        slot = 2.6 * thick
        body -= between((-0.42 * depth, -slot / 2, 0.4 * height), (0.42 * depth, slot / 2, height + 1))
        pivot = np.array([0.0, 0.0, 0.5 * height])
        tip = pivot + np.array([0.0, 0.0, 0.5 * height + long])
        limit = np.arctan2(0.4 * depth - thick, 0.5 * height)
        axis, limits = (0, 1, 0), (-limit, limit)
        shapes = [wire([pivot, tip], thick)]
    else:
        side = 1 if rng.random() < 0.5 else -1
        pivot = np.array([rng.uniform(-0.2, 0.2) * depth, side * width / 2, rng.uniform(0.4, 0.8) * height])
        hub = rod(pivot + (0, side * 0.001, 0), pivot + (0, side * 3 * thick, 0), 2.2 * thick)
        angle = rng.uniform(-0.5, 2.2)
        tip = pivot + np.array([long * np.cos(angle), side * 2 * thick, long * np.sin(angle)])
        axis, limits = (0, 1, 0), (0.0, float(rng.uniform(0.8, 2.2)))
        shapes = [hub, wire([pivot + (0, side * 2 * thick, 0), tip], thick)]
    if grip_kind < 0.4:
        shapes.append(ball(tip, thick * rng.uniform(1.6, 2.6)))
    elif grip_kind < 0.8:
        direction = (tip - pivot) / np.linalg.norm(tip - pivot)
        shapes.append(rod(tip - 0.3 * long * direction, tip + thick * direction, thick * 1.6))
    base = m.base(body)
    m.hinge(base, shapes, pivot, axis, m.coordinate(limits[0], limits[1], 0.0))
    return m


def handle_press(rng: np.random.Generator) -> Mechanism:
    """A column along which a handle slides up and down, sideways or outward."""
    m = Mechanism()
    width, height, depth = rng.uniform(0.08, 0.25), rng.uniform(0.15, 0.45), rng.uniform(0.06, 0.2)
    body = between((-depth, -width / 2, 0), (0, width / 2, height))
    if rng.random() < 0.6:
        body += between((-depth * 1.4, -width * 0.8, 0), (depth * 0.6, width * 0.8, 0.03))
    shapes = [body]
    if rng.random() < 0.45:
        wide, tall = width * rng.uniform(1.0, 3.0), height * rng.uniform(0.8, 1.4)
        shapes.append(between((-depth * rng.uniform(1.5, 4.0), -wide / 2, 0), (-0.8 * depth, wide / 2, tall)))
    track = rng.uniform(0.4, 0.75) * height
    z0 = (height - track) * rng.uniform(0.4, 0.6)
    z0 = max(z0, 0.06)
    slot = rng.uniform(0.1, 0.2) * width
    shapes[0] = body - between((-0.4 * depth, -slot / 2, z0), (1, slot / 2, z0 + track))
    at = z0 + 0.1 * track
    stem = between((-0.3 * depth, -0.4 * slot, at - 0.008), (0.03, 0.4 * slot, at + 0.008))
    grip = rod((0.035, -width * 0.5, at), (0.035, width * 0.5, at), 0.012) if rng.random() < 0.6 else ball((0.04, 0, at), 0.022)
    base = m.base(*shapes)
    travel = float(0.8 * track)
    m.slide(base, [stem, grip], (0, 0, 1), m.coordinate(0.0, travel, 0.0 if rng.random() < 0.5 else travel))
    return m


def dial_panel(rng: np.random.Generator) -> Mechanism:
    """A box or a plate with one to six turning knobs."""
    m = Mechanism()
    columns, rows = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    radius = rng.uniform(0.02, 0.05)
    pitch = radius * rng.uniform(2.6, 4.0)
    width, depth = columns * pitch + 0.02, rows * pitch + 0.02
    thick = rng.uniform(0.01, 0.15)
    base = m.base(rounded((0, 0, -thick / 2), (depth, width, thick), min(0.008, thick / 3)))
    for i in range(rows):
        for j in range(columns):
            at = ((i - (rows - 1) / 2) * pitch, (j - (columns - 1) / 2) * pitch, 0)
            turning_knob(m, rng, base, at, (0, 0, 1), radius, (1, 0, 0))
    return m


def button_box(rng: np.random.Generator) -> Mechanism:
    """A box with one large button or several small ones, on top or on its face."""
    m = Mechanism()
    size = rng.uniform(0.08, 0.2, 3)
    out_axis = int(rng.integers(0, 3))
    out = np.eye(3)[out_axis]
    others = [i for i in range(3) if i != out_axis]
    count = int(rng.integers(1, 4)) if rng.random() < 0.5 else 1
    room = float(size[others[0]]) / count
    radius = 0.5 * min(room, float(size[others[1]])) * rng.uniform(0.4, 0.75)
    places = [out * size[out_axis] / 2 + np.eye(3)[others[0]] * room * (i - (count - 1) / 2) for i in range(count)]
    shapes = [rounded((0, 0, 0), size, 0.15 * float(size.min()))] if rng.random() < 0.5 else [box((0, 0, 0), size)]
    if rng.random() < 0.4:
        behind = size * rng.uniform(0.8, 1.4, 3)
        behind[out_axis] = size[out_axis] * rng.uniform(0.5, 2.0)
        shapes.append(box(-out * 0.49 * (size[out_axis] + behind[out_axis]), behind))
    if count == 1 and rng.random() < 0.5:
        collar = rod((0, 0, -0.01), (0, 0, radius * 0.3), radius * 1.4) - rod((0, 0, -1), (0, 0, 1), radius * 1.3)
        shapes.append(placed(collar, frame(places[0], out)))
    base = m.base(*shapes)
    for where in places:
        push_button(m, rng, base, where, out, radius, travel=float(radius * rng.uniform(0.4, 1.0)))
    return m


def light_switch(rng: np.random.Generator) -> Mechanism:
    """A wall plate with rockers or toggles."""
    m = Mechanism()
    gangs = int(rng.integers(1, 4))
    pitch, height, thick = rng.uniform(0.04, 0.06), rng.uniform(0.08, 0.12), rng.uniform(0.008, 0.02)
    plate_shape = rounded((-thick / 2, 0, 0), (thick, gangs * pitch + 0.03, height), thick * 0.3)
    toggle, thin = rng.random() < 0.45, rng.uniform(0.004, 0.009)
    wide, tall = (3 * thin, 6.5 * thin) if toggle else (0.75 * pitch, 0.6 * height)
    places = [(i - (gangs - 1) / 2) * pitch for i in range(gangs)]
    for y in places:
        plate_shape -= box((0, y, 0), (thick * 1.2, wide + 0.002, tall + 0.002))
    base = m.base(plate_shape)
    long, tilt = rng.uniform(0.02, 0.05), float(rng.uniform(0.2, 0.4))
    for y in places:
        if toggle:
            toggled = [
                rod((-0.3 * thick, y, 0), (long, y, 0), thin, thin * rng.uniform(0.8, 1.5), 12),
                rod((-0.3 * thick, y - 0.4 * wide, 0), (-0.3 * thick, y + 0.4 * wide, 0), 1.1 * thin, segments=12),
            ]
            m.hinge(base, toggled, (-0.3 * thick, y, 0), (0, 1, 0), m.coordinate(-0.45, 0.45, 0.0))
        else:
            half = tall / 2
            outline = [
                (-0.3 * thick, -half),
                (0.25 * thick, -half),
                (0.1 * thick, 0.0),
                (0.25 * thick, half),
                (-0.3 * thick, half),
            ]
            shape = placed(plate(outline, wide), frame((0.1 * thick, y, 0), (0, -1, 0), (1, 0, 0)))
            m.hinge(base, [shape], (0, y, 0), (0, 1, 0), m.coordinate(-tilt, tilt, -tilt))
    return m


def valve(rng: np.random.Generator) -> Mechanism:
    """A pipe with a hand wheel or a quarter-turn lever on a stem."""
    m = Mechanism()
    pipe, long = rng.uniform(0.02, 0.05), rng.uniform(0.15, 0.4)
    stem = pipe * rng.uniform(1.8, 3.5)
    body = [
        rod((-long / 2, 0, 0), (long / 2, 0, 0), pipe),
        ball((0, 0, 0), 1.35 * pipe),
        rod((0, 0, 0), (0, 0, stem), 0.5 * pipe),
    ]
    body += [rod((s * long / 2, 0, 0), (s * (long / 2 - 0.02), 0, 0), pipe * 1.5) for s in (-1, 1)]
    base = m.base(*body)
    z = stem + 0.004
    hub = rod((0, 0, stem + 0.002), (0, 0, stem + 0.022), 0.6 * pipe)
    if rng.random() < 0.6:
        radius = pipe * rng.uniform(1.8, 3.2)
        spokes = [wire([(0, 0, z + 0.008), p], 0.15 * pipe) for p in around((0, 0, z + 0.01), radius, int(rng.integers(3, 6)))]
        parts = [placed(ring(radius, 0.22 * pipe), frame((0, 0, z + 0.01), (0, 0, 1))), *spokes]
        m.hinge(base, [hub, *parts], (0, 0, 0), (0, 0, 1), m.coordinate(0.0, 5.0), pitch=0.0 if rng.random() < 0.5 else 0.004)
    else:
        arm = box((pipe * 2.2, 0, z + 0.012), (pipe * 4.4, 0.7 * pipe, 0.012))
        m.hinge(base, [hub, arm], (0, 0, 0), (0, 0, 1), m.coordinate(0.0, 1.571))
    return m


def joystick(rng: np.random.Generator) -> Mechanism:
    """A stick that tilts two ways on a box, perhaps with buttons."""
    m = Mechanism()
    size = rng.uniform(0.08, 0.2)
    long, thick = rng.uniform(0.08, 0.16), rng.uniform(0.005, 0.012)
    base = m.base(rounded((0, 0, -0.025), (size, size * rng.uniform(1.0, 1.8), 0.05), 0.01))
    boot = rod((0, 0, 0.001), (0, 0, 0.02), 0.025, 0.012)
    grip = ball((0, 0, long), thick * 2.4) if rng.random() < 0.5 else rod((0, 0, 0.45 * long), (0, 0, long), thick * 1.9)
    tilt = m.hinge(base, [], (0, 0, 0), (1, 0, 0), m.coordinate(-0.5, 0.5, 0.0))
    m.hinge(tilt, [rod((0, 0, 0.002), (0, 0, long), thick), boot, grip], (0, 0, 0), (0, 1, 0), m.coordinate(-0.5, 0.5, 0.0))
    if rng.random() < 0.5:
        push_button(m, rng, base, (0.3 * size, 0.32 * size, 0), (0, 0, 1), 0.014)
    return m


def pedal(rng: np.random.Generator) -> Mechanism:
    """One to three pedals on arms under a bracket, or a foot treadle on the floor."""
    m = Mechanism()
    count = int(rng.integers(1, 4))
    pitch, drop = rng.uniform(0.08, 0.12), rng.uniform(0.15, 0.3)
    if rng.random() < 0.4:
        base = m.base(box((0, 0, 0.008), (0.26, 0.12, 0.016)), rod((-0.1, -0.055, 0.028), (-0.1, 0.055, 0.028), 0.014))
        plate_shape = rounded((0.02, 0, 0.055), (0.22, 0.1, 0.016), 0.006)
        slanted = placed(moved(plate_shape, (0.1, 0, -0.04)), frame((-0.1, 0, 0.043), (-0.25, 0, 1), (1, 0, 0.25)))
        m.hinge(base, [slanted], (-0.1, 0, 0.03), (0, 1, 0), m.coordinate(0.0, 0.2))
        return m
    base = m.base(box((0, 0, drop), (0.05, count * pitch, 0.04)))
    for i in range(count):
        y = (i - (count - 1) / 2) * pitch
        z = drop - 0.03
        arm = wire([(0, y, z), (0.03, y, z - 0.5 * drop), (-0.02, y, 0.03)], 0.008)
        pad = rounded((-0.03, y, 0.03), (0.02, pitch * rng.uniform(0.45, 0.75), 0.05), 0.006)
        m.hinge(
            base,
            [rod((0, y - 0.02, z), (0, y + 0.02, z), 0.0095), arm, pad],
            (0, y, z),
            (0, 1, 0),
            m.coordinate(0.0, float(rng.uniform(0.3, 0.6))),
        )
    return m
