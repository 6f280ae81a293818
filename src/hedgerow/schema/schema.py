"""Schemas: the public description of a table."""

import hashlib
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, Literal, Self

from hedgerow.boundary.arguments import RandomState
from hedgerow.boundary.durable import write_whole
from hedgerow.boundary.untrusted_text import check_plain
from hedgerow.errors import ArgumentTypeError, DomainError, SchemaError, UnreadableError
from hedgerow.privacy import Budget, NoiseSource
from hedgerow.privacy.amounts import Amount
from hedgerow.privacy.charge import Charge, reasons
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.unit import Unit
from hedgerow.privacy.wording import used
from hedgerow.schema.attributes import Attribute, BinCodes, Direction
from hedgerow.schema.contributions import check_unit
from hedgerow.schema.derivation import Derivation
from hedgerow.schema.files import line_of_fault, lines_of, mapping_text, read_mapping
from hedgerow.schema.from_public import public_parts
from hedgerow.schema.literals import name_problem
from hedgerow.schema.numbers import Numeric
from hedgerow.schema.private_cuts import with_private_cuts
from hedgerow.schema.serialize import (
    attribute_to_dict,
    charges_to_list,
    format_version,
    mapping,
    named,
    names_of,
    parts_from_dict,
    reasons_to_data,
)
from hedgerow.schema.targets import Label, Target
from hedgerow.schema.weights import Weight
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.text.markup import table
from hedgerow.text.messages import number_of, shown
from hedgerow.text.values import Value, listed, printable

FROM_ROWS = Fact("from_rows")
"""The reason why a model has no guarantee if its schema was derived from the private rows."""
_WIDEST = 40  # the maximum number of characters of a printed column


