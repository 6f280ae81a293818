"""Points of an attribute by bin, and runs of neighbouring bins with the same points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import hypot
from numbers import Real
from typing import Any, Self

import numpy as np
import pyarrow as pa

from hedgerow.boundary.arrays import Array, Whole
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.models.conditions import Dialect, Pieces
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.leaf_release import Support
from hedgerow.models.python_source import python_conditions, python_module
from hedgerow.schema import Attribute, Literal, Schema
from hedgerow.text.messages import shown
from hedgerow.text.values import printable

MOST_POINTS = 10**6  # the largest absolute points of a bin and of the base
MOST_TOTAL = 10**9  # the largest absolute total of a row: every engine can add it up in 32-bit integers
MOST_ROWS = 9 * 10**15  # the largest absolute number of released rows of a bin: every reader of JSON keeps it exactly
MOST_IN_ALL = 2**18  # the largest number of points over all bins and classes: their text and HTML take tens of MB
NORMAL_95 = 1.959963984540054  # the 97.5 % quantile of the standard normal distribution
MOST_REASONS = 4  # the number of reason codes of a row: lenders state at most four
Points = tuple[int, ...]
"""Whole points: one number for two classes (in favour of the second) or for a number, otherwise one for each class."""
PointErrors = tuple[float, ...]
"""Standard errors of `Points`."""


@dataclass(frozen=True)
class AttributePoints:
    """The points of an attribute's bins.

    Attributes
    ----------
    attribute : str
        The name of the attribute.
    points : tuple of tuple of int
        The points of each bin, in the order of the bins, which includes the bins of missing and outside values. A bin
        has one whole number for two classes or a number, otherwise one for each class.
    errors : tuple of tuple of float, optional
        The standard error of each number of points due to the noise of the releases, in points. It is the standard
        deviation, given the released values, of the difference from the points of the same fit without noise. It
        includes noise and smoothing but not sampling error. None if there is no noise or it is unknown.
    unsupported : tuple of int
        The indices in `points`, in increasing order, of the bins whose released rows the noise alone can produce. Their
        points are taken from other bins, or are 0, the mean.
    rows : tuple of int, optional
        The released number of rows of each bin, rounded; noise can make it negative. None if it was not released.
    rows_error : float, optional
        The standard deviation of the noise on each number of `rows`; 0 for exact numbers, None without `rows`.

    Raises
    ------
    ValueError
        If points are not whole numbers of at most 1,000,000 in absolute value, or an error is negative or above
        1,000,000,000. If the errors, unsupported bins or rows do not fit the points.

    Examples
    --------
    >>> AttributePoints("smoker", ((0,), (4,))).points
    ((0,), (4,))
    >>> AttributePoints("smoker", ((0,), (4,), (0,)), errors=((0.2,), (0.5,), (6.0,)), unsupported=(2,)).errors[1]
    (0.5,)
    """

    attribute: str
    points: tuple[Points, ...]
    errors: tuple[PointErrors, ...] | None = None
    unsupported: tuple[int, ...] = ()
    rows: tuple[int, ...] | None = None
    rows_error: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str):
            raise ArgumentTypeError(f"attribute must be text, got {shown(self.attribute)}.")
        points: Any = self.points
        if not _is_sequence(points):
            raise ArgumentTypeError(f"points must be a tuple with an element for each bin, got {shown(points)}.")
        object.__setattr__(self, "points", tuple(whole_points(row) for row in points))
        if self.errors is not None:
            object.__setattr__(self, "errors", _standard_errors(self.errors, self.points))
        object.__setattr__(self, "unsupported", _rising_places(self.unsupported, len(self.points)))
        rows, error = _rows_by_bin(self.rows, self.rows_error, len(self.points))
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "rows_error", error)

    def support(self, places: Sequence[int]) -> Support:
        """Return the displayed rows of these bins together."""
        if self.rows is None or self.rows_error is None:
            return Support()
        rows = sum(self.rows[place] for place in places)
        return Support(rows, len(places), CountNoise.of_deviation(self.rows_error))

    def has_support(self, run: "PointBin") -> bool:
        """Return whether any bin of a run has enough rows for its own points."""
        return not set(self.unsupported).issuperset(range(run.start, run.stop))

    def to_dict(self, bins: Sequence[str]) -> dict[str, Any]:
        """Return the points as JSON-ready data, with the names of the bins."""
        errors = {} if self.errors is None else {"errors": list(map(list, self.errors))}
        unsupported = {"unsupported": list(self.unsupported)} if self.unsupported else {}
        rows = {} if self.rows is None else {"rows": list(self.rows), "rows_error": self.rows_error}
        named = {"attribute": self.attribute, "bins": list(bins), "points": list(map(list, self.points))}
        return {**named, **errors, **unsupported, **rows}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the points that `to_dict` wrote."""
        optional = data.get("errors"), data.get("unsupported", ()), data.get("rows"), data.get("rows_error")
        return cls(data["attribute"], data["points"], *optional)


