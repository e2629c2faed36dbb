"""Measures segmentation and completion, on real labelled scans and on bodies of known shape.

    python scripts/perception_report.py ../shared/scans

prints a table and writes docs/results/perception.json; pictures go to out/perception.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from neurok_ros.errors import NeurokError
from neurok_ros.reconstruction import (
    MeshOptions,
    ObjectSelection,
    ReconstructedMesh,
    ReconstructionWorker,
    Scan,
    SegmentationOptions,
    SegmentedObject,
    read_scan,
)

ROOT = Path(__file__).resolve().parents[1]
FIRST_OBJECT_LABEL = 20
LABELS_PER_OBJECT = 10
OBSERVED_COLOR, GUESSED_COLOR = (90, 150, 230), (240, 150, 60)
IMAGE_WIDTH = 480


def labelled_objects(scan: Scan) -> dict[int, NDArray[np.bool_]]:
    """The mask (n,) of each labelled object; labels 20 to 29 are the first, 30 to 39 the second, ..."""
    if scan.labels is None:
        return {}
    first = scan.labels - scan.labels % LABELS_PER_OBJECT
    return {int(label): first == label for label in np.unique(first) if label >= FIRST_OBJECT_LABEL}


def intersection_over_union(mask: NDArray[np.bool_], found: SegmentedObject) -> float:
    """Of the scan's points."""
    inside = int(mask[found.source].sum())
    return inside / (int(mask.sum()) + len(found.source) - inside)


