"""Held-out articulated objects, whole as the product predicts them from a mesh, against MuJoCo on the same geometry and push.

Objects are of the kinds that training draws, with seeds that it never drew, and of kinds that it never saw. Each is met in some
state; its base is held by a box, as a user would give it; one of its parts is pushed by a finger. MuJoCo has the joints, their
ranges and the density; the product has the mesh in that state, the density, and what the network makes of it. How hard joints
turn is the same in both (`JOINT_DAMPING`).

Some are met as a camera sees them: the mesh is reconstructed from a simulated view, and judged where its vertices truly go.

`kinematics` is the error of the best learned state for MuJoCo's true shape (Gauss-Newton, `training/evaluation`), `dynamics` is
what the predicted shape is off from that best one.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import partial

import numpy as np

from neurok_ros.kinematics.neurok import NeurokKinematics
from neurok_ros.prediction.predict import JOINT_DAMPING, predict
from neurok_ros.prediction.prepare import PreparedObject, prepare
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictionOptions, Push
from neurok_ros.reconstruction import ReconstructionWorker
from neurok_ros.reconstruction.types import ReconstructedMesh
from training.data.articulated.categories import CATEGORIES, HELD_OUT
from training.data.articulated.mechanism import Assembly, Link, Mechanism
from training.data.articulated.source import ArticulatedObject
from training.data.reconstructed.scan import side_that_moves
from training.evaluation.inverse_kinematics import ITERATIONS, decode, solve
from training.evaluation.neurok import NeurokStates
from training.evaluation.objects import EvaluationObject, Floats, Ints, MaterialPoints
from training.evaluation.scanned import SeenMesh, seen_mesh
from validation.case import Case, Motion
from validation.learned_push import finger_push
from validation.mujoco.comparison import force_figures
from validation.mujoco.reference import FRAME_RATE
from validation.mujoco.trained import Trained, motion_of

WOOD = PhysicalProperties(density=500.0, youngs_modulus=1.0e10, poisson_ratio=0.3, damping=0.05, friction=0.3)
SECONDS = 2.0
EDGE = 0.06
"""Of the object's size: no edge of the mesh that the product gets is longer."""
JUDGED_POINTS = 2000
"""Of the surface, uniform."""
SPLIT_TIMES = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
"""Seconds at which the error is split in two."""
AROUND = 0.1
"""Of the object's size: how far the box that holds it reaches beyond it, where nothing moves."""
FAR_BELOW = 1.0
"""Metres: where the support is, so that nothing that swings touches it."""


@dataclass(frozen=True)
class Pushed:
    """One held-out object, its state and what is pushed."""

    category: str
    number: int
    coordinate: int
    start: float
    """Of the coordinate's range, where it is met."""
    travel: float
    """Of the coordinate's range, how far the finger takes it; signed."""
    held: bool = False
    """Springs or stiff joints carry what would fall: in MuJoCo gravity does not act on the parts that move. The product is not
    told."""


def subject_of(pushed: Pushed) -> Trained:
    """The object, its long edges split."""
    key = (zlib.crc32(pushed.category.encode()), 1, pushed.number)
    made = CATEGORIES[pushed.category](np.random.default_rng(key))
    size = float(np.ptp(Assembly.of(made).surface.vertices, axis=0).max())
    links = [Link((link.body.refine_to_length(EDGE * size),), link.parent, link.joint) for link in made.links]
    mechanism = Mechanism(links, made.coordinates)
    chosen = mechanism.coordinates[pushed.coordinate]
    values = mechanism.rest
    values[pushed.coordinate] = chosen.lower + pushed.start * (chosen.upper - chosen.lower)
    return Trained(
        ArticulatedObject(mechanism, Assembly.of(mechanism), key), mechanism, values, WOOD.density, JOINT_DAMPING, pushed.held
    )


def push_of(pushed: Pushed, subject: Trained) -> Push:
    """The finger's."""
    chosen = subject.mechanism.coordinates[pushed.coordinate]
    return finger_push(subject, pushed.coordinate, pushed.travel * (chosen.upper - chosen.lower))