def whole_points(values: Any) -> Points:
    points = tuple(values) if _is_sequence(values) else ()
    if not points or not all(isinstance(x, (int, np.integer)) and not isinstance(x, bool) for x in points):
        raise ArgumentError(f"points must be a tuple of whole numbers such as (3,), got {shown(values)}.")
    largest = max(abs(int(x)) for x in points)
    if largest > MOST_POINTS:
        raise ArgumentError(f"points must be at most {MOST_POINTS:,} in absolute value, got {shown(largest)}.")
    return tuple(map(int, points))


def _standard_errors(rows: Any, points: Sequence[Points]) -> tuple[PointErrors, ...]:
    problem = ArgumentError(
        "errors must have a number from 0 to 1,000,000,000 for each number of points, such as ((0.2,), (0.5,)) for two "
        f"bins; got {shown(rows)} for {len(points)} bins."
    )
    if not _is_sequence(rows) or not all(map(_is_sequence, rows)) or list(map(len, rows)) != list(map(len, points)):
        raise problem
    errors: list[Any] = [error for row in rows for error in row]
    if any(isinstance(x, bool) or not isinstance(x, Real) for x in errors):
        raise problem
    if not all(0 <= error <= MOST_TOTAL for error in errors):
        raise problem
    return tuple(tuple(map(float, row)) for row in rows)


def _rising_places(values: Any, n_bins: int) -> tuple[int, ...]:
    places = whole_points(values) if _is_sequence(values) and len(values) else ()
    allowed = _is_sequence(values) and list(places) == sorted({place for place in places if 0 <= place < n_bins})
    if not allowed:
        raise ArgumentError(f"unsupported must have places of the {n_bins} bins in rising order, got {shown(values)}.")
    return places


def _rows_by_bin(rows: Any, error: Any, n_bins: int) -> tuple[tuple[int, ...] | None, float | None]:
    if rows is None and error is None:
        return None, None
    numbers: Any = rows if _is_sequence(rows) else ()
    is_whole = all(isinstance(x, (int, np.integer)) and not isinstance(x, bool) for x in numbers)
    if not is_whole or len(numbers) != n_bins or any(abs(int(x)) > MOST_ROWS for x in numbers):
        expected = f"a whole number of at most {MOST_ROWS:,} for each of {n_bins} bins"
        raise ArgumentError(f"rows must have {expected}, together with rows_error; got {shown(rows)}.")
    if isinstance(error, bool) or not isinstance(error, (int, float)) or not 0 <= error <= MOST_ROWS:
        expected = f"a number from 0 to {MOST_ROWS:,}, the standard deviation of the noise on rows"
        raise ArgumentError(f"rows_error must be {expected}; got {shown(error)}.")
    return tuple(int(x) for x in numbers), float(error)


def _is_sequence(value: object) -> bool:
    return isinstance(value, (tuple, list, np.ndarray))


def check_points(base: Points, parts: Sequence[AttributePoints], schema: Schema) -> None:
    is_number = schema.target.as_number is not None
    width = 1 if is_number or schema.target.n_levels == 2 else schema.target.n_levels
    expected = "1 number" if width == 1 else f"{width} numbers"
    of = "a number" if is_number else f"{schema.target.n_levels} classes"
    if len(base) != width:
        raise ArgumentError(f"base must have {expected} for {of}, got {len(base)}.")
    n_points = sum(len(row) for part in parts for row in part.points)
    if n_points > MOST_IN_ALL:
        raise ArgumentError(f"a scorecard must have at most {MOST_IN_ALL:,} numbers of points, got {n_points:,}.")
    names: set[str] = set()
    for part in parts:
        if part.attribute not in schema:
            raise SchemaError("has points in a scorecard but is not declared in the schema.", attribute=part.attribute)
        if part.attribute in names:
            raise SchemaError("has points more than once.", attribute=part.attribute)
        names.add(part.attribute)
        n_bins, problem = schema[part.attribute].n_bins, ""
        widths = sorted({len(row) for row in part.points})
        if len(part.points) != n_bins:
            problem = f"expected points for {n_bins} bins, got {len(part.points)}."
        elif widths != [width]:
            problem = f"expected {expected} per bin for {of}, got {' and '.join(map(str, widths))}."
        if problem:
            raise SchemaError(problem, attribute=part.attribute)
    largest = max(max(map(abs, ends)) for ends in extreme_totals(base, parts))
    if largest > MOST_TOTAL:
        raise ArgumentError(f"totals must be at most {MOST_TOTAL:,} in absolute value, got up to {largest:,}.")


