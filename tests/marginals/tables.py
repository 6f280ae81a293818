"""Small private targets, generated: every kind of column, and values no source has seen."""

import math

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

from hedgerow.schema import Boolean, Categorical, Integer, Real, Schema
from hedgerow.tables.frames import Table

FLAG = Boolean(missing="bin")
WORD = Categorical(("r", "g"), missing="bin", missing_values=("?",), outside="bin")
CLIPPED = Real(0.0, 10.0, (2.5, 5.0), missing="bin", outside="clip")
CELLED = Real(0.0, 10.0, (2.5, 5.0), missing="bin", outside="bin")
AGE = Integer(0, 100, (17, 60), missing="bin", outside="clip")
ALL = Schema({"flag": FLAG, "word": WORD, "size": CLIPPED, "age": AGE})
SOME = Schema({"size": CELLED, "word": WORD})
ONE = Schema({"age": AGE})
BINS = [ALL, SOME, ONE]
ROW = st.fixed_dictionaries(
    {
        "flag": st.sampled_from([True, False, None]),
        "word": st.sampled_from(["r", "g", "?", "unseen", "", None]),
        "size": st.sampled_from([-1e300, -1.0, 0.0, 2.5, 2.6, 5.0, 9.0, 10.0, 11.0, 1e300, None]),
        "age": st.sampled_from([-(2**40), 0, 17, 18, 60, 61, 100, 2**40]),
        "label": st.booleans(),
    }
)
TYPES = {"flag": "boolean", "word": "object", "size": "float64", "age": "int64", "label": "bool"}
POLARS = {"flag": pl.Boolean, "word": pl.String, "size": pl.Float64, "age": pl.Int64, "label": pl.Boolean}


def pandas_frame(rows):
    types = {**TYPES, "word": "string"}
    return pd.DataFrame(rows, columns=list(TYPES)).astype(types)


def polars_frame(rows):
    return pl.DataFrame(rows, schema=POLARS)


def arrow_frame(rows):
    return polars_frame(rows).to_arrow()


FRAMES = {"pandas": pandas_frame, "polars": polars_frame, "pyarrow": arrow_frame}


def split(table):
    """Return a table without its labels, and its labels."""
    if isinstance(table, pd.DataFrame):
        return table.drop(columns="label"), table["label"]
    if isinstance(table, pl.DataFrame):
        return table.drop("label"), table["label"]
    return table.drop_columns("label"), table["label"]


def bin(attribute, value):
    """Return the number of a value's bin: slow and obvious."""
    known = len(attribute.known_bins)
    if value is None or value == "" or value in attribute.missing_values:
        return known
    if attribute is FLAG:
        return int(value)
    if attribute is WORD:
        return WORD.values.index(value) if value in WORD.values else known + 1
    if attribute is CELLED and not attribute.low <= value <= attribute.high:
        return known + 1
    return sum(value > cut for cut in attribute.cuts)


def slow_counts(bins, rows, counted=bool):
    """Return how many of the rows that are counted each bin has."""
    result = []
    for name, attribute in bins.attributes:
        counts = [0] * len(attribute.bins)
        for row in rows:
            counts[bin(attribute, row[name])] += bool(counted(row))
        result += counts
    return result


class Judge:
    """Predicts each row by itself; what is no class for some rows, and an error that quotes them for others."""

    def __init__(self, cut=2.5, silly=None, angry=None, labels=(False, True)):
        self.cut, self.silly, self.angry, self.labels = cut, silly, angry, labels

    def one(self, row):
        """Return what is predicted for a row; None for an error."""
        if self.angry is not None and str(row["word"]) == self.angry:
            return None
        if self.silly is not None and str(row["word"]) == self.silly:
            return "nonsense"
        size = row["size"]
        missing = size is None or (isinstance(size, float) and math.isnan(size))
        return self.labels[int(not missing and size > self.cut)]

    def predict(self, X):
        rows = list(Table.of(X).data.iter_rows(named=True))
        for row in rows:
            if self.one(row) is None:
                raise ValueError(f"what is {row}?")
        return np.array([self.one(row) for row in rows], dtype=object)
