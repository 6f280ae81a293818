"""The risk appetite of a project: the thresholds by which checks decide, and the file that states them."""

from dataclasses import dataclass, field, fields
from fractions import Fraction
from os import PathLike
from typing import Any, NamedTuple, Self

from hedgerow.audit.inference.leaf_risk import FEWEST_SAFE_ROWS
from hedgerow.boundary.untrusted_text import read_text
from hedgerow.errors import ArgumentError, UnreadableError
from hedgerow.schema.files import parse_yaml
from hedgerow.text.language import N_, _, number
from hedgerow.text.messages import describe_argument, number_of
from hedgerow.text.values import listed

LARGEST_APPETITE = 2**16  # the maximum number of bytes of a risk appetite file


class Threshold(NamedTuple):
    """The meaning of a threshold, and its bounds."""

    title: str  # a few words, for sheets
    meaning: str  # a sentence, for the file
    low: float
    high: float
    is_whole: bool = False


class ThresholdDifference(NamedTuple):
    """A threshold that differs from the default."""

    name: str
    default: float
    value: float

    def __str__(self) -> str:
        return _(
            "{threshold}: {value} (default {default})",
            threshold=_(THRESHOLDS[self.name].title),
            value=number(f"{self.value:g}"),
            default=number(f"{self.default:g}"),
        )


def _threshold(default: Any, *threshold: Any) -> Any:
    return field(default=default, metadata={"threshold": Threshold(*threshold)})


