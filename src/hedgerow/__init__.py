"""hedgerow: learn and release interpretable models from sensitive tables without exposing the rows.

Three ideas carry everything. The **schema** is what is public. The **tally** is what is private: the table after one
GROUP BY. The **budget** is the only door between them.

Names are imported when they are first used (PEP 562), so that ``import hedgerow`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow._version import __version__

if TYPE_CHECKING:
    from hedgerow import audit, datasets, engines, errors, report, studies
    from hedgerow.client.connect import connect
    from hedgerow.client.federated import FederatedOracle
    from hedgerow.engines.sources import open_table
    from hedgerow.learn import (
        DPGreedyRLClassifier,
        GreedyRuleListClassifier,
        OptimalRuleListClassifier,
        OptimalTreeClassifier,
        PrivateRuleListClassifier,
        PrivateScorecardClassifier,
        PrivateTreeClassifier,
        ScorecardClassifier,
    )
    from hedgerow.marginals import Always, ExprilClassifier, MarginalLogisticClassifier, Oracle, choose_bins
    from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree, load_model
    from hedgerow.planning.forecast import Forecast, plan
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.budget_file import FileBudget
    from hedgerow.privacy.card import PrivacyCard
    from hedgerow.privacy.charge import Charge
    from hedgerow.report import Report
    from hedgerow.schema import Attribute, Boolean, Categorical, Date, Integer, Label, Literal, Real, Schema, Unit
    from hedgerow.tally import Tally

__all__ = [
    "Always",
    "Attribute",
    "AttributePoints",
    "Boolean",
    "Budget",
    "Categorical",
    "Charge",
    "DPGreedyRLClassifier",
    "Date",
    "ExprilClassifier",
    "FederatedOracle",
    "FileBudget",
    "Forecast",
    "GreedyRuleListClassifier",
    "Integer",
    "Label",
    "Leaf",
    "Literal",
    "MarginalLogisticClassifier",
    "OptimalRuleListClassifier",
    "OptimalTreeClassifier",
    "Oracle",
    "PrivacyCard",
    "PrivateRuleListClassifier",
    "PrivateScorecardClassifier",
    "PrivateTreeClassifier",
    "Real",
    "Report",
    "Rule",
    "RuleList",
    "Schema",
    "Scorecard",
    "ScorecardClassifier",
    "Split",
    "Tally",
    "Tree",
    "Unit",
    "__version__",
    "audit",
    "choose_bins",
    "connect",
    "datasets",
    "engines",
    "errors",
    "load_model",
    "open_table",
    "plan",
    "report",
    "studies",
]

_ROOMS = ("audit", "datasets", "engines", "errors", "report", "studies")
_HOMES = {
    "client.connect": ("connect",),
    "client.federated": ("FederatedOracle",),
    "engines.sources": ("open_table",),
    "learn": (
        "DPGreedyRLClassifier",
        "GreedyRuleListClassifier",
        "OptimalRuleListClassifier",
        "OptimalTreeClassifier",
        "PrivateRuleListClassifier",
        "PrivateScorecardClassifier",
        "PrivateTreeClassifier",
        "ScorecardClassifier",
    ),
    "marginals": ("Always", "ExprilClassifier", "MarginalLogisticClassifier", "Oracle", "choose_bins"),
    "models": ("AttributePoints", "Leaf", "Rule", "RuleList", "Scorecard", "Split", "Tree", "load_model"),
    "planning.forecast": ("Forecast", "plan"),
    "privacy.budget": ("Budget",),
    "privacy.budget_file": ("FileBudget",),
    "privacy.card": ("PrivacyCard",),
    "privacy.charge": ("Charge",),
    "report": ("Report",),
    "schema": ("Attribute", "Boolean", "Categorical", "Date", "Integer", "Label", "Literal", "Real", "Schema", "Unit"),
    "tally": ("Tally",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"hedgerow.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"hedgerow.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
