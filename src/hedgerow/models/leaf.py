"""Splits and leaves. A leaf has released counts or sums of its rows, a drawn label or probabilities, or both."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from hedgerow.errors import ArgumentError
from hedgerow.schema.literals import Literal
from hedgerow.text.messages import shown

_LARGEST_COUNT = 2**63
_TOLERANCE = 1e-9  # tolerance for rounding in the sum of probabilities
_WIDEST = 90  # the longest line, in characters, to which notes are aligned


@dataclass(frozen=True)
class Leaf:
    """The released values of a leaf: counts by class or two sums, a label with or without probabilities, or both.

    Attributes
    ----------
    counts : tuple of int, optional
        Released rows of each class, in the order of the schema's classes. Noisy counts may be negative. None if no
        counts were released.
    label : str, int, bool or float, optional
        The predicted class or number, if it was drawn with the model. None if the counts determine the prediction.
    probabilities : tuple of float, optional
        The probability of each class, in the order of the schema's classes. Probabilities are drawn with the model, or
        are posterior means of class shares given the counts and the drawn label. The label is the most probable class;
        ties go to the first class.
    sums : tuple of int, optional
        For a number, the released sums, over the rows, of the numbers of levels below and above the level of the row.
    mean : float, optional
        For a number, the predicted mean, which follows from counts or sums and from the label, if there is one.

    Raises
    ------
    ValueError
        If there is neither a label nor counts nor a mean, or the probabilities are not valid or have no label.

    Examples
    --------
    >>> Leaf((90, 10))
    Leaf(counts=(90, 10), label=None, probabilities=None, sums=None, mean=None)
    >>> Leaf(label="no", probabilities=(0.9, 0.1)).rows is None
    True
    """

    counts: tuple[int, ...] | None = None
    label: str | float | None = None
    probabilities: tuple[float, ...] | None = None
    sums: tuple[int, int] | None = None
    mean: float | None = None

    def __post_init__(self) -> None:
        for name in ("counts", "sums"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _checked_numbers(name, getattr(self, name)))
        if self.sums is not None and len(self.sums) != 2:
            raise ArgumentError(f"sums must be two numbers, got {len(self.sums)}.")
        if self.mean is not None and not (isinstance(self.mean, float) and math.isfinite(self.mean)):
            raise ArgumentError(f"mean must be a finite float, got {shown(self.mean)}.")
        if self.counts is None and self.label is None and self.mean is None:
            raise ArgumentError("a leaf must have counts, a label, or a mean.")
        label = self.label
        is_infinite = isinstance(label, float) and not math.isfinite(label)
        if is_infinite or not isinstance(label, (str, int, float, type(None))):
            raise ArgumentError(f"label must be text, a finite number or a boolean, got {shown(self.label)}.")
        if self.probabilities is not None:
            object.__setattr__(self, "probabilities", _checked_probabilities(self.probabilities, self.label))

    @property
    def is_label_alone(self) -> bool:
        """True if only the label was released."""
        return self.counts is None and self.probabilities is None and self.sums is None

    @property
    def rows(self) -> int | None:
        """The sum of the released counts, at least 0; None if no counts were released."""
        return None if self.counts is None else max(sum(self.counts), 0)

    def to_dict(self, prediction: Any) -> dict[str, Any]:
        """Return the leaf and its prediction as JSON-ready data; fields other than `counts` are omitted if None."""
        counts = None if self.counts is None else list(self.counts)
        optional = {name: getattr(self, name) for name in ("label", "probabilities", "sums", "mean")}
        present = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in optional.items()
            if value is not None
        }
        return {"then": prediction, "counts": counts, **present}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the leaf that `to_dict` wrote."""
        return cls(data["counts"], *map(data.get, ("label", "probabilities", "sums", "mean")))


L = TypeVar("L")  # the type of the leaves


@dataclass(frozen=True)
class Split(Generic[L]):
    """An inner node: a literal, with a branch for the rows that satisfy it and a branch for all other rows.

    Attributes
    ----------
    literal : Literal
        The test.
    true, false : Split or Leaf
        The branch for the rows that satisfy the literal, and the branch for all other rows. A missing value satisfies
        only ``is missing``; for any other literal it goes to `false`.

    Examples
    --------
    >>> Split(Literal("smoker", "true"), Leaf(label="yes"), Leaf((40, 3))).false
    Leaf(counts=(40, 3), label=None, probabilities=None, sums=None, mean=None)
    """

    literal: Literal
    true: "Split[L] | L"
    false: "Split[L] | L"


TreeNode = Split[Leaf] | Leaf
"""A tree: a split, or a leaf by itself."""


def _checked_numbers(name: str, values: Sequence[Any]) -> tuple[int, ...]:
    numbers = tuple(int(operator.index(value)) for value in values)
    if any(abs(number) >= _LARGEST_COUNT for number in numbers):
        raise ArgumentError(f"{name} must be below 2^63 in absolute value.")
    return numbers


def _checked_probabilities(values: object, label: object) -> tuple[float, ...]:
    if label is None:
        raise ArgumentError("a leaf with probabilities must have a label.")
    shares = tuple(values) if isinstance(values, (tuple, list)) else ()
    if not shares or not all(isinstance(share, float) and 0 <= share <= 1 for share in shares):
        raise ArgumentError(f"probabilities must be a tuple of floats from 0 to 1, got {shown(values)}.")
    if abs(math.fsum(shares) - 1) > _TOLERANCE:
        raise ArgumentError(f"probabilities must sum to 1, got {math.fsum(shares):.6g}.")
    return tuple(map(float, shares))


def commented(lines: Sequence[str], notes: Sequence[str | None]) -> str:
    noted = list(zip(lines, notes, strict=True))
    width = max((len(line) for line, note in noted if note is not None and len(line) <= _WIDEST), default=0) + 4
    return "\n".join(line if note is None else f"{f'{line}    ':<{width}}# {note}" for line, note in noted)
