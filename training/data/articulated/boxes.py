"""Boxes, bins, laptops, cases: things with lids."""

from __future__ import annotations

import numpy as np

from training.data.articulated.fronts import bow, handle, push_button
from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import (
    between,
    box,
    frame,
    moved,
    placed,
    plate,
    rod,
    rounded,
    tray,
    turned,
    unite,
    vessel,
    wire,
)


def box_with_lid(rng: np.random.Generator) -> Mechanism:
    """A box whose lid is hinged, slides, or lifts off; flat or vaulted."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.1, 0.6, 3)
    wall = rng.uniform(0.02, 0.06) * min(depth, width)
    solid = rng.random() < 0.2
    body = between((0, 0, 0), (depth, width, height)) if solid else tray((0, 0, 0), (depth, width, height), wall)
    base = m.base(body)
    z, gap = height + 0.003, 0.003
    thick = wall * rng.uniform(0.8, 1.5)
    kind = rng.choice(["hinged", "vaulted", "deep", "sliding", "lifted"], p=[0.4, 0.15, 0.15, 0.15, 0.15])
    over = rng.uniform(0, 0.03) * depth
    top = between((0, -over, z), (depth + over, width + over, z + thick))
    if kind == "vaulted":
        angle = np.linspace(0, np.pi, 12)
        outline = [(depth / 2 - depth / 2 * np.cos(a), 0.9 * depth / 2 * np.sin(a)) for a in angle]
        vault = plate([(x, y) for x, y in outline], width)
        shape = placed(vault, frame((0, width / 2, z), (0, -1, 0), (1, 0, 0)))
        inner = placed(vault.scale([0.85, 0.85, 0.9]), frame((0.075 * depth, width / 2, z - 0.001), (0, -1, 0), (1, 0, 0)))
        top = shape - inner
    elif kind == "deep":
        tall = height * rng.uniform(0.2, 0.9)
        top = tray((0, 0, z), (depth, width, z + tall), wall, positive=False)
    elif kind == "lifted":
        skirt = between((-gap - wall, -gap - wall, z - 0.3 * height), (depth + gap + wall, width + gap + wall, z + thick))
        top = skirt - between((-gap, -gap, z - height), (depth + gap, width + gap, z))
    shapes = [top]
    highest = float(top.bounding_box()[5])
    if rng.random() < 0.5 and kind != "vaulted":
        place = (depth * (0.5 if kind == "lifted" else 0.85), width / 2, highest)
        shapes += handle(rng, place, (0, 0, 1), (0, 1, 0), width * 0.3, 0.15 * depth)
    if kind in ("hinged", "vaulted", "deep"):
        m.hinge(base, shapes, (0, 0, z), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(1.2, 2.8))))
    elif kind == "sliding":
        m.slide(base, shapes, (1, 0, 0), m.coordinate(0.0, float(rng.uniform(0.5, 0.95) * depth)))
    else:
        m.slide(base, shapes, (0, 0, 1), m.coordinate(0.0, float(height * rng.uniform(0.5, 1.2))))
    return m


def carton(rng: np.random.Generator) -> Mechanism:
    """A cardboard box with two or four flaps, each on its own hinge."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.2, 0.6, 3)
    wall = 0.012
    base = m.base(tray((0, 0, 0), (depth, width, height), wall))
    z, half = height + 0.002, depth / 2 - 0.003
    opens = float(rng.uniform(2.0, 4.2))
    m.hinge(base, [between((0, 0, z), (half, width, z + wall * 0.7))], (0, 0, z), (0, -1, 0), m.coordinate(0.0, opens))
    m.hinge(
        base, [between((depth - half, 0, z), (depth, width, z + wall * 0.7))], (depth, 0, z), (0, 1, 0), m.coordinate(0.0, opens)
    )
    if rng.random() < 0.5:
        long = width * rng.uniform(0.25, 0.48)
        upright, spread = z + 0.012, float(rng.uniform(-1.0, 1.2))
        for y, axis in ((-0.004, 1), (width + 0.004, -1)):
            flap = between((0, y - 0.004, upright), (depth, y + 0.004, upright + long))
            m.hinge(base, [flap], (0, y, upright), (axis, 0, 0), m.coordinate(0.0, 2.0 + 0.2 * spread))
    return m