def extreme_totals(base: Points, parts: Sequence[AttributePoints]) -> list[tuple[int, int]]:
    """Return the smallest and the largest possible total of a row, for each column of points."""
    ends = list[tuple[int, int]]()
    for k, start in enumerate(base):
        bins = [[row[k] for row in part.points] for part in parts]
        ends.append((start + sum(map(min, bins)), start + sum(map(max, bins))))
    return ends


def certain_losses(part: AttributePoints, *, highest_is_best: bool) -> set[int]:
    """Return the points of an attribute that are worse than its best points by more than the noise.

    The margin is 1.96 standard errors of the difference, treated as a difference of independent points. If several
    supported bins have the same points, their largest standard error counts. Unsupported bins are ignored.
    """
    points = [row[0] for row in part.points]
    if part.errors is None:
        return set(points) - {(max if highest_is_best else min)(points)}
    errors = dict[int, float]()
    for place, (value, (error,)) in enumerate(zip(points, part.errors, strict=True)):
        if place not in part.unsupported:
            errors[value] = max(errors.get(value, 0.0), error)
    if not errors:
        return set()
    best = (max if highest_is_best else min)(errors)
    return {value for value, error in errors.items() if abs(best - value) > NORMAL_95 * hypot(error, errors[best])}


def best_points(part: AttributePoints, runs: Sequence["PointBin"], *, highest_is_best: bool) -> int:
    """Return the best points among the bins with enough rows, or among all bins if none has enough rows."""
    supported = [run.points[0] for run in runs if part.has_support(run)]
    return (max if highest_is_best else min)(supported or [run.points[0] for run in runs])


def reasons_by_points(
    parts: Sequence[AttributePoints],
    runs: "AttributeBins",
    bins: Mapping[str, Whole],
    n_rows: int,
    *,
    highest_is_best: bool,
) -> Array:
    """Return the attributes with the largest losses of points for each row, shape ``(n_rows, 4)``, padded with None.

    Attributes are omitted if their loss is within the noise, or if the bin of the row has too few rows.
    """
    loss = np.zeros((n_rows, len(parts)), dtype=np.int64)
    is_certain = np.zeros((n_rows, len(parts)), dtype=bool)
    for place, (part, own) in enumerate(zip(parts, runs, strict=True)):
        points = np.array(part.points)[:, 0]
        certain = np.isin(points, list(certain_losses(part, highest_is_best=highest_is_best)))
        certain &= np.concatenate([np.full(run.stop - run.start, part.has_support(run)) for run in own])
        distance = best_points(part, own, highest_is_best=highest_is_best) - points
        loss[:, place] = np.maximum(distance if highest_is_best else -distance, 0)[bins[part.attribute]]
        is_certain[:, place] = certain[bins[part.attribute]]
    places = np.argsort(-loss, axis=1, kind="stable")[:, :MOST_REASONS]
    is_named = np.take_along_axis(is_certain, places, axis=1)
    order = np.argsort(~is_named, axis=1, kind="stable")  # named attributes first
    places, is_named = (np.take_along_axis(array, order, axis=1) for array in (places, is_named))
    names = np.array([part.attribute for part in parts], dtype=object)[places]
    reasons = np.full((n_rows, MOST_REASONS), None, dtype=object)
    reasons[:, : places.shape[1]][is_named] = names[is_named]
    return reasons


@dataclass(frozen=True)
class PointBin:
    """A run of bins of an attribute with the same points: a single bin, or neighbouring intervals of a number.

    Attributes
    ----------
    attribute : str
        The name of the attribute.
    declared : Attribute
        The attribute as the schema declares it.
    start, stop : int
        The first bin, and the bin after the last.
    points : tuple of int
        The points of these bins.
    """

    attribute: str
    declared: Attribute
    start: int
    stop: int
    points: Points

    @property
    def is_known(self) -> bool:
        """True for bins of values inside the domain; False for missing and outside values."""
        return self.start < self.declared.n_known

    @property
    def name(self) -> str:
        """The name of the bin in the schema, or the interval of the run."""
        return self.declared.run_name(self.start, self.stop)

    @property
    def label(self) -> str:
        """The name in a printed table, such as "18 to 50" for whole numbers."""
        return self.declared.run_label(self.start, self.stop)

    @property
    def words(self) -> str:
        """The name in a form to fill in."""
        if not self.is_known:
            return {"missing": "missing", "outside": "any other value"}[self.name]
        return self.declared.run_words(self.start, self.stop)


def point_bins(part: AttributePoints, attribute: Attribute) -> list[PointBin]:
    """Return the bins of an attribute with their points; neighbouring intervals with the same points form one run."""

    def key(place: int) -> Any:
        return part.points[place] if place < attribute.n_ordered else place

    runs: list[PointBin] = []
    for _, places in groupby(range(attribute.n_bins), key):
        first, *following = places
        runs.append(PointBin(part.attribute, attribute, first, first + 1 + len(following), part.points[first]))
    return runs


