"""Kitchen and household machines with doors, knobs and buttons."""

from __future__ import annotations

import numpy as np
from manifold3d import Manifold

from training.data.articulated.fronts import (
    case_members,
    drawer,
    feet,
    frame_members,
    handle,
    push_button,
    swing_door,
    turning_knob,
)
from training.data.articulated.mechanism import Mechanism
from training.data.articulated.shapes import between, box, cut, frame, placed, rod, rounded, turned, unite, vessel, wire

_GAP = 0.004


def oven(rng: np.random.Generator) -> Mechanism:
    """A cooker: a door that falls open, a row of knobs, burners on top, perhaps a drawer below."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.45, 0.65), rng.uniform(0.45, 0.9), rng.uniform(0.5, 0.95)
    wall, panel = rng.uniform(0.02, 0.05), rng.uniform(0.02, 0.05)
    low = height * rng.uniform(0.18, 0.3) if rng.random() < 0.5 else 0.03
    top = height * rng.uniform(0.78, 0.88)
    hollow = rng.random() < 0.8
    body = between((0, 0, 0), (depth, width, height))
    if hollow:
        body -= between((wall, wall, low + wall), (depth + 1, width - wall, top - wall))
    if low > 0.1:
        body -= between((wall, wall, wall), (depth + 1, width - wall, low - wall / 2))
    planes = [(2, top), (2, low), (1, wall), (1, width - wall), (0, wall)]
    boards = case_members(body, planes) if hollow and rng.random() < 0.35 else [body]
    shapes = [*boards, *feet(rng, (0, 0, 0), (depth, width, height))]
    if rng.random() < 0.7:
        for x in (0.3, 0.7):
            for y in (0.27, 0.73):
                radius = width * rng.uniform(0.08, 0.15)
                shapes.append(rod((x * depth, y * width, height - 0.005), (x * depth, y * width, height + 0.012), radius))
    if rng.random() < 0.3:
        shapes.append(between((0, 0, height - 0.005), (0.05, width, height + rng.uniform(0.06, 0.2))))
    base = m.base(*shapes)
    swing_door(
        m, rng, base, (depth + _GAP, 0, low + _GAP), (depth + panel, width, top - _GAP), "bottom", float(rng.uniform(1.2, 1.65))
    )
    if low > 0.1:
        drawer(m, rng, base, (depth + _GAP, 0, 0.01), (depth + panel, width, low - _GAP), depth * 0.8, margin=wall)
    knobs = int(rng.integers(1, 7))
    radius = min(0.028, 0.35 * (height - top))
    for y in np.linspace(0.12, 0.88, knobs) if knobs > 1 else [0.5]:
        turning_knob(m, rng, base, (depth, y * width, (top + height) / 2), (1, 0, 0), radius * 1.1, (0, 0, 1))
    return m


def fridge(rng: np.random.Generator) -> Mechanism:
    """One to three compartments above or beside each other, doors or a freezer drawer, shelves inside."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.45, 0.7), rng.uniform(0.45, 0.95), rng.uniform(0.8, 1.9)
    wall, panel = rng.uniform(0.03, 0.06), rng.uniform(0.03, 0.07)
    layout = rng.choice(["single", "over", "beside", "french"], p=[0.25, 0.4, 0.15, 0.2])
    cut = height * (rng.uniform(0.55, 0.75) if rng.random() < 0.6 else rng.uniform(0.25, 0.4))
    cells = {
        "single": [(0.0, width, 0.0, height)],
        "over": [(0.0, width, 0.0, cut), (0.0, width, cut, height)],
        "beside": [(0.0, width * 0.45, 0.0, height), (width * 0.45, width, 0.0, height)],
        "french": [
            (0.0, width / 2, 0.35 * height, height),
            (width / 2, width, 0.35 * height, height),
            (0.0, width, 0.0, 0.35 * height),
        ],
    }[str(layout)]
    body = between((0, 0, 0), (depth, width, height))
    hollow = rng.random() < 0.8
    shelves: list[Manifold] = []
    for y0, y1, z0, z1 in cells if hollow else []:
        body -= between((wall, y0 + wall / 2, z0 + wall / 2), (depth + 1, y1 - wall / 2, z1 - wall / 2))
        for z in np.linspace(z0, z1, int(rng.integers(1, 4)) + 1)[1:-1]:
            shelves.append(between((wall - 0.01, y0 + wall / 2 - 0.01, z), (0.85 * depth, y1 - wall / 2 + 0.01, z + 0.012)))
    planes = [(0, wall), (1, wall), (1, width - wall), (2, wall / 2), (2, height - wall / 2)]
    boards = case_members(body, planes) if hollow and rng.random() < 0.35 else [body]
    base = m.base(*boards, *shelves, *feet(rng, (0, 0, 0), (depth, width, height)))
    right = rng.random() < 0.6
    for number, (y0, y1, z0, z1) in enumerate(cells):
        low, high = (depth + _GAP, y0 + 0.002, z0 + 0.003), (depth + panel, y1 - 0.002, z1 - 0.003)
        if y1 - y0 == width and layout != "single" and z0 == 0 and hollow and (layout == "french" or rng.random() < 0.3):
            drawer(m, rng, base, low, high, depth * 0.75, margin=wall / 2)
        elif y1 - y0 < width:
            swing_door(m, rng, base, low, high, "left" if number == 0 else "right")
        else:
            swing_door(m, rng, base, low, high, "right" if right else "left")
    return m