def trash_can(rng: np.random.Generator) -> Mechanism:
    """A round or square bin: a lid with a pedal that lifts it, a swinging flap, or a plain hinge."""
    m = Mechanism()
    radius, height = rng.uniform(0.1, 0.25), rng.uniform(0.25, 0.75)
    wall, z = 0.012, 0.0
    taper = rng.uniform(0.75, 1.0)
    if rng.random() < 0.5:
        body = vessel([(radius * taper, 0.0), (radius, height)], wall)
        lid = turned([(0.0, 0.0), (radius * 1.02, 0.0), (radius * 1.02, 0.02), (0.0, rng.uniform(0.02, 0.1))])
    else:
        body = tray((-radius, -radius, 0), (radius, radius, height), wall)
        lid = rounded((0, 0, 0.02), (2.05 * radius, 2.05 * radius, 0.04), 0.01)
    z = height + 0.004
    lid = moved(lid, (0, 0, z))
    base = m.base(body)
    opens = float(rng.uniform(1.0, 1.7))
    coordinate = m.coordinate(0.0, opens)
    m.hinge(base, [lid], (-radius, 0, z), (0, -1, 0), coordinate)
    if rng.random() < 0.5:
        x = radius * taper + 0.004
        pedal = [between((x, -0.012, 0.03), (x + 0.05, 0.012, 0.04)), rounded((x + 0.06, 0, 0.036), (0.05, 0.08, 0.016), 0.006)]
        m.hinge(base, pedal, (x, 0, 0.035), (0, 1, 0), coordinate, ratio=0.3 / opens)
    return m


def laptop(rng: np.random.Generator) -> Mechanism:
    """Two slabs joined at an edge: laptops, tablets with a cover, flip phones, folding mirrors."""
    m = Mechanism()
    depth, width = rng.uniform(0.15, 0.28), rng.uniform(0.1, 0.42)
    thick, lid = rng.uniform(0.008, 0.03), rng.uniform(0.004, 0.02)
    base_shape = between((0, 0, 0), (depth, width, thick))
    if rng.random() < 0.6:
        base_shape -= between((0.08 * depth, 0.06 * width, thick - 0.003), (0.55 * depth, 0.94 * width, thick + 1))
        base_shape -= between((0.65 * depth, 0.35 * width, thick - 0.0015), (0.95 * depth, 0.65 * width, thick + 1))
    z = thick + 0.002
    lid_shape = between((0, 0, z), (depth * rng.uniform(0.95, 1.0), width, z + lid))
    if rng.random() < 0.5:
        lid_shape -= between((0.07 * depth, 0.05 * width, z - 1), (0.9 * depth, 0.95 * width, z + 0.2 * lid))
    barrel = thick * 0.35
    hinges = [rod((0, y * width, z), (0, (y + 0.12) * width, z), barrel, segments=12) for y in (0.12, 0.76)]
    limit = float(rng.uniform(1.8, 3.1))
    base = m.base(base_shape)
    m.hinge(
        base,
        [lid_shape, *(hinges if rng.random() < 0.5 else [])],
        (0, 0, z),
        (0, -1, 0),
        m.coordinate(0.0, limit, limit * rng.uniform(0.4, 0.7)),
    )
    return m


def briefcase(rng: np.random.Generator) -> Mechanism:
    """Two shells joined at an edge, a handle that folds, perhaps latches."""
    m = Mechanism()
    depth, width, half = rng.uniform(0.25, 0.5), rng.uniform(0.35, 0.8), rng.uniform(0.04, 0.14)
    wall = 0.012
    base = m.base(tray((0, 0, 0), (depth, width, half), wall))
    z = half + 0.003
    lid = m.hinge(
        base,
        [tray((0, 0, z), (depth, width, z + half * rng.uniform(0.5, 1.0)), wall, positive=False)],
        (0, 0, z),
        (0, -1, 0),
        m.coordinate(0.0, float(rng.uniform(1.4, 3.0))),
    )
    long, x, zh = width * rng.uniform(0.2, 0.35), depth + 0.012, half * 0.6
    y0, y1 = width / 2 - long / 2, width / 2 + long / 2
    loop = wire(
        [
            (x, y0, zh),
            (x + 0.03, y0, zh),
            (x + 0.045, y0 + 0.02, zh),
            (x + 0.045, y1 - 0.02, zh),
            (x + 0.03, y1, zh),
            (x, y1, zh),
        ],
        0.009,
    )
    m.hinge(base, [loop], (x, 0, zh), (0, 1, 0), m.coordinate(-1.0, 1.0, 0.0))
    for y in (0.12, 0.88) if rng.random() < 0.6 else ():
        latch = box((depth + 0.006, y * width, z + 0.012), (0.008, 0.03, 0.03))
        m.hinge(lid, [latch], (depth + 0.006, 0, z + 0.026), (0, -1, 0), m.coordinate(0.0, 1.2))
    return m


