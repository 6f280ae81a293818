"""Learners that are audited by their outputs: an estimator, or a function of rows and labels; and their claims."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.text.messages import describe_argument

FACTORS = (1.1, 1.3, 2.0)
"""How wrong a claim is in the table of the power."""


def check_learner(fit: Any) -> None:
    """Refuse what is neither an estimator nor a function."""
    if isinstance(fit, type) or not (callable(fit) or hasattr(fit, "fit")):
        raise ArgumentTypeError(f"expected an estimator or a function of (X, y) as fit, got {type(fit).__name__}.")


def check_claim(claim: Any) -> None:
    """Refuse an ε that nobody can claim."""
    if claim is not None and not (isinstance(claim, (int, float)) and 0 < claim < np.inf):
        raise ArgumentError(f"claim must be a number > 0 or None, got {describe_argument(claim)}.")


def check_factor(factor: float) -> None:
    """Refuse a loss that is not larger than the claim."""
    if not factor > 1:
        raise ArgumentError(f"factor must be a number > 1, got {describe_argument(factor)}.")


def learner_name(fit: Any) -> str:
    """Return an estimator with its parameters, or the name of a function."""
    return str(fit) if hasattr(fit, "fit") else getattr(fit, "__name__", type(fit).__name__)
