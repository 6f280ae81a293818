"""Options of the unit of privacy, for a schema that declares none."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, TypeVar

import typer

from hedgerow.errors import ArgumentError
from hedgerow.privacy.unit import Unit
from hedgerow.schema import Schema

UnitColumn = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="COLUMN",
        help="Column that says whose row it is, such as patient_id: all rows of one are protected together, and at "
        "most --max-rows of them are counted, drawn at random. Default: the schema's unit, or one row.",
    ),
]
MaxRows = Annotated[
    int | None, typer.Option(help="With --unit: rows of each that are counted at most; noise grows with it.")
]
S = TypeVar("S", Schema, Schema | None)


def with_unit(schema: S, column: str | None, max_rows: int | None) -> S:
    """Return a schema with the unit that options declare; as it is without them."""
    if column is None and max_rows is None:
        return schema
    if column is None or max_rows is None:
        raise ArgumentError("expected --unit and --max-rows together, got one of them.")
    if schema is None:
        raise ArgumentError("expected --schema with --unit, got no schema: its columns would be attributes.")
    unit = Unit(column, max_rows)
    if schema.unit not in (None, unit):
        raise ArgumentError("expected no --unit where the schema declares one, got another than the schema's.")
    return replace(schema, unit=unit)
