"""Work spread over processes, each with one thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
    """What a function of a module makes of each item, in their order, as many at a time as there are processors."""
    jobs = max(1, min(len(items), os.cpu_count() or 1))
    with ProcessPoolExecutor(jobs, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        yield from pool.map(function, items)
