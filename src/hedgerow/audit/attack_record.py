"""Records of attacks: the subject, the method and the measures, in a form that can be saved and attached."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, get_args

from hedgerow._version import __version__
from hedgerow.audit.attack_subject import LONGEST_TEXT, AttackSubject, check_entries
from hedgerow.boundary.durable import MARK, write_whole
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.envelope import SealedFile, seal
from hedgerow.text.values import printable

AttackKind = Literal["membership", "lira", "exact-membership", "exact-inference", "one-run", "empirical"]
MeasureCode = Literal[
    "auc", "tpr", "significant_rows", "advantage", "privacy_loss", "label_advantage",
    "success", "baseline", "models", "epsilon", "mu",
]  # fmt: skip
RATES = (0.001, 0.01, 0.1)
"""False positive rates at which a record states the true positive rate, if there are enough rows to measure it."""
_MOST_MEASURES = 100
_SHARES = ("auc", "tpr", "advantage", "label_advantage", "success", "baseline")  # measures from 0 to 1


@dataclass(frozen=True)
class AttackMeasure:
    """A measure of an attack's success, with its interval. **Private**: a function of the rows.

    Attributes
    ----------
    code : str
        "auc", or "tpr" (at the false positive rate `at`). "significant_rows" counts the rows whose fits differ with and
        without the row. "advantage", "privacy_loss" and "label_advantage" are the largest values of any row. "success"
        and "baseline" are the probabilities of a correct guess with and without the model. "models" is the number of
        models that the attacker sees. "epsilon" and "mu" are lower bounds of the privacy loss.
    value : float
        The value of the measure.
    low, high : float or None
        The ends of the interval; None for an exact value, and for the open end of a bound.
    confidence : float or None
        The confidence level of the interval; None for an exact value.
    at : float or None
        The false positive rate that belongs to a true positive rate.
    p_value : float or None
        The p-value of the hypothesis that the learner ignores the row. It is one-sided for an AUC. For
        "significant_rows" it is the smallest p-value of the rows' sign tests, times the number of rows.
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
            known = ", ".join(get_args(MeasureCode))
            raise ArgumentError(f"the code of a measure must be one of {known}.")
        numbers = [
            self.value,
            *(x for x in (self.low, self.high, self.confidence, self.at, self.p_value) if x is not None),
        ]
        if not all(type(number) in (int, float) and math.isfinite(number) and number >= 0 for number in numbers):
            raise ArgumentError(f"the numbers of the measure {self.code} must be finite and at least 0.")
        if any(not share <= 1 for share in (self._share, self.confidence or 0, self.at or 0, self.p_value or 0)):
            raise ArgumentError(f"the rates, p-value and confidence of the measure {self.code} must be at most 1.")
        if (self.at is None) == (self.code == "tpr"):
            raise ArgumentError(
                f"the measure tpr requires a false positive rate, and other measures have none; got {self.code}."
            )
        if not (self.low or 0) <= self.value <= (self.value if self.high is None else self.high):
            raise ArgumentError(f"the interval of the measure {self.code} must contain its value.")

    @property
    def _share(self) -> float:
        """The largest number that must not exceed 1."""
        return max(self.value, self.high or 0) if self.code in _SHARES else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ends of the interval; None if either end is missing."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def __str__(self) -> str:
        at = "" if self.at is None else f" at a false positive rate of {100 * self.at:g} %"
        if self.confidence is None:
            return f"{self.value:.4g}{at}"
        span = f"{self.value:.4g} or more" if self.interval is None else f"{self.low:.3g} to {self.high:.3g}"
        return f"{self.value:.4g}{at} ({100 * self.confidence:.3g} % confidence: {span})"

    def to_dict(self) -> dict[str, Any]:
        """Return the measure as JSON-ready data, without the entries that are None."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True, repr=False)
class AttackRecord(SealedFile):
    """Result of an attack, bound to the learner, its ε and the table. **Private**.

    A record can be saved, and attached to a report on a model of the same learner: ``Report.of(model,
    attacks=record)``, or ``hedgerow report model.json --attack attack.PRIVATE.json``. Its digest detects damage and
    careless edits, but it is not a signature.

    Attributes
    ----------
    kind : str
        The audit: "membership", "lira", "exact-membership", "exact-inference", "one-run" or "empirical".
    method : str
        A description of the attack.
    subject : AttackSubject
        The learner and the table.
    repeats : int or None
        The number of splits or runs; None for an audit that computes probabilities exactly.
    measures : tuple of AttackMeasure
        The measures of the attack's success.
    software : str
        The version of hedgerow that made the record.

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10), np.array([0, 0, 1, 1] * 10)
    >>> risk = hr.audit.exact_membership(hr.PrivateTreeClassifier(epsilon=0.5, max_depth=1), X, y)
    >>> record = risk.record
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
            known = ", ".join(get_args(AttackKind))
            raise ArgumentError(f"the kind of an attack must be one of {known}.")
        if not (isinstance(self.method, str) and isinstance(self.software, str)):
            types = f"{type(self.method).__name__} and {type(self.software).__name__}"
            raise ArgumentError(f"method and software must be text, got {types}.")
        if len(self.method) > LONGEST_TEXT or len(self.software) > LONGEST_TEXT:
            raise ArgumentError(f"method and software must have at most {LONGEST_TEXT:,} characters.")
        if not 1 <= len(self.measures) <= _MOST_MEASURES:
            raise ArgumentError(f"a record must have from 1 to {_MOST_MEASURES} measures, got {len(self.measures)}.")
        if not (self.repeats is None or (type(self.repeats) is int and self.repeats >= 1)):
            raise ArgumentError("repeats must be a whole number >= 1, or None.")

    def measure(self, code: MeasureCode, at: float | None = None) -> AttackMeasure | None:
        """Return the measure with this code and false positive rate; None if the record does not have it."""
        return next((measure for measure in self.measures if measure.code == code and measure.at == at), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON-ready data, sealed with a digest of its content."""
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
        attack, entries = sealed["attack"], sealed["measures"]
        check_entries(attack, ("kind", "method", "repeats"))
        for entry in entries:
            check_entries(entry, [field.name for field in fields(AttackMeasure)])
        subject, measures = AttackSubject.from_dict(sealed["subject"]), tuple(AttackMeasure(**x) for x in entries)
        return cls(attack["kind"], attack["method"], subject, attack["repeats"], measures, sealed["software"])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the record to a JSON file that only its owner can read.

        Raises
        ------
        ValueError
            If the file name does not contain "PRIVATE".
        OSError
            If the file cannot be written.
        """
        place = Path(path)
        check_private_name(place)
        write_whole(place, self.to_json())

    def __str__(self) -> str:
        subject, lines = self.subject, [f"attack   {self.kind}: {self.method}"]
        claim = "no guarantee" if subject.epsilon is None else f"epsilon = {subject.epsilon}, delta = {subject.delta}"
        lines.append(f"learner  {subject.learner}, {claim}")
        lines.append(f"table    {subject.rows:,} rows" + ("" if self.repeats is None else f", {self.repeats} repeats"))
        lines += [f"{measure.code:<8} {measure}" for measure in self.measures]
        return "\n".join(map(printable, lines))

    def __repr__(self) -> str:
        return f"<AttackRecord: {self.kind} on {printable(self.subject.learner)}; private>"


def check_private_name(path: Path) -> None:
    """Raise `ArgumentError` if a file name does not mark the file as private."""
    if MARK not in path.name:
        problem = f"the file contains exact functions of the rows, so its name must contain {MARK}"
        raise ArgumentError(f"{problem}; use {path.stem}.{MARK}.json.")


@dataclass(frozen=True, eq=False, repr=False)
class AttackResult(ABC):
    """Base class of the results of attacks. A result can be saved as an `AttackRecord`."""

    kind: ClassVar[AttackKind]
    subject: AttackSubject | None = field(default=None, kw_only=True, compare=False)

    @property
    @abstractmethod
    def _method(self) -> str:
        """A description of the attack."""

    @abstractmethod
    def _measures(self) -> Iterable[AttackMeasure]:
        """Yield the measures of a record."""

    @property
    def record(self) -> AttackRecord:
        """The result as a record that can be saved and attached to a report.

        `ValueError` if the result has no `subject`, since it was not returned by an audit.
        """
        if self.subject is None:
            raise ArgumentError("this result has no subject (learner and table); use the result that an audit returns.")
        repeats = getattr(self, "repeats", getattr(self, "runs", None))
        return AttackRecord(self.kind, self._method, self.subject, repeats, tuple(self._measures()))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the record to a JSON file; see `AttackRecord.save`."""
        self.record.save(path)


def record_of(result: object) -> AttackRecord:
    """Return the record of an attack's result, or a record unchanged; TypeError for anything else."""
    if isinstance(result, AttackRecord):
        return result
    if isinstance(result, AttackResult):
        return result.record
    expected = "results of hedgerow.audit, such as the result of lira, or records (audit.AttackRecord.load)"
    raise ArgumentTypeError(f"attacks must be {expected}; got {type(result).__name__}.")