def microwave(rng: np.random.Generator) -> Mechanism:
    """A door at the side or one that falls open, and a panel with buttons or dials."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.25, 0.42), rng.uniform(0.38, 0.6), rng.uniform(0.2, 0.36)
    wall, panel = rng.uniform(0.01, 0.03), rng.uniform(0.015, 0.035)
    front = depth - panel - _GAP
    share = rng.uniform(0.68, 0.82)
    falls = rng.random() < 0.2
    split_y = share * width
    body = between((0, 0, 0), (depth, width, height)) - between((front, -1, -1), (depth + 1, split_y, height + 1))
    if rng.random() < 0.85:
        body -= between((wall, wall, wall), (depth + 1, split_y - wall, height - wall))
    built = rng.random()
    if built < 0.4:
        rest, beside = cut(body, 1, (split_y,))
        pieces = [rest, *cut(beside, 0, (front,))]
    elif built < 0.6:
        pieces = case_members(body, [(1, split_y), (0, wall), (1, wall), (2, wall), (2, height - wall)])
    else:
        pieces = [body]
    if rng.random() < 0.3:
        pieces.append(box((depth, (split_y + width) / 2, 0.85 * height), (0.02, 0.7 * (width - split_y), 0.12 * height)))
    base = m.base(*pieces, *feet(np.random.default_rng(0), (0, 0, 0), (depth, width, height)))
    low, high = (front + _GAP, 0.0, 0.003), (depth, split_y - 0.003, height - 0.003)
    swing_door(m, rng, base, low, high, "bottom" if falls else "left", with_handle=rng.random() < 0.85)
    middle = (split_y + width) / 2
    free = width - split_y
    if rng.random() < 0.5:
        for z in (0.35, 0.7):
            turning_knob(m, rng, base, (depth, middle, z * height), (1, 0, 0), 0.3 * free, (0, 0, 1))
    else:
        rows = int(rng.integers(1, 5))
        for z in np.linspace(0.2, 0.75, rows):
            for side in (-1, 1) if free > 0.09 else (0,):
                push_button(
                    m, rng, base, (depth, middle + side * 0.22 * free, z * height), (1, 0, 0), min(0.14 * free, 0.05 * height)
                )
    return m


def dishwasher(rng: np.random.Generator) -> Mechanism:
    """A full-front door that falls open on a hollow with racks."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.5, 0.62), rng.uniform(0.42, 0.62), rng.uniform(0.7, 0.88)
    wall, panel = rng.uniform(0.02, 0.04), rng.uniform(0.03, 0.06)
    low = rng.uniform(0.05, 0.14)
    body = between((0, 0, 0), (depth, width, height)) - between((wall, wall, low), (depth + 1, width - wall, height - wall))
    shapes = [body]
    for z in (low + 0.08, (low + height) / 2):
        rim = between((wall - 0.005, wall - 0.005, z), (depth * 0.95, width - wall + 0.005, z + 0.012))
        for i in range(4):
            y = wall + (i + 0.5) * (width - 2 * wall) / 4
            rim -= between((2 * wall, y - 0.3 * width / 4, z - 1), (depth * 0.9, y + 0.3 * width / 4, z + 1))
        shapes.append(rim)
    base = m.base(*shapes)
    swing_door(
        m,
        rng,
        base,
        (depth + _GAP, 0.002, low),
        (depth + panel, width - 0.002, height - 0.003),
        "bottom",
        float(rng.uniform(1.3, 1.6)),
    )
    return m


