"""Reconstruction of a table from a forest, or from several models of it, and its error about the rows of a true one."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from numbers import Real
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.utils.validation import check_is_fitted

from hedgerow.audit.entropy.domain import AttributeMarginals, Domain, RowPrior
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.readers.columns import Features
from hedgerow.audit.readers.encoders import last_step
from hedgerow.audit.readers.ensembles import trees_of
from hedgerow.audit.readers.paths import Paths, leaf_paths
from hedgerow.audit.readers.read import children_of, paths_of
from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.arrays import Array, Floats, Index
from hedgerow.errors import ArgumentError, ArgumentTypeError, DomainError, SearchLimitWarning
from hedgerow.models.released import released_leaf_model
from hedgerow.schema.attributes import Attribute, CellType
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import Value
from lab.forests.search import Cells, Evidence, SolverSettings, most_likely

MOST_ROWS = 20_000  # the most rows that are matched: their distances are a square table


def reconstruct(
    models: Any,
    schema: Schema | None = None,
    *,
    rows: int | tuple[int, int] | None = None,
    noise: float | tuple[float, ...] | None = None,
    prior: AttributeMarginals | None = None,
    features: Features | None = None,
    seconds: float = 60,
    n_jobs: int = -1,
    random_state: int = 0,
) -> "GuessedTable":
    """Find the most likely table of rows behind the leaf counts of a forest, or of several models of one table.

    The trees of a forest partition the same rows in many ways, and each stores how many rows of each class are in each
    part: few tables have all these counts, and often there is one. A count is true, of trees that were grown on all
    rows, and of hedgerow's models without privacy; or of a bootstrap sample, of which scikit-learn stores the number of
    draws and how many different rows they were, with the likelihood of the multinomial distribution; or it has Laplace
    noise, discrete or not, of a known scale.

    The search is over numbers of rows of each pattern that the models distinguish, by an integer program. Of values
    that no model distinguishes, the most probable one is guessed, and the median of numbers. No row is read: the result
    is as public as the models. Needs ``pip install -r lab/requirements.txt``.

    Parameters
    ----------
    models : forest, model, Paths, or list of them
        Each a ``RandomForestClassifier`` or an ``ExtraTreesClassifier`` of scikit-learn, a ``Pipeline`` that ends in
        one, or any model with leaf counts that `reconstruction` reads: hedgerow's lists and trees, a decision tree.
        `Paths` are for forests of others: decision paths with their counts, and with ``view="noisy"`` where these have
        noise.
    schema, features : optional
        As for `reconstruction`.
    rows : int or tuple of two int, optional
        The number of rows, or the least and the largest. Default: as the models count it; those with noise do not.
    noise : float or list of float, optional
        The scale of the noise in released counts, which the privacy card has: 1/ε for counts released at ε by one tree.
        A list has one for each model; models with true counts take none.
    prior : mapping, optional
        For some attributes, the public probability of each bin, in order or by name; ``{}`` for a uniform prior on all
        values. The result is then the most likely table given the counts, whatever the order of its rows. Default:
        the table that makes the counts most likely, as DRAFT finds it.
    seconds, n_jobs, random_state : float, int, int, default=60, -1, 0
        When to stop with the best table so far; threads, -1 for all processors; and the seed, which chooses between
        tables that are equally likely. With one thread, and enough time, the result is always the same.

    Raises
    ------
    ImportError, TypeError, SchemaError
        If OR-Tools is not installed, and as `reconstruction` does.
    SearchTooLargeError
        If the models distinguish too many patterns; says how many.
    ValueError
        If a model has no leaf counts, or weighted ones, or sums of a number, or several outputs; the number of rows or
        the scale of noise is needed and not given; no table has these counts; or none was found in time.

    References
    ----------
    Ferry, Fukasawa, Pascal and Vidal (DRAFT), *Trained Random Forests Completely Reveal your Dataset*, ICML 2024.
    Gorgé, Ferry, Gambs and Vidal (DRAFT-DP), *Training Set Reconstruction from Differentially Private Forests: How
    Effective is DP?*, SaTML 2026. Their variables are rows; here they are numbers of rows.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from hedgerow.schema import Boolean, Schema
    >>> schema = Schema({name: Boolean() for name in ("smoker", "female", "old")})
    >>> X, y = np.array([[0, 0, 1], [0, 1, 0], [1, 1, 0], [1, 1, 1]]), np.array([0, 1, 0, 1])
    >>> forest = RandomForestClassifier(20, bootstrap=False, max_features=1, random_state=0).fit(X, y)
    >>> guess = reconstruct(forest, schema, n_jobs=1)
    >>> guess.status, guess.error(X, y)
    ('optimal', 0.0)
    """
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not 0 < float(seconds) < 1e9:
        raise ArgumentError(f"seconds must be a number above 0 and below 1e9, got {describe_argument(seconds)}.")
    jobs = check_integer("n_jobs", n_jobs, -1)
    if jobs == 0 or jobs > 1024:
        raise ArgumentError(f"n_jobs must be -1 or a whole number from 1 to 1024, got {jobs}.")
    settings = SolverSettings(float(seconds), max(jobs, 0), check_integer("random_state", random_state, 0) % 2**31)
    if not (schema is None or isinstance(schema, Schema)):
        raise ArgumentTypeError(f"expected a Schema or None as schema, got {type(schema).__name__}.")
    evidence, known = evidence_of(models, schema, features, noise)
    classes = classes_of(evidence, known)
    size = rows_of(evidence, rows, has_prior=prior is not None)
    domain = Domain.of(known, chain.from_iterable(item.paths.literals for item in evidence))
    masses = domain.weights if prior is None else RowPrior.of(prior, known, domain).masses
    cells = Cells.of(domain, [item.paths for item in evidence], masses, len(classes or (None,)))
    result = most_likely(cells, evidence, classes, size, settings, has_prior=prior is not None)
    bins = np.repeat(cells.bins, result.rows.sum(axis=1), axis=0)
    labels = None if classes is None else np.repeat(np.tile(np.array(classes), len(cells)), result.rows.ravel())
    status = "optimal" if result.is_optimal else "feasible"
    if not result.is_optimal:
        problem = f"The search reached its limit of seconds={settings.seconds:g} before optimality was proven: another"
        what = f"{problem} table can be e^{result.gap:.3g} times as likely. Allow more seconds, or pass fewer models."
        warnings.warn(what, SearchLimitWarning, stacklevel=2)
    return GuessedTable(cells.schema, bins, labels, status, result.gap, result.seconds)


def evidence_of(
    models: Any, schema: Schema | None, features: Features | None, noise: Any
) -> tuple[list[Evidence], Schema]:
    several: list[Any] = list(models) if isinstance(models, (list, tuple)) else [models]
    if not several:
        raise ArgumentError("expected one or more models, got none.")
    scales = list(noise) if isinstance(noise, (list, tuple)) else [noise] * len(several)
    if len(scales) != len(several):
        raise ArgumentError(f"expected one scale of noise for each of {len(several)} models, got {len(scales)}.")
    result: list[Evidence] = []
    own = schema
    for model, scale in zip(several, scales, strict=True):
        read, other = _read(model, schema, features)
        if own is not None and other.attributes != own.attributes:
            raise ArgumentError("expected models on the same schema; pass `schema` if their own schemas differ.")
        own = other
        result += [_with_scale(item, scale) for item in read]
    assert own is not None
    return result, own


def _read(model: Any, schema: Schema | None, features: Features | None) -> tuple[list[Evidence], Schema]:
    last, rest = last_step(model, features)
    if isinstance(last, (Paths, RandomForestClassifier, ExtraTreesClassifier)):
        if schema is None:
            raise ArgumentError("expected a schema, as forests and paths have none of their own; pass `schema=`.")
        return [_of_paths(last)] if isinstance(last, Paths) else _of_forest(last, schema, rest), schema
    if type(last).__module__.startswith("sklearn.ensemble"):
        raise ArgumentTypeError(
            f"expected a RandomForestClassifier, an ExtraTreesClassifier or a single model, got a "
            f"{type(last).__name__}, whose leaves do not hold class counts of the whole table."
        )
    released = released_leaf_model(model)
    if released is not None and released.leaf_release.kind == "sums":
        raise ArgumentError(
            "expected counts of rows in leaves, got sums of a number, whose noise on rows is no Laplace noise; release "
            "the model with counts of levels (release_counts=True), or leave it out."
        )
    paths, own = paths_of(model, schema, features)
    return [_of_paths(paths)], own


def _of_paths(paths: Paths) -> Evidence:
    if paths.view == "weighted":
        raise ArgumentError("expected counts of rows, got weighted ones; pass a forest as a whole.")
    if _are_complete(paths.counts) and paths.classes is not None:
        return Evidence(paths, np.array(paths.counts, dtype=np.int64), paths.classes)
    if not _are_complete(paths.supports):
        problem = "expected a model with leaf counts, got one without"
        raise ArgumentError(f"{problem}; release it with counts (release_counts=True), or leave it out.")
    return Evidence(paths, np.array(paths.supports, dtype=np.int64)[:, None], None)


def _are_complete(counts: Sequence[Any] | None) -> bool:
    return counts is not None and None not in counts


def _of_forest(forest: Any, schema: Schema, features: Features | None) -> list[Evidence]:
    check_is_fitted(forest)
    if forest.n_outputs_ != 1:
        raise ArgumentError(f"expected a forest with one output, got one with {forest.n_outputs_}.")
    if forest.class_weight is not None:
        raise ArgumentError("expected a forest that counts rows, got one with class_weight, which weights them.")
    result: list[Evidence] = []
    for tree, names in trees_of(forest, schema, features):
        paths = paths_of(tree, schema, names)[0]
        if not _are_complete(paths.counts) and not forest.bootstrap:
            raise ArgumentError("expected a forest whose leaves store numbers of rows, got weights of rows.")
        result.append(_of_bootstrap(tree, paths) if forest.bootstrap else _of_paths(paths))
    return result


def _of_bootstrap(tree: Any, paths: Paths) -> Evidence:
    """Return the draws of each class in each leaf of a bagged tree, and how many different rows these were."""
    leaves = [leaf for leaf, _ in leaf_paths(0, lambda node: [(x, ()) for x, _ in children_of(tree.tree_, node)])]
    draws = tree.tree_.value[leaves, 0, :] * tree.tree_.weighted_n_node_samples[leaves, None]
    numbers, distinct = np.rint(draws).astype(np.int64), tree.tree_.n_node_samples[leaves].astype(np.int64)
    if not np.allclose(draws, numbers, rtol=0, atol=1e-6) or (numbers.sum(axis=1) < distinct).any():
        raise ArgumentError("expected a forest whose leaves store numbers of rows, got weights of rows.")
    return Evidence(paths, numbers, tuple(tree.classes_.tolist()), distinct=distinct)


def _with_scale(one: Evidence, scale: Any) -> Evidence:
    if one.paths.view != "noisy":
        return one
    if scale is None:
        raise ArgumentError("expected the scale of the noise in counts, which the privacy card has; pass `noise=`.")
    if isinstance(scale, bool) or not isinstance(scale, Real) or not 0 < float(scale) < 1e9:
        raise ArgumentError(f"noise must be a number above 0 and below 1e9, got {describe_argument(scale)}.")
    return replace(one, scale=float(scale))


def classes_of(evidence: Sequence[Evidence], schema: Schema) -> tuple[Any, ...] | None:
    """Return the classes of all rows: the schema's, or those of the models; None if no model counts them."""
    known = [item.classes for item in evidence if item.classes is not None]
    if not known:
        return None
    classes = known[0] if schema.label is None else schema.target.values
    if any(not set(own) <= set(classes) for own in known):
        raise ArgumentError("expected models of the same classes as the schema's label, got others.")
    return classes


