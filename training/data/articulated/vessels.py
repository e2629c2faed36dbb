"""Buckets, bottles, pots, kettles, cups: things with handles, caps and lids."""

from __future__ import annotations

import numpy as np
from manifold3d import Manifold

from training.data.articulated.fronts import around, bow
from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import ball, between, box, moved, ring, rod, rounded, tray, turned, vessel, wire


def bucket(rng: np.random.Generator) -> Mechanism:
    """A bucket, basket or watering pot with a bail that swings over it."""
    m = Mechanism()
    radius, height = rng.uniform(0.08, 0.18), rng.uniform(0.1, 0.32)
    wall = rng.uniform(0.003, 0.01)
    if rng.random() < 0.75:
        body = vessel([(radius * rng.uniform(0.6, 1.0), 0.0), (radius, height)], wall)
        side = radius
        if rng.random() < 0.5:
            body += moved(ring(radius, 1.4 * wall), (0, 0, height))
    else:
        side = radius * rng.uniform(0.6, 1.0)
        body = tray((-radius, -side, 0), (radius, side, height), wall)
    z = height - 0.03 * rng.uniform(0.4, 1.0)
    lugs = [rod((0, s * 0.9 * side, z), (0, s * (side + 0.012), z), 0.008, segments=12) for s in (-1, 1)]
    base = m.base(body, *lugs)
    out, bar = side + 0.016, rng.uniform(0.003, 0.006)
    arch = rng.uniform(0.85, 1.25) * out
    angle = np.linspace(0, np.pi, 15)
    loop = wire([(0, out * np.cos(a), z + arch * np.sin(a)) for a in angle], bar, 10)
    eyes = [rod((0, s * (out - 0.003), z), (0, s * (out + 0.004), z), 0.008, segments=12) for s in (-1, 1)]
    shapes = [loop, *eyes]
    if rng.random() < 0.5:
        shapes.append(rod((0, -0.25 * out, z + arch), (0, 0.25 * out, z + arch), bar * 2.6))
    swing = 1.2 if rng.random() < 0.5 else 1.75
    m.hinge(base, shapes, (0, 0, z), (0, 1, 0), m.coordinate(-swing, swing, float(rng.choice([-swing, 0.0, swing]))))
    return m


def bottle(rng: np.random.Generator) -> Mechanism:
    """A bottle or jar with a cap that unscrews and lifts, or one that flips open."""
    m = Mechanism()
    radius, height = rng.uniform(0.02, 0.06), rng.uniform(0.06, 0.28)
    neck = radius * rng.uniform(0.3, 0.95)
    shoulder = height * rng.uniform(0.6, 0.85)
    wall = 0.06 * radius
    if rng.random() < 0.25:
        body = rounded((0, 0, shoulder / 2), (1.6 * radius, 2 * radius, shoulder), 0.3 * radius)
        body += rod((0, 0, shoulder * 0.9), (0, 0, height), min(neck, 0.6 * radius))
        neck = min(neck, 0.6 * radius)
    else:
        body = vessel(
            [
                (radius * 0.95, 0.0),
                (radius, 0.08 * height),
                (radius, shoulder),
                (neck, shoulder + 0.5 * (height - shoulder)),
                (neck, height),
            ],
            wall,
        )
    base = m.base(body)
    cap, high = neck * 1.12 + 0.001, rng.uniform(0.3, 1.2) * neck + 0.008
    z = height - 0.6 * high
    shell = turned(
        [
            (0.0, z + high),
            (cap, z + high),
            (cap, z),
            (neck * 1.03 + 0.0004, z),
            (neck * 1.03 + 0.0004, height + 0.001),
            (0.0, height + 0.001),
        ]
    )
    if rng.random() < 0.25:
        lid = rod((0, 0, height + 0.001), (0, 0, height + 0.3 * high + 0.003), cap)
        tongue = box((cap, 0, height + 0.15 * high + 0.002), (0.3 * cap, 0.4 * cap, 0.2 * high + 0.001))
        m.hinge(base, [lid, tongue], (-cap, 0, height + 0.001), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(1.5, 2.8))))
        return m
    ribs = [
        rod((*p[:2], z + 0.1 * high), (*p[:2], z + 0.9 * high), 0.09 * cap, segments=8)
        for p in around((0, 0, 0), cap, int(rng.integers(5, 12)))
    ]
    lifted = m.slide(base, [], (0, 0, 1), m.coordinate(0.0, float(high * rng.uniform(1.0, 3.0))))
    m.hinge(
        lifted, [shell, *(ribs if rng.random() < 0.6 else [])], (0, 0, 0), (0, 0, 1), m.coordinate(0.0, 4.0), pitch=0.02 * neck
    )
    return m


