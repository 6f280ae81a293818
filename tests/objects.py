"""Tables and columns of Python objects, and all that an error says."""

import numpy as np


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def read(column):
    """The column as a list, None where missing."""
    values = column.values.to_pylist() if column.is_text else column.values.tolist()
    missing = np.zeros(len(column), dtype=bool) if column.missing is None else column.missing
    return [None if gone else value for value, gone in zip(values, missing, strict=True)]


def all_that_is_said(error):
    """Every text that an error, its attributes and the errors behind it show."""
    said = ""
    while error is not None:
        assert error.__cause__ is None
        said += f"{error}{error!r}{error.args}{vars(error)}{getattr(error, 'object', '')}"
        error = error.__context__
    return said
