"""The suite's figures as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from rich.table import Table

from validation.case import JUDGED_TIMES
from validation.comparison import ComparisonFigures
from validation.integrators import DAMPING_TIME, Drift, WorkBalance
from validation.outcomes import Outcome, Percents
from validation.stress import StressFigures

TARGET_PERCENT_OF_PEAK = 2.0
"""With exact kinematics, at every judged time."""


@dataclass
class Report:
    """Everything that one run of the suite measured."""

    command: str
    commit: str
    exact: list[Outcome] = field(default_factory=list)
    modal: list[Outcome] = field(default_factory=list)
    learned: list[Outcome] = field(default_factory=list)
    orders: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By system and integrator."""
    drifts: list[Drift] = field(default_factory=list)
    lost: dict[str, dict[str, float]] = field(default_factory=dict)
    """Energy lost by step length and integrator, per cent."""
    balances: list[WorkBalance] = field(default_factory=list)
    stress: StressFigures | None = None
    comparison: ComparisonFigures | None = None

    @property
    def outcomes(self) -> list[Outcome]:
        """All cases."""
        return [*self.exact, *self.modal, *self.learned]

    def figures(self) -> dict[str, Any]:
        """For `docs/results/dynamics.json`."""
        return {
            "command": self.command,
            "commit": self.commit,
            "exact_kinematics": [_entry(outcome) for outcome in self.exact],
            "modal_kinematics": [_entry(outcome) for outcome in self.modal],
            "learned_kinematics": [_entry(outcome) for outcome in self.learned],
            "cases": {
                "run": len(self.outcomes),
                "failed": [outcome.case.name for outcome in self.outcomes if outcome.failure],
                "exact_above_target": [o.case.name for o in self.exact if o.worst_percent_of_peak > TARGET_PERCENT_OF_PEAK],
            },
            "energy_drift_percent_1e5_steps": max((drift.largest_percent for drift in self.drifts), default=None),
            "energy_drift": [asdict(drift) for drift in self.drifts],
            "energy_lost_percent": self.lost,
            "convergence_orders": self.orders,
            "work_energy": [{**asdict(run), "missing_percent": run.missing_percent} for run in self.balances],
            "stress": self.stress.figures() if self.stress is not None else None,
            "comparison": self.comparison.figures() if self.comparison is not None else None,
        }

    def tables(self) -> Iterable[Table]:
        """For a terminal."""
        yield _cases("exact kinematics", self.exact)
        if self.modal:
            yield _cases("elastic modes", self.modal)
        if self.learned:
            yield _cases("learned kinematics", self.learned)
        if self.orders:
            yield _orders(self.orders)
        if self.drifts:
            yield _drifts(self.drifts)
        if self.lost:
            yield _lost(self.lost)
        if self.balances:
            yield _balances(self.balances)
        if self.stress is not None:
            yield self.stress.table()
        if self.comparison is not None:
            yield self.comparison.table()


def _entry(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.case.name,
        "reference": outcome.case.reference,
        "description": outcome.case.description,
        "rmse_percent_of_size": outcome.percent_of_size,
        "rmse_percent_of_peak": outcome.percent_of_peak,
        "figures": outcome.motion.figures if outcome.motion is not None else {},
        "failure": outcome.failure or None,
    }


def _cases(title: str, outcomes: list[Outcome]) -> Table:
    times = [f"{at:g} s" for at in JUDGED_TIMES]
    table = Table(title=f"RMSE as % of size | as % of peak displacement, {title}")
    table.add_column("case")
    table.add_column("against")
    for name in (*times, *times, "runs, s"):
        table.add_column(name, justify="right", no_wrap=True)
    for outcome in outcomes:
        sizes, peaks = _numbers(outcome.percent_of_size), _numbers(outcome.percent_of_peak)
        style = "red" if outcome.failure else None
        table.add_row(outcome.case.name, outcome.case.reference, *sizes, *peaks, f"{outcome.seconds:.0f}", style=style)
    return table


def _numbers(percents: Percents) -> list[str]:
    return ["-" if value is None else f"{value:.2f}" for value in percents.values()]


def _orders(orders: dict[str, dict[str, list[float]]]) -> Table:
    table = Table(title="order of convergence, step to half a step")
    table.add_column("system")
    for name in next(iter(orders.values())):
        table.add_column(name, justify="right")
    for system, by_integrator in orders.items():
        table.add_row(system, *(" ".join(f"{order:.2f}" for order in found) for found in by_integrator.values()))
    return table


def _drifts(drifts: list[Drift]) -> Table:
    table = Table(title="energy of the variational integrator, % of the largest kinetic energy")
    for name in ("system", "steps", "step, s", "farthest from the start", "drift of the mean"):
        table.add_column(name, justify="left" if name == "system" else "right")
    for drift in drifts:
        largest, secular = f"{drift.largest_percent:.2g}", f"{drift.secular_percent:.2g}"
        table.add_row(drift.system, str(drift.steps), f"{drift.step:.5f}", largest, secular)
    return table


def _lost(lost: dict[str, dict[str, float]]) -> Table:
    table = Table(title=f"energy lost by a pendulum (2.5 rad) in {DAMPING_TIME:g} s, % of the largest kinetic energy")
    table.add_column("step")
    for name in next(iter(lost.values())):
        table.add_column(name, justify="right")
    for step, by_integrator in lost.items():
        table.add_row(step, *(f"{percent:.2g}" for percent in by_integrator.values()))
    return table


def _balances(balances: list[WorkBalance]) -> Table:
    table = Table(title="work against energy, default integrator at 1/240 s")
    for name in ("run", "work, J", "stored, J", "friction, J", "missing, %"):
        table.add_column(name, justify="left" if name == "run" else "right")
    for run in balances:
        table.add_row(run.run, f"{run.work:.4g}", f"{run.stored:.4g}", f"{run.dissipated:.4g}", f"{run.missing_percent:.2g}")
    return table