def pot(rng: np.random.Generator) -> Mechanism:
    """A pot, pan or tea tin with a lid that lifts and turns."""
    m = Mechanism()
    radius, height = rng.uniform(0.06, 0.16), rng.uniform(0.05, 0.22)
    wall = 0.004
    shapes = [vessel([(radius * rng.uniform(0.75, 1.0), 0.0), (radius, height * 0.4), (radius, height)], wall)]
    z = height * rng.uniform(0.7, 0.9)
    kind = rng.choice(["ears", "stick", "none"], p=[0.45, 0.4, 0.15])
    if kind == "ears":
        for s in (-1, 1):
            y = s * (radius - wall / 2)
            shapes.append(
                wire(
                    [
                        (-0.25 * radius, y, z),
                        (-0.2 * radius, y + s * 0.03, z + 0.004),
                        (0.2 * radius, y + s * 0.03, z + 0.004),
                        (0.25 * radius, y, z),
                    ],
                    0.005,
                )
            )
    elif kind == "stick":
        shapes.append(wire([(radius - wall / 2, 0, z), (radius + rng.uniform(0.1, 0.2), 0, z + rng.uniform(0, 0.05))], 0.009))
    base = m.base(*shapes)
    top = height + 0.002
    dome = rng.uniform(0.004, 0.05)
    lid = turned(
        [
            (0.0, top),
            (radius * 1.03, top),
            (radius * 1.03, top + 0.005),
            (0.5 * radius, top + 0.005 + 0.75 * dome),
            (0.0, top + 0.006 + dome),
        ]
    )
    knob_z = top + dome + 0.004
    if rng.random() < 0.6:
        knob = [
            rod((0, 0, knob_z - 0.004), (0, 0, knob_z + 0.02), 0.007, segments=12),
            ball((0, 0, knob_z + 0.02), 0.014, (1, 1, 0.7)),
        ]
    else:
        knob = [
            wire(
                [(0, -0.03, knob_z - 0.006), (0, -0.025, knob_z + 0.022), (0, 0.025, knob_z + 0.022), (0, 0.03, knob_z - 0.006)],
                0.005,
            )
        ]
    lifted = m.slide(base, [], (0, 0, 1), m.coordinate(0.0, float(rng.uniform(0.5, 1.6) * height)))
    m.hinge(lifted, [lid, *knob], (0, 0, 0), (0, 0, 1), m.coordinate(0.0, 3.1))
    return m


