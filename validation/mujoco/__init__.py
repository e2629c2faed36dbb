"""The dynamics against MuJoCo, on the same geometry and push."""

from validation.case import Case
from validation.mujoco import articulated, free_box, sheet, soft, soft_nodes

CASES: list[Case] = [*articulated.CASES, *free_box.CASES, *soft_nodes.CASES]
"""Comparisons with exact kinematics."""
MODAL_CASES: list[Case] = [*soft.CASES, *sheet.CASES]
"""Soft things whose states are the product's elastic modes; their figures split the error into kinematics and dynamics."""
