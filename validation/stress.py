"""Predictions at and beyond the edge of what is sensible, each judged from outside: none may be wrong without saying so.

`python -m validation.stress --only held` runs a part and tells of every run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from validation.parallel import spread
from validation.stress_bodies import BARE_TRIALS, BareTrial
from validation.stress_trial import Run, Trial, learned_model
from validation.stress_trials import trials


@dataclass(frozen=True)
class StressFigures:
    """Of all runs."""

    runs: int
    flagged: int
    """The product said that the answer is not to be trusted, or refused."""
    wrong: int
    """The judge found something that cannot be true."""
    silent_failures: int
    """Wrong, and not flagged."""
    groups: dict[str, dict[str, int]]
    failures: list[dict[str, Any]]
    """The silent ones."""
    learned_model: str
    """`installed`, or `random weights`."""
    seconds: float
    every_run: list[Run] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """For `docs/results/dynamics.json`."""
        found = asdict(self)
        del found["every_run"]
        return found

    def table(self) -> Table:
        """For a terminal."""
        table = Table(title=f"stress, learned states with {self.learned_model}")
        for name in ("group", "runs", "flagged", "wrong", "silent"):
            table.add_column(name, justify="left" if name == "group" else "right")
        for group, counts in self.groups.items():
            table.add_row(group, *(str(counts[name]) for name in ("runs", "flagged", "wrong", "silent")))
        table.add_row("all", str(self.runs), str(self.flagged), str(self.wrong), str(self.silent_failures), style="bold")
        return table


def stress(progress: Progress, only: str = "") -> StressFigures:
    """Run every trial whose group or name contains `only`."""
    begin = time.monotonic()
    asked = [number for number, trial in enumerate(_everything()) if only in trial.group or only in trial.name]
    task = progress.add_task("stress", total=len(asked))
    runs = []
    for run in spread(_run_numbered, asked):
        runs.append(run)
        progress.update(task, description=f"stress, {run.group}", advance=1)
    progress.update(task, description="stress")
    with learned_model() as model:
        return summed(runs, model, time.monotonic() - begin)


@cache
def _everything() -> tuple[Trial | BareTrial, ...]:
    return (*trials(), *BARE_TRIALS)


def _run_numbered(number: int) -> Run:
    with learned_model():
        return _everything()[number].run()


def summed(runs: Sequence[Run], model: str, seconds: float) -> StressFigures:
    """The figures of some runs."""
    groups: dict[str, dict[str, int]] = {}
    for run in runs:
        counts = groups.setdefault(run.group, {"runs": 0, "flagged": 0, "wrong": 0, "silent": 0})
        for name, counted in (("runs", True), ("flagged", run.said), ("wrong", run.wrong), ("silent", run.silent)):
            counts[name] += bool(counted)
    total = {name: sum(counts[name] for counts in groups.values()) for name in ("flagged", "wrong", "silent")}
    silent = [{"group": run.group, "name": run.name, "wrong": list(run.wrong)} for run in runs if run.silent]
    return StressFigures(
        len(runs), total["flagged"], total["wrong"], total["silent"], groups, silent, model, round(seconds, 1), list(runs)
    )


def main(only: Annotated[str, typer.Option(help="runs whose group or name contains this")] = "") -> None:
    """Run the trials and tell of each; exit with 1 if one failed silently."""
    torch.set_num_threads(1)
    console = Console()
    with Progress(console=console) as progress:
        found = stress(progress, only)
    for run in found.every_run:
        mark = "SILENT" if run.silent else "right" if not run.wrong else "told"
        console.print(
            f"{mark}: {run.group}, {run.name}, {run.seconds:.1f} s; said: {run.said}; judged: {run.wrong}", markup=False
        )
    console.print(found.table())
    if found.silent_failures:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
