"""The form of a report: statements by people about facts that are in no file."""

import re
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import Any, Self

from hedgerow.boundary.arguments import check_choice
from hedgerow.boundary.untrusted_text import read_text
from hedgerow.errors import ArgumentError, UnreadableError
from hedgerow.privacy.unit import MOST_ROWS
from hedgerow.schema.files import parse_yaml
from hedgerow.text.language import LANGUAGES, Language, _, gettext_noop, in_language
from hedgerow.text.messages import describe_argument, number_of
from hedgerow.text.values import listed

LARGEST_FORM = 2**17  # bytes
LONGEST_ENTRY = 10_000  # characters
MAX_SENSITIVE = 200  # columns
_DATE = re.compile("[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])")

CHOICES: dict[str, tuple[str, ...]] = {
    "curator_type": ("Government", "Industry", "Nonprofit"),
    "sector": ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
}
"""The allowed values of entries that are not free text."""


def _entry(question: str, default: Any = "") -> Any:
    return field(default=default, metadata={"question": question})


@dataclass(frozen=True)
class Form:
    """Statements by people about a model and its table; an entry without a statement is empty.

    `QUESTIONS` has the question of each entry.

    Raises
    ------
    ValueError
        If an entry is not text, is too long, or is not one of its choices. If `sensitive` is not a list of names, or
        `rows_per_unit` is not a whole number from 1 to 10,000.

    Examples
    --------
    >>> Form(title="Readmission", sensitive=["religion"]).missing[:2]
    ('purpose', 'population')
    """

    title: str = _entry(gettext_noop("What is the name of the model?"))
    purpose: str = _entry(gettext_noop("What is the model for? Who may use it, and for which decisions?"))
    population: str = _entry(gettext_noop("Whom do the rows describe: who was included, where and when?"))
    rows: str = _entry(gettext_noop("How many rows has the table, if that is public? A rounded number, in words."))
    curator: str = _entry(gettext_noop("Which organisation or person is responsible for the table?"))
    curator_type: str = _entry(gettext_noop("The type of this organisation: Government, Industry or Nonprofit."))
    unit: str = _entry(gettext_noop("What does one row stand for: one person, or one visit of a person?"))
    rows_per_unit: int | None = _entry(
        gettext_noop("How many rows can one person have at most? A whole number, 1 or more."), None
    )
    unit_column: str = _entry(
        gettext_noop("Which column identifies the person, such as patient_id? Leave it empty if there is none.")
    )
    second_unit: str = _entry(
        gettext_noop(
            "Which column identifies a group of persons, such as a household, school or hospital? Leave it empty if "
            "there is none."
        )
    )
    region: str = _entry(gettext_noop("Which region do the rows come from?"))
    sector: str = _entry(
        gettext_noop(
            "The sector: Technology, Healthcare, Education, Government, Energy or Finance. Leave it empty if none fits."
        )
    )
    sensitive: tuple[str, ...] = _entry(
        gettext_noop(
            "Which columns are sensitive? Include the predicted column if it is. A list of names, such as "
            "[religion, diagnosis]."
        ),
        (),
    )
    cut_points: str = _entry(gettext_noop("How were the cut points, bounds and categories of the schema chosen?"))
    preprocessing: str = _entry(gettext_noop("How were the rows processed before the model was learned, and by whom?"))
    tuning: str = _entry(
        gettext_noop("How were the parameters, ε and the kind of model chosen? Did anybody look at rows for it?")
    )
    limits: str = _entry(gettext_noop("What must the model not be used for? When is it wrong?"))
    relation: str = _entry(
        gettext_noop("Which other results were published from these rows, or from rows of the same persons?")
    )
    residual_risk: str = _entry(gettext_noop("Which risk remains, and why is it acceptable?"))
    publication_date: str = _entry(gettext_noop("When will the model be published? YYYY-MM-DD, in quotes."))
    author: str = _entry(gettext_noop("Who filled in this form?"))
    person: str = _entry(gettext_noop("Who requested the release? The web address of the person, such as an ORCID."))
    project: str = _entry(gettext_noop("For which project?"))
    workflow: str = _entry(
        gettext_noop("The web address of the workflow crate that the model was learned with; needed for --crate.")
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "sensitive", _names(self.sensitive))
        object.__setattr__(self, "rows_per_unit", _rows(self.rows_per_unit))
        for name in QUESTIONS:
            if name not in ("sensitive", "rows_per_unit"):
                object.__setattr__(self, name, _text(name, getattr(self, name)))
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in ("", *allowed):
                got = describe_argument(getattr(self, name))
                raise ArgumentError(f"{name} in the form must be one of {', '.join(allowed)}, got {got}.")
        if self.unit_column and self.unit_column == self.second_unit:
            got = describe_argument(self.unit_column)
            raise ArgumentError(f"unit_column and second_unit in the form must be different columns, got {got} twice.")
        if self.publication_date and not _DATE.fullmatch(self.publication_date):
            got = describe_argument(self.publication_date)
            raise ArgumentError(f"publication_date in the form must be YYYY-MM-DD, got {got}.")

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of the entries that are empty."""
        return tuple(name for name in QUESTIONS if not getattr(self, name))

    def to_dict(self) -> dict[str, Any]:
        """Return the form as JSON-ready data."""
        return {**vars(self), "sensitive": list(self.sensitive)}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the form of plain data with some of its entries; null stands for an empty entry.

        Raises ValueError if the data are not a mapping, or if an entry is unknown or malformed.
        """
        if not isinstance(data, dict):
            raise ArgumentError(f"a form must be a mapping of entries to text, got a {type(data).__name__}.")
        n_unknown = sum(key not in QUESTIONS for key in data)
        if n_unknown:  # not quoted, since a table may have been passed instead of a form
            raise ArgumentError(
                f"a form has {number_of(n_unknown, 'unknown entry', 'unknown entries')}. Its entries are "
                f"{listed(QUESTIONS, 30)}."
            )
        return cls(**{name: value for name, value in data.items() if value is not None})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a form from a YAML file.

        Raises ValueError if the file has no valid form or is too large, and OSError if it cannot be read.
        """
        problem, data = None, None
        try:
            data = parse_yaml(read_text(path, LARGEST_FORM))
        except UnreadableError as error:
            problem = str(error)
        if problem:
            raise ArgumentError(f"{path}: {problem}.")
        return cls.from_dict(data)


QUESTIONS: dict[str, str] = {entry.name: entry.metadata["question"] for entry in fields(Form)}
"""The entries of a form, each with its question in English."""


def empty_form(language: Language = "en") -> str:
    """Return the text of an empty form in YAML, with the question of each entry as a comment.

    Raises ValueError if the language is not one of "en", "de" and "fr".
    """
    check_choice("language", language, LANGUAGES)
    with in_language(language):
        top = _("Form for a report (hedgerow report --form). Fill in what applies. Empty entries are reported.")
        questions = {name: _(question) for name, question in QUESTIONS.items()}
    entries = (f"\n# {text}\n{name}:{' []' if name == 'sensitive' else ''}\n" for name, text in questions.items())
    return f"# {top}\n{''.join(entries)}"


def _text(name: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise ArgumentError(f"{name} in the form must be text, got a {type(value).__name__}; put it in quotes.")
    if len(value) > LONGEST_ENTRY:
        raise ArgumentError(f"{name} in the form must have at most {LONGEST_ENTRY:,} characters, got {len(value):,}.")
    return value.strip()


def _rows(value: object) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_ROWS:
        problem = f"rows_per_unit in the form must be a whole number from 1 to {MOST_ROWS:,}"
        raise ArgumentError(f"{problem}, got {describe_argument(value)}.")
    return value


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(name, str) for name in value):
        got = describe_argument(value)
        raise ArgumentError(f"sensitive in the form must be a list of names of columns, got {got}.")
    if len(value) > MAX_SENSITIVE or any(len(name) > LONGEST_ENTRY for name in value):
        most = f"at most {MAX_SENSITIVE} names of at most {LONGEST_ENTRY:,} characters"
        raise ArgumentError(f"sensitive in the form must be a list of {most}.")
    return tuple(dict.fromkeys(value))
