"""What learners found, and models that are built of it: rules or tests with what was drawn or released of leaves."""

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
"""What a learner found, as a function that makes the model of it, with its schema and its card."""


@dataclass(frozen=True, eq=False)
class LeafValues:
    """What was drawn, or released, of each leaf of a model, in the order of the leaves; None for what was not.

    Rules are leaves too, the default rule last. Of a tree, the rows that satisfy a test come first.
    """

    counts: Integers | None = None  # rows of each class
    values: Sequence[int] | None = None  # classes, or what `loss` has
    loss: Loss | None = None  # the loss by which the values were drawn. None where they are classes.
    shares: Sequence[tuple[float, ...]] | None = None  # class shares that follow from counts and drawn classes
    sums: Integers | None = None  # two sums for each leaf
    means: Sequence[float] | None = None

    def leaves(self, schema: Schema, number: int) -> Iterator[Leaf]:
        """Yield the leaves, of which there are so many."""
        for place in range(number):
            found = (self.values, self.counts, self.shares, self.sums, self.means)
            yield _leaf(schema, self.loss, *(None if each is None else each[place] for each in found))


def list_model(antecedents: Sequence[Antecedent], found: LeafValues) -> Callable[[Schema, PrivacyCard], RuleList]:
    """Return what makes a rule list of its rules, without the default rule, and of what was found of each."""

    def build(schema: Schema, card: PrivacyCard) -> RuleList:
        leaves = found.leaves(schema, len(antecedents) + 1)
        rules = (Rule.of(antecedent, leaf) for antecedent, leaf in zip((*antecedents, ()), leaves, strict=True))
        return RuleList(schema, tuple(rules), card)

    return build


def tree_model(space: Space, tree: Node, found: LeafValues) -> Callable[[Schema, PrivacyCard], Tree]:
    """Return what makes a tree of its tests, and of what was found of each leaf: values of `tree` are not used."""

    def build(schema: Schema, card: PrivacyCard) -> Tree:
        leaves = found.leaves(schema, sum(1 for _ in leaves_of(tree)))

        def node(part: Node) -> TreeNode:
            if isinstance(part, LeafNode):
                return next(leaves)
            (literal,) = space.antecedents[part.option]
            caught, left = node(part.caught), node(part.left)
            if schema.weight is not None and caught == left:
                return caught
            opposite = complement(literal, schema[literal.attribute]) if _size(left) < _size(caught) else None
            return Split(literal, caught, left) if opposite is None else Split(opposite, left, caught)

        return Tree(schema, node(tree), card)

    return build


def _size(node: TreeNode) -> int:
    """Return the number of leaves below a node: the smaller branch of a split comes first."""
    return 1 if isinstance(node, Leaf) else _size(node.true) + _size(node.false)


def _leaf(schema: Schema, loss: Loss | None, value: Any, counts: Any, shares: Any, sums: Any, mean: Any) -> Leaf:
    """Return a leaf of a drawn value, of what was released about its rows, or of both."""
    label, probabilities = value, shares
    if value is not None and loss is not None and loss.draws_probabilities:
        label, probabilities = loss.labels[value], loss.values[value]
    if schema.weight is not None:  # sums of weights are no rows: what follows from them is kept, and not they
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
    """What was released about the rows of an attribute's bins, and how exact the points are."""

    errors: Floats  # the standard errors of the points, of the shape of the points
    unsupported: Sequence[int]  # the bins whose rows are within noise of none
    rows: Floats  # the released rows of each bin
    rows_error: float  # the standard deviation of the noise on each of them

    def points(self, name: str, points: Integers) -> AttributePoints:
        """Return the points of an attribute with this evidence, in whole rows and three digits of errors."""
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
    """Return what makes a scorecard, without attributes whose points are all 0.

    Parameters
    ----------
    points
        Points by bin of each attribute that is used: one column for two classes, or one for each class.
    base
        The points that every row starts with.
    unit
        The log-odds of one point.
    error
        The standard error of a row's log-odds by the noise of the releases.
    evidence
        What was released about the rows of bins, of every attribute. None: nothing was.
    """

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
    """The numbers that are released about the rows of leaves: counts by level, or two sums of levels.

    The leaves of a model partition the rows, so one added row adds what `row_numbers` says to the numbers of one leaf:
    the largest sum for a level is the ℓ1 sensitivity of all numbers together, and one charge of ε pays for them all
    (docs/mathematics.md, fact 2; parallel composition). Of L levels each row has L − 1 others, so that both sums
    together have sensitivity L − 1, and are L − 1 for each row: rows and mean follow, with less noise than from L
    counts.
    """

    kind: Literal["counts", "sums"]
    share: Fraction  # of the model's epsilon, if the model is drawn

    def weights(self, target: Target) -> Integers:
        """Return what a row of each level adds to the numbers of its leaf, shape ``(n_levels, n_numbers)``."""
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
        """Release numbers of the leaves, shape ``(n_leaves, n_numbers)``, from a query for their rows by level.

        `leaves` has the details of the query: which leaves they are.
        """
        weights = self.weights(target)
        noisy = runner.release(lambda: (counts() @ weights).ravel(), Fact(self.query_code, **leaves))
        return np.array(noisy, dtype=np.int64).reshape(-1, weights.shape[1])


