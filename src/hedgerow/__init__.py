"""hedgerow: learn and release interpretable models from sensitive tables without exposing the rows.

Three ideas carry everything. The **schema** is what is public. The **tally** is what is private: the table after one
GROUP BY. The **budget** is the only door between them.
"""

from hedgerow import audit, datasets, errors
from hedgerow._version import __version__
from hedgerow.learn import (
    DPGreedyRLClassifier,
    GreedyRuleListClassifier,
    OptimalRuleListClassifier,
    OptimalTreeClassifier,
    PrivateRuleListClassifier,
    PrivateTreeClassifier,
)
from hedgerow.marginals import ExprilClassifier, MarginalLogisticClassifier, Oracle
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree, load_model
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.card import Charge, PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Real, Schema
from hedgerow.tally import Tally

__all__ = [
    "Boolean",
    "Budget",
    "Categorical",
    "Charge",
    "DPGreedyRLClassifier",
    "ExprilClassifier",
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
    "PrivateTreeClassifier",
    "Real",
    "Rule",
    "RuleList",
    "Schema",
    "Split",
    "Tally",
    "Tree",
    "__version__",
    "audit",
    "datasets",
    "errors",
    "load_model",
]
