"""The suite's systems by the name under which the tests know them."""

from validation.systems import *  # noqa: F403
