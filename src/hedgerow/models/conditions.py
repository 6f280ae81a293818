"""Literals as conditions of a model: whether they fit its schema, and what their failing says in words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hedgerow.errors import SchemaError
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema


def check_literals(literals: Iterable[Literal], schema: Schema, user: str) -> None:
    """Check that literals fit a schema; `user` names in the message what they are part of.

    Raises
    ------
    SchemaError
        If an attribute is not declared, or a literal is not one of those on it.
    """
    for literal in literals:
        if literal.attribute not in schema:
            raise SchemaError(f"is used by {user} but not declared.", attribute=literal.attribute)
        schema[literal.attribute].truth(literal)


def complement(literal: Literal, attribute: Attribute) -> Literal | None:
    """Return the literal that holds of exactly the values of which another does not; None if there is none.

    Examples
    --------
    >>> from hedgerow.schema import Integer
    >>> print(complement(Literal("age", "<=", (30,)), Integer(17, 90, cuts=(30, 45))))
    age > 30
    >>> print(complement(Literal("age", "<=", (30,)), Integer(17, 90, cuts=(30, 45), missing="cell")))
    None
    """
    wanted = ~attribute.truth(literal)
    others = attribute.literals(literal.attribute, negations=True)
    return next((other for other in others if np.array_equal(attribute.truth(other), wanted)), None)


def in_words(literal: Literal, attribute: Attribute, *, holds: bool) -> str:
    """Return in words that a literal holds, or that it does not, which a missing value does not satisfy either way.

    Examples
    --------
    >>> from hedgerow.schema import Integer
    >>> in_words(Literal("age", "<=", (30,)), Integer(17, 90, cuts=(30,), missing="cell"), holds=False)
    'not (age <= 30)'
    """
    if holds:
        return str(literal)
    other = complement(literal, attribute)
    return f"not ({literal})" if other is None else str(other)
