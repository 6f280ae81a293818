"""Every option of every public estimator and audit changes what can be observed, or is refused before the charge."""

import contextlib
import inspect
import io
import pickle
import warnings
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import hedgerow as hr
from hedgerow.errors import HedgerowError
from tests.options import CHANGED, COARSE, is_regressor, of_class, schema_of

ESTIMATORS = {name: one for name in hr.__all__ if inspect.isclass(one := getattr(hr, name)) and hasattr(one, "fit")}
ORACLE_LEARNERS = ("Expril", "Marginal")  # which ask an oracle in place of reading labels


@cache
def rows(n=120):
    rng = np.random.default_rng(0)
    age, smoker, dose = rng.integers(0, 100, n), rng.integers(0, 2, n), rng.integers(0, 4, n)
    frame = pd.DataFrame({"age": age, "smoker": smoker, "dose": dose})
    risk = 9 * ((age > 50) & (smoker == 0)) + 4 * (dose == 0) + age / 50 + rng.integers(0, 3, n)
    return frame, np.clip(np.round(risk), 0, 16)


def labels_of(name):
    risk = rows()[1]
    return pd.Series(risk if is_regressor(name) else (risk > 4).astype(int), name="risk")


# For each class, the settings under which its options are changed, one by one. More than one where an option belongs
# to one way of learning: there it changes something, and the others have to refuse it or to change, too.
SEARCHES = {"exact": {"search": "exact"}, "greedy": {"search": "greedy"}}
SHAPES = {
    "PrivateTreeClassifier": {"max_depth": 2},
    "PrivateTreeRegressor": {"max_depth": 2},
    "PrivateRuleListClassifier": {"max_rules": 3},
    "PrivateRuleListRegressor": {"max_rules": 3},
}
SETTINGS = {
    **{name: {how: shape | search for how, search in SEARCHES.items()} for name, shape in SHAPES.items()},
    "OptimalTreeClassifier": {"": {"max_depth": 2}},
    "OptimalTreeRegressor": {"": {"max_depth": 2}, "quantile": {"max_depth": 2, "objective": "quantile"}},
    "GreedyRuleListClassifier": {"": {"max_literals": 1, "max_rules": 2, "min_support": 0.0}},
    "OptimalRuleListClassifier": {"": {"max_rules": 2}},
    "OptimalRuleListRegressor": {"": {"max_rules": 2}, "quantile": {"max_rules": 2, "objective": "quantile"}},
    "MarginalLinearRegressor": {"": {"reweight": False}},
    "MarginalLogisticClassifier": {"": {"reweight": False}},
    "DPGreedyRLClassifier": {"": {"delta": 1e-9, "max_rules": 2, "max_literals": 1}},
    "ExprilClassifier": {"": {"estimator": LogisticRegression(), "reweight": False, "random_state": None}},
    "ExprilRegressor": {"": {"estimator": LinearRegression(), "reweight": False}},
}
NEEDED = {
    "negations": {"max_rules": 2, "max_literals": 2},
    "time_limit": {"max_rules": 4, "max_literals": 2},
    ("ExprilRegressor", "random_state"): {"estimator": None, "queries": 1},
    ("GreedyRuleListClassifier", "negations"): {"max_rules": 3, "max_literals": 2, "min_support": 0.2},
}
"""Settings without which an option need not change anything, for the classes that have them."""
NOTHING_TO_SHOW = {("greedy", "verbose")}  # it shows how far an exact search is, as documented


class Terminal(io.StringIO):
    """A stream that takes progress bars."""

    def isatty(self):
        return True


