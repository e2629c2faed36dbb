"""Chairs, lamps, fans, trolleys, stands: larger things that fold, turn and roll."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from manifold3d import Manifold

from training.data.articulated.fronts import around, drawer, feet, handle, turning_knob
from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import (
    ball,
    between,
    box,
    frame,
    moved,
    placed,
    plate,
    ring,
    rod,
    rounded,
    tray,
    turned,
    unite,
    vessel,
    wire,
)


def folding_chair(rng: np.random.Generator) -> Mechanism:
    """Two crossed frames, one of which carries the back, and a seat that folds with them; stools too."""
    m = Mechanism()
    width, height = rng.uniform(0.3, 0.5), rng.uniform(0.38, 0.5)
    bar = rng.uniform(0.01, 0.016)
    spread = rng.uniform(0.3, 0.5)
    pivot = np.array([0.0, 0.0, 0.5 * height])
    crossing = float(np.arctan2(spread, height))
    fold = m.coordinate(0.0, 2 * crossing * float(rng.uniform(0.8, 0.97)))
    back = height * rng.uniform(0.7, 1.0) if rng.random() < 0.75 else 0.0
    lean = spread / height
    front_foot, back_foot = np.array([spread / 2, 0, 0]), np.array([-spread / 2, 0, 0])
    outer, inner = width / 2, width / 2 - 2.4 * bar
    tall = height + back
    first = []
    for s in (-1, 1):
        y = np.array([0, s * outer, 0])
        tip = np.array([spread / 2 - lean * tall, 0, tall])
        first.append(wire([front_foot + y, tip + y], bar))
        if s < 0:
            first.append(wire([front_foot + y + (0, 0, bar), front_foot - y + (0, 0, bar)], bar * 0.8))
            first.append(wire([tip + y, tip - y], bar))
    if back:
        for level in np.linspace(0.6, 0.92, int(rng.integers(1, 3))):
            z = height + level * back
            middle = np.array([spread / 2 - lean * z, 0, z])
            first.append(box(middle, (0.8 * bar, 2 * outer, 0.12 * height)))
    second = []
    for s in (-1, 1):
        y = np.array([0, s * inner, 0])
        second.append(wire([back_foot + y, np.array([spread / 2, 0, height - 2 * bar]) + y], bar))
        if s < 0:
            second.append(wire([back_foot + y + (0, 0, bar), back_foot - y + (0, 0, bar)], bar * 0.8))
    main = m.base(*first)
    m.hinge(main, second, pivot, (0, 1, 0), fold, ratio=-1.0)
    seat_z = height + bar
    at = np.array([spread / 2 - lean * (height - 2 * bar) + bar, 0, seat_z])
    seat = rounded(((at[0] + spread / 2) / 2, 0, seat_z), (spread / 2 - at[0] + 0.03, 2 * inner - 2.4 * bar, 0.025), 0.01)
    pins = [rod(at + (0, s * (inner - 1.3 * bar), 0), at + (0, s * (outer - 1.02 * bar), 0), 0.006, segments=10) for s in (-1, 1)]
    m.hinge(main, [seat, *pins], at, (0, 1, 0), fold, ratio=(np.pi / 2 - crossing) / (2 * crossing))
    return m


def office_chair(rng: np.random.Generator) -> Mechanism:
    """A seat that turns and rises on a star foot with castors; the back may lean."""
    m = Mechanism()
    arms, reach = int(rng.integers(3, 6)), rng.uniform(0.22, 0.32)
    height, size = rng.uniform(0.35, 0.5), rng.uniform(0.36, 0.5)
    hub = rod((0, 0, 0.07), (0, 0, 0.5 * height), 0.03)
    star = [wire([(0, 0, 0.09), (p[0], p[1], 0.075)], 0.016) for p in around((0, 0, 0), reach, arms)]
    base = m.base(hub, *star)
    castor = rng.random() < 0.6
    for p in around((0, 0, 0.03), reach, arms):
        if castor:
            fork = rod((*p[:2], 0.03), (*p[:2], 0.057), 0.012) + box((p[0], p[1], 0.03), (0.02, 0.05, 0.012))
            wheels = [
                rod(
                    (p[0] - 0.012, p[1] + s * 0.02 - 0.006, 0.027),
                    (p[0] - 0.012, p[1] + s * 0.02 + 0.006, 0.027),
                    0.027,
                    segments=14,
                )
                for s in (-1, 1)
            ]
            m.hinge(base, [fork, *wheels], p, (0, 0, 1), m.coordinate(0.0, 6.28))
        else:
            m.fix(base, [rod((*p[:2], 0.0), (*p[:2], 0.056), 0.02, 0.012)])
    rise = m.slide(base, [], (0, 0, 1), m.coordinate(0.0, float(rng.uniform(0.05, 0.14))))
    column = rod((0, 0, 0.5 * height + 0.003), (0, 0, height), 0.02)
    seat = rounded((0, 0, height + 0.03), (size, size, 0.07), 0.025)
    spin = m.hinge(rise, [column, seat], (0, 0, 0), (0, 0, 1), m.coordinate(0.0, 6.28))
    if rng.random() < 0.8:
        tall = rng.uniform(0.3, 0.6)
        x = -size / 2 - 0.035
        rest = rounded((x, 0, height + 0.1 + tall / 2), (0.05, size * 0.9, tall), 0.022)
        stay = between((x - 0.01, -0.03, height + 0.03), (x + 0.012, 0.03, height + 0.14))
        m.hinge(spin, [rest, stay], (x, 0, height + 0.03), (0, -1, 0), m.coordinate(-0.1, float(rng.uniform(0.2, 0.5)), 0.0))
    return m


def desk_lamp(rng: np.random.Generator) -> Mechanism:
    """A foot, one to three arms in a chain, and a shade that tilts."""
    m = Mechanism()
    foot_radius, bar = rng.uniform(0.06, 0.11), rng.uniform(0.005, 0.011)
    foot = (
        turned([(0.0, 0.0), (foot_radius, 0.0), (foot_radius * 0.9, 0.02), (0.02, 0.035), (0.0, 0.035)])
        if rng.random() < 0.6
        else rounded((0, 0, 0.0125), (2 * foot_radius, 1.6 * foot_radius, 0.025), 0.006)
    )
    base = m.base(foot)
    link = m.hinge(base, [rod((0, 0, 0.037), (0, 0, 0.06), 0.018)], (0, 0, 0), (0, 0, 1), m.coordinate(-1.5, 1.5, 0.0))
    at, heading = np.array([0.0, 0.0, 0.07]), rng.uniform(0.05, 0.5)
    arms = int(rng.integers(1, 4))
    for number in range(arms):
        side = 0.0 if number == 0 else (2.4 * bar) * (1 if number % 2 else 0)
        long = rng.uniform(0.14, 0.26)
        end = at + long * np.array([np.sin(heading), 0, np.cos(heading)])
        off = np.array([0, side, 0])
        shapes = [wire([at + off, end + off], bar), rod(at + off + (0, -1.1 * bar, 0), at + off + (0, 1.1 * bar, 0), 1.7 * bar)]
        link = m.hinge(
            link, shapes, at, (0, 1, 0), m.coordinate(-float(rng.uniform(0.3, 0.9)), float(rng.uniform(0.4, 1.0)), 0.0)
        )
        at, heading = end, heading + rng.uniform(0.5, 1.4)
    direction = np.array([np.sin(heading), 0, np.cos(heading)])
    radius, long = rng.uniform(0.05, 0.09), rng.uniform(0.08, 0.15)
    shade = placed(
        vessel([(0.3 * radius, 0.0), (radius * 0.7, 0.4 * long), (radius, long)], 0.004), frame(at + 0.012 * direction, direction)
    )
    neck = wire([at, at + 0.02 * direction], 1.4 * bar)
    m.hinge(link, [shade, neck], at, (0, 1, 0), m.coordinate(-0.8, 0.8, 0.0))
    return m


def fan(rng: np.random.Generator) -> Mechanism:
    """A table, floor or ceiling fan, or a windmill: blades that turn on a head that swings and tilts."""
    m = Mechanism()
    blades, radius = int(rng.integers(3, 6)), rng.uniform(0.1, 0.2)
    stand = rng.uniform(0.15, 0.9)
    ceiling = rng.random() < 0.25
    pitch = rng.uniform(0.2, 0.6)
    rotor: list[Manifold] = [rod((0, 0, 0), (0, 0, 0.03), 0.18 * radius)]
    for i in range(blades):
        outline = [(0.1 * radius, -0.1 * radius), (radius, -0.3 * radius), (radius, 0.25 * radius), (0.1 * radius, 0.1 * radius)]
        blade = plate(outline, 0.006, 0.03 * radius)
        tilted = placed(blade, frame((0, 0, 0.015), (0, np.sin(pitch), np.cos(pitch)), (1, 0, 0)))
        rotor.append(tilted.rotate([0.0, 0.0, 360.0 * i / blades]))
    if ceiling:
        base = m.base(
            rod((0, 0, stand), (0, 0, stand + 0.2), 0.012),
            rod((0, 0, stand + 0.2), (0, 0, stand + 0.23), 0.05),
            rod((0, 0, stand), (0, 0, stand + 0.05), 0.25 * radius),
        )
        m.hinge(
            base,
            [placed(piece, frame((0, 0, stand - 0.004), (0, 0, -1), (1, 0, 0))) for piece in rotor],
            (0, 0, 0),
            (0, 0, 1),
            m.coordinate(0.0, 6.28),
        )
        return m
    foot = rng.uniform(0.6, 1.0) * radius
    base = m.base(rod((0, 0, 0), (0, 0, 0.02), foot), rod((0, 0, 0.01), (0, 0, stand), rng.uniform(0.012, 0.02)))
    swing = m.hinge(
        base, [rod((0, 0, stand + 0.002), (0, 0, stand + 0.03), 0.022)], (0, 0, 0), (0, 0, 1), m.coordinate(-0.8, 0.8, 0.0)
    )
    z = stand + 0.03 + 0.25 * radius
    motor = rod((-0.07, 0, z), (0.04, 0, z), 0.22 * radius)
    neck = rod((0, 0, stand + 0.033), (0, 0, z), 0.013)
    head = [motor, neck]
    if rng.random() < 0.6:
        for x, r in ((0.02, 1.13), (0.095, 1.13), (0.096, 0.6)):
            head.append(placed(ring(r * radius, 0.0035), frame((x, 0, z), (1, 0, 0))))
        for turn in np.linspace(0, 2 * np.pi, int(rng.integers(5, 10)), endpoint=False):
            side = np.array([0, np.cos(turn), np.sin(turn)])
            points = [np.array([0.02, 0, z]) + 0.18 * radius * side, np.array([0.02, 0, z]) + 1.13 * radius * side]
            points += [np.array([0.095, 0, z]) + 1.13 * radius * side, np.array([0.097, 0, z])]
            head.append(wire(points, 0.003, 8))
    tilt = m.hinge(swing, head, (0, 0, stand + 0.03), (0, 1, 0), m.coordinate(-0.4, 0.3, 0.0))
    m.hinge(
        tilt,
        [placed(piece, frame((0.043, 0, z), (1, 0, 0))) for piece in rotor],
        (0, 0, z),
        (1, 0, 0),
        m.coordinate(0.0, float(2 * np.pi / blades)),
    )
    return m


def trolley(rng: np.random.Generator) -> Mechanism:
    """A cart: wheels that roll, castors that turn, shelves, a basket or a platform with a handle that folds."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.4, 0.8), rng.uniform(0.3, 0.5), rng.uniform(0.5, 0.9)
    low = rng.uniform(0.09, 0.14)
    bar = rng.uniform(0.01, 0.016)
    kind = rng.choice(["platform", "shelves", "basket"])
    shapes = [between((-depth / 2, -width / 2, low), (depth / 2, width / 2, low + 0.03))]
    x = -depth / 2 + bar
    if kind == "shelves":
        for level in np.linspace(0, height, int(rng.integers(2, 4)))[1:]:
            shapes.append(tray((-depth / 2, -width / 2, low + level), (depth / 2, width / 2, low + level + 0.05), 0.012))
        shapes += [
            rod(
                (sx * (depth / 2 - bar), sy * (width / 2 - bar), low),
                (sx * (depth / 2 - bar), sy * (width / 2 - bar), low + height + 0.01),
                bar,
                segments=12,
            )
            for sx in (-1, 1)
            for sy in (-1, 1)
        ]
    elif kind == "basket":
        shapes.append(tray((-depth / 2, -width / 2, low + 0.4 * height), (depth / 2, width / 2, low + height), 0.012))
        shapes += [
            rod(
                (sx * 0.4 * depth, sy * 0.4 * width, low),
                (sx * 0.4 * depth, sy * 0.4 * width, low + 0.42 * height),
                bar,
                segments=12,
            )
            for sx in (-1, 1)
            for sy in (-1, 1)
        ]
    base = m.base(*shapes)
    z = low + (0.035 + bar if kind == "platform" else height + bar)
    rise = height if kind == "platform" else 0.15
    push = wire([(x, -0.4 * width, z), (x, -0.4 * width, z + rise), (x, 0.4 * width, z + rise), (x, 0.4 * width, z)], bar)
    if kind != "shelves":
        m.hinge(base, [push], (x, 0, z), (0, 1, 0), m.coordinate(0.0, float(rng.uniform(1.2, 1.5))))
    wheel_radius = (low - 0.02) / 2 * 0.95
    for sx in (-1, 1):
        for sy in (-1, 1):
            at = np.array([sx * 0.38 * depth, sy * 0.36 * width, wheel_radius])
            post = at + (0, 0, low - wheel_radius)
            fork = [
                rod(post - (0, 0, 0.016), post - (0, 0, 0.003), 0.02, segments=12),
                *[
                    between(at + (-0.01, s * 0.022 - 0.003, -0.008), at + (0.01, s * 0.022 + 0.003, low - wheel_radius - 0.01))
                    for s in (-1, 1)
                ],
                box(post - (0, 0, 0.013), (0.03, 0.05, 0.008)),
            ]
            link = m.hinge(base, fork, at, (0, 0, 1), m.coordinate(-1.5, 1.5, 0.0)) if sx > 0 else m.fix(base, fork)
            wheel = rod(at - (0, 0.017, 0), at + (0, 0.017, 0), wheel_radius, segments=20)
            for hole in around((0, 0, 0), 0.6 * wheel_radius, 3):
                wheel -= rod(at + (hole[0], -0.1, hole[1]), at + (hole[0], 0.1, hole[1]), 0.2 * wheel_radius, segments=8)
            m.hinge(link, [wheel], at, (0, 1, 0), m.coordinate(0.0, 2.1))
    return m


