"""Splits and leaves. A leaf has released counts, or sums, of its rows, a drawn label or probabilities, or both."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from hedgerow.errors import ArgumentError
from hedgerow.schema.literals import Literal
from hedgerow.text.messages import shown

_LARGEST_COUNT = 2**63
_OFF = 1e-9  # what rounding may add to the sum of probabilities
_WIDEST = 90  # characters of the longest line by which notes are aligned


@dataclass(frozen=True)
class Leaf:
    """Release about the rows of one leaf: counts by class, or two sums; a label with or without probabilities; or both.

    Attributes
    ----------
    counts : tuple of int, optional
        Released rows of each class, in the order of the schema's classes. Noisy counts may be negative.
        None where none were released.
    label : str, int, bool or float, optional
        The class or number predicted, where it was drawn with the model. None where the counts decide.
    probabilities : tuple of float, optional
        The probability of each class, in the order of the schema's classes: drawn with the model, or posterior means
        of class shares, given the counts and the drawn label. The label is the most probable class, the first of
        equals.
    sums : tuple of int, optional
        Of a number: the released sums, over the rows, of the levels below that of the row and of those above it.
    mean : float, optional
        Of a number: the mean that is predicted, which follows from counts or sums, and the label if there is one.

    Raises
    ------
    ValueError
        If there is nothing to predict, or the probabilities are none, or come without a label.

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
            raise ArgumentError("expected two sums, got another number.")
        if self.mean is not None and not (isinstance(self.mean, float) and math.isfinite(self.mean)):
            raise ArgumentError("expected a finite float as a mean, got something else.")
        if self.counts is None and self.label is None and self.mean is None:
            raise ArgumentError("expected counts, a label, or both; got neither.")
        label = self.label
        is_infinite = isinstance(label, float) and not math.isfinite(label)
        if is_infinite or not isinstance(label, (str, int, float, type(None))):
            raise ArgumentError(f"expected text, a finite number or a boolean as a label, got {shown(self.label)}.")
        if self.probabilities is not None:
            object.__setattr__(self, "probabilities", _checked_probabilities(self.probabilities, self.label))

    @property
    def is_label_alone(self) -> bool:
        """True if nothing was released but the label."""
        return self.counts is None and self.probabilities is None and self.sums is None

    @property
    def rows(self) -> int | None:
        """The sum of the released counts, at least 0; None where none were released."""
        return None if self.counts is None else max(sum(self.counts), 0)

    def to_dict(self, prediction: Any) -> dict[str, Any]:
        """Return the leaf and what it predicts as JSON-ready data; but for the counts only what there is."""
        counts = None if self.counts is None else list(self.counts)
        more = {name: getattr(self, name) for name in ("label", "probabilities", "sums", "mean")}
        present = {name: list(one) if isinstance(one, tuple) else one for name, one in more.items() if one is not None}
        return {"then": prediction, "counts": counts, **present}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote."""
        return cls(data["counts"], *map(data.get, ("label", "probabilities", "sums", "mean")))


L = TypeVar("L")  # what stands in the place of a leaf


@dataclass(frozen=True)
class Split(Generic[L]):
    """An inner node: a literal, and the branches of the rows that satisfy it and of all others.

    Attributes
    ----------
    literal : Literal
        The test.
    true, false : Split or Leaf
        The branch of the rows that satisfy the literal, and that of all others. A missing value satisfies only
        ``is missing``, so it goes to `false` for any other literal.

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
    found = tuple(int(operator.index(value)) for value in values)
    if any(abs(value) >= _LARGEST_COUNT for value in found):
        raise ArgumentError(f"expected {name} below 2^63 in size, got a larger one.")
    return found


def _checked_probabilities(values: object, label: object) -> tuple[float, ...]:
    if label is None:
        raise ArgumentError("expected a label beside probabilities, got none.")
    found = tuple(values) if isinstance(values, (tuple, list)) else ()
    if not found or not all(isinstance(one, float) and 0 <= one <= 1 for one in found):
        raise ArgumentError("expected floats between 0 and 1 as probabilities, got something else.")
    if abs(math.fsum(found) - 1) > _OFF:
        raise ArgumentError(f"expected probabilities that sum to 1, got {math.fsum(found):.6g}.")
    return tuple(map(float, found))


def commented(lines: Sequence[str], notes: Sequence[str | None]) -> str:
    noted = list(zip(lines, notes, strict=True))
    width = max((len(line) for line, note in noted if note is not None and len(line) <= _WIDEST), default=0) + 4
    return "\n".join(line if note is None else f"{f'{line}    ':<{width}}# {note}" for line, note in noted)