def compared(pushed: Pushed, scanned: bool = False) -> Motion:
    """The surface here and in MuJoCo.

    Args:
        pushed: the object and the push.
        scanned: the product gets what was reconstructed of one view of the object, not its own mesh.

    Raises:
        NeurokError: where nothing was reconstructed, or the push starts inside of what was.
    """
    subject = subject_of(pushed)
    push = push_of(pushed, subject)
    theirs, truth = motion_of(subject, push, SECONDS)
    shape, truth = _seen(pushed, subject, truth) if scanned else (subject, truth)
    return judged(whole_mesh(shape.vertices, shape.faces), held_box(subject), push, truth, theirs.tool_force)


def _seen(pushed: Pushed, subject: Trained, truth: Floats) -> tuple[SeenMesh, Floats]:
    """What was reconstructed of one view, and where its vertices truly go, (t, n, 3)."""
    points = MaterialPoints.random(subject.vertices, subject.faces, JUDGED_POINTS, 0)
    side = side_that_moves(points.at(subject.vertices), points.at(truth[-1])[None])
    rng = np.random.default_rng(zlib.crc32(f"{pushed.category} {pushed.number}".encode()))
    with ReconstructionWorker() as worker:
        seen = seen_mesh(worker, subject.vertices, subject.faces, side + rng.uniform(-0.7, 0.7), rng)
    return seen, np.stack([seen.carried_to(shape) for shape in truth])


def judged(mesh: ReconstructedMesh, box: Floats, push: Push, truth: Floats, force: Floats) -> Motion:
    """The product's motion of a mesh against where its vertices truly go.

    Args:
        mesh: at the start.
        box: (2, 3) metres, what holds the object.
        push: the finger's.
        truth: (t, v, 3) metres.
        force: (t, 3) N, the true one on the tool.
    """
    low, high = _triple(box[0]), _triple(box[1])
    options = PredictionOptions(SECONDS, FRAME_RATE, Fixation.BOX, (low, high), "neurok")
    prepared = prepare(mesh, WOOD, options)
    motion = predict(prepared, push, options, device="cpu")
    predicted = motion.vertices.astype(np.float64)
    faces = np.asarray(mesh.faces, np.int64)
    points = MaterialPoints.random(mesh.vertices, faces, JUDGED_POINTS, 0)
    size = float(np.ptp(mesh.vertices, axis=0).max())
    figures = split_error(prepared, faces, points, truth, predicted, size)
    figures |= force_figures(motion.contact_force, force)
    figures |= {f"flag_{name}": float(flag) for name, flag in motion.flags.items() if flag}
    true, ours = (np.stack([points.at(shape) for shape in shapes]) for shapes in (truth, predicted))
    return Motion(np.arange(len(truth)) / FRAME_RATE, true, ours, size, figures)


def split_error(
    prepared: PreparedObject, faces: Ints, points: MaterialPoints, truth: Floats, predicted: Floats, size: float
) -> dict[str, float]:
    """Root mean squares over points and `SPLIT_TIMES`, as per cent of the size and of the peak displacement."""
    kinematics = prepared.kinematics
    assert isinstance(kinematics, NeurokKinematics)
    given = EvaluationObject("", prepared.mesh.vertices, faces, truth[:0], truth[:0])
    states = NeurokStates(given, kinematics.encoded, kinematics.subspace)
    frames = [round(FRAME_RATE * time) for time in SPLIT_TIMES if round(FRAME_RATE * time) < len(predicted)]
    best = np.stack([points.at(decode(given, states, solve(given, states, truth[f], "vertex", ITERATIONS))) for f in frames])
    true, ours = (np.stack([points.at(shapes[f]) for f in frames]) for shapes in (truth, predicted))
    moved = np.stack([points.at(shape) for shape in truth]) - points.at(truth[0])
    peak = float(np.sqrt((moved**2).sum(-1).mean(-1)).max())
    found = {"coordinates": float(states.dim)}
    for name, off in (("kinematics", best - true), ("dynamics", ours - best)):
        error = float(np.sqrt((off**2).sum(-1).mean()))
        found[f"{name}_error_percent_of_size"] = 100.0 * error / size
        if peak > 0.0:
            found[f"{name}_error_percent_of_peak"] = 100.0 * error / peak
    return found


def whole_mesh(vertices: Floats, faces: Ints) -> ReconstructedMesh:
    """A mesh as reconstruction hands it on, as if all of it had been seen."""
    support = np.array([0.0, 0.0, 1.0, FAR_BELOW - vertices[:, 2].min()])
    return ReconstructedMesh(vertices, faces.astype(np.int32), np.ones(len(vertices), bool), None, support, "none")