def washing_machine(rng: np.random.Generator) -> Mechanism:
    """A front loader with a round door, a soap drawer and a dial; or a top loader with a lid."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.45, 0.65), rng.uniform(0.5, 0.65), rng.uniform(0.75, 0.95)
    body = between((0, 0, 0), (depth, width, height))
    if rng.random() < 0.3:
        body -= rod((depth / 2, width / 2, 0.2), (depth / 2, width / 2, height + 1), 0.38 * width)
        base = m.base(body, between((0, 0, height - 0.005), (0.1 * depth, width, height + 0.12)))
        lid = between((0.13 * depth, 0.02, height + _GAP), (depth - 0.01, width - 0.02, height + 0.03))
        grip = handle(rng, (depth - 0.04, width / 2, height + 0.03), (0, 0, 1), (0, 1, 0), 0.12, 0.03)
        m.hinge(base, [lid, *grip], (0.13 * depth, 0, height + 0.03), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(1.2, 1.8))))
        turning_knob(m, rng, base, (0.1 * depth, 0.7 * width, height + 0.06), (1, 0, 0), 0.035, (0, 0, 1))
        return m
    radius, z = rng.uniform(0.26, 0.34) * width, 0.48 * height
    body -= rod((0.15, width / 2, z), (depth + 1, width / 2, z), radius * 0.85, segments=28)
    soap = (0.05 * width, 0.38 * width, 0.86 * height, 0.97 * height)
    body -= between((depth * 0.4, soap[0], soap[2]), (depth + 1, soap[1], soap[3]))
    base = m.base(body, *feet(np.random.default_rng(0), (0, 0, 0), (depth, width, height)))
    drawer(
        m,
        rng,
        base,
        (depth - 0.02, soap[0] + _GAP, soap[2] + _GAP),
        (depth + 0.008, soap[1] - _GAP, soap[3] - _GAP),
        depth * 0.45,
    )
    left = rng.random() < 0.7
    rim = turned([(radius * 0.6, 0.0), (radius, 0.0), (radius, 0.03), (radius * 0.7, 0.05), (radius * 0.6, 0.04)], 28)
    glass = turned([(0.0, -0.05), (radius * 0.62, 0.0), (radius * 0.62, 0.02), (0.0, -0.03)], 28)
    out = depth + 0.003
    sign = -1 if left else 1
    hinge = box((out + 0.015, width / 2 + sign * radius * 1.02, z), (0.03, 0.05, 0.08))
    grip = box((out + 0.03, width / 2 - sign * radius * 0.93, z), (0.05, 0.03, 0.09))
    door = placed(unite([rim, glass]), frame((out, width / 2, z), (1, 0, 0), (0, 0, 1)))
    origin = (out + 0.03, width / 2 + sign * (radius * 1.02 + 0.025), z)
    m.hinge(base, [door, hinge, grip], origin, (0, 0, -1 if left else 1), m.coordinate(0.0, float(rng.uniform(1.4, 2.4))))
    turning_knob(m, rng, base, (depth, 0.6 * width, 0.915 * height), (1, 0, 0), 0.04 * height, (0, 0, 1))
    return m


def toaster(rng: np.random.Generator) -> Mechanism:
    """Slots, a lever at the end that is pushed down, and a dial."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.24, 0.36), rng.uniform(0.13, 0.26), rng.uniform(0.15, 0.22)
    body = rounded((depth / 2, width / 2, height / 2), (depth, width, height), 0.02)
    slots = 1 if width < 0.16 else 2
    for y in np.linspace(0, 1, slots + 2)[1:-1]:
        body -= box((depth / 2, y * width, height), (0.7 * depth, 0.03, 1.2 * height))
    track = rng.uniform(0.4, 0.6) * height
    body -= box((depth, width / 2, 0.55 * height), (0.03, 0.012, track + 0.02))
    base = m.base(body)
    z = 0.55 * height + track / 2 - 0.01
    lever = [
        box((depth + 0.005, width / 2, z), (0.03, 0.007, 0.015)),
        rounded((depth + 0.02, width / 2, z), (0.025, 0.05, 0.02), 0.005),
    ]
    m.slide(base, lever, (0, 0, -1), m.coordinate(0.0, float(track * 0.85)))
    if rng.random() < 0.7:
        turning_knob(m, rng, base, (depth, width * 0.78, 0.22 * height), (1, 0, 0), 0.016, (0, 0, 1))
    return m


