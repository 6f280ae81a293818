"""What a column of a model is called, and the attribute or the literal of a schema that is meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite

from hedgerow.errors import ArgumentTypeError, SchemaError
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import Value, quoted_text

_INFREQUENT = "infrequent_sklearn"
_MISSING = ("nan", "None")


def meaning(feature: str | Literal, schema: Schema) -> str | Literal:
    """Return the attribute that a column holds, or the literal where it is 1.

    A name of a ``ColumnTransformer``, ``{step}__{column}``, is that of the column if it is a literal's.

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
        raise ArgumentTypeError(
            f"expected the name of an attribute or a Literal for each column, got {type(feature).__name__}."
        )
    name = feature.attribute if isinstance(feature, Literal) else str(feature)
    if name in schema:
        return feature if isinstance(feature, Literal) else name
    ends = [] if isinstance(feature, Literal) else _ends(name)
    found = sorted({x for end in ends for x in _literals_called(end, schema.attributes)}, key=str)
    if len(found) == 1:
        return found[0]
    problem = (
        f"can be {' or '.join(map(str, found))}"
        if found
        else next(filter(None, (_untold(end, schema) for end in ends)), "is a column of the model but not declared")
    )
    raise _unclear(name, problem, schema)


def meanings(names: Iterable[object], schema: Schema) -> tuple[str | Literal, ...]:
    """Return what each column of a table is, as `meaning` does of one.

    Raises
    ------
    SchemaError
        As `meaning` does; also if a column is called as an attribute, and as what an encoder makes of another one
        that is not there. Or if two columns would be one and the same.

    Examples
    --------
    >>> from hedgerow.schema import Boolean, Categorical
    >>> schema = Schema({"age": Categorical(("young", "old")), "age_old": Boolean()})
    >>> meanings(["age", "age_old"], schema)
    ('age', 'age_old')
    >>> meanings(["age_young", "age_old"], schema)
    Traceback (most recent call last):
    hedgerow.errors.SchemaError: attribute 'age_old': can be age_old or age = old; give features=: ...
    """
    columns = list(map(str, names))
    absent = {name: attribute for name, attribute in schema.attributes if name not in columns}
    for name in (x for x in columns if x in schema):
        others = _other_meanings(name, absent)
        if others:
            raise _unclear(name, f"can be {name} or {' or '.join(map(str, others))}", schema)
    found = tuple(meaning(name, schema) for name in columns)
    called: dict[Literal, str] = {}
    for name, one in zip(columns, found, strict=True):
        if isinstance(one, Literal) and called.setdefault(one, _spelled(name, one)) != _spelled(name, one):
            raise _unclear(name, f"and another column are both called as {one}, so they tell apart its values", schema)
    return found


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


def _unclear(name: str, problem: str, schema: Schema) -> SchemaError:
    declared = ", ".join(map(quoted_text, schema.names))
    return SchemaError(
        f"{problem}; give features=: for each column an attribute, of {declared}, or a Literal on one of them; or the "
        "fitted transformer that made the columns. In the table that a Pipeline was fitted on, rename it.",
        attribute=name,
    )


def _other_meanings(name: str, others: Mapping[str, Attribute]) -> list[str | Literal]:
    """Return what a column that is called as an attribute can be of some others: a value, or made by a step."""
    ends = _ends(name)
    inside = [(x, attribute) for x, attribute in others.items() if any(f"{x}{mark}" in name for mark in "_=")]
    return [*(end for end in ends if end in others), *(x for end in ends for x in _literals_called(end, inside))]


def _spelled(column: str, literal: Literal) -> str:
    """Return how a column of a literal's spells the value."""
    return column[column.rfind(literal.attribute) + len(literal.attribute) :]


def _ends(name: str) -> list[str]:
    """Return the name, and what is left of it without the steps of a ``ColumnTransformer`` before it."""
    parts = name.split("__")
    return ["__".join(parts[i:]) for i in range(len(parts))]


def _untold(name: str, schema: Schema) -> str | None:
    """Return why the name of a column does not tell what it is, though it is made of an attribute's; None if not."""
    if name in schema:
        return f"is what a step made of {quoted_text(name)}, and its name does not tell what"
    attribute, _, rest = name.rpartition("_")
    if attribute in schema and _is_bin(rest):
        return f"can be a value of {quoted_text(attribute)} or the number of a bin (KBinsDiscretizer)"
    attribute = name.removesuffix(f"_{_INFREQUENT}")
    if attribute in schema:
        return f"stands for the infrequent values of {quoted_text(attribute)}, and its name does not tell which"
    attribute, _, rest = name.rpartition("_")
    if rest in _MISSING and attribute in schema and schema[attribute].missing_values:
        return f"is {rest}, and the schema takes other values of {quoted_text(attribute)} for missing too"
    return None


def _is_bin(text: str) -> bool:
    """Return whether a text is how ``KBinsDiscretizer`` calls a bin: by its number from 0 on, 0.0."""
    return text.endswith(".0") and text[:-2].isdecimal()


def _literals_called(column: str, attributes: Iterable[tuple[str, Attribute]]) -> Iterator[Literal]:
    """Yield the literals that a column of this name can be meant for."""
    for name, attribute in attributes:
        for literal in attribute.literals(name, negations=True):
            if column in _dummy_names(literal, attribute) or (column == str(literal) and column != name):
                yield literal
        for operator in ("<=", ">") if isinstance(attribute, (Integer, Real)) else ():
            start = f"{name} {operator} "
            number = finite_number(column.removeprefix(start)) if column.startswith(start) else None
            if number is not None:
                yield Literal(name, operator, (number,))


def _dummy_names(literal: Literal, attribute: Attribute) -> set[str]:
    """Return how pandas and scikit-learn call the column of 0 and 1 for a value."""
    match literal.operator:
        case "=":
            text = str(literal.operands[0])
            number = whole_number(text)
            spelled = [text] if number is None or number >= 0 else [text, f"{text}.0"]
            spelled = [x for x in spelled if not _is_bin(x) and x != _INFREQUENT]
        case "true":
            spelled = ["True", "1", "1.0"]
        case "false":
            spelled = ["False", "0", "0.0"]
        case "missing":
            spelled = [] if attribute.missing_values else _MISSING
        case _:
            spelled = []
    return {f"{literal.attribute}{mark}{text}" for mark in "_=" for text in spelled}
