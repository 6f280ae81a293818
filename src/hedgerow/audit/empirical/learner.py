"""Learners that are audited by their outputs, and lower bounds of their privacy loss beside the loss they claim."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from hedgerow.audit.inference.targets import unset_seeds
from hedgerow.boundary.arguments import check_probability, check_share
from hedgerow.errors import ArgumentError, ArgumentTypeError, SeededNoiseWarning
from hedgerow.text.messages import describe_argument

_FACTORS = (1.1, 1.3, 2.0)  # how many times its claim a learner loses, where the power is printed


def check_settings(fit: Any, claim: Any, delta: float, confidence: float) -> None:
    check_probability("confidence", confidence)
    check_share("delta", delta)
    if claim is not None and not (isinstance(claim, (int, float)) and 0 < claim < np.inf):
        raise ArgumentError(f"claim must be a number > 0 or None, got {describe_argument(claim)}.")
    if isinstance(fit, type) or not (callable(fit) or hasattr(fit, "fit")):
        raise ArgumentTypeError(f"expected an estimator or a function of (X, y) as fit, got {type(fit).__name__}.")


def learner_name(fit: Any) -> str:
    """Return an estimator with its parameters, or the name of a function."""
    return str(fit) if hasattr(fit, "fit") else getattr(fit, "__name__", type(fit).__name__)


def output_of(fit: Any, X: Any, y: Any, seed: int | None = None) -> Any:
    """Run a learner once; a seed is set as each parameter of an estimator named ``random_state`` that is None."""
    if not hasattr(fit, "fit"):
        return fit(X, y)
    estimator: Any = clone(fit) if isinstance(fit, BaseEstimator) else fit
    if seed is None or not isinstance(fit, BaseEstimator):
        return estimator.fit(X, y)
    estimator.set_params(**dict.fromkeys(unset_seeds(estimator), seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)  # nothing is released
        return estimator.fit(X, y)


@dataclass(frozen=True, repr=False)
class LossBound(ABC):
    """A lower bound of a learner's privacy loss; `EmpiricalEpsilon` documents the fields."""

    learner: str
    epsilon: float
    mu: float
    delta: float
    confidence: float
    claim: float | None

    @property
    def refutes(self) -> bool:
        """True if the claim is refuted; a `ValueError` if there is none."""
        return self.epsilon > self._claim

    @abstractmethod
    def power(self, factor: float) -> float:
        """Return the chance that as much evidence refutes the claim if the learner loses `factor` times as much."""

    @property
    @abstractmethod
    def _evidence(self) -> str:
        """The counts that the bound follows from, as a line."""

    @property
    def _claim(self) -> float:
        if self.claim is None:
            raise ArgumentError("expected a claim to compare with, got none; pass claim= to the audit.")
        return self.claim

    def _lost(self, factor: float) -> float:
        if not factor > 1:
            raise ArgumentError(f"factor must be a number > 1, got {describe_argument(factor)}.")
        return factor * self._claim

    def __str__(self) -> str:
        lines = [
            f"learner     {self.learner}",
            f"epsilon     {self.epsilon:.4g} or more, at delta = {self.delta:g}, with {100 * self.confidence:g} % "
            "confidence",
            f"Gaussian    mu = {self.mu:.4g} or more",
            self._evidence,
        ]
        if self.claim is not None:
            seen = ", ".join(f"{100 * (factor - 1):g} % wrong: {self.power(factor):.2f}" for factor in _FACTORS)
            lines += [
                f"claim       {self.claim:g}: {'refuted' if self.refutes else 'not refuted'}",
                f"power       the chance to refute it if it were {seen}",
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.learner}: {self.epsilon:.4g} or more>"
