"""Leaves that disclose by their structure: few rows, rows of one class only, a class with few rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.inference.labelled import LabelledRows, distinct, once_a_unit, predicts_numbers
from hedgerow.audit.inference.overfitting import apply_of, leaf_counts, leaf_numbers
from hedgerow.audit.readers.columns import Features
from hedgerow.audit.readers.paths import Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.arrays import Index
from hedgerow.errors import ArgumentError
from hedgerow.models.count_noise import CONFIDENCE
from hedgerow.models.leaf_release import LeafRelease
from hedgerow.models.released import released_model
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import column_of
from hedgerow.text.messages import number_of
from hedgerow.text.values import quoted_text, shown_text

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
) -> "LeafRisk":
    """Check the leaves of a model as output checkers check the cells of a table, before the model is released.

    A leaf with fewer rows than a threshold describes few persons; in a pure one, whoever is known to be there has the
    class (class disclosure), though there are many; and few rows of a class tell the few of them apart. Of a model of a
    number, the levels of its schema take the place of classes; of one without a schema, rows alone are counted. No
    attack is run: a model without such leaves may disclose in other ways, and differential privacy bounds what one with
    such leaves does.

    Parameters
    ----------
    model : RuleList, Tree, fitted estimator, function, or anything that reconstruction audits read
        The model: a list or a tree of any supported library.
    train : tuple of (X, y), optional
        The training rows, counted in each leaf by the model's `apply` (a function of X serves too). Default: the counts
        that the model stores, `ValueError` if it stores none.
    schema, features : optional
        For counts that a model of another library stores: as `hedgerow.audit.reconstruction` takes them. Units are
        counted instead of rows where the schema, or the model's, declares one, and X of `train` has its column.
    threshold : int, default=10
        The fewest rows of a leaf, and of a class in it, that are safe.

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
    if train is None:
        paths, declared = paths_of(model, schema, features)
        domain = Domain.of(declared, paths.literals)  # with the numbers that the model compares with
        conditions, released = normalised(paths, domain.schema).conditions(domain.schema), released_model(model)
        return stored_risk(paths, conditions, least, declared, None if released is None else released.leaf_release)
    rows = LabelledRows.of_pair("train", train)
    names, (leaves, *_) = leaf_numbers(model, [apply_of(model)(train[0])])
    released = released_model(model)
    declared = schema if schema is not None or released is None else released.schema
    if released is not None:
        target = released.schema.target
        levels = target.encode(column_of(rows.labels, target.name)).astype(np.intp)
        by = (target.values, levels) if target.as_number is not None else distinct(np.array(target.values)[levels])
    else:
        by = None if predicts_numbers(model) else distinct(rows.values)
    return counted_risk(names, leaves, by, train[0], declared, least)


def counted_risk(
    names: tuple[str, ...], leaves: Index, by: tuple[Any, Index] | None, X: Any, schema: Schema | None, least: int
) -> "LeafRisk":
    """Return the risk of leaves by the leaf and, if any, the class of each row: of units where X has their column."""
    held = once_a_unit(schema, X, leaves)
    totals = tuple(map(int, np.bincount(leaves if held is None else held[0], minlength=len(names))))
    counts, classes = None, None
    if by is not None:
        classes, labels = tuple(by[0]), by[1]
        each = once_a_unit(schema, X, leaves, labels) or (leaves, labels)
        counts = leaf_counts(*each, shape=(len(names), len(classes)))
    return LeafRisk(names, totals, counts, classes, "exact" if held is None else "units", least, schema)


