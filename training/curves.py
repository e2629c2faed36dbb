"""Curves of a run: CSV tables that grow, and a picture of them."""

from __future__ import annotations

import csv
from pathlib import Path

from matplotlib.figure import Figure

Row = dict[str, float | str]


class Table:
    """A CSV file with a column `step`, one row at a time.

    Args:
        path: the file; rows of steps after `step` are dropped, because a run that was killed does those again.
        step: the step at which the run goes on.
    """

    def __init__(self, path: Path, step: int) -> None:
        self.path = path
        self.rows: list[Row] = [row for row in read_table(path) if float(row["step"]) <= step]
        if path.exists():
            unfinished = path.with_suffix(".tmp")
            _write(unfinished, self.rows, "w")
            unfinished.replace(path)

    def add(self, row: Row) -> None:
        """Append a row and put it on disk."""
        _write(self.path, [row], "a")
        self.rows.append(row)


def read_table(path: Path) -> list[Row]:
    """The rows of a table; a last line that was not finished is left out."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [{k: _number(v) for k, v in row.items()} for row in csv.DictReader(file) if None not in row.values()]


def _number(text: str) -> float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _write(path: Path, rows: list[Row], mode: str) -> None:
    fresh = mode == "w" or not path.exists() or path.stat().st_size == 0
    with path.open(mode, newline="") as file:
        if rows:
            writer = csv.DictWriter(file, list(rows[0]))
            if fresh:
                writer.writeheader()
            writer.writerows(rows)


def draw(training: list[Row], held_out: list[Row], path: Path) -> None:
    """Loss against pairs and against compute, and the held-out error as a share of the rest pose's."""
    figure = Figure(figsize=(15, 4.2), layout="constrained")
    axes = figure.subplots(1, 3)
    for axis, x, label in ((axes[0], "pairs", "pairs"), (axes[1], "cpu_seconds", "thread-seconds")):
        for name in ("squared_error", "rest_squared_error"):
            axis.plot([r[x] for r in training], [r[name] for r in training], label=name.replace("_", " "))
        axis.set(xlabel=label, ylabel="per point, units of the object's radius squared", yscale="log")
        axis.legend()
    for split in sorted({str(r["split"]) for r in held_out}):
        rows = [r for r in held_out if r["split"] == split and r["source"] == "all"]
        axes[2].plot([r["pairs"] for r in rows], [float(r["rmse"]) / float(r["rest_rmse"]) for r in rows], "o-", label=split)
    axes[2].set(xlabel="pairs", ylabel="vertex RMSE / that of the rest pose", ylim=(0, 1.2))
    axes[2].legend()
    unfinished = path.with_suffix(".tmp.png")
    figure.savefig(unfinished, dpi=110)
    unfinished.replace(path)
