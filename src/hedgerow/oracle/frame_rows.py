"""Private rows of an oracle in memory, with what is public of them, and hypotheses that run their own code on them."""

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
"""The reason why answers about such a hypothesis carry no guarantee."""


@dataclass(frozen=True, repr=False, eq=False)
class OpaqueClassifier:
    """A hypothesis whose own ``predict`` is called on the private rows."""

    hypothesis: Any  # a copy: the validated state is the one evaluated, and rows that it stores are not handed back
    classes: tuple[Any, ...]  # the two classes

    def codes(self, table: Table) -> Integers:
        # -1 for no class, also where the hypothesis fails: an error or warning would disclose the row without noise
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._codes(table, np.arange(len(table)))

    def _codes(self, table: Table, rows: Integers) -> Integers:
        """Predict all rows together; on failure by bisection, down to the row that fails."""
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
            f"Expected one of: {READABLE}; got a {type(hypothesis).__name__}, whose own code is not run on private "
            "rows, since it could store them, or make predictions depend on other rows. A curator who trusts the code "
            "can set run_code=True; answers then carry no guarantee."
        )
    try:
        copied = deepcopy(hypothesis)
    except Exception as error:
        raise HypothesisError(f"the hypothesis cannot be copied: {type(error).__name__}: {error}") from error
    _try_out(copied, probe_rows, classes)
    return OpaqueClassifier(copied, classes)


def _try_out(hypothesis: Any, rows: Table, classes: tuple[Any, ...]) -> None:
    try:
        found = codes_of(hypothesis.predict(rows.take(np.arange(len(rows)))), classes, len(rows))
        alone = [codes_of(hypothesis.predict(rows.take(np.array([i]))), classes, 1)[0] for i in range(len(rows))]
    except HypothesisError:
        raise
    except Exception as error:
        problem = f"the hypothesis fails on probe rows, which are public: {type(error).__name__}: {error}"
        raise HypothesisError(problem) from error
    class_codes([None if code < 0 else classes[code] for code in found], classes)
    if not np.array_equal(found, alone):
        problem = "expected predictions that depend on one row each, got some that change with the other rows."
        raise HypothesisError(problem)


_N_PROBES = 8  # public rows on which a hypothesis is validated first


class OracleRows(ABC):
    """Private rows that can be counted by bin. What is checked is public; what is counted is exact and private."""

    label: Target  # the classes, or the number
    kinds: Mapping[str, str]  # of each column that can have bins: ``boolean``, ``numbers`` or ``text``. Public.

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.kinds)

    def check(self, bins: Schema) -> None:
        """Check that every value that a column's type can hold has a bin, without touching a row."""
        check_total(bins)
        self._check_columns(bins)
        for name, attribute in bins.attributes:
            check_kind(name, attribute, self._kind(name, bins))

    @abstractmethod
    def _check_columns(self, bins: Schema) -> None:
        """Check that there is a column for each attribute."""

    def _kind(self, name: str, bins: Schema) -> str:  # noqa: ARG002 -- in an array, columns go by position
        return self.kinds[name]

    @abstractmethod
    def prepare(self, hypothesis: Any, bins: Schema, *, run_code: bool) -> Any:
        """Return a hypothesis as `errors_by_bin` takes it, without touching a row."""

    @abstractmethod
    def size(self) -> int:
        """Return the number of rows."""

    def rows_by_bin(self, bins: Schema) -> Integers:
        """Return the rows in each bin, shape ``(n_bins,)``."""
        return self.classes_by_bin(bins).sum(axis=1)

    @abstractmethod
    def classes_by_bin(self, bins: Schema) -> Integers:
        """Return the rows of each class in each bin, shape ``(n_bins, n_classes)``."""

    def levels_by_bin(self, bins: Schema) -> tuple[Integers, Integers]:
        """Return the steps of the rows of each bin below the last level and above the first, each ``(n_bins,)``."""
        return summed_steps(self.classes_by_bin(bins))

    @abstractmethod
    def errors_by_bin(self, bins: Schema, asked: Any) -> tuple[Integers, Integers]:
        """Return the steps of the rows of each bin that a hypothesis, prepared, gets wrong and right."""


