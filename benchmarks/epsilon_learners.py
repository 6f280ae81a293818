"""What epsilon.py runs of hedgerow: tables, learners, and learners that lose more than they claim.

A learner is a function of ε and a pair of tables; it returns a function of ``(X, y)`` that fits once, and returns what
is compared: a text or a whole number.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np

import hedgerow as hr
from hedgerow.audit import worst_neighbours
from hedgerow.learn.greedy import grow
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner
from hedgerow.learn.ssrl.greedy import global_choice, least_support
from hedgerow.learn.ssrl.mechanisms import Exponential
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import PermuteAndFlip, SecureNoise, Siblings
from hedgerow.schema.candidates import Candidates

WIDE = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()}, hr.Label("y", (False, True)))
SCHEMA = hr.Schema({"a": hr.Boolean()}, hr.Label("y", (False, True)))
BINS = hr.Schema({"a": hr.Boolean(missing="bin"), "b": hr.Boolean(missing="bin")})
NUMBER = hr.Schema({"n": hr.Integer(0, 3, cuts=())})
PLAIN, TURNED, ODD = (False, False, False), (False, False, True), (True, True, True)
DELTA = 0.01
DRAWS = 10


@dataclass(frozen=True, eq=False)
class Pair:
    """A table, and the same with some more rows, all of them equal, at the end.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The columns of the larger table.
    y : ndarray of shape (n_rows,)
        Its labels.
    more : int
        How many rows were added.
    """

    X: np.ndarray
    y: np.ndarray
    more: int = 1

    @classmethod
    def of(cls, rows, row):
        """Return the pair of a table of rows (a, b, label), and one row more."""
        table = np.array([*rows, row], dtype=bool)
        return cls(table[:, :2], table[:, 2])

    @classmethod
    def of_numbers(cls, *values):
        """Return the pair of a table of one column of whole numbers, and one row more."""
        return cls(np.array(values)[:, np.newaxis], np.zeros(len(values), dtype=bool))

    def times(self, copies):
        """Return the pair with each row repeated `copies` times, so that the tables differ in more rows."""
        return Pair(np.repeat(self.X, copies, axis=0), np.repeat(self.y, copies), self.more * copies)

    @property
    def sides(self):
        """Both tables with their labels, the smaller first."""
        return (self.X[: -self.more], self.y[: -self.more]), (self.X, self.y)


def _of_frames(table, neighbour):
    return Pair(neighbour[0].to_numpy(dtype=bool), neighbour[1].to_numpy(dtype=bool), len(neighbour[1]) - len(table[1]))


PAIRS = {name: _of_frames(*pair) for name, pair in worst_neighbours(WIDE).items()} | {
    # an exact draw says the plain class for a plain row in all but a twentieth of draws at ε = 1
    "two of another class": Pair.of([PLAIN] * 2, TURNED),
    "three of another class": Pair.of([PLAIN] * 3, TURNED),
    "five rows and an odd one": Pair.of([PLAIN] * 5, ODD),
    "no value and one": Pair.of_numbers(0),
    # before, the cut points are 1 and 1 but for few draws; after, 1 and 2 as often
    "eleven values and twelve": Pair.of_numbers(*[1] * 5, *[2] * 6, 3),
    "a hundred values and another": Pair.of_numbers(*[1] * 50, *[2] * 50, 3),
}


def model(estimator, pair):
    """Fit an estimator; compare conditions, labels and, if released, the count of the added row's class."""
    width, truths = len(estimator.schema), {}

    def fit(X, y):
        fitted = estimator.fit(X[:, :width], y)
        result = fitted.tree_ if hasattr(fitted, "tree_") else fitted.rule_list_
        if not result.has_counts:
            return repr((result.conditions, [(leaf.label, leaf.probabilities) for leaf in result.leaves]))
        if result.conditions not in truths:
            leaves = result.apply(pair.X[:, :width])
            before = np.sum((leaves == leaves[-1]) & (pair.y == pair.y[-1])) - pair.more
            truths[result.conditions] = leaves[-1], before
        leaf, before = truths[result.conditions]
        return repr((result.conditions, _between(result.leaves[leaf].counts[int(pair.y[-1])] - before, pair)))

    return fit


def label(estimator, pair):
    """Fit an estimator; compare its prediction for the added row: a draw by errors discloses no more of it."""
    width = len(estimator.schema)
    return lambda X, y: repr(estimator.fit(X[:, :width], y).predict(pair.X[-1:, :width]))


def _between(above, pair):
    """Return how far a noisy count is from the smaller table's to the larger's: all that Laplace noise shows."""
    return int(np.clip(above, 0, pair.more))


