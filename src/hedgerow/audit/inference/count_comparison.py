"""Comparison of the numbers of rows that a model stores with the rows that are given as its training rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from hedgerow.audit.inference.labelled import label_values, unit_numbers
from hedgerow.audit.readers.paths import Paths
from hedgerow.audit.readers.read import UnnamedLeaves
from hedgerow.boundary.arrays import Floats, Index
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.leaf_release import row_numbers
from hedgerow.models.model import Model
from hedgerow.models.released import released_leaf_model
from hedgerow.models.scorecard import Scorecard
from hedgerow.tables.frames import Table, column_of
from hedgerow.tally import Tally
from hedgerow.text.values import quoted_text

FALSE_ALARM = 1e-6
"""The largest probability that the training rows themselves are reported as other rows."""
Obstacle = Literal["", "no_counts", "unknown_noise", "large_noise", "weights", "units", "draws", "no_paths"]
"""The reason why rows could not be compared with counts; empty if they were."""
_OBSTACLES: dict[Obstacle, str] = {
    "no_counts": "the model stores no numbers of rows",
    "unknown_noise": "the file does not state the noise on its counts; use the file that hedgerow saved (.json)",
    "large_noise": "the noise on the counts is so large that it can make all of them",
    "weights": "the model stores sums of weights, or counts some rows more than once",
    "units": "at most {most} rows of each unit were drawn at random; the rows need the column of units, {column}",
    "no_paths": "the leaves of the rows are not known; give a schema (schema=, --schema)",
    "draws": "the model was learned from rows that were drawn at random from the training rows",
}
_TESTS = 4  # of the counts of leaves: each count, their sizes together, each leaf, and the total
_SMALLEST_CHANCE = 1e-9  # for which `CountNoise.spread` is exact: its probabilities are sums of floats
_THREE_DIGITS = 1.005  # by how much more than a stored standard deviation the noise may have


@dataclass(frozen=True)
class CountComparison:
    """Comparison of stored numbers of rows with rows that are given as the training rows. **Private**.

    Attributes
    ----------
    is_mismatch : bool
        Whether the rows are not the training rows. The training rows are found to be other rows with a probability of
        at most `FALSE_ALARM`, over the noise; never if the numbers are exact.
    obstacle : str
        The code of the reason why the numbers could not be compared; empty if they were.
    hidden : int
        The largest difference of one leaf, or bin, that alone is not noticed, in rows: 0 if the numbers are exact.
    undrawn : int
        How many rows of one leaf, or bin, may have been left out, at most, since rows of units were drawn at random.
        Such a difference is not noticed either.
    part : str
        The part of the model whose rows are counted: "leaf" or "bin".
    drawn : tuple of (int, str), optional
        The most rows of a unit that were used when the model was learned, and the column of units, if the rows lack it.
    """

    is_mismatch: bool = False
    obstacle: Obstacle = ""
    hidden: int = 0
    undrawn: int = 0
    part: Literal["leaf", "bin"] = "leaf"
    drawn: tuple[int, str] | None = None

    @property
    def sentence(self) -> str:
        """The result in words."""
        parts = {"leaf": "leaves", "bin": "bins"}[self.part]
        if self.obstacle:
            most, column = self.drawn or (0, "")
            reason = _OBSTACLES[self.obstacle].format(most=most, column=quoted_text(column))
            return f"The rows were not compared with the stored counts: {reason}."
        if self.is_mismatch:
            cause = "They are not its training rows, or its counts were edited, weighted or made noisy"
            if self.hidden:
                cause = "They are not its training rows: noise alone differs so much less than once in a million times"
            return f"The rows do not have the counts of {parts} that the model stores. {cause}."
        if not self.hidden and not self.undrawn:
            return f"The rows have exactly the counts of {parts} that the model stores."
        causes = {"noise": self.hidden, "draw of rows of each unit": self.undrawn}
        cause = " and the ".join(name for name, rows in causes.items() if rows)
        verb = "hide" if self.hidden and self.undrawn else "hides"
        hidden = f"the {cause} {verb} a difference of up to {self.hidden + self.undrawn:,} rows in one {self.part}"
        return f"The rows have the counts of {parts} that the model stores, as far as can be seen: {hidden}."


@dataclass(frozen=True, eq=False)
class _Counts:
    """Stored numbers, with the least and the most that the training rows can have, shape ``(n_parts, n_numbers)``.

    Least and most differ if rows of units were drawn. `total` is what all rows that were used have together, if known.
    """

    stored: Floats
    least: Floats
    most: Floats
    noise: CountNoise  # on each number
    terms: int = 1  # the noise terms in each number
    per_row: int = 1  # what a row adds to all numbers of a part
    total: float | None = None

    @classmethod
    def exact(cls, stored: Sequence[tuple[int, ...] | None], places: Index, rows: Floats) -> Self:
        """Return the exact numbers of the leaves that have some, with those of rows."""
        known = [place for place, numbers in enumerate(stored) if numbers is not None]
        counted = _by_leaf(places, rows, len(stored))[known]
        numbers = np.array([own for own in stored if own is not None], dtype=np.float64).reshape(counted.shape)
        return cls(numbers, counted, counted, CountNoise(0.0))

    @property
    def differences(self) -> Floats:
        """What noise must explain of each number at least, with its sign."""
        return np.maximum(self.stored - self.most, 0) + np.minimum(self.stored - self.least, 0)

    @property
    def by_part(self) -> Self:
        """The numbers of each part added up."""
        stored, least, most = (each.sum(axis=1, keepdims=True) for each in (self.stored, self.least, self.most))
        return replace(self, stored=stored, least=least, most=most, terms=self.terms * self.stored.shape[1])

    @property
    def without_rows(self) -> Self:
        """The comparison with no rows at all."""
        none = np.zeros_like(self.stored)
        return replace(self, least=none, most=none, total=0.0)

    @property
    def whole(self) -> float:
        """What noise must explain of the sum of all numbers at least."""
        if self.total is not None:
            return abs(float(self.stored.sum()) - self.total)
        low, high = float((self.stored - self.most).sum()), float((self.stored - self.least).sum())
        return max(low, -high, 0.0)

    @property
    def hidden(self) -> int:
        """The largest difference of a part that alone is not noticed, in rows."""
        by_part = self.by_part
        chance = FALSE_ALARM / _TESTS / len(self.stored)
        return int(_largest(self.noise, by_part.terms, chance) / self.per_row)

    @property
    def undrawn(self) -> int:
        """The largest difference of a part between the most and the least rows that may have been drawn."""
        by_part = self.by_part
        return int((by_part.most - by_part.least).max() / self.per_row)

    def is_mismatch(self) -> bool:
        """Return whether noise alone differs at least as much with a probability of at most `FALSE_ALARM`.

        If the rows are the training rows, each stored number is a true one plus independent discrete Laplace noise,
        and the true one is between `least` and `most`. So no difference is larger than the noise that it must explain.
        Each of four tests has a quarter of the probability of a false alarm, and their union bound is the whole:

        - the largest difference of a number, by the exact tail and a union bound over all numbers;
        - the sum of all sizes of differences, by its exact distribution. This notices rows that differ a little in many
          leaves. For sums of several noise terms, the sizes of all terms together are no smaller;
        - the largest difference of a leaf, by the exact quantile or Chernoff's bound, and a union bound;
        - the difference of the sum of all numbers, by the same. This notices missing and repeated rows.

        Larger noise than there was on some numbers makes every one of these quantiles larger.
        """
        differences, chance = np.abs(self.differences), FALSE_ALARM / _TESTS
        if self.noise.is_exact:
            return bool(differences.any() or self.whole)
        number, n_terms, by_part = differences.size, differences.size * self.terms, self.by_part
        leaf = float(np.abs(by_part.differences).max())
        return bool(
            (self.terms == 1 and number * self.noise.size_tail(1, float(differences.max())) <= chance)
            or self.noise.size_tail(n_terms, float(differences.sum())) <= chance
            or leaf > _largest(self.noise, by_part.terms, chance / len(differences))
            or self.whole > _largest(self.noise, n_terms, chance)
        )

    def result(self, unnamed: tuple[int, str] | None) -> CountComparison:
        """Return the comparison; of rows that do not name their unit, that they are other rows alone can be known."""
        if self.is_mismatch():
            return CountComparison(True, "", self.hidden, self.undrawn)
        is_hidden = not self.noise.is_exact and not self.without_rows.is_mismatch()
        obstacle: Obstacle = "units" if unnamed else "large_noise" if is_hidden else ""
        return CountComparison(False, obstacle, self.hidden, self.undrawn, drawn=unnamed)


def _largest(noise: CountNoise, terms: int, chance: float) -> float:
    """Return what a sum of noise terms exceeds in size with at most this chance."""
    return noise.spread(terms, 1 - chance) if chance >= _SMALLEST_CHANCE else noise.bound(terms, chance)


def compare_counts(
    model: Any, paths: Paths | UnnamedLeaves, places: Index, X: Any, labels: Any = None
) -> CountComparison:
    """Compare the counts of leaves that a model stores with rows.

    Parameters
    ----------
    model : Any
        The model, or its estimator, of any supported library.
    paths : Paths or UnnamedLeaves
        Its decision paths, or its leaves by the numbers of nodes, with what the model stores of them.
    places : array of int
        The leaf of each row, or of each pattern of a tally.
    X : frame, array or Tally
        The rows. If the model was learned from at most so many rows of each unit, they need the unit's column.
    labels : array-like, optional
        The class, or the number, of each row. Without them, the rows of each leaf are compared, and not their classes.

    Raises
    ------
    DomainError
        If labels are missing, or are not in the schema of a model of hedgerow.
    """
    released = released_leaf_model(model)
    if released is not None:
        return _of_release(released, places, X, labels)
    if paths.supports is None or paths.view != "exact":
        return CountComparison(obstacle="weights" if paths.supports else "no_counts")
    levels, width = _class_places(paths, labels), len(paths.classes or ())
    supports: Sequence[int | None] = paths.supports
    compared = [_Counts.exact([None if rows is None else (rows,) for rows in supports], places, _rows_of(X))]
    if levels is not None and paths.counts is not None:
        compared.append(_Counts.exact(paths.counts, places, _rows_of(X, levels, width)))
    # The trees of a forest are copies, marked with this attribute. Their own rows may have been drawn.
    if hasattr(model, "has_copies_"):
        drawn = [replace(one, least=np.zeros_like(one.least)) for one in compared]
        is_mismatch = any(one.is_mismatch() for one in drawn)
        is_unknown = not is_mismatch and any(one.is_mismatch() for one in compared)
        return CountComparison(is_mismatch, "draws" if is_unknown else "")
    return CountComparison(any(one.is_mismatch() for one in compared))


def _class_places(paths: Paths | UnnamedLeaves, labels: Any) -> Index | None:
    """Return the place of each label among the classes of stored counts; None if there are none, or some do not fit."""
    if paths.counts is None or paths.classes is None or labels is None:
        return None
    places = {value: place for place, value in enumerate(paths.classes)}
    found = [places.get(value, -1) for value in label_values(labels).tolist()]
    return None if -1 in found else np.array(found, dtype=np.intp)


def _rows_of(X: Any, levels: Index | None = None, width: int = 1) -> Floats:
    """Return what each row, or pattern of a tally, adds to the counts by class, or without classes to the rows."""
    if isinstance(X, Tally):
        return (X.bins_and_counts()[1] if width > 1 else X.rows()[:, np.newaxis]).astype(np.float64)
    return np.ones((len(Table.of(X)), 1)) if levels is None else np.eye(width)[levels]


def _by_leaf(places: Index, rows: Floats, n_leaves: int) -> Floats:
    return np.column_stack([np.bincount(places, column, n_leaves).astype(np.float64) for column in rows.T])


def _of_release(model: LeafModel, places: Index, X: Any, labels: Any) -> CountComparison:
    """Compare the numbers that a model of hedgerow, or one that it read from a file, stores about its leaves."""
    release, target, drawn = model.leaf_release, model.schema.target, _Draw.of(model, X, len(places))
    noise = _noise_of(model, release.noise)
    obstacle = _obstacle(model, X, drawn.unit) or ("" if release.has_rows else "no_counts")
    if obstacle or noise is None:
        return CountComparison(obstacle=obstacle or "unknown_noise", drawn=drawn.unit)
    by_level = row_numbers(release.kind, target.n_levels)
    per_row = int(by_level[0].sum())
    has_levels = X.schema.target == target if isinstance(X, Tally) else labels is not None
    levels = target.encode(column_of(labels, target.name)).astype(np.intp) if labels is not None else None
    rows = _rows_of(X, levels, target.n_levels if has_levels else 1)
    rows = rows @ by_level if has_levels else per_row * rows
    least, most = (_by_leaf(places, used[:, np.newaxis] * rows, len(model)) for used in (drawn.always, drawn.ever))
    known = [place for place, numbers in enumerate(release.numbers) if numbers is not None]
    stored = np.array([release.numbers[place] for place in known], dtype=np.float64)
    compared = _Counts(
        stored if has_levels else stored.sum(axis=1, keepdims=True),
        least[known],
        most[known],
        CountNoise(noise.scale * per_row),  # a row adds as much to both sums of a number
        terms=1 if has_levels else release.width,
        per_row=per_row,
        total=None if drawn.rows is None or not release.is_complete else float(per_row * drawn.rows),
    )
    return compared.result(drawn.unit)


def _obstacle(model: Model, X: Any, unnamed: tuple[int, str] | None) -> Obstacle:
    if model.schema.weight is not None:
        return "weights"
    # The rows of a tally were drawn from each unit already, and may be other rows than those of the fit.
    return "units" if unnamed is not None and isinstance(X, Tally) else ""


def _noise_of(model: Model, noise: CountNoise | None) -> CountNoise | None:
    """Return the noise on the counts of a model; files of others that state no noise have exact counts.

    A file of another format that hedgerow made of a private model has noisy counts, and does not state the noise.
    """
    is_exported = any(reason.get("ours") for reason in model.privacy.no_guarantee)
    return CountNoise(0.0) if noise is None and not model.privacy.has_noise and not is_exported else noise


@dataclass(frozen=True, eq=False)
class _Draw:
    """Which of some rows, or patterns of a tally, were used when a model was learned from at most so many of a unit."""

    always: Floats  # 1 for the rows that were certainly used
    ever: Floats  # 1 for the rows that may have been used
    rows: int | None = None  # how many rows were used in all; None if it is unknown, or all are used
    unit: tuple[int, str] | None = None  # the most rows of a unit, and its column, which the rows lack

    @classmethod
    def of(cls, model: Model, X: Any, n_rows: int) -> Self:
        every, unit = np.ones(n_rows), model.schema.unit
        if unit is None or model.privacy.software.code != "hedgerow":  # other software uses all rows
            return cls(every, every)
        numbers = unit_numbers(model.schema, X)
        if numbers is None:
            return cls(np.zeros(n_rows), every, unit=(unit.max_rows, unit.column))
        sizes = np.bincount(numbers)
        always = (sizes[numbers] <= unit.max_rows).astype(np.float64)
        return cls(always, every, int(np.minimum(sizes, unit.max_rows).sum()))


def compare_bins(model: Scorecard, X: Any) -> CountComparison:
    """Compare the numbers of rows by bin that a scorecard stores with rows.

    The noise on them is a sum of independent symmetric noises, whose standard deviation the scorecard states. Noise of
    different bins is dependent, so each bin is tested by itself, by Chernoff's bound and a union bound over all bins.

    Parameters
    ----------
    model : Scorecard
        The scorecard.
    X : frame, array or Tally
        The rows, as for `compare_counts`.
    """
    parts = [part for part in model.parts if part.rows is not None]
    n_bins, names = sum(len(part.points) for part in parts), [part.attribute for part in parts]
    if not parts:
        return CountComparison(obstacle="no_counts", part="bin")
    bins = X.bins(names) if isinstance(X, Tally) else model.schema.encode(Table.of(X), names)
    rows = X.rows() if isinstance(X, Tally) else np.ones(len(bins[names[0]]))
    drawn = _Draw.of(model, X, len(rows))
    if obstacle := _obstacle(model, X, drawn.unit):
        return CountComparison(obstacle=obstacle, drawn=drawn.unit, part="bin")
    hidden, undrawn, is_mismatch, are_all_hidden = 0, 0, False, True
    for part in parts:
        noise = CountNoise.of_deviation(_THREE_DIGITS * (part.rows_error or 0.0))
        most_off = 0.0 if noise.is_exact else noise.bound(1, FALSE_ALARM / n_bins) + 0.5  # rows are rounded
        stored, sizes = np.array(part.rows, dtype=np.float64), len(part.points)
        least, most = (np.bincount(bins[part.attribute], used * rows, sizes) for used in (drawn.always, drawn.ever))
        is_mismatch |= bool((np.maximum(stored - most, least - stored) > most_off).any())
        are_all_hidden &= bool((np.abs(stored) <= most_off).all())
        hidden, undrawn = max(hidden, int(most_off)), max(undrawn, int((most - least).max()))
    obstacle: Obstacle = (
        "" if is_mismatch else "units" if drawn.unit else "large_noise" if are_all_hidden and hidden else ""
    )
    return CountComparison(is_mismatch, obstacle, hidden, undrawn, "bin", drawn.unit)
