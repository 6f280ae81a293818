"""What a learner asks of a schema beyond being well formed: classes, and cut points of every number."""

from __future__ import annotations

from hedgerow.errors import SchemaError
from hedgerow.schema.schema import Schema


def learning_problems(schema: Schema) -> tuple[SchemaError, ...]:
    """Return every reason for which learners refuse a schema; none if they accept it.

    Examples
    --------
    >>> from hedgerow.schema import Boolean
    >>> [str(problem) for problem in learning_problems(Schema({"a": Boolean()}))]
    ['Expected a schema with a label, got none; add `label: {name: ..., classes: [...]}`.']
    """
    found: list[SchemaError] = []
    try:
        schema.classes  # noqa: B018 -- raises where the schema declares no label
    except SchemaError as error:
        found.append(error)
    return (
        *found,
        *(
            SchemaError(
                "expected a number with cut points, got one without; leave out `cuts: []` for the default grid, "
                "declare cut points, learn them under a charge (`hedgerow schema learn`, Schema.learn), or leave the "
                "attribute out.",
                attribute=name,
                key="cuts",
            )
            for name, attribute in schema.attributes
            if getattr(attribute, "cuts", None) == ()
        ),
    )
