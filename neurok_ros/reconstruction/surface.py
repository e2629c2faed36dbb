"""Oriented points to a closed mesh with Open3D. Imported in the worker process only; never beside torch.

Open3D's Poisson reconstruction crashes at random with several threads, and always on points that are not finite or
all in one place (isl-org/Open3D#7229, #6828): one thread, and the caller cleans the points.
"""

from __future__ import annotations

import numpy as np
import open3d as o3d
import trimesh
from numpy.typing import NDArray
from scipy.spatial import QhullError

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.reconstruction.types import Floats

MIN_DEPTH, MAX_DEPTH = 4, 9
"""Of the octree: eight times the memory and four times the work for each level more."""
HULL_EXCESS = 1.1
"""A surface that encloses this many times the volume of its points' convex hull is not theirs."""
POISSON_SCALE = 1.1
"""Side of the octree over that of the points' bounding box."""
BUDGET_SHARES = (1.0, 0.9, 0.75, 0.6, 0.45)
"""Decimation to one of these shares of the budget, until the result is a closed manifold."""


def without_outliers(points: Floats, spacing: float) -> NDArray[np.int64]:
    """Indices of the points (n, 3) with at least four neighbours within three times their `spacing` (m)."""
    _, kept = _cloud(points).remove_radius_outlier(nb_points=4, radius=3 * spacing)
    return np.asarray(kept, dtype=np.int64)


def normals_towards(points: Floats, viewpoints: Floats, radius: float) -> Floats:
    """(n, 3) unit normals of points (n, 3), on the side of the viewpoints (n, 3); `radius` of the neighbourhood in m."""
    cloud = _cloud(points)
    cloud.estimate_normals(o3d.geometry.KDTreeSearchParamHybrid(radius=radius, max_nn=40))
    normals = np.asarray(cloud.normals)
    away = np.einsum("ij,ij->i", normals, viewpoints - points) < 0
    return np.where(away[:, None], -normals, normals)


def poisson(points: Floats, normals: Floats, spacing: float, depth: int) -> trimesh.Trimesh | None:
    """The largest closed component of the screened Poisson surface (Kazhdan and Hoppe 2013) of oriented points (n, 3).

    The octree is no deeper than `depth`, its cells not much smaller than the points' `spacing` (m). A depth whose surface
    has cracks, or balloons beyond the convex hull as it does around thin plates, is passed over for a lower one.

    Returns:
        None where no depth gives such a surface.
    """
    cloud = _cloud(points)
    cloud.normals = o3d.utility.Vector3dVector(normals)
    most = HULL_EXCESS * convex_hull(points).volume
    finest = int(np.ceil(np.log2(POISSON_SCALE * np.ptp(points, axis=0).max() / spacing)))
    for level in range(max(MIN_DEPTH, min(depth, finest, MAX_DEPTH)), MIN_DEPTH - 1, -1):
        with o3d.utility.VerbosityContextManager(o3d.utility.VerbosityLevel.Error):
            create = o3d.geometry.TriangleMesh.create_from_point_cloud_poisson
            mesh, _ = create(cloud, depth=level, scale=POISSON_SCALE, n_threads=1)
        closed = _largest(trimesh.Trimesh(np.asarray(mesh.vertices), np.asarray(mesh.triangles), process=False))
        if is_closed_manifold(closed) and closed.volume < most:
            return closed
    return None


def convex_hull(points: Floats, vertex_budget: int = 0) -> trimesh.Trimesh:
    """The convex hull of points (n, 3), its triangles split as far as the vertex budget allows.

    Raises:
        NeurokError: RECONSTRUCTION_FAILED where they lie in a plane.
    """
    try:
        hull = trimesh.convex.convex_hull(points)
    except QhullError:
        problem = f"{len(points)} points have no volume"
        raise NeurokError(ErrorCode.RECONSTRUCTION_FAILED, "object", problem, "Scan the object from more sides") from None
    while 4 * len(hull.vertices) <= vertex_budget:
        hull = hull.subdivide()
    return hull


def within_budget(mesh: trimesh.Trimesh, vertex_budget: int) -> trimesh.Trimesh:
    """The mesh with at most `vertex_budget` vertices, closed, manifold, in one piece and turned outwards.

    Raises:
        NeurokError: RECONSTRUCTION_FAILED where no decimation gives such a mesh.
    """
    whole = o3d.geometry.TriangleMesh(o3d.utility.Vector3dVector(mesh.vertices), o3d.utility.Vector3iVector(mesh.faces))
    for share in BUDGET_SHARES:
        target = int(2 * (share * vertex_budget - 2))
        small = whole.simplify_quadric_decimation(target) if len(mesh.faces) > target else whole
        small.remove_duplicated_vertices()
        small.remove_degenerate_triangles()
        small.remove_unreferenced_vertices()
        result = _largest(trimesh.Trimesh(np.asarray(small.vertices), np.asarray(small.triangles), process=False))
        if result.volume < 0:
            result.invert()
        if len(result.vertices) <= vertex_budget and is_closed_manifold(result):
            return result
    raise NeurokError(
        ErrorCode.RECONSTRUCTION_FAILED,
        "mesh",
        f"no closed manifold mesh within {vertex_budget} vertices",
        "Raise vertex_budget, or scan the object from nearer",
    )


def is_closed_manifold(mesh: trimesh.Trimesh) -> bool:
    """Whether every edge has two faces with opposite directions, every vertex one fan of faces, and the volume is positive."""
    if len(mesh.faces) < 4 or not mesh.is_watertight or not mesh.is_winding_consistent or mesh.volume <= 0:
        return False
    checked = o3d.geometry.TriangleMesh(o3d.utility.Vector3dVector(mesh.vertices), o3d.utility.Vector3iVector(mesh.faces))
    return bool(checked.is_edge_manifold(allow_boundary_edges=False)) and bool(checked.is_vertex_manifold())


def _cloud(points: Floats) -> o3d.geometry.PointCloud:
    return o3d.geometry.PointCloud(o3d.utility.Vector3dVector(np.ascontiguousarray(points, dtype=np.float64)))


def _largest(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """The connected component with most faces."""
    if len(mesh.faces) == 0:
        return mesh
    labels = trimesh.graph.connected_component_labels(mesh.face_adjacency, node_count=len(mesh.faces))
    mesh.update_faces(labels == np.bincount(labels).argmax())
    mesh.remove_unreferenced_vertices()
    return mesh
