"""Checks of the arguments of public calls: whole numbers, choices, flags and shares."""

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np

from hedgerow.errors import ArgumentError
from hedgerow.text.messages import describe_argument


def check_integer(name: str, value: object, low: int) -> int:
    """Check that an argument is a whole number from `low` on, and return it as an int, which does not overflow."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise ArgumentError(f"{name} must be a whole number >= {low}, got {describe_argument(value)}.")
    return int(value)


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(f"{name} must be one of {', '.join(allowed)}, got {describe_argument(value)}.")


def check_flag(name: str, value: object) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name} must be True or False, got {describe_argument(value)}.")


def check_share(name: str, value: object, low: float = 0) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) < 1:
        raise ArgumentError(f"{name} must be in [{low:g}, 1), got {describe_argument(value)}.")


def check_probability(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ArgumentError(f"{name} must be between 0 and 1, got {describe_argument(value)}.")
