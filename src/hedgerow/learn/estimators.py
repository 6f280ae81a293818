"""Private estimators by the kind of their models: those of classes, and those of numbers."""

from collections.abc import Mapping
from typing import Any

from hedgerow.learn.rule_lists import PrivateRuleListClassifier, PrivateRuleListRegressor
from hedgerow.learn.scorecards import PrivateScorecardClassifier, PrivateScorecardRegressor
from hedgerow.learn.trees import PrivateTreeClassifier, PrivateTreeRegressor
from hedgerow.schema.targets import Target

Estimators = Mapping[str, type[Any]]
CLASSIFIERS: Estimators = {
    "rule-list": PrivateRuleListClassifier,
    "tree": PrivateTreeClassifier,
    "scorecard": PrivateScorecardClassifier,
}
REGRESSORS: Estimators = {
    "rule-list": PrivateRuleListRegressor,
    "tree": PrivateTreeRegressor,
    "scorecard": PrivateScorecardRegressor,
}


def estimators_of(target: Target) -> Estimators:
    """Return the estimators of a target, by the kind of their models, as questions to a service name them."""
    return CLASSIFIERS if target.as_number is None else REGRESSORS
