"""Estimators that learn rule lists, trees and scorecards from a tally, with and without differential privacy."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.learn.auto_classifier import PrivateAutoClassifier
    from hedgerow.learn.encoder import SchemaEncoder
    from hedgerow.learn.optimal import (
        OptimalRuleListClassifier,
        OptimalRuleListRegressor,
        OptimalTreeClassifier,
        OptimalTreeRegressor,
    )
    from hedgerow.learn.rule_lists import GreedyRuleListClassifier, PrivateRuleListClassifier, PrivateRuleListRegressor
    from hedgerow.learn.scorecards import PrivateScorecardClassifier, PrivateScorecardRegressor, ScorecardClassifier
    from hedgerow.learn.search.cost import Cost
    from hedgerow.learn.ssrl.classifier import DPGreedyRLClassifier
    from hedgerow.learn.trees import PrivateTreeClassifier, PrivateTreeRegressor

__all__ = [
    "Cost", "DPGreedyRLClassifier", "GreedyRuleListClassifier", "OptimalRuleListClassifier", "OptimalRuleListRegressor",
    "OptimalTreeClassifier", "OptimalTreeRegressor", "PrivateAutoClassifier", "PrivateRuleListClassifier",
    "PrivateRuleListRegressor", "PrivateScorecardClassifier", "PrivateScorecardRegressor", "PrivateTreeClassifier",
    "PrivateTreeRegressor", "SchemaEncoder", "ScorecardClassifier",
]  # fmt: skip

_HOMES = (
    "search.cost", "trees", "rule_lists", "optimal", "encoder", "ssrl.classifier", "scorecards", "auto_classifier",
)  # fmt: skip  # the slow last


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """Return a name of a module that is imported now: scikit-learn takes long."""
    if name not in __all__:
        raise AttributeError(f"module 'hedgerow.learn' has no attribute {name!r}")
    homes = (import_module(f"hedgerow.learn.{home}") for home in _HOMES)
    return next(vars(home)[name] for home in homes if name in vars(home))
