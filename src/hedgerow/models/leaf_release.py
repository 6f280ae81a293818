"""Released values of leaves, and all results that follow from them.

Texts, plots, exports, caveats, audits and reports use a `LeafRelease`. Questions that the released kind of numbers
cannot answer raise one error, which is defined here.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from math import ceil, floor
from typing import Any, Self

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.count_noise import CONFIDENCE, CountNoise, NumbersKind
from hedgerow.models.leaf import Leaf
from hedgerow.models.size import SmallestShare
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.targets import Target
from hedgerow.text.language import _, ngettext, number, percent, percentage
from hedgerow.text.messages import shown
from hedgerow.text.values import listed

MOST_PROBABILITIES = 2**22
"""Maximum number of leaves times classes of a model; its array of probabilities then has 32 MiB."""


def row_numbers(kind: NumbersKind, n_levels: int) -> Integers:
    """Return the contribution of a row of each level to the numbers of its leaf, shape ``(n_levels, n_numbers)``."""
    if kind == "none":
        return np.zeros((n_levels, 0), dtype=np.int64)
    below = np.arange(n_levels)
    return np.eye(n_levels, dtype=np.int64) if kind == "counts" else np.column_stack([below, below[::-1]])


@dataclass(frozen=True, eq=False)
class LeafRelease:
    """The released values of the leaves of a model, and everything that follows from them.

    Attributes
    ----------
    leaves : tuple of Leaf
        The leaves.
    target : Target
        The classes, or the numeric target with its levels.
    noise : CountNoise or None
        The noise on the released numbers; None if it is unknown.
    name : str
        The name of a leaf in messages: "leaf" or "rule".

    Raises
    ------
    ValueError
        If a leaf does not fit the target, or some leaves have counts and some have sums.
    """

    leaves: tuple[Leaf, ...]
    target: Target
    noise: CountNoise | None
    name: str = "leaf"

    @classmethod
    def of(cls, leaves: tuple[Leaf, ...], target: Target, card: PrivacyCard, name: str) -> Self:
        """Return the release of these leaves, with the noise that the card states for their numbers."""
        return cls(leaves, target, CountNoise.of(card, _kind(leaves)), name)

    def __post_init__(self) -> None:
        n_levels = len(self.target.values)
        if len(self.leaves) * n_levels > MOST_PROBABILITIES:
            got = f"{len(self.leaves):,} × {n_levels:,}"
            problem = f"expected at most {MOST_PROBABILITIES:,} probabilities"
            raise ArgumentError(f"{problem}, one for each {self.name} and class, got {got}.")
        known = {(type(value), value) for value in self.target.values}  # True is not 1
        for leaf in self.leaves:
            _check_leaf(leaf, self.target, known, self.name)
        if any(leaf.counts is not None for leaf in self.leaves) and any(leaf.sums is not None for leaf in self.leaves):
            raise ArgumentError(f"expected either counts or sums for every {self.name}, got both in one model.")

    @cached_property
    def kind(self) -> NumbersKind:
        """The kind of numbers that were released for at least some leaves."""
        return _kind(self.leaves)

    @cached_property
    def numbers(self) -> tuple[tuple[int, ...] | None, ...]:
        """The released numbers of each leaf, None for a leaf without them. Noisy numbers may be negative."""
        return tuple(leaf.sums if self.kind == "sums" else leaf.counts for leaf in self.leaves)

    @property
    def width(self) -> int:
        """The number of released numbers per leaf."""
        return {"none": 0, "counts": self.target.n_levels, "sums": 2}[self.kind]

    @property
    def has_rows(self) -> bool:
        """True if the number of rows of any leaf follows from its released numbers."""
        return self.kind != "none"

    @cached_property
    def is_complete(self) -> bool:
        """True if the number of rows of every leaf follows from its released numbers."""
        return self.has_rows and None not in self.numbers

    @property
    def is_histogram(self) -> bool:
        """True if counts by class or level were released for every leaf."""
        return self.kind == "counts" and self.is_complete

    @property
    def is_noisy(self) -> bool:
        """True if the numbers are known to contain noise."""
        return self.noise is not None and not self.noise.is_exact

    @cached_property
    def rows(self) -> tuple[int | None, ...]:
        """The number of rows of each leaf, which noise can make negative; None for a leaf without released numbers."""
        per_row = self.target.n_levels - 1 if self.kind == "sums" else 1  # the sum of the contributions of a row
        return tuple(None if numbers is None else round(Fraction(sum(numbers), per_row)) for numbers in self.numbers)

    @property
    def masses(self) -> tuple[Floats, Floats]:
        """The rows of each leaf, and its rows by class (for a number, the sum of its levels); negative values become 0.

        If leaves have probabilities in addition to counts, the rows of a leaf are divided by these probabilities.

        Raises
        ------
        TypeError
            If counts or sums were not released for every leaf.
        """
        if not self.is_complete:
            raise self.needs_counts()
        numbers: Floats = np.maximum(np.array(self.numbers, dtype=np.float64), 0.0)
        if self.kind == "sums":
            return numbers.sum(axis=1) / (self.target.n_levels - 1), numbers[:, :1]
        if self.has_probabilities:
            rows: Floats = np.maximum(np.array(self.rows, dtype=np.float64), 0.0)
            return rows, rows[:, np.newaxis] * self.probabilities
        is_number = self.target.as_number is not None
        levels = np.arange(self.width, dtype=np.float64)
        return numbers.sum(axis=1), numbers @ levels[:, np.newaxis] if is_number else numbers

    @cached_property
    def counts(self) -> Integers:
        """The counts of every leaf by class or level, shape ``(n_leaves, n_levels)``.

        Raises
        ------
        TypeError
            If counts were not released for every leaf.
        """
        if not self.is_histogram:
            raise self.needs_counts()
        return np.array(self.numbers, dtype=np.int64)

    def counts_of(self, place: int) -> tuple[int, ...] | None:
        """Return the counts of a leaf by class or level; None if none were released."""
        return self.leaves[place].counts

    def needs_counts(self) -> ArgumentTypeError:
        """Return the error for a request that needs released counts for every leaf."""
        of_some = f" for some {self.name_of_all} only" if self.has_rows and not self.is_complete else ""
        got = {"none": "without counts", "counts": f"with counts{of_some}", "sums": f"with sums{of_some}"}[self.kind]
        expected = f"expected a model with released counts for every {self.name}"
        return ArgumentTypeError(f"{expected}, got a model {got}; fit it with release_counts=True.")

    @property
    def name_of_all(self) -> str:
        """The plural of `name`."""
        return "leaves" if self.name == "leaf" else f"{self.name}s"

    @cached_property
    def probabilities(self) -> Floats:
        """The class probabilities of each leaf, shape ``(n_leaves, n_classes)``; see `LeafModel.probabilities`."""
        return _probabilities(self.leaves, self.target)

    @cached_property
    def predictions(self) -> tuple[Any, ...]:
        """The prediction of each leaf; see `LeafModel.predictions`."""
        predicted = self.target.predicted(self.probabilities)
        return tuple(
            next(value for value in (leaf.mean, leaf.label, by_counts) if value is not None)
            for leaf, by_counts in zip(self.leaves, predicted, strict=True)
        )

    @property
    def has_probabilities(self) -> bool:
        """True if any leaf has probabilities: drawn with the model, or computed from its counts and label."""
        return any(leaf.probabilities is not None for leaf in self.leaves)

    def has_shares(self, place: int) -> bool:
        """Return whether the class probabilities of a leaf are more informative than its label."""
        return self.target.as_number is None and not self.leaves[place].is_label_alone

    @property
    def has_some_shares(self) -> bool:
        """True if the class probabilities of any leaf are more informative than its label."""
        return any(map(self.has_shares, range(len(self.leaves))))

    @property
    def has_all_shares(self) -> bool:
        """True if the class probabilities of every leaf are more informative than its label."""
        return all(map(self.has_shares, range(len(self.leaves))))

    def smallest_share(self) -> SmallestShare | None:
        """Return a lower bound on every leaf's share of the rows; None if the rows or the noise are unknown."""
        known = [rows for rows in self.rows if rows is not None]
        if self.noise is None or not self.is_complete:
            return None
        share = self.noise.least_share(known, self.width)
        return SmallestShare(share, 1.0 if self.noise.is_exact else CONFIDENCE)

    def is_too_few(self, place: int) -> bool:
        """Return whether the noise alone can produce the released numbers of a leaf."""
        rows = self.rows[place]
        return self.noise is not None and rows is not None and rows <= self.noise.spread(self.width)

    @cached_property
    def _sums(self) -> tuple[list[int], list[int], list[int]]:
        """Cumulative sums over the leaves: rows, leaves without numbers, and leaves with enough rows."""
        places = range(len(self.leaves))
        rows = accumulate((rows or 0 for rows in self.rows), initial=0)
        unknown = accumulate((rows is None for rows in self.rows), initial=0)
        return [*rows], [*unknown], [*accumulate((not self.is_too_few(place) for place in places), initial=0)]

    def support(self, first: int, stop: int) -> "Support":
        """Return the displayed rows of a run of leaves together; for a single leaf, with the share of its class."""
        support, counts = self._rows_of(first, stop), self.leaves[first].counts
        if stop - first > 1 or not self.has_shares(first) or support.is_too_few or support.is_unknown:
            return support
        place = self.target.values.index(self.predictions[first])
        support = replace(support, probability=float(self.probabilities[first, place]))
        if counts is None:
            return support
        return replace(support, share=shown_share(counts, place, self.noise))

    def _rows_of(self, first: int, stop: int) -> "Support":
        rows, unknown, _classes = self._sums
        if unknown[stop] > unknown[first]:
            return Support()
        return Support(rows[stop] - rows[first], self.width * (stop - first), self.noise)

    def may_fold(self, first: int, stop: int) -> bool:
        """Return whether these leaves may be empty, individually and together, although the whole model is not."""
        return self._are_too_few(first, stop) and not self._is_nothing_known

    def _are_too_few(self, first: int, stop: int) -> bool:
        supported = self._sums[2]
        return supported[first] == supported[stop] and self._rows_of(first, stop).is_too_few

    @cached_property
    def _is_nothing_known(self) -> bool:
        return self._are_too_few(0, len(self.leaves))

    def rows_text(self, rows: int, leaves: int = 1) -> str:
        """Return the rows of this number of leaves as text, to the precision that the noise allows."""
        return rows_text(rows, self.width * leaves, self.noise)


