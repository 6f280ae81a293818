"""Problems of EXPRIL: A to E, which are simulated, and two of the cardiotocography data (Section 4.1, Table 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from hedgerow import datasets
from hedgerow.errors import ArgumentError
from hedgerow.marginals.expril import HIDDEN

Points = NDArray[np.float64]
Matrix = NDArray[np.float32]
Labels = NDArray[np.int64]
COMPONENTS, RADIUS = 3, 1.0
UNITS, GAIN = 32, 2.0
BAND = 1 / 3
LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True, repr=False, eq=False)
class Problem:
    """A source without labels, and a target, split into the oracle's rows and test rows.

    Attributes
    ----------
    source : ndarray of shape (n_source, d)
        Public rows.
    target, target_labels : ndarrays of shapes (n_target, d) and (n_target,)
        The oracle's rows: the paper's target validation set.
    test, test_labels : ndarrays of shapes (n_test, d) and (n_test,)
        The paper's target test set.
    """

    source: Matrix
    target: Matrix
    target_labels: Labels
    test: Matrix
    test_labels: Labels


@dataclass(frozen=True)
class Setting:
    """A line of EXPRIL's Table 1.

    Attributes
    ----------
    n_target : int
        The number of the oracle's rows.
    reweight : bool
        Whether there is an importance sampling step; there is none if source and target have the same distribution.
    hidden : tuple of int
        Units of the network's hidden layers.
    make : callable
        Returns the problem, for a number of target rows and a generator.
    """

    n_target: int
    reweight: bool
    hidden: tuple[int, ...]
    make: Callable[[int, np.random.Generator], Problem]

    @property
    def queries(self) -> int:
        """The number of queries, with the one for importance sampling: two are always on errors."""
        return 2 + self.reweight


def problem(name: str, seed: int) -> Problem:
    """Draw a problem of EXPRIL: rows, labels and splits.

    Details that the paper does not specify were chosen so that the accuracies of a network fitted on the target's
    labels, and of the majority class, are close to those of its Table 2:

    - A, B: as many source rows as target rows, and as many test rows. K-means starts from random rows and runs until it
      converges, on all rows of the target. Of an odd number of clusters one more has label 0. The band is exactly the
      third of the target's rows that are nearest to the diagonal's middle.
    - C, D, E: as many source rows as target rows, and as many test rows. Each mixture has three components of equal
      weight and unit variance, whose centres are uniform on the unit sphere: those of the source and of the target are
      drawn alike and apart from each other, so that the mixtures differ and overlap in any dimension. The network to
      the instance space has one hidden layer of 32 tanh units, that of the labels two; weights are normal with standard
      deviation 2/√(units below), 1/√32 in the linear output, biases standard normal. The threshold is the median of the
      second network's output over source and target together.
    - CTG: normal against suspect and pathologic, on the data's 21 columns (the paper has 22). Test rows are those of
      the target that are not among its 700. CTG-B: the chance to be a source row falls from .9 at the lowest baseline
      heart rate (LB) to .1 at the highest, and the larger side is cut to the size of the other at random. If it *rises*
      with LB, 81 % of the target are normal; falling, it is 75 %, as in the paper (75.5).

    Parameters
    ----------
    name : {"A", "B", "C", "D", "E", "CTG-A", "CTG-B"}
        The name of the problem.
    seed : int
        The number of the run.

    Examples
    --------
    >>> made = problem("A", seed=0)
    >>> made.source.shape, made.target.shape, made.test.shape
    ((2500, 2), (2500, 2), (2500, 2))
    """
    if name not in PROBLEMS:
        raise ArgumentError(f"problem must be one of {', '.join(PROBLEMS)}, got {name!r}.")
    setting = PROBLEMS[name]
    return setting.make(setting.n_target, np.random.default_rng([int.from_bytes(name.encode(), "big"), seed]))


def _cube(d: int, clusters: int) -> Callable[[int, np.random.Generator], Problem]:
    def make(n: int, rng: np.random.Generator) -> Problem:
        source, target = rng.random((n, d)), rng.random((2 * n, d))
        once: Any = 1
        result = KMeans(clusters, init="random", n_init=once, random_state=int(rng.integers(2**31))).fit(target)
        labels = rng.permutation(np.arange(clusters) % 2)[result.labels_]
        off = np.abs(target.sum(axis=1) - d / 2)
        return _problem(source, target, np.where(off <= np.quantile(off, BAND), 1 - labels, labels), n)

    return make


def _mixtures(latent: int, d: int) -> Callable[[int, np.random.Generator], Problem]:
    def make(n: int, rng: np.random.Generator) -> Problem:
        source, target = _mixture(n, latent, rng), _mixture(2 * n, latent, rng)
        instance, label = _network((latent, UNITS, d), rng), _network((latent, UNITS, UNITS, 1), rng)
        scores = label(target)[:, 0]
        threshold = np.median(np.concatenate([label(source)[:, 0], scores[:n]]))
        return _problem(instance(source), instance(target), (scores > threshold).astype(np.int64), n)

    return make


def _mixture(n: int, d: int, rng: np.random.Generator) -> Points:
    centres = rng.normal(size=(COMPONENTS, d))
    centres *= RADIUS / np.linalg.norm(centres, axis=1, keepdims=True)
    return centres[rng.integers(COMPONENTS, size=n)] + rng.normal(size=(n, d))


def _network(units: tuple[int, ...], rng: np.random.Generator) -> Callable[[Points], Points]:
    """Return a random network: tanh layers, and a linear one."""
    *below, last = pairwise(units)
    layers = [(rng.normal(scale=GAIN / np.sqrt(a), size=(a, b)), rng.normal(size=b)) for a, b in below]
    out = rng.normal(scale=1 / np.sqrt(last[0]), size=last)

    def run(points: Points) -> Points:
        for weights, bias in layers:
            points = np.tanh(points @ weights + bias)
        return points @ out

    return run


def _halves(n: int, rng: np.random.Generator) -> Problem:
    rows, labels = _ctg()
    order = rng.permutation(len(rows))
    half = len(rows) // 2
    return _problem(rows[order[:half]], rows[order[half:]], labels[order[half:]], n)


def _by_heart_rate(n: int, rng: np.random.Generator) -> Problem:
    rows, labels = _ctg()
    rate = rows[:, _HEART_RATE]
    chance = HIGH - (HIGH - LOW) * (rate - rate.min()) / np.ptp(rate)
    chosen, order = rng.random(len(rows)) < chance, rng.permutation(len(rows))
    source, target = order[chosen[order]], order[~chosen[order]]
    size = min(len(source), len(target))
    return _problem(rows[source[:size]], rows[target[:size]], labels[target[:size]], n)


_HEART_RATE = 0  # LB is the first column


@lru_cache(maxsize=1)
def _ctg() -> tuple[Points, Labels]:
    data = datasets.load("ctg")
    frame: Any = data.frame
    return frame.to_numpy(dtype=np.float64), (np.asarray(data.labels) == 1).astype(np.int64)


def _problem(source: Points, target: Points, labels: Labels, n: int) -> Problem:
    """Split the target, and drop columns that are constant in the source.

    Values are in single precision, in which networks learn as well and faster.
    """
    varies = np.ptp(source, axis=0) > 0
    source, target = source[:, varies].astype(np.float32), target[:, varies].astype(np.float32)  # type: ignore[assignment]
    return Problem(source, target[:n], labels[:n], target[n:], labels[n:])  # type: ignore[arg-type]


PROBLEMS: Mapping[str, Setting] = {
    "A": Setting(2500, False, HIDDEN, _cube(2, 15)),
    "B": Setting(2500, False, HIDDEN, _cube(4, 64)),
    "C": Setting(5000, True, (32, 32), _mixtures(3, 10)),
    "D": Setting(5000, True, (32, 32), _mixtures(5, 15)),
    "E": Setting(5000, True, (32, 32), _mixtures(10, 25)),
    "CTG-A": Setting(700, False, HIDDEN, _halves),
    "CTG-B": Setting(700, True, HIDDEN, _by_heart_rate),
}
"""EXPRIL's Table 1."""
