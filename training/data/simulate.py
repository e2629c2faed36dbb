"""Simulate deformable objects and keep their motions: resumable, one file a motion.

`python -m training.data.simulate out/simulated --count 2000`
"""

from __future__ import annotations

import multiprocessing
import zlib
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from training.data.files import file_name, unmade
from training.data.simulated.engine import KINDS, simulate

_TRIES = 6
"""A motion that went wrong is replaced by another one, of gentler forces, under the same number."""


def make_one(job: tuple[str, int], folder: Path) -> bool:
    """Simulate the motion with this kind and number and write its file; False where no try went well."""
    kind, number = job
    for attempt in range(_TRIES):
        made = simulate(kind, (zlib.crc32(kind.encode()), number, attempt), force=0.6**attempt)
        if made is not None:
            made.save(folder / file_name(kind, number))
            return True
    return False


def missing(folder: Path, count: int) -> list[tuple[str, int]]:
    """The jobs (kind, number) of `count` motions, shared among the kinds in turn, whose files are not there yet."""
    return unmade(folder, KINDS, count)


def main(
    out: Annotated[Path, typer.Argument(help="Folder of the files; what is there already is kept.")],
    count: Annotated[int, typer.Option(help="How many motions there shall be in all.")] = 1000,
    workers: Annotated[int, typer.Option(help="Processes; 0 for one a core.")] = 0,
) -> None:
    """Simulate until there are COUNT motions of cloth, soft bodies and ropes in OUT."""
    out.mkdir(parents=True, exist_ok=True)
    jobs = missing(out, count)
    columns = (TextColumn("simulating"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    processes = workers or multiprocessing.cpu_count()
    with multiprocessing.get_context("spawn").Pool(processes) as pool, Progress(*columns) as progress:
        finished = list(progress.track(pool.imap_unordered(partial(make_one, folder=out), jobs, chunksize=4), total=len(jobs)))
    typer.echo(f"{sum(finished)} new motions in {out}; {len(finished) - sum(finished)} failed; {count - len(jobs)} were there")


if __name__ == "__main__":
    typer.run(main)
