"""Resolution of a model's column names to attributes or literals of a schema."""

from collections.abc import Iterable, Iterator
from math import isfinite
from re import fullmatch

from hedgerow.errors import ArgumentTypeError, SchemaError
from hedgerow.schema import Attribute, Literal, Schema
from hedgerow.schema.numbers import as_number
from hedgerow.text.values import quoted_text, value_text

_INFREQUENT = "infrequent_sklearn"
_MISSING = ("nan", "None")


def meaning(feature: str | Literal, schema: Schema) -> str | Literal:
    """Return the attribute of a column, or the literal for which it is 1, such as hue = red for hue_red."""
    if not isinstance(feature, (str, Literal)):
        problem = "features must have the name of an attribute or a Literal for each column"
        raise ArgumentTypeError(f"{problem}, got {type(feature).__name__}.")
    name = feature.attribute if isinstance(feature, Literal) else str(feature)
    if name in schema:
        return feature if isinstance(feature, Literal) else name
    ends = [] if isinstance(feature, Literal) else _ends(name)
    literals = sorted({x for end in ends for x in _literals_called(end, schema.attributes)}, key=str)
    if len(literals) == 1:
        return literals[0]
    problem = (
        f"can mean {' or '.join(map(str, literals))}"
        if literals
        else next(filter(None, (_ambiguity(end, schema) for end in ends)), "is a column of the model but not declared")
    )
    raise _unclear(name, problem, schema)


def meanings(names: Iterable[object], schema: Schema) -> tuple[str | Literal, ...]:
    """Return the meaning of each column of a table; SchemaError if a name is ambiguous."""
    columns = list(map(str, names))
    absent = {name: attribute for name, attribute in schema.attributes if name not in columns}
    for name in (x for x in columns if x in schema):
        ends = _ends(name)
        inside = [(x, attribute) for x, attribute in absent.items() if any(f"{x}{mark}" in name for mark in "_=")]
        others = [*(end for end in ends if end in absent), *(x for end in ends for x in _literals_called(end, inside))]
        if others:
            raise _unclear(name, f"can mean {name} or {' or '.join(map(str, others))}", schema)
    features = tuple(meaning(name, schema) for name in columns)
    spellings: dict[Literal, str] = {}
    for name, feature in zip(columns, features, strict=True):
        if isinstance(feature, Literal):
            spelled = _spelled(name, feature)
            if spellings.setdefault(feature, spelled) != spelled:
                problem = f"and another column both mean {feature}, but distinguish values that the schema does not"
                raise _unclear(name, problem, schema)
    return features


def finite_number(text: str) -> float | None:
    try:
        return float(text) if isfinite(float(text)) else None
    except ValueError:
        return None


def _unclear(name: str, problem: str, schema: Schema) -> SchemaError:
    declared = ", ".join(map(quoted_text, schema.names))
    return SchemaError(
        f"{problem}; pass as `features=`, for each column, one of the attributes {declared} or a Literal; or pass the "
        "fitted transformer that computed the columns. For a Pipeline, rename the column in the training table.",
        attribute=name,
    )


def _spelled(column: str, literal: Literal) -> str:
    return column[column.rfind(literal.attribute) + len(literal.attribute) :]


def _ends(name: str) -> list[str]:
    """Return the name with and without the prefixes of step names that ``ColumnTransformer`` adds."""
    parts = name.split("__")
    return ["__".join(parts[i:]) for i in range(len(parts))]


def _ambiguity(name: str, schema: Schema) -> str | None:
    """Return the reason why the name of a column computed from an attribute is ambiguous, or None."""
    if name in schema:
        return f"was computed from {quoted_text(name)} by an unknown step"
    attribute, _, rest = name.rpartition("_")
    if attribute in schema and _is_bin(rest):
        return f"can be a value of {quoted_text(attribute)} or the number of a bin (KBinsDiscretizer)"
    attribute = name.removesuffix(f"_{_INFREQUENT}")
    if attribute in schema:
        return f"means infrequent values of {quoted_text(attribute)}, which the name does not list"
    attribute, _, rest = name.rpartition("_")
    if rest in _MISSING and attribute in schema and schema[attribute].missing_values:
        return f"means {rest}, but the schema declares other missing values of {quoted_text(attribute)}"
    for x, attribute in schema.attributes:
        if any(name in (f"{x}_{token}", f"{x}={token}") for token in map(value_text, attribute.missing_values)):
            return f"means one of several missing values of {quoted_text(x)}"
    return None


def _is_bin(text: str) -> bool:
    """Return whether a text is a bin name of ``KBinsDiscretizer``: a number from 0 on with one decimal, such as 0.0."""
    return text.endswith(".0") and text[:-2].isdecimal()


def _literals_called(column: str, attributes: Iterable[tuple[str, Attribute]]) -> Iterator[Literal]:
    for name, attribute in attributes:
        for literal in attribute.literals(name, negations=True):
            if column in _dummy_names(literal, attribute) or (column == str(literal) and column != name):
                yield literal
        for operator in ("<=", ">") if as_number(attribute) else ():
            start = f"{name} {operator} "
            number = finite_number(column.removeprefix(start)) if column.startswith(start) else None
            if number is not None:
                yield Literal(name, operator, (number,))


def _dummy_names(literal: Literal, attribute: Attribute) -> set[str]:
    """Return the names that pandas and scikit-learn give to the column of 0 and 1 for a value."""
    match literal.operator:
        case "=":
            spelled = _spellings(str(literal.operands[0]))
        case "true":
            spelled = ["True", "1", "1.0"]
        case "false":
            spelled = ["False", "0", "0.0"]
        case "missing":
            # With several missing values, a column distinguishes values that the schema does not distinguish.
            is_single = len(attribute.missing_values) == 1
            spelled = _spellings(value_text(attribute.missing_values[0])) if is_single else []
            spelled = spelled if attribute.missing_values else _MISSING
        case _:
            spelled = []
    return {f"{literal.attribute}{mark}{text}" for mark in "_=" for text in spelled}


def _spellings(text: str) -> list[str]:
    """Return the spellings of a value in column names, without spellings that can be numbers of bins."""
    spelled = [text, f"{text}.0"] if fullmatch("-[1-9][0-9]*", text) else [text]
    return [x for x in spelled if not _is_bin(x) and x != _INFREQUENT]
