"""The lattice stands for the solid: volume, centre, inertia, connectivity, interpolation."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from neurok_ros.geometry import VoxelLattice, build_lattice, inertia_tensor
from neurok_ros.geometry.lattice import CORNERS
from neurok_ros.geometry.lumped_mass import match_moments
from neurok_ros.geometry.solids import solid_moments


def prism(outline: list[tuple[float, float]], caps: list[list[int]], height: float) -> trimesh.Trimesh:
    """The closed solid over a counter-clockwise outline that these triangles (caps) fill."""
    n = len(outline)
    base = np.column_stack([np.array(outline), np.zeros(n)])
    faces = [[a, c, b] for a, b, c in caps] + [[a + n, b + n, c + n] for a, b, c in caps]
    for i in range(n):
        j = (i + 1) % n
        faces += [[i, j, j + n], [i, j + n, i + n]]
    return trimesh.Trimesh(np.vstack([base, base + np.array([0, 0, height])]), faces, process=False)


def angle() -> trimesh.Trimesh:
    """An L: two arms of 100 mm, 20 mm wide."""
    outline = [(0.0, 0.0), (0.1, 0.0), (0.1, 0.02), (0.02, 0.02), (0.02, 0.1), (0.0, 0.1)]
    return prism(outline, [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]], 0.03)


def legs(gap: float) -> trimesh.Trimesh:
    """Two legs 20 mm wide and 50 mm long that a 10 mm top connects."""
    x = np.array([0.0, 0.02, 0.02 + gap, 0.04 + gap])
    outline = [(x[0], 0.06), (x[0], 0.0), (x[1], 0.0), (x[1], 0.05), (x[2], 0.05), (x[2], 0.0), (x[3], 0.0), (x[3], 0.06)]
    return prism(outline, [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 7], [4, 5, 6], [4, 6, 7]], 0.02)


def noisy_sphere() -> trimesh.Trimesh:
    sphere = trimesh.creation.icosphere(subdivisions=4, radius=0.05)
    noise = np.random.default_rng(0).normal(0, 5e-4, sphere.vertices.shape)
    return trimesh.Trimesh(sphere.vertices + noise, sphere.faces, process=False)


def apart(distance: float) -> trimesh.Trimesh:
    left, right = trimesh.creation.box((0.1, 0.1, 0.1)), trimesh.creation.box((0.1, 0.1, 0.1))
    return trimesh.util.concatenate([left, right.apply_translation([0.1 + distance, 0, 0])])


SOLIDS = {
    "box": lambda: trimesh.creation.box((0.1, 0.2, 0.3)),
    "sphere": lambda: trimesh.creation.icosphere(subdivisions=3, radius=0.05),
    "noisy sphere": noisy_sphere,
    "thin plate": lambda: trimesh.creation.box((0.2, 0.15, 0.002)),
    "rod": lambda: trimesh.creation.cylinder(0.005, 0.4, sections=24),
    "L": angle,
    "pipe": lambda: trimesh.creation.annulus(r_min=0.037, r_max=0.04, height=0.1),
    "legs": lambda: legs(0.002),
    "two boxes": lambda: apart(0.001),
}


def moved(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """Somewhere in the scene and turned, as scans are."""
    turn = trimesh.transformations.rotation_matrix(0.7, [1.0, 2.0, -0.5])
    return mesh.copy().apply_transform(turn).apply_translation([0.6, -0.3, 0.9])


def lattice_of(mesh: trimesh.Trimesh, cells: int = 500) -> VoxelLattice:
    return build_lattice(np.asarray(mesh.vertices), np.asarray(mesh.faces), cells)


@pytest.mark.parametrize("name", SOLIDS)
def test_volume_centre_and_inertia_are_the_solids(name: str) -> None:
    """Moment matching leaves round-off only."""
    mesh = moved(SOLIDS[name]())
    lattice = lattice_of(mesh)
    assert lattice.volumes.min() > 0
    assert lattice.node_volumes.min() > 0
    np.testing.assert_allclose(lattice.volumes.sum(), mesh.volume, rtol=1e-12)
    np.testing.assert_allclose(lattice.node_volumes.sum(), mesh.volume, rtol=1e-12)
    np.testing.assert_allclose(lattice.center, mesh.center_mass, atol=1e-9)
    inertia = mesh.moment_inertia
    np.testing.assert_allclose(inertia_tensor(lattice.nodes, lattice.node_volumes), inertia, atol=1e-8 * inertia.max())


@pytest.mark.parametrize("name", SOLIDS)
def test_sub_sampled_volume_before_normalisation(name: str) -> None:
    """Five samples along a cell's edge: 2 % for solids of four cells and more across, 6 % for a wall thinner than half a cell."""
    mesh = moved(SOLIDS[name]())
    lattice = lattice_of(mesh)
    sampled = (lattice.fractions * lattice.sizes.prod(axis=1)[lattice.cell_part]).sum()
    assert sampled == pytest.approx(mesh.volume, rel=0.06 if name == "pipe" else 0.02)


