"""Claim: "Supports are the exact counts that the model tells" (exposure.py): supports of scikit-learn's trees are rows.

Whole-number weights and the repeats of a bootstrap were once counted as rows: 600 rows of 200, and the bits of copies.
A tree behind an encoder was read in the encoder's units, and nothing compared what it tells with the rows at hand.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, RandomForestClassifier
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OrdinalEncoder, StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import hedgerow as hr
from hedgerow.audit import joint_reconstruction, reconstruction, trees_of
from hedgerow.schema import Integer, Real, Schema

SCHEMA = Schema({"a": Integer(0, 9), "b": Integer(0, 9)})
X = np.random.default_rng(0).integers(0, 10, (200, 2))
Y = (X[:, 0] + X[:, 1] > 9).astype(int)


def bits_of(rows, found):
    """The entropy of these rows of X, one by one: reference."""
    leaves = found.row_ratios[np.unique(rows)]
    return leaves.sum() * found.domain.bits


@pytest.mark.parametrize(
    "weights", [np.full(200, 3), np.arange(200) % 3 + 1, np.full(200, 2.0)], ids=["all 3", "1 to 3", "all 2.0"]
)
def test_a_weight_is_no_row(weights):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y, sample_weight=weights)
    found = reconstruction(tree, SCHEMA)
    assert (found.n_rows, found.view) == (200, "exact")
    assert found.supports == reconstruction(tree, SCHEMA, data=X).supports
    assert found.entropy_bits == pytest.approx(reconstruction(tree, SCHEMA, data=X).entropy_bits)
    assert "600 rows" not in str(found)


def test_rows_of_no_weight_were_not_learned_from():
    weights = np.arange(200) % 2
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y, sample_weight=weights)
    assert reconstruction(tree, SCHEMA).supports == reconstruction(tree, SCHEMA, data=X[1::2]).supports


def test_classes_are_counted_in_rows_or_not_at_all():
    for weights in (np.full(200, 3), np.arange(200) % 3 + 1):
        tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y, sample_weight=weights)
        assert hr.audit.adapters.paths_of(tree, SCHEMA)[0].counts is None
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y, sample_weight=np.ones(200))
    told = hr.audit.adapters.paths_of(tree, SCHEMA)[0].counts
    assert told is not None
    assert np.sum(told, axis=0).tolist() == np.bincount(Y).tolist()


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(3, max_depth=3, random_state=0),
        BaggingClassifier(DecisionTreeClassifier(max_depth=3), 3, random_state=0),
        BaggingRegressor(DecisionTreeRegressor(max_depth=3), 3, max_samples=0.5, random_state=0),
    ],
    ids=lambda forest: type(forest).__name__,
)
def test_a_row_drawn_twice_is_one_row(forest):
    forest.fit(X, Y)
    for (tree, features), drawn in zip(trees_of(forest, SCHEMA), forest.estimators_samples_, strict=True):
        different = np.unique(drawn)
        found = reconstruction(tree, SCHEMA, features=features)
        assert len(different) < len(drawn)
        assert (found.n_rows, found.view) == (len(different), "exact")
        curator = reconstruction(tree, SCHEMA, features=features, data=X[different])
        assert found.supports == curator.supports
        whole = reconstruction(tree, SCHEMA, features=features, data=X)
        assert found.entropy_bits == pytest.approx(bits_of(drawn, whole))


@pytest.mark.parametrize(
    ("kind", "member"),
    [(BaggingClassifier, DecisionTreeClassifier), (BaggingRegressor, DecisionTreeRegressor)],
)
def test_copies_that_a_tree_takes_for_rows_are_named_weighted(kind, member):
    # Under metadata routing a bagging hands its trees copies of rows, not weights: the nodes count copies.
    with sklearn.config_context(enable_metadata_routing=True):
        forest = kind(member(max_depth=3), 2, random_state=0).fit(X, Y)
    for tree, features in trees_of(forest, SCHEMA):
        found = reconstruction(tree, SCHEMA, features=features)
        assert (found.view, found.to_dict()["supports"]) == ("weighted", "weighted")
        assert "are not numbers of rows" in str(found)
        with pytest.raises(ValueError, match="expected a model that tells the exact counts of each class"):
            hr.audit.given_learner(tree, forest.fit, SCHEMA)


@pytest.mark.parametrize(
    "encoder",
    [
        OrdinalEncoder(),
        StandardScaler(),
        MinMaxScaler((2, 7)),
        TargetEncoder(),
        KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
    ],
    ids=lambda encoder: type(encoder).__name__,
)
def test_rows_that_a_tree_puts_elsewhere_are_refused(encoder):
    frame, wide = pd.DataFrame(3 * X, columns=["a", "b"]), Schema({"a": Real(-30, 30), "b": Real(-30, 30)})
    encoded = encoder.set_output(transform="pandas").fit_transform(frame, Y)
    assert list(encoded) == ["a", "b"]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(encoded, Y)
    for rows in (frame, frame.to_numpy()):
        with pytest.raises(
            ValueError, match=r"other numbers of them in its regions.* an encoder or a scaler"
        ) as refused:
            reconstruction(tree, wide, data=rows)
        assert not any(digit in str(refused.value) for digit in "0123456789")
    for supports in (None, reconstruction(tree, wide).supports):
        with pytest.raises(ValueError, match="other numbers of them"):
            reconstruction(tree, wide, data=frame, supports=supports)
    with pytest.raises(ValueError, match="other numbers of them"):
        joint_reconstruction([tree], frame, wide)
    assert reconstruction(DecisionTreeClassifier(random_state=0).fit(frame, Y), wide, data=frame).view == "data"


def test_rows_other_than_those_of_the_fit_are_counted_if_they_are_more_or_fewer():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:150], Y[:150])
    assert reconstruction(tree, SCHEMA, data=X).n_rows == 200
    with pytest.raises(ValueError, match="other numbers of them"):
        reconstruction(tree, SCHEMA, data=X[50:])
