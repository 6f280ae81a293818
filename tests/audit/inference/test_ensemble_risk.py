"""Leaves of all trees of an ensemble, against sets of rows counted tree by tree and row by row."""

from collections import Counter
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hedgerow as hr
from hedgerow.audit.inference import ensemble_risk
from hedgerow.audit.inference.ensemble_risk import counted_ensemble_risk, stored_ensemble_risk
from hedgerow.audit.readers.ensembles import leaf_nodes, members
from hedgerow.schema import Boolean, Integer, Label, Schema

RNG = np.random.default_rng(1)
N = 150
X = pd.DataFrame({"a": RNG.integers(12, size=N), "b": RNG.integers(5, size=N), "c": RNG.integers(2, size=N)})
Y = ((X["a"] > 6) ^ (RNG.random(N) < 0.2)).astype(int).to_numpy()
SCHEMA = Schema({"a": Integer(0, 20, cuts=()), "b": Integer(0, 9, cuts=()), "c": Boolean()}, Label("y", (0, 1)))
ENSEMBLES = [
    RandomForestClassifier(4, max_depth=4, random_state=0),
    RandomForestClassifier(3, bootstrap=False, max_features=1, random_state=0),
    ExtraTreesClassifier(3, min_samples_leaf=4, random_state=0),
    BaggingClassifier(n_estimators=3, max_samples=60, random_state=0),
    AdaBoostClassifier(n_estimators=3, random_state=0),
    GradientBoostingClassifier(n_estimators=3, subsample=0.5, random_state=0),
    make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)),
]
THRESHOLD = 7


def last(model):
    return model[-1] if hasattr(model, "steps") else model


