"""Distributional overfitting: distance between the leaf distributions of training rows and held-out rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, floor, sqrt
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import hypergeom
from sklearn.pipeline import make_pipeline

from hedgerow.audit.inference.labelled import NO_CLASSES, Clusters, LabelledRows, distinct, predicts_numbers
from hedgerow.audit.inference.output_cells import class_cells
from hedgerow.audit.plot import overfit_bars
from hedgerow.audit.readers.columns import fitted_columns
from hedgerow.audit.readers.ensembles import PREDICTORS, WITHOUT_TREES, final_model
from hedgerow.boundary.arrays import Array, Floats, Index, Integers
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError
from hedgerow.learn.contract import FittedModelMixin
from hedgerow.models.released import released_leaf_model, released_model
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import column_of
from hedgerow.text.axes import Axes
from hedgerow.text.messages import aligned
from hedgerow.text.values import quoted_text, shown_text, value_text

PRIVATE = "An exact function of the rows: for the curator's eyes only, not for release."
CONFIDENCE = 0.95
_NORMAL = 1.645  # quantile of the normal distribution at this confidence
_DRAWS = 999  # partitions of the permutation test
_MOST_CELLS = 10**7  # largest number of counts in memory while partitions are drawn
_ROUNDING = 1e-12  # rounding error up to which two values of V are equal
_Counts = tuple[tuple[int, ...], ...]
UnitKinds = tuple[tuple[tuple[int, ...], int, int], ...]
"""Kinds of units with equal rows: the cells of their rows, and the numbers of such units in train and test."""


@runtime_checkable
class Leaves(Protocol):
    """Model with a method `apply` that returns the leaf of each row, such as hedgerow's or scikit-learn's trees."""

    def apply(self, X: Any) -> Array:
        """Return the number or name of each row's leaf, shape ``(n_rows,)``."""
        ...


def apply_of(model: Any) -> Callable[[Any], Array]:
    released = released_leaf_model(model)
    apply = getattr(released or model, "apply", model)
    before, last = final_model(model)
    if isinstance(last, (*PREDICTORS, *WITHOUT_TREES)) and hasattr(last, "classes_"):
        apply = class_cells(model)  # a row has several leaves, or its leaves cannot be read
    elif last is not model and callable(getattr(last, "apply", None)):
        apply = partial(_apply_last, before, last)
    is_unfitted = released is None and isinstance(model, FittedModelMixin)
    if isinstance(model, type) or is_unfitted or not callable(apply):
        raise ArgumentTypeError(
            "model must have a method `apply`, be a fitted hedgerow estimator, or be a function of X; got "
            f"{type(model).__name__}, which is none of these (or is not fitted)."
        )

    def checked(X: Any) -> Array:
        problem = ArgumentError("the model raised an error, or did not return one leaf for each row of X.")
        leaves = (
            guarded(lambda: np.asarray(apply(fitted_columns(model, X))), problem)
            if released is None
            else released.apply(X)
        )
        if leaves.shape != (len(X),):
            raise problem
        return leaves

    return checked


def _apply_last(before: Sequence[Any], last: Any, X: Any) -> Any:
    return last.apply(make_pipeline(*before).transform(X) if before else X)


def leaf_numbers(model: Any, leaves: Sequence[Array]) -> tuple[tuple[str, ...], list[Index]]:
    """Return the names of all leaves, and the number of each row's leaf in several tables."""
    released = released_leaf_model(model)
    if released is not None:
        names = tuple(f"{i}. {text}" for i, text in enumerate(released.conditions, 1))
        return names, [numbers.astype(np.intp) for numbers in leaves]
    names, numbers = distinct(np.concatenate(leaves))
    ends = np.cumsum([len(own) for own in leaves])
    return tuple(f"leaf {value_text(name)}" for name in names), np.split(numbers, ends[:-1])


