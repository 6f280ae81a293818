"""Score bands: public intervals of the predicted probabilities of a model, within which rows are counted together.

Bands follow from the released model alone. Each row is in exactly one band, and all rows of a band have the same
predicted class. The confusion matrix therefore follows from the counts by band.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Self

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Integers, Whole
from hedgerow.errors import ArgumentError

SUM_TOLERANCE = 1e-6  # the largest difference from 1 of the sum of the probabilities of a band


@dataclass(frozen=True)
class ScoreBand:
    """A band of scores of a model.

    Attributes
    ----------
    predicted : int
        The index of the class that is predicted for its rows.
    low, high : float
        The lowest and the highest score in the band. The score is the probability of the second of two classes, or of
        the predicted class if there are more classes. 0 and 1 for a model with labels only.
    probabilities : tuple of float, optional
        The class probabilities that represent all rows of the band. None for a model with labels only.
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
            raise ArgumentError("a band must have a predicted class and scores from 0 to 1 in ascending order.")
        if shares is not None and not (len(shares) == n_classes and min(shares) >= 0 and _adds_up(shares)):
            raise ArgumentError(f"a band must have {n_classes} probabilities that add up to 1.")

    def to_dict(self) -> dict[str, Any]:
        """Return the band as JSON-ready data."""
        shares = None if self.probabilities is None else list(self.probabilities)
        return {"predicted": self.predicted, "low": self.low, "high": self.high, "probabilities": shares}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the band that `to_dict` wrote."""
        shares = data["probabilities"]
        return cls(data["predicted"], data["low"], data["high"], None if shares is None else tuple(map(float, shares)))


def _adds_up(shares: Sequence[float]) -> bool:
    return abs(sum(shares) - 1) <= SUM_TOLERANCE


@dataclass(frozen=True, eq=False)
class ScoreBands:
    """The score bands of a model, sorted by predicted class and score, with a function that assigns rows to bands."""

    bands: tuple[ScoreBand, ...]
    places: Callable[[Mapping[str, Whole], int], Index]
    """Returns the index of the band of each row, from its bin in each attribute that the model uses."""


def label_bands(predicted: Sequence[int]) -> tuple[tuple[ScoreBand, ...], Index]:
    """Return a band for each predicted class, and the index of the band of each outcome."""
    classes = sorted(set(predicted))
    return tuple(map(ScoreBand, classes)), np.array(list(map(classes.index, predicted)), dtype=np.intp)


def outcome_bands(predicted: Sequence[int], shares: Floats, most: int) -> tuple[tuple[ScoreBand, ...], Index]:
    """Return at most `most` bands of outcomes with these probabilities, and the index of the band of each outcome.

    Every predicted class has a band, even if these are more than `most`. Outcomes that predict the same class are
    merged, beginning with the neighbours whose probabilities differ least.
    """
    scores = shares[:, 1] if shares.shape[1] == 2 else shares[np.arange(len(shares)), list(predicted)]
    order = sorted(range(len(scores)), key=lambda place: (predicted[place], scores[place], *shares[place]))
    runs = [list(equal) for _, equal in groupby(order, lambda place: (predicted[place], *shares[place]))]
    while len(runs) > most:
        gaps = [
            np.abs(shares[left].mean(axis=0) - shares[right].mean(axis=0)).max()
            if predicted[left[0]] == predicted[right[0]]
            else np.inf
            for left, right in pairwise(runs)
        ]
        at = int(np.argmin(gaps))
        if not np.isfinite(gaps[at]):
            break
        runs[at : at + 2] = [runs[at] + runs[at + 1]]
    places = np.zeros(len(scores), dtype=np.intp)
    for band, run in enumerate(runs):
        places[run] = band
    return tuple(_merged(predicted[run[0]], scores[run], shares[run]) for run in runs), places


def _merged(predicted: int, scores: Floats, shares: Floats) -> ScoreBand:
    totals = shares.sum(axis=0)  # probabilities in files may be rounded, so that their sum differs slightly from 1
    means = tuple((totals / totals.sum()).tolist())
    return ScoreBand(predicted, float(scores.min()), float(scores.max()), means)


def margin_cuts(lowest: int, highest: int, centre: float, deviation: float, most: int) -> Integers:
    """Return rising cut points between `lowest` and `highest` whole margins; a band ends at each and includes it.

    Margins above 0 predict the second class, so 0 is a cut point if there are margins on both sides of it. The other
    cut points are equidistant, up to 1.5 deviations from the centre for 6 bands, and up to 2 for 12 or more. If there
    are at most `most` margins, each has its own band.
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
    """Return the lowest, the highest and a typical margin of each band between the cut points of `margin_cuts`.

    The typical margin is the middle. The first and the last band can be much wider than the other bands. Their typical
    margin is therefore at most one average width from the neighbouring band.
    """
    starts, stops = [lowest, *(cuts + 1).tolist()], [*cuts.tolist(), highest]
    width = float(np.diff(cuts).mean()) if len(cuts) > 1 else float(highest - lowest)
    typical = [(start + stop) / 2 for start, stop in zip(starts, stops, strict=True)]
    if len(typical) > 1:
        typical[0] = max(typical[0], stops[0] - width)
        typical[-1] = min(typical[-1], starts[-1] + width)
    return list(zip(starts, stops, typical, strict=True))
