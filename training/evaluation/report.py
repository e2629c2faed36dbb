"""The report a person reads, and the figures other tools read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from training.evaluation.judge import Outcome, by_category, of_method, summary
from training.evaluation.methods import Method
from training.evaluation.objects import EvaluationObject
from training.evaluation.signals import SMALL_IS_BAD, Verdict

KEYS = ("chamfer_l1", "chamfer_l2", "iou", "vertex_rmse")


@dataclass
class SetResult:
    """What came out on one set of objects."""

    objects: list[EvaluationObject]
    outcomes: list[Outcome]
    missing: list[str] = field(default_factory=list)
    """Objects that should be in the set and are not, with the reason."""

    def of(self, methods: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The summary of each method, empty where the set is."""
        return {name: summary(of_method(self.outcomes, name)) for name in methods} if self.objects else {}


@dataclass(frozen=True)
class Facts:
    """What was evaluated, and how."""

    command: str
    commit: str
    iterations: int
    size: int
    poses: int
    encode_ms_cpu: float | None
    prepare_ms_cpu: float | None
    """Encoding and reduction."""
    checkpoint_mb: float | None
    signals: dict[str, Verdict]
    """How well each signal tells "error above 0.1"; empty without a trained model."""


def figures(sets: dict[str, SetResult], learned: str, baselines: Sequence[Method], facts: Facts) -> dict[str, Any]:
    """The layout of `docs/results/kinematics.json`. Without a trained model the learned figures are null."""
    found: dict[str, Any] = {}
    for name, result in sets.items():
        own: dict[str, Any] = dict.fromkeys(KEYS)
        if learned and result.objects:
            own = summary(of_method(result.outcomes, learned))
        own["objects"] = len(result.objects)
        own["missing"] = result.missing
        means = result.of([method.name for method in baselines])
        own["baselines"] = {method.name: {**means[method.name], "oracle": method.oracle} for method in baselines if means}
        found[name] = own
    return {
        **found,
        "out_of_distribution": {name: asdict(value) for name, value in facts.signals.items()},
        "encode_ms_cpu": facts.encode_ms_cpu,
        "prepare_ms_cpu": facts.prepare_ms_cpu,
        "checkpoint_mb": facts.checkpoint_mb,
        "iterations": facts.iterations,
        "coordinates": facts.size,
        "poses": facts.poses,
        "command": facts.command,
        "commit": facts.commit,
    }


def markdown(
    sets: dict[str, SetResult], methods: Sequence[str], oracles: Sequence[str], facts: Facts, pictures: Sequence[str]
) -> str:
    """The report."""
    lines = [
        "# How well a state space reaches a target pose",
        "",
        f"`{facts.command}` at commit `{facts.commit}`. {facts.iterations} iterations of damped Gauss-Newton, "
        f"k_q = {facts.size}, {facts.poses} poses an object; lengths in units of the object. Methods in *italics* have seen "
        "other poses of the very object (oracles). A failed object counts with the rest pose's error.",
    ]
    if facts.encode_ms_cpu is not None:
        lines += ["", _costs(facts)]
    if facts.signals:
        lines += ["", *_signal_table(facts.signals)]
    for name, result in sets.items():
        lines += ["", f"## {name} ({len(result.objects)} objects)", ""]
        if result.objects:
            lines += _table(result.of(methods), oracles)
            lines += _categories(result, methods)
            lines += _failures(result, methods)
        lines += [f"- not in the set: {reason}" for reason in result.missing]
    for picture in pictures:
        lines += ["", f"![{picture}]({picture})"]
    return "\n".join(lines) + "\n"


def _signal_table(signals: dict[str, Verdict]) -> list[str]:
    lines = [
        "| signal of an object | AUROC for vertex error above 0.1 | best threshold | bad objects found | good ones flagged |",
        "|---|---|---|---|---|",
    ]
    for name, found in signals.items():
        side = "" if found.threshold is None else "<= " if name in SMALL_IS_BAD else ">= "
        cells = [_number(found.auroc), side + _number(found.threshold), _number(found.found), _number(found.flagged)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _table(summaries: dict[str, dict[str, Any]], oracles: Sequence[str]) -> list[str]:
    lines = [
        "| | coordinates | vertex RMSE | Chamfer L1 | Chamfer L2 | IoU | unknown correspondence: RMSE | L1 | L2 | IoU | failed |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    order = ("vertex_rmse", "chamfer_l1", "chamfer_l2", "iou")
    for name, values in summaries.items():
        cells = [_number(values[key]) for key in order] + [_number(values["chamfer_objective"][key]) for key in order]
        title = f"*{name}*" if name in oracles else name
        lines.append(f"| {title} | {values['coordinates']:.0f} | {' | '.join(cells)} | {len(values['failed'])} |")
    return lines


def _categories(result: SetResult, methods: Sequence[str]) -> list[str]:
    tables = {name: by_category(of_method(result.outcomes, name)) for name in methods}
    lines = ["", "Vertex RMSE (correspondence known) by category:", ""]
    lines += [f"| | objects | {' | '.join(methods)} |", f"|---|---|{'---|' * len(methods)}"]
    for category, first in tables[methods[0]].items():
        cells = [_number(tables[name][category]["vertex_rmse"]) for name in methods]
        lines.append(f"| {category} | {first['objects']} | {' | '.join(cells)} |")
    return lines


def _failures(result: SetResult, methods: Sequence[str]) -> list[str]:
    found = {(o.method, o.object): o.failure for o in result.outcomes if o.failure and o.method in methods}
    return ["", *(f"- failed: {method} on {name}: {reason}" for (method, name), reason in found.items())] if found else []


def _costs(facts: Facts) -> str:
    encode = f"Encoding an object takes {facts.encode_ms_cpu:.0f} ms on one thread of this CPU"
    return f"{encode}, {facts.prepare_ms_cpu:.0f} ms with the reduction; the checkpoint has {facts.checkpoint_mb:.1f} MB."


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}" if abs(value) >= 100 else f"{value:.4f}"