def leaf_counts(leaves: Index, classes: Index, shape: tuple[int, int]) -> tuple[tuple[int, ...], ...]:
    counts = np.zeros(shape, dtype=np.int64)
    np.add.at(counts, (leaves, classes), 1)
    return tuple(tuple(map(int, row)) for row in counts)


@dataclass(frozen=True)
class Overfit:
    """Distributional overfitting of a model, from training rows and held-out rows. **Private**: exact counts of rows.

    Attributes
    ----------
    classes, leaves : tuple, tuple of str
        The class labels, and descriptions of the leaves.
    train, test : tuple of tuple of int
        Numbers of training rows and held-out rows of each class in each leaf. Every class has rows in both sets.
    as_released_code : bool
        True if shares refer to all rows of a set, as in SSRL's released code, instead of the rows of a class.
    units : tuple
        The units, whose rows are not independent. Each entry describes a kind of unit by the cells of its rows and by
        the numbers of such units in train and test. A cell is the leaf times the number of classes, plus the class.
        Empty if each row is a unit.

    Examples
    --------
    >>> result = Overfit(("no", "yes"), ("smoker", "otherwise"), train=((1, 6), (9, 4)), test=((2, 2), (8, 3)))
    >>> dict(result.tau)
    {'no': 0.1, 'yes': 0.2}
    >>> result.vulnerability  # 1/2 + (20/35 * 0.1 + 15/35 * 0.2) / 2
    0.5714285714285714
    """

    classes: tuple[Any, ...]
    leaves: tuple[str, ...]
    train: _Counts
    test: _Counts
    as_released_code: bool = False
    units: UnitKinds = field(default=(), repr=False)

    def __post_init__(self) -> None:
        for counts in (self.train, self.test):
            if len(counts) != len(self.leaves) or any(len(row) != len(self.classes) for row in counts):
                raise ArgumentError(
                    "train and test must have one row of counts for each leaf, one count for each class."
                )
            if not all(map(sum, zip(*counts, strict=True))):
                raise ArgumentError("train and test must contain rows of every class; a class has none.")

    @property
    def _class_rows(self) -> list[tuple[int, ...]]:
        sets = self.train, self.test
        return [tuple(sum(row[k] for row in counts) for counts in sets) for k in range(len(self.classes))]

    @property
    def _totals(self) -> list[tuple[int, ...]]:
        """The denominators of the shares of each class in train and test."""
        sizes = self._class_rows
        return [tuple(map(sum, zip(*sizes, strict=True)))] * len(sizes) if self.as_released_code else sizes

    @property
    def class_shares(self) -> Mapping[Any, float]:
        """P[y]: the share of each class among the rows of train and test together."""
        sizes = [sum(both) for both in self._class_rows]
        return MappingProxyType({c: n / sum(sizes) for c, n in zip(self.classes, sizes, strict=True)})

    @property
    def tau(self) -> Mapping[Any, float]:
        """The distributional overfitting of each class, from 0 (equal leaf distributions in train and test) to 1."""
        return MappingProxyType({c: float(t) for c, t in zip(self.classes, self._distances(), strict=True)})

    @property
    def vulnerability(self) -> float:
        """V: the accuracy of the best membership guess from class and leaf, if half of each class are training rows."""
        return float(self._overall(self._distances()))

    @property
    def vulnerability_by_chance(self) -> float:
        """The mean of V over random partitions into train and test, which exceeds 0.5.

        It is exact if each row is a unit; otherwise it is the mean over the partitions that `p_value` draws.
        """
        if self.units:
            return float(self._permuted.mean())
        chances = [
            sum(
                mean_deviation(ours + others, a[k] + b[k], ours) * (1 / ours + 1 / others) / 2
                for a, b in zip(self.train, self.test, strict=True)
            )
            for k, (ours, others) in enumerate(self._totals)
        ]
        return float(self._overall(list(map(Fraction, chances))))

    @property
    def p_value(self) -> float:
        """The p-value of V in a permutation test: the probability that a random partition has this V or a larger V.

        Random partitions have the same number of training units and, unless `as_released_code`, the same number in each
        class. The class of a unit is the most frequent class of its rows. All rows of a unit stay together. The test
        draws 999 partitions with a fixed seed. If a model does not depend on which units are training units, its
        p-value is at most 0.05 with probability at most 5 %.
        """
        return float(1 + (self._permuted >= self.vulnerability - _ROUNDING).sum()) / (1 + _DRAWS)

    @property
    def _unit_kinds(self) -> UnitKinds:
        sets = (np.array(counts).ravel().tolist() for counts in (self.train, self.test))
        return self.units or tuple(((place,), *both) for place, both in enumerate(zip(*sets, strict=True)) if any(both))

    @cached_property
    def _permuted(self) -> Floats:
        """V of random partitions of the units; 1 if a class has no rows in a set, which only occurs with units."""
        places, *sets = zip(*self._unit_kinds, strict=True)
        ours, others = (np.array(units) for units in sets)
        sizes, n_cells = list(map(len, places)), len(self.leaves) * len(self.classes)
        entries = np.ones(sum(sizes), dtype=np.int64), np.concatenate(places), np.cumsum([0, *sizes])
        rows = csr_array(entries, shape=(len(places), n_cells))
        strata = np.array([0 if self.as_released_code else self._commonest(own) for own in places])
        rng, values = np.random.default_rng(0), list[Floats]()
        for draws in _portions(_DRAWS, max(len(places), n_cells)):
            drawn = np.zeros((draws, len(places)), dtype=np.int64)
            for stratum in np.unique(strata):
                inside = strata == stratum
                every = (ours + others)[inside], ours[inside].sum()
                drawn[:, inside] = rng.multivariate_hypergeometric(*every, draws, method="marginals")
            train, test = ((rows.T @ units.T).T for units in (drawn, ours + others - drawn))
            shape = draws, len(self.leaves), len(self.classes)
            values.append(self._values(train.reshape(shape), test.reshape(shape)))
        return np.concatenate(values)

    def _commonest(self, places: tuple[int, ...]) -> int:
        """Return the most frequent class of a unit's rows; ties go to the first class."""
        return int(np.bincount(np.array(places) % len(self.classes)).argmax())

    def _values(self, train: Integers, test: Integers) -> Floats:
        """Return V of several partitions from their counts, ``(n_partitions, n_leaves, n_classes)``."""
        sizes = [counts.sum(axis=1, keepdims=True) for counts in (train, test)]
        if self.as_released_code:
            sizes = [of_class.sum(axis=2, keepdims=True) for of_class in sizes]
        ours, others = (counts / np.maximum(size, 1) for counts, size in zip((train, test), sizes, strict=True))
        taus = np.abs(ours - others).sum(axis=1) / 2
        shares = np.array(list(self.class_shares.values()))
        return np.where(((sizes[0] > 0) & (sizes[1] > 0)).all(axis=(1, 2)), 0.5 + taus @ shares / 2, 1.0)

    def upper_bound(self) -> float:
        """Return an upper bound on V for new units of the same kind, with approximately 95 % confidence.

        The leaves that are more probable in train are a fixed set. V of a sample is at least the difference between
        their shares in train and in test. A unit changes this difference by at most its weight. Its variance is
        therefore at most the sum of the squared weights of all units, divided by 4. The bound uses the normal
        approximation.
        """
        return min(self.vulnerability + _NORMAL * sqrt(sum(self._squares)) / 4, 1.0)

    @property
    def _squares(self) -> tuple[float, float]:
        """The sums of the squared weights of the units of train and test."""
        shares = np.array(list(self.class_shares.values()))[:, np.newaxis]
        weights = shares / np.array(self._totals)  # weight of a row by class and set
        sums = np.zeros(2)
        for places, *units in self._unit_kinds:
            own = weights[np.array(places) % len(self.classes)].sum(axis=0)
            sums += np.array(units) * own**2
        return float(sums[0]), float(sums[1])

    def test_rows_needed(self, limit: float) -> int | None:
        """Return the approximate number of held-out rows needed for an `upper_bound` of `limit` by random partitions.

        None if no number of held-out rows suffices with these training rows.

        Raises
        ------
        ValueError
            If `limit` is not above 0.5.
        """
        if not limit > 0.5:
            raise ArgumentError(f"limit must be above 0.5, the accuracy of random guessing, got {limit:g}.")
        ours, others = (sum(map(sum, counts)) for counts in (self.train, self.test))
        excess = self.vulnerability_by_chance - 0.5 + _NORMAL * sqrt(sum(self._squares)) / 4
        # The excess is proportional to the root of 1/ours + 1/others.
        inverse = (1 / ours + 1 / others) * ((limit - 0.5) / excess) ** 2 - 1 / ours
        return ceil(1 / inverse) if inverse > 0 else None

    def _distances(self) -> list[Fraction]:
        leaves = list(zip(self.train, self.test, strict=True))
        return [
            sum((abs(Fraction(a[k], ours) - Fraction(b[k], others)) for a, b in leaves), Fraction(0)) / 2
            for k, (ours, others) in enumerate(self._totals)
        ]

    def _overall(self, distances: Sequence[Fraction]) -> Fraction:
        sizes = [sum(both) for both in self._class_rows]
        weighted = sum((n * t for n, t in zip(sizes, distances, strict=True)), Fraction(0))
        return Fraction(1, 2) + weighted / sum(sizes) / 2

    @property
    def table(self) -> list[dict[str, Any]]:
        """A record for each leaf and class; `train_share` and `test_share` are P[leaf | class], which τ compares."""
        return [
            {
                "leaf": leaf,
                "class": name,
                "train": ours[k],
                "test": others[k],
                "train_share": ours[k] / self._totals[k][0],
                "test_share": others[k] / self._totals[k][1],
            }
            for leaf, ours, others in zip(self.leaves, self.train, self.test, strict=True)
            for k, name in enumerate(self.classes)
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the shares of each leaf and class in train and test, and return the axes."""
        shares = np.array([(row["train_share"], row["test_share"]) for row in self.table])
        shaped = shares.reshape(len(self.leaves), len(self.classes), 2)
        caption = f"V = {self.vulnerability:.3f} (by chance {self.vulnerability_by_chance:.3f}). {PRIVATE}"
        names = [f"{shown_text(name)} (tau = {tau:.3f})" for name, tau in self.tau.items()]
        of = "all rows of the set" if self.as_released_code else "the rows of its class"
        return overfit_bars(self.leaves, shaped, names, f"share of {of}", caption, ax)

    def __str__(self) -> str:
        v = self.vulnerability
        if self.as_released_code:
            meaning = (
                "Shares refer to all rows of a set, as in SSRL's released code, and not to the rows of a class, as in\n"
                "its formula. V is not the accuracy of a guess."
            )
        else:
            meaning = (
                "An attacker who knows a row's class and leaf, and guesses whether it is a training row, is\n"
                f"correct in at most {100 * v:.1f} % of cases on these rows, if half of each class are training rows.\n"
                "Random guessing: 50.0 %."
            )
        chance = (
            f"By chance    V = {self.vulnerability_by_chance:.3f} on average for a model that does not depend on which "
            f"rows are training rows;\n             p-value {self.p_value:.3f} for this V or a larger V\n"
            f"Upper bound  V is at most {self.upper_bound():.3f} for new rows of the same kind, with 95 % confidence"
        )
        tau = [
            f"tau({quoted_text(name)}) = {value:.3f} ({100 * self.class_shares[name]:.1f} % of the rows)"
            for name, value in self.tau.items()
        ]
        lines = [["leaf", "class", "train", "test", "difference"]]
        for row in self.table:
            ours, others = 100 * row["train_share"], 100 * row["test_share"]
            figures = f"{ours:.1f} %", f"{others:.1f} %", f"{ours - others:+.1f}"
            lines.append([row["leaf"], quoted_text(row["class"]), *figures])
        return "\n".join([f"V = {v:.3f}", meaning, chance, "", *tau, "", *aligned(lines, left=2), "", PRIVATE])


def overfit(
    model: Any,
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    *,
    schema: Schema | None = None,
    as_released_code: bool = False,
) -> Overfit:
    """Measure the distance between the leaf distributions of training rows and held-out rows, class by class.

    The distance of a class y is the total variation ``τ(y) = ½ Σ_r |P[r | y, train] − P[r | y, test]|`` over the leaves
    r, and ``V = ½ + ½ Σ_y P[y]·τ(y)``. V is the accuracy of the best guess, given class and leaf, of whether a row is a
    training row. Both sets are assumed equally likely, with the same class frequencies. It bounds membership inference
    from the model's output on these rows. P[y] is the share of the class among the rows of train and test together, as
    in SSRL's released code; its text does not define it. **The result is private**: an exact function of the rows.

    Parameters
    ----------
    model : RuleList, Tree, fitted estimator, or function
        The assignment of rows to leaves. It is a model with ``apply(X)`` (hedgerow's models, scikit-learn's trees), a
        fitted hedgerow estimator, or a function that returns each row's leaf. For scikit-learn's ensembles of trees,
        the predicted class with its probability to one tenth takes the place of the leaf.
    train, test : tuple of (X, y)
        The training rows, and held-out rows of the same kind.
    schema : Schema, optional
        The schema of a model of another library or of a function, if it declares a unit. Rows of one unit are not
        independent, which `Overfit.p_value` and `Overfit.upper_bound` take into account. Without the unit column, they
        assume that every unit has `max_rows` equal rows. Default: the model's own schema.
    as_released_code : bool, default=False
        Divide by all rows of a set instead of the rows of the class, as SSRL's released code does, to compare with its
        Table 1. V is then smaller, roughly by the factor P[y] for each class, and not a bound.

    Raises
    ------
    ValueError, TypeError
        If the model is a regressor or has no leaves, there is only one class, or a class has no rows in a set.

    References
    ----------
    Yaghini, Kulynych and Troncoso, *Disparate Vulnerability: on the Unfairness of Privacy Attacks Against Machine
    Learning*, 2019. Ly et al. (SSRL), *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*,
    Section 5.4 and Table 1 (whose ± are variances over 100 runs).

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> train, test = ((data.frame[part], data.labels[part]) for part in (slice(0, 400), slice(400, None)))
    >>> clf = hr.GreedyRuleListClassifier(schema=data.schema, max_rules=2, max_literals=1).fit(*train)
    >>> print(hr.audit.overfit(clf, train, test))
    V = ...
    An attacker who knows a row's class and leaf, and guesses whether it is a training row, is
    ...
    """
    released = released_model(model)
    known = released.schema if schema is None and released is not None else schema
    return leaf_overfit(model, train, test, partial(Clusters.of, known), as_released_code=bool(as_released_code))


def leaf_overfit(
    model: Any,
    train: tuple[Any, Any],
    test: tuple[Any, Any],
    units: Callable[[Any], Clusters],
    *,
    as_released_code: bool = False,
) -> Overfit:
    """Return the result of `overfit`, with a function that returns the units of a table."""
    apply = apply_of(model)
    ours, others = LabelledRows.of_pair("train", train), LabelledRows.of_pair("test", test)
    classes, codes = _classes(model, ours, others)
    for name, numbers in zip(("train", "test"), codes, strict=True):
        absent = [quoted_text(value) for k, value in enumerate(classes) if not (numbers == k).any()]
        if absent:
            raise ArgumentError(f"{name} must contain rows of every class; it has none of class {', '.join(absent)}.")
    names, leaves = leaf_numbers(model, [apply(train[0]), apply(test[0])])
    clusters = [units(pair[0]) for pair in (train, test)]
    return overfit_of_cells(names, leaves, classes, codes, clusters, as_released_code=as_released_code)


def overfit_of_cells(
    names: Sequence[str],
    cells: Sequence[Index],
    classes: Sequence[Any],
    codes: Sequence[Index],
    clusters: Sequence[Clusters] = (Clusters(None), Clusters(None)),
    *,
    as_released_code: bool = False,
) -> Overfit:
    """Return the overfitting from the cell and class of each row of both sets; ValueError if a class has no rows."""
    shape = len(names), len(classes)
    train, test = (leaf_counts(*both, shape=shape) for both in zip(cells, codes, strict=True))
    places = [own * len(classes) + of for own, of in zip(cells, codes, strict=True)]
    return Overfit(tuple(classes), tuple(names), train, test, as_released_code, _units_of(places, clusters))


def _units_of(places: Sequence[Index], clusters: Sequence[Clusters]) -> UnitKinds:
    """Return the kinds of units of two sets from the cells of their rows; empty if each row is a unit."""
    kinds = [cluster.kinds(own) for cluster, own in zip(clusters, places, strict=True)]
    every = sorted(set().union(*kinds))
    return tuple((kind, kinds[0][kind], kinds[1][kind]) for kind in every) if any(len(k) > 1 for k in every) else ()


def _classes(model: Any, ours: LabelledRows, others: LabelledRows) -> tuple[tuple[Any, ...], list[Index]]:
    """Return the classes that have rows, and the index of the class of each row of both sets."""
    released = released_model(model)
    labels = ours.values  # labels with decimal places are numbers, so that no error message quotes them as classes
    is_measured = released is None and labels.dtype.kind == "f" and bool((labels != np.rint(labels)).any())
    if predicts_numbers(model) or is_measured:
        problem = f"{NO_CLASSES}: overfitting is measured by class. Attack the learner by audit.membership"
        raise ArgumentError(f"{problem} or audit.lira, or use audit.exact_membership for a private learner.")
    if released is not None and released.schema.label is not None:
        label = released.schema.class_label
        codes = [label.encode(column_of(rows.labels, label.name)).astype(np.intp) for rows in (ours, others)]
        known: Sequence[Any] = label.classes
    else:
        known, both = distinct(np.concatenate([ours.values, others.values]))
        codes = [both[: len(ours)], both[len(ours) :]]
        learned = getattr(model, "classes_", None)
        if learned is not None and not set(known) <= set(np.asarray(learned).tolist()):
            allowed = ", ".join(quoted_text(value) for value in np.asarray(learned).tolist())
            raise DomainError(f"some labels are not among the model's classes ({allowed}).", column="y")
    used, both = np.unique(np.concatenate(codes), return_inverse=True)
    if len(used) < 2:
        raise ArgumentError("y must contain at least two classes.")
    return tuple(known[k] for k in used), [both[: len(ours)], both[len(ours) :]]


def _portions(number: int, size: int) -> Iterator[int]:
    """Yield parts of a number of draws, so that each needs a bounded number of cells in memory."""
    most = max(_MOST_CELLS // size, 1)
    yield from (min(most, number - done) for done in range(0, number, most))


def mean_deviation(total: int, marked: int, drawn: int) -> float:
    """Return E|K − E K|; K is the number of marked rows among `drawn` of `total` rows."""
    # Σ_{k ≥ v} (k − E K)·P(K = k) = v·(total − marked − drawn + v)/total · P(K = v) telescopes for every v; the mean
    # deviation is twice this at the first v above E K (Diaconis and Zabell, Statistical Science 6(3), 1991).
    first = floor(Fraction(marked * drawn, total)) + 1
    if first > min(marked, drawn):
        return 0.0
    return 2 * first * (total - marked - drawn + first) / total * float(hypergeom.pmf(first, total, marked, drawn))