@pytest.mark.parametrize("model", ENSEMBLES, ids=lambda model: type(last(model)).__name__)
@pytest.mark.parametrize("is_unit", [False, True])
def test_rows_are_counted_as_sets_of_rows(model, is_unit):
    """By definition: which rows, or units, lie in each leaf, and of which class; at most those it was fitted on."""
    model.fit(X, Y)
    schema = Schema(SCHEMA.attributes, SCHEMA.label, unit=hr.Unit("house", 4)) if is_unit else None
    whose = (np.arange(N) // 4).tolist() if is_unit else list(range(N))
    result = counted_ensemble_risk(model, X.assign(house=whose) if is_unit else X, ([0, 1], Y), THRESHOLD, schema)
    places, in_small, in_pure = leaf_nodes(model, X), set(), set()
    for tree, nodes, member in zip(members(last(model)), places.T, result.members, strict=True):
        for node, held, counts in zip(member.nodes, member.rows, member.counts, strict=True):
            inside = np.flatnonzero(nodes == node)
            by_class = [{whose[i] for i in inside if Y[i] == label} for label in (0, 1)]
            units = by_class[0] | by_class[1]
            assert held == min(len(units), tree.tree_.n_node_samples[node])
            assert counts.tolist() == [len(by_class[0]), len(by_class[1])]
            in_small |= units if held < THRESHOLD else set()
            in_pure |= units if min(counts) == 0 else set()
    together = [{whose[i] for i in np.flatnonzero((places == key).all(axis=1))} for key in set(map(tuple, places))]
    alone = {unit for units in together if len(units) == 1 for unit in units}
    assert result.view == ("units" if is_unit else "exact")
    assert (result.rows, result.in_small, result.in_pure) == (len(set(whose)), len(in_small), len(in_pure))
    assert (result.cells, result.alone) == (len(together), len(alone))


@pytest.mark.parametrize(
    ("model", "view"),
    [
        (RandomForestClassifier(3, random_state=0), "drawn"),
        (RandomForestClassifier(3, bootstrap=False, random_state=0), "exact"),
        (ExtraTreesClassifier(3, random_state=0), "exact"),
        (BaggingClassifier(n_estimators=3, bootstrap=False, max_samples=40, random_state=0), "drawn"),
        (BaggingClassifier(n_estimators=3, bootstrap=False, random_state=0), "exact"),
        (AdaBoostClassifier(n_estimators=3, random_state=0), "exact"),
        (AdaBoostRegressor(n_estimators=3, random_state=0), "weighted"),
        (GradientBoostingClassifier(n_estimators=3, random_state=0), "exact"),
        (GradientBoostingClassifier(n_estimators=3, subsample=0.5, random_state=0), "drawn"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_stored_counts_are_of_the_rows_that_each_tree_was_fitted_on(model, view):
    model.fit(X, Y)
    result = stored_ensemble_risk(model, THRESHOLD, SCHEMA)
    assert result.view == view
    drawn = getattr(model, "estimators_samples_", [np.arange(N)] * len(members(model)))
    places = leaf_nodes(model, X)
    for rows, nodes, member in zip(drawn, places.T, result.members, strict=True):
        counted = Counter(nodes[np.unique(rows)].tolist())
        if view != "weighted" and not isinstance(model, GradientBoostingClassifier):
            assert dict(zip(member.nodes.tolist(), member.rows.tolist(), strict=True)) == counted
        if member.pure is not None:
            labels = [Y[np.unique(rows)][nodes[np.unique(rows)] == node] for node in member.nodes]
            assert member.pure.tolist() == [len(set(own)) == 1 for own in labels]
    exact = counted_ensemble_risk(model, X, ([0, 1], Y), THRESHOLD, None)
    assert exact.in_small >= result.certain_in_small or view == "drawn"
    if view == "exact":
        assert result.small_leaves == exact.small_leaves


@pytest.mark.parametrize("model", ENSEMBLES, ids=lambda model: type(last(model)).__name__)
def test_other_rows_contradict_the_stored_counts(model):
    model.fit(X, Y)
    others = X.sample(frac=1, replace=True, random_state=0).reset_index(drop=True)
    right, wrong = (counted_ensemble_risk(model, rows, ([0, 1], Y), 10, None) for rows in (X, others))
    assert right.contradicted == 0
    assert wrong.contradicted > 0


def test_the_worst_tree_has_the_smallest_leaf():
    model = RandomForestClassifier(5, min_samples_leaf=3, random_state=0).fit(X, Y)
    result = counted_ensemble_risk(model, X, ([0, 1], Y), THRESHOLD, None)
    table = result.table
    best = table.sort_values(["fewest rows", "small", "pure"], ascending=[True, False, False], kind="stable")
    assert result.worst == best.index[0]
    assert result.fewest == table["fewest rows"].min() == result.leaf_table(result.worst)["rows"].min()
    assert (
        result.leaf_table(result.worst)["small"].sum()
        == table["small"][result.worst]
        == result.small_leaves[result.worst]
    )
    assert set(result.small) == set(table.index[table["small"] > 0])


def test_a_forest_of_large_mixed_leaves_is_not_flagged():
    size = 3000
    rows = np.arange(size).reshape(-1, 1) % 40
    model = RandomForestClassifier(10, max_depth=2, min_samples_leaf=200, random_state=0)
    labels = (np.arange(size) // 40) % 2
    result = counted_ensemble_risk(model.fit(rows, labels), rows, ([0, 1], labels), 10, None)
    assert (result.small, result.pure, result.few) == ((), (), ())
    assert (result.in_small, result.in_pure, result.alone) == (0, 0, 0)
    assert stored_ensemble_risk(model, 10, SCHEMA).small == ()


def test_numbers_without_levels_leave_purity_open():
    model = RandomForestRegressor(3, random_state=0).fit(X, Y.astype(float))
    for result in (counted_ensemble_risk(model, X, None, 10, None), stored_ensemble_risk(model, 10, SCHEMA)):
        assert (result.pure_leaves, result.few_leaves, result.in_pure) == (None, None, None)
        assert "pure leaves   unknown" in str(result)
        assert result.small


def test_wrong_counts_of_missing_values_are_not_used(monkeypatch):
    monkeypatch.setattr(ensemble_risk, "_COUNTS_MISSING", False)
    model = RandomForestClassifier(3, random_state=0).fit(X, Y)
    assert stored_ensemble_risk(model, 10, SCHEMA).small
    for schema in (None, Schema({"a": Integer(0, 20, cuts=(), missing="bin"), "b": Boolean(), "c": Boolean()})):
        with pytest.raises(ValueError, match="train"):
            stored_ensemble_risk(model, 10, schema)


@pytest.mark.slow
def test_a_hundred_trees_and_fifty_thousand_rows_take_seconds():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(50_000, 10)), rng.integers(2, size=50_000)
    model = RandomForestClassifier(100, min_samples_leaf=5, max_samples=5000, random_state=0, n_jobs=2)
    model.fit(rows, labels)
    start = perf_counter()
    result = counted_ensemble_risk(model, rows, ([0, 1], labels), 10, None)
    assert str(result)
    assert perf_counter() - start < 60
    assert result.alone > 0.9 * len(rows)
