"""Small generated tables: a schema with every kind of attribute, and rows on it."""

from functools import cache

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema

SCHEMA = Schema(
    {
        "smoker": Boolean(),
        "sex": Categorical(("F", "M"), missing="bin"),
        "age": Integer(17, 90, cuts=(30, 45, 60), outside="clip"),
        "dose": Real(0.0, 1.0, cuts=(0.25, 0.5), missing="bin", outside="bin"),
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


def people(n=400, seed=0):
    """Return a table in which age, then smoking, decide the risk."""
    return _people(n, seed).copy()


@cache
def _people(n, seed):
    rng = np.random.default_rng(seed)
    smoker, age = rng.integers(0, 2, n) == 1, rng.integers(17, 91, n)
    sex = np.array(["F", "M", None], dtype=object)[rng.integers(0, 3, n)]
    dose = np.array([0.1, 0.4, np.nan])[rng.integers(0, 3, n)]
    risk = np.where(age > 60, "high", np.where(smoker, "mid", "low")).astype(object)
    return frame({"smoker": smoker, "sex": sex, "age": age, "dose": dose, "risk": risk})


def conjunction(n=2000, seed=0):
    """Return booleans, and labels that are true where the first is true and the third is not."""
    X = np.random.default_rng(seed).integers(0, 2, (n, 4)).astype(bool)
    return X, X[:, 0] & ~X[:, 2]
