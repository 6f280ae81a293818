"""Scores of default models by ε, with bands, thresholds and comparisons."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.models.size import ModelSize

CONSTANT = "constant"
"""Name of the constant prediction: the most frequent class, or the mean."""
AUTOMATIC = "automatic choice"
"""Name of the model that `PrivateAutoClassifier` fits: a tree or a scorecard."""
Metric = Literal["accuracy", "cost", "r2"]
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Trial:
    """Scores of a model at an ε by run, on held-out rows.

    Attributes
    ----------
    model : str
        "tree", "rule list", "scorecard", "automatic choice", or "constant" for the most frequent class, the class with
        the smallest cost, or the mean of a number.
    epsilon : Fraction
        The ε of the model.
    scores : tuple of float
        The accuracy, the mean cost of a row, or R², by run.
    auroc : tuple of float
        The area under the ROC curve by run, for two classes; empty otherwise.
    errors : tuple of float
        The mean absolute error of a number, in its units, by run; empty for classes.
    constant : int
        The number of runs in which the same class or number was predicted for every row.
    sizes : tuple of ModelSize
        The size of the model by run; empty for the constant.
    """

    model: str
    epsilon: Fraction
    scores: tuple[float, ...]
    auroc: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    constant: int = 0
    sizes: tuple[ModelSize, ...] = ()

    @property
    def mean(self) -> float:
        """The mean score."""
        return float(np.mean(self.scores))

    @property
    def band(self) -> tuple[float, float]:
        """The ends of the band of scores; see `band_probability`."""
        return band(self.scores)

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as JSON-ready data."""
        return {
            "model": self.model,
            "epsilon": str(self.epsilon),
            "mean": self.mean,
            "band": list(self.band),
            "scores": list(self.scores),
            "auroc": list(self.auroc),
            "errors": list(self.errors),
            "constant": self.constant,
            "sizes": [size.to_dict() for size in self.sizes],
        }


@dataclass(frozen=True)
class LeftOut:
    """Kind of model that was not tried because its fits take too long.

    Attributes
    ----------
    model : str
        The model.
    seconds : float
        The estimated run time of all of its fits.
    """

    model: str
    seconds: float


@dataclass(frozen=True)
class Curve:
    """Scores of default models on a public table by ε.

    Attributes
    ----------
    metric : {"accuracy", "cost", "r2"}
        The score. A smaller cost is better.
    runs : int
        The number of fits of each model at each ε. In a run, all models at all ε have the same rows.
    epsilons : tuple of Fraction
        The values of ε, in ascending order.
    trials : tuple of Trial
        The scores, by model and ε.
    left_out : tuple of LeftOut
        Kinds of models that were not tried.
    """

    metric: Metric
    runs: int
    epsilons: tuple[Fraction, ...]
    trials: tuple[Trial, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """The kinds of models, without the constant and the automatic choice."""
        kinds = (trial.model for trial in self.trials if trial.model not in (CONSTANT, AUTOMATIC))
        return tuple(dict.fromkeys(kinds))

    @property
    def has_automatic(self) -> bool:
        """True if the automatic choice was tried."""
        return any(trial.model == AUTOMATIC for trial in self.trials)

    @property
    def band_probability(self) -> float:
        """The probability that a further run is within a band, if its rows are drawn in the same way."""
        return (self.runs + 1 - 2 * _cut(self.runs)) / (self.runs + 1)

    def trial(self, model: str, epsilon: Fraction) -> Trial:
        """Return the scores of a model at an ε."""
        return next(trial for trial in self.trials if (trial.model, trial.epsilon) == (model, epsilon))

    def gains(self, model: str, epsilon: Fraction, other: str = CONSTANT) -> Floats:
        """Return the differences in score between two models at an ε, by run; positive if the first is better."""
        difference = np.subtract(self.trial(model, epsilon).scores, self.trial(other, epsilon).scores)
        return -difference if self.metric == "cost" else difference

    def beats_constant_from(self, model: str) -> Fraction | None:
        """Return the smallest ε from which on a model is better than the constant in every run, or None.

        The probability that a further run at one of these ε is better is at least ``runs / (runs + 1)``.
        """
        return self._from([bool((self.gains(model, epsilon) > 0).all()) for epsilon in self.epsilons])

    def settles_from(self, model: str, loss: float) -> Fraction | None:
        """Return the smallest ε from which on a model is almost as good as the best model, or None.

        The model must be better than the constant in every run, and its mean score within `loss` of the best mean score
        at the largest ε. For costs, `loss` is a share of the constant's mean cost.
        """
        last, first = self.epsilons[-1], self.beats_constant_from(model)
        best = self.trial(self.best(last), last).mean
        allowed = loss * (self.trial(CONSTANT, last).mean if self.metric == "cost" else 1.0)
        means = np.array([self.trial(model, epsilon).mean for epsilon in self.epsilons])
        worse = means - best if self.metric == "cost" else best - means
        near = self._from((worse <= allowed + _ROUNDING).tolist())
        return None if near is None or first is None else max(near, first)

    def sufficient(self, loss: float) -> tuple[str, Fraction] | None:
        """Return the model with the smallest ε of `settles_from`, and this ε, or None."""
        needed = [(epsilon, model) for model in self.models if (epsilon := self.settles_from(model, loss)) is not None]
        least = min((epsilon for epsilon, _ in needed), default=None)
        if least is None:
            return None
        models = [model for epsilon, model in needed if epsilon == least]
        sign = -1 if self.metric == "cost" else 1
        return max(models, key=lambda model: sign * self.trial(model, least).mean), least

    def best(self, epsilon: Fraction) -> str:
        """Return the model with the best mean score at an ε."""
        sign = -1 if self.metric == "cost" else 1
        return max(self.models, key=lambda model: sign * self.trial(model, epsilon).mean)

    def _from(self, holds: Sequence[bool]) -> Fraction | None:
        failed = [index for index, is_true in enumerate(holds) if not is_true]
        first = failed[-1] + 1 if failed else 0
        return self.epsilons[first] if first < len(self.epsilons) else None

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON-ready data."""
        return {
            "metric": self.metric,
            "runs": self.runs,
            "band_probability": self.band_probability,
            "trials": [trial.to_dict() for trial in self.trials],
            "left_out": [vars(kind) for kind in self.left_out],
        }


def band(values: Sequence[float]) -> tuple[float, float]:
    """Return the smallest and the largest value, without the most extreme tenth at each end if there are 19 or more."""
    cut, ordered = _cut(len(values)), sorted(values)
    return ordered[cut - 1], ordered[-cut]


def _cut(runs: int) -> int:
    """Return the rank k such that the k-th smallest and k-th largest values are the ends of the band.

    If runs are exchangeable, a further run is equally likely in each of the ``runs + 1`` gaps between them. It is below
    the k-th smallest value with probability ``k / (runs + 1)``, and likewise above the k-th largest value.
    """
    return max(1, (runs + 1) // 10)