def _kind(leaves: Sequence[Leaf]) -> NumbersKind:
    if any(leaf.sums is not None for leaf in leaves):
        return "sums"
    return "counts" if any(leaf.counts is not None for leaf in leaves) else "none"


def _check_leaf(leaf: Leaf, target: Target, known: Collection[tuple[type, Any]], name: str) -> None:
    classes, number = target.values, target.as_number
    if leaf.counts is not None and len(leaf.counts) != len(classes):
        raise ArgumentError(f"expected {len(classes)} counts per {name}, got {len(leaf.counts)}.")
    if leaf.label is not None and (type(leaf.label), leaf.label) not in known:
        expected = f"expected the label of a {name} to be one of the schema's classes {listed(classes)}"
        raise ArgumentError(f"{expected}; got {shown(leaf.label)}.")
    if leaf.sums is not None or leaf.mean is not None:
        if number is None:
            got = "sums" if leaf.mean is None else f"mean={leaf.mean!r}"
            raise ArgumentError(f"expected no mean or sums for a {name} that predicts a class, got {got}.")
        if leaf.mean is None or not number.low <= leaf.mean <= number.high:
            bounds = f"from {number.low:g} to {number.high:g}, the bounds of the number"
            raise ArgumentError(f"expected a mean of a {name} {bounds}, got {leaf.mean!r}.")
    if leaf.probabilities is not None and number is not None:
        raise ArgumentError(f"expected no probabilities for a {name} that predicts a number; leave them out.")
    if leaf.probabilities is not None:
        _check_mode(leaf.probabilities, leaf.label, classes, name)


