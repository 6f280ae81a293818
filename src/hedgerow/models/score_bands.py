"""Score bands: public intervals of a model's predicted probabilities, in which rows can be counted together.

Bands follow from the released model alone. A row is in one band, which has one predicted class: no band straddles the
decision threshold, so that the confusion matrix follows from counts by band.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Integers, Whole
from hedgerow.errors import ArgumentError

SUM_TOLERANCE = 1e-6  # by which the probabilities of a band may differ from 1 in sum


@dataclass(frozen=True)
class ScoreBand:
    """A band of a model's scores.

    Attributes
    ----------
    predicted : int
        The number of the class that is predicted for its rows.
    low, high : float
        The ends of the scores in the band: for two classes the probability of the second class, otherwise the
        probability of the predicted class. 0 and 1 for a model that has labels alone.
    probabilities : tuple of float, optional
        The class probabilities that stand for all rows of the band. None if the model has labels alone.
    """

    predicted: int
    low: float = 0.0
    high: float = 1.0
    probabilities: tuple[float, ...] | None = None

    def check(self, n_classes: int) -> None:
        """Raise ArgumentError if the band does not fit this number of classes."""
        shares = self.probabilities
        is_class = type(self.predicted) is int and 0 <= self.predicted < n_classes
        if not is_class or not 0 <= self.low <= self.high <= 1:
            raise ArgumentError("expected bands with a predicted class, and scores from 0 to 1 in ascending order.")
        if shares is not None and not (len(shares) == n_classes and min(shares) >= 0 and _adds_up(shares)):
            raise ArgumentError(f"expected bands with {n_classes} probabilities that add up to 1.")

    def to_dict(self) -> dict[str, Any]:
        """Return the band as JSON-ready data."""
        shares = None if self.probabilities is None else list(self.probabilities)
        return {"predicted": self.predicted, "low": self.low, "high": self.high, "probabilities": shares}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote."""
        shares = data["probabilities"]
        return cls(data["predicted"], data["low"], data["high"], None if shares is None else tuple(map(float, shares)))


def _adds_up(shares: Sequence[float]) -> bool:
    return abs(sum(shares) - 1) <= SUM_TOLERANCE


@dataclass(frozen=True, eq=False)
class ScoreBands:
    """The score bands of a model, in the order of predicted classes and scores, with a function that finds a row's."""

    bands: tuple[ScoreBand, ...]
    places: Callable[[Mapping[str, Whole], int], Index]
    """Returns the place of each row's band, from its bin of each attribute that the model uses."""


def label_bands(predicted: Sequence[int]) -> tuple[tuple[ScoreBand, ...], Index]:
    """Return one band for each class that outcomes predict, and the place of each outcome's band."""
    classes = sorted(set(predicted))
    return tuple(map(ScoreBand, classes)), np.array([classes.index(one) for one in predicted], dtype=np.intp)


def outcome_bands(predicted: Sequence[int], shares: Floats, most: int) -> tuple[tuple[ScoreBand, ...], Index]:
    """Return at most `most` bands of outcomes with these probabilities, and the place of each outcome's band.

    Every class that is predicted has a band, whatever `most` is. Outcomes that predict the same class are merged,
    beginning with the two neighbours whose probabilities differ least.
    """
    scores = shares[:, 1] if shares.shape[1] == 2 else shares[np.arange(len(shares)), list(predicted)]
    order = sorted(range(len(scores)), key=lambda place: (predicted[place], scores[place]))
    runs = [[place] for place in order]
    while len(runs) > 1:
        gaps = [
            np.abs(shares[left].mean(axis=0) - shares[right].mean(axis=0)).max()
            if predicted[left[0]] == predicted[right[0]]
            else np.inf
            for left, right in pairwise(runs)
        ]
        at = int(np.argmin(gaps))
        if gaps[at] > 0 and (len(runs) <= most or not np.isfinite(gaps[at])):
            break
        runs[at : at + 2] = [runs[at] + runs[at + 1]]
    places = np.zeros(len(scores), dtype=np.intp)
    for band, run in enumerate(runs):
        places[run] = band
    return tuple(_merged(predicted[run[0]], scores[run], shares[run]) for run in runs), places


def _merged(predicted: int, scores: Floats, shares: Floats) -> ScoreBand:
    totals = shares.sum(axis=0)  # files may have rounded probabilities, which do not quite add up to 1
    means = tuple((totals / totals.sum()).tolist())
    return ScoreBand(predicted, float(scores.min()), float(scores.max()), means)


def margin_cuts(lowest: int, highest: int, centre: float, deviation: float, most: int) -> Integers:
    """Return rising cut points of whole margins from `lowest` to `highest`: a band ends at each, which it includes.

    Margins above 0 predict the second class, so that 0 is a cut point if there are margins on both sides of it. The
    others are equally far apart, up to 1.5 deviations from the centre for 6 bands, and up to 2 for 12 or more. If there
    are at most `most` margins, each has a band.
    """
    if highest - lowest < most:
        return np.arange(lowest, highest, dtype=np.int64)
    reach = min(1 + most / 12, 2.0) * max(deviation, 1.0)
    spaced = np.linspace(centre - reach, centre + reach, most - 1)
    if len(spaced) and abs(centre) < reach:
        spaced -= spaced[np.abs(spaced).argmin()]
    else:
        spaced = np.append(spaced, 0.0)
    cuts = np.unique(np.round(spaced).astype(np.int64))
    return cuts[(cuts >= lowest) & (cuts < highest)]


def margin_bands(lowest: int, highest: int, cuts: Integers) -> list[tuple[int, int, float]]:
    """Return the lowest, the highest and a typical margin of each band that `margin_cuts` makes.

    The typical margin is the middle. The first and the last band may be far wider than the others; their typical margin
    is as far from the band beside them as the middle of a band that is twice as wide as the others.
    """
    starts, stops = [lowest, *(cuts + 1).tolist()], [*cuts.tolist(), highest]
    width = float(np.diff(cuts).mean()) if len(cuts) > 1 else float(highest - lowest)
    typical = [(start + stop) / 2 for start, stop in zip(starts, stops, strict=True)]
    if len(typical) > 1:
        typical[0] = max(typical[0], stops[0] - width)
        typical[-1] = min(typical[-1], starts[-1] + width)
    return list(zip(starts, stops, typical, strict=True))