def tool_cart(rng: np.random.Generator) -> Mechanism:
    """A chest of drawers on castors with a handle at the side."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.3, 0.5), rng.uniform(0.4, 0.7), rng.uniform(0.4, 0.8)
    wall, rows = 0.015, int(rng.integers(2, 6))
    body = between((0, 0, 0), (depth, width, height))
    edges = np.linspace(wall, height - wall, rows + 1)
    spans = [(float(a) + wall / 4, float(b) - wall / 4) for a, b in pairwise(edges)]
    for a, b in spans:
        body -= between((wall, wall, a), (depth + 1, width - wall, b))
    grip = handle(rng, (depth / 2, width, 0.85 * height), (0, 1, 0), (1, 0, 0), 0.6 * depth, 0.05)
    base = m.base(body, *grip)
    for a, b in spans:
        drawer(m, rng, base, (depth - 0.02, wall + 0.003, a + 0.003), (depth, width - wall - 0.003, b - 0.003), 0.85 * depth)
    for x in (0.15, 0.85):
        for y in (0.12, 0.88):
            at = np.array([x * depth, y * width, -0.05])
            castor = [
                rod(at + (0.012, -0.012, -0.0), at + (0.012, 0.012, -0.0), 0.035, segments=14),
                rod(at, at + (0, 0, 0.047), 0.012, segments=10),
            ]
            m.hinge(base, castor, at, (0, 0, 1), m.coordinate(0.0, 6.28))
    return m


def tripod(rng: np.random.Generator) -> Mechanism:
    """Three or four legs that spread together under a head that turns and tilts; easels, music stands."""
    m = Mechanism()
    long, bar = rng.uniform(0.3, 0.8), rng.uniform(0.008, 0.016)
    legs = int(rng.integers(3, 5))
    crown = 0.05
    spread = m.coordinate(0.12, float(rng.uniform(0.5, 0.75)), 0.45)
    lugs = [wire([0.5 * p, 0.8 * p], 0.007) for p in around((0, 0, 0), crown, legs)]
    crown_shape = unite([rod((0, 0, -0.02), (0, 0, 0.025), 0.03), *lugs])
    base = m.base(crown_shape - rod((0, 0, -1), (0, 0, 1), 0.0125))
    for p in around((0, 0, 0), crown, legs):
        foot = (p[0], p[1], -long)
        outward = p / np.linalg.norm(p)
        axis = np.cross((0, 0, -1), outward)
        m.hinge(base, [wire([p, foot], bar), ball(foot, 1.5 * bar)], p, axis, spread)
    rise = (
        m.slide(base, [rod((0, 0, -0.15), (0, 0, 0.2), 0.012)], (0, 0, 1), m.coordinate(0.0, 0.15))
        if rng.random() < 0.5
        else m.fix(base, [rod((0, 0, -0.15), (0, 0, 0.2), 0.012)])
    )
    turn = m.hinge(rise, [rod((0, 0, 0.202), (0, 0, 0.225), 0.022)], (0, 0, 0), (0, 0, 1), m.coordinate(-1.5, 1.5, 0.0))
    size = rng.uniform(0.08, 0.2, 3) * np.array([0.6, 1.0, 0.7])
    top = rounded((0, 0, 0.25 + size[2] / 2), size, 0.008)
    m.hinge(turn, [top, rod((0, 0, 0.229), (0, 0, 0.255), 0.012)], (0, 0, 0.23), (0, 1, 0), m.coordinate(-0.6, 0.6, 0.0))
    return m


def globe(rng: np.random.Generator) -> Mechanism:
    """A globe or a mirror that turns in an arch on a foot."""
    m = Mechanism()
    radius = rng.uniform(0.08, 0.16)
    tilt = rng.uniform(0.0, 0.4)
    z = radius * 1.25 + 0.07
    axis = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    center = np.array([0.0, 0.0, z])
    steps = np.linspace(0, np.pi, 13)
    side = np.array([-np.cos(tilt), 0.0, np.sin(tilt)])
    out = radius * 1.12
    arch = wire([center + out * (np.cos(a) * axis + np.sin(a) * side) for a in steps], 0.006, 10)
    base = m.base(
        arch,
        rod((0, 0, 0), (0, 0, 0.02), 0.65 * radius),
        wire(
            [
                (0, 0, 0.01),
                center + out * np.array([0, 0, -1.0]),
                center + out * (np.cos(0.75 * np.pi) * axis + np.sin(0.75 * np.pi) * side),
            ],
            0.009,
        ),
    )
    shapes: list[Manifold]
    if rng.random() < 0.5:
        shapes = [
            ball(center, radius),
            *[rod(center + s * 0.98 * radius * axis, center + s * (out - 0.008) * axis, 0.004, segments=10) for s in (-1, 1)],
        ]
        shapes.append(ball(center + radius * np.array([0.0, 0.9, 0.3]), 0.25 * radius))
    else:
        disc = placed(
            rod((0, 0, -0.006), (0, 0, 0.006), radius * 0.97, segments=28), frame(center, (np.cos(tilt), 0, -np.sin(tilt)))
        )
        shapes = [
            disc,
            *[rod(center + s * 0.9 * radius * axis, center + s * (out - 0.008) * axis, 0.004, segments=10) for s in (-1, 1)],
        ]
    m.hinge(base, shapes, center, axis, m.coordinate(-1.5, 1.5, 0.0))
    return m


def clock(rng: np.random.Generator) -> Mechanism:
    """A dial with two hands; gauges with one pointer."""
    m = Mechanism()
    radius, thick = rng.uniform(0.08, 0.2), rng.uniform(0.02, 0.08)
    rim = rod((0, 0, 0), (0, 0, thick), radius, segments=28) - rod((0, 0, thick * 0.7), (0, 0, 1), radius * 0.92, segments=28)
    shapes = [rim]
    if rng.random() < 0.5:
        shapes.append(between((-radius * 1.25, -0.6 * radius, 0), (-radius * 0.8, 0.6 * radius, thick)))
    marks = [box((0, 0, 0), (0.1 * radius, 0.03 * radius, 0.006)) for _ in range(12)]
    shapes += [mark.translate([0.8 * radius, 0, 0.7 * thick]).rotate([0, 0, 30.0 * i]) for i, mark in enumerate(marks)]
    base = m.base(*shapes)
    z = 0.7 * thick + 0.004
    for number in range(int(rng.integers(1, 3))):
        long = radius * (0.75 if number == 0 else 0.5)
        wide = radius * rng.uniform(0.04, 0.08)
        hand = plate([(-0.15 * radius, -wide), (long * 0.9, -wide), (long, 0), (long * 0.9, wide), (-0.15 * radius, wide)], 0.004)
        level = z + 0.006 * number
        m.hinge(
            base,
            [moved(hand, (0, 0, level)), rod((0, 0, level - 0.002), (0, 0, level + 0.0025), 2 * wide)],
            (0, 0, 0),
            (0, 0, 1),
            m.coordinate(0.0, 6.28),
        )
    return m


def wheelbarrow(rng: np.random.Generator) -> Mechanism:
    """A toy car with turning wheels that steer, and a bed that tips, a bonnet or a crane."""
    m = Mechanism()
    long, wide, tall = rng.uniform(0.2, 0.4), rng.uniform(0.1, 0.18), rng.uniform(0.05, 0.1)
    radius = rng.uniform(0.03, 0.065)
    z = radius * 1.3
    body = rounded((0, 0, z + tall / 2), (long, wide, tall), 0.012)
    cab = rng.random() < 0.6
    if cab:
        body += rounded((-0.05 * long, 0, z + tall * 1.2), (0.5 * long, 0.85 * wide, tall * 0.9), 0.015)
    else:
        body -= between((-0.45 * long, -0.42 * wide, z + 0.3 * tall), (0.2 * long, 0.42 * wide, z + 2 * tall))
    base = m.base(body)
    low = z + (1.67 if cab else 1.02) * tall
    if rng.random() < 0.5:
        bed = tray((-0.48 * long, -0.45 * wide, low), (0.2 * long, 0.45 * wide, low + 0.7 * tall), 0.006)
        m.hinge(base, [bed], (-0.45 * long, 0, low), (0, -1, 0), m.coordinate(0.0, 0.9))
    elif rng.random() < 0.6:
        _crane(m, rng, base, low, float(long), float(tall))
    if rng.random() < 0.4:
        bonnet = between((0.25 * long, -0.4 * wide, z + 1.02 * tall), (0.46 * long, 0.4 * wide, z + 1.12 * tall))
        m.hinge(base, [bonnet], (0.25 * long, 0, z + 1.02 * tall), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(0.7, 1.4))))
    for sx in (-1, 1):
        steer = m.coordinate(-0.5, 0.5, 0.0) if sx > 0 else -1
        roll = m.coordinate(0.0, 2.1)
        for sy in (-1, 1):
            at = np.array([sx * 0.3 * long, sy * (wide / 2 + 0.016), radius])
            wheel = rod(at - (0, 0.012, 0), at + (0, 0.012, 0), radius, segments=20)
            for hole in around((0, 0, 0), 0.6 * radius, 3):
                wheel -= rod(at + (hole[0], -0.1, hole[1]), at + (hole[0], 0.1, hole[1]), 0.2 * radius, segments=8)
            link = m.hinge(base, [], at, (0, 0, 1), steer) if sx > 0 else base
            m.hinge(link, [wheel], at, (0, 1, 0), roll)
    return m


def _crane(m: Mechanism, rng: np.random.Generator, base: int, low: float, long: float, tall: float) -> None:
    """On a toy car: a drum that turns, with a boom that rises."""
    at, radius = np.array([-0.1 * long, 0.0, low]), 0.07 * long
    drum = rod(at + (0, 0, 0.002), at + (0, 0, 0.5 * tall), radius)
    turning = m.hinge(base, [drum], at, (0, 0, 1), m.coordinate(-1.5, 1.5, 0.0))
    start = at + (0, 0, 0.5 * tall + 0.01)
    boom = wire([start, start + (long * rng.uniform(0.3, 0.7), 0, 0.0)], 0.012 * rng.uniform(0.6, 1.0))
    m.hinge(turning, [boom], start, (0, -1, 0), m.coordinate(0.0, float(rng.uniform(0.6, 1.3))))


def scale_balance(rng: np.random.Generator) -> Mechanism:
    """A beam that tips on a post with hanging pans: balances, seesaws, swings, mobiles."""
    m = Mechanism()
    half, tall, bar = rng.uniform(0.12, 0.25), rng.uniform(0.15, 0.4), rng.uniform(0.005, 0.01)
    base = m.base(rod((0, 0, 0), (0, 0, 0.02), rng.uniform(0.05, 0.1)), rod((0, 0, 0.01), (0, 0, tall - 2 * bar), bar * 1.3))
    tip = m.coordinate(-0.35, 0.35, 0.0)
    pivot = np.array([0.0, 0.0, tall])
    beam = m.hinge(base, [wire([(0, -half, tall), (0, half, tall)], bar), ball(pivot, 1.8 * bar)], pivot, (1, 0, 0), tip)
    drop, radius = rng.uniform(0.3, 0.7) * tall, rng.uniform(0.2, 0.4) * half
    for s in (-1, 1):
        hang = np.array([0.0, s * half, tall - bar - 0.003])
        low = hang - (0, 0, drop)
        pan = moved(vessel([(0.6 * radius, 0.0), (radius, 0.02)], 0.003), low)
        strings = [wire([hang, p], 0.0022, 8) for p in around(low + (0, 0, 0.019), radius * 0.97, 3)]
        m.hinge(beam, [pan, *strings], (0, s * half, tall), (1, 0, 0), tip, ratio=-1.0)
    return m


def barrier_gate(rng: np.random.Generator) -> Mechanism:
    """A post with a long arm, a crane's boom on a turning tower, or a garden gate between posts."""
    m = Mechanism()
    tall, wide = rng.uniform(0.2, 0.4), rng.uniform(0.06, 0.14)
    long, bar = rng.uniform(0.3, 0.7), rng.uniform(0.012, 0.02)
    if rng.random() < 0.5:
        base = m.base(
            rounded((0, 0, tall / 2), (wide, wide, tall), 0.01), *feet(rng, (-wide / 2, -wide / 2, 0), (wide / 2, wide / 2, tall))
        )
        x = wide / 2 + bar + 0.003
        z = 0.82 * tall
        arm = [
            wire([(x, -0.15 * long, z), (x, long, z)], bar),
            rod((wide / 2 + 0.001, 0, z), (x, 0, z), bar * 0.8),
            box((x, -0.18 * long, z), (bar * 2, 0.1 * long, bar * 4)),
        ]
        m.hinge(base, arm, (0, 0, z), (1, 0, 0), m.coordinate(0.0, 1.5))
        return m
    base = m.base(box((0, 0, 0.015), (3 * wide, 3 * wide, 0.03)), rod((0, 0, 0.02), (0, 0, tall), wide * 0.3))
    tower = m.hinge(
        base,
        [rounded((0, 0, tall + 0.003 + wide * 0.4), (wide, wide, wide * 0.8), 0.01)],
        (0, 0, 0),
        (0, 0, 1),
        m.coordinate(-3.1, 3.1, 0.0),
    )
    z = tall + wide * 0.85 + bar
    boom = m.hinge(tower, [wire([(0, 0, z), (long, 0, z)], bar)], (0, 0, z), (0, -1, 0), m.coordinate(0.0, 1.1))
    hook = [
        wire([(0.92 * long, 0, z - 2.1 * bar), (0.92 * long, 0, z - 0.3 * tall)], 0.004, 8),
        ball((0.92 * long, 0, z - 0.3 * tall), 0.018),
    ]
    m.hinge(boom, hook, (0.92 * long, 0, z), (0, -1, 0), m.coordinate(-0.8, 0.8, 0.0))
    return m


