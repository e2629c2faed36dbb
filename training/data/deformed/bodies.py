"""Random soft bodies: long axis z, centred, the longest extent one unit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from manifold3d import Manifold

from training.data.articulated.shapes import ball, between, moved, plate, ring, rod, rounded, turned, unite, vessel, wire
from training.sampling import Floats, Surface

_EDGE = 0.08
"""The longest edge of a body's triangles."""

Body = Callable[[np.random.Generator], Manifold]


def block(rng: np.random.Generator) -> Manifold:
    """A sponge, a cushion, an eraser: a box with sharp or round edges."""
    size = np.sort(rng.uniform(0.25, 1.0, 3))
    if rng.random() < 0.4:
        return between(-size / 2, size / 2)
    return rounded((0, 0, 0), size, float(size.min()) * rng.uniform(0.1, 0.45))


def blob(rng: np.random.Generator) -> Manifold:
    """A ball with a few waves on it, stretched: fruit, dough, a stone of rubber."""
    waves = rng.normal(0, 2.2, (6, 3))
    sizes = rng.normal(0, 0.09, 6)
    phases = rng.uniform(0, 2 * np.pi, 6)
    stretch = rng.uniform(0.5, 1.0, 3)

    def swell(points: Floats) -> Floats:
        return np.asarray(points * (1 + np.sin(points @ waves.T + phases) @ sizes)[:, None] * stretch)

    return Manifold.sphere(0.5, 32).warp_batch(swell)


def cylinder(rng: np.random.Generator) -> Manifold:
    """A roll, a hose, a cup, a cone: round about z, full or hollow."""
    radius = rng.uniform(0.08, 0.35)
    kind = rng.choice(["full", "tube", "cone", "cup", "vase"])
    if kind == "full":
        return rod((0, 0, -0.5), (0, 0, 0.5), radius)
    if kind == "tube":
        return rod((0, 0, -0.5), (0, 0, 0.5), radius) - rod((0, 0, -1), (0, 0, 1), radius * rng.uniform(0.6, 0.9))
    if kind == "cone":
        return rod((0, 0, -0.5), (0, 0, 0.5), radius, radius * rng.uniform(0.2, 0.7))
    if kind == "cup":
        return vessel([(radius * rng.uniform(0.6, 1), -0.5), (radius, 0.5)], radius * 0.12)
    profile = [(radius * rng.uniform(0.4, 1.1), z) for z in np.linspace(-0.5, 0.5, 6)]
    return turned([(0.0, -0.5), *profile, (0.0, 0.5)])


def plush(rng: np.random.Generator) -> Manifold:
    """A stuffed animal: a body, a head with ears, limbs, a tail."""
    body = np.array([rng.uniform(0.14, 0.2), rng.uniform(0.16, 0.24), rng.uniform(0.2, 0.3)])
    head = rng.uniform(0.13, 0.2)
    top = body[2] * 0.8 + head * 0.75
    parts = [ball((0, 0, 0), 1.0, body), ball((0.02, 0, top), head, (1, rng.uniform(0.9, 1.15), rng.uniform(0.85, 1.0)))]
    ear, rise = rng.uniform(0.03, 0.07), rng.uniform(0.3, 1.0)
    limb, reach = rng.uniform(0.045, 0.075), rng.uniform(0.12, 0.24)
    droop = rng.uniform(-0.15, 0.12)
    for side in (-1, 1):
        at = np.array([0.0, side * head * 0.7, top + head * 0.65])
        parts.append(wire([at, at + np.array([0, side * 0.3 * ear, rise * 2.5 * ear])], ear))
        shoulder = np.array([0.0, side * body[1] * 0.75, body[2] * 0.45])
        parts.append(wire([shoulder, shoulder + np.array([0.04, side * reach, droop])], limb))
        hip = np.array([0.03, side * body[1] * 0.5, -body[2] * 0.75])
        parts.append(
            wire([hip, hip + np.array([reach * rng.uniform(0.2, 1.0), side * 0.05, -reach * rng.uniform(0.3, 1.0)])], limb * 1.15)
        )
    if rng.random() < 0.5:
        parts.append(wire([(-0.1, 0, -0.1), (-body[0] - rng.uniform(0.05, 0.2), 0, rng.uniform(-0.15, 0.1))], limb * 0.7))
    if rng.random() < 0.5:
        parts.append(ball((head * 0.95, 0, top - head * 0.15), head * 0.4))
    return unite(parts)


def quadruped(rng: np.random.Generator) -> Manifold:
    """A four-legged soft toy that stands along x."""
    long, high, radius = rng.uniform(0.25, 0.4), rng.uniform(0.15, 0.3), rng.uniform(0.08, 0.13)
    parts = [wire([(-long, 0, 0), (long, 0, 0)], radius, 16)]
    leg = radius * rng.uniform(0.35, 0.55)
    for x in (-0.85, 0.85):
        for y in (-1, 1):
            parts.append(wire([(x * long, y * radius * 0.6, 0), (x * long * 1.05, y * radius * 0.8, -high)], leg))
    neck = np.array([long + rng.uniform(0.03, 0.12), 0, rng.uniform(0.08, 0.3)])
    parts += [wire([(long, 0, 0.02), neck], radius * 0.6), ball(neck + np.array([0.04, 0, 0.02]), radius * 0.8, (1.4, 1, 1))]
    parts.append(wire([(-long, 0, 0), (-long - 0.15, 0, rng.uniform(-0.1, 0.15))], leg * 0.6))
    return unite(parts)


