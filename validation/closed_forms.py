"""The cases whose truth is known without a simulator: a formula, or an ordinary differential equation solved to 1e-12."""

from __future__ import annotations

from validation import contact_motions, free_motions
from validation.case import Case

CASES: list[Case] = [*free_motions.CASES, *contact_motions.CASES]
