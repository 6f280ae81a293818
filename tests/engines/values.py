"""Values of every storage, every kind of attribute and label, and what each value is."""

import datetime
from decimal import Decimal
from functools import cache

import pyarrow as pa

from hedgerow.engines.bins import BOOLEAN, INFINITE, NO_DATE, NO_NUMBER
from hedgerow.errors import DomainError
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Real
from hedgerow.schema.attributes import bins_of_codes
from hedgerow.tables.columns import FOUND_BOOLEANS, FOUND_INFINITY, FOUND_NO_DATE, FOUND_NO_NUMBER, Column

NAN, INF = float("nan"), float("inf")


NUMBERS_IN_WORDS = [
    *("0", "1", "1.0", "1.00", "01", "+1", "-1", "1.", "1.5", ".5", "-.5", ".", "-", "+", "1e2", "1E+2", "1e-2"),
    *("1e", "e1", "1e1000", "-9", "-9.0", "-9.5", "9", "9.0", "30", "30.0", "30.5", "60", "99", "2", "02", "nan"),
    *("NaN", "inf", "-inf", "Infinity", "0x10", "1_000", "1,5", "1d", "1f", "1L", "１", "٣", "0.3"),
    *("0.30000000000000004", "1e-300", "1e15", "9007199254740993"),
]


WORDS = [
    *(
        "red",
        " red ",
        "RED",
        "red\t",
        "\r\nred",
        "\fred\v",
        "\u00a0red",
        "red\u2028",
        "red x",
        "O'Brien",
        'a"b',
        "a\\b",
    ),
    *(
        "a\\\\b",
        "${env:HOME}",
        "a%b",
        "a_b",
        "é",
        "É",
        "e\u0301",
        "true",
        "TRUE",
        " False",
        "fAlse",
        "truth",
        "yes",
        "no",
        "?",
        "x; --",
    ),
    *("1970-01-01", " 1970-01-31 ", "1970-02-30", "2000-02-29", "1900-02-29", "0000-01-01", "0001-01-01", "9999-12-31"),
    *("1970-1-1", "1970-01-01\n1", "1970-01-01 00:00:00", "19700101", "1969-12-31", "-9"),
    *("1\n", " 1.0 ", "1.0\u2028", "1\u2028", "1\n0", "9" * 200, "9" * 201, "", " ", "\t\n\r\v\f "),
]


COLUMNS = {
    "whole digits": pa.array(
        [*map(Decimal, (0, 1, 2, -9, 9, 30, 31, 90, 91, 2**53, 2**53 + 1, 2**63, 10**30, -(2**53) - 1)), None],
        pa.decimal128(38, 0),
    ),
    "few whole digits": pa.array([*map(Decimal, (0, 1, 2, -9, 30, 91, 2**53 + 1)), None], pa.decimal128(18, 0)),
    "digits": pa.array(
        [*map(Decimal, ("0.79999999999999990000", "0.3", "0.30000000000000004", "1", "0.5", "30.25")), None],
        pa.decimal128(38, 20),
    ),
    "boolean": pa.array([True, False, None]),
    "tiny": pa.array([0, 1, 2, -9, 9, 30, 31, 90, 91, -1, None], pa.int8()),
    "unsigned": pa.array([0, 1, 2, 9, 30, 31, 90, 91, 65535, None], pa.uint16()),
    "unsigned and long": pa.array([0, 1, 2, 9, 30, 31, 90, 91, 2**63, 2**64 - 2048, None], pa.uint64()),
    "whole": pa.array([0, 1, 2, -9, 9, 30, 31, 90, 91, 2**40, 2**53 + 1, -(2**62), 2**62, None], pa.int64()),
    "double": pa.array(
        [
            0.0,
            -0.0,
            1.0,
            0.3,
            0.1 + 0.2,
            0.5,
            30.0,
            30.5,
            90.0,
            91.0,
            1e300,
            -1e300,
            -9.0,
            9.0,
            2.0,
            5e-324,
            NAN,
            -NAN,
            INF,
            -INF,
            None,
        ],
        pa.float64(),
    ),
    "single": pa.array([0.0, 0.1, 0.3, 0.5, 1.0, 30.0, 30.5, 91.0, -9.0, 3e38, NAN, INF, -INF, None], pa.float32()),
    "decimal": pa.array(
        [*map(Decimal, ("0", "1", "1.000", "0.3", "0.301", "30", "30.5", "-9", "9", "2", "91", "12345678.901")), None],
        pa.decimal128(12, 3),
    ),
    "date": pa.array(
        [datetime.date(*day) for day in ((1970, 1, 1), (1970, 1, 31), (1970, 2, 1), (1969, 12, 23), (2262, 4, 12))]
        + [datetime.date(1, 1, 1), None],
        pa.date32(),
    ),
    "time": pa.array(
        [
            datetime.datetime(1969, 12, 31, 23, 59),
            datetime.datetime(1970, 1, 1),
            datetime.datetime(1970, 2, 1, 12),
            datetime.datetime(9999, 12, 31, 23, 59, 59),
            datetime.datetime(1, 1, 1),
            None,
        ],
        pa.timestamp("us"),
    ),
    "text": pa.array([*NUMBERS_IN_WORDS, *WORDS, None], pa.string()),
}


CELL = {"missing": "bin", "outside": "bin"}


