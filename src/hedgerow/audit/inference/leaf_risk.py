"""Disclosive leaves: leaves with few rows, with rows of one class only, or with few rows of a class."""

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
from hedgerow.text.language import _
from hedgerow.text.messages import number_of
from hedgerow.text.values import listed, quoted_text, shown_text

FEWEST_SAFE_ROWS = 10
"""Default threshold: the smallest safe number of rows of a leaf; `report/checks.py` has its sources."""
_SHOWN = 20  # largest number of leaves that are printed
_VIEWS = {
    "units": "Exact counts of units, once for each leaf and class: for the curator's eyes only.",
    "exact": "Exact counts: for the curator's eyes only, unless the model was released with these counts.",
    "noisy": "Counts are the noisy counts released with the model; pass train=(X, y) for exact counts.",
    "weighted": "A row that was sampled several times is counted several times; pass train=(X, y) to count it once.",
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
    """Check the leaves of a model for disclosure, as output checkers check the cells of a table before its release.

    Three kinds of leaves are disclosive. A *small* leaf has fewer rows than a threshold and describes few persons. In a
    *pure* leaf all rows have the same class. The leaf discloses the class of anyone known to fall into it, even if it
    is large. A leaf with *few* rows of a class singles out these rows. For regressors, the levels of the schema take
    the place of classes; without a schema, only the number of rows is checked. No attack is run. A model without such
    leaves may still disclose information in other ways. Differential privacy limits the disclosure by a model with such
    leaves.

    Parameters
    ----------
    model : RuleList, Tree, fitted estimator, function, or anything that `reconstruction` supports
        The model. It is a list or tree of any supported library, or a forest, bagging or boosting of trees of
        scikit-learn. A fitted ``Pipeline`` may end in such a model.
    train : tuple of (X, y), optional
        The training rows, which are assigned to leaves by the model's `apply` (or by the function). Default: the counts
        that the model stores.
    schema, features : optional
        For the stored counts of models of other libraries, as in `hedgerow.audit.reconstruction`. If the schema (or the
        model's schema) declares a unit and X of `train` has its column, units are counted instead of rows.
    threshold : int, default=10
        The smallest safe number of rows in a leaf, and of a class in it.
    unit : str, optional
        The column of X that identifies a person, household or institution, if it differs from the schema's unit. Units
        are then counted instead of rows.

    Returns
    -------
    LeafRisk or EnsembleRisk
        The risk of a single model's leaves, or of each tree of an ensemble and of all trees together.

    Raises
    ------
    ValueError
        If the model stores no row counts and `train` is missing, or `threshold` is less than 1.
    TypeError
        If the model is not supported, or `train` is not a pair.
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
    >>> risk = hr.audit.leaf_risk(DecisionTreeClassifier(random_state=0).fit(X, y), (X, y))
    >>> risk.table[["rows", "small", "pure", "few"]].values.tolist()
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
        problem = f"the leaves of {type(last).__name__} cannot be examined"
        raise ArgumentTypeError(f"{problem}: scikit-learn does not publish the structure of its trees.")
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
        unnamed = None if schema is not None else unnamed_risk(final_model(model)[1], threshold, None)
        if unnamed is not None:
            return unnamed
        paths, declared = paths_of(model, schema, features)
        domain = Domain.of(declared, paths.literals)  # adds the model's thresholds to the cut points
        conditions, released = normalised(paths, domain.schema).conditions(domain.schema), released_model(model)
        release = None if released is None else released.leaf_release
        return replace(stored_risk(paths, conditions, threshold, declared, release), unit=unit)
    rows = LabelledRows.of_pair("train", train)
    places = apply_of(model)(train[0])
    names, (leaves, *_others) = leaf_numbers(model, [places])
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
    """Return the risk of leaves from the leaf and, optionally, the class of each row; units are counted if possible.

    `unit` is the unit column. Default: the unit that the schema declares.
    """
    unit_leaves = once_a_unit(schema, X, leaves, column=unit)
    totals = tuple(map(int, np.bincount(leaves if unit_leaves is None else unit_leaves[0], minlength=len(names))))
    counts, classes = None, None
    if by is not None:
        classes, labels = tuple(by[0]), by[1]
        keys = once_a_unit(schema, X, leaves, labels, column=unit) or (leaves, labels)
        counts = leaf_counts(*keys, shape=(len(names), len(classes)))
    view = "exact" if unit_leaves is None else "units"
    return LeafRisk(names, totals, counts, classes, view, least, schema, unit=unit)


def unnamed_risk(model: Any, threshold: int, schema: Schema | None) -> "LeafRisk | None":
    """Return the leaf risk of a scikit-learn tree from its stored counts, without conditions; None for other models."""
    leaves = unnamed_leaves(model)
    if leaves is None:
        return None
    names = tuple(f"leaf {node}" for node in leaves.nodes)
    return LeafRisk(names, leaves.supports, leaves.counts, leaves.classes, leaves.view, threshold, schema)


def stored_risk(
    paths: Paths, conditions: Sequence[str], threshold: int, schema: Schema | None, release: LeafRelease | None
) -> "LeafRisk":
    """Return the risk of leaves from the counts that a model stores; `conditions` describe the paths to the leaves."""
    rows = paths.supports
    if rows is None and paths.counts is not None:
        rows = tuple(None if counts is None else sum(counts) for counts in paths.counts)
    if rows is None:
        raise ArgumentError("the model stores no row counts of its leaves; pass train=(X, y).")
    classes = paths.classes if paths.counts is not None else None
    names = tuple(f"{i}. {text}" for i, text in enumerate(conditions, 1))
    noisy = release if paths.view == "noisy" else None
    return LeafRisk(names, rows, paths.counts, classes, paths.view, threshold, schema, noisy)


@dataclass(frozen=True, repr=False)
class LeafRisk:
    """Number of rows in each leaf, and the disclosive leaves. **Private** if the counts are exact and not released.

    Attributes
    ----------
    leaves, rows : tuple of str, tuple of int or None
        The conditions of the leaves, and the number of rows or units in each; None if the model does not store it.
    counts : tuple of (tuple of int or None), optional
        The number of rows of each class in each leaf. An entry is None if the class counts of the leaf are not stored.
        The field is None if the model stores no class counts at all.
    classes : tuple, optional
        The class labels, or the midpoints of the levels of a number.
    view : {"units", "exact", "noisy", "weighted"}
        The kind of the counts: of units, or of rows.
    threshold : int
        The smallest safe number of rows or units in a leaf, and of a class in it.
    schema : Schema, optional
        The schema, which may declare a unit.
    unit : str, optional
        The unit column, if it differs from the schema's unit.
    note : str
        A note if the rows do not match the counts that the model stores.
    release : LeafRelease, optional
        The released noisy counts and their noise, which decide whether a leaf may be empty or pure.
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
            raise ArgumentError(f"rows and counts must have one entry for each of the {len(self.leaves)} leaves.")

    @property
    def unit_column(self) -> str | None:
        """The unit column; None if it is unknown."""
        return declared_unit(self.schema) if self.unit is None else self.unit

    @property
    def counted(self) -> tuple[str, str]:
        """The noun for the counts, singular and plural: rows, or units with their column."""
        return counted_nouns(self.unit_column if self.view == "units" else None)

    @property
    def several(self) -> str:
        """A sentence on units with several counted rows; empty if units are counted, or if there are none."""
        unit, column = None if self.schema is None else self.schema.unit, self.unit_column
        if column is None or self.view == "units":
            return ""
        most = unit.max_rows if unit is not None and unit.column == column and self.view == "noisy" else None
        if most == 1:
            return ""
        if most is None:
            return _("Rows are counted, not units: one {column} may have several rows.", column=quoted_text(column))
        # A private model was learned from at most `most` rows of each unit.
        return _(
            "Rows are counted, not units: one {column} may have up to {most} rows.",
            column=quoted_text(column),
            most=most,
        )

    @cached_property
    def known_rows(self) -> Mapping[int, int]:
        """The number of rows by leaf (counted from 0), if it is known."""
        return {i: rows for i, rows in enumerate(self.rows) if rows is not None}

    @cached_property
    def known_counts(self) -> Mapping[int, tuple[int, ...]]:
        """The class counts by leaf (counted from 0), if they are known."""
        return {i: counts for i, counts in enumerate(self.counts or ()) if counts is not None}

    @cached_property
    def not_examined(self) -> tuple[int, ...]:
        """The leaves whose number of rows is unknown, counted from 0."""
        return tuple(i for i, rows in enumerate(self.rows) if rows is None)

    @cached_property
    def classes_not_examined(self) -> tuple[int, ...]:
        """The leaves whose class counts are unknown, so that they may be pure, counted from 0."""
        known = self.known_counts
        return tuple(i for i in range(len(self.leaves)) if i not in known and self.rows[i] != 0)

    @property
    def is_complete(self) -> bool:
        """Whether the number of rows of each class in each leaf is known exactly."""
        is_known = self.counts is not None and not self.not_examined and not self.classes_not_examined
        return is_known and self.view in ("exact", "units")

    @cached_property
    def small(self) -> tuple[int, ...]:
        """The leaves with fewer rows than the threshold, empty leaves included, counted from 0."""
        return tuple(i for i, rows in self.known_rows.items() if rows < self.threshold)

    @cached_property
    def empty(self) -> tuple[int, ...]:
        """The leaves without rows, or whose noisy counts can be due to noise alone."""
        release = self.release if self.release is not None and self.release.noise is not None else None
        flags = {i: release.is_too_few(i) if release else rows <= 0 for i, rows in self.known_rows.items()}
        return tuple(i for i, is_empty in flags.items() if is_empty)

    @property
    def has_safe_rows(self) -> bool:
        """True if every leaf has at least `threshold` rows; for noisy counts, with 95 % confidence for all leaves."""
        if self.not_examined:
            return False
        if self.view != "noisy" or self.release is None:
            return not self.small
        noise, alarm = self.release.noise, 2 * (1 - CONFIDENCE) / len(self.rows)  # one side of each interval
        fewest = min(self.known_rows.values())
        return noise is not None and fewest - noise.spread(self.release.width, 1 - alarm) >= self.threshold

    @cached_property
    def pure(self) -> tuple[int, ...]:
        """The leaves whose rows all have the same class, which disclose the class of anyone known to fall into them.

        For noisy counts: the leaves with rows in which all classes except one may have no rows.
        """
        noise = None if self.release is None else self.release.noise
        least, without = 0 if noise is None else noise.spread(1), set(self.empty)
        pure = (i for i, counts in self.known_counts.items() if sum(n > least for n in counts) == 1)
        return tuple(i for i in pure if i not in without)

    @cached_property
    def few(self) -> tuple[int, ...]:
        """The leaves in which some class has at least one row, but fewer than the threshold."""
        return tuple(i for i, counts in self.known_counts.items() if any(0 < n < self.threshold for n in counts))

    @property
    def table(self) -> pd.DataFrame:
        """A row for each leaf: total and class counts, and whether it is small, pure or has few rows of a class.

        Unknown entries are missing (``pandas.NA``).
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
        """Return the total number of rows in these leaves, as far as it is known."""
        return sum(self.known_rows.get(i, 0) for i in leaves)

    def __str__(self) -> str:
        few = number_of(self.threshold, *self.counted)
        small = f"{len(self.small)} of {len(self.leaves)} leaves have fewer than {few}"
        lines = [f"small leaves  {small} ({self.rows_in(self.small)} in total)"]
        if self.not_examined:
            lines.append(f"not examined  {_numbers(self.not_examined)}: the model does not store the number of rows")
        if self.counts is None:
            lines.append("pure leaves   unknown: the model stores no class counts")
        else:
            may = "may have" if self.view == "noisy" else "have"
            lines += [
                f"pure leaves   {len(self.pure)} {may} rows of one class only ({self.rows_in(self.pure)} in total)",
                f"few of class  {len(self.few)} have a class with at least one but fewer than {few}",
            ]
            if open_ := tuple(i for i in self.classes_not_examined if i not in self.not_examined):
                lines.append(f"not examined  {_numbers(open_)}, for classes: the model stores only the number of rows")
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
    """Return a column of a table, with missing entries for None."""
    return pd.array(list(values), dtype=dtype) if None in values else list(values)


def _numbers(leaves: Sequence[int]) -> str:
    """Return the numbers of leaves, counted from 1, as text."""
    return f"{'leaf' if len(leaves) == 1 else 'leaves'} {listed([i + 1 for i in leaves])}"
