"""Comparison of the row counts that a model stores with its alleged training rows."""

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
from hedgerow.text.language import N_, _
from hedgerow.text.values import quoted_text

FALSE_ALARM = 1e-6
"""Largest probability that the actual training rows are reported as a mismatch."""
Obstacle = Literal["", "no_counts", "unknown_noise", "large_noise", "weights", "units", "draws", "no_paths"]
"""Why rows and counts could not be compared; empty if they were."""
_OBSTACLES: dict[Obstacle, str] = {
    "no_counts": N_("The rows could not be compared with the stored counts: the model stores no row counts."),
    "unknown_noise": N_(
        "The rows could not be compared with the stored counts: the file does not state the noise on its counts; use "
        "the .json file that hedgerow saved."
    ),
    "large_noise": N_(
        "The rows could not be compared with the stored counts: the noise is so large that it could have produced all "
        "counts without any row."
    ),
    "weights": N_(
        "The rows could not be compared with the stored counts: the model stores sums of weights, or counts some rows "
        "more than once."
    ),
    "units": N_(
        "The rows could not be compared with the stored counts: the model was learned from at most {most} random rows "
        "of each unit; add the unit column {column}."
    ),
    "no_paths": N_(
        "The rows could not be compared with the stored counts: the leaf of each row is unknown; pass a schema "
        "(schema=, --schema)."
    ),
    "draws": N_(
        "The rows could not be compared with the stored counts: the model was learned from a random sample of the "
        "training rows."
    ),
}
_TESTS = 4  # each count, the sum of absolute differences, each leaf, and the total
_SMALLEST_CHANCE = 1e-9  # below it, `CountNoise.spread` is inexact because it sums floats
_THREE_DIGITS = 1.005  # a stored standard deviation is rounded to three digits


@dataclass(frozen=True)
class CountComparison:
    """Comparison of stored row counts with the alleged training rows. **Private**.

    Attributes
    ----------
    is_mismatch : bool
        True if the rows are not the training rows. The actual training rows are reported as a mismatch with a
        probability of at most `FALSE_ALARM` over the noise. If the counts are exact, this never happens.
    obstacle : str
        The code of the reason why the counts could not be compared; empty if they were.
    hidden : int
        The largest difference in one leaf or bin, in rows, that noise can hide; 0 if the counts are exact.
    undrawn : int
        The largest number of rows of one leaf or bin that may not have been sampled, if the rows of each unit were
        sampled. Such a difference is not detected either.
    part : str
        The part of the model whose rows are counted: "leaf" or "bin".
    drawn : tuple of (int, str), optional
        The largest number of rows of a unit that the model was learned from, and the unit column; set only if the rows
        lack this column.
    is_of_both : bool
        True if the rows do not match, but match together with the held-out rows.
    """

    is_mismatch: bool = False
    obstacle: Obstacle = ""
    hidden: int = 0
    undrawn: int = 0
    part: Literal["leaf", "bin"] = "leaf"
    drawn: tuple[int, str] | None = None
    is_of_both: bool = False

    @property
    def sentence(self) -> str:
        """The result as a sentence."""
        if self.obstacle:
            most, column = self.drawn or (0, "")
            return _(_OBSTACLES[self.obstacle], most=most, column=quoted_text(column))
        if self.is_mismatch:
            mismatch = _("The rows do not match the counts that the model stores.")
            cause = _("They are not its training rows, or its counts were edited, weighted or perturbed with noise.")
            if self.is_of_both:
                cause = _(
                    "The counts match the training rows and the held-out rows together: the model was probably "
                    "learned from both."
                )
            elif self.hidden:
                cause = _(
                    "They are not its training rows: noise alone explains this with a probability below 1 in 1,000,000."
                )
            return f"{mismatch} {cause}"
        if not self.hidden and not self.undrawn:
            return _("The rows match the counts that the model stores exactly.")
        consistent = _("The rows are consistent with the counts that the model stores.")
        rows = self.hidden + self.undrawn
        hidden = _("The noise can hide a difference of up to {rows} rows in one leaf or bin.", rows=rows)
        if self.undrawn:
            hidden = _(
                "The sampling of rows of each unit can hide a difference of up to {rows} rows in one leaf or bin.",
                rows=rows,
            )
        if self.hidden and self.undrawn:
            hidden = _(
                "The noise and the sampling of rows of each unit can hide a difference of up to {rows} rows in one "
                "leaf or bin.",
                rows=rows,
            )
        return f"{consistent} {hidden}"


