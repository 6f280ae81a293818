"""Residual entropy of the training rows given a model."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from math import isnan, log2, nan
from operator import and_
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from hedgerow.audit.counting.bin_values import Resolution
from hedgerow.audit.counting.regions import Region, count_rows_each
from hedgerow.audit.entropy.domain import AttributeMarginals, Domain, RowPrior, normalised
from hedgerow.audit.entropy.result import Reconstruction, whole_supports
from hedgerow.audit.entropy.scorecards import KnownCounts, scorecard_reconstruction
from hedgerow.audit.inference.count_comparison import CountComparison, compare_counts
from hedgerow.audit.readers.columns import Features
from hedgerow.audit.readers.ensembles import final_model, members, trees_of
from hedgerow.audit.readers.paths import HasRegions, Paths
from hedgerow.audit.readers.read import paths_of
from hedgerow.boundary.arrays import Index, Integers
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.released import released_model, released_scorecard
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally


def reconstruction(  # noqa: PLR0913 -- all but the model are optional
    model: Any,
    schema: Schema | None = None,
    *,
    supports: Sequence[int] | Mapping[Any, int] | None = None,
    data: Any = None,
    independent_bits: bool = False,
    resolution: Resolution | None = None,
    prior: AttributeMarginals | None = None,
    features: Features | None = None,
    counts: KnownCounts | None = None,
) -> Reconstruction:
    """Measure how much a model discloses about its training rows, by counting the possible rows of its regions.

    A row in region j is one of the region's ``R_j`` possible rows, which are equally likely; the rows of a table are
    independent. Given the number of rows n and the region of each row, the residual entropy of the table is ``H = Σ_j
    C_j · log2 R_j`` (PDR eq. 11 for trees, 16 for rule lists). Its uncertainty is ``Dist_G = H / (n · log2 R)`` for a
    domain of R possible rows. `Reconstruction.unplaced_bits` is the entropy if the regions of the rows are unknown.

    The regions of a scorecard are its totals, whose possible rows are counted by convolution (`totals`). Its file may
    instead store the number of rows in each bin. See `counts`.

    Without `data`, no row is read, and the result follows from released values. **With data it is private**: an exact
    function of the rows.

    Parameters
    ----------
    model : RuleList, Tree, Scorecard, fitted estimator, or anything with ``regions()`` and ``supports``
        The model: of hedgerow, a decision tree of scikit-learn, or another type that the `TypeError` lists.
    schema : Schema, optional
        The possible values of each attribute. Default: the model's own schema, if it has one. The model's thresholds
        need not be cut points of the schema.
    supports : sequence of int, optional
        Number of rows in each region, in the model's order. Default: the leaf counts that the model stores. Released
        noisy counts are used as a reader of the model sees them. Only negative counts, and counts of regions without a
        possible row, are replaced by 0. Counts of a tree that counts copies of rows are marked as weighted. For a
        scorecard: the rows of each total, by total or in the order of ``totals(model).rows_by_total``.
    data : frame, array or Tally, optional
        The rows of the table, or a tally of them on the schema. Supports are then counted from the rows (the curator's
        view), and results by row are available.
    independent_bits : bool, default=False
        Treat each category and each cut point as a separate column of 0 and 1, with all combinations possible, as PDR
        does. A category with 7 values then has ``2**7`` possible values instead of 7.
    resolution : mapping of str to float, optional
        The step to which real attributes are recorded. Default: a real attribute has one possible value in each bin.
    prior : mapping, optional
        The public probabilities of an attribute's bins, in order or by name. The possible rows of a region are then not
        equally likely, and the entropy replaces the logarithm of their number.
    features : sequence of str or Literal, or fitted transformer, optional
        For models on arrays: the meaning of each column. Default: the names that the model was fitted with, or the
        schema's attributes in order. A `Literal` is a column that is 1 if it holds and 0 otherwise. A fitted
        transformer of scikit-learn defines its output columns; a fitted ``Pipeline`` as the model needs no `features`.
    counts : {"totals", "bins", "both"}, optional
        For scorecards: the numbers of rows that the reader knows. With "totals", these are the rows of each total, from
        `supports` or `data`. With "bins", these are the rows in each bin of each attribute with points, from `data` or
        the file; all tables with these numbers are equally likely. With "both", `Reconstruction.entropy_bounds` has
        bounds, which are equal if the tables are few enough to count. Default: "totals" with `supports` or `data`,
        otherwise "bins". Points without numbers of rows exclude no table, except for a reader who uses the learner.

    Raises
    ------
    TypeError, SchemaError, DomainError
        If the model is not supported, the schema lacks an attribute of the model, or data are outside the schema.
    ValueError
        If there are no supports, if they are not a whole number >= 0 for each region, or if they do not sum to the
        number of rows. If the model stores exact leaf counts with the same sum as the data, but the data have different
        counts.

    References
    ----------
    Ferry, Aïvodji, Gambs, Huguet and Siala (PDR), *Probabilistic Dataset Reconstruction from Interpretable Models*,
    2024: Definitions 2 and 4, eq. 2 to 16.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> clf = hr.OptimalTreeClassifier(schema=data.schema, max_depth=2).fit(data.frame, data.labels)
    >>> result = hr.audit.reconstruction(clf)
    >>> print(result.summary)
    Without the model, ...
    """
    released = released_model(model)
    if released is not None and released.has_points:
        if independent_bits or features is not None:
            name = "independent_bits" if independent_bits else "features"
            raise ArgumentError(f"{name} is not supported for scorecards, whose points are by bin; leave it out.")
        return scorecard_reconstruction(
            released_scorecard(model),
            schema,
            counts=counts,
            supports=supports,
            data=data,
            resolution=resolution,
            prior=prior,
        )
    if counts is not None or isinstance(supports, Mapping):
        name = "supports by total" if counts is None else "counts"
        raise ArgumentError(f"{name} needs a scorecard, got {type(model).__name__}; leave it out.")
    paths, schema = paths_of(model, schema, features)
    domain = Domain.of(schema, paths.literals, independent_bits=independent_bits, resolution=resolution)
    refined = normalised(paths, domain.schema)
    steps = are_steps_read(model, features)
    return reconstruction_of(
        refined, schema, domain, supports=supports, data=data, prior=prior, steps=steps, compared=model
    )


def reconstruction_of(
    paths: Paths,
    schema: Schema,
    domain: Domain,
    *,
    supports: Sequence[int] | None = None,
    data: Any = None,
    prior: AttributeMarginals | None = None,
    steps: bool | None,
    compared: Any = None,
) -> Reconstruction:
    """Return the result of `reconstruction` for paths in a domain; `steps` is the result of `are_steps_read`.

    The result has a note if the rows do not match the counts that the model `compared` stores.
    """
    regions = domain.regions(paths)
    possible, bits, prior_bits = _entropies(regions, schema, domain, prior)
    if sum(possible) != domain.possible_rows:
        binary = domain.independent_bits
        advice = "set `independent_bits=False`" if binary else "the last region must hold all remaining rows"
        raise ArgumentError(f"the regions of the model do not partition the domain; {advice}.")
    places = None if data is None else paths.apply(data, domain.schema)
    counts = data.rows() if isinstance(data, Tally) else None
    if places is not None:
        _check_counts(paths, places, counts, steps)
    known, view = _supports(paths, supports, places, counts, bits)
    note = ""
    if places is not None and view == "data" and compared is not None:
        note = _mismatch(compare_counts(compared, paths, places, data))
    words, rows = paths.conditions(domain.schema), (places, data, counts)
    return Reconstruction(schema, domain, words, regions, possible, bits, known, view, prior_bits, *rows, note=note)


def joint_reconstruction(
    models: Sequence[Any],
    data: Any,
    schema: Schema | None = None,
    *,
    independent_bits: bool = False,
    resolution: Resolution | None = None,
    prior: AttributeMarginals | None = None,
) -> Reconstruction:
    """Measure how much several models of the same table disclose together, if their rows are linked across models.

    A row in region i of one model and in region j of another lies in the intersection of both. Linking the rows is the
    strongest attack by a reader of all models (PDR, Section VI, leaves it open). For readers who cannot link rows, use
    `unlinked_reconstruction`. **The result is private**: an exact
    function of the rows.

    Parameters
    ----------
    models : sequence of models
        One or more models as for `reconstruction`, on the same schema; ValueError otherwise. An ensemble of
        scikit-learn stands for all of its trees.
    data, schema, independent_bits, resolution, prior
        As for `reconstruction`, with the same errors.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> learners = [hr.OptimalTreeClassifier(schema=data.schema, max_depth=depth) for depth in (1, 2)]
    >>> models = [learner.fit(data.frame, data.labels) for learner in learners]
    >>> both = hr.audit.joint_reconstruction(models, data.frame)
    >>> both.uncertainty <= min(hr.audit.reconstruction(model).uncertainty for model in models)
    True
    """
    members, all_paths, schema = paths_of_several(models, schema)
    literals = chain.from_iterable(paths.literals for paths in all_paths)
    domain = Domain.of(schema, literals, independent_bits=independent_bits, resolution=resolution)
    comparable = [normalised(paths, domain.schema) for paths in all_paths]
    leaves = np.column_stack([paths.apply(data, domain.schema) for paths in comparable])
    rows = data.rows() if isinstance(data, Tally) else None
    note = ""
    for (model, steps), paths, places in zip(members, comparable, leaves.T, strict=True):
        _check_counts(paths, places, rows, steps)
        note = note or _mismatch(compare_counts(model, paths, places, data))
    combinations, places = np.unique(leaves, axis=0, return_inverse=True)
    places = places.reshape(-1)
    supports = tuple(map(int, np.bincount(places, rows)))
    by_model = [(domain.regions(paths), paths.conditions(domain.schema)) for paths in comparable]
    regions, words = list[Region](), list[str]()
    for leaf in combinations.tolist():
        regions.append(reduce(and_, (own[j] for (own, _), j in zip(by_model, leaf, strict=True))))
        words.append("; ".join(own[j] for (_, own), j in zip(by_model, leaf, strict=True)))
    possible, bits, prior_bits = _entropies(regions, schema, domain, prior)
    measured = tuple(words), tuple(regions), possible, bits, supports, "data", prior_bits
    return Reconstruction(schema, domain, *measured, places, data, rows, note=note)


def _mismatch(compared: CountComparison) -> str:
    return compared.sentence if compared.is_mismatch else ""


def listed_models(models: Sequence[Any]) -> list[Any]:
    problem = ArgumentTypeError(f"models must be a sequence of models, got {type(models).__name__}.")
    return guarded(lambda: list(models), problem)


def paths_of_several(
    models: Sequence[Any], schema: Schema | None
) -> tuple[list[tuple[Any, bool | None]], list[Paths], Schema]:
    """Return each model with the result of `are_steps_read`, its decision paths, and the common schema."""
    several = listed_models(models)
    read = [(*own, are_steps_read(model)) for model in several for own in _each_paths(model, schema)]
    if not read:
        raise ArgumentError("models must contain at least one model, got none.")
    if any(own != read[0][2] for _, _, own, _ in read):
        raise ArgumentError("the models have different schemas; pass `schema`.")
    return [(model, steps) for model, _, _, steps in read], [paths for _, paths, _, _ in read], read[0][2]


def _each_paths(model: Any, schema: Schema | None) -> Iterator[tuple[Any, Paths, Schema]]:
    """Yield a model, or each tree of an ensemble, with its decision paths and its schema."""
    if schema is None or not members(final_model(model)[1]):
        yield model, *paths_of(model, schema)
        return
    for tree, features in trees_of(model, schema):
        yield tree, *paths_of(tree, schema, features)


def _entropies(
    regions: Sequence[Region], schema: Schema, domain: Domain, prior: AttributeMarginals | None
) -> tuple[tuple[int, ...], tuple[float, ...], float | None]:
    """Return the number of possible rows of each region, the entropy of a row in it, and the entropy of the prior."""
    possible = count_rows_each(regions, domain.weights)
    if prior is None:
        return possible, tuple(log2(count) if count else nan for count in possible), None
    known = RowPrior.of(prior, schema, domain)
    return possible, tuple(map(known.entropy_bits, regions)), known.bits


def _supports(
    paths: Paths, given: Sequence[int] | None, places: Index | None, counts: Integers | None, bits: Sequence[float]
) -> tuple[tuple[int, ...], str]:
    counted, stored = None if places is None else _counted(paths, places, counts), paths.complete_supports
    if given is not None:
        checked = whole_supports(given, len(paths))
        known = sum(counted) if counted is not None else sum(stored) if stored and paths.exact else None
        if known is not None and sum(checked) != known:
            raise ArgumentError(f"supports must sum to the number of rows, {known}; got a sum of {sum(checked)}.")
        return checked, "given"
    if counted is not None:
        return counted, "data"
    if stored is None:
        stores = "no leaf counts" if paths.supports is None else f"counts of {_known(paths)} of {len(paths)} leaves"
        raise ArgumentError(f"the model stores {stores}, and all are needed; pass `supports=` or `data=`.")
    if paths.exact:
        return whole_supports(stored, len(paths)), "exact"
    return tuple(0 if isnan(left) else max(n, 0) for n, left in zip(stored, bits, strict=True)), paths.view


def _known(paths: Paths) -> int:
    return sum(rows is not None for rows in paths.supports or ())


def _counted(paths: Paths, places: Index, counts: Integers | None) -> tuple[int, ...]:
    return tuple(map(int, np.bincount(places, counts, minlength=len(paths))))


def are_steps_read(model: Any, features: Features | None = None) -> bool | None:
    """Return whether fitted steps define the columns of a model; None for models on attributes, like hedgerow's."""
    if released_model(model) is not None or isinstance(model, HasRegions):
        return None
    return isinstance(model, Pipeline) or isinstance(features, BaseEstimator)


def _check_counts(paths: Paths, places: Index, counts: Integers | None, steps: bool | None) -> None:
    """Raise ArgumentError if the rows have the total of the exact leaf counts that a model stores, but other counts."""
    stored, counted = paths.complete_supports if paths.exact else None, _counted(paths, places, counts)
    if stored is not None and sum(stored) == sum(counted) and tuple(stored) != counted:
        cause = (
            "the steps of the model were fitted on other values, such as float32; fit on float64, like the rows"
            if steps
            else "the model file was edited, or its counts have noise that it does not state"
            if steps is None
            else "the columns of the model are not the attributes of the same name, but were computed by an encoder or "
            "scaler; pass the whole Pipeline, or the fitted transformer as `features=`"
        )
        problem = "data has the same number of rows as the training set, but other leaf counts than the model stores"
        advice = "If these are other rows, pass their leaf counts as `supports=` without `data`."
        raise ArgumentError(f"{problem}. If these are the training rows, {cause}. {advice}")
