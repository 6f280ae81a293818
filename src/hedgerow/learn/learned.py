"""Models built from the result of a search, with drawn or released values of leaves; releases about leaves."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner
from hedgerow.learn.search.lattice import InnerNode, LeafNode, Node
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.models.conditions import complement
from hedgerow.models.count_noise import QUERIES
from hedgerow.models.leaf import Leaf, Split, TreeNode
from hedgerow.models.leaf_release import row_numbers
from hedgerow.models.model import Model
from hedgerow.models.points import MOST_ROWS, AttributePoints
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.models.tree import Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema.candidates import Antecedent
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Number, Target
from hedgerow.tally import Tally

BuildModel = Callable[[Schema, PrivacyCard], Model]
"""The result of a learner: a function that builds the model, given its schema and privacy card."""


@dataclass(frozen=True, eq=False)
class LeafValues:
    """Drawn and released values of the leaves of a model, in order; None for values that do not exist.

    Rules are leaves too, the default rule last. In a tree, the branch that satisfies a test comes first.
    """

    counts: Integers | None = None  # rows of each class
    values: Sequence[int] | None = None  # classes, or indices of the values of `loss`
    loss: Loss | None = None  # the loss by which the values were drawn; None if they are classes
    shares: Sequence[tuple[float, ...]] | None = None  # class shares, estimated from counts and drawn classes
    sums: Integers | None = None  # two sums for each leaf
    means: Sequence[float] | None = None

    def leaves(self, schema: Schema, number: int) -> Iterator[Leaf]:
        """Yield a number of leaves."""
        for place in range(number):
            columns = (self.values, self.counts, self.shares, self.sums, self.means)
            yield _leaf(schema, self.loss, *(None if column is None else column[place] for column in columns))


def list_model(antecedents: Sequence[Antecedent], leaf_values: LeafValues) -> Callable[[Schema, PrivacyCard], RuleList]:
    """Return a function that builds a rule list from its rules, without the default rule."""

    def build(schema: Schema, card: PrivacyCard) -> RuleList:
        leaves = leaf_values.leaves(schema, len(antecedents) + 1)
        rules = (Rule.of(antecedent, leaf) for antecedent, leaf in zip((*antecedents, ()), leaves, strict=True))
        return RuleList(schema, tuple(rules), card)

    return build


def tree_model(space: Space, tree: Node, leaf_values: LeafValues) -> Callable[[Schema, PrivacyCard], Tree]:
    """Return a function that builds a tree from its tests and leaf values; values in `tree` are not used."""

    def build(schema: Schema, card: PrivacyCard) -> Tree:
        leaves = leaf_values.leaves(schema, sum(1 for _ in leaves_of(tree)))

        def node(part: Node) -> TreeNode:
            if isinstance(part, LeafNode):
                return next(leaves)
            (literal,) = space.antecedent(part.option)
            caught, left = node(part.caught), node(part.left)
            if schema.weight is not None and caught == left:
                return caught
            opposite = complement(literal, schema[literal.attribute]) if _size(left) < _size(caught) else None
            return Split(literal, caught, left) if opposite is None else Split(opposite, left, caught)

        return Tree(schema, node(tree), card)

    return build


def _size(node: TreeNode) -> int:
    """Return the number of leaves below a node."""
    return 1 if isinstance(node, Leaf) else _size(node.true) + _size(node.false)


def _leaf(schema: Schema, loss: Loss | None, value: Any, counts: Any, shares: Any, sums: Any, mean: Any) -> Leaf:
    """Return a leaf with a drawn value, released numbers, or both."""
    label, probabilities = value, shares
    if value is not None and loss is not None and loss.draws_probabilities:
        label, probabilities = loss.labels[value], loss.values[value]
    if schema.weight is not None:  # sums of weights are not counts of rows: the leaf keeps the label only
        label = int(np.argmax(counts)) if label is None and mean is None else label
        counts = sums = None
    return Leaf(
        None if counts is None else tuple(map(int, counts)),
        None if label is None else schema.target.values[label],
        probabilities,
        None if sums is None else (int(sums[0]), int(sums[1])),
        mean,
    )


@dataclass(frozen=True, eq=False)
class BinEvidence:
    """Released rows of an attribute's bins, and standard errors of its points."""

    errors: Floats  # of the shape of the points
    unsupported: Sequence[int]  # the bins whose released rows do not exceed the noise
    rows: Floats  # the released rows of each bin
    rows_error: float  # the standard deviation of their noise

    def points(self, name: str, points: Integers) -> AttributePoints:
        """Return the points of an attribute with this evidence, in whole rows and errors of three digits."""
        errors = tuple(tuple(map(_three_digits, row)) for row in self.errors.tolist())
        rows = tuple(map(int, np.clip(np.rint(self.rows), -MOST_ROWS, MOST_ROWS)))
        noise = _three_digits(min(self.rows_error, MOST_ROWS))
        bins = tuple(map(int, self.unsupported))
        return AttributePoints(name, tuple(map(tuple, points.tolist())), errors, bins, rows, noise)


