"""The GLB holds the motion itself, in a form that any viewer opens."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from bent_box import Example
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.viewing.gltf import export_glb, kept_frames

COMPONENTS = {5126: "<f4", 5125: "<u4", 5123: "<u2"}
WIDTHS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


@dataclass(frozen=True)
class Glb:
    """A second, independent reading of the format (glTF 2.0, Sec. 4.4 and 5.1)."""

    document: dict[str, Any]
    binary: bytes

    def array(self, accessor: int) -> NDArray[Any]:
        entry = self.document["accessors"][accessor]
        view = self.document["bufferViews"][entry["bufferView"]]
        width = WIDTHS[entry["type"]]
        kind = np.dtype(COMPONENTS[entry["componentType"]])
        assert view["byteOffset"] % 4 == 0
        assert view["byteLength"] == entry["count"] * width * kind.itemsize
        values = np.frombuffer(self.binary, kind, entry["count"] * width, view["byteOffset"]).reshape(-1, width)
        assert values.min(axis=0).tolist() == entry["min"]
        assert values.max(axis=0).tolist() == entry["max"]
        return values

    def mesh(self, name: str) -> dict[str, Any]:
        return next(mesh for mesh in self.document["meshes"] if mesh["name"] == name)

    def channel(self, path: str) -> tuple[NDArray[Any], NDArray[Any]]:
        animation = self.document["animations"][0]
        channel = next(channel for channel in animation["channels"] if channel["target"]["path"] == path)
        sampler = animation["samplers"][channel["sampler"]]
        return self.array(sampler["input"])[:, 0], self.array(sampler["output"])


def read(path: Path) -> Glb:
    data = path.read_bytes()
    magic, version, total = struct.unpack_from("<4sII", data)
    assert (magic, version, total) == (b"glTF", 2, len(data))
    length, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    assert length % 4 == 0
    size, kind = struct.unpack_from("<I4s", data, 20 + length)
    assert kind == b"BIN\0"
    document = json.loads(data[20 : 20 + length])
    assert size == document["buffers"][0]["byteLength"] == len(data) - 28 - length
    return Glb(document, data[28 + length :])


@pytest.fixture(scope="module")
def path(example: Example, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gltf") / "push.glb"
    export_glb(example.mesh, example.motion, example.push, path)
    return path


@pytest.fixture(scope="module")
def glb(path: Path) -> Glb:
    return read(path)


def test_every_key_frame_is_the_motion(example: Example, glb: Glb) -> None:
    primitive = glb.mesh("object")["primitives"][0]
    base = glb.array(primitive["attributes"]["POSITION"])
    targets = np.stack([glb.array(target["POSITION"]) for target in primitive["targets"]])
    times, weights = glb.channel("weights")
    weights = weights.reshape(len(times), len(targets))
    origin = np.array(glb.document["nodes"][0]["extras"]["origin"])
    assert times == pytest.approx(example.motion.times, abs=1e-6)
    for index, row in enumerate(weights):
        decoded = base + np.einsum("t,tni->ni", row, targets) + origin
        # Three float32 roundings of lengths up to a metre.
        assert np.abs(decoded - example.motion.vertices[index]).max() < 1e-6


def test_normals_of_every_key_frame_have_unit_length(glb: Glb) -> None:
    primitive = glb.mesh("object")["primitives"][0]
    base = glb.array(primitive["attributes"]["NORMAL"])
    for target in primitive["targets"]:
        assert np.linalg.norm(base + glb.array(target["NORMAL"]), axis=1) == pytest.approx(1.0, abs=1e-5)


def test_indices_name_vertices_and_every_accessor_is_sound(glb: Glb) -> None:
    for index in range(len(glb.document["accessors"])):
        assert np.isfinite(glb.array(index)).all()
    for mesh in glb.document["meshes"]:
        primitive = mesh["primitives"][0]
        indices = glb.array(primitive["indices"])
        assert len(indices) % 3 == 0
        assert indices.max() < len(glb.array(primitive["attributes"]["POSITION"]))


def test_the_tool_moves_as_in_the_motion(example: Example, glb: Glb) -> None:
    origin = np.array(glb.document["nodes"][0]["extras"]["origin"])
    _, positions = glb.channel("translation")
    _, rotations = glb.channel("rotation")
    assert positions + origin == pytest.approx(example.motion.tool_poses[:, :3], abs=1e-6)
    turned = Rotation.from_quat(rotations) * Rotation.from_quat(example.motion.tool_poses[:, 3:]).inv()
    assert turned.magnitude().max() < 1e-5


def test_the_object_stands_upright_on_the_support(example: Example, glb: Glb) -> None:
    root = glb.document["nodes"][0]
    points = glb.array(glb.mesh("object")["primitives"][0]["attributes"]["POSITION"])
    world = Rotation.from_quat(root["rotation"]).apply(points)
    # The box is 0.10 wide, 0.20 high (y), 0.07 deep and centred on the origin; float32.
    assert world.min(axis=0) == pytest.approx([-0.05, 0.0, -0.035], abs=1e-6)
    assert world.max(axis=0) == pytest.approx([0.05, 0.2, 0.035], abs=1e-6)
    seen = world[example.mesh.observed]
    assert seen[:, 2].mean() > world[~example.mesh.observed][:, 2].mean()


def test_another_reader_opens_it(example: Example, path: Path) -> None:
    scene = trimesh.load(path, force="scene")
    mesh = scene.geometry["object"]
    assert len(mesh.vertices) == len(example.mesh.vertices)
    assert np.array_equal(mesh.faces, example.mesh.faces)
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(0.07 * 0.10 * 0.20, rel=1e-5)
    tool = scene.geometry["tool"]
    tool.merge_vertices(merge_norm=True)
    assert tool.is_watertight
    # A sphere of flat facets is a little smaller than a round one: 1.6 % with 40 by 28.
    assert tool.volume == pytest.approx(4 / 3 * np.pi * example.push.tool.dimensions[0] ** 3, rel=0.02)


def test_large_meshes_keep_fewer_frames_and_both_ends() -> None:
    for vertices in (100, 2000, 20_000, 100_000):
        kept = kept_frames(300, vertices)
        assert kept[0] == 0
        assert kept[-1] == 299
        assert len(kept) <= 60
        # Base mesh (position, normal, colour, six indices a vertex) and frames.
        assert vertices * (24 + 8 + 24) + vertices * 24 * len(kept) < 20_000_000
    assert kept_frames(1, 2000).tolist() == [0]
    with pytest.raises(NeurokError) as caught:
        kept_frames(300, 1_000_000)
    assert caught.value.code is ErrorCode.RESULT_TOO_LARGE
