"""What a column of a model is called, and the attribute or the literal of a schema that is meant."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from hedgerow.errors import SchemaError
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import Value, quoted_text

_LEFT, _INFREQUENT = "remainder__", "_infrequent_sklearn"


def meaning(feature: str | Literal, schema: Schema) -> str | Literal:
    """Return the attribute that a column holds, or the literal where it is 1.

    A name of a ``ColumnTransformer``, ``{step}__{column}``, is that of the column if it is a literal's, or that of an
    attribute which the transformer left as it is, ``remainder__{attribute}``.

    Raises
    ------
    SchemaError
        If the schema has no such attribute, and none or several literals that could be called so; or if the name does
        not tell what it stands for: a bin by its number, infrequent categories, what a step made of an attribute.

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
    ends = [] if isinstance(feature, Literal) else _ends(name)
    left = name.removeprefix(_LEFT)
    found = [left] * (left in schema) + sorted({x for end in ends for x in _literals_called(end, schema)}, key=str)
    if len(found) == 1:
        return found[0]
    declared = ", ".join(map(quoted_text, schema.names))
    problem = (
        f"can be {' or '.join(map(str, found))}"
        if found
        else next(filter(None, (_untold(end, schema) for end in ends)), "is a column of the model but not declared")
    )
    raise SchemaError(
        f"{problem}; give features=: for each column an attribute, of {declared}, or a Literal on one of them; or the "
        "fitted transformer that made the columns.",
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


def _ends(name: str) -> list[str]:
    """Return the name, and what is left of it without the steps of a ``ColumnTransformer`` before it."""
    parts = name.split("__")
    return ["__".join(parts[i:]) for i in range(len(parts))]


def _untold(name: str, schema: Schema) -> str | None:
    """Return why the name of a column does not tell what it is, though it is made of an attribute's; None if not."""
    if name in schema:
        return f"is what a step made of {quoted_text(name)}, and its name does not tell what"
    attribute, _, rest = name.rpartition("_")
    if attribute in schema and rest.endswith(".0") and rest[:-2].isdecimal():
        return f"can be a value of {quoted_text(attribute)} or the number of a bin (KBinsDiscretizer)"
    attribute = name.removesuffix(_INFREQUENT)
    if attribute in schema:
        return f"stands for the infrequent values of {quoted_text(attribute)}, and its name does not tell which"
    return None


def _literals_called(column: str, schema: Schema) -> Iterator[Literal]:
    """Yield the literals that a column of this name can be meant for."""
    for name, attribute in schema.attributes:
        for literal in attribute.literals(name, negations=True):
            if column in _dummy_names(literal) or (column == str(literal) and column != name):
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
            number = whole_number(text)  # a bin is called by its number from 0 on, 0.0
            spelled = [text] if number is None or number >= 0 else [text, f"{text}.0"]
        case "true":
            spelled = ["True", "1", "1.0"]
        case "false":
            spelled = ["False", "0", "0.0"]
        case "missing":
            spelled = ["nan", "None"]
        case _:
            spelled = []
    return {f"{literal.attribute}{mark}{text}" for mark in "_=" for text in spelled}