@dataclass(frozen=True, eq=False)
class _Counts:
    """Stored numbers with the range that the training rows allow, each of shape ``(n_parts, n_numbers)``.

    `least` and `most` differ if rows of units were sampled. `total` is the sum over all rows that were used, if known.
    """

    stored: Floats
    least: Floats
    most: Floats
    noise: CountNoise  # on each number
    terms: int = 1  # number of noise terms in each number
    per_row: int = 1  # contribution of a row to the numbers of a part
    total: float | None = None

    @classmethod
    def exact(cls, stored: Sequence[tuple[int, ...] | None], places: Index, rows: Floats) -> Self:
        """Return exact stored numbers, with the numbers of the rows, for the leaves that have stored numbers."""
        known = [place for place, numbers in enumerate(stored) if numbers is not None]
        counted = _by_leaf(places, rows, len(stored))[known]
        numbers = np.array([own for own in stored if own is not None], dtype=np.float64).reshape(counted.shape)
        return cls(numbers, counted, counted, CountNoise(0.0))

    @property
    def differences(self) -> Floats:
        """The smallest difference that noise must explain in each number, with its sign."""
        return np.maximum(self.stored - self.most, 0) + np.minimum(self.stored - self.least, 0)

    @property
    def by_part(self) -> Self:
        """The comparison of the sum of the numbers of each part."""
        stored, least, most = (numbers.sum(axis=1, keepdims=True) for numbers in (self.stored, self.least, self.most))
        return replace(self, stored=stored, least=least, most=most, terms=self.terms * self.stored.shape[1])

    @property
    def without_rows(self) -> Self:
        """The comparison with an empty table."""
        none = np.zeros_like(self.stored)
        return replace(self, least=none, most=none, total=0.0)

    @property
    def whole(self) -> float:
        """The smallest difference that noise must explain in the sum of all numbers."""
        if self.total is not None:
            return abs(float(self.stored.sum()) - self.total)
        low, high = float((self.stored - self.most).sum()), float((self.stored - self.least).sum())
        return max(low, -high, 0.0)

    @property
    def hidden(self) -> int:
        """The largest difference in one part that is not detected, in rows."""
        by_part = self.by_part
        chance = FALSE_ALARM / _TESTS / len(self.stored)
        return int(_largest(self.noise, by_part.terms, chance) / self.per_row)

    @property
    def undrawn(self) -> int:
        """The largest difference between the most and the fewest rows of a part that may have been sampled."""
        by_part = self.by_part
        return int((by_part.most - by_part.least).max() / self.per_row)

    def is_mismatch(self) -> bool:
        """Return whether noise alone explains such differences with a probability of at most `FALSE_ALARM`.

        If the rows are the training rows, each stored number is a true number plus independent discrete Laplace noise.
        The true number is between `least` and `most`, so no difference is larger than the noise. There are four tests,
        each with a quarter of the false-alarm probability (union bound):

        - the largest difference of a number, by the exact tail and a union bound over all numbers;
        - the sum of absolute differences, by its exact distribution. It detects small differences in many leaves. For
          sums of several noise terms, the sum of the terms' absolute values is no smaller;
        - the largest difference of a leaf, by the exact quantile or Chernoff's bound, and a union bound;
        - the difference of the total, by the same quantile or bound. It detects missing and repeated rows.

        If some numbers had less noise than assumed, all quantiles are larger than necessary, which is safe.
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
        """Return the comparison; if the rows lack the unit column, only a mismatch is conclusive."""
        if self.is_mismatch():
            return CountComparison(True, "", self.hidden, self.undrawn)
        is_hidden = not self.noise.is_exact and not self.without_rows.is_mismatch()
        obstacle: Obstacle = "units" if unnamed else "large_noise" if is_hidden else ""
        return CountComparison(False, obstacle, self.hidden, self.undrawn, drawn=unnamed)


def _largest(noise: CountNoise, terms: int, chance: float) -> float:
    """Return a bound that the absolute sum of noise terms exceeds with at most this probability."""
    return noise.spread(terms, 1 - chance) if chance >= _SMALLEST_CHANCE else noise.bound(terms, chance)


def compare_counts(
    model: Any, paths: Paths | UnnamedLeaves, places: Index, X: Any, labels: Any = None
) -> CountComparison:
    """Compare the leaf counts that a model stores with rows.

    Parameters
    ----------
    model : Any
        The model or estimator, of any supported library.
    paths : Paths or UnnamedLeaves
        Its decision paths, or its leaves by node number, with the stored counts.
    places : array of int
        The leaf of each row, or of each pattern of a tally.
    X : frame, array or Tally
        The rows. If the model was learned from a limited number of rows of each unit, X needs the unit column.
    labels : array-like, optional
        The class or number of each row. Without labels, only the number of rows in each leaf is compared.

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
    # Trees of a forest are copies that carry this attribute; each may have been learned from a sample of the rows.
    if hasattr(model, "has_copies_"):
        sampled = [replace(counts, least=np.zeros_like(counts.least)) for counts in compared]
        is_mismatch = any(counts.is_mismatch() for counts in sampled)
        is_unknown = not is_mismatch and any(counts.is_mismatch() for counts in compared)
        return CountComparison(is_mismatch, "draws" if is_unknown else "")
    return CountComparison(any(counts.is_mismatch() for counts in compared))


