"""What is made once and kept, one file an object: names, what is still to be made, and what is kept for judging."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def file_name(kind: str, number: int) -> str:
    """The name that `files_by_kind` looks for."""
    return f"{kind}_{number:06d}.npz"


def unmade(folder: Path, kinds: Sequence[str], count: int) -> list[tuple[str, int]]:
    """The jobs (kind, number) of `count` files, shared among the kinds in turn, that are not there yet."""
    jobs = [(kinds[i % len(kinds)], i // len(kinds)) for i in range(count)]
    return [job for job in jobs if not (folder / file_name(*job)).exists()]


def files_by_kind(folder: Path, held_out_instances: bool) -> dict[str, list[Path]]:
    """The files of each kind that are kept for judging, every tenth, or the others."""
    by_kind: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*_??????.npz")):
        kind, number = path.stem.rsplit("_", 1)
        if (int(number) % 10 == 9) == held_out_instances:
            by_kind.setdefault(kind, []).append(path)
    return by_kind
