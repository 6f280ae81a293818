"""The tables and the rule list of the papers."""

import pandas as pd

from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Integer, Label, Literal, Schema

CARD = PrivacyCard.none("example", software="hedgerow")


LABEL = Label("y", (0, 1))


BITS = {"a1": (0, 1), "a2": (0, 1), "a3": (0, 1)}


TREE_SCHEMA = Schema({"a1": Integer(10, 15, cuts=(11,)), "a2": Boolean(), "a3": Integer(1, 3, cuts=(1,))}, LABEL)


# PDR, Figure 1, its leaves so ordered that rows stand as in Table II
FIGURE_1 = Tree(
    TREE_SCHEMA,
    Split(
        Literal("a3", ">", (1,)),
        Split(Literal("a1", ">", (11,)), Leaf((2, 0)), Leaf((0, 1))),
        Leaf((0, 1)),
    ),
    CARD,
)


TABLE_I = pd.DataFrame({"a1": [12, 14, 11, 14], "a2": [0, 1, 1, 0], "a3": [3, 2, 2, 1], "y": [0, 0, 1, 1]})


LIST_SCHEMA = Schema({name: Boolean() for name in BITS}, LABEL)


A1, A2, A3 = (Literal(name, "true") for name in LIST_SCHEMA)


RULE_LIST_1 = RuleList(LIST_SCHEMA, (Rule((A1, A2), (0, 2)), Rule((A3,), (2, 0)), Rule((), (0, 1))), CARD)


TABLE_III = pd.DataFrame({"a1": [1, 1, 0, 1, 1], "a2": [1, 1, 1, 0, 0], "a3": [1, 0, 1, 1, 0], "y": [1, 1, 0, 0, 1]})


def table_ii():
    left = {"a1": range(12, 16), "a3": {2, 3}}
    domains = {"a1": range(10, 16), "a2": (0, 1), "a3": (1, 2, 3)}
    return ProbabilisticDataset(domains, [left, left, {"a1": {10, 11}, "a3": {2, 3}}, {"a3": 1}], (0, 0, 1, 1))
