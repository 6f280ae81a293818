"""Columns that look as if they say whose row each is: by their names, which are public, or by how values repeat."""

import json
import re
from collections.abc import Iterable

import numpy as np

from hedgerow.tables.columns import Column
from hedgerow.text.values import quoted_text

_PERSON = (
    "patient|pat|person|pers|subject|subj|participant|respondent|proband|customer|cust|client|member|user|"
    "account|acct|household|hh|family|pupil|student|employee|worker|applicant|borrower|citizen|resident|taxpayer|donor"
)
_KEY = "id|ids|uid|uuid|guid|key|no|nr|num|number|code|hash|pseudonym"
_NAMES = re.compile(
    f"(.* )?(({_PERSON})s? ?({_KEY})|pid|mrn|ssn|pseudonym)"
    "|patient|person|subject|participant|respondent|proband|customer|household|account|nhs number"
)
_IDENTIFIES = re.compile(r"(.* )?(id|uid|uuid|guid|key|mrn|ssn|nhs number)")
_FEWEST = 20  # different values of text that says whose row each is


def plain_name(name: str) -> str:
    """Return a name as words in lower case: `patientId` and `patient_id` are ``patient id``."""
    return " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^0-9A-Za-z]+", " ", name[:200]).lower().split())


def names_person(name: str) -> bool:
    """Return whether a column has the name of one that says whose row each is. No row is looked at."""
    return _NAMES.fullmatch(plain_name(name)) is not None


def names_key(name: str) -> bool:
    """Return whether a column has the name of an identifier, of a person or of anything else. No row is looked at."""
    return names_person(name) or _IDENTIFIES.fullmatch(plain_name(name)) is not None


def repeats(column: Column) -> bool | None:
    """Return whether values repeat as those of persons with several rows do; None if none repeats. Private."""
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
    """Return what to declare if a column has the name of one that says whose row each is; None if none has."""
    found = next(filter(names_person, names), None)
    if found is None:
        return None
    return (
        f"the column {quoted_text(found)} looks as if it says whose row each row is, but the schema declares no unit: "
        f"a person with k rows has k times the epsilon. Add `unit: {{column: {json.dumps(found, ensure_ascii=False)}, "
        "max_rows: 1}` to the schema; with max_rows: 3 it uses up to three rows of each person, and more noise."
    )
