"""The private rows of an oracle in memory, their public description, and hypotheses that run their own code on them."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from math import floor
from typing import Any, Self

import narwhals as nw
import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError, HypothesisError
from hedgerow.hypotheses import RowClassifier, TargetColumns, read_classifier
from hedgerow.hypotheses.hypothesis import class_codes, codes_of
from hedgerow.hypotheses.read import READABLE
from hedgerow.oracle.binning import check_kind, check_total, in_numbers
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.unit import Unit
from hedgerow.schema.attributes import CellType
from hedgerow.schema.booleans import default_classes
from hedgerow.schema.contributions import check_unit, counted, draw_key
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Label, Target
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Labels, Table

OPAQUE = Fact("opaque_hypothesis")
"""The reason why answers about an opaque hypothesis have no guarantee."""


@dataclass(frozen=True, repr=False, eq=False)
class OpaqueClassifier:
    """A hypothesis whose own ``predict`` is called on the private rows."""

    hypothesis: Any  # a copy, so that the validated state is evaluated, and rows that it stores are not returned
    classes: tuple[Any, ...]  # the two classes

    def codes(self, table: Table) -> Integers:
        # -1 for no class and for rows on which the hypothesis fails: an error or warning would disclose such a row.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._codes(table, np.arange(len(table)))

    def _codes(self, table: Table, rows: Integers) -> Integers:
        """Return class codes of all rows, predicted together or, after a failure, by bisection."""
        if not len(rows):
            return np.empty(0, dtype=np.int64)
        try:
            return codes_of(self.hypothesis.predict(table.take(rows)), self.classes, len(rows))
        except Exception:
            if len(rows) == 1:
                return np.array([-1])
        return np.concatenate([self._codes(table, half) for half in np.array_split(rows, 2)])


def opaque_classifier(
    hypothesis: Any, probe_rows: Table, classes: tuple[Any, ...], *, allowed: bool
) -> OpaqueClassifier:
    if not callable(getattr(hypothesis, "predict", None)) or isinstance(hypothesis, type):
        raise HypothesisError(f"expected a fitted model with predict(X), got {type(hypothesis).__name__}.")
    if not allowed:
        raise HypothesisError(
            f"Expected one of: {READABLE}; got a {type(hypothesis).__name__}. Its own code is not run on private rows, "
            "since it could store them or make predictions depend on other rows. A curator who trusts the code can set "
            "run_code=True; the answers then have no guarantee."
        )
    try:
        copied = deepcopy(hypothesis)
    except Exception as error:
        raise HypothesisError(f"the hypothesis cannot be copied: {type(error).__name__}: {error}") from error
    _validate(copied, probe_rows, classes)
    return OpaqueClassifier(copied, classes)


def _validate(hypothesis: Any, rows: Table, classes: tuple[Any, ...]) -> None:
    try:
        together = codes_of(hypothesis.predict(rows.take(np.arange(len(rows)))), classes, len(rows))
        alone = [codes_of(hypothesis.predict(rows.take(np.array([i]))), classes, 1)[0] for i in range(len(rows))]
    except HypothesisError:
        raise
    except Exception as error:
        problem = f"the hypothesis fails on public probe rows: {type(error).__name__}: {error}"
        raise HypothesisError(problem) from error
    class_codes([None if code < 0 else classes[code] for code in together], classes)
    if not np.array_equal(together, alone):
        raise HypothesisError("the prediction for a row must not depend on the other rows, but it does on probe rows.")


_N_PROBES = 8  # public rows on which a hypothesis is validated


class OracleRows(ABC):
    """Base class of private rows that are counted by bin. Checks use public values; counts are exact and private."""

    label: Target  # the classes, or the number
    kinds: Mapping[str, str]  # the public kind of each column with bins: ``boolean``, ``numbers`` or ``text``

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    def check(self, bins: Schema) -> None:
        """Raise SchemaError or DomainError unless every value that a column can hold has a bin. Reads no row."""
        check_total(bins)
        self._check_columns(bins)
        for name, attribute in bins.attributes:
            check_kind(name, attribute, self._kind(name, bins))

    @abstractmethod
    def _check_columns(self, bins: Schema) -> None:
        """Raise DomainError unless every attribute has a column."""

    def _kind(self, name: str, bins: Schema) -> str:  # noqa: ARG002 -- an array finds columns by position
        return self.kinds[name]

    @abstractmethod
    def prepare(self, hypothesis: Any, bins: Schema, *, run_code: bool) -> Any:
        """Return a hypothesis in the form that `errors_by_bin` takes. Reads no row."""

    @abstractmethod
    def size(self) -> int:
        """Return the number of rows."""

    def rows_by_bin(self, bins: Schema) -> Integers:
        """Return the number of rows in each bin, shape ``(n_bins,)``."""
        return self.classes_by_bin(bins).sum(axis=1)

    @abstractmethod
    def classes_by_bin(self, bins: Schema) -> Integers:
        """Return the number of rows of each class in each bin, shape ``(n_bins, n_classes)``."""

    def levels_by_bin(self, bins: Schema) -> tuple[Integers, Integers]:
        """Return, by bin, the sums of the steps of rows below the last level and above the first level."""
        return summed_steps(self.classes_by_bin(bins))

    @abstractmethod
    def errors_by_bin(self, bins: Schema, hypothesis: Any) -> tuple[Integers, Integers]:
        """Return, by bin, the sums of the wrong and the correct steps of a prepared hypothesis."""


@dataclass(frozen=True, repr=False, eq=False)
class OracleFrame(OracleRows):
    """Private rows with labels in memory."""

    table: Table  # the rows
    label: Target  # the classes, or the number
    codes: Integers  # the index of the class or level of each row
    inputs: tuple[Column, ...]  # the columns after reading
    kinds: Mapping[str, str]

    @classmethod
    def of(
        cls, table: Table, labels: Labels, label: Target, unit: Unit | None = None, random_state: Any = None
    ) -> Self:
        """Return the checked rows that are counted, with their labels. Errors are for the curator."""
        codes = label.encode(labels.column(label.name)).astype(np.int64)
        if len(codes) != len(table):
            raise DomainError("labels must have the same length as the data.")
        if unit is not None:
            check_unit(unit, table)
            is_counted = counted(table, unit, draw_key(random_state))
            table, codes = Table.of(table.take(np.flatnonzero(is_counted))).without(unit.column), codes[is_counted]
        inputs = tuple(table.column(name, place) for place, name in enumerate(table.column_names))
        types = table.without_rows()  # the kind of a column is public and must not depend on rows
        kinds = {name: _kind(types.column(name, place)) for place, name in enumerate(table.column_names)}
        for column in inputs:
            if kinds[column.name] == "numbers" and not np.isfinite(column.present()).all():
                raise DomainError("expected finite numbers, found infinity.", column=column.name)
            if kinds[column.name] == "text" and not column.is_text:
                problem = "a column of dtype object must contain text"
                raise DomainError(f"{problem}; convert the column to another type.", column=column.name)
        return cls(table, label, codes, inputs, kinds)

    def __len__(self) -> int:
        return len(self.table)

    def _check_columns(self, bins: Schema) -> None:
        bins.check_columns(self.table)
        for (_, attribute), column in zip(bins.attributes, self._columns(bins), strict=True):
            attribute.check_type(in_numbers(column[:0]))

    def prepare(self, hypothesis: Any, bins: Schema, *, run_code: bool) -> RowClassifier | OpaqueClassifier:
        """Return a hypothesis as data or, if `run_code`, a copy validated on probe rows. Reads no private row."""
        public = TargetColumns(self.columns, tuple(self.kinds.values()), self.table.names is not None)
        classes = self.label.hypothesis_classes
        return read_classifier(hypothesis, public, classes) or opaque_classifier(
            hypothesis, self.probe_rows(bins), classes, allowed=run_code
        )

    def size(self) -> int:
        return len(self)

    def classes_by_bin(self, bins: Schema) -> Integers:
        return _by_bin(bins, self._columns(bins), self.codes, self.label.n_levels)

    def errors_by_bin(self, bins: Schema, hypothesis: RowClassifier | OpaqueClassifier) -> tuple[Integers, Integers]:
        is_opaque = isinstance(hypothesis, OpaqueClassifier)
        predicted = hypothesis.codes(self.table) if is_opaque else hypothesis(self.inputs, len(self))
        right = self.label.right_steps(self.codes, predicted)
        return summed_steps(_by_bin(bins, self._columns(bins), right, self.label.steps + 1))

    def probe_rows(self, bins: Schema) -> Table:
        """Return rows of public values of the bins, with the target's column names and types."""
        if self.table.names is None:
            probes = np.empty((_N_PROBES, self.table.width), dtype=self.table.data.dtype)
            if probes.dtype.kind not in "biufOU":
                problem = "questions about hypotheses need an array of numbers, booleans or text"
                raise ArgumentTypeError(f"{problem}, got dtype {probes.dtype}.")
            for place, name in enumerate(bins.names):
                probes[:, place] = _fitting(_values(bins, name, self._kind(name, bins)), str(probes.dtype))
            return Table.of(probes)
        columns: dict[str, list[Any]] = {}
        for name, kind in self.table.data.schema.items():
            values = _fitting(_values(bins, name, self._kind(name, bins)), str(kind).lower())
            allowed = kind.categories if isinstance(kind, nw.Enum) else values
            columns[name] = [value if value in allowed else None for value in values]
        frame = nw.from_dict(columns, backend=self.table.data.implementation)
        typed = [nw.col(name).cast(kind) for name, kind in self.table.data.schema.items() if kind != nw.Unknown]
        problem = ArgumentTypeError(
            "questions about hypotheses need columns of text, numbers or booleans; convert the other columns."
        )
        return Table.of(guarded(lambda: frame.with_columns(typed), problem))

    def _kind(self, name: str, bins: Schema) -> str:
        """Return the kind of the column of an attribute, found by name or, in an array, by position."""
        columns = self.table.column_names
        return self.kinds[name if self.table.names is not None else columns[bins.names.index(name)]]

    def _columns(self, bins: Schema) -> Sequence[Column]:
        """Return the columns of the attributes, found by name or, in an array, by position."""
        by_name = {column.name: column for column in self.inputs}
        return self.inputs if self.table.names is None else [by_name[name] for name in bins.names]