def sunshade(rng: np.random.Generator) -> Mechanism:
    """An umbrella-like frame: ribs that all fold about a crown, and a runner that slides with them."""
    m = Mechanism()
    ribs, long, mast = int(rng.integers(4, 9)), rng.uniform(0.2, 0.4), rng.uniform(0.4, 0.8)
    bar = 0.005
    base = m.base(rod((0, 0, 0), (0, 0, mast), 0.008), rod((0, 0, mast - 0.02), (0, 0, mast + 0.015), 0.018))
    fold = m.coordinate(0.15, 1.35, 0.15)
    for p in around((0, 0, mast), 0.024, ribs):
        direction = (p - (0, 0, mast)) / 0.024
        tip = p + long * direction
        normal = np.cross(direction, (0, 0, 1))
        vane = (
            Manifold.batch_hull(
                [ball(p, bar), ball(tip + 0.25 * long * normal, bar * 0.6), ball(tip - 0.25 * long * normal, bar * 0.6)]
            )
            if ribs < 6
            else wire([p, tip], bar)
        )
        m.hinge(base, [vane], p, np.cross((0, 0, 1), direction), fold)
    ring_shape = rod((0, 0, mast - 0.75 * long), (0, 0, mast - 0.75 * long + 0.03), 0.018) - rod((0, 0, 0), (0, 0, mast), 0.0095)
    m.slide(base, [ring_shape], (0, 0, -1), fold, ratio=float(0.12 * long))
    return m