@dataclass(frozen=True)
class Schema:
    """The public description of a table: its attributes, their domains and cut points, and the target.

    A schema is written by a person or derived from public data (`from_public`). `learn` completes a schema with cut
    points learned from private rows, under a charge. hedgerow never infers it from private rows without a charge.
    Numbers without declared cut points have the default grid of `default_cuts`.

    Attributes
    ----------
    attributes : mapping of str to Attribute
        The attributes in order, stored as a tuple of pairs.
    label : Label, OrderedLabel, Number or None
        The column to predict, with its classes, or its bounds if it is a number. None for a schema that only describes
        bins.
    charges : tuple of Charge
        The budget that was spent to learn cut points from private rows. The privacy card of every model with this
        schema includes these charges. If the schema was read from a file, the card states that the file declares them.
    no_guarantee : tuple of Fact
        Reasons why models with this schema have no guarantee, such as ``domain taken from the data``. Empty if no
        reason is known.
    unit : Unit or None
        The unit of privacy if persons may have several rows; None to protect single rows.
    weight : Weight or None
        The column with the weight of each row; None if all rows have the same weight.

    Raises
    ------
    SchemaError
        If there is no attribute, a name is repeated, or the column of the label, unit or weight is also an attribute.

    Examples
    --------
    >>> from hedgerow.schema import Boolean, Integer
    >>> schema = Schema({"age": Integer(17, 90, cuts=(30, 45)), "smoker": Boolean()}, Label("ill", (False, True)))
    >>> print(schema)
    age     integer      17 to 90, cut at 30, 45
    smoker  boolean      true or false, 0 or 1
    ill     label        False, True
    """

    attributes: tuple[tuple[str, Attribute], ...]
    label: Target | None = None
    charges: tuple[Charge, ...] = ()
    no_guarantee: tuple[Fact, ...] = ()
    unit: Unit | None = None
    weight: Weight | None = None

    def __init__(
        self,
        attributes: Mapping[str, Attribute] | Iterable[tuple[str, Attribute]],
        label: Target | None = None,
        charges: Sequence[Charge] = (),
        no_guarantee: Iterable[Fact] | Fact | str | None = None,
        unit: Unit | None = None,
        weight: Weight | None = None,
    ) -> None:
        if not (label is None or isinstance(label, Target)):
            raise ArgumentTypeError(f"label must be a Label, OrderedLabel, Number or None, got {type(label).__name__}.")
        if not (unit is None or isinstance(unit, Unit)):
            raise ArgumentTypeError(f"unit must be a Unit or None, got {type(unit).__name__}.")
        if not (weight is None or isinstance(weight, Weight)):
            raise ArgumentTypeError(f"weight must be a Weight or None, got {type(weight).__name__}.")
        if not isinstance(charges, (tuple, list)) or not all(isinstance(charge, Charge) for charge in charges):
            raise ArgumentTypeError("charges must be a tuple of Charge.")
        values = {"attributes": named(attributes), "label": label, "charges": tuple(charges), "unit": unit}
        for name, value in (values | {"no_guarantee": reasons(no_guarantee), "weight": weight}).items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        names = names_of(self.attributes)
        label = None if self.label is None else self.label.name
        if label in names:
            raise SchemaError("the label cannot also be an attribute; remove it there.", attribute=label)
        for name, derived in self.derivations.items():
            if not {*self.derivations, *self.extra_columns}.isdisjoint(derived.columns):
                problem = "an attribute cannot be derived from a derived attribute, the label, the unit or the weight"
                raise SchemaError(f"{problem}; use other columns of the table.", attribute=name, key="derived")
        if self.unit is not None:
            problem = name_problem(self.unit.column)
            if self.unit.column in {*names, label}:
                column = shown(self.unit.column)
                problem = f"its column {column} cannot also be an attribute or the label; remove it there."
            if problem:
                raise SchemaError(problem, key="unit")
        if self.weight is not None and self.weight.name in {*names, label, self.unit and self.unit.column}:
            problem = "cannot also be an attribute, the label or the unit; remove it there."
            raise SchemaError(f"its column {shown(self.weight.name)} {problem}", key="weight")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(name for name, _ in self.attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of bins of each attribute."""
        return tuple(attribute.n_bins for _, attribute in self.attributes)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def numbers(self) -> Mapping[str, Numeric]:
        """The attributes that are numbers or dates, by name."""
        return {name: attribute for name, attribute in self.attributes if isinstance(attribute, Numeric)}

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns of numbers and dates: of attributes and their derivations, the target and the weight."""
        target, weight = self.label and self.label.as_number, self.weight
        return (*self.columns(self.numbers), *(part.name for part in (target, weight) if part is not None))

    @cached_property
    def extra_columns(self) -> Mapping[str, Target | Unit | Weight]:
        """The declared label, unit and weight by their columns."""
        label, unit, weight = self.label, self.unit, self.weight
        parts = [(label and label.name, label), (unit and unit.column, unit), (weight and weight.name, weight)]
        return {name: part for name, part in parts if name is not None and part is not None}

    @cached_property
    def forms(self) -> Mapping[Hashable, tuple[Attribute, int]]:
        """The first attribute of each `form`, and the number of attributes of this form."""
        forms = dict[Hashable, tuple[Attribute, int]]()
        for _, attribute in self.attributes:
            form = attribute.form
            first, times = forms.get(form, (attribute, 0))
            forms[form] = first, times + 1
        return forms

    @cached_property
    def derivations(self) -> Mapping[str, Derivation]:
        """The derivations of the derived attributes, by name."""
        return {name: attribute.derived for name, attribute in self.attributes if attribute.derived is not None}

    def columns(self, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the columns of a table from which the named attributes (default: all) are read or derived."""
        columns: dict[str, None] = {}
        for name in self.names if names is None else names:
            derived = self[name].derived
            columns |= dict.fromkeys((name,) if derived is None else derived.columns)
        return tuple(columns)

    @property
    def without_derivations(self) -> Self:
        """The schema of a table that contains the derived attributes as columns."""
        if not self.derivations:
            return self
        return replace(self, attributes=tuple((name, replace(kind, derived=None)) for name, kind in self.attributes))

    @cached_property
    def monotone(self) -> Mapping[str, Direction]:
        """The attributes with a monotonicity constraint, by name."""
        return {name: kind.monotone for name, kind in self.attributes if kind.monotone is not None}

    def __getitem__(self, name: str) -> Attribute:
        return self.attributes[self._places[name]][1]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __len__(self) -> int:
        return len(self.attributes)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes of the label; SchemaError if there is no label, or if the target is a number."""
        return self.class_label.classes

    @property
    def class_label(self) -> Label:
        """The label with its classes; SchemaError if there is no label, or if the target is a number."""
        if isinstance(self.target, Label):
            return self.target
        problem = "this operation needs a label with classes, but the target is a number"
        advice = "learn it with a regressor, and use `predict`."
        raise SchemaError(f"{problem}; {advice}", attribute=self.target.name)

    @property
    def target(self) -> Target:
        """The label or number that a model predicts; SchemaError if the schema declares none."""
        if self.label is None:
            raise SchemaError("The schema declares no label; add `label: {name: ..., classes: [...]}`.")
        return self.label

    def encode(self, table: Table, names: Sequence[str] | None = None) -> dict[str, BinCodes]:
        """Return the bin of every row for the named attributes (default: all); DomainError if a row does not fit."""
        names = self.names if names is None else names
        self.check_columns(table, names)
        return {name: self[name].encode(self.column(table, name)) for name in names}

    def column(self, table: Table, name: str) -> Column:
        """Return an attribute's column, read from a table (from an array by position) or derived from its columns.

        A derived value depends on its own row alone, so neighbouring tables stay neighbours.
        """
        derived = self[name].derived
        if derived is None:
            return table.column(name, self._places[name])
        return derived.column(name, [table.column(column, 0) for column in derived.columns])

    def check_columns(self, table: Table, names: Sequence[str] | None = None) -> None:
        """Check that a table has the columns of the named attributes (default: all); DomainError if not.

        No row is read.
        """
        if table.names is None and table.width != len(self):
            expected = f"{number_of(len(self), 'column')} ({listed(self.names)}), in this order"
            problem = f"expected {expected}, got {table.width}; an array has no column names"
            raise DomainError(f"{problem}, so its columns are read by position. Pass a frame to select them by name.")
        self.check_underived(table.names, names)
        table.require(self.columns(names))

    def check_types(self, table: Table) -> None:
        """Check that a table's columns exist and suit the attributes by their types; DomainError if not.

        No row is read.
        """
        self.check_columns(table)
        types = table.without_rows()
        for name, attribute in self.attributes:
            if attribute.derived is None:
                attribute.check_type(self.column(types, name))

    def check_underived(self, columns: Sequence[str] | None, names: Sequence[str] | None = None) -> None:
        """Check that a table does not contain derived attributes as columns; DomainError if it does.

        `columns` is None for an array, from which no attribute can be derived.
        """
        for name in {**self.derivations} if names is None else filter(self.derivations.__contains__, names):
            sources = listed(self.derivations[name].columns)
            if columns is None:
                problem = f"this attribute is derived from the columns {sources}: expected a frame, got an array"
                raise DomainError(f"{problem}, whose columns have no names.", column=name)
            if name in columns:
                problem = f"the schema derives this attribute from {sources}, but the table already has this column"
                raise DomainError(f"{problem}; remove the column, or remove `derived` from the schema.", column=name)

    def check_unit(self, table: Table) -> None:
        """Check that a table has the columns of the unit and of the weight; DomainError if not. No row is read."""
        if self.unit is not None:
            check_unit(self.unit, table)
        if self.weight is not None:
            self.weight.check_column(table)

    @property
    def steps(self) -> int:
        """The maximum number of tally rows that one row of a table can become: the steps of the weight, or 1."""
        return 1 if self.weight is None else self.weight.levels

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the schema's JSON with its attributes in order; equal for equal schemas."""
        text = json.dumps(self.to_dict(), separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON-ready data without default values."""
        version = format_version(self.attributes)
        data: dict[str, Any] = {"version": version}
        parts = {"label": self.label, "unit": self.unit, "weight": self.weight}
        data |= {key: part.to_dict() for key, part in parts.items() if part is not None}
        data["attributes"] = {name: attribute_to_dict(attribute, version) for name, attribute in self.attributes}
        if self.charges:
            data["charges"] = charges_to_list(self.charges)
        if self.no_guarantee:
            data["void"] = reasons_to_data(self.no_guarantee)
        return data

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the schema that plain data describes, in the form that `to_dict` returns.

        A `SchemaError` names the attribute and the key of the first fault; its `faults` attribute lists all faults.
        """
        problem = None
        try:
            check_plain(data)
        except UnreadableError as error:
            problem = f"{error}."
        if problem:
            raise SchemaError(problem)
        return cls(**parts_from_dict(mapping(data, "a schema")))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the schema from a YAML or JSON file; OSError if the file cannot be read.

        A `SchemaError` names line, attribute and key of the first fault; its `faults` attribute lists all faults.
        """
        data = read_mapping(path)
        try:
            return cls.from_dict(data)
        except SchemaError as error:
            faults = error.faults
        lines = lines_of(path)
        raise SchemaError.of([fault.placed(line=line_of_fault(fault, lines)) for fault in faults])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the schema to a file: as JSON if its name ends in ``.json``, as YAML for ``.yaml`` and ``.yml``.

        An existing file is replaced completely or not at all. SchemaError for another extension, OSError if the file
        cannot be written.
        """
        write_whole(path, mapping_text(path, self.to_dict()))

    @classmethod
    def from_public(
        cls,
        data: Any,
        *,
        label: str | None = None,
        bins: int = 5,
        missing_values: Sequence[Value] = (),
        outside: Literal["error", "bin"] = "error",
    ) -> Self:
        """Return a schema derived from *public* rows: their categories, smallest and largest values, and quantiles.

        The schema may reveal the rows it is derived from. Never call this method on private rows: use `learn`, or write
        the schema.

        Parameters
        ----------
        data : pandas, polars or pyarrow frame, or array
            Public rows.
        label : str, optional
            The column to predict. It becomes a number if it has fractions or more than 100 distinct values, and classes
            otherwise.
        bins : int, default=5
            The number of intervals with about the same number of rows into which numbers are cut. Cut points of real
            numbers are rounded to three digits, or to more if a row would change its interval otherwise.
        missing_values : sequence
            Values that mean "missing" in every column, such as ``"?"``.
        outside : {"error", "bin"}, default="error"
            How a category that does not occur in these rows is treated: as an error, or as a bin of its own. With a
            bin, learned rules may contain the condition "is outside its domain", which few readers understand.

        Raises
        ------
        DomainError
            If a column has no usable value or too many categories.
        """
        return cls(*public_parts(Table.of(data), label, bins, missing_values, outside))

    @classmethod
    def learn(
        cls,
        data: Any,
        declared: Self,
        *,
        epsilon: Amount,
        budget: Budget | None = None,
        bins: int = 5,
        random_state: NoiseSource | RandomState = None,
    ) -> Self:
        """Return a schema with cut points learned from *private* rows, by private quantiles under a charge.

        Every number without declared cut points gets up to ``bins - 1`` cut points, between which there are about
        equally many rows. Everything else stays as declared. A number with its default grid counts as a number without
        declared cut points. Neighbouring tables differ by one row, or by all rows of one unit. The numbers share
        `epsilon` equally. All cut points of a number are drawn jointly, by one exponential mechanism over public
        candidates.

        Parameters
        ----------
        data : pandas, polars or pyarrow frame, or array
            Private rows.
        declared : Schema
            The schema with kinds and bounds. Take them from knowledge of the domain and not from the rows.
        epsilon : float, Fraction, Decimal or str
            Privacy loss of all cut points together.
        budget : Budget, optional
            The budget to charge. Default: a new budget of `epsilon`.
        bins : int, default=5
            The number of intervals with about equally many rows, up to 1,000.
        random_state : NoiseSource, int, RandomState, Generator or None, default=None
            None uses secure noise. A seed, or another source, is for tests and voids the guarantee.

        Warns
        -----
        WeakGuaranteeWarning
            If `epsilon` is above 10. Nothing has been charged at this point.

        Raises
        ------
        BudgetExceededError
            If the budget has less than `epsilon` left; nothing is charged.
        SchemaError
            If all numbers have declared cut points other than their default grids; nothing is charged.
        TooManyRowsError
            If 2³² rows or more would be counted; nothing is charged.
        ValueError
            If `bins` is not a whole number from 2 to 1,000, `epsilon` is below the supported minimum, or the schema has
            charges for another unit of privacy; nothing is charged.

        References
        ----------
        Gillenwater, Joseph and Kulesza, *Differentially Private Quantiles*, ICML 2021, Section 3.

        Examples
        --------
        >>> import pandas as pd
        >>> from hedgerow.schema import Integer
        >>> frame = pd.DataFrame({"age": list(range(18, 90)) * 20})
        >>> learned = Schema.learn(frame, Schema({"age": Integer(0, 120)}), epsilon=2.0, bins=2)
        >>> 40 < learned["age"].cuts[0] < 67
        True
        """
        if not isinstance(declared, Schema):
            raise ArgumentTypeError(f"declared must be a Schema, got {type(declared).__name__}.")
        if not (budget is None or isinstance(budget, Budget)):
            raise ArgumentTypeError(f"budget must be a Budget or None, got {type(budget).__name__}.")
        return with_private_cuts(declared, Table.of(data), budget, epsilon, bins, random_state)

    @property
    def _lines(self) -> list[tuple[str, str, str]]:
        rows = [(printable(name), a.kind, a.domain + a.details) for name, a in self.attributes]
        if self.unit is not None:
            rows.append((printable(self.unit.column), "unit", f"identifies the unit of privacy; {used(self.unit)}"))
        if self.weight is not None:
            rows.append((printable(self.weight.name), "weight", self.weight.domain))
        if self.label is not None:
            rows.append((printable(self.label.name), self.label.kind, self.label.domain))
        return rows

    def _repr_html_(self) -> str:
        return table(("column", "kind", "domain"), self._lines)

    def __str__(self) -> str:
        rows = self._lines
        width = min(max(len(name) for name, _, _ in rows), _WIDEST)
        return "\n".join(f"{name:<{width}}  {kind:<11}  {text}" for name, kind, text in rows)

    def __repr__(self) -> str:
        label = shown(self.label.name if self.label else None)
        return f"<Schema {number_of(len(self), 'attribute')}, label {label}, {self.digest[:12]}>"
