"""Comparisons of optimal and greedy models at equal parameters, size or accuracy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from studies.pdr.runs import GREEDY, OPTIMAL, Frame

LEVEL = 0.05
"""The significance level of differences."""
_EQUAL = 1e-9
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Counts of positive, zero and negative differences, and their mean over seeds.

    Attributes
    ----------
    above, equal, below : int
        The number of comparisons in which the first is larger, equal, smaller.
    mean : float
        The mean over seeds of the mean difference of a seed.
    se : float
        Its standard error over seeds; NaN for one seed.
    p : float
        The two-sided p-value of Student's t test that the mean over seeds is 0; NaN for one seed.
    """

    above: int
    equal: int
    below: int
    mean: float
    se: float
    p: float

    @classmethod
    def of(cls, differences: Values, seeds: Values) -> Comparison:
        """Count and average differences, each with its seed."""
        if not len(differences):
            return cls(0, 0, 0, *3 * (float("nan"),))
        means = np.array([differences[seeds == seed].mean() for seed in np.unique(seeds)])
        se, p = _spread(means)
        above, below = int((differences > _EQUAL).sum()), int((differences < -_EQUAL).sum())
        return cls(above, len(differences) - above - below, below, float(means.mean()), se, p)

    def holds(self, sign: int, *, always: bool = False) -> str:
        """Return whether the first is larger (`sign` 1) or smaller (−1): "yes", "no", "undecided" or "on average".

        The test is Student's t test that the mean over seeds is 0, two-sided, at `LEVEL`. A claim about every single
        comparison (`always`) holds "on average" at best if one comparison contradicts it.
        """
        contradicted = always and bool(self.below if sign > 0 else self.above)
        if not self.p < LEVEL:
            return "no" if contradicted else "undecided"
        if self.mean * sign < 0:
            return "no"
        return "on average" if contradicted else "yes"

    def __str__(self) -> str:
        counts = f"{self.above} above, {self.equal} equal, {self.below} below"
        return f"{self.mean:+.4f} ± {self.se:.4f} ({counts})"


def _spread(means: Values) -> tuple[float, float]:
    """Return the standard error of the mean of some means, and the p-value of the t test that it is 0."""
    if len(means) < 2:
        return float("nan"), float("nan")
    se = float(means.std(ddof=1) / len(means) ** 0.5)
    if se == 0:
        return 0.0, float(means[0] == 0)
    return se, float(2 * stats.t.sf(abs(means.mean()) / se, len(means) - 1))


def at_same_parameters(records: Frame, column: str) -> Comparison:
    """Compare optimal minus greedy for each seed, support and depth."""
    wide = records.pivot_table(index=["seed", "support", "depth"], columns="learner", values=column)
    return Comparison.of((wide[OPTIMAL] - wide[GREEDY]).to_numpy(), wide.index.get_level_values("seed").to_numpy())


def at_same(records: Frame, axis: str, column: str) -> Comparison:
    """Compare optimal minus greedy at the same value of another column, such as size or accuracy.

    Each distinct greedy model is compared with the interpolated optimal models of the same seed and support; those
    outside the range of the interpolation are left out.
    """
    return Comparison.of(*differences_at_same(records, axis, column))


def differences_at_same(records: Frame, axis: str, column: str) -> tuple[Values, Values]:
    """Return the differences that `at_same` averages, and their seeds."""
    result = [
        (value - own, seed)
        for seed, line, greedy in _lines(records, axis, column)
        for x, own in greedy
        if (value := line(x)) is not None
    ]
    return np.array([d for d, _ in result]), np.array([seed for _, seed in result])


def _lines(records: Frame, axis: str, column: str) -> Iterator[tuple[int, Any, list[tuple[float, float]]]]:
    for keys, part in records.groupby(["seed", "support"]):
        best = part[part["learner"] == OPTIMAL].groupby(axis)[column].mean()
        xs, ys = best.index.to_numpy(dtype=np.float64), best.to_numpy(dtype=np.float64)

        def line(x: float, xs: Values = xs, ys: Values = ys) -> float | None:
            return float(np.interp(x, xs, ys)) if xs[0] - _EQUAL <= x <= xs[-1] + _EQUAL else None

        greedy = part.loc[part["learner"] == GREEDY, [axis, column]].round(12).drop_duplicates()
        yield cast(tuple[int, float], keys)[0], line, list(map(tuple, greedy.to_numpy()))


def steps(records: Frame, along: str, column: str) -> Comparison:
    """Compare each model with the previous one along a column, all else being equal: positive where it is larger."""
    others = [name for name in ("learner", "seed", "support", "depth") if name != along]
    ordered = records.sort_values(along)
    differences = ordered.groupby(others)[column].diff()
    known = differences.notna()
    return Comparison.of(differences[known].to_numpy(), ordered.loc[known, "seed"].to_numpy())
