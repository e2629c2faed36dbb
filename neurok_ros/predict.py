"""From a scan file to a film, without ROS: `python -m neurok_ros.predict SCAN`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any, Optional

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.prediction import predict, prepare
from neurok_ros.prediction.object_file import save_object
from neurok_ros.prediction.suggested_push import suggest_push
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictedMotion, PredictionOptions, Push
from neurok_ros.reconstruction import ReconstructionWorker, read_scan
from neurok_ros.reconstruction.types import MeshOptions, ObjectSelection, ReconstructedMesh, SegmentationOptions
from neurok_ros.viewing.film import film_of_motion
from neurok_ros.viewing.gltf import export_glb
from neurok_ros.viewing.pictures import picture_of_mesh, picture_of_motion

RECONSTRUCTION_TIMEOUT = 120.0
"""Seconds."""


def main(
    scan: Annotated[Path, typer.Argument(help="a .pcd, .ply or .mcap file, or a rosbag2 folder")],
    out: Annotated[Path, typer.Option(help="folder for the film, the pictures, the GLB and the numbers")] = Path("out"),
    topic: Annotated[Optional[str], typer.Option(help="the PointCloud2 topic of a bag with several")] = None,  # noqa: UP045
    label: Annotated[Optional[int], typer.Option(help="take the object with this value in the label field")] = None,  # noqa: UP045
    youngs_modulus: Annotated[float, typer.Option(help="Pa")] = 2.0e4,
    density: Annotated[float, typer.Option(help="kg/m^3")] = 100.0,
    friction: Annotated[float, typer.Option(help="Coulomb coefficient")] = 0.5,
    fixation: Annotated[Fixation, typer.Option(help="what holds the object")] = Fixation.FREE,
    parameterization: Annotated[str, typer.Option(help="auto, rigid, modal or neurok")] = "auto",
    depth: Annotated[float, typer.Option(help="how far the push goes past first touch, as a part of the object's extent")] = 0.35,
    height: Annotated[float, typer.Option(help="where it touches, as a part of the object's height")] = 0.75,
    horizon: Annotated[float, typer.Option(help="seconds")] = 1.8,
    split_touching: Annotated[bool, typer.Option(help="cut things that touch apart; not for an object with legs")] = True,
) -> None:
    """Reconstruct the object in SCAN, push it with a ball from the side, and film what happens."""
    console = Console()
    try:
        properties = PhysicalProperties(density=density, youngs_modulus=youngs_modulus, friction=friction)
        options = PredictionOptions(horizon=horizon, fixation=fixation, parameterization=parameterization)
        with Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=console
        ) as progress:
            task = progress.add_task("reading the scan", total=1.0)
            mesh, reconstruction_ms = _reconstruct(
                scan,
                topic,
                SegmentationOptions(split_touching=split_touching),
                ObjectSelection(label=label),
                lambda stage: progress.update(task, description=stage),
            )
            push = suggest_push(mesh, depth, height)
            progress.update(task, description="preparing")
            started = time.perf_counter()
            prepared = prepare(mesh, properties, options)
            preparing_ms = 1e3 * (time.perf_counter() - started)
            motion = predict(
                prepared, push, options, lambda stage, share, _: progress.update(task, description=stage, completed=share)
            )
        timings = {**reconstruction_ms, "preparing": preparing_ms, **motion.timings_ms}
        with console.status("drawing"):
            write_results(out, mesh, push, motion, timings)
    except NeurokError as error:
        console.print(f"[bold red]{error.code.name}[/] {error}", highlight=False)
        raise typer.Exit(int(error.code)) from error
    print_summary(console, motion, out)


def write_results(out: Path, mesh: ReconstructedMesh, push: Push, motion: PredictedMotion, timings_ms: dict[str, float]) -> None:
    """Leave pictures, film, GLB, the object and the numbers (demo.json) in a folder."""
    out.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    picture_of_mesh(mesh, out / "mesh.png")
    picture_of_motion(mesh, motion, push, out / "motion.png")
    film_of_motion(mesh, motion, push, out / "motion.gif")
    export_glb(mesh, motion, push, out / "motion.glb")
    save_object(mesh, out / "object.glb", "scanned_object")
    timings_ms = {**timings_ms, "drawing": 1e3 * (time.perf_counter() - started)}
    (out / "demo.json").write_text(json.dumps(summary(mesh, motion, timings_ms), indent=2) + "\n")


def summary(mesh: ReconstructedMesh, motion: PredictedMotion, timings_ms: dict[str, float]) -> dict[str, Any]:
    """The figures of a prediction, ready for JSON."""
    return {
        "error_code": int(ErrorCode.DIVERGED if motion.flags["diverged"] else ErrorCode.NONE),
        "parameterization": motion.parameterization,
        "parameterization_reason": motion.parameterization_reason,
        "vertices": len(mesh.vertices),
        "faces": len(mesh.faces),
        "observed_share": float(mesh.observed.mean()),
        "completion": mesh.completion,
        "frames": len(motion.times),
        "horizon_s": float(motion.times[-1]),
        "max_displacement_m": float(motion.displacement.max()),
        "final_displacement_m": float(motion.displacement[-1]),
        "max_contact_force_n": float(np.linalg.norm(motion.contact_force, axis=1).max()),
        "max_penetration_m": float(motion.penetration.max()),
        "flags": motion.flags,
        "measures": motion.measures,
        "stage_ms": {name: round(value, 1) for name, value in timings_ms.items()},
    }


def print_summary(console: Console, motion: PredictedMotion, out: Path) -> None:
    """What a user wants to know first."""
    raised = [name for name, is_raised in motion.flags.items() if is_raised]
    force = np.linalg.norm(motion.contact_force, axis=1).max()
    console.print(
        f"[bold]{motion.parameterization}[/] ({motion.parameterization_reason})\n"
        f"largest displacement {1e3 * motion.displacement.max():.1f} mm, largest tool force {force:.2f} N\n"
        f"warnings: {', '.join(raised) or 'none'}\n"
        f"film, pictures, GLB and numbers are in {out}/",
        highlight=False,
    )


def _reconstruct(
    path: Path, topic: str | None, segmentation: SegmentationOptions, selection: ObjectSelection, on_stage: Any
) -> tuple[ReconstructedMesh, dict[str, float]]:
    worker = ReconstructionWorker()
    worker.start()
    try:
        scan = read_scan(path, topic)
        mesh, _ = worker.reconstruct(
            scan, segmentation, selection, MeshOptions(), RECONSTRUCTION_TIMEOUT, lambda: False, on_stage
        )
    finally:
        worker.close()
    return mesh, dict(mesh.timings_ms)


def run() -> None:
    """Command line."""
    typer.run(main)


if __name__ == "__main__":
    run()