def held_box(subject: Trained) -> Floats:
    """(2, 3) metres: of six slabs of the object, from each side to the first vertex of a part that moves, that with most area."""
    vertices, faces = subject.vertices, subject.faces
    moving = np.any([subject.carried(c) for c in range(len(subject.values))], axis=0)[subject.link]
    corners = vertices[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    center, still = corners.mean(axis=1), ~moving[faces[:, 0]]
    size = float(np.ptp(vertices, axis=0).max())
    slack, around = 1e-3 * size, AROUND * size
    slabs = []
    for axis in range(3):
        for lower in (True, False):
            box = np.stack([vertices.min(axis=0) - around, vertices.max(axis=0) + around])
            end = vertices[moving, axis].min() - slack if lower else vertices[moving, axis].max() + slack
            box[1 if lower else 0, axis] = end
            inside = ((center >= box[0]) & (center <= box[1])).all(axis=1) & still
            slabs.append((float(area[inside].sum()), box))
    return max(slabs, key=lambda slab: slab[0])[1]


def _triple(values: Floats) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z


PUSHES = [
    Pushed("room_door", 0, 0, 0.3, 0.2),
    Pushed("room_door", 1, 0, 0.3, 0.2),
    Pushed("gate", 0, 0, 0.4, 0.2),
    Pushed("cabinet", 1, 0, 0.4, -0.2),
    Pushed("fridge", 0, 1, 0.4, -0.2),
    Pushed("microwave", 1, 0, 0.4, -0.2),
    Pushed("microwave", 2, 0, 0.4, -0.2),
    Pushed("drawers", 0, 0, 0.8, -0.4),
    Pushed("drawers", 2, 0, 0.8, -0.4),
    Pushed("laptop", 0, 0, 0.5, -0.15, held=True),
    Pushed("laptop", 1, 0, 0.5, -0.15, held=True),
    Pushed("briefcase", 0, 0, 0.5, -0.2, held=True),
    Pushed("box", 0, 0, 0.4, -0.1, held=True),
    Pushed("box", 1, 0, 0.4, -0.1, held=True),
    Pushed("oven", 0, 0, 0.5, -0.3, held=True),
    Pushed("faucet", 0, 0, 0.5, 0.2, held=True),
    Pushed("faucet", 1, 0, 0.5, 0.2, held=True),
    Pushed("lever", 1, 0, 0.4, 0.2, held=True),
    Pushed("lock", 2, 0, 0.3, 0.3, held=True),
    Pushed("washing_machine", 1, 0, 0.4, -0.2, held=True),
    Pushed("stapler", 0, 1, 0.4, -0.2, held=True),
    Pushed("stapler", 1, 1, 0.4, -0.2, held=True),
    Pushed("desk_lamp", 0, 0, 0.5, 0.2, held=True),
    Pushed("desk_lamp", 1, 0, 0.5, 0.2, held=True),
]
HELD_OUT_KIND = "Of a kind that training never saw"
HELD_OUT_SEED = "With a seed that training never drew"


def _case(pushed: Pushed) -> Case:
    kind = HELD_OUT_KIND if pushed.category in HELD_OUT else HELD_OUT_SEED
    load = "what would fall is held" if pushed.held else "nothing would fall"
    description = (
        f"{kind}; met at {pushed.start:.0%} of a joint's range and pushed by {pushed.travel:+.0%} of it in 0.5 s, {load}."
    )
    return Case(f"learned {pushed.category.replace('_', ' ')} {pushed.number}", "MuJoCo", description, partial(compared, pushed))


def _scanned_case(pushed: Pushed) -> Case:
    case = _case(pushed)
    description = f"{case.description} The mesh is reconstructed from one simulated view."
    return Case(case.name.replace("learned", "scanned"), "MuJoCo", description, partial(compared, pushed, scanned=True))


CASES: list[Case] = [_case(pushed) for pushed in PUSHES]
"""See the module."""
SCANNED_CASES: list[Case] = [_scanned_case(pushed) for pushed in PUSHES[::3]]
"""Every third of them, from a scan: parts that are one, backs that nobody saw."""
