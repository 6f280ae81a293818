"""Export of models as Python source that needs only the standard library.

The source reads a cell as `predict` reads it in a column of its type:

- None, NaN, NaT, pandas' NA, empty text, ASCII white space, and the declared `missing_values` are missing values.
- Text is a word, without surrounding white space and without a fraction of zeros: "1.0" equals "1", whereas "01", "+1"
  and "1e0" are different words. If numbers, dates or booleans are declared, the text is parsed.
- A number of Python or NumPy keeps all its digits; a decimal with a fraction becomes the nearest float. It equals the
  value of the schema with the same number or spelling. If numbers are declared, it becomes the nearest float.
- A boolean is the word "true" or "false" if words of a boolean are declared.
- A date, and a timestamp without time zone (also of NumPy and pandas), is its date, or an error if numbers are
  declared. If a date format is declared, text and numbers in this format are dates.
"""

from collections.abc import Iterable, Sequence

from hedgerow.models.conditions import Cases, Pieces
from hedgerow.schema import Literal, Schema
from hedgerow.schema.attributes import Attribute, CellType
from hedgerow.schema.dates import date_format
from hedgerow.schema.derived import LARGEST, LEAST, WHOLE_BELOW, Prefix, Ratio, Sum, YearsSince
from hedgerow.schema.numbers import as_number
from hedgerow.text.days import as_plain
from hedgerow.text.values import WHOLE, Value, plain_word, printable, spelled_number, value_text

_CELL = rf'''import re


def _own(value):
    """Return a NumPy value as a Python value, a timestamp as its date; None for None, NaN, NaT and NA."""
    if value is None or repr(value) == "<NA>" or value != value:
        return None
    if getattr(getattr(value, "dtype", None), "kind", "") == "M":
        value = value.astype("datetime64[D]")
    return value.item() if hasattr(value, "item") else value


def _cell(value, *missing):
    """Return text, a boolean or a number; None for None, NaN, blank text and the values in `missing`."""
    value = _own(value)
    if value is None:
        return None
    if isinstance(value, str):
        value = re.sub("{WHOLE}", r"\1", value.strip(" \t\n\r\v\f"))
    elif hasattr(value, "isoformat"):
        value = value.isoformat()[:10]
    elif not isinstance(value, (bool, int, float)):  # a decimal
        digits = format(value, "f")
        value = float(digits) if "." in digits else int(digits)
    return None if value == "" or value in missing else value'''