def scorecard(estimator, pair):  # noqa: ARG001 -- of every learner
    """Fit a scorecard; compare the side on which its base is, its points, and its unit to a tenth."""

    def fit(X, y):
        card = estimator.fit(X[:, :1], y).scorecard_
        return repr((card.base > (0,), [part.points for part in card.parts], round(card.unit, 1)))

    return fit


def cut_points(epsilon, pair):  # noqa: ARG001
    """Learn two cut points between 0 and 3."""
    return lambda X, _: repr(hr.Schema.learn(X, NUMBER, epsilon=epsilon, bins=3)["n"].cuts)


def oracle(budget, pair, release="counts", noise=None):
    """Ask for all counts; compare the noisy sum of the counts that the added rows change."""

    def asked(X, y, spent, source):
        answer = hr.Oracle(X, y, spent, 1, classes=(False, True), release=release, random_state=source)
        return answer.marginals(BINS).rows

    before, after = (asked(*side, None, None) for side in pair.sides)
    changed = before != after

    def fit(X, y):
        above = asked(X, y, budget(), noise)[changed] - before[changed]
        return int(np.clip(above.sum(), -20, 20) if release == "gaussian" else np.clip(above, 0, pair.more).sum())

    return fit


def draws(epsilon, pair):
    """Draw ten lists; compare how many are right about the added row: by zCDP, as a series of releases."""
    estimator = LIST(epsilon, search="exact")

    def fit(X, y):
        right = [estimator.fit(X[:, :1], y).predict(pair.X[-1:, :1])[0] == pair.y[-1] for _ in range(DRAWS)]
        return int(sum(right))

    return fit


LIST = partial(hr.PrivateRuleListClassifier, max_rules=2, max_literals=1, negations=False, schema=SCHEMA)
LONG = partial(hr.PrivateRuleListClassifier, max_rules=3, max_literals=1, negations=False, schema=WIDE)
TREE = partial(hr.PrivateTreeClassifier, max_depth=1, schema=SCHEMA)
SSRL = partial(hr.DPGreedyRLClassifier, max_rules=2, max_literals=1, negations=False, schema=SCHEMA)
CARD = partial(hr.PrivateScorecardClassifier, points=1, schema=SCHEMA)
ONE, EMPTY, FAR, FIRST = "one row", "a row in an empty bin", "a row far out", "the first of its class"
TWO, TURN, FIVE = "two of another class", "three of another class", "five rows and an odd one"
ELEVEN = "eleven values and twelve"


def _fits(make, **options):
    return lambda epsilon, pair: model(make(epsilon, **options), pair)


def _says(make, **options):
    return lambda epsilon, pair: label(make(epsilon, **options), pair)


def _asks(**options):
    return lambda epsilon, pair: oracle(lambda: hr.Budget(epsilon), pair, **options)


PURE = {
    "greedy list": (_fits(LIST, search="greedy"), FAR, FIVE),
    "greedy tree": (_fits(TREE, search="greedy"), FAR, FIVE),
    "exact list": (_fits(LIST, search="exact"), FAR, ONE),
    "exact list, a label": (_says(LIST, search="exact"), TURN, TWO),
    "exact list, Brier's score": (_fits(LIST, search="exact", objective="brier"), FAR, ONE),
    "exact list in blocks": (_fits(LONG, search="exact", lookahead=1), FAR, ONE),
    "exact list with counts": (_fits(LIST, search="exact", release_counts=True), FIVE, FAR),
    "list of drawn size": (_fits(LIST, max_rules=None, schema=WIDE), FIVE, EMPTY),
    "exact tree": (_fits(TREE, search="exact"), FAR, ONE),
    "exact tree, a label": (_says(TREE, search="exact"), TURN, TWO),
    "exact tree, Brier's score": (_fits(TREE, search="exact", objective="brier"), FAR, ONE),
    "exact tree in blocks": (_fits(TREE, search="exact", max_depth=2, lookahead=1, schema=WIDE), FAR, ONE),
    "exact tree with counts": (_fits(TREE, search="exact", release_counts=True), FAR, FIVE),
    "SSRL, exponential": (_fits(SSRL, mechanism="exponential"), EMPTY, FAR),
    "SSRL, noisy counts": (_fits(SSRL, mechanism="noisy-counts"), FIRST, FIVE),
    "scorecard": (lambda epsilon, pair: scorecard(CARD(epsilon), pair), FIVE, ONE),
    "learned cut points": (cut_points, ELEVEN, "a hundred values and another"),
    "oracle, counts": (_asks(), FAR, ONE),
}
"""Pure learners and their tables, the tables with the largest bounds in trial runs first."""
APPROXIMATE = {
    "scorecard, approximate": (lambda epsilon, pair: scorecard(CARD(epsilon, delta=DELTA * epsilon), pair), FIVE),
    "oracle, Gaussian": (
        lambda epsilon, pair: oracle(lambda: hr.Budget(epsilon, DELTA * epsilon), pair, release="gaussian"),
        ONE,
    ),
}
"""Learners with a δ that is proportional to ε, and tables."""


