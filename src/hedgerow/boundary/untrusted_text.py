"""Bounded parsing of untrusted text: files, JSON, exact amounts.

Files of models, schemas and budgets may come from parties that are not trusted. Reading takes time and memory
proportional to the size of the file, which is limited.
"""

import json
import math
import re
from collections.abc import Iterable
from contextlib import suppress
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

from hedgerow.errors import UnreadableError
from hedgerow.text.messages import shown

LARGEST_FILE = 2**23
"""The most bytes of a model or budget file. The worst files of this size take 15 seconds and a few hundred MB."""
MOST_NESTED = 100  # levels of lists and mappings: a tree with 64 splits from root to leaf needs 70
LONGEST_NUMBER = 400  # digits of a whole number: every float64 has fewer
LONGEST_AMOUNT = 1000  # digits of the numerator and of the denominator of an exact amount
_AMOUNT = re.compile(f"[0-9]{{1,{LONGEST_AMOUNT}}}(/[0-9]{{1,{LONGEST_AMOUNT}}})?")
_SCALARS = (str, int, float, bool, type(None))


def read_text(path: str | PathLike[str], largest: int = LARGEST_FILE) -> str:
    """Return the text of a file of at most `largest` bytes."""
    with Path(path).open("rb") as file:
        return read_all(file, largest)


def read_all(file: BinaryIO, largest: int = LARGEST_FILE) -> str:
    """Return the text of an open file; see `read_text`."""
    raw = file.read(largest + 1)
    if len(raw) > largest:
        raise UnreadableError(f"the file is larger than the limit of {largest:,} bytes")
    text = None
    with suppress(UnicodeDecodeError):  # the exception contains the whole text
        text = raw.decode("utf-8-sig")
    if text is None:
        raise UnreadableError("the file is not text in UTF-8")
    return text


def parse_json(text: str) -> Any:
    """Return the data of a JSON text; UnreadableError for duplicate keys, NaN, and data that `check_plain` rejects."""
    data, problem = None, None
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_int=_whole, parse_constant=_constant)
    except UnreadableError as error:
        problem = str(error)
    except json.JSONDecodeError as error:  # the exception contains the whole text
        problem = f"the text is truncated or not JSON (line {error.lineno}: {error.msg})"
    except RecursionError:
        problem = _TOO_DEEP
    if problem:
        raise UnreadableError(problem)
    check_plain(data)
    return data


_TOO_DEEP = f"lists and mappings are nested more than {MOST_NESTED} levels deep"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        raise UnreadableError("a mapping has a duplicate key")
    return mapping


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise UnreadableError(_TOO_LONG)
    return int(digits)


_TOO_LONG = f"a whole number has more than {LONGEST_NUMBER} digits"


def _constant(name: str) -> Any:
    raise UnreadableError(f"expected finite numbers, found {name}")


def check_plain(data: Any) -> None:
    """Raise UnreadableError unless data are text, numbers, booleans and null in lists and mappings of bounded depth."""
    level: list[Any] = [data]
    for _ in range(MOST_NESTED + 1):
        inside: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                _check_scalars(value)
                inside += value.values()
            elif isinstance(value, list):
                inside += value
            else:
                _check_scalars((value,))
        level = inside
        if not level:
            return
    raise UnreadableError(_TOO_DEEP)


def _check_scalars(values: Iterable[Any]) -> None:
    for value in values:
        if not isinstance(value, _SCALARS):
            problem = f"expected text, numbers, booleans, lists and mappings, found a {type(value).__name__}"
            raise UnreadableError(f"{problem}; quote it")
        if isinstance(value, int) and value.bit_length() > 4 * LONGEST_NUMBER:
            raise UnreadableError(_TOO_LONG)
        if isinstance(value, float) and not math.isfinite(value):  # such as 1e999 in JSON
            raise UnreadableError("expected finite numbers, found an infinite number or NaN")
        if isinstance(value, str) and not value.isascii() and re.search("[\ud800-\udfff]", value):
            raise UnreadableError("expected Unicode text, found half of a surrogate pair")


def parse_amount(text: object) -> Fraction:
    """Return an exact amount >= 0 from its text: a whole number or a fraction as ``str(Fraction)`` writes it."""
    if isinstance(text, str) and _AMOUNT.fullmatch(text):
        above, _, below = text.partition("/")
        if int(below or 1):
            return Fraction(int(above), int(below or 1))
    raise UnreadableError(f"expected an amount >= 0 such as 1 or 3/10, found {shown(text)}")
