"""hedgerow: learn and release interpretable models from sensitive tables without exposing the rows.

Three ideas carry everything. The **schema** is what is public. The **tally** is what is private: the table after one
GROUP BY. The **budget** is the only door between them.
"""

from hedgerow import datasets, errors
from hedgerow._version import __version__
from hedgerow.learn import GreedyRuleListClassifier, PrivateRuleListClassifier
from hedgerow.models import Rule, RuleList
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.card import Charge, PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Real, Schema
from hedgerow.tally import Tally

__all__ = [
    "Boolean",
    "Budget",
    "Categorical",
    "Charge",
    "GreedyRuleListClassifier",
    "Integer",
    "Label",
    "Literal",
    "PrivacyCard",
    "PrivateRuleListClassifier",
    "Real",
    "Rule",
    "RuleList",
    "Schema",
    "Tally",
    "__version__",
    "datasets",
    "errors",
]
