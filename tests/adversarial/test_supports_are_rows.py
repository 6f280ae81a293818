"""Claim: "the exact leaf counts that the model stores": supports of scikit-learn's trees are rows.

Whole-number weights and the repeats of a bootstrap were once counted as rows: 600 rows of 200, and the bits of copies.
A tree behind an encoder was read in the encoder's units, and nothing compared what it tells with the rows at hand.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OrdinalEncoder, StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hedgerow.audit import joint_reconstruction, reconstruction, trees_of
from hedgerow.audit.readers.read import paths_of
from hedgerow.models.files import read_model
from hedgerow.schema import Integer, Label, Real, Schema

SCHEMA = Schema({"a": Integer(0, 9, cuts=()), "b": Integer(0, 9, cuts=())})
X = np.random.default_rng(0).integers(0, 10, (200, 2))
Y = (X[:, 0] + X[:, 1] > 9).astype(int)


def bits_of(rows, found):
    """The entropy of these rows of X, one by one: reference."""
    leaves = found.row_ratios[np.unique(rows)]
    return leaves.sum() * found.domain.bits


@pytest.mark.parametrize(
    "weights", [np.full(200, 3), np.arange(200) % 3 + 1, np.full(200, 2.0)], ids=["all 3", "1 to 3", "all 2.0"]
)
@pytest.mark.claim("An audit counts rows.")
@pytest.mark.claim("supports in rows, never weights or bootstrap copies")
def test_a_weight_is_no_row(weights):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y, sample_weight=weights)
    result = reconstruction(tree, SCHEMA)
    assert (result.n_rows, result.view) == (200, "exact")
    assert result.supports == reconstruction(tree, SCHEMA, data=X).supports
    assert result.entropy_bits == pytest.approx(reconstruction(tree, SCHEMA, data=X).entropy_bits)
    assert "600 rows" not in str(result)


def test_rows_of_no_weight_were_not_learned_from():
    weights = np.arange(200) % 2
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y, sample_weight=weights)
    assert reconstruction(tree, SCHEMA).supports == reconstruction(tree, SCHEMA, data=X[1::2]).supports


def test_classes_are_counted_in_rows_or_not_at_all():
    for weights in (np.full(200, 3), np.arange(200) % 3 + 1):
        tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y, sample_weight=weights)
        assert paths_of(tree, SCHEMA)[0].counts is None
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y, sample_weight=np.ones(200))
    told = paths_of(tree, SCHEMA)[0].counts
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
@pytest.mark.claim("An audit counts rows.")
@pytest.mark.claim("supports in rows, never weights or bootstrap copies")
def test_a_row_drawn_twice_is_one_row(forest):
    forest.fit(X, Y)
    for (tree, features), drawn in zip(trees_of(forest, SCHEMA), forest.estimators_samples_, strict=True):
        different = np.unique(drawn)
        result = reconstruction(tree, SCHEMA, features=features)
        assert len(different) < len(drawn)
        assert (result.n_rows, result.view) == (len(different), "exact")
        curator = reconstruction(tree, SCHEMA, features=features, data=X[different])
        assert result.supports == curator.supports
        whole = reconstruction(tree, SCHEMA, features=features, data=X)
        assert result.entropy_bits == pytest.approx(bits_of(drawn, whole))


@pytest.mark.parametrize(
    ("kind", "member"),
    [(BaggingClassifier, DecisionTreeClassifier), (BaggingRegressor, DecisionTreeRegressor)],
)
def test_copies_that_a_tree_takes_for_rows_are_named_weighted(kind, member):
    # Under metadata routing a bagging hands its trees copies of rows, not weights: the nodes count copies.
    with sklearn.config_context(enable_metadata_routing=True):
        forest = kind(member(max_depth=3), 2, random_state=0).fit(X, Y)
    for tree, features in trees_of(forest, SCHEMA):
        result = reconstruction(tree, SCHEMA, features=features)
        assert (result.view, result.to_dict()["supports"]) == ("weighted", "weighted")
        assert "sampled several times" in str(result)


def test_boosting_that_draws_copies_is_named_weighted():
    # AdaBoostRegressor fits each tree on rows drawn with replacement, and does not tell which: 200 rows of some 120.
    forest = AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=3, random_state=0)
    for tree, features in trees_of(forest.fit(X, X.sum(axis=1)), SCHEMA):
        result = reconstruction(tree, SCHEMA, features=features)
        assert (result.view, result.to_dict()["supports"]) == ("weighted", "weighted")
        assert reconstruction(tree, SCHEMA, features=features, data=X).view == "data"


@pytest.mark.parametrize("bootstrap", [False, True])
def test_rows_that_a_forest_has_not_drawn_are_not_counted(bootstrap):
    lonely = IsolationForest(n_estimators=3, max_samples=80, bootstrap=bootstrap, random_state=0).fit(X)
    for (tree, features), drawn in zip(trees_of(lonely, SCHEMA), lonely.estimators_samples_, strict=True):
        result = reconstruction(tree, SCHEMA, features=features)
        assert result.supports == reconstruction(tree, SCHEMA, features=features, data=X[np.unique(drawn)]).supports
    boosted = GradientBoostingClassifier(n_estimators=3, subsample=0.3, random_state=0).fit(X, Y)
    assert {reconstruction(tree, SCHEMA, features=x).n_rows for tree, x in trees_of(boosted, SCHEMA)} == {60}


def test_trees_that_were_fitted_before_their_stack_have_their_own_classes():
    labels = np.where(Y, "yes", "no")
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, labels)
    for cv in ("prefit", 2):
        stack = StackingClassifier([("tree", tree)], cv=cv).fit(X, labels)
        ((member, features),) = trees_of(stack, SCHEMA)
        result = paths_of(member, SCHEMA, features)[0]
        assert result == paths_of(tree, SCHEMA)[0]
        assert result.classes == ("no", "yes")


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
@pytest.mark.claim("the model's stored counts contradict the given rows")
def test_rows_that_a_tree_puts_elsewhere_are_refused(encoder):
    frame, wide = (
        pd.DataFrame(3 * X, columns=["a", "b"]),
        Schema({"a": Real(-30, 30, cuts=()), "b": Real(-30, 30, cuts=())}),
    )
    encoded = encoder.set_output(transform="pandas").fit_transform(frame, Y)
    assert list(encoded) == ["a", "b"]
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(encoded, Y)
    for rows in (frame, frame.to_numpy()):
        with pytest.raises(ValueError, match=r"leaf counts.* encoder") as refused:
            reconstruction(tree, wide, data=rows)
        assert not any(digit in str(refused.value) for digit in "0123456789")
    for supports in (None, reconstruction(tree, wide).supports):
        with pytest.raises(ValueError, match="other leaf counts than the model stores"):
            reconstruction(tree, wide, data=frame, supports=supports)
    with pytest.raises(ValueError, match="other leaf counts than the model stores"):
        joint_reconstruction([tree], frame, wide)
    assert reconstruction(DecisionTreeClassifier(random_state=0).fit(frame, Y), wide, data=frame).view == "data"


@pytest.mark.claim("the model's stored counts contradict the given rows")
def test_counts_of_a_text_that_contradict_the_rows_are_refused(tmp_path):
    """As many rows, of which one is said to be in another leaf: the text was edited, or is of another table."""
    schema = Schema({"a": Real(-30, 30, cuts=())}, Label("y", ("no", "yes")))
    frame = pd.DataFrame({"a": np.repeat([-5.0, 5.0], (12, 30))})
    texts = {}
    for name, counts in {"true": (12, 30), "edited": (11, 31)}.items():
        path = tmp_path / f"{name}.txt"
        path.write_text(f"if a <= 0 then yes (no 0, yes {counts[0]})\nelse no (no {counts[1]}, yes 0)\n")
        texts[name] = read_model(path, schema)
    assert reconstruction(texts["true"], data=frame).supports == (12, 30)
    with pytest.raises(ValueError, match=r"leaf counts.* edited"):
        reconstruction(texts["edited"], data=frame)
    assert reconstruction(texts["edited"], data=frame[:-1]).supports == (12, 29)  # other rows


def test_other_rows_are_counted_if_their_number_differs():
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[:150], Y[:150])
    assert reconstruction(tree, SCHEMA, data=X).n_rows == 200
    with pytest.raises(ValueError, match="leaf counts"):
        reconstruction(tree, SCHEMA, data=X[50:])
