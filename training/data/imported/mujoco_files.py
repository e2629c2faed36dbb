"""Articulated objects in URDF or MJCF files, read by MuJoCo."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import trimesh

from training.data.articulated.mechanism import Assembly, Coordinate, random_state
from training.data.articulated.source import ArticulatedObject
from training.data.imported.mesh_folder import parts_of
from training.sampling import Floats, Ints, Surface

_GEOM = mujoco.mjtGeom
_ROUND = 24
"""Sides of imported round bodies."""


class FileMechanism:
    """The joints of a MuJoCo model; its links are the model's visible geometries."""

    def __init__(self, model: mujoco.MjModel, geoms: Ints) -> None:
        self._model = model
        self._data = mujoco.MjData(model)
        self._geoms = geoms
        self._joints = [j for j in range(model.njnt) if self._moves(j)]
        self.coordinates = [self._coordinate(j) for j in self._joints]
        self._still = np.linalg.inv(self.geometry_poses(self.rest))

    @property
    def rest(self) -> Floats:
        """(coordinates,)."""
        return np.array([c.rest for c in self.coordinates])

    def poses(self, values: Floats) -> Floats:
        """(geometries, 4, 4) against the state at rest."""
        return np.asarray(self.geometry_poses(values) @ self._still)

    def random_values(self, rng: np.random.Generator) -> Floats:
        """(coordinates,) a state."""
        return random_state(self.coordinates, rng)

    def geometry_poses(self, values: Floats) -> Floats:
        model, data = self._model, self._data
        data.qpos[:] = model.qpos0
        data.qpos[model.jnt_qposadr[self._joints]] = values
        for number in self._couplings():
            own, other = model.jnt_qposadr[[model.eq_obj1id[number], model.eq_obj2id[number]]]
            away = data.qpos[other] - model.qpos0[other]
            data.qpos[own] = model.qpos0[own] + np.polyval(model.eq_data[number, 4::-1], away)
        mujoco.mj_kinematics(model, data)
        poses = np.tile(np.eye(4), (len(self._geoms), 1, 1))
        poses[:, :3, :3] = data.geom_xmat[self._geoms].reshape(-1, 3, 3)
        poses[:, :3, 3] = data.geom_xpos[self._geoms]
        return poses

    def _couplings(self) -> list[int]:
        model = self._model
        kinds = model.eq_type == mujoco.mjtEq.mjEQ_JOINT
        return [int(n) for n in np.flatnonzero(kinds) if model.eq_obj2id[n] >= 0]

    def _moves(self, joint: int) -> bool:
        """Hinges and slides do, unless another joint drives them or a slide has no end."""
        model = self._model
        if joint in [model.eq_obj1id[n] for n in self._couplings()]:
            return False
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE:
            return True
        return bool(model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE and model.jnt_limited[joint])

    def _coordinate(self, joint: int) -> Coordinate:
        lower, upper = self._model.jnt_range[joint] if self._model.jnt_limited[joint] else (-np.pi, np.pi)
        rest = float(np.clip(self._model.qpos0[self._model.jnt_qposadr[joint]], lower, upper))
        return Coordinate(float(lower), float(upper), rest)


def read_mechanism(path: Path) -> ArticulatedObject:
    """An articulated object from a URDF (PartNet-Mobility's, with its meshes beside it) or MJCF file.

    Visible geometries are used where a body has any, its collision geometries otherwise; planes and bodies that move freely as
    a whole are left out.

    Raises:
        ValueError: the file cannot be read, or nothing in it moves.
    """
    try:
        spec = _spec(path)
        spec.compiler.boundmass, spec.compiler.boundinertia = 1e-3, 1e-6
        for mesh in spec.meshes:
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        model = spec.compile()
    except (ValueError, FileNotFoundError) as error:
        raise ValueError(f"{path}: {error}") from error
    geoms = _visible(model)
    mechanism = FileMechanism(model, geoms)
    if not mechanism.coordinates or len(geoms) == 0:
        found = f"{len(mechanism.coordinates)} moving joints and {len(geoms)} visible bodies"
        raise ValueError(f"{path}: {found}; an articulated object has both")
    return ArticulatedObject(mechanism, _assembly(model, geoms, mechanism), (0,))


