"""Bounded parsing of untrusted text: files, JSON, exact amounts.

Files of models, schemas and budgets come from parties that need not be trusted. They are read in time and memory
proportional to their size, which is limited, or refused.
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
"""The most bytes of a model or budget file: the worst of that size take 15 seconds and a few hundred MB."""
MOST_NESTED = 100  # the deepest nesting of lists and mappings: a tree of 64 splits from root to leaf needs 70
LONGEST_NUMBER = 400  # the most digits of a whole number: any float64 has fewer
LONGEST_AMOUNT = 1000  # the most digits of the numerator, and of the denominator, of an exact amount
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
        raise UnreadableError(f"expected a file of at most {largest:,} bytes, found a larger one")
    text = None
    with suppress(UnicodeDecodeError):  # it holds the whole text
        text = raw.decode("utf-8-sig")
    if text is None:
        raise UnreadableError("expected text in UTF-8, found a file that is not text")
    return text


def parse_json(text: str) -> Any:
    """Return the data of a JSON text; refuses duplicate keys, NaN, and what `check_plain` refuses."""
    found, problem = None, None
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_int=_whole, parse_constant=_constant)
    except UnreadableError as error:
        problem = str(error)
    except json.JSONDecodeError as error:  # it holds the whole text
        problem = f"expected JSON, found text that is truncated or not JSON (line {error.lineno}: {error.msg})"
    except RecursionError:
        problem = _TOO_DEEP
    if problem:
        raise UnreadableError(problem)
    check_plain(found)
    return found


_TOO_DEEP = f"expected at most {MOST_NESTED} nested lists and mappings, found more"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnreadableError("expected every key of a mapping once, found a duplicate")
    return found


def _whole(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise UnreadableError(f"expected whole numbers of at most {LONGEST_NUMBER} digits, found a longer one")
    return int(digits)


def _constant(name: str) -> Any:
    raise UnreadableError(f"expected finite numbers, found {name}")


def check_plain(data: Any) -> None:
    """Check that data are lists and mappings of text, numbers, booleans and null, nested at most `MOST_NESTED` deep."""
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
            raise UnreadableError(f"expected whole numbers of at most {LONGEST_NUMBER} digits, found a longer one")
        if isinstance(value, float) and not math.isfinite(value):  # what JSON's 1e999 is read as, too
            raise UnreadableError("expected finite numbers, found one that is not")
        if isinstance(value, str) and not value.isascii() and re.search("[\ud800-\udfff]", value):
            raise UnreadableError("expected Unicode text, found one half of a surrogate pair")


def parse_amount(text: object) -> Fraction:
    """Return the exact amount >= 0 that a file holds: a whole number or a fraction, as ``str(Fraction)`` writes it."""
    if isinstance(text, str) and _AMOUNT.fullmatch(text):
        above, _, below = text.partition("/")
        if int(below or 1):
            return Fraction(int(above), int(below or 1))
    raise UnreadableError(f"expected an amount >= 0 such as 1 or 3/10, found {shown(text)}")