def rows_of(evidence: Sequence[Evidence], given: Any, *, has_prior: bool) -> tuple[int, int]:
    totals = {int(item.numbers.sum()) for item in evidence if item.is_exact}
    if len(totals) > 1:
        raise ArgumentError("expected models of one table, got exact counts of different numbers of rows.")
    drawn = {int(item.numbers.sum()) for item in evidence if item.distinct is not None}
    if given is None and (totals or len(drawn) == 1):
        total = (totals or drawn).pop()
        return total, total
    pair: Any = given if isinstance(given, (tuple, list)) else (given, given)
    whole = [isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in pair]
    if len(pair) != 2 or not all(whole) or not 1 <= pair[0] <= pair[1] <= 10**6:
        problem = "rows must be a whole number from 1 to 1,000,000, or a pair of them, the smaller first"
        raise ArgumentError(f"{problem}, got {describe_argument(given)}; models with noisy counts do not tell it.")
    low, high = int(pair[0]), int(pair[1])
    if totals and not low <= next(iter(totals)) <= high:
        raise ArgumentError(f"expected the number of rows that the models count, {totals.pop()}, got another.")
    if low < high and (drawn or has_prior):
        raise ArgumentError("expected one number as rows with a prior, or with bootstrap samples, got a range.")
    return low, high


