"""The rows of a scorecard's bins, counted from a table, held against counts written out."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd

from hedgerow.audit.inference.bin_risk import bin_risk
from hedgerow.models import AttributePoints, Scorecard
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.unit import Unit
from hedgerow.schema import Boolean, Categorical, Integer, Label, Number, Schema

NONE = PrivacyCard.none("example", software="hedgerow")
ATTRIBUTES = {
    "age": Integer(0, 120, cuts=(30, 45, 60)),
    "area": Categorical(("north", "islands", "south", "east")),
    "smoker": Boolean(missing="bin"),
}
PARTS = (
    AttributePoints("age", ((-3,), (2,), (2,), (5,))),  # 31 to 60 share a line
    AttributePoints("area", ((1,), (40,), (1,), (0,))),  # north and south share a line
    AttributePoints("smoker", ((0,), (2,), (9,))),
)


def a_card(label=None, **more):
    return Scorecard(Schema(ATTRIBUTES, label or Label("ill", ("no", "yes")), **more), (0,), PARTS, 0.1, None, NONE)


def a_survey(rows=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 120, rows),
            "area": rng.choice(["north", "south", "east"], rows),
            "smoker": pd.array(rng.choice([True, False], rows).tolist(), dtype="boolean"),
        }
    )
    ill = pd.Series(rng.choice(["no", "yes"], rows), name="ill")
    frame.loc[[3, 8], "area"], ill[[3, 8]] = "islands", "yes"
    frame.loc[[5], "smoker"] = pd.NA
    return frame, ill


def lines_of(row):
    """Return the printed lines that a row falls into, by their words."""
    age = next(name for most, name in ((30, "0 to 30"), (60, "31 to 60"), (120, "61 to 120")) if row.age <= most)
    area = "north, south" if row.area in ("north", "south") else row.area
    smoker = "missing" if pd.isna(row.smoker) else "true" if row.smoker else "false"
    return [f"age = {age}", f"area = {area}", f"smoker = {smoker}"]


def test_rows_and_classes_of_each_line_are_counted():
    frame, ill = a_survey()
    counted = Counter(
        (line, label) for row, label in zip(frame.itertuples(), ill, strict=True) for line in lines_of(row)
    )
    risk = bin_risk(a_card(), (frame, ill), 10)
    assert sorted(risk.leaves) == sorted({line for line, _ in counted} | {"smoker = missing"})
    assert risk.classes == ("no", "yes")
    for name, rows, counts in zip(risk.leaves, risk.rows, risk.counts, strict=True):
        assert counts == (counted[name, "no"], counted[name, "yes"])
        assert rows == sum(counts)
    assert [risk.leaves[i] for i in risk.small] == ["area = islands", "smoker = missing"]
    assert set(risk.pure) == set(risk.small)


def test_units_are_counted_once_in_each_bin():
    frame, ill = a_survey(40)
    frame["person"] = [*range(20), *range(20)]
    risk = bin_risk(a_card(unit=Unit("person", 2)), (frame, ill), 10)
    assert risk.view == "units"
    for name, units in zip(risk.leaves, risk.rows, strict=True):
        assert units == len({row.person for row in frame.itertuples() if name in lines_of(row)})


def test_levels_of_a_number_take_the_place_of_classes():
    frame, _ = a_survey(40)
    income = pd.Series([90.0] * 20 + [10.0] * 20, name="income")
    card = a_card(Number("income", 0, 100))
    risk = bin_risk(replace(card, parts=PARTS[:1]), (frame, income), 10)
    young = [income[i] for i, age in enumerate(frame.age) if age <= 30]
    assert sorted(filter(None, risk.counts[0])) == sorted(Counter(young).values())
