"""Schemas of Boolean tables: the only domain that need not be declared."""

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
    "without a schema every column and the label must be booleans or 0/1, none missing. Write a schema "
    "(`hedgerow schema new`, Schema.load), derive one from public data (`hedgerow schema from-public`, "
    "Schema.from_public), or learn cut points under a charge (`hedgerow schema learn`, Schema.learn)."
)


def boolean_schema(names: Sequence[str], labels: Any, label: str | None = None) -> Schema:
    """Return the schema of boolean columns and a boolean label; no value is looked at, only the type of the labels."""
    given = Labels.of(labels)
    return all_boolean(names, given.name if label is None else label, default_classes(given.is_boolean))


def all_boolean(names: Iterable[str], label: str, classes: tuple[Any, ...]) -> Schema:
    """Return the schema of boolean columns with a label; a column of the label's name is left out.

    DomainError if a column has no name of its own: without a schema, all columns are used.
    """
    names = tuple(names)
    if unnamed := [name for name in names if is_generated(name)]:
        problem = f"without a schema every column is used and needs a name of its own, found {listed(unnamed)}"
        raise DomainError(f"{problem}; declare the columns to use in a schema, or name each column once.")
    return Schema(tuple((name, Boolean()) for name in names if name != label), Label(label, classes))


def default_classes(are_boolean: bool) -> tuple[bool, bool] | tuple[int, int]:
    """Return the classes of labels that nobody declared: ``False, True`` if their column is boolean, else ``0, 1``."""
    return (False, True) if are_boolean else (0, 1)


def advise(error: DomainError) -> DomainError:
    """Return the error for a table that is not boolean, with the ways to get a schema."""
    return DomainError(f"not boolean; {_ADVICE}", column=error.column)


def learning_problems(schema: Schema) -> tuple[SchemaError, ...]:
    """Return why learners refuse a schema: it declares no label, or numbers have no cut points."""
    found: list[SchemaError] = []
    try:
        schema.target  # noqa: B018 -- raises where the schema declares no label
    except SchemaError as error:
        found.append(error)
    problem = "expected a number with cut points, got one without; leave out `cuts: []` for the default grid"
    learn = "learn them under a charge (`hedgerow schema learn`, Schema.learn)"
    refused = SchemaError(f"{problem}, declare cut points, {learn}, or leave the attribute out.", key="cuts")
    return (*found, *(refused.placed(attribute=name) for name, number in schema.numbers.items() if not number.cuts))