def suitcase_trolley(rng: np.random.Generator) -> Mechanism:
    """A wheeled suitcase with a bar that pulls out of its top."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.18, 0.3), rng.uniform(0.33, 0.5), rng.uniform(0.45, 0.75)
    body = rounded((0, 0, height / 2 + 0.04), (depth, width, height), 0.04)
    top = height + 0.04
    spread, x = width * rng.uniform(0.2, 0.33), -0.3 * depth
    for side in (-1, 1):
        body -= rod((x, side * spread, 0.3 * top), (x, side * spread, top + 1), 0.013, segments=14)
    base = m.base(body)
    bar = wire([(x, -spread, 0.4 * top), (x, -spread, top + 0.04), (x, spread, top + 0.04), (x, spread, 0.4 * top)], 0.0095)
    m.slide(base, [bar], (0, 0, 1), m.coordinate(0.0, float(rng.uniform(0.3, 0.55) * height)))
    roll = m.coordinate(0.0, 6.2)
    for wx in (-1, 1):
        for wy in (-1, 1):
            at = np.array([wx * 0.32 * depth, wy * 0.38 * width, 0.02])
            wheel = unite([rod(at - (0, 0.01, 0), at + (0, 0.01, 0), 0.022, segments=16) - box(at, (0.01, 0.05, 0.03))])
            m.hinge(base, [wheel], at, (0, 1, 0), roll)
    side_handle = bow((0, width / 2 - 0.002, 0.55 * top), (0, width / 2 - 0.002, 0.55 * top - 0.07), (1, 0, 0), 180.0, 0.008)
    m.hinge(
        base, [moved(side_handle, (0, 0.014, 0))], (0, width / 2 + 0.012, 0.55 * top), (0, 0, 1), m.coordinate(-0.9, 0.9, 0.0)
    )
    return m


def lighter(rng: np.random.Generator) -> Mechanism:
    """A flip-top lighter or pill box: a small body, a hinged cap, a wheel or a button."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.01, 0.02), rng.uniform(0.03, 0.05), rng.uniform(0.04, 0.08)
    cap = height * rng.uniform(0.3, 0.5)
    body = rounded((0, 0, height / 2), (depth, width, height), 0.002)
    chimney = box((0, 0.08 * width, height + 0.25 * cap), (0.6 * depth, 0.45 * width, 0.5 * cap + 0.002))
    base = m.base(body, chimney)
    wheel_at = (0, -0.27 * width, height + 0.28 * cap)
    wheel = rod((-0.25 * depth, *wheel_at[1:]), (0.25 * depth, *wheel_at[1:]), 0.2 * cap) - box(
        wheel_at, (0.1 * depth, 0.1 * cap, 0.6 * cap)
    )
    m.hinge(base, [wheel], wheel_at, (1, 0, 0), m.coordinate(0.0, 3.0))
    z = height + 0.0006
    top = tray((-depth / 2, -width / 2, z), (depth / 2, width / 2, z + cap), 0.0015, positive=False)
    m.hinge(base, [top], (0, width / 2, z), (-1, 0, 0), m.coordinate(0.0, float(rng.uniform(1.6, 2.6)), 0.0))
    return m


