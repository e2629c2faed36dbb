"""Hand tools and small folding things: scissors, pliers, staplers, glasses, knives, pegs."""

from __future__ import annotations

import numpy as np
from manifold3d import Manifold

from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import between, box, frame, moved, placed, plate, ring, rod, rounded, unite, wire


def scissors(rng: np.random.Generator) -> Mechanism:
    """Two blades that cross at a pivot, each with a ring or a loop; both turn, opposite ways."""
    m = Mechanism()
    blade, grip = rng.uniform(0.06, 0.16), rng.uniform(0.05, 0.11)
    wide, thick = rng.uniform(0.01, 0.02), rng.uniform(0.003, 0.006)
    loop, wire_radius = rng.uniform(0.017, 0.026), rng.uniform(0.003, 0.006)
    start = float(np.arcsin(min(0.9, (loop + wire_radius + 0.001) / grip)))
    half = m.coordinate(0.0, float(rng.uniform(0.3, 0.75)))
    for side in (-1, 1):
        z = side * (thick / 2 + 0.0003)
        edge = [
            (-0.01, -side * wide * 0.7),
            (-0.01, side * wide * 0.5),
            (0.2 * blade, side * wide * 0.75),
            (blade, side * 0.002),
            (blade, -side * 0.001),
            (0.0, -side * wide * 0.5),
        ]
        shapes = [moved(plate(edge, thick), (0, 0, z))]
        away = -side * start
        end = np.array([-grip * np.cos(away), grip * np.sin(away), z])
        stretch = rng.uniform(1.0, 1.5)
        hoop = ring(loop, wire_radius).scale([stretch, 1, 1])
        shapes.append(moved(hoop, end))
        neck = end * (1 - loop * stretch / grip * 0.9)
        shapes.append(Manifold.batch_hull([box((0, 0, z), (0.015, wide, thick)), box((*neck[:2], z), (0.006, 0.008, thick))]))
        if side > 0:
            shapes.append(rod((0, 0, z), (0, 0, z + thick), 0.3 * wide, segments=14))
        m.root_hinge(shapes, (0, 0, 0), (0, 0, 1), half, float(side))
    return m


def pliers(rng: np.random.Generator) -> Mechanism:
    """Two jaws that cross at a pivot, with long curved handles; pincers, tongs and nutcrackers too."""
    m = Mechanism()
    jaw, grip = rng.uniform(0.025, 0.08), rng.uniform(0.08, 0.16)
    thick, wide = rng.uniform(0.006, 0.014), rng.uniform(0.008, 0.016)
    half = m.coordinate(0.0, float(rng.uniform(0.2, 0.5)))
    bulge, bar = rng.uniform(0.018, 0.035), rng.uniform(0.004, 0.008)
    blunt = rng.uniform(0.3, 1.0)
    for side in (-1, 1):
        tip = [
            (0.0, side * 0.0006),
            (jaw, side * 0.0006),
            (jaw, side * wide * blunt),
            (0.3 * jaw, side * wide * 1.1),
            (0.0, side * wide),
        ]
        z = side * 0.26 * thick
        shapes = [plate(tip, thick), rod((0, 0, z - 0.25 * thick), (0, 0, z + 0.25 * thick), wide)]
        near = (-0.12 * grip, -side * 0.5 * bulge, 0)
        shapes.append(
            Manifold.batch_hull(
                [
                    rod((0, 0, z - 0.2 * thick), (0, 0, z + 0.2 * thick), 0.7 * wide),
                    moved(Manifold.sphere(bar, 12), (near[0], near[1], z)),
                ]
            )
        )
        handle = [
            (near[0], near[1], z),
            (-0.35 * grip, -side * bulge, z * 0.5),
            (-0.7 * grip, -side * bulge * 1.05, 0),
            (-grip, -side * bulge * rng.uniform(0.7, 1.0), 0),
        ]
        shapes.append(wire(handle, bar))
        shapes[0] -= rod((0, 0, -1), (0, 0, 1), wide * 1.04)
        shapes[0] += Manifold.batch_hull(
            [
                rod(
                    (0.2 * wide, side * 0.5 * wide, z - 0.22 * thick),
                    (0.2 * wide, side * 0.5 * wide, z + 0.22 * thick),
                    0.4 * wide,
                ),
                between((wide * 1.05, side * 0.0006, z - 0.22 * thick), (wide * 1.5, side * wide, z + 0.22 * thick)),
            ]
        )
        m.root_hinge(shapes, (0, 0, 0), (0, 0, 1), half, float(side))
    return m


