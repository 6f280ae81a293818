"""Scorecards of two classes and of three, as examples."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

from hedgerow.models import AttributePoints, Scorecard
from hedgerow.models.point_totals import PointTotals
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema

NONE = PrivacyCard.none("example", software="hedgerow")
CARD = PrivacyCard((Charge("points by bin", Fraction(1)),), noise="OpenDP", software="hedgerow")
ATTRIBUTES = {
    "age": Integer(17, 90, cuts=(30, 45, 60), missing="bin"),
    "ward": Categorical(("surgery", "day clinic"), outside="bin"),
    "smoker": Boolean(missing="bin"),
    "dose": Real(0, 1, cuts=(0.5,)),
}
SCHEMA = Schema(ATTRIBUTES, Label("ill", ("no", "yes")))
AGE = AttributePoints("age", ((-12,), (-3,), (-3,), (11,), (0,)))
WARD = AttributePoints("ward", ((0,), (6,), (1,)))
SMOKER = AttributePoints("smoker", ((-2,), (7,), (0,)))
TWO = Scorecard(SCHEMA, (-7,), (AGE, WARD, SMOKER), 0.1, 0.25, CARD)
AGE_ROWS: dict[str, Any] = {"rows": (210, 640, 330, 430, -5), "rows_error": 8.0}
NOISY = Scorecard(
    SCHEMA,
    (-7,),
    (
        replace(AGE, errors=((2.0,), (0.4,), (0.4,), (1.0,), (8.0,)), unsupported=(4,), **AGE_ROWS),
        replace(WARD, errors=((0.0,), (1.53,), (0.6,)), rows=(1000, 512, 93), rows_error=5.0),
        replace(SMOKER, errors=((0.2,), (0.5,), (3.0,)), rows=(900, 611, 94), rows_error=0.0),
    ),
    0.1,
    0.25,
    CARD,
)
THREE = Scorecard(
    Schema(ATTRIBUTES, Label("goes to", ("home", "intensive care", "ward"))),
    (1, 0, 1),
    (AttributePoints("dose", ((4, 0, 0), (-1, 2, -1))), AttributePoints("smoker", ((0, 0, 0), (-2, 3, 0), (0, 0, 1)))),
    0.5,
    None,
    NONE,
)


def sheet(model: Scorecard) -> PointTotals:
    """Return what a scorecard shows."""
    return model._totals