@pytest.mark.parametrize("name", SOLIDS)
def test_cell_budget(name: str) -> None:
    lattice = lattice_of(moved(SOLIDS[name]()))
    assert 250 <= len(lattice.cells) <= 600


def test_box_is_filled_exactly() -> None:
    np.testing.assert_allclose(lattice_of(moved(SOLIDS["box"]())).fractions, 1.0)


def test_thin_plate_has_four_cells_across() -> None:
    lattice = lattice_of(moved(SOLIDS["thin plate"]()))
    np.testing.assert_allclose(lattice.sizes.min(), 0.002 / 4, rtol=1e-6)


@pytest.mark.parametrize("name", SOLIDS)
def test_interpolation_reproduces_linear_fields(name: str) -> None:
    """Exact but for the millionth of a cell by which meeting nodes stand apart. Points: the surface and the inside."""
    mesh = moved(SOLIDS[name]())
    lattice = lattice_of(mesh)
    points = np.vstack([mesh.vertices, mesh.triangles_center, lattice.anchors[::50]])
    weights = lattice.interpolate(points)
    np.testing.assert_allclose(weights.weight.sum(axis=1), 1.0, atol=1e-12)
    slope = np.array([3.0, -1.0, 2.0])
    np.testing.assert_allclose(weights(lattice.nodes @ slope + 5), points @ slope + 5, atol=1e-6 * lattice.sizes.max() * 5)


@pytest.mark.parametrize("name", ["sphere", "legs", "two boxes"])
def test_gradients_are_exact_for_linear_fields(name: str) -> None:
    lattice = lattice_of(moved(SOLIDS[name]()))
    slope = np.array([3.0, -1.0, 2.0])
    found = np.einsum("ca,cai->ci", (lattice.nodes @ slope + 5)[lattice.cells], lattice.gradients)
    np.testing.assert_allclose(found, np.broadcast_to(slope, found.shape), atol=1e-9)


@pytest.mark.parametrize("name", SOLIDS)
def test_a_node_is_found_as_itself(name: str) -> None:
    lattice = lattice_of(moved(SOLIDS[name]()))
    weights = lattice.interpolate(lattice.nodes)
    found = weights(np.eye(len(lattice.nodes)))
    np.testing.assert_array_equal(found, np.eye(len(lattice.nodes)))


def connected(lattice: VoxelLattice) -> int:
    """How many pieces the cells make that share nodes."""
    cell = np.repeat(np.arange(len(lattice.cells)), 8)
    size = len(lattice.nodes) + len(lattice.cells)
    graph = coo_array((np.ones(len(cell)), (lattice.cells.ravel(), len(lattice.nodes) + cell)), shape=(size, size))
    return int(connected_components(graph, directed=False)[0])


@pytest.mark.parametrize("name", SOLIDS)
def test_connected_as_the_solid_is(name: str) -> None:
    assert connected(lattice_of(moved(SOLIDS[name]()))) == (2 if name == "two boxes" else 1)


