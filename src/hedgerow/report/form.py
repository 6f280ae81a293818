"""The form of a report: what people state, for no file has it."""

import re
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, Self

from hedgerow.boundary.untrusted_text import read_text
from hedgerow.errors import ArgumentError, UnreadableError
from hedgerow.privacy.unit import MOST_ROWS
from hedgerow.schema.files import parse_yaml
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import listed

LARGEST_FORM = 2**17  # the most bytes of a form
LONGEST_ENTRY = 10_000  # the most characters of an entry
MOST_SENSITIVE = 200  # the most attributes that a form calls sensitive
_DATE = re.compile("[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")

CHOICES: dict[str, tuple[str, ...]] = {
    "curator_type": ("Government", "Industry", "Nonprofit"),
    "sector": ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
}
"""The choices of entries that are not free text."""


def _entry(question: str, default: Any = "") -> Any:
    return field(default=default, metadata={"question": question})


@dataclass(frozen=True)
class Form:
    """Statements of people about a model and its table, empty where nothing is stated. `QUESTIONS` says what is asked.

    Raises
    ------
    ValueError
        If an entry is not text, `sensitive` is not a list of names, `rows_per_unit` is not a whole number from 1 to
        10,000, or an entry is too long or not one of its choices.

    Examples
    --------
    >>> Form(title="Readmission", sensitive=["religion"]).missing[:2]
    ('purpose', 'population')
    """

    title: str = _entry("What is the model called?")
    purpose: str = _entry("What is the model for, and who may use it for what?")
    population: str = _entry("Whom do the rows describe: who was included, where, when?")
    rows: str = _entry("How many rows has the table, as far as that is public? A rounded number in words.")
    curator: str = _entry("Who answers for the table?")
    curator_type: str = _entry("Government, Industry or Nonprofit.")
    unit: str = _entry("What is one row, in words: one person, or one of a person's visits?")
    rows_per_unit: int | None = _entry("How many rows can one person have at most? A whole number, 1 or more.", None)
    unit_column: str = _entry("Which column identifies the person, such as patient_id? Leave empty if there is none.")
    second_unit: str = _entry("Which column has the household, school or hospital of a row? Leave empty if none has.")
    region: str = _entry("Which region do the rows describe?")
    sector: str = _entry("Technology, Healthcare, Education, Government, Energy or Finance; may be left out.")
    sensitive: tuple[str, ...] = _entry(
        "Which columns are sensitive, the predicted column too? A list of names, such as [religion, diagnosis].", ()
    )
    cut_points: str = _entry("Where do cut points, bounds and categories of the schema come from?")
    preprocessing: str = _entry("What was done with the rows before the model was learned, and by whom?")
    tuning: str = _entry("How were parameters, ε and the kind of model chosen? Were any rows looked at?")
    limits: str = _entry("What must the model not be used for? Where is it wrong?")
    relation: str = _entry("Which other outputs were made of these rows, or of rows of the same people?")
    residual_risk: str = _entry("Which risk remains after all this, and why is it acceptable?")
    publication_date: str = _entry("When is it to be published? YYYY-MM-DD, in quotes.")
    author: str = _entry("Who filled in this form?")
    person: str = _entry("Who asked for the release? Address of the person, such as an ORCID.")
    project: str = _entry("For which project?")
    workflow: str = _entry("Address of the workflow crate that the model was learned by; for --crate.")

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", _names(self.sensitive))
        object.__setattr__(self, "rows_per_unit", _rows(self.rows_per_unit))
        for name in QUESTIONS:
            if name not in ("sensitive", "rows_per_unit"):
                object.__setattr__(self, name, _text(name, getattr(self, name)))
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in ("", *allowed):
                raise ArgumentError(f"expected {name} in the form to be one of {', '.join(allowed)}, got another text.")
        if self.unit_column and self.unit_column == self.second_unit:
            raise ArgumentError("expected other columns as unit_column and second_unit in the form, got one twice.")
        if self.publication_date and not _DATE.fullmatch(self.publication_date):
            raise ArgumentError("expected publication_date in the form as YYYY-MM-DD, got another text.")

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the entries that are empty."""
        return tuple(name for name in QUESTIONS if not getattr(self, name))

    def to_dict(self) -> dict[str, Any]:
        """Return the form as JSON-ready data."""
        return {**vars(self), "sensitive": list(self.sensitive)}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the form that plain data hold: some of its entries; null is an empty one.

        ValueError if they are no mapping, or some are unknown or malformed.
        """
        if not isinstance(data, dict):
            raise ArgumentError(f"expected a form with entries, got a {type(data).__name__}.")
        unknown = sum(key not in QUESTIONS for key in data)
        if unknown:  # not quoted: a table may have been given in place of a form
            raise ArgumentError(f"expected entries of a form ({listed(QUESTIONS, 30)}), got {unknown} others.")
        return cls(**{name: value for name, value in data.items() if value is not None})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a form from a YAML file; ValueError if it holds none or is too large, OSError if it cannot be read."""
        problem, data = None, None
        try:
            data = parse_yaml(read_text(path, LARGEST_FORM))
        except UnreadableError as error:
            problem = str(error)
        if problem:
            raise ArgumentError(f"{path}: {problem}.")
        return cls.from_dict(data)


QUESTIONS: dict[str, str] = {entry.name: entry.metadata["question"] for entry in fields(Form)}
"""The entries of a form, each with what it asks."""


def empty_form() -> str:
    """Return the text of an empty form in YAML, with what each entry asks."""
    top = "# Form of a report (hedgerow report --form). Fill in what applies; what is left empty is reported as such.\n"
    entries = (f"\n# {asked}\n{name}:{' []' if name == 'sensitive' else ''}\n" for name, asked in QUESTIONS.items())
    return top + "".join(entries)


def _text(name: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ArgumentError(f"expected text as {name} in the form, got a {type(value).__name__}; put it in quotes.")
    if len(value) > LONGEST_ENTRY:
        raise ArgumentError(f"expected at most {LONGEST_ENTRY:,} characters as {name} in the form, got more.")
    return value.strip()


def _rows(value: object) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_ROWS:
        problem = f"expected rows_per_unit in the form to be a whole number from 1 to {MOST_ROWS:,}"
        raise ArgumentError(f"{problem}, got {describe_argument(value)}.")
    return value


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        raise ArgumentError("expected a list of names of attributes as sensitive in the form, got something else.")
    if len(value) > MOST_SENSITIVE or any(len(name) > LONGEST_ENTRY for name in value):
        raise ArgumentError(f"expected at most {MOST_SENSITIVE} names as sensitive in the form, got more or longer.")
    return tuple(dict.fromkeys(value))