def observed(name, settings, budget):
    """Return what one can see of a fit: what it keeps, says and charges, whether it is a model or a picture."""
    X, y = rows()[0], labels_of(name)
    said = Terminal()
    with warnings.catch_warnings(record=True) as told, contextlib.redirect_stderr(said):
        warnings.simplefilter("always")
        estimator = ESTIMATORS[name](**settings)
        if name.startswith(ORACLE_LEARNERS):
            number = {"number": hr.Number("risk", 0, 16, 4)} if is_regressor(name) else {"classes": (0, 1)}
            oracle = hr.Oracle(X, y, hr.Budget(1), 3, random_state=0, **number)
            estimator.fit(X[X["age"] > 30], oracle=oracle)  # a source unlike the target
        else:
            estimator.fit(X, y)
        learned = {key: value for key, value in sorted(vars(estimator).items()) if key.endswith("_")}
        if name == "SchemaEncoder":
            learned["encoded"] = estimator.transform(X)
    kept = {key: pickle.dumps(value) for key, value in learned.items()}
    return (
        kept,
        said.getvalue() != "",
        [str(item.message) for item in told],
        None if budget is None else budget.remaining,
    )


def settings_of(name, way, option):
    parameters = inspect.signature(ESTIMATORS[name]).parameters
    common = {"epsilon": 0.125, "random_state": 0, "schema": schema_of(name)}
    given = {key: value for key, value in common.items() if key in parameters}
    needed = {key: value for key, value in NEEDED.get(option, {}).items() if key in parameters}
    needed |= NEEDED.get((name, option), {})
    return given | SETTINGS.get(name, {}).get(way, {}) | needed


def changed_value(name, settings, option):
    if option == "schema":
        return schema_of(name, COARSE)
    value = of_class(name, CHANGED[option])
    if option == "search" and settings.get("search") == value:
        return "exact"
    if option == "objective" and settings.get("objective") == "quantile":
        return "squared"
    return value


CASES = [
    pytest.param(name, way, option, id="-".join(filter(None, (name, way, option))))
    for name, estimator in ESTIMATORS.items()
    for way in SETTINGS.get(name, {"": {}})
    for option in inspect.signature(estimator).parameters
    if option != "budget" and (way, option) not in NOTHING_TO_SHOW
]


SEEDS = range(6)  # of noise: under one of them, a change of the mechanism changes what it releases


@cache
def unchanged(name, way, needed, seed=0):
    return observed(name, seeded(settings_of(name, way, needed), seed), None)


def seeded(settings, seed):
    """Return settings with a seed, and with less noise if it is odd: much noise hides some changes, little others."""
    other = {"random_state": seed, "epsilon": settings.get("epsilon", 0) * (16 if seed % 2 else 1)}
    return settings | {key: value for key, value in other.items() if settings.get(key) is not None}


@pytest.mark.parametrize(("name", "way", "option"), CASES)
def test_each_option_changes_a_fit_or_is_refused_before_the_charge(name, way, option):
    settings = settings_of(name, way, option)
    needed = option if option in NEEDED or (name, option) in NEEDED else None
    value = changed_value(name, settings, option)
    if refusal := refused(name, settings | {option: value}):
        assert option in refusal, refusal
    else:
        assert any(
            observed(name, seeded(settings, seed) | {option: value}, None) != unchanged(name, way, needed, seed)
            for seed in SEEDS
        )


def refused(name, settings):
    """Return why a fit is refused, after a check that nothing was charged; None if it is not."""
    has_budget = "budget" in inspect.signature(ESTIMATORS[name]).parameters
    budget = hr.Budget(10, 1e-3) if has_budget else None
    try:
        observed(name, settings | ({"budget": budget} if has_budget else {}), budget)
    except HedgerowError as error:
        problem = str(error)
    else:
        return None
    assert budget is None or budget.remaining == 10
    return problem


@pytest.mark.parametrize(("name", "way"), sorted({case.values[:2] for case in CASES}))
def test_the_same_settings_give_the_same_fit(name, way):
    """Else every option would seem to change something."""
    assert observed(name, settings_of(name, way, None), None) == unchanged(name, way, None)


@pytest.mark.parametrize(
    "name", [name for name, item in ESTIMATORS.items() if "budget" in inspect.signature(item).parameters]
)
def test_a_fit_charges_the_budget_that_it_is_given(name):
    budget = hr.Budget(10, 1e-3)
    way = next(iter(SETTINGS.get(name, {"": {}})))
    observed(name, settings_of(name, way, None) | {"budget": budget}, budget)
    assert budget.remaining == 10 - Fraction(1, 8)
