"""Points of an attribute by bin, and bins of a number that have the same points as one interval."""

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

MOST_POINTS = 10**6  # the most points of a bin, and of the base, in size
MOST_TOTAL = 10**9  # the most points that a row can have in all, in size: any engine adds them up as 32-bit integers
MOST_ROWS = 9 * 10**15  # the most released rows of a bin, in size: whole numbers that any reader of JSON keeps
MOST_IN_ALL = 2**18  # the most points of all bins and classes: text and HTML of them have tens of MB
NORMAL_95 = 1.959963984540054  # the 97.5 % quantile of the standard normal distribution
MOST_REASONS = 4  # the most reasons of a row: what lenders state at most
Points = tuple[int, ...]
"""Whole points: one number for two classes, that of the second, or for a number; or else one for each class."""
PointErrors = tuple[float, ...]
"""Standard errors of `Points`."""


@dataclass(frozen=True)
class AttributePoints:
    """The points of an attribute's bins.

    Attributes
    ----------
    attribute : str
        The attribute.
    points : tuple of tuple of int
        For each of its bins, in their order, those of missing and outside values included: one whole number for two
        classes, the points of the second, or for a number; or one for each class.
    errors : tuple of tuple of float, optional
        The standard error of each of these points by the noise of the releases, in points and of the same shape as
        `points`: the standard deviation of their difference from the points that the same fit of the same rows would
        give without noise, given what was released. Noise and smoothing are both counted, sampling of rows is not.
        None if there is no noise, or it is unknown.
    unsupported : tuple of int
        The bins whose released number of rows is within noise of none, by their places in `points`, in rising order.
        Their points are those of other bins, or the mean, 0.
    rows : tuple of int, optional
        The released number of rows of each bin, rounded. Noise may make it negative. None if it was not released.
    rows_error : float, optional
        The standard deviation of the noise on each number of `rows`: 0 if they are exact, None if there are none.

    Raises
    ------
    ValueError
        If points are not whole numbers of at most 1,000,000 in size, an error is negative or above
        1,000,000,000, or the errors, unsupported bins or rows do not fit the points.

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
            raise ArgumentTypeError(f"expected text for the attribute of points, got {shown(self.attribute)}.")
        points: Any = self.points
        if not _is_sequence(points):
            raise ArgumentTypeError(f"expected a tuple of points, one element for each bin, got {shown(points)}.")
        object.__setattr__(self, "points", tuple(whole_points(row) for row in points))
        if self.errors is not None:
            object.__setattr__(self, "errors", _standard_errors(self.errors, self.points))
        object.__setattr__(self, "unsupported", _rising_places(self.unsupported, len(self.points)))
        rows, error = _rows_by_bin(self.rows, self.rows_error, len(self.points))
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "rows_error", error)

    def support(self, places: Sequence[int]) -> Support:
        """Return what is shown of the released rows of these bins together."""
        if self.rows is None or self.rows_error is None:
            return Support()
        rows = sum(self.rows[place] for place in places)
        return Support(rows, len(places), CountNoise.of_deviation(self.rows_error))

    def has_support(self, run: "PointBin") -> bool:
        """Return whether any bin of a run has enough rows for points of its own."""
        return not set(self.unsupported).issuperset(range(run.start, run.stop))

    def to_dict(self, bins: Sequence[str]) -> dict[str, Any]:
        """Return the points as JSON-ready data, with the names of the bins for readers."""
        errors = {} if self.errors is None else {"errors": list(map(list, self.errors))}
        unsupported = {"unsupported": list(self.unsupported)} if self.unsupported else {}
        rows = {} if self.rows is None else {"rows": list(self.rows), "rows_error": self.rows_error}
        named = {"attribute": self.attribute, "bins": list(bins), "points": list(map(list, self.points))}
        return {**named, **errors, **unsupported, **rows}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote."""
        optional = data.get("errors"), data.get("unsupported", ()), data.get("rows"), data.get("rows_error")
        return cls(data["attribute"], data["points"], *optional)


def whole_points(values: Any) -> Points:
    found = tuple(values) if _is_sequence(values) else ()
    if not found or not all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in found):
        raise ArgumentError(f"expected a tuple of whole numbers as points, such as (3,), got {shown(values)}.")
    if any(abs(int(one)) > MOST_POINTS for one in found):
        raise ArgumentError(f"expected points of at most {MOST_POINTS:,} in size, got more.")
    return tuple(map(int, found))