def stereo(rng: np.random.Generator) -> Mechanism:
    """A record player: a platter that turns, an arm, a dust cover, knobs."""
    m = Mechanism()
    depth, width, tall = rng.uniform(0.3, 0.38), rng.uniform(0.36, 0.46), rng.uniform(0.06, 0.12)
    base = m.base(rounded((0, 0, tall / 2), (depth, width, tall), 0.008))
    platter = rod((0, 0, 0), (0, 0, 0.014), 0.4 * depth, segments=28) + box(
        (0.2 * depth, 0, 0.012), (0.25 * depth, 0.06 * depth, 0.008)
    )
    center = (0, -0.12 * width, tall + 0.002)
    m.hinge(base, [moved(platter, center)], center, (0, 0, 1), m.coordinate(0.0, 3.1))
    at = np.array([-0.32 * depth, 0.38 * width, tall])
    arm = [
        rod(at + (0, 0, 0.002), at + (0, 0, 0.035), 0.018),
        wire([at + (0, 0, 0.03), at + (0.6 * depth, 0, 0.03)], 0.005),
        box(at + (0.6 * depth, 0, 0.026), (0.03, 0.016, 0.012)),
    ]
    m.hinge(base, arm, at, (0, 0, -1), m.coordinate(0.0, 0.6))
    turning_knob(m, rng, base, (0.42 * depth, 0.36 * width, tall), (0, 0, 1), 0.018, (1, 0, 0))
    z = tall + 0.003
    cover = tray((-depth / 2, -width / 2, z), (depth / 2, width / 2, z + 0.06), 0.004, positive=False)
    m.hinge(base, [cover], (-depth / 2, 0, z), (0, -1, 0), m.coordinate(0.0, 1.3, 1.0))
    return m
