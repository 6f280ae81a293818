"""Checks of arguments of public calls: whole numbers, choices, flags, shares and random generators."""

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError
from hedgerow.text.messages import describe_argument


def check_integer(name: str, value: object, low: int) -> int:
    """Return an argument as an int, which does not overflow; ArgumentError unless it is a whole number >= `low`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise ArgumentError(f"{name} must be a whole number >= {low}, got {describe_argument(value)}.")
    return int(value)


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    if not isinstance(value, str) or value not in allowed:
        raise ArgumentError(f"{name} must be one of {', '.join(allowed)}, got {describe_argument(value)}.")


def check_flag(name: str, value: object, expected: str = "True or False") -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name} must be {expected}, got {describe_argument(value)}.")


def check_share(name: str, value: object, low: float = 0) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) < 1:
        raise ArgumentError(f"{name} must be in [{low:g}, 1), got {describe_argument(value)}.")


def check_probability(name: str, value: object, expected: str = "between 0 and 1") -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ArgumentError(f"{name} must be {expected}, got {describe_argument(value)}.")


RandomState = int | np.random.RandomState | np.random.Generator | None
"""The types of ``random_state`` in scikit-learn, and NumPy's generators."""


def generator(random_state: RandomState) -> np.random.Generator:
    """Return a NumPy generator for a `random_state`; ArgumentError for other types."""
    expected = "random_state must be None, a whole number, a numpy.random.RandomState or a numpy.random.Generator"
    problem = ArgumentError(f"{expected}, got {describe_argument(random_state)}.")

    def make() -> np.random.Generator:
        if isinstance(random_state, np.random.RandomState):
            return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
        return np.random.default_rng(random_state)

    return guarded(make, problem)