def kettle(rng: np.random.Generator) -> Mechanism:
    """A kettle or teapot: a spout, a fixed or folding handle, a lid that is hinged or lifts off."""
    m = Mechanism()
    radius, height = rng.uniform(0.07, 0.11), rng.uniform(0.09, 0.22)
    mouth = radius * rng.uniform(0.45, 0.7)
    wall = 0.005
    body = vessel([(radius * 0.9, 0.0), (radius, 0.25 * height), (radius * 0.95, 0.6 * height), (mouth, height)], wall)
    spout = Manifold.batch_hull([ball((radius * 0.8, 0, 0.4 * height), 0.02), ball((radius * 1.6, 0, 0.9 * height), 0.01)])
    spout -= rod((0, 0, 0), (0, 0, 0.6 * height), radius * 0.9)
    shapes = [body, spout]
    bail = rng.random() < 0.5
    if not bail:
        x = -radius * 0.85
        shapes.append(
            wire(
                [
                    (x, 0, 0.75 * height),
                    (x - 0.05, 0, 0.8 * height),
                    (x - 0.055, 0, 0.35 * height),
                    (-radius * 0.93, 0, 0.25 * height),
                ],
                0.008,
            )
        )
    base = m.base(*shapes)
    top = height + 0.002
    lid = [
        turned([(0.0, top), (mouth * 1.05, top), (mouth * 1.05, top + 0.004), (0.0, top + 0.018)]),
        rod((0, 0, top + 0.01), (0, 0, top + 0.032), 0.01, 0.014),
    ]
    if rng.random() < 0.5:
        m.hinge(base, lid, (-mouth * 1.05, 0, top), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(0.9, 1.9))))
    else:
        m.slide(base, lid, (0, 0, 1), m.coordinate(0.0, float(rng.uniform(0.05, 0.15))))
    if bail:
        z, out = 0.78 * height, radius * 0.86 + 0.012
        pins = rod((0, -out - 0.004, z), (0, out + 0.004, z), 0.007, segments=12) - rod(
            (0, -out + 0.006, z), (0, out - 0.006, z), 1.0
        )
        angle = np.linspace(0, np.pi, 13)
        loop = wire([(0, out * np.cos(a), z + 1.25 * out * np.sin(a) ** 0.7) for a in angle], 0.006, 10)
        m.hinge(base, [loop, pins], (0, 0, z), (0, 1, 0), m.coordinate(-1.0, 1.0, 0.0))
    return m


def drum_lid_jar(rng: np.random.Generator) -> Mechanism:
    """A jar with a wire clip: the lid hinges at the back, the clip at the front."""
    m = Mechanism()
    radius, height = rng.uniform(0.04, 0.07), rng.uniform(0.07, 0.18)
    body = vessel([(radius, 0.0), (radius, 0.85 * height), (radius * 0.9, height)], 0.005)
    base = m.base(body)
    top = height + 0.002
    lid = [
        rod((0, 0, top), (0, 0, top + 0.014), radius * 0.95, radius * 0.9),
        box((-radius * 0.95, 0, top + 0.006), (0.012, 0.03, 0.01)),
    ]
    m.hinge(base, lid, (-radius, 0, top), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(1.4, 2.4))))
    z = 0.82 * height
    half, thick = radius * rng.uniform(0.3, 0.7), radius * rng.uniform(0.04, 0.1)
    x = radius + 0.001 + 1.3 * thick
    clip = bow((x, 0, z), (x, -half, z), (1, 0, 0), 180.0, thick)
    m.hinge(
        base,
        [clip, rod((x, -half - 0.004, z), (x, half + 0.004, z), 1.3 * thick, segments=10)],
        (x, 0, z),
        (0, -1, 0),
        m.coordinate(0.0, 1.9),
    )
    return m


def beer_mug(rng: np.random.Generator) -> Mechanism:
    """A mug with a handle and a lid that a thumb piece lifts."""
    m = Mechanism()
    radius, height = rng.uniform(0.035, 0.06), rng.uniform(0.08, 0.2)
    body = vessel([(radius * rng.uniform(0.9, 1.1), 0.0), (radius, height)], 0.004)
    x = -radius
    grip = wire(
        [(x + 0.002, 0, 0.85 * height), (x - 0.035, 0, 0.8 * height), (x - 0.035, 0, 0.3 * height), (x, 0, 0.2 * height)], 0.006
    )
    base = m.base(body, grip)
    top = height + 0.002
    lid = turned([(0.0, top), (radius * 1.05, top), (radius, top + 0.006), (0.0, top + rng.uniform(0.01, 0.03))])
    thumb = between((x - 0.025, -0.006, top), (x + 0.005, 0.006, top + 0.005)) + between(
        (x - 0.025, -0.006, top), (x - 0.02, 0.006, top + 0.03)
    )
    m.hinge(base, [lid, thumb], (x - 0.01, 0, top), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(1.0, 1.8))))
    return m
