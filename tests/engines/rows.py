"""Rows of every kind for a count, and a tally as rows."""

import numpy as np
import pyarrow as pa

from hedgerow import Boolean, Categorical, Integer, Label, Real, Schema

HOSTILE = 'a"; drop table patients; --'


SECRET = "secret_f00d"


SCHEMA = Schema(
    {
        "age": Integer(0, 120, cuts=(30, 60), missing="bin", outside="clip"),
        HOSTILE: Categorical(("x'); drop table t; --", "b"), missing="bin", outside="bin"),
        "select": Boolean(missing="bin"),
        "dose": Real(0, 1, cuts=(0.1, 0.5), missing="bin", missing_values=(-9,), outside="bin"),
    },
    Label("class label", ("no", "yes", "who knows")),
)


def generated(rows, seed=0):
    rng = np.random.default_rng(seed)

    def some(values, kind):
        return pa.array([values[i] for i in rng.integers(len(values), size=rows)], kind)

    return pa.table(
        {
            "age": some([5, 30, 31, 61, 200, None], pa.int64()),
            "not asked for": some([SECRET], pa.string()),
            HOSTILE: some(["x'); drop table t; --", " b", "c", "", None], pa.string()),
            "select": some([True, False, None], pa.bool_()),
            "dose": some([0.1, 0.2, -9.0, float("nan"), 7.0, None], pa.float64()),
            "class label": some(["no", "yes ", "who knows"], pa.string()),
        }
    )


def as_rows(tally):
    """The patterns with their counts, sorted."""
    return sorted(np.column_stack([tally._bins, tally._counts]).tolist())