@dataclass(frozen=True)
class Appetite:
    """The thresholds of a report's checks. The defaults come from the sources that `Check.source` names.

    Parameters
    ----------
    fewest_rows : int, default=10
        The smallest number of rows, or units, of a leaf or a bin that passes.
    strong_epsilon, largest_epsilon : float, default=1 and 10
        A guarantee passes up to the first ε, needs review up to the second, and fails above it.
    dominance : float, default=0.1
        The p % rule, as a share. Nobody may be able to estimate the number of a row from its leaf's sum with a relative
        error below this share.
    largest_unit : float, default=0.5
        The largest share of a leaf's persons that may belong to one household or institution.
    most_guessed : float, default=0.55
        The largest share of correct membership guesses, or AUC, that passes; random guessing has 0.5.
    largest_deficit : float, default=0.1
        The largest deficit of a group, compared with a constant prediction, that passes: in accuracy, or as a share of
        the constant's mean cost or error.

    Raises
    ------
    ValueError
        If a threshold is not a finite number within its bounds, or `strong_epsilon` is above `largest_epsilon`.

    Examples
    --------
    >>> Appetite(fewest_rows=20).differences
    (ThresholdDifference(name='fewest_rows', default=10, value=20),)
    """

    fewest_rows: int = _threshold(
        FEWEST_SAFE_ROWS,
        N_("smallest number of rows of a leaf"),
        "Smallest number of rows, or units, of a leaf or a bin that passes. A whole number.",
        1,
        1_000_000,
        True,
    )
    strong_epsilon: float = _threshold(
        1, N_("largest epsilon that passes"), "Largest epsilon of a guarantee that passes.", 0, 1000
    )
    largest_epsilon: float = _threshold(
        10,
        N_("epsilon above which the guarantee fails"),
        "Largest epsilon of a guarantee that needs review; a larger one fails.",
        0,
        1000,
    )
    dominance: float = _threshold(
        0.1,
        N_("dominance of one row"),
        "p % rule, as a share: others must not be able to estimate a row's number to within this share of it.",
        0,
        1,
    )
    largest_unit: float = _threshold(
        0.5,
        N_("share of one household or institution"),
        "Largest share of the persons of a leaf that one household or institution may have.",
        0,
        1,
    )
    most_guessed: float = _threshold(
        0.55,
        N_("success of a membership attack"),
        "Largest share of correct membership guesses, or AUC of an attack, that passes. Random guessing has 0.5.",
        0.5,
        1,
    )
    largest_deficit: float = _threshold(
        0.1,
        N_("deficit of a group"),
        "Largest deficit of a group, compared with a constant prediction, that passes: in accuracy, or as a share of "
        "the constant's mean cost or error.",
        0,
        1,
    )

    def __post_init__(self) -> None:
        for name, threshold in THRESHOLDS.items():
            _check(name, getattr(self, name), threshold)
        if self.strong_epsilon > self.largest_epsilon:
            values = f"{self.strong_epsilon:g} and {self.largest_epsilon:g}"
            raise ArgumentError(f"strong_epsilon must be at most largest_epsilon in a risk appetite, got {values}.")

    @property
    def differences(self) -> tuple[ThresholdDifference, ...]:
        """The thresholds that differ from the default, in the order of the fields."""
        values = ((name, default, getattr(self, name)) for name, default in _DEFAULTS.items())
        return tuple(ThresholdDifference(*entry) for entry in values if entry[1] != entry[2])

    def is_strong(self, epsilon: Fraction) -> bool:
        """Return whether a guarantee passes; ε is compared as a float, since 3/10 is above the float 0.3."""
        return float(epsilon) <= self.strong_epsilon

    def stated(self) -> dict[str, Any]:
        """Return the thresholds as JSON-ready data, with a list of the thresholds that differ from the default."""
        return {"thresholds": self.to_dict(), "differences": [difference._asdict() for difference in self.differences]}

    def to_dict(self) -> dict[str, Any]:
        """Return the thresholds as JSON-ready data."""
        return dict(vars(self))

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the risk appetite of a mapping; thresholds that are missing or null have their default.

        ValueError if the data are not a mapping, or have an unknown name or a threshold out of bounds.
        """
        if not isinstance(data, dict):
            raise ArgumentError(f"A risk appetite must be a mapping of thresholds, got {type(data).__name__}.")
        unknown = sum(name not in THRESHOLDS for name in data)
        if unknown:  # not quoted, since another file, such as a table, may have been passed
            known = listed(tuple(THRESHOLDS), len(THRESHOLDS))
            names = number_of(unknown, "unknown name")
            raise ArgumentError(f"A risk appetite has the thresholds {known}; this one has {names}.")
        return cls(**{name: value for name, value in data.items() if value is not None})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a risk appetite from a YAML or JSON file.

        Raises
        ------
        ValueError
            If the file is larger than 64 KiB, is not YAML, or is not a risk appetite; see `from_dict`.
        OSError
            If the file cannot be read.
        """
        problem, data = None, None
        try:
            data = parse_yaml(read_text(path, LARGEST_APPETITE))
        except UnreadableError as error:
            problem = str(error)
        if problem:
            raise ArgumentError(f"{path}: {problem}.")
        return cls.from_dict({} if data is None else data)


THRESHOLDS: dict[str, Threshold] = {entry.name: entry.metadata["threshold"] for entry in fields(Appetite)}
"""The thresholds of a risk appetite by name, each with its meaning and its bounds."""
_DEFAULTS: dict[str, Any] = {entry.name: entry.default for entry in fields(Appetite)}


def _check(name: str, value: object, threshold: Threshold) -> None:
    if isinstance(value, bool) or not isinstance(value, int if threshold.is_whole else (int, float)):
        kind = "a whole number" if threshold.is_whole else "a number"
        raise ArgumentError(f"{name} of a risk appetite must be {kind}, got {type(value).__name__}.")
    if not threshold.low <= value <= threshold.high:
        bounds = f"{threshold.low:,} to {threshold.high:,}"
        raise ArgumentError(f"{name} of a risk appetite must be in {bounds}, got {describe_argument(value)}.")


DEFAULT = Appetite()


def appetite_template() -> str:
    """Return the text of a risk appetite file in YAML with the default of each threshold and its meaning."""
    top = (
        "# Risk appetite of a project (hedgerow report --appetite): the thresholds of a report's checks.\n"
        "# Values that differ from these defaults are shown on both sheets and in the records.\n"
    )
    entries = (f"\n# {THRESHOLDS[name].meaning}\n{name}: {default:g}\n" for name, default in _DEFAULTS.items())
    return top + "".join(entries)
