"""Animated GLB files: moving nodes, skins and morph targets, sampled into frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pygltflib
from scipy.spatial.transform import Rotation

from training.data.simulated.sequences import MeshSequence
from training.sampling import Floats, Ints

_TYPES = {5120: np.int8, 5121: np.uint8, 5122: np.int16, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
_IDENTITY = {"translation": (0.0, 0.0, 0.0), "rotation": (0.0, 0.0, 0.0, 1.0), "scale": (1.0, 1.0, 1.0)}


def read_glb(path: Path, frames: int = 24) -> MeshSequence:
    """The first animation of a GLB file at `frames` times, evenly spread; the object is taken to be held in place.

    Values between keys are interpolated linearly (rotations: normalized), also where the file asks for splines.

    Raises:
        ValueError: no animation, or no triangles.
    """
    scene = _Scene(path)
    if not scene.file.animations:
        raise ValueError(f"{path}: no animation in it; export one, or give a folder of meshes")
    times = np.linspace(*scene.span(), frames)
    made = [scene.vertices(float(time)) for time in times]
    faces = scene.faces()
    if len(faces) == 0:
        raise ValueError(f"{path}: no triangles in it")
    return MeshSequence(np.stack(made), faces, fixed=True)


class _Scene:
    def __init__(self, path: Path) -> None:
        self.file = pygltflib.GLTF2().load_binary(str(path))
        self._blob = self.file.binary_blob()
        self._parents = {child: number for number, node in enumerate(self.file.nodes) for child in node.children or []}

    def span(self) -> tuple[float, float]:
        """Seconds of the first and the last key."""
        keys = [self._read(sampler.input) for sampler in self.file.animations[0].samplers]
        return float(min(k.min() for k in keys)), float(max(k.max() for k in keys))

    def faces(self) -> Ints:
        """(f, 3) of all triangles, node by node."""
        found, start = [np.zeros((0, 3), np.int64)], 0
        for _, primitive in self._primitives():
            count = self.file.accessors[primitive.attributes.POSITION].count
            index = np.arange(count) if primitive.indices is None else self._read(primitive.indices).astype(np.int64).ravel()
            found.append(index.reshape(-1, 3) + start)
            start += count
        return np.vstack(found)

    def vertices(self, time: float) -> Floats:
        """(v, 3) at a time in seconds."""
        state = self._state(time)
        poses = [self._pose(number, state) for number in range(len(self.file.nodes))]
        found = []
        for number, primitive in self._primitives():
            points = self._read(primitive.attributes.POSITION).astype(np.float64)
            for weight, target in zip(self._weights(number, state), primitive.targets or [], strict=False):
                shift = target["POSITION"] if isinstance(target, dict) else target.POSITION
                points = points + weight * self._read(shift)
            found.append(self._placed(points, number, primitive, poses))
        return np.vstack(found)

    def _placed(self, points: Floats, number: int, primitive: pygltflib.Primitive, poses: list[Floats]) -> Floats:
        skin = self.file.nodes[number].skin
        if skin is None or primitive.attributes.JOINTS_0 is None:
            return np.asarray(points @ poses[number][:3, :3].T + poses[number][:3, 3])
        joints = self.file.skins[skin].joints
        bind = self._read(self.file.skins[skin].inverseBindMatrices).reshape(-1, 4, 4).transpose(0, 2, 1)
        bones = np.stack([poses[joint] for joint in joints]) @ bind
        which, weight = self._read(primitive.attributes.JOINTS_0).astype(np.int64), self._read(primitive.attributes.WEIGHTS_0)
        blend = np.einsum("vk,vkij->vij", weight / weight.sum(axis=1, keepdims=True), bones[which])
        return np.asarray(np.einsum("vij,vj->vi", blend[:, :3, :3], points) + blend[:, :3, 3])

    def _primitives(self) -> list[tuple[int, pygltflib.Primitive]]:
        """Triangles of every node that has a mesh, with the node's number."""
        nodes = [(number, node.mesh) for number, node in enumerate(self.file.nodes) if node.mesh is not None]
        return [(number, p) for number, mesh in nodes for p in self.file.meshes[mesh].primitives if p.mode in (None, 4)]

    def _state(self, time: float) -> dict[tuple[int, str], Floats]:
        """The animated properties of nodes at a time."""
        animation, state = self.file.animations[0], {}
        for channel in animation.channels:
            sampler = animation.samplers[channel.sampler]
            times, values = self._read(sampler.input).ravel(), self._read(sampler.output).astype(np.float64)
            spline = sampler.interpolation == "CUBICSPLINE"
            values = values.reshape(len(times), 3, -1)[:, 1] if spline else values.reshape(len(times), -1)
            after = int(np.clip(np.searchsorted(times, time), 1, max(len(times) - 1, 1)))
            a, b = values[after - 1], values[min(after, len(values) - 1)]
            step = times[min(after, len(times) - 1)] - times[after - 1]
            share = float(np.clip((time - times[after - 1]) / step, 0, 1)) if step > 0 else 0.0
            if sampler.interpolation == "STEP":
                share = float(share >= 1)
            if channel.target.path == "rotation" and a @ b < 0:
                b = -b
            state[channel.target.node, channel.target.path] = (1 - share) * a + share * b
        return state

    def _weights(self, number: int, state: dict[tuple[int, str], Floats]) -> Floats:
        still = self.file.meshes[self.file.nodes[number].mesh].weights or []
        return state.get((number, "weights"), np.array(still, np.float64))

    def _pose(self, number: int, state: dict[tuple[int, str], Floats]) -> Floats:
        """(4, 4) of a node in the scene."""
        node = self.file.nodes[number]
        if node.matrix is not None and not any((number, name) in state for name in _IDENTITY):
            own = np.array(node.matrix, np.float64).reshape(4, 4).T
        else:
            still = {name: np.array(getattr(node, name) or usual) for name, usual in _IDENTITY.items()}
            shift, turn, size = (state.get((number, name), still[name]) for name in _IDENTITY)
            own = np.eye(4)
            own[:3, :3] = Rotation.from_quat(turn).as_matrix() * size
            own[:3, 3] = shift
        parent = self._parents.get(number)
        return own if parent is None else np.asarray(self._pose(parent, state) @ own)

    def _read(self, number: int) -> Floats:
        """The rows of an accessor; whole numbers that stand for fractions are divided out."""
        accessor = self.file.accessors[number]
        view = self.file.bufferViews[accessor.bufferView]
        kind, width = np.dtype(_TYPES[accessor.componentType]), _WIDTHS[accessor.type]
        start = (view.byteOffset or 0) + (accessor.byteOffset or 0)
        stride = view.byteStride or kind.itemsize * width
        raw = np.frombuffer(self._blob, np.uint8, (accessor.count - 1) * stride + kind.itemsize * width, start)
        rows = np.lib.stride_tricks.as_strided(raw, (accessor.count, kind.itemsize * width), (stride, 1))
        values = np.ascontiguousarray(rows).view(kind)
        return values / float(2 ** (8 * kind.itemsize - (kind.kind == "i")) - 1) if accessor.normalized else values