ATTRIBUTES = {
    "boolean": Boolean(),
    "boolean, missing": Boolean(missing="bin", missing_values=(9, "?")),
    "boolean, declared": Boolean(true_values=("yes", "true", "30", -9), false_values=("no", "1", "a\\b")),
    "boolean, declared, missing": Boolean(
        true_values=(1, "false"), false_values=(2, "RED", "true"), missing="bin", missing_values=(9, "?")
    ),
    "words": Categorical(("${env:HOME}", "red", "O'Brien", 'a"b', "a\\b", "é", "a%b")),
    "words, bins": Categorical(("red", "true", "1", "no"), missing_values=("?", "-9", 9), **CELL),
    "words, spellings": Categorical({"red": ["RED", "1", "a\\b"], "no": [0, "false"]}, missing_values=("?",), **CELL),
    "codes, spellings": Categorical({0: [0, "no", -9], 1: ["1.5", 2, 2**53 + 1]}, missing="bin", missing_values=(9,)),
    "codes": Categorical((0, 1, 2)),
    "codes, bins": Categorical((0, 1, 2, 30), missing_values=(-9, "9"), **CELL),
    "codes, far": Categorical((0, 2**53, 2**53 + 1, 2**63, -5, 10**30), missing="bin", missing_values=(1e22, "nan")),
    "codes in words": Categorical(("02", "2", "3", "1.5", "-1"), missing="bin", missing_values=("9",)),
    "date": Date("1969-12-31", "2000-12-31", cuts=("1970-01-01", "1970-01-31")),
    "date, bins": Date("1970-01-01", "2262-04-12", "year", missing_values=("?", "-9", "1970-01-31"), **CELL),
    "date, clipped": Date("1970-01-01", "1970-12-31", "month", missing="bin", outside="clip"),
    "date, serial": Date("1900-03-01", "1900-04-30", ("1900-03-30",), missing_values=("?",), format="excel", **CELL),
    "date, serial from 1904": Date(
        "1904-01-02", "1904-03-31", ("1904-01-31",), missing_values=("?",), format="excel-1904", **CELL
    ),
    "integer": Integer(0, 90, cuts=(30, 60)),
    "integer, bins": Integer(0, 90, cuts=(1, 30), missing_values=("?", -9, 99), **CELL),
    "integer, missing inside": Integer(
        -20, 90, cuts=(0,), missing="bin", missing_values=(-9, 30.5, "1"), outside="bin"
    ),
    "integer, from below 0": Integer(-5, 90, cuts=(-1, 30), missing="bin", outside="bin"),
    "integer, clipped": Integer(0, 90, cuts=(1, 30), missing="bin", outside="clip"),
    "integer, one bin": Integer(0, 90, cuts=(), **CELL),
    "real": Real(0, 1, cuts=(0.3, 0.5)),
    "real, bins": Real(
        0, 30.25, cuts=(0.1, 0.3, 0.30000000000000004, 0.7999999999999999), missing_values=(-9, "?"), **CELL
    ),
    "real, clipped": Real(-1.5, 1e15, cuts=(0.3,), missing="bin", missing_values=(0.5,), outside="clip"),
    "real, wide": Real(-1e307, 1e307, cuts=(-1e300, 5e-324, 2.0**53), **CELL),
    "real, narrow": Real(1e-9, 1 + 1e-9, cuts=(1.0,), **CELL),
}


LABELS = {
    "0/1": Label("y", (0, 1)),
    "booleans": Label("y", (False, True)),
    "words": Label("y", ("yes", "no", "red", "a\\b")),
    "numbers": Label("y", (1, 2, -9)),
    "numbers in words": Label("y", ("1", "2", "30")),
    "spellings": Label("y", {"yes": ["yes", "true", 1, "RED"], "no": ["0", "a\\b", -9]}),
    "0/1, spellings": Label("y", {1: ["Yes", 30], 0: ["no", -9]}),
    "booleans, spellings": Label("y", {True: ["RED", 2], False: ["30"]}),
}


KINDS = {**ATTRIBUTES, **{f"label of {name}": label for name, label in LABELS.items()}}


ERRORS = {BOOLEAN: FOUND_BOOLEANS, NO_DATE: FOUND_NO_DATE, NO_NUMBER: FOUND_NO_NUMBER, INFINITE: FOUND_INFINITY}


def in_memory(kind, values):
    """What is said of each value alone: its bin, or the error's text."""
    result = []
    for i in range(len(values)):
        try:
            column = Column.from_arrow(values.slice(i, 1), "x")
            is_label = isinstance(kind, Label)
            bins = kind.encode(column) if is_label else bins_of_codes(kind, kind.codes(kind.prepared(column)), "x")
            result.append(int(bins[0]))
        except DomainError as error:
            result.append(str(error))
    return result


def said_of(kind, codes):
    """The same for codes that an engine found."""
    import numpy as np

    result = {}
    for code in set(codes):
        try:
            if code in ERRORS:
                raise DomainError(ERRORS[code], column="x")
            item = np.array([code])
            bins = kind.checked(item) if isinstance(kind, Label) else bins_of_codes(kind, item, "x")
            result[code] = int(bins[0])
        except DomainError as error:
            result[code] = str(error).replace("column 'y'", "column 'x'")
    return [result[code] for code in codes]


@cache
def expected_bins(name, storage):
    """What memory says of a column, computed once for all engines."""
    return [str(bin).replace("column 'y'", "column 'x'") for bin in in_memory(KINDS[name], COLUMNS[storage])]