@dataclass(frozen=True, repr=False, eq=False)
class OracleFrame(OracleRows):
    """Private rows with their labels."""

    table: Table  # the rows
    label: Target  # the classes, or the number
    codes: Integers  # the number of each row's class or level
    inputs: tuple[Column, ...]  # the columns, as they are read
    kinds: Mapping[str, str]

    @classmethod
    def of(
        cls, table: Table, labels: Labels, label: Target, unit: Unit | None = None, random_state: Any = None
    ) -> Self:
        """Check a table with its labels, and keep the rows that are counted. Errors are for the curator."""
        codes = label.encode(labels.column(label.name)).astype(np.int64)
        if len(codes) != len(table):
            raise DomainError("expected as many labels as rows.")
        if unit is not None:
            check_unit(unit, table)
            kept = counted(table, unit, draw_key(random_state))
            table, codes = Table.of(table.take(np.flatnonzero(kept))).without(unit.column), codes[kept]
        inputs = tuple(table.column(name, place) for place, name in enumerate(table.column_names))
        types = table.without_rows()  # what bins a column can have is public, and so must not depend on its rows
        kinds = {name: _kind(types.column(name, place)) for place, name in enumerate(table.column_names)}
        for column in inputs:
            if kinds[column.name] == "numbers" and not np.isfinite(column.present()).all():
                raise DomainError("expected finite numbers, found infinity.", column=column.name)
            if kinds[column.name] == "text" and not column.is_text:
                problem = "expected text in a column of dtype object, found other values"
                raise DomainError(f"{problem}; give the column a type.", column=column.name)
        return cls(table, label, codes, inputs, kinds)

    def __len__(self) -> int:
        return len(self.table)

    def _check_columns(self, bins: Schema) -> None:
        bins.check_columns(self.table)
        for (_, attribute), column in zip(bins.attributes, self._columns(bins), strict=True):
            attribute.check_type(in_numbers(column[:0]))

    def prepare(self, hypothesis: Any, bins: Schema, *, run_code: bool) -> RowClassifier | OpaqueClassifier:
        """Return a hypothesis as data, or, if its code may run, a copy tried on probe rows; touches no private row."""
        public = TargetColumns(self.columns, tuple(self.kinds.values()), self.table.names is not None)
        classes = self.label.hypothesis_classes
        return read_classifier(hypothesis, public, classes) or opaque_classifier(
            hypothesis, self.probe_rows(bins), classes, allowed=run_code
        )

    def size(self) -> int:
        return len(self)

    def classes_by_bin(self, bins: Schema) -> Integers:
        return _by_bin(bins, self._columns(bins), self.codes, self.label.n_levels)

    def errors_by_bin(self, bins: Schema, asked: RowClassifier | OpaqueClassifier) -> tuple[Integers, Integers]:
        found = asked.codes(self.table) if isinstance(asked, OpaqueClassifier) else asked(self.inputs, len(self))
        right = self.label.right_steps(self.codes, found)
        return summed_steps(_by_bin(bins, self._columns(bins), right, self.label.steps + 1))

    def probe_rows(self, bins: Schema) -> Table:
        """Return probe rows: public values of the bins, in columns of the target's names and types."""
        if self.table.names is None:
            made = np.empty((_N_PROBES, self.table.width), dtype=self.table.data.dtype)
            if made.dtype.kind not in "biufOU":
                problem = "Expected an array of numbers, booleans or text for questions about hypotheses"
                raise ArgumentTypeError(f"{problem}, got another type.")
            for place, name in enumerate(bins.names):
                made[:, place] = _fitting(_values(bins, name, self._kind(name, bins)), str(made.dtype))
            return Table.of(made)
        columns: dict[str, list[Any]] = {}
        for name, kind in self.table.data.schema.items():
            values = _fitting(_values(bins, name, self._kind(name, bins)), str(kind).lower())
            allowed = kind.categories if isinstance(kind, nw.Enum) else values
            columns[name] = [value if value in allowed else None for value in values]
        frame = nw.from_dict(columns, backend=self.table.data.implementation)
        typed = [nw.col(name).cast(kind) for name, kind in self.table.data.schema.items() if kind != nw.Unknown]
        problem = ArgumentTypeError(
            "Expected columns of text, numbers and booleans for questions about hypotheses, got others; cast them."
        )
        return Table.of(guarded(lambda: frame.with_columns(typed), problem))

    def _kind(self, name: str, bins: Schema) -> str:
        """Return the kind of the column that an attribute is in: by name, or in an array by position."""
        columns = self.table.column_names
        return self.kinds[name if self.table.names is not None else columns[bins.names.index(name)]]

    def _columns(self, bins: Schema) -> Sequence[Column]:
        """Return the columns that attributes are in, as they were read once: by name, or in an array by position."""
        named = {column.name: column for column in self.inputs}
        return self.inputs if self.table.names is None else [named[name] for name in bins.names]


