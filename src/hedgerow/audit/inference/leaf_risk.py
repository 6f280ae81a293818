"""Leaves that disclose by their structure: few rows, rows of one class only, a class with few rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.inference.count_comparison import compare_counts
from hedgerow.audit.inference.ensemble_risk import EnsembleRisk, counted_ensemble_risk, stored_ensemble_risk
from hedgerow.audit.inference.labelled import (
    LabelledRows,
    counted_nouns,
    declared_unit,
    distinct,
    once_a_unit,
    predicts_numbers,
)
from hedgerow.audit.inference.overfitting import apply_of, leaf_counts, leaf_numbers
from hedgerow.audit.readers.columns import Features
from hedgerow.audit.readers.ensembles import WITHOUT_TREES, final_model, is_ensemble
from hedgerow.audit.readers.paths import Paths
from hedgerow.audit.readers.read import paths_of, unnamed_leaves
from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.arrays import Index
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.count_noise import CONFIDENCE
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.models.released import released_model
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import column_of
from hedgerow.text.messages import number_of
from hedgerow.text.values import listed, quoted_text, shown_text

FEWEST_SAFE_ROWS = 10
"""The fewest rows of a leaf that are safe, if nobody chose another threshold; `report/checks.py` has its sources."""
_SHOWN = 20  # leaves in the text
_VIEWS = {
    "units": "Each unit is counted once in every leaf, and once a class there: for the curator's eyes only.",
    "exact": "A function of the rows: for the curator's eyes only, unless the model was released with these counts.",
    "noisy": "Counts are the noisy ones released with the model; pass train=(X, y) to count the rows.",
    "weighted": "Counts are weighted: a row that was drawn twice counts twice; pass train=(X, y) to count the rows.",
}


def leaf_risk(
    model: Any,
    train: tuple[Any, Any] | None = None,
    *,
    schema: Schema | None = None,
    features: Features | None = None,
    threshold: int = FEWEST_SAFE_ROWS,
    unit: str | None = None,
) -> "LeafRisk | EnsembleRisk":
    """Check the leaves of a model as output checkers check the cells of a table, before the model is released.

    A leaf with fewer rows than a threshold describes few persons; in a pure one, whoever is known to be there has the
    class (class disclosure), though there are many; and few rows of a class tell the few of them apart. Of a model of a
    number, the levels of its schema take the place of classes; of one without a schema, rows alone are counted. No
    attack is run: a model without such leaves may disclose in other ways, and differential privacy bounds what one with
    such leaves does.

    Parameters
    ----------
    model : RuleList, Tree, fitted estimator, function, or anything that reconstruction audits read
        The model: a list or a tree of any supported library, one of scikit-learn's forests, baggings or boostings of
        trees, or a fitted ``Pipeline`` that ends in one of them.
    train : tuple of (X, y), optional
        The training rows, counted in each leaf by the model's `apply` (a function of X serves too). Default: the counts
        that the model stores, `ValueError` if it stores none.
    schema, features : optional
        For counts that a model of another library stores: as `hedgerow.audit.reconstruction` takes them. Units are
        counted instead of rows where the schema, or the model's, declares one, and X of `train` has its column.
    threshold : int, default=10
        The fewest rows of a leaf, and of a class in it, that are safe.
    unit : str, optional
        The column of X that identifies a person, or a household or institution, if it is not the schema's unit.
        Units are then counted instead of rows.

    Returns
    -------
    LeafRisk or EnsembleRisk
        The leaves of a single model; or those of each tree of an ensemble, and of all trees together.

    Raises
    ------
    ValueError
        If the model stores no rows of its leaves and `train` is missing, or `threshold` is less than 1.
    TypeError
        If the model is of no supported kind, or `train` is not a pair.
    DomainError
        If rows do not fit the schema, or a value is missing in the column of units.

    References
    ----------
    Hundepool et al., *Statistical Disclosure Control*, 2012, for the rules. Smith et al., *Safe machine learning model
    release from Trusted Research Environments: The SACRO-ML package*, 2022, for their use on models.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import hedgerow as hr
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0]]).repeat([20, 4, 30], axis=0), np.arange(54) % 2
    >>> y[24:] = 1
    >>> found = hr.audit.leaf_risk(DecisionTreeClassifier(random_state=0).fit(X, y), (X, y))
    >>> found.table[["rows", "small", "pure", "few"]].values.tolist()
    [[20, False, False, False], [4, True, False, True], [30, False, True, False]]
    """
    least = check_integer("threshold", threshold, 1)
    if is_ensemble(model):
        return _ensemble_risk(model, train, schema, least, unit)
    return single_risk(model, train, schema=schema, features=features, threshold=least, unit=unit)


def _ensemble_risk(
    model: Any, train: tuple[Any, Any] | None, schema: Schema | None, threshold: int, unit: str | None
) -> EnsembleRisk:
    last = final_model(model)[1]
    if isinstance(last, WITHOUT_TREES):
        problem = f"expected a model whose leaves can be examined, got a {type(last).__name__}"
        raise ArgumentTypeError(f"{problem}: scikit-learn publishes no structure of its trees.")
    if train is None:
        return stored_ensemble_risk(model, threshold, schema)
    rows = LabelledRows.of_pair("train", train)
    number = None if schema is None or schema.label is None else schema.label.as_number
    by = distinct(rows.values)
    if number is not None:
        by = number.values, number.encode(column_of(rows.labels, number.name)).astype(np.intp)
    elif predicts_numbers(last):
        by = None
    return counted_ensemble_risk(model, train[0], by, threshold, schema, unit)


def single_risk(
    model: Any,
    train: tuple[Any, Any] | None = None,
    *,
    schema: Schema | None = None,
    features: Features | None = None,
    threshold: int = FEWEST_SAFE_ROWS,
    unit: str | None = None,
) -> "LeafRisk":
    """Check the leaves of a single model, as `leaf_risk` does."""
    if train is None:
        found = None if schema is not None else unnamed_risk(final_model(model)[1], threshold, None)
        if found is not None:
            return found
        paths, declared = paths_of(model, schema, features)
        domain = Domain.of(declared, paths.literals)  # with the numbers that the model compares with
        conditions, released = normalised(paths, domain.schema).conditions(domain.schema), released_model(model)
        release = None if released is None else released.leaf_release
        return replace(stored_risk(paths, conditions, threshold, declared, release), unit=unit)
    rows = LabelledRows.of_pair("train", train)
    places = apply_of(model)(train[0])
    names, (leaves, *_) = leaf_numbers(model, [places])
    released, note = released_model(model), ""
    declared = schema if schema is not None or released is None else released.schema
    if released is not None:
        target = released.schema.target
        levels = target.encode(column_of(rows.labels, target.name)).astype(np.intp)
        by = (target.values, levels) if target.as_number is not None else distinct(np.array(target.values)[levels])
        compared = compare_counts(released, paths_of(released)[0], places, *train)
        note = compared.sentence if compared.is_mismatch else ""
    else:
        by = None if predicts_numbers(model) else distinct(rows.values)
    return replace(counted_risk(names, leaves, by, train[0], declared, threshold, unit), note=note)


def counted_risk(
    names: tuple[str, ...],
    leaves: Index,
    by: tuple[Any, Index] | None,
    X: Any,
    schema: Schema | None,
    least: int,
    unit: str | None = None,
) -> "LeafRisk":
    """Return the risk of leaves by the leaf and, if any, the class of each row: of units where X has their column.

    `unit` is the column of units; by default, the unit that the schema declares.
    """
    held = once_a_unit(schema, X, leaves, column=unit)
    totals = tuple(map(int, np.bincount(leaves if held is None else held[0], minlength=len(names))))
    counts, classes = None, None
    if by is not None:
        classes, labels = tuple(by[0]), by[1]
        each = once_a_unit(schema, X, leaves, labels, column=unit) or (leaves, labels)
        counts = leaf_counts(*each, shape=(len(names), len(classes)))
    view = "exact" if held is None else "units"
    return LeafRisk(names, totals, counts, classes, view, least, schema, unit=unit)


def unnamed_risk(model: Any, threshold: int, schema: Schema | None) -> "LeafRisk | None":
    """Return the risk of the leaves of scikit-learn's trees by stored counts, without conditions; None for others."""
    found = unnamed_leaves(model)
    if found is None:
        return None
    names = tuple(f"leaf {node}" for node in found.nodes)
    return LeafRisk(names, found.supports, found.counts, found.classes, found.view, threshold, schema)