def one_row(row: Any, names: Sequence[str]) -> Any:
    """Return a mapping as a table of one row with these columns; anything but a mapping is returned unchanged."""
    if not isinstance(row, Mapping):
        return row
    values = {name: row[name] for name in names if name in row}
    problem = ArgumentTypeError("a row must map each attribute to a single value, such as a number or text.")
    return guarded(lambda: pa.table({name: pa.array([x], from_pandas=True) for name, x in values.items()}), problem)


AttributeBins = Sequence[Sequence[PointBin]]  # the bins of each used attribute
_MOST_TERMS = 100


def total_sql(bins: AttributeBins, base: Points, schema: Schema, dialect: Dialect) -> list[str]:
    """Return the single total of a row: the base plus a CASE for each attribute, NULL for values without a bin."""
    from hedgerow.models import sql  # sqlglot takes long to import

    return _sum(bins, 0, base, sql.conditions(schema, dialect))


def prediction_sql(bins: AttributeBins, base: Points, schema: Schema, dialect: Dialect, comparison: str) -> list[str]:
    """Return SQL for the predicted class; totals of the second of two classes satisfy `comparison`, such as ``> 0``."""
    from hedgerow.models import sql  # sqlglot takes long to import

    classes = [sql.constant(value, dialect) for value in schema.classes]
    written = sql.conditions(schema, dialect)
    if len(base) == 1:
        total = indented(_sum(bins, 0, base, written))
        cases = [f"  WHEN TRUE THEN {classes[1]}", f"  WHEN FALSE THEN {classes[0]}"]
        return ["CASE (", *total, f") {comparison}", *cases, "END"]
    lines = ["CASE GREATEST("]
    for k in range(len(base)):
        total = indented(_sum(bins, k, base, written))
        lines += [*total[:-1], total[-1] + ("," if k < len(base) - 1 else "")]
    lines += [")"]
    for k, value in enumerate(classes):
        lines += ["  WHEN", *indented(_sum(bins, k, base, written)), f"  THEN {value}"]
    return [*lines, "END"]


def _sum(bins: AttributeBins, column: int, base: Points, written: Pieces[tuple[Literal, bool]]) -> list[str]:
    terms = [[str(base[column])]]
    for runs in bins:
        cases = [f"  WHEN {written((bin_literal(run), True))} THEN {run.points[column]}" for run in ordered_bins(runs)]
        terms.append(["CASE", *cases, "END"])
    return _added(terms)


def _added(terms: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a sum, grouped if it has many terms, because engines limit the depth of expressions."""
    if len(terms) > _MOST_TERMS:
        groups = [terms[first : first + _MOST_TERMS] for first in range(0, len(terms), _MOST_TERMS)]
        return _added([["(", *indented(_added(group)), ")"] for group in groups])
    (first, *others) = terms
    return [*first, *(line for head, *rest in others for line in (f"+ {head}", *rest))]


def indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def ordered_bins(bins: Sequence[PointBin]) -> list[PointBin]:
    """Return the bins with missing and outside values first, so that a single literal distinguishes each bin."""
    return sorted(bins, key=lambda run: run.is_known)


def bin_literal(run: PointBin) -> Literal:
    """Return a literal for the values of a bin, given that the literals of the bins before it do not hold."""
    if not run.is_known:
        return Literal(run.attribute, run.name)
    return run.declared.run_literal(run.attribute, run.start, run.stop)


def python_functions(bins: AttributeBins, base: Points, predicted: Sequence[str], schema: Schema, comment: str) -> str:
    written, functions = python_conditions(schema), list[str]()
    for number, runs in enumerate(bins, 1):
        functions += [f"def _points_{number}(row):", f"    # {printable(runs[0].attribute)}"]
        for run in ordered_bins(runs):
            value = run.points[0] if len(base) == 1 else run.points
            functions += [f"    if {written(bin_literal(run))}:", f"        return {value!r}"]
        problem = f"the value of {printable(runs[0].attribute)} is outside the declared domain"
        functions += [f"    raise ValueError({problem!r})", "", ""]
    calls = [f"_points_{number}(row)" for number in range(1, len(bins) + 1)]
    if len(base) == 1:
        total = [f"points = {base[0]}", *(f"points += {call}" for call in calls), "return points"]
    else:
        total = [f"points = [{base!r}]", *(f"points.append({call})" for call in calls)]
        total.append("return tuple(map(sum, zip(*points)))")
    predict = ["", "", "def predict(row):", *(f"    {line}" for line in predicted)]
    return python_module(total, comment, schema, written, name="total", before=functions, after=predict)
