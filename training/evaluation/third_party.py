"""Articulated objects of other people's robot environments, read from their packages and never copied.

They are for judging only: `metaworld` and `gymnasium-robotics` (MIT licence, with meshes under the licences in their folders).
`python -m training.evaluation.third_party` fetches both with pip into `out/third_party`, unless they are installed.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import trimesh

from training.evaluation.methods import kabsch
from training.evaluation.objects import OWN_FRAMES, EvaluationObject, Floats, Ints, moved_poses, unit_object

FETCHED = Path("out/third_party")
"""Seen from the repository's root."""
PACKAGES = {"metaworld": "metaworld==3.1.1", "gymnasium_robotics": "gymnasium-robotics==1.4.2"}
_AS_ONE = 1e-3
_COLLISION = 4
"""The group of geometries that are not seen."""
_SAWYER = "assets/sawyer_xyz"
_KITCHEN = "envs/assets/kitchen_franka/kitchen_assets/kitchen_env_model.xml"


@dataclass(frozen=True)
class Source:
    """Where an object is found: a body of a scene, with all that hangs on it."""

    name: str
    package: str
    file: str
    body: str


SOURCES = (
    Source("button", "metaworld", f"{_SAWYER}/sawyer_button_press.xml", "buttonbox"),
    Source("coffee_machine", "metaworld", f"{_SAWYER}/sawyer_coffee.xml", "coffeemachine"),
    Source("dial", "metaworld", f"{_SAWYER}/sawyer_dial.xml", "dial"),
    Source("door_lock", "metaworld", f"{_SAWYER}/sawyer_door_lock.xml", "doorlockA"),
    Source("door", "metaworld", f"{_SAWYER}/sawyer_door_pull.xml", "doorlockB"),
    Source("drawer", "metaworld", f"{_SAWYER}/sawyer_drawer.xml", "drawer"),
    Source("faucet", "metaworld", f"{_SAWYER}/sawyer_faucet.xml", "faucetBase"),
    Source("handle_press", "metaworld", f"{_SAWYER}/sawyer_handle_press.xml", "hdlprs"),
    Source("laptop", "metaworld", f"{_SAWYER}/sawyer_laptop.xml", "laptop"),
    Source("lever", "metaworld", f"{_SAWYER}/sawyer_lever_pull.xml", "lever"),
    Source("window", "metaworld", f"{_SAWYER}/sawyer_window.xml", "window"),
    Source("hinge_cabinet", "gymnasium_robotics", _KITCHEN, "hingecabinet"),
    Source("slide_cabinet", "gymnasium_robotics", _KITCHEN, "slidecabinet"),
    Source("microwave", "gymnasium_robotics", _KITCHEN, "microwave"),
    Source("oven", "gymnasium_robotics", _KITCHEN, "oven"),
    Source("latched_door", "gymnasium_robotics", "envs/assets/adroit_hand/adroit_door.xml", "frame"),
)


def third_party_objects(count: int, poses: int) -> tuple[list[EvaluationObject], list[str]]:
    """The first `count` of the objects whose packages are installed, in `poses` poses each; and what is missing, in words."""
    objects: list[EvaluationObject] = []
    missing: list[str] = []
    for source in SOURCES:
        root = package_root(source.package)
        if root is None:
            missing.append(f"{source.package}/{source.name}: the package {source.package} is neither installed nor fetched")
        elif len(objects) < count:
            found = read_object(source, root / source.file, poses)
            if moves_as_one(found):
                missing.append(f"{found.category}: all of it moves as one body, which its pose says")
            else:
                objects.append(found)
    return objects, missing


def moves_as_one(given: EvaluationObject) -> bool:
    """Whether every pose is a rigid motion of the whole, up to a thousandth of the object's size."""
    points = given.fitting.at(given.vertices)
    poses = np.stack([given.fitting.at(pose) for pose in given.targets])
    rotations, shifts = kabsch(np.broadcast_to(points, poses.shape), poses)
    there = points @ rotations.swapaxes(1, 2) + shifts[:, None]
    return bool(np.linalg.norm(there - poses, axis=2).max() < _AS_ONE)


def package_root(package: str) -> Path | None:
    """The folder of a package, installed or fetched, found without running its code; None where there is none."""
    found = importlib.util.find_spec(package)
    if found is not None and found.origin is not None:
        return Path(found.origin).parent
    fetched = FETCHED / package
    return fetched if fetched.is_dir() else None