def clothespin(rng: np.random.Generator) -> Mechanism:
    """Two wedges that turn against each other about a spring between them: pegs, clips, tongs joined at the end."""
    m = Mechanism()
    long, thick, wide = rng.uniform(0.05, 0.1), rng.uniform(0.006, 0.012), rng.uniform(0.008, 0.016)
    pivot = rng.uniform(0.45, 0.7) * long
    limit = m.coordinate(0.0, float(np.arctan2(thick * 1.1, long - pivot)))
    for side in (-1, 1):
        outline = [
            (0.0, side * 0.0004),
            (pivot, side * 0.0004),
            (long, side * thick),
            (long, side * 1.7 * thick),
            (pivot, side * 1.5 * thick),
            (0.0, side * 0.6 * thick),
        ]
        shapes = [placed(plate(outline, wide), frame((0, 0, 0), (0, -1, 0), (1, 0, 0)))]
        if side > 0:
            shapes.append(rod((pivot, -0.65 * wide, 0.4 * thick), (pivot, 0.65 * wide, 0.4 * thick), 0.35 * thick))
        m.root_hinge(shapes, (pivot, 0, 0), (0, 1, 0), limit, float(side))
    return m


def tongs(rng: np.random.Generator) -> Mechanism:
    """Two long arms joined at one end: kitchen tongs, tweezers, compasses."""
    m = Mechanism()
    long, bar = rng.uniform(0.1, 0.3), rng.uniform(0.003, 0.009)
    flat = rng.random() < 0.5
    angle = m.coordinate(0.02, float(rng.uniform(0.25, 0.6)), 0.2)
    spoon = rng.uniform(0, 0.03)
    for side in (-1, 1):
        y = side * (bar + 0.001)
        shapes = [box((long / 2, y, 0), (long, bar, 4 * bar))] if flat else [wire([(0, y, 0), (long, y, 0)], bar)]
        if spoon > 0.01:
            shapes.append(moved(Manifold.sphere(spoon, 16).scale([1.3, 0.3, 0.8]), (long, y + side * 0.3 * spoon, 0)))
        if side > 0:
            shapes.append(
                rod((0, 0, -2.6 * bar), (0, 0, -2.05 * bar), 2.6 * bar)
                + between((-bar, y - bar / 2, -2.3 * bar), (bar, y + bar / 2, 0))
            )
        m.root_hinge(shapes, (0, 0, 0), (0, 0, 1), angle, float(side))
    return m


def stapler(rng: np.random.Generator) -> Mechanism:
    """A base, a magazine and a cap, hinged at the back one over the other."""
    m = Mechanism()
    long, wide = rng.uniform(0.1, 0.2), rng.uniform(0.025, 0.045)
    thick = rng.uniform(0.008, 0.015)
    foot = rounded((0, 0, thick / 2), (long, wide, thick), thick * 0.3)
    back = -0.42 * long
    hinge_z = thick + rng.uniform(0.01, 0.02)
    cheeks = [
        between((back - 0.02, s * wide * 0.36, thick * 0.5), (back + 0.02, s * wide * 0.5, hinge_z + 0.012)) for s in (-1, 1)
    ]
    base = m.base(foot, *cheeks, box((0.43 * long, 0, thick + 0.001), (0.02, 0.4 * wide, 0.004)))
    width = 0.66 * wide
    z = hinge_z + 0.004
    rise = float(rng.uniform(0.05, 0.12))
    magazine = between((back - 0.012, -width / 2, z), (0.47 * long, width / 2, z + 0.012)) - between(
        (back + 0.02, -0.35 * width, z + 0.003), (0.44 * long, 0.35 * width, z + 1)
    )
    low = m.hinge(base, [magazine], (back, 0, hinge_z), (0, -1, 0), m.coordinate(-0.04, rise, 0.0))
    top = z + 0.0135
    tall = rng.uniform(0.012, 0.025)
    nose = 0.49 * long
    outline = [
        (back - 0.015, top),
        (nose, top),
        (nose, top + tall * rng.uniform(0.5, 1.0)),
        (0.0, top + tall),
        (back - 0.015, top + tall * 0.6),
    ]
    cap = placed(plate(outline, width * 1.05), frame((0, 0, 0), (0, -1, 0), (1, 0, 0)))
    m.hinge(low, [cap], (back, 0, top), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(1.2, 2.6)), 0.0))
    return m


