"""Records of attacks: what was attacked, how, and what was reached, in a form that can be saved and attached."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from hedgerow._version import __version__
from hedgerow.audit.attack_subject import LONGEST_TEXT, AttackSubject, check_entries
from hedgerow.boundary.durable import write_whole
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.envelope import SealedFile, seal
from hedgerow.text.values import printable

AttackKind = Literal["membership", "lira", "exact-membership", "exact-inference", "one-run", "empirical"]
MeasureCode = Literal[
    "auc", "tpr", "significant_rows", "advantage", "privacy_loss", "label_advantage",
    "success", "baseline", "models", "epsilon", "mu",
]  # fmt: skip
RATES = (0.001, 0.01, 0.1)
"""The false positive rates whose true positive rates a record has, where there are enough rows to measure them."""
MARK = "PRIVATE"  # in the name of every file with functions of the rows
_MOST_MEASURES = 100
_SHARES = ("auc", "tpr", "advantage", "label_advantage", "success", "baseline")  # from 0 to 1


@dataclass(frozen=True)
class AttackMeasure:
    """One number that an attack reached, with its interval. **Private**: a function of the rows.

    Attributes
    ----------
    code : str
        "auc", "tpr" (at the false positive rate `at`), "significant_rows" (whose fits differ with and without the row),
        "advantage" and "privacy_loss" (the largest of any row), "label_advantage", "success" and "baseline" (chances to
        guess right with and without the model), "models" (how many are seen together), or "epsilon" and "mu" (lower
        bounds of the privacy loss).
    value : float
        The number.
    low, high : float or None
        The ends of the interval; None for an exact number, and for the open end of a bound.
    confidence : float or None
        The confidence of the interval; None for an exact number.
    at : float or None
        The false positive rate of a true positive rate.
    p_value : float or None
        Of the hypothesis that the learner ignores the row: one-sided for an AUC, and for rows the smallest one of their
        sign tests times their number.
    """

    code: MeasureCode
    value: float
    low: float | None = None
    high: float | None = None
    confidence: float | None = None
    at: float | None = None
    p_value: float | None = None

    def __post_init__(self) -> None:
        if self.code not in get_args(MeasureCode):
            raise ArgumentError("expected a measure with a known code, got another code.")
        numbers = [
            self.value,
            *(x for x in (self.low, self.high, self.confidence, self.at, self.p_value) if x is not None),
        ]
        if not all(type(number) in (int, float) and math.isfinite(number) and number >= 0 for number in numbers):
            raise ArgumentError(f"expected finite numbers >= 0 of the measure {self.code}, got others.")
        if any(not share <= 1 for share in (self._share, self.confidence or 0, self.at or 0, self.p_value or 0)):
            raise ArgumentError(f"expected shares from 0 to 1 of the measure {self.code}, got a larger number.")
        if (self.at is None) == (self.code == "tpr"):
            raise ArgumentError("expected a false positive rate with each true positive rate, and with nothing else.")
        if not (self.low or 0) <= self.value <= (self.value if self.high is None else self.high):
            raise ArgumentError(f"expected an interval that contains the value of {self.code}, got another one.")

    @property
    def _share(self) -> float:
        """The largest number that has to be a share."""
        return max(self.value, self.high or 0) if self.code in _SHARES else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval; None without both."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        at = "" if self.at is None else f" at a false positive rate of {100 * self.at:g} %"
        if self.confidence is None:
            return f"{self.value:.4g}{at}"
        span = f"{self.value:.4g} or more" if self.interval is None else f"{self.low:.3g} to {self.high:.3g}"
        return f"{self.value:.4g}{at} ({100 * self.confidence:.3g} % confidence: {span})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data, without the entries that are None."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, repr=False)
class AttackRecord(SealedFile):
    """What an attack on a learner reached, bound to the learner, its ε and the table. **Private**.

    It can be saved, and attached to a report on a model of the same learner: ``Report.of(model, attacks=record)``, or
    ``hedgerow report model.json --attack attack.PRIVATE.json``. A digest shows damage and careless edits; it is no
    signature.

    Attributes
    ----------
    kind : str
        The audit: "membership", "lira", "exact-membership", "exact-inference", "one-run" or "empirical".
    method : str
        The attack in words.
    subject : AttackSubject
        The learner and the table.
    repeats : int or None
        The number of splits or runs; None for an audit that computes chances.
    measures : tuple of AttackMeasure
        What was reached.
    software : str
        The version of hedgerow.

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10), np.array([0, 0, 1, 1] * 10)
    >>> found = hr.audit.exact_membership(hr.PrivateTreeClassifier(epsilon=0.5, max_depth=1), X, y)
    >>> record = found.record
    >>> record.kind, record.subject.learner, str(record.subject.epsilon)
    ('exact-membership', 'PrivateTreeClassifier', '1/2')
    >>> record.measure("privacy_loss").value < 0.5
    True
    """

    format: ClassVar[str] = "hedgerow/attack"
    version: ClassVar[int] = 1

    kind: AttackKind
    method: str
    subject: AttackSubject
    repeats: int | None
    measures: tuple[AttackMeasure, ...]
    software: str = __version__

    def __post_init__(self) -> None:
        if self.kind not in get_args(AttackKind):
            raise ArgumentError("expected a record of a known kind of attack, got another kind.")
        if not (isinstance(self.method, str) and isinstance(self.software, str)):
            raise ArgumentError("expected text as method and software, got something else.")
        if len(self.method) > LONGEST_TEXT or len(self.software) > LONGEST_TEXT:
            raise ArgumentError(f"expected texts of at most {LONGEST_TEXT:,} characters, got a longer one.")
        if not 1 <= len(self.measures) <= _MOST_MEASURES:
            raise ArgumentError(f"expected from 1 to {_MOST_MEASURES} measures, got {len(self.measures)}.")
        if not (self.repeats is None or (type(self.repeats) is int and self.repeats >= 1)):
            raise ArgumentError("expected repeats as a whole number >= 1, or None, got something else.")

    def measure(self, code: MeasureCode, at: float | None = None) -> AttackMeasure | None:
        """Return a measure by its code, and its false positive rate; None if the record does not have it."""
        return next((one for one in self.measures if one.code == code and one.at == at), None)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data, sealed with a digest of its content."""
        return seal(
            {
                "format": self.format,
                "version": self.version,
                "private": True,
                "software": self.software,
                "attack": {"kind": self.kind, "method": self.method, "repeats": self.repeats},
                "subject": self.subject.to_dict(),
                "measures": [measure.to_dict() for measure in self.measures],
            }
        )

    @classmethod
    def _opened(cls, sealed: Mapping[str, Any]) -> Self:
        attack, given = sealed["attack"], sealed["measures"]
        check_entries(attack, ("kind", "method", "repeats"))
        for measure in given:
            check_entries(measure, [one.name for one in fields(AttackMeasure)])
        subject, measures = AttackSubject.from_dict(sealed["subject"]), tuple(AttackMeasure(**one) for one in given)
        return cls(attack["kind"], attack["method"], subject, attack["repeats"], measures, sealed["software"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a JSON file that only its owner can read; the name has to say PRIVATE.

        Raises
        ------
        ValueError
            If the name of the file does not contain "PRIVATE".
        OSError
            If the file cannot be written.
        """
        place = Path(path)
        check_private_name(place)
        write_whole(place, self.to_json(), mode=0o600)

    def __str__(self) -> str:
        subject, lines = self.subject, [f"attack   {self.kind}: {self.method}"]
        bound = "no guarantee" if subject.epsilon is None else f"epsilon = {subject.epsilon}, delta = {subject.delta}"
        lines.append(f"learner  {subject.learner}, {bound}")
        lines.append(f"table    {subject.rows:,} rows" + ("" if self.repeats is None else f", {self.repeats} repeats"))
        lines += [f"{measure.code:<8} {measure}" for measure in self.measures]
        return "\n".join(map(printable, lines))

    def __repr__(self) -> str:
        return f"<AttackRecord: {self.kind} on {printable(self.subject.learner)}; private>"


def check_private_name(path: Path) -> None:
    """Raise ArgumentError for a file name that does not state that the file has functions of the rows."""
    if MARK not in path.name:
        problem = f"expected a file name that says {MARK}, since the file has functions of the rows"
        raise ArgumentError(f"{problem}; use {path.stem}.{MARK}.json.")


@dataclass(frozen=True, eq=False, repr=False)
class AttackResult(ABC):
    """Base class of the results of attacks, each of which can be saved as an `AttackRecord`."""

    kind: ClassVar[AttackKind]
    subject: AttackSubject | None = field(default=None, kw_only=True, compare=False)

    @property
    @abstractmethod
    def _method(self) -> str:
        """The attack in words."""

    @abstractmethod
    def _measures(self) -> Iterable[AttackMeasure]:
        """Yield the measures of a record."""

    @property
    def record(self) -> AttackRecord:
        """The result as a record that can be saved, and attached to a report; ValueError for one made by hand."""
        if self.subject is None:
            raise ArgumentError(
                "expected a result of an audit, got one without the learner and the table of an attack."
            )
        repeats = getattr(self, "repeats", getattr(self, "runs", None))
        return AttackRecord(self.kind, self._method, self.subject, repeats, tuple(self._measures()))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the record to a JSON file; see `AttackRecord.save`."""
        self.record.save(path)


def record_of(given: object) -> AttackRecord:
    """Return the record of a result of an attack, or a record as it is; TypeError for anything else."""
    if isinstance(given, AttackRecord):
        return given
    if isinstance(given, AttackResult):
        return given.record
    expected = "results of hedgerow.audit, such as that of lira, or records (audit.AttackRecord.load)"
    raise ArgumentTypeError(f"expected {expected} as attacks, got {type(given).__name__}.")