def _kind(column: Column) -> str:
    if column.is_text:
        return "text"
    return "boolean" if column.values.dtype.kind == "b" else "numbers"


def _values(bins: Schema, name: str, kind: str) -> list[Any]:
    attribute = dict(bins.attributes).get(name)
    if kind == "boolean":
        found: list[Any] = [False, True]
    elif attribute is not None and attribute.cell_type is CellType.VALUE:
        found = [str(value) if kind == "text" else float(value) for value in attribute.listed]
    elif attribute is not None:
        found = [*attribute.examples]
    else:
        found = [""] if kind == "text" else [0]
    return [found[i % len(found)] for i in range(_N_PROBES)]


def _fitting(values: list[Any], kind: str) -> list[Any]:
    """Return the values rounded to whole numbers of the same bins if the type needs that, else unchanged."""
    if not kind.startswith(("int", "uint")):
        return values
    limits = np.iinfo(kind)
    return [min(max(floor(value), limits.min), limits.max) for value in values]


def _by_bin(bins: Schema, columns: Sequence[Column], kinds: Integers, n_kinds: int) -> Integers:
    """Return the rows of each kind in each bin, shape ``(n_bins, n_kinds)``, in memory O(rows + bins)."""
    found: list[Integers] = []
    for (_, attribute), column in zip(bins.attributes, columns, strict=True):
        codes = attribute.encode(in_numbers(column)).astype(np.int64)
        found.append(np.bincount(n_kinds * codes + kinds, minlength=n_kinds * attribute.n_bins))
    return np.concatenate(found).reshape(-1, n_kinds)


def summed_steps(rows: Integers) -> tuple[Integers, Integers]:
    """Return the sums of `steps − r` and of r over rows that are counted by bin and r, from 0 to `steps`."""
    steps = np.arange(rows.shape[1])
    return rows @ steps[::-1], rows @ steps


def target_label(name: str, classes: Any, *, are_boolean: bool) -> Target:
    """Return the label of a target, given or of these classes: by default those of boolean labels, or 0 and 1."""
    if isinstance(classes, Target):
        return classes
    default = Label(name, default_classes(are_boolean))
    if classes is None:
        return default
    problem = ArgumentTypeError("classes must be a tuple of labels.")
    if isinstance(classes, str):
        raise problem
    found = guarded(lambda: tuple(classes), problem)
    unfit = ArgumentError("expected two or more different classes, all text, all whole numbers or all booleans.")
    return guarded(lambda: Label(name, found), unfit)  # what is given may be a table of rows, which no error quotes
