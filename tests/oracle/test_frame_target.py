"""Made-up rows: of the target's types, from public values only, and good enough to try a hypothesis on."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.schema import Boolean, Categorical, Integer, Real, Schema
from hedgerow.tables.frames import Table
from tests.marginals.tables import ALL, BINS, FRAMES, ONE, split

NUMBER = Real(-0.5, 300.5, (2.5, 5.5), missing="bin", outside="clip")
WHOLE = Integer(0, 10, (2, 5), missing="bin", outside="clip")
WORD = Categorical(("r", "g"), missing="bin", outside="bin")
DIGIT = Categorical(("1", 2), missing="bin", outside="bin")
FLAG = Boolean(missing="bin")
TRUTH = pd.Series([True, False, None])
LETTERS = ["r", "b", None]
COLUMNS = {
    "pandas int64": (pd.Series([1, 2, 3]), NUMBER),
    "pandas int8": (pd.Series([1, 2, 3], dtype="int8"), NUMBER),
    "pandas uint8": (pd.Series([1, 2, 3], dtype="uint8"), NUMBER),
    "pandas Int64": (pd.Series([1, None, 3], dtype="Int64"), NUMBER),
    "pandas Int64 whole": (pd.Series([1, None, 3], dtype="Int64"), WHOLE),
    "pandas arrow int": (pd.Series([1, None, 3], dtype="int64[pyarrow]"), NUMBER),
    "pandas float": (pd.Series([1.5, None, 3]), NUMBER),
    "pandas float32": (pd.Series([1.5, None, 3], dtype="float32"), WHOLE),
    "pandas Float64": (pd.Series([1.5, None, 3], dtype="Float64"), NUMBER),
    "pandas digits": (pd.Series([1, 2, 3]), DIGIT),
    "pandas bool": (pd.Series([True, False, True]), FLAG),
    "pandas objects, none": (pd.Series([None] * 3, dtype=object), WORD),
    "pandas boolean": (TRUTH.astype("boolean"), FLAG),
    "pandas str": (pd.Series(LETTERS), WORD),
    "pandas words": (pd.Series(LETTERS, dtype=object), WORD),
    "pandas string": (pd.Series(LETTERS, dtype="string"), WORD),
    "pandas arrow string": (pd.Series(LETTERS, dtype="string[pyarrow]"), WORD),
    "pandas category": (pd.Series(LETTERS, dtype="category"), WORD),
    "pandas ordered": (pd.Series(pd.Categorical(LETTERS, ordered=True)), WORD),
    "pandas ordered, none in common": (pd.Series(pd.Categorical(["a", "b", None], ordered=True)), WORD),
    "polars int64": (pl.Series([1, 2, None]), NUMBER),
    "polars uint16": (pl.Series([1, 2, None], dtype=pl.UInt16), NUMBER),
    "polars int8": (pl.Series([1, 2, None], dtype=pl.Int8), NUMBER),
    "polars float32": (pl.Series([1.5, 2, None], dtype=pl.Float32), NUMBER),
    "polars decimal": (pl.Series([1, 2, None]).cast(pl.Decimal(10, 2)), NUMBER),
    "polars bool": (pl.Series([True, False, None]), FLAG),
    "polars string": (pl.Series(LETTERS), WORD),
    "polars category": (pl.Series(LETTERS, dtype=pl.Categorical), WORD),
    "polars enum": (pl.Series(LETTERS, dtype=pl.Enum(["r", "g", "b"])), WORD),
    "polars enum, none in common": (pl.Series(["a", "b", None], dtype=pl.Enum(["a", "b"])), WORD),
    "pyarrow int64": (pa.array([1, 2, None]), NUMBER),
    "pyarrow int8": (pa.array([1, 2, None], pa.int8()), NUMBER),
    "pyarrow float": (pa.array([1.5, 2, None]), WHOLE),
    "pyarrow bool": (pa.array([True, False, None]), FLAG),
    "pyarrow string": (pa.array(LETTERS), WORD),
    "pyarrow dictionary": (pa.array(LETTERS).dictionary_encode(), WORD),
}


def table(column):
    if isinstance(column, pd.Series):
        return column.to_frame("a")
    return pl.DataFrame({"a": column}) if isinstance(column, pl.Series) else pa.table({"a": column})


def types(frame):
    return frame.schema.types if isinstance(frame, pa.Table) else list(frame.dtypes)


@pytest.mark.parametrize("name", COLUMNS)
def test_made_up_rows_have_the_types_of_the_target_and_values_of_the_bins(name):
    column, attribute = COLUMNS[name]
    target, bins = table(column), Schema({"a": attribute})
    asked = hr.Oracle(target, [False, True, True], None)
    made = asked._target.probe_rows(bins).data.to_native()
    assert type(made) is type(target)
    if "categor" not in name and "dictionary" not in name and name != "pandas string":
        same = [str(kind).replace("large_string", "string") for kind in types(target)]
        assert [str(kind).lower() for kind in types(made)] == [kind.lower() for kind in same] or "pandas" in name
    codes = attribute.encode(Table.of(made).column("a", 0))
    if "ordered" not in name and "none in common" not in name:
        assert set(codes.tolist()) >= {0, 1}
    answer = asked.error_marginals(bins, Always(True))
    assert answer.wrong.sum() == 1
    assert answer.right.sum() == 2


@pytest.mark.parametrize("kind", FRAMES)
def test_made_up_rows_hold_every_column_also_those_without_bins(kind):
    asked = hr.Oracle(*split(FRAMES[kind]([])), None)
    for bins in BINS:
        made = asked._target.probe_rows(bins)
        assert made.column_names == asked.columns
        assert len(made) == 8


def test_made_up_rows_are_made_of_the_bins_alone():
    """Two targets of the same types, no value in common: the same probe rows."""
    row = {"flag": True, "word": "zebra", "size": 1e6, "age": -7, "label": True}
    for frame in FRAMES.values():
        item, other = (hr.Oracle(*split(frame(rows)), None) for rows in ([], [row] * 9))
        for bins in (ALL, ONE):
            made = [asked._target.probe_rows(bins).data.to_native() for asked in (item, other)]
            assert made[0].equals(made[1])


def test_bins_of_an_array_apply_by_position_whatever_their_names():
    X = np.array([[1.0, 9.0], [3.0, 1.0], [7.0, 1.0]])
    asked = hr.Oracle(X, [0, 1, 1], None)
    answer = asked.error_marginals(Schema({"length": WHOLE, "width": WHOLE}), Always(1))
    assert answer.wrong.tolist() == [1, 0, 0, 0, 0, 0, 1, 0]
    with pytest.raises(hr.errors.DomainError, match=r"expected 1 column \(length\), in this order, got 2"):
        asked.marginals(Schema({"length": WHOLE}))


def test_an_array_of_objects_is_one_of_words():
    X = np.array([["a", "r"], [None, "g"], ["b", None], ["b", "unseen"]], dtype=object)
    asked = hr.Oracle(X, [0, 1, 1, 0], None)
    bins = Schema({"x0": WORD, "x1": WORD})
    made = asked._target.probe_rows(bins).data
    assert {type(value) for value in made.ravel()} == {str}
    words = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), [1]), remainder="drop")
    model = make_pipeline(words, DecisionTreeClassifier()).fit(
        np.array([["b", "r"], ["b", "g"]], dtype=object), np.array([0, 1])
    )
    answer = asked.error_marginals(bins, model)
    assert (answer.wrong + answer.right).tolist() == [0, 0, 1, 3, 1, 1, 1, 1]
    for holds_others in (np.array([[1.5, "r"]], dtype=object), pd.DataFrame({"x0": [True, None]}, dtype=object)):
        with pytest.raises(hr.errors.DomainError, match=r"column 'x0': .*dtype object"):
            hr.Oracle(holds_others, [0] * len(holds_others), None)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint8", "float32", "bool"])
def test_arrays_of_any_type_of_numbers_are_asked_about(dtype):
    X = np.array([[1], [0], [1]]).astype(dtype)
    attribute = FLAG if dtype == "bool" else NUMBER
    answer = hr.Oracle(X, [0, 1, 1], None).error_marginals(Schema({"a": attribute}), Always(1))
    assert answer.wrong.sum() == 1
    made = hr.Oracle(X, [0, 1, 1], None)._target.probe_rows(Schema({"a": attribute}))
    assert made.data.dtype == X.dtype