def match(scan: Scan, objects: list[SegmentedObject], meshes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Per labelled object the found one that overlaps it most; an object that was not found has an IoU of 0.

    Seconds are those from the scan to that object's mesh.
    """
    rows = []
    for label, mask in labelled_objects(scan).items():
        ious = [intersection_over_union(mask, each) for each in objects]
        best = int(np.argmax(ious)) if ious else -1
        rows.append(
            {
                "label": label,
                "iou": round(max(ious, default=0.0), 4),
                "points": int(mask.sum()),
                "points_found": len(objects[best].source) if best >= 0 else 0,
                "seconds": meshes[best].get("seconds") if best >= 0 else None,
            }
        )
    return rows


def mesh_every_object(worker: ReconstructionWorker, scan: Scan, objects: list[SegmentedObject]) -> list[dict[str, Any]]:
    """One row per found object: what its mesh is like, or why there is none."""
    rows: list[dict[str, Any]] = []
    for each in objects:
        middle = each.points[len(each.points) // 2]
        selection = ObjectSelection(point=(float(middle[0]), float(middle[1]), float(middle[2])))
        row: dict[str, Any] = {"points": len(each.source)}
        try:
            mesh, _ = worker.reconstruct(scan, SegmentationOptions(), selection, MeshOptions(), 120.0)
        except NeurokError as error:
            rows.append({**row, "error": error.code.name, "message": str(error)})
            continue
        rows.append(
            {
                **row,
                "completion": mesh.completion,
                "vertices": len(mesh.vertices),
                "observed_share": round(float(mesh.observed.mean()), 3),
                "seconds": round(sum(mesh.timings_ms.values()) / 1e3, 3),
                "mesh": mesh,
            }
        )
    return rows


def measure_scan(worker: ReconstructionWorker, path: Path, pictures: list[Path]) -> dict[str, Any]:
    """Segment and mesh one scan."""
    scan = read_scan(path)
    began = time.perf_counter()
    objects = worker.segment(scan, SegmentationOptions())
    seconds = time.perf_counter() - began
    meshes = mesh_every_object(worker, scan, objects)
    for folder in pictures:
        draw(folder / f"perception_{path.stem}.png", scan, objects, [row["mesh"] for row in meshes if "mesh" in row])
    plain = [{key: value for key, value in row.items() if key != "mesh"} for row in meshes]
    matched = match(scan, objects, meshes)
    return {"scan": path.name, "seconds": round(seconds, 3), "objects_found": len(objects), "objects": matched, "meshes": plain}


def draw(path: Path, scan: Scan, objects: list[SegmentedObject], meshes: list[ReconstructedMesh]) -> None:
    """Left the scan with its objects coloured, right their meshes: seen (blue) and guessed (orange), from behind and above."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    import pyvista

    plotter = pyvista.Plotter(off_screen=True, window_size=(IMAGE_WIDTH, IMAGE_WIDTH * 3 // 4))
    up = objects[0].support[:3] if objects else np.array([0.0, 0.0, 1.0])
    for mesh in meshes:
        faces = np.column_stack([np.full(len(mesh.faces), 3), mesh.faces]).ravel()
        colors = np.where(mesh.observed[:, None], OBSERVED_COLOR, GUESSED_COLOR).astype(np.uint8)
        plotter.add_mesh(pyvista.PolyData(mesh.vertices, faces), scalars=colors, rgb=True)
    centre = np.mean([mesh.vertices.mean(axis=0) for mesh in meshes], axis=0) if meshes else np.zeros(3)
    camera = scan.viewpoints.mean(axis=0)
    side = np.cross(up, centre - camera)
    plotter.camera_position = [centre + 0.5 * side + 0.55 * up + 0.15 * (centre - camera), centre, up]
    plotter.reset_camera()
    right = plotter.screenshot(return_img=True)
    plotter.close()

    figure, (left_axes, right_axes) = plt.subplots(1, 2, figsize=(10, 4))
    image = raster(scan, objects, centre, up)
    left_axes.imshow(image)
    right_axes.imshow(right)
    for axes, title in ((left_axes, "objects found"), (right_axes, "meshes: seen (blue), guessed (orange)")):
        axes.set_title(title, fontsize=9)
        axes.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=80, pil_kwargs={"optimize": True})
    plt.close(figure)


def raster(scan: Scan, objects: list[SegmentedObject], centre: NDArray[np.float64], up: NDArray[np.float64]) -> NDArray[np.uint8]:
    """(h, w, 3) the scan from where the camera stood, objects tinted."""
    import matplotlib

    camera = scan.viewpoints.mean(axis=0)
    forward = (centre - camera) / np.linalg.norm(centre - camera)
    right = np.cross(forward, up) / np.linalg.norm(np.cross(forward, up))
    rays = (scan.points - camera) @ np.stack([right, np.cross(forward, right), forward]).T
    focal = 0.95 * IMAGE_WIDTH
    height = IMAGE_WIDTH * 3 // 4
    columns = np.rint(rays[:, 0] / rays[:, 2] * focal + IMAGE_WIDTH / 2).astype(int)
    rows = np.rint(rays[:, 1] / rays[:, 2] * focal + height / 2).astype(int)
    colors = np.full((len(scan.points), 3), 160.0) if scan.colors is None else scan.colors.astype(float)
    for number, each in enumerate(objects):
        tint = 255 * np.array(matplotlib.colormaps["tab10"](number % 10)[:3])
        colors[each.source] = 0.4 * colors[each.source] + 0.6 * tint
    image = np.full((height, IMAGE_WIDTH, 3), 255, dtype=np.uint8)
    inside = (columns >= 0) & (columns < IMAGE_WIDTH) & (rows >= 0) & (rows < height)
    order = np.flatnonzero(inside)[np.argsort(-rays[inside, 2])]
    image[rows[order], columns[order]] = colors[order]
    return image


def measure_synthetic(worker: ReconstructionWorker) -> list[dict[str, Any]]:
    """Volume and Chamfer error of each way of completion, for single views of bodies of known shape."""
    sys.path.insert(0, str(ROOT))
    import trimesh

    from tests.reconstruction.synthetic_scans import box, chamfer, cylinder, render, sphere

    turned = trimesh.transformations.rotation_matrix(0.4, (0, 0, 1))
    bodies = {
        "box 12 x 8 x 15 cm": (
            box((0.12, 0.08, 0.15), (0.02, 0.03, 0.075), 0.4),
            trimesh.creation.box((0.12, 0.08, 0.15)).apply_transform(turned).apply_translation((0.02, 0.03, 0.075)),
        ),
        "cylinder 8 x 20 cm": (
            cylinder(0.04, 0.2, (0.02, 0.03, 0.0)),
            trimesh.creation.cylinder(0.04, 0.2).apply_translation((0.02, 0.03, 0.1)),
        ),
        "sphere 10 cm": (
            sphere(0.05, (0.02, 0.03, 0.05)),
            trimesh.creation.icosphere(4, 0.05).apply_translation((0.02, 0.03, 0.05)),
        ),
    }
    rows = []
    for name, (body, truth) in bodies.items():
        for completion in ("symmetry", "hull", "none"):
            options = MeshOptions(completion=completion)
            mesh, _ = worker.reconstruct(render([body]), SegmentationOptions(), ObjectSelection(), options, 120.0)
            volume = trimesh.Trimesh(mesh.vertices, mesh.faces, process=False).volume
            rows.append(
                {
                    "body": name,
                    "completion_asked": completion,
                    "completion": mesh.completion,
                    "volume_error": round(float(volume / truth.volume - 1), 4),
                    "chamfer_mm": round(1e3 * chamfer(mesh.vertices, mesh.faces, truth), 2),
                    "seconds": round(sum(mesh.timings_ms.values()) / 1e3, 3),
                }
            )
    return rows


def show(scans: list[dict[str, Any]], synthetic: list[dict[str, Any]], mean_iou: float) -> None:
    """Print what was measured."""
    table = Table("scan", "label", "IoU", "points", "found", title=f"Segmentation, mean IoU {mean_iou:.3f}")
    for scan in scans:
        for row in scan["objects"]:
            table.add_row(scan["scan"], str(row["label"]), f"{row['iou']:.3f}", str(row["points"]), str(row["points_found"]))
    meshes = Table("scan", "points", "completion", "vertices", "observed", "seconds", title="Meshes")
    for scan in scans:
        for row in scan["meshes"]:
            cells = ("completion", "vertices", "observed_share", "seconds")
            meshes.add_row(scan["scan"], str(row["points"]), *(str(row.get(cell, row.get("error", ""))) for cell in cells))
    known = Table("body", "asked", "made", "volume error", "Chamfer mm", title="Bodies of known shape, one view, 1 mm noise")
    for row in synthetic:
        made = (row["completion_asked"], row["completion"], f"{row['volume_error']:+.1%}", f"{row['chamfer_mm']:.2f}")
        known.add_row(row["body"], *made)
    for each in (table, meshes, known):
        Console().print(each)


def main(
    scans_dir: Annotated[Path, typer.Argument(help="folder of .pcd files, some with a label field")],
    pictures: Annotated[Path | None, typer.Option(help="a second folder for the pictures of the labelled scans")] = None,
) -> None:
    """Measure, print, write docs/results/perception.json."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    with ReconstructionWorker() as worker:
        scans = []
        for path in sorted(scans_dir.glob("*.pcd")):
            keep = [pictures] if pictures is not None and labelled_objects(read_scan(path)) else []
            scans.append(measure_scan(worker, path, [ROOT / "out" / "perception", *keep]))
        synthetic = measure_synthetic(worker)
    ious = [row["iou"] for scan in scans for row in scan["objects"]]
    mean_iou = float(np.mean(ious)) if ious else 0.0
    show(scans, synthetic, mean_iou)
    command = shlex.join(["python", "scripts/perception_report.py", *sys.argv[1:]])
    result = {"command": command, "commit": commit, "mean_iou": round(mean_iou, 4), "scans": scans, "synthetic": synthetic}
    target = ROOT / "docs" / "results" / "perception.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    typer.run(main)
