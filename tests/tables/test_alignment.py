"""Labels of pandas are never paired with the rows of another index, whichever public call takes them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.report import Report
from hedgerow.schema import Boolean, Integer, Label, Schema
from hedgerow.tables.frames import check_same_index

SCHEMA = Schema({"age": Integer(0, 99, (30, 60)), "smoker": Boolean()}, Label("ill", (False, True)))
REFUSED = r"the labels and the rows have different indexes; pass y\.loc\[X\.index\]"


def table(n=60):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(0, 100, n), "smoker": rng.integers(0, 2, n) == 1})
    return X, pd.Series(X["age"] > 50, name="ill")


X, Y = table()
SHUFFLED = Y.sample(frac=1, random_state=1)
FITTED = hr.GreedyRuleListClassifier(schema=SCHEMA).fit(X, Y)
LEARNER = hr.PrivateRuleListClassifier(1, schema=SCHEMA, search="greedy")
CALLS = {
    "fit": lambda X, y: hr.GreedyRuleListClassifier(schema=SCHEMA).fit(X, y),
    "fit, booleans": lambda X, y: hr.GreedyRuleListClassifier().fit(X[["smoker"]], y),
    "fit, from data": lambda X, y: hr.GreedyRuleListClassifier(schema="from-data").fit(X, y),
    "fit, private": lambda X, y: LEARNER.fit(X, y),
    "fit, tree": lambda X, y: hr.OptimalTreeClassifier(schema=SCHEMA).fit(X, y),
    "fit, scorecard": lambda X, y: hr.ScorecardClassifier(schema=SCHEMA).fit(X, y),
    "score": lambda X, y: FITTED.score(X, y),
    "score of a network": lambda X, y: hr.ExprilClassifier().score(X, y),
    "score of a regression": lambda X, y: hr.MarginalLogisticClassifier().score(X, y),
    "tally": lambda X, y: hr.Tally.count(X, y, SCHEMA),
    "oracle": lambda X, y: hr.Oracle(X, y, hr.Budget(1)),
    "leaf risk": lambda X, y: hr.audit.leaf_risk(FITTED, (X, y)),
    "overfitting": lambda X, y: hr.audit.overfit(FITTED, (X, Y), (X, y)),
    "lira": lambda X, y: hr.audit.lira(LEARNER, X, y),
    "membership": lambda X, y: hr.audit.membership(LEARNER, X, y),
    "exact membership": lambda X, y: hr.audit.exact_membership(LEARNER, X, y),
    "one run": lambda X, y: hr.audit.one_run_epsilon(LEARNER, X, y),
    "empirical epsilon": lambda X, y: hr.audit.empirical_epsilon(LEARNER, (X, y), (X, Y)),
    "report": lambda X, y: Report.of(FITTED.rule_list_, train=(X, y)),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("rows", "labels"),
    [(X, SHUFFLED), (X, Y.set_axis(range(100, 160))), (X.sample(frac=1, random_state=2), Y), (X[::-1], Y)],
    ids=["labels in another order", "another index", "rows in another order", "rows backwards"],
)
def test_labels_of_another_index_are_refused(call, rows, labels):
    with pytest.raises(ValueError, match=REFUSED) as caught:
        CALLS[call](rows, labels)
    assert isinstance(caught.value, HedgerowError)


def test_nothing_is_charged_for_them():
    budget = hr.Budget(1)
    with pytest.raises(ValueError, match=REFUSED):
        hr.PrivateRuleListClassifier(1, schema=SCHEMA, budget=budget).fit(X, SHUFFLED)
    assert budget.spent == 0


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (X, Y),
        (X, Y.reset_index(drop=True)),
        (X, SHUFFLED.loc[X.index]),
        (X.loc[SHUFFLED.index], SHUFFLED),
        (X, SHUFFLED.to_numpy()),
        (X, SHUFFLED.tolist()),
        (X.to_numpy(), SHUFFLED),
        (pl.from_pandas(X), SHUFFLED),
        (X, pl.Series(SHUFFLED.to_numpy())),
        (X.set_axis(["a"] * 60), Y.set_axis(["a"] * 60)),
        (X, Y[:5]),  # another number of labels has an error of its own
        (X, "ill"),
        (X, None),
    ],
)
def test_labels_without_an_index_of_their_own_are_taken_in_their_order(rows, labels):
    check_same_index(rows, labels)
