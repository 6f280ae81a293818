"""Schemas of Boolean tables, the only tables whose domain need not be declared."""

from collections.abc import Iterable, Sequence
from typing import Any

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.listed import Boolean
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Label
from hedgerow.tables.csv_files import is_generated
from hedgerow.tables.frames import Labels
from hedgerow.text.values import listed

_ADVICE = (
    "a table without a schema may contain only true, false, 0 and 1, in every column and in the label, and no missing "
    "values. Write a schema (`hedgerow schema new`, Schema.load), derive one from public data (`hedgerow schema "
    "from-public`, Schema.from_public), or learn its cut points under a charge (`hedgerow schema learn`, Schema.learn)."
)


def boolean_schema(names: Sequence[str], labels: Any, label: str | None = None) -> Schema:
    """Return the schema of boolean columns with a boolean label; only the type of the labels is read, and no value."""
    series = Labels.of(labels)
    return all_boolean(names, series.name if label is None else label, default_classes(series.is_boolean))


def all_boolean(names: Iterable[str], label: str, classes: tuple[Any, ...]) -> Schema:
    """Return the schema of boolean columns with a label; the column of the label is not an attribute.

    DomainError if a column has no unique name.
    """
    names = tuple(names)
    if unnamed := [name for name in names if is_generated(name)]:
        problem = f"columns without a unique name: {listed(unnamed)}. Without a schema, every column is used"
        raise DomainError(f"{problem}; give each column a unique name, or list the columns to use in a schema.")
    return Schema(tuple((name, Boolean()) for name in names if name != label), Label(label, classes))


def default_classes(are_boolean: bool) -> tuple[bool, bool] | tuple[int, int]:
    """Return the classes of undeclared labels: ``False, True`` for a boolean column, else ``0, 1``."""
    return (False, True) if are_boolean else (0, 1)


def advise(error: DomainError) -> DomainError:
    """Return the error for a table that is not boolean, which explains how to get a schema."""
    return DomainError(f"not boolean; {_ADVICE}", column=error.column)


def learning_problems(schema: Schema) -> tuple[SchemaError, ...]:
    """Return the reasons why learners do not accept a schema: no label, or numbers without cut points."""
    problems: list[SchemaError] = []
    try:
        schema.target  # noqa: B018 -- raises if the schema declares no label
    except SchemaError as error:
        problems.append(error)
    advice = "remove `cuts: []` to use the default grid, declare cut points, learn them under a charge"
    uncut = f"a number without cut points cannot be used; {advice} (`hedgerow schema learn`, Schema.learn)"
    problem = SchemaError(f"{uncut}, or remove the attribute.", key="cuts")
    return (*problems, *(problem.placed(attribute=name) for name, number in schema.numbers.items() if not number.cuts))
