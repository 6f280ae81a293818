"""Other values for the options of estimators, and schemas of the table that they are tried on."""

from sklearn.linear_model import LinearRegression, LogisticRegression

import hedgerow as hr

ATTRIBUTES = {
    "age": hr.Integer(0, 100, cuts=(25, 50, 75)),
    "smoker": hr.Boolean(),
    "dose": hr.Integer(0, 3, cuts=(0, 1, 2)),
}
COARSE = ATTRIBUTES | {"age": hr.Integer(0, 100, cuts=(50,))}


def is_regressor(name):
    return "Regressor" in name


def schema_of(name, attributes=ATTRIBUTES):
    return hr.Schema(attributes, hr.Number("risk", 0, 16, 4) if is_regressor(name) else hr.Label("risk", (0, 1)))


CHANGED = {
    "epsilon": 3.0,
    "max_rules": 4,
    "max_literals": 2,
    "negations": False,
    "max_depth": 1,
    "min_support": 0.49,
    "regularization": 0.45,
    "time_limit": 1e-9,
    "random_state": 7,
    "lookahead": 1,
    "search": "greedy",
    "release_counts": True,
    "release_means": False,
    "stop_probability": 0.97,
    "verbose": True,
    "objective": {"classes": "brier", "numbers": "absolute"},
    "costs": {0: {1: 3}, 1: {0: 1}},
    "class_weight": {0: 1, 1: 3},
    "quantile": 0.9,
    "clip": 0.1,
    "scoring": "roc_auc",
    "n_rows": 10**6,
    "max_attributes": 1,
    "points": 5,
    "monotone": {"age": "decreasing"},
    "delta": 0.1,  # of few attributes a small one helps at no number of rows, and is not charged
    "smooth": 0.3,
    "C": 0.01,
    "n_models": 3,
    "mechanism": "laplace",
    "min_remaining": 0.5,
    "confidence": 0.5,
    "reweight": True,
    "bins": 3,
    "variant": "instantaneous",
    "queries": 1,
    "estimator": {"classes": LogisticRegression(C=1e-3), "numbers": LinearRegression(fit_intercept=False)},
}
"""For each option another value than the settings have. Of schemas, `COARSE` is the other one."""


def of_class(name, value):
    both = isinstance(value, dict) and set(value) == {"classes", "numbers"}
    return value["numbers" if is_regressor(name) else "classes"] if both else value