@dataclass(frozen=True)
class TooLittle:
    """Noise for an ε that is `factor` times as large."""

    factor: Fraction

    no_guarantee_reason, description = "too little noise", "too little noise"

    def prepare(self, mechanism):
        """Return the mechanism prepared with too little noise."""
        return SecureNoise().prepare(self._weaker(mechanism))

    def _weaker(self, mechanism):
        if isinstance(mechanism, Siblings):
            return replace(mechanism, each=self._weaker(mechanism.each))
        weaker = {"epsilon": mechanism.epsilon * self.factor}
        if isinstance(mechanism, ModelDraw):
            weaker["weight"] = mechanism.weight * self.factor
        return replace(mechanism, **weaker)


@dataclass(frozen=True)
class FlipsTooMuch(TooLittle):
    """Too little noise for tests chosen by permute-and-flip, and enough noise for all other releases."""

    def _weaker(self, mechanism):
        chooses = isinstance(mechanism, (PermuteAndFlip, Siblings))
        return super()._weaker(mechanism) if chooses else mechanism


def support_filter(epsilon, pair):  # noqa: ARG001
    """Choose a rule by SSRL's exponential mechanism among those with its minimum support, as its code does."""
    candidates = Candidates.of(WIDE, 1, negations=False)

    def fit(X, y):
        tally = hr.Tally.count(X, y, WIDE)
        least = least_support(0.05, int(tally.total().sum()))
        described = (PlannedRelease("rule_choice", Exponential(hr.Budget(epsilon).epsilon)),)
        choose = global_choice(ReleaseRunner(described, Gate(hr.Budget(epsilon), SecureNoise())))

        def choose_supported(query, position, n_open):
            caught, total = query()
            kept = np.flatnonzero(caught.sum(axis=1) >= least)
            pick = choose(lambda: (caught[kept], total), position, len(kept))
            return int(kept[pick]) if pick < len(kept) else n_open

        return repr(grow(tally, candidates, 1, choose_supported))

    return fit


def pruned_prior(epsilon, pair):  # noqa: ARG001
    """Draw a tree that tests the first attribute, or the second one if no node would be empty then."""

    def fit(X, y):
        kept = [0, 1] if len(np.unique(X[:, 1])) == 2 else [0]
        schema = hr.Schema({WIDE.names[place]: hr.Boolean() for place in kept}, WIDE.label)
        return repr(TREE(epsilon, search="exact", schema=schema).fit(X[:, kept], y).tree_.conditions)

    return fit


def row_count(epsilon, pair):
    """Release a tree with noisy counts, and exactly how many rows there are."""
    fit = model(TREE(epsilon, search="exact", release_counts=True), pair)
    return lambda X, y: f"{fit(X, y)} of {len(y)} rows"


def counts_before_charge(epsilon, pair):
    """Refuse tables of fewer than 21 rows before anything is charged."""
    fit = model(TREE(epsilon, search="exact"), pair)
    return lambda X, y: fit(X, y) if len(y) >= 21 else "refused"


THIRTY, HALF = TooLittle(Fraction(10, 7)), FlipsTooMuch(Fraction(2))
CONTROLS = {
    "exact tree, noise 30 % too small": (_says(TREE, search="exact", random_state=THIRTY), TWO, 8),
    "greedy tree, noise 30 % too small": (_fits(TREE, search="greedy", random_state=THIRTY), FAR, 2),
    "oracle, noise 30 % too small": (_asks(noise=THIRTY), FAR, 1),
    "permute-and-flip with half its scale": (_fits(TREE, search="greedy", random_state=HALF), FAR, 1),
    "SSRL with its support filter": (support_filter, FAR, 1),
    "tree of a prior without empty nodes": (pruned_prior, FAR, 1),
    "tree with the exact number of rows": (row_count, FAR, 1),
    "rows counted before the charge": (counts_before_charge, FAR, 1),
}
"""Learners that lose more than they claim, tables that show it, and the factor by which they need more runs."""