def _three_digits(number: float) -> float:
    return float(f"{number:.3g}")


def scorecard_model(
    points: Mapping[int, Integers],
    base: Any,
    unit: float,
    error: float | None,
    evidence: Mapping[int, BinEvidence] | None = None,
) -> Callable[[Schema, PrivacyCard], Scorecard]:
    """Return a function that builds a scorecard, without attributes whose points are all 0."""
    # `points` are by bin and column: a single column for two classes, else a column for each class. `base` are the
    # points of every row, `unit` the log-odds of a point, and `error` the standard error of a row's log-odds that the
    # noise causes.

    def part(name: str, place: int) -> AttributePoints:
        if evidence is None:
            return AttributePoints(name, tuple(map(tuple, points[place].tolist())))
        return evidence[place].points(name, points[place])

    def build(schema: Schema, card: PrivacyCard) -> Scorecard:
        parts = tuple(part(schema.names[place], place) for place, each in sorted(points.items()) if each.any())
        return Scorecard(schema, tuple(map(int, base)), parts, unit, error, card)

    return build


@dataclass(frozen=True)
class LeafNumbers:
    """Numbers that are released about the rows of each leaf: counts by level, or two sums of levels.

    The leaves partition the rows, so an added row changes the numbers of one leaf only, by `row_numbers`. The largest
    sum of these changes over levels is the ℓ1 sensitivity, and one charge of ε pays for all leaves
    (docs/mathematics.md, fact 2; parallel composition). With L levels, the two sums are the levels below and above the
    row, L − 1 together. They have sensitivity L − 1, and the rows and their mean follow with less noise than from L
    counts.
    """

    kind: Literal["counts", "sums"]
    share: Fraction  # of the model's epsilon, if the model is drawn

    def weights(self, target: Target) -> Integers:
        """Return the change that a row of each level makes, shape ``(n_levels, n_numbers)``."""
        return row_numbers(self.kind, target.n_levels)

    def mechanism(self, target: Target, epsilon: Fraction) -> DiscreteLaplace:
        return DiscreteLaplace(epsilon, int(self.weights(target).sum(axis=1).max()))

    @property
    def query_code(self) -> str:
        """The code of the query."""
        return QUERIES[self.kind]

    def planned(self, target: Target, epsilon: Fraction) -> PlannedRelease:
        return PlannedRelease(self.query_code, self.mechanism(target, epsilon))

    def release(
        self, target: Target, counts: Callable[[], Integers], leaves: Mapping[str, Any], runner: ReleaseRunner
    ) -> Integers:
        """Release the numbers of all leaves, shape ``(n_leaves, n_numbers)``; `leaves` are details of the query."""
        weights = self.weights(target)
        noisy = runner.release(lambda: (counts() @ weights).ravel(), Fact(self.query_code, **leaves))
        return np.array(noisy, dtype=np.int64).reshape(-1, weights.shape[1])


LEAF_SHARE = Fraction(1, 5)
LEAF_COUNTS = LeafNumbers("counts", LEAF_SHARE)
COUNTS_FOR_SHARES = LeafNumbers("counts", Fraction(1, 20))  # docs/exact.md explains the defaults
LEAST_FOR_SHARES = Fraction(1, 10)  # the smallest ε of a row at which a default model releases them
MOST_FOR_SHARES = 20  # classes: the posterior takes about 10 ms for each leaf and class
LEAF_SUMS = LeafNumbers("sums", Fraction(1, 10))


