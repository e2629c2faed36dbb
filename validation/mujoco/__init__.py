"""The dynamics against MuJoCo, on the same geometry and push."""

from validation.case import Case
from validation.mujoco import articulated, free_box

CASES: list[Case] = [*articulated.CASES, *free_box.CASES]
"""All comparisons."""
