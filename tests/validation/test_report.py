"""A case that fails is told of; the figures have the shape that is promised; pictures come out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from validation import dynamics
from validation.case import Case, Floats, Motion
from validation.comparison import ComparisonFigures, score
from validation.integrators import Drift, WorkBalance
from validation.outcomes import Outcome, run_case
from validation.pictures import contact_sheet, picture
from validation.report import Report
from validation.stress import summed
from validation.stress_trial import Run

TIMES = np.linspace(0.0, 1.0, 61)


def travelled(scale: float) -> Floats:
    """Ten points that go 0.5 m along x in a second, `scale` times as far."""
    points = np.random.default_rng(0).uniform(size=(10, 3))
    return points + scale * 0.5 * TIMES[:, None, None] * np.array([1.0, 0.0, 0.0])


def raises() -> Motion:
    raise ValueError("no such thing")


def gives_up() -> Motion:
    return Motion(TIMES, travelled(1.0), travelled(1.0)[:30], 1.0)


def goes_astray() -> Motion:
    predicted = travelled(1.0)
    predicted[-1] = np.nan
    return Motion(TIMES, travelled(1.0), predicted, 1.0)


def stands_still() -> Motion:
    return Motion(TIMES, travelled(0.0), travelled(0.0), 1.0)


def lags() -> Motion:
    return Motion(TIMES, travelled(1.0), travelled(0.9), 2.0, {"some_force_N": 1.5})


def case(run: object) -> Case:
    assert callable(run)
    return Case(run.__name__, "closed form", "for the test", run)


def test_percents_are_of_size_and_of_peak_and_none_beyond_the_end() -> None:
    outcome = run_case(case(lags))
    assert not outcome.failure
    peaks, sizes = outcome.percent_of_peak, outcome.percent_of_size
    assert [peaks[at] for at in ("0.1", "0.5", "1")] == pytest.approx([1.0, 5.0, 10.0])
    assert [sizes[at] for at in ("0.1", "0.5", "1")] == pytest.approx([0.25, 1.25, 2.5])
    assert peaks["2"] is None
    assert outcome.worst_percent_of_peak == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("run", "reason"),
    [(raises, "no such thing"), (gives_up, "30 of 61 frames"), (goes_astray, "not finite"), (stands_still, "does not move")],
)
def test_a_failure_is_counted_with_its_reason(run: object, reason: str) -> None:
    outcome = run_case(case(run))
    assert reason in outcome.failure
    assert set(outcome.percent_of_peak.values()) == {None}
    assert outcome.worst_percent_of_peak == np.inf


def test_figures_keep_their_promise() -> None:
    report = Report("python -m validation.dynamics", "abc", exact=[run_case(case(lags)), run_case(case(raises))])
    report.drifts = [Drift("a", 100_000, 0.01, 0.3, 0.1), Drift("b", 100_000, 0.01, 0.5, 0.0)]
    report.balances = [WorkBalance("push", 2.0, 1.5, 0.4)]
    report.stress = summed([Run("held", "door", ("penetrating",), (), 0.1)], "random weights", 0.1)
    report.comparison = ComparisonFigures([score("door", "Lagrangian", np.ones((1, 121)))], {})
    figures = json.loads(json.dumps(report.figures()))
    assert {"exact_kinematics", "learned_kinematics", "energy_drift_percent_1e5_steps", "stress", "command", "commit"} <= set(
        figures
    )
    good, bad = figures["exact_kinematics"]
    for entry in (good, bad):
        assert {"name", "reference", "rmse_percent_of_size", "rmse_percent_of_peak"} <= set(entry)
        assert list(entry["rmse_percent_of_size"]) == list(entry["rmse_percent_of_peak"]) == ["0.1", "0.5", "1", "2"]
    assert bad["failure"] == "ValueError: no such thing"
    assert figures["cases"] == {"run": 2, "failed": ["raises"], "exact_above_target": ["lags", "raises"]}
    assert figures["energy_drift_percent_1e5_steps"] == 0.5
    assert {"runs": 1, "flagged": 1, "silent_failures": 0}.items() <= figures["stress"].items()
    assert figures["comparison"]["scores"][0]["rmse_percent_of_size"]["1"] == 1.0
    assert figures["work_energy"][0]["missing_percent"] == pytest.approx(5.0)


def test_every_outcome_has_a_picture(tmp_path: Path) -> None:
    outcomes: list[Outcome] = [run_case(case(run)) for run in (lags, raises, gives_up, goes_astray, stands_still)]
    for outcome in outcomes:
        picture(outcome, tmp_path / f"{outcome.case.name}.png")
    contact_sheet(outcomes, tmp_path / "all.png", columns=2)
    assert len(list(tmp_path.glob("*.png"))) == 6
    assert all(path.stat().st_size > 2000 for path in tmp_path.glob("*.png"))


def test_the_command_leaves_figures_and_tells_of_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamics, "spread", map)  # in this process, which knows these cases
    monkeypatch.setattr(dynamics, "EXACT", [case(lags), case(raises)])
    monkeypatch.setattr(dynamics, "MODAL", [])
    monkeypatch.setattr(dynamics, "LEARNED", [])
    app = typer.Typer()
    app.command()(dynamics.main)
    out, written = tmp_path / "out", tmp_path / "figures.json"
    result = CliRunner().invoke(app, ["--out", str(out), "--only", "s", "--write", str(written)])
    assert result.exit_code == 1
    assert "no such thing" in result.output
    figures = json.loads(written.read_text())
    assert [entry["name"] for entry in figures["exact_kinematics"]] == ["lags", "raises"]
    assert (out / "lags.png").exists()
    assert (out / "cases.png").exists()
    fine = CliRunner().invoke(app, ["--out", str(out), "--only", "lags"])
    assert fine.exit_code == 0
    assert CliRunner().invoke(app, ["--out", str(out), "--only", "nothing"]).exit_code == 2
