"""Words for a missing value that R, pandas, SQL, spreadsheets, SAS, SPSS and Stata write."""

import json
from collections.abc import Sequence
from string import ascii_lowercase

import numpy as np

from hedgerow.tables.columns import Column
from hedgerow.text.values import Value, printable

_WORDS = ("NA", "N/A", "N.A.", "<NA>", "#N/A", "NULL", "(null)", "#NULL!", "NaN", "NaT", "None", "nil", "missing")
_ERRORS = ("#DIV/0!", "#NAME?", "#NUM!", "#REF!", "#VALUE!")  # errors of formulas in spreadsheets
_MARKS = ("?", "-", "--", "*", ".", "._", *(f".{letter}" for letter in ascii_lowercase))
_FORMS = (str, str.lower, str.upper, str.capitalize)
SPELLINGS = tuple(dict.fromkeys(form(word) for word in (*_WORDS, *_ERRORS, *_MARKS) for form in _FORMS))
"""The words in all their usual spellings."""
_CODES = (-9, -99, -999, -9999, -99999, 999, 9999, 99999)


def missing_words(column: Column) -> tuple[str, ...]:
    """Return which of the usual words for a missing value occur in a column of text."""
    if not column.is_text:
        return ()
    places = column.index_in(SPELLINGS)
    return tuple(SPELLINGS[place] for place in np.unique(places[(places >= 0) & ~column.is_missing]))


def suspected_codes(column: Column) -> tuple[int, ...]:
    """Return the numbers of a column that may be codes for a missing value, since they are far from all other values.

    A negative code is suspected if every other value is at least 0. A positive code is suspected if it is the largest
    value and more than five times the second largest.
    """
    if column.is_text or column.holds_dates or column.values.dtype.kind == "b":
        return ()
    values = np.unique(column.present())
    below, above = values[values < 0], values[values >= 0]
    negative = [code for code in _CODES if code in below] if len(above) and set(below) <= set(_CODES) else []
    positive = [code for code in _CODES if len(above) > 1 and code == above[-1] and code > 5 * above[-2]]
    return (*negative, *positive)


def declared_missing(words: Sequence[Value]) -> str:
    """Return the keys of a schema file that declare words as missing values."""
    return f"missing: bin, missing_values: {printable(json.dumps(list(words), ensure_ascii=False))}"