def eyeglasses(rng: np.random.Generator) -> Mechanism:
    """A front with two rims and a bridge, and two temples that fold in."""
    m = Mechanism()
    lens_wide, lens_high = rng.uniform(0.022, 0.03), rng.uniform(0.015, 0.028)
    bar = rng.uniform(0.0015, 0.004)
    bridge = rng.uniform(0.008, 0.012)
    center = lens_wide + bridge
    shapes: list[Manifold] = []
    power = rng.uniform(0.5, 1.0)
    turns = np.linspace(0, 2 * np.pi, 20, endpoint=False)
    outline = np.stack(
        [
            np.sign(np.cos(turns)) * np.abs(np.cos(turns)) ** power * lens_wide,
            np.sign(np.sin(turns)) * np.abs(np.sin(turns)) ** power * lens_high,
        ],
        axis=1,
    )
    with_glass = rng.random() < 0.6
    for side in (-1, 1):
        rim = plate(outline * (1 + bar / lens_high), 2 * bar) - plate(outline * (1 - bar / lens_high), 4 * bar)
        if with_glass:
            rim += plate(outline, 0.5 * bar)
        shapes.append(placed(rim, frame((0, side * center, 0), (1, 0, 0), (0, 1, 0))))
        outer = side * (center + lens_wide)
        shapes.append(
            between(
                (-0.006 - (bar if side > 0 else 0.0) * 2.2, outer - side * bar, 0.2 * lens_high),
                (bar, outer + side * 0.005, 0.2 * lens_high + 3 * bar),
            )
        )
    lift = rng.uniform(0.1, 0.5) * lens_high
    shapes.append(wire([(0, -bridge * 1.2, lift), (0.002, 0, lift + 0.003), (0, bridge * 1.2, lift)], bar * 1.2))
    base = m.base(*shapes)
    long, limit = rng.uniform(0.09, 0.14), m.coordinate(0.0, 1.6)
    for number, side in enumerate((-1, 1)):
        y = side * (center + lens_wide + 0.003)
        z = 0.2 * lens_high + 1.5 * bar
        x = -0.007 - bar - 2.2 * bar * number
        temple = wire([(x, y, z), (x - long * 0.75, y, z), (x - long, y - side * 0.004, z - 0.25 * long)], bar)
        own = limit if number == 0 or rng.random() < 0.5 else m.coordinate(0.0, 1.6)
        m.hinge(base, [temple], (x + 0.001, y, z), (0, 0, side), own)
    return m


def pocket_knife(rng: np.random.Generator) -> Mechanism:
    """A handle with one to four blades that fold into its slots."""
    m = Mechanism()
    long, wide = rng.uniform(0.07, 0.12), rng.uniform(0.018, 0.028)
    slots = int(rng.integers(1, 5))
    blade, gap = 0.0022, 0.0006
    pitch = 0.0052
    thick = slots * pitch + 0.003
    body = plate([(-long / 2, -wide / 2), (long / 2, -wide / 2), (long / 2, wide / 2), (-long / 2, wide / 2)], thick, wide * 0.3)
    levels = [(i - (slots - 1) / 2) * pitch for i in range(slots)]
    for z in levels:
        body -= box((0, wide * 0.5, z), (long * 1.2, wide * 1.4, blade + 2 * gap))
    base = m.base(body)
    ends = (long / 2 - 0.4 * wide, -long / 2 + 0.4 * wide)
    for number, z in enumerate(levels):
        x = ends[number % 2]
        toward = -1 if number % 2 == 0 else 1
        reach = long * rng.uniform(0.55, 0.78)
        deep = 0.35 * wide
        outline = [
            (0.0, -deep),
            (toward * 0.8 * reach, -deep),
            (toward * reach, 0.0),
            (toward * reach * 0.9, deep * 0.3),
            (0.0, deep),
        ]
        if number % 2 == 1:
            outline = outline[::-1]
        shape = moved(plate(outline, blade) + rod((0, 0, -blade / 2), (0, 0, blade / 2), deep, segments=14), (x, 0.15 * wide, z))
        limit = float(rng.uniform(2.6, 3.1))
        m.hinge(base, [shape], (x, 0.15 * wide, 0), (0, 0, toward), m.coordinate(0.0, limit))
    return m