def mailbox(rng: np.random.Generator) -> Mechanism:
    """A vaulted box on a post: a door that falls open and a flag that turns up."""
    m = Mechanism()
    depth, width, wall = rng.uniform(0.3, 0.5), rng.uniform(0.15, 0.25), 0.008
    post = rng.uniform(0.1, 0.9)
    side = rng.uniform(0.4, 0.8) * width
    angle = np.linspace(0, np.pi, 10)
    outline = [(-width / 2, 0.0), (width / 2, 0.0), *[(width / 2 * np.cos(a), side + width / 2 * np.sin(a)) for a in angle]]
    solid = placed(plate(outline, depth), frame((depth / 2, 0, post), (1, 0, 0), (0, 1, 0)))
    scale = 1 - 2 * wall / width
    hole = placed(
        plate([(y * scale, wall + z * scale) for y, z in outline], depth),
        frame((depth / 2 + wall, 0, post), (1, 0, 0), (0, 1, 0)),
    )
    base = m.base(solid - hole, rod((depth / 2, 0, 0), (depth / 2, 0, post + wall / 2), rng.uniform(0.015, 0.04)))
    door = placed(plate(outline, wall), frame((depth + wall, 0, post), (1, 0, 0), (0, 1, 0)))
    grip = handle(rng, (depth + 1.5 * wall, 0, post + side + 0.25 * width), (1, 0, 0), (0, 1, 0), 0.2 * width, 0.03)
    m.hinge(base, [door, *grip], (depth + 1.5 * wall, 0, post), (0, 1, 0), m.coordinate(0.0, float(rng.uniform(1.3, 2.0))))
    y, z = width / 2 + 0.004, post + 0.5 * side
    flag = [
        rod((0.6 * depth, y - 0.002, z), (0.6 * depth, y + 0.006, z), 0.01, segments=12),
        box((0.6 * depth - 0.06, y + 0.003, z), (0.14, 0.005, 0.012)),
        box((0.6 * depth - 0.12, y + 0.003, z + 0.012), (0.05, 0.005, 0.04)),
    ]
    m.hinge(base, flag, (0.6 * depth, 0, z), (0, 1, 0), m.coordinate(0.0, 1.57))
    return m


def soap_dispenser(rng: np.random.Generator) -> Mechanism:
    """A bottle with a pump head that is pressed down and turns."""
    m = Mechanism()
    radius, height = rng.uniform(0.025, 0.05), rng.uniform(0.09, 0.2)
    if rng.random() < 0.5:
        body = turned([(0.0, 0.0), (radius, 0.0), (radius, 0.8 * height), (0.4 * radius, height), (0.0, height)])
    else:
        body = rounded((0, 0, height / 2), (1.5 * radius, 2 * radius, height), 0.008)
    collar = rod((0, 0, height - 0.004), (0, 0, height + 0.012), 0.4 * radius)
    travel = rng.uniform(0.15, 0.3) * height
    ready = height + 0.013
    base = m.base(unite([body, collar]) - rod((0, 0, 0.3 * height), (0, 0, height + 1), 0.2 * radius, segments=12))
    reach = radius * rng.uniform(1.0, 1.8)
    stem = rod((0, 0, ready - 0.3 * height), (0, 0, ready + travel + 0.006), 0.14 * radius, segments=12)
    head = [
        rod((0, 0, ready + travel), (0, 0, ready + travel + 0.012), 0.35 * radius),
        wire(
            [(0, 0, ready + travel + 0.007), (reach, 0, ready + travel + 0.006), (reach * 1.1, 0, ready + travel - 0.003)], 0.004
        ),
    ]
    turning = m.hinge(base, [], (0, 0, 0), (0, 0, 1), m.coordinate(-1.5, 1.5, 0.0))
    m.slide(turning, [stem, *head], (0, 0, -1), m.coordinate(0.0, float(travel)))
    return m


def remote_control(rng: np.random.Generator) -> Mechanism:
    """A slab with rows of buttons and perhaps a battery cover that slides off."""
    m = Mechanism()
    length, width, thick = rng.uniform(0.12, 0.22), rng.uniform(0.035, 0.07), rng.uniform(0.015, 0.03)
    base = m.base(rounded((0, 0, thick / 2), (length, width, thick), 0.005))
    columns, rows = int(rng.integers(1, 3)), int(rng.integers(2, 5))
    radius = 0.3 * min(width / columns, length / rows)
    for x in np.linspace(-0.36, 0.36, rows):
        for y in np.linspace(-0.25, 0.25, columns) if columns > 1 else [0.0]:
            push_button(m, rng, base, (x * length, y * width, thick), (0, 0, 1), radius)
    return m