_INFINITE = (float("inf"), -float("inf"))
_READERS = {
    "_number": '''def _number(value, *missing):
    """Return the float nearest to a number, or to the number in text."""
    value = _cell(value, *missing)
    spelled = "[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?"
    if isinstance(value, bool) or (isinstance(value, str) and not re.fullmatch(spelled, value)):
        raise ValueError("expected a number")
    return None if value is None else float(value)''',
    "_boolean": '''def _boolean(value, *missing):
    """Return 0 or 1 for a boolean, a number or text."""
    value = _cell(value, *missing)
    return {"false": 0, "0": 0, "true": 1, "1": 1}.get(str(value).lower(), value)''',
    "_word": '''def _word(value, *missing):
    """Return text or a number; a boolean as text."""
    value = _cell(value, *missing)
    return str(value).lower() if isinstance(value, bool) else value''',
    "_date": '''def _date(value, *missing):
    """Return a date as text in the form YYYY-MM-DD, which sorts like dates."""
    value = _cell(value, *missing)
    if value is not None and not re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", str(value)):
        raise ValueError("expected a date")
    return value''',
    "_plain": '''def _plain(value, *steps):
    """Return text, or the digits of a whole number; dates in the declared format become YYYY-MM-DD."""
    value = _own(value)
    if (isinstance(value, int) and not isinstance(value, bool)) or hasattr(value, "as_tuple"):
        value = format(value)
    if isinstance(value, str):
        value = value.strip(" \\t\\n\\r\\v\\f")
        for pattern, replacement in steps:
            value = re.sub(pattern, replacement, value)
    return value''',
    "_serial": r'''def _serial(value, zero, pattern):
    """Return a serial day of a spreadsheet as YYYY-MM-DD; other values are unchanged."""
    value = _own(value)
    if value is None or isinstance(value, bool) or hasattr(value, "isoformat"):
        return value
    text = value.strip(" \t\n\r\v\f") if isinstance(value, str) else format(value // 1, ".0f")
    if not re.fullmatch(pattern, text):
        return value
    import datetime

    return str(datetime.date.fromisoformat(zero) + datetime.timedelta(int(text.partition(".")[0])))''',
    "_years_since": '''def _years_since(date, year, day):
    """Return the number of whole years from a date to a day of a year."""
    return None if date is None else year - int(date[:4]) - (date[5:] > day)''',
    "_ratio": f'''def _ratio(above, below):
    """Return a ratio; None if a number is missing or the denominator is 0."""
    if any(value is not None and not abs(value) <= {LARGEST!r} for value in (above, below)):
        raise ValueError("expected numbers of at most {LARGEST!r} in absolute value")
    if above is None or below is None or abs(below) < {LEAST!r}:
        return None
    return (0.0 if abs(above) < {LEAST!r} else above) / below''',
    "_sum": '''def _sum(each, *items):
    """Return a sum of whole numbers; None if a number is missing."""
    if any(value is not None and not (each[0] <= value <= each[1] and value == int(value)) for value in items):
        raise ValueError("expected whole numbers from %d to %d" % each)
    return None if None in items else sum(items)''',
    "_prefix_of": f'''def _prefix_of(code, prefixes):
    """Return the first characters of a code, or the value of its longest listed prefix; "" without a prefix."""
    if isinstance(code, bool):
        raise ValueError("expected text or whole numbers")
    if isinstance(code, float):
        if not (abs(code) < {WHOLE_BELOW} and code == int(code)):
            return ""
        code = int(code)
    if code is None:
        return None
    if isinstance(prefixes, int):
        return _cell(str(code)[:prefixes])
    return next((value for prefix, value in prefixes.items() if str(code).startswith(prefix)), "")''',
}


def python_first_case(cases: Cases, written: Pieces[Literal]) -> list[str]:
    *conditional, (_, default) = cases
    lines: list[str] = []
    for literals, value in conditional:
        lines += [f"if {' and '.join(map(written, literals))}:", f"    return {value!r}"]
    return [*lines, f"return {default!r}"]


def python_conditions(schema: Schema) -> Pieces[Literal]:
    return Pieces(lambda literal: _expression(literal, schema[literal.attribute]), "Python")


def python_choice(condition: str, true: Sequence[str], false: Sequence[str]) -> list[str]:
    head = [f"if {condition}:", *(f"    {line}" for line in true)]
    if len(false) > 1:  # the false branch is itself a choice
        return [*head, f"el{false[0]}", *false[1:]]
    return [*head, "else:", *(f"    {line}" for line in false)]