def chain(rng: np.random.Generator) -> Mechanism:
    """Rods, blocks or plates joined one after the other: folding rules, jointed toys, robot arms."""
    m = Mechanism()
    count = int(rng.integers(3, 7))
    planar = rng.random() < 0.5
    kind = rng.choice(["rod", "block", "flat"])
    x, link = 0.0, -1
    for _ in range(count):
        long = rng.uniform(0.08, 0.2)
        wide = rng.uniform(0.015, 0.04)
        z = 0.0
        if kind == "rod":
            body = rod((x + 0.012, 0, z), (x + long - 0.004, 0, z), wide / 2)
        elif kind == "block":
            body = rounded((x + long / 2 + 0.004, 0, z), (long - 0.012, wide, wide), wide * 0.25)
        else:
            body = box((x + long / 2 + 0.004, 0, z), (long - 0.012, wide, wide * 0.3))
        joint_ball = moved(Manifold.sphere(min(0.009, 0.4 * wide), 12), (x + long, 0, z))
        end = unite([body, joint_ball, rod((x + long - 0.01, 0, z), (x + long, 0, z), min(0.006, 0.3 * wide), segments=12)])
        if link < 0:
            stand = (
                box((x + 0.03, 0, -wide), (0.06, 0.08, wide * 1.9))
                if rng.random() < 0.5
                else box((x + 0.02, 0, 0), (0.03, wide, wide * 0.3))
            )
            link = m.base(end, stand)
        else:
            bend = float(rng.uniform(0.6, 1.9))
            axis = (0, 1, 0) if planar else np.eye(3)[1 + int(rng.integers(2))]
            link = m.hinge(link, [end], (x, 0, z), axis, m.coordinate(-bend, bend, 0.0))
        x += long
    return m


def hole_punch(rng: np.random.Generator) -> Mechanism:
    """A base with a lever that is pressed down on it: punches, nail clippers, garlic presses, nutcrackers."""
    m = Mechanism()
    long, wide, tall = rng.uniform(0.08, 0.18), rng.uniform(0.03, 0.1), rng.uniform(0.02, 0.04)
    base = m.base(
        rounded((0, 0, 0.006), (long, wide, 0.012), 0.004),
        *[between((-0.4 * long, s * wide * 0.35, 0.008), (-0.15 * long, s * wide * 0.42, tall + 0.008)) for s in (-1, 1)],
    )
    x = -0.3 * long
    raised = float(rng.uniform(0.15, 0.5))
    arm = rounded((0.1 * long, 0, tall + 0.006), (long * 0.85, wide * 0.6, 0.012), 0.004)
    arm += rod((x, -0.345 * wide, tall), (x, 0.345 * wide, tall), 0.006)
    m.hinge(base, [arm], (x, 0, tall), (0, -1, 0), m.coordinate(-0.02, raised, raised))
    return m


def multi_ruler(rng: np.random.Generator) -> Mechanism:
    """Plates that fold about pins at their ends, in parallel planes: folding rules, fans of colour cards."""
    m = Mechanism()
    count = int(rng.integers(2, 6))
    long, wide, thick = rng.uniform(0.1, 0.22), rng.uniform(0.014, 0.04), 0.003
    zigzag = rng.random() < 0.5
    slab = plate(
        [(-0.4 * wide, -wide / 2), (long + 0.4 * wide, -wide / 2), (long + 0.4 * wide, wide / 2), (-0.4 * wide, wide / 2)],
        thick,
        0.35 * wide,
    )
    link = m.base(slab)
    common = -1 if zigzag else m.coordinate(0.0, float(rng.uniform(0.2, 0.6)))
    for number in range(1, count):
        z = number * (thick + 0.0006)
        shape = moved(slab, (0, 0, z))
        if zigzag:
            x = long if number % 2 else 0.0
            link = m.hinge(link, [shape], (x, 0, 0), (0, 0, 1 if number % 2 else -1), m.coordinate(0.0, 3.1))
        else:
            m.hinge(0, [shape], (0, 0, 0), (0, 0, 1), common, ratio=float(number))
    return m
