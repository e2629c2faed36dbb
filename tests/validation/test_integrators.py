"""The integrators' figures: the orders that theory gives them, and energy that comes from somewhere."""

from __future__ import annotations

import pytest

from validation.integrators import orders, systems, work_balances


def test_orders_are_those_of_theory() -> None:
    pendulum = systems()[0]
    found = orders(pendulum)
    assert found["default"][-1] == pytest.approx(2.0, abs=0.15)
    assert found["variational"][-1] == pytest.approx(2.0, abs=0.05)
    assert found["explicit"][-1] == pytest.approx(4.0, abs=0.4)


def test_the_default_integrator_loses_some_of_the_work_and_never_makes_any() -> None:
    """Steps of 1/240 s. Missing work is numerical damping: hardly any of a 1 Hz spring's; of a block that is pressed, what goes
    into ringing and into each new contact, at which steps are backward Euler. Friction is lagged within a step, to 2 %."""
    spring, pressed, pushed = work_balances()
    assert 0.0 <= spring.missing_percent < 0.1
    assert 0.0 <= pressed.missing_percent < 5.0
    assert abs(pushed.missing_percent) < 0.5
    assert min(run.work for run in (spring, pressed, pushed)) > 0.05
