"""Importers, each on a small sample made here: joints, skins, morphs and nodes move what they should."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pygltflib
import pytest
import trimesh

from training.data.articulated.source import ArticulatedObject
from training.data.imported import imported_source, read_glb, read_mechanism
from training.data.imported.mesh_folder import parts_of

URDF = """<robot name="box">
  <link name="base"><visual><geometry><box size="0.4 0.3 0.2"/></geometry></visual>
    <collision><geometry><box size="0.5 0.5 0.5"/></geometry></collision></link>
  <link name="lid"><visual><origin xyz="0.2 0 0.01"/><geometry><mesh filename="textured_objs/lid.obj"/></geometry></visual></link>
  <link name="button"><visual><geometry><cylinder radius="0.02" length="0.04"/></geometry></visual></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="lid"/><origin xyz="-0.2 0 0.1"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="1.5" effort="1" velocity="1"/></joint>
  <joint name="press" type="prismatic"><parent link="base"/><child link="button"/><origin xyz="0.2 0 0"/><axis xyz="-1 0 0"/>
    <limit lower="0" upper="0.015" effort="1" velocity="1"/></joint>
</robot>"""

MJCF = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
  <body name="a"><geom type="box" size="0.1 0.1 0.1" contype="0" conaffinity="0"/><geom type="box" size="0.3 0.3 0.3"/>
    <body pos="0 0 0.2"><joint name="one" type="hinge" axis="0 0 1" range="0 90"/><geom type="capsule" size="0.02 0.1"/></body>
    <body pos="0 0.3 0"><joint name="two" type="slide" axis="0 1 0" range="0 0.2"/><geom type="sphere" size="0.05"/></body>
  </body></worldbody><equality><joint joint1="two" joint2="one" polycoef="0 0.1 0 0 0"/></equality></mujoco>"""


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    (tmp_path / "textured_objs").mkdir()
    trimesh.creation.box((0.4, 0.3, 0.02)).export(tmp_path / "textured_objs" / "lid.obj")
    (tmp_path / "mobility.urdf").write_text(URDF)
    return tmp_path / "mobility.urdf"


def test_a_urdf_folder_gives_visible_meshes_and_moving_joints(urdf: Path) -> None:
    made = read_mechanism(urdf)
    assert [(c.lower, c.upper) for c in made.mechanism.coordinates] == [(0, 1.5), (0, 0.015)]
    assert made.surface.vertices[:, 2].min() == pytest.approx(-0.1)  # the visual box of the base, not the collision box
    assert len(np.unique(made.surface.part)) == 3
    opened = made.vertices(np.array([np.pi / 2, 0.01]))
    lid = made.assembly.vertex_link == _link_at(made, [0.2, 0.15, 0.12])
    np.testing.assert_allclose(opened[lid][:, 2].max(), 0.1 + 0.4, atol=1e-6)
    np.testing.assert_allclose(opened[lid][:, 0], -0.2 - (made.surface.vertices[lid][:, 2] - 0.1), atol=1e-6)
    pair = imported_source(urdf).sample(np.random.default_rng(0), 200, 2)[1]
    assert np.linalg.norm(pair.points0, axis=1).max() == pytest.approx(1, abs=1e-6)


def _link_at(made: ArticulatedObject, place: list[float]) -> int:
    return int(made.assembly.vertex_link[np.argmin(np.linalg.norm(made.surface.vertices - place, axis=1))])


def test_an_mjcf_file_keeps_coupled_joints_and_leaves_collision_bodies_out(tmp_path: Path) -> None:
    path = tmp_path / "thing.xml"
    path.write_text(MJCF)
    made = read_mechanism(path)
    assert len(made.mechanism.coordinates) == 1
    assert np.abs(made.surface.vertices[:, 0]).max() == pytest.approx(0.1, abs=1e-6)
    moved = made.vertices(np.array([1.0])) - made.surface.vertices
    ball = made.assembly.vertex_link == _link_at(made, [0, 0.35, 0])
    np.testing.assert_allclose(moved[ball], np.tile([0, 0.1, 0], (ball.sum(), 1)), atol=1e-9)


def test_a_file_in_which_nothing_moves_says_so(tmp_path: Path) -> None:
    path = tmp_path / "stone.xml"
    path.write_text('<mujoco><worldbody><body><geom type="sphere" size="0.1"/></body></worldbody></mujoco>')
    with pytest.raises(ValueError, match=r"stone\.xml: 0 moving joints"):
        read_mechanism(path)


