"""Export of models as Python source without dependencies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from hedgerow.days import as_plain
from hedgerow.models.conditions import Pieces
from hedgerow.models.sql import Cases, words_of
from hedgerow.schema.attributes import Attribute, Boolean, Categorical
from hedgerow.schema.dates import Date
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import NUMBER, Value, printable, value_text

_KNOWN = '''\
def _known(value, *missing):
    """Return whether a value is there: not None, NaN or blank, and not one of `missing`."""
    return value is not None and value == value and value != "" and value not in missing


'''


_NUMBER = '''\
def _number(value):
    """Return text that spells a number, as every cell of a CSV file is text, as this number."""
    if isinstance(value, str) and value and not value.strip("+-.0123456789eE"):
        try:
            return float(value)
        except ValueError:
            return value
    return value


'''
_BOOLEAN = '''\
def _boolean(value):
    """Return the texts "true" and "false", in any case, as booleans."""
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value


'''
_DATE = '''\
def _date(value):
    """Return a date or a time as the text of its date, YYYY-MM-DD, which has the order of the dates."""
    return value.isoformat()[:10] if hasattr(value, "isoformat") and value == value else value


'''
_USED = re.compile(r"""row\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]""")


def function(cases: Cases, schema: Schema, comment: str) -> str:
    """Return the source of ``predict(row)`` that returns the value of the first case that holds."""
    *conditional, (_, default) = cases
    written = conditions(schema)
    lines: list[str] = []
    for literals, value in conditional:
        lines += [
            f"if {' and '.join(map(written, literals))}:",
            f"    return {value!r}",
        ]
    return source([*lines, f"return {default!r}"], comment, schema)


def conditions(schema: Schema) -> Pieces[Literal]:
    """Return the cache of the Python expressions of literals."""
    return Pieces(lambda literal: _expression(literal, schema[literal.attribute]), "Python")


def choice(condition: str, true: Sequence[str], false: Sequence[str]) -> list[str]:
    """Return the lines of ``if … else …`` around those of two branches."""
    return [
        f"if {condition}:",
        *(f"    {line}" for line in true),
        "else:",
        *(f"    {line}" for line in false),
    ]


def source(
    body: Sequence[str],
    comment: str,
    schema: Schema,
    *,
    name: str = "predict",
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> str:
    """Return the source of a function of `row` with this body, between the lines of other functions.

    `row` maps column names to booleans, numbers and text, or all to text, as `csv.DictReader` does.
    """
    used = set(_USED.findall("\n".join([*before, *body])))
    kinds = {name: schema[name] for name in schema.names if repr(name) in used}
    booleans = tuple(name for name, kind in kinds.items() if isinstance(kind, Boolean) and not kind.true_values)
    dates = tuple(name for name, kind in kinds.items() if isinstance(kind, Date))
    numbers = tuple(name for name, kind in kinds.items() if name not in dates and _has_numbers(kind))
    lines = [
        *before,
        f"def {name}(row):",
        "    # row maps column names to numbers, booleans and text; None or NaN where a value is missing",
        f"    # {printable(comment)}",  # a comment that could end its line would be code
        "    row = {name: value.strip() if isinstance(value, str) else value for name, value in row.items()}",
        *_read(numbers, "_number"),
        *_read(booleans, "_boolean"),
        *_read(dates, "_date"),
        *(f"    {line}" for line in body),
        *after,
        "",
    ]
    known = _KNOWN if any("_known(" in line for line in lines) else ""
    readers = ((_NUMBER, numbers), (_BOOLEAN, booleans), (_DATE, dates))
    return known + "".join(text for text, names in readers if names) + "\n".join(lines)


def _read(names: Sequence[str], how: str) -> list[str]:
    """Return the line that reads the texts of these columns."""
    if not names:
        return []
    return [f"    row.update({{name: {how}(row[name]) for name in {names!r} if name in row}})"]


def _has_numbers(kind: Attribute) -> bool:
    """Whether text that spells a number is read as one: the declared values are numbers, and no text spells another."""
    if isinstance(kind, Boolean) and kind.true_values:
        values: Sequence[Value] = (*kind.true_values, *kind.false_values)
    elif isinstance(kind, Categorical):
        values = kind.values
    else:
        return True
    spelled = [value for value in values if isinstance(value, str) and re.search(NUMBER, value)]
    return not spelled and not all(isinstance(value, str) for value in values)


def _expression(literal: Literal, attribute: Attribute) -> str:
    value = f"row[{literal.attribute!r}]"
    known = f"_known({', '.join([value, *map(repr, _tokens(attribute))])})"
    match literal.operator:
        case "missing":
            return f"not {known}"
        case "known":
            return known
        case "true" | "false" if isinstance(attribute, Boolean) and attribute.true_values:
            return _one_of(value, words_of(attribute, literal))
        case "true" | "false":
            return f"{value} == {int(literal.operator == 'true')}"
        case "=":
            return f"{value} == {_declared(literal, attribute)!r}"
        case "!=":
            return f"{known} and {value} != {_declared(literal, attribute)!r}"
        case "outside":
            return f"{known} and not ({_inside(attribute, value)})"
        case _:
            return _comparison(literal, attribute, value, known)


def _tokens(attribute: Attribute) -> list[Value]:
    """Return the values that mean "missing", each as text and, if it spells a number, as a number."""
    if isinstance(attribute, Date):
        return list(attribute.missing_values)
    tokens: list[Value] = []
    for value in map(value_text, attribute.missing_values):
        tokens.append(value)
        with suppress(ValueError, OverflowError):  # OverflowError, ValueError: infinity and NaN are no whole numbers
            number = float(value)
            tokens.append(int(number) if int(number) == number else number)
    return tokens


def _declared(literal: Literal, attribute: Attribute) -> str | int:
    """Return the category that a literal compares with, in the schema's type: 1 for a literal with "1"."""
    assert isinstance(attribute, Categorical)
    return attribute.values[attribute.place(literal)]


def _one_of(value: str, words: Sequence[str | int]) -> str:
    """Return whether a value is one of some words; a boolean is the words "true" and "false", and no number."""
    booleans = [f"{value} is {word.title()}" for word in ("false", "true") if word in words]
    plain = f"({value} in {tuple(words)!r} and not isinstance({value}, bool))"
    return f"({' or '.join([*booleans, plain])})" if booleans else plain


def _comparison(literal: Literal, attribute: Attribute, value: str, known: str) -> str:
    operands = [repr(as_plain(operand)) for operand in literal.operands]
    if literal.operator == "between":
        comparison = f"{operands[0]} < {value} <= {operands[1]}"
    else:
        comparison = f"{value} {literal.operator} {operands[0]}"
    inside = f" and {_inside(attribute, value)}" if attribute.outside == "bin" else ""
    return f"{known} and {comparison}{inside}"


def _inside(attribute: Attribute, value: str) -> str:
    if isinstance(attribute, Categorical):
        return f"{value} in {attribute.values!r}"
    assert isinstance(attribute, (Integer, Real))
    whole = f" and {value} == int({value})" if isinstance(attribute, Integer) else ""
    low, high = as_plain(attribute.low), as_plain(attribute.high)
    return f"{low!r} <= {value} <= {high!r}{'' if isinstance(attribute, Date) else whole}"