def _spec(path: Path) -> mujoco.MjSpec:
    if path.suffix != ".urdf":
        return mujoco.MjSpec.from_file(str(path))
    text = path.read_text()
    options = f'discardvisual="false" strippath="false" fusestatic="false" meshdir="{path.parent.resolve()}"'
    wish = f"<mujoco><compiler {options}/></mujoco>"
    return mujoco.MjSpec.from_string(text if "<mujoco" in text else text.replace("</robot>", f"{wish}</robot>"))


def _visible(model: mujoco.MjModel) -> Ints:
    """The geometries that are seen: of each body those that touch nothing, or all where each may touch."""
    kinds = model.geom_type
    known = np.isin(kinds, [int(k) for k in (_GEOM.mjGEOM_MESH, _GEOM.mjGEOM_BOX, _GEOM.mjGEOM_SPHERE, *_ROUND_KINDS)])
    ghost = (model.geom_contype == 0) & (model.geom_conaffinity == 0)
    shown = {int(body) for body in model.geom_bodyid[known & ghost]}
    chosen = [n for n in np.flatnonzero(known) if ghost[n] or int(model.geom_bodyid[n]) not in shown]
    return np.array(chosen, np.int64)


_ROUND_KINDS = (_GEOM.mjGEOM_CAPSULE, _GEOM.mjGEOM_CYLINDER, _GEOM.mjGEOM_ELLIPSOID)


def _assembly(model: mujoco.MjModel, geoms: Ints, mechanism: FileMechanism) -> Assembly:
    vertices, faces, links, counts = [], [], [], []
    start = 0
    for link, geom in enumerate(geoms):
        own_vertices, own_faces = _mesh(model, int(geom))
        pose = mechanism.geometry_poses(mechanism.rest)[link]
        vertices.append(own_vertices @ pose[:3, :3].T + pose[:3, 3])
        faces.append(own_faces + start)
        links.append(np.full(len(own_faces), link))
        counts.append(np.full(len(own_vertices), link))
        start += len(own_vertices)
    everything, all_faces, face_link = np.vstack(vertices), np.vstack(faces), np.concatenate(links)
    lifted = everything + 10 * np.ptp(everything, axis=0).max() * np.concatenate(counts)[:, None]
    return Assembly(Surface(everything, all_faces, parts_of(lifted, all_faces)), face_link, np.concatenate(counts))


def _mesh(model: mujoco.MjModel, geom: int) -> tuple[Floats, Ints]:
    kind, size = model.geom_type[geom], model.geom_size[geom]
    if kind == _GEOM.mjGEOM_MESH:
        mesh = model.geom_dataid[geom]
        first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
        face, faces = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
        corners = model.mesh_face[face : face + faces].astype(np.int64)
        return np.asarray(model.mesh_vert[first : first + count], np.float64), corners
    if kind == _GEOM.mjGEOM_BOX:
        made = trimesh.creation.box(2 * size)
    elif kind == _GEOM.mjGEOM_CYLINDER:
        made = trimesh.creation.cylinder(size[0], 2 * size[1], sections=_ROUND)
    elif kind == _GEOM.mjGEOM_CAPSULE:
        made = trimesh.creation.capsule(2 * size[1], size[0], count=[_ROUND, _ROUND // 2])
        made.apply_translation(-made.bounds.mean(axis=0))
    else:
        made = trimesh.creation.icosphere(subdivisions=2)
        made.apply_scale(size if kind == _GEOM.mjGEOM_ELLIPSOID else size[0])
    return np.asarray(made.vertices, np.float64), np.asarray(made.faces, np.int64)