def fetch() -> str:
    """Download the packages that are missing, without what they depend on; empty, or why that failed.

    Files only: nothing of the packages is run.
    """
    missing = [PACKAGES[package] for package in PACKAGES if package_root(package) is None]
    if not missing:
        return ""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(FETCHED), *missing]
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"pip cannot install {' '.join(missing)}: {done.stderr.strip()[-300:]}"


def read_object(source: Source, file: Path, poses: int) -> EvaluationObject:
    """An object of a MuJoCo scene, every joint between its limits."""
    model = mujoco.MjModel.from_xml_path(str(file))
    bodies = _subtree(model, model.body(source.body).id)
    joints = [j for j in range(model.njnt) if model.jnt_bodyid[j] in bodies and model.jnt_limited[j]]
    vertices, faces, body_of = _visible_mesh(model, bodies)
    rng = np.random.default_rng(zlib.crc32(source.name.encode()))
    lower, upper = model.jnt_range[joints].T
    rest = _placed(model, joints, None, vertices, body_of)

    def pose() -> Floats:
        return _placed(model, joints, _state(rng, lower, upper), vertices, body_of)

    moved = moved_poses(rest, pose, poses + OWN_FRAMES)
    return unit_object(f"{source.package}/{source.name}/0", rest, faces, moved[:poses], moved[poses:])


def _state(rng: np.random.Generator, lower: Floats, upper: Floats) -> Floats:
    """Every joint anywhere between its limits, or, every fourth time, at its far one."""
    values = rng.uniform(lower, upper)
    far = np.where(np.abs(upper) > np.abs(lower), upper, lower)
    return np.asarray(np.where(rng.random(len(values)) < 0.25, far, values))


def _subtree(model: mujoco.MjModel, root: int) -> set[int]:
    found = {root}
    for body in range(root + 1, model.nbody):
        if int(model.body_parentid[body]) in found:
            found.add(body)
    return found


def _visible_mesh(model: mujoco.MjModel, bodies: set[int]) -> tuple[Floats, Ints, Ints]:
    """Vertices (n, 3) in their body's frame, faces (m, 3), and each vertex's body (n,)."""
    vertices, faces, body_of, start = [], [], [], 0
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        if body not in bodies or model.geom_group[geom] == _COLLISION:
            continue
        shape = _shape(model, geom)
        rotation = np.empty(9)
        mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
        vertices.append(np.asarray(shape.vertices) @ rotation.reshape(3, 3).T + model.geom_pos[geom])
        faces.append(np.asarray(shape.faces, np.int64) + start)
        body_of.append(np.full(len(vertices[-1]), body))
        start += len(vertices[-1])
    return np.concatenate(vertices), np.concatenate(faces), np.concatenate(body_of)


def _shape(model: mujoco.MjModel, geom: int) -> trimesh.Trimesh:
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        first_face, faces = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
        shape = trimesh.Trimesh(
            model.mesh_vert[first : first + count], model.mesh_face[first_face : first_face + faces], process=False
        )
        shape.merge_vertices(merge_tex=True, merge_norm=True)
        return shape
    if kind == mujoco.mjtGeom.mjGEOM_BOX:
        return trimesh.creation.box(2 * size)
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return trimesh.creation.cylinder(size[0], 2 * size[1], sections=24)
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return trimesh.creation.capsule(2 * size[1], size[0], count=[16, 16])
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return trimesh.creation.icosphere(subdivisions=2, radius=size[0])
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        shape = trimesh.creation.icosphere(subdivisions=2)
        shape.apply_scale(size)
        return shape
    raise ValueError(f"{model.geom(geom).name}: no mesh of geometries of type {kind}")


def _placed(model: mujoco.MjModel, joints: list[int], values: Floats | None, vertices: Floats, body_of: Ints) -> Floats:
    """(n, 3) the vertices where the joints have these values, or at rest."""
    data = mujoco.MjData(model)
    if values is not None:
        data.qpos[model.jnt_qposadr[joints]] = values
    mujoco.mj_kinematics(model, data)
    rotations = data.xmat.reshape(-1, 3, 3)[body_of]
    return np.asarray(np.einsum("nij,nj->ni", rotations, vertices) + data.xpos[body_of])


if __name__ == "__main__":
    sys.exit(fetch() or None)
