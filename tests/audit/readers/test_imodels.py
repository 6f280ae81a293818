import random
import warnings

import numpy as np
import pandas as pd
import pytest

from hedgerow.audit.readers.read import paths_of
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Real, Schema
from tests.audit.readers.agreement import (
    arrays,
    bits_of,
    check,
    every_row,
    labels,
    random_schema,
    random_table,
)
from tests.peers import peer

imodels = peer("imodels")
pytestmark = pytest.mark.peers("imodels")

KINDS = ("boolean", "integer", "real", "words")
LISTS = ("GreedyRuleListClassifier", "OneRClassifier", "FastFrugalTreeClassifier")


def captured(model, X):
    """Return the rule that each row is caught by, as the text of each model's `predict_proba` says."""
    result = []
    for row in X:
        for number, rule in enumerate(model.rules_[:-1]):
            value, cut = row[rule["index_col"]], rule["cutoff"]
            above = value > cut if type(model).__name__ == "FastFrugalTreeClassifier" else value >= cut
            if above != rule["flip"]:
                result.append(number)
                break
        else:
            result.append(len(model.rules_) - 1)
    return result


def two_classes(rng, table):
    y = labels(rng, table)
    y[:2] = 0, 1
    return np.array(["no", "yes"])[y]


@pytest.mark.parametrize("kind", LISTS)
def test_rows_are_caught_by_the_rule_that_predicts_them(kind):
    lengths = set()
    for seed in range(20):
        rng = random.Random(seed)
        schema = random_schema(rng, KINDS)
        table = random_table(rng, schema, 120)
        X, features = arrays(table, schema)
        y = two_classes(rng, table)
        model = getattr(imodels, kind)(max_depth=rng.choice([2, 5])).fit(X, y)

        def sort(rows, model=model, schema=schema):
            return captured(model, arrays(rows, schema)[0])

        if any(X[:, rule["index_col"]].max() <= rule["cutoff"] for rule in model.rules_[:-1]):
            assert kind == "FastFrugalTreeClassifier"  # a cue that all rows are on one side of
            continue
        countable = all(not isinstance(schema[name], Real) for name in schema)
        paths = check(model, sort, table, schema, features, domain=every_row(schema) if countable else None)
        shares = [rule["val_right"] for rule in model.rules_[:-1]] + [model.rules_[-1]["val"]]
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], np.array(shares)[sort(table)])
        assert paths.classes == ("no", "yes")
        assert [paths.predictions[place] for place in sort(table)] == model.predict(X).tolist()
        assert not paths.exclusive
        if kind != "FastFrugalTreeClassifier":
            expected = [
                [int((y[np.array(sort(table)) == i] == c).sum()) for c in ("no", "yes")] for i in range(len(paths))
            ]
            assert [list(counts) for counts in paths.counts] == expected
        lengths.add(len(paths))
    assert max(lengths) > 2


def test_bayesian_lists():
    schema = Schema({"hue": Categorical(("red", "green", "blue")), **{name: Boolean() for name in "abc"}})
    rng = random.Random(0)
    table = random_table(rng, schema, 150)
    X, features = bits_of(table, schema)
    y = (X[:, 0] & X[:, 3]) | (X[:, 4] & (1 - X[:, 5]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = imodels.BayesianRuleListClassifier(max_iter=2000, n_chains=1, random_state=1).fit(X, y)

    def probabilities(rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.predict_proba(bits_of(rows, schema)[0])[:, 1]

    assert len(set(model.theta)) == len(model.theta) > 2  # so the probability tells the rule
    paths = check(model, probabilities, table, schema, features, domain=every_row(schema))
    assert (paths.supports, paths.counts, paths.classes, paths.exclusive) == (None, None, (0, 1), False)
    assert len(paths) == len(model.theta)
    named = pd.DataFrame(X, columns=["hue_red", "hue_green", "hue_blue", "a", "b", "c"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = imodels.BayesianRuleListClassifier(max_iter=2000, n_chains=1, random_state=1).fit(named, y)
    assert paths_of(other, schema)[0] == paths


def test_columns_have_the_names_of_the_frame_or_of_fit():
    schema = Schema({"smoker": Boolean(), "hue": Categorical(("red", "green", "blue"))})
    frame = pd.DataFrame({"hue_red": [0.0, 1.0] * 20, "smoker": [0.0, 0.0, 1.0, 1.0] * 10})
    y = frame["hue_red"].to_numpy().astype(int)
    red = Literal("hue", "=", ("red",))
    for model in (
        imodels.GreedyRuleListClassifier().fit(frame, y),
        imodels.GreedyRuleListClassifier().fit(frame.to_numpy(), y, feature_names=["hue_red", "smoker"]),
    ):
        paths, _ = paths_of(model, schema)
        assert paths.paths == (((red, True),), ())
        assert (paths.supports, paths.counts) == ((20, 20), ((0, 20), (20, 0)))
    unnamed = imodels.GreedyRuleListClassifier().fit(frame.to_numpy(), y)
    assert paths_of(unnamed, schema, ["hue_red", "smoker"])[0].paths == paths.paths
    with pytest.raises(ValueError, match=r"2 columns.* 3 attributes"):
        paths_of(unnamed, Schema({name: Boolean() for name in "abc"}))


def test_a_row_at_the_threshold_is_above_it():
    # imodels finds cuts with scikit-learn, which asks for at most, and asks for less than itself
    X, y = np.array([[1.0], [3.0]] * 5), np.array([0, 1] * 5)
    model = imodels.GreedyRuleListClassifier().fit(X, y)
    assert model.rules_[0]["cutoff"] == 2
    schema = Schema({"a": Integer(0, 4, cuts=())})
    check(
        model,
        lambda rows: captured(model, rows.to_numpy()),
        pd.DataFrame({"a": X[:, 0]}),
        schema,
        domain=every_row(schema),
    )
    assert model.predict([[2.0]]) == [1]


def test_missing_values_have_no_way():
    model = imodels.GreedyRuleListClassifier().fit(np.array([[1.0], [3.0]] * 5), np.array([0, 1] * 5))
    with pytest.raises(ValueError, match="missing"):
        paths_of(model, Schema({"a": Integer(0, 4, cuts=(), missing="bin")}))


@pytest.mark.parametrize("kind", [*LISTS, "BayesianRuleListClassifier"])
def test_models_that_are_not_fitted_are_refused(kind):
    with pytest.raises(ValueError, match="not fitted"):
        paths_of(getattr(imodels, kind)(), Schema({"a": Boolean()}))