def _check_mode(probabilities: Sequence[float], label: Any, classes: Sequence[Any], name: str) -> None:
    if len(probabilities) != len(classes):
        raise ArgumentError(f"expected {len(classes)} probabilities per {name}, got {len(probabilities)}.")
    mode = probabilities.index(max(probabilities))
    if mode != classes.index(label):
        expected = f"expected the label of a {name} to be its most probable class, {shown(classes[mode])}"
        raise ArgumentError(f"{expected}, got {shown(label)}.")


def _probabilities(leaves: Sequence[Leaf], target: Target) -> Floats:
    classes = target.values
    shares = np.zeros((len(leaves), len(classes)))
    counted = [place for place, leaf in enumerate(leaves) if leaf.counts is not None and leaf.probabilities is None]
    counts = np.array([leaves[place].counts for place in counted], dtype=np.float64)
    shares[counted] = np.maximum(counts.reshape(len(counted), len(classes)), 0.0)
    whole = shares.sum(axis=0) if shares.sum() > 0 else np.ones(len(classes))
    shares[[place for place in counted if not shares[place].any()]] = whole
    for place, leaf in enumerate(leaves):
        if leaf.probabilities is not None:
            shares[place] = leaf.probabilities
        elif leaf.counts is None:
            shares[place, classes.index(leaf.label) if leaf.mean is None else _nearest(classes, leaf.mean)] = 1.0
    shares[counted] /= shares[counted].sum(axis=1, keepdims=True)
    shares.setflags(write=False)
    return shares


def _nearest(levels: Sequence[float], mean: float) -> int:
    return min(range(len(levels)), key=lambda place: abs(levels[place] - mean))


WIDEST_SHARE = 0.5
"""Width from which the interval of a share is not shown, because it excludes at most half of all shares."""