def stored_risk(
    paths: Paths, conditions: Sequence[str], threshold: int, schema: Schema | None, release: LeafRelease | None
) -> "LeafRisk":
    """Return the risk of leaves by the counts that a model stores, with the decision path to each leaf in words."""
    rows = paths.supports
    if rows is None and paths.counts is not None:
        rows = tuple(None if counts is None else sum(counts) for counts in paths.counts)
    if rows is None:
        raise ArgumentError("expected a model that stores the rows of its leaves, got one that does not; pass train=.")
    classes = paths.classes if paths.counts is not None else None
    names = tuple(f"{i}. {text}" for i, text in enumerate(conditions, 1))
    noisy = release if paths.view == "noisy" else None
    return LeafRisk(names, rows, paths.counts, classes, paths.view, threshold, schema, noisy)


@dataclass(frozen=True, repr=False)
class LeafRisk:
    """The rows of each leaf, and what they disclose. **Private** where the counts are exact and not released.

    Attributes
    ----------
    leaves, rows : tuple of str, tuple of int or None
        The leaves in words, and the rows, or units, of each: None for a leaf that could not be examined, since the
        model does not store its rows.
    counts : tuple of (tuple of int or None), optional
        The rows of each class in each leaf: None for a leaf that the model stores no rows by class of, and whose purity
        is not known. None if the model stores no rows by class at all.
    classes : tuple, optional
        The class labels, or the middles of the levels of a number.
    view : {"units", "exact", "noisy", "weighted"}
        What the counts are: of units, or of rows.
    threshold : int
        The fewest rows, or units, of a leaf, and of a class in it, that are safe.
    schema : Schema, optional
        It may declare a unit.
    unit : str, optional
        The column of units, if they are not units of the schema.
    note : str
        A note if the rows are not those whose counts a model of hedgerow, or a file that it read, stores.
    release : LeafRelease, optional
        The release of noisy counts with its noise, which decides whether a leaf may have no rows, or rows of one class.
    """

    leaves: tuple[str, ...]
    rows: tuple[int | None, ...]
    counts: tuple[tuple[int, ...] | None, ...] | None
    classes: tuple[Any, ...] | None
    view: str
    threshold: int = FEWEST_SAFE_ROWS
    schema: Schema | None = None
    release: LeafRelease | None = field(default=None, compare=False)
    unit: str | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if any(len(part) != len(self.leaves) for part in (self.rows, self.counts) if part is not None):
            raise ArgumentError("expected one number of rows, and one row of counts, a leaf, got another shape.")

    @property
    def unit_column(self) -> str | None:
        """The column that says whose a row is; None if none is named."""
        return declared_unit(self.schema) if self.unit is None else self.unit

    @property
    def counted(self) -> tuple[str, str]:
        """What is counted, one and many in words: rows, or units of the column that says whose a row is."""
        return counted_nouns(self.unit_column if self.view == "units" else None)

    @property
    def several(self) -> str:
        """How many of the counted rows one unit may have; empty if units are counted, or none is known."""
        unit, column = None if self.schema is None else self.schema.unit, self.unit_column
        if column is None or self.view == "units":
            return ""
        most = unit.max_rows if unit is not None and unit.column == column and self.view == "noisy" else None
        if most == 1:
            return ""
        words = "several" if most is None else f"up to {most}"  # a private model was learned from no more
        return f"Rows are counted, of which one {quoted_text(column)} may have {words}."

    @cached_property
    def known_rows(self) -> Mapping[int, int]:
        """The rows of each leaf whose rows are known, by the leaf, counted from 0."""
        return {i: rows for i, rows in enumerate(self.rows) if rows is not None}

    @cached_property
    def known_counts(self) -> Mapping[int, tuple[int, ...]]:
        """The rows by class of each leaf whose rows by class are known, by the leaf, counted from 0."""
        return {i: counts for i, counts in enumerate(self.counts or ()) if counts is not None}

    @cached_property
    def not_examined(self) -> tuple[int, ...]:
        """The leaves whose rows are not known, counted from 0."""
        return tuple(i for i, rows in enumerate(self.rows) if rows is None)

    @cached_property
    def classes_not_examined(self) -> tuple[int, ...]:
        """The leaves whose rows by class are not known, and which may be pure, counted from 0."""
        known = self.known_counts
        return tuple(i for i in range(len(self.leaves)) if i not in known and self.rows[i] != 0)

    @property
    def is_complete(self) -> bool:
        """True if the rows of each leaf are known exactly, and the classes of all rows."""
        is_known = self.counts is not None and not self.not_examined and not self.classes_not_examined
        return is_known and self.view in ("exact", "units")

    @cached_property
    def small(self) -> tuple[int, ...]:
        """The leaves with fewer rows than the threshold, empty leaves included, counted from 0."""
        return tuple(i for i, rows in self.known_rows.items() if rows < self.threshold)

    @cached_property
    def empty(self) -> tuple[int, ...]:
        """The leaves without rows, or whose noisy counts noise alone can make."""
        known = self.release if self.release is not None and self.release.noise is not None else None
        few = {i: known.is_too_few(i) if known else rows <= 0 for i, rows in self.known_rows.items()}
        return tuple(i for i, is_empty in few.items() if is_empty)

    @property
    def has_safe_rows(self) -> bool:
        """True if every leaf is known to have as many rows as the threshold; if noisy, at 95 % for all leaves."""
        if self.not_examined:
            return False
        if self.view != "noisy" or self.release is None:
            return not self.small
        noise, alarm = self.release.noise, 2 * (1 - CONFIDENCE) / len(self.rows)  # one side of each interval
        fewest = min(self.known_rows.values())
        return noise is not None and fewest - noise.spread(self.release.width, 1 - alarm) >= self.threshold

    @cached_property
    def pure(self) -> tuple[int, ...]:
        """The leaves whose rows are all of one class: class disclosure, whatever their number.

        By noisy counts: the leaves that have rows, of which all but one class may have none.
        """
        noise = None if self.release is None else self.release.noise
        least, without = 0 if noise is None else noise.spread(1), set(self.empty)
        pure = (i for i, counts in self.known_counts.items() if sum(n > least for n in counts) == 1)
        return tuple(i for i in pure if i not in without)

    @cached_property
    def few(self) -> tuple[int, ...]:
        """The leaves in which some class has rows, and fewer than the threshold."""
        return tuple(i for i, counts in self.known_counts.items() if any(0 < n < self.threshold for n in counts))

    @property
    def table(self) -> pd.DataFrame:
        """One row a leaf: its rows, those of each class, and whether it is small, pure, or has few of a class.

        Where something is not known of a leaf, the entry is missing (``pandas.NA``).
        """
        columns: dict[str, Any] = {"leaf": self.leaves, self.counted[1]: _column(self.rows, "Int64")}
        for k, name in enumerate(self.classes or ()):
            counts = [None if own is None else own[k] for own in self.counts or ()]
            columns[f"{self.counted[1]} of {shown_text(name)}"] = _column(counts, "Int64")
        for name, examined in (("small", self.known_rows), ("pure", self.known_counts), ("few", self.known_counts)):
            flagged, places = set(getattr(self, name)), range(len(self.leaves))
            columns[name] = _column([(i in flagged) if i in examined else None for i in places], "boolean")
        return pd.DataFrame(columns)

    def rows_in(self, leaves: Iterable[int]) -> int:
        """Return the rows of some leaves together, as far as they are known."""
        return sum(self.known_rows.get(i, 0) for i in leaves)

    def __str__(self) -> str:
        few = number_of(self.threshold, *self.counted)
        lines = [
            f"{len(self.small)} of {len(self.leaves)} leaves have fewer than {few}, {self.rows_in(self.small)} together"
        ]
        if self.not_examined:
            lines.append(f"{_numbers(self.not_examined)} not examined: the model does not store their rows")
        if self.counts is None:
            lines.append("the model stores no rows by class: whether a leaf is pure is not known")
        else:
            may = "may have" if self.view == "noisy" else "have"
            lines += [
                f"{len(self.pure)} {may} rows of one class only, {self.rows_in(self.pure)} together",
                f"{len(self.few)} have fewer than {few} of some class that they have",
            ]
            if open_ := tuple(i for i in self.classes_not_examined if i not in self.not_examined):
                lines.append(f"{_numbers(open_)} not examined for classes: the model stores their rows alone")
        flagged = sorted({*self.small, *self.pure, *self.few}, key=lambda i: (self.known_rows[i], i))
        for i in flagged[:_SHOWN]:
            words = [name for name in ("small", "pure", "few") if i in getattr(self, name)]
            lines.append(f"  {self.leaves[i]}: {number_of(self.known_rows[i], *self.counted)} ({', '.join(words)})")
        if len(flagged) > _SHOWN:
            lines.append(f"  and {len(flagged) - _SHOWN} more")
        return "\n".join(filter(None, [*lines, self.several, _VIEWS[self.view], self.note]))

    def __repr__(self) -> str:
        return f"<LeafRisk of {len(self.leaves)} leaves: {len(self.small)} small, {len(self.pure)} pure>"


def _column(values: Sequence[int | bool | None], dtype: str) -> Any:
    """Return a column of a table, with missing entries where values are not known."""
    return pd.array(list(values), dtype=dtype) if None in values else list(values)


def _numbers(leaves: Sequence[int]) -> str:
    """Return leaves by their numbers, counted from 1, with the verb."""
    what, verb = ("leaf", "was") if len(leaves) == 1 else ("leaves", "were")
    return f"{what} {listed([i + 1 for i in leaves])} {verb}"
