"""Small generated tables: a schema with every kind of attribute, and rows on it."""

import pandas as pd
from hypothesis import strategies as st

from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema

SCHEMA = Schema(
    {
        "smoker": Boolean(),
        "sex": Categorical(("F", "M"), missing="cell"),
        "age": Integer(17, 90, cuts=(30, 45, 60), outside="clip"),
        "dose": Real(0.0, 1.0, cuts=(0.25, 0.5), missing="cell", outside="cell"),
    },
    Label("risk", ("high", "low", "mid")),
)
ROW = st.fixed_dictionaries(
    {
        "smoker": st.booleans(),
        "sex": st.sampled_from(["F", "M", None]),
        "age": st.integers(10, 100),
        "dose": st.sampled_from([0.0, 0.25, 0.3, 0.7, 1.0, 5.0, None]),
        "risk": st.sampled_from(["high", "low", "mid"]),
    }
)


def frame(rows):
    """Return rows as a pandas frame whose types do not depend on the rows."""
    types = {"smoker": bool, "sex": "object", "age": "int64", "dose": "float64", "risk": "object"}
    return pd.DataFrame(rows, columns=list(types)).astype(types)