def leaf_means(number: Number, released: Integers, scale: Fraction, drawn: Sequence[int] | None) -> list[float]:
    """Return the mean of each leaf from released numbers with noise of this scale (post-processing)."""
    # The mean of the noisy numbers is averaged, by inverse variance, with the drawn level, whose standard deviation is
    # taken to be half a level. Without a draw it is averaged with the mean of all leaves, with the standard deviation
    # of uniform levels. A leaf with less than one released row has no mean of its own.
    top = number.n_levels - 1
    counted = released.shape[1] == number.n_levels
    unit = 1.0 if counted else float(top)  # the two sums are counts of the last level, and of the first
    places = np.arange(number.n_levels) if counted else np.array([top, 0])
    rows, noise = released / unit, math.sqrt(2) * float(scale) / unit

    def estimate(rows: Any) -> tuple[Any, Any]:
        total = rows.sum(axis=-1)
        means = np.clip(rows @ places / np.maximum(total, 1.0), 0.0, top)
        error = noise * np.sqrt(((places - np.expand_dims(means, -1)) ** 2).sum(axis=-1)) / np.maximum(total, 1.0)
        return means, np.where(total < 1, np.inf, error)

    means, errors = estimate(rows)
    if drawn is None:
        overall, error = estimate(rows.sum(axis=0))
        prior, spread = np.where(np.isinf(error), top / 2, overall), number.n_levels / math.sqrt(12)
    else:
        prior, spread = np.array(drawn), 0.5
    weights = spread**2 / (spread**2 + errors**2)
    return [_rounded(number, level) for level in (prior + weights * (means - prior)).tolist()]


def _rounded(number: Number, level: float) -> float:
    width = (number.high - number.low) / number.n_levels
    value = number.low + (level + 0.5) * width
    return min(max(round(value, 2 - math.floor(math.log10(width))), number.low), number.high)


def release_leaf_counts(
    tally: Tally, antecedents: Sequence[Antecedent], runner: ReleaseRunner, numbers: LeafNumbers = LEAF_COUNTS
) -> Integers:
    """Release numbers of the rules, shape ``(n_rules, n_numbers)``, the default rule last."""
    leaves = {"of": "rules", "number": len(antecedents) + 1}
    return numbers.release(tally.schema.target, lambda: tally.leaf_counts(antecedents), leaves, runner)


def release_tree_counts(
    tally: Tally, space: Space, tree: Node, runner: ReleaseRunner, numbers: LeafNumbers = LEAF_COUNTS
) -> Integers:
    """Release numbers of the leaves, shape ``(n_leaves, n_numbers)``."""
    return numbers.release(
        tally.schema.target, lambda: np.array(list(leaf_totals(tally, space, tree))), {"of": "leaves"}, runner
    )


def divided(tally: Tally, space: Space, option: int) -> tuple[tuple[int, Tally], tuple[int, Tally]]:
    antecedent = space.antecedent(option)
    return (CAUGHT, tally.within(antecedent)), (LEFT, tally.without(antecedent))


def leaf_totals(tally: Tally, space: Space, tree: Node) -> Iterator[Integers]:
    """Yield the rows of each class in each leaf, the branch that satisfies a test first. Exact, private."""
    if isinstance(tree, LeafNode):
        yield tally.total()
        return
    (_, caught), (_, left) = divided(tally, space, tree.option)
    yield from leaf_totals(caught, space, tree.caught)
    yield from leaf_totals(left, space, tree.left)


def leaves_of(tree: Node) -> Iterator[LeafNode]:
    """Yield the leaves, the branch that satisfies a test first."""
    if isinstance(tree, LeafNode):
        yield tree
        return
    yield from leaves_of(tree.caught)
    yield from leaves_of(tree.left)


def grafted(tree: Node, parts: Iterator[Node]) -> Node:
    """Return a tree whose leaves are replaced in order by `parts`."""
    if isinstance(tree, LeafNode):
        return next(parts)
    return InnerNode(tree.option, grafted(tree.caught, parts), grafted(tree.left, parts))
