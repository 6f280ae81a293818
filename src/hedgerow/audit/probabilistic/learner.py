"""Residual uncertainty given the model and its learner: tables to which it fits another model are excluded."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations_with_replacement, groupby, product
from math import comb, factorial, fsum, inf, log2, nan, prod
from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.base import clone

from hedgerow.audit.counting.bin_values import Mark, Resolution
from hedgerow.audit.entropy.values import Values
from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset
from hedgerow.audit.probabilistic.row import RowDistribution
from hedgerow.audit.readers.read import paths_of
from hedgerow.boundary.arguments import RandomState, generator
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.base import TallyEstimator
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.models.released import released_leaf_model
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

_Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class LearnerKnowledge:
    """Residual uncertainty given the model and its learner. No row of the training table is read.

    Attributes
    ----------
    model_bits, domain_bits : float
        The residual entropy of the table in bits, given the model alone, and which row is in which region; and that
        without the model.
    consistent, examined : int
        The possible tables that were examined, and those among them to which the learner fits the same model.
    exact : bool
        Whether all possible tables were examined, and not draws; if none of them is consistent, ValueError.
    confidence : float
        The confidence of the intervals, if tables were drawn.
    """

    model_bits: float
    domain_bits: float
    consistent: int
    examined: int
    exact: bool
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.exact and not self.consistent:
            raise ArgumentError("expected the learner of the model, got one that fits it to no possible table.")

    @property
    def share(self) -> Fraction:
        """The share of possible tables to which the learner fits the same model; an estimate unless `exact`."""
        return Fraction(self.consistent, self.examined)

    @cached_property
    def share_interval(self) -> tuple[float, float]:
        """The Clopper-Pearson interval of the share; both ends are the share itself if `exact`."""
        if self.exact:
            return float(self.share), float(self.share)
        found = stats.binomtest(self.consistent, self.examined).proportion_ci(self.confidence, method="exact")
        return float(found.low), float(found.high)

    @property
    def entropy_bits(self) -> float:
        """The residual entropy, ``model_bits + log2 share``; an estimate unless `exact`, NaN if no draw is."""
        return self._bits(log2(self.consistent) - log2(self.examined)) if self.consistent else nan

    @property
    def entropy_interval(self) -> tuple[float, float]:
        """The interval of the residual entropy; never below 0, since the true table is consistent."""
        if self.exact:
            return self.entropy_bits, self.entropy_bits
        low, high = (self._bits(log2(end) if end else -inf) for end in self.share_interval)
        return low, high

    def _bits(self, log_share: float) -> float:
        return max(self.model_bits + log_share, 0.0)

    @property
    def uncertainty(self) -> float:
        """Dist_G (PDR eq. 2) given the model and its learner: `entropy_bits` as a share of `domain_bits`."""
        return self.entropy_bits / self.domain_bits

    @property
    def uncertainty_interval(self) -> tuple[float, float]:
        """The interval of Dist_G."""
        low, high = self.entropy_interval
        return low / self.domain_bits, high / self.domain_bits

    def __str__(self) -> str:
        low, high = self.entropy_interval
        text = (
            f"Given the model, and which row is in which region, the residual entropy is {self.model_bits:.1f} of "
            f"{self.domain_bits:.1f} bits (Dist_G = {self.model_bits / self.domain_bits:.3f}). "
        )
        if self.exact:
            size = f"{self.examined:,}" if self.examined < 10**15 else f"about 2^{self.examined.bit_length() - 1}"
            text += (
                f"To {100 * float(self.share):.3g} % of the {size} possible tables, the learner fits this model. Given "
                f"the learner, too, it is {low:.1f} bits (Dist_G = {self.uncertainty:.3f})."
            )
        else:
            first, last = (100 * end for end in self.share_interval)
            least, most = self.uncertainty_interval
            text += (
                f"To {self.consistent:,} of {self.examined:,} possible tables drawn at random, the learner fits this "
                f"model: {first:.2g} % to {last:.2g} % of all with {100 * self.confidence:g} % confidence. Given the "
                f"learner, too, it is {low:.1f} to {high:.1f} bits (Dist_G from {least:.3f} to {most:.3f})."
            )
        return fill(text, 110)


def condition_on_learner(
    model: Any,
    learner: "Learner",
    schema: Schema | None = None,
    *,
    limit: int = 20_000,
    draws: int = 1000,
    confidence: float = 0.95,
    resolution: Resolution | None = None,
    random_state: RandomState = None,
) -> LearnerKnowledge:
    """Measure the residual entropy of the training table given a model and its deterministic learner.

    The model discloses the region and class of every row, so the table is one of ``Π_j R_j^{C_j}`` equally likely ones,
    where region j has support C_j and R_j possible rows. The learner fits the same model to a share f of them, and the
    residual entropy is ``H + log2 f``. f is counted exactly, one fit for all tables of the same rows in any order, if
    that takes few fits; else it is estimated from tables drawn uniformly.

    Parameters
    ----------
    model : RuleList, Tree, fitted estimator, or anything with ``regions()`` and ``supports``
        The model, as for `reconstruction`. It must store its exact counts of each class.
    learner : estimator of hedgerow, or callable
        The learner of the model: an estimator, fitted or not, that is not private; or a function of a pandas frame and
        a series of labels that returns a model. It must always fit the same model to the same rows, in any order.
    schema : Schema, optional
        The public schema. Default: the model's own. An estimator is fitted on it, whatever its parameter `schema` is.
    limit, draws : int, default=20_000 and 1000
        The maximum number of fits for an exact count, and the number of tables to draw if that takes more.
    confidence : float, default=0.95
        The confidence of the intervals, for draws.
    resolution : mapping of str to float, optional
        As for `reconstruction`. A callable needs one for every real attribute.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness of draws.

    Raises
    ------
    TypeError, ValueError
        If model or learner is none of those supported, the model stores no exact counts, or fits no possible table.

    Examples
    --------
    If the first column were equal to the second, or its negation, the learner would have chosen the first:

    >>> import hedgerow as hr, numpy as np
    >>> X = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> learner = hr.GreedyRuleListClassifier(schema=None, max_rules=2, max_literals=1, negations=False)
    >>> clf = learner.fit(X, X[:, 1])
    >>> print(condition_on_learner(clf, learner))
    Given the model, and which row is in which region, the residual entropy is 4.0 of 8.0 bits (Dist_G = 0.500).
    To 87.5 % of the 16 possible tables, the learner fits this model. Given the learner, too, it is 3.8 bits
    (Dist_G = 0.476).
    """
    paths, schema = paths_of(model, schema)
    known = ProbabilisticDataset.of(model, schema, resolution=resolution)
    if not paths.exact or known.labels is None:
        raise ArgumentError("expected a model of classes with exact counts of each class in each leaf, got another.")
    refit = refit_of(learner, known, schema)
    disclosed = disclosed_by(model, schema)
    bits = known.entropy_bits, known.n_rows * fsum(values.bits for values in known.domains)
    pairs = groupby(zip(known.rows, known.labels, strict=True), key=lambda pair: (id(pair[0]), pair[1]))
    alike = [list(group) for _, group in pairs]  # the rows of one distribution and label
    blocks = [(group[0][0], len(group)) for group in alike]
    if prod(comb(refit.count_atoms(row) + n - 1, n) for row, n in blocks) <= limit:
        consistent = sum(
            prod(tables for _, tables in choice)
            for choice in product(*(_choices(refit.atoms(row), n) for row, n in blocks))
            if refit(list(chain.from_iterable(rows for rows, _ in choice))) == disclosed
        )
        return LearnerKnowledge(*bits, consistent, prod(row.possible_rows**n for row, n in blocks), exact=True)
    rng = generator(random_state)
    hits = sum(refit(refit.drawn(rng)) == disclosed for _ in range(draws))
    return LearnerKnowledge(*bits, hits, draws, exact=False, confidence=confidence)


def _choices(atoms: Sequence[tuple[tuple[Any, ...], int]], n: int) -> list[tuple[_Rows, int]]:
    """Return every multiset of n rows, with the number of tables that it stands for."""
    found: list[tuple[_Rows, int]] = []
    for picks in combinations_with_replacement(range(len(atoms)), n):
        orders = factorial(n) // prod(map(factorial, Counter(picks).values()))
        found.append(([atoms[i][0] for i in picks], orders * prod(atoms[i][1] for i in picks)))
    return found


Learner = TallyEstimator | Callable[[pd.DataFrame, pd.Series], Any]
"""An estimator of hedgerow, or a function that fits a model to rows and their labels."""
Atom = tuple[Any, ...]  # an equivalence class of rows that a learner does not distinguish


def disclosed_by(model: Any, schema: Schema) -> Hashable:
    """Return all that a model discloses: its decision paths, their counts, and its stored labels or probabilities."""
    released = released_leaf_model(model)
    stored = None if released is None else tuple((leaf.label, leaf.probabilities) for leaf in released.leaves)
    return paths_of(model, schema)[0], stored


def refit_of(learner: Learner, known: ProbabilisticDataset, schema: Schema) -> "Refit":
    if isinstance(learner, PrivateEstimator):
        raise ArgumentError("expected a deterministic learner, got a private one, which draws its models at random.")
    if isinstance(learner, TallyEstimator):
        if any(values.attribute != schema[values.name] for values in known.domains):
            raise ArgumentError("expected thresholds that are cut points of the schema, got others; add them.")
        return _BinsRefit(learner, known, schema)
    if isinstance(learner, type) or not callable(learner):
        raise ArgumentTypeError(f"expected an estimator of hedgerow or a function, got {type(learner).__name__}.")
    marks = (bin[0] for values in known.domains for bin in values.bins if bin)
    if any(value is Mark.OUTSIDE or isinstance(value, pd.Interval) for value in marks):
        problem = "expected a resolution for each real attribute, and no attribute with `outside: bin`"
        raise ArgumentError(f"{problem}; a function needs the values of each bin.")
    return _ValuesRefit(learner, known, schema)


class Refit(ABC):
    """Fits a learner to possible tables with known labels, and caches what each model discloses."""

    def __init__(self, learner: Learner, known: ProbabilisticDataset, schema: Schema) -> None:
        self.learner: Any = learner
        self.known = known
        self.schema = schema
        self._found: dict[Hashable, Hashable] = {}

    def __call__(self, rows: Sequence[Atom]) -> Hashable:
        """Return what the model fitted to these rows discloses; the rows are in the order of the dataset."""
        labels = self.known.labels or ()
        counts = Counter(zip(rows, labels, strict=True))
        key = frozenset(counts.items())
        if key not in self._found:
            self._found[key] = disclosed_by(self._learned(counts), self.schema)
        return self._found[key]

    @abstractmethod
    def count_atoms(self, row: RowDistribution) -> int:
        """Count the possible rows that the learner distinguishes."""

    @abstractmethod
    def atoms(self, row: RowDistribution) -> list[tuple[Atom, int]]:
        """Return these rows, each with the number of rows in its equivalence class."""

    @abstractmethod
    def drawn(self, rng: np.random.Generator) -> list[Atom]:
        """Draw the rows of a possible table."""

    @abstractmethod
    def _learned(self, counts: Counter[tuple[Atom, Any]]) -> Any:
        """Return the model fitted to these numbers of rows and labels."""


class _BinsRefit(Refit):
    """Refit of an estimator of hedgerow, which reads the bins of rows only."""

    def count_atoms(self, row: RowDistribution) -> int:
        return prod(factor.bin_combinations for factor in row.factors)

    def atoms(self, row: RowDistribution) -> list[tuple[Atom, int]]:
        domains = self.known.domains
        numbered = [Values(values.name, tuple((bin,) for bin in range(len(values.bins)))) for values in domains]
        return [
            (bins, prod(values.weights[bin] for values, bin in zip(domains, bins, strict=True)))
            for bins, _ in row.outcomes(numbered)
        ]

    def drawn(self, rng: np.random.Generator) -> list[Atom]:
        return list(map(tuple, self.known.sample_bins(rng).tolist()))

    def _learned(self, counts: Counter[tuple[Atom, Any]]) -> Any:
        classes = self.schema.classes
        patterns = {bins: [0] * len(classes) for bins, _ in counts}
        for (bins, label), n in counts.items():
            patterns[bins][classes.index(label)] = n
        tally = Tally(self.schema, np.array(list(patterns)), np.array(list(patterns.values())))
        fresh: Any = clone(self.learner)
        return fresh.fit_tally(tally)


class _ValuesRefit(Refit):
    """Refit of a function of rows and labels, which reads the values."""

    def count_atoms(self, row: RowDistribution) -> int:
        return row.possible_rows

    def atoms(self, row: RowDistribution) -> list[tuple[Atom, int]]:
        found = (values for values, _ in row.outcomes(self.known.domains))
        return [(tuple(None if value is Mark.MISSING else value for value in values), 1) for values in found]

    def drawn(self, rng: np.random.Generator) -> list[Atom]:
        frame = self.known.sample(rng)
        columns = [frame[values.name].tolist() for values in self.known.domains]
        return [tuple(None if pd.isna(value) else value for value in row) for row in zip(*columns, strict=True)]

    def _learned(self, counts: Counter[tuple[Atom, Any]]) -> Any:
        rows = list(counts.elements())
        names = [values.name for values in self.known.domains]
        columns = zip(names, zip(*(values for values, _ in rows), strict=True), strict=True)
        frame = pd.DataFrame({name: list(column) for name, column in columns})
        return self.learner(frame, pd.Series([label for _, label in rows], name=self.known.label))
