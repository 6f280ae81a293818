"""Importance of attributes, by points and by released counts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hedgerow as hr
from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.schema import Boolean, Integer, Label, Literal, Number, Real, Schema
from tests.models.hostile import NONE
from tests.models.scorecards import THREE, TWO

NAMES = ("a", "b", "c")
FLAGS = Schema({name: Boolean() for name in NAMES}, Label("y", ("no", "yes")))


def test_a_tree_has_the_importances_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, size=(300, 3))
    y = (X[:, 0] + X[:, 1] > rng.integers(5, 14, size=300)).astype(int) + (X[:, 2] > 8)
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    attributes = {name: Integer(0, 9, cuts=tuple(range(9))) for name in NAMES}
    schema = Schema(attributes, Label("y", (0, 1, 2)))
    model = Tree(schema, converted(fitted.tree_, X, y), NONE)
    assert fitted.predict(X).tolist() == model.predict(pd.DataFrame(X, columns=NAMES)).tolist()
    expected = dict(zip(NAMES, fitted.feature_importances_.tolist(), strict=True))
    assert model.feature_importances() == pytest.approx({k: v for k, v in expected.items() if v})


def converted(tree, X, y, node=0):
    if tree.children_left[node] == -1:
        return Leaf(tuple(np.bincount(y, minlength=3).tolist()))
    column, cut = tree.feature[node], int(tree.threshold[node])
    holds = X[:, column] <= cut
    true, false = tree.children_left[node], tree.children_right[node]
    branches = converted(tree, X[holds], y[holds], true), converted(tree, X[~holds], y[~holds], false)
    return Split(Literal(NAMES[column], "<=", (cut,)), *branches)


@pytest.mark.parametrize("kind", ["counts", "sums"])
def test_a_tree_of_a_number_has_the_importances_of_scikit_learn(kind: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(400, 2))
    y = np.clip(2 * X[:, 0] + X[:, 1] * X[:, 0] + rng.integers(0, 2, size=400), 0, 4)
    fitted = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y)
    schema = Schema({"a": Boolean(), "b": Boolean()}, Number("y", 0, 4, 5))

    def leaf(rows: np.ndarray) -> Leaf:
        if kind == "counts":
            return Leaf(tuple(np.bincount(rows, minlength=5).tolist()))
        return Leaf(sums=(int(rows.sum()), int((4 - rows).sum())), mean=float(rows.mean()))

    a, b = X.T == 1
    inner = [Split(Literal("b", "true"), leaf(y[on & b]), leaf(y[on & ~b])) for on in (a, ~a)]
    model = Tree(schema, Split(Literal("a", "true"), *inner), NONE)
    expected = dict(zip("ab", fitted.feature_importances_.tolist(), strict=True))
    assert model.feature_importances() == pytest.approx(expected)


def test_a_rule_of_two_attributes_divides_its_importance_among_them() -> None:
    first = Rule((Literal("a", "true"), Literal("b", "false")), (0, 10))
    second = Rule((Literal("c", "true"),), (5, 5))
    model = RuleList(FLAGS, (first, second, Rule((), (20, 0))), NONE)
    # rows × rows / all × squared distance of shares, as Gini's impurity falls: (0, 1) against (25, 5) / 30, and
    # (.5, .5) against (1, 0)
    item, other = 10 * 30 / 40 * 2 * (25 / 30) ** 2, 10 * 20 / 30 * 2 * 0.5**2
    expected = {"a": item / 2, "b": item / 2, "c": other}
    assert model.feature_importances() == pytest.approx({k: v / (item + other) for k, v in expected.items()})


def test_negative_counts_are_none_and_a_leaf_without_rows_divides_nothing() -> None:
    root = Split(Literal("a", "true"), Split(Literal("b", "true"), Leaf((-3, -1)), Leaf((0, 9))), Leaf((9, -2)))
    assert Tree(FLAGS, root, NONE).feature_importances() == {"b": 0.0, "a": 1.0}
    assert Tree(FLAGS, Split(Literal("a", "true"), Leaf((4, 4)), Leaf((2, 2))), NONE).feature_importances() == {
        "a": 0.0
    }
    assert Tree(FLAGS, Leaf((4, 4)), NONE).feature_importances() == {}


def test_labels_alone_have_no_importances() -> None:
    model = Tree(FLAGS, Split(Literal("a", "true"), Leaf(label="yes"), Leaf((4, 1))), NONE)
    with pytest.raises(TypeError, match="released counts"):
        model.feature_importances()


def test_a_scorecard_has_mean_absolute_contributions_by_released_rows() -> None:
    schema = Schema({"x": Real(0, 1, cuts=(0.2, 0.5)), "b": Boolean(), "c": Boolean()}, Label("y", (0, 1)))
    parts = (
        AttributePoints("x", ((-4,), (0,), (6,)), rows=(50, 50, -7), rows_error=3.0),  # mean -2: all rows are 2 off
        AttributePoints("b", ((0,), (10,)), rows=(90, 10), rows_error=3.0),  # mean 1: .9 × 1 + .1 × 9 = 1.8
        AttributePoints("c", ((3,), (3,)), rows=(1, 99), rows_error=3.0),
    )
    card = Scorecard(schema, (0,), parts, 0.1, None, NONE)
    assert card.feature_importances() == pytest.approx({"x": 2 / 3.8, "b": 1.8 / 3.8, "c": 0.0})


def test_without_rows_by_bin_the_spread_of_points_counts() -> None:
    assert TWO.feature_importances() == pytest.approx({"age": 23 / 38, "ward": 6 / 38, "smoker": 9 / 38})
    assert Scorecard(FLAGS, (0,), (), 0.1, None, NONE).feature_importances() == {}


def test_points_of_several_classes_are_compared_with_their_mean() -> None:
    """A number added to the points of all classes changes no probability, and no importance."""
    result = THREE.feature_importances()
    moved = [tuple(tuple(x + 7 * place for x in row) for place, row in enumerate(part.points)) for part in THREE.parts]
    parts = tuple(AttributePoints(part.attribute, points) for part, points in zip(THREE.parts, moved, strict=True))
    again = Scorecard(THREE.schema, THREE.base, parts, THREE.unit, THREE.error, NONE).feature_importances()
    assert again == pytest.approx(result)
    assert sum(result.values()) == pytest.approx(1)


def test_a_scale_changes_no_importance_but_by_rounding() -> None:
    scaled = TWO.scaled(pdo=200, score=600, odds=50, favourable="no")
    assert scaled.feature_importances() == pytest.approx(TWO.feature_importances(), abs=0.01)


def test_estimators_have_them_by_column_as_scikit_learn_does() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(2000, 3))
    y = X[:, 1] ^ (rng.random(2000) < 0.1)
    card = hr.PrivateScorecardClassifier(5.0, random_state=0)
    assert not hasattr(card, "feature_importances_")
    card.fit(X, y)
    assert card.feature_importances_.shape == (card.n_features_in_,) == (3,)
    assert card.feature_importances_.argmax() == 1
    assert card.feature_importances_.sum() == pytest.approx(1)
    counted = hr.PrivateTreeClassifier(5.0, max_depth=1, release_counts=True, random_state=0).fit(X, y)
    assert counted.feature_importances_.tolist() == [0.0, 1.0, 0.0]
    labels = hr.PrivateTreeClassifier(5.0, max_depth=1, release_counts=False, random_state=0).fit(X, y)
    assert not hasattr(labels, "feature_importances_")
    with pytest.raises(AttributeError, match="released counts"):
        labels.feature_importances_  # noqa: B018


def test_estimated_shares_replace_the_ratios_of_noisy_counts() -> None:
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, size=(3000, 2))
    y = (rng.random(3000) < np.array([[0.1, 0.8], [0.7, 0.2]])[X[:, 0], X[:, 1]]).astype(int)
    model = hr.PrivateTreeClassifier(1.0, max_depth=2, random_state=0).fit(X, y).tree_
    assert model.leaf_release.has_probabilities
    assert len(model) == 4

    def node(leaves: slice) -> tuple[float, np.ndarray]:
        rows = np.maximum(model.leaf_release.rows[leaves], 0)
        return rows.sum(), rows @ model.probabilities[leaves] / rows.sum()

    def reduction(one: slice, other: slice) -> float:
        (n, p), (m, q) = node(one), node(other)
        return float(n * m / (n + m) * ((p - q) ** 2).sum())

    first = model.root.literal.attribute
    root = reduction(slice(0, 2), slice(2, 4))
    inner = reduction(slice(0, 1), slice(1, 2)) + reduction(slice(2, 3), slice(3, 4))
    assert model.feature_importances()[first] == pytest.approx(root / (root + inner))


def test_the_importance_of_a_derived_attribute_goes_to_its_columns() -> None:
    derived = Real(0, 1, cuts=(0.5,), derived=hr.schema.Ratio("n", "m"))
    schema = Schema({"share": derived, "b": Boolean()}, Label("y", (0, 1)))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.uniform(0, 4, 500), "m": 4.0, "b": rng.random(500) < 0.5})
    card = hr.ScorecardClassifier(schema=schema, points=9).fit(frame, (frame["n"] > 2).astype(int))
    by_name = dict(zip(card.feature_names_in_, card.feature_importances_, strict=True))
    share = card.scorecard_.feature_importances()["share"]
    assert by_name == pytest.approx({"n": share / 2, "m": share / 2, "b": 1 - share})