@dataclass(frozen=True)
class Support:
    """The released number of rows of one leaf, or of several leaves together, with the share of the predicted class.

    Texts, plots, pages and sheets display rows and shares by the same rules. The confidence of intervals is 95 %:

    - If no counts were released, only a probability that was drawn with the model is shown.
    - Exact rows and shares are shown unchanged.
    - If the interval of noisy rows contains 0, only their upper bound is shown, without share or probability.
    - Other noisy rows are rounded to the precision that the noise allows. The share is shown as an interval if the
      interval is narrower than 50 percentage points. Records for programs have the probability of `predict_proba`.
    - If the card does not state the noise, the released rows are shown with a remark, without share or probability.
    """

    rows: int | None = None  # the sum of the released counts, which noise can make negative; None without counts
    numbers: int = 0  # the number of noisy counts in the sum
    noise: CountNoise | None = None  # None if the card does not state it
    share: tuple[float, float] | None = None  # the ends of its interval, equal for exact counts; None if not shown
    probability: float | None = None  # of the predicted class, as in `predict_proba`; None if not shown

    @property
    def is_exact(self) -> bool:
        """True if the rows were released without noise."""
        return self.rows is not None and self.noise is not None and self.noise.is_exact

    @property
    def is_too_few(self) -> bool:
        """True if the noise alone can produce this number of rows."""
        return self.rows is not None and self.noise is not None and self.rows <= self.noise.spread(self.numbers)

    @property
    def is_unknown(self) -> bool:
        """True if rows were released but the card does not state their noise."""
        return self.rows is not None and self.noise is None

    @property
    def rows_shown(self) -> str:
        """The rows as text with their unit; empty if none were released."""
        return "" if self.rows is None else rows_text(self.rows, self.numbers, self.noise, has_unit=True)

    @property
    def cell(self) -> str:
        """The rows as text without a unit, for a column of a table; empty if none were released."""
        return "" if self.rows is None else rows_text(self.rows, self.numbers, self.noise)

    @property
    def share_shown(self) -> str:
        """The share by the counts, or the drawn probability if there are no counts; empty if neither is shown."""
        if self.share is not None:
            return percent(self.share[0], 1) if self.is_exact else interval_text(self.share)
        if self.rows is None and self.probability is not None:
            return percentage(f"{100 * self.probability:.3g}")
        return ""

    @property
    def text(self) -> str:
        """The share and the rows as text, such as "65 to 71 % of about 720"; empty if neither is shown."""
        if self.rows is not None and self.share is not None:
            rows = rows_text(self.rows, self.numbers, self.noise)
            return _("{share} of {rows}", share=self.share_shown, rows=rows)
        if self._upper_bound:
            return _("{rows}, possibly none", rows=self.rows_shown)
        return self.rows_shown or self.share_shown

    @property
    def _upper_bound(self) -> int:
        """The upper bound on the rows if there may be none, else 0."""
        if self.rows is None or self.noise is None or not self.is_too_few:
            return 0
        return max(self.rows + self.noise.spread(self.numbers), 0)


def shown_share(counts: tuple[int, ...], place: int, noise: CountNoise | None) -> tuple[float, float] | None:
    """Return the displayed interval for the share of a class, with equal ends for exact counts; None if not shown."""
    if noise is None or sum(counts) <= noise.spread(len(counts)):
        return None
    ends = noise.share(counts, place)
    return ends if ends[1] - ends[0] < WIDEST_SHARE else None


def rows_text(count: int, numbers: int, noise: CountNoise | None, *, has_unit: bool = False) -> str:
    """Return a sum of released counts as text: exact, rounded by the noise, or an upper bound if it may be 0."""
    if noise is None:
        return _("{rows} (noise unknown)", rows=_counted(count, has_unit))
    off = noise.spread(numbers)
    if not off:
        return _counted(max(count, 0), has_unit)
    place = 10 ** (len(str(off)) - 1)  # the value of the first digit that the noise affects
    if count > off:
        return _("about {rows}", rows=_counted(place * round(Fraction(count, place)), has_unit))
    upper = place * -(-max(count + off, 0) // place)
    if upper:
        return _("at most {rows}", rows=_counted(upper, has_unit))
    return _("probably no rows") if has_unit else "0"


def _counted(rows: int, has_unit: bool) -> str:
    return ngettext("{count} row", "{count} rows", rows) if has_unit else number(rows)


def interval_text(share: tuple[float, float]) -> str:
    """Return an interval of shares as whole percentages, rounded outwards."""
    low, high = floor(100 * share[0]), ceil(100 * share[1])
    return percentage(high) if low == high else _("{low} to {high}", low=low, high=percentage(high))
