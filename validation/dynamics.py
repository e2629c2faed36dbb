"""Validate the dynamics by one command, with pictures and one report.

`python -m validation.dynamics --out out/validation --write docs/results/dynamics.json --sheet docs/images/validation.png`
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from validation import closed_forms, learned, mujoco
from validation.case import Case, Motion
from validation.comparison import comparison, picture_of_methods
from validation.integrators import DRIFT_STEPS, drift, energy_lost, orders, systems, work_balances
from validation.outcomes import Outcome, run_case
from validation.parallel import spread
from validation.pictures import contact_sheet, picture
from validation.report import Report
from validation.stress import stress

EXACT: list[Case] = [*closed_forms.CASES, *mujoco.CASES]
MODAL = mujoco.MODAL_CASES
LEARNED = [*learned.CASES, *learned.SCANNED_CASES]
COMPARED_STEPS = {"1/60 s": 1.0 / 60.0, "1/120 s": 1.0 / 120.0}
ROOT = Path(__file__).resolve().parents[1]


def main(
    out: Annotated[Path, typer.Option(help="folder for pictures and dynamics.json")] = Path("out/validation"),
    only: Annotated[str, typer.Option(help="run only cases with this in their name, and nothing else")] = "",
    write: Annotated[Path | None, typer.Option(help="write the figures here too")] = None,
    sheet: Annotated[Path | None, typer.Option(help="write the contact sheet here too")] = None,
) -> None:
    """Run the cases, measure the integrators, stress the dynamics; exit with 1 if a case failed, or a prediction silently."""
    torch.set_num_threads(1)
    report = Report(shlex.join(["python", "-m", "validation.dynamics", *sys.argv[1:]]), _commit())
    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        report.exact = _run([case for case in EXACT if only in case.name], "cases", out, progress)
        report.modal = _run([case for case in MODAL if only in case.name], "cases, elastic modes", out, progress)
        report.learned = _run([case for case in LEARNED if only in case.name], "cases, learned", out, progress)
        outcomes = report.outcomes
        if not outcomes:
            raise typer.BadParameter(f"no case has {only!r} in its name", param_hint="--only")
        for path in (out / "cases.png", *([sheet] if sheet else [])):
            contact_sheet(outcomes, path)
        _save(report, out / "dynamics.json")
        if not only:
            _measure_integrators(report, progress)
            _save(report, out / "dynamics.json")
            report.stress = stress(progress)
            _save(report, out / "dynamics.json")
            report.comparison = comparison(progress)
            for path in (out / "comparison.png", *([sheet.with_name("comparison.png")] if sheet else [])):
                picture_of_methods(report.comparison, path)
    for path in (out / "dynamics.json", *([write] if write else [])):
        _save(report, path)
    for table in report.tables():
        console.print(table)
    console.print(f"pictures and figures are in {out}", soft_wrap=True)
    if report.stress is not None:
        for failure in report.stress.failures:
            console.print(f"wrong, and nothing said: {failure}", style="red", soft_wrap=True)
    failed = [outcome for outcome in outcomes if outcome.failure]
    for outcome in failed:
        console.print(f"{outcome.case.name} failed: {outcome.failure}", style="red", soft_wrap=True)
    if failed or (report.stress is not None and report.stress.silent_failures):
        raise typer.Exit(1)


def _save(report: Report, path: Path) -> None:
    path.write_text(json.dumps(report.figures(), indent=2) + "\n")


def _run(cases: list[Case], title: str, out: Path, progress: Progress) -> list[Outcome]:
    task = progress.add_task(title, total=len(cases))
    outcomes = []
    places = [_everything().index(case) for case in cases]
    for case, (motion, failure, seconds) in zip(cases, spread(_run_placed, places), strict=True):
        outcomes.append(Outcome(case, motion, failure, seconds))
        picture(outcomes[-1], out / f"{case.name.replace(' ', '_')}.png")
        progress.advance(task)
    return outcomes


def _everything() -> list[Case]:
    return [*EXACT, *MODAL, *LEARNED]


def _run_placed(place: int) -> tuple[Motion | None, str, float]:
    """What became of the case there; cases themselves do not go from process to process."""
    outcome = run_case(_everything()[place])
    return outcome.motion, outcome.failure, outcome.seconds


def _measure_integrators(report: Report, progress: Progress) -> None:
    everything = systems()
    task = progress.add_task("orders of convergence", total=len(everything))
    for system in everything:
        report.orders[system.name] = orders(system)
        progress.advance(task)
    for system in everything:
        task = progress.add_task(f"energy, {system.name}", total=DRIFT_STEPS)
        report.drifts.append(drift(system, DRIFT_STEPS, partial(_show, progress, task)))
        progress.update(task, completed=DRIFT_STEPS)
    task = progress.add_task("numerical damping", total=len(COMPARED_STEPS))
    for name, step in COMPARED_STEPS.items():
        report.lost[name] = energy_lost(everything[0], step)
        progress.advance(task)
    report.balances = work_balances()


def _show(progress: Progress, task: TaskID, done: int) -> None:
    progress.update(task, completed=done)


def _commit() -> str:
    """Of the working tree, with a mark where it has changes."""
    found = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=40"], cwd=ROOT, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


if __name__ == "__main__":
    typer.run(main)
