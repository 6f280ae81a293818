"""The protocol of an oracle's target: private rows with their labels, wherever they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.foreign_code import guarded
from hedgerow.schema.booleans import default_classes
from hedgerow.schema.label import Label
from hedgerow.schema.schema import Schema

Counts = NDArray[np.int64]


class Target(Protocol):
    """Private rows that can be counted by bin. What is checked is public; what is counted is exact and private."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that can have bins."""
        ...

    @property
    def kinds(self) -> Mapping[str, str]:
        """What each of these columns holds: ``boolean``, ``numbers`` or ``text``."""
        ...

    @property
    def label(self) -> Label:
        """The classes."""
        ...

    def check(self, bins: Schema) -> None:
        """Check that bins have a place for every value that a column of its type can hold, without touching a row."""
        ...

    def prepare(self, hypothesis: Any, bins: Schema, *, run_code: bool) -> Any:
        """Return a hypothesis as `errors_by_bin` takes it, without touching a row."""
        ...

    def size(self) -> int:
        """Return the number of rows."""
        ...

    def rows_by_bin(self, bins: Schema) -> Counts:
        """Return the rows in each bin, shape ``(n_bins,)``."""
        ...

    def classes_by_bin(self, bins: Schema) -> Counts:
        """Return the rows of each class in each bin, shape ``(n_bins, n_classes)``."""
        ...

    def errors_by_bin(self, bins: Schema, asked: Any) -> tuple[Counts, Counts]:
        """Return the rows of each bin that a hypothesis, prepared, gets wrong and right."""
        ...


def target_label(name: str, classes: Any, *, are_boolean: bool) -> Label:
    """Return the label of a target: by default the classes of boolean labels, or 0 and 1."""
    default = Label(name, default_classes(are_boolean))
    if classes is None:
        return default
    problem = ArgumentTypeError("classes must be a tuple of labels.")
    if isinstance(classes, str):
        raise problem
    found = guarded(lambda: tuple(classes), problem)
    unfit = ArgumentError("expected two or more different classes, all text, all whole numbers or all booleans.")
    return guarded(lambda: Label(name, found), unfit)  # what is given may be a table of rows, which no error quotes