def test_a_folder_of_meshes_is_a_motion_and_a_stranger_is_named(tmp_path: Path) -> None:
    mesh = trimesh.creation.icosphere(subdivisions=2)
    for number in range(3):
        moved = mesh.copy()
        moved.apply_scale([1, 1, 1 + 0.2 * number])
        moved.export(tmp_path / f"frame_{number}.ply")
    pair = imported_source(tmp_path).sample(np.random.default_rng(0), 300, 1)[0]
    assert len(np.unique(pair.part)) == 1
    # Stretched along z: x and y of every point stay in proportion, as far as single precision in the files goes.
    scale = pair.points1[:, :2].std() / pair.points0[:, :2].std()
    np.testing.assert_allclose(pair.points1[:, :2], scale * pair.points0[:, :2], atol=1e-4)
    trimesh.creation.box().export(tmp_path / "frame_3.ply")
    with pytest.raises(ValueError, match=r"frame_3\.ply"):
        imported_source(tmp_path)


def test_parts_are_found_across_doubled_vertices() -> None:
    box = trimesh.creation.box()
    apart = np.asarray(box.vertices)[box.faces].reshape(-1, 3)
    two = np.vstack([apart, apart + 5])
    part = parts_of(two, np.arange(len(two)).reshape(-1, 3))
    np.testing.assert_array_equal(part, np.repeat([0, 1], 12))


def _animated(path: Path, kind: str) -> None:
    """A triangle that is moved by a node, a skin or a morph target, one unit along x in two seconds."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    arrays: list[tuple[np.ndarray, str]] = [
        (points, "VEC3"),
        (np.array([0, 1, 2], np.uint16), "SCALAR"),
        (np.array([1, 3], np.float32), "SCALAR"),
        (np.array([[0, 0, 0], [1, 0, 0]], np.float32), "VEC3"),
        (np.array([0, 1], np.float32), "SCALAR"),
        (np.tile(np.array([1, 0, 0], np.float32), (3, 1)), "VEC3"),
        (np.zeros((3, 4), np.uint8), "VEC4"),
        (np.tile(np.array([1, 0, 0, 0], np.float32), (3, 1)), "VEC4"),
        (np.eye(4, dtype=np.float32).reshape(1, 16), "MAT4"),
    ]
    codes = {np.dtype(np.float32): 5126, np.dtype(np.uint16): 5123, np.dtype(np.uint8): 5121}
    blob, views, accessors = b"", [], []
    for array, shape in arrays:
        data = array.tobytes()
        views.append(pygltflib.BufferView(buffer=0, byteOffset=len(blob), byteLength=len(data)))
        accessors.append(
            pygltflib.Accessor(bufferView=len(accessors), componentType=codes[array.dtype], count=len(array), type=shape)
        )
        blob += data + bytes(-len(data) % 4)
    attributes = pygltflib.Attributes(POSITION=0, **({"JOINTS_0": 6, "WEIGHTS_0": 7} if kind == "skin" else {}))
    primitive = pygltflib.Primitive(attributes=attributes, indices=1, targets=[{"POSITION": 5}] if kind == "morph" else [])
    moving = {"node": 0, "skin": 1, "morph": 0}[kind]
    nodes = [pygltflib.Node(mesh=0, skin=0 if kind == "skin" else None), pygltflib.Node()]
    channel = pygltflib.AnimationChannel(
        sampler=0, target=pygltflib.AnimationChannelTarget(node=moving, path="weights" if kind == "morph" else "translation")
    )
    sampler = pygltflib.AnimationSampler(input=2, output=4 if kind == "morph" else 3)
    file = pygltflib.GLTF2(
        scene=0,
        scenes=[pygltflib.Scene(nodes=[0, 1])],
        nodes=nodes,
        meshes=[pygltflib.Mesh(primitives=[primitive])],
        skins=[pygltflib.Skin(joints=[1], inverseBindMatrices=8)] if kind == "skin" else [],
        animations=[pygltflib.Animation(channels=[channel], samplers=[sampler])],
        accessors=accessors,
        bufferViews=views,
        buffers=[pygltflib.Buffer(byteLength=len(blob))],
    )
    file.set_binary_blob(blob)
    file.save_binary(str(path))


@pytest.mark.parametrize("kind", ["node", "skin", "morph"])
def test_a_glb_moves_by_nodes_skins_and_morph_targets(tmp_path: Path, kind: str) -> None:
    _animated(tmp_path / "moving.glb", kind)
    made = read_glb(tmp_path / "moving.glb", frames=5)
    still = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
    for frame, share in zip(made.vertices, np.linspace(0, 1, 5), strict=True):
        np.testing.assert_allclose(frame, still + np.array([share, 0, 0]), atol=1e-6)
    np.testing.assert_array_equal(made.faces, [[0, 1, 2]])


def test_an_unknown_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"thing\.blend"):
        imported_source(tmp_path / "thing.blend")
