"""The leaf of each row in each tree of an ensemble, against the trees themselves."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hedgerow.audit.readers.ensembles import PREDICTORS, leaf_nodes, members

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(90, 4)), columns=list("abcd"))
Y = np.arange(90) % 3
ENSEMBLES = [
    RandomForestClassifier(3, random_state=0),
    RandomForestRegressor(3, random_state=0),
    ExtraTreesClassifier(3, random_state=0),
    BaggingClassifier(n_estimators=3, max_features=2, bootstrap_features=True, random_state=0),
    BaggingRegressor(n_estimators=3, random_state=0),
    AdaBoostClassifier(n_estimators=3, random_state=0),
    AdaBoostRegressor(n_estimators=3, random_state=0),
    GradientBoostingClassifier(n_estimators=2, random_state=0),
    GradientBoostingRegressor(n_estimators=2, random_state=0),
]


def by_tree(ensemble, array):
    subsets = getattr(ensemble, "estimators_features_", [range(4)] * len(members(ensemble)))
    pairs = zip(members(ensemble), subsets, strict=True)
    return np.column_stack([tree.apply(array[:, subset].astype(np.float32)) for tree, subset in pairs])


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=lambda ensemble: type(ensemble).__name__)
def test_leaves_are_the_leaves_of_each_tree(ensemble):
    ensemble.fit(X, Y)
    assert isinstance(ensemble, PREDICTORS)
    expected = by_tree(ensemble, X.to_numpy())
    assert expected.shape == (90, len(members(ensemble)))
    assert np.array_equal(leaf_nodes(ensemble, X), expected)


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=lambda ensemble: type(ensemble).__name__)
def test_steps_before_an_ensemble_transform_the_rows(ensemble):
    nested = make_pipeline(StandardScaler(), make_pipeline("passthrough", SelectKBest(k=4), ensemble)).fit(X, Y)
    assert np.array_equal(leaf_nodes(nested, X), by_tree(ensemble, StandardScaler().fit_transform(X)))


def test_frames_are_sorted_into_the_same_leaves():
    ensemble = BaggingClassifier(n_estimators=3, max_features=3, random_state=0).fit(X, Y)
    expected = by_tree(ensemble, X.to_numpy())
    assert np.array_equal(leaf_nodes(ensemble, X[["d", "c", "b", "a"]]), expected)
    assert np.array_equal(leaf_nodes(ensemble, pl.DataFrame(X.to_dict("list"))), expected)


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=lambda ensemble: type(ensemble).__name__)
def test_sparse_columns_are_sorted_into_the_same_leaves(ensemble):
    words = pd.DataFrame({"word": np.array(list("wxyz"))[RNG.integers(4, size=90)]})
    steps = make_pipeline(OneHotEncoder(), ensemble).fit(words, Y)
    assert np.array_equal(leaf_nodes(steps, words), by_tree(ensemble, steps[:-1].transform(words).toarray()))


def test_rows_the_model_rejects_raise_without_their_values():
    secret = pd.DataFrame({name: ["secret_f00d"] for name in "abcd"})
    for ensemble in (RandomForestClassifier(2), BaggingClassifier(n_estimators=2)):
        with pytest.raises(ValueError, match="rows") as error:
            leaf_nodes(ensemble.fit(X, Y), secret)
        assert "secret" not in repr((error.value, error.value.__cause__, error.value.__context__))
