"""What fits return, reduced."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit.empirical.learner import outcome_of, reduced

X, Y = np.array([[0, 1], [1, 1], [1, 0]] * 4), np.array([0, 1, 1] * 4)


def test_a_model_is_its_content_without_the_card():
    drawn = hr.PrivateTreeClassifier(max_depth=1, release_counts=False, random_state=0)
    models = [clone(drawn).set_params(epsilon=e).fit(X, Y) for e in (50.0, 60.0)]
    assert models[0].privacy_.epsilon != models[1].privacy_.epsilon
    item, other = (outcome_of(model, X) for model in models)
    assert isinstance(item, str)
    assert item == other == outcome_of(models[0].tree_, X)


def test_counts_match_the_rows_in_each_leaf():
    tree = hr.PrivateTreeClassifier(50.0, max_depth=1, release_counts=True, random_state=0).fit(X, Y).tree_
    result = np.array(outcome_of(tree, X[:3])).reshape(3, 2)
    assert result.tolist() == [list(tree.leaves[place].counts) for place in tree.apply(X[:3])]


def test_leaf_sums_match_the_rows_in_each_leaf():
    schema = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()}, hr.Number("y", 0, 1, 2))
    rows = pd.DataFrame(X.astype(bool), columns=["a", "b"])
    tree = hr.PrivateTreeRegressor(50.0, max_depth=1, schema=schema, random_state=0).fit(rows, Y.astype(float)).tree_
    result = np.array(outcome_of(tree, rows[:3])).reshape(3, 2)
    assert result.tolist() == [list(tree.leaves[place].sums) for place in tree.apply(rows[:3])]


def test_other_learners_are_their_predictions_on_the_rows():
    tree = DecisionTreeClassifier(random_state=0).fit(X, Y)
    assert outcome_of(tree, X) == tree.predict_proba(X).ravel().tolist()
    assert outcome_of(LinearSVC().fit(X, Y), X) == str(Y.tolist())
    card = hr.PrivateScorecardClassifier(5.0, random_state=0).fit(X, Y)
    assert outcome_of(card, X) == card.predict_proba(X).ravel().tolist()


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (2, 2.0),
        (np.int64(2), 2.0),
        (0.5, 0.5),
        (float("nan"), 0.0),
        (True, "True"),
        ("a", "'a'"),
        (None, "None"),
        ((1, "a"), "(1, 'a')"),
        (np.array([[1, 2], [3, 4]]), [1.0, 2.0, 3.0, 4.0]),
        (2**60, str(2**60)),
        (np.array(["a", "b"]), "['a', 'b']"),
    ],
)
def test_values_are_numbers_vectors_or_text(value, outcome):
    assert outcome_of(value, None) == outcome


def test_uncomparable_columns_raise():
    with pytest.raises(TypeError, match="outcome"):
        outcome_of(pd.DataFrame({"a": [1]}), None)
    with pytest.raises(ValueError, match="length"):
        reduced(([[1.0]], [[1.0, 2.0]]), ([], []))


def test_few_numbers_stay_apart_and_many_fall_into_bins():
    first, rest = reduced(([1.0, 2.0], [2.0, 4.0]), ([0.0, 1.0], [3.0, 9.0]))
    assert (first[0], first[1]) == ([0, 1], [1, 2])
    assert (rest[0], rest[1]) == ([0, 0], [1, 2])
    many = np.random.default_rng(0).normal(size=4000).tolist()
    first, _ = reduced((many[:2000], many[2000:]), ([], []))
    numbers = np.bincount([*first[0], *first[1]])
    assert len(numbers) == 40
    assert numbers.min() > 60


def test_vectors_are_separated_by_a_combination_of_numbers():
    rng = np.random.default_rng(0)

    def draws(sign, n):
        item = rng.normal(size=n)
        return np.column_stack([item, sign * item + 0.1 * rng.normal(size=n)]).tolist()

    first, rest = reduced((draws(1, 400), draws(-1, 400)), (draws(1, 300), draws(-1, 300)))
    assert np.mean(rest[1]) - np.mean(rest[0]) > 5
    assert np.mean(first[1]) - np.mean(first[0]) > 5


def test_a_text_among_the_counted_outcomes_changes_no_bins():
    numbers = np.random.default_rng(0).normal(size=400).tolist()
    first, rest = reduced((numbers[:100], numbers[100:200]), (numbers[200:300], numbers[300:]))
    same, other = reduced((numbers[:100], numbers[100:200]), (numbers[200:300], [*numbers[300:-1], "'failed'"]))
    assert same == first
    assert (other[0], other[1][:-1]) == (rest[0], rest[1][:-1])
    assert other[1][-1] == "'failed'"


def test_empty_vectors_are_equal_and_infinite_ones_differ():
    first, rest = reduced(([[]], [[]]), ([[], []], [[], []]))
    assert (first[0], rest[1]) == ([0], [0, 0])
    vectors = [outcome_of(np.array([0.0, end]), None) for end in (-np.inf, np.inf)]
    _, rest = reduced(([vectors[0]] * 40, [vectors[1]] * 40), ([vectors[0]] * 2, [vectors[1]] * 2))
    assert set(rest[0]).isdisjoint(rest[1])
