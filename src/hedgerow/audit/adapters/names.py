"""What a column of a model is called, and the attribute or the literal of a schema that is meant."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from hedgerow.errors import SchemaError
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import Value, quoted_text


def meaning(feature: str | Literal, schema: Schema) -> str | Literal:
    """Return the attribute that a column holds, or the literal where it is 1.

    Raises
    ------
    SchemaError
        If the schema has no such attribute, and none or several literals that could be called so.

    Examples
    --------
    >>> from hedgerow.schema import Categorical
    >>> schema = Schema({"hue": Categorical(("red", "green", "blue"))})
    >>> meaning("hue", schema), str(meaning("hue_red", schema))
    ('hue', 'hue = red')
    """
    if not isinstance(feature, (str, Literal)):
        raise TypeError(
            f"expected the name of an attribute or a Literal for each column, got {type(feature).__name__}."
        )
    name = feature.attribute if isinstance(feature, Literal) else str(feature)
    if name in schema:
        return feature if isinstance(feature, Literal) else name
    found = [] if isinstance(feature, Literal) else sorted(set(_literals_called(name, schema)), key=str)
    if len(found) == 1:
        return found[0]
    declared = ", ".join(map(quoted_text, schema.names))
    problem = f"can be {' or '.join(map(str, found))}" if found else "is a column of the model but not declared"
    raise SchemaError(
        f"{problem}; give features=: for each column an attribute, of {declared}, or a Literal on one of them.",
        attribute=name,
    )


def whole_number(value: Value) -> int | None:
    """Return the whole number that a category is or spells; None for any other."""
    text = str(value)
    try:
        return int(text) if str(int(text)) == text else None
    except ValueError:
        return None


def finite_number(text: str) -> float | None:
    """Return the number that a text spells; None if it is none, or not a finite one."""
    try:
        return float(text) if isfinite(float(text)) else None
    except ValueError:
        return None


def _literals_called(column: str, schema: Schema) -> Iterator[Literal]:
    """Yield the literals that a column of this name can be meant for."""
    for name, attribute in schema.attributes:
        for literal in attribute.literals(name, negations=True):
            if column == str(literal) or column in _dummy_names(literal):
                yield literal
        for operator in ("<=", ">") if isinstance(attribute, (Integer, Real)) else ():
            start = f"{name} {operator} "
            number = finite_number(column.removeprefix(start)) if column.startswith(start) else None
            if number is not None:
                yield Literal(name, operator, (number,))


def _dummy_names(literal: Literal) -> set[str]:
    """Return how pandas and scikit-learn call the column of 0 and 1 for a value."""
    match literal.operator:
        case "=":
            text = str(literal.operands[0])
            spelled = [text] if whole_number(text) is None else [text, f"{text}.0"]
        case "true":
            spelled = ["True", "1", "1.0"]
        case "false":
            spelled = ["False", "0", "0.0"]
        case "missing":
            spelled = ["nan", "None"]
        case _:
            spelled = []
    return {f"{literal.attribute}{mark}{text}" for mark in "_=" for text in spelled}
