"""Targets of attacks: no fit of an audit is charged to a budget that others use."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import hedgerow as hr
from hedgerow.errors import ArgumentError, SeededNoiseWarning

SCHEMA = hr.Schema({"smoker": hr.Boolean()}, hr.Label("ill", (0, 1)))
X = np.arange(60)[:, np.newaxis] % 2
Y = np.arange(60) // 2 % 2


def learner(budget, random_state=None):
    return hr.PrivateTreeClassifier(0.01, max_depth=1, schema=SCHEMA, budget=budget, random_state=random_state)


AUDITS = {
    "membership": lambda target: hr.audit.membership(target, X, Y, repeats=2, random_state=0),
    "lira": lambda target: hr.audit.lira(target, X, Y, repeats=5, random_state=0),
}
RUNS = {
    "one_run_epsilon": lambda fit: hr.audit.one_run_epsilon(fit, X, Y, random_state=0),
    "empirical_epsilon": lambda fit: hr.audit.empirical_epsilon(fit, (X, Y), (X[1:], Y[1:]), runs=20, random_state=0),
}


@pytest.mark.parametrize("audit", [*AUDITS.values(), *RUNS.values()], ids=[*AUDITS, *RUNS])
@pytest.mark.parametrize("wrap", [lambda fit: fit, lambda fit: make_pipeline(FunctionTransformer(), fit)])
def test_an_audit_refuses_a_shared_budget_before_anything_is_charged(audit, wrap):
    budget = hr.Budget(5)
    with pytest.raises(ArgumentError, match="budget=None"):
        audit(wrap(learner(budget)))
    assert budget.spent == 0


@pytest.mark.parametrize("audit", AUDITS.values(), ids=AUDITS)
def test_a_function_that_returns_learners_with_one_budget_is_refused(audit):
    budget = hr.Budget(5)
    with pytest.raises(ArgumentError, match="shared budget"):
        audit(lambda: learner(budget))
    assert budget.spent == 0


@pytest.mark.parametrize("audit", AUDITS.values(), ids=AUDITS)
def test_a_function_may_create_a_budget_for_each_fit(audit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeededNoiseWarning)
        assert audit(lambda: learner(hr.Budget(5), random_state=1)).auc >= 0