def test_a_wall_far_thinner_than_the_sampling_stays_in_one_piece() -> None:
    shell = trimesh.creation.annulus(r_min=0.0398, r_max=0.04, height=0.1)
    lattice = lattice_of(moved(shell))
    assert connected(lattice) == 1
    assert len(lattice.cells) <= 700  # cells that hold both sides of a bend are there twice
    np.testing.assert_allclose(lattice.volumes.sum(), shell.volume, rtol=1e-9)


@pytest.mark.parametrize("distance", [1e-5, 1e-3])
def test_unconnected_parts_share_nothing(distance: float) -> None:
    """Two boxes, far closer than a cell (17 mm): the vertices that face each other follow their own box."""
    mesh = apart(distance)
    lattice = lattice_of(mesh)
    assert not set(lattice.cells[lattice.cell_part == 0].ravel()) & set(lattice.cells[lattice.cell_part == 1].ravel())
    part = lattice.node_part[lattice.interpolate(np.asarray(mesh.vertices)).index]
    own = np.repeat(np.arange(2), len(mesh.vertices) // 2)
    assert len(np.unique(part[:8])) == len(np.unique(part[8:])) == 1
    assert part[own == 0][0, 0] != part[own == 1][0, 0]


def test_legs_of_one_object_that_are_close_together_do_not_stick() -> None:
    """A gap of 2 mm between legs, in cells of 4 to 5 mm: points that face each other across it share no node, low down."""
    mesh = legs(0.002)
    lattice = lattice_of(mesh)
    assert lattice.sizes.min() > 0.0035
    y = np.linspace(0.0, 0.03, 7)
    left = np.column_stack([np.full(7, 0.02), y, np.full(7, 0.01)])
    on_left, on_right = lattice.interpolate(left), lattice.interpolate(left + np.array([0.002, 0, 0]))
    for a, b in zip(on_left.index, on_right.index, strict=True):
        assert not set(a) & set(b)


def test_a_turned_mesh_gets_the_turned_lattice() -> None:
    mesh = SOLIDS["box"]()
    turned = moved(mesh)
    matrix = trimesh.transformations.rotation_matrix(0.7, [1.0, 2.0, -0.5])[:3, :3]
    expected = lattice_of(mesh).nodes @ matrix.T + [0.6, -0.3, 0.9]
    found = lattice_of(turned).nodes
    distance = np.linalg.norm(found[:, None] - expected[None], axis=2).min(axis=1)
    assert distance.max() < 1e-9


def test_cells_are_boxes_in_the_stated_order() -> None:
    lattice = lattice_of(moved(SOLIDS["sphere"]()))
    expected = lattice.corners[:, None] + (CORNERS * lattice.sizes[0]) @ lattice.axes[0]
    np.testing.assert_allclose(lattice.nodes[lattice.cells], expected, atol=1e-12)


def test_moment_matching_gives_simpsons_rule() -> None:
    """Three points across a unit slab have its mass and inertia with the weights 1/6, 4/6, 1/6 of Simpson's rule."""
    mesh = trimesh.creation.box((1.0, 1.0, 1.0))
    points = np.array([[i, j, k] for i in (-0.5, 0, 0.5) for j in (-0.5, 0, 0.5) for k in (-0.5, 0, 0.5)])
    start = np.prod(np.where(points == 0, 0.5, 0.25), axis=1)
    matched = match_moments(points, start, solid_moments(np.asarray(mesh.vertices), np.asarray(mesh.faces)))
    across = [matched[points[:, 0] == x].sum() for x in (-0.5, 0.0, 0.5)]
    np.testing.assert_allclose(across, [1 / 6, 4 / 6, 1 / 6], rtol=1e-12)


def test_two_points_across_keep_volume_and_centre() -> None:
    """Eight corners cannot have the inertia of their box; their volume and centre still match."""
    mesh = trimesh.creation.box((1.0, 1.0, 1.0))
    points = CORNERS - 0.5
    start = np.array([1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    matched = match_moments(points, start, solid_moments(np.asarray(mesh.vertices), np.asarray(mesh.faces)))
    assert matched.min() > 0
    np.testing.assert_allclose(matched.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(matched @ points, 0.0, atol=1e-12)
