"""Results of learners: rules or tests with counts or labels, from which a model is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.learn.search.lattice import Stop, Take
from hedgerow.learn.search.space import Space
from hedgerow.models.leaf import Leaf
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.tree import Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.candidates import Antecedent
from hedgerow.schema.schema import Schema
from hedgerow.tally import Counts


@dataclass(frozen=True, eq=False)
class LearnedList:
    """The rules of a list.

    Attributes
    ----------
    antecedents : sequence of Antecedent
        Those of the rules, without the default rule.
    counts : ndarray of shape (n_rules, n_classes), optional
        Rows of each class in each rule, the default rule last.
    labels : sequence of int, optional
        The class that each rule predicts, the default rule last. Needed where there are no counts.
    """

    antecedents: Sequence[Antecedent]
    counts: Counts | None = None
    labels: Sequence[int] | None = None

    def model(self, schema: Schema, card: PrivacyCard) -> RuleList:
        """Return the rule list."""
        rules = (
            Rule(
                antecedent,
                None if self.counts is None else tuple(map(int, self.counts[i])),
                None if self.labels is None else schema.classes[self.labels[i]],
            )
            for i, antecedent in enumerate([*self.antecedents, ()])
        )
        return RuleList(schema, tuple(rules), card)


@dataclass(frozen=True, eq=False)
class LearnedTree:
    """The tests of a tree.

    Attributes
    ----------
    space : Space
        The tests there are.
    tree : Take or Stop
        The tests taken, and the labels of the leaves where they were drawn.
    counts : iterable of rows of shape (n_classes,), optional
        Rows of each class in each leaf, the rows that satisfy a test first. Needed where there are no labels.
    """

    space: Space
    tree: Take | Stop
    counts: Iterable[Any] | None = None

    def model(self, schema: Schema, card: PrivacyCard) -> Tree:
        """Return the tree."""
        return Tree(schema, _node(self.tree, self.space, None if self.counts is None else iter(self.counts)), card)


def _node(part: Take | Stop, space: Space, counts: Iterator[Any] | None) -> Split | Leaf:
    if isinstance(part, Stop):
        label = None if part.label is None else space.candidates.schema.classes[part.label]
        return Leaf(None if counts is None else tuple(map(int, next(counts))), label)
    (literal,) = space.antecedents[part.option]
    return Split(literal, _node(part.caught, space, counts), _node(part.left, space, counts))