def _standard_errors(rows: Any, points: Sequence[Points]) -> tuple[PointErrors, ...]:
    problem = ArgumentError(
        "errors must have one number of at least 0, at most 1,000,000,000, for each number of points, such as "
        f"((0.2,), (0.5,)); got {shown(rows)} for points of {len(points)} bins."
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
        raise ArgumentError(f"unsupported must hold places of the {n_bins} bins in rising order, got {shown(values)}.")
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
        raise ArgumentError(f"expected {expected} as base, for {of}, got {len(base)}.")
    n_points = sum(len(row) for part in parts for row in part.points)
    if n_points > MOST_IN_ALL:
        raise ArgumentError(f"expected at most {MOST_IN_ALL:,} points of bins and classes in all, got {n_points:,}.")
    seen: set[str] = set()
    for part in parts:
        if part.attribute not in schema:
            raise SchemaError("is used by a scorecard but not declared.", attribute=part.attribute)
        if part.attribute in seen:
            raise SchemaError("expected points once, got them more than once.", attribute=part.attribute)
        seen.add(part.attribute)
        n_bins, problem = schema[part.attribute].n_bins, ""
        if len(part.points) != n_bins:
            problem = f"expected points for each of {n_bins} bins, got {len(part.points)}."
        elif any(len(row) != width for row in part.points):
            problem = f"expected {expected} a bin, for {of}, got others."
        if problem:
            raise SchemaError(problem, attribute=part.attribute)
    if max(max(map(abs, ends)) for ends in extreme_totals(base, parts)) > MOST_TOTAL:
        raise ArgumentError(f"expected totals of at most {MOST_TOTAL:,} in size, got points that add up to more.")


def extreme_totals(base: Points, parts: Sequence[AttributePoints]) -> list[tuple[int, int]]:
    """Return the smallest and the largest total that a row can have, for each number of its points."""
    found = list[tuple[int, int]]()
    for k, start in enumerate(base):
        bins = [[row[k] for row in part.points] for part in parts]
        found.append((start + sum(map(min, bins)), start + sum(map(max, bins))))
    return found


def certain_losses(part: AttributePoints, *, highest_is_best: bool) -> set[int]:
    """Return the points of an attribute that are worse than its best ones by more than the noise.

    The noise on a difference of points is that on both: 1.96 standard errors, as of independent points. Points are
    known as well as the least well-known supported bin that has them; points of unsupported bins alone say nothing.
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
    """Return the best points of the bins of an attribute that have enough rows, or of all if none has."""
    known = [run.points[0] for run in runs if part.has_support(run)]
    return (max if highest_is_best else min)(known or [run.points[0] for run in runs])


def reasons_by_points(
    parts: Sequence[AttributePoints],
    runs: "AttributeBins",
    bins: Mapping[str, Whole],
    n_rows: int,
    *,
    highest_is_best: bool,
) -> Array:
    """Return the attributes whose points are farthest from the best of their bins, shape ``(n_rows, 4)``, or None.

    Of the four, those whose distance is within the noise, or whose bin has too few rows, are left out.
    """
    cost = np.zeros((n_rows, len(parts)), dtype=np.int64)
    is_certain = np.zeros((n_rows, len(parts)), dtype=bool)
    for place, (part, ones) in enumerate(zip(parts, runs, strict=True)):
        points = np.array(part.points)[:, 0]
        certain = np.isin(points, list(certain_losses(part, highest_is_best=highest_is_best)))
        certain &= np.concatenate([np.full(one.stop - one.start, part.has_support(one)) for one in ones])
        lost = best_points(part, ones, highest_is_best=highest_is_best) - points
        cost[:, place] = np.maximum(lost if highest_is_best else -lost, 0)[bins[part.attribute]]
        is_certain[:, place] = certain[bins[part.attribute]]
    places = np.argsort(-cost, axis=1, kind="stable")[:, :MOST_REASONS]
    is_named = np.take_along_axis(is_certain, places, axis=1)
    order = np.argsort(~is_named, axis=1, kind="stable")  # those that are named come first
    places, is_named = (np.take_along_axis(each, order, axis=1) for each in (places, is_named))
    names = np.array([part.attribute for part in parts], dtype=object)[places]
    found = np.full((n_rows, MOST_REASONS), None, dtype=object)
    found[:, : places.shape[1]][is_named] = names[is_named]
    return found


@dataclass(frozen=True)
class PointBin:
    """A run of an attribute's bins that have the same points: a single bin, or neighbouring intervals of a number.

    Attributes
    ----------
    attribute : str
        The attribute's name.
    declared : Attribute
        The attribute.
    start, stop : int
        The bins, from `start` up to and without `stop`.
    points : tuple of int
        Their points.
    """

    attribute: str
    declared: Attribute
    start: int
    stop: int
    points: Points

    @property
    def is_known(self) -> bool:
        """True for bins of values inside the domain, and not of missing or outside ones."""
        return self.start < self.declared.n_known

    @property
    def name(self) -> str:
        """The name: that of the bin as the schema has it, or the interval."""
        return self.declared.run_name(self.start, self.stop)

    @property
    def label(self) -> str:
        """The name in a printed table: whole numbers from the first to the last of the bin."""
        return self.declared.run_label(self.start, self.stop)

    @property
    def words(self) -> str:
        """The bin as a form to fill in has it."""
        if not self.is_known:
            return {"missing": "missing", "outside": "any other value"}[self.name]
        return self.declared.run_words(self.start, self.stop)


def point_bins(part: AttributePoints, attribute: Attribute) -> list[PointBin]:
    """Return the bins of an attribute with their points; neighbouring intervals with the same points are one."""

    def run(place: int) -> Any:
        return part.points[place] if place < attribute.n_ordered else place

    found: list[PointBin] = []
    for _, places in groupby(range(attribute.n_bins), run):
        first, *others = places
        found.append(PointBin(part.attribute, attribute, first, first + 1 + len(others), part.points[first]))
    return found


def one_row(row: Any, names: Sequence[str]) -> Any:
    """Return a mapping as a table of one row, with those of the named columns that it has; anything else as it is."""
    if not isinstance(row, Mapping):
        return row
    values = {name: row[name] for name in names if name in row}
    problem = ArgumentTypeError("expected a mapping of attributes to one value each, got values of other types.")
    return guarded(lambda: pa.table({name: pa.array([x], from_pandas=True) for name, x in values.items()}), problem)


AttributeBins = Sequence[Sequence[PointBin]]  # the bins of each attribute that is used
_MOST_TERMS = 100


def total_sql(bins: AttributeBins, base: Points, schema: Schema, dialect: Dialect) -> list[str]:
    """Return a row's one total: the base plus a CASE for each attribute, NULL for a value without a bin."""
    from hedgerow.models import sql  # sqlglot takes long to import

    return _sum(bins, 0, base, sql.conditions(schema, dialect))


def prediction_sql(bins: AttributeBins, base: Points, schema: Schema, dialect: Dialect, comparison: str) -> list[str]:
    """Return what is predicted; the second of two classes if a comparison such as ``> 0`` holds of the total."""
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
    for ones in bins:
        cases = [f"  WHEN {written((bin_literal(one), True))} THEN {one.points[column]}" for one in ordered_bins(ones)]
        terms.append(["CASE", *cases, "END"])
    return _added(terms)


def _added(terms: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a sum, in groups if it has many terms: engines limit how deep an expression is."""
    if len(terms) > _MOST_TERMS:
        groups = [terms[first : first + _MOST_TERMS] for first in range(0, len(terms), _MOST_TERMS)]
        return _added([["(", *indented(_added(group)), ")"] for group in groups])
    (first, *others) = terms
    return [*first, *(line for head, *rest in others for line in (f"+ {head}", *rest))]


def indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def ordered_bins(bins: Sequence[PointBin]) -> list[PointBin]:
    """Return the bins with those of missing and outside values first, so that one literal distinguishes each."""
    return sorted(bins, key=lambda one: one.is_known)


def bin_literal(one: PointBin) -> Literal:
    """Return a literal that holds of the values of a bin, if the literals of the bins before it do not."""
    name, declared = one.attribute, one.declared
    if not one.is_known:
        return Literal(name, one.name)
    return declared.run_literal(name, one.start, one.stop)


def python_functions(bins: AttributeBins, base: Points, predicted: Sequence[str], schema: Schema, comment: str) -> str:
    written, functions = python_conditions(schema), list[str]()
    for number, ones in enumerate(bins, 1):
        functions += [f"def _points_{number}(row):", f"    # {printable(ones[0].attribute)}"]
        for one in ordered_bins(ones):
            value = one.points[0] if len(base) == 1 else one.points
            functions += [f"    if {written(bin_literal(one))}:", f"        return {value!r}"]
        problem = f"expected a value of the declared domain for {printable(ones[0].attribute)}"
        functions += [f"    raise ValueError({problem!r})", "", ""]
    calls = [f"_points_{number}(row)" for number in range(1, len(bins) + 1)]
    if len(base) == 1:
        total = [f"points = {base[0]}", *(f"points += {call}" for call in calls), "return points"]
    else:
        total = [f"points = [{base!r}]", *(f"points.append({call})" for call in calls)]
        total.append("return tuple(map(sum, zip(*points)))")
    predict = ["", "", "def predict(row):", *(f"    {line}" for line in predicted)]
    return python_module(total, comment, schema, written, name="total", before=functions, after=predict)
