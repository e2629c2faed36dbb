"""What makes a question unanswerable, said in the question's own words. (Tools and paths check themselves.)"""

from __future__ import annotations

import math

from neurok_ros.errors import ErrorCode, NeurokError
from neurok_ros.prediction.types import Fixation, PhysicalProperties, PredictionOptions

PARAMETERIZATIONS = ("auto", "rigid", "modal", "neurok")

_PROPERTY_RANGES = {
    "density": (1.0, 3.0e4, "kg/m^3"),
    "youngs_modulus": (1.0e3, 1.0e12, "Pa"),
    "poisson_ratio": (0.0, 0.49, ""),
    "damping": (0.0, 10.0, "s"),
    "friction": (0.0, 5.0, ""),
}
_OPTION_RANGES = {
    "horizon": (0.02, 60.0, "s"),
    "frame_rate": (1.0, 240.0, "1/s"),
    "gravity": (0.0, 100.0, "m/s^2"),
}


def check_properties(properties: PhysicalProperties) -> None:
    """Raise NeurokError(INVALID_PROPERTIES) if a property is not a number in its range."""
    for name, (low, high, unit) in _PROPERTY_RANGES.items():
        _check_range(ErrorCode.INVALID_PROPERTIES, f"properties.{name}", getattr(properties, name), low, high, unit)


def check_options(options: PredictionOptions) -> None:
    """Raise NeurokError(INVALID_OPTIONS) if an option is not usable."""
    for name, (low, high, unit) in _OPTION_RANGES.items():
        _check_range(ErrorCode.INVALID_OPTIONS, name, getattr(options, name), low, high, unit)
    if options.parameterization not in PARAMETERIZATIONS:
        problem = f"'{options.parameterization}' is unknown"
        raise NeurokError(ErrorCode.INVALID_OPTIONS, "parameterization", problem, f"Use one of {', '.join(PARAMETERIZATIONS)}")
    if options.fixation is Fixation.BOX:
        corners = options.fixed_box
        if corners is None or not all(math.isfinite(a) and math.isfinite(b) and a < b for a, b in zip(*corners, strict=True)):
            problem = f"{corners} is no box"
            raise NeurokError(ErrorCode.INVALID_OPTIONS, "fixed_box", problem, "Give a finite lower and a greater upper corner")
    if options.support_outline is not None:
        _check_outline(options.support_outline)


def _check_outline(outline: tuple[tuple[float, float, float], ...]) -> None:
    finite = all(math.isfinite(value) for corner in outline for value in corner)
    if len(outline) < 3 or not finite or len(set(outline)) < len(outline):
        problem = f"{len(outline)} corners are no outline" if finite else "a corner is not finite"
        raise NeurokError(
            ErrorCode.INVALID_OPTIONS, "support_outline", problem, "Give at least three different corners, in order"
        )


def _check_range(code: ErrorCode, field: str, value: float, low: float, high: float, unit: str) -> None:
    if not (math.isfinite(value) and low <= value <= high):
        raise NeurokError(code, field, f"{value:g} is outside {low:g} to {high:g} {unit}".rstrip(), "Use a value in that range")
