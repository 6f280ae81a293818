"""Contribution bounding in frames, and recognition of columns that identify a person by their names."""

import hashlib
import json
import re
import secrets
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.errors import DomainError
from hedgerow.privacy.unit import Unit
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.text.values import quoted_text


def check_unit(unit: Unit, table: Table) -> None:
    """Check that a table has the unit's column; DomainError if not. No row is read."""
    if table.names is None:
        problem = f"expected a frame with the unit's column {quoted_text(unit.column)}, got an array"
        raise DomainError(f"{problem}, whose columns have no names.")
    table.require([unit.column])


def check_units(unit: Unit, table: Table) -> None:
    """Check that every row has a value in the unit's column; DomainError if not."""
    unit_column(unit, table)


def counted_rows(table: Table, unit: Unit | None, key: bytes) -> Table:
    """Return the rows that are counted: all rows without a unit, else at most `unit.max_rows` of each unit."""
    if unit is None:
        return table
    return Table.of(table.take(np.flatnonzero(counted(table, unit, key))))


def counted(table: Table, unit: Unit, key: bytes) -> Mask:
    """Return which rows of a table are counted, shape ``(n_rows,)``. Private.

    Sensitivity: if all rows of one unit are added, at most `max_rows` counted rows are added, for any key, and no other
    row changes. The rows of a unit are sorted by a keyed hash of the unit and of their position among its rows. The
    first `max_rows` rows are counted. This choice does not depend on rows of other units. The key is secret, which
    makes the choice indistinguishable from random.
    """
    column = unit_column(unit, table)
    words = column.words() if column.is_text else column.values
    units = np.unique(words, return_inverse=True)[1].astype(np.int64)  # the same number for all rows of a unit
    order = np.argsort(units, kind="stable")
    sizes = np.bincount(units)
    firsts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.empty(len(units), dtype=np.int64)
    places[order] = np.arange(len(units)) - firsts
    kept = np.ones(len(units), dtype=bool)
    many = np.flatnonzero(sizes[units] > unit.max_rows)
    keyed = zip(words[many].tolist(), places[many].tolist(), strict=True)
    texts = (f"{place}/{word}".encode("utf-8", "surrogatepass") for word, place in keyed)
    # Without the key, these numbers are indistinguishable from random numbers.
    ranks = [int.from_bytes(hashlib.blake2b(text, digest_size=8, key=key).digest(), "big") for text in texts]
    drawn = many[np.lexsort((np.array(ranks, dtype=np.uint64), units[many]))]
    firsts = np.searchsorted(units[drawn], units[drawn], side="left")
    kept[drawn[np.arange(len(drawn)) - firsts >= unit.max_rows]] = False
    return kept


def draw_key(random_state: Any) -> bytes:
    """Return a secret key, or a reproducible key, which voids the guarantee, if the noise is seeded by a number."""
    if isinstance(random_state, Integral):
        return f"seed {int(random_state)}".encode()
    return secrets.token_bytes(32)


def no_unit(name: str) -> DomainError:
    problem = "some rows have no value in this column, which identifies the unit of privacy"
    return DomainError(f"{problem}; fill it in, or remove these rows.", column=name)


def unit_column(unit: Unit, table: Table) -> Column:
    return identifiers(unit.column, table)


def identifiers(name: str, table: Table) -> Column:
    """Return the column that identifies the unit of each row; DomainError if a value is missing."""
    column = table.exact_column(name)
    if column.missing is not None:
        raise no_unit(name)
    return column


_PERSON = (
    "patient|pat|person|pers|subject|subj|participant|respondent|proband|customer|cust|client|member|user|"
    "account|acct|household|hh|family|pupil|student|employee|worker|applicant|borrower|citizen|resident|taxpayer|donor"
)
_KEY = "id|ids|uid|uuid|guid|key|no|nr|num|number|code|hash|pseudonym"
_NAMES = re.compile(
    f"(.* )?(({_PERSON})s? ?({_KEY})|pid|mrn|ssn|pseudonym)"
    "|patient|person|subject|participant|respondent|proband|customer|household|account|nhs number"
)
_OF_NAMES = "first|last|given|family|middle|maiden|full"
_IDENTIFIES = re.compile(
    r"(.* )?(id|uid|uuid|guid|key|mrn|ssn|nhs number)"
    f"|(.* )?(({_OF_NAMES}) ?name|forename|surname)s?|(({_PERSON})s? ?)?name"
    r"|row ?(names?|ids?|no|nr|num|number)|unnamed [0-9]+"  # R: rownames, pandas: unnamed
)
_FEWEST = 20  # distinct values from which on a column of text may identify persons


def plain_name(name: str) -> str:
    """Return a name as words in lower case; `patientId` and `patient_id` become ``patient id``."""
    return " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^0-9A-Za-z]+", " ", name[:200]).lower().split())


def names_person(name: str) -> bool:
    """Return whether a column's name suggests that it identifies persons. No row is read."""
    return _NAMES.fullmatch(plain_name(name)) is not None


def names_key(name: str) -> bool:
    """Return whether a column's name suggests an identifier, of persons or of anything else. No row is read."""
    return names_person(name) or _IDENTIFIES.fullmatch(plain_name(name)) is not None


def repeats(column: Column) -> bool | None:
    """Return whether values repeat like identifiers of persons with several rows; None if no value repeats. Private."""
    values = column.present()
    if len(values) == 0 or column.holds_dates or values.dtype.kind == "b":
        return False
    words = values.astype(str) if column.is_text else values
    is_coded = column.is_text and not np.char.isdigit(words).all()
    if not column.is_text and not (np.isfinite(values).all() and (values == np.floor(values)).all()):
        return False
    counts = np.unique(words, return_counts=True)[1]
    if counts.max() == 1:
        return None
    fewest = _FEWEST if is_coded else 10 * _FEWEST  # ages and years repeat, too
    is_wide = len(counts) >= fewest and 20 * len(counts) >= len(values)
    return bool(is_wide and 2 * int((counts > 1).sum()) >= len(counts) and counts.max() <= 10 * counts.mean())


def unit_advice(names: Iterable[str]) -> str | None:
    """Return advice to declare a unit if the name of a column suggests that it identifies persons; else None."""
    name = next(filter(names_person, names), None)
    if name is None:
        return None
    return (
        f"the name of column {quoted_text(name)} suggests that it identifies persons, but the schema declares no unit "
        "of privacy. Single rows are protected, so for a person with k rows the privacy loss is up to k times epsilon. "
        f"To protect persons, add `unit: {{column: {json.dumps(name, ensure_ascii=False)}, max_rows: 1}}` to the "
        "schema. A larger max_rows uses more rows of each person and adds more noise."
    )
