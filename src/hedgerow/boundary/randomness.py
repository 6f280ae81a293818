"""Generators of random numbers from scikit-learn's ``random_state``; not used for noise."""

import numpy as np

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError
from hedgerow.text.messages import describe_argument

RandomState = int | np.random.RandomState | np.random.Generator | None
"""What scikit-learn takes as ``random_state``, and NumPy's generators."""


def generator(random_state: RandomState) -> np.random.Generator:
    """Return NumPy's generator of a seed; anything else is refused without being quoted."""
    expected = "random_state must be None, a whole number, a numpy.random.RandomState or a numpy.random.Generator"
    problem = ArgumentError(f"{expected}, got {describe_argument(random_state)}.")

    def make() -> np.random.Generator:
        if isinstance(random_state, np.random.RandomState):
            return np.random.default_rng(random_state.randint(np.iinfo(np.int32).max))
        return np.random.default_rng(random_state)

    return guarded(make, problem)
