"""Models of every family and kind of target, and rows to evaluate them on."""

from functools import cache

import numpy as np
import pandas as pd

import hedgerow as hr

ATTRIBUTES = {
    "age": hr.Integer(18, 90, cuts=(30, 45, 60)),
    "sex": hr.Categorical(("f", "m"), missing="bin"),
    "smoker": hr.Boolean(),
}
TARGETS = {
    "classes": hr.Label("y", ("no", "yes")),
    "order": hr.OrderedLabel("y", ("low", "mid", "high")),
    "number": hr.Number("y", 0, 20, levels=10),
}
CLASSIFIERS = {
    "list": hr.PrivateRuleListClassifier,
    "tree": hr.PrivateTreeClassifier,
    "scorecard": hr.PrivateScorecardClassifier,
}
REGRESSORS = {
    "list": hr.PrivateRuleListRegressor,
    "tree": hr.PrivateTreeRegressor,
    "scorecard": hr.PrivateScorecardRegressor,
}
CASES = [(target, family) for target in TARGETS for family in CLASSIFIERS]


def rows(size, target, seed=0):
    """Return rows with their target, and a column `ward` that no schema declares."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(18, 91, size), "smoker": rng.integers(0, 2, size)})
    frame["sex"] = rng.choice(np.array(["f", "m", None], dtype=object), size, p=[0.5, 0.4, 0.1])
    frame["ward"] = rng.choice(np.array(["n", "s", "w", None], dtype=object), size)
    number = frame.age / 5 + 2 * frame.smoker + rng.normal(0, 2, size)
    words = {"classes": ("no", "no", "yes"), "order": ("low", "mid", "high")}.get(target)
    frame["y"] = number if words is None else np.array(words, dtype=object)[np.digitize(number, [9, 13])]
    return frame


@cache
def fitted(target, family):
    """Return a fitted estimator; its model is the same in every run."""
    make = (REGRESSORS if target == "number" else CLASSIFIERS)[family]
    frame = rows(600, target, seed=1)
    learner = make(epsilon=4, schema=hr.Schema(ATTRIBUTES, TARGETS[target]), random_state=0)
    return learner.fit(frame.drop(columns=["y", "ward"]), frame["y"])


class NoNoise:
    """A source that adds nothing, and says so."""

    no_guarantee_reason = "no noise"
    description = "no noise"

    def __init__(self):
        self.asked = []

    def prepare(self, mechanism):
        def exact(values):
            self.asked.append((mechanism, values.copy()))
            return values.tolist()

        return exact