def _kind(column: Column) -> str:
    if column.is_text:
        return "text"
    return "boolean" if column.values.dtype.kind == "b" else "numbers"


def _values(bins: Schema, name: str, kind: str) -> list[Any]:
    attribute = dict(bins.attributes).get(name)
    if kind == "boolean":
        values: list[Any] = [False, True]
    elif attribute is not None and attribute.cell_type is CellType.VALUE:
        values = [str(value) if kind == "text" else float(value) for value in attribute.listed]
    elif attribute is not None:
        values = [*attribute.examples]
    else:
        values = [""] if kind == "text" else [0]
    return [values[i % len(values)] for i in range(_N_PROBES)]


def _fitting(values: list[Any], kind: str) -> list[Any]:
    """Return values that fit a type: rounded down and clipped for whole numbers, otherwise unchanged."""
    if not kind.startswith(("int", "uint")):
        return values
    limits = np.iinfo(kind)
    return [min(max(floor(value), limits.min), limits.max) for value in values]


def _by_bin(bins: Schema, columns: Sequence[Column], kinds: Integers, n_kinds: int) -> Integers:
    """Return the number of rows of each kind in each bin, shape ``(n_bins, n_kinds)``, in memory O(rows + bins)."""
    counts: list[Integers] = []
    for (_, attribute), column in zip(bins.attributes, columns, strict=True):
        codes = attribute.encode(in_numbers(column)).astype(np.int64)
        counts.append(np.bincount(n_kinds * codes + kinds, minlength=n_kinds * attribute.n_bins))
    return np.concatenate(counts).reshape(-1, n_kinds)


def summed_steps(rows: Integers) -> tuple[Integers, Integers]:
    """Return the sums of `steps − r` and of r by bin, given the number of rows for each bin and r from 0 to `steps`."""
    steps = np.arange(rows.shape[1])
    return rows @ steps[::-1], rows @ steps


def target_label(name: str, classes: Any, *, are_boolean: bool) -> Target:
    """Return the target for classes or a `Target`. The default is False and True for booleans, otherwise 0 and 1."""
    if isinstance(classes, Target):
        return classes
    default = Label(name, default_classes(are_boolean))
    if classes is None:
        return default
    problem = ArgumentTypeError(f"classes must be a tuple of labels, got {type(classes).__name__}.")
    if isinstance(classes, str):
        raise problem
    values = guarded(lambda: tuple(classes), problem)
    unfit = ArgumentError("classes must be two or more different values, all text, all whole numbers or all booleans.")
    return guarded(lambda: Label(name, values), unfit)  # the argument may be a table of rows, which no error may quote
