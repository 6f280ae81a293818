"""Schemas: everything that is public about a table."""

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
"""Why a model has no guarantee whose schema was made of the private rows themselves."""
_WIDEST = 40  # characters of a column of what is printed


@dataclass(frozen=True)
class Schema:
    """The public description of a table: its attributes, their domains and cut points, and the class labels.

    Written by a person, cut from public data (`from_public`), or learned from private rows under a charge (`learn`);
    never inferred from private rows for free. Numbers without declared cut points have those of `default_cuts`.

    Attributes
    ----------
    attributes : mapping of str to Attribute
        The attributes in order; kept as a tuple of pairs.
    label : Label, OrderedLabel, Number or None
        The column to predict: classes, or a number. None for a schema that only describes bins.
    charges : tuple of Charge
        What was spent on private rows to learn the cut points; goes onto the card of every model with this schema.
        Where the schema was read from a file the card says that the file declares it.
    no_guarantee : tuple of Fact
        Why a model with this schema has no guarantee: ``domain taken from the data``. None where no reason is known.
    unit : Unit or None
        What is protected where a person may have many rows; None for one row.
    weight : Weight or None
        The column with the weight of each row; None where every row counts as one.

    Raises
    ------
    SchemaError
        If there is no attribute, a name twice, or the label, the unit's or the weight's column among the others.

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
        given = {"attributes": named(attributes), "label": label, "charges": tuple(charges), "unit": unit}
        for name, value in (given | {"no_guarantee": reasons(no_guarantee), "weight": weight}).items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        found = names_of(self.attributes)
        label = None if self.label is None else self.label.name
        if label in found:
            raise SchemaError("the label cannot be an attribute too; remove one of them.", attribute=label)
        for name, derived in self.derivations.items():
            if not {*self.derivations, *self.extra_columns}.isdisjoint(derived.columns):
                problem = "derive it from other columns of the table, not from a derived attribute, the label, the unit"
                raise SchemaError(f"{problem} or the weight.", attribute=name, key="derived")
        if self.unit is not None:
            problem = name_problem(self.unit.column)
            if self.unit.column in {*found, label}:
                problem = "expected another column than the attributes and the label; remove it there."
            if problem:
                raise SchemaError(problem, key="unit")
        if self.weight is not None and self.weight.name in {*found, label, self.unit and self.unit.column}:
            problem = "expected another column than the attributes, the label and the unit's; remove it there."
            raise SchemaError(problem, key="weight")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes' names."""
        return tuple(name for name, _ in self.attributes)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The attributes' numbers of bins."""
        return tuple(attribute.n_bins for _, attribute in self.attributes)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def numbers(self) -> Mapping[str, Numeric]:
        """Those attributes that are numbers or dates, by name."""
        return {name: one for name, one in self.attributes if isinstance(one, Numeric)}

    @property
    def number_columns(self) -> tuple[str, ...]:
        """The columns that hold numbers or dates: attributes or what they are derived from, the target, the weight."""
        target, weight = self.label and self.label.as_number, self.weight
        return (*self.columns(self.numbers), *(one.name for one in (target, weight) if one is not None))

    @cached_property
    def extra_columns(self) -> Mapping[str, Target | Unit | Weight]:
        """The label, the unit and the weight by their columns, those that are declared."""
        label, unit, weight = self.label, self.unit, self.weight
        found = [(label and label.name, label), (unit and unit.column, unit), (weight and weight.name, weight)]
        return {name: one for name, one in found if name is not None and one is not None}

    @cached_property
    def forms(self) -> Mapping[Hashable, tuple[Attribute, int]]:
        """The first attribute of each form, whose literals are alike, and how many attributes have this form."""
        found = dict[Hashable, tuple[Attribute, int]]()
        for _, attribute in self.attributes:
            form = attribute.form
            first, times = found.get(form, (attribute, 0))
            found[form] = first, times + 1
        return found

    @cached_property
    def derivations(self) -> Mapping[str, Derivation]:
        """What computes those attributes that are derived from columns of the table, by name."""
        return {name: one.derived for name, one in self.attributes if one.derived is not None}

    def columns(self, names: Iterable[str] | None = None) -> tuple[str, ...]:
        """Return the columns of a table that the named attributes (default: all) are, or are derived from."""
        found: dict[str, None] = {}
        for name in self.names if names is None else names:
            derived = self[name].derived
            found |= dict.fromkeys((name,) if derived is None else derived.columns)
        return tuple(found)

    @property
    def without_derivations(self) -> Self:
        """The schema of a table that has the derived attributes as columns."""
        if not self.derivations:
            return self
        return replace(self, attributes=tuple((name, replace(one, derived=None)) for name, one in self.attributes))

    @cached_property
    def monotone(self) -> Mapping[str, Direction]:
        """Those attributes along which predictions may only rise, or only fall, by name."""
        return {name: one.monotone for name, one in self.attributes if one.monotone is not None}

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
        """The class labels; raises SchemaError if the schema declares no label, or a number."""
        return self.class_label.classes

    @property
    def class_label(self) -> Label:
        """The label with classes; raises SchemaError if the schema declares no label, or a number."""
        if isinstance(self.target, Label):
            return self.target
        problem = "expected a label with classes, got a number, which only regressors and their models take."
        raise SchemaError(problem, attribute=self.target.name)

    @property
    def target(self) -> Target:
        """The label, or the number, which a model predicts; raises SchemaError if the schema declares none."""
        if self.label is None:
            raise SchemaError("Expected a schema with a label, got none; add `label: {name: ..., classes: [...]}`.")
        return self.label

    def encode(self, table: Table, names: Sequence[str] | None = None) -> dict[str, BinCodes]:
        """Return the bins of the named attributes (default: all) for every row; DomainError if a table does not fit."""
        wanted = self.names if names is None else names
        self.check_columns(table, wanted)
        return {name: self[name].encode(self.column(table, name)) for name in wanted}

    def column(self, table: Table, name: str) -> Column:
        """Return the column of an attribute: the table's, by name or in an array by position, or one that is derived.

        A derived value depends on its own row alone, so that tables that differ by a row still do.
        """
        derived = self[name].derived
        if derived is None:
            return table.column(name, self._places[name])
        return derived.column(name, [table.column(column, 0) for column in derived.columns])

    def check_columns(self, table: Table, names: Sequence[str] | None = None) -> None:
        """Check that a table has the columns of the named attributes (default: all); DomainError, no row is touched."""
        if table.names is None and table.width != len(self):
            raise DomainError(f"expected {len(self)} columns ({listed(self.names)}), got {table.width}.")
        self.check_underived(table.names, names)
        table.require(self.columns(names))

    def check_types(self, table: Table) -> None:
        """Check columns, and that their types have values of the attributes; DomainError, no row is touched."""
        self.check_columns(table)
        types = table.without_rows()
        for name, attribute in self.attributes:
            if attribute.derived is None:
                attribute.check_type(self.column(types, name))

    def check_underived(self, columns: Sequence[str] | None, names: Sequence[str] | None = None) -> None:
        """Check that a table of these columns, None for an array, leaves derived attributes to derive; DomainError."""
        for name in {**self.derivations} if names is None else filter(self.derivations.__contains__, names):
            if columns is None:
                raise DomainError("is derived from columns by name: expected a frame, got an array.", column=name)
            if name in columns:
                problem = f"is derived from {listed(self.derivations[name].columns)}, but the table has this column too"
                raise DomainError(f"{problem}; remove it, or remove `derived` from the schema.", column=name)

    def check_unit(self, table: Table) -> None:
        """Check that a table has the columns of the schema's unit and weight (DomainError); no row is touched."""
        if self.unit is not None:
            check_unit(self.unit, table)
        if self.weight is not None:
            self.weight.check_column(table)

    @property
    def steps(self) -> int:
        """The most rows of a tally that one row of a table is: as many as its weight has steps."""
        return 1 if self.weight is None else self.weight.levels

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the schema's JSON, attributes in order: equal for equal schemas."""
        text = json.dumps(self.to_dict(), separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON-ready data; defaults are left out."""
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
        """Return the schema that plain data holds, as `to_dict` writes it or a person.

        SchemaError names the attribute and the key at fault; its `faults` are all that were found.
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
        """Read a schema from a YAML or JSON file; OSError if it cannot be read.

        SchemaError names the line, the attribute and the key at fault; its `faults` are all that were found.
        """
        data = read_mapping(path)
        try:
            return cls.from_dict(data)
        except SchemaError as error:
            faults = error.faults
        lines = lines_of(path)
        raise SchemaError.of([fault.placed(line=line_of_fault(fault, lines)) for fault in faults])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the schema to a file, JSON if its name ends in ``.json``, YAML if in ``.yaml`` or ``.yml``.

        It is replaced whole or not at all. SchemaError for another ending, OSError if it cannot be written.
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
        """Cut a schema out of *public* rows: quantile cut points, the categories that occur, bounds as found.

        Whatever is read off them becomes public. Never call it on private rows: use `learn`, or write the schema.

        Parameters
        ----------
        data : pandas, polars or pyarrow frame, or array
            Public rows.
        label : str, optional
            The column to predict: classes, or a number if it has fractions or more than 100 different values.
        bins : int, default=5
            How many intervals of about equal mass to cut numbers into.
        missing_values : sequence
            Values that mean "missing" wherever they occur, such as ``"?"``.
        outside : {"error", "bin"}, default="error"
            What a category is that does not occur in these rows. With a bin for it, rules may compare with the bin, and
            learned rules then say "outside its domain" where few people know what is meant.

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
        """Find the cut points of `declared`'s numbers from *private* rows, by private quantiles under a charge.

        Every number without declared cut points (those of the default grid count as none) gets up to ``bins - 1``
        balanced ones; all else stays as declared. Neighbouring tables differ by one row, or by all rows of one unit. ε
        is shared equally by the numbers; all cut points of one are drawn jointly, by one exponential mechanism over
        public candidates.

        Parameters
        ----------
        data : pandas, polars or pyarrow frame, or array
            Private rows.
        declared : Schema
            Bounds and kinds, from knowledge and not from the rows.
        epsilon : float, Fraction, Decimal or str
            What to spend on the cut points in all.
        budget : Budget, optional
            Where to charge it. Default: a budget of its own.
        bins : int, default=5
            How many intervals of about equal mass to aim at, up to 1,000.
        random_state : NoiseSource, int, RandomState, Generator or None, default=None
            None: secure noise. A seed, or another source, is for tests and voids the guarantee.

        Raises
        ------
        BudgetExceededError
            If the budget has less than `epsilon` left; nothing is charged then.
        SchemaError
            If all declared numbers have cut points, and other ones than their default grids; nothing is charged then.
        TooManyRowsError
            If 2³² rows or more would be counted; nothing is charged then.
        ValueError
            If `bins` is not a whole number from 2 to 1,000, `epsilon` is below the supported minimum, or charges of the
            schema are of another unit of privacy; nothing is charged then.

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
            rows.append((printable(self.unit.column), "unit", f"whose row it is; {used(self.unit)}"))
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
