"""The 4D data set: every source of pairs, and which of it a model may be trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from training.data.articulated.categories import articulated_sources
from training.data.deformed.source import soft_sources
from training.data.reconstructed.store import reconstructed_sources
from training.data.rigid.source import rigid_sources
from training.data.simulated.sequences import simulated_sources
from training.pairs import PairSource

Split = Literal["train", "held_out_instances", "held_out_categories", "held_out_reconstructed"]

SIMULATED = Path("out/simulated")
"""Where `python -m training.data.simulate out/simulated` puts its files, seen from the repository's root."""
RECONSTRUCTED = Path("out/reconstructed")
"""The same for `python -m training.data.reconstruct out/reconstructed`."""


def sources(split: Split, simulated: Path = SIMULATED, reconstructed: Path = RECONSTRUCTED) -> list[tuple[float, PairSource]]:
    """The sources of a split, each with the share of the pairs that should come from it (the shares sum to one).

    Args:
        split: `train`; `held_out_instances`: objects of the trained categories that training never sees;
            `held_out_categories`: kinds of objects that training never sees; `held_out_reconstructed`: articulated objects of the
            trained categories that training never sees, as reconstructed from a scan.
        simulated: folder of simulated motions; where it has none, the other sources take their share.
        reconstructed: the same for reconstructed objects.
    """
    if split not in get_args(Split):
        raise ValueError(f"there is no split {split!r}; choose one of {', '.join(get_args(Split))}")
    if split == "held_out_reconstructed":
        return _shared([(1.0, reconstructed_sources(reconstructed, True))])
    new_kinds, kept = split == "held_out_categories", split != "train"
    articulated = articulated_sources(new_kinds, kept)
    if new_kinds:
        return _shared([(1.0, articulated)])
    families: list[tuple[float, Sequence[PairSource]]] = [
        (0.45, articulated),
        (0.17, soft_sources(kept)),
        (0.04, rigid_sources(kept)),
        (0.12, simulated_sources(simulated, kept)),
    ]
    if not kept:
        families.append((0.22, reconstructed_sources(reconstructed, False)))
    return _shared(families)


def _shared(families: Sequence[tuple[float, Sequence[PairSource]]]) -> list[tuple[float, PairSource]]:
    """Divide each family's share evenly among its sources; families without any leave theirs to the others."""
    whole = sum(share for share, members in families if members)
    return [(share / whole / len(members), member) for share, members in families for member in members]
