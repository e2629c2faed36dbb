"""What is asked in the stress test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from neurok_ros.dynamics import ToolKind, ToolShape
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictionOptions, Push
from neurok_ros.reconstruction.types import ReconstructedMesh
from validation.stress_objects import absent, ball, blob, box, cylinder, downwards, sideways
from validation.stress_trial import Trial

WOOD = PhysicalProperties(density=600.0, youngs_modulus=1.0e10, friction=0.4)
FOAM = PhysicalProperties(density=60.0, youngs_modulus=2.0e4)
QUICK = PredictionOptions(horizon=0.5, frame_rate=60.0)
STATES = {"rigid": WOOD, "modal": FOAM}
LONG = 20.0
"""Seconds."""


@cache
def shapes() -> dict[str, ReconstructedMesh]:
    """Of the usual size, 0.1 m."""
    return {"box": box(0.06, 0.06, 0.1), "cylinder": cylinder(0.03, 0.1), "blob": blob(0.1)}


def trials() -> Iterator[Trial]:
    """All of them, the same at every call."""
    for group in (_sides, _fixations, _speeds, _forces, _squeezes, _stiffnesses, _sizes, _densities, _frictions):
        yield from group()
    for group in (_gravities, _starts_inside, _steps, _thin, _learned, _edges, _long):
        yield from group()


def _options(state: str, **changes: object) -> PredictionOptions:
    return replace(QUICK, parameterization=state, **changes)  # type: ignore[arg-type]


def _each(group: str, name: str, mesh: ReconstructedMesh, push: Push, **changes: object) -> Iterator[Trial]:
    for state, properties in STATES.items():
        yield Trial(group, f"{name}, {state}", mesh, properties, _options(state, **changes), push)


def _sides() -> Iterator[Trial]:
    for shape, mesh in shapes().items():
        for number in range(8):
            height = (0.2, 0.75)[number % 2]
            state = ("rigid", "modal")[number // 2 % 2]
            push = sideways(mesh, number * np.pi / 4, height=height)
            name = f"{shape} {45 * number} deg at {height}, {state}"
            yield Trial("from all sides", name, mesh, STATES[state], _options(state), push)


def _fixations() -> Iterator[Trial]:
    for shape, mesh in shapes().items():
        corner = (-1.0, -1.0, 0.06), (1.0, 1.0, 1.0)
        for fixation, region in ((Fixation.BASE, None), (Fixation.BOX, corner)):
            push = sideways(mesh, 0.0, height=0.35 if region else 0.8)
            yield from _each("held", f"{shape} {fixation.value}", mesh, push, fixation=fixation, fixed_box=region)


def _speeds() -> Iterator[Trial]:
    tools = {
        "ball": ToolShape(ToolKind.SPHERE, (0.01,)),
        "needle": ToolShape(ToolKind.SPHERE, (0.003,)),
        "plate": ToolShape(ToolKind.BOX, (0.01, 0.1, 0.1)),
        "bar": ToolShape(ToolKind.CAPSULE, (0.1, 0.01)),
    }
    for speed in (2.0, 5.0):
        for tool_name, tool in tools.items():
            mesh = shapes()["box" if tool_name != "bar" else "blob"]
            push = sideways(mesh, 0.3, tool, height=0.6, depth=4.0, speed=speed)
            yield from _each("speeds x10", f"{tool_name} {speed} m/s", mesh, push, horizon=0.3)
    mesh = shapes()["blob"]
    push = sideways(mesh, 1.0, depth=0.5, speed=9.9)
    yield from _each("speeds x10", "held, 9.9 m/s", mesh, push, fixation=Fixation.BASE, horizon=0.3)


def _forces() -> Iterator[Trial]:
    mesh = shapes()["box"]
    for limit in (1e-3, 1.0, 1000.0):
        for fixation in (Fixation.FREE, Fixation.BASE):
            push = sideways(mesh, 0.0, height=0.7, depth=0.6, force_limit=limit)
            yield from _each("force limits", f"{limit:g} N {fixation.value}", mesh, push, fixation=fixation)


def _squeezes() -> Iterator[Trial]:
    for shape, mesh in shapes().items():
        for depth in (0.3, 0.9):
            tool = ball(0.1) if shape == "cylinder" else ToolShape(ToolKind.BOX, (0.12, 0.12, 0.02))
            yield from _each("squeezed from above", f"{shape} {depth}", mesh, downwards(mesh, tool, depth, 0.2))
        push = sideways(mesh, 0.0, height=0.8, depth=2.0, speed=0.5)
        yield from _each("pushed far while held", shape, mesh, push, fixation=Fixation.BASE)


def _stiffnesses() -> Iterator[Trial]:
    for exponent in range(3, 13):
        properties = replace(FOAM, youngs_modulus=10.0**exponent)
        shape, fixation = (("box", Fixation.BASE), ("blob", Fixation.FREE))[exponent % 2]
        mesh = shapes()[shape]
        push = sideways(mesh, 0.0, height=0.75, depth=0.15)
        options = _options("modal", fixation=fixation)
        yield Trial("stiffness 1e3 to 1e12 Pa", f"{shape} 1e{exponent}", mesh, properties, options, push)
    for ratio in (0.0, 0.45, 0.49):
        mesh = shapes()["box"]
        properties = replace(FOAM, poisson_ratio=ratio, damping=0.0)
        push = sideways(mesh, 0.0, height=0.75, depth=0.3)
        options = _options("modal", fixation=Fixation.BASE)
        yield Trial("stiffness 1e3 to 1e12 Pa", f"box Poisson {ratio}", mesh, properties, options, push)


def _sizes() -> Iterator[Trial]:
    for size in (0.005, 3.0):
        for shape, mesh in (
            ("box", box(0.6 * size, 0.6 * size, size)),
            ("blob", blob(size)),
            ("slab", box(size, size, 0.2 * size)),
        ):
            push = sideways(mesh, 0.4, height=0.6, depth=0.3, speed=min(2.0 * size, 1.0))
            yield from _each("5 mm to 3 m", f"{shape} {1e3 * size:g} mm", mesh, push)
    small, large = box(0.005, 0.005, 0.005), box(3.0, 0.4, 3.0)
    finger = ToolShape(ToolKind.SPHERE, (0.01,))
    yield from _each("5 mm to 3 m", "5 mm, large finger", small, sideways(small, 0.0, finger, depth=4.0))
    yield from _each("5 mm to 3 m", "3 m, small finger", large, sideways(large, np.pi / 2, finger, depth=0.5, speed=0.5))


def _densities() -> Iterator[Trial]:
    for density in (10.0, 2.0e4):
        for shape in ("box", "blob"):
            mesh = shapes()[shape]
            for state, properties in STATES.items():
                push = sideways(mesh, 0.2, height=0.6)
                changed = replace(properties, density=density)
                yield Trial("densities", f"{shape} {density:g}, {state}", mesh, changed, _options(state), push)


def _frictions() -> Iterator[Trial]:
    for friction in (0.0, 2.0):
        for shape in ("box", "blob"):
            mesh = shapes()[shape]
            for state, properties in STATES.items():
                push = sideways(mesh, 0.2, height=0.4, depth=1.0)
                changed = replace(properties, friction=friction)
                yield Trial("friction 0 and 2", f"{shape} {friction:g}, {state}", mesh, changed, _options(state), push)


def _gravities() -> Iterator[Trial]:
    for gravity in (0.0, 100.0):
        mesh = shapes()["blob"]
        yield from _each("gravity 0 and 100", f"{gravity:g}", mesh, sideways(mesh, 0.0), gravity=gravity)


def _starts_inside() -> Iterator[Trial]:
    for inside in (0.001, 0.009, 0.02, 0.05):
        mesh = shapes()["box"]
        yield from _each("tool starts inside", f"{1e3 * inside:g} mm", mesh, sideways(mesh, 0.0, depth=1.5, start_depth=inside))
    for size in (0.005, 0.02):
        mesh = box(size, size, size)
        push = sideways(mesh, 0.0, ToolShape(ToolKind.SPHERE, (0.4 * size,)), height=0.5, depth=1.0, start_depth=0.45 * size)
        yield from _each("tool starts inside", f"middle of {1e3 * size:g} mm", mesh, push)
        finger = ToolShape(ToolKind.SPHERE, (size,))
        push = sideways(mesh, 0.0, finger, height=0.5, depth=1.0, start_depth=size)
        yield from _each("tool starts inside", f"around {1e3 * size:g} mm", mesh, push)


def _steps() -> Iterator[Trial]:
    for rate in (15, 30, 120, 400, 1000):
        mesh = shapes()["blob"]
        for state, properties in STATES.items():
            options = _options(state, frame_rate=min(float(rate), 60.0), horizon=0.5 if rate < 300 else 0.2)
            push = sideways(mesh, 0.2, height=0.7, speed=0.2 if rate < 300 else 0.5)
            yield Trial("steps 1/15 to 1/1000 s", f"1/{rate} s, {state}", mesh, properties, options, push, 1.0 / rate)


def _thin() -> Iterator[Trial]:
    flat = {"plate 0.5 mm": (0.15, 0.15, 0.0005)}
    upright = {"sheet 0.5 mm": (0.0005, 0.15, 0.15), "rod 4 mm": (0.004, 0.004, 0.2)}
    finger = ToolShape(ToolKind.SPHERE, (0.01,))
    for name, edges in flat.items():
        mesh = box(*edges)
        yield from _each("thin", name, mesh, sideways(mesh, 0.0, finger, depth=0.3))
        yield from _each("thin", f"{name} from above", mesh, downwards(mesh, finger, 1.0, 0.1, force_limit=20.0))
    for name, edges in upright.items():
        mesh = box(*edges)
        yield from _each("thin", name, mesh, sideways(mesh, 0.0, finger, depth=20.0))
        yield from _each("thin", f"{name} 5 m/s", mesh, sideways(mesh, 0.0, finger, depth=200.0, speed=5.0), horizon=0.2)
        push = sideways(mesh, 0.0, finger, depth=20.0)
        yield from _each("thin", f"{name} held", mesh, push, fixation=Fixation.BASE)


def _learned() -> Iterator[Trial]:
    for shape, mesh in shapes().items():
        for angle, (state, properties) in zip((0.0, 2.0), STATES.items(), strict=True):
            push = sideways(mesh, angle, height=0.7)
            yield Trial("learned", f"{shape} {angle:g}, {state} material", mesh, properties, _options("neurok"), push)
        fast = sideways(mesh, 0.0, depth=3.0, speed=5.0)
        yield Trial("learned", f"{shape} 5 m/s", mesh, WOOD, _options("neurok", horizon=0.4), fast)
        held = _options("neurok", fixation=Fixation.BASE)
        yield Trial("learned", f"{shape} held, far", mesh, FOAM, held, sideways(mesh, 1.0, height=0.8, depth=2.0))
        plate = ToolShape(ToolKind.BOX, (0.12, 0.12, 0.02))
        yield Trial("learned", f"{shape} squeezed", mesh, FOAM, _options("neurok"), downwards(mesh, plate, 0.6, 0.2))


def _edges() -> Iterator[Trial]:
    outline = tuple((x, y, 0.0) for x, y in ((-0.08, -0.08), (0.08, -0.08), (0.08, 0.08), (-0.08, 0.08)))
    for shape in ("box", "blob"):
        mesh = shapes()[shape]
        push = sideways(mesh, 0.0, height=0.3, depth=2.0, speed=0.4)
        yield from _each("over a table's edge", shape, mesh, push, support_outline=outline, horizon=1.0)


def _long() -> Iterator[Trial]:
    for shape, state in (("box", "rigid"), ("blob", "modal"), ("cylinder", "modal"), ("box", "neurok")):
        mesh, properties = shapes()[shape], STATES.get(state, FOAM)
        options = _options(state, horizon=LONG, frame_rate=10.0)
        yield Trial("20 s", f"{shape} rests, {state}", mesh, properties, options, absent(mesh), resting=True)
        push = sideways(mesh, 0.0, height=0.8, depth=0.3)
        yield Trial("20 s", f"{shape} pushed, {state}", mesh, properties, options, push)