def stored_risk(
    paths: Paths, conditions: Sequence[str], threshold: int, schema: Schema | None, release: LeafRelease | None
) -> "LeafRisk":
    """Return the risk of leaves by the counts that a model stores, with the decision path to each leaf in words."""
    rows = paths.supports or (None if paths.counts is None else tuple(map(sum, paths.counts)))
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
    leaves, rows : tuple of str, tuple of int
        The leaves in words, and the rows, or units, of each.
    counts : tuple of tuple of int, optional
        The rows of each class in each leaf; None if the model stores none, and then no leaf is known to be pure.
    classes : tuple, optional
        The class labels, or the middles of the levels of a number.
    view : {"units", "exact", "noisy", "weighted"}
        What the counts are: of units, or of rows.
    threshold : int
        The fewest rows, or units, of a leaf, and of a class in it, that are safe.
    schema : Schema, optional
        It may declare a unit.
    release : LeafRelease, optional
        The release of noisy counts with its noise, which decides whether a leaf may have no rows, or rows of one class.
    """

    leaves: tuple[str, ...]
    rows: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...] | None
    classes: tuple[Any, ...] | None
    view: str
    threshold: int = FEWEST_SAFE_ROWS
    schema: Schema | None = None
    release: LeafRelease | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if any(len(part) != len(self.leaves) for part in (self.rows, self.counts) if part is not None):
            raise ArgumentError("expected one number of rows, and one row of counts, a leaf, got another shape.")

    @property
    def counted(self) -> tuple[str, str]:
        """What is counted, one and many in words: rows, or units of the column that says whose a row is."""
        unit = self.schema.unit if self.schema is not None and self.view == "units" else None
        whose = f" ({quoted_text(unit.column)})" if unit else ""
        return (f"unit{whose}", f"units{whose}") if whose else ("row", "rows")

    @property
    def several(self) -> str:
        """How many of the rows that are counted one unit may have; empty where units are counted, or none is known."""
        unit = None if self.schema is None or self.view == "units" else self.schema.unit
        if unit is None or (self.view == "noisy" and unit.max_rows == 1):
            return ""
        words = f"up to {unit.max_rows}" if self.view == "noisy" else "several"  # it was learned from so many at most
        return f"Rows are counted, of which one {quoted_text(unit.column)} may have {words}."

    @property
    def small(self) -> tuple[int, ...]:
        """The leaves with fewer rows than the threshold, empty ones included, counted from 0."""
        return tuple(i for i, rows in enumerate(self.rows) if rows < self.threshold)

    @property
    def empty(self) -> tuple[int, ...]:
        """The leaves without rows, or whose noisy counts noise alone can make."""
        known = self.release is not None and self.release.noise is not None
        few = (self.release.is_too_few(i) if known and self.release else n <= 0 for i, n in enumerate(self.rows))
        return tuple(i for i, is_empty in enumerate(few) if is_empty)

    @property
    def has_safe_rows(self) -> bool:
        """True if every leaf has as many rows as the threshold; of noisy counts, at 95 % for all leaves together."""
        if self.view != "noisy" or self.release is None:
            return not self.small
        noise, alarm = self.release.noise, 2 * (1 - CONFIDENCE) / len(self.rows)  # one side of each interval
        return noise is not None and min(self.rows) - noise.spread(self.release.width, 1 - alarm) >= self.threshold

    @property
    def pure(self) -> tuple[int, ...]:
        """The leaves whose rows are all of one class: class disclosure, whatever their number.

        By noisy counts: the leaves that have rows, of which all but one class may have none.
        """
        noise = None if self.release is None else self.release.noise
        least, without = 0 if noise is None else noise.spread(1), set(self.empty)
        pure = (i for i, counts in enumerate(self.counts or ()) if sum(n > least for n in counts) == 1)
        return tuple(i for i in pure if i not in without)

    @property
    def few(self) -> tuple[int, ...]:
        """The leaves in which some class has rows, and fewer than the threshold."""
        return tuple(i for i, counts in enumerate(self.counts or ()) if any(0 < n < self.threshold for n in counts))

    @property
    def table(self) -> pd.DataFrame:
        """One row a leaf: its rows, those of each class, and whether it is small, pure, or has few of a class."""
        found = pd.DataFrame({"leaf": self.leaves, self.counted[1]: self.rows})
        for k, name in enumerate(self.classes or ()):
            found[f"{self.counted[1]} of {shown_text(name)}"] = [counts[k] for counts in self.counts or ()]
        for name in ("small", "pure", "few"):
            found[name] = np.isin(np.arange(len(self.leaves)), getattr(self, name))
        return found

    def __str__(self) -> str:
        few = number_of(self.threshold, *self.counted)
        lines = [
            f"{len(self.small)} of {len(self.leaves)} leaves have fewer than {few}, "
            f"{sum(self.rows[i] for i in self.small)} together"
        ]
        if self.counts is None:
            lines.append("the model stores no rows by class: whether a leaf is pure is not known")
        else:
            may = "may have" if self.view == "noisy" else "have"
            lines += [
                f"{len(self.pure)} {may} rows of one class only, {sum(self.rows[i] for i in self.pure)} together",
                f"{len(self.few)} have fewer than {few} of some class that they have",
            ]
        flagged = sorted({*self.small, *self.pure, *self.few}, key=lambda i: (self.rows[i], i))
        for i in flagged[:_SHOWN]:
            words = [name for name in ("small", "pure", "few") if i in getattr(self, name)]
            lines.append(f"  {self.leaves[i]}: {number_of(self.rows[i], *self.counted)} ({', '.join(words)})")
        if len(flagged) > _SHOWN:
            lines.append(f"  and {len(flagged) - _SHOWN} more")
        return "\n".join(filter(None, [*lines, self.several, _VIEWS[self.view]]))

    def __repr__(self) -> str:
        return f"<LeafRisk of {len(self.leaves)} leaves: {len(self.small)} small, {len(self.pure)} pure>"