def _class_places(paths: Paths | UnnamedLeaves, labels: Any) -> Index | None:
    """Return the index of each label's class in the stored counts; None if a label or the counts are missing."""
    if paths.counts is None or paths.classes is None or labels is None:
        return None
    places = {value: place for place, value in enumerate(paths.classes)}
    indices = [places.get(value, -1) for value in label_values(labels).tolist()]
    return None if -1 in indices else np.array(indices, dtype=np.intp)


def _rows_of(X: Any, levels: Index | None = None, width: int = 1) -> Floats:
    """Return the contribution of each row, or pattern of a tally, to the counts of its class or to the row count."""
    if isinstance(X, Tally):
        return (X.bins_and_counts()[1] if width > 1 else X.rows()[:, np.newaxis]).astype(np.float64)
    return np.ones((len(Table.of(X)), 1)) if levels is None else np.eye(width)[levels]


def _by_leaf(places: Index, rows: Floats, n_leaves: int) -> Floats:
    return np.column_stack([np.bincount(places, column, n_leaves).astype(np.float64) for column in rows.T])


def _of_release(model: LeafModel, places: Index, X: Any, labels: Any) -> CountComparison:
    """Compare the leaf numbers of a model of hedgerow, which may have been read from a file."""
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
        CountNoise(noise.scale * per_row),  # a row adds the same amount to both sums of a number
        terms=1 if has_levels else release.width,
        per_row=per_row,
        total=None if drawn.rows is None or not release.is_complete else float(per_row * drawn.rows),
    )
    return compared.result(drawn.unit)


def _obstacle(model: Model, X: Any, unnamed: tuple[int, str] | None) -> Obstacle:
    if model.schema.weight is not None:
        return "weights"
    # The rows of a tally were sampled from each unit before, and may differ from the rows of the fit.
    return "units" if unnamed is not None and isinstance(X, Tally) else ""


def _noise_of(model: Model, noise: CountNoise | None) -> CountNoise | None:
    """Return the noise on the counts of a model; None if it is unknown.

    Files of other software that state no noise have exact counts. A private model that hedgerow exported to another
    format has noisy counts, but the file does not state the noise.
    """
    is_exported = any(reason.get("ours") for reason in model.privacy.no_guarantee)
    return CountNoise(0.0) if noise is None and not model.privacy.has_noise and not is_exported else noise


@dataclass(frozen=True, eq=False)
class _Draw:
    """Rows, or patterns of a tally, that a fit with a limited number of rows of each unit used."""

    always: Floats  # 1 for rows that were certainly used
    ever: Floats  # 1 for rows that may have been used
    rows: int | None = None  # number of rows used; None if it is unknown, or if all rows were used
    unit: tuple[int, str] | None = None  # the largest number of rows of a unit, and its column, which the rows lack

    @classmethod
    def of(cls, model: Model, X: Any, n_rows: int) -> Self:
        every, unit = np.ones(n_rows), model.schema.unit
        if unit is None or model.privacy.software.code != "hedgerow":  # other software does not sample rows
            return cls(every, every)
        numbers = unit_numbers(model.schema, X)
        if numbers is None:
            return cls(np.zeros(n_rows), every, unit=(unit.max_rows, unit.column))
        sizes = np.bincount(numbers)
        always = (sizes[numbers] <= unit.max_rows).astype(np.float64)
        return cls(always, every, int(np.minimum(sizes, unit.max_rows).sum()))


def compare_bins(model: Scorecard, X: Any) -> CountComparison:
    """Compare the bin counts that a scorecard stores with rows.

    The noise on a count is a sum of independent symmetric terms, and the scorecard states its standard deviation. The
    noise of different bins is dependent, so each bin is tested separately by Chernoff's bound, with a union bound.

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
        tolerance = 0.0 if noise.is_exact else noise.bound(1, FALSE_ALARM / n_bins) + 0.5  # counts are rounded
        stored, sizes = np.array(part.rows, dtype=np.float64), len(part.points)
        least, most = (np.bincount(bins[part.attribute], used * rows, sizes) for used in (drawn.always, drawn.ever))
        is_mismatch |= bool((np.maximum(stored - most, least - stored) > tolerance).any())
        are_all_hidden &= bool((np.abs(stored) <= tolerance).all())
        hidden, undrawn = max(hidden, int(tolerance)), max(undrawn, int((most - least).max()))
    obstacle: Obstacle = (
        "" if is_mismatch else "units" if drawn.unit else "large_noise" if are_all_hidden and hidden else ""
    )
    return CountComparison(is_mismatch, obstacle, hidden, undrawn, "bin", drawn.unit)
