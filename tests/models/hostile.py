"""A model with names, values and classes that a query could obey."""

from hedgerow.models import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema

NONE = PrivacyCard.none("example", software="hedgerow")


HOSTILE = 'a"b`c\\; drop table t'


HOSTILE_VALUE = "x\\'); drop table t; -- ${spark.app.name} %s {0} \n"


FLAG = Boolean(missing="bin", missing_values=(9,))


AGE = Integer(0, 90, cuts=(30, 60), missing="bin", missing_values=("?", -9, 99), outside="bin")


def hostile_model() -> RuleList:
    schema = Schema(
        {HOSTILE: Categorical((HOSTILE_VALUE.strip(), "O'Brien")), "select": Boolean()}, Label("y", ("a'b", "c"))
    )
    rules = (
        Rule((Literal(HOSTILE, "=", (HOSTILE_VALUE.strip(),)), Literal("select", "true")), (1, 0)),
        Rule((Literal(HOSTILE, "!=", ("O'Brien",)),), (0, 1)),
        Rule((), (3, 1)),
    )
    return RuleList(schema, rules, NONE)