def sheet(rng: np.random.Generator) -> Manifold:
    """Cloth, paper, rubber: a thin plate in y and z, of any outline."""
    width, thick = rng.uniform(0.35, 1.0), rng.uniform(0.006, 0.02)
    if rng.random() < 0.7:
        outline = [(-width / 2, -0.5), (width / 2, -0.5), (width / 2, 0.5), (-width / 2, 0.5)]
    else:
        turns = np.linspace(0, 2 * np.pi, 20, endpoint=False)
        power = rng.uniform(0.6, 1.0)
        outline = [(width / 2 * _power(np.cos(a), power), 0.5 * _power(np.sin(a), power)) for a in turns]
    lying = plate(outline, thick)
    return lying.rotate([90.0, 0.0, 90.0])


def rope(rng: np.random.Generator) -> Manifold:
    """A rope, a cable, a strap, a snake: long and thin along z."""
    radius = rng.uniform(0.012, 0.04)
    kind = rng.random()
    if kind < 0.6:
        return wire([(0, 0, -0.5), (0, 0, 0.5)], radius)
    if kind < 0.8:
        return between((-radius * 0.5, -radius * 2, -0.5), (radius * 0.5, radius * 2, 0.5))
    return unite(
        [wire([(0, 0, -0.45), (0, 0, 0.45)], radius), *[ball((0, 0, s * 0.45), radius * rng.uniform(1.5, 3.0)) for s in (-1, 1)]]
    )


def hoop(rng: np.random.Generator) -> Manifold:
    """A tyre, a gasket, a doughnut, a band."""
    thick = rng.uniform(0.03, 0.16)
    whole = ring(0.5 - thick, thick)
    return whole.rotate([90.0, 0.0, 0.0])


def plant(rng: np.random.Generator) -> Manifold:
    """A stem with leaves."""
    parts = [wire([(0, 0, -0.5), (0, 0, 0.4)], rng.uniform(0.012, 0.025))]
    for i in range(int(rng.integers(3, 8))):
        z, turn = rng.uniform(-0.2, 0.4), rng.uniform(0, 2 * np.pi)
        long, wide = rng.uniform(0.15, 0.3), rng.uniform(0.05, 0.1)
        outline = [(-0.01, -0.01), (0.4 * long, -wide), (long, 0.0), (0.4 * long, wide), (-0.01, 0.01)]
        leaf = plate(outline, 0.01).rotate([0.0, -rng.uniform(10, 60), 0.0]).rotate([0.0, 0.0, float(np.degrees(turn))])
        parts.append(moved(leaf, (0, 0, z - 0.002 * i)))
    parts.append(ball((0, 0, 0.42), rng.uniform(0.03, 0.08)))
    return unite(parts)


def glove(rng: np.random.Generator) -> Manifold:
    """A palm with fingers; a star, a comb, an octopus-like thing in the flat."""
    fingers = int(rng.integers(3, 7))
    palm, thick = rng.uniform(0.12, 0.2), rng.uniform(0.03, 0.07)
    full_turn = rng.random() < 0.4
    turns = np.arange(fingers) * 2 * np.pi / fingers if full_turn else np.linspace(-1.0, 1.0, fingers)
    parts = [ball((0, 0, 0), 1.0, (thick * 1.1, palm, palm))]
    for a in turns:
        long = rng.uniform(0.28, 0.45)
        way = np.array([0, np.sin(a), np.cos(a)])
        parts.append(wire([0.6 * palm * way, long * way], thick * rng.uniform(0.6, 0.9)))
    if not full_turn and rng.random() < 0.6:
        parts.append(wire([(0, 0, 0), (0, 0, -0.35)], thick))
    return unite(parts)


BODIES: dict[str, Body] = {
    "block": block,
    "blob": blob,
    "cylinder": cylinder,
    "glove": glove,
    "hoop": hoop,
    "plant": plant,
    "plush": plush,
    "quadruped": quadruped,
    "rope": rope,
    "sheet": sheet,
}


def body_surface(body: Manifold) -> Surface:
    """Its mesh, moved to the origin and scaled to a longest extent of one; edges short enough to show a bend."""
    box = np.array(body.bounding_box())
    mesh = body.refine_to_length(float(_EDGE * (box[3:] - box[:3]).max())).to_mesh64()
    vertices = np.asarray(mesh.vert_properties)[:, :3]
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    faces = np.asarray(mesh.tri_verts, np.int64)
    return Surface((vertices - (low + high) / 2) / (high - low).max(), faces, np.zeros(len(faces), np.int64))


def _power(value: float, exponent: float) -> float:
    return float(np.sign(value) * np.abs(value) ** exponent)
