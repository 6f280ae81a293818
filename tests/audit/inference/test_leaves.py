"""Who sorts rows into leaves, and what is refused."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit.inference.overfitting import Leaves, apply_of, leaf_numbers
from hedgerow.models.released import released_model

X, Y = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 5), np.array([0, 1, 1, 0] * 5)
SECRET = "secret_f00d"


def test_a_model_and_the_estimator_that_holds_it_sort_alike():
    clf = hr.OptimalTreeClassifier(max_depth=1).fit(X, Y)
    assert released_model(clf) is released_model(clf.tree_) is clf.tree_
    assert released_model(hr.OptimalTreeClassifier()) is None
    assert apply_of(clf)(X).tolist() == apply_of(clf.tree_)(X).tolist() == clf.tree_.apply(X).tolist()
    assert isinstance(clf.tree_, Leaves)


def test_trees_of_other_libraries_and_functions_are_supported():
    tree = DecisionTreeClassifier().fit(X, Y)
    assert released_model(tree) is None
    assert apply_of(tree)(X).tolist() == tree.apply(X).tolist()
    assert apply_of(lambda rows: rows[:, 1])(X).tolist() == X[:, 1].tolist()


@pytest.mark.parametrize("model", [7, DecisionTreeClassifier, None, hr.OptimalTreeClassifier()])
def test_models_without_leaves_raise(model):
    with pytest.raises(TypeError, match="apply"):
        apply_of(model)


def test_a_wrong_number_of_leaves_raises_without_foreign_text():
    def fail(_):
        raise KeyError(SECRET)

    for model in (lambda rows: rows, lambda rows: rows[1:, 0], fail):
        with pytest.raises(ValueError, match="leaf") as error:
            apply_of(model)(X)
        assert SECRET not in repr((error.value, error.value.__context__))


def test_leaves_are_numbered_alike_in_both_sets():
    names, (item, other) = leaf_numbers(lambda rows: rows[:, 0], [np.array(["b", "a"]), np.array(["c", "b"])])
    assert names == ("leaf a", "leaf b", "leaf c")
    assert (item.tolist(), other.tolist()) == ([1, 0], [2, 1])
    clf = hr.OptimalTreeClassifier(max_depth=1).fit(X, Y)
    names, (item,) = leaf_numbers(clf, [clf.tree_.apply(X)])
    assert names == tuple(f"{i}. {text}" for i, text in enumerate(clf.tree_.conditions, 1))
    assert item.tolist() == clf.tree_.apply(X).tolist()
