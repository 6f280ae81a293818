"""What is left to guess for whoever knows the learning algorithm too (PDR, Section VI leaves it open).

A deterministic learner makes one model of a table. So of all tables that a model leaves possible, those from which the
learner would have made another model can be ruled out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations_with_replacement, groupby, product
from math import comb, factorial, fsum, inf, log2, nan, prod
from textwrap import fill
from typing import Any

from scipy import stats

from hedgerow.audit.counting.bin_sizes import Resolution
from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset
from hedgerow.audit.probabilistic.refit import Learner, Refit, refit_of, told_by
from hedgerow.audit.probabilistic.row import Row
from hedgerow.audit.readers.read import paths_of
from hedgerow.errors import ArgumentError
from hedgerow.randomness import RandomState, generator
from hedgerow.schema.schema import Schema

_Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class LearnerKnowledge:
    """What a model leaves to guess for whoever knows its learner too. Nothing here looks at a row of the real table.

    Attributes
    ----------
    model_bits : float
        The entropy of the table, in bits, for whoever knows the model only.
    domain_bits : float
        The same before the model is read.
    consistent, examined : int
        Of the possible tables that were examined, those from which the learner makes the same model. If `exact`, all
        tables that the model leaves possible, else draws from them.
    exact : bool
        Whether all possible tables were examined.
    confidence : float
        The confidence of the intervals, where they were drawn.

    Raises
    ------
    ValueError
        If all possible tables were examined and none is consistent: the learner did not make the model.
    """

    model_bits: float
    domain_bits: float
    consistent: int
    examined: int
    exact: bool
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.exact and not self.consistent:
            raise ArgumentError("expected the learner that made the model: this one makes it of no possible table.")

    @property
    def share(self) -> Fraction:
        """The share of possible tables from which the learner makes the same model; an estimate unless `exact`."""
        return Fraction(self.consistent, self.examined)

    @cached_property
    def share_interval(self) -> tuple[float, float]:
        """The interval of the share (Clopper and Pearson); both ends are the share itself if `exact`."""
        if self.exact:
            return float(self.share), float(self.share)
        found = stats.binomtest(self.consistent, self.examined).proportion_ci(self.confidence, method="exact")
        return float(found.low), float(found.high)

    @property
    def entropy_bits(self) -> float:
        """The entropy that is left, ``model_bits + log2 share``; an estimate unless `exact`, NaN if no draw fits."""
        return self._bits(log2(self.consistent) - log2(self.examined)) if self.consistent else nan

    @property
    def entropy_interval(self) -> tuple[float, float]:
        """The interval of the entropy that is left; never below 0, since the true table is consistent."""
        if self.exact:
            return self.entropy_bits, self.entropy_bits
        low, high = (self._bits(log2(end) if end else -inf) for end in self.share_interval)
        return low, high

    def _bits(self, log_share: float) -> float:
        return max(self.model_bits + log_share, 0.0)

    @property
    def uncertainty(self) -> float:
        """Dist_G (PDR eq. 2) for whoever knows the learner: the share of entropy that is left, as `entropy_bits`."""
        return self.entropy_bits / self.domain_bits

    @property
    def uncertainty_interval(self) -> tuple[float, float]:
        """The interval of Dist_G."""
        low, high = self.entropy_interval
        return low / self.domain_bits, high / self.domain_bits

    def __str__(self) -> str:
        low, high = self.entropy_interval
        text = (
            f"The model leaves {self.model_bits:.1f} of {self.domain_bits:.1f} bits "
            f"(Dist_G = {self.model_bits / self.domain_bits:.3f}). "
        )
        if self.exact:
            size = f"{self.examined:,}" if self.examined < 10**15 else f"about 2^{self.examined.bit_length() - 1}"
            text += (
                f"From {100 * float(self.share):.3g} % of the {size} tables that are possible, the learner makes this "
                f"model. Whoever knows the learner is left {low:.1f} bits (Dist_G = {self.uncertainty:.3f})."
            )
        else:
            first, last = (100 * end for end in self.share_interval)
            least, most = self.uncertainty_interval
            text += (
                f"From {self.consistent:,} of {self.examined:,} possible tables drawn at random, the learner makes "
                f"this model: {first:.2g} % to {last:.2g} % of all with {100 * self.confidence:g} % confidence. "
                f"Whoever knows the learner is left {low:.1f} to {high:.1f} bits "
                f"(Dist_G from {least:.3f} to {most:.3f})."
            )
        return fill(text, 110)


def given_learner(
    model: Any,
    learner: Learner,
    schema: Schema | None = None,
    *,
    limit: int = 20_000,
    draws: int = 1000,
    confidence: float = 0.95,
    resolution: Resolution | None = None,
    random_state: RandomState = None,
) -> LearnerKnowledge:
    """Measure what a model leaves to guess for whoever knows, besides it, the deterministic learner that made it.

    A reader of the model knows for every row its region and its class, so a table is one of
    ``Π_j worlds_j^{C_j}``, all alike. The learner makes the same model of a share f of them, and the entropy is
    ``H + log2 f``. f is counted exactly, one fit for all tables of the same rows in any order, if that takes few fits;
    else it is estimated from tables drawn uniformly.

    Parameters
    ----------
    model : RuleList, Tree, fitted estimator, or anything with ``regions()`` and ``supports``
        The model, as for `reconstruction`. It must tell its exact counts of each class.
    learner : estimator of hedgerow, or callable
        What made the model: an estimator, fitted or not, that is not private; or a function of a pandas frame and a
        series of labels that returns a model. It must always make the same model of the same rows, in any order.
    schema : Schema, optional
        The public schema. Default: the model's own. It is taken for known: an estimator learns on it, whatever its
        parameter `schema` says.
    limit : int, default=20_000
        The most fits for an exact count.
    draws : int, default=1000
        How many tables to draw where an exact count takes more fits.
    confidence : float, default=0.95
        The confidence of the intervals, for draws.
    resolution : mapping of str to float, optional
        As for `reconstruction`. A callable needs one for every real attribute.
    random_state : int, RandomState, Generator or None, default=None
        The source of randomness, for draws.

    Returns
    -------
    LearnerKnowledge
        The share of consistent tables and the entropy that is left, or their intervals.

    Raises
    ------
    TypeError
        If the model is none of those supported, or the learner is neither.
    ValueError
        If the model does not tell exact counts of each class, the learner is private, or it makes this model of no
        possible table.

    Examples
    --------
    Had the first column been equal to the second, or its opposite, the learner would have taken the first:

    >>> import hedgerow as hr
    >>> X = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    >>> learner = hr.GreedyRuleListClassifier(schema=None, max_rules=2, max_literals=1, negations=False)
    >>> clf = learner.fit(X, X[:, 1])
    >>> print(given_learner(clf, learner))
    The model leaves 4.0 of 8.0 bits (Dist_G = 0.500). From 87.5 % of the 16 tables that are possible, the learner
    makes this model. Whoever knows the learner is left 3.8 bits (Dist_G = 0.476).
    """
    paths, schema = paths_of(model, schema)
    known = ProbabilisticDataset.of(model, schema, resolution=resolution)
    if not paths.exact or known.labels is None:
        raise ArgumentError("expected a model that tells the exact counts of each class in each of its leaves.")
    refit = refit_of(learner, known, schema)
    told = told_by(model, schema)
    bits = known.entropy_bits, known.n_rows * fsum(values.bits for values in known.domains)
    blocks = _blocks(known)
    if prod(comb(refit.atoms_in(row) + n - 1, n) for row, n in blocks) <= limit:
        consistent = _consistent(refit, blocks, told)
        return LearnerKnowledge(*bits, consistent, prod(row.worlds**n for row, n in blocks), exact=True)
    rng = generator(random_state)
    hits = sum(refit(refit.drawn(rng)) == told for _ in range(draws))
    return LearnerKnowledge(*bits, hits, draws, exact=False, confidence=confidence)


def _blocks(known: ProbabilisticDataset) -> list[tuple[Row, int]]:
    """Return the rows of which the same is known, their label included, with their number, in order."""
    pairs = zip(known.rows, known.labels or (), strict=True)
    same = groupby(pairs, key=lambda pair: (id(pair[0]), pair[1]))
    return [(members[0][0], len(members)) for members in (list(group) for _, group in same)]


def _consistent(refit: Refit, blocks: Sequence[tuple[Row, int]], told: Hashable) -> int:
    """Return how many tables lead to the model: for each choice of rows, in how many orders and by how many values."""
    choices = [_choices(refit.atoms(row), n) for row, n in blocks]
    return sum(
        prod(ways for _, ways in choice)
        for choice in product(*choices)
        if refit(list(chain.from_iterable(rows for rows, _ in choice))) == told
    )


def _choices(atoms: Sequence[tuple[tuple[Any, ...], int]], n: int) -> list[tuple[_Rows, int]]:
    """Return every choice of n rows, order aside, and in how many ways it comes about."""
    found: list[tuple[_Rows, int]] = []
    for picks in combinations_with_replacement(range(len(atoms)), n):
        orders = factorial(n) // prod(map(factorial, Counter(picks).values()))
        found.append(([atoms[i][0] for i in picks], orders * prod(atoms[i][1] for i in picks)))
    return found