def python_module(
    body: Sequence[str],
    comment: str,
    schema: Schema,
    written: Pieces[Literal],
    *,
    name: str = "predict",
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> str:
    """Return the source of a function of `row` that reads the attributes of the rendered literals."""
    used = {literal.attribute for literal in written.parts}
    cells = {name: _cell_of(name, schema[name]) for name in schema.names if name in used}
    read = ["    row = {", *(f"        {name!r}: {cell}," for name, (cell, _) in cells.items()), "    }"]
    lines = [
        *before,
        f"def {name}(row):",
        "    # row: a mapping from column names to numbers, booleans, dates or text; None or NaN for missing values",
        f"    # {printable(comment)}",  # without line breaks, after which the text would be code
        *(read if cells else []),
        *(f"    {line}" for line in body),
        *(*after, ""),
    ]
    called = {reader for _, readers in cells.values() for reader in readers}
    readers = [text for reader, text in _READERS.items() if reader in called]
    return "".join(f"{text}\n\n\n" for text in ([_CELL, *readers] if cells else [])) + "\n".join(lines)


def _cell_of(name: str, attribute: Attribute) -> tuple[str, tuple[str, ...]]:
    derived = attribute.derived
    read_as = attribute if derived is None else derived.read_as
    form = date_format(read_as)
    called = (_READER_OF[read_as.cell_type], *(["_plain" if form.steps else "_serial"] if form else []))
    if derived is None:
        return _reading(name, attribute), called
    cells = [_reading(column, read_as) for column in derived.columns]
    return derived.render(_Calls, cells), (*called, f"_{derived.key}")


class _Calls:
    """Derivations as function calls in the source."""

    @staticmethod
    def years_since(derived: YearsSince, date: str) -> str:
        year, _, day = str(derived.until).partition("-")
        return f"_years_since({date}, {int(year)}, {day!r})"

    @staticmethod
    def ratio(derived: Ratio, *cells: str) -> str:  # noqa: ARG004 -- two numbers are all
        return f"_ratio({', '.join(cells)})"

    @staticmethod
    def sum(derived: Sum, *items: str) -> str:
        return f"_sum({derived.each!r}, {', '.join(items)})"

    @staticmethod
    def prefix_of(derived: Prefix, code: str) -> str:
        return f"_prefix_of({code}, {derived.values_of if derived.length is None else derived.length!r})"


_READER_OF: dict[CellType, str] = {CellType.TRUTH: "_boolean", CellType.WORD: "_word", CellType.VALUE: "_cell"}
_READER_OF |= {CellType.NUMBER: "_number", CellType.DATE: "_date"}


def _reading(name: str, attribute: Attribute) -> str:
    arguments = [f"row[{name!r}]"]
    if form := date_format(attribute):
        serials = [repr(form.serials.zero), repr(form.serials.pattern[1:-1])] if form.serials else []
        steps = [repr((pattern.replace("$", r"\Z"), replacement)) for pattern, replacement in form.steps]
        arguments = [f"{'_plain' if steps else '_serial'}({', '.join([*arguments, *serials, *steps])})"]
    return f"{_READER_OF[attribute.cell_type]}({', '.join([*arguments, *_forms(attribute.missing_words)])})"


def _forms(values: Iterable[Value]) -> list[str]:
    """Return the source of all constants that cells with these values equal: words, and the numbers they spell."""
    forms: list[str] = []
    for value in values:
        number = spelled_number(value)
        forms.append(repr(plain_word(value)))
        if number is not None and number == number:
            forms.append(f"float('{number}')" if number in _INFINITE else value_text(number))
    return list(dict.fromkeys(forms))


def _one_of(cell: str, values: Iterable[Value]) -> str:
    forms = _forms(values)
    return f"{cell} in ({', '.join(forms)})" if len(forms) > 1 else f"{cell} == {forms[0]}"


def _expression(literal: Literal, attribute: Attribute) -> str:
    cell, is_word = f"row[{literal.attribute!r}]", attribute.cell_type is CellType.WORD
    values = attribute.queried(literal) if is_word else attribute.values_of(literal)
    match literal.operator:
        case "missing":
            return f"{cell} is None"
        case "known":
            return f"{cell} is not None"
        case "outside":
            return f"{cell} is not None and not ({_inside(attribute, cell)})"
        case "!=":
            return f"{cell} is not None and not {_one_of(cell, values)}"
        case _ if values:
            return _one_of(cell, values)
        case "true" | "false":
            return f"{cell} == {int(literal.operator == 'true')}"
        case _:
            return _comparison(literal, attribute, cell)


def _comparison(literal: Literal, attribute: Attribute, cell: str) -> str:
    operands = [repr(as_plain(operand)) for operand in literal.operands]
    if literal.operator == "between":
        comparison = f"{operands[0]} < {cell} <= {operands[1]}"
    else:
        comparison = f"{cell} {literal.operator} {operands[0]}"
    inside = f" and {_inside(attribute, cell)}" if attribute.outside == "bin" else ""
    return f"{cell} is not None and {comparison}{inside}"


def _inside(attribute: Attribute, cell: str) -> str:
    number = as_number(attribute)
    if number is None:
        return _one_of(cell, [value for value, _ in attribute.spellings])
    whole = f" and {cell} == int({cell})" if number.whole and number.cell_type is CellType.NUMBER else ""
    return f"{as_plain(number.low)!r} <= {cell} <= {as_plain(number.high)!r}{whole}"