@dataclass(frozen=True, eq=False, repr=False)
class GuessedTable:
    """A guess at the rows of a table, as public as its models; **private** are results about rows that are given.

    Attributes
    ----------
    schema : Schema
        The schema, with the cut points of the models.
    bins, labels : ndarray of int, shape (n_rows, n_attributes), and ndarray of shape (n_rows,), optional
        The bin of each attribute of each row, and its class; None if no model counts classes.
    status : {"optimal", "feasible", "given"}
        Whether no table is more likely, the logarithm of each count's likelihood being taken to within 0.01; whether
        the time ended before that was proven; or of rows that were given.
    gap, seconds : float
        By how much the log-likelihood of another table can be larger, at most, and how long the search took.

    Examples
    --------
    >>> from hedgerow.schema import Boolean, Schema
    >>> schema = Schema({"smoker": Boolean(), "female": Boolean()})
    >>> guess = GuessedTable.of_rows(np.array([[0, 0], [1, 1]]), schema)
    >>> guess.error(np.array([[1, 0], [0, 0]]))
    0.25
    """

    schema: Schema
    bins: Index
    labels: Array | None = None
    status: str = "given"
    gap: float = 0.0
    seconds: float = 0.0

    @classmethod
    def of_rows(cls, X: Any, schema: Schema, y: Any = None) -> Self:
        """Return other rows as a guess to compare with, such as the population. **Private** if the rows are."""
        if not isinstance(schema, Schema):
            raise ArgumentTypeError(f"expected a Schema, got {type(schema).__name__}.")
        if y is None:
            return cls(schema, _encoded(Table.of(X), schema))
        rows = LabelledRows.of(X, y)
        return cls(schema, _encoded(rows.table, schema), rows.values)

    def __len__(self) -> int:
        return len(self.bins)

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a frame: booleans and categories as values, numbers as the names of their bins."""
        columns = {
            name: [_value_of(attribute, bin) for bin in own.tolist()]
            for (name, attribute), own in zip(self.schema.attributes, self.bins.T, strict=True)
        }
        return pd.DataFrame(columns if self.labels is None else columns | {_label_of(self.schema): self.labels})

    def error(self, X: Any, y: Any = None, *, one_hot: bool = False) -> float:
        """Return how wrong the guess is about a table: the mean over rows and attributes, from 0 to 1. **Private**.

        A number is as wrong as its bin is far off, as a share of the most that it can be; other values are right or
        wrong. Rows are matched so that the error is least, by the Hungarian algorithm. If there are more rows on one
        side, those without a partner are left out. The error about other rows of the population says how much of it is
        known about anybody, and not about these rows.

        Parameters
        ----------
        X, y : frame or array of shape (n_rows, n_attributes), and series or array of shape (n_rows,), optional
            The rows, at most 20,000, and their labels: one attribute more, if given, which the guess must have, too.
        one_hot : bool, default=False
            Take each value of a category of more than two for a column of 0 and 1, as DRAFT does: a wrong category is
            two wrong columns.
        """
        kinds = [attribute for _, attribute in self.schema.attributes]
        many = [one_hot and kind.cell_type is CellType.VALUE and not kind.ordered and kind.n_bins > 2 for kind in kinds]
        label = [] if y is None else [1]
        columns = [*(len(kind.bins) if wide else 1 for kind, wide in zip(kinds, many, strict=True)), *label]
        wrong = np.array([*(2 if wide else 1 for wide in many), *label], dtype=np.float64)
        return float(self._distances(X, y, wrong).mean(axis=0) @ wrong / sum(columns))

    def errors(self, X: Any, y: Any = None) -> pd.Series:
        """Return how wrong the guess is attribute by attribute, rows being matched as in `error`. **Private**."""
        names = [*self.schema.names, *([] if y is None else [_label_of(self.schema)])]
        return pd.Series(self._distances(X, y, np.ones(len(names))).mean(axis=0), index=names)

    def _distances(self, X: Any, y: Any, costs: Floats) -> Floats:
        """Return the distances of matched values, shape ``(n_matched, n_attributes)``; see `error`."""
        guess, truth = self.bins, _encoded(Table.of(X), self.schema)
        lengths = np.array([attribute.n_ordered for _, attribute in self.schema.attributes], dtype=np.intp)
        if y is not None:
            if self.labels is None:
                raise ArgumentError("expected no labels, as the guess has none: the models count no classes.")
            labels = [*self.labels.tolist(), *LabelledRows.of(X, y).values.tolist()]
            codes = {label: code for code, label in enumerate(dict.fromkeys(labels))}
            both = np.array([codes[label] for label in labels])
            guess, truth = np.column_stack([guess, both[: len(guess)]]), np.column_stack([truth, both[len(guess) :]])
            lengths = np.append(lengths, 0)
        if max(len(guess), len(truth)) > MOST_ROWS or not len(guess):
            raise ArgumentError(f"expected 1 to {MOST_ROWS:,} rows to match, got {len(truth):,} with {len(guess):,}.")
        total = np.zeros((len(guess), len(truth)), dtype=np.float32)
        for item, other, length, cost in zip(guess.T, truth.T, lengths.tolist(), costs.tolist(), strict=True):
            total += cost * _distance(item[:, None], other, length)
        mine, theirs = linear_sum_assignment(total)
        each = zip(guess[mine].T, truth[theirs].T, lengths.tolist(), strict=True)
        return np.column_stack([_distance(item, other, length) for item, other, length in each])

    def __str__(self) -> str:
        how = {
            "optimal": f"no table is more likely; {self.seconds:.1f} s",
            "feasible": f"another can be e^{self.gap:.3g} times as likely; stopped after {self.seconds:.1f} s",
            "given": "given",
        }
        return f"a table of {len(self):,} rows and {len(self.schema)} attributes: {how[self.status]}"

    def __repr__(self) -> str:
        return f"<GuessedTable of {len(self)} rows, {self.status}>"


def _value_of(attribute: Attribute, bin: int) -> Value:
    return attribute.listed[bin] if bin < len(attribute.listed) else attribute.bins[bin]


def _encoded(table: Table, schema: Schema) -> Index:
    if not len(table):
        raise DomainError("expected one or more rows, got none.")
    return np.column_stack([np.asarray(codes) for codes in schema.encode(table).values()]).astype(np.intp)


def _distance(one: Index, other: Index, n_numbers: int) -> Floats:
    """Return the distances of bins, from 0 to 1; the first `n_numbers` of them are of numbers, in order."""
    far = (one != other).astype(np.float64)
    if n_numbers > 2:
        near = (one < n_numbers) & (other < n_numbers)
        far = np.where(near, np.abs(one - other) / (n_numbers - 1), far)
    return far


def _label_of(schema: Schema) -> str:
    return "label" if schema.label is None else schema.label.name
