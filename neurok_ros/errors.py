"""The errors that reach a user: a code that the action repeats, the field at fault, and the remedy."""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """Why a prediction could not be made. The values are those of `action/PredictDeformation.action`."""

    NONE = 0
    INVALID_CLOUD = 1
    TOO_FEW_POINTS = 2
    NO_SCAN = 3
    UNKNOWN_OBJECT = 4
    NO_OBJECT_FOUND = 5
    TRANSFORM_FAILED = 6
    RECONSTRUCTION_FAILED = 7
    RECONSTRUCTION_TIMEOUT = 8
    WORKER_DIED = 9
    INVALID_PUSH = 10
    INVALID_PROPERTIES = 11
    INVALID_OPTIONS = 12
    DIVERGED = 13
    RESULT_TOO_LARGE = 14
    DEADLINE_EXCEEDED = 15
    OUT_OF_MEMORY = 16
    NODE_INACTIVE = 17
    CANCELED = 18
    FILE_FAILED = 19
    INTERNAL = 255


class NeurokError(Exception):
    """A failure with everything a user needs to mend it.

    Args:
        code: what kind of failure.
        field: the name of the input at fault, as the user wrote it (`row_step`, `push.waypoints`, ...).
        problem: what is wrong with it, with the numbers.
        remedy: what to change.
    """

    def __init__(self, code: ErrorCode, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}. {remedy}")
        self.code = code
        self.field = field
        self.problem = problem
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[NeurokError], tuple[ErrorCode, str, str, str]]:
        return NeurokError, (self.code, self.field, self.problem, self.remedy)
