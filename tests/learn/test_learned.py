"""Models of what was learned, rule by rule and leaf by leaf."""

import numpy as np
import pytest

from hedgerow.learn.learned import BinEvidence, LeafValues, leaves_of, list_model, scorecard_model, tree_model
from hedgerow.learn.search.lattice import InnerNode, LeafNode
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.space import Space
from hedgerow.models import AttributePoints, Leaf, Split
from hedgerow.models.points import MOST_ROWS
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema

SCHEMA = Schema({"a": Boolean(), "b": Boolean()}, Label("y", ("no", "yes")))
CARD = PrivacyCard.none("example", software="hedgerow")
A, B = Literal("a", "true"), Literal("b", "true")
SPACE = Space.of_trees(SCHEMA)


def test_a_list_has_the_rules_in_order_with_python_integers():
    model = list_model([(A,), (A, B)], LeafValues(np.array([[3, 0], [-1, 2], [5, 5]])))(SCHEMA, CARD)
    assert [rule.antecedent for rule in model.rules] == [(A,), (A, B), ()]
    assert [rule.counts for rule in model.rules] == [(3, 0), (-1, 2), (5, 5)]
    assert [rule.label for rule in model.rules] == [None] * 3
    assert all(type(count) is int for rule in model.rules for count in rule.counts)
    assert model.privacy is CARD


def test_labels_are_classes_by_their_numbers():
    model = list_model([(B,)], LeafValues(values=[1, 0]))(SCHEMA, CARD)
    assert [(rule.counts, rule.label) for rule in model.rules] == [(None, "yes"), (None, "no")]


def test_a_tree_has_what_a_test_catches_first_and_its_counts_in_this_order():
    options = {antecedent: option for option, antecedent in enumerate(SPACE.antecedents)}
    tree = InnerNode(options[A,], LeafNode(1), InnerNode(options[B,], LeafNode(1), LeafNode(0)))
    assert list(leaves_of(tree)) == [LeafNode(1), LeafNode(1), LeafNode(0)]
    drawn = tree_model(SPACE, tree, LeafValues(values=[1, 1, 0]))(SCHEMA, CARD)
    assert drawn.root == Split(A, Leaf(label="yes"), Split(B, Leaf(label="yes"), Leaf(label="no")))
    counts = np.array([[0, 4], [3, 0], [1, 2]])
    counted = tree_model(SPACE, tree, LeafValues(counts, [1, 1, 0]))(SCHEMA, CARD)
    assert [leaf.counts for leaf in counted.leaves] == [(0, 4), (3, 0), (1, 2)]
    grown = tree_model(SPACE, InnerNode(options[A,], LeafNode(None), LeafNode(None)), LeafValues(counts[:2]))(
        SCHEMA, CARD
    )
    assert grown.root == Split(A, Leaf((0, 4)), Leaf((3, 0)))


def test_values_of_a_loss_are_labels_with_probabilities():
    loss = Loss.of("mixed", 2)
    model = list_model([(B,)], LeafValues(values=[9, 1], loss=loss))(SCHEMA, CARD)
    assert [(rule.label, rule.probabilities) for rule in model.rules] == [("yes", (0.05, 0.95)), ("no", (0.85, 0.15))]
    tree = InnerNode(SPACE.antecedents.index((A,)), LeafNode(5), LeafNode(0))
    drawn = tree_model(SPACE, tree, LeafValues(np.array([[1, 2], [3, 4]]), [5, 0], loss))(SCHEMA, CARD)
    assert drawn.leaves == (Leaf((1, 2), "yes", (0.45, 0.55)), Leaf((3, 4), "no", (0.95, 0.05)))


def test_values_of_errors_are_labels_alone():
    model = list_model([(B,)], LeafValues(values=[1, 0], loss=Loss.of("errors", 2)))(SCHEMA, CARD)
    assert [(rule.label, rule.probabilities) for rule in model.rules] == [("yes", None), ("no", None)]


@pytest.mark.parametrize(
    ("attribute", "literal"),
    [
        (Boolean(), Literal("x", "false")),
        (Boolean(missing="bin"), None),
        (Categorical(("u", "v", "w")), Literal("x", "!=", ("u",))),
        (Integer(0, 9, (3,)), Literal("x", ">", (3,))),
    ],
)
def test_the_smaller_branch_comes_first_if_its_condition_is_a_literal(attribute, literal):
    """Counts are in the order of the drawn tree, in which the rows that satisfy the test come first."""
    schema = Schema({"x": attribute, "b": Boolean()}, Label("y", ("no", "yes")))
    space = Space.of_trees(schema)
    options = {antecedent: option for option, antecedent in enumerate(space.antecedents)}
    test = space.antecedents[0][0]
    tree = InnerNode(0, InnerNode(options[B,], LeafNode(1), LeafNode(0)), LeafNode(1))
    below = Split(B, Leaf((0, 4), "yes"), Leaf((3, 0), "no"))
    result = LeafValues(np.array([[0, 4], [3, 0], [1, 2]]), [1, 0, 1])
    root = tree_model(space, tree, result)(schema, CARD).root
    single = Leaf((1, 2), "yes")
    assert root == (Split(test, below, single) if literal is None else Split(literal, single, below))


def test_a_scorecard_lists_attributes_in_schema_order_without_zero_points():
    points = {1: np.array([[-3], [5]]), 0: np.array([[1], [0]])}
    model = scorecard_model(points, np.array([-7]), 0.25, 0.5)(SCHEMA, CARD)
    assert model.parts == (AttributePoints("a", ((1,), (0,))), AttributePoints("b", ((-3,), (5,))))
    assert (model.base, model.unit, model.error, model.privacy) == ((-7,), 0.25, 0.5, CARD)
    assert all(type(bin_) is int for part in model.parts for bins in part.points for bin_ in bins)
    fewer = scorecard_model({**points, 0: np.array([[0], [0]])}, np.array([-7]), 0.25, None)(SCHEMA, CARD)
    assert [part.attribute for part in fewer.parts] == ["b"]


def test_a_scorecard_rounds_the_evidence_of_its_bins():
    points = {0: np.array([[1], [0]]), 1: np.array([[3], [3]])}
    evidence = {
        0: BinEvidence(np.array([[0.12345], [2]]), [], np.array([12.6, -3.4]), 4.56789),
        1: BinEvidence(np.array([[1.0], [1.0]]), [0], np.array([0.2, 1e30]), 1e30),
    }
    model = scorecard_model(points, np.array([0]), 0.25, 0.5, evidence)(SCHEMA, CARD)
    assert [part.errors for part in model.parts] == [((0.123,), (2.0,)), ((1.0,), (1.0,))]
    assert [part.unsupported for part in model.parts] == [(), (0,)]
    assert [part.rows for part in model.parts] == [(13, -3), (0, MOST_ROWS)]
    assert [part.rows_error for part in model.parts] == [4.57, MOST_ROWS]


def test_a_scorecard_of_three_classes_has_a_base_and_points_for_each():
    schema = Schema(dict(SCHEMA.attributes), Label("y", ("no", "perhaps", "yes")))
    model = scorecard_model({0: np.array([[1, 2, 3], [0, 0, -1]])}, np.array([4, 5, 6]), 1.0, None)(schema, CARD)
    assert (model.base, model.parts) == ((4, 5, 6), (AttributePoints("a", ((1, 2, 3), (0, 0, -1))),))