def coffee_machine(rng: np.random.Generator) -> Mechanism:
    """A C-shaped body with a lid or a lever, a button, and a jug or drip tray that slides out."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.2, 0.34), rng.uniform(0.15, 0.26), rng.uniform(0.26, 0.4)
    foot, head, back = 0.12 * height, 0.28 * height, 0.38 * depth
    body = between((0, 0, 0), (depth, width, height)) - between((back, -1, foot), (depth + 1, 2, height - head))
    nozzle = rod((0.7 * depth, width / 2, height - head + 0.002), (0.7 * depth, width / 2, height - head - 0.02), 0.02, 0.012)
    base = m.base(body, nozzle)
    if rng.random() < 0.5:
        lid = rounded((depth / 2, width / 2, height + 0.016), (depth * 0.95, width * 0.95, 0.025), 0.01)
        m.hinge(base, [lid], (0.04 * depth, 0, height + 0.004), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(0.9, 1.7))))
    else:
        z, x = height - head * 0.4, depth * rng.uniform(0.6, 0.9)
        side = rod((x, width - 0.001, z), (x, width + 0.025, z), 0.014)
        arm = wire([(x, width + 0.02, z), (x + 0.11, width + 0.02, z)], 0.008)
        m.hinge(base, [side, arm], (x, width, z), (0, 1, 0), m.coordinate(0.0, float(rng.uniform(0.6, 1.5))))
    for y in (0.3, 0.7) if rng.random() < 0.5 else (0.5,):
        push_button(m, rng, base, (depth, y * width, height - head / 2), (1, 0, 0), 0.08 * width)
    radius = min(0.36 * width, 0.45 * (depth - back))
    tall = (height - head - foot) * 0.7
    cup = placed(
        vessel([(radius * 0.8, 0.0), (radius, tall * 0.5), (radius * 0.75, tall)], 0.006),
        frame((back + radius * 1.1, width / 2, foot + 0.003), (0, 0, 1)),
    )
    grip = wire(
        [
            (back + 2 * radius, width / 2, foot + 0.25 * tall),
            (back + 2 * radius + 0.035, width / 2, foot + 0.3 * tall),
            (back + 2 * radius + 0.03, width / 2, foot + 0.75 * tall),
            (back + 1.93 * radius, width / 2, foot + 0.75 * tall),
        ],
        0.006,
    )
    m.slide(base, [cup, grip], (1, 0, 0), m.coordinate(0.0, float(rng.uniform(0.5, 1.0) * depth)))
    return m


def blender(rng: np.random.Generator) -> Mechanism:
    """A stand mixer: the head tilts back, the whisk turns, a knob at the side."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.3, 0.38), rng.uniform(0.16, 0.22), rng.uniform(0.26, 0.36)
    foot = rounded((depth / 2, width / 2, 0.02), (depth, width, 0.04), 0.012)
    column = rounded((0.17 * depth, width / 2, 0.32 * height), (0.28 * depth, 0.55 * width, 0.62 * height), 0.015)
    bowl_radius = 0.42 * width
    bowl_at = (0.68 * depth, width / 2, 0.035)
    bowl = placed(
        vessel([(0.5 * bowl_radius, 0.0), (bowl_radius, 0.25 * height), (1.08 * bowl_radius, 0.45 * height)], 0.006),
        frame(bowl_at, (0, 0, 1)),
    )
    base = m.base(foot, column, bowl)
    z = 0.63 * height + 0.005
    head = rounded((0.5 * depth, width / 2, z + 0.13 * height), (depth * 0.98, 0.5 * width, 0.25 * height), 0.03)
    tilt = m.hinge(base, [head], (0.1 * depth, width / 2, z + 0.02), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(0.5, 1.1))))
    x, tip = 0.68 * depth, 0.1 * height
    loops = [
        wire(
            [
                (x + s * 0.012, width / 2, z - 0.02),
                (x + s * 0.4 * bowl_radius, width / 2, tip + 0.12 * height),
                (x, width / 2, tip),
            ],
            0.004,
        )
        for s in (-1, 1)
    ]
    m.hinge(
        tilt,
        [rod((x, width / 2, z - 0.002), (x, width / 2, z - 0.04), 0.016), *loops],
        (x, width / 2, 0),
        (0, 0, 1),
        m.coordinate(0.0, 3.1),
    )
    turning_knob(m, rng, base, (0.17 * depth, 0.775 * width, 0.45 * height), (0, 1, 0), 0.016, (0, 0, 1))
    return m


