"""What an object becomes is decided by it alone, whatever stands beside it."""

import datetime
import struct
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from hedgerow.errors import DomainError
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.tables.objects import arrow_of_categories, arrow_of_objects, has_object_categories

OF_A_KIND = {
    "numbers": [1, 0.5, np.float16(0.9), np.float32(0.1), np.int8(3), Decimal("0.3"), 2**53, np.longdouble(0.25)],
    "text": ["a", np.str_("b"), "1", ""],
    "booleans": [True, np.False_],
    "times": [datetime.datetime(2020, 1, 1, 23, 59), datetime.datetime(1969, 12, 31)],
    "dates": [datetime.date(2020, 1, 1), datetime.date(1969, 12, 31)],
}
GAPS = [None, float("nan"), np.float32("nan"), Decimal("nan"), pd.NA, pd.NaT]


def objects(values):
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result


@pytest.mark.parametrize("kind", OF_A_KIND)
@pytest.mark.claim("so that one row does not change how other rows are read")
def test_the_conversion_of_a_value_depends_on_it_alone(kind):
    values = OF_A_KIND[kind]
    alone = [arrow_of_objects(objects([value])) for value in values]
    assert len({item.type for item in alone}) == 1
    for gap in GAPS:
        together = arrow_of_objects(objects([gap, *values, gap]))
        assert together.type == alone[0].type
        assert together[1:-1].equals(pa.concat_arrays(alone))
        assert together.is_null().to_pylist() == [True] + [False] * len(values) + [True]


def test_numbers_are_the_float64_nearest_to_them():
    assert arrow_of_objects(objects(OF_A_KIND["numbers"])).to_pylist() == [
        1.0,
        0.5,
        float(np.float16(0.9)),
        float(np.float32(0.1)),
        3.0,
        0.3,
        2.0**53,
        0.25,
    ]


BAD = [
    [1, "a"],
    [True, 1],
    [datetime.date(2020, 1, 1), 1],
    [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)],
    [datetime.datetime(2020, 1, 1), datetime.date(2020, 1, 1)],
    [np.datetime64("2020-01-01"), np.float32(1.0)],
    [b"a"],
    [2**53 + 1],
    [Decimal(1), -(2**53) - 1],
    [Decimal("Infinity")],
    [object()],
    [1j],
    [[1]],
]


@pytest.mark.parametrize("values", BAD)
def test_mixtures_and_other_kinds_are_refused(values):
    with pytest.raises(DomainError, match=r"values .* Convert the column"):
        Column.from_numpy(objects(values), "a")


def test_values_that_are_all_missing_are_a_column_without_a_type():
    assert arrow_of_objects(objects(GAPS)).type == pa.null()


@pytest.mark.parametrize("more", [[], [1], [True], ["text"], [np.longdouble(1.9)]])
def test_a_category_of_no_row_changes_none(more):
    """One more once turned 0.9 into 0."""
    categories = pd.Index([np.float16(0.9), np.float16(0.5), *more], dtype=object)
    series = pd.Series(pd.Categorical.from_codes([0, 1, -1, 0], categories=categories))
    assert has_object_categories(series)
    assert arrow_of_categories(series).to_pylist() == [0.89990234375, 0.5, None, 0.89990234375]
    column = Table.of(pd.DataFrame({"a": series})).column("a", 0)
    assert column.present().tolist() == [0.89990234375, 0.5, 0.89990234375]


def test_the_conversion_of_a_category_depends_on_it_alone():
    categories = pd.Index([np.float16(0.9), 1, np.longdouble(1.9)], dtype=object)
    series = pd.Series(pd.Categorical.from_codes([0, 1, 2], categories=categories))
    assert arrow_of_categories(series).to_pylist() == [0.89990234375, 1.0, 1.9]
    assert not has_object_categories(pd.Series(["a"]).astype("category").cat.rename_categories([1]))


def test_tagged_missing_values_of_stata_are_missing(tmp_path):
    pd.DataFrame({"a": [1.5, 2.0, 30.0]}).to_stata(tmp_path / "t.dta", write_index=False)
    content = (tmp_path / "t.dta").read_bytes()
    for value, tag in ((1.5, 0), (2.0, 26)):  # the double that is ., and those of .a to .z
        missing = (0x7FE0_0000_0000_0000 + (tag << 40)).to_bytes(8, "little")
        content = content.replace(struct.pack("<d", value), missing)
    (tmp_path / "t.dta").write_bytes(content)
    frame = pd.read_stata(tmp_path / "t.dta", convert_missing=True)
    assert [str(value) for value in frame["a"]][:2] == [".", ".z"]
    column = Table.of(frame).column("a", 0)
    assert column.is_missing.tolist() == [True, True, False]
    assert column.present().tolist() == [30.0]
