"""hedgerow: learn and release interpretable models from sensitive tables without exposing individual rows.

The library rests on three concepts. The **schema** describes everything public about a table. The **tally** is the
private table after one GROUP BY. The **budget** limits the releases from tallies.

Names are imported on first use (PEP 562), so that ``import hedgerow`` is fast. Related classes are in the subpackages
``hedgerow.models``, ``hedgerow.schema``, ``hedgerow.privacy``, ``hedgerow.oracle`` and ``hedgerow.errors``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow._version import __version__

if TYPE_CHECKING:
    from hedgerow import audit, datasets
    from hedgerow.client import connect
    from hedgerow.engines import open_table
    from hedgerow.evaluation import evaluate
    from hedgerow.learn import (
        DPGreedyRLClassifier,
        GreedyRuleListClassifier,
        OptimalRuleListClassifier,
        OptimalRuleListRegressor,
        OptimalTreeClassifier,
        OptimalTreeRegressor,
        PrivateAutoClassifier,
        PrivateRuleListClassifier,
        PrivateRuleListRegressor,
        PrivateScorecardClassifier,
        PrivateScorecardRegressor,
        PrivateTreeClassifier,
        PrivateTreeRegressor,
        SchemaEncoder,
        ScorecardClassifier,
    )
    from hedgerow.marginals import (
        ExprilClassifier,
        ExprilRegressor,
        MarginalLinearRegressor,
        MarginalLogisticClassifier,
    )
    from hedgerow.models import load_model, read_model
    from hedgerow.oracle import Oracle
    from hedgerow.planning import plan
    from hedgerow.privacy import Budget
    from hedgerow.report import Report
    from hedgerow.schema import (
        Boolean,
        Categorical,
        Date,
        Integer,
        Label,
        Number,
        Ordered,
        OrderedLabel,
        Real,
        Schema,
        Unit,
        Weight,
    )
    from hedgerow.tally import Tally

__all__ = [
    "Boolean", "Budget", "Categorical", "DPGreedyRLClassifier", "Date", "ExprilClassifier", "ExprilRegressor",
    "GreedyRuleListClassifier", "Integer", "Label", "MarginalLinearRegressor", "MarginalLogisticClassifier", "Number",
    "OptimalRuleListClassifier", "OptimalRuleListRegressor", "OptimalTreeClassifier", "OptimalTreeRegressor", "Oracle",
    "Ordered", "OrderedLabel", "PrivateAutoClassifier", "PrivateRuleListClassifier", "PrivateRuleListRegressor",
    "PrivateScorecardClassifier", "PrivateScorecardRegressor", "PrivateTreeClassifier", "PrivateTreeRegressor", "Real",
    "Report", "Schema", "SchemaEncoder", "ScorecardClassifier", "Tally", "Unit", "Weight", "__version__", "audit",
    "connect", "datasets", "evaluate", "load_model", "open_table", "plan", "read_model",
]  # fmt: skip

_ROOMS = (
    *("audit", "client", "datasets", "engines", "errors", "evaluation", "models", "oracle", "planning", "privacy"),
    *("report", "schema"),
)
_HOMES = {
    "client": "connect",
    "engines": "open_table",
    "evaluation": "evaluate",
    "learn": "DPGreedyRLClassifier GreedyRuleListClassifier OptimalRuleListClassifier OptimalRuleListRegressor "
    "OptimalTreeClassifier OptimalTreeRegressor PrivateAutoClassifier PrivateRuleListClassifier "
    "PrivateRuleListRegressor PrivateScorecardClassifier PrivateScorecardRegressor PrivateTreeClassifier "
    "PrivateTreeRegressor ScorecardClassifier SchemaEncoder",
    "marginals": "ExprilClassifier ExprilRegressor MarginalLinearRegressor MarginalLogisticClassifier",
    "models": "load_model read_model",
    "oracle": "Oracle",
    "planning": "plan",
    "privacy": "Budget",
    "report": "Report",
    "schema": "Boolean Categorical Date Integer Label Number Ordered OrderedLabel Real Schema Unit Weight",
    "tally": "Tally",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"hedgerow.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"hedgerow.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