def printer(rng: np.random.Generator) -> Mechanism:
    """A scanner lid on top, a paper drawer at the bottom, a button or two."""
    m = Mechanism()
    depth, width, height = rng.uniform(0.3, 0.45), rng.uniform(0.35, 0.5), rng.uniform(0.14, 0.35)
    tray_height = rng.uniform(0.2, 0.35) * height
    body = rounded((depth / 2, width / 2, height / 2), (depth, width, height), 0.012)
    body -= between((0.2 * depth, 0.1 * width, 0.012), (depth + 1, 0.9 * width, 0.012 + tray_height))
    base = m.base(body)
    low, high = (depth - 0.02, 0.1 * width + _GAP, 0.012 + _GAP), (depth + 0.002, 0.9 * width - _GAP, 0.012 + tray_height - _GAP)
    drawer(m, rng, base, low, high, 0.7 * depth)
    lid_depth = depth * rng.uniform(0.7, 0.98)
    lid = rounded((lid_depth / 2, width / 2, height + 0.018), (lid_depth, width * 0.98, 0.028), 0.008)
    m.hinge(base, [lid], (0.01, 0, height + 0.006), (0, -1, 0), m.coordinate(0.0, float(rng.uniform(0.8, 1.6))))
    for i in range(int(rng.integers(1, 4))):
        push_button(m, rng, base, (depth, width * (0.75 + 0.07 * i), 0.75 * height), (1, 0, 0), 0.011)
    return m


def vent_louver(rng: np.random.Generator) -> Mechanism:
    """A frame with a few broad or many narrow slats, flat or standing, that all turn together about a middle or an edge."""
    m = Mechanism()
    width, height, deep = rng.uniform(0.3, 1.0), rng.uniform(0.3, 1.0), rng.uniform(0.03, 0.08)
    post, count = rng.uniform(0.02, 0.06), int(rng.integers(2, 8))
    rim = between((-deep, -post, -post), (deep, width + post, height + post)) - between((-1, 0, 0), (1, width, height))
    upright = rng.random() < 0.3
    base = m.base(*([rim] if rng.random() < 0.6 else frame_members(rim, 0, width, 0, height)))
    pitch = (width if upright else height) / count
    thin = min(0.01, 0.15 * pitch) * rng.uniform(0.7, 2.0)
    about = rng.choice([0.0, 0.45], p=[0.6, 0.4]) * pitch
    turn = m.coordinate(-0.2 if about == 0 else 0.0, float(rng.uniform(1.0, 1.5)), 0.0)
    for i in range(count):
        at = (i + 0.5) * pitch
        half = 0.45 * pitch
        if upright:
            shape = between((-thin, at - half, 0.005), (thin, at + half, height - 0.005))
            m.hinge(base, [shape], (0, at - about, 0), (0, 0, -1), turn)
        else:
            shape = between((-thin, 0.005, at - half), (thin, width - 0.005, at + half))
            m.hinge(base, [shape], (0, 0, at + about), (0, -1, 0), turn)
    return m
