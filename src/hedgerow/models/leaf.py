"""Leaves: released counts, or sums, of the rows routed to them, a drawn label or drawn probabilities, or both."""

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError
from hedgerow.schema.targets import Target
from hedgerow.text.messages import shown
from hedgerow.text.values import listed

MOST_PROBABILITIES = 2**22
"""Maximum of leaves times classes of a model, where the array of its probabilities has 32 MiB."""
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
        The probability of each class, in the order of the schema's classes, where they were drawn with the model; the
        label is the most probable class, the first of equals.
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


def check_leaves(leaves: Sequence[Leaf], target: Target, name: str) -> None:
    classes = target.values
    if len(leaves) * len(classes) > MOST_PROBABILITIES:
        got = f"{len(leaves):,} times {len(classes):,}"
        problem = f"expected at most {MOST_PROBABILITIES:,} probabilities"
        raise ArgumentError(f"{problem}, one a {name} and class, got {got}.")
    known = {(type(value), value) for value in classes}  # True is not 1
    for leaf in leaves:
        if leaf.counts is not None and len(leaf.counts) != len(classes):
            raise ArgumentError(f"expected {len(classes)} counts a {name}, got {len(leaf.counts)}.")
        if leaf.label is not None and (type(leaf.label), leaf.label) not in known:
            expected = f"expected the label of a {name} to be one of the schema's classes {listed(classes)}"
            raise ArgumentError(f"{expected}; got {shown(leaf.label)}.")
        number = target.as_number
        if leaf.sums is not None or leaf.mean is not None:
            if number is None:
                raise ArgumentError(f"expected no mean of a {name} whose classes are no numbers, got one.")
            if leaf.mean is None or not number.low <= leaf.mean <= number.high:
                raise ArgumentError(f"expected a mean of a {name} within the bounds of the number, got another.")
        if leaf.probabilities is not None and number is not None:
            raise ArgumentError(f"expected no probabilities of a {name} that predicts a number, got some.")
        if leaf.probabilities is not None:
            _check_mode(leaf.probabilities, leaf.label, classes, name)


def _check_mode(probabilities: Sequence[float], label: Any, classes: Sequence[Any], name: str) -> None:
    if len(probabilities) != len(classes):
        raise ArgumentError(f"expected {len(classes)} probabilities a {name}, got {len(probabilities)}.")
    if probabilities.index(max(probabilities)) != classes.index(label):
        raise ArgumentError(f"expected the label of a {name} to be its most probable class, got another one.")


def leaf_probabilities(leaves: Sequence[Leaf], target: Target) -> Floats:
    classes = target.values
    found = np.zeros((len(leaves), len(classes)))
    counted = [place for place, leaf in enumerate(leaves) if leaf.counts is not None and leaf.probabilities is None]
    counts = np.array([leaves[place].counts for place in counted], dtype=np.float64)
    found[counted] = np.maximum(counts.reshape(len(counted), len(classes)), 0.0)
    whole = found.sum(axis=0) if found.sum() > 0 else np.ones(len(classes))
    found[[place for place in counted if not found[place].any()]] = whole
    for place, leaf in enumerate(leaves):
        if leaf.probabilities is not None:
            found[place] = leaf.probabilities
        elif leaf.counts is None:
            found[place, classes.index(leaf.label) if leaf.mean is None else _nearest(classes, leaf.mean)] = 1.0
        elif leaf.label is not None and target.as_number is None:
            found[place] = _with_mode(found[place], classes.index(leaf.label))
    found[counted] /= found[counted].sum(axis=1, keepdims=True)
    found.setflags(write=False)
    return found


def _nearest(levels: Sequence[float], mean: float) -> int:
    return min(range(len(levels)), key=lambda place: abs(levels[place] - mean))


def _with_mode(counts: Floats, mode: int) -> Floats:
    """Pool the mode with the largest other classes until their mean is no smaller than any class left out."""
    others = np.argsort(-counts, kind="stable")
    others = others[others != mode]
    means = np.cumsum([counts[mode], *counts[others]]) / np.arange(1, len(counts) + 1)
    larger = counts[others] > means[:-1]
    size = len(others) if larger.all() else int(larger.argmin())
    pool = [mode, *others[:size].tolist()]
    pooled = counts.copy()
    pooled[pool] = means[size]
    return pooled


def leaf_predictions(leaves: Sequence[Leaf], target: Target, probabilities: Floats) -> tuple[Any, ...]:
    return tuple(
        next(one for one in (leaf.mean, leaf.label, by_counts) if one is not None)
        for leaf, by_counts in zip(leaves, target.predicted(probabilities), strict=True)
    )


def commented(lines: Sequence[str], notes: Sequence[str | None]) -> str:
    noted = list(zip(lines, notes, strict=True))
    width = max((len(line) for line, note in noted if note is not None and len(line) <= _WIDEST), default=0) + 4
    return "\n".join(line if note is None else f"{f'{line}    ':<{width}}# {note}" for line, note in noted)