LEAF_SHARE = Fraction(1, 5)
LEAF_COUNTS = LeafNumbers("counts", LEAF_SHARE)
COUNTS_FOR_SHARES = LeafNumbers("counts", Fraction(1, 20))  # docs/exact.md says how these were chosen
LEAST_FOR_SHARES = Fraction(1, 10)  # the ε of a row from which a default model releases them
MOST_FOR_SHARES = 20  # classes: the posterior takes about 10 ms for each leaf and class
LEAF_SUMS = LeafNumbers("sums", Fraction(1, 10))


def leaf_means(number: Number, released: Integers, scale: Fraction, drawn: Sequence[int] | None) -> list[float]:
    """Return the mean of each leaf's rows, by `LeafNumbers` with noise of this scale: no more is released.

    The mean of the noisy numbers is averaged with the level drawn for the leaf, taken to be off by half a level; or,
    where none was drawn, with the mean of all leaves, from which those are taken to be as far as levels are from one
    another: each by the inverse of its variance. A leaf within less than a row of none has no mean of its own.
    """
    top = number.n_levels - 1
    counted = released.shape[1] == number.n_levels
    unit = 1.0 if counted else float(top)  # the two sums are counts of the last level, and of the first
    places = np.arange(number.n_levels) if counted else np.array([top, 0])
    rows, noise = released / unit, math.sqrt(2) * float(scale) / unit

    def estimate(rows: Any) -> tuple[Any, Any]:
        total = rows.sum(axis=-1)
        means = np.clip(rows @ places / np.maximum(total, 1.0), 0.0, top)
        off = noise * np.sqrt(((places - np.expand_dims(means, -1)) ** 2).sum(axis=-1)) / np.maximum(total, 1.0)
        return means, np.where(total < 1, np.inf, off)

    means, errors = estimate(rows)
    if drawn is None:
        overall, error = estimate(rows.sum(axis=0))
        others, spread = np.where(np.isinf(error), top / 2, overall), number.n_levels / math.sqrt(12)
    else:
        others, spread = np.array(drawn), 0.5
    weights = spread**2 / (spread**2 + errors**2)
    return [_rounded(number, level) for level in (others + weights * (means - others)).tolist()]


def _rounded(number: Number, level: float) -> float:
    width = (number.high - number.low) / number.n_levels
    value = number.low + (level + 0.5) * width
    return min(max(round(value, 2 - math.floor(math.log10(width))), number.low), number.high)


def release_leaf_counts(
    tally: Tally, antecedents: Sequence[Antecedent], runner: ReleaseRunner, of: LeafNumbers = LEAF_COUNTS
) -> Integers:
    """Release the histogram of rule and class, shape ``(n_rules, n_classes)``, or others, the default rule last."""
    leaves = {"of": "rules", "number": len(antecedents) + 1}
    return of.release(tally.schema.target, lambda: tally.leaf_counts(antecedents), leaves, runner)


def release_tree_counts(
    tally: Tally, space: Space, tree: Node, runner: ReleaseRunner, of: LeafNumbers = LEAF_COUNTS
) -> Integers:
    """Release the histogram of leaf and class, or others, the rows that satisfy a test first."""
    return of.release(
        tally.schema.target, lambda: np.array(list(leaf_totals(tally, space, tree))), {"of": "leaves"}, runner
    )


def divided(tally: Tally, space: Space, option: int) -> tuple[tuple[int, Tally], tuple[int, Tally]]:
    antecedent = space.antecedents[option]
    return (CAUGHT, tally.within(antecedent)), (LEFT, tally.without(antecedent))


def leaf_totals(tally: Tally, space: Space, tree: Node) -> Iterator[Integers]:
    """Yield the rows of each class in each leaf, the rows that satisfy a test first. Exact, private."""
    if isinstance(tree, LeafNode):
        yield tally.total()
        return
    (_, caught), (_, left) = divided(tally, space, tree.option)
    yield from leaf_totals(caught, space, tree.caught)
    yield from leaf_totals(left, space, tree.left)


def leaves_of(tree: Node) -> Iterator[LeafNode]:
    """Yield the leaves, those that satisfy a test first."""
    if isinstance(tree, LeafNode):
        yield tree
        return
    yield from leaves_of(tree.caught)
    yield from leaves_of(tree.left)


def grafted(tree: Node, parts: Iterator[Node]) -> Node:
    """Return a tree with its leaves replaced, those that satisfy a test first."""
    if isinstance(tree, LeafNode):
        return next(parts)
    return InnerNode(tree.option, grafted(tree.caught, parts), grafted(tree.left, parts))
