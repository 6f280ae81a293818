"""Claim: one-hot columns "are recognised" (reconstruction.md), or refused: a column is what its name is read as.

``grade_0.0``, the first bin of a ``KBinsDiscretizer``, was once read as the category 0 of `grade`.
"""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from hedgerow.audit import reconstruction
from hedgerow.audit.adapters.names import meaning
from hedgerow.errors import SchemaError
from hedgerow.schema import Boolean, Categorical, Integer, Literal, Real, Schema

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "grade": RNG.integers(0, 4, 300),
        "hue": RNG.choice(["red", "blue", "green", "pink"], 300, p=[0.5, 0.3, 0.15, 0.05]),
        "smoker": RNG.integers(0, 2, 300),
        "age": RNG.integers(18, 90, 300),
        "bmi": RNG.normal(25, 4, 300).clip(12, 50).round(1),
    }
)
Y = ((FRAME["grade"] > 1) ^ FRAME["hue"].isin(["green", "pink"]) ^ (FRAME["age"] > 50) ^ (FRAME["bmi"] > 27)).astype(
    int
)
SCHEMA = Schema(
    {
        "grade": Categorical((0, 1, 2, 3)),
        "hue": Categorical(("red", "blue", "green", "pink")),
        "smoker": Boolean(),
        "age": Integer(0, 120),
        "bmi": Real(10, 60),
    }
)


def test_a_bins_number_is_no_value():
    bins = KBinsDiscretizer(2, strategy="uniform", encode="onehot-dense").set_output(transform="pandas")
    encoded = bins.fit_transform(FRAME[["grade"]])
    assert list(encoded) == ["grade_0.0", "grade_1.0"]
    tree = DecisionTreeClassifier(random_state=0).fit(encoded, Y)
    schema = Schema({"grade": SCHEMA["grade"]})
    for features in (None, list(encoded), [f"bins__{name}" for name in encoded]):
        with pytest.raises(SchemaError, match=r"can be a value of grade or the number of a bin \(KBinsDiscretizer\)"):
            reconstruction(tree, schema, features=features)


@pytest.mark.parametrize("name", ["grade_0.0", "grade_3.0", "grade=1.0", "age_2.0", "bmi_0.0"])
def test_no_name_of_a_bin_is_read(name):
    with pytest.raises(SchemaError, match=r"number of a bin|not declared"):
        meaning(name, SCHEMA)


def test_verbose_names_are_those_of_the_columns():
    encoder = ColumnTransformer(
        [("hot", OneHotEncoder(sparse_output=False), ["hue"])], remainder="passthrough"
    ).set_output(transform="pandas")
    encoded = encoder.fit_transform(FRAME)
    assert {"hot__hue_red", "remainder__age"} <= set(encoded)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(encoded, Y)
    found = reconstruction(tree, SCHEMA, data=FRAME)
    assert found.supports == reconstruction(tree, SCHEMA).supports
    assert meaning("outer__hot__hue_red", SCHEMA) == Literal("hue", "=", ("red",))
    assert meaning("remainder__age", SCHEMA) == "age"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("scale__age", "is what a step made of age, and its name does not tell what"),
        ("scale__smoker", "is what a step made of smoker, and its name does not tell what"),
        ("hot__hue_infrequent_sklearn", "stands for the infrequent values of hue, and its name does not tell which"),
        ("hue_infrequent_sklearn", "stands for the infrequent values of hue, and its name does not tell which"),
        ("hot__hue_white", "is a column of the model but not declared"),
        ("bins__age_1.0", "can be a value of age or the number of a bin (KBinsDiscretizer)"),
    ],
)
def test_what_a_name_does_not_tell_is_refused(name, why):
    with pytest.raises(SchemaError, match=f"{re.escape(why)}; give features="):
        meaning(name, SCHEMA)


def test_a_verbose_name_of_two_meanings_is_refused():
    schema = Schema({"a__b": Categorical(("c", "x")), "b": Categorical(("c", "y"))})
    with pytest.raises(SchemaError, match="can be a__b = c or b = c; give features="):
        meaning("a__b_c", schema)
    assert meaning("a__b_x", schema) == Literal("a__b", "=", ("x",))
